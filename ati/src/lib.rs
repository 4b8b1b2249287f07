//! Activity tracking infrastructure (ATI): record types, recorder, SQLite store, queries.
//!
//! Source: Thereska et al. 2006, section III-B, Figure 2 (the record) and Table II (its types). Every host of
//! the simulated cluster posts *activity records* where a resource is demanded. Each carries a header with a
//! timestamp unique on its host and the *breadcrumb* of the request that caused it, so that a request can be
//! followed from host to host. The records are kept in relational tables. They are a superset of performance
//! counters, and the only data that What-if modules use.
//!
//! In addition to Table II there is one type of our own, [`Body::Request`], for the client library's view of
//! its own requests, and a *phase* of disk operations, because the paper posts them both when they are sent
//! to the disk and when they complete. The paper runs an ATI instance on each computer and sends records to
//! activity databases on the same machines, which costs processor, network and disk (below 6 %, section
//! IV-D). Here one store holds the records of all hosts; the simulation models the cost of tracking on the
//! simulated hosts.
//!
//! A simulation calls [`Recorder::wants`] before it builds a record, and posts the record with
//! [`Recorder::post`]. A finished store is opened with [`open_run`].
//!
//! Stores in files require the feature `sqlite`. Without it, records are kept in memory ([`MemoryRun`]): no C
//! code, no threads, no files.

#[cfg(feature = "sqlite")]
mod column;
#[cfg(feature = "sqlite")]
mod columns;
#[cfg(feature = "sqlite")]
mod conclude;
mod error;
mod facts;
mod kind;
mod kinds;
mod memory;
#[cfg(feature = "sqlite")]
mod pages;
mod record;
mod recorder;
mod resource;
#[cfg(feature = "sqlite")]
mod run;
#[cfg(feature = "sqlite")]
mod schema;
mod selection;
#[cfg(feature = "sqlite")]
mod statements;
#[cfg(feature = "sqlite")]
mod store;
pub mod synthetic;
#[cfg(feature = "sqlite")]
mod tally;
#[cfg(feature = "sqlite")]
mod target;
#[cfg(feature = "sqlite")]
mod writer;

/// The crate that reads and writes SQLite, for users who query a store with SQL.
#[cfg(feature = "sqlite")]
pub use rusqlite;

pub use error::StoreError;
pub use foretell_units::Op;

pub use facts::{Demand, Fact, FactValue, Facts, Host, HostKind, Process, Volume, Workload};
pub use kind::{KindSet, UnknownRecordKind};
pub use kinds::{Body, RecordKind};
pub use memory::{MemoryRun, Records};
pub use record::{Header, HostClock, Phase, Record};
pub use recorder::{Conclusion, Recorder, Summary};
pub use resource::Resource;
#[cfg(feature = "sqlite")]
pub use run::{RunDb, open_run};
#[cfg(feature = "sqlite")]
pub use schema::{APPLICATION_ID, SCHEMA_VERSION, table_names};
pub use selection::{Requests, Selection, SelectionError};
#[cfg(feature = "sqlite")]
pub use store::Method;
#[cfg(feature = "sqlite")]
pub use target::{PARTIAL_FILE, RUN, STORE_FILE};
