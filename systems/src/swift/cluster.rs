//! Swift as a [`System`]. Without events, `Objects` does everything. With events, the parts of this folder
//! do.

use foretell_scenarios::model::{CpuProfile, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan};

use super::Swift;
use super::call::Role;
use super::outages::Outages;
use crate::failures::{Home, Recovery, Unit};
use crate::hosts::Hosts;
use crate::objects::{Objects, Target};
use crate::protocol::{Clocks, Core};
use crate::request::Issue;
use crate::scrub::Places;
use crate::store::Access;
use crate::system::{System, SystemError, VolumeExtent};

/// Proxies and object servers.
pub(crate) struct Cluster {
    pub(super) plain: Objects<Swift>,
    /// Present only in scenarios with events.
    pub(super) outages: Option<Box<Outages>>,
}

impl Cluster {
    pub(super) fn new(plain: Objects<Swift>) -> Self {
        Self { plain, outages: None }
    }
}

impl System for Cluster {
    fn begin<H: Hosts>(&self, hosts: &mut H) {
        self.plain.begin(hosts);
        self.begin_passes(hosts);
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
        if self.outages.is_none() {
            return self.plain.send_range(core, hosts, request, op, extent, operation);
        }
        let Issue { volume, whole, .. } = core.requests[request].issue;
        for piece in self.plain.pools()[volume as usize].pieces(extent.offset, extent.size, whole) {
            self.begin_op(core, hosts, request, op, piece, operation);
        }
    }

    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan) {
        let Some((_, call)) = self.call_of(core, exchange) else {
            return self.plain.handling(core, cpu, exchange);
        };
        match call.role {
            Role::Client | Role::Proxy | Role::Connect | Role::Version => {
                self.request_handling(cpu, &call)
            }
            Role::Compare | Role::Read | Role::Push => self.copy_handling(cpu, &call),
        }
    }

    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        let Some((number, call)) = self.call_of(core, exchange) else {
            return self.plain.serve(core, hosts, exchange);
        };
        match call.role {
            Role::Client => self.proxy_begins(core, hosts, call.of),
            _ if self.refuses(core, hosts, number) => {}
            // the disk works again
            Role::Connect => core.answer(hosts, exchange, Bytes::ZERO),
            Role::Version => self.server_says_version(core, hosts, number),
            Role::Proxy => self.server_begins(core, hosts, number),
            Role::Compare => self.compared(core, hosts, number),
            Role::Push => self.copy_arrived(core, hosts, number),
            Role::Read => unreachable!("nothing is sent for it"),
        }
    }

    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        let Some((number, call)) = self.call_of(core, exchange) else {
            return self.plain.stored(core, hosts, exchange);
        };
        match call.role {
            // a replicator whose own disk has failed does not go on
            _ if self.refuses(core, hosts, number) => {}
            Role::Proxy => self.server_is_done(core, hosts, number),
            Role::Read => self.copy_read(core, hosts, number),
            Role::Push => self.copy_written(core, hosts, number),
            Role::Client | Role::Connect | Role::Version | Role::Compare => {
                unreachable!("these use no device")
            }
        }
    }

    fn computed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        match self.call_of(core, exchange) {
            Some((number, _)) => self.read_copy(core, hosts, number),
            None => self.plain.computed(core, hosts, exchange),
        }
    }

    fn answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) -> Option<u32> {
        let Some((number, call)) = self.call_of(core, exchange) else {
            return self.plain.answered(core, hosts, exchange);
        };
        core.exchanges.remove(exchange);
        self.out().calls.all.remove(&number);
        match call.role {
            Role::Client => return self.client_has_answer(core, hosts, call.of),
            Role::Proxy => self.server_answered(core, hosts, &call),
            Role::Connect => self.connection_refused(core, hosts, call.of, call.osd),
            Role::Version => self.version_known(core, hosts, &call),
            Role::Compare | Role::Push if call.refused => self.next_server(core, hosts, call.of),
            Role::Compare => self.differences_known(core, hosts, call.of),
            Role::Push => self.copy_acknowledged(core, hosts, call.of),
            Role::Read => unreachable!("nothing is sent for it"),
        }
        None
    }

    fn daemon_flushed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: u32) {
        self.waited(core, hosts, job);
    }

    fn timer<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        self.plain.timer(core, hosts, host);
    }

    fn look_at_part<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        self.look_at_op(core, hosts, part);
    }

    /// In Swift each proxy and each replicator judges hosts for itself.
    fn standing_changed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {}

    fn begin_jobs<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        self.begin_pass(core, hosts, host);
    }

    fn prepare_for_failures(
        &mut self,
        core: &mut Core,
        scenario: &Scenario,
        clocks: &Clocks,
    ) -> Result<(), SystemError> {
        self.prepare(core, scenario, clocks)
    }

    fn fails<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit, keeps: bool) {
        match what.disk {
            Some(_) => self.disk_fails(core, hosts, what, keeps),
            None => self.host_fails(core, hosts, what.host, keeps),
        }
    }

    fn returns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit) {
        match what.disk {
            Some(_) => self.disk_is_back(core, hosts, what),
            None => self.host_is_back(core, hosts, what.host),
        }
    }

    fn membership_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        joins: bool,
    ) {
        self.ring_changes(core, hosts, what, joins);
    }

    fn bytes_lost(&self, core: &Core) -> Bytes {
        self.lost_bytes(core)
    }

    fn bytes_left(&self, _core: &Core, recovery: &Recovery) -> Bytes {
        self.missing_bytes((recovery.host, recovery.kind))
    }

    fn stored_places(&self, scenario: &Scenario, core: &Core) -> Places {
        self.plain.stored_places(scenario, core)
    }

    fn is_stopped(&self, core: &Core, server: Target) -> bool {
        let is_unmounted = |out: &Outages| out.unmounted.contains_key(&out.number(server));
        core.failures.as_ref().is_some_and(|failures| failures.is_down(server.host))
            || self.outages.as_deref().is_some_and(is_unmounted)
    }

    fn scrub_work(&self, cpu: &CpuProfile, bytes: Bytes) -> SimSpan {
        self.plain.scrub_work(cpu, bytes)
    }

    fn scrub<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, scrubber: u32) {
        self.plain.scrub(core, hosts, scrubber);
    }

    fn scrub_read<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        scrubber: u32,
        is_stopped: bool,
    ) {
        self.plain.scrub_read(core, hosts, scrubber, is_stopped);
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
        choose: impl FnMut(&mut [u8], usize),
        store: impl FnMut(HostId, &Access),
    ) {
        self.plain.touch(core, issue, choose, store);
    }
}
