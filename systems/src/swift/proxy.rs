//! Requests of clients, in a cluster whose servers may fail.
//!
//! A proxy does not know which servers are down. A connection to one fails after `conn_timeout`; a proxy
//! waits for an answer for at most `node_timeout`. Then the proxy takes the next server: primaries first,
//! then handoffs in the order of the ring, at most `request_node_count` in all. Servers with too many errors
//! are skipped (`limiter`).
//!
//! - A *read* asks one server after the other, and ends with the first answer that has the data. A server that lacks
//!   them says "not found". So a client may get an older version than the one that was acknowledged last, from a
//!   primary that has just returned. Such reads are counted, as *stale*.
//! - A read with *`X-Newest`* asks one server after the other for its version (at most `request_node_count`
//!   servers), and then reads from the one with the newest. (Swift begins to read from all of them, and reads
//!   on from one. Here that one is asked again.) If different servers have the newest versions of different
//!   blocks of a piece, the read may still be stale.
//! - A *write* connects to as many servers as there are copies. The next server replaces each one that cannot
//!   be reached. The data are sent once every connection is made or has failed. The write is done when a
//!   quorum has it.
//! - A server whose disk has failed says so, instead of taking a write or answering a read. It is skipped from then on.
//! - A request fails at once (status 503) if too few servers are left for it. It also fails `give_up` after
//!   it was issued.
//!
//! Sources: `swift/proxy/controllers/base.py` (`NodeIter`, `GetOrHeadHandler`) and `obj.py` (`_connect_put_node`,
//! `_get_put_responses`), and Swift's documentation of the settings. Simplified: a connection to a server that is up
//! takes no time of its own. A write's version is that of the time when its client sends it, not of its arrival at
//! the proxy. After a read that breaks off, the next server sends all of the data again. Clients do not try again.

use std::ops::Range;

use foretell_scenarios::model::CpuProfile;
use foretell_units::{Breadcrumb, Bytes, HostId, Op, SimSpan, SimTime};

use super::call::{Call, NewCall, Role};
use super::cluster::Cluster;
use super::ledger::{Known, Osd};
use super::outages::Wait;
use crate::hosts::Hosts;
use crate::objects::{Begun, Piece, Rules, Shard, StoreAccess};
use crate::process::{SERVER, exchange_thread};
use crate::protocol::Core;
use crate::request::Issue;
use crate::store::Access;
use crate::system::Few;

/// A part of a client's request, which a proxy works on.
pub(super) struct ClientOp {
    /// The part that waits for it; `None`: the client has given up.
    part: Option<u32>,
    /// The request, while there is a part.
    request: u32,
    volume: u32,
    partition: usize,
    piece: Piece,
    shard: Shard,
    blocks: Range<u64>,
    op: Op,
    version: u64,
    proxy: HostId,
    breadcrumb: Breadcrumb,
    workload: u32,
    deadline: SimTime,
    /// The exchange with its client, until that has the answer.
    client: Option<u32>,
    /// Primaries in the order in which it asks them.
    primaries: Few<Osd>,
    /// Number of servers that it has looked at, and that it may still ask.
    seen: usize,
    left: u32,
    /// Number of connections that will fail.
    connecting: u32,
    connected: Few<Osd>,
    /// Number of answers still to come, and of servers that have written.
    outstanding: u32,
    written: u32,
    /// The answer to the client, once it is on its way.
    answer: Option<Answer>,
    /// For a read: what clients knew when it began, and whether the answer is older.
    known: Known,
    source: Osd,
    is_stale: bool,
    /// For a read of the newest version: servers that have it, by how new it is. `None` for other reads.
    versions: Option<Vec<(u64, Osd)>>,
    /// Whether no more servers are asked for their versions.
    knows_versions: bool,
}

/// What a proxy answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    Done,
    Failed,
}

impl ClientOp {
    fn block_range(&self) -> (u64, u64) {
        (self.blocks.start, self.blocks.end - self.blocks.start)
    }
}

