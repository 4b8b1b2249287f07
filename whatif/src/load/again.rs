//! Modifies recorded requests: another share of reads, another size, or other addresses.

use std::sync::Arc;

use foretell_units::{Bytes, Op, SimTime, Stream};

use crate::observed::{Recorded, Sharing, Streams};
use crate::question::Described;
use crate::replay::SEED;

/// Applies a change to every stream of a workload: those of clients and those of threads.
fn each(
    known: &Streams,
    name: &str,
    mut again: impl FnMut(&[Recorded], &mut Stream) -> Vec<Recorded>,
) -> Streams {
    let mut one = |stream: &Arc<[Recorded]>, owner: String| -> Arc<[Recorded]> {
        let mut draws = SEED.stream(&format!("workload/{name}/asked/{owner}"));
        again(stream, &mut draws).into()
    };
    let clients = known.of_clients.iter().enumerate();
    let of_clients = clients.map(|(place, stream)| one(stream, format!("{place}"))).collect();
    let threads = known.of_threads.iter().enumerate().map(|(place, threads)| {
        let threads = threads.iter().enumerate();
        threads.map(|(thread, stream)| one(stream, format!("{place}/{thread}"))).collect()
    });
    Streams { of_threads: threads.collect(), of_clients, ..known.clone() }
}

/// Keeps addresses and times. Turns as few requests as possible from reads to writes or from writes to reads,
/// so that the share of reads changes `from` one value `to` another.
pub(super) fn flipped(known: &Streams, name: &str, from: f64, to: f64) -> Streams {
    // all other requests keep their direction
    let (of_reads, of_writes) = if to < from {
        ((from - to) / from, 0.0)
    } else {
        (0.0, (to - from) / (1.0 - from).max(f64::MIN_POSITIVE))
    };
    each(known, name, |stream, draws| {
        let turned = |request: &Recorded| {
            let op = match request.op {
                Op::Read if draws.chance(of_reads) => Op::Write,
                Op::Write if draws.chance(of_writes) => Op::Read,
                op => op,
            };
            Recorded { op, ..*request }
        };
        stream.iter().map(turned).collect()
    })
}

/// Keeps addresses and times. Each request becomes a read with this probability.
pub(super) fn drawn_directions(known: &Streams, name: &str, reads: f64) -> Streams {
    each(known, name, |stream, draws| {
        let drawn = |request: &Recorded| {
            let op = if draws.chance(reads) { Op::Read } else { Op::Write };
            Recorded { op, ..*request }
        };
        stream.iter().map(drawn).collect()
    })
}

/// Keeps times. Gives all requests one size, and rounds their addresses down to a multiple of it.
pub(super) fn of_size(known: &Streams, size: Bytes, volume: Bytes) -> Streams {
    each(known, "", |stream, _| {
        let sized = |request: &Recorded| {
            let aligned = request.offset.get() / size.get() * size.get();
            let offset = Bytes(aligned.min(volume.get().saturating_sub(size.get())));
            Recorded { offset, size: size.get() as u32, ..*request }
        };
        stream.iter().map(sized).collect()
    })
}

/// Drawn requests, with the times and pauses of the recorded ones.
///
/// In an open loop, a client gets only as many requests as were recorded, because later ones would have no
/// times.
pub(super) fn drawn(known: &Streams, drawn: &[Vec<Described>], open: bool) -> Streams {
    let one = |(place, drawn): (usize, &Vec<Described>)| -> Arc<[Recorded]> {
        let recorded = known.of_clients.get(place).map_or(&[][..], |all| all);
        let count = match recorded.len() {
            count if open && count > 0 => count,
            count => count.max(drawn.len()),
        };
        let request = |index: usize| {
            let Described { op, offset, size, .. } = drawn[index % drawn.len()];
            let pause = recorded.get(index % recorded.len().max(1));
            Recorded {
                issued: recorded.get(index).map_or(SimTime::ZERO, |like| like.issued),
                pause: pause.map_or_else(Default::default, |like| like.pause),
                offset,
                size: size.get() as u32,
                op,
            }
        };
        if drawn.is_empty() { Arc::from([]) } else { (0..count).map(request).collect() }
    };
    Streams {
        of_clients: drawn.iter().enumerate().map(one).collect(),
        sharing: Sharing::Shared,
        whole: known.whole,
        creates: known.creates,
        ended: false,
        per_transaction: known.per_transaction,
        of_threads: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::SimSpan;

    use super::*;

    fn streams(reads: impl Fn(u64) -> bool) -> Streams {
        let one = |at: u64| Recorded {
            issued: SimTime::from_ns(at),
            pause: SimSpan::from_ns(at % 3),
            offset: Bytes(at * 4096),
            size: 4096,
            op: if reads(at) { Op::Read } else { Op::Write },
        };
        let of_clients = vec![(0..20_000).map(one).collect()];
        let (whole, creates, ended, of_threads) = (false, false, false, Vec::new());
        let (sharing, per_transaction) = (Sharing::Shared, Some(1.0));
        Streams { of_clients, sharing, whole, creates, ended, per_transaction, of_threads }
    }

    fn share(streams: &Streams) -> f64 {
        let all = &streams.of_clients[0];
        all.iter().filter(|one| one.op == Op::Read).count() as f64 / all.len() as f64
    }

    #[test]
    fn a_share_of_reads_is_met_and_no_more_turn_around_than_must() {
        let known = streams(|at| at % 10 < 6);
        for to in [0.0, 0.3, 0.9, 1.0] {
            let found = flipped(&known, "mail", 0.6, to);
            assert!((share(&found) - to).abs() < 0.01, "{} {to}", share(&found));
            let pairs = known.of_clients[0].iter().zip(found.of_clients[0].iter());
            let turned = pairs.clone().filter(|(old, new)| old.op != new.op).count() as f64;
            assert!((turned / 20_000.0 - (to - 0.6).abs()).abs() < 0.01, "{turned}");
            assert!(pairs.clone().all(|(old, new)| old.offset == new.offset));
        }
        assert!((share(&drawn_directions(&known, "mail", 0.25)) - 0.25).abs() < 0.02);
    }

    #[test]
    fn larger_requests_are_aligned_and_stay_within_the_volume() {
        let known = streams(|_| true);
        let found = of_size(&known, Bytes(65_536), Bytes(20_000 * 4096));
        let all = &found.of_clients[0];
        assert_eq!((all[17].offset, all[17].size), (Bytes(65_536), 65_536));
        assert!(all.iter().all(|one| one.end() <= 20_000 * 4096));
    }

    #[test]
    fn drawn_requests_come_when_recorded_ones_did() {
        let known = streams(|_| true);
        let described = |offset| Described { at: None, op: Op::Write, offset, size: Bytes(512) };
        let few = vec![vec![described(Bytes(512)), described(Bytes(1024))]];
        let found = drawn(&known, &few, true);
        assert_eq!(found.of_clients[0].len(), 20_000);
        let one = found.of_clients[0][7];
        assert_eq!((one.issued, one.pause), (SimTime::from_ns(7), SimSpan::from_ns(1)));
        assert_eq!((one.offset, one.size, one.op), (Bytes(1024), 512, Op::Write));
    }
}
