//! Ursa Minor: clients encode and place fragments themselves, by a simplified PASIS protocol.
//!
//! A client encrypts and encodes a write, and sends it to all n nodes. The write is complete when a quorum
//! has acknowledged it. For a read, the client asks m nodes, decodes and decrypts. A write of part of an
//! encoded block fetches the block first. Source: Thereska et al. 2006, II-A, II-B, III-A. Failures of nodes
//! are in `degraded.rs` and `repair.rs`, nodes that join and leave in `migration.rs`, volumes that change
//! their encoding in `conversion.rs`, hedged reads in `hedge.rs`. Not modelled: version negotiation. Clients
//! know where fragments are without asking.
#![allow(clippy::struct_field_names, reason = "which of the fragments")]

mod conversion;
mod degraded;
mod hedge;
mod migration;
mod repair;

use foretell_algorithms::codec::Numbers;
use foretell_algorithms::distribution::Piece;
use foretell_algorithms::node::FileAccess;
use foretell_scenarios::model::{CpuProfile, ReadFrom, Scenario};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan};

use crate::exchange::{Asks, Exchange, Purpose};
use crate::failures::Unit;
use crate::hosts::{Fragments, Hosts, small};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::{Clocks, Core, NO_EXCHANGE};
use crate::request::{Issue, Part, Request, Stage};
use crate::store::Access;
use crate::system::{FromScenario, System, SystemError, VolumeExtent};
use crate::volume::Volume;

/// The system: all its state is in its requests and exchanges.
pub(crate) struct UrsaMinor;

/// The type in the table of systems.
pub(crate) type Machine = UrsaMinor;

impl FromScenario for UrsaMinor {
    fn of(_scenario: &Scenario, _clocks: &Clocks) -> Result<Self, SystemError> {
        Ok(Self)
    }
}

/// The purpose of an exchange with a node.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    part: u32,
    /// The number of the fragment, of n.
    fragment: u8,
    op: Op,
    /// The volume: nodes have one file for each.
    file: u32,
    offset: Bytes,
    /// Bytes in the node's file.
    stored: u32,
    /// Bytes in the message.
    carried: u32,
    /// Whether a node writes a fragment that it has made itself; `part` is then its request.
    is_own: bool,
}

impl Fragment {
    fn of(core: &Core, exchange: u32) -> Self {
        let Purpose::Fragment(fragment) = core.exchanges[exchange].purpose else {
            unreachable!("nodes are asked for fragments only")
        };
        fragment
    }

    fn carried(&self) -> Bytes {
        Bytes(u64::from(self.carried))
    }
}

impl System for UrsaMinor {
    fn prepare(&self, core: &Core, cpu: &CpuProfile, issue: &Issue) -> (Stage, SimSpan) {
        if issue.op == Op::Read {
            return (Stage::Transfer, SimSpan::ZERO);
        }
        let extent = VolumeExtent { offset: issue.offset, size: issue.size };
        if !core.partial_blocks(issue.volume, extent).is_empty() {
            return (Stage::Fetch, SimSpan::ZERO);
        }
        let whole = core.covering(issue.volume, extent).size;
        (Stage::Transfer, core.volume_at(issue.volume, issue.offset).encode_time(cpu, whole))
    }

    fn range(&self, core: &Core, volume: u32, extent: VolumeExtent) -> VolumeExtent {
        core.covering(volume, extent)
    }

