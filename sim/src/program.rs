//! Workloads that are programs: jobs and workers with a beginning, an end and stages, as in fio's
//! job files and COSBench's workloads.
//!
//! An instance is one process (of a fio job, or a COSBench worker). The processes of a stage begin
//! together, when all processes of the stage before have ended and none of their requests is
//! outstanding. Operations are counted by job and kind, from the end of the process's ramp-up.

use std::collections::VecDeque;
use std::sync::Arc;

use foretell_input::Limit;
use foretell_scenarios::model::{self, Scenario, WorkloadKind};
use foretell_units::{Bytes, HostId, SimSpan, SimTime, WorkloadId};
use foretell_workloads::Access;
use foretell_workloads::arrivals::Think;
use foretell_workloads::cosbench;
use foretell_workloads::fio::{Job, JobFile, JobRequests};

use crate::cluster::Cluster;
use crate::error::SimError;
use crate::event::Event;
use crate::load::{Instance, Load, Pace, impossible};
use crate::tally::OpTally;

/// Most processes of one workload on one client: each is an instance.
const MAX_PROCESSES: usize = 1 << 16;

/// The data that make an instance a process of a program.
pub(crate) struct Process {
    /// The program: a workload on a client.
    pub(crate) program: u32,
    pub(crate) stage: u32,
    /// Index of its first tally; those of its other kinds of operation follow.
    pub(crate) job: u32,
    pub(crate) start_delay: SimSpan,
    pub(crate) runtime: Option<SimSpan>,
    pub(crate) ramp: SimSpan,
    pub(crate) limits: Limits,
    /// Number of completions between two pauses.
    pub(crate) think_blocks: u64,
    pub(crate) completed: u64,
    /// Time from which on it issues nothing.
    pub(crate) until: Option<SimTime>,
    /// Whether it ended because of that time.
    pub(crate) ran_out: bool,
    /// Requests delayed by its rate limit, with their times.
    pub(crate) delayed: VecDeque<(SimTime, Access)>,
}

/// Rate limits of a process, by direction; it catches up after a delay, as fio does.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Limits {
    pub(crate) bytes_per_s: [Option<f64>; 2],
    pub(crate) requests_per_s: [Option<f64>; 2],
    since: SimTime,
    bytes: [u64; 2],
    requests: [u64; 2],
}

impl Limits {
    /// Counts the next request, `access`, as issued. Returns when it may be issued.
    fn book(&mut self, access: Access) -> SimTime {
        let direction = access.op as usize;
        let by_bytes = self.bytes_per_s[direction].map(|rate| self.bytes[direction] as f64 / rate);
        let by_count =
            self.requests_per_s[direction].map(|rate| self.requests[direction] as f64 / rate);
        self.bytes[direction] += access.size.get();
        self.requests[direction] += 1;
        let seconds = by_bytes.unwrap_or(0.0).max(by_count.unwrap_or(0.0));
        self.since + SimSpan::from_secs_f64(seconds)
    }
}

/// The processes of one workload on one client.
pub(crate) struct Program {
    /// Number of processes that have not ended, by stage.
    left: Vec<u32>,
}

/// The results of one job for one kind of operation.
pub(crate) struct JobTally {
    pub(crate) workload: WorkloadId,
    /// The stage's name, if stages have names.
    pub(crate) stage: String,
    pub(crate) name: String,
    pub(crate) operation: &'static str,
    pub(crate) tally: OpTally,
    /// When counting begins; known once the first of its processes has begun.
    pub(crate) from: Option<SimTime>,
    /// When the last of its processes ended.
    pub(crate) ended: Option<SimTime>,
    /// When the last of its processes issued nothing more. Its last requests may have been done later.
    stopped: Option<SimTime>,
    /// Number of processes that have not ended.
    pub(crate) left: u32,
}

impl JobTally {
    fn new(workload: WorkloadId, stage: &str, name: &str, operation: &'static str) -> Self {
        Self {
            workload,
            stage: stage.to_owned(),
            name: name.to_owned(),
            operation,
            tally: OpTally::new(),
            from: None,
            ended: None,
            stopped: None,
            left: 0,
        }
    }

