//! Workloads in operation: when each client issues which request.

use foretell_scenarios::model::{self, Arrivals, Scenario, WorkloadKind};
use foretell_units::{Bytes, HostId, SimSpan, SimTime, Stream, VolumeId, WorkloadId};
use foretell_workloads::altered::Altered;
use foretell_workloads::arrivals::{
    ArrivalError, Bursty, Gaps, OpenLoop, RequestRate, SpeedUp, Think,
};
use foretell_workloads::file_server::FileServer;
use foretell_workloads::generate::{Ffsb, GenerateError, Iozone, Oltp, Pattern, Postmark, Ssio};
use foretell_workloads::source::{Beyond, Generated, Replay, Source, SourceError};
use foretell_workloads::trace::{ReadOptions, TraceReader, UnknownFormat};
use foretell_workloads::transaction::{TransactionStep, Transactions};
use foretell_workloads::{Access, Request};

use crate::cluster::Cluster;
use crate::error::SimError;
use crate::event::Event;
use crate::program::{Process, Programs, is_program};
use crate::transaction::NO_TRANSACTION;

/// A run ends if more requests than this are outstanding, of all workloads together: they take about 2 GB of
/// memory.
const MAX_OUTSTANDING: usize = 4 << 20;

/// A workload on one client.
pub(crate) struct Instance {
    pub(crate) workload: WorkloadId,
    pub(crate) client: HostId,
    pub(crate) volume: VolumeId,
    pub(crate) issued: u64,
    /// Trace time of the last request that it issued.
    pub(crate) reached: Option<SimTime>,
    /// The workload's name, for errors.
    name: String,
    pub(crate) load: Load,
    pub(crate) pace: Pace,
    /// Requests that it may still issue; `None` means no limit.
    left: Option<u64>,
    /// Whether it will issue no more requests.
    done: bool,
    /// Requests, or transactions, that are outstanding, and those held back by a rate.
    pub(crate) outstanding: u32,
    /// The process that it belongs to, for a program.
    pub(crate) process: Option<Box<Process>>,
    thinking: Stream,
    /// Random stream for the choice of the fragments that its reads ask for.
    pub(crate) choosing: Stream,
}

/// The load that an instance issues.
pub(crate) enum Load {
    /// Requests that do not wait for each other.
    Requests(Box<dyn Source>),
    /// Transactions, as lists of steps.
    Transactions(Box<dyn Transactions>),
}

/// When an instance issues.
pub(crate) enum Pace {
    /// After completions.
    Closed { outstanding: u32, think: Think },
    /// At times of its own.
    Open(Gaps),
    /// At the times of a trace; nothing else of the trace is used.
    Times { trace: Box<TraceReader>, speed_up: SpeedUp },
    /// At the times of its trace; `next` is the next request.
    Trace { speed_up: SpeedUp, next: Option<Request> },
}

