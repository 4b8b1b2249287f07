//! Objects in order of their last use; the rank of each can be computed.
//!
//! Each use takes the next number of a clock, and an object is known by the number of its last use:
//! a bitmap over all numbers marks those that are an object's last use (Bennett & Kruskal 1975;
//! Olken 1981 has a tree instead). The rank of an object is the number of set bits after its own.
//! Bits are counted in blocks of 256, and a Fenwick tree sums the counts of the blocks, so it stays
//! in the fastest cache for a million objects. The block at the clock's current number is not in
//! the tree yet. When the clock has used up the bitmap, the objects are renumbered in the same
//! order. The bitmap holds twice as many numbers as objects, so this costs little.

use crate::cache::index::{Index, hash};

const WORDS: usize = 4;
const BLOCK_BITS: usize = WORDS * 64;
/// Number of blocks of the smallest bitmap.
const SMALLEST: usize = 16;
/// The number of a removed object.
const NEVER: u32 = u32::MAX;

type Block = [u64; WORDS];

/// An object and the number of its last use.
#[derive(Clone, Copy, Debug)]
struct Object {
    key: u64,
    last: u32,
}

/// Objects in order of their last use.
#[derive(Clone, Debug)]
pub(super) struct Recency {
    index: Index,
    /// Objects; the first is unused, because the index has no number zero.
    objects: Vec<Object>,
    free: Vec<u32>,
    /// The next number of the clock.
    now: usize,
    bits: Vec<Block>,
    /// Fenwick tree over the counts of full blocks; element i is at i + 1.
    tree: Vec<u32>,
}

impl Recency {
    pub(super) fn new() -> Self {
        Self {
            index: Index::default(),
            objects: vec![Object { key: 0, last: NEVER }],
            free: Vec::new(),
            now: 0,
            bits: vec![[0; WORDS]; SMALLEST],
            tree: vec![0; SMALLEST + 1],
        }
    }

    /// Number of objects.
    pub(super) fn len(&self) -> usize {
        self.objects.len() - 1 - self.free.len()
    }

    /// Makes `key` the most recent. Returns the number of objects that were more recent, if it was known.
    pub(super) fn refer(&mut self, key: u64) -> Option<u64> {
        if self.now == self.bits.len() * BLOCK_BITS {
            self.renumber();
        }
        let found = self.find(key);
        let rank = if let Some(id) = found {
            let last = self.objects[id as usize].last as usize;
            let rank = self.len() - self.up_to(last);
            self.clear(last);
            self.objects[id as usize].last = self.now as u32;
            Some(rank as u64)
        } else {
            self.add(key);
            None
        };
        self.set_now();
        rank
    }

    /// Forgets `key`.
    pub(super) fn remove(&mut self, key: u64) {
        if let Some(id) = self.find(key) {
            self.clear(self.objects[id as usize].last as usize);
            self.objects[id as usize].last = NEVER;
            self.index.remove(hash(key), id);
            self.free.push(id);
        }
    }

    fn find(&self, key: u64) -> Option<u32> {
        self.index.find(hash(key), |id| self.objects[id as usize].key == key)
    }

    fn add(&mut self, key: u64) {
        let object = Object { key, last: self.now as u32 };
        let id = if let Some(id) = self.free.pop() {
            self.objects[id as usize] = object;
            id
        } else {
            self.objects.push(object);
            u32::try_from(self.objects.len() - 1).expect("fewer than 2^32 objects")
        };
        self.index.insert(hash(key), id);
    }

    /// Number of objects that were last used at `number` or before.
    fn up_to(&self, number: usize) -> usize {
        let mut block = number / BLOCK_BITS;
        let mut count = count_to(&self.bits[block], number % BLOCK_BITS);
        while block > 0 {
            count += self.tree[block] as usize;
            block &= block - 1;
        }
        count
    }

    fn clear(&mut self, number: usize) {
        let block = number / BLOCK_BITS;
        self.bits[block][number / 64 % WORDS] &= !(1 << (number % 64));
        if block != self.now / BLOCK_BITS {
            self.add_to_tree(block, u32::MAX); // minus one
        }
    }

    fn set_now(&mut self) {
        let block = self.now / BLOCK_BITS;
        self.bits[block][self.now / 64 % WORDS] |= 1 << (self.now % 64);
        self.now += 1;
        if self.now.is_multiple_of(BLOCK_BITS) {
            self.add_to_tree(block, count(&self.bits[block]));
        }
    }

    fn add_to_tree(&mut self, block: usize, count: u32) {
        let mut at = block + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(count);
            at += at & at.wrapping_neg();
        }
    }

    /// Renumbers the objects from 0, in the same order.
    fn renumber(&mut self) {
        let mut before = Vec::with_capacity(self.bits.len());
        let mut sum = 0;
        for block in &self.bits {
            before.push(sum);
            sum += count(block);
        }
        let live = self.len();
        assert_eq!(sum as usize, live, "each object has one bit");
        for object in self.objects.iter_mut().filter(|object| object.last != NEVER) {
            let last = object.last as usize;
            let block = last / BLOCK_BITS;
            let in_block = count_to(&self.bits[block], last % BLOCK_BITS) as u32;
            object.last = before[block] + in_block - 1;
        }
        let mut blocks = self.bits.len();
        while live * 2 > blocks * BLOCK_BITS {
            blocks *= 2;
        }
        assert!(blocks * BLOCK_BITS < NEVER as usize, "2^31 objects are too many");
        self.bits = vec![[0; WORDS]; blocks];
        self.tree = vec![0; blocks + 1];
        for now in 0..live {
            self.now = now;
            self.set_now();
        }
        self.now = live;
    }
}

fn count(block: &Block) -> u32 {
    block.iter().map(|word| word.count_ones()).sum()
}

/// Number of set bits of `block` up to and including bit `last`.
fn count_to(block: &Block, last: usize) -> usize {
    let whole: u32 = block[..last / 64].iter().map(|word| word.count_ones()).sum();
    let part = (block[last / 64] << (63 - last % 64)).count_ones();
    (whole + part) as usize
}
