//! A checked scenario: names are resolved to indices, groups are expanded to hosts, profiles to
//! their figures. The simulator reads nothing else.

mod workload;

use std::collections::BTreeMap;
use std::sync::Arc;

use foretell_algorithms::crush::{ClusterMap, Osd, Pg, Pool, Workspace};
use foretell_algorithms::distribution::Distribution;
pub use foretell_algorithms::io_scheduler::SchedulerKind as Scheduler;
use foretell_algorithms::node::Settings;
pub use foretell_algorithms::node::WritePolicy;
use foretell_algorithms::{codec, placement};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, VolumeId, WorkloadId};

use crate::device::Device;
use crate::outages::Outages;
pub use crate::system::{System, SystemTraits};
pub use workload::{Arrivals, Pattern, Think, Workload, WorkloadKind};

/// Everything that a run depends on.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Seed of every random stream.
    pub seed: Seed,
    /// Simulated time before measuring begins.
    pub warmup: SimSpan,
    /// Measured time after the warm-up; `None`: until every workload is finished.
    pub duration: Option<SimSpan>,
    /// How the measured time is cut into intervals, if it is; only with a duration.
    pub intervals: Option<Intervals>,
    /// What storage system it is.
    pub system: System,
    /// Hosts: first the storage nodes, then the clients, in the order of the scenario.
    pub hosts: Vec<Host>,
    /// What joins the hosts.
    pub switch: Switch,
    /// Volumes, by [`VolumeId`].
    pub volumes: Vec<Volume>,
    /// Workloads, by [`WorkloadId`].
    pub workloads: Vec<Workload>,
    /// What is recorded and what recording costs.
    pub tracking: Tracking,
    /// Whether requests carry bytes.
    pub payload: Payload,
    /// What happens to the cluster during the run; `None`: nothing.
    pub outages: Option<Outages>,
}

impl Scenario {
    /// Whether reads of some volume are hedged.
    pub fn hedges(&self) -> bool {
        self.volumes.iter().any(|volume| volume.hedge.is_some())
    }

    /// The host with that number.
    pub fn host(&self, id: HostId) -> &Host {
        &self.hosts[id.index()]
    }

    /// The volume with that number.
    pub fn volume(&self, id: VolumeId) -> &Volume {
        &self.volumes[id.index()]
    }

    /// The workload with that number.
    pub fn workload(&self, id: WorkloadId) -> &Workload {
        &self.workloads[id.index()]
    }
}

/// The measured time in intervals of equal length.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Intervals {
    /// How many; two at the least.
    pub count: u32,
    /// Requests that each is to have of a workload; with fewer it is measured anew, for twice as long.
    pub requests: u64,
    /// Relative standard error of their mean response times beyond which it is measured anew, for twice
    /// as long.
    pub error: f64,
    /// Longest measured time; the duration at the least.
    pub longest: SimSpan,
}

/// What a Ceph cluster is set to.
#[derive(Clone, PartialEq, Debug)]
pub struct Ceph {
    /// How an OSD writes to its device.
    pub store: OsdStore,
    /// Metadata that a write leaves in the log.
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
    /// What its threads do next; `None`: whatever has waited longest. Only with threads.
    pub scheduler: Option<Box<OpScheduler>>,
    /// Objects whose metadata an OSD holds in memory; `None`: all. Only with threads.
    pub onodes: Option<u64>,
    /// Whether clients join writes to an object that follow each other, as librbd does.
    pub coalesce: bool,
    /// Hosts to which nodes report, in turn.
    pub monitors: Vec<HostId>,
    /// The same for groups of nodes that have monitors of their own, by the group's name.
    pub own_monitors: BTreeMap<String, Vec<HostId>>,
    /// By volume: where each placement group lies, as a CRUSH map says. None: copies are on distinct hosts,
    /// by capacity.
    pub places: Option<Vec<Places>>,
}

