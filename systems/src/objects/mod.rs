//! Common parts of storage systems whose servers place objects: Ceph and Swift.
//!
//! A volume is a set of objects. For each object that a request touches, the client asks one server, which
//! stands *in front* of the others. That server has the others read or write their copies or shards, and
//! answers when enough of them have done so. `Rules` contain the differences between systems.
//!
//! `outages` handles servers that fail, `scrub` the scrubbers of their devices. Not modelled: versions.

mod begun;
mod coalesce;
mod daemon;
mod locks;
mod log;
mod onodes;
mod outages;
mod pipeline;
mod pool;
mod scheduler;
mod scrub;
mod step;
mod store;
mod system;
mod task;

use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{self, CpuProfile, OpScheduler, Scenario, Threads};
use foretell_units::{Bytes, HostId, Op, SimSpan, VolumeId};

use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::{Continuation, Hosts, Work, WorkKind};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::Core;
use crate::request::{Issue, Part};
use crate::store::Access;
use crate::system::{Few, SystemError};
use crate::volume::Volume;

pub(crate) use begun::Begun;
use coalesce::{Coalescer, JOINED, Joined, Key};
use daemon::{Daemons, Next, Place};
use locks::ObjectLocks;
use onodes::Onodes;
use outages::Outages;
pub(crate) use outages::{Mapper, What};
use pipeline::Pipeline;
pub(crate) use pool::{Finding, Groups, Piece, Pool, capacities};
pub use pool::{Shard, Target};
pub(crate) use store::{Later, StoreSettings};
pub use store::{StoreAccess, Stores};
pub(crate) use task::Task;

/// Block size of devices: data are aligned to blocks, and the log is written in blocks.
pub(crate) const BLOCK: u64 = 4096;

/// The parts of object handling that differ between storage systems.
pub(crate) trait Rules {
    /// Whether the server in front stores the first copy or shard itself.
    const FRONT_STORES: bool;

    /// Whether writes to an erasure-coded group are carried out in order.
    const ORDERS_WRITES: bool = false;

    /// Number of objects whose metadata a server holds; `None` means all.
    fn onodes(&self) -> Option<u64> {
        None
    }

    /// Whether clients join writes.
    fn coalesces(&self) -> bool {
        false
    }

    /// The placement of a volume's objects.
    fn groups(&self, scenario: &Scenario, volume: VolumeId) -> Result<Groups, String>;

    /// The server in front, for a client and an object with these targets.
    fn front(&self, instance: u32, targets: &[Target]) -> Target;

    /// The first of the copies that the server in front asks to read `wanted` of.
    fn first_read(&mut self, front: HostId, copies: usize, wanted: usize) -> usize;

    /// The work of a server for a task, in addition to the handling of its message.
    fn work(&self, volume: &Volume, pool: &Pool, cpu: &CpuProfile, task: &Task) -> SimSpan;

    /// The threads of each server; `None`: its work runs on any core of its host.
    fn threads(&self) -> Option<Threads> {
        None
    }

    /// The scheduler of these threads; `None`: first come, first served.
    fn scheduler(&self) -> Option<OpScheduler> {
        None
    }

    /// The part of the work for a write that prepares the server's own copy or shard.
    fn transaction(&self, _task: &Task) -> SimSpan {
        SimSpan::ZERO
    }

    /// The map of a volume, including servers that may be out.
    fn mapper(&self, _scenario: &Scenario, _volume: VolumeId) -> Result<Mapper, String> {
        unreachable!("scenarios of this system have no events")
    }

    /// The work of a server that recovers or peers, with `bytes` of its device.
    fn chore(&self, _what: What, _bytes: Bytes) -> SimSpan {
        SimSpan::ZERO
    }

    /// The work of a server for the checksum of `bytes` that a scrubber has read.
    fn scrub_work(&self, bytes: Bytes) -> SimSpan;

    /// Sets the first timers.
    fn begin<H: Hosts>(&self, _hosts: &mut H) {}

    /// A timer has expired for a host.
    fn timer<H: Hosts>(&self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("no timers were set")
    }
}

