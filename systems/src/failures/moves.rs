//! Fragments that move to another node while their holder continues to serve.
//!
//! A node that joins gets its fair share of each volume; the fragments of a drained node go to the nodes with
//! the fewest. The new node copies a fragment from its holder. Until then, clients' writes go to the holder,
//! and the written blocks are copied again in a further round. When nothing is left to copy, the new node
//! becomes the holder. If clients write faster than the node copies, writes to the group wait after
//! [`PASSES`] rounds (as in the migration of virtual machines by Clark et al. 2005). Source: Abd-El-Malek et
//! al. 2005 (on-line migration by a coordinator). There, clients write to the new place at once, and read
//! from the old place what they do not find. In this model redundancy is never lower than before. The order
//! in which fragments move is an assumption.

use std::ops::Range;

use foretell_sorted::SortedMap;
use foretell_units::HostId;
use smallvec::SmallVec;

use super::holes::{Holder, Holes, Slot};
use super::recovery::Kind;
use super::{Blocks, Failures, Membership};
use crate::volume::Volume;

/// Number of copying rounds after which writes wait.
const PASSES: u32 = 4;

/// A fragment that is being moved.
#[derive(Debug)]
pub(crate) struct Move {
    /// The host that joins or is drained, and the kind of recovery.
    pub(crate) key: (HostId, Kind),
    pub(crate) to: Holder,
    /// Blocks that wait to be copied.
    pub(crate) missed: Blocks,
    /// Blocks that are being copied.
    pub(crate) in_work: Blocks,
    /// Number of copying rounds so far.
    passes: u32,
}

/// Changes when a node joins or leaves.
pub(crate) struct Change {
    /// Fragments whose move begins.
    pub(crate) begun: Vec<Slot>,
    /// Fragments whose planned move is cancelled, with its target.
    pub(crate) ended: Vec<(Slot, HostId)>,
}

impl Holes {
    /// The move of a fragment.
    pub(crate) fn move_of(&mut self, slot: Slot) -> Option<&mut Move> {
        self.moves.get_mut(&slot)
    }

    /// Whether any fragment is being moved.
    pub(crate) fn has_moves(&self) -> bool {
        !self.moves.is_empty()
    }

    /// Whether a fragment is moving to that node.
    pub(crate) fn moves_to(&self, slot: Slot, node: HostId) -> bool {
        self.moves.get(&slot).is_some_and(|one| one.to.node == node)
    }

    /// Whether some fragment of the slot's group is moving to that node.
    pub(super) fn is_on_its_way(&self, slot: Slot, node: HostId) -> bool {
        !self.moves.is_empty() && self.moves_of(slot).any(|(_, one)| one.to.node == node)
    }

    /// The moves of fragments of the slot's group.
    fn moves_of(&self, slot: Slot) -> impl Iterator<Item = (&Slot, &Move)> {
        let (first, last) = (Slot { fragment: 0, ..slot }, Slot { fragment: u8::MAX, ..slot });
        self.moves.range(first..=last)
    }

    /// Whether writes of clients wait until that fragment has moved.
    pub(crate) fn holds_writes_of(&self, slot: Slot) -> bool {
        self.moves.get(&slot).is_some_and(|one| one.passes >= PASSES)
    }

    /// The holder of a fragment has got new blocks, or lacks them: copies of these blocks are stale.
    pub(crate) fn changed(&mut self, slot: Slot, blocks: &Range<u64>) {
        if let Some(one) = self.moves.get_mut(&slot) {
            one.missed.add(blocks.clone());
        }
    }

    /// Blocks of a fragment that wait for a job, and those that it is working on; for a move, or for a hole.
    pub(crate) fn work(&mut self, slot: Slot, moves: bool) -> Option<(&mut Blocks, &mut Blocks)> {
        if moves {
            self.move_of(slot).map(|one| (&mut one.missed, &mut one.in_work))
        } else {
            self.get(slot).map(|hole| (&mut hole.missed, &mut hole.in_work))
        }
    }

    /// A round of copying has ended. Returns whether the new node has everything.
    pub(crate) fn pass_ends(&mut self, slot: Slot) -> bool {
        let has_hole = self.get(slot).is_some();
        let Some(one) = self.moves.get_mut(&slot) else { return false };
        one.passes += 1;
        !has_hole && one.missed.is_empty() && one.in_work.is_empty()
    }

