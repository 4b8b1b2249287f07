//! A checked scenario: names are resolved to indices, groups are expanded to hosts, profiles to
//! their values. The simulator reads nothing else.

mod workload;

use std::sync::Arc;

use foretell_algorithms::crush::{ClusterMap, Osd, Pg, Pool, PoolKind, Workspace};
use foretell_algorithms::distribution::Distribution;
pub use foretell_algorithms::io_scheduler::SchedulerKind as Scheduler;
use foretell_algorithms::node::NodeSettings;
pub use foretell_algorithms::node::WritePolicy;
use foretell_algorithms::{codec, placement};
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, VolumeId, WorkloadId};

use crate::device::Device;
use crate::outages::Outages;
pub use crate::scrub::Scrub;
pub use crate::system::{System, SystemTraits};
pub use workload::{Arrivals, Pattern, Think, Workload, WorkloadKind};

/// All inputs of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: Seed,
    /// Simulated time before measuring begins.
    pub warmup: SimSpan,
    /// Measured time after the warm-up; `None`: until every workload is finished.
    pub duration: Option<SimSpan>,
    /// Intervals of the measured time, if it is divided; only with a duration.
    pub intervals: Option<Intervals>,
    /// The storage system.
    pub system: System,
    /// Hosts: first the storage nodes, then the clients, in the order of the scenario.
    pub hosts: Vec<Host>,
    /// The switch between the hosts.
    pub switch: Switch,
    /// Uplinks of racks; `None`: all hosts are at one switch.
    pub uplinks: Option<Uplinks>,
    /// Volumes, by [`VolumeId`].
    pub volumes: Vec<Volume>,
    /// Workloads, by [`WorkloadId`].
    pub workloads: Vec<Workload>,
    /// What is recorded, and the cost of recording.
    pub tracking: Tracking,
    /// Whether requests carry real bytes.
    pub payload: Payload,
    /// Events in the cluster during the run; `None`: none.
    pub outages: Option<Outages>,
    /// How disks are scrubbed; `None`: not at all.
    pub scrub: Option<Scrub>,
}

impl Scenario {
    /// Whether reads of some volume are hedged.
    pub fn hedges(&self) -> bool {
        self.volumes.iter().any(|volume| volume.hedge.is_some())
    }

    /// Whether reads ask for the newest version: Swift's `X-Newest`.
    pub fn reads_newest(&self) -> bool {
        matches!(&self.system, System::Swift(swift) if swift.x_newest)
    }

    /// The host with this number.
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.index()]
    }

    /// The volume with this number.
    pub fn volume(&self, id: VolumeId) -> &Volume {
        &self.volumes[id.index()]
    }

    /// The workload with this number.
    pub fn workload(&self, id: WorkloadId) -> &Workload {
        &self.workloads[id.index()]
    }
}

/// Division of the measured time into equal intervals.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Intervals {
    /// Number of intervals, at least two.
    pub count: u32,
    /// Minimum requests of a workload in each interval. With fewer, the measurement is repeated, for twice as long.
    pub requests: u64,
    /// Relative standard error of the intervals' mean response times above which the measurement is
    /// repeated, for twice as long.
    pub error: f64,
    /// Longest measured time; at least the duration.
    pub longest: SimSpan,
}

/// Settings of a Ceph cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Ceph {
    /// How an OSD writes to its device.
    pub store: OsdStore,
    /// Metadata that a write puts into the log.
    pub metadata: Bytes,
    /// Copies of placement groups on each OSD.
    pub placement_groups_per_osd: u32,
    /// Processor time of an OSD for a client's read.
    pub read: Cost,
    /// Processor time of the primary for a client's write.
    pub write: Cost,
    /// Processor time of an OSD for each copy or shard that it writes.
    pub commit: Cost,
    /// Threads of an OSD; `None`: its work runs on any core of its host.
    pub threads: Option<Threads>,
    /// Chooses the threads' next work; `None`: the operation that has waited longest. Only with threads.
    pub scheduler: Option<Box<OpScheduler>>,
    /// Number of objects whose metadata an OSD holds in memory; `None`: all. Only with threads.
    pub onodes: Option<u64>,
    /// Whether clients join consecutive writes to an object, as librbd does.
    pub coalesce: bool,
    /// Hosts to which nodes report, in turn.
    pub monitors: Vec<HostId>,
    /// The same for groups of nodes with their own monitors, by the group's name.
    pub own_monitors: SortedMap<String, Vec<HostId>>,
    /// Gateways for volumes with a bucket index.
    pub gateway: Option<Box<Gateway>>,
    /// By volume: the place of each placement group, from a CRUSH map. `None`: copies are on
    /// distinct hosts, by capacity.
    pub places: Option<Vec<Places>>,
}

