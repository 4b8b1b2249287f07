//! The interface of a storage system, and the choice of the system that a cluster runs.
//!
//! No other code depends on which system a cluster runs. A new system needs a folder with a `Machine` that
//! implements [`System`] and [`FromScenario`], and a line in the table of `scenarios/src/system.rs`.

use foretell_scenarios::model::{self, CpuProfile, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan, VolumeId};
use smallvec::SmallVec;

use crate::devices::Down;
use crate::failures::{Failures, Home, Recovery, Unit};
use crate::hosts::{Continuation, Hosts};
use crate::objects::{StoreSettings, Target};
use crate::protocol::{Clocks, Core};
use crate::request::{Issue, Request, Stage};
use crate::scrub::{Places, of_files};
use crate::store::Access;

/// A range of a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VolumeExtent {
    pub(crate) offset: Bytes,
    pub(crate) size: Bytes,
}

/// A requirement of a volume that a storage system cannot fulfil.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemError {
    /// The volume.
    pub volume: String,
    /// The reason.
    pub reason: String,
}

/// The behaviour of a storage system's software, beyond the common parts.
pub(crate) trait System {
    /// Sets the first timers.
    fn begin<H: Hosts>(&self, _hosts: &mut H) {}

    /// The first step of a client for a request: whether it fetches blocks first, and its work to encrypt and
    /// encode the data.
    fn prepare(&self, _core: &Core, _cpu: &CpuProfile, _issue: &Issue) -> (Stage, SimSpan) {
        (Stage::Transfer, SimSpan::ZERO)
    }

    /// The range that a client reads or writes for a request.
    fn range(&self, _core: &Core, _volume: u32, extent: VolumeExtent) -> VolumeExtent {
        extent
    }