    fn send_range<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        extent: VolumeExtent,
        operation: u32,
    ) {
        let volume = core.requests[request].issue.volume;
        if core.failures.is_some() {
            for (volume, piece) in core.pieces(volume, extent) {
                degraded::begin(core, hosts, request, op, volume, &piece, operation);
            }
            return;
        }
        let VolumeExtent { offset, size } = extent;
        let pieces = core.volumes[volume as usize].distribution.pieces(offset, size);
        for piece in pieces {
            send_part(core, hosts, request, op, &piece, operation);
        }
    }

    fn handling(&self, core: &Core, cpu: &CpuProfile, exchange: u32) -> (SimSpan, SimSpan) {
        let fragment = Fragment::of(core, exchange);
        let handled = cpu.request.of(fragment.carried());
        let copying = match fragment.op {
            Op::Read => SimSpan::ZERO,
            Op::Write => cpu.copy.of(fragment.carried()),
        };
        (handled + copying, copying)
    }

    /// A node accesses its cache and disks.
    fn serve<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        let fragment = Fragment::of(core, exchange);
        let asked = &core.exchanges[exchange];
        let access = Access::File(FileAccess {
            leg: exchange,
            op: fragment.op,
            file: fragment.file,
            offset: fragment.offset,
            size: Bytes(u64::from(fragment.stored)),
            breadcrumb: asked.breadcrumb,
            thread: exchange_thread(exchange, SERVER),
            workload: asked.workload,
            reader: asked.reader(),
        });
        let waits = hosts.store(asked.node, &access);
        core.wait(exchange, waits);
        if waits == 0 {
            self.stored(core, hosts, exchange);
        }
    }

    /// A node has done its part: the data are in the cache, or on disk if that is required.
    fn stored<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) {
        if Fragment::of(core, exchange).is_own {
            return core.rewritten(hosts, exchange);
        }
        if hosts.has_payload() {
            let fragments = fragments(core, exchange);
            match Fragment::of(core, exchange).op {
                Op::Read if !hosts.payload_ready(exchange, fragments) => return,
                Op::Read => {}
                Op::Write => {
                    let mut ready = Vec::new();
                    hosts.payload_stored(fragments, &mut ready);
                    hosts.set_waking(true);
                    for other in ready {
                        answer(core, hosts, other);
                    }
                    hosts.set_waking(false);
                }
            }
        }
        answer(core, hosts, exchange);
    }

    fn answered<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, exchange: u32) -> Option<u32> {
        let Fragment { part, op, .. } = Fragment::of(core, exchange);
        if hosts.has_payload() && op == Op::Read {
            hosts.payload_taken(fragments(core, exchange));
        }
        if core.failures.is_some() {
            core.note_answer(hosts.now(), part, exchange);
        }
        core.exchanges.remove(exchange);
        Some(part)
    }

    fn look_at_part<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        core.look_at_part(hosts, part);
    }

    fn standing_changed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        core.standing_changed(hosts, host);
    }

    fn begin_jobs<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, host: HostId) {
        core.begin_jobs(hosts, host);
        core.begin_conversions(hosts, host);
    }

    fn settings_change<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H) {
        core.wake_all_repairs(hosts);
    }

    fn volume_changes<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, volume: u32) {
        core.volume_changes(hosts, volume);
    }

    fn membership_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        joins: bool,
    ) {
        core.membership_changes(hosts, what.host, joins);
    }

    fn decode_time(&self, core: &Core, cpu: &CpuProfile, request: &Request) -> SimSpan {
        let Issue { volume: id, offset, size, .. } = request.issue;
        let volume = core.volume_at(id, offset);
        let extent = VolumeExtent { offset, size };
        let fetched = match request.stage {
            Stage::Transfer => core.covering(id, extent).size,
            Stage::Fetch => {
                volume.distribution.block() * core.partial_blocks(id, extent).len() as u64
            }
        };
        cpu.decode_time(volume.cipher, request.missing, fetched)
    }

    fn touch(
        &mut self,
        core: &mut Core,
        issue: &Issue,
        mut choose: impl FnMut(&mut [u8], usize),
        mut store: impl FnMut(HostId, &Access),
    ) {
        let Issue { client, volume: file, op, offset, size, workload, .. } = *issue;
        let reader = u64::from(core.machines[client.index()].0) << 32 | u64::from(workload);
        let Core { volumes, scratch, .. } = core;
        let volume = &volumes[file as usize];
        let mut ranges = |op: Op, (offset, size): (Bytes, Bytes)| {
            for piece in volume.distribution.pieces(offset, size) {
                let distribution = &volume.distribution;
                distribution.places(piece.group, &mut scratch.nodes, &mut scratch.places);
                choose_fragments(volume, op, &mut scratch.chosen, &mut choose);
                for &fragment in &scratch.chosen {
                    let place = scratch.places[usize::from(fragment)];
                    let access = Access::File(FileAccess {
                        leg: NO_EXCHANGE,
                        op,
                        file,
                        offset: place.base + piece.start,
                        size: piece.stored,
                        breadcrumb: Breadcrumb::NONE,
                        thread: exchange_thread(0, SERVER),
                        workload,
                        reader,
                    });
                    store(volume.nodes[place.node as usize], &access);
                }
            }
        };
        if op == Op::Write {
            let block = volume.distribution.block();
            for number in volume.distribution.partial_blocks(offset, size) {
                ranges(Op::Read, (block * number, block));
            }
        }
        ranges(op, volume.distribution.covering(offset, size));
    }
}

