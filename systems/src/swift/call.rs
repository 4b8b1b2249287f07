//! Messages of a cluster with events: who asks whom for what.
//!
//! A call is an exchange, with one step pending at a time. A call to a server that goes down ends `node_timeout` after
//! it began. Simplified: a server that is only slow is waited for, however slow it is.

use foretell_units::{Breadcrumb, Bytes, HostId, SimSpan, SimTime};

use super::cluster::Cluster;
use super::ledger::Osd;
use super::outages::Wait;
use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::{Continuation, Hosts, Work, WorkKind};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::Core;

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A client asks a proxy.
    Client,
    /// A proxy asks an object server.
    Proxy,
    /// A proxy asks an object server whose disk has failed whether it takes a write. It does not.
    Connect,
    /// A proxy asks an object server which version it has (`X-Newest`).
    Version,
    /// A replicator asks another server which blocks of a partition it has.
    Compare,
    /// A replicator reads blocks of its own server. Nobody else is asked.
    Read,
    /// A replicator sends blocks to another server.
    Push,
}

/// A call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) role: Role,
    /// The number of the client's operation, or of the replicator's job.
    pub(super) of: u32,
    /// The server that is asked; meaningless for a proxy.
    pub(super) osd: Osd,
    pub(super) exchange: u32,
    pub(super) began: SimTime,
    /// Whether the server has what it was asked for.
    pub(super) found: bool,
    /// Whether the server has answered that its disk has failed.
    pub(super) refused: bool,
}

/// A call that begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewCall {
    pub(super) role: Role,
    /// The number of the client's operation, or of the replicator's job.
    pub(super) of: u32,
    /// The server that is asked; meaningless for a proxy.
    pub(super) osd: Osd,
    /// The hosts that ask and are asked.
    pub(super) from: HostId,
    pub(super) to: HostId,
    /// Bytes of data that its message carries.
    pub(super) data: Bytes,
    /// The request that it belongs to, and the workload of that.
    pub(super) breadcrumb: Breadcrumb,
    pub(super) workload: u32,
}

impl Cluster {
    /// Begins a call. Nothing is sent yet.
    pub(super) fn call<H: Hosts>(&mut self, core: &mut Core, hosts: &H, new: NewCall) -> u32 {
        let NewCall { role, of, osd, from, to, data, breadcrumb, workload } = new;
        let out = self.out();
        let number = out.calls.new_number();
        let asks = if role == Role::Client { Asks::Application } else { Asks::Server };
        let exchange =
            Exchange::new(Purpose::Own(number), asks, from, to, data, breadcrumb, workload);
        let exchange = core.exchanges.insert(exchange);
        let began = hosts.now();
        out.calls
            .all
            .insert(number, Call { role, of, osd, exchange, began, found: false, refused: false });
        number
    }

    /// The call of an exchange.
    pub(super) fn call_of(&self, core: &Core, exchange: u32) -> Option<(u32, Call)> {
        let Purpose::Own(number) = core.exchanges[exchange].purpose else { return None };
        let out = self.outages.as_ref().expect("only clusters with events have calls");
        Some((number, out.calls.all[&number]))
    }

    /// A server whose disk has failed says so, if it has. Returns whether it has.
    pub(super) fn refuses<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        number: u32,
    ) -> bool {
        let out = self.out();
        let call = out.calls.all.get_mut(&number).expect("it is outstanding");
        call.refused = out.unmounted.contains_key(&call.osd);
        let Call { exchange, refused, .. } = *call;
        if refused {
            core.answer(hosts, exchange, Bytes::ZERO);
        }
        refused
    }

    /// A server computes for a call before it uses its device.
    pub(super) fn compute<H: Hosts>(core: &Core, hosts: &mut H, exchange: u32, span: SimSpan) {
        let asked = &core.exchanges[exchange];
        hosts.compute(Work {
            host: asked.node,
            workload: asked.workload,
            thread: exchange_thread(exchange, SERVER),
            breadcrumb: asked.breadcrumb,
            span,
            work_kind: WorkKind::Application,
            then: Continuation::Step { exchange },
        });
    }

    /// A call gets no answer, because its server is down: the caller waits in vain from now on.
    pub(super) fn wait_in_vain<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let began = self.out().calls.all[&number].began;
        let at = began + core.failed().settings.swift.node_timeout;
        self.wait(hosts, at.max(hosts.now()), Wait::Answer { call: number });
    }

    /// The caller no longer waits for a call.
    pub(super) fn cancel<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) -> Call {
        let call = self.out().calls.all.remove(&number).expect("it is outstanding");
        core.abandon(hosts, call.exchange);
        call
    }
}
