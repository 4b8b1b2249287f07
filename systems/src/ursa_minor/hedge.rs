//! Hedged reads: if answers to a read are late, the client asks one more holder, and uses the first answers
//! that suffice.
//!
//! This happens at most once for each part of a request, that is, for each group. Sources: Dean and Barroso
//! 2013 for hedged requests; Abd-El-Malek et al. 2005 for codes of which any m fragments suffice. Left out:
//! cancellation of superfluous requests at nodes.

use foretell_algorithms::codec::Numbers;
use foretell_scenarios::model::ReadFrom;
use foretell_units::{Op, SimTime};

use super::degraded::{asked_for, in_reach};
use crate::exchange::{Asks, Exchange, Purpose};
use crate::failures::{Asked, Plan, State};
use crate::hosts::Hosts;
use crate::protocol::Core;
use crate::request::Issue;
use crate::volume::Volume;

/// Whether the block can be decoded from the fragments that have arrived.
pub(super) fn is_enough(volume: &Volume, plan: &Plan) -> bool {
    volume.shares.decodes(&plan.answered())
}

impl Core {
    /// A client asks one more holder for a part, if its delay has passed and there is such a holder.
    pub(super) fn hedge_if_due<H: Hosts>(&mut self, hosts: &mut H, part: u32) {
        let now = hosts.now();
        let due = |plan: &Plan| plan.hedge_at == Some(now) && !plan.is_complete && !plan.is_short;
        if !self.failed().plans.get(part).is_some_and(due) {
            return;
        }
        let mut failures = self.failures.take().expect("hedged reads have plans");
        let mut plan = failures.plans.take(part).expect("it is there");
        plan.hedge_at = None;
        let issue = self.requests[plan.request].issue;
        let Issue { client, instance, breadcrumb, workload, .. } = issue;
        let volume = &self.volumes[plan.volume as usize];
        let holders = failures.holes.holders(plan.volume, volume, plan.piece.group);
        let order: Numbers = (0..holders.len() as u8).collect();
        let mut candidates = in_reach(&failures, &plan, &holders, order);
        candidates
            .retain(|fragment| failures.trusts(client, holders[usize::from(*fragment)].node, now));
        if volume.read_from == ReadFrom::Random && !candidates.is_empty() {
            hosts.choose(instance, &mut candidates, 1);
        }
        let mut sent = None;
        if let Some(fragment) = most_useful(volume, &plan, &candidates) {
            let holder = holders[usize::from(fragment)];
            let purpose = Purpose::Fragment(asked_for(&plan, part, fragment, holder));
            let nothing = foretell_units::Bytes::ZERO;
            let exchange = Exchange::new(
                purpose,
                Asks::Application,
                self.machines[client.index()],
                holder.node,
                nothing,
                breadcrumb,
                workload,
            );
            let exchange = self.exchanges.insert(exchange);
            let (node, state, is_doubtful) = (holder.node, State::Waiting, false);
            plan.asked.push(Asked { fragment, node, exchange, state, is_doubtful });
            plan.is_hedged = true;
            failures.hedging.count(workload);
            sent = Some(exchange);
        }
        failures.plans.put(part, plan);
        self.failures = Some(failures);
        if let Some(exchange) = sent {
            let ends = self.count_needed(part);
            debug_assert!(!ends, "what it asked for did not suffice");
            self.send(hosts, exchange);
        }
    }

    /// An answer of a hedged part has arrived and is counted next: determines whether it is the last one needed.
    pub(super) fn count_hedged(&mut self, part: u32) {
        let plan = self.failures.as_ref().and_then(|failures| failures.plans.get(part));
        let plan = plan.expect("the part has not ended");
        let volume = &self.volumes[plan.volume as usize];
        self.parts[part].needed = if is_enough(volume, plan) { 1 } else { 2 };
    }

    /// A read has all that it needs: records how long that took, and which data fragments are missing.
    pub(super) fn note_read(&mut self, now: SimTime, plan: &Plan) {
        let volume = &self.volumes[plan.volume as usize];
        let Some(hedge) = volume.hedge else { return };
        if plan.is_repair || plan.op != Op::Read || plan.is_complete {
            return;
        }
        let m = volume.distribution.encoding().m();
        if m > 1 {
            let answered = plan.answered();
            let data = answered.iter().filter(|fragment| usize::from(**fragment) < m).count();
            let request = &mut self.requests[plan.request];
            request.missing = request.missing.max((m - data) as u64);
        }
        let took = now - plan.began;
        self.failed().hedging.note(hedge, plan.volume, plan.client, took);
    }
}

/// The candidate that can replace the most of the outstanding fragments; ties go to the first.
fn most_useful(volume: &Volume, plan: &Plan, candidates: &[u8]) -> Option<u8> {
    let late = || plan.asked.iter().filter(|asked| asked.state == State::Waiting);
    let counted = plan.counted();
    let stands_in = |candidate: u8, late: u8| {
        let mut all: Numbers = counted.iter().copied().filter(|one| *one != late).collect();
        all.push(candidate);
        volume.shares.decodes(&all)
    };
    let use_of = |candidate: u8| late().filter(|one| stands_in(candidate, one.fragment)).count();
    let mut best = None;
    for &candidate in candidates {
        let found = use_of(candidate);
        if found > best.map_or(0, |(most, _)| most) {
            best = Some((found, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}