/// Objects under a system's rules.
pub(crate) struct Objects<R> {
    rules: R,
    /// Pools by volume.
    pools: Vec<Pool>,
    /// Tasks of servers.
    tasks: Slab<Task>,
    /// Threads of servers, if the scenario specifies them.
    daemons: Option<Box<Daemons>>,
    /// The order of writes, by volume and group; empty for volumes without ordered writes.
    pipelines: Vec<Vec<Pipeline>>,
    /// The metadata that servers hold, if not all.
    onodes: Option<Box<Onodes>>,
    /// Writes that clients join, if they do.
    coalescer: Option<Box<Coalescer>>,
    /// Locks of objects, if operations wait for them.
    object_locks: Option<Box<ObjectLocks>>,
    /// Whether the last access keeps its thread waiting.
    holds: bool,
    /// Present only in scenarios with events.
    outages: Option<Box<Outages>>,
}

/// The purpose of an exchange with a server.
#[derive(Clone, Copy, Debug)]
pub struct ObjectOp {
    /// The server's task.
    task: u32,
    /// The part of the client's request that waits for the answer, or, marked with [`JOINED`], the write that
    /// clients have joined; `NO_PART` if another server waits.
    part: u32,
}

/// What servers do with their shards of a piece.
#[derive(Clone, Copy, Debug)]
struct ShardOp {
    op: Op,
    shard: Shard,
}

/// Stands for no part, in an operation between servers.
const NO_PART: u32 = u32::MAX;

impl<R: Rules> Objects<R> {
    pub(crate) fn new(scenario: &Scenario, rules: R) -> Result<Self, SystemError> {
        let mut pools: Vec<Pool> = Vec::new();
        let mut base = 0;
        for (index, volume) in scenario.volumes.iter().enumerate() {
            let groups = rules.groups(scenario, VolumeId::from(index));
            let is_index = |other: &model::Volume| {
                other.bucket_index.is_some_and(|held| held.volume == VolumeId::from(index))
            };
            let pool = groups.map(|groups| Pool::new(volume, groups, base));
            let failed = |reason| SystemError { volume: volume.name.clone(), reason };
            let mut pool = pool.map_err(failed)?;
            pool.is_index = scenario.volumes.iter().any(is_index);
            base += pool.share(volume.size.get());
            pools.push(pool);
        }
        let scheduler = rules.scheduler();
        let daemons = rules
            .threads()
            .map(|threads| Box::new(Daemons::new(scenario, threads, scheduler.as_ref())));
        let orders = |pool: &Pool| R::ORDERS_WRITES && pool.is_coded();
        let pipelines =
            |pool: &Pool| vec![Pipeline::default(); pool.groups() * usize::from(orders(pool))];
        let pipelines = pools.iter().map(pipelines).collect();
        let coalescer = rules.coalesces().then(Box::default);
        let has_locks = rules.threads().is_some_and(|threads| threads.locks);
        let has_indexes = pools.iter().any(|pool| pool.is_index);
        let object_locks =
            (has_locks || has_indexes).then(|| Box::new(ObjectLocks::new(has_locks)));
        let onodes = rules.onodes().map(|held| {
            let hosts = 0..scenario.hosts.len();
            let osds = hosts.map(|index| capacities(scenario, HostId::from(index)).count());
            let volumes = scenario.volumes.iter().zip(&pools);
            let objects: Vec<f64> =
                volumes.map(|(volume, pool)| pool.objects(volume.size)).collect();
            Box::new(Onodes::new(osds, held, &objects))
        });
        let (tasks, holds, outages) = (Slab::new(), false, None);
        Ok(Self {
            rules,
            pools,
            tasks,
            daemons,
            pipelines,
            onodes,
            coalescer,
            object_locks,
            holds,
            outages,
        })
    }

    /// The pools, by volume.
    pub(crate) fn pools(&self) -> &[Pool] {
        &self.pools
    }

    /// The system's rules.
    pub(crate) fn rules(&mut self) -> &mut R {
        &mut self.rules
    }

    /// The same, unchanged.
    pub(crate) fn rules_now(&self) -> &R {
        &self.rules
    }

    fn task_of(core: &Core, exchange: u32) -> u32 {
        let Purpose::Object(op) = core.exchanges[exchange].purpose else {
            unreachable!("servers are asked for objects only")
        };
        op.task
    }

