//! Requests of clients: beginning, division into parts, counting of answers, completion.

use foretell_algorithms::node::NO_CLIENT;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime, Thread};

use crate::exchange::Asks;
use crate::failures::BelowMinSize;
use crate::guest::NO_OPERATION;
use crate::hosts::{Continuation, Hosts, Work, WorkKind};
use crate::process::{SERVER, request_thread};
use crate::protocol::Core;

/// A request to be issued by a client.
#[derive(Clone, Copy, Debug)]
pub struct Issue {
    /// A number chosen by the engine. It selects the random stream that chooses fragments.
    pub instance: u32,
    /// The workload.
    pub workload: u32,
    /// The client.
    pub client: HostId,
    /// The volume.
    pub volume: u32,
    /// Direction.
    pub op: Op,
    /// The first byte.
    pub offset: Bytes,
    /// Size in bytes.
    pub size: Bytes,
    /// Its number in the records.
    pub breadcrumb: Breadcrumb,
    /// A number chosen by the engine: the object that waits for the request.
    pub owner: u32,
    /// The thread of the client's application that issues it, for the schedulers of guests.
    pub thread: u64,
    /// Whether it covers one object as a whole, whatever its size.
    pub whole: bool,
}

/// A request that is outstanding.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub struct Request {
    /// The request as issued.
    pub issue: Issue,
    /// Time of issue.
    pub issued: SimTime,
    /// Whether it is outstanding: entries of a table outlive their requests.
    pub live: bool,
    /// Whether it writes what is never read: a guest's journal, or an entry of a bucket index.
    pub is_journal: bool,
    /// Whether a node uses it to rebuild a fragment.
    pub is_repair: bool,
    /// Whether it has waited because too few servers of a group were up: fewer than `min_size` or `min_write`.
    pub is_below_min_size: bool,
    /// The job of a gateway that it is a step of.
    pub(crate) job: Option<u32>,
    pub(crate) stage: Stage,
    /// Number of parts and block operations that are not done.
    pub(crate) parts_left: u32,
    /// Number of data fragments that were not requested, in the part where this number is largest.
    pub(crate) missing: u64,
}

/// The progress of a request, or of a task of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Blocks that a write covers in part are being fetched.
    Fetch,
    /// The request itself is being carried out.
    Transfer,
}

/// The time at which a record of a request is posted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// It is issued.
    Issue,
    /// It is complete.
    Complete,
}

/// A request that has completed.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The request as issued.
    pub issue: Issue,
    /// Time of issue.
    pub issued: SimTime,
    /// Whether it was a guest's write to its journal.
    pub is_journal: bool,
    /// Whether it was given up.
    pub failed: bool,
    /// The job of a gateway that it is a step of.
    pub(crate) job: Option<u32>,
}

impl Request {
    /// Whether a client waits for it.
    pub fn is_of_client(&self) -> bool {
        self.live && !self.is_journal && !self.is_repair && self.job.is_none()
    }

    /// The process that asks storage servers for it.
    pub(crate) fn asks(&self) -> Asks {
        if self.job.is_some() { Asks::Gateway } else { Asks::Application }
    }
}

/// The part of a request that one set of nodes serves.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) request: u32,
    /// Number of answers that it still needs.
    pub(crate) needed: u32,
    /// Number of exchanges in progress.
    pub(crate) outstanding: u32,
    /// The block operation of a guest that it belongs to, or [`NO_OPERATION`].
    pub(crate) operation: u32,
    /// The blocks that it touches.
    pub(crate) first_block: u64,
    pub(crate) blocks: u64,
}

/// The effect of an answer on the request that waits for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answered {
    /// The request needs more answers.
    Waits,
    /// All requested answers have arrived.
    Complete,
}

impl Core {
    /// Stores a request whose client has `span` of work before anything of it is sent.
    pub(crate) fn insert_request<H: Hosts>(
        &mut self,
        hosts: &mut H,
        issue: Issue,
        stage: Stage,
        is_journal: bool,
    ) -> u32 {
        let issued = hosts.now();
        let (live, parts_left, missing) = (true, 0, 0);
        self.requests.insert(Request {
            issue,
            issued,
            live,
            is_journal,
            is_repair: false,
            is_below_min_size: false,
            job: None,
            stage,
            parts_left,
            missing,
        })
    }

    /// The client of a request does a computation.
    pub(crate) fn compute_request<H: Hosts>(
        &mut self,
        hosts: &mut H,
        id: u32,
        span: SimSpan,
        then: Continuation,
    ) {
        let Issue { client: host, workload, breadcrumb, .. } = self.requests[id].issue;
        let is_of_server = workload == NO_CLIENT || self.requests[id].job.is_some();
        let thread = if is_of_server {
            Thread { pid: SERVER, ..request_thread(id, 0) }
        } else {
            request_thread(id, workload)
        };
        let work_kind = WorkKind::Application;
        hosts.compute(Work { host, workload, thread, breadcrumb, span, work_kind, then });
    }

    /// Begins a part of a request.
    pub(crate) fn begin_part(&mut self, part: Part) -> u32 {
        self.requests[part.request].parts_left += 1;
        self.parts.insert(part)
    }

    /// Counts one of the answers that a part of a request waits for. Returns the request, and whether
    /// it waits for nothing more.
    pub(crate) fn part_answered<H: Hosts>(
        &mut self,
        hosts: &mut H,
        id: u32,
    ) -> (u32, Answered, Option<HostId>) {
        let part = &mut self.parts[id];
        let (request_id, operation) = (part.request, part.operation);
        part.outstanding -= 1;
        let completes = part.needed == 1;
        part.needed = part.needed.saturating_sub(1);
        if part.outstanding == 0 {
            self.parts.remove(id);
        }
        if !completes {
            return (request_id, Answered::Waits, None);
        }
        let request = &mut self.requests[request_id];
        request.parts_left -= 1;
        let mut guest_goes_on = None;
        if operation != NO_OPERATION {
            let client = request.issue.client;
            if self.operation_answered(hosts, client, operation) {
                self.requests[request_id].parts_left -= 1;
                guest_goes_on = Some(client);
            }
        }
        let waits = self.requests[request_id].parts_left > 0;
        let answered = if waits { Answered::Waits } else { Answered::Complete };
        (request_id, answered, guest_goes_on)
    }

    /// A request waits because too few servers of a group are up.
    pub(crate) fn note_below_min_size(&mut self, id: u32) {
        let request = &mut self.requests[id];
        if request.is_repair || request.is_below_min_size {
            return;
        }
        request.is_below_min_size = true;
        let waits = BelowMinSize { workload: request.issue.workload, job: request.job };
        self.failed().below_min_size.push(waits);
    }

    /// A request is complete.
    pub(crate) fn complete<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        let request = &self.requests[id];
        if !request.is_journal && request.job.is_none() {
            hosts.note_request(id, request, Phase::Complete);
        }
        self.end(id, false);
    }

    /// A request ends: it is complete, or is given up.
    pub(crate) fn end(&mut self, id: u32, failed: bool) {
        let request = self.requests.remove(id);
        request.live = false;
        let &mut Request { issue, issued, is_journal, job, .. } = request;
        self.done.push(Done { issue, issued, is_journal, failed, job });
    }
}