    /// Sends the messages for a range of a request. `operation`: of its guest.
    fn send_range<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        extent: VolumeExtent,
        operation: u32,
    );

    /// The work of a server that receives an exchange's message, without that of the network stack; and the part
    /// of it that is copying data.
    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan);

    /// A server has received the message of an exchange.
    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32);

    /// The store of a server has finished the access of an exchange.
    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32);

    /// A computation of a server for an exchange has ended.
    fn computed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _exchange: u32) {
        unreachable!("the system computes nothing of its own")
    }

    /// A thread of a server has finished a job.
    fn daemon_done<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _job: u32) {
        unreachable!("the system's servers have no threads of their own")
    }

    /// A device flush for a thread of a server is done.
    fn daemon_flushed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _job: u32) {
        unreachable!("the system's servers have no threads of their own")
    }

    /// The answer of an exchange was received. Returns the part of a request that it answers.
    fn answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) -> Option<u32>;

    /// The next part that was answered by the same answer.
    fn next_answered(&mut self) -> Option<u32> {
        None
    }

    /// The work of a client to decode and decrypt the data of a request.
    fn decode_time(&self, _core: &Core, _cpu: &CpuProfile, _request: &Request) -> SimSpan {
        SimSpan::ZERO
    }

    /// A timer of the system has expired for a host.
    fn timer<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("the system has no timers")
    }

    /// A client checks a part of a request that it waits for.
    fn look_at_part<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _part: u32) {
        unreachable!("{NO_EVENTS}")
    }

    /// The cluster's opinion of a host has changed.
    fn standing_changed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("{NO_EVENTS}")
    }

    /// A host searches for fragments that it must rebuild.
    fn begin_jobs<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("{NO_EVENTS}")
    }

    /// Prepares for the events of a scenario that has some.
    fn prepare_for_failures(
        &mut self,
        _core: &mut Core,
        _scenario: &Scenario,
        _clocks: &Clocks,
    ) -> Result<(), SystemError> {
        Ok(())
    }

    /// A host, or one of its disks, stops without notice to others. `keeps`: whether it will return with its
    /// data.
    fn fails<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit, keeps: bool) {
        core.host_fails(hosts, what.host, keeps);
    }

    /// A unit is back with its data.
    fn returns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit) {
        core.host_returns(what.host);
        self.standing_changed(core, hosts, what.host);
    }

    /// A unit joins (`joins`) or leaves; when it leaves, its data move elsewhere.
    fn membership_changes<H: Hosts>(
        &mut self,
        _core: &mut Core,
        _hosts: &mut H,
        _what: Unit,
        _joins: bool,
    ) {
        unreachable!("{NO_EVENTS}")
    }

    /// The limits of recoveries have changed.
    fn settings_change<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H) {
        unreachable!("{NO_EVENTS}")
    }

    /// The weight of a server in the map changes.
    fn weight_changes<H: Hosts>(
        &mut self,
        _core: &mut Core,
        _hosts: &mut H,
        _what: Unit,
        _weight: u32,
    ) {
        unreachable!("servers of this system have no weights")
    }

    /// A volume begins to change its encoding or placement.
    fn volume_changes<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _volume: u32) {
        unreachable!("volumes of this system stay as they are")
    }

    /// With events: whether an exchange, for which a computation has just ended, no longer has any effect.
    fn swallows(&mut self, _core: &mut Core, _exchange: u32, _then: Continuation) -> bool {
        false
    }

    /// The message of an exchange was lost because its receiver is down.
    fn lost(&mut self, _core: &mut Core, _exchange: u32) {}

    /// Bytes of volumes that are lost because too few fragments remain.
    fn bytes_lost(&self, core: &Core) -> Bytes {
        let lost = |failures: &Failures| failures.bytes_lost(&core.volumes);
        core.failures.as_deref().map_or(Bytes::ZERO, lost)
    }

    /// Bytes that a recovery still has to write.
    fn bytes_left(&self, core: &Core, recovery: &Recovery) -> Bytes {
        core.failures.as_ref().map_or(Bytes::ZERO, |all| all.bytes_left(&core.volumes, recovery))
    }

    /// The places of disks that hold data when the run begins.
    fn stored_places(&self, scenario: &Scenario, core: &Core) -> Places {
        of_files(scenario, &core.volumes)
    }

    /// Whether the server of a disk is down.
    fn is_stopped(&self, core: &Core, server: Target) -> bool {
        core.failures.as_ref().is_some_and(|failures| failures.is_down(server.host))
    }

    /// The work of a server for the checksum of `bytes` that a scrubber has read. Assumed: as much as copying
    /// them, because both pass over the bytes once.
    fn scrub_work(&self, cpu: &CpuProfile, bytes: Bytes) -> SimSpan {
        cpu.copy.of(bytes)
    }

    /// A scrubber reads its next chunk; its server is up.
    fn scrub<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, scrubber: u32) {
        core.scrub_reads(hosts, scrubber);
    }

    /// A scrubber has read its chunk; `is_stopped`: its server is down.
    fn scrub_read<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        scrubber: u32,
        is_stopped: bool,
    ) {
        let cpu = hosts.cpu(core.scrubbed_server(scrubber).host);
        let span = self.scrub_work(cpu, core.scrubbed_chunk(scrubber).size);
        core.scrub_computes(hosts, scrubber, is_stopped, span);
    }

    /// The unit that a recovery's number stands for.
    fn unit(&self, number: HostId) -> Unit {
        Unit { host: number, disk: None }
    }

    /// The servers that hold fragments initially, by volume.
    fn homes(&self, core: &Core) -> Vec<Home> {
        core.volumes.iter().map(Home::of).collect()
    }

    /// The effect of a request on the nodes' stores.
    fn touch(
        &mut self,
        core: &mut Core,
        issue: &Issue,
        choose: impl FnMut(&mut [u8], usize),
        store: impl FnMut(HostId, &Access),
    );
}

/// Reason for systems whose hosts cannot fail yet.
const NO_EVENTS: &str = "scenarios of this system have no events";

/// Fragments or servers of a piece: without an allocation for usual encodings.
pub(crate) type Few<T> = SmallVec<[T; 8]>;

