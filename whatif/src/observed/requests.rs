//! The recorded requests and their response times, by workload and client.

use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::fast::FixedState;
use foretell_ati::{Body, Phase, RecordKind, Records};
use foretell_scenarios::model::{Arrivals, Scenario, Workload};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};
use hashbrown::HashMap;

use super::thinking::{InProgress, thinks_after_each};
use crate::error::WhatIfError;

/// A request as its client issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recorded {
    pub(crate) issued: SimTime,
    /// Time from the completion that this request follows to the issue of the request. It is set if the
    /// client issues requests after completions and its think time is not known. In this time the client
    /// worked on its own, as a file server does on a cache hit.
    pub(crate) pause: SimSpan,
    pub(crate) offset: Bytes,
    pub(crate) size: u32,
    pub(crate) op: Op,
}

impl Recorded {
    /// The byte after its last one.
    pub(crate) fn end(&self) -> u64 {
        self.offset.get() + u64::from(self.size)
    }
}

/// The requests of a workload.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    /// By position of the client.
    pub(crate) of_clients: Vec<Arc<[Recorded]>>,
    pub(crate) sharing: Sharing,
    /// Whether each request is one object, whatever its size.
    pub(crate) whole: bool,
    /// Whether it creates its files before its first request.
    pub(crate) creates: bool,
    /// Whether every client had finished before the records end.
    pub(crate) ended: bool,
    /// Mean number of requests of a transaction, after which a client thinks or waits for its next arrival. It is 1 if
    /// it does so after each request, and less if a guest's cache answers some of them. `None`: the records do not
    /// show it.
    pub(crate) per_transaction: Option<f64>,
    /// By position of the client: the requests of each of its threads. It is empty unless threads have their
    /// own work and something distinguishes them, as the block layer of a guest does.
    pub(crate) of_threads: Vec<Vec<Arc<[Recorded]>>>,
}

impl Streams {
    /// Mean number of think times after a completion.
    pub(crate) fn thinks(&self) -> f64 {
        self.per_transaction.map_or(1.0, f64::recip)
    }

    /// Requests of all clients.
    pub(crate) fn count(&self) -> usize {
        self.of_clients.iter().map(|stream| stream.len()).sum()
    }

    /// Number of requests of all clients that were issued from a time until before another.
    pub(crate) fn issued_between(&self, from: SimTime, until: SimTime) -> usize {
        let before = |stream: &[Recorded], time| stream.partition_point(|one| one.issued < time);
        self.of_clients.iter().map(|stream| before(stream, until) - before(stream, from)).sum()
    }
}

/// Whether each request of this kind of workload is one object. An operator knows this.
pub(crate) fn is_whole(kind: &str) -> bool {
    kind == "cosbench"
}

/// Whether each thread of this kind of workload has its own work. An operator knows this. With other kinds, a
/// thread takes the next request of its process.
pub(super) fn has_threads(kind: &str) -> bool {
    matches!(kind, "ffsb" | "oltp" | "postmark" | "iozone")
}

/// Whether a file of its own, such as a job file of fio, says how many requests this kind of workload has outstanding.
/// The records show how many it had.
pub(super) fn has_own_concurrency(kind: &str) -> bool {
    matches!(kind, "cosbench" | "fio")
}

/// Whether workloads of this kind may end by themselves. An operator knows this.
fn is_finite(kind: &str) -> bool {
    matches!(kind, "oltp" | "postmark" | "iozone")
}

/// A client has ended if it has no request outstanding, and has issued none for this many times its mean gap.
const GAPS_TO_END: u64 = 20;

/// Whether a client without outstanding requests had finished at the `end` of the records.
fn has_ended(requests: &[Recorded], end: SimTime) -> bool {
    let [first, .., last] = requests else { return false };
    let gap = last.issued.saturating_since(first.issued) / (requests.len() as u64 - 1);
    end.saturating_since(last.issued) > gap * GAPS_TO_END
}

/// What the clients of a workload share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sharing {
    /// They choose independently from the same addresses.
    Shared,
    /// Each has its own range of addresses.
    Beside,
    /// They issue the same requests.
    Same,
}

impl Sharing {
    /// How clients of this kind of workload share addresses. An operator knows this from the benchmark's
    /// documentation.
    pub(crate) fn of_kind(kind: &str) -> Self {
        match kind {
            "postmark" | "iozone" | "ffsb" => Self::Beside,
            "trace" => Self::Same,
            _ => Self::Shared,
        }
    }
}

/// A shorter time between two records is only the cost of posting them.
const MIN_PAUSE: SimSpan = SimSpan::from_ns(100);

/// Requests of a workload that completed in the measured time.
#[derive(Clone, Default, Debug)]
pub(super) struct Completed {
    pub(super) responses_ns: Vec<u64>,
    pub(super) reads: u64,
}