    /// A job could not continue, so writes need not wait for it. Returns whether they did wait.
    pub(crate) fn begin_passes_again(&mut self, slot: Slot) -> bool {
        let passes = self.moves.get_mut(&slot).map_or(0, |one| std::mem::take(&mut one.passes));
        passes >= PASSES
    }

    /// Ends the move of a fragment, which is cancelled or complete. Blocks that were being copied count as missed.
    pub(super) fn end_move(&mut self, slot: Slot) -> Option<Move> {
        let mut one = self.moves.remove(&slot)?;
        self.count_closed(one.key);
        let undone = std::mem::take(&mut one.in_work);
        one.missed.add_all(&undone);
        Some(one)
    }

    /// The new node has all of a fragment and becomes its holder. Returns the old and the new holder.
    pub(crate) fn arrive(&mut self, id: u32, volume: &Volume, slot: Slot) -> (HostId, HostId) {
        let old = self.holders(id, volume, slot.group)[usize::from(slot.fragment)].node;
        let one = self.end_move(slot).expect("it moves");
        self.hand_over(slot, one.to);
        (old, one.to.node)
    }

    fn begin_move(&mut self, slot: Slot, key: (HostId, Kind), to: Holder, blocks: Range<u64>) {
        let mut missed = Blocks::default();
        missed.add(blocks);
        let (in_work, passes) = (Blocks::default(), 0);
        self.count_open(key);
        self.moves.insert(slot, Move { key, to, missed, in_work, passes });
    }

    /// The planned holders of a group's fragments, in order.
    fn planned(&self, id: u32, volume: &Volume, group: u64) -> SmallVec<[HostId; 8]> {
        let holders = self.holders(id, volume, group);
        let mut planned: SmallVec<[HostId; 8]> = holders.iter().map(|one| one.node).collect();
        for (slot, one) in self.moves_of(Slot { volume: id, group, fragment: 0 }) {
            planned[usize::from(slot.fragment)] = one.to.node;
        }
        planned
    }
}

impl Failures {
    /// Whether writes to a group must wait until one of its fragments has moved.
    pub(crate) fn holds_writes(&self, volume: u32, group: u64) -> bool {
        let slot = Slot { volume, group, fragment: 0 };
        let holds = |one: &Move| {
            one.passes >= PASSES && self.is_up(one.to.node) && !self.is_down(one.to.node)
        };
        self.holes.has_moves() && self.holes.moves_of(slot).any(|(_, one)| holds(one))
    }

    /// Number of fragments of a volume for each node that is their planned holder.
    fn shares(&self, id: u32, volume: &Volume) -> SortedMap<HostId, u64> {
        let mut shares = SortedMap::new();
        for group in self.holes.groups(id, volume) {
            for node in self.holes.planned(id, volume, group) {
                *shares.entry(node).or_default() += 1;
            }
        }
        shares
    }

    /// A node becomes a member: its fair share of each volume moves to it, from the nodes with the most fragments.
    pub(crate) fn join(&mut self, host: HostId, volumes: &[Volume]) -> Change {
        let mut change = Change { begun: Vec::new(), ended: Vec::new() };
        self.hosts[host.index()].membership = Membership::Member;
        for (id, volume) in (0..).zip(volumes) {
            if !volume.joining.contains(&host) {
                continue;
            }
            let mut shares = self.shares(id, volume);
            let members = volume.all_nodes().filter(|node| self.hosts[node.index()].is_member());
            let members = members.count() as u64;
            let fair = shares.values().sum::<u64>() / members;
            let groups: Vec<u64> = self.holes.groups(id, volume).collect();
            let count = groups.len() as u64;
            let mut taken = 0;
            for (number, group) in (1..).zip(groups) {
                // spread over all groups; if none can be taken from a group, the next one compensates
                if taken * count >= fair * number {
                    continue;
                }
                let planned = self.holes.planned(id, volume, group);
                let candidates = (0..).zip(&planned).map(|(fragment, node)| {
                    let slot = Slot { volume: id, group, fragment };
                    (shares[node], slot.number(), slot, *node)
                });
                let most = candidates.max_by_key(|(share, number, ..)| (*share, *number));
                let Some((share, _, slot, from)) = most else { continue };
                let is_there = planned.contains(&host)
                    || self.holes.holders(id, volume, group).iter().any(|one| one.node == host);
                if share <= fair || is_there || !self.takes(id, volume, host) {
                    continue;
                }
                if let Some(other) = self.holes.end_move(slot) {
                    change.ended.push((slot, other.to.node));
                }
                let to = self.room_on(id, volume, host);
                let blocks = self.holes.blocks_of(id, volume, group);
                self.holes.begin_move(slot, (host, Kind::Rebalance), to, blocks);
                change.begun.push(slot);
                *shares.get_mut(&from).expect("it has some") -= 1;
                taken += 1;
            }
        }
        change
    }

