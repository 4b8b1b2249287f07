//! Which server has which version of each block: what the files of object servers would show.
//!
//! Each write has a *version*, the X-Timestamp of Swift, and a server keeps the latest version that it has
//! received. A partition's *primaries* are the servers to which the ring gives it. Only blocks that differ
//! between primaries are listed, with the versions on the servers. A server that is not a primary, but holds
//! blocks, is a *handoff*. A block is *open* while a write of it is under way: a replicator then leaves it
//! alone, and it does not count as differing.
//!
//! A partition is *wanted* on its primaries. In the place of a primary whose disk has failed, it is wanted on
//! a handoff. A server on which it is newly wanted gets the whole partition, one object after the other: a
//! *move*. A server on which it is no longer wanted keeps what it has until all others have that, too.
//!
//! Simplified: Swift replaces whole objects. Here a write may replace some blocks of an object, and a
//! handoff then has only those blocks. A real handoff waits for a primary whose disk has failed before it
//! drops a partition.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::HostId;
use smallvec::SmallVec;

use crate::failures::Kind;
use crate::system::Few;

/// The number of a server (a device of an object server) in the cluster.
pub(super) type Osd = u32;

/// Why a server gets a partition: the number of the unit in recoveries, and the kind of recovery.
pub(super) type Cause = (HostId, Kind);

/// A server that has all of a partition.
pub(super) const ALL: u64 = u64::MAX;

/// A block that is not the same everywhere.
#[derive(Clone, Debug)]
struct Block {
    /// The version on servers that have received none of those below.
    base: u64,
    /// The version that each primary should have: the latest one when no write was under way.
    due: u64,
    /// The latest version that a client knows to be written.
    acknowledged: u64,
    /// Number of writes under way.
    writes: u32,
    /// Later versions, by server.
    copies: SmallVec<[(Osd, u64); 4]>,
}

/// A partition of a ring.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    /// The servers to which the ring gives it.
    pub(super) primaries: Few<Osd>,
    /// The servers to which the ring gave it at the beginning.
    pub(super) first: Few<Osd>,
    /// The servers that should have it now.
    pub(super) wanted: Few<Osd>,
    /// Servers that have its initial data: of blocks up to a number, or [`ALL`].
    bases: SmallVec<[(Osd, u64); 4]>,
    /// Wanted servers that do not have all of it yet.
    moves: SmallVec<[(Osd, Cause); 1]>,
    blocks: BTreeMap<u64, Block>,
    /// Number of blocks that a wanted server lacks, or that a handoff holds.
    differing: u64,
}

impl Partition {
    /// The number of the block up to which a server has the initial data.
    fn until(&self, osd: Osd) -> u64 {
        self.bases.iter().find(|(other, _)| *other == osd).map_or(0, |(_, until)| *until)
    }

    /// The version of a block on a server; `None`: it does not have the block.
    fn version(&self, number: u64, block: &Block, osd: Osd) -> Option<u64> {
        let own = block.copies.iter().find(|(other, _)| *other == osd);
        own.map(|(_, version)| *version)
            .or_else(|| (number < self.until(osd)).then_some(block.base))
    }

    /// Whether a server has a right to what it holds, so that it need not drop it.
    fn is_home(&self, osd: Osd) -> bool {
        self.wanted.contains(&osd) || self.primaries.contains(&osd)
    }

    /// Wanted servers that lack what they should have of a block.
    fn lacking(&self, number: u64, block: &Block) -> Few<Osd> {
        let lacks = |osd: &Osd| self.version(number, block, *osd).is_none_or(|has| has < block.due);
        self.wanted.iter().copied().filter(lacks).collect()
    }

    /// Whether a handoff holds a block.
    fn strays(&self, block: &Block) -> bool {
        block.copies.iter().any(|(osd, _)| !self.is_home(*osd))
    }