/// What the records of requests show, by workload.
pub(super) struct Read {
    pub(super) streams: Vec<Streams>,
    pub(super) completed: Vec<Completed>,
    /// Maximum number of requests that one client had outstanding.
    pub(super) outstanding: Vec<u32>,
}

/// Whether any client of a workload is a guest.
fn is_of_guests(scenario: &Scenario, workload: &Workload) -> bool {
    workload.clients.iter().any(|id| scenario.host(*id).guest.is_some())
}

/// Room for the thread that issued each request, by workload and client; `None` if nothing tells threads apart.
fn issuing_threads(
    scenario: &Scenario,
    kind: impl Fn(&Workload) -> Option<String>,
) -> Vec<Option<Vec<Vec<u32>>>> {
    let room = |w: &Workload| {
        let known = is_of_guests(scenario, w) && kind(w).as_deref().is_some_and(has_threads);
        known.then(|| vec![Vec::new(); w.clients.len()])
    };
    scenario.workloads.iter().map(room).collect()
}

/// `kind`: the kind of a workload, if known.
pub(super) fn read(
    run: &impl Records,
    scenario: &Scenario,
    warmup: SimSpan,
    duration: SimSpan,
    kind: impl Fn(&Workload) -> Option<String>,
) -> Result<Read, WhatIfError> {
    let mut streams: Vec<Vec<Vec<Recorded>>> =
        scenario.workloads.iter().map(|w| vec![Vec::new(); w.clients.len()]).collect();
    let mut completed = vec![Completed::default(); scenario.workloads.len()];
    let mut threads = issuing_threads(scenario, &kind);
    // by workload and client: completions that no request has followed yet
    let mut open: Vec<Vec<VecDeque<SimTime>>> =
        scenario.workloads.iter().map(|w| vec![VecDeque::new(); w.clients.len()]).collect();
    let follows = |w: &Workload| matches!(w.arrivals, Arrivals::Closed { think, .. } if think.mean().is_zero());
    let follows: Vec<bool> = scenario.workloads.iter().map(follows).collect();
    // outstanding requests: time of issue, workload, and position of the client
    let mut under_way: HashMap<Breadcrumb, (SimTime, usize, usize), FixedState> =
        HashMap::default();
    // by workload and client: requests outstanding now, and the most at any time
    let mut at_once: Vec<Vec<(u32, u32)>> =
        scenario.workloads.iter().map(|w| vec![(0, 0); w.clients.len()]).collect();
    let mut fault: Option<Fault> = None;
    let from = SimTime::ZERO + warmup;
    let until = from + duration;
    let mut in_progress = vec![InProgress::new(from, until); scenario.workloads.len()];
    run.scan(RecordKind::Request, |record| {
        let Body::Request { op, offset, size, phase, .. } = record.body else { return };
        if fault.is_some() {
            return;
        }
        let now = SimTime::from_ns(record.header.ts_ns);
        match phase {
            Phase::Issue => {
                let (workload, place) = match issuer(scenario, &record.body) {
                    Ok(issuer) => issuer,
                    Err(wrong) => {
                        fault = Some(wrong);
                        return;
                    }
                };
                let breadcrumb = record.header.breadcrumb;
                if under_way.insert(breadcrumb, (now, workload, place)).is_some() {
                    let value = breadcrumb.0.cast_signed();
                    let wanted = "the number of a request that is not under way";
                    fault = Some(Fault { column: "breadcrumb", value, wanted });
                    return;
                }
                let (offset, size) = (Bytes(offset), size as u32);
                let completed = open[workload][place].pop_front();
                let pause = completed.map_or(SimSpan::ZERO, |at| now.saturating_since(at));
                let pause = if pause < MIN_PAUSE { SimSpan::ZERO } else { pause };
                let recorded = Recorded { issued: now, pause, offset, size, op };
                streams[workload][place].push(recorded);
                in_progress[workload].step(now, true);
                let (count, most) = &mut at_once[workload][place];
                *count += 1;
                *most = (*most).max(*count);
                if let Some(threads) = &mut threads[workload] {
                    threads[place].push(record.header.tid);
                }
            }
            Phase::Complete => {
                let known = under_way.remove(&record.header.breadcrumb);
                let Some((issued, workload, place)) = known else { return };
                if now < issued {
                    let value = record.header.ts_ns.cast_signed();
                    let wanted = "a time after that at which the request was issued";
                    fault = Some(Fault { column: "ts_ns", value, wanted });
                    return;
                }
                in_progress[workload].step(now, false);
                at_once[workload][place].0 -= 1;
                if follows[workload] {
                    open[workload][place].push_back(now);
                }
                if now >= from && now <= until {
                    let completed = &mut completed[workload];
                    completed.responses_ns.push((now - issued).as_ns());
                    completed.reads += u64::from(op == Op::Read);
                }
            }
        }
    })?;
    if let Some(Fault { column, value, wanted }) = fault {
        return Err(run.bad_record(RecordKind::Request, column, value, wanted).into());
    }
    let mut waiting = vec![false; scenario.workloads.len()];
    under_way.values().for_each(|(_, workload, _)| waiting[*workload] = true);
    let streams = scenario.workloads.iter().zip(streams).zip(threads).zip(waiting);
    let counts = in_progress.into_iter().zip(&completed);
    let streams = streams.zip(counts).map(
        |((((workload, clients), threads), waits), (mut progress, done))| {
            let kind = kind(workload);
            let ended = |requests: &Vec<Recorded>| !waits && has_ended(requests, until);
            let threads = threads.unwrap_or_default();
            let mut streams = of_workload(kind.as_deref(), clients, &threads, ended);
            if !thinks_after_each(kind.as_deref(), is_of_guests(scenario, workload)) {
                progress.end(streams.ended);
                streams.per_transaction =
                    progress.per_transaction(workload, kind.as_deref(), done.responses_ns.len());
            }
            streams
        },
    );
    let most = |clients: Vec<(u32, u32)>| clients.into_iter().map(|(_, most)| most).max();
    let outstanding = at_once.into_iter().map(|clients| most(clients).unwrap_or(0));
    Ok(Read { streams: streams.collect(), completed, outstanding: outstanding.collect() })
}