/// The gateways of a cluster: hosts that serve requests for objects, as clients of the storage servers.
#[derive(Clone, PartialEq, Debug)]
pub struct Gateway {
    /// The hosts, assigned to instances of clients in turn.
    pub hosts: Vec<HostId>,
    /// Processor time of a gateway for a read.
    pub read: Cost,
    /// Processor time of a gateway for a write.
    pub write: Cost,
}

/// The threads of an OSD and their shared resources.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threads {
    /// Threads that carry out operations.
    pub op: u32,
    /// Threads that read and write messages.
    pub messenger: u32,
    /// Processors that they may use at a time in total; `None`: all of the host's.
    pub processors: Option<u32>,
    /// Time of a messenger thread for a message.
    pub message: Cost,
    /// Time of the kv thread for a round of commits.
    pub kv_round: SimSpan,
    /// Time of the kv thread for each transaction of a round.
    pub kv_transaction: SimSpan,
    /// Time of background threads for each transaction.
    pub merge: SimSpan,
    /// Time for which a round waits until the device has flushed; zero: no flush is needed.
    pub flush: SimSpan,
    /// Whether operations wait for locks of placement groups and objects.
    pub locks: bool,
}

/// How the threads of an OSD choose their next work.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OpScheduler {
    /// Number of queues, each with an equal part of the threads.
    pub shards: u32,
    /// How the queues choose.
    pub kind: OpSchedulerKind,
    /// Maximum bytes on the way to the store. A thread whose transaction exceeds that waits with it.
    pub throttle: Option<Bytes>,
}

/// How an OSD's queue chooses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpSchedulerKind {
    /// By priority.
    Wpq,
    /// By reservation, weight and limit.
    Mclock {
        /// Assumed capacity of the OSD, operations a second.
        capacity: f64,
        /// The shares of the classes in that capacity.
        shares: Shares,
        /// Whether a thread of a shard spins while all waiting operations have reached their limits.
        spins: bool,
    },
}

/// The shares of the classes in an OSD.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// Clients.
    pub client: Share,
    /// Recovery and backfill.
    pub recovery: Share,
    /// Best effort: scrubbing.
    pub best_effort: Share,
}

/// A class's share of an OSD, as parts of its capacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// Guaranteed part; 0: nothing is guaranteed.
    pub reservation: f64,
    /// Weight in the distribution of the rest.
    pub weight: f64,
    /// Maximum part; `None`: no limit.
    pub limit: Option<f64>,
}

/// Ceph's `min_size` of a pool that does not set it: half of `n` copies, rounded up, or one shard more than the `m` that
/// a read needs.
pub fn usual_min_size(m: u8, n: u8) -> u8 {
    let kind = if m == 1 { PoolKind::Replicated } else { PoolKind::Erasure };
    let least = Pool::usual_min_size(kind, n.into(), m.into());
    least.try_into().expect("it is at most n")
}

/// The places of a volume's placement groups.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// Number of groups.
    pub groups: u32,
    /// The devices (host, and disk of the host) of all groups in order: for each group one per copy
    /// or shard, the primary's first.
    pub devices: Vec<(HostId, u32)>,
    /// Number of distinct devices among them.
    pub spread: u64,
    /// For each kind of unit (`osd`, `host`, `rack`, ...): how many of them may fail at once,
    /// whichever they are, while all data stay readable.
    pub survives: Vec<(String, usize)>,
    /// The same, while every group still accepts reads and writes: at least `min_size` copies or shards are left.
    pub serves: Vec<(String, usize)>,
    /// For places when devices are out; only in scenarios with events.
    pub remap: Option<Arc<Remap>>,
}

/// Computes the places of a volume's groups when devices are out.
#[derive(Debug)]
pub struct Remap {
    /// The map with all OSDs up.
    pub map: ClusterMap,
    /// The pool.
    pub pool: Pool,
    /// The devices by OSD number.
    pub devices: SortedMap<i32, (HostId, u32)>,
}

