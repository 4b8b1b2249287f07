//! A workload on one client: its requests and their times.

use foretell_algorithms::bursts::{Bursts, Phase};
use foretell_scenarios::model::{Arrivals, Think};
use foretell_systems::process::transaction_thread;
use foretell_systems::{Continuation, Issue};
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime, Stream};

use super::agenda::Event;
use super::stream::{NextRequest, Requests};
use super::{Material, Replay, SEED};
use crate::observed::Recorded;

/// The sum of more think times than this hardly differs from its mean.
const MANY_THINKS: f64 = 1000.0;

/// A workload on one client, or one of its threads.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) workload: u32,
    pub(super) client: u32,
    pub(super) volume: u32,
    /// Whether each request is one object, whatever its size.
    whole: bool,
    requests: Requests,
    pace: Pace,
    /// Mean number of think times after a completion.
    thinks: f64,
    left: Option<u64>,
    done: bool,
    /// Of arrivals in bursts that are drawn.
    phase: Option<Phase>,
    stream: Stream,
    pub(super) choosing: Stream,
    /// Number of requests that it issued in the last detailed stretch.
    pub(super) issued: u64,
}

/// The progress of an instance.
#[derive(Clone, Debug)]
pub(super) struct Position {
    requests: Requests,
    left: Option<u64>,
    stream: Stream,
    choosing: Stream,
}

/// The arrival process of an instance.
#[derive(Clone, Copy, Debug)]
enum Pace {
    /// After completions.
    Closed { outstanding: u32, think: Think },
    /// At the recorded times, stretched from `origin` on. After the last one, with these gaps; if `None`, no
    /// further requests are issued.
    Recorded { stretch: f64, origin: SimTime, then: Option<Gaps> },
    /// With drawn gaps.
    Drawn(Gaps),
}

/// Gaps of an open loop.
#[derive(Clone, Copy, Debug)]
enum Gaps {
    /// Random, with this mean.
    Poisson(SimSpan),
    /// All of this length.
    Regular(SimSpan),
    /// In bursts.
    Bursty(Bursts),
}

impl Gaps {
    /// The gaps of open arrivals, if each arrival issues this number of requests; `None` if arrivals have no law.
    fn of(arrivals: Arrivals, per_transaction: f64) -> Option<Self> {
        // transactions arrive; their requests are spread evenly
        let mean = |rate_rps: f64| SimSpan::from_secs_f64(1.0 / (rate_rps * per_transaction));
        match arrivals {
            Arrivals::Poisson { rate_rps } => Some(Self::Poisson(mean(rate_rps))),
            Arrivals::Deterministic { rate_rps } => Some(Self::Regular(mean(rate_rps))),
            Arrivals::Bursty { quiet_rps, quiet, burst_rps, burst } => {
                let rates_per_s = [quiet_rps, burst_rps].map(|rate| rate * per_transaction);
                Some(Self::Bursty(Bursts { rates_per_s, lasting: [quiet, burst] }))
            }
            Arrivals::Closed { .. } | Arrivals::Trace { .. } | Arrivals::Times { .. } => None,
        }
    }

    /// `phase`: the state of bursts, which begin when it is `None`.
    fn next(self, phase: &mut Option<Phase>, stream: &mut Stream) -> SimSpan {
        match self {
            Self::Poisson(mean) => stream.exponential(mean),
            Self::Regular(gap) => gap,
            Self::Bursty(bursts) => {
                let phase = phase.get_or_insert_with(|| Phase::start(bursts, stream));
                SimSpan::from_ns(phase.gap_ns(bursts, stream) as u64)
            }
        }
    }
}

