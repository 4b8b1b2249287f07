//! The jobs of a run on a simulated device. Each slot of a job submits a request, waits for it, pauses, and
//! submits the next.
//!
//! A process that flushes after a number of writes waits for its requests, flushes the device, and goes on.

use foretell_algorithms::io_scheduler::Io;
use foretell_scenarios::device::{Curves, Device as Profile};
use foretell_scenarios::model::{Disk, Scheduler};
use foretell_sim::agenda::Agenda;
use foretell_sim::device::{Device, Flushes};
use foretell_units::{Bytes, Op, SECTOR_BYTES, Sectors, Seed, SimSpan, SimTime};
use foretell_workloads::fio::{Job, JobRequests, SizeMix};
use foretell_workloads::source::Source;

use crate::error::Error;

/// Minimum number of requests of each job that are counted.
const COUNTED: u64 = 8_000;
/// Maximum number of requests of a run.
const MAX_REQUESTS: u64 = 2_000_000;

/// A job and its pause between requests.
#[derive(Clone, Copy, Debug)]
pub(super) struct Driven<'a> {
    pub(super) job: &'a Job,
    /// Pause between a completion and the next submission.
    pub(super) gap: SimSpan,
    /// Number of writes after which a process flushes the device.
    pub(super) writes_per_flush: Option<u32>,
}

/// What a job achieved on the device.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Achieved {
    /// Requests a second, by [`Op`].
    pub iops: [f64; 2],
    /// Mean latency, by [`Op`]; NaN without requests.
    pub latency_ns: [f64; 2],
    /// Flushes a second.
    pub flushes_per_s: f64,
    /// Mean latency of a flush; NaN without flushes.
    pub flush_ns: f64,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A slot submits.
    Submit(u32),
    /// The device wants to be called.
    Call,
}

/// One of a process's outstanding requests.
struct Slot {
    job: usize,
    process: usize,
    op: Op,
    since: SimTime,
}

/// A process of a job.
struct Process {
    requests: JobRequests,
    /// Its requests in the device.
    present: u32,
    /// Its writes since the last flush.
    unflushed: u32,
    /// It is flushing until then.
    flushed_at: SimTime,
    /// Slots that wait for the flush.
    waiting: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    requests: u64,
    latency_ns: u64,
}

