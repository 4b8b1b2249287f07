//! Random clusters and random questions about them.
//!
//! Every property that a question can change is drawn at random. The module of each system lists these
//! properties. The length of a run follows from a short run of the same cluster, so that the truth is
//! accurate.

pub(crate) mod caches;
pub mod failures;
mod guest;
mod objects;
mod swift_failures;
mod ursa_minor;

use foretell_scenarios::{Change, Document};
use foretell_units::{Seed, Stream};

use ursa_minor::Cluster;

/// Systems that can be drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum System {
    /// Clients encode and place data themselves.
    UrsaMinor,
    /// Ceph: replicated and erasure-coded pools, on disks and on flash.
    Ceph,
    /// Swift: proxies and object servers.
    Swift,
    /// Virtual machines, each with its own block layer.
    Guest,
}

impl System {
    /// All systems.
    pub const ALL: [Self; 4] = [Self::UrsaMinor, Self::Ceph, Self::Swift, Self::Guest];
}

/// Generators of clusters. A generator never changes, so that versions can be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Generator {
    /// Clusters of Ursa Minor.
    V1,
    /// Clusters of any system.
    V2,
    /// Clusters of any system on any device, including arrays. Questions are also about more clients, far
    /// higher rates, and schedulers.
    V3,
    /// As `V3`, with questions about other loads: shares of reads, sizes, patterns, working sets, volumes.
    V4,
    /// Clusters of Ursa Minor whose caches turn over. Questions are mostly about policies and sizes of caches.
    Caches,
    /// Clusters of Ursa Minor and Ceph. Hosts, or disks of Ceph, fail for a while or for good, sometimes together
    /// with another change.
    Failures,
    /// As `Failures`, and clusters of Swift.
    Failures2,
}

impl Generator {
    /// Whether questions are about failures.
    pub fn fails(self) -> bool {
        matches!(self, Self::Failures | Self::Failures2)
    }
}

/// A cluster and a question about it.
pub struct Case {
    /// The scenario. It runs for 20 seconds, and the caller should change that. With a generator of failures, it
    /// has the warm-up and the duration that failures need.
    pub document: Document,
    /// The changes that the question asks about.
    pub changes: Vec<Change>,
}

/// What to draw.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The seed of all draws.
    pub seed: u64,
    /// Draw only this system; without it, the generator chooses.
    pub system: Option<System>,
    /// The generator.
    pub generator: Generator,
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

/// Devices of the third generator: those of the earlier generators, modern ones, and an array.
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

    /// A number from the first to the last, both included.
    fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.stream.below(last - first + 1)
    }

    fn chance(&mut self, p: f64) -> bool {
        self.stream.chance(p)
    }
}

impl Draw {
    /// Case number `index`.
    pub fn case(&self, index: u32) -> Case {
        let owner = format!("random/{index}");
        let more = self.generator >= Generator::V3 && self.generator != Generator::Caches;
        let loads = self.generator == Generator::V4;
        let disks = if more { &ALL_DISKS[..] } else { &ursa_minor::DISKS };
        let mut dice = Dice { stream: Seed(self.seed).stream(&owner), disks, more, loads };
        let system = match (self.system, self.generator) {
            (Some(system), _) => system,
            (None, Generator::V1 | Generator::Caches) => System::UrsaMinor,
            (None, Generator::Failures) => *dice.of(&[System::UrsaMinor, System::Ceph]),
            (None, Generator::Failures2) => {
                *dice.of(&[System::UrsaMinor, System::Ceph, System::Swift])
            }
            (None, Generator::V2 | Generator::V3 | Generator::V4) => *dice.of(&System::ALL),
        };
        loop {
            if let Some(case) = draw(&mut dice, system, self.generator) {
                return case;
            }
        }
    }
}

/// A cluster and a question about it, if the draw is possible and the question changes anything.
fn draw(dice: &mut Dice, system: System, generator: Generator) -> Option<Case> {
    let (text, cluster) = match system {
        System::UrsaMinor if generator == Generator::Caches => caches::draw_cluster(dice),
        System::UrsaMinor => ursa_minor::draw_cluster(dice),
        System::Ceph => objects::draw_ceph(dice),
        System::Swift => objects::draw_swift(dice),
        System::Guest => guest::draw_cluster(dice),
    };
    let mut document = Document::parse("random.toml", &text, "").ok()?;
    document.check().ok()?;
    let fails = generator.fails();
    if fails {
        let (warmup, duration) = failures::TIMES;
        document.set("warmup", warmup).ok()?;
        document.set("duration", duration).ok()?;
        if system == System::Swift {
            swift_failures::fit(dice, &mut document, &cluster)?;
        } else {
            failures::fit(dice, &mut document, &cluster, system)?;
        }
    }
    for _ in 0..20 {
        let changes = if fails && system == System::Swift {
            swift_failures::draw_changes(dice, &cluster)
        } else if fails {
            failures::draw_changes(dice, system, &cluster)
        } else if generator == Generator::Caches && system == System::UrsaMinor {
            draw_some(dice, |dice| Some(caches::draw_change(dice, &cluster)))
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

/// One or two changes, or `None` if the drawn change does not apply.
fn draw_changes(dice: &mut Dice, system: System, cluster: &Cluster) -> Option<Vec<Change>> {
    draw_some(dice, |dice| match system {
        _ if dice.loads && dice.chance(0.5) => Some(draw_load(dice, cluster)),
        _ if dice.more && dice.chance(0.35) => draw_more(dice, cluster),
        System::UrsaMinor => ursa_minor::draw_change(dice, cluster),
        System::Ceph => objects::draw_ceph_change(dice, cluster),
        System::Swift => objects::draw_swift_change(dice, cluster),
        System::Guest => guest::draw_change(dice, cluster),
    })
}

/// One or two of these changes, or `None` if a drawn change does not apply.
fn draw_some(
    dice: &mut Dice,
    mut one: impl FnMut(&mut Dice) -> Option<String>,
) -> Option<Vec<Change>> {
    let count = if dice.chance(0.3) { 2 } else { 1 };
    let changes: Option<Vec<String>> = (0..count).map(|_| one(dice)).collect();
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

/// A change that the earlier generators do not draw, or `None` if the drawn change does not apply.
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
