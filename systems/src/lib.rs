//! The steps of a storage system's software for a request, as state machines over effects.
//!
//! [`Protocol`] knows the next step and its cost. It has no clock, no queue and no random source, and
//! keeps no records. An engine provides these as [`Hosts`]: the simulator with simulated hardware, the
//! predictor with measured hardware. So both run the same protocol.
//!
//! An engine calls [`Protocol::start`] to issue a request. It reports the end of each effect: of a
//! computation to [`Protocol::resume`], of a message to [`Protocol::delivered`], of an access to a store
//! to [`Protocol::stored`], of a timer to [`Protocol::timer`]. After each call it takes completed requests
//! with [`Protocol::take_done`].
//!
//! Each storage system has its own folder and implements `system::System`; the table of systems is in
//! `scenarios`.
//!
//! Not modelled: authentication; with Swift, changes of the ring.

#![forbid(unsafe_code)]

mod ceph;
mod devices;
mod exchange;
mod failures;
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
mod store;
mod swift;
mod system;
mod ursa_minor;
mod volume;

pub use devices::devices_of;
pub use exchange::{Exchange, Exchanges, Purpose};
pub use failures::{
    Health, Home, Kind as RecoveryKind, ObjectHome, Recovery, RunPhase, RunPhases, Unit,
};
pub use hosts::{Copied, Fragments, Hosts, Labour, Then, Timer, Work};
pub use protocol::{Clocks, NO_EXCHANGE, Protocol, machine_of};
pub use request::{Done, Issue, Phase, Request};
pub use store::{Access, Software};
pub use system::SystemError;
pub use volume::Volume;
