//! What a storage system must do, and which of them a cluster runs.
//!
//! Nothing here or elsewhere matches on which system a cluster runs: a new one is a folder with a `Machine` that
//! implements [`System`] and [`Founded`], and a line of the table in `scenarios/src/system.rs`.

use foretell_scenarios::model::{self, CpuProfile, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan, VolumeId};
use smallvec::SmallVec;

use crate::failures::{Failures, Home, Unit};
use crate::hosts::{Hosts, Then};
use crate::objects::{Settings, Target};
use crate::protocol::{Clocks, Core};
use crate::request::{Issue, Request, Stage};
use crate::store::Access;

/// A stretch of a volume: where it begins, and how long it is.
pub(crate) type Stretch = (Bytes, Bytes);

/// What a storage system cannot do with a volume.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SystemError {
    /// The volume.
    pub volume: String,
    /// Why.
    pub reason: String,
}

/// What the software of a storage system does, beyond what all have in common.
pub(crate) trait System {
    /// Sets the first timers.
    fn begin<H: Hosts>(&self, _hosts: &mut H) {}

    /// How a client begins a request: whether it fetches first, and its work to seal the data.
    fn prepare(&self, _core: &Core, _cpu: &CpuProfile, _issue: &Issue) -> (Stage, SimSpan) {
        (Stage::Transfer, SimSpan::ZERO)
    }

    /// The stretch that a client reads or writes for a request.
    fn range(&self, _core: &Core, _volume: u32, stretch: Stretch) -> Stretch {
        stretch
    }

    /// The messages of a stretch of a request go out. `operation`: of its guest.
    fn send_range<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        stretch: Stretch,
        operation: u32,
    );

    /// The work of a server that receives the message of an exchange: all but the network stack's, and
    /// of that, copying data.
    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan);

    /// A server has received the message of an exchange.
    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32);

    /// The store of a server has done what an exchange asked for.
    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32);

    /// A server has computed for an exchange.
    fn computed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _exchange: u32) {
        unreachable!("the system computes nothing of its own")
    }

    /// A thread of a server has done a job.
    fn daemon_done<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _job: u32) {
        unreachable!("the system's servers have no threads of their own")
    }

    /// A device has flushed for a thread of a server.
    fn daemon_flushed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _job: u32) {
        unreachable!("the system's servers have no threads of their own")
    }

    /// The answer of an exchange was received. Returns the part of a request that it answers.
    fn answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) -> Option<u32>;

    /// The next part that was answered with it.
    fn next_answered(&mut self) -> Option<u32> {
        None
    }

    /// The work of a client to open what a request has read.
    fn opening(&self, _core: &Core, _cpu: &CpuProfile, _request: &Request) -> SimSpan {
        SimSpan::ZERO
    }

    /// A timer of the system has run out for a host.
    fn timer<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("the system has no timers")
    }

    /// A client looks at a part of a request that it waits for.
    fn look_at_part<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _part: u32) {
        unreachable!("{NO_EVENTS}")
    }

    /// The cluster thinks otherwise of a host than it did.
    fn standing_changed<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("{NO_EVENTS}")
    }

    /// A host looks for fragments that it is to rebuild.
    fn begin_jobs<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _host: HostId) {
        unreachable!("{NO_EVENTS}")
    }

    /// Of a scenario with events: gets ready for what they do.
    fn prepare_for_failures(
        &mut self,
        _core: &mut Core,
        _scenario: &Scenario,
        _clocks: &Clocks,
    ) -> Result<(), SystemError> {
        Ok(())
    }

    /// A host, or a disk of one, stops, without a word to anybody. `keeps`: whether it will be back with
    /// what it held.
    fn fails<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit, keeps: bool) {
        core.host_fails(hosts, what.host, keeps);
    }

    /// It is back, with what it held.
    fn returns<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, what: Unit) {
        core.host_returns(what.host);
        self.standing_changed(core, hosts, what.host);
    }

    /// It takes part from now on (`joins`), or no more: what it holds moves elsewhere.
    fn membership_changes<H: Hosts>(
        &mut self,
        _core: &mut Core,
        _hosts: &mut H,
        _what: Unit,
        _joins: bool,
    ) {
        unreachable!("{NO_EVENTS}")
    }

    /// Recoveries may be faster or slower than before.
    fn settings_change<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H) {
        unreachable!("{NO_EVENTS}")
    }

    /// A server gets another part of what the map would give to it.
    fn weight_changes<H: Hosts>(
        &mut self,
        _core: &mut Core,
        _hosts: &mut H,
        _what: Unit,
        _weight: u32,
    ) {
        unreachable!("servers of this system have no weights")
    }

    /// A volume is to be encoded or placed otherwise.
    fn volume_changes<H: Hosts>(&mut self, _core: &mut Core, _hosts: &mut H, _volume: u32) {
        unreachable!("volumes of this system stay as they are")
    }

    /// With events: whether an exchange has come to nothing when a computation for it ends.
    fn swallows(&mut self, _core: &mut Core, _exchange: u32, _then: Then) -> bool {
        false
    }

    /// The message of an exchange found its host down.
    fn lost(&mut self, _core: &mut Core, _exchange: u32) {}

    /// Bytes of volumes that too few fragments are left of.
    fn bytes_lost(&self, core: &Core) -> Bytes {
        let lost = |failures: &Failures| failures.bytes_lost(&core.volumes);
        core.failures.as_deref().map_or(Bytes::ZERO, lost)
    }

    /// What the number of a recovery stands for.
    fn unit(&self, number: HostId) -> Unit {
        Unit { host: number, disk: None }
    }

    /// Which servers hold fragments at the beginning, by volume.
    fn homes(&self, core: &Core) -> Vec<Home> {
        core.volumes.iter().map(Home::of).collect()
    }

    /// What a request makes nodes read or write, as far as their stores remember it.
    fn touch(
        &mut self,
        core: &mut Core,
        issue: &Issue,
        choose: impl FnMut(&mut [u8], usize),
        store: impl FnMut(HostId, &Access),
    );
}