/// The threads of an OSD, and what they share.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Threads {
    /// Threads that carry out operations.
    pub op: u32,
    /// Threads that read and write messages.
    pub messenger: u32,
    /// Processors that all of them may use at a time; `None`: all of the host's.
    pub processors: Option<u32>,
    /// Time of a messenger thread for a message.
    pub message: Cost,
    /// Time of the kv thread for a round of commits.
    pub kv_round: SimSpan,
    /// Time of the kv thread for each transaction of a round.
    pub kv_transaction: SimSpan,
    /// Time of background threads for each transaction.
    pub merge: SimSpan,
    /// What a round waits for the device to flush; zero: it need not.
    pub flush: SimSpan,
    /// Whether operations wait for locks of placement groups and objects.
    pub locks: bool,
}

/// What the threads of an OSD do next.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct OpScheduler {
    /// Queues, each with its part of the threads.
    pub shards: u32,
    /// How they choose.
    pub kind: OpSchedulerKind,
    /// Bytes that may be on their way to the store: a thread whose transaction is beyond that waits with it.
    pub throttle: Option<Bytes>,
}

/// How an OSD's queue chooses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpSchedulerKind {
    /// By priority.
    Wpq,
    /// By reservation, weight and limit.
    Mclock {
        /// Operations a second that the OSD is taken to be able to do.
        capacity: f64,
        /// Of these, what each class has.
        shares: Shares,
        /// Whether a thread of a shard spins while all that waits has reached its limit.
        spins: bool,
    },
}

/// What classes have of an OSD.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shares {
    /// Clients.
    pub client: Share,
    /// Recovery and backfill.
    pub recovery: Share,
}

/// What a class has of an OSD, as parts of its capacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Share {
    /// What it has in any case.
    pub reservation: f64,
    /// Its part of the rest.
    pub weight: f64,
    /// What it has at the most; `None`: anything.
    pub limit: Option<f64>,
}

/// Where the placement groups of a volume lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// How many groups there are.
    pub groups: u32,
    /// The devices (host, and which of its disks) of the first group, then those of the second, and so on:
    /// one for each copy or shard, the primary's first.
    pub devices: Vec<(HostId, u32)>,
    /// How many different devices there are among them.
    pub spread: u64,
    /// How many of each kind (`osd`, `host`, `rack`, ...) may fail at once, whichever they are, with all data
    /// readable.
    pub survives: Vec<(String, usize)>,
    /// Where they lie when devices are out; only in scenarios with events.
    pub remap: Option<Arc<Remap>>,
}

/// Where the groups of a volume lie when devices are out.
#[derive(Debug)]
pub struct Remap {
    /// The map, in which all OSDs are up.
    pub map: ClusterMap,
    /// The pool.
    pub pool: Pool,
    /// The devices by the numbers of their OSDs.
    pub devices: BTreeMap<i32, (HostId, u32)>,
}

impl Remap {
    /// The map with these weights of devices, 0 of one that is out; `None`: what the map says.
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
    /// Writes shorter than `deferred_below` go to the log, and to their place later; others to their
    /// place, and their metadata to the log.
    BlueStore {
        /// In bytes.
        deferred_below: Bytes,
    },
    /// All writes go to a journal, and to the file system later.
    FileStore,
}

/// What a Swift cluster is set to.
#[derive(Clone, PartialEq, Debug)]
pub struct Swift {
    /// Hosts that run proxies.
    pub proxies: Vec<HostId>,
    /// The ring has two to the power of this many partitions.
    pub partition_power: u32,
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

/// A machine on the network, or a virtual one.
#[derive(Clone, PartialEq, Debug)]
pub struct Host {
    /// `brick0`: the group's name and the index in it.
    pub name: String,
    /// The group it was expanded from: `brick`.
    pub group: String,
    /// What it does.
    pub role: Role,
    /// Its processor.
    pub cpu: CpuProfile,
    /// Its network adapter.
    pub nic: Nic,
    /// What it has of its own if it is a virtual machine: it shares processor and adapter with the
    /// others of its group.
    pub guest: Option<Guest>,
    /// Where it runs, if it is a storage node that is a virtual machine.
    pub machine: Option<Machine>,
}

/// Where a virtual machine runs: its machine's adapter and disks are shared by all on it, and each has an
/// equal part of each disk. Processors are its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// The first host on the machine, which stands for it.
    pub host: HostId,
    /// Its place among those on the machine, from 0.
    pub place: u32,
    /// What it may send, and what it may receive; `None`: as much as the machine's cable takes.
    pub bandwidth: Option<Rate>,
}