impl Cluster {
    /// A client begins a part of a request.
    pub(super) fn begin_op<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        request: u32,
        op: Op,
        piece: Piece,
        operation: u32,
    ) {
        let Issue { volume, client, breadcrumb, workload, instance, .. } =
            core.requests[request].issue;
        let Begun { part, blocks, deadline } =
            core.begin_piece(hosts, request, op, &piece, operation);
        let pool = &self.plain.pools()[volume as usize];
        let (group, shard, copies) =
            (pool.group(piece.object), pool.shard(&piece), pool.encoding.n() as u32);
        let target = pool.targets_of(group);
        let target = Rules::front(self.plain.rules_now(), instance, target);
        let most = core.failed().settings.swift.asked(copies);
        let (has_payload, newest) = (hosts.has_payload(), self.plain.rules().settings.x_newest);
        let out = self.out();
        let partition = out.first_partition[volume as usize] + group;
        if op == Op::Write {
            out.version += 1;
            out.ledger.begin_write(partition, blocks.clone(), out.version);
            if has_payload {
                out.written.insert(out.version, breadcrumb.0);
            }
        }
        let known = match op {
            Op::Read => out.ledger.known(partition, blocks.clone()),
            Op::Write => Known::new(),
        };
        let new = ClientOp {
            part: Some(part),
            request,
            volume,
            partition,
            piece,
            shard,
            blocks,
            op,
            version: out.version,
            proxy: target.host,
            breadcrumb,
            workload,
            deadline,
            client: None,
            primaries: out.ledger.partitions[partition].primaries.clone(),
            seen: 0,
            left: most,
            connecting: 0,
            connected: Few::new(),
            outstanding: 0,
            written: 0,
            answer: None,
            known,
            source: 0,
            versions: None,
            knows_versions: false,
            is_stale: false,
        };
        let versions = (op == Op::Read && newest).then(Vec::new);
        let id = out.ops.insert(ClientOp { versions, ..new });
        out.parts.insert(part, id);
        let client_machine = core.machines[client.index()];
        let data = if op == Op::Write { piece.size } else { Bytes::ZERO };
        let begun = NewCall {
            role: Role::Client,
            of: id,
            osd: 0,
            from: client_machine,
            to: target.host,
            data,
            breadcrumb,
            workload,
        };
        let call = self.call(core, hosts, begun);
        let exchange = self.out().calls.all[&call].exchange;
        self.op(id).client = Some(exchange);
        hosts.note_part(&core.requests[request], op, target.host, 1);
        let span = hosts.cpu(client_machine).send.of(core.exchanges[exchange].message());
        core.send_after(hosts, exchange, span);
    }

    fn op(&mut self, id: u32) -> &mut ClientOp {
        self.out().ops.all.get_mut(&id).expect("it goes on")
    }

    /// The work of a proxy or an object server that receives a message; and the part of it that is copying data.
    pub(super) fn request_handling(&self, cpu: &CpuProfile, call: &Call) -> (SimSpan, SimSpan) {
        let out = self.outages.as_ref().expect("there are events");
        let op = &out.ops.all[&call.of];
        let is_front = call.role == Role::Client;
        let size = if is_front { op.piece.size } else { op.shard.size };
        let is_short = matches!(call.role, Role::Connect | Role::Version);
        let carried = if op.op == Op::Write && !is_short { size } else { Bytes::ZERO };
        let is_found = !is_short
            && (is_front
                || op.op == Op::Write
                || out.ledger.has(op.partition, op.blocks.clone(), call.osd));
        let copies = self.plain.pools()[op.volume as usize].encoding.n() as u64;
        let worked = if is_found { size } else { Bytes::ZERO };
        let work = self.plain.rules_now().time(op.op, is_front, copies, worked);
        let copying = cpu.copy.of(carried);
        (cpu.request.of(carried) + copying + work, copying)
    }

    /// A proxy has received a client's request.
    pub(super) fn proxy_begins<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let (proxy, copies) = (self.op(id).proxy, self.op(id).primaries.len());
        match self.op(id).op {
            Op::Read => {
                let first = self.plain.rules().first_read(proxy, copies, 1);
                self.op(id).primaries.rotate_left(first);
                self.ask_next(core, hosts, id);
            }
            Op::Write => {
                for _ in 0..copies {
                    self.connect_next(core, hosts, id);
                }
                self.send_if_connected(core, hosts, id);
            }
        }
    }

    /// The next server that a proxy may ask.
    fn next_server_of(&mut self, core: &mut Core, id: u32, now: SimTime) -> Option<Osd> {
        let settings = core.failed().settings.swift;
        let out = self.out();
        loop {
            let op = out.ops.all.get_mut(&id).expect("it goes on");
            if op.left == 0 {
                return None;
            }
            let (partition, proxy, seen) = (op.partition, op.proxy, op.seen);
            op.seen += 1;
            let osd = if let Some(&osd) = op.primaries.get(seen) {
                osd
            } else {
                let number = seen - op.primaries.len();
                out.handoff(partition, number)?
            };
            if !out.limiter.avoids(proxy, osd, now, &settings) {
                out.ops.all.get_mut(&id).expect("it goes on").left -= 1;
                return Some(osd);
            }
        }
    }

    /// Whether a server does not answer connections.
    fn is_unreachable(&mut self, core: &Core, osd: Osd) -> bool {
        let host = self.out().host(osd);
        core.failures.as_ref().is_some_and(|failures| failures.is_down(host))
    }

    /// A proxy begins to connect to a server that is down.
    fn begin_connecting<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, op: u32, osd: Osd) {
        let at = hosts.now() + core.failed().settings.swift.conn_timeout;
        self.wait(hosts, at, Wait::Connect { op, osd });
    }

    /// A read asks the next server.
    fn ask_next<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let op = self.op(id);
        let role =
            if op.versions.is_some() && !op.knows_versions { Role::Version } else { Role::Proxy };
        let next = if op.knows_versions {
            Self::newest_of(op)
        } else {
            self.next_server_of(core, id, hosts.now())
        };
        match next {
            None if role == Role::Version => {
                self.op(id).knows_versions = true;
                self.ask_next(core, hosts, id);
            }
            None => self.answer_client(core, hosts, id, false),
            Some(osd) if self.is_unreachable(core, osd) => {
                self.begin_connecting(core, hosts, id, osd);
            }
            Some(osd) => self.ask_server(core, hosts, id, role, osd),
        }
    }

    /// The server with the newest version, of those that were not asked for the data yet; of equal ones the first.
    fn newest_of(op: &mut ClientOp) -> Option<Osd> {
        let versions = op.versions.as_mut()?;
        let newest = (0..versions.len()).rev().max_by_key(|index| versions[*index].0)?;
        Some(versions.remove(newest).1)
    }

    /// A server says which version it has.
    pub(super) fn server_says_version<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        number: u32,
    ) {
        let Call { of, osd, exchange, .. } = self.out().calls.all[&number];
        let out = self.out();
        let op = out.ops.all.get_mut(&of).expect("it goes on");
        if out.ledger.has(op.partition, op.blocks.clone(), osd) {
            let newness = out.ledger.newness(op.partition, op.blocks.clone(), osd);
            op.versions.as_mut().expect("it was asked for one").push((newness, osd));
        }
        core.answer(hosts, exchange, Bytes::ZERO);
    }

    /// A proxy knows which version a server has.
    pub(super) fn version_known<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, call: &Call) {
        if call.refused {
            self.avoid(core, hosts, call.of, call.osd);
        }
        self.ask_next(core, hosts, call.of);
    }

    /// A proxy avoids a server whose disk has failed.
    fn avoid<H: Hosts>(&mut self, core: &mut Core, hosts: &H, id: u32, osd: Osd) {
        let (settings, proxy) = (core.failed().settings.swift, self.op(id).proxy);
        self.out().limiter.note_failed_disk(proxy, osd, hosts.now(), &settings);
    }

    /// A server has not taken a connection for a write.
    pub(super) fn connection_refused<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        osd: Osd,
    ) {
        self.avoid(core, hosts, id, osd);
        self.op(id).connecting -= 1;
        self.connect_next(core, hosts, id);
        self.send_if_connected(core, hosts, id);
    }

    /// A write connects to the next server, if there is one.
    fn connect_next<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        match self.next_server_of(core, id, hosts.now()) {
            None => {}
            Some(osd) if self.is_unreachable(core, osd) => {
                self.op(id).connecting += 1;
                self.begin_connecting(core, hosts, id, osd);
            }
            Some(osd) if self.out().unmounted.contains_key(&osd) => {
                self.op(id).connecting += 1;
                self.ask_server(core, hosts, id, Role::Connect, osd);
            }
            Some(osd) => self.op(id).connected.push(osd),
        }
    }

    /// A connection has failed.
    pub(super) fn not_connected<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        osd: Osd,
    ) {
        if self.has_erred(core, hosts, id, osd) {
            self.op(id).connecting -= 1;
            self.connect_next(core, hosts, id);
            self.send_if_connected(core, hosts, id);
        }
    }

    /// A server has failed its proxy. A read asks the next one. Returns whether it is a write, which goes on in its
    /// own way.
    fn has_erred<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32, osd: Osd) -> bool {
        let ClientOp { proxy, op, .. } = *self.op(id);
        self.out().limiter.note(proxy, osd, hosts.now());
        if op == Op::Read {
            self.ask_next(core, hosts, id);
        }
        op == Op::Write
    }

    /// A write goes to its servers, once no connection is outstanding.
    fn send_if_connected<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        if self.op(id).connecting > 0 {
            return;
        }
        let volume = self.op(id).volume;
        let quorum = self.plain.pools()[volume as usize].quorum as usize;
        let servers = std::mem::take(&mut self.op(id).connected);
        if servers.len() < quorum {
            return self.write_goes_on(core, hosts, id);
        }
        self.op(id).outstanding = servers.len() as u32;
        for osd in servers {
            self.ask_server(core, hosts, id, Role::Proxy, osd);
        }
    }

    /// A proxy sends a request to a server.
    fn ask_server<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        role: Role,
        osd: Osd,
    ) {
        let op = self.op(id);
        let (from, breadcrumb, workload) = (op.proxy, op.breadcrumb, op.workload);
        let has_data = op.op == Op::Write && role == Role::Proxy;
        let data = if has_data { op.shard.size } else { Bytes::ZERO };
        let to = self.out().host(osd);
        let begun = NewCall { role, of: id, osd, from, to, data, breadcrumb, workload };
        let call = self.call(core, hosts, begun);
        core.send(hosts, self.out().calls.all[&call].exchange);
        if self.is_unreachable(core, osd) {
            // it has gone down while other connections were made
            self.wait_in_vain(core, hosts, call);
        }
    }

    /// A server has received a request.
    pub(super) fn server_begins<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let Call { of, osd, exchange, .. } = self.out().calls.all[&number];
        let out = self.out();
        let op = &out.ops.all[&of];
        if op.op == Op::Read && !out.ledger.has(op.partition, op.blocks.clone(), osd) {
            return core.answer(hosts, exchange, Bytes::ZERO);
        }
        let (file, shard, op) = (op.volume, op.shard, op.op);
        if op == Op::Read {
            self.server_opens(hosts, of, osd);
        }
        let out = self.out();
        let asked = &core.exchanges[exchange];
        let access = Access::Object(StoreAccess {
            exchange,
            op,
            disk: out.servers[osd as usize].disk,
            file,
            shard,
            lookups: 0,
            breadcrumb: asked.breadcrumb,
            thread: exchange_thread(exchange, SERVER),
            workload: asked.workload,
            reader: asked.reader(),
            cached: true,
            in_tables: false,
        });
        let waits = hosts.store(asked.node, &access);
        core.wait(exchange, waits);
        if waits == 0 {
            self.server_is_done(core, hosts, number);
        }
    }

    /// A server opens what it reads: this is what it will send, even if it drops or replaces it meanwhile.
    fn server_opens<H: Hosts>(&mut self, hosts: &mut H, id: u32, osd: Osd) {
        let out = self.out();
        let op = out.ops.all.get_mut(&id).expect("it goes on");
        op.source = osd;
        op.is_stale = out.ledger.is_stale(op.partition, osd, &op.known);
        if op.part.is_some() && hosts.has_payload() {
            let (partition, (first, blocks)) = (op.partition, op.block_range());
            let (request, is_stale) = (op.request, op.is_stale);
            let copies = out.copies(partition, osd, request, 0, first, blocks);
            hosts.payload_found(copies, is_stale);
        }
    }

    /// The device of a server has finished.
    pub(super) fn server_is_done<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, number: u32) {
        let Call { of, osd, exchange, .. } = self.out().calls.all[&number];
        let out = self.out();
        let op = out.ops.all.get_mut(&of).expect("it goes on");
        if op.op == Op::Write {
            let (partition, blocks, range) = (op.partition, op.blocks.clone(), op.block_range());
            let (version, number) = (op.version, op.breadcrumb.0);
            out.ledger.stored(partition, blocks, osd, version);
            if hosts.has_payload() {
                let copies = out.copies(partition, osd, 0, number, range.0, range.1);
                hosts.payload_stored(copies, &mut Vec::new());
            }
            self.note_health(core, hosts.now());
            return core.answer(hosts, exchange, Bytes::ZERO);
        }
        let size = op.shard.size;
        self.out().calls.all.get_mut(&number).expect("it goes on").found = true;
        core.answer(hosts, exchange, size);
    }

    /// A server has answered its proxy.
    pub(super) fn server_answered<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        call: &Call,
    ) {
        if call.refused {
            self.avoid(core, hosts, call.of, call.osd);
        }
        match self.op(call.of).op {
            Op::Read if call.found && !call.refused => {
                self.answer_client(core, hosts, call.of, true);
            }
            Op::Read => self.ask_next(core, hosts, call.of),
            Op::Write => {
                let op = self.op(call.of);
                op.outstanding -= 1;
                op.written += u32::from(!call.refused);
                self.write_goes_on(core, hosts, call.of);
            }
        }
    }

    /// A proxy has waited in vain for a server's answer.
    pub(super) fn not_answered<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
        osd: Osd,
    ) {
        if self.has_erred(core, hosts, id, osd) {
            self.op(id).outstanding -= 1;
            self.write_goes_on(core, hosts, id);
        }
    }

    /// A write has one answer more, or one answer less to come.
    fn write_goes_on<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32) {
        let volume = self.op(id).volume;
        let quorum = self.plain.pools()[volume as usize].quorum;
        let ClientOp { outstanding, written, answer, partition, .. } = *self.op(id);
        if outstanding == 0 {
            let op = self.op(id);
            let (blocks, range, number) = (op.blocks.clone(), op.block_range(), op.breadcrumb.0);
            self.out().ledger.end_write(partition, blocks);
            if hosts.has_payload() {
                hosts.payload_settled(volume, number, range.0, range.1);
            }
            self.note_health(core, hosts.now());
        }
        if answer.is_none() && (written >= quorum || outstanding == 0) {
            self.answer_client(core, hosts, id, written >= quorum);
        } else if outstanding == 0 {
            self.forget_op(id);
        }
    }

    /// A proxy answers its client: the request is done, or has failed.
    fn answer_client<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, id: u32, is_good: bool) {
        let op = self.op(id);
        op.answer = Some(if is_good { Answer::Done } else { Answer::Failed });
        let data = if op.op == Op::Read && is_good { op.piece.size } else { Bytes::ZERO };
        let exchange = op.client.expect("it is not answered yet");
        core.answer(hosts, exchange, data);
    }

    /// A client has an answer. Returns the part of its request that is done.
    pub(super) fn client_has_answer<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        id: u32,
    ) -> Option<u32> {
        let op = self.op(id);
        op.client = None;
        let (has_failed, request) = (op.answer == Some(Answer::Failed), op.request);
        let part = op.part;
        if let Some(part) = part.filter(|_| !has_failed) {
            let out = self.out();
            out.parts.remove(&part);
            let op = out.ops.all.get_mut(&id).expect("it goes on");
            op.part = None;
            let (partition, blocks, range) = (op.partition, op.blocks.clone(), op.block_range());
            match op.op {
                Op::Write => {
                    out.ledger.acknowledged(partition, blocks, op.version);
                    if hosts.has_payload() {
                        let (volume, number) = (op.volume, op.breadcrumb.0);
                        hosts.payload_complete(volume, number, range.0, range.1);
                    }
                }
                Op::Read => {
                    let (source, is_stale) = (op.source, op.is_stale);
                    core.failed().stale_reads += u64::from(is_stale);
                    if hosts.has_payload() {
                        hosts.payload_taken(
                            out.copies(partition, source, request, 0, range.0, range.1),
                        );
                    }
                }
            }
        }
        self.forget_op(id);
        if part.is_some() && has_failed {
            self.fail_request(core, hosts, request);
        }
        part.filter(|_| !has_failed)
    }

    /// Forgets an operation whose client has its answer and from which no server's answer is outstanding.
    fn forget_op(&mut self, id: u32) {
        let ClientOp { client, outstanding, part, .. } = self.op(id);
        // a part that remains will fail with its request
        if client.is_none() && *outstanding == 0 && part.is_none() {
            self.out().ops.all.remove(&id);
        }
    }

    /// A client checks whether a part of a request has waited for too long.
    pub(super) fn look_at_op<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, part: u32) {
        let out = self.out();
        let Some(op) = out.parts.get(&part).and_then(|id| out.ops.all.get(id)) else { return };
        if op.deadline == hosts.now() {
            let request = op.request;
            self.fail_request(core, hosts, request);
        }
    }

    /// A request fails. What proxies still do for it has no effect on its client.
    fn fail_request<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, request: u32) {
        let out = self.out();
        let is_its = |(_, id): &(&u32, &u32)| out.ops.all[id].request == request;
        let its: Vec<(u32, u32)> =
            out.parts.iter().filter(is_its).map(|(part, id)| (*part, *id)).collect();
        for (part, id) in its {
            self.out().parts.remove(&part);
            core.parts.remove(part);
            self.op(id).part = None;
            self.forget_op(id);
        }
        if hosts.has_payload() {
            hosts.payload_failed(request);
        }
        core.end(request, true);
    }
}