impl Remap {
    /// The map with these weights of devices, 0 for one that is out; `None`: the map's own weight.
    pub fn with(&self, weight: &dyn Fn(HostId, u32) -> Option<u32>) -> ClusterMap {
        let mut map = self.map.clone();
        for (number, (host, disk)) in &self.devices {
            if let Some((osd, weight)) = map.osd(*number).zip(weight(*host, *disk)) {
                map.set_osd(*number, Osd { weight, ..osd });
            }
        }
        map
    }

    /// The devices that the rule finds for a group in such a map, in order, without holes.
    pub fn devices(&self, map: &ClusterMap, group: u32) -> Vec<(HostId, u32)> {
        let pg = Pg { pool: self.pool.id, seed: group };
        let placed = map.place(pg, &mut Workspace::default());
        let found = placed.map(|placed| placed.up).unwrap_or_default();
        found.into_iter().filter_map(|osd| self.devices.get(&osd).copied()).collect()
    }
}

impl PartialEq for Remap {
    fn eq(&self, other: &Self) -> bool {
        self.pool == other.pool
            && self.devices == other.devices
            && self.map.osds() == other.map.osds()
    }
}

impl Eq for Remap {}

/// How an OSD writes to its device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OsdStore {
    /// Writes shorter than `deferred_below` go to the log first and to their place later. Others go
    /// to their place, and their metadata to the log.
    BlueStore {
        /// Bytes.
        deferred_below: Bytes,
    },
    /// All writes go to a journal first and to the file system later.
    FileStore,
}

/// Settings of a Swift cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Swift {
    /// Hosts that run proxies.
    pub proxies: Vec<HostId>,
    /// The ring has 2 to the power of this number of partitions.
    pub partition_power: u32,
    /// Whether clients send `X-Newest` with each read.
    pub x_newest: bool,
    /// Metadata that is written with an object.
    pub metadata: Bytes,
    /// Processor time of a proxy for a request.
    pub proxy: Cost,
    /// Processor time of a proxy for each object server that it talks to.
    pub relay: Cost,
    /// Processor time of an object server for a read.
    pub read: Cost,
    /// Processor time of an object server for a write.
    pub write: Cost,
}

/// A machine on the network, physical or virtual.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    /// `brick0`: the group's name and the index in it.
    pub name: String,
    /// The group from which it was expanded: `brick`.
    pub group: String,
    /// Its function.
    pub role: Role,
    /// Its processor.
    pub cpu: CpuProfile,
    /// Its network adapter.
    pub nic: Nic,
    /// A second adapter of a storage node, for messages between servers.
    pub cluster_nic: Option<Nic>,
    /// Its own settings if it is a virtual machine that shares processor and adapter with the others of its group.
    pub guest: Option<Guest>,
    /// Its machine, if it is a storage node on a virtual machine.
    pub machine: Option<Machine>,
}

/// The machine of a virtual machine. All virtual machines on it share its adapter and disks, and
/// each has an equal part of each disk. Processors are not shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The first host on the machine, which stands for it.
    pub host: HostId,
    /// Its index among those on the machine, from 0.
    pub place: u32,
    /// Bandwidth limit in each direction; `None`: that of the machine's link.
    pub bandwidth: Option<Rate>,
}

/// The block layer of a virtual machine, and the cost of its hypervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guest {
    /// The order in which waiting requests are sent.
    pub scheduler: Scheduler,
    /// Maximum outstanding requests, at least one.
    pub queue_depth: u32,
    /// Maximum size of a request, in whole sectors; larger ones are split.
    pub largest: Bytes,
    /// Processor time of the hypervisor for each request sent.
    pub hypervisor: SimSpan,
    /// Interval between commits of the journal; zero: there is none.
    pub journal_commit: SimSpan,
}

/// The function of a host.
#[derive(Clone, PartialEq, Debug)]
pub enum Role {
    /// Stores fragments.
    Node(Storage),
    /// Issues requests; encodes and decodes.
    Client,
}

impl Role {
    /// The storage side, if the host has one.
    pub fn storage(&self) -> Option<&Storage> {
        match self {
            Self::Node(storage) => Some(storage),
            Self::Client => None,
        }
    }
}

