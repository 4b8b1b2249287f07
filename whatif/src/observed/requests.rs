//! The recorded requests, by workload and client, and how long they took.

use std::sync::Arc;

use foretell_ati::{Body, Phase, RecordKind, RunDb};
use foretell_scenarios::model::Scenario;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};
use hashbrown::HashMap;

use crate::error::WhatIfError;

/// A request as its client issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recorded {
    pub(crate) issued: SimTime,
    pub(crate) offset: Bytes,
    pub(crate) size: u32,
    pub(crate) op: Op,
}

/// Requests by workload and position of the client; by workload, response times of those that
/// completed in the measured time, ns.
type Found = (Vec<Vec<Arc<[Recorded]>>>, Vec<Vec<u64>>);

pub(super) fn read(
    run: &RunDb,
    scenario: &Scenario,
    duration: SimSpan,
) -> Result<Found, WhatIfError> {
    let mut streams: Vec<Vec<Vec<Recorded>>> =
        scenario.workloads.iter().map(|w| vec![Vec::new(); w.clients.len()]).collect();
    let mut responses = vec![Vec::new(); scenario.workloads.len()];
    let mut issued_at: HashMap<Breadcrumb, SimTime, foldhash::fast::FixedState> =
        HashMap::default();
    let from = SimTime::ZERO + scenario.warmup;
    let until = from + duration;
    run.scan(RecordKind::Request, |record| {
        let Body::Request { workload, client, op, offset, size, phase, .. } = record.body else {
            return;
        };
        let now = SimTime::from_ns(record.header.ts_ns);
        let workload = workload as usize;
        match phase {
            Phase::Issue => {
                let Some(known) = scenario.workloads.get(workload) else { return };
                let place = known.clients.iter().position(|at| *at == HostId(client));
                issued_at.insert(record.header.breadcrumb, now);
                if let Some(place) = place {
                    let (offset, size) = (Bytes(offset), size as u32);
                    streams[workload][place].push(Recorded { issued: now, offset, size, op });
                }
            }
            Phase::Complete => {
                let Some(issued) = issued_at.remove(&record.header.breadcrumb) else { return };
                if now >= from
                    && now <= until
                    && let Some(responses) = responses.get_mut(workload)
                {
                    responses.push((now - issued).as_ns());
                }
            }
        }
    })?;
    let streams = streams.into_iter().map(|clients| clients.into_iter().map(Arc::from).collect());
    Ok((streams.collect(), responses))
}
