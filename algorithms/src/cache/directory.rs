//! The nodes of a cache: found by key, linked into queues, stored in a slab.
//!
//! Every policy is a rule about a few queues of keys. This is their common part: an [`Index`] from
//! key to node, and a slab of nodes with intrusive 32-bit links. The first nodes of the slab are
//! the sentinels of circular queues, so linking has no special cases. Freed nodes are reused last
//! in, first out. Memory grows with the nodes in use, not with the capacity.

use super::index::{Index, hash};

/// A queue's number: its sentinel's place in the slab.
pub(crate) type Queue = u32;

#[derive(Clone, Copy, Debug)]
struct Node<T> {
    key: u64,
    /// Towards the front.
    prev: u32,
    /// Towards the back.
    next: u32,
    mark: T,
}

/// Keys, each with a mark and in one of a few queues.
#[derive(Clone, Debug)]
pub struct Directory<T> {
    index: Index,
    nodes: Vec<Node<T>>,
    free: Vec<u32>,
    queues: u32,
}

impl<T: Default> Directory<T> {
    /// A directory without keys, with `queues` empty queues, numbered from zero.
    pub(crate) fn new(queues: u32) -> Self {
        assert!(queues >= 1, "node 0 must be a sentinel: the index takes zero for a free place");
        let sentinel = |at| Node { key: 0, prev: at, next: at, mark: T::default() };
        Self {
            index: Index::default(),
            nodes: (0..queues).map(sentinel).collect(),
            free: Vec::new(),
            queues,
        }
    }
}

impl<T> Directory<T> {
    /// Allocates memory for this number of keys in total.
    pub(crate) fn reserve(&mut self, keys: usize) {
        self.index.reserve(keys);
        self.nodes.reserve(keys.saturating_sub(self.len()));
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - self.queues as usize - self.free.len()
    }

    /// The node's number among all nodes that were ever in use at one time; dense, from zero.
    pub(crate) fn position(&self, node: u32) -> u32 {
        node - self.queues
    }

    /// The node that holds `key`.
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        self.index.find(hash(key), |node| self.nodes[node as usize].key == key)
    }

    pub(crate) fn key(&self, node: u32) -> u64 {
        self.nodes[node as usize].key
    }

    pub(crate) fn mark(&self, node: u32) -> &T {
        &self.nodes[node as usize].mark
    }

    pub(crate) fn mark_mut(&mut self, node: u32) -> &mut T {
        &mut self.nodes[node as usize].mark
    }

    /// Adds `key`, which must not be there, at the front of `queue`.
    pub(crate) fn push_front(&mut self, queue: Queue, key: u64, mark: T) -> u32 {
        let next = self.nodes[queue as usize].next;
        let new = Node { key, prev: queue, next, mark };
        let node = if let Some(node) = self.free.pop() {
            self.nodes[node as usize] = new;
            node
        } else {
            let node = u32::try_from(self.nodes.len()).expect("fewer than 2^32 nodes");
            self.nodes.push(new);
            node
        };
        self.nodes[queue as usize].next = node;
        self.nodes[next as usize].prev = node;
        self.index.insert(hash(key), node);
        node
    }

    /// Forgets the key of `node`.
    pub(crate) fn remove(&mut self, node: u32) {
        self.unlink(node);
        self.index.remove(hash(self.key(node)), node);
        self.free.push(node);
    }

    /// The node at the back of `queue`.
    pub(crate) fn back(&self, queue: Queue) -> Option<u32> {
        let node = self.nodes[queue as usize].prev;
        (node != queue).then_some(node)
    }

    /// The node before `node`, nearer to the front.
    pub(crate) fn ahead(&self, node: u32) -> Option<u32> {
        let ahead = self.nodes[node as usize].prev;
        (ahead >= self.queues).then_some(ahead)
    }

    /// The node behind `node`, nearer to the back.
    pub(crate) fn behind(&self, node: u32) -> Option<u32> {
        let behind = self.nodes[node as usize].next;
        (behind >= self.queues).then_some(behind)
    }

    /// Moves `node` to the front of `queue`, from wherever it is.
    pub(crate) fn move_to_front(&mut self, queue: Queue, node: u32) {
        let front = self.nodes[queue as usize].next;
        if front != node {
            self.move_ahead_of(front, node);
        }
    }

    /// Moves `node` to the back of `queue`, from wherever it is.
    pub(crate) fn move_to_back(&mut self, queue: Queue, node: u32) {
        if self.nodes[queue as usize].prev != node {
            self.move_ahead_of(queue, node);
        }
    }

    /// Moves `node` to the place just ahead of `other`, another node (or a queue: its back).
    pub(crate) fn move_ahead_of(&mut self, other: u32, node: u32) {
        debug_assert!(other != node);
        self.unlink(node);
        let ahead = self.nodes[other as usize].prev;
        self.nodes[node as usize].prev = ahead;
        self.nodes[node as usize].next = other;
        self.nodes[ahead as usize].next = node;
        self.nodes[other as usize].prev = node;
    }

    fn unlink(&mut self, node: u32) {
        let Node { prev, next, .. } = self.nodes[node as usize];
        self.nodes[prev as usize].next = next;
        self.nodes[next as usize].prev = prev;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_keep_order_and_nodes_are_used_again() {
        let mut keys: Directory<()> = Directory::new(2);
        let [a, b, c] = [10, 20, 30].map(|key| keys.push_front(0, key, ()));
        assert_eq!([a, b, c].map(|node| keys.position(node)), [0, 1, 2]);
        assert_eq!((keys.back(0), keys.back(1)), (Some(a), None));
        keys.move_to_front(0, a);
        keys.move_to_front(1, b);
        // queue 0 from the back: 30, 10; queue 1: 20
        assert_eq!((keys.back(0), keys.ahead(c), keys.ahead(a)), (Some(c), Some(a), None));
        assert_eq!((keys.back(1), keys.ahead(b)), (Some(b), None));
        keys.remove(c);
        assert_eq!((keys.find(30), keys.len()), (None, 2));
        assert_eq!(keys.push_front(1, 40, ()), c);
        assert_eq!((keys.find(40), keys.back(1)), (Some(c), Some(b)));
    }
}