/// The requests of a workload of this kind: those of each client, and the thread of each request.
fn of_workload(
    kind: Option<&str>,
    clients: Vec<Vec<Recorded>>,
    threads: &[Vec<u32>],
    has_ended: impl Fn(&Vec<Recorded>) -> bool,
) -> Streams {
    Streams {
        of_threads: clients.iter().zip(threads).map(|(all, by)| by_thread(all, by)).collect(),
        creates: kind == Some("ffsb"),
        ended: kind.is_some_and(is_finite) && clients.iter().all(has_ended),
        of_clients: clients.into_iter().map(Arc::from).collect(),
        sharing: kind.map_or(Sharing::Shared, Sharing::of_kind),
        whole: kind.is_some_and(is_whole),
        per_transaction: Some(1.0),
    }
}

/// The requests of each thread, in the order of their first requests.
fn by_thread(requests: &[Recorded], threads: &[u32]) -> Vec<Arc<[Recorded]>> {
    let mut places: HashMap<u32, usize, FixedState> = HashMap::default();
    let mut found: Vec<Vec<Recorded>> = Vec::new();
    for (request, thread) in requests.iter().zip(threads) {
        let place = *places.entry(*thread).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(*request);
    }
    found.into_iter().map(Arc::from).collect()
}

/// A value that no run of this configuration could record.
#[derive(Clone, Copy, Debug)]
struct Fault {
    column: &'static str,
    value: i64,
    wanted: &'static str,
}

/// The workload of a request, and the position of its client.
fn issuer(scenario: &Scenario, request: &Body) -> Result<(usize, usize), Fault> {
    let Body::Request { workload, client, file, offset, size, .. } = *request else {
        unreachable!("it is a request")
    };
    let fault =
        |column, value: u64, wanted| Err(Fault { column, value: value.cast_signed(), wanted });
    let Some(known) = scenario.workloads.get(workload as usize) else {
        return fault("workload", workload.into(), "the number of a workload of the configuration");
    };
    let Some(place) = known.clients.iter().position(|at| *at == HostId(client)) else {
        return fault("client", client.into(), "the number of a host that runs the workload");
    };
    if file != known.volume.0 {
        return fault("file", file.into(), "the number of the workload's volume");
    }
    if size == 0 || size > u64::from(u32::MAX) {
        return fault("size", size, "a size from 1 to 2^32 - 1 bytes");
    }
    if offset + size > scenario.volume(known.volume).size.get() {
        return fault("offset", offset, "a place within the volume");
    }
    Ok((workload as usize, place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_ended_that_is_idle_for_many_of_its_gaps() {
        let at = |ms| SimTime::ZERO + SimSpan::from_ms(ms);
        let (pause, offset, size, op) = (SimSpan::ZERO, Bytes::ZERO, 4096, Op::Read);
        let every_10_ms: Vec<Recorded> =
            (0..100).map(|n| Recorded { issued: at(10 * n), pause, offset, size, op }).collect();
        assert!(!has_ended(&every_10_ms, at(1000)), "the next one is due");
        assert!(!has_ended(&every_10_ms, at(1150)));
        assert!(has_ended(&every_10_ms, at(1250)));
        assert!(!has_ended(&every_10_ms[..1], at(5000)), "one request has no gap");
    }
}
