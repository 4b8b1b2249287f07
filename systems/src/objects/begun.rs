//! How a part of a request begins in scenarios with events. It is the same for Ceph and Swift. Without
//! events, clients do not give up.

use std::ops::Range;

use foretell_units::{Op, SimTime};

use super::Piece;
use crate::hosts::{Hosts, Timer};
use crate::protocol::Core;
use crate::request::{Part, Request};

/// A part of a request that has begun.
pub(crate) struct Begun {
    /// Its number.
    pub(crate) part: u32,
    /// Its blocks of the volume.
    pub(crate) blocks: Range<u64>,
    /// When its client gives up.
    pub(crate) deadline: SimTime,
}

impl Core {
    /// A client begins the part of a request that concerns a piece of the volume, and sets the timer for giving up.
    pub(crate) fn begin_piece<H: Hosts>(
        &mut self,
        hosts: &mut H,
        request: u32,
        op: Op,
        piece: &Piece,
        operation: u32,
    ) -> Begun {
        let Request { issue, issued, .. } = self.requests[request];
        let block = self.volumes[issue.volume as usize].distribution.block().get();
        let start = (piece.object + piece.start).get();
        let blocks = start / block..(start + piece.size.get()).div_ceil(block);
        let (first_block, count) = (blocks.start, blocks.end - blocks.start);
        if op == Op::Read && hosts.has_payload() {
            hosts.payload_pinned(request, issue.volume, first_block, count);
        }
        let (needed, outstanding) = (1, 1);
        let part = Part { request, needed, outstanding, operation, first_block, blocks: count };
        let part = self.begin_part(part);
        let deadline = issued + self.failed().settings.give_up;
        if self.failed().has_timeouts {
            hosts.set_timer(deadline.max(hosts.now()), Timer::Part { part });
        }
        Begun { part, blocks, deadline }
    }
}
