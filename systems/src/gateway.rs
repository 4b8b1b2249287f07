//! Gateways: hosts that serve clients' requests for whole objects, as clients of the storage servers (RADOS
//! Gateway, RGW).
//!
//! A volume with a bucket index is accessed through gateways. A client sends its request to a gateway, for a
//! write together with the data. For the gateway, this is a job of some steps. Each step is a request to the storage
//! servers:
//!
//! - An object is a *head*, at most as long as an object of the storage servers, and a *tail*, which is the rest.
//! - A read reads the head, then the tail. Then the client gets all data.
//! - A write writes the tail; then it announces the object in the bucket index; then it writes the head, which makes the
//!   object visible. Then the client has its answer, and the gateway completes or cancels the entry of the index. No
//!   client waits for that.
//! - The index is spread over some objects of its own volume, the *shards*. An entry is a short write at the beginning of
//!   its shard, because the store of an OSD has it in its tables and their log.
//!
//! Sources: Ceph's `RGWRados::Object::Write::_do_write_meta`, `RGWRados::Bucket::UpdateIndex` (`prepare`,
//! `complete`), `AtomicObjectProcessor`, and `doc/dev/radosgw/bucket_index.rst`. Nelson 2023, *Ceph Reef Freeze Part 2:
//! RGW Performance*, counts the exchanges of a write: two that it waits for, and one more. The size of an entry is
//! assumed.
//!
//! Left out: a gateway has all data before it passes them on, while RGW streams; the limits of a gateway's threads and
//! of the data that it reads ahead (`rgw_get_obj_window_size`); lists of buckets, deletions, garbage collection,
//! resharding, multipart uploads, logs for other sites, users' quotas, caches of bucket metadata that are not filled.

use foretell_algorithms::mix::mix;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{BucketIndex, Cost, CpuProfile, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan};

use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::{Hosts, Then};
use crate::protocol::{Core, Protocol};
use crate::request::{Done, Issue};

/// Bytes that an entry of the index takes in a write. Assumed: name, size, owner, times and tag take some hundred bytes.
const ENTRY: Bytes = Bytes(512);

/// The gateways of a cluster.
pub(crate) struct Gateways {
    hosts: Vec<HostId>,
    read: Cost,
    write: Cost,
    /// By volume.
    buckets: Vec<Option<Bucket>>,
    /// Whether servers keep each object as one of its own. If not, objects of clients share those of the servers.
    own_objects: bool,
    jobs: Slab<Job>,
    /// Number of outstanding requests to storage servers.
    requests: u64,
}

/// A volume that clients access through gateways.
struct Bucket {
    index: BucketIndex,
    /// Bytes from the beginning of a shard to that of the next.
    apart: Bytes,
    /// Maximum length of a head.
    head: Bytes,
}

/// What a gateway does for a request of a client.
struct Job {
    /// The request.
    request: u32,
    /// The exchange with its client.
    exchange: u32,
    step: Step,
    has_failed: bool,
    /// Whether the client has its answer.
    is_answered: bool,
    /// Whether the gateway is completing or cancelling its entry in the index.
    updates: bool,
}

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Begin,
    Tail,
    Announce,
    Head,
    Complete,
}

impl Gateways {
    /// The gateways of a scenario, if any volume is accessed through them.
    pub(crate) fn of(scenario: &Scenario) -> Option<Box<Self>> {
        let gateway = scenario.system.traits().gateway()?;
        let buckets = scenario.volumes.iter().map(|volume| {
            let index = volume.bucket_index?;
            Some(Bucket { index, apart: scenario.volume(index.volume).group, head: volume.group })
        });
        Some(Box::new(Self {
            hosts: gateway.hosts.clone(),
            read: gateway.read,
            write: gateway.write,
            buckets: buckets.collect(),
            own_objects: scenario.outages.is_none(),
            jobs: Slab::new(),
            requests: 0,
        }))
    }

    /// Number of outstanding requests to storage servers.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Whether clients access a volume through gateways.
    pub(crate) fn serves(&self, volume: u32) -> bool {
        self.bucket(volume).is_some()
    }

    fn bucket(&self, volume: u32) -> Option<&Bucket> {
        self.buckets.get(volume as usize)?.as_ref()
    }

    /// The gateway of an instance of a client.
    fn host_of(&self, instance: u32) -> HostId {
        self.hosts[instance as usize % self.hosts.len()]
    }

    /// The work of a gateway that receives the request of a job, and the part of it that is copying data.
    pub(crate) fn handling(&self, core: &Core, cpu: &CpuProfile, job: u32) -> (SimSpan, SimSpan) {
        let issue = &core.requests[self.jobs[job].request].issue;
        let (carried, work) = match issue.op {
            Op::Read => (Bytes::ZERO, self.read.of(issue.size)),
            Op::Write => (issue.size, self.write.of(issue.size)),
        };
        let copying = cpu.copy.of(carried);
        (cpu.request.of(carried) + copying + work, copying)
    }

    /// The requests to storage servers that a client's request becomes, for engines that skip simulated time.
    pub(crate) fn issues(&self, issue: &Issue) -> impl Iterator<Item = Issue> {
        let steps = match issue.op {
            Op::Read => &[Step::Head, Step::Tail][..],
            Op::Write => &[Step::Tail, Step::Announce, Step::Head],
        };
        let size = |step: &&Step| **step != Step::Tail || self.has_tail(issue);
        steps.iter().filter(size).filter_map(|step| self.issue(issue, *step))
    }

