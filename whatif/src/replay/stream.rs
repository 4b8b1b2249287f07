//! The requests of one client: the recorded ones, and further requests that resemble them.
//!
//! A faster cluster needs more requests than were recorded, and an additional client needs its own. Both are
//! drawn from the workload's record ([`Sample`]). If the clients of a benchmark have their own files, an
//! additional client behaves like one of the others, on its own files.

use std::sync::{Arc, OnceLock};

use foretell_units::{Bytes, Op, SimSpan, SimTime, Stream};

use super::SEED;
use super::sample::{Recent, Sample};
use crate::observed::{Recorded, Sharing, Streams};

/// A client's request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct NextRequest {
    pub(super) op: Op,
    pub(super) offset: Bytes,
    pub(super) size: Bytes,
}

/// The record of a workload's requests.
#[derive(Debug)]
struct Known {
    name: String,
    streams: Vec<Arc<[Recorded]>>,
    /// Bytes of the volume.
    volume: Bytes,
    /// One sample of all streams together, or one of each if clients have their own addresses; computed when needed.
    samples: Vec<OnceLock<Sample>>,
    /// By stream: the mean pause of its client, computed when needed.
    mean_pauses: Vec<OnceLock<SimSpan>>,
}

/// The requests of one client.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    known: Arc<Known>,
    /// The recorded stream that contains these requests, or that they resemble.
    stream: usize,
    /// Position of the first request of the stream that is used.
    from: usize,
    /// Offset that is added to the addresses, bytes.
    beside: u64,
    /// Number of requests issued so far.
    next: usize,
    /// Number of completions followed up so far.
    followed: usize,
    /// The recent requests, if they differ from the record.
    recent: Option<Recent>,
}

impl Known {
    fn record(&self, stream: usize) -> &[Recorded] {
        &self.streams[stream]
    }

    /// The sample of a stream, and the stream's number in it.
    fn sample(&self, stream: usize) -> (&Sample, usize) {
        let draws = |of: usize| SEED.stream(&format!("workload/{}/habits/{of}", self.name));
        let of = |streams: &[&[Recorded]]| Sample::of(streams, self.volume, &mut draws(stream));
        if let [all] = &self.samples[..] {
            let records = || self.streams.iter().map(|stream| &**stream).collect::<Vec<_>>();
            return (all.get_or_init(|| of(&records())), stream);
        }
        (self.samples[stream].get_or_init(|| of(&[self.record(stream)])), 0)
    }
}

/// Distance between the address ranges of two clients that have their own.
fn apart(streams: &[Arc<[Recorded]>]) -> u64 {
    let first = |stream: &Arc<[Recorded]>| stream.iter().map(|one| one.offset.get()).min();
    let mut begins = streams.iter().filter_map(first);
    match (begins.next(), begins.next()) {
        (Some(one), Some(two)) => one.abs_diff(two),
        _ => streams.iter().flat_map(|all| all.iter()).map(Recorded::end).max().unwrap_or(0),
    }
}

impl Requests {
    /// The requests of each client of a workload, on a volume of this size. `draws` gives the random stream
    /// by position of the client.
    pub(super) fn of_clients(
        name: &str,
        known: &Streams,
        clients: usize,
        volume: Bytes,
        draws: impl Fn(usize) -> Stream,
    ) -> Vec<Self> {
        let count = known.of_clients.len();
        let samples = if known.sharing == Sharing::Beside { count } else { 1 };
        let known_to_all = Arc::new(Known {
            name: name.to_owned(),
            streams: known.of_clients.clone(),
            volume,
            samples: (0..samples).map(|_| OnceLock::new()).collect(),
            mean_pauses: (0..count).map(|_| OnceLock::new()).collect(),
        });
        let recorded: Vec<usize> =
            (0..count).filter(|stream| !known.of_clients[*stream].is_empty()).collect();
        let first = |stream: &usize| known.of_clients[*stream][0].offset.get();
        let mut begins: Vec<u64> = recorded.iter().map(first).collect();
        let mut all = Vec::with_capacity(clients);
        for place in 0..clients {
            let mut one = Self {
                known: Arc::clone(&known_to_all),
                stream: place,
                from: 0,
                beside: 0,
                next: 0,
                followed: 0,
                recent: None,
            };
            if !recorded.contains(&place) {
                one.stream = recorded[place % recorded.len()];
                match known.sharing {
                    Sharing::Same => {}
                    Sharing::Beside => {
                        one.beside = apart(&known.of_clients) * place.abs_diff(one.stream) as u64;
                    }
                    Sharing::Shared => one.begin_beside(&mut begins, &mut draws(place)),
                }
            }
            all.push(one);
        }
        all
    }

