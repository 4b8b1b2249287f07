//! A second set of queues over the nodes of a directory, for a policy that links a node twice.

use super::directory::Queue;

/// Circular queues over node numbers; the first nodes are their sentinels, as in a directory.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// Neighbours towards the front and towards the back. A node that is in no queue points at itself.
    links: Vec<(u32, u32)>,
}

impl Chain {
    /// `queues` empty queues, numbered from zero.
    pub(crate) fn new(queues: u32) -> Self {
        Self { links: (0..queues).map(|at| (at, at)).collect() }
    }

    /// Moves `node` to the front of `queue`, from wherever it is.
    pub(crate) fn push_front(&mut self, queue: Queue, node: u32) {
        while self.links.len() <= node as usize {
            let at = self.links.len() as u32;
            self.links.push((at, at));
        }
        self.unlink(node);
        let front = self.links[queue as usize].1;
        self.links[node as usize] = (queue, front);
        self.links[front as usize].0 = node;
        self.links[queue as usize].1 = node;
    }

    /// Takes `node` out of its queue, if it is in one.
    pub(crate) fn unlink(&mut self, node: u32) {
        if let Some(&(prev, next)) = self.links.get(node as usize) {
            self.links[prev as usize].1 = next;
            self.links[next as usize].0 = prev;
            self.links[node as usize] = (node, node);
        }
    }

    /// The node at the back of `queue`.
    pub(crate) fn back(&self, queue: Queue) -> Option<u32> {
        let node = self.links[queue as usize].0;
        (node != queue).then_some(node)
    }
}
