//! The path of a task through the threads of a server, if the scenario specifies threads (see `daemon`).
//!
//! A messenger thread reads a message, an op thread carries it out, and a messenger thread answers it. A
//! transaction goes through the kv thread before it reaches the device.

use foretell_algorithms::node::{FLUSHER, NO_CLIENT};
use foretell_units::{Breadcrumb, Bytes, Op, SimSpan};

use super::daemon::{CHORE, Following, Job, Next, Place};
use super::locks::GroupLock;
use super::pool::Target;
use super::scheduler::Class;
use super::task::Task;
use super::{Objects, Rules};
use crate::hosts::{Continuation, Hosts, Timer, Work, WorkKind};
use crate::process::{SERVER, exchange_thread, scrub_thread};
use crate::protocol::{Core, NO_EXCHANGE};

/// A thread that spins has a core for this long before others get their turn. Assumed: Linux shares cores fairly
/// among runnable threads, so this is about the length of other steps.
const SPIN: SimSpan = SimSpan::from_us(50);

/// What a thread of a server computes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Computation {
    /// The task or chore that it belongs to, and its exchange.
    pub(super) task: u32,
    pub(super) exchange: u32,
    /// The thread, and the step that follows.
    pub(super) place: Place,
    pub(super) next: Next,
    pub(super) span: SimSpan,
}

