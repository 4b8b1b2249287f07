//! Least frequently used: the object with the fewest accesses since its admission leaves.
//!
//! Among equals, the one that reached this number first leaves (also libCacheSim's choice). An
//! object that left and returns starts again at one ("in-cache LFU"), and counts do not age.
//!
//! All objects are in one queue, fewest accesses at the back, so objects with equal numbers are
//! adjacent. A block of equals knows its newest member, and an access moves an object just ahead of
//! the next block. Every operation takes constant time (the idea of Shah, Mitra & Matani 2010, in
//! one list instead of a list of lists).

use super::directory::{Directory, Neighbours};
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::{Unit, constructors, faces};

/// Least frequently used.
pub type Lfu<W = Unit> = OneQueue<Frequency, W>;

/// Objects with the same number of accesses.
#[derive(Clone, Copy, Debug)]
struct Block {
    accesses: u64,
    members: u32,
    /// The node nearest to the front.
    newest: u32,
}

/// The rule of [`Lfu`].
#[derive(Clone, Debug, Default)]
pub struct Frequency {
    blocks: Vec<Block>,
    free: Vec<u32>,
}

impl Frequency {
    fn block(&mut self, id: u32) -> &mut Block {
        &mut self.blocks[id as usize]
    }

    fn new_block(&mut self, accesses: u64, newest: u32) -> u32 {
        let block = Block { accesses, members: 1, newest };
        if let Some(id) = self.free.pop() {
            *self.block(id) = block;
            id
        } else {
            self.blocks.push(block);
            self.blocks.len() as u32 - 1
        }
    }

    /// Adds `node` to block `id` as its newest member.
    fn join(&mut self, keys: &mut Directory<u32, impl Neighbours>, id: u32, node: u32) {
        let block = self.block(id);
        keys.move_ahead_of(block.newest, node);
        block.newest = node;
        block.members += 1;
        *keys.mark_mut(node) = id;
    }
}

impl Rule for Frequency {
    /// The object's block.
    type Mark = u32;

    fn admitted(&mut self, keys: &mut Directory<u32, impl Neighbours>, node: u32) {
        let back = keys.back(QUEUE).expect("`node` is there");
        let id = *keys.mark(back);
        if back != node && self.block(id).accesses == 1 {
            self.join(keys, id, node);
        } else {
            keys.move_to_back(QUEUE, node);
            *keys.mark_mut(node) = self.new_block(1, node);
        }
    }

    fn hit(&mut self, keys: &mut Directory<u32, impl Neighbours>, node: u32) {
        let id = *keys.mark(node);
        let Block { accesses, members, newest } = *self.block(id);
        let next = keys
            .ahead(newest)
            .map(|node| *keys.mark(node))
            .filter(|&next| self.block(next).accesses == accesses + 1);
        match next {
            Some(next) => {
                self.leaving(keys, node);
                self.join(keys, next, node);
            }
            None if members == 1 => self.block(id).accesses += 1,
            None => {
                self.leaving(keys, node);
                if node != newest {
                    keys.move_ahead_of(newest, node);
                }
                *keys.mark_mut(node) = self.new_block(accesses + 1, node);
            }
        }
    }

    fn victim(&mut self, keys: &mut Directory<u32, impl Neighbours>) -> u32 {
        keys.back(QUEUE).expect("somebody is there")
    }

    fn leaving(&mut self, keys: &mut Directory<u32, impl Neighbours>, node: u32) {
        let id = *keys.mark(node);
        let block = self.block(id);
        block.members -= 1;
        if block.members == 0 {
            self.free.push(id);
        } else if block.newest == node {
            block.newest = keys.behind(node).expect("the block has members behind its newest");
        }
    }
}

constructors!(Lfu);
faces!(Lfu);
