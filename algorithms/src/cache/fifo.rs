//! First in, first out: the object that was admitted first leaves, whether used or not.
//!
//! One queue, latest admission at the front; a hit changes nothing.

use super::directory::{Directory, Neighbours};
use super::one_queue::{OneQueue, QUEUE, Rule};
use super::{Unit, constructors, faces};

/// First in, first out.
pub type Fifo<W = Unit> = OneQueue<Arrival, W>;

/// The rule of [`Fifo`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival;

impl Rule for Arrival {
    type Mark = ();

    #[inline]
    fn hit(&mut self, _keys: &mut Directory<(), impl Neighbours>, _node: u32) {}

    #[inline]
    fn victim(&mut self, keys: &mut Directory<(), impl Neighbours>) -> u32 {
        keys.back(QUEUE).expect("somebody is there")
    }
}

constructors!(Fifo);
faces!(Fifo);