    /// Whether all servers have the latest version of a block, and no handoff has any.
    fn is_settled(&self, number: u64, block: &Block) -> bool {
        let latest = block.latest();
        let has_latest = |osd: Osd| self.version(number, block, osd) == Some(latest);
        let is_old = |(osd, _): &(Osd, u64)| {
            self.version(number, block, *osd).is_some_and(|version| version < latest)
        };
        block.writes == 0
            && self.moves.is_empty()
            && !self.strays(block)
            && self.wanted.iter().all(|osd| has_latest(*osd))
            && !self.bases.iter().any(is_old)
            && !block.copies.iter().any(is_old)
    }
}

impl Block {
    /// The latest version that any server has.
    fn latest(&self) -> u64 {
        self.copies.iter().map(|(_, version)| *version).fold(self.base, u64::max)
    }
}

/// Blocks with the versions that clients knew to be written when a read began.
pub(super) type Known = SmallVec<[(u64, u64); 2]>;

/// All partitions of all volumes.
#[derive(Default)]
pub(super) struct Ledger {
    pub(super) partitions: Vec<Partition>,
    /// Servers that are down.
    down: SortedSet<Osd>,
    /// Partitions that are not the same on all primaries, or have a primary that is down.
    differing: BTreeSet<usize>,
    /// Number of blocks that servers lack, for those that lack some.
    lacking: SortedMap<Osd, u64>,
    /// Number of moves of partitions, by cause.
    moves: SortedMap<Cause, u64>,
}

impl Ledger {
    /// Adds a partition that is the same on all its primaries.
    pub(super) fn add(&mut self, primaries: Few<Osd>) {
        let (first, wanted) = (primaries.clone(), primaries.clone());
        let bases = primaries.iter().map(|osd| (*osd, ALL)).collect();
        let (moves, blocks, differing) = (SmallVec::new(), BTreeMap::new(), 0);
        let new = Partition { primaries, first, wanted, bases, moves, blocks, differing };
        self.partitions.push(new);
    }

    /// Partitions that are not whole, in order.
    pub(super) fn differing(&self) -> &BTreeSet<usize> {
        &self.differing
    }

    /// Number of blocks that a server lacks.
    pub(super) fn lacks(&self, osd: Osd) -> u64 {
        self.lacking.get(&osd).copied().unwrap_or(0)
    }

    /// How often servers lack a block of a partition, for servers that only missed it: they do not get the partition as a
    /// whole.
    pub(super) fn lacking_blocks(&self, number: usize, of: impl Fn(Osd) -> bool) -> u64 {
        let partition = &self.partitions[number];
        let misses = |osd: &Osd| of(*osd) && self.move_to(number, *osd).is_none();
        let lacking = partition.blocks.iter().map(|(at, block)| partition.lacking(*at, block));
        lacking.map(|servers| servers.iter().filter(|osd| misses(osd)).count() as u64).sum()
    }

    /// For each server that gets a whole partition with this cause: the block up to which it has it.
    pub(super) fn moves_with(&self, number: usize, cause: Cause) -> impl Iterator<Item = u64> {
        let partition = &self.partitions[number];
        let its = partition.moves.iter().filter(move |(_, why)| *why == cause);
        its.map(|(osd, _)| partition.until(*osd))
    }

    /// Number of servers that do not have all of a partition yet, with this cause.
    pub(super) fn moves(&self, cause: Cause) -> u64 {
        self.moves.get(&cause).copied().unwrap_or(0)
    }

    /// The cause for which a server gets a whole partition; `None`: it does not.
    pub(super) fn move_to(&self, partition: usize, to: Osd) -> Option<Cause> {
        let moves = &self.partitions[partition].moves;
        moves.iter().find(|(osd, _)| *osd == to).map(|(_, cause)| *cause)
    }

    /// The number of the block up to which a server has a partition's initial data.
    pub(super) fn until(&self, partition: usize, osd: Osd) -> u64 {
        self.partitions[partition].until(osd)
    }

