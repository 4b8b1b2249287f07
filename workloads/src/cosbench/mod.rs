//! COSBench's workload files (Intel, 0.4): workstages of works, with workers that create, write, read, list and delete
//! objects in containers.
//!
//! *Assumed*, because COSBench uses an object store and not a volume: each object has a fixed place on the volume, as
//! large as the largest object. The places come after one block of 4 KiB for each container. An object is written and
//! read in requests of at most 4 MiB, one after the other, as a gateway streams it. Deleting an object, or making,
//! listing or removing a container, writes or reads one block. The size of an object is drawn once, by its number, from
//! the `sizes` that are written, and a read has that size. If nothing is written, the `sizes` of a read determine the
//! sizes (COSBench itself ignores them), or else they are 64 KB. `KB` and `MB` are powers of 1000, as in COSBench. Left
//! out: authentication, the storage's own settings, failures. `totalBytes`, and any operation other than these, is an
//! error that names it.

pub mod select;
pub mod workload;
pub mod xml;

use thiserror::Error;

pub use workload::{Operation, OperationKind, Stage, Work, Worker, Workload};

/// Why a workload file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CosbenchError {
    /// It is not XML.
    #[error("COSBench workload, line {line}: {what}")]
    Xml {
        /// The line, from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// An element or attribute is invalid.
    #[error("COSBench workload, line {line}: `{name}` {what}")]
    Wrong {
        /// The line, from 1.
        line: usize,
        /// The element or attribute.
        name: String,
        /// What is wrong with it.
        what: String,
    },
}