impl Instance {
    /// All instances of a scenario, workload by workload, client by client.
    pub(crate) fn of_scenario(scenario: &Scenario) -> Result<(Vec<Self>, Programs), SimError> {
        let mut instances = Vec::new();
        let mut programs = Programs::default();
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let id = WorkloadId::from(index);
            for (position, &client) in workload.clients.iter().enumerate() {
                if is_program(workload) {
                    instances.extend(programs.processes(scenario, id, client)?);
                } else {
                    instances.push(Self::new(scenario, id, workload, client, position)?);
                }
            }
        }
        Ok((instances, programs))
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
        let pace = pace(workload, &stream)?;
        let load = load(scenario, workload, position, &stream)?;
        if let (Load::Requests(_), WorkloadKind::Trace { path, .. }, Pace::Trace { .. }) =
            (&load, &workload.kind, &pace)
            && !has_times(workload, path)?
        {
            let error = SourceError::NoTimes { trace: path.display().to_string() };
            return Err(SimError::Source { workload: workload.name.clone(), error });
        }
        Ok(Self {
            workload: id,
            client,
            volume: workload.volume,
            issued: 0,
            reached: None,
            name: workload.name.clone(),
            load,
            pace,
            left: match workload.kind {
                WorkloadKind::Oltp { transactions, .. } => transactions,
                WorkloadKind::Ffsb { operations, .. } => operations,
                _ => workload.requests,
            },
            done: false,
            outstanding: 0,
            process: None,
            thinking: stream("think"),
            choosing: stream("fragments"),
        })
    }

    /// One process of a program.
    pub(crate) fn process(
        id: WorkloadId,
        workload: &model::Workload,
        client: HostId,
        load: Load,
        pace: Pace,
        process: Process,
        stream: &impl Fn(&str) -> Stream,
    ) -> Self {
        Self {
            workload: id,
            client,
            volume: workload.volume,
            issued: 0,
            reached: None,
            name: workload.name.clone(),
            load,
            pace,
            left: None,
            done: false,
            outstanding: 0,
            process: Some(Box::new(process)),
            thinking: stream("think"),
            choosing: stream("fragments"),
        }
    }

    /// Whether it issues transactions, rather than separate requests.
    pub(crate) fn has_transactions(&self) -> bool {
        matches!(self.load, Load::Transactions(_))
    }

    /// Whether it will issue no more requests.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Uses one of the requests that it may still issue. Returns whether there was one.
    fn take_one(&mut self) -> bool {
        match &mut self.left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    fn next(&mut self) -> Result<Option<Request>, SimError> {
        if !self.take_one() {
            return Ok(None);
        }
        let Load::Requests(source) = &mut self.load else {
            unreachable!("transactions are begun, not issued")
        };
        source
            .next_request()
            .map_err(|error| SimError::Source { workload: self.name.clone(), error })
    }

    /// The kind of the transaction drawn last.
    pub(crate) fn transaction_kind(&self) -> usize {
        match &self.load {
            Load::Transactions(source) => source.kind(),
            Load::Requests(_) => 0,
        }
    }

    /// Fills in the steps of the next transaction. Returns whether there is one.
    pub(crate) fn next_transaction(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        if self.done || !self.take_one() {
            return false;
        }
        let Load::Transactions(source) = &mut self.load else {
            unreachable!("requests are issued, not begun")
        };
        source.next(steps)
    }
}

pub(crate) fn impossible(workload: &model::Workload, reason: &dyn std::fmt::Display) -> SimError {
    SimError::Impossible {
        what: format!("workload `{}`", workload.name),
        reason: reason.to_string(),
    }
}

/// Options for reading a workload's trace.
fn read_options(workload: &model::Workload) -> Result<ReadOptions, SimError> {
    let WorkloadKind::Trace { format, block, device, blkparse_action, skip_bad, .. } =
        &workload.kind
    else {
        return Ok(ReadOptions::default());
    };
    let format = format.as_deref().map(str::parse).transpose();
    let format = format.map_err(|error: UnknownFormat| impossible(workload, &error))?;
    let (block, device, skip_bad) = (*block, device.clone(), *skip_bad);
    Ok(ReadOptions { format, block, device, blkparse_action: *blkparse_action, skip_bad })
}

fn has_times(workload: &model::Workload, path: &std::path::Path) -> Result<bool, SimError> {
    let failed = |error| SimError::Source { workload: workload.name.clone(), error };
    let trace = TraceReader::open(path, &read_options(workload)?);
    trace.map(|trace| trace.has_times()).map_err(|error| failed(error.into()))
}

/// The pace of an instance of a workload.
fn pace(workload: &model::Workload, stream: &impl Fn(&str) -> Stream) -> Result<Pace, SimError> {
    let wrong = |error: ArrivalError| impossible(workload, &error);
    let rate = |rps| RequestRate::per_s(rps).map_err(wrong);
    let open = |arrivals: OpenLoop| Pace::Open(arrivals.gaps(stream("arrivals")));
    Ok(match &workload.arrivals {
        Arrivals::Closed { outstanding, think } => Pace::Closed {
            outstanding: *outstanding,
            think: match *think {
                model::Think::Fixed(span) if span.is_zero() => Think::None,
                model::Think::Fixed(span) => Think::Fixed(span),
                model::Think::Exponential(mean) => Think::Exponential(mean),
            },
        },
        Arrivals::Poisson { rate_rps } => open(OpenLoop::Poisson(rate(*rate_rps)?)),
        Arrivals::Deterministic { rate_rps } => open(OpenLoop::Deterministic(rate(*rate_rps)?)),
        Arrivals::Bursty { quiet_rps, quiet, burst_rps, burst } => {
            let bursty = Bursty::new(*quiet_rps, *quiet, *burst_rps, *burst).map_err(wrong)?;
            open(OpenLoop::Bursty(bursty))
        }
        Arrivals::Times { speed_up } => {
            let path = workload.times.as_ref().expect("the scenario was checked");
            let failed = |error| SimError::Source { workload: workload.name.clone(), error };
            let trace = TraceReader::open(path, &ReadOptions::default())
                .map_err(|error| failed(error.into()))?;
            if !trace.has_times() {
                return Err(failed(SourceError::NoTimes { trace: path.display().to_string() }));
            }
            Pace::Times { trace: Box::new(trace), speed_up: SpeedUp::by(*speed_up).map_err(wrong)? }
        }
        Arrivals::Trace { speed_up } => {
            Pace::Trace { speed_up: SpeedUp::by(*speed_up).map_err(wrong)?, next: None }
        }
    })
}