    /// The requests of each thread of a workload's client at position `place`: those of recorded
    /// threads, and more like them.
    pub(super) fn of_threads(
        name: &str,
        known: &Streams,
        place: usize,
        threads: usize,
        volume: Bytes,
        draws: impl Fn(usize) -> Stream,
    ) -> Vec<Self> {
        let recorded: Vec<usize> =
            (0..known.of_threads.len()).filter(|at| !known.of_threads[*at].is_empty()).collect();
        let like = if recorded.contains(&place) { place } else { recorded[place % recorded.len()] };
        let of_one = Streams {
            of_clients: known.of_threads[like].clone(),
            sharing: Sharing::Shared,
            whole: known.whole,
            creates: known.creates,
            ended: known.ended,
            per_transaction: known.per_transaction,
            of_threads: Vec::new(),
        };
        let mut all = Self::of_clients(name, &of_one, threads, volume, draws);
        let beside = match known.sharing {
            Sharing::Beside => apart(&known.of_clients) * place.abs_diff(like) as u64,
            Sharing::Shared | Sharing::Same => 0,
        };
        for one in &mut all {
            one.beside = beside;
        }
        all
    }

    /// Gives the client its own requests. Other streams begin at the addresses `begins`.
    fn begin_beside(&mut self, begins: &mut Vec<u64>, draws: &mut Stream) {
        let like = self.known.record(self.stream);
        self.from = draws.below(like.len() as u64) as usize;
        self.followed = self.from;
        let (sample, _) = self.known.sample(self.stream);
        let begun = sample.begin(like, begins);
        begins.extend(begun.begin());
        self.recent = Some(begun);
    }

    /// Number of recorded requests of the client, or of the one that it resembles.
    pub(super) fn recorded(&self) -> usize {
        self.known.record(self.stream).len()
    }

    /// Whether the record has times: not all of its requests were issued at the same time.
    pub(super) fn has_times(&self) -> bool {
        let recorded = self.known.record(self.stream);
        recorded.windows(2).any(|pair| pair[0].issued != pair[1].issued)
    }

    /// Whether nothing was recorded, so that nothing can be drawn.
    pub(super) fn is_empty(&self) -> bool {
        self.known.record(self.stream).is_empty()
    }

    /// Recorded time of the next request, if it has one.
    pub(super) fn next_issued(&self) -> Option<SimTime> {
        self.known.record(self.stream).get(self.next).map(|request| request.issued)
    }

    /// Time for which the client works on its own after the next completion.
    pub(super) fn next_pause(&mut self) -> SimSpan {
        let recorded = self.known.record(self.stream);
        let Some(followed) = recorded.get(self.followed) else { return SimSpan::ZERO };
        let pause = followed.pause;
        self.followed = (self.followed + 1) % recorded.len();
        pause
    }

    /// Mean of these times.
    pub(super) fn mean_pause(&self) -> SimSpan {
        let recorded = self.known.record(self.stream);
        let mean = || {
            let all: SimSpan = recorded.iter().map(|request| request.pause).sum();
            all / (recorded.len() as u64).max(1)
        };
        *self.known.mean_pauses[self.stream].get_or_init(mean)
    }

    /// Number of requests that were issued before a time.
    pub(super) fn recorded_before(&self, time: SimTime) -> usize {
        let recorded = self.known.record(self.stream);
        recorded.partition_point(|request| request.issued < time)
    }

    /// Whether it issues the recorded requests, as long as the record lasts.
    pub(super) fn is_as_recorded(&self) -> bool {
        self.recent.is_none()
    }

    /// The recorded requests.
    pub(super) fn record(&self) -> &[Recorded] {
        self.known.record(self.stream)
    }

    /// Leaves out the requests before a position of the record. Returns their number.
    pub(super) fn leave_out_to(&mut self, position: usize) -> u64 {
        let recorded = self.known.record(self.stream);
        let count = position.saturating_sub(self.next);
        self.next += count;
        self.followed = self.next % recorded.len().max(1);
        count as u64
    }

    /// The next request.
    pub(super) fn next(&mut self, draws: &mut Stream) -> NextRequest {
        let index = self.next;
        self.next += 1;
        let record = self.known.record(self.stream);
        let mut request = match record.get(index) {
            Some(request) if self.recent.is_none() => {
                let size = Bytes(u64::from(request.size));
                NextRequest { op: request.op, offset: request.offset, size }
            }
            _ => {
                let (sample, stream) = self.known.sample(self.stream);
                let recent = self.recent.get_or_insert_with(|| Recent::of(record));
                sample.next(record, stream, self.from + index, recent, draws)
            }
        };
        request.offset += Bytes(self.beside);
        // addresses beyond a smaller volume wrap around
        let room = self.known.volume.get().saturating_sub(request.size.get()) + 1;
        request.offset = Bytes(request.offset.get() % room);
        request
    }
}

