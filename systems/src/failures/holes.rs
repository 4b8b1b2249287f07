//! Fragments that are not in their initial place, or not up to date.
//!
//! Each fragment of a group has a *holder*. Initially this is the node that the distribution names. When a
//! node's fragments are given to others, they get other holders. The blocks that the holder lacks are the
//! fragment's *hole*. If a fragment must be rebuilt, its hole is the whole fragment at first. Each node's
//! file has spare room after the volume's own part, for fragments that are given to the node.

use std::collections::BTreeMap;
use std::ops::Range;

use foretell_algorithms::codec::Numbers;
use foretell_algorithms::mix::mix;
use foretell_scenarios::model::Scenario;
use foretell_sorted::SortedMap;
use foretell_units::{Bytes, HostId};
use smallvec::SmallVec;

use super::moves::Move;
use super::recovery::Kind;
use super::routes::Routes;
use super::{Blocks, Failures};
use crate::volume::Volume;

/// A fragment of a group of a volume.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Slot {
    pub(crate) volume: u32,
    pub(crate) group: u64,
    pub(crate) fragment: u8,
}

impl Slot {
    /// A unique number, in no particular order.
    pub(super) fn number(self) -> u64 {
        let number = self.group << 8 | u64::from(self.fragment);
        mix(number ^ mix(u64::from(self.volume)))
    }
}

/// The node that has a fragment, and where the group's part of its file begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holder {
    pub(crate) node: HostId,
    pub(crate) base: Bytes,
}

/// The blocks that a holder lacks.
#[derive(Debug)]
pub(crate) struct Hole {
    /// The host whose failure made the hole, and how it is closed.
    pub(crate) key: (HostId, Kind),
    /// Blocks that wait to be rebuilt.
    pub(crate) missed: Blocks,
    /// Blocks that are being rebuilt.
    pub(crate) in_work: Blocks,
    /// The newest write that the holder lacks.
    newest: u64,
}

/// All holes and moves of fragments.
pub(crate) struct Holes {
    by_slot: BTreeMap<Slot, Hole>,
    /// Fragments whose holder is not the one that the distribution names: the host whose failure moved it, if one
    /// did, and the new holder.
    moved: BTreeMap<Slot, (Option<HostId>, Holder)>,
    /// Fragments on their way to another node.
    pub(super) moves: BTreeMap<Slot, Move>,
    /// Volume sizes in bytes, and the number of groups that have spare room on each node; both by volume.
    sizes: Vec<Bytes>,
    room: Vec<u64>,
    /// Number of groups that were given to a node, by volume and node.
    given: SortedMap<(u32, HostId), u64>,
    /// Number of holes, by how they are closed.
    open: SortedMap<(HostId, Kind), u64>,
    /// The current volume of each group.
    pub(crate) routes: Routes,
}

/// Limit for the groups that are given to a node: twice the fair share of everything that nodes which fail or are
/// drained can leave behind.
pub(crate) fn spare_groups(scenario: &Scenario, volume: &Volume) -> u64 {
    let Some(outages) = &scenario.outages else { return 0 };
    let leaving = outages.leaving();
    let lost = volume.all_nodes().filter(|node| leaving.contains(node)).count() as u64;
    let rest = (volume.all_nodes().count() as u64).saturating_sub(lost).max(1);
    let size = volume.distribution.file_size(volume.size);
    let held = size.get() / volume.distribution.group_stored().get();
    if lost == 0 { 0 } else { (held * lost).min(2 * (held * lost).div_ceil(rest) + 16) }
}

impl Holes {
    pub(super) fn new() -> Self {
        Self {
            by_slot: BTreeMap::new(),
            moved: BTreeMap::new(),
            moves: BTreeMap::new(),
            sizes: Vec::new(),
            room: Vec::new(),
            given: SortedMap::new(),
            open: SortedMap::new(),
            routes: Routes::default(),
        }
    }

    /// Whether there is any hole.
    pub(crate) fn any(&self) -> bool {
        !self.by_slot.is_empty()
    }