/// Fills in the fragments of a piece that a client asks for. Returns the number of answers that it needs.
fn choose_fragments(
    volume: &Volume,
    op: Op,
    chosen: &mut Vec<u8>,
    mut choose: impl FnMut(&mut [u8], usize),
) -> u32 {
    let encoding = volume.distribution.encoding();
    let (m, n) = (encoding.m(), encoding.n());
    chosen.clear();
    chosen.extend(0..n as u8);
    match op {
        Op::Write => u32::from(volume.quorum),
        Op::Read => {
            if volume.read_from == ReadFrom::Random {
                choose(chosen, m);
                if encoding.groups() > 0 {
                    let all: Numbers = chosen.iter().copied().collect();
                    let found = volume.shares.complete(&[], &all).expect("all of them suffice");
                    chosen[..m].copy_from_slice(&found);
                }
            }
            chosen.truncate(m);
            m as u32
        }
    }
}

/// Begins the part of a request that is in one group.
fn send_part<H: Hosts>(
    core: &mut Core,
    hosts: &mut H,
    id: u32,
    op: Op,
    piece: &Piece,
    operation: u32,
) {
    let Issue { client, volume: file, breadcrumb, workload, instance, .. } =
        core.requests[id].issue;
    let hypervisor = core.send_for_guest(client, operation);
    let client = core.machines[client.index()];
    let mut scratch = std::mem::take(&mut core.scratch);
    let volume = &core.volumes[file as usize];
    volume.distribution.places(piece.group, &mut scratch.nodes, &mut scratch.places);
    let choose = |chosen: &mut [u8], m| hosts.choose(instance, chosen, m);
    let needed = choose_fragments(volume, op, &mut scratch.chosen, choose);
    let m = volume.distribution.encoding().m();
    if op == Op::Read && m > 1 {
        let data = scratch.chosen.iter().filter(|&&at| usize::from(at) < m).count();
        let request = &mut core.requests[id];
        request.missing = request.missing.max((m - data) as u64);
    }
    let count = scratch.chosen.len();
    let first = scratch.places[usize::from(scratch.chosen[0])];
    hosts.note_part(&core.requests[id], op, volume.nodes[first.node as usize], count);
    let (first_block, blocks) = (piece.first_block, piece.blocks);
    if op == Op::Read && hosts.has_payload() {
        hosts.payload_pinned(id, file, first_block, blocks);
    }
    let outstanding = count as u32;
    let part = Part { request: id, needed, outstanding, operation, first_block, blocks };
    let part = core.begin_part(part);
    let data = if op == Op::Write { piece.carried } else { Bytes::ZERO };
    scratch.exchanges.clear();
    for &fragment in &scratch.chosen {
        let place = scratch.places[usize::from(fragment)];
        let purpose = Purpose::Fragment(Fragment {
            part,
            fragment,
            op,
            file,
            offset: place.base + piece.start,
            stored: small(piece.stored),
            carried: small(piece.carried),
            is_own: false,
        });
        let node = core.volumes[file as usize].nodes[place.node as usize];
        let exchange =
            Exchange::new(purpose, Asks::Application, client, node, data, breadcrumb, workload);
        scratch.exchanges.push(core.exchanges.insert(exchange));
    }
    for &exchange in &scratch.exchanges {
        let send = hosts.cpu(client).send.of(core.exchanges[exchange].message());
        core.send_after(hosts, exchange, send + hypervisor);
    }
    core.scratch = scratch;
}

/// A node answers.
fn answer<H: Hosts>(core: &mut Core, hosts: &mut H, exchange: u32) {
    let fragment = Fragment::of(core, exchange);
    let carried = match fragment.op {
        Op::Read => fragment.carried(),
        Op::Write => Bytes::ZERO,
    };
    let asked = &mut core.exchanges[exchange];
    asked.turn_back(carried);
    let cpu = hosts.cpu(asked.node);
    let mut span = cpu.send.of(asked.message());
    if fragment.op == Op::Read {
        span += cpu.copy.of(carried);
    }
    if fragment.op == Op::Read && hosts.has_payload() {
        core.note_copied(hosts, exchange);
    }
    core.send_after(hosts, exchange, span);
}

/// The fragments that an exchange carries.
fn fragments(core: &Core, exchange: u32) -> Fragments {
    let Fragment { part, fragment, file, .. } = Fragment::of(core, exchange);
    let Part { request, first_block, blocks, .. } = core.parts[part];
    let Exchange { breadcrumb, node, .. } = core.exchanges[exchange];
    let version = breadcrumb.0;
    Fragments { request, version, volume: file, first_block, blocks, fragment, node }
}
