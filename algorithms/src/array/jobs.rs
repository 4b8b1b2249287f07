//! The jobs of an array's members: their phases, and the order of writes to a stripe.
//!
//! A job is one set of operations on members, or two sets, one after the other: for instance the reads for the
//! parity of a stripe, and then its writes. Jobs that write to the same stripe with parity are done one after the
//! other, because the parity must match all data of the stripe.

use std::collections::VecDeque;

use foretell_sorted::SortedMap;
use foretell_units::Op;

use super::layout::{Layout, Piece, Range};
use crate::slab::Slab;

/// The jobs that are not done. `T` is what the caller keeps about each.
#[derive(Debug)]
pub struct Jobs<T> {
    unfinished: Slab<Job<T>>,
    /// Stripes that are being written, and the jobs that wait for each.
    locked: SortedMap<u64, VecDeque<u32>>,
    /// The copy that was read last.
    turn: u32,
}

#[derive(Debug)]
struct Job<T> {
    /// Operations of the phase that are outstanding.
    left: u32,
    /// Pieces to read first, and then pieces to write.
    reads: Vec<Piece>,
    writes: Vec<Piece>,
    /// The stripe that the job has locked or waits for.
    stripe: Option<u64>,
    thread: u64,
    about: T,
}

/// Operations on members that begin together.
#[derive(Debug)]
pub struct Phase {
    /// Whether they read or write.
    pub op: Op,
    /// What each of them reads or writes.
    pub pieces: Vec<Piece>,
    /// The thread for which they are done.
    pub thread: u64,
}

impl<T> Jobs<T> {
    /// No jobs. `turn`: the copy that is taken to have been read last.
    pub fn new(turn: u32) -> Self {
        Self { unfinished: Slab::new(), locked: SortedMap::new(), turn }
    }

    /// Adds a job that reads sectors. `present`: the number of operations at a member. Returns the job's number; its
    /// first phase may begin.
    ///
    /// Of several copies, the one on the member with the fewest operations is read; ties go to the copy whose turn it
    /// is.
    pub fn read(
        &mut self,
        layout: &Layout,
        range: Range,
        thread: u64,
        about: T,
        present: impl Fn(u32) -> u64,
    ) -> u32 {
        let mut reads = Vec::new();
        layout.pieces(range, &mut reads);
        let copies = layout.copies();
        if copies > 1 {
            for piece in &mut reads {
                self.turn = (self.turn + 1) % copies;
                let turns = (0..copies).map(|step| (self.turn + step) % copies);
                let copy = turns.min_by_key(|copy| present(piece.member + copy));
                piece.member += copy.expect("there are copies");
            }
        }
        let writes = Vec::new();
        self.unfinished.insert(Job { left: 0, reads, writes, stripe: None, thread, about })
    }

    /// Adds a job that writes ranges of a stripe. Returns its number, and whether its first phase may begin. If not,
    /// [`Jobs::end`] of another job names it later.
    pub fn write(
        &mut self,
        layout: &Layout,
        stripe: u64,
        ranges: &[Range],
        thread: u64,
        about: T,
    ) -> (u32, bool) {
        let plan = layout.plan(stripe, ranges);
        let (reads, writes) = (plan.reads, plan.writes);
        let locks = layout.parity(stripe).map(|_| stripe);
        let job =
            self.unfinished.insert(Job { left: 0, reads, writes, stripe: locks, thread, about });
        let Some(stripe) = locks else { return (job, true) };
        if let Some(waiting) = self.locked.get_mut(&stripe) {
            waiting.push_back(job);
            return (job, false);
        }
        self.locked.insert(stripe, VecDeque::new());
        (job, true)
    }

    /// The next phase of a job, which begins; `None` if there is none.
    pub fn begin(&mut self, job: u32) -> Option<Phase> {
        let state = &mut self.unfinished[job];
        let (op, pieces) = if state.reads.is_empty() {
            (Op::Write, std::mem::take(&mut state.writes))
        } else {
            (Op::Read, std::mem::take(&mut state.reads))
        };
        state.left = pieces.len() as u32;
        (!pieces.is_empty()).then_some(Phase { op, pieces, thread: state.thread })
    }

    /// An operation of a job is done. Returns whether it was the last one of its phase.
    pub fn done(&mut self, job: u32) -> bool {
        let state = &mut self.unfinished[job];
        state.left -= 1;
        state.left == 0
    }

    /// What the caller keeps about a job.
    pub fn about(&mut self, job: u32) -> &mut T {
        &mut self.unfinished[job].about
    }

    /// Removes a job that is done. Returns the job that waited for its stripe, whose first phase may begin.
    pub fn end(&mut self, job: u32) -> Option<u32> {
        let stripe = self.unfinished.remove(job).stripe?;
        let waiting = self.locked.get_mut(&stripe).expect("the job has locked it");
        let next = waiting.pop_front();
        if next.is_none() {
            self.locked.remove(&stripe);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Level;
    use super::*;

    #[test]
    fn writes_to_a_stripe_with_parity_wait_for_each_other_and_others_do_not() {
        let layout = Layout::new(Level::Raid5, 4, 16, 16_000);
        let mut jobs = Jobs::new(0);
        let (first, begins) = jobs.write(&layout, 7, &[(0, 8)], 1, 'a');
        assert!(begins);
        let (second, begins) = jobs.write(&layout, 7, &[(8, 16)], 1, 'b');
        assert!(!begins);
        assert!(jobs.write(&layout, 8, &[(0, 8)], 1, 'c').1);
        let reads = jobs.begin(first).unwrap();
        assert_eq!((reads.op, reads.pieces.len()), (Op::Read, 2));
        assert_eq!([jobs.done(first), jobs.done(first)], [false, true]);
        let writes = jobs.begin(first).unwrap();
        assert_eq!((writes.op, writes.pieces.len()), (Op::Write, 2));
        assert_eq!([jobs.done(first), jobs.done(first)], [false, true]);
        assert!(jobs.begin(first).is_none());
        assert_eq!(jobs.end(first), Some(second));
        assert_eq!(*jobs.about(second), 'b');
        assert_eq!(jobs.end(second), None);
        assert!(jobs.write(&layout, 7, &[(0, 8)], 1, 'd').1);
    }

    #[test]
    fn the_copy_with_the_fewest_operations_is_read_and_ties_alternate() {
        let layout = Layout::new(Level::Raid1, 2, 16, 16_000);
        let mut jobs = Jobs::new(0);
        let mut member = |present: [u64; 2]| {
            let job = jobs.read(&layout, (0, 8), 1, (), |member| present[member as usize]);
            jobs.begin(job).unwrap().pieces[0].member
        };
        assert_eq!([member([0, 0]), member([0, 0]), member([0, 0])], [1, 0, 1]);
        assert_eq!([member([1, 3]), member([1, 3]), member([4, 3])], [0, 0, 1]);
    }
}
