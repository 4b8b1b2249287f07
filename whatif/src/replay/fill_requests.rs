//! Chooses the recorded requests that fill caches for the fast model.
//!
//! The contents of a cache depend on the latest requests to each address. So the records are walked backwards
//! from the beginning of the first detailed stretch, and only the latest requests to an address are chosen.
//! These are enough reads to reach all of its fragments, and enough writes to show how long its pages have
//! been dirty. The walk of a volume ends when the chosen requests overflow the caches of its nodes, or when
//! new addresses become rare. If it reaches the beginning of the records before that, the caches were still
//! filling when the first stretch began.
//!
//! Left out: earlier requests to an address. They change how often the address was used, not how recently. So
//! LRU caches have the contents that they would have after all requests. Other policies see fewer references
//! than in the recorded run; `predict/represents.rs` decides whether the fast model may answer about them.

use foldhash::fast::FixedState;
use foretell_algorithms::cache::PolicyKind;
use foretell_scenarios::model::{ReadFrom, Scenario, Volume};
use foretell_units::{Op, SimSpan, SimTime};
use hashbrown::HashMap;

use super::instance::Instance;
use crate::observed::Recorded;

/// Number of reads chosen per address if reads choose fragments at random (so that nearly all fragments are
/// reached), or if a cache's policy treats pages that were read once differently.
const READS: u32 = 3;
/// Number of writes chosen per address, of those whose pages may still be dirty.
const WRITES: u32 = 8;
/// The walk of a volume ends when the chosen bytes are this multiple of the caches of its nodes.
pub(super) const OVERFLOW: f64 = 1.25;
/// Number of steps of the walk.
const STEPS: u64 = 256;
/// New addresses are rare if they are less than this share of the requests in a step.
const FEW_NEW: f64 = 0.01;
/// Minimum number of requests of a volume to walk before rare new addresses end the walk.
const MANY: usize = 20_000;

/// The chosen requests.
pub(super) struct Chosen {
    /// By instance: positions among its recorded requests, ascending.
    pub(super) positions: Vec<Vec<usize>>,
    /// Whether all requests together neither fill the caches of some volume nor reach nearly all of its addresses.
    pub(super) still_fills: bool,
}

/// The chosen requests to an address.
#[derive(Clone, Copy)]
struct Seen {
    count: u32,
    earliest: SimTime,
}

/// A volume during the walk.
struct Walk {
    seen: HashMap<(Where, Op), Seen, FixedState>,
    /// Bytes that the chosen requests put into caches, and the bytes at which the walk ends.
    bytes: f64,
    enough: f64,
    /// Bytes in caches for each byte written.
    copies: f64,
    /// Pages written since this time may still be dirty.
    dirty_since: SimTime,
    /// Minimum time between chosen writes of an address.
    apart: SimSpan,
    /// Maximum reads chosen of an address.
    reads: u32,
    walked: usize,
    done: bool,
}

/// The range of bytes that a request reads or writes: offset and size.
type Where = (u64, u32);

impl Walk {
    fn of(scenario: &Scenario, volume: &Volume, until: SimTime) -> Self {
        let storage = volume.nodes.iter().filter_map(|node| scenario.host(*node).role.storage());
        let (mut enough, mut expire) = (0.0, SimSpan::ZERO);
        let mut reads = if volume.read_from == ReadFrom::Primary { 1 } else { READS };
        for cache in storage.map(|storage| &storage.cache) {
            if cache.policy != PolicyKind::Lru.name() {
                reads = READS;
            }
            enough += OVERFLOW * cache.size.get() as f64;
            expire = expire.max(cache.dirty_expire + cache.flush_interval);
        }
        let begin = until.saturating_since(SimTime::ZERO).saturating_sub(expire);
        Self {
            seen: HashMap::default(),
            bytes: 0.0,
            enough,
            copies: volume.encoding.n() as f64 / volume.encoding.m() as f64,
            dirty_since: SimTime::ZERO + begin,
            apart: expire / u64::from(WRITES),
            reads,
            walked: 0,
            done: false,
        }
    }

    /// Whether to choose a request, which is earlier than all requests walked so far.
    fn takes(&mut self, request: &Recorded) -> bool {
        let Recorded { issued, offset, size, op, .. } = *request;
        let fresh = Seen { count: 0, earliest: SimTime::MAX };
        let seen = self.seen.entry(((offset.get(), size), op)).or_insert(fresh);
        let again = match op {
            Op::Read => seen.count < self.reads,
            Op::Write => {
                issued >= self.dirty_since
                    && seen.earliest.saturating_since(issued) >= self.apart
                    && seen.count < WRITES
            }
        };
        if seen.count > 0 && !again {
            return false;
        }
        // only the first request brings new pages; a later read may reach other fragments
        if seen.count == 0 {
            let copies = if op == Op::Write { self.copies } else { 1.0 };
            self.bytes += copies * f64::from(size);
        }
        *seen = Seen { count: seen.count + 1, earliest: issued };
        true
    }

