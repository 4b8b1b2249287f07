//! Rules: where a search begins, what it chooses, and where it ends.

/// How the replicas of a set are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One after another; later ones move up to replace a missing one (replication).
    Firstn,
    /// Each for its own position; a missing one leaves a hole (erasure coding).
    Indep,
}

/// A setting for the following steps, which replaces the map's tunable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// Attempts from the top.
    ChooseTries,
    /// Attempts to find a leaf.
    ChooseleafTries,
    /// Retries in the same bucket.
    ChooseLocalTries,
    /// Further retries, from a permutation.
    ChooseLocalFallbackTries,
    /// Whether leaves depend on the attempt.
    ChooseleafVaryR,
    /// Whether leaves do not depend on the position.
    ChooseleafStable,
}

impl Setting {
    /// All settings, with their names in Ceph's texts.
    pub const ALL: [(&'static str, Self); 6] = [
        ("set_choose_tries", Self::ChooseTries),
        ("set_chooseleaf_tries", Self::ChooseleafTries),
        ("set_choose_local_tries", Self::ChooseLocalTries),
        ("set_choose_local_fallback_tries", Self::ChooseLocalFallbackTries),
        ("set_chooseleaf_vary_r", Self::ChooseleafVaryR),
        ("set_chooseleaf_stable", Self::ChooseleafStable),
    ];

    /// The setting with this name in Ceph's texts.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, setting)| *setting)
    }
}

/// One step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Begin at a bucket or device.
    Take(i32),
    /// Choose items of a type below each bucket in hand.
    Choose {
        /// How.
        mode: Mode,
        /// Whether to continue to one device below each of them.
        leaf: bool,
        /// Number of items; 0 or less: the number of replicas, reduced by its absolute value.
        count: i32,
        /// Their type; 0 is a device.
        kind: u16,
    },
    /// Add the chosen items to the result.
    Emit,
    /// Apply a setting to the following steps.
    Set(Setting, i32),
}

/// The pools that a rule is for, before Quincy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask {
    /// The ruleset that a pool names.
    pub ruleset: u32,
    /// Minimum number of replicas.
    pub min_size: u32,
    /// Maximum number of replicas.
    pub max_size: u32,
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its number.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// 1 for replicated pools, 3 for erasure-coded ones.
    pub kind: u32,
    /// Present if the map still has it.
    pub mask: Option<Mask>,
    /// In order.
    pub steps: Vec<Step>,
}
