//! Storage systems with a server in front: Ceph and Swift in outline.
//!
//! The volume is a set of objects. For each object that a request touches the client asks one
//! server: in Ceph the *primary*, the first OSD of the object's placement group; in Swift a proxy. That
//! server asks the others and answers:
//!
//! | | Ceph | Swift |
//! | --- | --- | --- |
//! | write | the primary writes, and the other OSDs of the group; done when all have | three object servers write; done when two have |
//! | read | the primary reads | an object server reads |
//! | erasure-coded | the primary reads what a write touches in part, encodes, and all write a shard; for a read it asks for the data shards | not there |
//!
//! Sources: Weil et al., *Ceph*, OSDI 2006, and Ceph's and `OpenStack` Swift's documentation of their
//! architectures. Left out: versions, placement-group locks, recovery, scrubbing, heartbeats between
//! OSDs; a proxy passes an object on when it has it whole, where Swift streams; account and container
//! servers.

mod log;
mod pool;
mod store;

use foretell_scenarios::model::{CpuProfile, System, WorkloadKind};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan};
use smallvec::SmallVec;

use crate::cluster::{Cluster, Volume, owner_of};
use crate::demand::NOBODY;
use crate::event::{Event, HostTask, Then};
use crate::exchange::{Leg, LegKind, NO_PART, leg_thread};
use crate::guest::NO_OPERATION;
use crate::process::SERVER;
use crate::protocol::Part;

pub(crate) use pool::{Pool, Shard, Target};
pub(crate) use store::{Settings, StoreAccess, Stores};

/// How often a node reports to a monitor, as Ceph's `mgr_stats_period`.
const REPORT_PERIOD: SimSpan = SimSpan::from_secs(5);
/// Size of a report. Assumed: some hundred counters of each OSD.
const REPORT: Bytes = Bytes::kib(4);

/// Blocks in which devices are used: data are aligned to them, and the log is written in them.
const BLOCK: u64 = 4096;

/// The servers of an object: for Ceph's and Swift's usual encodings without an allocation.
type Targets = SmallVec<[Target; 8]>;

/// What a server was asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    /// The leg that asked for it, and whether that still waits for an answer.
    leg: u32,
    /// The task of the server in front that this is a part of, or [`NO_TASK`].
    front: u32,
    op: Op,
    volume: u32,
    piece: pool::Piece,
    /// What it is on this server's device; of the server in front, on each server's.
    shard: Shard,
    disk: u32,
    stage: Stage,
    /// Answers, the own device's among them, that it still needs.
    needed: u32,
    /// Answers that have not come.
    outstanding: u32,
}

const NO_TASK: u32 = u32::MAX;

/// How far a task in front has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Blocks that a write touches in part are read.
    Fetch,
    /// The task itself.
    Transfer,
}

impl Task {
    fn is_front(&self) -> bool {
        self.front == NO_TASK
    }

    /// Bytes of its message: to the server in front, the client's own.
    fn carried(&self) -> Bytes {
        if self.is_front() { self.piece.size } else { self.shard.size }
    }
}

impl Volume {
    fn pool(&self) -> &Pool {
        self.pool.as_ref().expect("tasks are of pools")
    }

    /// Blocks that a write of a piece touches in part, and so must read first.
    fn partial_blocks(&self, piece: &pool::Piece) -> u64 {
        self.distribution.partial_blocks(piece.start, piece.size).count() as u64
    }

    /// Time to encode the blocks of which a server has that shard.
    fn encoding_time(&self, cpu: &CpuProfile, shard: Bytes) -> SimSpan {
        self.seal_time(cpu, shard * self.pool().encoding.m() as u64)
    }
}

impl Cluster {
    /// The messages of a request to a pool go out.
    pub(crate) fn send_to_objects(&mut self, id: u32) {
        let request = &self.requests[id];
        let (client, breadcrumb, workload) = (request.client, request.breadcrumb, request.workload);
        let (op, volume, instance) = (request.op, request.volume, request.instance);
        let kind = &self.scenario.workloads[workload as usize].kind;
        let whole = matches!(kind, WorkloadKind::Cosbench { .. });
        let pool = self.volumes[volume as usize].pool();
        let pieces = pool.pieces(request.offset, request.size, whole);
        for piece in pieces {
            let pool = self.volumes[volume as usize].pool();
            let target = match &self.scenario.system {
                System::Swift(swift) => {
                    let proxy = swift.proxies[instance as usize % swift.proxies.len()];
                    Target { host: proxy, disk: 0 }
                }
                _ => pool.targets(piece.object)[0],
            };
            let task = Task {
                leg: 0,
                front: NO_TASK,
                op,
                volume,
                piece,
                shard: pool.shard(&piece),
                disk: target.disk,
                stage: Stage::Transfer,
                needed: 0,
                outstanding: 0,
            };
            let part = Part {
                request: id,
                needed: 1,
                outstanding: 1,
                operation: NO_OPERATION,
                first_block: 0,
                blocks: 0,
            };
            self.requests[id].parts_left += 1;
            let (task, part) = (self.tasks.insert(task), self.parts.insert(part));
            let data = if op == Op::Write { piece.size } else { Bytes::ZERO };
            let kind = LegKind::Object { task, part };
            let leg = Leg::new(kind, (client, target.host), data, breadcrumb, workload);
            let leg = self.legs.insert(leg);
            self.tasks[task].leg = leg;
            self.send(leg);
        }
    }

