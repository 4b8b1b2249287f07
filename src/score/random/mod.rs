//! Random clusters and random questions about them.
//!
//! Everything that can be asked about is drawn; each system has a file that says what that is. How long a
//! cluster is run follows from a short run of it: long enough that the truth itself is known well.

pub(super) mod failures;
mod guest;
mod objects;
mod ursa_minor;

use foretell_scenarios::{Change, Document};
use foretell_units::{Seed, Stream};

use crate::cli::{GeneratorChoice, SystemChoice};
use ursa_minor::Cluster;

/// A cluster and what is asked of it.
pub(super) struct Case {
    /// It runs for 20 seconds, which is for the caller to change; with failures, as long as these take.
    pub(super) document: Document,
    pub(super) changes: Vec<Change>,
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Draw {
    pub(super) seed: u64,
    /// Of this system; without it, what the generator says.
    pub(super) system: Option<SystemChoice>,
    pub(super) generator: GeneratorChoice,
}

/// Draws from lists.
struct Dice {
    stream: Stream,
    /// Devices that nodes may have.
    disks: &'static [&'static str],
    /// Whether questions of the third generator are drawn, too.
    more: bool,
    /// Whether questions about other loads are drawn, too.
    loads: bool,
}

/// Devices of the third generator: those of the others, today's, and an array.
const ALL_DISKS: [&str; 12] = [
    "sata-7200-2005",
    "barracuda-7200.8",
    "cheetah-15k",
    "fc-15k-2008",
    "hdd-4tb-7200",
    "hdd-16tb-7200",
    "sata-ssd",
    "nvme-3gbs",
    "nvme-7gbs",
    "sata-ssd-no-plp",
    "optane-p4800x",
    "ds8700-raid5",
];

impl Dice {
    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.stream.below(list.len() as u64) as usize]
    }

    /// From the first to the last, both possible.
    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.stream.below(last - first + 1)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.stream.chance(p)
    }
}

impl Draw {
    /// Case number `index`.
    pub(super) fn case(&self, index: u32) -> Case {
        let owner = format!("random/{index}");
        let more = self.generator >= GeneratorChoice::V3;
        let loads = self.generator == GeneratorChoice::V4;
        let disks = if more { &ALL_DISKS[..] } else { &ursa_minor::DISKS };
        let mut dice = Dice { stream: Seed(self.seed).stream(&owner), disks, more, loads };
        let system = match (self.system, self.generator) {
            (Some(system), _) => system,
            (None, GeneratorChoice::V1) => SystemChoice::UrsaMinor,
            (None, GeneratorChoice::Failures) => {
                *dice.of(&[SystemChoice::UrsaMinor, SystemChoice::Ceph])
            }
            (None, GeneratorChoice::V2 | GeneratorChoice::V3 | GeneratorChoice::V4) => {
                *dice.of(&SystemChoice::ALL)
            }
        };
        loop {
            if let Some(case) = draw(&mut dice, system, self.generator) {
                return case;
            }
        }
    }
}

/// A cluster and a question about it, if what was drawn is possible and the question changes anything.
fn draw(dice: &mut Dice, system: SystemChoice, generator: GeneratorChoice) -> Option<Case> {
    let (text, cluster) = match system {
        SystemChoice::UrsaMinor => ursa_minor::draw_cluster(dice),
        SystemChoice::Ceph => objects::draw_ceph(dice),
        SystemChoice::Swift => objects::draw_swift(dice),
        SystemChoice::Guest => guest::draw_cluster(dice),
    };
    let mut document = Document::parse("random.toml", &text, "").ok()?;
    document.check().ok()?;
    let fails = generator == GeneratorChoice::Failures;
    if fails {
        let (warmup, duration) = failures::TIMES;
        document.set("warmup", warmup).ok()?;
        document.set("duration", duration).ok()?;
        failures::fit(dice, &mut document, (&cluster, system))?;
    }
    for _ in 0..20 {
        let changes = if fails {
            failures::draw_changes(dice, system, &cluster)
        } else {
            draw_changes(dice, system, &cluster)
        };
        let Some(changes) = changes else { continue };
        let mut after = document.clone();
        let set = |change: &Change| after.set(&change.path, &change.value).is_ok();
        if !changes.iter().all(set) {
            continue;
        }
        let same = after.resolved().ok() == document.resolved().ok();
        if after.check().is_ok() && !same {
            return Some(Case { document, changes });
        }
    }
    None
}

/// One or two changes, or none if what was drawn does not apply.
fn draw_changes(dice: &mut Dice, system: SystemChoice, cluster: &Cluster) -> Option<Vec<Change>> {
    let count = if dice.chance(0.3) { 2 } else { 1 };
    let mut one = || match system {
        _ if dice.loads && dice.chance(0.5) => Some(draw_load(dice, cluster)),
        _ if dice.more && dice.chance(0.35) => draw_more(dice, cluster),
        SystemChoice::UrsaMinor => ursa_minor::draw_change(dice, cluster),
        SystemChoice::Ceph => objects::draw_ceph_change(dice, cluster),
        SystemChoice::Swift => objects::draw_swift_change(dice, cluster),
        SystemChoice::Guest => guest::draw_change(dice, cluster),
    };
    let changes: Option<Vec<String>> = (0..count).map(|_| one()).collect();
    changes?.iter().map(|text| text.parse().ok()).collect()
}

/// Another load than the recorded one.
fn draw_load(dice: &mut Dice, cluster: &Cluster) -> String {
    let (name, _) = dice.of(&cluster.workloads).clone();
    let key = match dice.between(0, 6) {
        0 | 1 => format!("reads={}%", dice.of(&[0, 10, 30, 50, 70, 90, 100])),
        2 => format!("access={}", dice.of(&ursa_minor::ACCESSES)),
        3 => format!("pattern={}", dice.of(&["random", "sequential", "zipf", "hot-cold"])),
        4 => format!("alpha={}", dice.of(&["0.6", "0.8", "1.1", "1.3"])),
        5 => format!("working_set={}%", dice.of(&[5, 20, 50, 100])),
        _ => {
            let size = dice.of(&["2 GiB", "8 GiB", "30 GiB", "100 GiB"]);
            return format!("volume.{name}.size={size}");
        }
    };
    format!("workload.{name}.{key}")
}

/// A change that the earlier generators do not draw, or none if what was drawn does not apply.
fn draw_more(dice: &mut Dice, cluster: &Cluster) -> Option<String> {
    let (name, rate) = dice.of(&cluster.workloads).clone();
    let group = dice.of(&cluster.groups).0.clone();
    Some(match dice.between(0, 6) {
        0..=2 => format!("workload.{name}.client=app"),
        3 => {
            let rate = rate?;
            format!("workload.{name}.rate={}", (rate * dice.between(12, 40) / 10).max(1))
        }
        4 if rate.is_none() => {
            format!("workload.{name}.outstanding={}", dice.of(&[1, 2, 4, 8, 16, 32, 64]))
        }
        5 => {
            let scheduler = dice.of(&ursa_minor::SCHEDULERS);
            format!("node.{group}.disk.0.scheduler={scheduler}")
        }
        6 => format!("node.{group}.cache.write={}", dice.of(&["back", "through"])),
        _ => return None,
    })
}
