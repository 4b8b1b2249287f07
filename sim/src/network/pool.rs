//! Buffer memory that all ports of the switch share.
//!
//! A port may queue at most `alpha` times the free memory. This is the dynamic threshold of Choudhury & Hahne
//! (*Dynamic Queue Length Thresholds for Shared-Memory Packet Switches*, IEEE/ACM Transactions on Networking
//! 6(2), 1998), which commercial switches use. A single busy port gets alpha / (1 + alpha) of the memory, and
//! `n` busy ports get alpha / (1 + n alpha) each. The rest stays free for ports that become busy. A segment
//! of any length is admitted only if a full segment would have room. Left out: memory reserved for each port,
//! headroom for pause frames, and the size of the memory's cells.
//!
//! With a pool, all ports are walked together, because memory that one holds is not available to
//! another.

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
    /// Ports that hold or expect segments; perhaps others too.
    active: Vec<u32>,
    is_active: Vec<bool>,
    /// Whether a segment that arrived since the last walk may have been dropped.
    pub(super) doubtful: bool,
    /// Whether the walk always goes segment by segment.
    pub(super) single_steps: bool,
}

impl Pool {
    /// An empty memory of size `size`.
    pub(super) fn new(size: Bytes, alpha: f64, ports: usize) -> Self {
        let alpha = ((alpha * 1024.0) as u64).max(1);
        let (active, is_active) = (Vec::new(), vec![false; ports]);
        Self { size: size.get(), alpha, active, is_active, doubtful: false, single_steps: false }
    }

    /// Records that segments are on their way to a port.
    pub(super) fn note(&mut self, port: usize) {
        if !self.is_active[port] {
            self.is_active[port] = true;
            self.active.push(port as u32);
        }
    }

    /// Ports that hold or expect segments; perhaps others too.
    pub(super) fn active(&self) -> &[u32] {
        &self.active
    }

    /// Bytes that a port may queue when `held` bytes are in use.
    fn threshold(&self, held: u64) -> u64 {
        (u128::from(self.size.saturating_sub(held)) * u128::from(self.alpha) / 1024) as u64
    }

    /// Whether no segment at a port or on its way there could be dropped for lack of shared memory,
    /// or has been dropped unnoticed.
    pub(super) fn is_safe(&self, now: SimTime, ports: &[Port]) -> bool {
        !self.doubtful && self.ample(now, ports)
    }

    /// Whether no port could reach its threshold, whatever the order of arrival of the segments that
    /// were on their way at the last walk.
    fn ample(&self, now: SimTime, ports: &[Port]) -> bool {
        let (mut held, mut most) = (0, 0);
        for &port in &self.active {
            let (queued, coming) = ports[port as usize].bytes(now);
            held += queued + coming;
            most = most.max(queued + coming);
        }
        // rounding may make the bytes on their way slightly too few, once per port
        held += self.active.len() as u64 + 1;
        // a short segment needs the room of a full one too, and as much again may be missing at
        // random
        most + 2 * SEGMENT_WIRE <= self.threshold(held)
    }

    /// Finds the outcome of the segments that arrive at any port by `now`.
    pub(super) fn walk(&mut self, now: SimTime, ports: &mut [Port], outcomes: &mut Vec<Outcome>) {
        if self.single_steps || !self.is_safe(now, ports) {
            self.step_through(now, ports, outcomes);
        }
        for &port in &self.active {
            ports[port as usize].walk(now, outcomes);
        }
        let is_active = &mut self.is_active;
        self.active.retain(|&port| {
            let quiet = ports[port as usize].quiet(now);
            is_active[port as usize] = !quiet;
            !quiet
        });
        self.doubtful &= !self.ample(now, ports);
    }

    /// Like [`Pool::walk`], segment by segment.
    fn step_through(&self, now: SimTime, ports: &mut [Port], outcomes: &mut Vec<Outcome>) {
        let next = |ports: &[Port], port: u32| {
            let next = ports[port as usize].next().filter(|&(at, _)| at <= now);
            next.map(|next| Reverse((next, port)))
        };
        let firsts = self.active.iter().filter_map(|&port| next(ports, port));
        let mut due: BinaryHeap<_> = firsts.collect();
        while let Some(Reverse(((at, _), port))) = due.pop() {
            let held = self.active.iter().map(|&port| ports[port as usize].bytes(at).0).sum();
            let threshold = self.threshold(held);
            let room =
                |port: &Port, missing| port.bytes(at).0 + SEGMENT_WIRE + missing <= threshold;
            ports[port as usize].step_next(room, outcomes);
            due.extend(next(ports, port));
        }
    }
}