    /// The hole of a fragment.
    pub(crate) fn get(&mut self, slot: Slot) -> Option<&mut Hole> {
        self.by_slot.get_mut(&slot)
    }

    /// Whether a fragment's holder lacks any of these blocks.
    pub(crate) fn meets(&self, slot: Slot, blocks: &Range<u64>) -> bool {
        let hole = self.by_slot.get(&slot);
        hole.is_some_and(|hole| hole.missed.meets(blocks) || hole.in_work.meets(blocks))
    }

    /// Whether holes with that key are open.
    pub(crate) fn is_open(&self, key: (HostId, Kind)) -> bool {
        self.open.contains_key(&key)
    }

    /// The fragments that a recovery with that key writes, with the number of blocks that they lack.
    pub(crate) fn left(&self, key: (HostId, Kind)) -> impl Iterator<Item = (&Slot, u64)> {
        let holes = self.by_slot.iter().filter(move |(_, hole)| hole.key == key);
        let holes = holes.map(|(slot, hole)| (slot, hole.missed.count() + hole.in_work.count()));
        let moves = self.moves.iter().filter(move |(_, one)| one.key == key);
        holes.chain(moves.map(|(slot, one)| (slot, one.missed.count() + one.in_work.count())))
    }

    /// The holders of a group's fragments, in order.
    pub(crate) fn holders(&self, id: u32, volume: &Volume, group: u64) -> SmallVec<[Holder; 8]> {
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        volume.distribution.places(group, &mut nodes, &mut places);
        let named = |place: &foretell_algorithms::distribution::Place| Holder {
            node: volume.nodes[place.node as usize],
            base: place.base,
        };
        let mut holders: SmallVec<[Holder; 8]> = places.iter().map(named).collect();
        if !self.moved.is_empty() {
            for (fragment, holder) in (0..).zip(&mut holders) {
                let slot = Slot { volume: id, group, fragment };
                if let Some((_, moved)) = self.moved.get(&slot) {
                    *holder = *moved;
                }
            }
        }
        holders
    }

    /// The holder of a fragment lacks these blocks, up to the given write.
    pub(crate) fn add(&mut self, slot: Slot, holder: HostId, blocks: Range<u64>, write: u64) {
        let key = match self.moved.get(&slot) {
            Some((Some(cause), _)) => (*cause, Kind::Rebuild),
            Some((None, _)) | None => (holder, Kind::CatchUp),
        };
        // blocks that are stale here are stale in its copy too
        self.changed(slot, &blocks);
        if !self.by_slot.contains_key(&slot) {
            self.count_open(key);
        }
        let hole = self.by_slot.entry(slot).or_insert_with(|| Hole {
            key,
            missed: Blocks::default(),
            in_work: Blocks::default(),
            newest: 0,
        });
        hole.missed.add(blocks);
        hole.newest = hole.newest.max(write);
    }

    /// The holder has blocks of this write, so earlier writes to them that it lacked no longer matter. Returns
    /// whether the fragment had a hole.
    pub(crate) fn fill(&mut self, slot: Slot, blocks: &Range<u64>, write: u64) -> bool {
        let Some(hole) = self.by_slot.get_mut(&slot) else { return false };
        if write > hole.newest {
            hole.missed.remove(blocks);
            hole.in_work.remove(blocks);
            self.close_if_filled(slot);
        }
        true
    }

    /// Removes a hole if it is empty.
    pub(crate) fn close_if_filled(&mut self, slot: Slot) {
        let is_filled = |hole: &Hole| hole.missed.is_empty() && hole.in_work.is_empty();
        if self.by_slot.get(&slot).is_some_and(is_filled) {
            self.close(slot);
        }
    }

    fn close(&mut self, slot: Slot) {
        let Some(hole) = self.by_slot.remove(&slot) else { return };
        self.count_closed(hole.key);
    }

    pub(crate) fn count_open(&mut self, key: (HostId, Kind)) {
        *self.open.entry(key).or_default() += 1;
    }