/// Runs the jobs at the same time. Returns what each achieved.
///
/// The jobs flush the device as they say; its writes do not wait for flushes of their own.
pub(super) fn run(device: &Curves, jobs: &[Driven<'_>]) -> Result<Vec<Achieved>, Error> {
    let mut flushes = Flushes::new(device.flush);
    let device = &Curves { flush: SimSpan::ZERO, ..device.clone() };
    let disk = Disk {
        device_name: "calibrated".to_owned(),
        device: Profile::Curves(device.clone()),
        scheduler: Scheduler::Fcfs,
        class: None,
        db: None,
        wal: None,
    };
    let mut device: Device<u32> = Device::new(&disk);
    let (mut slots, mut processes) = begin(jobs, disk.device.capacity())?;
    let mut agenda = Agenda::new();
    for slot in 0..slots.len() {
        agenda.schedule(SimTime::ZERO, Event::Submit(slot as u32));
    }
    // by then all slots are in use, and each has completed a few requests
    let warm = 4 * slots.len() as u64;
    let mut counts = vec![[Count::default(); 2]; jobs.len()];
    let mut flush_counts = vec![Count::default(); jobs.len()];
    let (mut done, mut from) = (0, SimTime::ZERO);
    while let Some(event) = agenda.next() {
        let now = agenda.now();
        let call = match event {
            Event::Submit(number) => {
                let slot = &mut slots[number as usize];
                let process = &mut processes[slot.process];
                if now < process.flushed_at {
                    agenda.schedule(process.flushed_at, event);
                    continue;
                }
                let due = jobs[slot.job].writes_per_flush;
                if due.is_some_and(|writes| process.unflushed >= writes) {
                    process.waiting.push(number);
                    if process.present == 0 {
                        let at = flushes.durable_at(now);
                        (process.unflushed, process.flushed_at) = (0, at);
                        for slot in process.waiting.drain(..) {
                            agenda.schedule(at, Event::Submit(slot));
                        }
                        if done >= warm {
                            let count = &mut flush_counts[slot.job];
                            count.requests += 1;
                            count.latency_ns += (at - now).as_ns();
                        }
                    }
                    continue;
                }
                let next = process.requests.next_request();
                let Ok(Some(request)) = next else { unreachable!("a job here has no end") };
                (slot.op, slot.since) = (request.access.op, now);
                process.present += 1;
                process.unflushed += u32::from(slot.op == Op::Write);
                let lbn = Sectors(request.access.offset.get() / SECTOR_BYTES);
                let sectors = Sectors(request.access.size.get().div_ceil(SECTOR_BYTES));
                let thread = slot.process as u64;
                device.submit(now, Io { lbn, sectors, op: slot.op, thread, tag: number })
            }
            Event::Call => {
                let completion = device.complete(now);
                if let Some(completed) = completion.done {
                    let slot = &slots[completed.io.tag as usize];
                    processes[slot.process].present -= 1;
                    if done >= warm {
                        let count = &mut counts[slot.job][slot.op as usize];
                        count.requests += 1;
                        count.latency_ns += (now - slot.since).as_ns();
                    }
                    done += 1;
                    if done == warm {
                        from = now;
                    }
                    let again = now + jobs[slot.job].gap;
                    agenda.schedule(again, Event::Submit(completed.io.tag));
                }
                completion.next
            }
        };
        if let Some(at) = call {
            agenda.schedule(at, Event::Call);
        }
        let enough = |of: &[Count; 2]| of[0].requests + of[1].requests >= COUNTED;
        if done >= warm + MAX_REQUESTS || (done % 256 == 0 && counts.iter().all(enough)) {
            break;
        }
    }
    let seconds = (agenda.now() - from).as_secs_f64();
    let per_s = |count: Count| count.requests as f64 / seconds;
    let mean_ns = |count: Count| count.latency_ns as f64 / count.requests as f64;
    let achieved = |(of, flushed): (&[Count; 2], &Count)| Achieved {
        iops: of.map(per_s),
        latency_ns: of.map(mean_ns),
        flushes_per_s: per_s(*flushed),
        flush_ns: mean_ns(*flushed),
    };
    Ok(counts.iter().zip(&flush_counts).map(achieved).collect())
}

/// The slots and the processes of the jobs before their first request.
fn begin(jobs: &[Driven<'_>], capacity: Bytes) -> Result<(Vec<Slot>, Vec<Process>), Error> {
    let (mut slots, mut processes) = (Vec::new(), Vec::new());
    for (number, driven) in jobs.iter().enumerate() {
        for _ in 0..driven.job.numjobs {
            let process = processes.len();
            processes.push(Process {
                requests: requests(driven.job, capacity, process)?,
                present: 0,
                unflushed: 0,
                flushed_at: SimTime::ZERO,
                waiting: Vec::new(),
            });
            slots.extend((0..driven.job.iodepth).map(|_| Slot {
                job: number,
                process,
                op: Op::Read,
                since: SimTime::ZERO,
            }));
        }
    }
    Ok((slots, processes))
}

/// The requests of a process; its files lie one after the other as far as there is room.
fn requests(job: &Job, capacity: Bytes, process: usize) -> Result<JobRequests, Error> {
    let largest = job.sizes.iter().map(SizeMix::largest).max().unwrap_or(Bytes::ZERO);
    let span = job.size.unwrap_or(capacity).min(capacity).max(largest);
    let fitting = (capacity.get() / span.get()).max(1);
    let base = span * (process as u64 % fitting);
    let stream = Seed(1).stream(&format!("calibrate/process{process}"));
    JobRequests::new(job, base, span, stream).map_err(|error| Error::Invalid(error.to_string()))
}