/// The load of an instance of a workload; `position`: of its client among the workload's clients.
fn load(
    scenario: &Scenario,
    workload: &model::Workload,
    position: usize,
    stream: &impl Fn(&str) -> Stream,
) -> Result<Load, SimError> {
    let volume = scenario.volume(workload.volume).size;
    let wrong = |error: GenerateError| impossible(workload, &error);
    // the unshared data of instances lie side by side
    let own = |footprint: Bytes| Bytes(footprint.get().saturating_mul(position as u64));
    let served = |inner: Box<dyn Transactions>, cache: Option<Bytes>| {
        Load::Transactions(match cache {
            Some(cache) => Box::new(FileServer::new(inner, cache)),
            None => inner,
        })
    };
    Ok(match &workload.kind {
        WorkloadKind::Ssio { read_share, pattern, access, working_set } => {
            let mut ssio = Ssio::new(*read_share, self::pattern(*pattern));
            ssio.access = *access;
            ssio.working_set = Some(*working_set);
            let generator = ssio.over(volume, stream("requests")).map_err(wrong)?;
            // sequential streams of different clients begin in different places
            let blocks = working_set.get() / access.get();
            let skip = position as u64 * blocks / workload.clients.len() as u64;
            Load::Requests(Box::new(Generated::endless(generator.starting_at(skip))))
        }
        WorkloadKind::Recorded => {
            let reason = "only its records are known: `foretell ask` can predict it";
            return Err(impossible(workload, &reason));
        }
        WorkloadKind::Fio { .. } | WorkloadKind::Cosbench { .. } => unreachable!("it is a program"),
        WorkloadKind::Trace { path, wrap, read_share, access, .. } => {
            let beyond = if *wrap { Beyond::Wrap } else { Beyond::Refuse };
            let replay = Replay::open(path, &read_options(workload)?, volume, beyond)
                .map_err(|error| SimError::Source { workload: workload.name.clone(), error })?;
            if read_share.is_none() && access.is_none() {
                return Ok(Load::Requests(Box::new(replay)));
            }
            let mut altered = Altered::of(replay, volume);
            if let Some(share) = read_share {
                altered = altered.reading(*share, stream("reads"));
            }
            if let Some(access) = access {
                altered = altered.of_size(*access);
            }
            Load::Requests(Box::new(altered))
        }
        WorkloadKind::Oltp { database, record, records, pattern, server_cache, .. } => {
            let (pattern, records) = (self::pattern(*pattern), *records);
            let oltp = Oltp { database: *database, record: *record, records, pattern };
            let oltp = oltp.over(volume, stream("requests")).map_err(wrong)?;
            served(Box::new(oltp), *server_cache)
        }
        WorkloadKind::Postmark {
            files,
            transactions,
            subdirectories,
            smallest,
            largest,
            read_share,
            create_share,
            server_cache,
        } => {
            let postmark = Postmark {
                files: *files,
                transactions: *transactions,
                subdirectories: *subdirectories,
                smallest: *smallest,
                largest: *largest,
                read_share: *read_share,
                create_share: *create_share,
                ..Postmark::default()
            };
            let base = own(postmark.footprint());
            let postmark = postmark.over(volume, base, stream("requests")).map_err(wrong)?;
            served(Box::new(postmark), *server_cache)
        }
        WorkloadKind::Iozone { file, record, passes, server_cache } => {
            let iozone = Iozone { file: *file, record: *record, passes: *passes };
            let iozone = iozone.over(volume, own(*file)).map_err(wrong)?;
            served(Box::new(iozone), *server_cache)
        }
        WorkloadKind::Ffsb {
            read_share,
            file_set,
            file,
            request,
            sub_requests,
            sequential,
            ..
        } => {
            let ffsb = Ffsb {
                file_set: *file_set,
                file: *file,
                request: *request,
                sub_requests: *sub_requests,
                sequential: *sequential,
                read_share: *read_share,
            };
            let ffsb = ffsb.over(volume, own(*file_set), stream("requests")).map_err(wrong)?;
            Load::Transactions(Box::new(ffsb))
        }
    })
}

