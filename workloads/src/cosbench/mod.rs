//! COSBench's workload files (Intel, 0.4): workstages of works, each of workers that create, write,
//! read, list and delete objects in containers.
//!
//! *Assumed*, because COSBench speaks to an object store and not to a volume: each object has a place
//! of its own on the volume, as large as the largest one, after a block of 4 KiB for each container.
//! An object is written and read in requests of at most 4 MiB, one after the other, as a gateway
//! streams it; deleting it, or making, listing or removing a container, writes or reads one block.
//! The size of an object is drawn once, by its number, from the `sizes` that are written; reading it
//! reads that. Where nothing is written, objects are as large as the `sizes` of a read say, which COSBench
//! itself does not look at, or of 64 KB. `KB` and `MB` count thousands, as in COSBench. Left out: authentication, the storage's
//! own settings, failures; `totalBytes` is an error that names it, as is any operation that is not
//! among these.

pub mod select;
pub mod workload;
pub mod xml;

use thiserror::Error;

pub use workload::{Operation, OperationKind, Stage, Work, Worker, Workload};

/// Why a workload file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CosbenchError {
    /// It is no XML.
    #[error("COSBench workload, line {line}: {what}")]
    Xml {
        /// Which line, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// An element or attribute is not what it must be.
    #[error("COSBench workload, line {line}: `{name}` {what}")]
    Wrong {
        /// Which line, from 1.
        line: usize,
        /// The element or attribute.
        name: String,
        /// What is wrong with it.
        what: String,
    },
}