    /// The server in front reads, and asks others to read.
    fn gather<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, task: u32, shard: Shard) {
        let Task { piece, volume, exchange, .. } = self.tasks[task];
        let pool = &self.pools[volume as usize];
        let targets = Few::from_slice(pool.targets(piece.object));
        let wanted = pool.encoding.m();
        let front = core.exchanges[exchange].node;
        let first = self.rules.first_read(front, targets.len(), wanted);
        let (targets, needed) = (&targets[first..first + wanted], wanted as u32);
        let what = ShardOp { op: Op::Read, shard };
        self.ask_all(core, hosts, task, what, needed, targets);
    }

    /// The server in front writes, and asks others to write.
    fn scatter<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, task: u32) {
        let Task { piece, volume, shard, .. } = self.tasks[task];
        if self.outages.is_some() {
            return self.scatter_in_group(core, hosts, task);
        }
        let pool = &self.pools[volume as usize];
        let targets = Few::from_slice(pool.targets(piece.object));
        let needed = pool.quorum;
        let what = ShardOp { op: Op::Write, shard };
        self.ask_all(core, hosts, task, what, needed, &targets);
    }

    /// Asks servers to read or write; if the server in front stores, the first target is its own device.
    fn ask_all<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        task: u32,
        what: ShardOp,
        needed: u32,
        targets: &[Target],
    ) {
        let own = usize::from(R::FRONT_STORES);
        let others: Few<(u8, Target)> = (0..).zip(targets.iter().copied()).skip(own).collect();
        self.tasks[task].needed = needed;
        self.ask(core, hosts, task, what, R::FRONT_STORES, &others);
    }

    /// Asks others, each with its shard, to read or write, and does the same on the front server's `own` device
    /// if there is one. Returns the tasks of the others.
    fn ask<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        task: u32,
        what: ShardOp,
        own: bool,
        others: &[(u8, Target)],
    ) -> Few<u32> {
        let ShardOp { op, shard } = what;
        let front = &mut self.tasks[task];
        front.outstanding = others.len() as u32 + u32::from(own);
        let copy = front.for_others(task, op, shard);
        let disk = front.disk;
        let asked = &core.exchanges[front.exchange];
        let Exchange { node: host, breadcrumb, workload, .. } = *asked;
        let mut children = Few::new();
        for &(position, target) in others {
            let id = self.tasks.insert(Task { disk: target.disk, position, ..copy });
            children.push(id);
            let data = if op == Op::Write { shard.size } else { Bytes::ZERO };
            let purpose = Purpose::Object(ObjectOp { task: id, part: NO_PART });
            let exchange =
                Exchange::new(purpose, Asks::Server, host, target.host, data, breadcrumb, workload);
            let exchange = core.exchanges.insert(exchange);
            self.tasks[id].exchange = exchange;
            self.send(core, hosts, exchange, disk);
        }
        if own && op == Op::Write && self.daemons.is_some() {
            self.prepare(core, hosts, task);
        } else if own {
            self.use_device(core, hosts, task, op, shard);
        }
        children
    }

    /// A server begins with a task: the one in front asks others to do their parts, the others do theirs.
    fn begin_task<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let task = self.tasks[id];
        if !task.is_front() {
            self.tasks[id].expect_own();
            self.use_device(core, hosts, id, task.op, task.shard);
            return;
        }
        if self.outages.is_some() {
            return self.begin_in_group(core, hosts, id);
        }
        let is_of_index = self.pools[task.volume as usize].is_index;
        if let Some(locks) = &mut self.object_locks
            && let Some(hold) = locks.hold_of(task.op, is_of_index)
            && !locks.take(id, hold, (task.volume, task.piece.object))
        {
            return;
        }
        if task.op == Op::Read {
            return self.gather(core, hosts, id, task.shard);
        }
        let pool = &self.pools[task.volume as usize];
        let volume = &core.volumes[task.volume as usize];
        let partial = Pool::partial_blocks(volume, &task.piece);
        let reads = if let Some(pipeline) = self.pipeline_index(&task) {
            let blocks = Pool::partial(volume, &task.piece);
            let group = &mut self.pipelines[task.volume as usize][pipeline];
            group.enter(id, task.piece.object.get(), pool.blocks(&task.piece), blocks)
        } else {
            partial
        };
        if reads > 0 {
            let shard = Shard { size: pool.stride() * reads, ..task.shard };
            self.tasks[id].begin_fetch();
            self.gather(core, hosts, id, shard);
        } else if partial > 0 {
            self.tasks[id].begin_fetch();
            self.encode(core, hosts, id);
        } else {
            self.scatter_in_order(core, hosts, id);
        }
    }

    /// The pipeline of a client's write, if its group has one.
    fn pipeline_index(&self, task: &Task) -> Option<usize> {
        let ordered = !self.pipelines[task.volume as usize].is_empty()
            && self.outages.is_none()
            && task.op == Op::Write
            && task.is_front();
        ordered.then(|| self.pools[task.volume as usize].group(task.piece.object))
    }

    /// The server in front writes and asks others to write, once earlier writes have begun to.
    fn scatter_in_order<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let task = self.tasks[id];
        let Some(pipeline) = self.pipeline_index(&task) else {
            return self.scatter(core, hosts, id);
        };
        for next in self.pipelines[task.volume as usize][pipeline].ready(id) {
            self.scatter(core, hosts, next);
        }
    }

    /// Number of metadata keys that a server must look up for a task's object; it holds the metadata from now on.
    fn look_up(&mut self, core: &Core, task: u32) -> u8 {
        let Some(onodes) = &mut self.onodes else { return 0 };
        let Task { exchange, disk, volume, piece, .. } = self.tasks[task];
        let server = Target { host: core.exchanges[exchange].node, disk };
        onodes.look_up(server, volume, piece.object)
    }

    /// A server that is about to write an object looks up its metadata. Returns whether the task waits for that.
    fn looks_up<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) -> bool {
        let lookups = self.look_up(core, id);
        if lookups == 0 {
            return false;
        }
        let Task { exchange, disk, volume, shard, .. } = self.tasks[id];
        let asked = &core.exchanges[exchange];
        let access = Access::Object(StoreAccess {
            exchange,
            op: Op::Read,
            disk,
            file: volume,
            shard: Shard { size: Bytes::ZERO, ..shard },
            lookups,
            breadcrumb: asked.breadcrumb,
            thread: exchange_thread(exchange, SERVER),
            workload: asked.workload,
            reader: asked.reader(),
            cached: true,
            in_tables: false,
        });
        let waits = hosts.store(asked.node, &access);
        core.wait(exchange, waits);
        self.tasks[id].looks_up = true;
        true
    }

    /// A server reads or writes its own device for a task.
    fn use_device<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        task: u32,
        op: Op,
        shard: Shard,
    ) {
        let Task { exchange, disk, volume, .. } = self.tasks[task];
        let lookups = if op == Op::Read { self.look_up(core, task) } else { 0 };
        let asked = &core.exchanges[exchange];
        let access = Access::Object(StoreAccess {
            exchange,
            op,
            disk,
            file: volume,
            shard,
            lookups,
            breadcrumb: asked.breadcrumb,
            thread: exchange_thread(exchange, SERVER),
            workload: asked.workload,
            reader: asked.reader(),
            cached: true,
            in_tables: self.pools[volume as usize].is_index,
        });
        let waits = hosts.store(asked.node, &access);
        core.wait(exchange, waits);
        // the thread that reads waits for the device
        self.holds = self.daemons.is_some() && op == Op::Read && waits > 0;
        self.tasks[task].holds = self.holds;
        if waits == 0 {
            self.note_device(core, hosts, task);
            self.one_done(core, hosts, task);
        }
    }

    /// Counts one of the answers that a task waits for.
    fn one_done<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let task = &mut self.tasks[id];
        let completes = task.count_answer();
        let over = task.outstanding == 0 && task.is_front();
        let task = *task;
        if completes {
            if task.fetches() {
                self.encode(core, hosts, id);
                return;
            }
            if let Some(pipeline) = self.pipeline_index(&task) {
                assert!(over, "all shards complete a write");
                for next in self.pipelines[task.volume as usize][pipeline].done(id) {
                    let task = self.tasks[next];
                    self.answer(core, hosts, &task);
                    self.tasks.remove(next);
                }
                return;
            }
            let decoding = self.decoding(core, hosts, &task);
            if !decoding.is_zero() {
                self.decode(core, hosts, id, decoding);
                return;
            }
            self.answer(core, hosts, &task);
        }
        if over {
            self.tasks.remove(id);
        }
    }

    /// The blocks that a write covers in part have been read: they are encoded again.
    fn encode<H: Hosts>(&mut self, core: &Core, hosts: &mut H, id: u32) {
        let task = &self.tasks[id];
        let asked = &core.exchanges[task.exchange];
        let volume = &core.volumes[task.volume as usize];
        let pool = &self.pools[task.volume as usize];
        let span = pool.encoding_time(volume, hosts.cpu(asked.node), task.shard.size);
        self.decode(core, hosts, id, span);
    }

    /// The server in front encodes or decodes.
    fn decode<H: Hosts>(&mut self, core: &Core, hosts: &mut H, id: u32, span: SimSpan) {
        let task = &self.tasks[id];
        let asked = &core.exchanges[task.exchange];
        if self.daemons.is_some() {
            self.start(core, hosts, id, Place::Op, Next::Encoded, span);
            return;
        }
        hosts.compute(Work {
            host: asked.node,
            workload: asked.workload,
            thread: exchange_thread(task.exchange, SERVER),
            breadcrumb: asked.breadcrumb,
            span,
            work_kind: WorkKind::Application,
            then: Continuation::Step { exchange: task.exchange },
        });
    }

    /// The server in front has encoded the data to write, or decoded the data it has read.
    fn coded<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        if self.tasks[id].fetches() {
            self.tasks[id].end_fetch();
            return self.scatter_in_order(core, hosts, id);
        }
        let task = self.tasks[id];
        self.answer(core, hosts, &task);
        self.tasks.remove(id);
    }
}

