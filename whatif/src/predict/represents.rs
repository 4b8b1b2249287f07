//! Whether short stretches represent the caches that a question is about.
//!
//! The fast model fills caches with the latest requests to each address, and no time passes between its stretches. For
//! an LRU cache, the latest requests determine the contents. What a cache of another policy holds depends on all earlier
//! requests, so it can only be compared with what was recorded.

use foretell_algorithms::cache::PolicyKind;
use foretell_scenarios::model::{Cache, Scenario};

use crate::observed::Observed;
use crate::replay::Outcome;

/// How a question changes the caches of nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum CacheChange {
    Unchanged,
    /// The caches have other sizes or pages.
    Lru,
    /// The caches have another policy, or other sizes or pages with a policy that is not LRU.
    OfOtherPolicy,
}

impl CacheChange {
    fn between(before: &Scenario, after: &Scenario) -> Self {
        let caches = after.hosts.iter().filter_map(|host| {
            let old = before.hosts.iter().find(|old| old.name == host.name)?;
            Some((&old.role.storage()?.cache, &host.role.storage()?.cache))
        });
        caches.map(|(old, new)| Self::of(old, new)).max().unwrap_or(Self::Unchanged)
    }

    fn of(old: &Cache, new: &Cache) -> Self {
        if old.policy == new.policy && old.size == new.size && old.page == new.page {
            return Self::Unchanged;
        }
        let lru = PolicyKind::Lru.name();
        let is_lru = old.policy == lru && new.policy == lru;
        if is_lru { Self::Lru } else { Self::OfOtherPolicy }
    }
}

impl Observed {
    /// Why short stretches do not show what the changed caches would do, if they do not.
    pub(super) fn stretches_miss_caches(&self, after: &Scenario) -> Option<String> {
        (CacheChange::between(&self.scenario, after) == CacheChange::OfOtherPolicy).then(|| {
            "what the changed caches would hold depends on all earlier requests".to_owned()
        })
    }

    /// Why a replay of short stretches does not show the effect of a question, if it does not. `unchanged` is the
    /// replay of the recorded cluster in the same stretches.
    pub(super) fn stretches_are_blind(
        &self,
        after: &Scenario,
        unchanged: &Outcome,
        changed: &Outcome,
    ) -> Option<String> {
        let mut workloads = self.scenario.workloads.iter().zip(&unchanged.workloads);
        if let Some((workload, _)) = workloads.find(|(_, found)| found.completed == 0) {
            return Some(format!(
                "no request of workload `{}` completes in its short stretches of the recorded run",
                workload.name
            ));
        }
        let fills = unchanged.caches.still_fill || changed.caches.still_fill;
        if fills && CacheChange::between(&self.scenario, after) != CacheChange::Unchanged {
            return Some(
                "caches are still filling, and no time passes between its stretches".to_owned(),
            );
        }
        let stretches = unchanged.caches.posted.by_request(unchanged.completed());
        self.caches.and_then(|recorded| recorded.unlike(&stretches))
    }
}