#[cfg(test)]
mod tests {
    use foretell_algorithms::cache::{Policy, PolicyKind};
    use foretell_units::Seed;

    use super::*;

    const SIZE: u64 = 4096;

    fn recorded(blocks: impl IntoIterator<Item = u64>) -> Arc<[Recorded]> {
        let one = |block: u64| Recorded {
            issued: SimTime::ZERO,
            pause: SimSpan::ZERO,
            offset: Bytes(block * SIZE),
            size: SIZE as u32,
            op: Op::Read,
        };
        blocks.into_iter().map(one).collect()
    }

    fn streams(of_clients: Vec<Arc<[Recorded]>>, sharing: Sharing) -> Streams {
        let (whole, creates, ended, of_threads) = (false, false, false, Vec::new());
        Streams {
            of_clients,
            sharing,
            whole,
            creates,
            ended,
            per_transaction: Some(1.0),
            of_threads,
        }
    }

    /// The first `count` blocks that each client requests, on a volume of `volume` blocks.
    fn asked_for(known: &Streams, clients: usize, volume: u64, count: usize) -> Vec<Vec<u64>> {
        let draws = |place| Seed(1).stream(&format!("requests/{place}"));
        let all = Requests::of_clients("mail", known, clients, Bytes(volume * SIZE), draws);
        let blocks = |(place, mut requests): (usize, Requests)| {
            let mut draws = draws(place);
            (0..count).map(|_| requests.next(&mut draws).offset.get() / SIZE).collect()
        };
        all.into_iter().enumerate().map(blocks).collect()
    }

    /// The blocks requested after a record of requests to these blocks, on a volume of `volume` blocks.
    fn beyond(volume: u64, blocks: impl IntoIterator<Item = u64>, count: usize) -> Vec<u64> {
        let recorded = recorded(blocks);
        let met = recorded.len();
        let known = streams(vec![recorded], Sharing::Shared);
        asked_for(&known, 1, volume, met + count).remove(0).split_off(met)
    }

    /// Share of the requests to blocks that are among the last `pages` different ones.
    fn hit_rate(blocks: &[u64], pages: usize) -> f64 {
        let mut cache = PolicyKind::Lru.build(pages);
        let mut hits = 0;
        for block in blocks {
            hits += u32::from(cache.access(*block).is_hit());
        }
        f64::from(hits) / blocks.len() as f64
    }

    #[test]
    fn a_stream_that_never_began_again_goes_on_to_the_end_of_the_volume() {
        let expected: Vec<u64> = (40..100).chain(30..40).collect();
        assert_eq!(beyond(100, 30..40, 70), expected);
    }

    #[test]
    fn a_stream_that_began_again_does_so_where_it_did() {
        let expected: Vec<u64> = (15..40).chain(10..20).collect();
        assert_eq!(beyond(100, (30..40).chain(10..15), 35), expected);
    }

    #[test]
    fn what_came_at_random_comes_from_where_it_came() {
        let mut draws = Seed(2).stream("record");
        let met: Vec<u64> = (0..2000).map(|_| 1000 + draws.below(5000)).collect();
        let found = beyond(10_000, met.clone(), 5000);
        assert!(found.iter().all(|block| (1000..6000).contains(block)));
        for tenth in 0..10 {
            let of_it = |block: &&u64| (**block - 1000) / 500 == tenth;
            let [found, met] = [&found, &met].map(|all| all.iter().filter(of_it).count() as f64);
            assert!((found - 2.5 * met).abs() < 4.0 * found.sqrt(), "{tenth}: {found} {met}");
        }
        let new = found.iter().filter(|block| !met.contains(block)).count();
        // a share of exp(-2000 / 5000) of the places was not recorded
        assert!((3150..3550).contains(&new), "{new}");
    }

    #[test]
    fn what_was_met_often_comes_often() {
        let mut draws = Seed(3).stream("record");
        let mut draw = || if draws.chance(0.01) { 7 } else { 1000 + draws.below(5000) };
        let met: Vec<u64> = (0..20_000).map(|_| draw()).collect();
        let found = beyond(10_000, met, 20_000);
        let hot = found.iter().filter(|&&block| block == 7).count();
        assert!((140..260).contains(&hot), "{hot}");
    }

    #[test]
    fn what_is_asked_for_twice_at_once_is_so_again() {
        let mut draws = Seed(4).stream("record");
        let pairs = (0..1000).map(|_| draws.below(9_000)).flat_map(|block| [block, block]);
        let found = beyond(10_000, pairs, 1000);
        let again = found.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((450..=550).contains(&again), "{again}");
    }

