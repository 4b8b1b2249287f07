//! The log of an object store, which makes writes durable.
//!
//! One write to the log is outstanding at a time. Commits that arrive meanwhile are written together
//! by the next one (group commit, as by `BlueStore`'s `kv_sync_thread` and `FileStore`'s journal).

use foretell_units::{Breadcrumb, Bytes, Thread};

use super::BLOCK;

/// Maximum number of bytes in one write to the log, unless a single commit is larger. Assumed:
/// `journal_max_write_bytes` was 10 MB, but `RocksDB` batches of this size do not occur.
const MAX_WRITTEN: u64 = 4 << 20;
/// Bytes of the device that the log uses in a circle, unless the device is small.
const MAX_LOG: u64 = 1 << 30;

/// A commit for the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commit {
    /// The exchange that waits for it.
    pub(super) leg: u32,
    /// Its bytes of data and of metadata.
    pub(super) data: u64,
    pub(super) metadata: u64,
    /// Where the data are written later: address and bytes; `None`: they are already in place.
    pub(super) later: Option<(Bytes, Bytes)>,
    pub(super) breadcrumb: Breadcrumb,
    pub(super) workload: u32,
    pub(super) thread: Thread,
}

/// A log on a device.
#[derive(Clone, Debug)]
pub(super) struct Log {
    bytes: u64,
    at: u64,
    waiting: Vec<Commit>,
    /// The commits in the outstanding write.
    committing: Vec<Commit>,
}

impl Log {
    /// The log of a device of that capacity; it is at the device's beginning.
    pub(super) fn new(capacity: Bytes) -> Self {
        let bytes = (capacity.get() / 16).min(MAX_LOG) / BLOCK * BLOCK;
        Self { bytes: bytes.max(BLOCK), at: 0, waiting: Vec::new(), committing: Vec::new() }
    }

    /// The log of a device, or of a part of one, that is used for nothing else.
    pub(super) fn alone(capacity: Bytes) -> Self {
        let bytes = capacity.get().min(MAX_LOG) / BLOCK * BLOCK;
        Self { bytes: bytes.max(BLOCK), ..Self::new(capacity) }
    }

    /// Bytes of the device that it uses.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn add(&mut self, commit: Commit) {
        self.waiting.push(commit);
    }

    /// The next write, as address and bytes, and its first commit; `None` if one is outstanding, or
    /// nothing waits.
    pub(super) fn next(&mut self) -> Option<(Bytes, Bytes, Commit)> {
        if !self.committing.is_empty() || self.waiting.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let mut count = 0;
        for commit in &self.waiting {
            let more = bytes + commit.data + commit.metadata;
            if count > 0 && more > MAX_WRITTEN {
                break;
            }
            (bytes, count) = (more, count + 1);
        }
        self.committing.extend(self.waiting.drain(..count));
        let bytes = bytes.next_multiple_of(BLOCK);
        if self.at + bytes > self.bytes {
            self.at = 0;
        }
        let at = self.at;
        self.at += bytes;
        Some((Bytes(at), Bytes(bytes), self.committing[0]))
    }

    /// The outstanding write is done. Appends its commits in order.
    pub(super) fn done(&mut self, held: &mut Vec<Commit>) {
        held.append(&mut self.committing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(leg: u32, data: u64) -> Commit {
        let thread = Thread { pid: 1, tid: 1 };
        let breadcrumb = Breadcrumb::NONE;
        Commit { leg, data, metadata: 1024, later: None, breadcrumb, workload: 0, thread }
    }

    #[test]
    fn what_comes_during_a_write_goes_out_together() {
        let mut log = Log::new(Bytes::gib(1));
        for leg in 0..4 {
            log.add(commit(leg, 4096));
            let begun = log.next();
            assert_eq!(
                begun.map(|(at, bytes, _)| (at, bytes)),
                match leg {
                    // 4 KiB and 1 KiB in blocks of 4 KiB
                    0 => Some((Bytes(0), Bytes::kib(8))),
                    _ => None,
                }
            );
        }
        let mut held = Vec::new();
        log.done(&mut held);
        assert_eq!(held.iter().map(|commit| commit.leg).collect::<Vec<_>>(), [0]);
        // three times 5 KiB
        let (at, bytes, _) = log.next().unwrap();
        assert_eq!((at, bytes), (Bytes::kib(8), Bytes::kib(16)));
        held.clear();
        log.done(&mut held);
        assert_eq!(held.iter().map(|commit| commit.leg).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn it_goes_round() {
        let mut log = Log::new(Bytes::mib(16));
        let mut held = Vec::new();
        let mut begins = Vec::new();
        for _ in 0..3 {
            // 1 MiB holds one such and not two
            log.add(commit(0, 700 << 10));
            begins.push(log.next().unwrap().0);
            log.done(&mut held);
        }
        assert_eq!(begins, [Bytes(0); 3]);
    }
}
