//! Clients' requests while servers may fail.
//!
//! A client sends a request when its group serves. The primary delays a write while an acting server is
//! missing the object. It delays a read while it is missing the object itself or, with erasure coding, while
//! fewer than m shards can be read. In these cases it recovers the object first. A write goes to all acting
//! servers and to those being filled that already have the object; other holders are marked as missing it. A
//! read of an erasure-coded object uses any m shards, and the primary decodes if a data shard is not among
//! them. When the servers change, clients send everything again. A request without an answer fails `give_up`
//! after it was issued.

use foretell_units::{Bytes, HostId, Op, SimSpan, SimTime};
use smallvec::SmallVec;

use super::group::{Osd, State};
use crate::exchange::{Exchange, Purpose};
use crate::failures::Kind;
use crate::hosts::{Continuation, Fragments, Hosts};
use crate::objects::pool::{Piece, Target};
use crate::objects::task::Task;
use crate::objects::{Begun, NO_PART, ObjectOp, Objects, Pool, Rules, ShardOp};
use crate::protocol::Core;
use crate::request::{Issue, Part};

/// An unanswered part of a client's request.
pub(super) struct ClientOp {
    request: u32,
    volume: u32,
    pub(super) group: usize,
    piece: Piece,
    op: Op,
    operation: u32,
    /// When it fails.
    deadline: SimTime,
    /// The task of the primary; `None` if the part waits, or if the answer is on its way.
    task: Option<u32>,
    /// The exchange in which it was sent.
    exchange: Option<u32>,
    primary: Osd,
    /// Tasks of other servers for it.
    children: SmallVec<[u32; 8]>,
    /// Whether the primary has sent the answer.
    is_answered: bool,
    /// Whether it counts as a write of its object.
    is_writing: bool,
    /// For a read: the servers that the data came from.
    sources: SmallVec<[(u8, Osd); 8]>,
    /// Number of data shards that were not among them.
    missing: u64,
}

