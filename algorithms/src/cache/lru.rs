//! Least recently used: the object whose last access is oldest leaves.
//!
//! One queue, most recent at the front. The algorithm leaves no choices.

use super::directory::{Directory, Neighbours};
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::{Unit, constructors, faces};

/// Least recently used.
pub type Lru<W = Unit> = OneQueue<Recency, W>;

/// The rule of [`Lru`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Recency;

impl Rule for Recency {
    type Mark = ();

    #[inline]
    fn hit(&mut self, keys: &mut Directory<(), impl Neighbours>, node: u32) {
        keys.move_to_front(QUEUE, node);
    }

    #[inline]
    fn victim(&mut self, keys: &mut Directory<(), impl Neighbours>) -> u32 {
        keys.back(QUEUE).expect("somebody is there")
    }
}

constructors!(Lru);
faces!(Lru);