/// Of systems whose hosts do not fail yet.
const NO_EVENTS: &str = "scenarios of this system have no events";

/// Fragments or servers of a piece: for usual encodings without an allocation.
pub(crate) type Few<T> = SmallVec<[T; 8]>;

/// How a system comes to be.
pub(crate) trait Founded: Sized {
    /// That of a scenario, which is one of this system.
    fn of(scenario: &Scenario, clocks: &Clocks) -> Result<Self, SystemError>;

    /// The devices of the groups of a volume ([`devices_of`](crate::devices_of)), if servers choose them.
    fn devices(_scenario: &Scenario, _volume: VolumeId) -> Option<Vec<Target>> {
        None
    }

    /// How its nodes store objects; none: they store files.
    fn object_store(_system: &model::System) -> Option<Settings> {
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
                        model::System::$variant { .. } => Self::$variant(Founded::of(scenario, clocks)?)
                    ),*
                })
            }

            /// [`Founded::devices`] of the system of a scenario.
            pub(crate) fn devices(scenario: &Scenario, volume: VolumeId) -> Option<Vec<Target>> {
                match scenario.system {
                    $(
                        $(#[cfg(feature = $feature)])?
                        model::System::$variant { .. } => {
                            <crate::$folder::Machine as Founded>::devices(scenario, volume)
                        }
                    ),*
                }
            }

            /// [`Founded::object_store`] of a system.
            pub(crate) fn object_store(system: &model::System) -> Option<Settings> {
                match system {
                    $(
                        $(#[cfg(feature = $feature)])?
                        model::System::$variant { .. } => {
                            <crate::$folder::Machine as Founded>::object_store(system)
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

/// Calls a method of whichever system it is.
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

    fn range(&self, core: &Core, volume: u32, stretch: Stretch) -> Stretch {
        each!(self, system => system.range(core, volume, stretch))
    }

    fn send_range<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        stretch: Stretch,
        operation: u32,
    ) {
        each!(self, system => system.send_range(core, hosts, request, op, stretch, operation));
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

    fn opening(&self, core: &Core, cpu: &CpuProfile, request: &Request) -> SimSpan {
        each!(self, system => system.opening(core, cpu, request))
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

    fn swallows(&mut self, core: &mut Core, exchange: u32, then: Then) -> bool {
        each!(self, system => system.swallows(core, exchange, then))
    }

    fn lost(&mut self, core: &mut Core, exchange: u32) {
        each!(self, system => system.lost(core, exchange));
    }

    fn bytes_lost(&self, core: &Core) -> Bytes {
        each!(self, system => system.bytes_lost(core))
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