/// The storage side of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Storage {
    /// The buffer cache.
    pub cache: Cache,
    /// Battery-backed memory that holds written data until it is on disk; `None`: none fitted.
    pub nvram: Option<Bytes>,
    /// Where written pages are stored on disk.
    pub layout: Layout,
    /// Disks in order; at least one. A file's pages are striped over them in units of [`Storage::stripe`].
    pub disks: Vec<Disk>,
    /// Devices on which disks have their databases or logs. Their numbers follow those of the disks.
    pub log_devices: Vec<Disk>,
    /// Bytes of a file on one disk before the next disk follows.
    pub stripe: Bytes,
    /// Number of virtual machines that have an equal part of each disk; 1: the disks belong to the host alone.
    pub shared_by: u32,
}

impl Storage {
    /// All devices by number: the disks, then the devices for databases and logs.
    pub fn devices(&self) -> impl Iterator<Item = &Disk> + Clone {
        self.disks.iter().chain(&self.log_devices)
    }

    /// Number of devices.
    pub fn device_count(&self) -> usize {
        self.disks.len() + self.log_devices.len()
    }

    /// Bytes of each disk that belong to the host.
    pub fn capacities(&self) -> impl Iterator<Item = Bytes> + Clone {
        self.device_capacities().take(self.disks.len())
    }

    /// A disk's part of a device: the device's number, and the part's beginning and size in bytes.
    pub fn place_of(&self, part: LogPart) -> (u32, Bytes, Bytes) {
        let number = self.disks.len() + part.device as usize;
        let whole = self.device_capacities().nth(number).unwrap_or(Bytes::ZERO);
        let mib = Bytes::mib(1).get();
        let each = Bytes(whole.get() / u64::from(part.parts.max(1)) / mib * mib);
        (number as u32, each * u64::from(part.place), each)
    }

    /// Bytes of each device that belong to the host, by number.
    pub fn device_capacities(&self) -> impl Iterator<Item = Bytes> + Clone {
        let part = |whole: Bytes| {
            // like partitions, parts begin at multiples of a mebibyte
            let mib = Bytes::mib(1).get();
            Bytes(whole.get() / u64::from(self.shared_by) / mib * mib)
        };
        let whole = self.devices().map(|disk| disk.device.capacity());
        whole.map(move |whole| if self.shared_by == 1 { whole } else { part(whole) })
    }

    /// Settings of the node's software, if tracking takes `reserved` bytes of its cache.
    ///
    /// # Panics
    ///
    /// If the policy is unknown: the scenario must have been checked.
    pub fn settings(&self, reserved: Bytes) -> NodeSettings {
        let cache = &self.cache;
        let capacity = self.capacities().min();
        NodeSettings {
            policy: cache.policy.parse().expect("the scenario was checked"),
            cache: cache.size.saturating_sub(reserved),
            page: cache.page,
            write: cache.write,
            dirty_background: cache.dirty_background,
            dirty_limit: cache.dirty_limit,
            dirty_expire: cache.dirty_expire,
            flush_interval: cache.flush_interval,
            read_ahead: cache.read_ahead,
            disks: self.disks.len() as u32,
            disk_capacity: capacity.unwrap_or(Bytes::ZERO),
            stripe: self.stripe,
            log_segment: match self.layout {
                Layout::InPlace => None,
                Layout::LogStructured { segment } => Some(segment),
            },
        }
    }
}

/// Where written pages are stored on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// A page has a fixed place.
    InPlace,
    /// Pages are appended to a log in segments of this size (Ursa Minor's nodes).
    LogStructured {
        /// Bytes written in one disk operation.
        segment: Bytes,
    },
}

/// A node's buffer cache.
#[derive(Clone, PartialEq, Debug)]
pub struct Cache {
    /// Name of the replacement policy, as `algorithms` knows it: `lru`, `arc`, ...
    pub policy: String,
    /// Memory for pages; at least one page.
    pub size: Bytes,
    /// Size of a page.
    pub page: Bytes,
    /// When a write is acknowledged.
    pub write: WritePolicy,
    /// Dirty bytes above which the flusher starts.
    pub dirty_background: Bytes,
    /// Dirty bytes above which writers wait.
    pub dirty_limit: Bytes,
    /// Age at which a dirty page is always flushed.
    pub dirty_expire: SimSpan,
    /// Interval at which the flusher looks for old pages.
    pub flush_interval: SimSpan,
    /// Maximum read-ahead of a sequential stream; zero: no read-ahead.
    pub read_ahead: Bytes,
}

