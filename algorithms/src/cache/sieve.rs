//! SIEVE (Zhang et al., NSDI 2024): CLOCK whose hand does not move the objects that it skips.
//!
//! Objects are in order of admission. A hit sets an object's visited bit. The hand walks from the
//! oldest to the newest, clears bits, and takes the first object whose bit is clear. It stays there
//! for the next time, and starts again at the oldest when it has passed the newest. New objects
//! enter at the front, never behind the hand, so survivors of a pass collect at the old end. The
//! bit is clear at admission. If the object under the hand is removed, the hand moves to the next
//! newer one, as in an eviction.

use super::directory::{Directory, Neighbours};
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::{Unit, constructors, faces};

/// SIEVE.
pub type Sieve<W = Unit> = OneQueue<Hand, W>;

/// The rule of [`Sieve`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Hand {
    /// The object at which the hand waits; `None` means the oldest.
    at: Option<u32>,
}

impl Rule for Hand {
    /// The visited bit.
    type Mark = bool;

    #[inline]
    fn hit(&mut self, keys: &mut Directory<bool, impl Neighbours>, node: u32) {
        *keys.mark_mut(node) = true;
    }

    #[inline]
    fn victim(&mut self, keys: &mut Directory<bool, impl Neighbours>) -> u32 {
        let oldest = keys.back(QUEUE).expect("somebody is there");
        let mut node = self.at.unwrap_or(oldest);
        while std::mem::take(keys.mark_mut(node)) {
            node = keys.ahead(node).unwrap_or(oldest);
        }
        self.at = Some(node);
        node
    }

    #[inline]
    fn leaving(&mut self, keys: &mut Directory<bool, impl Neighbours>, node: u32) {
        if self.at == Some(node) {
            self.at = keys.ahead(node);
        }
    }
}

constructors!(Sieve);
faces!(Sieve);