impl Instance {
    /// All instances, workload by workload, client by client, thread by thread.
    pub(super) fn all(material: &Material) -> Vec<Self> {
        let scenario = material.scenario;
        let mut instances = Vec::new();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let known = &material.requests[index];
            let stream = |place: usize, what: &str| {
                let client = &scenario.host(workload.clients[place]).name;
                SEED.stream(&format!("workload/{}/{client}/{what}", workload.name))
            };
            let volume = scenario.volume(workload.volume).size;
            let threads = match workload.arrivals {
                Arrivals::Closed { outstanding, .. } if !known.of_threads.is_empty() => {
                    Some(outstanding)
                }
                _ => None,
            };
            // threads with their own work are instances of their own
            let all: Vec<(usize, u32, Requests)> = if let Some(count) = threads {
                let of_client = |place: usize| {
                    let threads = Requests::of_threads(
                        &workload.name,
                        known,
                        place,
                        count as usize,
                        volume,
                        |thread| stream(place, &format!("thread{thread}/begin")),
                    );
                    (0..count).zip(threads).map(move |(thread, all)| (place, thread, all))
                };
                (0..workload.clients.len()).flat_map(of_client).collect()
            } else {
                let all = Requests::of_clients(
                    &workload.name,
                    known,
                    workload.clients.len(),
                    volume,
                    |place| stream(place, "begin"),
                );
                all.into_iter().enumerate().map(|(place, all)| (place, 0, all)).collect()
            };
            for (place, thread, requests) in all {
                let client = workload.clients[place];
                let stream = |what: &str| match thread {
                    0 => stream(place, what),
                    _ => stream(place, &format!("thread{thread}/{what}")),
                };
                let is_recorded = known.of_clients.get(place).is_some_and(|all| !all.is_empty());
                let open = requests.has_times();
                let stretch = material.stretch[index];
                let gaps = Gaps::of(workload.arrivals, known.per_transaction.unwrap_or(1.0));
                let pace = match (workload.arrivals, gaps) {
                    (Arrivals::Closed { outstanding, think }, _) => {
                        let outstanding = if threads.is_some() { 1 } else { outstanding };
                        Pace::Closed { outstanding, think }
                    }
                    (_, Some(gaps)) if !(open && stretch > 0.0 && is_recorded) => Pace::Drawn(gaps),
                    (_, then) => Pace::Recorded { stretch, origin: SimTime::ZERO, then },
                };
                // a trace has a fixed number of requests; a benchmark may have one, too
                let ends = scenario.duration.is_none()
                    || known.ended
                    || matches!(pace, Pace::Recorded { then: None, .. });
                let recorded = ends.then_some(requests.recorded() as u64);
                instances.push(Self {
                    workload: index as u32,
                    client: client.0,
                    volume: workload.volume.0,
                    whole: known.whole,
                    requests,
                    pace,
                    thinks: known.thinks(),
                    left: workload.requests.into_iter().chain(recorded).min(),
                    done: false,
                    phase: None,
                    stream: stream("requests"),
                    choosing: stream("fragments"),
                    issued: 0,
                });
            }
        }
        instances
    }

    /// Whether it is an open loop.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.pace, Pace::Closed { .. })
    }

    /// The time of its next request in skipped time. A closed loop does not wait for completions then, and
    /// issues `per_s` requests a second.
    pub(super) fn passes_at(&mut self, now: SimTime, per_s: f64) -> Option<SimTime> {
        if self.done || per_s <= 0.0 && !self.is_open() {
            return None;
        }
        if self.is_open() {
            return self.next_at(now);
        }
        Some(now + SimSpan::from_secs_f64(1.0 / per_s))
    }

    /// Leaves out its future requests that were recorded before a time.
    ///
    /// So the requests after this time are the same at any rate, and also in the replay of the recorded run
    /// in the same stretches.
    pub(super) fn leave_out_until(&mut self, time: SimTime) {
        if let Pace::Recorded { origin, .. } = &mut self.pace {
            *origin = time;
        }
        self.leave_out_to(self.requests.recorded_before(time));
    }

    /// Leaves out its future requests before a position in its record.
    pub(super) fn leave_out_to(&mut self, position: usize) {
        let count = self.requests.leave_out_to(position);
        if let Some(left) = &mut self.left {
            *left = left.saturating_sub(count);
        }
    }

    /// Whether its requests are recorded ones that have times.
    pub(super) fn has_times(&self) -> bool {
        self.requests.is_as_recorded() && self.requests.has_times()
    }

    /// Its own record, or the record of the stream that it resembles.
    pub(super) fn record(&self) -> &[Recorded] {
        self.requests.record()
    }

    /// Number of requests that were recorded before a time.
    pub(super) fn recorded_before(&self, time: SimTime) -> usize {
        self.requests.recorded_before(time)
    }

    /// Recorded time of its next request, if it has one.
    pub(super) fn next_recorded(&self) -> Option<SimTime> {
        self.requests.next_issued()
    }

    /// Its progress. `choosing` is the random stream that chooses its fragments.
    pub(super) fn position(&self, choosing: &Stream) -> Position {
        let Self { requests, left, stream, .. } = self;
        let (requests, stream) = (requests.clone(), stream.clone());
        Position { requests, left: *left, stream, choosing: choosing.clone() }
    }

    /// Sets its progress to that of an equal instance. Returns the random stream that chooses fragments.
    pub(super) fn go_to(&mut self, position: &Position) -> Stream {
        let Position { requests, left, stream, choosing } = position.clone();
        (self.requests, self.left, self.stream) = (requests, left, stream);
        choosing
    }

    pub(super) fn pull(&mut self) -> Option<NextRequest> {
        if self.requests.is_empty() {
            return None;
        }
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return None;
            }
            *left -= 1;
        }
        Some(self.requests.next(&mut self.stream))
    }

    /// Draws the time from a completion to the next request: a number of think times, 1 unless its client thinks
    /// after transactions.
    fn think(&mut self) -> SimSpan {
        if self.thinks > MANY_THINKS {
            return self.mean_think();
        }
        let whole = self.thinks.floor();
        let rest = self.thinks - whole;
        let one_more = rest > 0.0 && self.stream.chance(rest);
        let count = whole as u32 + u32::from(one_more);
        (0..count).fold(SimSpan::ZERO, |sum, _| sum + self.think_once())
    }

    fn think_once(&mut self) -> SimSpan {
        match self.pace {
            Pace::Closed { think: Think::Fixed(span), .. } => span,
            Pace::Closed { think: Think::Exponential(mean), .. } => self.stream.exponential(mean),
            _ => SimSpan::ZERO,
        }
    }

    /// Mean time from a completion to the request that follows it.
    pub(super) fn mean_think(&self) -> SimSpan {
        match self.pace {
            Pace::Closed { think, .. } if think.mean().is_zero() => self.requests.mean_pause(),
            Pace::Closed { think, .. } => {
                SimSpan::from_secs_f64(think.mean().as_secs_f64() * self.thinks)
            }
            _ => SimSpan::ZERO,
        }
    }

    /// The time of an open instance's next request.
    fn next_at(&mut self, now: SimTime) -> Option<SimTime> {
        match self.pace {
            Pace::Closed { .. } => None,
            Pace::Drawn(gaps) => Some(now + gaps.next(&mut self.phase, &mut self.stream)),
            Pace::Recorded { stretch, origin, then } => match (self.requests.next_issued(), then) {
                (Some(at), _) => {
                    let after = at.saturating_since(origin).as_ns() as f64 * stretch;
                    Some((origin + SimSpan::from_ns(after.round() as u64)).max(now))
                }
                (None, None) => Some(now),
                (None, Some(gaps)) => Some(now + gaps.next(&mut self.phase, &mut self.stream)),
            },
        }
    }
}