impl<R: Rules> Objects<R> {
    /// A client sends a piece to the server in front, for these parts of requests. `part`: the number that the
    /// answer reports.
    fn send_piece<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        op: Op,
        piece: Piece,
        parts: &[u32],
        part: u32,
    ) {
        let request = core.parts[parts[0]].request;
        let Issue { client, volume, breadcrumb, workload, instance, .. } =
            core.requests[request].issue;
        let hypervisor = core.guests[client.index()].is_some();
        let client_machine = core.machines[client.index()];
        let pool = &self.pools[volume as usize];
        let target = self.rules.front(instance, pool.targets(piece.object));
        let shard = pool.shard(&piece);
        let task = self.tasks.insert(Task::in_front(op, volume, piece, shard, target.disk));
        let data = if op == Op::Write { piece.size } else { Bytes::ZERO };
        let purpose = Purpose::Object(ObjectOp { task, part });
        let asks = core.requests[request].asks();
        let exchange =
            Exchange::new(purpose, asks, client_machine, target.host, data, breadcrumb, workload);
        let exchange = core.exchanges.insert(exchange);
        self.tasks[task].exchange = exchange;
        let mut span = hosts.cpu(client_machine).send.of(core.exchanges[exchange].message());
        for &part in parts {
            let Part { request, operation, .. } = core.parts[part];
            hosts.note_part(&core.requests[request], op, target.host, 1);
            if hypervisor {
                span += core.send_for_guest(client, operation);
            }
        }
        core.send_after(hosts, exchange, span);
    }

    /// A client that joins writes has a piece: it is sent, or waits for an outstanding write.
    fn send_joined<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        op: Op,
        piece: Piece,
        part: u32,
    ) {
        let Issue { client, volume, .. } = core.requests[core.parts[part].request].issue;
        let key = (client, volume, piece.object);
        let coalescer = self.coalescer.as_mut().expect("clients join writes");
        if op == Op::Read {
            let before = coalescer.before_read(key, &piece);
            self.send_waiting(core, hosts, key, before);
            return self.send_piece(core, hosts, op, piece, &[part], part);
        }
        let (before, goes) = coalescer.offer(key, &piece, part);
        self.send_waiting(core, hosts, key, before);
        if goes {
            let coalescer = self.coalescer.as_mut().expect("clients join writes");
            let number = coalescer.sends(key, Few::from_slice(&[part]), true);
            self.send_piece(core, hosts, op, piece, &[part], number | JOINED);
        }
    }

    /// Sends joined writes.
    fn send_waiting<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        key: Key,
        waiting: Vec<Joined>,
    ) {
        for Joined { start, end, parts } in waiting {
            let piece = Piece { object: key.2, start, size: end - start, is_whole: false };
            let coalescer = self.coalescer.as_mut().expect("clients join writes");
            let number = coalescer.sends(key, parts.clone(), false);
            self.send_piece(core, hosts, Op::Write, piece, &parts, number | JOINED);
        }
    }

    /// A write of a client that joins writes is answered: the writes that waited for it are sent.
    fn joined_answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let coalescer = self.coalescer.as_mut().expect("clients join writes");
        let (key, waiting) = coalescer.take_answer(number);
        self.send_waiting(core, hosts, key, waiting);
    }
}