    /// Measuring restarts.
    pub(crate) fn restart(&mut self, now: SimTime) {
        if self.from.is_some_and(|from| from < now) {
            (self.tally, self.from) = (OpTally::new(), Some(now));
        }
    }

    /// An operation that began at `begun` is complete.
    pub(crate) fn add(&mut self, now: SimTime, begun: SimTime, size: Bytes) {
        if self.from.is_some_and(|from| now >= from) {
            self.tally.add(now - begun, size);
        }
    }

    /// When it issued nothing more, if that was not after `mark`, at which measuring began.
    pub(crate) fn ended_before(&self, mark: SimTime) -> Option<SimTime> {
        self.stopped.filter(|stopped| self.left == 0 && *stopped <= mark)
    }

    /// Length of the counted time in seconds.
    pub(crate) fn seconds(&self, now: SimTime) -> f64 {
        let end = if self.left == 0 { self.ended.unwrap_or(now) } else { now };
        self.from.map_or(0.0, |from| end.saturating_since(from).as_secs_f64())
    }
}

/// Programs under construction.
#[derive(Default)]
pub(crate) struct Programs {
    pub(crate) programs: Vec<Program>,
    pub(crate) jobs: Vec<JobTally>,
}

impl Programs {
    /// The processes on one client of a workload that is a program.
    pub(crate) fn processes(
        &mut self,
        scenario: &Scenario,
        id: WorkloadId,
        client: HostId,
    ) -> Result<Vec<Instance>, SimError> {
        let workload = scenario.workload(id);
        match &workload.kind {
            WorkloadKind::Fio { path } => self.fio(scenario, id, client, path),
            WorkloadKind::Cosbench { path } => self.cosbench(scenario, id, client, path),
            _ => unreachable!("`{}` is not a program", workload.name),
        }
    }

