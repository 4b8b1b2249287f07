//! Workloads at work: when each client issues what.

use foretell_scenarios::model::{self, Arrivals, Scenario, WorkloadKind};
use foretell_units::{HostId, SimSpan, SimTime, Stream, VolumeId, WorkloadId};
use foretell_workloads::arrivals::{Gaps, OpenLoop, RequestRate, SpeedUp, Think};
use foretell_workloads::generate::{Pattern, Ssio};
use foretell_workloads::source::{Beyond, Generated, Replay, Source, SourceError};
use foretell_workloads::trace::ReadOptions;
use foretell_workloads::{Access, Request};

use crate::cluster::Cluster;
use crate::error::SimError;
use crate::event::Event;

/// Requests outstanding in all, beyond which a run ends: some 2 GB of them.
const MOST_OUTSTANDING: usize = 4 << 20;

/// A workload on one client.
pub(crate) struct Instance {
    pub(crate) workload: WorkloadId,
    pub(crate) client: HostId,
    pub(crate) volume: VolumeId,
    pub(crate) issued: u64,
    /// The workload's, for errors.
    name: String,
    source: Box<dyn Source>,
    pace: Pace,
    /// Requests that it may still issue; `None`: no end.
    left: Option<u64>,
    /// Whether it will issue no more.
    done: bool,
    thinking: Stream,
    choosing: Stream,
}

/// When an instance issues.
enum Pace {
    /// After completions.
    Closed { outstanding: u32, think: Think },
    /// At times of its own.
    Open(Gaps),
    /// At the times of its trace; the next request waits here.
    Trace { speed_up: SpeedUp, next: Option<Access> },
}

impl Instance {
    /// All instances of a scenario, workload by workload, client by client.
    pub(crate) fn of_scenario(scenario: &Scenario) -> Result<Vec<Self>, SimError> {
        let mut instances = Vec::new();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let id = WorkloadId::from(index);
            for (position, &client) in workload.clients.iter().enumerate() {
                instances.push(Self::new(scenario, id, workload, client, position)?);
            }
        }
        Ok(instances)
    }

    fn new(
        scenario: &Scenario,
        id: WorkloadId,
        workload: &model::Workload,
        client: HostId,
        position: usize,
    ) -> Result<Self, SimError> {
        let stream = |what: &str| {
            let client = &scenario.host(client).name;
            scenario.seed.stream(&format!("workload/{}/{client}/{what}", workload.name))
        };
        let impossible = |reason: String| SimError::Impossible {
            what: format!("workload `{}`", workload.name),
            reason,
        };
        let volume = scenario.volume(workload.volume).size;
        let rate = |rps| RequestRate::per_s(rps).map_err(|error| impossible(error.to_string()));
        let pace = match workload.arrivals {
            Arrivals::Closed { outstanding, think } => Pace::Closed {
                outstanding,
                think: match think {
                    model::Think::Fixed(span) if span.is_zero() => Think::None,
                    model::Think::Fixed(span) => Think::Fixed(span),
                    model::Think::Exponential(mean) => Think::Exponential(mean),
                },
            },
            Arrivals::Poisson { rate_rps } => {
                Pace::Open(OpenLoop::Poisson(rate(rate_rps)?).gaps(stream("arrivals")))
            }
            Arrivals::Trace { speed_up } => Pace::Trace {
                speed_up: SpeedUp::by(speed_up).map_err(|error| impossible(error.to_string()))?,
                next: None,
            },
        };
        let source: Box<dyn Source> = match &workload.kind {
            WorkloadKind::Ssio { read_share, pattern, access, working_set } => {
                let (read_share, pattern) = (*read_share, self::pattern(*pattern));
                let mut ssio = Ssio::new(read_share, pattern);
                ssio.access = *access;
                ssio.working_set = Some(*working_set);
                let generator = ssio
                    .over(volume, stream("requests"))
                    .map_err(|error| impossible(error.to_string()))?;
                // sequential streams of several clients begin in different places
                let blocks = working_set.get() / access.get();
                let skip = position as u64 * blocks / workload.clients.len() as u64;
                Box::new(Generated::endless(generator.starting_at(skip)))
            }
            WorkloadKind::Trace { path, format, wrap, block } => {
                let format = match format {
                    None => None,
                    Some(name) => Some(name.parse().map_err(
                        |error: foretell_workloads::trace::UnknownFormat| {
                            impossible(error.to_string())
                        },
                    )?),
                };
                let options = ReadOptions { format, block: *block, ..ReadOptions::default() };
                let beyond = if *wrap { Beyond::Wrap } else { Beyond::Refuse };
                let replay = Replay::open(path, &options, volume, beyond)
                    .map_err(|error| SimError::Source { workload: workload.name.clone(), error })?;
                if matches!(pace, Pace::Trace { .. }) && !replay.trace().has_times() {
                    let error = SourceError::NoTimes { trace: path.display().to_string() };
                    return Err(SimError::Source { workload: workload.name.clone(), error });
                }
                Box::new(replay)
            }
        };
        Ok(Self {
            workload: id,
            client,
            volume: workload.volume,
            issued: 0,
            name: workload.name.clone(),
            source,
            pace,
            left: workload.requests,
            done: false,
            thinking: stream("think"),
            choosing: stream("fragments"),
        })
    }

    /// Moves m fragments chosen at random to the front.
    pub(crate) fn choose(&mut self, fragments: &mut [u8], m: usize) {
        for place in 0..m {
            let rest = (fragments.len() - place) as u64;
            fragments.swap(place, place + self.choosing.below(rest) as usize);
        }
    }

    fn next(&mut self) -> Result<Option<Request>, SimError> {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return Ok(None);
            }
            *left -= 1;
        }
        self.source
            .next_request()
            .map_err(|error| SimError::Source { workload: self.name.clone(), error })
    }
}