impl<R: Rules> Objects<R> {
    /// A client begins a part of a request.
    pub(in crate::objects) fn begin_op<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        piece: Piece,
        operation: u32,
    ) {
        let volume = core.requests[request].issue.volume;
        let Begun { part, deadline, .. } = core.begin_piece(hosts, request, op, &piece, operation);
        let number = self.pools[volume as usize].group(piece.object);
        let out = self.out();
        let group = out.first_group[volume as usize] + number;
        out.groups[group].ops.insert(part);
        let op = ClientOp {
            request,
            volume,
            group,
            piece,
            op,
            operation,
            deadline,
            task: None,
            exchange: None,
            primary: 0,
            children: SmallVec::new(),
            is_answered: false,
            is_writing: false,
            sources: SmallVec::new(),
            missing: 0,
        };
        out.ops.insert(part, op);
        self.dispatch(core, hosts, part);
    }

    /// Sends a part to its primary, if its group serves and it has not been sent.
    pub(super) fn dispatch<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        let out = self.out();
        let op = &out.ops[&part];
        let group = &out.groups[op.group];
        if op.exchange.is_some() {
            return;
        }
        match group.state {
            State::Active => {}
            State::Peering { .. } => return,
            State::Short => {
                let request = op.request;
                return core.note_below_min_size(request);
            }
        }
        let primary = group.primary().expect("it serves");
        let position = group.serving().next().map_or(0, |holder| holder.position);
        let target = out.servers[primary as usize].target;
        let ClientOp { request, volume, piece, op, operation, .. } = *op;
        let Issue { client, breadcrumb, workload, .. } = core.requests[request].issue;
        let shard = self.pools[volume as usize].shard(&piece);
        let task = Task::in_front(op, volume, piece, shard, target.disk);
        let task = self.tasks.insert(Task { position, ..task });
        let data = if op == Op::Write { piece.size } else { Bytes::ZERO };
        let purpose = Purpose::Object(ObjectOp { task, part });
        let client_machine = core.machines[client.index()];
        let asks = core.requests[request].asks();
        let exchange =
            Exchange::new(purpose, asks, client_machine, target.host, data, breadcrumb, workload);
        let exchange = core.exchanges.insert(exchange);
        self.tasks[task].exchange = exchange;
        let sent = self.out().ops.get_mut(&part).expect("it is there");
        (sent.task, sent.exchange, sent.primary) = (Some(task), Some(exchange), primary);
        hosts.note_part(&core.requests[request], op, target.host, 1);
        let has_guest = core.guests[client.index()].is_some();
        let extra = if has_guest { core.send_for_guest(client, operation) } else { SimSpan::ZERO };
        let span = hosts.cpu(client_machine).send.of(core.exchanges[exchange].message());
        core.send_after(hosts, exchange, span + extra);
    }

    /// Discards all work for a part, unless its answer is on its way.
    pub(super) fn kill(&mut self, part: u32) {
        let Self { outages, tasks, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let op = out.ops.get_mut(&part).expect("it is there");
        if op.is_answered && !out.servers[op.primary as usize].is_down {
            return;
        }
        for task in op.task.take().into_iter().chain(std::mem::take(&mut op.children)) {
            tasks[task].is_dead = true;
        }
        (op.exchange, op.is_answered, op.is_writing) = (None, false, false);
    }

    /// Clients resend requests that are unanswered at a server that no longer belongs to the group.
    pub(super) fn send_again<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, osd: Osd) {
        let lost = |(_, op): &(&u32, &ClientOp)| op.primary == osd && op.exchange.is_none();
        let parts: Vec<u32> = self.out().ops.iter().filter(lost).map(|(part, _)| *part).collect();
        for part in parts {
            self.dispatch(core, hosts, part);
        }
    }

    /// The part of a primary's task.
    fn part_of(core: &Core, exchange: u32) -> u32 {
        let Purpose::Object(op) = core.exchanges[exchange].purpose else {
            unreachable!("servers are asked for objects only")
        };
        op.part
    }

    /// The part of a task, whether its server is in front or not.
    fn part_of_task(&self, core: &Core, task: &Task) -> u32 {
        let front = if task.is_front() { *task } else { self.tasks[task.front] };
        Self::part_of(core, front.exchange)
    }

    /// The primary begins a request, or lets it wait.
    pub(in crate::objects) fn begin_in_group<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
    ) {
        let task = self.tasks[id];
        let part = Self::part_of(core, task.exchange);
        let pool = &self.pools[task.volume as usize];
        let object = task.piece.object.get() / pool.object();
        let m = pool.encoding.m();
        let partial = Pool::partial_blocks(&core.volumes[task.volume as usize], &task.piece);
        let (stride, is_index) = (pool.stride(), pool.is_index);
        let out = self.out();
        let index = out.ops[&part].group;
        let group = &out.groups[index];
        if is_index && task.op == Op::Write && group.writes.contains_key(&object) {
            // updates of an index have its objects alone
            out.groups[index].blocked.entry(object).or_default().push(part);
            return;
        }
        let waits = match task.op {
            Op::Write => {
                group.works.contains_key(&object)
                    || group.wanted.contains(&object)
                    || group.serving().any(|holder| holder.missing.contains(&object))
            }
            Op::Read if m == 1 => {
                group.serving().next().is_none_or(|holder| holder.missing.contains(&object))
            }
            Op::Read => group.sources(object, m, out.is_up()).len() < m,
        };
        if waits {
            out.groups[index].blocked.entry(object).or_default().push(part);
            self.want(core, hosts, index, object);
            return;
        }
        if task.op == Op::Write {
            let group = &mut out.groups[index];
            *group.writes.entry(object).or_default() += 1;
            out.ops.get_mut(&part).expect("it is there").is_writing = true;
        }
        if task.op == Op::Write && partial > 0 {
            self.tasks[id].begin_fetch();
            self.gather_in_group(core, hosts, id, stride * partial);
        } else if task.op == Op::Write {
            self.scatter_in_group(core, hosts, id);
        } else {
            self.gather_in_group(core, hosts, id, task.shard.size);
        }
    }

    /// The primary reads `size` from the number of shards that it needs.
    fn gather_in_group<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32, size: Bytes) {
        let task = self.tasks[id];
        let part = Self::part_of(core, task.exchange);
        let pool = &self.pools[task.volume as usize];
        let (m, object) = (pool.encoding.m(), task.piece.object.get() / pool.object());
        let is_coded = pool.is_coded();
        let out = self.out();
        let index = out.ops[&part].group;
        let sources = out.groups[index].sources(object, m, out.is_up());
        let data = sources.iter().filter(|(position, _)| usize::from(*position) < m).count();
        let op = out.ops.get_mut(&part).expect("it is there");
        op.missing = if is_coded { (m - data) as u64 } else { 0 };
        op.sources.clone_from(&sources);
        let shard = crate::objects::Shard { size, ..task.shard };
        self.ask_servers(core, hosts, id, ShardOp { op: Op::Read, shard }, &sources);
    }

    /// The primary writes, and asks others to write.
    pub(in crate::objects) fn scatter_in_group<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
    ) {
        let task = self.tasks[id];
        let part = Self::part_of(core, task.exchange);
        let object = task.piece.object.get() / self.pools[task.volume as usize].object();
        let out = self.out();
        let index = out.ops[&part].group;
        let group = &out.groups[index];
        let servers = &out.servers;
        let mut written: SmallVec<[(u8, Osd); 8]> =
            group.serving().map(|holder| (holder.position, holder.osd)).collect();
        for holder in &group.holders {
            let is_up = servers[holder.osd as usize].is_up();
            let there = (holder.position, holder.osd);
            if !holder.is_filled && is_up && !holder.missing.contains(&object) {
                written.push(there);
            }
        }
        let group = &mut out.groups[index];
        for holder in &mut group.holders {
            if written.contains(&(holder.position, holder.osd)) {
                continue;
            }
            if holder.is_filled && holder.missing.is_empty() {
                holder.key = (servers[holder.osd as usize].cause, Kind::CatchUp);
            }
            if holder.missing.insert(object) {
                *out.open.entry(holder.key).or_default() += 1;
            }
        }
        let what = ShardOp { op: Op::Write, shard: task.shard };
        self.ask_servers(core, hosts, id, what, &written);
    }

    /// The primary asks these servers to read or write, possibly including itself.
    fn ask_servers<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        what: ShardOp,
        servers: &[(u8, Osd)],
    ) {
        let part = Self::part_of(core, self.tasks[id].exchange);
        let out = self.out();
        let primary = out.ops[&part].primary;
        // a server may have two shards while another is being filled
        let place = servers.iter().position(|(_, osd)| *osd == primary);
        let target = |(_, (position, osd)): (usize, &(u8, Osd))| {
            (*position, out.servers[*osd as usize].target)
        };
        let all = servers.iter().enumerate();
        let others: SmallVec<[(u8, Target); 8]> =
            all.filter(|(at, _)| Some(*at) != place).map(target).collect();
        if let Some(place) = place {
            self.tasks[id].position = servers[place].0;
        }
        self.tasks[id].needed = servers.len() as u32;
        let children = self.ask(core, hosts, id, what, place.is_some(), &others);
        let op = self.out().ops.get_mut(&part);
        op.expect("it is there").children.extend(children);
    }

    /// Removes a part from those that wait, and from its group's writes.
    fn leave_group(&mut self, part: u32) -> Option<(usize, u64)> {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let op = &out.ops[&part];
        let object = op.piece.object.get() / pools[op.volume as usize].object();
        let (index, is_writing) = (op.group, op.is_writing);
        let group = &mut out.groups[index];
        if let Some(parts) = group.blocked.get_mut(&object) {
            parts.retain(|other| *other != part);
            if parts.is_empty() {
                group.blocked.remove(&object);
            }
        }
        if !is_writing {
            return None;
        }
        out.ops.get_mut(&part).expect("it is there").is_writing = false;
        let writes = group.writes.get_mut(&object).expect("it was counted");
        *writes -= 1;
        if *writes > 0 {
            return None;
        }
        group.writes.remove(&object);
        Some((index, object))
    }

    /// A write has ended: if its object was waiting to be recovered, that may begin.
    fn end_writing<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        let Some((index, object)) = self.leave_group(part) else { return };
        let group = &mut self.out().groups[index];
        if group.wanted.remove(&object) || group.blocked.contains_key(&object) {
            self.want(core, hosts, index, object);
            if !self.out().groups[index].works.contains_key(&object) {
                self.unblock(core, hosts, index, object);
            }
        }
        self.pump_group(core, hosts, index);
    }

    /// The primary answers its client.
    pub(in crate::objects) fn note_answered<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        task: &Task,
    ) {
        if self.outages.is_none() || !task.is_front() {
            return;
        }
        let part = Self::part_of(core, task.exchange);
        let op = self.out().ops.get_mut(&part).expect("it is there");
        op.is_answered = true;
        op.task = None;
        self.end_writing(core, hosts, part);
    }

    /// A client has received an answer. Returns whether it still waits for it.
    pub(in crate::objects) fn take_answer<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        part: u32,
        exchange: u32,
    ) -> bool {
        let Some(out) = &mut self.outages else { return true };
        let Some(op) = out.ops.get(&part) else { return false };
        if op.exchange != Some(exchange) {
            return false;
        }
        let op = out.ops.remove(&part).expect("it is there");
        out.groups[op.group].ops.remove(&part);
        if op.op == Op::Read && hosts.has_payload() {
            for (fragment, osd) in op.sources {
                let node = HostId(osd);
                let Part { request, first_block, blocks, .. } = core.parts[part];
                let (version, volume) = (0, op.volume);
                hosts.payload_taken(Fragments {
                    request,
                    version,
                    volume,
                    first_block,
                    blocks,
                    fragment,
                    node,
                });
            }
        }
        true
    }

    /// An answer of another server has arrived: its task is no longer a child.
    pub(in crate::objects) fn forget_child(&mut self, core: &Core, front: u32, child: u32) {
        if self.outages.is_none() {
            return;
        }
        let part = Self::part_of(core, self.tasks[front].exchange);
        let op = self.out().ops.get_mut(&part).expect("it is there");
        op.children.retain(|other| *other != child);
    }

    /// The work of a primary to decode the data that it has read, if a data shard was not among them.
    pub(in crate::objects) fn decoding<H: Hosts>(
        &self,
        core: &Core,
        hosts: &H,
        task: &Task,
    ) -> SimSpan {
        let Some(out) = self.outages.as_ref().filter(|_| task.is_front()) else {
            return SimSpan::ZERO;
        };
        let op = &out.ops[&Self::part_of(core, task.exchange)];
        if task.op != Op::Read || op.missing == 0 {
            return SimSpan::ZERO;
        }
        let pool = &self.pools[task.volume as usize];
        let bytes = task.shard.size * pool.encoding.m() as u64;
        let cpu = hosts.cpu(core.exchanges[task.exchange].node);
        cpu.decode_time(foretell_algorithms::codec::Cipher::None, op.missing, bytes)
    }

    /// A server's device has finished a task's access: updates the real bytes.
    pub(in crate::objects) fn note_device<H: Hosts>(
        &mut self,
        core: &Core,
        hosts: &mut H,
        id: u32,
    ) {
        if self.outages.is_none() || !hosts.has_payload() {
            return;
        }
        let task = self.tasks[id];
        let part = self.part_of_task(core, &task);
        let Part { request, first_block, blocks, .. } = core.parts[part];
        let asked = &core.exchanges[task.exchange];
        let host = Target { host: asked.node, disk: task.disk };
        let (fragment, volume) = (task.position, task.volume);
        let (version, node) = (asked.breadcrumb.0, HostId(self.out().number(host)));
        let what = Fragments { request, version, volume, first_block, blocks, fragment, node };
        let is_fetch = {
            let front = if task.is_front() { task } else { self.tasks[task.front] };
            front.fetches()
        };
        match task.op {
            _ if is_fetch => {}
            Op::Write => hosts.payload_stored(what, &mut Vec::new()),
            Op::Read => hosts.payload_read(what),
        }
    }

    /// A client checks whether a part of a request has waited for too long.
    pub(in crate::objects) fn look_at_op<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        part: u32,
    ) {
        let now = hosts.now();
        let Some(op) = self.out().ops.get(&part).filter(|op| op.deadline == now) else { return };
        let id = op.request;
        let all = self.out().ops.iter().filter(|(_, op)| op.request == id);
        let parts: Vec<u32> = all.map(|(part, _)| *part).collect();
        for part in parts {
            self.out().ops.get_mut(&part).expect("it is there").is_answered = false;
            self.end_writing(core, hosts, part);
            self.kill(part);
            let op = self.out().ops.remove(&part).expect("it is there");
            self.out().groups[op.group].ops.remove(&part);
            core.parts.remove(part);
        }
        if hosts.has_payload() {
            hosts.payload_failed(id);
        }
        core.end(id, true);
    }

    /// Requests that waited for an object continue.
    pub(super) fn unblock<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        index: usize,
        object: u64,
    ) {
        let parts = self.out().groups[index].blocked.remove(&object).unwrap_or_default();
        for part in parts {
            let task = self.out().ops.get(&part).and_then(|op| op.task);
            if let Some(task) = task {
                self.begin_in_group(core, hosts, task);
            }
        }
    }

    /// Whether an exchange has no effect, because its task is dead or one of its servers is down.
    pub(in crate::objects) fn comes_to_nothing(
        &mut self,
        core: &mut Core,
        exchange: u32,
        then: Continuation,
    ) -> bool {
        let Some(out) = &self.outages else { return false };
        let asked = &core.exchanges[exchange];
        let at_node = match then {
            Continuation::Sent { .. } => !asked.outbound,
            Continuation::Answered { .. } => false,
            _ => true,
        };
        match asked.purpose {
            Purpose::Own(duty) => self.ends_chore(core, duty, then),
            Purpose::Object(ObjectOp { task, part: NO_PART }) => {
                let task = &self.tasks[task];
                if task.is_dead {
                    return true;
                }
                let own = Target { host: asked.node, disk: task.disk };
                let front = &self.tasks[task.front];
                let host = core.exchanges[front.exchange].node;
                let front = Target { host, disk: front.disk };
                out.is_down(out.number(if at_node { own } else { front }))
            }
            Purpose::Object(ObjectOp { part, .. }) => {
                let sent = out.ops.get(&part).filter(|op| op.exchange == Some(exchange));
                match sent {
                    Some(op) if at_node && out.is_down(op.primary) => {
                        if op.is_answered {
                            // the answer is lost, and the client resends
                            self.kill(part);
                        }
                        true
                    }
                    Some(_) => false,
                    // a part that was resent, or has failed; an answer is freed where it arrives
                    None => !matches!(then, Continuation::Answered { .. }),
                }
            }
            _ => false,
        }
    }
}
