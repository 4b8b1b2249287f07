//! Quantities of the field as types: time, bytes, rates, ids, and named random streams.
//!
//! All quantities that a simulation computes with are integers; `f64` is used only for statistics
//! and for reading a quantity from text.

mod beat;
mod bytes;
mod ids;
mod op;
mod quantity;
mod rate;
mod shown;
mod slow_clock;
mod streams;
mod student;
mod time;

pub use beat::Beat;
pub use bytes::{Bytes, SECTOR_BYTES, Sectors};
pub use ids::{Breadcrumb, DiskId, HostId, Thread, VolumeId, WorkloadId};
pub use op::Op;
pub use quantity::QuantityError;
pub use rate::Rate;
pub use shown::{by_name, relative_change};
pub use slow_clock::SlowClock;
pub use streams::{Owner, Seed, Stream};
pub use student::{student_t_95, student_t_975};
pub use time::{SimSpan, SimTime};

/// Whether nothing was counted: for `skip_serializing_if` of serde.
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}
