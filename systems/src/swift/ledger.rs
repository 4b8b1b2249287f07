//! Which server has which version of each block: what the files of object servers would show.
//!
//! Each write has a *version*, the X-Timestamp of Swift, and a server keeps the latest version that it has received.
//! A partition's *primaries* are the servers to which the ring gives it. Blocks that are the same on all primaries are
//! not listed. For others, the versions of servers are. A server that is not a primary, but holds blocks, is a
//! *hand-off*. A block is *open* while a write of it is under way: a replicator then leaves it alone, and it does not
//! count as differing.
//!
//! Simplified: Swift replaces whole objects. Here a write may replace some blocks of an object, and a hand-off has
//! those blocks alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use smallvec::SmallVec;

use crate::system::Few;

/// The number of a server (a device of an object server) in the cluster.
pub(super) type Osd = u32;

/// A block that is not the same everywhere.
#[derive(Clone, Debug)]
struct Block {
    /// The version on primaries that have received none of those below.
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
    /// Primaries that have its initial data: all but those that have lost them.
    holders: Few<Osd>,
    blocks: BTreeMap<u64, Block>,
    /// Number of blocks that a primary lacks, or that a hand-off holds.
    differing: u64,
}

impl Partition {
    /// The version of a block on a server; `None`: it does not have the block.
    fn version(&self, block: &Block, osd: Osd) -> Option<u64> {
        let own = block.copies.iter().find(|(other, _)| *other == osd);
        own.map(|(_, version)| *version)
            .or_else(|| self.holders.contains(&osd).then_some(block.base))
    }

    /// Primaries that lack what they should have of a block.
    fn lacking(&self, block: &Block) -> Few<Osd> {
        let lacks = |osd: &Osd| self.version(block, *osd).is_none_or(|has| has < block.due);
        self.primaries.iter().copied().filter(lacks).collect()
    }

    /// Whether a hand-off holds a block.
    fn strays(&self, block: &Block) -> bool {
        block.copies.iter().any(|(osd, _)| !self.primaries.contains(osd))
    }

    /// Whether all primaries have the latest version of a block, and nobody else has any.
    fn is_settled(&self, block: &Block) -> bool {
        let latest = block.latest();
        block.writes == 0
            && !self.strays(block)
            && self.primaries.iter().all(|osd| self.version(block, *osd) == Some(latest))
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
    down: BTreeSet<Osd>,
    /// Partitions that are not the same on all primaries, or have a primary that is down.
    differing: BTreeSet<usize>,
    /// Number of blocks that servers lack, for those that lack some.
    lacking: BTreeMap<Osd, u64>,
}

impl Ledger {
    /// Adds a partition that is the same on all its primaries.
    pub(super) fn add(&mut self, primaries: Few<Osd>) {
        let holders = primaries.clone();
        let (blocks, differing) = (BTreeMap::new(), 0);
        self.partitions.push(Partition { primaries, holders, blocks, differing });
    }

    /// Partitions that are not whole, in order.
    pub(super) fn differing(&self) -> &BTreeSet<usize> {
        &self.differing
    }

    /// Number of blocks that a server lacks.
    pub(super) fn lacks(&self, osd: Osd) -> u64 {
        self.lacking.get(&osd).copied().unwrap_or(0)
    }

    /// Servers that hold anything of a partition.
    pub(super) fn holders(&self, partition: usize) -> Few<Osd> {
        let partition = &self.partitions[partition];
        let mut all = partition.holders.clone();
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
            if self.partitions[partition].primaries.contains(&osd) {
                self.note(partition);
            }
        }
    }