    /// The tallies of one job, which all clients share: one for each kind of operation.
    fn tallies(
        &mut self,
        id: WorkloadId,
        stage: &str,
        name: &str,
        operations: &[&'static str],
        processes: u32,
    ) -> u32 {
        let known = self
            .jobs
            .iter()
            .position(|job| job.workload == id && job.stage == stage && job.name == name);
        let first = known.unwrap_or_else(|| {
            for operation in operations {
                self.jobs.push(JobTally::new(id, stage, name, operation));
            }
            self.jobs.len() - operations.len()
        });
        for job in &mut self.jobs[first..first + operations.len()] {
            job.left += processes;
        }
        first as u32
    }

    /// The processes of a fio job file.
    fn fio(
        &mut self,
        scenario: &Scenario,
        id: WorkloadId,
        client: HostId,
        path: &std::path::Path,
    ) -> Result<Vec<Instance>, SimError> {
        let workload = scenario.workload(id);
        let volume = scenario.volume(workload.volume).size;
        let wrong = |error: &dyn std::fmt::Display| impossible(workload, error);
        let text = foretell_input::text(path, Limit::JOBS).map_err(|error| {
            wrong(&format!("cannot read the job file `{}`: {error}", path.display()))
        })?;
        let file = JobFile::parse(&text).map_err(|error| wrong(&error))?;
        let files = Files::of(&file.jobs, volume).map_err(|error| wrong(&error))?;
        let program = self.programs.len() as u32;
        let mut left = vec![0];
        let mut instances = Vec::new();
        for (number, job) in file.jobs.iter().enumerate() {
            if job.stonewall && number > 0 {
                left.push(0);
            }
            let stage = left.len() as u32 - 1;
            // two sections may have the same name
            let twins = file.jobs[..number].iter().filter(|other| other.name == job.name).count();
            let name =
                if twins == 0 { job.name.clone() } else { format!("{}#{}", job.name, twins + 1) };
            let tally = self.tallies(id, "", &name, &["read", "write"], job.numjobs);
            for copy in 0..job.numjobs {
                left[stage as usize] += 1;
                if instances.len() >= MAX_PROCESSES {
                    return Err(wrong(&format!("it has more than {MAX_PROCESSES} processes")));
                }
                let host = &scenario.host(client).name;
                let stream = |what: &str| {
                    let owner = format!("workload/{}/{host}/{name}.{copy}/{what}", workload.name);
                    scenario.seed.stream(&owner)
                };
                let (base, span) = files.part(number, job, copy);
                let requests = JobRequests::new(job, base, span, stream("requests"))
                    .map_err(|error| wrong(&format!("job `{}`: {error}", job.name)))?;
                let pace = Pace::Closed {
                    outstanding: job.iodepth,
                    think: if job.think.is_zero() { Think::None } else { Think::Fixed(job.think) },
                };
                let limits = Limits {
                    bytes_per_s: job.rate,
                    requests_per_s: job.rate_iops,
                    ..Limits::default()
                };
                let process = Process {
                    program,
                    stage,
                    job: tally,
                    start_delay: job.start_delay,
                    runtime: job.runtime.map(|runtime| runtime + job.ramp_time),
                    ramp: job.ramp_time,
                    limits,
                    think_blocks: job.think_blocks,
                    completed: 0,
                    until: None,
                    ran_out: false,
                    delayed: VecDeque::new(),
                };
                let load = Load::Requests(Box::new(requests));
                instances
                    .push(Instance::process(id, workload, client, load, pace, process, &stream));
            }
        }
        self.programs.push(Program { left });
        Ok(instances)
    }
}

impl Programs {
    /// The workers of a COSBench workload. All clients use the same containers.
    fn cosbench(
        &mut self,
        scenario: &Scenario,
        id: WorkloadId,
        client: HostId,
        path: &std::path::Path,
    ) -> Result<Vec<Instance>, SimError> {
        let workload = scenario.workload(id);
        let volume = scenario.volume(workload.volume);
        let (has_gateways, volume) = (volume.bucket_index.is_some(), volume.size);
        let wrong = |error: &dyn std::fmt::Display| impossible(workload, error);
        let text = foretell_input::text(path, Limit::JOBS).map_err(|error| {
            wrong(&format!("cannot read the workload file `{}`: {error}", path.display()))
        })?;
        let file = cosbench::Workload::parse(&text).map_err(|error| wrong(&error))?;
        let mut draw = scenario.seed.stream(&format!("workload/{}/objects", workload.name));
        let layout = file.layout(volume, draw.bits()).map_err(|needed| {
            wrong(&format!("its objects need {needed}, but the volume has {volume}"))
        })?;
        if has_gateways && file.lists() {
            return Err(wrong(
                &"it lists containers, which gateways cannot do yet; leave `list` out",
            ));
        }
        let layout = if has_gateways { layout.with_one_request_for_each_object() } else { layout };
        let layout = Arc::new(layout);
        let program = self.programs.len() as u32;
        let (mut left, mut instances) = (Vec::new(), Vec::new());
        let mut pause = SimSpan::ZERO;
        for stage in file.stages.iter().filter(|stage| !stage.works.is_empty()) {
            let number = left.len() as u32;
            left.push(0);
            for (index, work) in stage.works.iter().enumerate() {
                let twins =
                    stage.works[..index].iter().filter(|other| other.name == work.name).count();
                let name = if twins == 0 {
                    work.name.clone()
                } else {
                    format!("{}#{}", work.name, twins + 1)
                };
                let operations: Vec<&'static str> =
                    work.operations.iter().map(|operation| operation.kind.name()).collect();
                let tally = self.tallies(id, &stage.name, &name, &operations, work.workers);
                for worker in 0..work.workers {
                    left[number as usize] += 1;
                    if instances.len() >= MAX_PROCESSES {
                        return Err(wrong(&format!("it has more than {MAX_PROCESSES} workers")));
                    }
                    let host = &scenario.host(client).name;
                    let stream = |what: &str| {
                        let place = format!("{}/{name}.{worker}", stage.name);
                        let owner = format!("workload/{}/{host}/{place}/{what}", workload.name);
                        scenario.seed.stream(&owner)
                    };
                    let source = cosbench::Worker::new(
                        work,
                        Arc::clone(&layout),
                        worker,
                        stream("requests"),
                    );
                    let process = Process {
                        program,
                        stage: number,
                        job: tally,
                        start_delay: pause,
                        runtime: work.runtime.map(|runtime| runtime + work.ramp_up),
                        ramp: work.ramp_up,
                        limits: Limits::default(),
                        think_blocks: 1,
                        completed: 0,
                        until: None,
                        ran_out: false,
                        delayed: VecDeque::new(),
                    };
                    let pace = Pace::Closed { outstanding: 1, think: Think::None };
                    let load = Load::Transactions(Box::new(source));
                    instances.push(Instance::process(
                        id, workload, client, load, pace, process, &stream,
                    ));
                }
            }
            pause = stage.closure_delay;
        }
        self.programs.push(Program { left });
        Ok(instances)
    }
}

/// Positions on the volume of a job file's files.
struct Files {
    /// By job: start of its file, or of its first process's file; distance between the files of its
    /// processes; size of each.
    places: Vec<(Bytes, Bytes, Bytes)>,
}

impl Files {
    fn of(jobs: &[Job], volume: Bytes) -> Result<Self, String> {
        let mut places = Vec::new();
        let mut named: Vec<(&str, Bytes, Bytes)> = Vec::new();
        let mut next = Bytes::ZERO;
        let alone = jobs.len() == 1;
        let too_large = |job: &Job, end: u64| {
            format!("job `{}` goes up to byte {end}, but the volume has {volume}", job.name)
        };
        for job in jobs {
            let processes = u64::from(job.numjobs);
            let shifted = job.offset_increment.get().saturating_mul(processes - 1);
            let reach = job
                .size
                .map(|size| size.get().saturating_add(job.offset.get()).saturating_add(shifted));
            let known = job.filename.as_deref().and_then(|name| named.iter().find(|n| n.0 == name));
            let (base, apart, extent) = match (known, reach, &job.filename) {
                (Some((_, base, extent)), _, _) => {
                    if reach.is_some_and(|reach| reach > extent.get()) {
                        return Err(format!(
                            "job `{}` uses more of the file `{}` than the job that names it first, \
                             {extent}",
                            job.name,
                            job.filename.as_deref().unwrap_or_default()
                        ));
                    }
                    (*base, Bytes::ZERO, *extent)
                }
                (None, Some(reach), Some(_)) => (next, Bytes::ZERO, Bytes(reach)),
                (None, Some(reach), None) => (next, Bytes(reach), Bytes(reach)),
                // everything that is left: for a named device, or for the only job's file
                (None, None, Some(_)) => (next, Bytes::ZERO, volume.saturating_sub(next)),
                (None, None, None) if alone => {
                    let each = Bytes(volume.get() / processes / 512 * 512);
                    (next, each, each)
                }
                (None, None, None) => {
                    return Err(format!(
                        "job `{}` has neither `size` nor `filename`; with other jobs beside it, it is \
                         not known how much of the volume it uses",
                        job.name
                    ));
                }
            };
            if known.is_none() {
                let copies = if apart == Bytes::ZERO { 1 } else { processes };
                let end = next.get().saturating_add(extent.get().saturating_mul(copies));
                if end > volume.get() {
                    return Err(too_large(job, end));
                }
                next = Bytes(end);
                if let Some(name) = &job.filename {
                    named.push((name, base, extent));
                }
            }
            places.push((base, apart, extent));
        }
        Ok(Self { places })
    }

