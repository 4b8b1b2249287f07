//! A file server in front of the volume: the NFS server of Thereska et al. 2006 (Section IV-A), through which
//! its macro-benchmarks run, with a small cache of its own.
//!
//! The server is the client of the storage nodes. It keeps recently read or written blocks, serves reads of
//! cached blocks itself, and asks the nodes for missing ones. Writes go through to the nodes before they are
//! answered, as NFS requires of a server, and stay in the cache. The paper does not give the size of that
//! cache. Left out: read-ahead, attributes cached on the benchmark's own host, and the network between that
//! host and the server. Blocks are looked up when a transaction begins, not step by step; with several
//! concurrent transactions the result can differ because of accesses in between.

use foretell_algorithms::cache::{Lru, Policy};
use foretell_units::{Bytes, Op};

use crate::Access;
use crate::transaction::{TransactionStep, Transactions};

/// Bytes of a block of the server's cache.
pub const BLOCK: Bytes = Bytes::kib(4);

/// Transactions as they leave a file server.
pub struct FileServer<T> {
    inner: T,
    cache: Option<Lru>,
    seen: Vec<TransactionStep>,
}

impl<T: Transactions> FileServer<T> {
    /// A server with `cache` bytes of cache, which is empty at first. If that is less than a block, it has no
    /// cache.
    pub fn new(inner: T, cache: Bytes) -> Self {
        let blocks = usize::try_from(cache.get() / BLOCK.get()).expect("a 64-bit machine");
        let cache = (blocks > 0).then(|| Lru::new(blocks));
        Self { inner, cache, seen: Vec::new() }
    }
}

/// The part of a read that the server must request: from the first missing block to the last.
fn lacking(cache: &mut Lru, access: Access) -> Option<Access> {
    let block = BLOCK.get();
    let (first, end) = (access.offset.get() / block, access.end().get().div_ceil(block));
    let mut missing: Option<(u64, u64)> = None;
    for number in first..end {
        if !cache.access(number).is_hit() {
            missing = Some((missing.map_or(number, |(from, _)| from), number));
        }
    }
    missing.map(|(from, to)| {
        let offset = Bytes(from * block).max(access.offset);
        let end = Bytes((to + 1).saturating_mul(block)).min(access.end());
        Access { op: Op::Read, offset, size: end - offset }
    })
}

impl<T: Transactions> Transactions for FileServer<T> {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        let Some(cache) = &mut self.cache else { return self.inner.next(steps) };
        self.seen.clear();
        if !self.inner.next(&mut self.seen) {
            return false;
        }
        for step in &self.seen {
            let TransactionStep::Io(access) = *step else {
                steps.push(*step);
                continue;
            };
            let wanted = lacking(cache, access);
            steps.push(match (access.op, wanted) {
                (Op::Write, _) => *step,
                (Op::Read, Some(wanted)) => TransactionStep::Io(wanted),
                (Op::Read, None) => TransactionStep::Cached(access.size),
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One transaction with these steps, repeated for ever.
    struct Again(Vec<TransactionStep>);

    impl Transactions for Again {
        fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
            steps.extend(&self.0);
            true
        }
    }

    fn served(steps: Vec<TransactionStep>, cache: Bytes, times: usize) -> Vec<TransactionStep> {
        let mut server = FileServer::new(Again(steps), cache);
        let mut found = Vec::new();
        for _ in 0..times {
            found.clear();
            assert!(server.next(&mut found));
        }
        found
    }

    #[test]
    fn what_was_read_or_written_is_served_from_the_cache() {
        let (read, write) = (
            TransactionStep::read(Bytes(0), Bytes::kib(8)),
            TransactionStep::write(Bytes::kib(8), Bytes::kib(4)),
        );
        let again = TransactionStep::read(Bytes::kib(4), Bytes::kib(8));
        let steps = vec![read, write, again];
        // the third step reads one block that was read and one that was written
        assert_eq!(
            served(steps.clone(), Bytes::mib(1), 1),
            [read, write, TransactionStep::Cached(Bytes::kib(8))]
        );
        let cached = TransactionStep::Cached(Bytes::kib(8));
        assert_eq!(served(steps.clone(), Bytes::mib(1), 2), [cached, write, cached]);
        assert_eq!(served(steps.clone(), Bytes(4095), 2), steps, "no room for a block: no cache");
    }

    #[test]
    fn only_what_is_lacking_is_asked_for() {
        // of blocks 0 to 7, 2 and 3 are cached; the request is from the first to the last missing one
        let steps = vec![
            TransactionStep::read(Bytes::kib(8), Bytes::kib(8)),
            TransactionStep::read(Bytes::kib(8), Bytes::kib(24)),
            TransactionStep::read(Bytes(100), Bytes(200)),
        ];
        assert_eq!(
            served(steps.clone(), Bytes::mib(1), 1),
            [steps[0], TransactionStep::read(Bytes::kib(16), Bytes::kib(16)), steps[2]]
        );
    }

    #[test]
    fn a_small_cache_forgets() {
        let steps = vec![
            TransactionStep::read(Bytes(0), Bytes::kib(4)),
            TransactionStep::read(Bytes::mib(1), Bytes::kib(4)),
        ];
        assert_eq!(served(steps.clone(), BLOCK, 3), steps);
    }
}