    /// A server has lost everything.
    pub(super) fn wipe(&mut self, osd: Osd) {
        for number in 0..self.partitions.len() {
            let partition = &mut self.partitions[number];
            let is_holder = partition.holders.contains(&osd);
            let blocks: Vec<u64> = partition
                .blocks
                .iter()
                .filter(|(_, block)| is_holder || block.copies.iter().any(|(who, _)| *who == osd))
                .map(|(number, _)| *number)
                .collect();
            for block in &blocks {
                self.forget(number, *block);
            }
            let partition = &mut self.partitions[number];
            partition.holders.retain(|other| *other != osd);
            for block in blocks {
                let found = self.partitions[number].blocks.get_mut(&block).expect("it was listed");
                found.copies.retain(|(other, _)| *other != osd);
                self.count(number, block);
            }
        }
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
            block.is_some_and(|block| partition.version(block, osd).is_none_or(|has| has < *known))
        })
    }

    /// Whether a server has all these blocks.
    pub(super) fn has(&self, partition: usize, blocks: Range<u64>, osd: Osd) -> bool {
        let partition = &self.partitions[partition];
        let has = |block: u64| {
            let block = partition.blocks.get(&block);
            block.is_some_and(|block| partition.version(block, osd).is_some())
        };
        partition.holders.contains(&osd) || blocks.into_iter().all(has)
    }

    /// The version of a block that one server has to send to another, if it has a later one and no write is under way.
    pub(super) fn to_send(&self, partition: usize, block: u64, from: Osd, to: Osd) -> Option<u64> {
        let partition = &self.partitions[partition];
        let block = partition.blocks.get(&block).filter(|block| block.writes == 0)?;
        let own = partition.version(block, from)?;
        partition.version(block, to).is_none_or(|has| has < own).then_some(own)
    }

    /// The blocks that one server has to send to another, in order.
    pub(super) fn all_to_send(&self, partition: usize, from: Osd, to: Osd) -> Vec<u64> {
        let blocks = self.partitions[partition].blocks.keys().copied();
        blocks.filter(|block| self.to_send(partition, *block, from, to).is_some()).collect()
    }

    /// A hand-off drops all blocks that all primaries have in at least its version. Returns them.
    pub(super) fn drop_stray(&mut self, partition: usize, osd: Osd) -> Vec<u64> {
        let of = &self.partitions[partition];
        if of.primaries.contains(&osd) {
            return Vec::new();
        }
        let is_over = |block: &Block| {
            let own = of.version(block, osd);
            let everywhere = of.primaries.iter().all(|other| of.version(block, *other) >= own);
            own.is_some() && everywhere && block.writes == 0
        };
        let listed = of.blocks.iter().filter(|(_, block)| is_over(block));
        let found: Vec<u64> = listed.map(|(number, _)| *number).collect();
        for &block in &found {
            self.change(partition, block, |block| block.copies.retain(|(other, _)| *other != osd));
        }
        found
    }

    /// Whether a version that clients know of a block is on no server.
    fn is_lost(partition: &Partition, block: &Block) -> bool {
        let mut copies = partition.holders.iter().filter_map(|osd| partition.version(block, *osd));
        let latest = copies.next().map(|first| copies.fold(first, u64::max));
        let latest = block.copies.iter().map(|(_, version)| *version).max().max(latest);
        latest.is_none_or(|latest| latest < block.acknowledged)
    }

    /// Listed blocks of a partition that no server has any more in the version that clients know.
    pub(super) fn lost(&self, partition: usize) -> impl Iterator<Item = u64> + '_ {
        let partition = &self.partitions[partition];
        let blocks = partition.blocks.iter();
        blocks.filter(|(_, block)| Self::is_lost(partition, block)).map(|(number, _)| *number)
    }

    /// Whether no server has a partition's initial data any more, and the listed blocks that some server still has.
    pub(super) fn saved(&self, partition: usize) -> Option<Vec<u64>> {
        let partition = &self.partitions[partition];
        let blocks = partition.blocks.iter();
        let kept = blocks.filter(|(_, block)| !Self::is_lost(partition, block));
        partition.holders.is_empty().then(|| kept.map(|(number, _)| *number).collect())
    }

    /// Changes a block, and what is counted of it.
    fn change(&mut self, partition: usize, block: u64, change: impl FnOnce(&mut Block)) {
        if !self.partitions[partition].blocks.contains_key(&block) {
            return;
        }
        self.forget(partition, block);
        let found = self.partitions[partition].blocks.get_mut(&block).expect("it is listed");
        change(found);
        self.count(partition, block);
    }

    /// Subtracts a listed block from the counts.
    fn forget(&mut self, number: usize, block: u64) {
        let partition = &self.partitions[number];
        let found = &partition.blocks[&block];
        let (lacking, strays) = (partition.lacking(found), partition.strays(found));
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
        let (lacking, strays) = (partition.lacking(found), partition.strays(found));
        if partition.is_settled(found) {
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
        let is_down = partition.primaries.iter().any(|osd| self.down.contains(osd));
        if is_down || partition.differing > 0 {
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
        assert!(ledger.drop_stray(0, 9).is_empty(), "a primary still lacks it");
        ledger.stored(0, 7..8, 2, 5);
        assert_eq!((ledger.lacks(2), ledger.differing().len()), (0, 1));
        assert_eq!(ledger.drop_stray(0, 9), [7]);
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
        assert_eq!(ledger.lost(0).count(), 0, "the hand-off has it");
        ledger.wipe(9);
        assert_eq!(ledger.lost(0).collect::<Vec<_>>(), [7]);
        assert_eq!(ledger.saved(0), None);
        for osd in [1, 2] {
            ledger.wipe(osd);
        }
        assert_eq!(ledger.saved(0), Some(Vec::new()));
    }
}