/// The block layer of a virtual machine, and what its hypervisor costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guest {
    /// The order in which waiting requests are sent.
    pub scheduler: Scheduler,
    /// Requests sent and not answered, at the most; one at the least.
    pub queue_depth: u32,
    /// Larger requests are split; whole sectors.
    pub largest: Bytes,
    /// Processor time of the hypervisor for each request sent.
    pub hypervisor: SimSpan,
    /// Time between commits of the journal; zero: there is none.
    pub journal_commit: SimSpan,
}

/// What a host does.
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
    /// Where written pages go on disk.
    pub layout: Layout,
    /// Disks in order; at least one. A file's pages go over them in turn, [`Storage::stripe`] each.
    pub disks: Vec<Disk>,
    /// Devices on which disks have their databases or logs. Their numbers follow those of the disks.
    pub log_devices: Vec<Disk>,
    /// How much of a file is on one disk before the next one follows.
    pub stripe: Bytes,
    /// Virtual machines that have an equal part of each disk; 1: the disks are the host's alone.
    pub shared_by: u32,
}

impl Storage {
    /// All devices by number: the disks, then those on which disks have databases or logs.
    pub fn devices(&self) -> impl Iterator<Item = &Disk> + Clone {
        self.disks.iter().chain(&self.log_devices)
    }

    /// How many devices there are.
    pub fn device_count(&self) -> usize {
        self.disks.len() + self.log_devices.len()
    }

    /// Bytes of each disk that the host has.
    pub fn capacities(&self) -> impl Iterator<Item = Bytes> + Clone {
        self.device_capacities().take(self.disks.len())
    }

    /// The part of a device that is a disk's: the device's number, where the part begins, and bytes.
    pub fn place_of(&self, part: LogPart) -> (u32, Bytes, Bytes) {
        let number = self.disks.len() + part.device as usize;
        let whole = self.device_capacities().nth(number).unwrap_or(Bytes::ZERO);
        let mib = Bytes::mib(1).get();
        let each = Bytes(whole.get() / u64::from(part.parts.max(1)) / mib * mib);
        (number as u32, each * u64::from(part.place), each)
    }

    /// Bytes of each device that the host has, by number.
    pub fn device_capacities(&self) -> impl Iterator<Item = Bytes> + Clone {
        let part = |whole: Bytes| {
            // as partitions do, parts begin at multiples of a mebibyte
            let mib = Bytes::mib(1).get();
            Bytes(whole.get() / u64::from(self.shared_by) / mib * mib)
        };
        let whole = self.devices().map(|disk| disk.device.capacity());
        whole.map(move |whole| if self.shared_by == 1 { whole } else { part(whole) })
    }

