//! The measured configurations: Tables 1, 4 and 5 of the paper.

use foretell_units::{Seed, Stream};
use serde::{Deserialize, Serialize};

/// Size of a file of the benchmark, MiB.
const FILE_MIB: u64 = 16;
/// Threads of the benchmark, in all virtual machines together.
const THREADS: u32 = 100;

/// A configuration: system and workload.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) scheduler: Scheduler,
    /// Total size of all files of all virtual machines, MiB.
    pub(super) file_set_mib: u64,
    pub(super) request_bytes: u64,
    pub(super) pattern: Pattern,
    pub(super) reads_percent: u32,
    /// Virtual machines, which share threads and files.
    pub(super) vms: u32,
}

/// I/O scheduler of the virtual machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scheduler {
    Cfq,
    Noop,
}

/// Order of an operation's requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Pattern {
    Random,
    Sequential,
}

impl Scheduler {
    pub(super) const ALL: [Self; 2] = [Self::Cfq, Self::Noop];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Cfq => "cfq",
            Self::Noop => "noop",
        }
    }
}

impl Pattern {
    pub(super) const ALL: [Self; 2] = [Self::Random, Self::Sequential];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

impl Point {
    /// The changes to the scenario.
    pub(super) fn changes(&self) -> Vec<(&'static str, String)> {
        let files = self.file_set_mib / FILE_MIB / u64::from(self.vms);
        vec![
            ("client.vm.guest.scheduler", self.scheduler.name().to_owned()),
            ("client.vm.count", self.vms.to_string()),
            ("workload.ffsb.threads", (THREADS / self.vms).to_string()),
            ("workload.ffsb.file_set", format!("{} MiB", files * FILE_MIB)),
            ("workload.ffsb.request", format!("{} B", self.request_bytes)),
            ("workload.ffsb.pattern", self.pattern.name().to_owned()),
            ("workload.ffsb.reads", format!("{}%", self.reads_percent)),
        ]
    }
}

/// All combinations of these values.
fn full(file_sets_mib: &[u64], requests: &[u64], reads: &[u32]) -> Vec<Point> {
    let mut points = Vec::new();
    for scheduler in Scheduler::ALL {
        for &file_set_mib in file_sets_mib {
            for &request_bytes in requests {
                for pattern in Pattern::ALL {
                    for &reads_percent in reads {
                        points.push(Point {
                            scheduler,
                            file_set_mib,
                            request_bytes,
                            pattern,
                            reads_percent,
                            vms: 1,
                        });
                    }
                }
            }
        }
    }
    points
}

const GIB: u64 = 1024;
const KIB: u64 = 1024;

/// The configurations that models learn from: Table 1, 1120 configurations. With `quick`, the 300 with
/// three sizes of requests and five shares of reads.
pub(super) fn learned(quick: bool) -> Vec<Point> {
    let file_sets = [1, 25, 50, 75, 100].map(|gib| gib * GIB);
    if quick {
        return full(&file_sets, &[4, 16, 32].map(|kib| kib * KIB), &[0, 25, 50, 75, 100]);
    }
    let requests = [4, 8, 12, 16, 20, 24, 28, 32].map(|kib| kib * KIB);
    full(&file_sets, &requests, &[0, 25, 30, 50, 70, 75, 100])
}

/// `count` random configurations within the range of the training configurations (Table 4), with shares of
/// reads from `reads.0` to `reads.1` percent.
pub(super) fn interpolated(count: usize, reads: (u32, u32), seed: &str) -> Vec<Point> {
    let mut stream = Seed(1).stream(&format!("reproduce/virtualized/{seed}"));
    (0..count)
        .map(|_| {
            let scheduler = Scheduler::ALL[stream.below(2) as usize];
            let pattern = Pattern::ALL[stream.below(2) as usize];
            random(&mut stream, scheduler, pattern, reads.0, reads.1, 1)
        })
        .collect()
}

/// A random configuration.
fn random(
    stream: &mut Stream,
    scheduler: Scheduler,
    pattern: Pattern,
    least: u32,
    most: u32,
    vms: u32,
) -> Point {
    // whole files from 1 to 100 GiB, multiples of 512 bytes from 4 to 32 KiB
    let files = 64 + stream.below(6400 - 64 + 1);
    let sectors = 8 + stream.below(64 - 8 + 1);
    let reads_percent = least + stream.below(u64::from(most - least) + 1) as u32;
    let (file_set_mib, request_bytes) = (files * FILE_MIB, sectors * 512);
    Point { scheduler, file_set_mib, request_bytes, pattern, reads_percent, vms }
}

/// Configurations outside the range (Table 5): 256. With `quick`, 64 of them, equally many of each value.
pub(super) fn extrapolated(quick: bool) -> Vec<Point> {
    let file_sets = [512, 768, 110 * GIB, 120 * GIB];
    let requests = [1, 2, 36, 40].map(|kib| kib * KIB);
    let all = full(&file_sets, &requests, &[15, 20, 80, 85]);
    if !quick {
        return all;
    }
    // take one of each four shares of reads, a different one each time
    let fours = all.chunks(4).enumerate();
    fours.map(|(number, four)| four[(number + number / 4 + number / 16) % 4].clone()).collect()
}

/// Configurations within the range, distributed over `vms` virtual machines: `each` random ones for each
/// scheduler and pattern.
pub(super) fn distributed(vms: u32, each: usize) -> Vec<Point> {
    let mut stream = Seed(1).stream(&format!("reproduce/virtualized/{vms} machines"));
    let mut points = Vec::new();
    for scheduler in Scheduler::ALL {
        for pattern in Pattern::ALL {
            points.extend((0..each).map(|_| random(&mut stream, scheduler, pattern, 25, 75, vms)));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_designs_are_those_of_the_paper() {
        assert_eq!(learned(false).len(), 1120);
        assert_eq!(learned(true).len(), 300);
        assert!(learned(true).iter().all(|point| learned(false).contains(point)));
        assert_eq!(extrapolated(false).len(), 256);
        assert_eq!(distributed(3, 25).len(), 100);
        for point in interpolated(200, (25, 100), "test") {
            assert!((1024..=102_400).contains(&point.file_set_mib) && point.file_set_mib % 16 == 0);
            assert!((4096..=32_768).contains(&point.request_bytes));
            assert!(point.request_bytes % 512 == 0 && (25..=100).contains(&point.reads_percent));
        }
    }

    #[test]
    fn a_quarter_of_the_extrapolation_has_each_value_as_often() {
        let quarter = extrapolated(true);
        assert_eq!(quarter.len(), 64);
        for reads in [15, 20, 80, 85] {
            assert_eq!(quarter.iter().filter(|point| point.reads_percent == reads).count(), 16);
        }
    }

    #[test]
    fn machines_share_threads_and_files() {
        let point = Point { vms: 3, file_set_mib: 1024, ..learned(true)[0].clone() };
        let changes = point.changes();
        // 64 files: 21 each
        assert!(changes.contains(&("workload.ffsb.file_set", "336 MiB".to_owned())));
        assert!(changes.contains(&("workload.ffsb.threads", "33".to_owned())));
    }
}