    /// Drains a node: its fragments move to the nodes with the fewest, if there is room.
    pub(crate) fn drain(&mut self, host: HostId, volumes: &[Volume]) -> Change {
        let mut change = Change { begun: Vec::new(), ended: Vec::new() };
        self.hosts[host.index()].membership = Membership::Drained;
        for (id, volume) in (0..).zip(volumes) {
            if !volume.all_nodes().any(|node| node == host) {
                continue;
            }
            let mut shares = self.shares(id, volume);
            for group in self.holes.groups(id, volume) {
                let holders = self.holes.holders(id, volume, group);
                let planned = self.holes.planned(id, volume, group);
                let Some(fragment) = planned.iter().position(|node| *node == host) else {
                    continue;
                };
                let slot = Slot { volume: id, group, fragment: fragment as u8 };
                let mut key = (host, Kind::Rebalance);
                if let Some(other) = self.holes.end_move(slot) {
                    change.ended.push((slot, other.to.node));
                    if self.hosts[holders[fragment].node.index()].is_member() {
                        continue;
                    }
                    key = other.key;
                }
                let is_free = |node: &HostId| {
                    self.takes(id, volume, *node)
                        && !planned.contains(node)
                        && holders.iter().all(|holder| holder.node != *node)
                };
                let least = volume.all_nodes().filter(is_free).min_by_key(|node| {
                    let number = slot.number() ^ u64::from(node.0);
                    (shares.get(node).copied().unwrap_or(0), foretell_algorithms::mix::mix(number))
                });
                let Some(node) = least else { continue };
                let to = self.room_on(id, volume, node);
                let blocks = self.holes.blocks_of(id, volume, group);
                self.holes.begin_move(slot, key, to, blocks);
                change.begun.push(slot);
                *shares.entry(node).or_default() += 1;
            }
        }
        change
    }

    /// A node is out: moves to it are cancelled. Returns the fragments of drained nodes that begin new moves.
    pub(crate) fn end_moves_to(&mut self, host: HostId, volumes: &[Volume]) -> Change {
        let mut change = Change { begun: Vec::new(), ended: Vec::new() };
        let moves = self.holes.moves.iter().filter(|(_, one)| one.to.node == host);
        let slots: Vec<Slot> = moves.map(|(slot, _)| *slot).collect();
        for slot in slots {
            self.holes.end_move(slot);
            change.ended.push((slot, host));
        }
        change.begun = self.drain_the_rest(volumes);
        change
    }

    /// Begins moves for fragments that drained nodes still hold and for which there may be room now.
    pub(crate) fn drain_the_rest(&mut self, volumes: &[Volume]) -> Vec<Slot> {
        let drained = |host: &usize| {
            let state = &self.hosts[*host];
            state.membership == Membership::Drained && !state.holds_nothing
        };
        let drained: Vec<usize> = (0..self.hosts.len()).filter(drained).collect();
        let again = drained.into_iter().map(|host| self.drain(HostId::from(host), volumes).begun);
        again.flatten().collect()
    }

    /// Whether a drained node no longer holds anything.
    pub(crate) fn is_empty(&self, host: HostId, volumes: &[Volume]) -> bool {
        (0..).zip(volumes).all(|(id, volume)| {
            let mut groups = self.holes.groups(id, volume);
            groups.all(|group| {
                self.holes.holders(id, volume, group).iter().all(|one| one.node != host)
            })
        })
    }
}