impl Replay<'_> {
    /// Starts an instance.
    pub(super) fn begin(&mut self, id: u32) {
        let event = Event::Issue { instance: id };
        let (begin, now) = (self.engine.now, self.engine.time_of_clients());
        let instance = &mut self.instances[id as usize];
        if let Pace::Closed { outstanding, think } = instance.pace {
            for _ in 0..outstanding {
                // it starts in the middle of its think time
                let lead = match think {
                    Think::Fixed(SimSpan::ZERO) => SimSpan::ZERO,
                    Think::Fixed(span) => instance.stream.part_of(span),
                    Think::Exponential(mean) => instance.stream.exponential(mean),
                };
                self.engine.agenda.schedule(begin + lead, event);
            }
        } else if let Some(at) = instance.next_at(now) {
            self.engine.agenda.schedule(begin + (at - now), event);
        }
    }

    /// Issues an instance's next request, if it has one.
    pub(super) fn issue(&mut self, id: u32) {
        let instance = &mut self.instances[id as usize];
        if instance.done {
            return;
        }
        let Some(request) = instance.pull() else {
            instance.done = true;
            self.active -= 1;
            return;
        };
        self.instances[id as usize].issued += 1;
        let issue = self.request_of(id, request);
        self.so_far[issue.workload as usize].0 += 1;
        if self.measuring.is_some() {
            self.tallies[issue.workload as usize].issued();
        }
        self.protocol.start(&mut self.engine, issue);
        let now = self.engine.time_of_clients();
        if let Some(at) = self.instances[id as usize].next_at(now) {
            let at = self.engine.now + (at - now);
            self.engine.agenda.schedule(at, Event::Issue { instance: id });
        }
    }

    /// Follows up the completion of an instance's request.
    pub(super) fn follow_up(&mut self, id: u32) {
        let instance = &mut self.instances[id as usize];
        let Pace::Closed { think, .. } = instance.pace else { return };
        if instance.done {
            return;
        }
        if !think.mean().is_zero() {
            return match instance.think() {
                SimSpan::ZERO => self.issue(id),
                span => {
                    let at = self.engine.now + span;
                    self.engine.agenda.schedule(at, Event::Issue { instance: id });
                }
            };
        }
        match instance.requests.next_pause() {
            SimSpan::ZERO => self.issue(id),
            pause => self.work_alone(id, pause),
        }
    }

    /// A client's own work between a completion and the request that follows. In the recorded run it took the
    /// time `recorded`, which is assumed to be processor time.
    fn work_alone(&mut self, id: u32, recorded: SimSpan) {
        let Instance { client, workload, .. } = self.instances[id as usize];
        let engine = &mut self.engine;
        let client = engine.machines[client as usize];
        let besides = engine.scenario.host(client).cpu.context_switch;
        let owed = engine.tracking.take_debt(client.0);
        let work = recorded.saturating_sub(besides).max(owed);
        let thread = transaction_thread(id, workload);
        engine.work(client, thread, work, Continuation::Load { number: id });
    }

    /// An instance's request for the protocol.
    pub(super) fn request_of(&self, id: u32, request: NextRequest) -> Issue {
        let Instance { client, workload, volume, whole, .. } = self.instances[id as usize];
        let NextRequest { op, offset, size } = request;
        Issue {
            instance: id,
            workload,
            client: HostId(client),
            volume,
            op,
            offset,
            size,
            breadcrumb: Breadcrumb::NONE,
            owner: id,
            thread: u64::from(id),
            whole,
        }
    }

    /// The request to which a guest's journal writes are charged.
    pub(super) fn journal_of(&self, guest: HostId) -> Issue {
        let of_it = |instance: &Instance| HostId(instance.client) == guest;
        let owner = self.instances.iter().position(of_it).expect("somebody has written");
        let nothing = NextRequest { op: Op::Write, offset: Bytes::ZERO, size: Bytes::ZERO };
        self.request_of(owner as u32, nothing)
    }
}