/// Construction of a system.
pub(crate) trait FromScenario: Sized {
    /// The system for a scenario that uses it.
    fn of(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError>;

    /// The devices of the groups of a volume ([`devices_of`](crate::devices_of)), if servers choose them.
    fn devices(_scenario: &Scenario, _volume: VolumeId) -> Option<Vec<Target>> {
        None
    }

    /// What may be down while every group of a volume accepts reads and writes
    /// ([`serves_without`](crate::serves_without)), if its settings alone do not say.
    fn serves_without(_scenario: &Scenario, _volume: VolumeId) -> Option<Down> {
        None
    }

    /// Settings of its nodes' object stores; `None` if they store files.
    fn object_store(_system: &model::System) -> Option<StoreSettings> {
        None
    }
}

macro_rules! any_system {
    ([] $(
        #[doc = $about:literal]
        $variant:ident $(($field:ident: $settings:ident))? $(as $plain:ident)?, $folder:ident, $name:literal
        $(, if $feature:literal)?;
    )*) => {
        /// One of the systems.
        pub(crate) enum AnySystem {
            $($(#[cfg(feature = $feature)])? $variant(crate::$folder::Machine)),*
        }

        impl AnySystem {
            /// The system of a scenario.
            pub(crate) fn of(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError> {
                Ok(match scenario.system {
                    $(
                        $(#[cfg(feature = $feature)])?
                        model::System::$variant { .. } => Self::$variant(FromScenario::of(scenario, clocks)?)
                    ),*
                })
            }

            /// [`FromScenario::devices`] of the system of a scenario.
            pub(crate) fn devices(scenario: &Scenario, volume: VolumeId) -> Option<Vec<Target>> {
                match scenario.system {
                    $(
                        $(#[cfg(feature = $feature)])?
                        model::System::$variant { .. } => {
                            <crate::$folder::Machine as FromScenario>::devices(scenario, volume)
                        }
                    ),*
                }
            }

            /// [`FromScenario::serves_without`] of the system of a scenario.
            pub(crate) fn serves_without(scenario: &Scenario, volume: VolumeId) -> Option<Down> {
                match scenario.system {
                    $(
                        $(#[cfg(feature = $feature)])?
                        model::System::$variant { .. } => {
                            <crate::$folder::Machine as FromScenario>::serves_without(scenario, volume)
                        }
                    ),*
                }
            }

            /// [`FromScenario::object_store`] of a system.
            pub(crate) fn object_store(system: &model::System) -> Option<StoreSettings> {
                match system {
                    $(
                        $(#[cfg(feature = $feature)])?
                        model::System::$variant { .. } => {
                            <crate::$folder::Machine as FromScenario>::object_store(system)
                        }
                    ),*
                }
            }
        }
    };
}

foretell_scenarios::systems!(any_system);

macro_rules! whichever {
    ([$self:expr, $system:ident, $call:expr] $(
        #[doc = $about:literal]
        $variant:ident $(($field:ident: $settings:ident))? $(as $plain:ident)?, $folder:ident, $name:literal
        $(, if $feature:literal)?;
    )*) => {
        match $self {
            $($(#[cfg(feature = $feature)])? AnySystem::$variant($system) => $call),*
        }
    };
}

/// Calls a method of the current system.
macro_rules! each {
    ($self:expr, $system:ident => $call:expr) => {
        foretell_scenarios::systems!(whichever $self, $system, $call)
    };
}

impl System for AnySystem {
    fn begin<H: Hosts>(&self, hosts: &mut H) {
        each!(self, system => system.begin(hosts));
    }

    fn prepare(&self, core: &Core, cpu: &CpuProfile, issue: &Issue) -> (Stage, SimSpan) {
        each!(self, system => system.prepare(core, cpu, issue))
    }

    fn range(&self, core: &Core, volume: u32, extent: VolumeExtent) -> VolumeExtent {
        each!(self, system => system.range(core, volume, extent))
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
        each!(self, system => system.send_range(core, hosts, request, op, extent, operation));
    }

    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan) {
        each!(self, system => system.handling(core, cpu, exchange))
    }

    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        each!(self, system => system.serve(core, hosts, exchange));
    }

    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        each!(self, system => system.stored(core, hosts, exchange));
    }

    fn computed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        each!(self, system => system.computed(core, hosts, exchange));
    }

    fn daemon_done<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: u32) {
        each!(self, system => system.daemon_done(core, hosts, job));
    }

    fn daemon_flushed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, job: u32) {
        each!(self, system => system.daemon_flushed(core, hosts, job));
    }

    fn answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) -> Option<u32> {
        each!(self, system => system.answered(core, hosts, exchange))
    }

    fn next_answered(&mut self) -> Option<u32> {
        each!(self, system => system.next_answered())
    }

    fn decode_time(&self, core: &Core, cpu: &CpuProfile, request: &Request) -> SimSpan {
        each!(self, system => system.decode_time(core, cpu, request))
    }

    fn timer<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        each!(self, system => system.timer(core, hosts, host));
    }

    fn look_at_part<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        each!(self, system => system.look_at_part(core, hosts, part));
    }

    fn standing_changed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        each!(self, system => system.standing_changed(core, hosts, host));
    }