    /// The number of the block up to which any server has a partition's initial data.
    pub(super) fn reach(&self, partition: usize) -> u64 {
        self.partitions[partition].bases.iter().map(|(_, until)| *until).max().unwrap_or(0)
    }

    /// Servers that hold anything of a partition.
    pub(super) fn holders(&self, partition: usize) -> Few<Osd> {
        let partition = &self.partitions[partition];
        let mut all: Few<Osd> = partition.bases.iter().map(|(osd, _)| *osd).collect();
        for (osd, _) in partition.blocks.values().flat_map(|block| &block.copies) {
            if !all.contains(osd) {
                all.push(*osd);
            }
        }
        all
    }

    /// A server goes down or comes back.
    pub(super) fn set_down(&mut self, osd: Osd, is_down: bool) {
        if is_down {
            self.down.insert(osd);
        } else {
            self.down.remove(&osd);
        }
        for partition in 0..self.partitions.len() {
            if self.partitions[partition].wanted.contains(&osd) {
                self.note(partition);
            }
        }
    }

    /// A server has lost everything.
    pub(super) fn wipe(&mut self, osd: Osd) {
        for number in 0..self.partitions.len() {
            if self.holders(number).contains(&osd) {
                self.recount(number, 0..ALL, |partition| {
                    partition.bases.retain(|(other, _)| *other != osd);
                    for block in partition.blocks.values_mut() {
                        block.copies.retain(|(other, _)| *other != osd);
                    }
                });
            }
        }
    }

    /// A partition gets these primaries, and is wanted on these servers. Those on which it was not wanted before get
    /// what they lack of it. `is_empty`: there is nothing in it.
    pub(super) fn redirect(
        &mut self,
        number: usize,
        primaries: Few<Osd>,
        wanted: Few<Osd>,
        cause: Cause,
        is_empty: bool,
    ) {
        let before = self.partitions[number].moves.clone();
        self.recount(number, 0..ALL, |partition| {
            partition.moves.retain(|(osd, _)| wanted.contains(osd));
            let lacks = |osd: &Osd| !partition.wanted.contains(osd) && partition.until(*osd) < ALL;
            let news: Few<Osd> = wanted.iter().copied().filter(lacks).collect();
            for osd in news {
                if is_empty {
                    partition.bases.push((osd, ALL));
                } else {
                    partition.moves.push((osd, cause));
                }
            }
            (partition.primaries, partition.wanted) = (primaries, wanted);
            if is_empty {
                let Partition { primaries, wanted, bases, .. } = partition;
                bases.retain(|(osd, _)| wanted.contains(osd) || primaries.contains(osd));
            }
        });
        for (_, cause) in before {
            self.count_move(cause, false);
        }
        for (_, cause) in self.partitions[number].moves.clone() {
            self.count_move(cause, true);
        }
        self.note(number);
    }

    fn count_move(&mut self, cause: Cause, more: bool) {
        let count = self.moves.entry(cause).or_default();
        *count = if more { *count + 1 } else { *count - 1 };
        if *count == 0 {
            self.moves.remove(&cause);
        }
    }

    /// A server has got these blocks from another, in the versions that the other has; with them it has the partition's
    /// initial data up to the block `until`.
    pub(super) fn moved(
        &mut self,
        number: usize,
        from: Osd,
        to: Osd,
        blocks: Range<u64>,
        until: u64,
    ) {
        let had = self.partitions[number].until(to);
        self.recount(number, had.min(blocks.start)..until, |partition| {
            let versions: Vec<(u64, u64)> = partition
                .blocks
                .range(blocks)
                .filter_map(|(at, block)| Some((*at, partition.version(*at, block, from)?)))
                .collect();
            for (at, version) in versions {
                let copies = &mut partition.blocks.get_mut(&at).expect("it is listed").copies;
                match copies.iter_mut().find(|(other, _)| *other == to) {
                    Some((_, has)) => *has = version.max(*has),
                    None => copies.push((to, version)),
                }
            }
            partition.bases.retain(|(osd, _)| *osd != to);
            partition.bases.push((to, until.max(had)));
        });
        let cause = self.move_to(number, to).filter(|_| until == ALL);
        if let Some(cause) = cause {
            self.recount(number, 0..ALL, |partition| {
                partition.moves.retain(|(osd, _)| *osd != to);
            });
            self.count_move(cause, false);
        }
        self.note(number);
    }

