//! Profiles of real hardware from measurements: latency curves of a device from results of fio ([`disk`]), and a
//! cost of a processor from operations of several sizes ([`cost`]).
//!
//! The command measures the processor itself: it runs the real codecs on the host.

pub mod cost;
pub mod disk;
