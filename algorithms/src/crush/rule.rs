//! Rules: where a search begins, what it chooses, and where it ends.

use super::cluster::PoolKind;

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
    /// Descents from the top, in a rule that retries all its steps.
    MsrDescents,
    /// Attempts after a collision, in a rule that retries all its steps.
    MsrCollisionTries,
}

impl Setting {
    /// All settings, with their names in Ceph's texts.
    pub const ALL: [(&'static str, Self); 8] = [
        ("set_choose_tries", Self::ChooseTries),
        ("set_chooseleaf_tries", Self::ChooseleafTries),
        ("set_choose_local_tries", Self::ChooseLocalTries),
        ("set_choose_local_fallback_tries", Self::ChooseLocalFallbackTries),
        ("set_chooseleaf_vary_r", Self::ChooseleafVaryR),
        ("set_chooseleaf_stable", Self::ChooseleafStable),
        ("set_msr_descents", Self::MsrDescents),
        ("set_msr_collision_tries", Self::MsrCollisionTries),
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
    /// Choose items of a type below each bucket in hand; if one is out, all steps are tried again (`choosemsr`).
    ChooseMsr {
        /// Number of items; 0: the number of replicas.
        count: u32,
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
    /// 1 for replicated pools, 3 for erasure-coded ones; 4 and 5 for the same with `choosemsr`.
    pub kind: u32,
    /// Present if the map still has it.
    pub mask: Option<Mask>,
    /// In order.
    pub steps: Vec<Step>,
    /// What it asks for that is not known here, as of a newer Ceph. Such a rule places nothing.
    pub unknown: Option<String>,
}

impl Rule {
    /// The kind of rules for copies that retry all steps: `msr_firstn`.
    pub const MSR_FIRSTN: u32 = 4;
    /// The kind of rules for shards that retry all steps: `msr_indep`.
    pub const MSR_INDEP: u32 = 5;

    /// Whether it retries all its steps (since Squid).
    pub fn is_msr(&self) -> bool {
        matches!(self.kind, Self::MSR_FIRSTN | Self::MSR_INDEP)
    }

    /// Whether it is for pools of this kind.
    pub fn is_for(&self, kind: PoolKind) -> bool {
        match kind {
            PoolKind::Replicated => matches!(self.kind, 1 | Self::MSR_FIRSTN),
            PoolKind::Erasure => matches!(self.kind, 3 | Self::MSR_INDEP),
        }
    }
}