    pub(crate) fn count_closed(&mut self, key: (HostId, Kind)) {
        let count = self.open.get_mut(&key).expect("it was counted");
        *count -= 1;
        if *count == 0 {
            self.open.remove(&key);
        }
    }

    /// A fragment no longer exists.
    pub(crate) fn forget(&mut self, slot: Slot) {
        self.close(slot);
        self.end_move(slot);
    }

    /// Whether a fragment's holder has all of it, and it is not moving.
    pub(crate) fn is_at_rest(&self, slot: Slot) -> bool {
        !self.by_slot.contains_key(&slot) && !self.moves.contains_key(&slot)
    }

    /// Gives a fragment to another node, which lacks the blocks `lacking`.
    fn give(&mut self, slot: Slot, from: HostId, to: Holder, lacking: &Blocks) {
        let newest = self.by_slot.get(&slot).map_or(0, |hole| hole.newest);
        self.close(slot);
        self.moved.insert(slot, (Some(from), to));
        for blocks in lacking.iter() {
            self.add(slot, to.node, blocks, newest);
        }
    }

    /// Gives a fragment to a new holder, which has everything that the old one had.
    pub(crate) fn hand_over(&mut self, slot: Slot, to: Holder) {
        debug_assert!(!self.by_slot.contains_key(&slot), "what is moved is whole");
        self.moved.insert(slot, (None, to));
    }

    /// The blocks of a group.
    pub(crate) fn blocks_of(&self, id: u32, volume: &Volume, group: u64) -> Range<u64> {
        let per_group = volume.distribution.group_blocks();
        let last = self.sizes[id as usize].get().div_ceil(volume.distribution.block().get());
        group * per_group..((group + 1) * per_group).min(last)
    }

    /// The groups that currently belong to a volume.
    pub(super) fn groups(&self, id: u32, volume: &Volume) -> impl Iterator<Item = u64> + use<> {
        let routes = self.routes.of_volume(volume.of.0);
        let is_there =
            move |group: &u64| routes.as_ref().is_none_or(|all| all[*group as usize] == id);
        (0..volume.groups()).filter(is_there)
    }

    /// Sets the volumes, with the number of groups that have spare room on each node, by volume.
    pub(crate) fn set_volumes(&mut self, volumes: &[Volume], room: Vec<u64>) {
        self.sizes = volumes.iter().map(|volume| volume.size).collect();
        self.room = room;
        self.routes = Routes::of(volumes);
    }
}

impl Failures {
    /// Gives a node's fragments to other nodes. Returns the fragments given, and whether a new holder was found for
    /// all.
    pub(crate) fn give_away(&mut self, from: HostId, volumes: &[Volume]) -> (Vec<Slot>, bool) {
        let mut given = Vec::new();
        let mut all = true;
        for (id, volume) in (0..).zip(volumes) {
            if !volume.all_nodes().any(|node| node == from) {
                continue;
            }
            for group in self.holes.groups(id, volume) {
                let holders = self.holes.holders(id, volume, group);
                for (fragment, holder) in (0..).zip(&holders) {
                    if holder.node != from {
                        continue;
                    }
                    let slot = Slot { volume: id, group, fragment };
                    let blocks = self.holes.blocks_of(id, volume, group);
                    if !self.has_sources(slot, volume, &holders, &blocks) {
                        // no node can rebuild the fragment: it stays with the old holder, which may return
                        all = false;
                        continue;
                    }
                    // the target of its move already has some of it
                    let (to, lacking) = match self.holes.end_move(slot) {
                        Some(Move { to, missed, .. }) if self.is_up(to.node) => (Some(to), missed),
                        _ => {
                            let mut all_of_it = Blocks::default();
                            all_of_it.add(blocks);
                            (self.room_elsewhere(slot, volume, &holders), all_of_it)
                        }
                    };
                    let Some(to) = to else {
                        all = false;
                        continue;
                    };
                    self.holes.give(slot, from, to, &lacking);
                    given.push(slot);
                }
            }
        }
        (given, all)
    }

