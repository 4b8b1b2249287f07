//! Detects sequential streams, and decides how far to read ahead of them.
//!
//! It works as in Linux. A read that begins where an earlier one ended makes a stream. The window
//! begins at four times the read and doubles with every further sequential read, up to the limit.
//! It is read when the stream comes within half a window of the end of the pages already read. A
//! node follows sixteen streams and forgets the least recently used one.

use super::buffer::{PageKey, Run};

/// Number of streams that a node follows.
const STREAMS: usize = 16;

/// The recent streams of a node.
#[derive(Clone, Debug)]
pub struct Streams {
    limit: u32,
    /// Maximum number of streams followed.
    most: usize,
    /// Streams, the most recently used first.
    recent: Vec<Stream>,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    /// The page at which it continues.
    next: PageKey,
    /// End of the pages read ahead.
    ahead: PageKey,
    /// Window in pages.
    window: u32,
}

impl Streams {
    /// Reads at most `limit` pages ahead; zero: never.
    pub fn new(limit: u32) -> Self {
        Self::following(STREAMS, limit)
    }

    /// The same for a machine that follows `most` streams, at least one.
    pub fn following(most: usize, limit: u32) -> Self {
        Self { limit, most, recent: Vec::with_capacity(most) }
    }

    /// Handles a read of `run`, in a file of `file_pages` pages. Returns the pages to read ahead.
    pub fn read(&mut self, run: Run, file_pages: u64) -> Option<Run> {
        if self.limit == 0 {
            return None;
        }
        let end = run.first.plus(u64::from(run.pages));
        // a read of part of a page may continue in the same page
        let continues = |next: PageKey| next == run.first || next == run.first.plus(1);
        let Some(place) = self.recent.iter().position(|stream| continues(stream.next)) else {
            self.recent.truncate(self.most - 1);
            self.recent.insert(0, Stream { next: end, ahead: end, window: 0 });
            return None;
        };
        let stream = &mut self.recent[place];
        if end != stream.next {
            let grown = if stream.window == 0 { run.pages * 4 } else { stream.window * 2 };
            stream.window = grown.min(self.limit);
        }
        stream.next = end;
        stream.ahead = stream.ahead.max(end);
        let ahead = (stream.ahead.index() - end.index()) as u32;
        let want = if ahead <= stream.window / 2 { stream.window.saturating_sub(ahead) } else { 0 };
        let pages = u64::from(want).min(file_pages.saturating_sub(stream.ahead.index())) as u32;
        let first = stream.ahead;
        stream.ahead = first.plus(u64::from(pages));
        self.recent[..=place].rotate_right(1);
        (pages > 0).then_some(Run { first, pages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(first: u64, pages: u32) -> Run {
        Run { first: PageKey::new(0, first), pages }
    }

    #[test]
    fn the_window_doubles_up_to_the_limit() {
        let mut streams = Streams::new(32);
        assert_eq!(streams.read(run(0, 2), 1000), None);
        // 4 × 2 pages from page 4 on; then a window of 16 pages: 6 are in the cache already
        assert_eq!(streams.read(run(2, 2), 1000), Some(run(4, 8)));
        assert_eq!(streams.read(run(4, 2), 1000), Some(run(12, 10)));
        // limit 32, 14 ahead of page 8
        assert_eq!(streams.read(run(6, 2), 1000), Some(run(22, 18)));
        // 30 ahead: more than half a window
        assert_eq!(streams.read(run(8, 2), 1000), None);
    }

    #[test]
    fn stops_at_the_end_of_the_file_and_leaves_random_reads_alone() {
        let mut streams = Streams::new(32);
        streams.read(run(0, 4), 10);
        assert_eq!(streams.read(run(4, 4), 10), Some(run(8, 2)));
        for page in [700, 30, 512, 99] {
            assert_eq!(streams.read(run(page, 4), 1000), None);
        }
    }
}