    /// Work of a server's processor for a task that has come in, beside taking in the message.
    pub(crate) fn work_of_task(&self, host: HostId, id: u32) -> SimSpan {
        let task = &self.tasks[id];
        let cpu = &self.hosts[host.index()].profile;
        let carried = if task.op == Op::Write { task.carried() } else { Bytes::ZERO };
        let mut work = cpu.request.of(carried) + cpu.copy.of(carried);
        let volume = &self.volumes[task.volume as usize];
        let copies = volume.pool().encoding.n() as u64;
        match (&self.scenario.system, task.op, task.is_front()) {
            (System::UrsaMinor, ..) => unreachable!("nodes serve fragments"),
            (System::Ceph(ceph), Op::Read, _) => work += ceph.read.of(task.shard.size),
            (System::Ceph(ceph), Op::Write, true) => {
                work += ceph.write.of(task.piece.size);
                work += ceph.commit.of(task.shard.size);
                if volume.partial_blocks(&task.piece) == 0 {
                    work += volume.encoding_time(cpu, task.shard.size);
                }
            }
            (System::Ceph(ceph), Op::Write, false) => work += ceph.commit.of(task.shard.size),
            (System::Swift(swift), Op::Read, true) => {
                work += swift.proxy.of(task.piece.size) + swift.relay.of(task.piece.size);
            }
            (System::Swift(swift), Op::Write, true) => {
                // headers go first, data when the server has said that it wants them
                let headers = swift.relay.of(Bytes::ZERO);
                work += swift.proxy.of(task.piece.size);
                work += (headers + swift.relay.of(task.piece.size)) * copies;
            }
            (System::Swift(swift), Op::Read, false) => work += swift.read.of(task.shard.size),
            (System::Swift(swift), Op::Write, false) => work += swift.write.of(task.shard.size),
        }
        work
    }

    /// Of that work, copying what the message carries.
    pub(crate) fn copying_of_task(&self, host: HostId, id: u32) -> SimSpan {
        let task = &self.tasks[id];
        let carried = if task.op == Op::Write { task.carried() } else { Bytes::ZERO };
        self.hosts[host.index()].profile.copy.of(carried)
    }

    /// A server takes up a task that has come in.
    pub(crate) fn serve_object(&mut self, id: u32) {
        let LegKind::Object { task, .. } = self.legs[id].kind else {
            unreachable!("only these are served by a server of objects")
        };
        let now = self.tasks[task];
        if !now.is_front() {
            self.tasks[task].outstanding = 1;
            self.tasks[task].needed = 1;
            self.use_device(task, now.op, now.shard);
            return;
        }
        let volume = &self.volumes[now.volume as usize];
        let partial = volume.partial_blocks(&now.piece);
        if now.op == Op::Write && partial > 0 {
            let shard = Shard { size: volume.pool().stride() * partial, ..now.shard };
            self.tasks[task].stage = Stage::Fetch;
            self.gather(task, shard);
        } else if now.op == Op::Write {
            self.scatter(task);
        } else {
            self.gather(task, now.shard);
        }
    }

    /// The server in front reads, and has others read.
    fn gather(&mut self, task: u32, shard: Shard) {
        let Task { piece, volume, .. } = self.tasks[task];
        let pool = self.volumes[volume as usize].pool();
        let targets = Targets::from_slice(pool.targets(piece.object));
        let wanted = pool.encoding.m();
        // any of the copies is as good as another: proxies shuffle them (`sorting_method`)
        let first = if self.is_swift() {
            let proxy = self.legs[self.tasks[task].leg].node;
            let choices = (targets.len() - wanted + 1) as u64;
            self.shuffling[proxy.index()].below(choices) as usize
        } else {
            0
        };
        self.ask(task, Op::Read, shard, &targets[first..first + wanted], wanted as u32);
    }

    /// The server in front writes, and has others write.
    fn scatter(&mut self, task: u32) {
        let Task { piece, volume, shard, .. } = self.tasks[task];
        let pool = self.volumes[volume as usize].pool();
        let targets = Targets::from_slice(pool.targets(piece.object));
        let quorum = pool.quorum;
        self.ask(task, Op::Write, shard, &targets, quorum);
    }

    fn is_swift(&self) -> bool {
        matches!(self.scenario.system, System::Swift(_))
    }

