//! The segments of the on-board buffer.

use foretell_scenarios::drive::Cache;

/// Consecutive sectors in the buffer: from `start` to before `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whether the host wrote them.
    pub(super) written: bool,
    /// Time of its last use, as a count of uses.
    used: u64,
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    fn overlaps(&self, first: u64, next: u64) -> bool {
        self.start < next && first < self.end
    }
}

/// All segments. If the drive has a separate segment for writes, it is the first one.
#[derive(Debug)]
pub(super) struct Segments {
    list: Vec<Segment>,
    uses: u64,
    size: u64,
    apart: bool,
    found_after_writing: bool,
}

impl Segments {
    pub(super) fn new(cache: &Cache) -> Self {
        Self {
            list: vec![Segment::default(); cache.segments as usize],
            uses: 0,
            size: cache.segment.get(),
            apart: cache.separate_write_segment,
            found_after_writing: cache.read_hits_on_writes,
        }
    }

    /// Number of sectors in a segment.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Whether a segment is empty.
    pub(super) fn is_empty(&self, index: usize) -> bool {
        self.list[index].is_empty()
    }

    pub(super) fn get(&self, index: usize) -> &Segment {
        &self.list[index]
    }

    /// The segment that holds sector `first` and the most of its successors, up to `next`. Ties go to
    /// `preferred`, else to the first.
    pub(super) fn find(&self, first: u64, next: u64, preferred: Option<usize>) -> Option<usize> {
        let usable = |index: &usize| {
            let segment = &self.list[*index];
            segment.start <= first
                && first < segment.end
                && !(self.apart && *index == 0)
                && (self.found_after_writing || !segment.written)
        };
        let worth = |index: usize| {
            let segment = &self.list[index];
            (segment.end >= next, segment.written, Some(index) == preferred, usize::MAX - index)
        };
        (0..self.list.len()).filter(usable).max_by_key(|index| worth(*index))
    }

    /// Chooses and takes a segment for a read that begins at `first`: an empty one, else the least
    /// recently used; `last_choice` only if there is no other.
    pub(super) fn take_for_read(&mut self, first: u64, last_choice: Option<usize>) -> usize {
        let from = usize::from(self.apart);
        let index = self.choose(from..self.list.len(), last_choice);
        self.reset(index, first, false);
        index
    }

    /// Chooses the segment for a write of `first` to before `next`: one that holds some of these
    /// sectors, because they become stale, else as for a read.
    pub(super) fn choose_for_write(
        &self,
        first: u64,
        next: u64,
        last_choice: Option<usize>,
    ) -> usize {
        if self.apart {
            return 0;
        }
        let stale = |index: &usize| self.list[*index].overlaps(first, next);
        let stale = (0..self.list.len())
            .filter(stale)
            .filter(|index| Some(*index) != last_choice)
            .min_by_key(|index| self.list[*index].used);
        stale.unwrap_or_else(|| self.choose(0..self.list.len(), last_choice))
    }

    /// Whether the segment holds a write and was used last, and that write does not end at `first`.
    pub(super) fn follows_a_write(&self, index: usize, first: u64) -> bool {
        let segment = &self.list[index];
        segment.written && segment.used == self.uses && segment.end != first
    }

    /// Begins a write of `first` to before `next` in a segment. Other segments that hold some of these
    /// sectors are dropped.
    pub(super) fn begin_write(&mut self, index: usize, first: u64, next: u64) {
        self.drop_stale(first, next, None);
        self.reset(index, first, true);
    }

    fn choose(&self, among: std::ops::Range<usize>, last_choice: Option<usize>) -> usize {
        let rank = |index: usize| {
            let segment = &self.list[index];
            (Some(index) == last_choice, !segment.is_empty(), segment.used)
        };
        among.min_by_key(|index| rank(*index)).unwrap_or(0)
    }

    /// Drops every segment except `but` that holds some of the sectors.
    pub(super) fn drop_stale(&mut self, first: u64, next: u64, but: Option<usize>) {
        for (index, segment) in self.list.iter_mut().enumerate() {
            if Some(index) != but && segment.overlaps(first, next) {
                segment.end = segment.start;
            }
        }
    }

    fn reset(&mut self, index: usize, first: u64, written: bool) {
        self.uses += 1;
        self.list[index] = Segment { start: first, end: first, written, used: self.uses };
    }

    /// Marks a segment as used just now.
    pub(super) fn touch(&mut self, index: usize) {
        self.uses += 1;
        self.list[index].used = self.uses;
    }

    /// Extends a segment to before `end`, and drops the oldest sectors beyond its size.
    pub(super) fn extend(&mut self, index: usize, end: u64) {
        let size = self.size;
        let segment = &mut self.list[index];
        segment.end = segment.end.max(end);
        segment.start = segment.start.max(segment.end.saturating_sub(size));
    }

    /// Extends a segment backwards to `start`, as far as its size allows.
    pub(super) fn begin_at(&mut self, index: usize, start: u64) {
        let segment = &mut self.list[index];
        segment.start = start.min(segment.start).max(segment.end.saturating_sub(self.size));
    }

    /// Drops a segment's sectors before `first`.
    pub(super) fn drop_before(&mut self, index: usize, first: u64) {
        let segment = &mut self.list[index];
        segment.start = first.clamp(segment.start, segment.end);
    }

    /// Empties a segment.
    pub(super) fn clear(&mut self, index: usize) {
        let segment = &mut self.list[index];
        segment.start = segment.end;
    }
}