/// A disk of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Disk {
    /// Name of the device's profile.
    pub device_name: String,
    /// Its properties.
    pub device: Device,
    /// The order in which waiting operations are served.
    pub scheduler: Scheduler,
    /// Its class in placement rules; `None`: by the kind of device.
    pub class: Option<String>,
    /// The place of an OSD's database; `None`: on the disk itself.
    pub db: Option<LogPart>,
    /// The place of an OSD's log; `None`: with its database.
    pub wal: Option<LogPart>,
}

/// One of the equal parts of a device of [`Storage::log_devices`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogPart {
    /// Index of the device.
    pub device: u32,
    /// Index of the part.
    pub place: u32,
    /// Number of its parts.
    pub parts: u32,
}

/// A processor, and the cost of operations on it.
#[derive(Clone, PartialEq, Debug)]
pub struct CpuProfile {
    /// Name of the profile.
    pub name: String,
    /// Number of cores, as the operating system counts them.
    pub cores: u32,
    /// Throughput of two hardware threads of a physical core, as a multiple of one; `None`: each core is physical.
    pub smt: Option<f64>,
    /// Longest time that a thread runs while others wait.
    pub quantum: SimSpan,
    /// Time lost at every switch from one thread to another.
    pub context_switch: SimSpan,
    /// Handling one request of any kind: system calls, look-ups.
    pub request: Cost,
    /// TCP processing of a message sent.
    pub send: Cost,
    /// TCP processing of a message received.
    pub receive: Cost,
    /// Copying between the buffer cache and the network.
    pub copy: Cost,
    /// Encryption.
    pub encrypt: Cost,
    /// Decryption.
    pub decrypt: Cost,
    /// Erasure coding: one multiply-and-add pass. Encoding a block m-of-n takes n − m passes over
    /// the block, decoding one pass for each missing data fragment.
    pub code: Cost,
    /// Posting one activity record.
    pub post: SimSpan,
}

impl CpuProfile {
    /// Time of a server to receive a request that carries data, and the part of it in which data are copied.
    pub fn receiving(&self, carried: Bytes) -> (SimSpan, SimSpan) {
        let copying = self.copy.of(carried);
        (self.request.of(carried) + copying, copying)
    }

    /// Time to encrypt and encode `size` bytes, which are whole blocks.
    pub fn encode_time(
        &self,
        cipher: codec::Cipher,
        encoding: codec::Encoding,
        size: Bytes,
    ) -> SimSpan {
        cipher_time(self.encrypt, cipher, size) + self.coding(size, encoding.passes() as u64)
    }

    /// Time to decrypt and decode `size` bytes, with `missing` data fragments per block that were not read.
    pub fn decode_time(&self, cipher: codec::Cipher, missing: u64, size: Bytes) -> SimSpan {
        cipher_time(self.decrypt, cipher, size) + self.coding(size, missing)
    }

    fn coding(&self, size: Bytes, passes: u64) -> SimSpan {
        if passes == 0 { SimSpan::ZERO } else { self.code.of(size * passes) }
    }
}

fn cipher_time(cost: Cost, cipher: codec::Cipher, size: Bytes) -> SimSpan {
    match cipher {
        codec::Cipher::None => SimSpan::ZERO,
        codec::Cipher::Aes128Cbc => cost.of(size),
    }
}

/// Time for an operation: a fixed cost and a cost per byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// The fixed cost.
    pub fixed: SimSpan,
    /// Bytes processed per second; `None`: size does not matter.
    pub rate: Option<Rate>,
}

impl Cost {
    /// No cost.
    pub const FREE: Self = Self { fixed: SimSpan::ZERO, rate: None };

    /// Time for an operation on `bytes`.
    pub fn of(self, bytes: Bytes) -> SimSpan {
        self.fixed + self.rate.map_or(SimSpan::ZERO, |rate| rate.time_for(bytes))
    }
}