    /// Has servers read or write; the first target of a primary is its own device.
    fn ask(&mut self, task: u32, op: Op, shard: Shard, targets: &[Target], needed: u32) {
        let front = &mut self.tasks[task];
        front.needed = needed;
        front.outstanding = targets.len() as u32;
        let asked_by = front.leg;
        let copy = Task { front: task, op, shard, stage: Stage::Transfer, ..*front };
        let leg = &self.legs[asked_by];
        let (host, breadcrumb, workload) = (leg.node, leg.breadcrumb, leg.workload);
        let own = usize::from(!self.is_swift());
        for target in &targets[own..] {
            let id = self.tasks.insert(Task { disk: target.disk, ..copy });
            let data = if op == Op::Write { shard.size } else { Bytes::ZERO };
            let kind = LegKind::Object { task: id, part: NO_PART };
            let leg = Leg::new(kind, (host, target.host), data, breadcrumb, workload);
            let leg = self.legs.insert(leg);
            self.tasks[id].leg = leg;
            self.send(leg);
        }
        if own == 1 {
            self.use_device(task, op, shard);
        }
    }

    /// A server reads or writes its own device for a task.
    fn use_device(&mut self, task: u32, op: Op, shard: Shard) {
        let Task { leg: id, disk, volume, .. } = self.tasks[task];
        let leg = &self.legs[id];
        let host = leg.node;
        let access = StoreAccess {
            leg: id,
            op,
            disk,
            file: volume,
            shard,
            breadcrumb: leg.breadcrumb,
            thread: leg_thread(id, SERVER),
            workload: leg.workload,
            reader: leg.reader(),
        };
        let (node, mut around) = self.node(host);
        let waits = node.access_object(&mut around, &access);
        self.note_wait(id, waits);
        if waits == 0 {
            self.stored(id);
        }
    }

    /// A server's own device has done what a leg asked for.
    pub(crate) fn stored(&mut self, id: u32) {
        let LegKind::Object { task, .. } = self.legs[id].kind else {
            unreachable!("only these use a store of objects")
        };
        self.one_done(task);
    }

    /// One of the servers that a server in front has asked has answered.
    pub(crate) fn copy_answered(&mut self, id: u32) {
        let front = self.tasks.remove(id).front;
        self.one_done(front);
    }

    /// One of the answers that a task waits for is there.
    fn one_done(&mut self, id: u32) {
        let task = &mut self.tasks[id];
        task.outstanding -= 1;
        let completes = task.needed == 1;
        task.needed = task.needed.saturating_sub(1);
        let over = task.outstanding == 0 && task.is_front();
        let task = *task;
        if completes {
            if task.is_front() && task.stage == Stage::Fetch {
                self.encode(id);
                return;
            }
            self.answer_task(&task);
        }
        if over {
            self.tasks.remove(id);
        }
    }

    /// What a write touches in part has been read: its blocks are encoded anew.
    fn encode(&mut self, id: u32) {
        let task = self.tasks[id];
        let leg = &self.legs[task.leg];
        let (host, breadcrumb, workload) = (leg.node, leg.breadcrumb, leg.workload);
        let cpu = &self.hosts[host.index()].profile;
        let work = self.volumes[task.volume as usize].encoding_time(cpu, task.shard.size);
        let thread = leg_thread(task.leg, SERVER);
        let then = Then::Encoded { leg: task.leg };
        self.compute(host, workload, HostTask { thread, breadcrumb, work, then });
    }

    /// The blocks of a write are encoded.
    pub(crate) fn encoded(&mut self, id: u32) {
        let LegKind::Object { task, .. } = self.legs[id].kind else {
            unreachable!("only these are encoded by a server")
        };
        self.tasks[task].stage = Stage::Transfer;
        self.scatter(task);
    }

    /// A server answers whoever asked it.
    fn answer_task(&mut self, task: &Task) {
        let carried = if task.op == Op::Read { task.carried() } else { Bytes::ZERO };
        let leg = &mut self.legs[task.leg];
        leg.turn_back(carried);
        let cpu = &self.hosts[leg.node.index()].profile;
        let work = cpu.send.of(leg.message()) + cpu.copy.of(carried);
        self.send_after(task.leg, work);
    }

    /// Nodes begin to report to monitors, each at a phase of its own.
    pub(crate) fn begin_reports(&mut self) {
        let System::Ceph(ceph) = &self.scenario.system else { return };
        let reports = |host: usize| {
            let has_monitors = !ceph.monitors_of(&self.scenario.hosts[host].group).is_empty();
            self.hosts[host].node.is_some() && has_monitors
        };
        let nodes: Vec<u32> =
            (0..self.hosts.len()).filter(|&host| reports(host)).map(|host| host as u32).collect();
        for host in nodes {
            let owner = owner_of(&self.scenario, HostId(host));
            let at = owner.stream("reports").part_of(REPORT_PERIOD);
            self.agenda.schedule(self.agenda.now() + at, Event::Report { host });
        }
    }

    /// A node reports to a monitor.
    pub(crate) fn report(&mut self, host: u32) {
        let System::Ceph(ceph) = &self.scenario.system else {
            unreachable!("only its nodes report")
        };
        let monitors = ceph.monitors_of(&self.scenario.host(HostId(host)).group);
        let monitor = monitors[host as usize % monitors.len()];
        let hosts = (HostId(host), monitor);
        let leg = Leg::new(LegKind::Report, hosts, REPORT, Breadcrumb::NONE, NOBODY);
        let leg = self.legs.insert(leg);
        self.send(leg);
        self.agenda.schedule(self.agenda.now() + REPORT_PERIOD, Event::Report { host });
    }
}