fn pattern(pattern: model::Pattern) -> Pattern {
    match pattern {
        model::Pattern::Sequential => Pattern::Sequential,
        model::Pattern::Random => Pattern::Random,
        model::Pattern::Zipf { alpha } => Pattern::Zipf { alpha },
        model::Pattern::Strided { step } => Pattern::Strided { step },
        model::Pattern::HotCold { fraction, share } => Pattern::HotCold { fraction, share },
    }
}

impl Cluster {
    /// An instance puts its first requests on the agenda.
    pub(crate) fn begin(&mut self, id: u32) {
        let issue = Event::Issue { instance: id };
        match &mut self.instances[id as usize].pace {
            Pace::Closed { outstanding, .. } => {
                for _ in 0..*outstanding {
                    self.agenda.schedule(SimTime::ZERO, issue);
                }
            }
            Pace::Open(gaps) => {
                let at = SimTime::ZERO + gaps.next_interarrival();
                self.agenda.schedule(at, issue);
            }
            Pace::Trace { .. } => self.schedule_from_trace(id),
        }
    }

    /// An instance issues its next request, if it has one.
    pub(crate) fn issue(&mut self, id: u32) {
        let waiting = match &mut self.instances[id as usize].pace {
            Pace::Trace { next, .. } => next.take(),
            Pace::Closed { .. } | Pace::Open(_) => self.pull(id).map(|request| request.access),
        };
        let Some(Access { op, offset, size }) = waiting else { return };
        if self.requests.len() >= MOST_OUTSTANDING {
            let instance = &mut self.instances[id as usize];
            let (outstanding, at) = (self.requests.len(), self.agenda.now() - SimTime::ZERO);
            let workload = instance.name.clone();
            self.failure.get_or_insert(SimError::Overload { outstanding, at, workload });
            return;
        }
        self.start_request(id, op, offset, size);
        match &mut self.instances[id as usize].pace {
            Pace::Closed { .. } => {}
            Pace::Open(gaps) => {
                let at = self.agenda.now() + gaps.next_interarrival();
                self.agenda.schedule(at, Event::Issue { instance: id });
            }
            Pace::Trace { .. } => self.schedule_from_trace(id),
        }
    }

    fn schedule_from_trace(&mut self, id: u32) {
        let Some(request) = self.pull(id) else { return };
        let now = self.agenda.now();
        let Pace::Trace { speed_up, next } = &mut self.instances[id as usize].pace else {
            unreachable!("only traces have times")
        };
        *next = Some(request.access);
        let at = request.at.map_or(now, |at| speed_up.replayed(at));
        self.agenda.schedule(at.max(now), Event::Issue { instance: id });
    }

    /// The next request of an instance; afterwards it is done if there was none.
    fn pull(&mut self, id: u32) -> Option<Request> {
        let instance = &mut self.instances[id as usize];
        if instance.done {
            return None;
        }
        let next = instance.next().unwrap_or_else(|error| {
            self.failure.get_or_insert(error);
            None
        });
        if next.is_none() {
            instance.done = true;
            self.active -= 1;
        }
        next
    }

    /// A request of an instance has completed.
    pub(crate) fn follow_up(&mut self, id: u32) {
        let instance = &mut self.instances[id as usize];
        let Pace::Closed { think, .. } = instance.pace else { return };
        if instance.done {
            return;
        }
        match think.draw(&mut instance.thinking) {
            SimSpan::ZERO => self.issue(id),
            span => {
                let at = self.agenda.now() + span;
                self.agenda.schedule(at, Event::Issue { instance: id });
            }
        }
    }
}