    /// Whether blocks of a fragment can be rebuilt: enough other holders are up and have the blocks.
    pub(crate) fn has_sources(
        &self,
        slot: Slot,
        volume: &Volume,
        holders: &[Holder],
        blocks: &Range<u64>,
    ) -> bool {
        let source = |(fragment, holder): (u8, &Holder)| {
            let other = Slot { fragment, ..slot };
            let has_it = fragment != slot.fragment
                && self.is_up(holder.node)
                && !self.holes.meets(other, blocks);
            has_it.then_some(fragment)
        };
        let sources: Numbers = (0..).zip(holders).filter_map(source).collect();
        volume.shares.repair(slot.fragment, &[], &sources).is_some()
    }

    /// Room on a node that is up, has nothing of the group yet, and can take it.
    pub(crate) fn room_elsewhere(
        &mut self,
        slot: Slot,
        volume: &Volume,
        holders: &[Holder],
    ) -> Option<Holder> {
        let free = |node: &HostId| {
            self.takes(slot.volume, volume, *node)
                && holders.iter().all(|holder| holder.node != *node)
                && !self.holes.is_on_its_way(slot, *node)
        };
        let free: Vec<HostId> = volume.all_nodes().filter(free).collect();
        let chosen = slot.number() % (free.len() as u64).max(1);
        let node = *free.get(chosen as usize)?;
        Some(self.room_on(slot.volume, volume, node))
    }

    /// Whether a node is up, a member, and has room for one more group of a volume.
    pub(super) fn takes(&self, id: u32, volume: &Volume, node: HostId) -> bool {
        let given = self.holes.given.get(&(id, node)).copied().unwrap_or(0);
        let state = &self.hosts[node.index()];
        let room = self.holes.room[id as usize] + self.own_part(id, volume, node).1;
        self.is_up(node) && state.is_member() && given < room
    }

    /// The part of a node's file that belongs to the volume from the beginning, in bytes. A joining node has none;
    /// for it, the number of groups that it has room for instead.
    fn own_part(&self, id: u32, volume: &Volume, node: HostId) -> (Bytes, u64) {
        let size = volume.distribution.file_size(self.holes.sizes[id as usize]);
        if volume.joining.contains(&node) {
            (Bytes::ZERO, size.get() / volume.distribution.group_stored().get())
        } else {
            (size, 0)
        }
    }

    /// Assigns room on a node for one more group of a volume.
    pub(super) fn room_on(&mut self, id: u32, volume: &Volume, node: HostId) -> Holder {
        let (size, _) = self.own_part(id, volume, node);
        let given = self.holes.given.entry((id, node)).or_default();
        let base = size + volume.distribution.group_stored() * *given;
        *given += 1;
        Holder { node, base }
    }

    /// Bytes of volumes that are lost because too few fragments remain.
    pub(crate) fn bytes_lost(&self, volumes: &[Volume]) -> Bytes {
        let mut lost = Bytes::ZERO;
        if !self.hosts.iter().any(|host| host.is_wiped) {
            return lost;
        }
        for (id, volume) in (0..).zip(volumes) {
            for group in self.holes.groups(id, volume) {
                let holders = self.holes.holders(id, volume, group);
                let gone = |fragment: usize, blocks: &Range<u64>| {
                    let slot = Slot { volume: id, group, fragment: fragment as u8 };
                    self.hosts[holders[fragment].node.index()].is_wiped
                        || self.holes.meets(slot, blocks)
                };
                let is_lost = |blocks: &Range<u64>| {
                    let left = (0..holders.len()).filter(|&fragment| !gone(fragment, blocks));
                    let left: Numbers = left.map(|fragment| fragment as u8).collect();
                    !volume.shares.decodes(&left)
                };
                let blocks = self.holes.blocks_of(id, volume, group);
                // a group with enough fragments without holes need not be counted block by block
                if is_lost(&blocks) {
                    let each = blocks.filter(|&block| is_lost(&(block..block + 1)));
                    lost += volume.distribution.block() * each.count() as u64;
                }
            }
        }
        lost
    }
}