    /// Start and size of the part that a process of a job uses.
    fn part(&self, number: usize, job: &Job, copy: u32) -> (Bytes, Bytes) {
        let (base, apart, extent) = self.places[number];
        let copy = u64::from(copy);
        let within =
            Bytes(job.offset.get().saturating_add(job.offset_increment.get().saturating_mul(copy)));
        let room = extent.saturating_sub(within);
        let span = job.size.map_or(room, |size| size.min(room));
        (base + apart * copy + within.min(extent), span)
    }
}

impl Cluster {
    /// Begins the processes of each program's first stage.
    pub(crate) fn begin_programs(&mut self) {
        for program in 0..self.programs.programs.len() {
            self.begin_stage(program as u32, 0);
        }
    }

    fn begin_stage(&mut self, program: u32, stage: u32) {
        for id in 0..self.instances.len() {
            let process = self.instances[id].process.as_ref();
            if process.is_some_and(|process| (process.program, process.stage) == (program, stage)) {
                self.begin_process(id as u32);
            }
        }
    }

    fn begin_process(&mut self, id: u32) {
        let mark_at = self.mark_at();
        let process = self.instances[id as usize].process.as_mut().expect("it is a process");
        let begun = self.engine.agenda.now() + process.start_delay;
        process.limits.since = begun;
        process.until = process.runtime.map(|runtime| begun + runtime);
        let from = (begun + process.ramp).max(mark_at);
        let first = process.job as usize;
        for job in self.programs.job_group(first) {
            job.from = Some(job.from.map_or(from, |known| known.min(from)));
        }
        self.begin_at(id, begun);
    }

