//! Servers that a proxy avoids because of errors.
//!
//! A proxy counts the errors of each server: connections that failed, answers that did not come. A server
//! with more than `error_suppression_limit` errors is skipped until `error_suppression_interval` has passed
//! since the last one; then its errors are forgotten (`swift/common/error_limiter.py`). An answer that the
//! disk has failed counts as too many errors at once. Simplified: one count for each proxy. A real proxy has
//! a separate count in each of its worker processes.

use foretell_scenarios::outages::SwiftRecovery;
use foretell_sorted::SortedMap;
use foretell_units::{HostId, SimTime};

use super::ledger::Osd;

/// Errors of servers, by proxy.
#[derive(Default)]
pub(super) struct Limiter {
    errors: SortedMap<(HostId, Osd), (u32, SimTime)>,
}

impl Limiter {
    /// A server has failed to connect or to answer.
    pub(super) fn note(&mut self, proxy: HostId, osd: Osd, now: SimTime) {
        let (count, last) = self.errors.entry((proxy, osd)).or_insert((0, now));
        *count += 1;
        *last = now;
    }

    /// A server has answered that its disk has failed.
    pub(super) fn note_failed_disk(
        &mut self,
        proxy: HostId,
        osd: Osd,
        now: SimTime,
        settings: &SwiftRecovery,
    ) {
        self.errors.insert((proxy, osd), (settings.error_suppression_limit + 1, now));
    }

    /// Whether a proxy avoids a server.
    pub(super) fn avoids(
        &mut self,
        proxy: HostId,
        osd: Osd,
        now: SimTime,
        settings: &SwiftRecovery,
    ) -> bool {
        let Some((count, last)) = self.errors.get(&(proxy, osd)) else { return false };
        if *last + settings.error_suppression_interval < now {
            self.errors.remove(&(proxy, osd));
            return false;
        }
        *count > settings.error_suppression_limit
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::SimSpan;

    use super::*;

    #[test]
    fn a_server_is_avoided_after_the_eleventh_error_for_a_minute() {
        let (mut limiter, usual) = (Limiter::default(), SwiftRecovery::USUAL);
        let (proxy, at) = (HostId(0), |s: u64| SimTime::ZERO + SimSpan::from_secs(s));
        for error in 0..11 {
            assert!(!limiter.avoids(proxy, 3, at(error), &usual), "error {error}");
            limiter.note(proxy, 3, at(error));
        }
        assert!(
            limiter.avoids(proxy, 3, at(10), &usual) && limiter.avoids(proxy, 3, at(70), &usual)
        );
        assert!(!limiter.avoids(HostId(1), 3, at(11), &usual), "another proxy");
        assert!(!limiter.avoids(proxy, 3, at(71), &usual));
        // all errors are forgotten
        limiter.note(proxy, 3, at(72));
        assert!(!limiter.avoids(proxy, 3, at(73), &usual));
    }
}