    /// What the node's software is set to, if its cache lacks `reserved` bytes of memory.
    ///
    /// # Panics
    ///
    /// If the policy is none: the scenario was checked.
    pub fn settings(&self, reserved: Bytes) -> Settings {
        let cache = &self.cache;
        let capacity = self.capacities().min();
        Settings {
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

/// Where written pages go on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// A page has one place.
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
    /// Dirty bytes beyond which the flusher starts.
    pub dirty_background: Bytes,
    /// Dirty bytes beyond which writers wait.
    pub dirty_limit: Bytes,
    /// Age at which a dirty page is flushed in any case.
    pub dirty_expire: SimSpan,
    /// How often the flusher looks.
    pub flush_interval: SimSpan,
    /// Most that is read ahead of a sequential stream; zero: no read-ahead.
    pub read_ahead: Bytes,
}

/// A disk of a node.
#[derive(Clone, PartialEq, Debug)]
pub struct Disk {
    /// Name of the device's profile.
    pub device_name: String,
    /// What it can do.
    pub device: Device,
    /// The order in which waiting operations are served.
    pub scheduler: Scheduler,
    /// The class by which rules of placement name it; `None`: by the kind of device.
    pub class: Option<String>,
    /// Where an OSD has its database; `None`: on the disk itself.
    pub db: Option<LogPart>,
    /// Where an OSD has its log; `None`: where its database is.
    pub wal: Option<LogPart>,
}

/// One of the equal parts of a device of [`Storage::log_devices`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogPart {
    /// Which of these devices.
    pub device: u32,
    /// Which part.
    pub place: u32,
    /// How many parts it has.
    pub parts: u32,
}

/// What a processor is and what operations cost on it.
#[derive(Clone, PartialEq, Debug)]
pub struct CpuProfile {
    /// Name of the profile.
    pub name: String,
    /// Cores, as the operating system counts them.
    pub cores: u32,
    /// What two of them do together, as a multiple of one, where they are threads of one physical core.
    pub smt: Option<f64>,
    /// Longest time that a thread runs while others wait.
    pub quantum: SimSpan,
    /// Lost at every switch from one thread to another.
    pub context_switch: SimSpan,
    /// Handling one request, whatever it does: system calls, look-ups.
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
    /// Time to encrypt and encode so many bytes, which are whole blocks.
    pub fn seal(&self, cipher: codec::Cipher, encoding: codec::Encoding, size: Bytes) -> SimSpan {
        cipher_time(self.encrypt, cipher, size) + self.coding(size, encoding.passes() as u64)
    }

    /// Time to decode and decrypt so many bytes, of whose blocks so many data fragments each were not
    /// read.
    pub fn open(&self, cipher: codec::Cipher, missing: u64, size: Bytes) -> SimSpan {
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

/// Time for an operation: a fixed part and one by size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// Whatever the size.
    pub fixed: SimSpan,
    /// How fast bytes are worked through; `None`: size does not matter.
    pub rate: Option<Rate>,
}

impl Cost {
    /// Costs nothing.
    pub const FREE: Self = Self { fixed: SimSpan::ZERO, rate: None };

    /// Time for an operation on `bytes`.
    pub fn of(self, bytes: Bytes) -> SimSpan {
        self.fixed + self.rate.map_or(SimSpan::ZERO, |rate| rate.time_for(bytes))
    }
}

/// A full-duplex network adapter and its cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nic {
    /// Line rate in each direction.
    pub rate: Rate,
    /// From the last bit sent to the last bit arrived at the switch, or from switch to host.
    pub latency: SimSpan,
}

/// What joins the hosts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Switch {
    /// How closely the network is modelled.
    pub model: NetworkModel,
    /// Buffer of each output port; segments that do not fit are dropped and sent again.
    pub port_buffer: Bytes,
    /// Buffer that all output ports draw on, each at most [`Switch::port_buffer`] of it; `None`: each
    /// has its own.
    pub shared_buffer: Option<Bytes>,
    /// A port may hold so many times what is free of the shared buffer.
    pub shared_buffer_alpha: f64,
    /// `RTO_min`: a sender that waits in vain for acknowledgements waits at least so long, beyond
    /// a round trip, before it sends again.
    pub retransmit_timeout: SimSpan,
    /// Data that a receiver lets be under way to it on one connection; at least one segment.
    pub receive_window: Bytes,
    /// Congestion window of a new or long idle connection, in segments; at least one.
    pub initial_window: u32,
    /// Whether senders probe for losses at the end of what they sent, instead of waiting for the
    /// timeout (RACK-TLP).
    pub loss_probes: bool,
}

impl Switch {
    /// The least buffer that makes sense: two full segments, of 1538 bytes on the wire each. With
    /// less than one nothing would ever get through.
    pub const LEAST_BUFFER: Bytes = Bytes::kib(4);

