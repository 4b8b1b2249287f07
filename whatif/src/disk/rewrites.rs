//! Data that a solid-state drive writes again soon after it wrote them.
//!
//! Before a drive erases a block, it moves the pages of the block that are still valid. Pages that were
//! written again since are no longer valid. Random writes over the whole drive leave few such pages in each
//! block. Data that are written again and again, such as a log or a small working set, leave blocks with
//! hardly a valid page, so fewer pages are moved. The measurement of writes to a small part of the drive
//! ([`Rewriting`]) shows what a write costs then, and after how many bytes. A write of other data costs as much
//! as random writes over the whole drive. Left out: blocks that hold both kinds of data.

use foldhash::fast::FixedState;
use foretell_units::Op;
use hashbrown::HashMap;

use super::buffer::{by_size, most_per_s};
use super::measurement::{Measurement, Rewriting, index};

/// Data count as written again soon if the drive has written at most this part of its capacity since. Assumed: blocks
/// stay untouched while the drive writes its spare room, which is 7 % or more.
const WITHIN: u64 = 16;

/// Bytes of a page, the unit in which rewritten data are recognized.
pub(super) const PAGE: u64 = 4096;

/// What a drive has written recently.
#[derive(Debug)]
pub(super) struct Rewrites {
    /// By size in bytes: time of a write to data that are written again and again, as a share of that of others.
    costs: Vec<(f64, f64)>,
    /// Bytes written in a turn: until data that are written again cost less.
    turn_bytes: u64,
    /// Number of turns after which data are forgotten.
    turns: u32,
    /// Bytes written in this turn.
    written: u64,
    turn: u32,
    pages: HashMap<u64, Page, FixedState>,
}

/// A page that was written recently.
#[derive(Clone, Copy, Debug)]
struct Page {
    /// Turn of the last write.
    turn: u32,
    /// Whether it was written in an earlier turn, too.
    is_hot: bool,
}

impl Rewrites {
    /// `None`: what is written again costs the same.
    pub(super) fn new(measured: &Measurement) -> Option<Self> {
        let Rewriting { after_bytes, random } = measured.rewriting.as_ref()?;
        let others = most_per_s(&measured.random[index(Op::Write)]);
        let share =
            |(bytes, per_s): (f64, f64)| (bytes, (by_size(&others, bytes) / per_s).min(1.0));
        let costs = most_per_s(random).into_iter().map(share).collect();
        let turn_bytes = (*after_bytes).max(PAGE);
        let turns =
            u32::try_from(measured.capacity_bytes / WITHIN / turn_bytes).unwrap_or(u32::MAX);
        let (written, turn, pages) = (0, 0, HashMap::default());
        Some(Self { costs, turn_bytes, turns: turns.max(2), written, turn, pages })
    }

    /// Notes a write. Returns its time as a share of that of a write to data that were not written recently.
    pub(super) fn write(&mut self, from: u64, bytes: u64) -> f64 {
        let pages = from / PAGE..(from + bytes).div_ceil(PAGE).max(from / PAGE + 1);
        let count = pages.end - pages.start;
        let (turn, turns) = (self.turn, self.turns);
        let mut hot = 0;
        for number in pages {
            let page = self.pages.entry(number).or_insert(Page { turn, is_hot: false });
            if page.turn != turn {
                *page = Page { turn, is_hot: turn - page.turn <= turns };
            }
            hot += u64::from(page.is_hot);
        }
        self.written += bytes;
        if self.written >= self.turn_bytes {
            self.written = 0;
            self.turn += 1;
            if self.turn.is_multiple_of(turns) {
                self.pages.retain(|_, page| turn - page.turn < turns);
            }
        }
        let cheaper = 1.0 - by_size(&self.costs, bytes as f64).clamp(0.0, 1.0);
        1.0 - cheaper * hot as f64 / count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::measurement::{Random, nothing};
    use super::*;

    #[test]
    fn what_is_written_again_and_again_costs_less() {
        let random = |per_s| Random { bytes: 4096, depth: 16, mean_ns: 1e5, per_s, steady: true };
        let measured = Measurement {
            capacity_bytes: WITHIN * 300 * PAGE,
            random: [Vec::new(), vec![random(1000.0)]],
            rewriting: Some(Rewriting { after_bytes: 100 * PAGE, random: vec![random(4000.0)] }),
            ..nothing()
        };
        let mut drive = Rewrites::new(&measured).expect("it is measured");
        let share = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-9, "{share}");
        // in the first turn, nothing has been written before
        for at in 0..100 {
            share(drive.write(at % 50 * PAGE, PAGE), 1.0);
        }
        for at in 0..50 {
            share(drive.write(at * PAGE, PAGE), 0.25);
        }
        share(drive.write(0, 2 * PAGE), 0.25);
        // one page of two
        share(drive.write(49 * PAGE, 2 * PAGE), 0.625);
        // after more than the spare room it is forgotten
        for page in 1000..1500 {
            share(drive.write(page * PAGE, PAGE), 1.0);
        }
        share(drive.write(0, PAGE), 1.0);
        assert!(Rewrites::new(&Measurement { rewriting: None, ..measured }).is_none());
    }
}
