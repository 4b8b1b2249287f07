//! The duration of a change of a cluster: hours of recovery and backfill at a given throttle.
//!
//! Groups take turns as in Ceph: each OSD takes part in a limited number of backfills as a primary and in as many
//! as a target, and groups that lack copies go first. Active backfills are flows (a fluid model with processor
//! sharing). An OSD divides its throttle among all groups that read or write there; a group moves at the rate of
//! its most loaded OSD. Copies are read from the primary. A shard is read from its old OSD if that is up;
//! otherwise it is computed from as many others as the code has data shards.
//!
//! Left out: hosts' adapters and processors, the size of objects (small ones take longer), client writes
//! meanwhile, PG log recovery after short outages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use foretell_algorithms::crush::{ClusterMap, PoolKind};
use foretell_sorted::SortedMap;

use crate::plan::{Moving, Plan};

/// The limits of recovery.
#[derive(Clone, Debug)]
pub struct Throttle {
    /// Bytes a second that recovery reads and writes on an OSD.
    pub bytes_per_s: SortedMap<i32, f64>,
    /// Number of backfills in which an OSD takes part as a primary, and the same number as a target:
    /// `osd_max_backfills`.
    pub max_backfills: usize,
}

/// The duration of a change.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Pace {
    /// Time until everything is where it belongs, s.
    pub seconds: f64,
    /// Time until no copy or shard is missing, s; 0 if none was missing.
    pub degraded_s: f64,
    /// Bytes read from OSDs.
    pub bytes_read: f64,
    /// Bytes written to OSDs.
    pub bytes_written: f64,
    /// Shares of the bytes (50, 90, 99 %), with the time at which they have been written, s.
    pub shares: [(f64, f64); 3],
    /// Mean number of OSDs that take part at the same time.
    pub osds_at_work: f64,
    /// By OSD that takes part: bytes read and written, and the end of its work.
    pub osds: SortedMap<i32, Part>,
    /// Groups whose data cannot be read from any OSD that is up.
    pub lost: usize,
}

/// The work of an OSD.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Part {
    /// Bytes read from it.
    pub read: f64,
    /// Bytes written to it.
    pub written: f64,
    /// End of its work, s.
    pub until: f64,
}

/// A group's backfill.
struct Job {
    /// The primary, and the OSDs that receive.
    primary: i32,
    targets: Vec<i32>,
    /// By OSD: bytes read, and bytes written.
    uses: Vec<(i32, f64, f64)>,
    written: f64,
    degraded: bool,
    /// The remaining part of it, from 1 to 0, at time `seen`.
    left: f64,
    seen: f64,
    /// Rate, as a part of the job a second.
    rate: f64,
    /// Number of rate changes; ends computed before the last change are void.
    turn: u64,
    running: bool,
}

impl Job {
    /// The job of a group; `None` if there is no OSD to read from.
    fn of(moving: &Moving, up: &dyn Fn(i32) -> bool) -> Option<Self> {
        let sources: Vec<i32> = moving.was.iter().copied().filter(|osd| up(*osd)).collect();
        let &primary = sources.first()?;
        let mut uses: SortedMap<i32, (f64, f64)> = SortedMap::new();
        let mut degraded = false;
        for &(from, to) in &moving.steps {
            let missing = from < 0 || !up(from);
            degraded |= missing;
            uses.entry(to).or_default().1 += moving.bytes;
            match moving.kind {
                PoolKind::Replicated => uses.entry(primary).or_default().0 += moving.bytes,
                PoolKind::Erasure if missing => {
                    if sources.len() < moving.data_chunks {
                        return None;
                    }
                    for &osd in &sources[..moving.data_chunks] {
                        uses.entry(osd).or_default().0 += moving.bytes;
                    }
                }
                PoolKind::Erasure => uses.entry(from).or_default().0 += moving.bytes,
            }
        }
        Some(Self {
            primary,
            targets: moving.steps.iter().map(|(_, to)| *to).collect(),
            uses: uses.into_iter().map(|(osd, (read, written))| (osd, read, written)).collect(),
            written: moving.bytes * moving.steps.len() as f64,
            degraded,
            left: 1.0,
            seen: 0.0,
            rate: 0.0,
            turn: 0,
            running: false,
        })
    }
}