    /// A client sends a write of a version later than all others.
    pub(super) fn begin_write(&mut self, partition: usize, blocks: Range<u64>, version: u64) {
        for block in blocks {
            if let Some(found) = self.partitions[partition].blocks.get_mut(&block) {
                found.writes += 1;
                continue;
            }
            let (base, due, copies) = (version - 1, version - 1, SmallVec::new());
            let new = Block { base, due, acknowledged: 0, writes: 1, copies };
            self.partitions[partition].blocks.insert(block, new);
            // a primary that has lost everything lacks it
            self.count(partition, block);
        }
    }

    /// A server has received a version.
    pub(super) fn stored(&mut self, partition: usize, blocks: Range<u64>, osd: Osd, version: u64) {
        for block in blocks {
            self.change(partition, block, |block| {
                match block.copies.iter_mut().find(|(other, _)| *other == osd) {
                    Some((_, has)) => *has = version.max(*has),
                    None => block.copies.push((osd, version)),
                }
            });
        }
    }

    /// A client knows that a version is written.
    pub(super) fn acknowledged(&mut self, partition: usize, blocks: Range<u64>, version: u64) {
        for block in blocks {
            if let Some(block) = self.partitions[partition].blocks.get_mut(&block) {
                block.acknowledged = block.acknowledged.max(version);
            }
        }
    }

    /// A write is no longer under way.
    pub(super) fn end_write(&mut self, partition: usize, blocks: Range<u64>) {
        for block in blocks {
            self.change(partition, block, |block| {
                block.writes -= 1;
                if block.writes == 0 {
                    block.due = block.latest();
                }
            });
        }
    }

    /// Versions that clients know to be written, of blocks that are not the same everywhere.
    pub(super) fn known(&self, partition: usize, blocks: Range<u64>) -> Known {
        let listed = self.partitions[partition].blocks.range(blocks);
        listed.map(|(number, block)| (*number, block.acknowledged)).collect()
    }

    /// Whether a server has an older version than that known of any of these blocks.
    pub(super) fn is_stale(&self, partition: usize, osd: Osd, known: &Known) -> bool {
        let partition = &self.partitions[partition];
        known.iter().any(|(number, known)| {
            // what is no longer listed is the same everywhere, and no older than then
            let block = partition.blocks.get(number);
            block.is_some_and(|block| {
                partition.version(*number, block, osd).is_none_or(|has| has < *known)
            })
        })
    }

    /// Whether a server has all these blocks.
    pub(super) fn has(&self, partition: usize, mut blocks: Range<u64>, osd: Osd) -> bool {
        let partition = &self.partitions[partition];
        let until = partition.until(osd);
        blocks.all(|number| match partition.blocks.get(&number) {
            Some(block) => partition.version(number, block, osd).is_some(),
            None => number < until,
        })
    }

    /// How new these blocks are on a server, compared with other servers that have them: the sum of their versions,
    /// where they differ.
    pub(super) fn newness(&self, partition: usize, blocks: Range<u64>, osd: Osd) -> u64 {
        let partition = &self.partitions[partition];
        let listed = partition.blocks.range(blocks);
        listed.filter_map(|(number, block)| partition.version(*number, block, osd)).sum()
    }

