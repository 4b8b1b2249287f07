//! A port of the switch, with its cable: what is queued there and what is on its way there.

use foretell_scenarios::model;
use foretell_units::{Bytes, SimSpan, SimTime};

use super::segment::SEGMENT_WIRE;
use crate::link::Link;

/// One host's cable, and the switch's output queue for it. Amounts of data are in the time that
/// they take on the cable to the host.
#[derive(Debug)]
pub(super) struct Port {
    /// Host to switch.
    pub(super) transmit: Link,
    /// Switch to host. What is booked here and has not left is in the buffer or still arriving.
    pub(super) receive: Link,
    pub(super) latency: SimSpan,
    /// A full segment.
    pub(super) segment: SimSpan,
    /// What the buffer holds.
    buffer: SimSpan,
    /// What has left its sender and has not reached the switch.
    coming: SimSpan,
    /// Trains that were booked whole when their first segment arrived.
    arriving: Vec<Arriving>,
}

/// A train of which segments are yet to reach the switch.
#[derive(Clone, Copy, Debug)]
struct Arriving {
    /// When the last one does.
    tail: SimTime,
    /// From one to the next.
    spacing: SimSpan,
}

/// Trains remembered before those that have arrived are looked for and forgotten.
const MANY_ARRIVING: usize = 8;

impl Port {
    /// An idle port with so large a buffer.
    pub(super) fn new(nic: &model::Nic, buffer: Bytes) -> Self {
        Self {
            transmit: Link::new(nic.rate),
            receive: Link::new(nic.rate),
            latency: nic.latency,
            segment: nic.rate.time_for(Bytes(SEGMENT_WIRE)),
            buffer: nic.rate.time_for(buffer),
            coming: SimSpan::ZERO,
            arriving: Vec::new(),
        }
    }

    /// Something has left its sender for this port.
    pub(super) fn announce(&mut self, service: SimSpan) {
        self.coming += service;
    }

    /// It has reached the switch.
    pub(super) fn reached(&mut self, service: SimSpan) {
        self.coming -= service;
    }

    /// Whether the buffer would hold all that is booked and on its way.
    pub(super) fn ample(&self, now: SimTime) -> bool {
        self.receive.backlog(now) + self.coming <= self.buffer
    }

    /// Whether the buffer has room for a segment.
    pub(super) fn has_room(&self, now: SimTime, segment: SimSpan) -> bool {
        self.queued(now) + segment <= self.buffer
    }

    /// What is in the buffer, or just leaving it.
    pub(super) fn queued(&self, now: SimTime) -> SimSpan {
        let yet_to_come = |train: &Arriving| {
            let left = train.tail.saturating_since(now).as_ns();
            self.segment * left.div_ceil(train.spacing.as_ns().max(1))
        };
        let yet_to_come = self.arriving.iter().map(yet_to_come).sum();
        self.receive.backlog(now).saturating_sub(yet_to_come)
    }

    /// A train has been booked whole whose last segment arrives at `tail`.
    pub(super) fn note_arriving(&mut self, now: SimTime, tail: SimTime, spacing: SimSpan) {
        if self.arriving.len() >= MANY_ARRIVING {
            self.arriving.retain(|train| train.tail > now);
        }
        self.arriving.push(Arriving { tail, spacing });
    }

    /// Bytes of so much service.
    pub(super) fn bytes(&self, service: SimSpan) -> u64 {
        let bits_by_s = u128::from(self.receive.rate().as_bits_per_s());
        (u128::from(service.as_ns()) * bits_by_s / 8_000_000_000) as u64
    }
}