/// Operations with which an instance of a transactional workload warms up; `position`: of its client
/// among the workload's. They come from a random stream of their own.
pub(crate) fn warming(
    scenario: &Scenario,
    workload: usize,
    position: usize,
) -> Result<Box<dyn Transactions>, SimError> {
    let workload = &scenario.workloads[workload];
    let client = &scenario.host(workload.clients[position]).name;
    let stream = |what: &str| {
        scenario.seed.stream(&format!("workload/{}/{client}/warming/{what}", workload.name))
    };
    match load(scenario, workload, position, &stream)? {
        Load::Transactions(operations) => Ok(operations),
        Load::Requests(_) => unreachable!("its requests make transactions"),
    }
}

/// The first requests of a client.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The requests.
    pub requests: Vec<Request>,
    /// Number of transactions that they belong to; `None` if the client thinks, and waits for its next arrival, after
    /// each request.
    pub transactions: Option<usize>,
}

/// The first requests, at most `most`, that each client of a workload would issue. Those of a trace
/// have its times, with the workload's speed-up.
///
/// Returns an error if the workload cannot be simulated.
pub fn drawn_requests(
    scenario: &Scenario,
    workload: usize,
    most: usize,
) -> Result<Vec<Drawn>, SimError> {
    let id = WorkloadId::from(workload);
    let workload = &scenario.workloads[workload];
    let mut clients = Vec::new();
    for (position, &client) in workload.clients.iter().enumerate() {
        let mut processes = if is_program(workload) {
            Programs::default().processes(scenario, id, client)?
        } else {
            vec![Instance::new(scenario, id, workload, client, position)?]
        };
        // for a program: the requests of its first process
        let instance = &mut processes[0];
        let mut drawn = Vec::new();
        if instance.has_transactions() {
            let (mut steps, mut transactions) = (Vec::new(), 0);
            while drawn.len() < most && instance.next_transaction(&mut steps) {
                transactions += 1;
                let accesses = steps.drain(..).filter_map(|step| match step {
                    TransactionStep::Io(access) => Some(Request { at: None, access }),
                    TransactionStep::Cached(_) => None,
                });
                drawn.extend(accesses.take(most - drawn.len()));
            }
            clients.push(Drawn { requests: drawn, transactions: Some(transactions) });
            continue;
        }
        while drawn.len() < most {
            let Some(mut request) = instance.next()? else { break };
            request.at = match &instance.pace {
                Pace::Trace { speed_up, .. } => request.at.map(|at| speed_up.replayed(at)),
                Pace::Closed { .. } | Pace::Open(_) | Pace::Times { .. } => None,
            };
            drawn.push(request);
        }
        clients.push(Drawn { requests: drawn, transactions: None });
    }
    Ok(clients)
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
    /// Schedules the first requests of an instance.
    pub(crate) fn begin(&mut self, id: u32) {
        if self.instances[id as usize].process.is_none() {
            self.begin_at(id, SimTime::ZERO);
        }
    }

    /// Schedules the first requests of an instance. Those of a closed loop come at `begun`, plus the
    /// rest of the think time in which each thread is found at that moment.
    pub(crate) fn begin_at(&mut self, id: u32, begun: SimTime) {
        let issue = Event::Issue { instance: id };
        match &mut self.instances[id as usize].pace {
            Pace::Closed { outstanding, think } => {
                let (outstanding, think) = (*outstanding, *think);
                let instance = &mut self.instances[id as usize];
                for _ in 0..outstanding {
                    // programs begin at their own time; other threads are found thinking
                    let lead = match think {
                        _ if instance.process.is_some() => SimSpan::ZERO,
                        Think::None => SimSpan::ZERO,
                        Think::Fixed(span) => instance.thinking.part_of(span),
                        Think::Exponential(mean) => instance.thinking.exponential(mean),
                    };
                    self.engine.agenda.schedule(begun + lead, issue);
                }
            }
            Pace::Open(_) | Pace::Times { .. } => self.schedule_arrival(id),
            Pace::Trace { .. } => self.schedule_from_trace(id),
        }
    }

    /// An instance issues its next request, or begins its next transaction, if it has one.
    pub(crate) fn issue(&mut self, id: u32) {
        if self.protocol.requests().len() + self.transactions.len() >= MAX_OUTSTANDING {
            let instance = &mut self.instances[id as usize];
            let requests = self.protocol.requests();
            let (outstanding, at) = (requests.len(), self.engine.agenda.now() - SimTime::ZERO);
            let waits = |request: &&foretell_systems::Request| {
                request.is_of_client() && request.is_below_min_size
            };
            let below_min_size = requests.places().filter(waits).count();
            let workload = instance.name.clone();
            let overload = SimError::Overload { outstanding, at, below_min_size, workload };
            self.engine.failure.get_or_insert(overload);
            return;
        }
        let issued = if self.instances[id as usize].has_transactions() {
            self.begin_transaction(id)
        } else {
            self.issue_request(id)
        };
        if !issued {
            return;
        }
        self.instances[id as usize].outstanding += 1;
        match &mut self.instances[id as usize].pace {
            Pace::Closed { .. } => {}
            Pace::Open(_) | Pace::Times { .. } => self.schedule_arrival(id),
            Pace::Trace { .. } => self.schedule_from_trace(id),
        }
    }

    /// Issues the next request. Returns whether there was one.
    fn issue_request(&mut self, id: u32) -> bool {
        let instance = &mut self.instances[id as usize];
        let waiting = match &mut instance.pace {
            _ if instance.process.is_some() => {
                self.pull_process(id).map(|access| Request { at: None, access })
            }
            Pace::Trace { next, .. } => next.take(),
            Pace::Closed { .. } | Pace::Open(_) | Pace::Times { .. } => self.pull(id),
        };
        let Some(Request { at, access }) = waiting else { return false };
        let reached = &mut self.instances[id as usize].reached;
        *reached = at.or(*reached);
        let Access { op, offset, size } = access;
        self.start_request(id, op, offset, size, NO_TRANSACTION);
        true
    }

    /// Schedules the next arrival of an open loop.
    fn schedule_arrival(&mut self, id: u32) {
        let now = self.engine.agenda.now();
        let instance = &mut self.instances[id as usize];
        let at = match &mut instance.pace {
            Pace::Open(gaps) => now + gaps.next_interarrival(),
            Pace::Times { trace, speed_up } => match trace.next() {
                Some(Ok(request)) => request.at.map_or(now, |at| speed_up.replayed(at)).max(now),
                None => return self.ends(id),
                Some(Err(error)) => {
                    let workload = instance.name.clone();
                    let error = SimError::Source { workload, error: error.into() };
                    self.engine.failure.get_or_insert(error);
                    return self.ends(id);
                }
            },
            Pace::Closed { .. } | Pace::Trace { .. } => unreachable!("not an open loop"),
        };
        self.engine.agenda.schedule(at, Event::Issue { instance: id });
    }

    fn schedule_from_trace(&mut self, id: u32) {
        let Some(request) = self.pull(id) else { return };
        let now = self.engine.agenda.now();
        let Pace::Trace { speed_up, next } = &mut self.instances[id as usize].pace else {
            unreachable!("only traces have times")
        };
        *next = Some(request);
        let at = request.at.map_or(now, |at| speed_up.replayed(at));
        self.engine.agenda.schedule(at.max(now), Event::Issue { instance: id });
    }

    /// The next request of an instance. If there is none, the instance ends.
    pub(crate) fn pull(&mut self, id: u32) -> Option<Request> {
        let instance = &mut self.instances[id as usize];
        if instance.done {
            return None;
        }
        let next = instance.next().unwrap_or_else(|error| {
            self.engine.failure.get_or_insert(error);
            None
        });
        if next.is_none() {
            self.ends(id);
        }
        next
    }

    /// An instance issues no more requests.
    pub(crate) fn ends(&mut self, id: u32) {
        let instance = &mut self.instances[id as usize];
        if !instance.done {
            instance.done = true;
            self.active -= 1;
            if self.instances[id as usize].outstanding == 0 {
                self.retired(id);
            }
        }
    }

    /// A request or a transaction of an instance has completed.
    pub(crate) fn follow_up(&mut self, id: u32) {
        let instance = &mut self.instances[id as usize];
        instance.outstanding -= 1;
        if instance.done {
            if instance.outstanding == 0 {
                self.retired(id);
            }
            return;
        }
        let Pace::Closed { think, .. } = instance.pace else { return };
        let pauses = instance.process.as_mut().is_none_or(|process| {
            process.completed += 1;
            process.completed.is_multiple_of(process.think_blocks)
        });
        let think = if pauses { think } else { Think::None };
        match think.draw(&mut instance.thinking) {
            SimSpan::ZERO => self.issue(id),
            span => {
                let at = self.engine.agenda.now() + span;
                self.engine.agenda.schedule(at, Event::Issue { instance: id });
            }
        }
    }
}
