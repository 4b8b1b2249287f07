//! The recorded requests, by workload and client.

use std::sync::Arc;

use foretell_ati::{Body, Phase, RecordKind, RunDb};
use foretell_scenarios::model::Scenario;
use foretell_units::{Bytes, HostId, Op, SimSpan, SimTime};

use crate::error::WhatIfError;

/// A request as its client issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recorded {
    pub(crate) issued: SimTime,
    pub(crate) offset: Bytes,
    pub(crate) size: u32,
    pub(crate) op: Op,
}

/// What the clients of a workload saw in the measured time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) completed: u64,
    /// Sum of the response times of those.
    pub(crate) response: SimSpan,
}

/// Requests by workload and position of the client, and what was seen of each workload.
type Found = (Vec<Vec<Arc<[Recorded]>>>, Vec<Seen>);

pub(super) fn read(
    run: &RunDb,
    scenario: &Scenario,
    duration: SimSpan,
) -> Result<Found, WhatIfError> {
    let mut streams: Vec<Vec<Vec<Recorded>>> =
        scenario.workloads.iter().map(|w| vec![Vec::new(); w.clients.len()]).collect();
    let mut seen = vec![Seen::default(); scenario.workloads.len()];
    let from = SimTime::ZERO + scenario.warmup;
    let until = from + duration;
    // when each request was issued, by its breadcrumb, which count from 1
    let mut issued_at: Vec<u64> = Vec::new();
    run.scan(RecordKind::Request, |record| {
        let Body::Request { workload, client, op, offset, size, phase, .. } = record.body else {
            return;
        };
        let now = SimTime::from_ns(record.header.ts_ns);
        let index = record.header.breadcrumb.0 as usize;
        let workload = workload as usize;
        match phase {
            Phase::Issue => {
                if index >= issued_at.len() {
                    issued_at.resize(index + 1, u64::MAX);
                }
                issued_at[index] = now.as_ns();
                let Some(known) = scenario.workloads.get(workload) else { return };
                let place = known.clients.iter().position(|at| *at == HostId(client));
                if let Some(place) = place {
                    let (offset, size) = (Bytes(offset), size as u32);
                    streams[workload][place].push(Recorded { issued: now, offset, size, op });
                }
            }
            Phase::Complete => {
                let issued = issued_at.get(index).copied().unwrap_or(u64::MAX);
                if issued == u64::MAX || now < from || now > until {
                    return;
                }
                if let Some(seen) = seen.get_mut(workload) {
                    seen.completed += 1;
                    seen.response += now - SimTime::from_ns(issued);
                }
            }
        }
    })?;
    let streams = streams.into_iter().map(|clients| clients.into_iter().map(Arc::from).collect());
    Ok((streams.collect(), seen))
}