/// State of an OSD during recovery.
#[derive(Default)]
struct Osd {
    bytes_per_s: f64,
    leads: usize,
    receives: usize,
    /// Bytes of all active jobs on this OSD; each job does its part in the same time.
    load: f64,
    running: Vec<usize>,
    /// Jobs that wait for it, in order.
    waiting: Vec<usize>,
}

/// The computed end of a job; ordered by time.
#[derive(PartialEq)]
struct End(f64, usize, u64);

impl Eq for End {}

impl PartialOrd for End {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for End {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
    }
}

/// The duration of a plan's moves; `after`: the cluster after the change.
pub fn pace(plan: &Plan, after: &ClusterMap, throttle: &Throttle) -> Pace {
    let up = |osd: i32| osd >= 0 && after.osd(osd).is_some_and(|osd| osd.up);
    pace_of(&plan.moving, &up, throttle)
}

fn pace_of(moving: &[Moving], up: &dyn Fn(i32) -> bool, throttle: &Throttle) -> Pace {
    let mut pace = Pace::default();
    let moving = moving.iter().filter(|moving| !moving.recoded && moving.bytes > 0.0);
    let mut jobs: Vec<Job> = Vec::new();
    for moving in moving {
        match Job::of(moving, up) {
            Some(job) => jobs.push(job),
            None => pace.lost += 1,
        }
    }
    // groups that lack copies first, as with Ceph's priorities
    jobs.sort_by_key(|job| !job.degraded);
    Flow::new(jobs, throttle).run(&mut pace);
    pace
}

struct Flow {
    jobs: Vec<Job>,
    osds: SortedMap<i32, Osd>,
    slots: usize,
    ends: BinaryHeap<Reverse<End>>,
    now: f64,
}

impl Flow {
    fn new(jobs: Vec<Job>, throttle: &Throttle) -> Self {
        let mut osds: SortedMap<i32, Osd> = SortedMap::new();
        for (index, job) in jobs.iter().enumerate() {
            let members = job.targets.iter().chain([&job.primary]);
            for osd in job.uses.iter().map(|(osd, ..)| osd).chain(members.clone()) {
                let bytes_per_s = throttle.bytes_per_s.get(osd).copied().unwrap_or(f64::INFINITY);
                osds.entry(*osd).or_insert_with(|| Osd { bytes_per_s, ..Osd::default() });
            }
            for osd in members {
                osds.get_mut(osd).expect("it is known").waiting.push(index);
            }
        }
        Self { jobs, osds, slots: throttle.max_backfills.max(1), ends: BinaryHeap::new(), now: 0.0 }
    }

    fn run(mut self, pace: &mut Pace) {
        let all: Vec<usize> = (0..self.jobs.len()).collect();
        self.start(&all);
        let mut written = Vec::new();
        let mut at_work = 0.0;
        while let Some(Reverse(End(at, index, turn))) = self.ends.pop() {
            if self.jobs[index].turn != turn || !self.jobs[index].running {
                continue;
            }
            let working = self.osds.values().filter(|osd| !osd.running.is_empty()).count();
            at_work += working as f64 * (at - self.now);
            self.now = at;
            let job = &self.jobs[index];
            written.push((at, job.written));
            if job.degraded {
                pace.degraded_s = at;
            }
            for (osd, read, wrote) in &job.uses {
                let part = pace.osds.entry(*osd).or_default();
                (part.read, part.written, part.until) =
                    (part.read + read, part.written + wrote, at);
                pace.bytes_read += read;
                pace.bytes_written += wrote;
            }
            self.end(index);
        }
        pace.seconds = self.now;
        pace.osds_at_work = if self.now > 0.0 { at_work / self.now } else { 0.0 };
        pace.shares = [0.5, 0.9, 0.99].map(|share| {
            let (mut sum, wanted) = (0.0, share * pace.bytes_written);
            let reached = written.iter().find(|(_, bytes)| {
                sum += bytes;
                sum >= wanted - 1e-6
            });
            (share, reached.map_or(0.0, |(at, _)| *at))
        });
    }

