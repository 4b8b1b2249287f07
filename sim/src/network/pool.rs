//! Buffer memory that all ports of the switch share.
//!
//! A port may queue no more than `alpha` times the memory that is free: the dynamic threshold of
//! Choudhury & Hahne (*Dynamic Queue Length Thresholds for Shared-Memory Packet Switches*, IEEE/ACM
//! Transactions on Networking 6(2), 1998), which switches on the market use. A single busy port gets
//! alpha / (1 + alpha) of the memory, `n` busy ones alpha / (1 + n alpha) each; the rest stays free
//! for a port that becomes busy. A segment, however short, is let in where a full one has room.
//! Left out: memory reserved for each port, headroom for pause frames, and the size of the memory's
//! cells.
//!
//! With a pool, ports are walked together, since what one holds another cannot have.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_units::{Bytes, SimTime};

use super::port::{Outcome, Port};
use super::segment::SEGMENT_WIRE;

/// The shared memory.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    size: u64,
    /// Alpha, in 1024ths.
    alpha: u64,
    /// Ports at which something is, or to which something is on its way; perhaps others.
    lively: Vec<u32>,
    is_lively: Vec<bool>,
    /// Whether something that has arrived since the last walk may have been dropped.
    pub(super) doubtful: bool,
    /// Whether the walk goes segment by segment always.
    pub(super) single_steps: bool,
}

impl Pool {
    /// An empty memory of that size.
    pub(super) fn new(size: Bytes, alpha: f64, ports: usize) -> Self {
        let alpha = ((alpha * 1024.0) as u64).max(1);
        let (lively, is_lively) = (Vec::new(), vec![false; ports]);
        Self { size: size.get(), alpha, lively, is_lively, doubtful: false, single_steps: false }
    }

    /// Something is on its way to a port.
    pub(super) fn note(&mut self, port: usize) {
        if !self.is_lively[port] {
            self.is_lively[port] = true;
            self.lively.push(port as u32);
        }
    }

    /// Ports at which something is, or to which something is on its way; perhaps others.
    pub(super) fn lively(&self) -> &[u32] {
        &self.lively
    }

    /// What a port may queue when so much is held.
    fn threshold(&self, held: u64) -> u64 {
        (u128::from(self.size.saturating_sub(held)) * u128::from(self.alpha) / 1024) as u64
    }

    /// Whether nothing that is at a port or on its way there could be dropped for want of shared
    /// memory, or was without its being known.
    pub(super) fn is_safe(&self, now: SimTime, ports: &[Port]) -> bool {
        !self.doubtful && self.ample(now, ports)
    }

    /// Whether no port could reach its threshold, whatever the order in which things arrive that
    /// were on their way when the ports were walked.
    fn ample(&self, now: SimTime, ports: &[Port]) -> bool {
        let (mut held, mut most) = (0, 0);
        for &port in &self.lively {
            let (queued, coming) = ports[port as usize].bytes(now);
            held += queued + coming;
            most = most.max(queued + coming);
        }
        // what is coming may be counted a little short, by rounding, once a port
        held += self.lively.len() as u64 + 1;
        // a short segment needs the room of a full one, too, and as much may be missing
        most + 2 * SEGMENT_WIRE <= self.threshold(held)
    }

    /// Finds out what became of the segments that arrive at any port by `now`.
    pub(super) fn walk(&mut self, now: SimTime, ports: &mut [Port], outcomes: &mut Vec<Outcome>) {
        if self.single_steps || !self.is_safe(now, ports) {
            self.step_through(now, ports, outcomes);
        }
        for &port in &self.lively {
            ports[port as usize].walk(now, outcomes);
        }
        let is_lively = &mut self.is_lively;
        self.lively.retain(|&port| {
            let quiet = ports[port as usize].quiet(now);
            is_lively[port as usize] = !quiet;
            !quiet
        });
        self.doubtful &= !self.ample(now, ports);
    }

    /// As [`Pool::walk`], segment by segment.
    fn step_through(&self, now: SimTime, ports: &mut [Port], outcomes: &mut Vec<Outcome>) {
        let next = |ports: &[Port], port: u32| {
            let next = ports[port as usize].next().filter(|&(at, _)| at <= now);
            next.map(|next| Reverse((next, port)))
        };
        let firsts = self.lively.iter().filter_map(|&port| next(ports, port));
        let mut due: BinaryHeap<_> = firsts.collect();
        while let Some(Reverse(((at, _), port))) = due.pop() {
            let held = self.lively.iter().map(|&port| ports[port as usize].bytes(at).0).sum();
            let threshold = self.threshold(held);
            let room =
                |port: &Port, missing| port.bytes(at).0 + SEGMENT_WIRE + missing <= threshold;
            ports[port as usize].step_next(room, outcomes);
            due.extend(next(ports, port));
        }
    }
}
