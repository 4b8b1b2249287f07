//! Mirrored pairs: the smallest storage system. It tests and shows how a new system is added.
//!
//! Nodes 0 and 1 of a volume are partners, as are nodes 2 and 3, and so on. Groups of blocks go to the pairs
//! in turn. A client writes to both partners and waits for both; it reads from a random one of them. Not
//! modelled: failures, encryption, encodings other than two copies.

use foretell_algorithms::distribution::Piece;
use foretell_algorithms::node::FileAccess;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{CpuProfile, Scenario};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan};
use smallvec::SmallVec;

use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::Hosts;
use crate::process::{SERVER, exchange_thread};
use crate::protocol::{Clocks, Core, NO_EXCHANGE};
use crate::request::{Issue, Part};
use crate::store::Access;
use crate::system::{FromScenario, System, SystemError, VolumeExtent};
use crate::volume::Volume;

/// The state of the system: the copies that clients wait for.
pub(crate) struct Machine {
    copies: Slab<Copied>,
}

/// The copy that an exchange reads or writes.
#[derive(Clone, Copy)]
struct Copied {
    part: u32,
    op: Op,
    file: u32,
    offset: Bytes,
    size: Bytes,
}

impl FromScenario for Machine {
    fn of(scenario: &Scenario, _clocks: &Clocks) -> Result<Self, SystemError> {
        for volume in &scenario.volumes {
            let (copies, nodes) = ((volume.m(), volume.n()), volume.nodes.len());
            if copies != (1, 2) || nodes % 2 != 0 {
                let reason =
                    format!("mirrored pairs keep 1-of-2 on pairs, not {copies:?} on {nodes} nodes");
                return Err(SystemError { volume: volume.name.clone(), reason });
            }
        }
        Ok(Self { copies: Slab::new() })
    }
}

impl Machine {
    /// The copy of an exchange.
    fn copy(&self, core: &Core, exchange: u32) -> Copied {
        self.copies[number(core, exchange)]
    }
}

/// The number of the copy of an exchange.
fn number(core: &Core, exchange: u32) -> u32 {
    let Purpose::Own(copy) = core.exchanges[exchange].purpose else {
        unreachable!("partners are asked for copies only")
    };
    copy
}

/// The partners of a piece, and its offset in their files.
fn places(volume: &Volume, piece: &Piece) -> ([HostId; 2], Bytes) {
    let pairs = volume.nodes.len() as u64 / 2;
    let first = (piece.group % pairs) as usize * 2;
    let base = volume.distribution.group_stored() * (piece.group / pairs);
    ([volume.nodes[first], volume.nodes[first + 1]], base + piece.start)
}

/// The partners to ask: both to write, a random one to read.
fn asked(op: Op, mut choose: impl FnMut(&mut [u8], usize)) -> SmallVec<[u8; 2]> {
    let mut both = [0, 1];
    if op == Op::Read {
        choose(&mut both, 1);
        return SmallVec::from_slice(&both[..1]);
    }
    SmallVec::from(both)
}

impl System for Machine {
    fn send_range<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        extent: VolumeExtent,
        operation: u32,
    ) {
        let VolumeExtent { offset, size } = extent;
        let issue = core.requests[request].issue;
        let Issue { client, volume: file, breadcrumb, workload, .. } = issue;
        let pieces = core.volumes[file as usize].distribution.pieces(offset, size);
        for piece in pieces {
            let (partners, offset) = places(&core.volumes[file as usize], &piece);
            let asked = asked(op, |both, m| hosts.choose(issue.instance, both, m));
            let first = partners[usize::from(asked[0])];
            hosts.note_part(&core.requests[request], op, first, asked.len());
            let (needed, Piece { first_block, blocks, .. }) = (asked.len() as u32, piece);
            let outstanding = needed;
            let part = Part { request, needed, outstanding, operation, first_block, blocks };
            let part = core.begin_part(part);
            let data = if op == Op::Write { piece.carried } else { Bytes::ZERO };
            for which in asked {
                let copied = Copied { part, op, file, offset, size: piece.stored };
                let purpose = Purpose::Own(self.copies.insert(copied));
                let (to, asks) = (partners[usize::from(which)], Asks::Application);
                let exchange = Exchange::new(purpose, asks, client, to, data, breadcrumb, workload);
                let exchange = core.exchanges.insert(exchange);
                core.send(hosts, exchange);
            }
        }
    }

    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan) {
        let Copied { op, size, .. } = self.copy(core, exchange);
        let copying = if op == Op::Write { cpu.copy.of(size) } else { SimSpan::ZERO };
        (cpu.request.of(size) + copying, copying)
    }

    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        let Copied { op, file, offset, size, .. } = self.copy(core, exchange);
        let asked = &core.exchanges[exchange];
        let waits = hosts.store(
            asked.node,
            &Access::File(FileAccess {
                leg: exchange,
                op,
                file,
                offset,
                size,
                breadcrumb: asked.breadcrumb,
                thread: exchange_thread(exchange, SERVER),
                workload: asked.workload,
                reader: asked.reader(),
            }),
        );
        core.wait(exchange, waits);
        if waits == 0 {
            self.stored(core, hosts, exchange);
        }
    }

    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        let Copied { op, size, .. } = self.copy(core, exchange);
        let data = if op == Op::Read { size } else { Bytes::ZERO };
        let asked = &mut core.exchanges[exchange];
        asked.turn_back(data);
        let cpu = hosts.cpu(asked.node);
        let copying = if op == Op::Read { cpu.copy.of(data) } else { SimSpan::ZERO };
        let span = cpu.send.of(asked.message()) + copying;
        core.send_after(hosts, exchange, span);
    }

    fn answered<H: Hosts>(
        &mut self,
        core: &mut Core,
        _hosts: &mut H,
        exchange: u32,
    ) -> Option<u32> {
        let copy = number(core, exchange);
        core.exchanges.remove(exchange);
        Some(self.copies.remove(copy).part)
    }

    fn touch(
        &mut self,
        core: &mut Core,
        issue: &Issue,
        mut choose: impl FnMut(&mut [u8], usize),
        mut store: impl FnMut(HostId, &Access),
    ) {
        let Issue { client, volume: file, op, offset, size, workload, .. } = *issue;
        let volume = &core.volumes[file as usize];
        for piece in volume.distribution.pieces(offset, size) {
            let (partners, offset) = places(volume, &piece);
            for which in asked(op, &mut choose) {
                let access = Access::File(FileAccess {
                    leg: NO_EXCHANGE,
                    op,
                    file,
                    offset,
                    size: piece.stored,
                    breadcrumb: Breadcrumb::NONE,
                    thread: exchange_thread(0, SERVER),
                    workload,
                    reader: u64::from(client.0) << 32 | u64::from(workload),
                });
                store(partners[usize::from(which)], &access);
            }
        }
    }
}