    /// Starts the candidates that find a free place on all their OSDs.
    fn start(&mut self, candidates: &[usize]) {
        let mut changed = Vec::new();
        for &index in candidates {
            let job = &self.jobs[index];
            let free = !job.running
                && job.left > 0.0
                && self.osds[&job.primary].leads < self.slots
                && job.targets.iter().all(|osd| self.osds[osd].receives < self.slots);
            if !free {
                continue;
            }
            let Self { jobs, osds, .. } = self;
            let job = &mut jobs[index];
            (job.running, job.seen) = (true, self.now);
            osds.get_mut(&job.primary).expect("it is known").leads += 1;
            for osd in &job.targets {
                osds.get_mut(osd).expect("it is known").receives += 1;
            }
            for (number, ..) in &job.uses {
                let osd = osds.get_mut(number).expect("it is known");
                osd.running.push(index);
                changed.push(*number);
            }
        }
        self.share_out(&changed);
    }

    fn end(&mut self, index: usize) {
        let Self { jobs, osds, .. } = self;
        let job = &mut jobs[index];
        (job.running, job.left) = (false, 0.0);
        osds.get_mut(&job.primary).expect("it is known").leads -= 1;
        let mut changed = Vec::new();
        for osd in &job.targets {
            osds.get_mut(osd).expect("it is known").receives -= 1;
        }
        for (number, ..) in &job.uses {
            let osd = osds.get_mut(number).expect("it is known");
            osd.running.retain(|other| *other != index);
            changed.push(*number);
        }
        let mut candidates = Vec::new();
        for number in job.targets.iter().chain([&job.primary]) {
            let osd = osds.get_mut(number).expect("it is known");
            osd.waiting.retain(|other| *other != index);
            candidates.extend(&osd.waiting);
        }
        candidates.sort_unstable();
        candidates.dedup();
        self.share_out(&changed);
        self.start(&candidates);
    }

