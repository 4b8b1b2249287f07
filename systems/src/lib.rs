//! The software of storage systems: the steps of each request, as state machines.
//!
//! [`Protocol`] decides the next step and its cost. It has no clock, no queue and no random source, and keeps
//! no records. An engine provides these through [`Hosts`]. There are two engines: the simulator with
//! simulated hardware, and the predictor with models of measured hardware. Both run the same protocol.
//!
//! An engine calls [`Protocol::start`] to issue a request. The protocol then starts computations, messages,
//! accesses to stores and timers through [`Hosts`]. The engine reports their ends: of a computation to
//! [`Protocol::resume`], of a message to [`Protocol::delivered`], of an access to a store to
//! [`Protocol::stored`], of a timer to [`Protocol::timer`]. After each call it takes completed requests with
//! [`Protocol::take_done`].
//!
//! Each storage system has its own folder and implements `system::System`. The table of systems is in the
//! crate `scenarios`.
//!
//! Not modelled: authentication.

#![forbid(unsafe_code)]

mod adapters;
mod ceph;
mod devices;
mod exchange;
mod failures;
mod gateway;
pub mod guest;
mod hosts;
#[cfg(feature = "test-system")]
mod mirrored_pairs;
pub mod objects;
pub mod process;
mod protocol;
mod records;
mod request;
mod routing;
mod scrub;
mod store;
mod swift;
mod system;
mod ursa_minor;
mod volume;

pub use adapters::Adapters;
pub use devices::{Down, devices_of, keeps_records, serves_without};
pub use exchange::{Exchange, Exchanges, Purpose};
pub use failures::{
    Health, Home, HoursLeft, Kind as RecoveryKind, ObjectHome, Progress, Recovery, RunPhase,
    RunPhases, Unit,
};
pub use hosts::{Continuation, Copied, Fragments, Hosts, Timer, Work, WorkKind};
pub use protocol::{Clocks, NO_EXCHANGE, Protocol, machine_of};
pub use request::{Done, Issue, Phase, Request};
pub use scrub::{ScrubAccess, Scrubbed};
pub use store::{Access, Software};
pub use system::SystemError;
pub use volume::Volume;