    /// The version of a block that one server has to send to another, if it has a later one and no write is under way.
    pub(super) fn to_send(&self, partition: usize, number: u64, from: Osd, to: Osd) -> Option<u64> {
        let partition = &self.partitions[partition];
        let block = partition.blocks.get(&number).filter(|block| block.writes == 0)?;
        let own = partition.version(number, block, from)?;
        partition.version(number, block, to).is_none_or(|has| has < own).then_some(own)
    }

    /// The blocks that one server has to send to another, in order.
    pub(super) fn all_to_send(&self, partition: usize, from: Osd, to: Osd) -> Vec<u64> {
        let one = &self.partitions[partition];
        // what a move brings is not sent before
        let is_moving = self.move_to(partition, to).is_some() && one.until(from) > one.until(to);
        let end = if is_moving { one.until(to) } else { ALL };
        let blocks = one.blocks.range(..end).map(|(number, _)| *number);
        blocks.filter(|block| self.to_send(partition, *block, from, to).is_some()).collect()
    }

    /// A handoff drops all blocks that all wanted servers have in at least its version. Returns those that are listed,
    /// and whether it also drops the initial data.
    pub(super) fn drop_stray(&mut self, partition: usize, osd: Osd) -> (Vec<u64>, bool) {
        let of = &self.partitions[partition];
        if of.is_home(osd) {
            return (Vec::new(), false);
        }
        let is_over = |number: u64, block: &Block| {
            let own = of.version(number, block, osd);
            let has = |other: &Osd| of.version(number, block, *other) >= own;
            block.writes == 0 && of.wanted.iter().all(has)
        };
        let all_over = of.blocks.iter().all(|(number, block)| is_over(*number, block));
        let have_all = of.wanted.iter().all(|other| of.until(*other) == ALL);
        let drops_base = of.until(osd) > 0 && all_over && have_all;
        let own = |block: &Block| block.copies.iter().any(|(other, _)| *other == osd);
        let listed =
            of.blocks.iter().filter(|(number, block)| own(block) && is_over(**number, block));
        let found: Vec<u64> = listed.map(|(number, _)| *number).collect();
        // while it has older data, its later copies stay
        if of.until(osd) > 0 && !drops_base {
            return (Vec::new(), false);
        }
        self.recount(partition, 0..ALL, |partition| {
            partition.bases.retain(|(other, _)| *other != osd);
            for block in &found {
                let copies = &mut partition.blocks.get_mut(block).expect("it is listed").copies;
                copies.retain(|(other, _)| *other != osd);
            }
        });
        self.note(partition);
        (found, drops_base)
    }

    /// Whether a version that clients know of a block is on no server.
    fn is_lost(partition: &Partition, number: u64, block: &Block) -> bool {
        let bases = partition.bases.iter();
        let versions = bases.filter_map(|(osd, _)| partition.version(number, block, *osd));
        let copies = block.copies.iter().map(|(_, version)| *version);
        versions.chain(copies).max().is_none_or(|latest| latest < block.acknowledged)
    }

