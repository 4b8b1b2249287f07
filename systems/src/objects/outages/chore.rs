//! Chores: work of servers for which no client waits. A chore is a message from one server to another,
//! followed by processor work and a device access there.
//!
//! A chore has one step pending at a time. If its group has begun a new interval, or its recovery was cancelled,
//! it ends when that step completes.

use foretell_algorithms::node::NO_CLIENT;
use foretell_units::{Breadcrumb, Bytes, Op, SimSpan};

use super::group::Osd;
use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::{Continuation, Hosts, Work, WorkKind};
use crate::objects::daemon::{CHORE, Next, Place};
use crate::objects::scheduler::Class;
use crate::objects::step::Computation;
use crate::objects::{Objects, Rules, StoreAccess};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::{Core, NO_EXCHANGE};
use crate::store::Access;

/// The kind of a chore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// Report the state of a group.
    Query,
    /// Receive that report.
    Info,
    /// Begin to recover the next object of a group.
    Begin,
    /// Read the server's shard of an object, for a recovery.
    Read,
    /// Receive a shard that was read.
    Data,
    /// Compute shards from others.
    Code,
    /// Write a shard.
    Push,
    /// Receive the confirmation of that.
    Pushed,
}

/// A chore: a message, and the work that follows.
#[derive(Clone, Copy, Debug)]
pub(in crate::objects) struct Chore {
    pub(super) what: What,
    pub(super) group: usize,
    pub(super) epoch: u32,
    /// The recovery of an object that it belongs to; 0: none.
    pub(super) work: u64,
    pub(super) from: Osd,
    pub(super) to: Osd,
    /// Bytes of data in its message.
    pub(super) bytes: Bytes,
    pub(super) exchange: u32,
    /// Whether a thread waits for the device.
    pub(in crate::objects) holds: bool,
}

impl Chore {
    pub(super) fn new(what: What, group: usize, epoch: u32, from: Osd, to: Osd) -> Self {
        let (work, bytes, exchange, holds) = (0, Bytes::ZERO, NO_EXCHANGE, false);
        Self { what, group, epoch, work, from, to, bytes, exchange, holds }
    }
}