    /// Ends a step of the walk, with the number of requests walked and chosen.
    fn stepped(&mut self, looked_at: usize, chosen: usize) {
        self.walked += looked_at;
        let few = (chosen as f64) < FEW_NEW * looked_at as f64;
        self.done |= self.bytes >= self.enough || few && self.walked >= MANY;
    }
}

/// Chooses among the requests recorded before a time.
pub(super) fn choose(scenario: &Scenario, instances: &[Instance], until: SimTime) -> Chosen {
    let mut walks: Vec<Walk> =
        scenario.volumes.iter().map(|volume| Walk::of(scenario, volume, until)).collect();
    let mut positions: Vec<Vec<usize>> = vec![Vec::new(); instances.len()];
    let mut left: Vec<usize> = instances
        .iter()
        .map(|one| if one.has_times() { one.recorded_before(until) } else { 0 })
        .collect();
    let step = SimSpan::from_ns(until.saturating_since(SimTime::ZERO).as_ns() / STEPS + 1);
    for number in (0..STEPS).rev() {
        let begin = SimTime::ZERO + step * number;
        let mut looked_at = vec![(0, 0); walks.len()];
        for (index, instance) in instances.iter().enumerate() {
            let volume = instance.volume as usize;
            if walks[volume].done {
                continue;
            }
            let record = instance.record();
            while let Some(position) = left[index].checked_sub(1) {
                let request = &record[position];
                if request.issued < begin {
                    break;
                }
                left[index] = position;
                looked_at[volume].0 += 1;
                if walks[volume].takes(request) {
                    looked_at[volume].1 += 1;
                    positions[index].push(position);
                }
            }
        }
        for (walk, (looked_at, chosen)) in walks.iter_mut().zip(looked_at) {
            walk.stepped(looked_at, chosen);
        }
        if walks.iter().all(|walk| walk.done) {
            break;
        }
    }
    for positions in &mut positions {
        positions.reverse();
    }
    let used = |volume: usize| instances.iter().any(|one| one.volume as usize == volume);
    let still_fills = walks.iter().enumerate().any(|(volume, walk)| !walk.done && used(volume));
    Chosen { positions, still_fills }
}

#[cfg(test)]
mod tests {
    use foretell_units::Bytes;

    use super::*;

    const BLOCK: u32 = 4096;

    fn walk(reads: u32, enough: f64) -> Walk {
        Walk {
            seen: HashMap::default(),
            bytes: 0.0,
            enough,
            copies: 1.5,
            dirty_since: SimTime::from_ns(1000),
            apart: SimSpan::from_ns(10),
            reads,
            walked: 0,
            done: false,
        }
    }

    fn request(issued_ns: u64, block: u64, op: Op) -> Recorded {
        Recorded {
            issued: SimTime::from_ns(issued_ns),
            pause: SimSpan::ZERO,
            offset: Bytes(block * u64::from(BLOCK)),
            size: BLOCK,
            op,
        }
    }

    #[test]
    fn the_latest_reads_of_an_address_are_chosen() {
        let mut walk = walk(2, f64::INFINITY);
        let chosen = [9, 8, 7, 6].map(|at| walk.takes(&request(at, 0, Op::Read)));
        assert_eq!(chosen, [true, true, false, false]);
        assert!(walk.takes(&request(5, 1, Op::Read)), "another address");
        assert!(walk.takes(&request(4, 0, Op::Write)), "another operation");
    }

    #[test]
    fn earlier_writes_of_an_address_are_chosen_far_apart_and_while_they_may_be_dirty() {
        let mut walk = walk(1, f64::INFINITY);
        let chosen = [1029, 1025, 1019, 1018, 1009, 999, 900];
        let chosen = chosen.map(|at| walk.takes(&request(at, 0, Op::Write)));
        assert_eq!(chosen, [true, false, true, false, true, false, false]);
    }

    #[test]
    fn a_volume_is_done_when_its_caches_overflow() {
        let block = f64::from(BLOCK);
        let mut walk = walk(1, 4.0 * block);
        assert!(walk.takes(&request(9, 0, Op::Write)));
        assert!(walk.takes(&request(8, 1, Op::Write)));
        walk.stepped(2, 2);
        assert!(!walk.done, "the copies of two writes are three blocks");
        assert!(walk.takes(&request(7, 2, Op::Read)));
        walk.stepped(1, 1);
        assert!(walk.done);
    }

    #[test]
    fn a_volume_is_done_when_hardly_any_address_is_new() {
        let mut walk = walk(1, f64::INFINITY);
        walk.stepped(MANY - 1, 0);
        assert!(!walk.done, "too few requests to tell");
        walk.stepped(1000, 10);
        assert!(!walk.done);
        walk.stepped(1000, 9);
        assert!(walk.done);
    }
}