    #[test]
    fn a_client_more_has_requests_of_its_own() {
        let mut draws = Seed(5).stream("record");
        let mut uniform = || recorded((0..4000).map(|_| draws.below(20_000)));
        let known = streams(vec![uniform(), uniform()], Sharing::Shared);
        let found = asked_for(&known, 4, 20_000, 4000);
        let met: Vec<Vec<u64>> = found[..2].to_vec();
        for more in &found[2..] {
            let as_recorded = |met: &Vec<u64>| more.iter().zip(met).filter(|(a, b)| a == b).count();
            assert!(met.iter().all(|met| as_recorded(met) < 10), "a copy");
            // a share of exp(-8000 / 20,000) of all places was not recorded
            let new = more.iter().filter(|block| !met.iter().any(|met| met.contains(block)));
            let new = new.count();
            assert!((2550..2820).contains(&new), "{new}");
        }
        assert_ne!(found[2], found[3]);
    }

    #[test]
    fn what_is_popular_with_some_is_so_with_others() {
        let mut draws = Seed(6).stream("record");
        // a third of the requests goes to ten scattered blocks
        let mut one = || {
            if draws.chance(1.0 / 3.0) { 977 * draws.below(10) } else { draws.below(50_000) }
        };
        let mut some = |count: usize| -> Vec<u64> { (0..count).map(|_| one()).collect() };
        let known = streams(vec![recorded(some(3000))], Sharing::Shared);
        let found = asked_for(&known, 2, 50_000, 3000).remove(1);
        let is_hot = |block: &&u64| (**block).is_multiple_of(977) && **block < 9770;
        let hot = found.iter().filter(is_hot).count();
        assert!((880..1120).contains(&hot), "{hot}");
        let (rate, expected) = (hit_rate(&found, 500), hit_rate(&some(3000), 500));
        assert!((rate - expected).abs() < 0.03, "{rate} {expected}");
    }

    #[test]
    fn chance_is_no_habit() {
        let mut draws = Seed(7).stream("record");
        // about 1 / block: some blocks are re-referenced soon and some follow each other, all by chance
        let mut zipf = || (libm::pow(20_000.0, draws.unit()) - 1.0) as u64;
        let mut some = |count: usize| -> Vec<u64> { (0..count).map(|_| zipf()).collect() };
        let known = streams(vec![recorded(some(10_000))], Sharing::Shared);
        let found = asked_for(&known, 2, 20_000, 10_000).remove(1);
        let expected = some(10_000);
        for pages in [20, 200, 2000] {
            let (rate, expected) = (hit_rate(&found, pages), hit_rate(&expected, pages));
            assert!((rate / expected - 1.0).abs() < 0.05, "{pages} pages: {rate} {expected}");
        }
    }

    #[test]
    fn runs_stay_runs() {
        let mut draws = Seed(8).stream("record");
        let mut run = || {
            let first = 16 * draws.below(5000);
            first..first + 16
        };
        let known = streams(vec![recorded((0..500).flat_map(|_| run()))], Sharing::Shared);
        let found = asked_for(&known, 2, 80_000, 8000);
        let follows = |all: &[u64]| all.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
        let (before, more) = (follows(&found[0]), follows(&found[1]));
        assert!(before.abs_diff(more) < 40, "{before} {more}");
        let begins = |all: &[u64]| -> Vec<u64> {
            let begins = all.windows(2).filter(|pair| pair[1] != pair[0] + 1);
            begins.map(|pair| pair[1]).collect()
        };
        let (before, more) = (begins(&found[0]), begins(&found[1]));
        assert!(more.iter().all(|begin| begin % 16 == 0));
        let same = more.iter().filter(|begin| before.contains(begin)).count();
        assert!(same < 100, "{same} of {}", more.len());
    }

    #[test]
    fn a_stream_more_begins_where_there_is_room() {
        let known = streams(vec![recorded(0..40), recorded(50..90)], Sharing::Shared);
        let found = asked_for(&known, 4, 100, 60);
        assert_eq!(found[2], (25..85).collect::<Vec<u64>>());
        let expected: Vec<u64> = (75..100).chain(0..35).collect();
        assert_eq!(found[3], expected);
    }

    #[test]
    fn files_of_a_clients_own_lie_beside_those_of_others() {
        let record = || recorded([3, 1, 4, 1, 5]);
        let other = recorded([103, 101, 104, 101, 105]);
        let known = streams(vec![record(), other], Sharing::Beside);
        assert_eq!(
            asked_for(&known, 4, 1000, 5)[2..],
            [[203, 201, 204, 201, 205], [303, 301, 304, 301, 305]]
        );
        let known = streams(vec![record()], Sharing::Same);
        assert_eq!(asked_for(&known, 2, 1000, 5)[1], [3, 1, 4, 1, 5]);
    }
}