    /// Listed blocks of a partition, and whether no server has any more the version that clients know.
    pub(super) fn listed(&self, partition: usize) -> impl Iterator<Item = (u64, bool)> + '_ {
        let partition = &self.partitions[partition];
        let lost =
            |(number, block): (&u64, &Block)| (*number, Self::is_lost(partition, *number, block));
        partition.blocks.iter().map(lost)
    }

    /// Changes a block, and what is counted of it.
    fn change(&mut self, partition: usize, block: u64, change: impl FnOnce(&mut Block)) {
        if self.partitions[partition].blocks.contains_key(&block) {
            self.recount(partition, block..block + 1, |partition| {
                change(partition.blocks.get_mut(&block).expect("it is listed"));
            });
        }
    }

    /// Changes a partition, and what is counted of its blocks in a range.
    fn recount(&mut self, number: usize, blocks: Range<u64>, change: impl FnOnce(&mut Partition)) {
        let listed = self.partitions[number].blocks.range(blocks);
        let listed: SmallVec<[u64; 4]> = listed.map(|(block, _)| *block).collect();
        for block in &listed {
            self.forget(number, *block);
        }
        change(&mut self.partitions[number]);
        for block in &listed {
            self.count(number, *block);
        }
    }

    /// Subtracts a listed block from the counts.
    fn forget(&mut self, number: usize, block: u64) {
        let partition = &self.partitions[number];
        let found = &partition.blocks[&block];
        let (lacking, strays) = (partition.lacking(block, found), partition.strays(found));
        let differs = strays || !lacking.is_empty();
        self.partitions[number].differing -= u64::from(differs);
        for osd in lacking {
            let left = self.lacking.get_mut(&osd).expect("it was counted");
            *left -= 1;
            if *left == 0 {
                self.lacking.remove(&osd);
            }
        }
    }

    /// Adds a listed block to the counts, unless it is now the same everywhere.
    fn count(&mut self, number: usize, block: u64) {
        let partition = &mut self.partitions[number];
        let found = &partition.blocks[&block];
        let (lacking, strays) = (partition.lacking(block, found), partition.strays(found));
        if partition.is_settled(block, found) {
            partition.blocks.remove(&block);
        }
        let differs = strays || !lacking.is_empty();
        partition.differing += u64::from(differs);
        for osd in lacking {
            *self.lacking.entry(osd).or_default() += 1;
        }
        self.note(number);
    }

    /// Notes whether a partition is whole.
    fn note(&mut self, number: usize) {
        let partition = &self.partitions[number];
        let is_down = partition.wanted.iter().any(|osd| self.down.contains(osd));
        let is_short = partition.wanted.len() < partition.primaries.len();
        let is_moving = !partition.moves.is_empty();
        let strays = partition.bases.iter().any(|(osd, _)| !partition.is_home(*osd));
        if is_down || is_short || is_moving || strays || partition.differing > 0 {
            self.differing.insert(number);
        } else {
            self.differing.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A partition on the servers 0, 1 and 2.
    fn ledger() -> Ledger {
        let mut ledger = Ledger::default();
        ledger.add(Few::from_slice(&[0, 1, 2]));
        ledger
    }

    /// A write of block 7 that these servers get and a client knows of.
    fn write(ledger: &mut Ledger, version: u64, servers: &[Osd]) {
        ledger.begin_write(0, 7..8, version);
        for osd in servers {
            ledger.stored(0, 7..8, *osd, version);
        }
        ledger.acknowledged(0, 7..8, version);
        ledger.end_write(0, 7..8);
    }

    #[test]
    fn what_all_primaries_have_is_not_listed() {
        let mut ledger = ledger();
        write(&mut ledger, 5, &[0, 1, 2]);
        assert!(ledger.partitions[0].blocks.is_empty() && ledger.differing().is_empty());
    }

    #[test]
    fn a_primary_that_missed_a_write_is_stale_until_it_gets_it() {
        let mut ledger = ledger();
        write(&mut ledger, 5, &[0, 1, 9]);
        let known = ledger.known(0, 0..100);
        assert_eq!(known.as_slice(), [(7, 5)]);
        assert!(ledger.is_stale(0, 2, &known) && !ledger.is_stale(0, 9, &known));
        assert_eq!((ledger.lacks(2), ledger.all_to_send(0, 9, 2)), (1, vec![7]));
        assert!(ledger.has(0, 7..8, 9) && !ledger.has(0, 7..9, 9) && ledger.has(0, 7..9, 2));
        assert!(ledger.drop_stray(0, 9).0.is_empty(), "a primary still lacks it");
        ledger.stored(0, 7..8, 2, 5);
        assert_eq!((ledger.lacks(2), ledger.differing().len()), (0, 1));
        assert_eq!(ledger.drop_stray(0, 9), (vec![7], false));
        assert!(ledger.partitions[0].blocks.is_empty() && ledger.differing().is_empty());
        assert!(!ledger.is_stale(0, 2, &known), "it is the same everywhere");
    }

    #[test]
    fn nothing_is_sent_while_a_write_is_under_way() {
        let mut ledger = ledger();
        ledger.begin_write(0, 7..8, 5);
        ledger.stored(0, 7..8, 0, 5);
        assert!(ledger.all_to_send(0, 0, 1).is_empty() && ledger.differing().is_empty());
        ledger.end_write(0, 7..8);
        assert_eq!((ledger.all_to_send(0, 0, 1), ledger.lacks(1)), (vec![7], 1));
        assert!(ledger.all_to_send(0, 1, 0).is_empty(), "it is older there");
    }

    #[test]
    fn what_the_last_server_had_is_lost() {
        let mut ledger = ledger();
        write(&mut ledger, 5, &[0, 9]);
        ledger.wipe(0);
        assert_eq!(ledger.listed(0).collect::<Vec<_>>(), [(7, false)], "the handoff has it");
        ledger.wipe(9);
        assert_eq!(ledger.listed(0).collect::<Vec<_>>(), [(7, true)]);
        assert_eq!(ledger.reach(0), ALL);
        for osd in [1, 2] {
            ledger.wipe(osd);
        }
        assert_eq!(ledger.reach(0), 0);
    }

    #[test]
    fn a_partition_moves_object_by_object_and_the_old_server_keeps_it_until_then() {
        let mut ledger = ledger();
        let cause = (HostId(2), Kind::Rebalance);
        let now = || Few::from_slice(&[0, 1, 5]);
        ledger.redirect(0, now(), now(), cause, false);
        assert_eq!((ledger.moves(cause), ledger.move_to(0, 5)), (1, Some(cause)));
        assert_eq!(ledger.holders(0).as_slice(), [0, 1, 2]);
        ledger.moved(0, 0, 5, 0..8, 8);
        assert!(ledger.has(0, 0..8, 5) && !ledger.has(0, 7..9, 5) && ledger.has(0, 7..9, 2));
        // meanwhile a write reaches the new servers: it stays listed while the old one has an older version
        write(&mut ledger, 4, &[0, 1, 5]);
        assert_eq!(ledger.drop_stray(0, 2), (vec![], false));
        ledger.moved(0, 0, 5, 8..16, ALL);
        assert_eq!((ledger.moves(cause), ledger.move_to(0, 5)), (0, None));
        let known = ledger.known(0, 0..100);
        assert!(ledger.is_stale(0, 2, &known) && !ledger.is_stale(0, 5, &known));
        assert_eq!(ledger.drop_stray(0, 2), (vec![], true));
        assert_eq!(ledger.holders(0).as_slice(), [0, 1, 5]);
        assert!(ledger.partitions[0].blocks.is_empty() && ledger.differing().is_empty());
    }

    #[test]
    fn a_disk_that_returns_gets_what_it_missed_and_its_handoff_drops_everything() {
        let mut ledger = ledger();
        let (rebuild, all) = ((HostId(2), Kind::Rebuild), || Few::from_slice(&[0, 1, 2]));
        ledger.redirect(0, all(), Few::from_slice(&[0, 1, 5]), rebuild, false);
        ledger.moved(0, 0, 5, 0..16, ALL);
        assert!(ledger.differing().is_empty(), "the handoff stands in for the disk");
        write(&mut ledger, 4, &[0, 1, 5]);
        assert_eq!(ledger.lacks(2), 0);
        ledger.redirect(0, all(), all(), (HostId(2), Kind::CatchUp), false);
        assert_eq!((ledger.lacks(2), ledger.all_to_send(0, 5, 2)), (1, vec![7]));
        ledger.stored(0, 7..8, 2, 4);
        assert_eq!(ledger.drop_stray(0, 5), (vec![7], true));
        assert!(ledger.partitions[0].blocks.is_empty() && ledger.differing().is_empty());
    }
}