    /// Cables alone: nothing is dropped and no window is full.
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
    /// Queues for cables alone: buffers and windows have no end.
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
    /// Unit of encoding: a block is encoded whole.
    pub block: Bytes,
    /// How blocks are spread over the nodes.
    pub placement: Placement,
    /// Bytes of the volume (whole blocks) that go to one set of n nodes before the next.
    pub group: Bytes,
    /// Acknowledgements that complete a write: as many as suffice to read it whichever they are, to n.
    pub write_quorum: u8,
    /// Fragments without which a write does not go on while nodes are down.
    pub min_write: u8,
    /// Which fragments a read asks for.
    pub read_from: ReadFrom,
    /// When a read that lacks answers asks one more node; `None`: it does not.
    pub hedge: Option<Hedge>,
}

/// How long a read waits for its nodes before it asks one more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hedge {
    /// That long.
    After(SimSpan),
    /// As long as this part of the client's last reads took, in thousandths: 950 is the 95th percentile.
    Quantile(u16),
}

impl std::fmt::Display for Hedge {
    /// As a scenario has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::After(time) => time.fmt(f),
            Self::Quantile(share) => write!(f, "p{}", f64::from(*share) / 10.0),
        }
    }
}

impl Volume {
    /// Fragments that are read of a block; 1 is replication.
    pub fn m(&self) -> u8 {
        self.encoding.m() as u8
    }

    /// Fragments that a block is written as.
    pub fn n(&self) -> u8 {
        self.encoding.n() as u8
    }

    /// How the bytes of the volume with that number become fragments on nodes.
    ///
    /// Errors with the reason where that is impossible; of a checked scenario it is not.
    pub fn distribution(&self, id: VolumeId) -> Result<Distribution, String> {
        let placement = match self.placement {
            Placement::Rotate => placement::Placement::Rotate,
            Placement::Hash => placement::Placement::Hash,
        };
        let mut nodes: Vec<u32> = self.nodes.iter().map(|node| node.0).collect();
        // With a CRUSH map several fragments may lie on one node, and the map places them. A distribution
        // wants as many nodes as fragments: these numbers stand for the missing ones and name no host.
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
    /// What encrypts.
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

/// Which m of the n fragments a read asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadFrom {
    /// The first m: data fragments of a systematic code, no decoding.
    Primary,
    /// m at random.
    Random,
}

/// What is recorded and what recording costs.
#[derive(Clone, PartialEq, Debug)]
pub struct Tracking {
    /// Which requests are recorded, in the words of `ati`: `all`, `none`, `every 1/100 requests`.
    pub record: String,
    /// Names of the record types kept; empty: all.
    pub kinds: Vec<String>,
    /// What tracking costs in the simulated system; `None`: nothing.
    pub cost: Option<TrackingCost>,
    /// How low-level metrics are collected; `None`: they are not.
    pub metrics: Option<Metrics>,
}

/// How each host's low-level metrics are collected, once in each second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// Standard deviation of hosts' clocks around the true time.
    pub clock_skew: SimSpan,
    /// How late a collector wakes, on average.
    pub sample_delay: SimSpan,
}

/// What tracking costs in the simulated system, besides CPU per post ([`CpuProfile::post`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TrackingCost {
    /// Memory taken from each node's cache for records that wait to be shipped.
    pub buffer: Bytes,
    /// Size of a record when shipped.
    pub record: Bytes,
    /// Records are shipped when so many bytes are waiting.
    pub batch: Bytes,
    /// The node that keeps the Activity DB.
    pub store: HostId,
}

/// Whether requests carry bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Sizes only.
    None,
    /// Real bytes are encrypted, encoded, stored, read back and compared.
    Real,
}

/// Gives the values of a setting the names that scenarios have for them.
macro_rules! names {
    ($setting:ident: $($value:ident = $name:literal),+) => {
        impl $setting {
            /// As scenarios write it.
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