impl<R: Rules> Objects<R> {
    /// Starts a job of a task's own server.
    pub(super) fn start<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        task: u32,
        place: Place,
        next: Next,
        span: SimSpan,
    ) {
        let Task { exchange, disk, .. } = self.tasks[task];
        let host = core.exchanges[exchange].node;
        let computation = Computation { task, exchange, place, next, span };
        self.start_for(core, hosts, Target { host, disk }, computation);
    }

    pub(super) fn start_for<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        server: Target,
        computation: Computation,
    ) {
        let Computation { task, exchange, place, next, span } = computation;
        let Target { host, disk } = server;
        let (class, bytes, group) = self.schedule(task, next);
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let osd = daemons.osd(host, disk);
        let shard = group % daemons.shards();
        let locks = daemons.threads.locks && place == Place::Op;
        let lock = locks.then(|| (self.tasks[task].volume, group));
        let job = Job { osd, host, place, task, exchange, span, next, class, bytes, shard, lock };
        self.begin_job(core, hosts, job);
    }

    /// A job waits for its thread, or begins.
    pub(super) fn begin_job<H: Hosts>(&mut self, core: &Core, hosts: &mut H, job: Job) {
        let Job { osd, place, shard, .. } = job;
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let ready = daemons.begin(job, hosts.now());
        self.run(core, hosts, ready);
        if place == Place::Op {
            self.go_on_in_shard(core, hosts, osd, shard);
        }
    }

    /// The class of a job, the bytes that it brings, and its placement group.
    fn schedule(&self, task: u32, next: Next) -> (Class, u64, u32) {
        let continued = (Class::Continued, 0, 0);
        if task == u32::MAX {
            return continued;
        }
        if task & CHORE != 0 {
            return self.schedule_chore(task & !CHORE);
        }
        let task = &self.tasks[task];
        let group = self.pools[task.volume as usize].group(task.piece.object) as u32;
        let bytes = if task.op == Op::Write { task.shard.size.get() } else { 0 };
        match next {
            Next::Decided if task.is_front() => (Class::Client, bytes, group),
            Next::Decided | Next::Prepared if !task.is_front() => (Class::Replica, bytes, group),
            _ => (Class::Continued, bytes, group),
        }
    }

    /// The free threads of a shard take the next jobs from its queue.
    fn go_on_in_shard<H: Hosts>(&mut self, core: &Core, hosts: &mut H, osd: u32, shard: u32) {
        let now = hosts.now();
        loop {
            let daemons = self.daemons.as_mut().expect("servers have threads");
            if !daemons.has_shards() {
                return;
            }
            match daemons.next_of(osd, shard, now) {
                Following::Job(job, runs) => self.run(core, hosts, runs.then_some(job)),
                Following::At(at) => {
                    let host = daemons.host(osd);
                    let (task, exchange, place) = (u32::MAX, NO_EXCHANGE, Place::Background);
                    let (class, bytes, lock) = (Class::Continued, 0, None);
                    let (next, span) = if daemons.spins {
                        (Next::Spin, (at - now).min(SPIN))
                    } else {
                        (Next::Wake, SimSpan::ZERO)
                    };
                    let job = Job {
                        osd,
                        host,
                        place,
                        task,
                        exchange,
                        span,
                        next,
                        class,
                        bytes,
                        shard,
                        lock,
                    };
                    if daemons.spins {
                        let ready = daemons.begin(job, now);
                        return self.run(core, hosts, ready);
                    }
                    let job = daemons.jobs.insert(job);
                    hosts.set_timer(at, Timer::Daemon { job });
                    return;
                }
                Following::Nothing => return,
            }
        }
    }

    /// An op thread of an OSD is free, and holds no lock.
    pub(super) fn leave_op_thread<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        osd: u32,
        shard: u32,
        lock: Option<GroupLock>,
    ) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let next = daemons.unlock(osd, lock);
        self.run(core, hosts, next);
        let daemons = self.daemons.as_mut().expect("servers have threads");
        if daemons.has_shards() {
            daemons.free_thread(osd, shard);
            return self.go_on_in_shard(core, hosts, osd, shard);
        }
        let next = daemons.leave_thread(osd, Place::Op);
        self.run(core, hosts, next);
    }

    /// A job has its thread and its processor.
    pub(super) fn run<H: Hosts>(&self, core: &Core, hosts: &mut H, job: Option<u32>) {
        let Some(id) = job else { return };
        let daemons = self.daemons.as_ref().expect("servers have threads");
        let Job { host, exchange, span, next, task, .. } = daemons.jobs[id];
        let (workload, thread, breadcrumb) = if next.is_of_scrubber() {
            (NO_CLIENT, scrub_thread(task), Breadcrumb::NONE)
        } else if exchange == NO_EXCHANGE {
            (NO_CLIENT, FLUSHER, Breadcrumb::NONE)
        } else {
            let asked = &core.exchanges[exchange];
            (asked.workload, exchange_thread(exchange, SERVER), asked.breadcrumb)
        };
        // its thread is not the one that has just worked
        hosts.set_waking(true);
        hosts.compute(Work {
            host,
            workload,
            thread,
            breadcrumb,
            span,
            work_kind: WorkKind::Application,
            then: Continuation::Daemon { job: id },
        });
        hosts.set_waking(false);
    }

    /// Messenger thread's time for a message.
    pub(super) fn messaging(&self, message: Bytes) -> SimSpan {
        self.daemons.as_ref().map_or(SimSpan::ZERO, |daemons| daemons.threads.message.of(message))
    }

    /// A server sends a message to another: at once, or after a messenger thread has written it.
    pub(super) fn send<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        exchange: u32,
        disk: u32,
    ) {
        if self.daemons.is_none() {
            core.send(hosts, exchange);
            return;
        }
        let sent = &core.exchanges[exchange];
        let (host, span) = (sent.sender(), self.messaging(sent.message()));
        let (task, place, next) = (u32::MAX, Place::Messenger, Next::Send);
        let computation = Computation { task, exchange, place, next, span };
        self.start_for(core, hosts, Target { host, disk }, computation);
    }

    /// A server answers the host that asked it.
    pub(super) fn answer<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, task: &Task) {
        self.note_answered(core, hosts, task);
        let carried = if task.op == Op::Read { task.carried() } else { Bytes::ZERO };
        if self.daemons.is_none() {
            core.answer(hosts, task.exchange, carried);
        } else {
            core.exchanges[task.exchange].turn_back(carried);
            self.send(core, hosts, task.exchange, task.disk);
        }
        self.unlock_object(core, hosts, task);
    }

    /// The task's client or server has its answer: others may read or write the object.
    fn unlock_object<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, task: &Task) {
        let Some(locks) = self.object_locks.as_mut().filter(|_| task.is_front()) else { return };
        for waiting in locks.give((task.volume, task.piece.object)) {
            if self.daemons.is_some() {
                self.start(core, hosts, waiting, Place::Op, Next::Decided, SimSpan::ZERO);
            } else {
                self.begin_task(core, hosts, waiting);
            }
        }
    }

    /// A message has arrived: a messenger thread reads it.
    pub(super) fn arrive<H: Hosts>(&mut self, core: &Core, hosts: &mut H, task: u32) {
        let span = self.messaging(core.exchanges[self.tasks[task].exchange].message());
        self.start(core, hosts, task, Place::Messenger, Next::Arrived, span);
    }

    /// The answer of another server has arrived, for a task of the server in front.
    pub(super) fn count<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        front: u32,
        message: Bytes,
    ) {
        if self.daemons.is_none() {
            self.one_done(core, hosts, front);
            return;
        }
        let span = self.messaging(message);
        self.start(core, hosts, front, Place::Messenger, Next::Counted, span);
    }

    /// An op thread prepares the transaction of a server's own copy or shard.
    pub(super) fn prepare<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, task: u32) {
        if self.looks_up(core, hosts, task) {
            return;
        }
        let span = self.rules.transaction(&self.tasks[task]);
        self.start(core, hosts, task, Place::Op, Next::Prepared, span);
    }

    /// The thread that waited for a task's device is free.
    pub(super) fn let_go<H: Hosts>(&mut self, core: &Core, hosts: &mut H, task: u32) {
        let Task { exchange, disk, .. } = self.tasks[task];
        let host = core.exchanges[exchange].node;
        let Task { volume, piece, .. } = self.tasks[task];
        let group = self.pools[volume as usize].group(piece.object) as u32;
        let has_locks = self.daemons.as_ref().is_some_and(|daemons| daemons.threads.locks);
        let lock = has_locks.then_some((volume, group));
        self.let_go_of(core, hosts, Target { host, disk }, group, lock);
    }

    /// A thread of a server that waited for its device is free.
    pub(super) fn let_go_of<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        server: Target,
        group: u32,
        lock: Option<GroupLock>,
    ) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let osd = daemons.osd(server.host, server.disk);
        let shard = group % daemons.shards();
        self.leave_op_thread(core, hosts, osd, shard, lock);
    }

    /// A server's device has finished an access of a task.
    pub(super) fn task_stored<H: Hosts>(&mut self, core: &Core, hosts: &mut H, task: u32) {
        let task = self.tasks[task];
        if task.op == Op::Write && !task.fetches() {
            let server = Target { host: core.exchanges[task.exchange].node, disk: task.disk };
            self.reached_store(core, hosts, server, task.shard.size);
        }
    }

    /// A server's write has reached its store: threads that waited for that continue.
    pub(super) fn reached_store<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        server: Target,
        bytes: Bytes,
    ) {
        if let Some(daemons) = &self.daemons {
            let osd = daemons.osd(server.host, server.disk);
            self.release(core, hosts, osd, bytes);
        }
    }

    /// These bytes are no longer in flight to an OSD's store.
    fn release<H: Hosts>(&mut self, core: &Core, hosts: &mut H, osd: u32, bytes: Bytes) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        daemons.release(osd, bytes.get());
        while let Some(job) = self.daemons.as_mut().and_then(|all| all.admit_held(osd)) {
            self.admitted(core, hosts, &job);
            self.leave_op_thread(core, hosts, osd, job.shard, job.lock);
        }
    }

    /// A thread has finished a job.
    pub(super) fn job_done<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let job = *daemons.jobs.remove(id);
        let next = daemons.leave_processor(job.osd);
        self.run(core, hosts, next);
        self.holds = false;
        if self.outages.is_none() || !self.job_ends(core, &job) {
            self.job_goes_on(core, hosts, job);
        }
        if !std::mem::take(&mut self.holds) || job.place != Place::Op {
            if job.place == Place::Op {
                return self.leave_op_thread(core, hosts, job.osd, job.shard, job.lock);
            }
            let daemons = self.daemons.as_mut().expect("servers have threads");
            let next = daemons.leave_thread(job.osd, job.place);
            self.run(core, hosts, next);
        }
    }

    /// With events: whether a job no longer has a purpose. If so, it ends here.
    fn job_ends(&mut self, core: &mut Core, job: &Job) -> bool {
        let exchange = job.exchange;
        match job.next {
            Next::Committed | Next::Nothing | Next::Wake => false,
            Next::Spin => self.has_stopped(job.osd),
            Next::Scrub | Next::Scrubbed => {
                let stopped = self.has_stopped(job.osd);
                if stopped {
                    core.scrub_stops(job.task);
                }
                stopped
            }
            Next::Send => self.comes_to_nothing(core, exchange, Continuation::Sent { exchange }),
            Next::ChoreArrived | Next::ChoreDecided => {
                self.comes_to_nothing(core, exchange, Continuation::Taken { exchange })
            }
            _ => self.tasks[job.task].is_dead || self.has_stopped(job.osd),
        }
    }

    /// Does the step that follows a job.
    fn job_goes_on<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: Job) {
        match job.next {
            Next::ChoreArrived => self.queue_chore(core, hosts, job.task & !CHORE),
            Next::ChoreDecided => self.perform_job(core, hosts, &job),
            Next::Wake => unreachable!("it is a timer's"),
            Next::Spin => self.look_again(core, hosts, &job),
            Next::Scrub => {
                self.holds = true;
                core.scrub_reads(hosts, job.task);
            }
            Next::Scrubbed => core.scrub_ends(hosts, job.task),
            Next::Arrived => self.arrived(core, hosts, job.task),
            Next::Decided => self.begin_task(core, hosts, job.task),
            Next::Encoded => self.coded(core, hosts, job.task),
            Next::Prepared => self.commit(core, hosts, &job),
            Next::Committed => self.flush(core, hosts, job),
            Next::Send => core.send(hosts, job.exchange),
            Next::Nothing => {}
            Next::Counted => self.one_done(core, hosts, job.task),
        }
    }

    /// A message has been read: an op thread takes the operation.
    fn arrived<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let task = self.tasks[id];
        if task.op == Op::Write && !task.is_front() {
            self.tasks[id].expect_own();
            self.prepare(core, hosts, id);
            return;
        }
        let (volume, pool) =
            (&core.volumes[task.volume as usize], &self.pools[task.volume as usize]);
        let cpu = hosts.cpu(core.exchanges[task.exchange].node);
        let carried = if task.op == Op::Write { task.carried() } else { Bytes::ZERO };
        let mut span = cpu.request.of(carried) + self.rules.work(volume, pool, cpu, &task);
        if task.op == Op::Write {
            span = span.saturating_sub(self.rules.transaction(&task));
        }
        self.start(core, hosts, id, Place::Op, Next::Decided, span);
    }

    /// A transaction waits for the kv thread.
    fn commit<H: Hosts>(&mut self, core: &Core, hosts: &mut H, job: &Job) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        if daemons.admit(job) {
            self.admitted(core, hosts, job);
        } else {
            self.holds = true;
        }
    }

    /// The store accepts a transaction.
    fn admitted<H: Hosts>(&mut self, core: &Core, hosts: &mut H, job: &Job) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        if daemons.queue_commit(job.osd, job.task) {
            self.begin_round(core, hosts, job);
        }
    }

    /// A server carries out a chore, or lets its write wait for the kv thread.
    fn perform_job<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: &Job) {
        let duty = job.task & !CHORE;
        if self.writes(duty) {
            self.commit(core, hosts, job);
        } else {
            self.perform(core, hosts, duty);
        }
    }

    fn exchange_of(&self, task: u32) -> u32 {
        if task & CHORE == 0 {
            self.tasks[task].exchange
        } else {
            self.chore_exchange(task & !CHORE)
        }
    }

    fn begin_round<H: Hosts>(&mut self, core: &Core, hosts: &mut H, job: &Job) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let Some((task, span)) = daemons.begin_round(job.osd) else { return };
        let exchange = self.exchange_of(task);
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let (place, next) = (Place::Commit, Next::Committed);
        let round = Job { place, task, exchange, span, next, lock: None, ..*job };
        let ready = daemons.begin(round, hosts.now());
        self.run(core, hosts, ready);
    }

    /// The kv thread has its round's transactions ready: it flushes the device, if that needs it.
    fn flush<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: Job) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let flush = daemons.threads.flush;
        if flush.is_zero() {
            self.committed(core, hosts, &job);
            return;
        }
        let id = daemons.jobs.insert(job);
        hosts.set_timer(hosts.now() + flush, Timer::Daemon { job: id });
    }

    /// The device flush for a round is done.
    pub(super) fn flushed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let job = *daemons.jobs.remove(id);
        if job.next == Next::Wake {
            return self.look_again(core, hosts, &job);
        }
        self.committed(core, hosts, &job);
    }

    /// A shard whose operations had reached their limits checks them again.
    fn look_again<H: Hosts>(&mut self, core: &Core, hosts: &mut H, job: &Job) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        daemons.wakes(job.osd, job.shard);
        self.go_on_in_shard(core, hosts, job.osd, job.shard);
    }

    /// A round of the kv thread is over: the devices have its transactions.
    fn committed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: &Job) {
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let round = daemons.end_round(job.osd);
        let span = daemons.threads.merge * round.len() as u64;
        if !span.is_zero() {
            let (place, next, exchange) = (Place::Background, Next::Nothing, NO_EXCHANGE);
            let ready = daemons.begin(Job { place, exchange, span, next, ..*job }, hosts.now());
            self.run(core, hosts, ready);
        }
        // cancelled transactions leave the throttle too
        let mut dropped = Vec::new();
        for task in round {
            if task & CHORE != 0 {
                let (exchange, bytes) = (self.exchange_of(task), self.chore_bytes(task & !CHORE));
                if self.comes_to_nothing(core, exchange, Continuation::Taken { exchange }) {
                    dropped.push(bytes);
                } else {
                    self.chore_device(core, hosts, task & !CHORE, Op::Write);
                }
                continue;
            }
            let shard = self.tasks[task].shard;
            if self.outages.is_some() && (self.tasks[task].is_dead || self.has_stopped(job.osd)) {
                dropped.push(shard.size);
            } else {
                self.use_device(core, hosts, task, Op::Write, shard);
            }
        }
        for bytes in dropped {
            self.release(core, hosts, job.osd, bytes);
        }
        self.begin_round(core, hosts, job);
    }
}