    /// The next access of a process, if it may issue one now. If its rate limit delays the access,
    /// the result is `None` and the access is scheduled.
    pub(crate) fn pull_process(&mut self, id: u32) -> Option<Access> {
        let now = self.engine.agenda.now();
        let instance = &mut self.instances[id as usize];
        let process = instance.process.as_mut().expect("it is a process");
        if let Some(ready) = process.delayed.iter().position(|(at, _)| *at <= now) {
            let (_, access) = process.delayed.remove(ready).expect("it was found");
            // it is counted again when it is issued
            instance.outstanding -= 1;
            return Some(access);
        }
        if process.until.is_some_and(|until| now >= until) {
            process.ran_out = true;
            self.ends(id);
            return None;
        }
        let access = self.pull(id)?.access;
        let instance = &mut self.instances[id as usize];
        let process = instance.process.as_mut().expect("it is a process");
        let at = process.limits.book(access);
        if at <= now {
            return Some(access);
        }
        if process.until.is_some_and(|until| at >= until) {
            process.ran_out = true;
            self.ends(id);
            return None;
        }
        process.delayed.push_back((at, access));
        instance.outstanding += 1;
        self.engine.agenda.schedule(at, Event::Issue { instance: id });
        None
    }

    /// Whether a process has time for another transaction. If not, it ends.
    pub(crate) fn process_goes_on(&mut self, id: u32) -> bool {
        let now = self.engine.agenda.now();
        let Some(process) = &mut self.instances[id as usize].process else { return true };
        if process.until.is_none_or(|until| now < until) {
            return true;
        }
        process.ran_out = true;
        self.ends(id);
        false
    }

    /// Counts a completed operation of an instance in the tally of its job.
    pub(crate) fn count_for_job(&mut self, id: u32, kind: usize, begun: SimTime, size: Bytes) {
        if let Some(process) = &self.instances[id as usize].process {
            let now = self.engine.agenda.now();
            self.programs.jobs[process.job as usize + kind].add(now, begun, size);
        }
    }

    /// A process has ended, and none of its requests is outstanding.
    pub(crate) fn retired(&mut self, id: u32) {
        let now = self.engine.agenda.now();
        let Some(process) = &self.instances[id as usize].process else { return };
        let (program, stage, first) = (process.program, process.stage, process.job as usize);
        // a runtime counts in full, even if the last request was done before its end
        let stopped = process.until.filter(|_| process.ran_out).unwrap_or(now);
        let end = stopped.max(now);
        for job in self.programs.job_group(first) {
            job.left -= 1;
            job.ended = job.ended.max(Some(end));
            job.stopped = job.stopped.max(Some(stopped));
        }
        let left = &mut self.programs.programs[program as usize].left;
        left[stage as usize] -= 1;
        if left[stage as usize] == 0 && (stage as usize) + 1 < left.len() {
            self.begin_stage(program, stage + 1);
        }
    }
}

impl Programs {
    /// The tallies of the job whose first tally is `first`.
    fn job_group(&mut self, first: usize) -> impl Iterator<Item = &mut JobTally> {
        let (workload, stage, name) = {
            let job = &self.jobs[first];
            (job.workload, job.stage.clone(), job.name.clone())
        };
        self.jobs[first..].iter_mut().take_while(move |job| {
            job.workload == workload && job.stage == stage && job.name == name
        })
    }
}

/// Whether a workload is a program.
pub(crate) fn is_program(workload: &model::Workload) -> bool {
    matches!(workload.kind, WorkloadKind::Fio { .. } | WorkloadKind::Cosbench { .. })
}