/// A full-duplex network adapter and its link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nic {
    /// Line rate in each direction.
    pub rate: Rate,
    /// Time from the last bit sent to its arrival at the switch, or from switch to host.
    pub latency: SimSpan,
}

/// The network between the hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switch {
    /// How closely the network is modelled.
    pub model: NetworkModel,
    /// Buffer of each output port. Segments that do not fit are dropped and sent again.
    pub port_buffer: Bytes,
    /// Buffer shared by all output ports, of which each uses at most [`Switch::port_buffer`];
    /// `None`: each port has its own.
    pub shared_buffer: Option<Bytes>,
    /// A port may hold at most this multiple of the free shared buffer.
    pub shared_buffer_alpha: f64,
    /// `RTO_min`: without acknowledgements, a sender waits at least this time beyond a round trip
    /// before it sends again.
    pub retransmit_timeout: SimSpan,
    /// Data in flight that a receiver accepts on one connection; at least one segment.
    pub receive_window: Bytes,
    /// Congestion window, in segments, of a connection that is new or was idle for long; at least one.
    pub initial_window: u32,
    /// Whether senders probe for losses at the end of their data instead of waiting for the timeout (RACK-TLP).
    pub loss_probes: bool,
}

/// Uplinks from the switches of racks to the core of the network. Hosts in no rack are at the core.
#[derive(Clone, PartialEq, Debug)]
pub struct Uplinks {
    /// Rate of each uplink, in each direction.
    pub rate: Rate,
    /// The racks, in the order of their names.
    pub racks: Vec<Rack>,
}

/// A rack: hosts that share a switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rack {
    /// Its name.
    pub name: String,
    /// Its hosts, ascending.
    pub hosts: Vec<HostId>,
}

impl Uplinks {
    /// The rack of each host, by its index in [`Uplinks::racks`]; `None`: the host is at the core.
    pub fn by_host(&self, hosts: usize) -> Vec<Option<u32>> {
        let mut by_host = vec![None; hosts];
        for (index, rack) in (0..).zip(&self.racks) {
            for host in &rack.hosts {
                by_host[host.index()] = Some(index);
            }
        }
        by_host
    }
}

impl Switch {
    /// The smallest useful buffer: two full segments, of 1538 bytes on the wire each. With less
    /// than one nothing would get through.
    pub const MIN_BUFFER: Bytes = Bytes::kib(4);

    /// Only links: nothing is dropped and no window is full.
    pub const QUEUE: Self = Self {
        model: NetworkModel::Queue,
        port_buffer: Bytes(u64::MAX),
        shared_buffer: None,
        shared_buffer_alpha: 1.0,
        retransmit_timeout: SimSpan::MAX,
        receive_window: Bytes(u64::MAX),
        initial_window: u32::MAX,
        loss_probes: false,
    };
}

/// How closely the network is modelled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkModel {
    /// TCP over ports with finite buffers: windows, losses, fast retransmits, timeouts.
    Tcp,
    /// Only queues for links: buffers and windows are unlimited.
    Queue,
}

/// A set of data with one distribution.
#[derive(Clone, PartialEq, Debug)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Bytes that clients can address.
    pub size: Bytes,
    /// Storage nodes that may hold its fragments, in order; at least [`Volume::n`].
    pub nodes: Vec<HostId>,
    /// The fragments that a block is written as, and which of them suffice to read it.
    pub encoding: codec::Encoding,
    /// Encryption before encoding.
    pub cipher: Cipher,
    /// Unit of encoding: a block is encoded as a whole.
    pub block: Bytes,
    /// How blocks are spread over the nodes.
    pub placement: Placement,
    /// Bytes of the volume (whole blocks) that go to one set of n nodes before the next.
    pub group: Bytes,
    /// Acknowledgements that complete a write: from the number of fragments that always suffice to read it, to n.
    pub write_quorum: u8,
    /// Minimum number of fragments that a write needs while nodes are down.
    pub min_write: u8,
    /// Which fragments a read requests.
    pub read_from: ReadFrom,
    /// When a read that lacks answers asks one more node; `None`: never.
    pub hedge: Option<Hedge>,
    /// Its bucket index. With one, clients access the volume through gateways.
    pub bucket_index: Option<BucketIndex>,
}