    fn begin_jobs<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        each!(self, system => system.begin_jobs(core, hosts, host));
    }

    fn prepare_for_failures(
        &mut self,
        core: &mut Core,
        scenario: &Scenario,
        clocks: &Clocks,
    ) -> Result<(), SystemError> {
        each!(self, system => system.prepare_for_failures(core, scenario, clocks))
    }

    fn fails<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit, keeps: bool) {
        each!(self, system => system.fails(core, hosts, what, keeps));
    }

    fn returns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit) {
        each!(self, system => system.returns(core, hosts, what));
    }

    fn membership_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        joins: bool,
    ) {
        each!(self, system => system.membership_changes(core, hosts, what, joins));
    }

    fn swallows(&mut self, core: &mut Core, exchange: u32, then: Continuation) -> bool {
        each!(self, system => system.swallows(core, exchange, then))
    }

    fn lost(&mut self, core: &mut Core, exchange: u32) {
        each!(self, system => system.lost(core, exchange));
    }

    fn bytes_lost(&self, core: &Core) -> Bytes {
        each!(self, system => system.bytes_lost(core))
    }

    fn bytes_left(&self, core: &Core, recovery: &Recovery) -> Bytes {
        each!(self, system => system.bytes_left(core, recovery))
    }

    fn stored_places(&self, scenario: &Scenario, core: &Core) -> Places {
        each!(self, system => system.stored_places(scenario, core))
    }

    fn is_stopped(&self, core: &Core, server: Target) -> bool {
        each!(self, system => system.is_stopped(core, server))
    }

    fn scrub_work(&self, cpu: &CpuProfile, bytes: Bytes) -> SimSpan {
        each!(self, system => system.scrub_work(cpu, bytes))
    }

    fn scrub<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, scrubber: u32) {
        each!(self, system => system.scrub(core, hosts, scrubber));
    }

    fn scrub_read<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        scrubber: u32,
        is_stopped: bool,
    ) {
        each!(self, system => system.scrub_read(core, hosts, scrubber, is_stopped));
    }

    fn unit(&self, number: HostId) -> Unit {
        each!(self, system => system.unit(number))
    }

    fn homes(&self, core: &Core) -> Vec<Home> {
        each!(self, system => system.homes(core))
    }

    fn settings_change<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H) {
        each!(self, system => system.settings_change(core, hosts));
    }

    fn weight_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        weight: u32,
    ) {
        each!(self, system => system.weight_changes(core, hosts, what, weight));
    }

    fn volume_changes<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, volume: u32) {
        each!(self, system => system.volume_changes(core, hosts, volume));
    }

    fn touch(
        &mut self,
        core: &mut Core,
        issue: &Issue,
        choose: impl FnMut(&mut [u8], usize),
        store: impl FnMut(HostId, &Access),
    ) {
        each!(self, system => system.touch(core, issue, choose, store));
    }
}
