//! How much of its trace each workload has replayed.

use std::ops::ControlFlow;

use foretell_scenarios::model::WorkloadKind;
use foretell_units::SimTime;

use crate::cluster::{Cluster, Progress};
use crate::error::SimError;
use crate::load::{Instance, Load, Pace};
use crate::truth::TraceTruth;

/// Requests that are counted between two calls of `watch`.
const REQUESTS_BETWEEN_LOOKS: u64 = 1 << 16;

impl Cluster {
    /// For each workload that replays a trace: how much of it was issued, and how much there is.
    ///
    /// A trace that was cut off and whose extent is unknown is read to its end.
    pub(crate) fn extents(
        &mut self,
        watch: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<Option<TraceTruth>>, SimError> {
        let mut extents = Vec::new();
        for workload in 0..self.scenario.workloads.len() {
            let kind = &self.scenario.workloads[workload].kind;
            let is_trace = matches!(kind, WorkloadKind::Trace { .. });
            extents.push(if is_trace { self.extent(workload, watch)? } else { None });
        }
        Ok(extents)
    }

    fn extent(
        &mut self,
        workload: usize,
        watch: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<TraceTruth>, SimError> {
        let of_it = |instance: &Instance| instance.workload.index() == workload;
        let Some(first) = self.instances.iter().position(of_it) else { return Ok(None) };
        let clients = self.instances.iter().filter(|instance| of_it(instance));
        let (mut copies, mut issued, mut reached) = (0, 0, None);
        for client in clients {
            (copies, issued) = (copies + 1, issued + client.issued);
            reached = reached.max(client.reached);
        }
        let whole = self.whole_trace(first, watch)?;
        let seconds = |at: Option<SimTime>| at.map(SimTime::as_secs_f64);
        Ok(Some(TraceTruth {
            requests: issued,
            requests_total: whole.map(|(requests, _)| requests * copies),
            seconds: seconds(reached),
            seconds_total: whole.and_then(|(_, last)| seconds(last)),
        }))
    }

    /// Number of requests in the trace of an instance, and the time of the last; `None` if the part
    /// that was not replayed cannot be read.
    fn whole_trace(
        &mut self,
        instance: usize,
        watch: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Option<(u64, Option<SimTime>)>, SimError> {
        let replayed = &self.instances[instance];
        let Load::Requests(source) = &replayed.load else { return Ok(None) };
        if let Some(summary) = source.summary() {
            return Ok(Some((summary.requests, summary.last)));
        }
        let (mut requests, mut last) = (replayed.issued, replayed.reached);
        if let Pace::Trace { next: Some(next), .. } = &replayed.pace {
            (requests, last) = (requests + 1, next.at.or(last));
        }
        loop {
            let Load::Requests(source) = &mut self.instances[instance].load else {
                return Ok(None);
            };
            match source.next_request() {
                Ok(Some(request)) => (requests, last) = (requests + 1, request.at.or(last)),
                Ok(None) => return Ok(Some((requests, last))),
                Err(_) => return Ok(None),
            }
            if requests % REQUESTS_BETWEEN_LOOKS == 0 {
                self.look(watch)?;
            }
        }
    }
}
