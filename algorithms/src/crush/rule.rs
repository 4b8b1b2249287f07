//! Rules: where a search begins, what it chooses, where it ends.

/// How replicas of a set are found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// One after another; those that follow a missing one move up (replication).
    Firstn,
    /// Each for its own position; a missing one leaves a hole (erasure coding).
    Indep,
}

/// What a rule sets for the steps after it, instead of the map's tunables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// Attempts from the top.
    ChooseTries,
    /// Attempts to find a leaf.
    ChooseleafTries,
    /// Retries in the same bucket.
    ChooseLocalTries,
    /// Further ones from a permutation.
    ChooseLocalFallbackTries,
    /// Whether leaves depend on the attempt.
    ChooseleafVaryR,
    /// Whether leaves do not depend on the position.
    ChooseleafStable,
}

impl Setting {
    /// All, with the names that Ceph's texts use.
    pub const ALL: [(&'static str, Self); 6] = [
        ("set_choose_tries", Self::ChooseTries),
        ("set_chooseleaf_tries", Self::ChooseleafTries),
        ("set_choose_local_tries", Self::ChooseLocalTries),
        ("set_choose_local_fallback_tries", Self::ChooseLocalFallbackTries),
        ("set_chooseleaf_vary_r", Self::ChooseleafVaryR),
        ("set_chooseleaf_stable", Self::ChooseleafStable),
    ];

    /// By the name that Ceph's texts use.
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
        /// Whether to go on to one device below each of them.
        leaf: bool,
        /// How many; 0 or less: as many as replicas, or so many fewer.
        count: i32,
        /// Their type; 0 is a device.
        kind: u16,
    },
    /// Add what is in hand to the result.
    Emit,
    /// Set something for the steps after it.
    Set(Setting, i32),
}

/// For which pools a rule was meant, before Quincy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mask {
    /// What a pool names.
    pub ruleset: u32,
    /// Replicas at least.
    pub min_size: u32,
    /// Replicas at most.
    pub max_size: u32,
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its number.
    pub id: u32,
    /// As people call it.
    pub name: String,
    /// 1 for replicated pools, 3 for erasure-coded ones.
    pub kind: u32,
    /// Where the map still has it.
    pub mask: Option<Mask>,
    /// In order.
    pub steps: Vec<Step>,
}