    fn has_tail(&self, issue: &Issue) -> bool {
        self.bucket(issue.volume).is_some_and(|bucket| issue.size > bucket.head)
    }

    /// The request to storage servers in a step.
    fn issue(&self, issue: &Issue, step: Step) -> Option<Issue> {
        let bucket = self.bucket(issue.volume)?;
        let client = self.host_of(issue.instance);
        let head = issue.size.min(bucket.head);
        Some(match step {
            Step::Begin => return None,
            Step::Head => Issue { client, size: head, whole: self.own_objects, ..*issue },
            Step::Tail => Issue {
                client,
                offset: issue.offset + head,
                size: issue.size - head,
                whole: false,
                ..*issue
            },
            Step::Announce | Step::Complete => {
                // as names of objects are hashed
                let hash = mix(issue.offset.get());
                let shard = hash % u64::from(bucket.index.shards);
                Issue {
                    client,
                    volume: bucket.index.volume.0,
                    op: Op::Write,
                    offset: bucket.apart * shard,
                    size: ENTRY,
                    whole: false,
                    ..*issue
                }
            }
        })
    }

    /// The step of a job that follows; `None`: the client gets its answer.
    fn step_after(&self, step: Step, issue: &Issue) -> Option<Step> {
        let has_tail = self.has_tail(issue);
        match (issue.op, step) {
            (Op::Read, Step::Begin) | (Op::Write, Step::Announce) => Some(Step::Head),
            (Op::Read, Step::Head) | (Op::Write, Step::Begin) if has_tail => Some(Step::Tail),
            (Op::Write, Step::Begin | Step::Tail) => Some(Step::Announce),
            _ => None,
        }
    }
}

impl Protocol {
    /// A client sends a request to its gateway.
    pub(crate) fn ask_gateway<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        let Self { core, gateways, .. } = self;
        let gateways = gateways.as_mut().expect("the volume has one");
        let Issue { client, instance, op, size, breadcrumb, workload, .. } =
            core.requests[request].issue;
        let gateway = gateways.host_of(instance);
        let (step, has_failed, is_answered) = (Step::Begin, false, false);
        let job = Job { request, exchange: 0, step, has_failed, is_answered, updates: false };
        let job = gateways.jobs.insert(job);
        let data = if op == Op::Write { size } else { Bytes::ZERO };
        let exchange = Exchange::new(
            Purpose::Gateway(job),
            Asks::Application,
            (core.machines[client.index()], gateway),
            data,
            (breadcrumb, workload),
        );
        let exchange = core.exchanges.insert(exchange);
        gateways.jobs[job].exchange = exchange;
        hosts.note_part(&core.requests[request], op, gateway, 1);
        core.send(hosts, exchange);
    }

    /// A gateway goes on with a job: it begins the next step, or answers the client.
    pub(crate) fn gateway_goes_on<H: Hosts>(&mut self, hosts: &mut H, number: u32) {
        let Self { core, gateways, .. } = self;
        let gateways = gateways.as_mut().expect("it has a job");
        let Job { request, exchange, step, has_failed, .. } = gateways.jobs[number];
        let issue = core.requests[request].issue;
        let next = gateways.step_after(step, &issue).filter(|_| !has_failed);
        if let Some(next) = next {
            return self.begin_step(hosts, number, next, &issue);
        }
        let updates = issue.op == Op::Write && step == Step::Head;
        gateways.jobs[number].updates = updates;
        let data = if issue.op == Op::Read && !has_failed { issue.size } else { Bytes::ZERO };
        core.answer(hosts, exchange, data);
        if updates {
            self.begin_step(hosts, number, Step::Complete, &issue);
        }
    }

    fn begin_step<H: Hosts>(&mut self, hosts: &mut H, number: u32, step: Step, issue: &Issue) {
        let gateways = self.gateways.as_mut().expect("it has a job");
        gateways.jobs[number].step = step;
        gateways.requests += 1;
        let issue = gateways.issue(issue, step).expect("steps of jobs ask storage servers");
        let is_of_index = matches!(step, Step::Announce | Step::Complete);
        // like a journal, the index is never read
        let (id, span) = self.insert(hosts, issue, is_of_index);
        self.core.requests[id].job = Some(number);
        self.core.compute_request(hosts, id, span, Then::Prepared { request: id });
    }

    /// Storage servers have carried out a step of a job.
    pub(crate) fn step_done<H: Hosts>(&mut self, hosts: &mut H, job: u32, done: &Done) {
        let gateways = self.gateways.as_mut().expect("it has a job");
        gateways.requests -= 1;
        let one = &mut gateways.jobs[job];
        if one.step == Step::Complete {
            one.updates = false;
            return self.end_job(job);
        }
        one.has_failed = done.failed;
        self.gateway_goes_on(hosts, job);
    }

    /// A client has the answer of a gateway.
    pub(crate) fn gateway_answered<H: Hosts>(&mut self, hosts: &mut H, exchange: u32, job: u32) {
        self.core.exchanges.remove(exchange);
        let one = &mut self.gateways.as_mut().expect("it has a job").jobs[job];
        one.is_answered = true;
        let (request, has_failed) = (one.request, one.has_failed);
        if has_failed {
            self.core.end(request, true);
        } else {
            self.core.complete(hosts, request);
        }
        self.end_job(job);
    }

    /// Removes a job if its client has the answer and its entry in the index is complete.
    fn end_job(&mut self, number: u32) {
        let jobs = &mut self.gateways.as_mut().expect("it has a job").jobs;
        if jobs[number].is_answered && !jobs[number].updates {
            jobs.remove(number);
        }
    }
}
