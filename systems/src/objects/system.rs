//! Object servers as a [`System`].

use foretell_scenarios::model::{CpuProfile, Scenario};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan};

use super::coalesce::JOINED;
use super::{NO_PART, ObjectOp, Objects, Pool, Rules, Shard, StoreAccess, Target};
use crate::exchange::Purpose;
use crate::failures::{Home, Recovery, Unit};
use crate::hosts::{Continuation, Hosts};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::{Clocks, Core, NO_EXCHANGE};
use crate::request::{Issue, Part};
use crate::scrub::Places;
use crate::store::Access;
use crate::system::{System, SystemError, VolumeExtent};

impl<R: Rules> System for Objects<R> {
    fn begin<H: Hosts>(&self, hosts: &mut H) {
        self.rules.begin(hosts);
    }

    fn send_range<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        extent: VolumeExtent,
        operation: u32,
    ) {
        let VolumeExtent { offset, size } = extent;
        let Issue { volume, whole, .. } = core.requests[request].issue;
        let pieces = self.pools[volume as usize].pieces(offset, size, whole);
        for piece in pieces {
            if self.outages.is_some() {
                self.begin_op(core, hosts, request, op, piece, operation);
                continue;
            }
            let part = core.begin_part(Part {
                request,
                needed: 1,
                outstanding: 1,
                operation,
                first_block: 0,
                blocks: 0,
            });
            // librbd joins writes, and gateways do not use it
            let joins = !whole && core.requests[request].is_of_client();
            if self.coalescer.is_some() && joins {
                self.send_joined(core, hosts, op, piece, part);
            } else {
                self.send_piece(core, hosts, op, piece, &[part], part);
            }
        }
    }

    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan) {
        if let Purpose::Own(duty) = core.exchanges[exchange].purpose {
            if self.daemons.is_some() {
                return (SimSpan::ZERO, SimSpan::ZERO);
            }
            let carried = self.chore_bytes(duty);
            let (receiving, copying) = cpu.receiving(carried);
            return (receiving + self.chore_work(core, cpu, duty), copying);
        }
        let Purpose::Object(ObjectOp { task, .. }) = core.exchanges[exchange].purpose else {
            return (SimSpan::ZERO, SimSpan::ZERO);
        };
        let task = &self.tasks[task];
        let carried = if task.op == Op::Write { task.carried() } else { Bytes::ZERO };
        if self.daemons.is_some() {
            // the server's threads do the rest
            return (SimSpan::ZERO, SimSpan::ZERO);
        }
        let (receiving, copying) = cpu.receiving(carried);
        let (volume, pool) =
            (&core.volumes[task.volume as usize], &self.pools[task.volume as usize]);
        (receiving + self.rules.work(volume, pool, cpu, task), copying)
    }

    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        if let Purpose::Report = core.exchanges[exchange].purpose {
            core.exchanges.remove(exchange);
            return;
        }
        if let Purpose::Own(duty) = core.exchanges[exchange].purpose {
            return self.chore_arrived(core, hosts, duty);
        }
        let id = Self::task_of(core, exchange);
        if self.daemons.is_some() {
            self.arrive(core, hosts, id);
            return;
        }
        self.begin_task(core, hosts, id);
    }

    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        if let Purpose::Own(duty) = core.exchanges[exchange].purpose {
            return self.chore_stored(core, hosts, duty);
        }
        let task = Self::task_of(core, exchange);
        if std::mem::take(&mut self.tasks[task].looks_up) {
            return self.prepare(core, hosts, task);
        }
        if std::mem::take(&mut self.tasks[task].holds) {
            self.let_go(core, hosts, task);
        }
        if self.daemons.is_some() {
            self.task_stored(core, hosts, task);
        }
        if self.comes_to_nothing(core, exchange, Continuation::Taken { exchange }) {
            return;
        }
        self.note_device(core, hosts, task);
        self.one_done(core, hosts, task);
    }

    fn computed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        if let Purpose::Own(duty) = core.exchanges[exchange].purpose {
            return self.perform(core, hosts, duty);
        }
        let task = Self::task_of(core, exchange);
        self.coded(core, hosts, task);
    }

    fn daemon_done<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: u32) {
        self.job_done(core, hosts, job);
    }

    fn daemon_flushed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: u32) {
        self.flushed(core, hosts, job);
    }

    fn answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) -> Option<u32> {
        let (purpose, message) = {
            let answered = core.exchanges.remove(exchange);
            (answered.purpose, answered.message())
        };
        let Purpose::Object(ObjectOp { task, part }) = purpose else {
            unreachable!("reports are not answered")
        };
        if part != NO_PART && part & JOINED != 0 {
            self.joined_answered(core, hosts, part & !JOINED);
            return self.next_answered();
        }
        if part != NO_PART {
            return self.take_answer(core, hosts, part, exchange).then_some(part);
        }
        let front = self.tasks.remove(task).front;
        self.forget_child(core, front, task);
        self.count(core, hosts, front, message);
        None
    }

    fn next_answered(&mut self) -> Option<u32> {
        self.coalescer.as_mut()?.next_answered()
    }

    fn timer<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        self.rules.timer(core, hosts, host);
    }

    fn look_at_part<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        self.look_at_op(core, hosts, part);
    }

    fn standing_changed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        self.unit_changed(core, hosts, host);
    }

    fn begin_jobs<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        self.wake(core, hosts, host);
    }

    fn settings_change<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H) {
        self.throttle_changes(core, hosts);
    }

    fn weight_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        weight: u32,
    ) {
        self.unit_reweighted(core, hosts, what, weight);
    }

    fn prepare_for_failures(
        &mut self,
        core: &mut Core,
        scenario: &Scenario,
        clocks: &Clocks,
    ) -> Result<(), SystemError> {
        self.prepare_outages(core, scenario, clocks)
    }

    fn fails<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit, keeps: bool) {
        self.unit_fails(core, hosts, what, keeps);
    }

    fn returns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit) {
        self.unit_returns(core, hosts, what);
    }

    fn membership_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        joins: bool,
    ) {
        self.unit_moves(core, hosts, what, joins);
    }

    fn swallows(&mut self, core: &mut Core, exchange: u32, then: Continuation) -> bool {
        self.comes_to_nothing(core, exchange, then)
    }

    fn lost(&mut self, core: &mut Core, exchange: u32) {
        if let Purpose::Own(duty) = core.exchanges[exchange].purpose {
            self.free_chore(core, duty);
        }
    }

    fn bytes_lost(&self, _core: &Core) -> Bytes {
        self.lost_bytes()
    }

    fn bytes_left(&self, _core: &Core, recovery: &Recovery) -> Bytes {
        self.missing_bytes((recovery.host, recovery.kind))
    }

    fn stored_places(&self, _scenario: &Scenario, core: &Core) -> Places {
        self.places(core)
    }

    fn is_stopped(&self, _core: &Core, server: Target) -> bool {
        self.is_down(server)
    }

    fn scrub_work(&self, _cpu: &CpuProfile, bytes: Bytes) -> SimSpan {
        self.rules.scrub_work(bytes)
    }

    fn scrub<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, scrubber: u32) {
        if self.daemons.is_some() {
            self.queue_scrub(core, hosts, scrubber);
        } else {
            core.scrub_reads(hosts, scrubber);
        }
    }

    fn scrub_read<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        scrubber: u32,
        is_stopped: bool,
    ) {
        if self.daemons.is_some() {
            return self.thread_scrubs(core, hosts, scrubber, is_stopped);
        }
        let span = self.rules.scrub_work(core.scrubbed_chunk(scrubber).size);
        core.scrub_computes(hosts, scrubber, is_stopped, span);
    }

    fn unit(&self, number: HostId) -> Unit {
        self.unit_of(number)
    }

    fn homes(&self, core: &Core) -> Vec<Home> {
        self.first_homes(core)
    }

    fn touch(
        &mut self,
        core: &mut Core,
        issue: &Issue,
        _choose: impl FnMut(&mut [u8], usize),
        mut store: impl FnMut(HostId, &Access),
    ) {
        let Issue { client, volume: file, op, offset, size, workload, whole, instance, .. } =
            *issue;
        let pool = &self.pools[file as usize];
        let volume = &core.volumes[file as usize];
        let machine = core.machines[client.index()];
        for piece in pool.pieces(offset, size, whole) {
            let targets = pool.targets(piece.object);
            let mut touch = |op: Op, shard: Shard, targets: &[Target]| {
                for target in targets {
                    let access = Access::Object(StoreAccess {
                        exchange: NO_EXCHANGE,
                        op,
                        disk: target.disk,
                        file,
                        shard,
                        lookups: 0,
                        breadcrumb: Breadcrumb::NONE,
                        thread: exchange_thread(0, SERVER),
                        workload,
                        reader: u64::from(machine.0) << 32 | u64::from(workload),
                        cached: true,
                        in_tables: pool.is_index,
                    });
                    store(target.host, &access);
                }
            };
            let shard = pool.shard(&piece);
            let wanted = pool.encoding.m();
            let partial = Pool::partial_blocks(volume, &piece);
            let front = self.rules.front(instance, targets).host;
            match op {
                Op::Write => {
                    if partial > 0 {
                        let size = pool.stride() * partial;
                        let first = self.rules.first_read(front, targets.len(), wanted);
                        let read = &targets[first..first + wanted];
                        touch(Op::Read, Shard { size, ..shard }, read);
                    }
                    touch(Op::Write, shard, targets);
                }
                Op::Read => {
                    let first = self.rules.first_read(front, targets.len(), wanted);
                    touch(Op::Read, shard, &targets[first..first + wanted]);
                }
            }
        }
    }
}