/// The bucket index of a volume that clients access through gateways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BucketIndex {
    /// The volume that has the index.
    pub volume: VolumeId,
    /// Number of objects that the index is spread over: the first ones of that volume.
    pub shards: u32,
}

/// Time for which a read waits for its nodes before it asks one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hedge {
    /// A fixed time.
    After(SimSpan),
    /// This quantile of the client's recent read times, in thousandths: 950 is the 95th percentile.
    Quantile(u16),
}

impl std::fmt::Display for Hedge {
    /// In a scenario's notation.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::After(time) => time.fmt(f),
            Self::Quantile(share) => write!(f, "p{}", f64::from(*share) / 10.0),
        }
    }
}

impl Volume {
    /// Fragments needed to read a block; 1 is replication.
    pub fn m(&self) -> u8 {
        self.encoding.m() as u8
    }

    /// Fragments written for a block.
    pub fn n(&self) -> u8 {
        self.encoding.n() as u8
    }

    /// The distribution of this volume's bytes over nodes; `id`: its number.
    ///
    /// Errors with the reason if that is impossible, which does not happen in a checked scenario.
    pub fn distribution(&self, id: VolumeId) -> Result<Distribution, String> {
        let placement = match self.placement {
            Placement::Rotate => placement::Placement::Rotate,
            Placement::Hash => placement::Placement::Hash,
        };
        let mut nodes: Vec<u32> = self.nodes.iter().map(|node| node.0).collect();
        // With a CRUSH map several fragments may be on one node, and the map places them. A
        // distribution needs as many nodes as fragments: these numbers fill up the list and name no
        // host.
        nodes.extend((nodes.len()..self.encoding.n()).map(|index| u32::MAX - index as u32));
        let cipher = self.cipher.codec();
        Distribution::new(id, self.encoding, cipher, placement, self.block, self.group, &nodes)
            .map_err(|error| error.to_string())
    }
}

/// Encryption of a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// None.
    None,
    /// AES with a 128-bit key in CBC mode.
    Aes128Cbc,
}

impl Cipher {
    /// The codec that encrypts.
    pub const fn codec(self) -> codec::Cipher {
        match self {
            Self::None => codec::Cipher::None,
            Self::Aes128Cbc => codec::Cipher::Aes128Cbc,
        }
    }
}

/// How the block groups of a volume are spread over its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// Group g begins at node g mod N and takes the n that follow.
    Rotate,
    /// n nodes chosen by a hash of volume and group.
    Hash,
}

/// Which m of the n fragments a read requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadFrom {
    /// The first m: data fragments of a systematic code, no decoding.
    Primary,
    /// m at random.
    Random,
}

/// What is recorded, and the cost of recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Tracking {
    /// Which requests are recorded, in the notation of `ati`: `all`, `none`, `every 1/100 requests`.
    pub record: String,
    /// Names of the recorded types; empty: all.
    pub kinds: Vec<String>,
    /// Cost of tracking in the simulated system; `None`: none.
    pub cost: Option<TrackingCost>,
    /// Collection of low-level metrics; `None`: none.
    pub metrics: Option<Metrics>,
}

/// Collection of each host's low-level metrics, once a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// Standard deviation of hosts' clocks around the true time.
    pub clock_skew: SimSpan,
    /// Mean delay with which a collector wakes.
    pub sample_delay: SimSpan,
}

/// Cost of tracking in the simulated system, besides CPU time per post ([`CpuProfile::post`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrackingCost {
    /// Memory taken from each node's cache for records that wait to be shipped.
    pub buffer: Bytes,
    /// Size of a record when shipped.
    pub record: Bytes,
    /// Records are shipped when this number of bytes is waiting.
    pub batch: Bytes,
    /// The node that stores the Activity DB.
    pub store: HostId,
}

/// Whether requests carry real bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Sizes only.
    None,
    /// Real bytes are encrypted, encoded, stored, read back and compared.
    Real,
}

/// Gives the values of a setting their names in scenarios.
macro_rules! names {
    ($setting:ident: $($value:ident = $name:literal),+) => {
        impl $setting {
            /// Its name in scenarios.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }
        }
    };
}
names!(Cipher: None = "none", Aes128Cbc = "aes-128-cbc");
names!(Placement: Rotate = "rotate", Hash = "hash");
names!(ReadFrom: Primary = "primary", Random = "random");