impl<R: Rules> Objects<R> {
    /// Starts a chore: sends its message, unless the server does it for itself.
    pub(super) fn set_off<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, duty: Chore) {
        let out = self.out();
        let id = out.chores.insert(duty);
        let [from, to] = [duty.from, duty.to].map(|osd| out.servers[osd as usize].target);
        let purpose = Purpose::Own(id);
        let exchange = Exchange::new(
            purpose,
            Asks::Server,
            from.host,
            to.host,
            duty.bytes,
            Breadcrumb::NONE,
            NO_CLIENT,
        );
        let exchange = core.exchanges.insert(exchange);
        self.out().chores[id].exchange = exchange;
        if duty.from != duty.to {
            self.send(core, hosts, exchange, from.disk);
        } else if self.daemons.is_some() {
            self.queue_chore(core, hosts, id);
        } else {
            let host = to.host;
            hosts.compute(Work {
                host,
                workload: NO_CLIENT,
                thread: exchange_thread(exchange, SERVER),
                breadcrumb: Breadcrumb::NONE,
                span: self.chore_span(core, hosts, id),
                work_kind: WorkKind::Application,
                then: Continuation::Step { exchange },
            });
        }
    }

    /// Processor time of a chore on its server.
    fn chore_span<H: Hosts>(&self, core: &Core, hosts: &H, id: u32) -> SimSpan {
        let out = self.outages.as_ref().expect("there are events");
        let cpu = hosts.cpu(core.exchanges[out.chores[id].exchange].node);
        self.chore_work(core, cpu, id)
    }

    /// The same for the given processor.
    pub(in crate::objects) fn chore_work(
        &self,
        core: &Core,
        cpu: &foretell_scenarios::model::CpuProfile,
        id: u32,
    ) -> SimSpan {
        let out = self.outages.as_ref().expect("there are events");
        let duty = &out.chores[id];
        let Some(work) = out.works.get(&duty.work) else {
            return self.rules.chore(duty.what, Bytes::ZERO);
        };
        if duty.what != What::Code {
            return self.rules.chore(duty.what, work.shard.size);
        }
        let volume = &core.volumes[out.groups[duty.group].volume as usize];
        let m = volume.distribution.encoding().m() as u64;
        let lost = work.targets.len() as u64;
        // each missing shard is a combination of m others: one pass over the object for each
        cpu.decode_time(foretell_algorithms::codec::Cipher::None, lost, work.shard.size * m)
    }

    /// The exchange of a chore.
    pub(in crate::objects) fn chore_exchange(&self, id: u32) -> u32 {
        self.outages.as_ref().expect("there are events").chores[id].exchange
    }

    /// Whether a chore is a write.
    pub(in crate::objects) fn writes(&self, id: u32) -> bool {
        self.outages.as_ref().is_some_and(|out| out.chores[id].what == What::Push)
    }

    /// The class of a chore, the bytes that it brings, and its placement group.
    pub(in crate::objects) fn schedule_chore(&self, id: u32) -> (Class, u64, u32) {
        let out = self.outages.as_ref().expect("there are events");
        let duty = &out.chores[id];
        let class = match duty.what {
            What::Begin => Class::Recovery,
            // a chore of a server for itself is done by the thread that began it
            _ if duty.from == duty.to => Class::Continued,
            What::Read | What::Data | What::Push | What::Pushed => Class::RecoveryMessage,
            What::Query | What::Info | What::Code => Class::Continued,
        };
        (class, duty.bytes.get(), out.groups[duty.group].number)
    }

    /// Whether a server is stopped.
    pub(in crate::objects) fn has_stopped(&self, osd: Osd) -> bool {
        self.outages.as_ref().is_some_and(|out| out.is_down(osd))
    }

    /// Bytes that come with the message of a chore.
    pub(in crate::objects) fn chore_bytes(&self, id: u32) -> Bytes {
        self.outages.as_ref().map_or(Bytes::ZERO, |out| out.chores[id].bytes)
    }

    /// The message of a chore has arrived.
    pub(in crate::objects) fn chore_arrived<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
    ) {
        if self.daemons.is_none() {
            return self.perform(core, hosts, id);
        }
        let duty = self.out().chores[id];
        let span = self.messaging(core.exchanges[duty.exchange].message());
        self.start_chore(core, hosts, id, Place::Messenger, Next::ChoreArrived, span);
    }

    /// A chore waits for a thread that carries it out.
    pub(in crate::objects) fn queue_chore<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        id: u32,
    ) {
        let span = self.chore_span(core, hosts, id);
        self.start_chore(core, hosts, id, Place::Op, Next::ChoreDecided, span);
    }

    fn start_chore<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        id: u32,
        place: Place,
        next: Next,
        span: SimSpan,
    ) {
        let out = self.out();
        let Chore { to, exchange, .. } = out.chores[id];
        let target = out.servers[to as usize].target;
        let computation = Computation { task: CHORE | id, exchange, place, next, span };
        self.start_for(core, hosts, target, computation);
    }

    /// A server carries a chore out.
    pub(in crate::objects) fn perform<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
    ) {
        let duty = self.out().chores[id];
        match duty.what {
            What::Read => return self.chore_device(core, hosts, id, Op::Read),
            What::Push => return self.chore_device(core, hosts, id, Op::Write),
            _ => {}
        }
        self.free_chore(core, id);
        match duty.what {
            What::Query => self.inform(core, hosts, &duty),
            What::Info => self.informed(core, hosts, duty.group),
            What::Begin => self.work_begins(core, hosts, &duty),
            What::Data => self.source_here(core, hosts, &duty),
            What::Code => self.push(core, hosts, &duty),
            What::Pushed => self.pushed(core, hosts, &duty),
            What::Read | What::Push => unreachable!("these use the device"),
        }
    }

    /// A server reads or writes its device for a chore.
    pub(in crate::objects) fn chore_device<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        op: Op,
    ) {
        let out = self.out();
        let Chore { exchange, to, group, work, .. } = out.chores[id];
        let target = out.servers[to as usize].target;
        let (file, recovered) = (out.groups[group].volume, &out.works[&work]);
        let (shard, cached) = (recovered.shard, recovered.for_request);
        // from now on the server has the exchange with itself
        let asked = &mut core.exchanges[exchange];
        (asked.client, asked.node) = (target.host, target.host);
        let access = Access::Object(StoreAccess {
            exchange,
            op,
            disk: target.disk,
            file,
            shard,
            lookups: 0,
            breadcrumb: Breadcrumb::NONE,
            thread: exchange_thread(exchange, SERVER),
            workload: NO_CLIENT,
            reader: asked.reader(),
            cached,
            in_tables: false,
        });
        let waits = hosts.store(target.host, &access);
        core.wait(exchange, waits);
        self.holds = self.daemons.is_some() && op == Op::Read && waits > 0;
        self.out().chores[id].holds = self.holds;
        if waits == 0 {
            self.chore_stored(core, hosts, id);
        }
    }

    /// A server's device has finished the access of a chore.
    pub(in crate::objects) fn chore_stored<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
    ) {
        let duty = self.out().chores[id];
        let target = self.out().servers[duty.to as usize].target;
        let number = self.out().groups[duty.group].number;
        if duty.what == What::Push {
            self.reached_store(core, hosts, target, duty.bytes);
        }
        if duty.holds {
            self.let_go_of(core, hosts, target, number, None);
        }
        let is_over = self.is_over(&duty) || self.out().is_down(duty.to);
        self.free_chore(core, id);
        match duty.what {
            _ if is_over => {}
            What::Read => self.source_read(core, hosts, &duty),
            _ => self.written(core, hosts, &duty),
        }
    }

    fn is_over(&self, duty: &Chore) -> bool {
        let out = self.outages.as_ref().expect("there are events");
        out.groups[duty.group].epoch != duty.epoch
            || duty.work != 0 && !out.works.contains_key(&duty.work)
    }

    /// Whether a chore is cancelled. If so, it ends here.
    pub(super) fn ends_chore(&mut self, core: &mut Core, id: u32, then: Continuation) -> bool {
        let duty = self.out().chores[id];
        let at = if matches!(then, Continuation::Sent { .. }) { duty.from } else { duty.to };
        let ends = self.is_over(&duty) || self.out().is_down(at);
        if ends {
            self.free_chore(core, id);
        }
        ends
    }

    /// A chore has ended.
    pub(in crate::objects) fn free_chore(&mut self, core: &mut Core, id: u32) {
        let exchange = self.out().chores.remove(id).exchange;
        core.free(exchange);
    }
}
