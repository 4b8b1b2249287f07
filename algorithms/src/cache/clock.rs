//! CLOCK, or second chance: first in, first out, but an object used since then is skipped once.
//!
//! Corbató 1968: pages are arranged in a circle with a use bit each. The hand clears set bits as it
//! passes and takes the first page whose bit is clear. We store the circle as a queue whose back is
//! under the hand, so skipping a page moves it to the front. Choices: one bit, clear at admission,
//! so a page must be used a second time to be skipped. This is also libCacheSim's default; texts
//! that set the bit at admission give each page one more turn.

use super::directory::{Directory, Neighbours};
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::{Unit, constructors, faces};

/// CLOCK with one use bit.
pub type Clock<W = Unit> = OneQueue<SecondChance, W>;

/// The rule of [`Clock`].
#[derive(Clone, Copy, Debug, Default)]
pub struct SecondChance;

impl Rule for SecondChance {
    /// The use bit.
    type Mark = bool;

    #[inline]
    fn hit(&mut self, keys: &mut Directory<bool, impl Neighbours>, node: u32) {
        *keys.mark_mut(node) = true;
    }

    #[inline]
    fn victim(&mut self, keys: &mut Directory<bool, impl Neighbours>) -> u32 {
        loop {
            let node = keys.back(QUEUE).expect("somebody is there");
            if !std::mem::take(keys.mark_mut(node)) {
                return node;
            }
            keys.move_to_front(QUEUE, node);
        }
    }
}

constructors!(Clock);
faces!(Clock);
