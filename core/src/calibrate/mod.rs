//! Profiles of real hardware from what was measured of it: latency curves of a device from results of fio ([`disk`]), a
//! cost of a processor from operations of several sizes ([`cost`]).
//!
//! Measuring a processor itself is left to the command, which runs the real codecs on the host.

pub mod cost;
pub mod disk;
