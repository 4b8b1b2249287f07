//! Synthetic records that resemble those of a run, for tests and benches of readers and writers.
//!
//! Requests of 8 KiB arrive every `20 us` of simulated time in a cluster of four clients and eight
//! nodes. Each is sent to one node, is looked up in its cache, is read from a disk on a miss, and
//! is answered: some 14 records over half a millisecond, or ten with a miss. The mixture is
//! invented (no queues, no contention): only counts, sizes of numbers and the order of time are
//! realistic.

use foretell_units::{Breadcrumb, HostId, Seed};

use crate::{Body, Header, HostClock, Op, Phase, Record};

/// Number of client machines; their hosts come after the nodes.
pub const CLIENTS: u32 = 4;

/// Number of storage nodes; their hosts come first.
pub const NODES: u32 = 8;

/// Time between requests.
const GAP_NS: u64 = 20_000;

/// Records of `requests` requests in the order of time. Breadcrumbs count from 1.
///
/// The same seed gives the same records.
pub fn records(requests: u64, seed: Seed) -> Vec<Record> {
    let mut draws = seed.stream("ati/synthetic");
    let mut records = Vec::with_capacity(requests as usize * 14);
    for request in 0..requests {
        let client = HostId(NODES + draws.below(CLIENTS.into()) as u32);
        let node = HostId(draws.below(NODES.into()) as u32);
        let op = if draws.chance(0.3) { Op::Write } else { Op::Read };
        let offset = draws.below(2_500_000) * 8192;
        let hit = draws.chance(0.5);
        let mut now = request * GAP_NS + draws.below(GAP_NS);
        let breadcrumb = Breadcrumb(request + 1);
        let mut post = |after_ns: u64, host: HostId, body: Body| {
            now += after_ns;
            let (pid, tid) = if host == client { (3, 1) } else { (2, 1 + host.0) };
            let header = Header { ts_ns: now, breadcrumb, host, pid, tid };
            records.push(Record { header, body });
        };
        let (workload, file, size) = (client.0 - NODES, 0, 8192_u32);
        let ask = |phase| {
            let (client, size) = (client.0, u64::from(size));
            Body::Request { workload, client, op, file, offset, size, phase }
        };
        let transmit = |sender: HostId, receiver: HostId, numbytes| Body::NetworkTransmit {
            sender: sender.0,
            receiver: receiver.0,
            numbytes,
        };
        let enter = |newprocess| Body::KernelProcessSwitch { cpu: 0, oldprocess: 0, newprocess };
        let leave = |oldprocess| Body::KernelProcessSwitch { cpu: 0, oldprocess, newprocess: 0 };
        let (there, back) = match op {
            Op::Read => (128, 128 + u64::from(size)),
            Op::Write => (128 + u64::from(size), 128),
        };
        post(0, client, ask(Phase::Issue));
        post(5_000, client, enter(3));
        post(20_000, client, leave(3));
        post(10, client, transmit(client, node, there));
        post(120_000, node, enter(2));
        post(1_000, node, Body::UserThreadSwitch { oldthread: 0, newthread: 1 + node.0 });
        match (op, hit) {
            (Op::Write, _) => post(9_000, node, Body::BufferWrite { file, offset, size }),
            (Op::Read, true) => {
                post(9_000, node, Body::BufferReadHit { file, offset, size });
            }
            (Op::Read, false) => {
                post(9_000, node, Body::BufferReadMiss { file, offset, size });
                let lbn = offset / 512 + 4096;
                let disk = |phase| Body::DiskOp { disk: 0, lbn, size, op, phase };
                post(1_000, node, disk(Phase::Issue));
                post(300_000, node, disk(Phase::Complete));
                let evicted = offset ^ (1 << 30);
                post(500, node, Body::BufferEvict { file, offset: evicted, size });
            }
        }
        post(4_000, node, leave(2));
        post(10, node, transmit(node, client, back));
        post(130_000, client, enter(3));
        post(10_000, client, leave(3));
        post(10, client, ask(Phase::Complete));
    }
    // Stable: records of the same nanosecond stay in the order of their requests.
    records.sort_by_key(|record| record.header.ts_ns);
    let mut clock = HostClock::new((CLIENTS + NODES) as usize);
    for record in &mut records {
        let header = &mut record.header;
        header.ts_ns = clock.stamp(header.host, foretell_units::SimTime::from_ns(header.ts_ns));
    }
    records
}

/// A longer run: repeats `records`, which were made by [`records`] with `requests` requests, each
/// time later and with other breadcrumbs, until there are `total` records.
pub fn repeated(
    records: &[Record],
    requests: u64,
    total: u64,
) -> impl Iterator<Item = Record> + '_ {
    assert!(!records.is_empty(), "nothing cannot be repeated");
    let span_ns = records.last().map_or(0, |record| record.header.ts_ns + GAP_NS);
    let rounds = (0_u64..).flat_map(move |round| {
        records.iter().map(move |record| {
            let mut record = *record;
            record.header.ts_ns += round * span_ns;
            record.header.breadcrumb.0 += round * requests;
            record
        })
    });
    rounds.take(total as usize)
}
