//! Gateways: hosts that serve clients' requests for whole objects, as clients of the storage servers (RADOS
//! Gateway, RGW).
//!
//! Clients reach a volume with a bucket index through gateways. A load balancer gives each request to the next
//! gateway in turn. A client sends a gateway its request, and the data of a write. The gateway carries the request out
//! as a *job*. A job has steps, one after the other. In each step the gateway sends requests to the storage servers.
//!
//! - The storage servers keep an S3 object as one or more objects of their own. The first one is the *head*. The others
//!   are the *rest*.
//! - A read reads the head, then the rest. Then the client gets all data.
//! - A write writes the rest; then it announces the S3 object in the bucket index; then it writes the head, which makes
//!   the S3 object visible. Then the client has its answer, and the gateway completes or cancels the entry of the
//!   index. No client waits for that.
//! - The index is spread over some objects of its own volume, the *index shards*. An entry is a record in the tables of
//!   an OSD, so it is written to the log only. A shard carries out one update at a time, from its execution until all
//!   copies have committed it, because the update both reads and writes it.
//!
//! Sources: Ceph's `RGWRados::Object::Write::_do_write_meta`, `RGWRados::Bucket::UpdateIndex` (`prepare`,
//! `complete`), `AtomicObjectProcessor`, `PrimaryLogPG::get_rw_locks` with the flags of `rgw_bucket_prepare_op`, and
//! `doc/dev/radosgw/bucket_index.rst`. Nelson 2023, *Ceph Reef Freeze Part 2: RGW Performance*, counts the exchanges of a
//! write: two that it waits for, and one more. The size of an entry is assumed.
//!
//! Differs from RGW: A gateway receives all data before it passes any on; RGW streams. A gateway requests the whole rest
//! at once; RGW has at most 16 MiB in flight (`rgw_get_obj_window_size`, `rgw_put_obj_min_window_size`). A write that
//! replaces an S3 object leaves no garbage. Left out: limits of a process's
//! threads; reads of the index, which are in the memory of its OSDs; lists of buckets, deletions, resharding, multipart
//! uploads, logs for other sites, users' quotas, caches of bucket metadata that are not filled.

use std::iter::successors;

use foretell_algorithms::mix::mix;
use foretell_algorithms::slab::Slab;
use foretell_scenarios::model::{BucketIndex, Cost, CpuProfile, Scenario};
use foretell_units::{Bytes, HostId, Op, SimSpan};

use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::{Continuation, Hosts};
use crate::protocol::{Core, Protocol};
use crate::request::{Done, Issue};

/// Bytes that an entry of the index takes in a write. Assumed: name, size, owner, times and tag take some hundred bytes.
const ENTRY_SIZE: Bytes = Bytes(512);

/// The gateways of a cluster.
pub(crate) struct Gateways {
    hosts: Vec<HostId>,
    /// The gateway that gets the next request.
    turn: usize,
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
    shard_stride: Bytes,
    /// Maximum length of a head, and of each object of the rest.
    head: Bytes,
}

/// What a gateway does for a request of a client.
struct Job {
    /// The request.
    request: u32,
    /// The exchange with its client.
    exchange: u32,
    gateway: HostId,
    step: GatewayStep,
    /// Outstanding requests of the step.
    outstanding: u32,
    has_failed: bool,
    /// Whether the client has its answer.
    is_answered: bool,
    /// Whether the gateway is completing or cancelling its entry in the index.
    is_completing_entry: bool,
}