    /// Recomputes the rates of jobs on the OSDs whose load changed.
    fn share_out(&mut self, changed: &[i32]) {
        let Self { jobs, osds, ends, now, .. } = self;
        for number in changed {
            let osd = osds.get_mut(number).expect("it is known");
            let here = |index: &usize| {
                let uses = jobs[*index].uses.iter();
                uses.filter(|(at, ..)| at == number)
                    .map(|(_, read, written)| read + written)
                    .sum::<f64>()
            };
            osd.load = osd.running.iter().map(here).sum();
        }
        let mut touched: Vec<usize> =
            changed.iter().flat_map(|osd| osds[osd].running.iter().copied()).collect();
        touched.sort_unstable();
        touched.dedup();
        for index in touched {
            let job = &mut jobs[index];
            job.left = (job.left - job.rate * (*now - job.seen)).max(0.0);
            job.seen = *now;
            let of = |(osd, ..): &(i32, f64, f64)| osds[osd].bytes_per_s / osds[osd].load;
            job.rate = job.uses.iter().map(of).fold(f64::INFINITY, f64::min);
            job.turn += 1;
            let end = if job.rate.is_finite() { *now + job.left / job.rate } else { *now };
            ends.push(Reverse(End(end, index, job.turn)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_algorithms::crush::Pg;
    use proptest::prelude::*;

    /// 10 bytes a second on each of 20 OSDs.
    fn throttle(max_backfills: usize) -> Throttle {
        Throttle { bytes_per_s: (0..20).map(|osd| (osd, 10.0)).collect(), max_backfills }
    }

    fn moving(seed: u32, kind: PoolKind, was: &[i32], steps: &[(i32, i32)]) -> Moving {
        let data_chunks = if kind == PoolKind::Erasure { 3 } else { 1 };
        let (pg, was, steps) = (Pg { pool: 1, seed }, was.to_vec(), steps.to_vec());
        Moving { pg, kind, was, steps, bytes: 100.0, data_chunks, recoded: false }
    }

    fn copies(seed: u32, primary: i32, to: i32) -> Moving {
        moving(seed, PoolKind::Replicated, &[primary, 19], &[(-1, to)])
    }

    #[test]
    fn a_primary_that_another_group_reads_from_is_as_fast() {
        // OSD 1 leads one group without reading there, and is read for another
        let leads = moving(0, PoolKind::Erasure, &[1, 2, 3, 4], &[(2, 9)]);
        let read = moving(1, PoolKind::Erasure, &[5, 1, 3, 4], &[(1, 8)]);
        let pace = pace_of(&[leads, read], &|_| true, &throttle(1));
        assert!((pace.seconds - 10.0).abs() < 1e-9, "{pace:?}");
    }

    #[test]
    fn one_copy_takes_its_bytes_by_the_rate() {
        let pace = pace_of(&[copies(0, 1, 2)], &|_| true, &throttle(1));
        assert!((pace.seconds - 10.0).abs() < 1e-9, "{pace:?}");
        assert_eq!((pace.bytes_read, pace.bytes_written), (100.0, 100.0));
        assert!((pace.degraded_s - 10.0).abs() < 1e-9 && (pace.osds_at_work - 2.0).abs() < 1e-9);
    }

    #[test]
    fn a_primary_sends_one_group_after_the_other() {
        // 100 bytes to each of four OSDs: the primary reads 400, with one backfill at a time or with four
        let all: Vec<Moving> = (0..4).map(|n| copies(n, 9, n.cast_signed())).collect();
        for (backfills, half) in [(1, 20.0), (4, 40.0)] {
            let pace = pace_of(&all, &|_| true, &throttle(backfills));
            assert!((pace.seconds - 40.0).abs() < 1e-6, "{pace:?}");
            assert!((pace.shares[0].1 - half).abs() < 1e-6, "{pace:?}");
        }
    }

    #[test]
    fn what_lacks_copies_goes_first() {
        let misplaced = moving(0, PoolKind::Replicated, &[9, 8], &[(8, 1)]);
        let missing = copies(1, 9, 2);
        let pace = pace_of(&[misplaced, missing], &|_| true, &throttle(1));
        assert!((pace.degraded_s - 10.0).abs() < 1e-9 && (pace.seconds - 20.0).abs() < 1e-9);
    }

    #[test]
    fn a_lost_shard_is_computed_from_as_many_as_the_code_has_data_shards() {
        let was = [0, 1, 2, 3];
        let lost = moving(0, PoolKind::Erasure, &was, &[(0, 9)]);
        let there = pace_of(std::slice::from_ref(&lost), &|_| true, &throttle(1));
        assert_eq!((there.bytes_read, there.degraded_s), (100.0, 0.0));
        let gone = pace_of(std::slice::from_ref(&lost), &|osd| osd != 0, &throttle(1));
        assert_eq!((gone.bytes_read, gone.bytes_written), (300.0, 100.0));
        assert!(gone.degraded_s > 0.0 && gone.osds.len() == 4);
        let hopeless = pace_of(&[lost], &|osd| osd > 1, &throttle(1));
        assert_eq!((hopeless.lost, hopeless.seconds), (1, 0.0));
    }

    proptest! {
        #[test]
        fn no_shorter_than_the_busiest_osd_and_no_longer_than_one_after_the_other(
            pairs in prop::collection::vec((0_i32..10, 10_i32..19), 1..60), backfills in 1_usize..4,
        ) {
            let all: Vec<Moving> =
                (0..).zip(&pairs).map(|(seed, (from, to))| copies(seed, *from, *to)).collect();
            let pace = pace_of(&all, &|_| true, &throttle(backfills));
            let busiest = pace.osds.values().map(|part| part.read + part.written).fold(0.0, f64::max);
            prop_assert!((pace.bytes_written - 100.0 * pairs.len() as f64).abs() < 1e-6);
            prop_assert!(pace.seconds >= busiest / 10.0 - 1e-6, "{pace:?}");
            prop_assert!(pace.seconds <= 10.0 * pairs.len() as f64 + 1e-6, "{pace:?}");
        }
    }
}