/// A step of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GatewayStep {
    Begin,
    Rest,
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
            let shard_stride = scenario.volume(index.volume).group;
            Some(Bucket { index, shard_stride, head: volume.group })
        });
        Some(Box::new(Self {
            hosts: gateway.hosts.clone(),
            turn: 0,
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

    /// The client's request that waits for a job; `None`: its client has the answer.
    pub(crate) fn waits_for(&self, job: u32) -> Option<u32> {
        let job = &self.jobs[job];
        (!job.is_answered).then_some(job.request)
    }

    /// Whether clients access a volume through gateways.
    pub(crate) fn serves(&self, volume: u32) -> bool {
        self.bucket(volume).is_some()
    }

    fn bucket(&self, volume: u32) -> Option<&Bucket> {
        self.buckets.get(volume as usize)?.as_ref()
    }

    /// The gateway that gets a request.
    fn next_host(&mut self) -> HostId {
        let host = self.hosts[self.turn];
        self.turn = (self.turn + 1) % self.hosts.len();
        host
    }

    /// The work of a gateway that receives the request of a job, and the part of it that is copying data.
    pub(crate) fn handling(&self, core: &Core, cpu: &CpuProfile, job: u32) -> (SimSpan, SimSpan) {
        let issue = &core.requests[self.jobs[job].request].issue;
        let (carried, work) = match issue.op {
            Op::Read => (Bytes::ZERO, self.read.of(issue.size)),
            Op::Write => (issue.size, self.write.of(issue.size)),
        };
        let (receiving, copying) = cpu.receiving(carried);
        (receiving + work, copying)
    }

    /// The requests to storage servers that a client waits for, for engines that skip simulated time.
    pub(crate) fn issues(&self, issue: &Issue) -> impl Iterator<Item = Issue> {
        let first = self.step_after(GatewayStep::Begin, issue);
        let steps = successors(first, |step| self.step_after(*step, issue));
        steps.flat_map(|step| self.issues_of(issue, self.hosts[0], step))
    }

    fn has_rest(&self, issue: &Issue) -> bool {
        self.bucket(issue.volume).is_some_and(|bucket| issue.size > bucket.head)
    }

    /// The requests of a gateway to storage servers in a step.
    fn issues_of(&self, issue: &Issue, gateway: HostId, step: GatewayStep) -> Vec<Issue> {
        let Some(bucket) = self.bucket(issue.volume) else { return Vec::new() };
        let issue = Issue { client: gateway, ..*issue };
        let head = issue.size.min(bucket.head);
        match step {
            GatewayStep::Begin => Vec::new(),
            GatewayStep::Head => vec![Issue { size: head, whole: self.own_objects, ..issue }],
            GatewayStep::Rest if self.own_objects => {
                let piece = |begin: u64| Issue {
                    offset: issue.offset + Bytes(begin),
                    size: bucket.head.min(issue.size - Bytes(begin)),
                    whole: true,
                    ..issue
                };
                let begins = (head.get()..issue.size.get()).step_by(bucket.head.get() as usize);
                begins.map(piece).collect()
            }
            GatewayStep::Rest => {
                let (offset, size) = (issue.offset + head, issue.size - head);
                vec![Issue { offset, size, whole: false, ..issue }]
            }
            GatewayStep::Announce | GatewayStep::Complete => {
                // as names of objects are hashed
                let shard = mix(issue.offset.get()) % u64::from(bucket.index.shards);
                vec![Issue {
                    volume: bucket.index.volume.0,
                    op: Op::Write,
                    offset: bucket.shard_stride * shard,
                    size: ENTRY_SIZE,
                    whole: false,
                    ..issue
                }]
            }
        }
    }

    /// The step of a job that follows; `None`: the client gets its answer.
    fn step_after(&self, step: GatewayStep, issue: &Issue) -> Option<GatewayStep> {
        let has_rest = self.has_rest(issue);
        match (issue.op, step) {
            (Op::Read, GatewayStep::Begin) | (Op::Write, GatewayStep::Announce) => {
                Some(GatewayStep::Head)
            }
            (Op::Read, GatewayStep::Head) | (Op::Write, GatewayStep::Begin) if has_rest => {
                Some(GatewayStep::Rest)
            }
            (Op::Write, GatewayStep::Begin | GatewayStep::Rest) => Some(GatewayStep::Announce),
            _ => None,
        }
    }
}

impl Protocol {
    /// A client sends a request to its gateway.
    pub(crate) fn ask_gateway<H: Hosts>(&mut self, hosts: &mut H, request: u32) {
        let Self { core, gateways, .. } = self;
        let gateways = gateways.as_mut().expect("the volume has one");
        let Issue { client, op, size, breadcrumb, workload, .. } = core.requests[request].issue;
        let gateway = gateways.next_host();
        let job = gateways.jobs.insert(Job {
            request,
            exchange: 0,
            gateway,
            step: GatewayStep::Begin,
            outstanding: 0,
            has_failed: false,
            is_answered: false,
            is_completing_entry: false,
        });
        let data = if op == Op::Write { size } else { Bytes::ZERO };
        let exchange = Exchange::new(
            Purpose::Gateway(job),
            Asks::Application,
            core.machines[client.index()],
            gateway,
            data,
            breadcrumb,
            workload,
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
        let is_completing = issue.op == Op::Write && step == GatewayStep::Head;
        gateways.jobs[number].is_completing_entry = is_completing;
        let data = if issue.op == Op::Read && !has_failed { issue.size } else { Bytes::ZERO };
        core.answer(hosts, exchange, data);
        if is_completing {
            self.begin_step(hosts, number, GatewayStep::Complete, &issue);
        }
    }

    fn begin_step<H: Hosts>(
        &mut self,
        hosts: &mut H,
        number: u32,
        step: GatewayStep,
        issue: &Issue,
    ) {
        let gateways = self.gateways.as_mut().expect("it has a job");
        let job = &gateways.jobs[number];
        // clients give up a time after they issued the request
        let issued = self.core.requests[job.request].issued;
        let all = gateways.issues_of(issue, job.gateway, step);
        let job = &mut gateways.jobs[number];
        (job.step, job.outstanding) = (step, all.len() as u32);
        gateways.requests += all.len() as u64;
        let is_of_index = matches!(step, GatewayStep::Announce | GatewayStep::Complete);
        for issue in all {
            // like a journal, the index is never read
            let (id, span) = self.insert(hosts, issue, is_of_index);
            let request = &mut self.core.requests[id];
            request.job = Some(number);
            if step != GatewayStep::Complete {
                request.issued = issued;
            }
            self.core.compute_request(hosts, id, span, Continuation::Prepared { request: id });
        }
    }

    /// Storage servers have carried out a request of a job.
    pub(crate) fn step_done<H: Hosts>(&mut self, hosts: &mut H, job: u32, done: &Done) {
        let gateways = self.gateways.as_mut().expect("it has a job");
        gateways.requests -= 1;
        let one = &mut gateways.jobs[job];
        one.outstanding -= 1;
        if one.step == GatewayStep::Complete {
            one.is_completing_entry = false;
            return self.end_job(job);
        }
        one.has_failed |= done.failed;
        if one.outstanding == 0 {
            self.gateway_goes_on(hosts, job);
        }
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
        if jobs[number].is_answered && !jobs[number].is_completing_entry {
            jobs.remove(number);
        }
    }
}
