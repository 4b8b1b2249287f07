//! Finds the law that generates the requests of a workload of kind `ssio`, from the recorded requests.
//!
//! The benchmark's documentation lists the possible laws: requests of one size; addresses in order, a fixed
//! distance apart, or chosen independently of each other: uniformly, by a Zipf law of the block's number, or
//! from a hot beginning and a cold rest. The records do not contain the law and its parameters. They are
//! estimated from the recorded addresses (maximum likelihood, penalized by the number of parameters: Schwarz,
//! *Estimating the Dimension of a Model*, 1978). If no law fits the recorded addresses, there is no answer.

use std::fmt;
use std::sync::Arc;

use foldhash::fast::FixedState;
use foretell_units::{Bytes, Op};
use hashbrown::HashMap;

use crate::observed::Recorded;

/// A stream is in order if at least this share of its requests have the same distance from the previous
/// request.
const NEARLY_ALL: f64 = 0.9;
/// Suppose that the workload used the rest of the volume, too. If fewer requests than this were expected
/// there, the records cannot exclude it.
const EXPECTED_BEYOND: f64 = 9.0;
/// Maximum distance of two distributions (Kolmogorov & Smirnov) that count as equal. The second number,
/// divided by the square root of the number of addresses, is added as an allowance for chance.
const NEAR: (f64, f64) = (0.01, 2.0);
/// The largest Zipf exponent that is tried.
const STEEPEST: f64 = 8.0;
/// Number of terms of a sum that are added one by one.
const HEAD: usize = 2048;

/// The law of a workload's requests.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Law {
    /// Share of reads.
    pub(super) reads: f64,
    /// Bytes of each request.
    pub(super) access: u64,
    /// Number of blocks of this size in use, from the beginning of the volume on.
    pub(super) blocks: u64,
    /// Whether they fill the whole volume.
    pub(super) whole: bool,
    pub(super) order: Order,
    /// Number of requests from which the law was estimated.
    pub(super) requests: usize,
}

/// Order of addresses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Order {
    Sequential,
    /// Distance in bytes from one request to the next.
    Strided(u64),
    Random,
    Zipf {
        alpha: f64,
    },
    HotCold {
        /// Number of hot blocks.
        hot: u64,
        /// Share of the requests that go to hot blocks.
        share: f64,
    },
}

impl Law {
    /// The law of streams on a volume. The error says why no law was found.
    pub(super) fn of(streams: &[Arc<[Recorded]>], volume: Bytes) -> Result<Self, String> {
        let all = || streams.iter().flat_map(|stream| stream.iter());
        let Some(first) = all().next() else { return Err("nothing was recorded of it".to_owned()) };
        let access = u64::from(first.size);
        if all().any(|one| u64::from(one.size) != access || one.offset.get() % access != 0) {
            return Err("its requests have several sizes".to_owned());
        }
        let requests = all().count();
        let reads = all().filter(|one| one.op == Op::Read).count() as f64 / requests as f64;
        let room = (volume.get() / access).max(1);
        let law = |order, blocks: u64| {
            let blocks = blocks.clamp(1, room);
            Self { reads, access, blocks, whole: blocks == room, order, requests }
        };
        if let Some(order) = in_order(streams, access) {
            let last = all().map(Recorded::end).max().unwrap_or(access) / access;
            return Ok(law(order, used_in_order(streams, access, last).unwrap_or(room)));
        }
        let mut places: Vec<u64> = all().map(|one| one.offset.get() / access).collect();
        places.sort_unstable();
        let (order, blocks) = chosen(&places, room)?;
        Ok(law(order, blocks))
    }

    /// The law on a volume of another size, as settings of a scenario: keys of a workload of kind `ssio`.
    pub(super) fn settings(&self, recorded_on: Bytes, volume: Bytes) -> String {
        let used = if self.whole {
            volume.get()
        } else if recorded_on == volume {
            self.blocks * self.access
        } else {
            let share = (self.blocks * self.access) as f64 / recorded_on.get() as f64;
            ((share * volume.get() as f64) as u64).clamp(self.access, volume.get())
        };
        let order = match self.order {
            Order::Sequential => "pattern = \"sequential\"".to_owned(),
            Order::Strided(step) => format!("pattern = \"strided\", step = \"{step} B\""),
            Order::Random => "pattern = \"random\"".to_owned(),
            Order::Zipf { alpha } => format!("pattern = \"zipf\", alpha = {alpha:?}"),
            Order::HotCold { hot, share } => format!(
                "pattern = \"hot-cold\", hot_fraction = {:?}, hot_share = {share:?}",
                hot as f64 / self.blocks as f64
            ),
        };
        let Self { reads, access, .. } = self;
        format!("reads = {reads:?}, access = \"{access} B\", working_set = \"{used} B\", {order}")
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        write!(f, "{} reads, {} each, ", percent(self.reads), Bytes(self.access))?;
        match self.order {
            Order::Sequential => write!(f, "one after the other")?,
            Order::Strided(step) => write!(f, "{} apart", Bytes(step))?,
            Order::Random => write!(f, "at random")?,
            Order::Zipf { alpha } => write!(f, "by a Zipf law with exponent {alpha:.2}")?,
            Order::HotCold { hot, share } => {
                let hot = percent(hot as f64 / self.blocks as f64);
                write!(f, "{} of them to the first {hot}", percent(share))?;
            }
        }
        if self.whole {
            write!(f, " of the whole volume")
        } else {
            write!(f, " of the volume's first {:.1} GiB", gib(self.blocks * self.access))
        }
    }
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// The order of streams in which nearly all requests have the same distance from the previous one.
fn in_order(streams: &[Arc<[Recorded]>], access: u64) -> Option<Order> {
    let pairs = || streams.iter().flat_map(|stream| stream.windows(2));
    let mut steps: HashMap<u64, usize, FixedState> = HashMap::default();
    for pair in pairs() {
        if let Some(step) = pair[1].offset.get().checked_sub(pair[0].offset.get()) {
            *steps.entry(step).or_default() += 1;
        }
    }
    let (step, count) = steps.into_iter().max_by_key(|(step, count)| (*count, *step))?;
    let nearly_all = count as f64 >= NEARLY_ALL * pairs().count() as f64;
    match step {
        _ if !nearly_all || step < access || step % access != 0 => None,
        step if step == access => Some(Order::Sequential),
        step => Some(Order::Strided(step)),
    }
}

/// Number of blocks that streams in order use. It is known if a stream wrapped around, or if there are
/// several streams, because those of the benchmark begin at equal distances.
fn used_in_order(streams: &[Arc<[Recorded]>], access: u64, last: u64) -> Option<u64> {
    let mut pairs = streams.iter().flat_map(|stream| stream.windows(2));
    if pairs.any(|pair| pair[1].offset < pair[0].offset) {
        return Some(last);
    }
    let (place, stream) = streams.iter().enumerate().rfind(|(_, stream)| !stream.is_empty())?;
    let first = stream[0].offset.get() / access;
    let begins_at_its_part = place > 0 && first > 0;
    begins_at_its_part.then(|| (first * streams.len() as u64).div_ceil(place as u64).max(last))
}

/// The law of independent choices, and the number of blocks. `places` are the requested block numbers,
/// sorted; the volume has `room` blocks.
fn chosen(places: &[u64], room: u64) -> Result<(Order, u64), String> {
    let n = places.len() as f64;
    let met = places.last().map_or(1, |last| last + 1);
    let mut found = best(places, met);
    let mut blocks = met;
    if met < room && found.beyond(n, met, room) < EXPECTED_BEYOND {
        blocks = room;
        found = best(places, room);
    } else if met < room {
        // the last block in use may be beyond the last recorded one
        blocks = met + (1.0 / found.density(n, met)).min((room - met) as f64) as u64;
    }
    let apart = found.apart(places, blocks);
    if apart > NEAR.0 + NEAR.1 / n.sqrt() {
        return Err("its addresses follow none of the laws that a scenario can name".to_owned());
    }
    Ok((found.order, blocks))
}

/// A law, with the sums needed to evaluate it.
struct Fit {
    order: Order,
    sums: Sums,
}

/// The most likely law over a number of blocks.
fn best(places: &[u64], blocks: u64) -> Fit {
    let n = places.len() as f64;
    let size = blocks as f64;
    let uniform = -n * libm::log(size);
    let logs: f64 = places.iter().map(|place| libm::log((place + 1) as f64)).sum::<f64>();
    let likelihood = |alpha: f64| -alpha * logs - n * libm::log(Sums::new(alpha).up_to(blocks));
    let alpha = highest(0.0, STEEPEST, likelihood);
    let zipf = likelihood(alpha);
    let mut hot = (f64::NEG_INFINITY, 1, 0.5);
    for (index, pair) in places.windows(2).enumerate() {
        let (count, bound) = ((index + 1) as f64, pair[0] + 1);
        if pair[0] == pair[1] || bound >= blocks {
            continue;
        }
        let (here, rest) = (bound as f64, (blocks - bound) as f64);
        let cold = n - count;
        let likely = count * libm::log(count / n / here) + cold * libm::log(cold / n / rest);
        if likely > hot.0 {
            hot = (likely, bound, count / n);
        }
    }
    let penalty = libm::log(n) / 2.0;
    let laws = [
        (uniform, Order::Random),
        (zipf - penalty, Order::Zipf { alpha }),
        (hot.0 - 2.0 * penalty, Order::HotCold { hot: hot.1, share: hot.2 }),
    ];
    let likeliest = laws.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    let order = likeliest.map_or(Order::Random, |(_, order)| order);
    let sums = Sums::new(if let Order::Zipf { alpha } = order { alpha } else { 0.0 });
    Fit { order, sums }
}

impl Fit {
    /// The share of the requests that go to the `first` blocks.
    fn share(&self, first: u64, blocks: u64) -> f64 {
        match self.order {
            Order::Zipf { .. } => self.sums.up_to(first) / self.sums.up_to(blocks),
            Order::HotCold { hot, share } if first <= hot => share * first as f64 / hot as f64,
            Order::HotCold { hot, share } => {
                share + (1.0 - share) * (first - hot) as f64 / (blocks - hot).max(1) as f64
            }
            _ => first as f64 / blocks as f64,
        }
    }

    /// Of `n` requests, the expected number to blocks from `met` to `room`.
    fn beyond(&self, n: f64, met: u64, room: u64) -> f64 {
        n * (1.0 - self.share(met, room))
    }

    /// Expected number of requests to the last block.
    fn density(&self, n: f64, blocks: u64) -> f64 {
        let width = (blocks / 64).max(1);
        let last = 1.0 - self.share(blocks - width, blocks);
        (n * last / width as f64).max(f64::MIN_POSITIVE)
    }

    /// The distance between the law and the recorded block numbers.
    fn apart(&self, places: &[u64], blocks: u64) -> f64 {
        let n = places.len();
        let mut apart: f64 = 0.0;
        for index in (0..n).step_by((n / 1000).max(1)) {
            let place = places[index];
            let until = places.partition_point(|other| *other <= place);
            apart = apart.max((until as f64 / n as f64 - self.share(place + 1, blocks)).abs());
        }
        apart
    }
}

/// Sums of `k^-alpha`.
struct Sums {
    alpha: f64,
    head: Vec<f64>,
}

impl Sums {
    fn new(alpha: f64) -> Self {
        let mut sum = 0.0;
        let terms = (1..=HEAD).map(|k| libm::pow(k as f64, -alpha));
        let head = terms.map(|term| {
            sum += term;
            sum
        });
        Self { alpha, head: head.collect() }
    }

    /// Sum of the first `count` terms; beyond the head by the midpoint rule.
    fn up_to(&self, count: u64) -> f64 {
        if let Some(sum) = (count as usize).checked_sub(1).and_then(|at| self.head.get(at)) {
            return *sum;
        }
        if count == 0 {
            return 0.0;
        }
        let (from, until) = (HEAD as f64 + 0.5, count as f64 + 0.5);
        let power = 1.0 - self.alpha;
        let rest = if power.abs() < 1e-9 {
            libm::log(until / from)
        } else {
            (libm::pow(until, power) - libm::pow(from, power)) / power
        };
        self.head[HEAD - 1] + rest
    }
}

/// Maximizes a unimodal function (golden section).
fn highest(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    for _ in 0..48 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        if of(left) < of(right) {
            low = left;
        } else {
            high = right;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use foretell_units::{Seed, SimSpan, SimTime, Stream};

    use super::*;

    const ACCESS: u64 = 8192;

    fn stream(places: impl IntoIterator<Item = u64>) -> Arc<[Recorded]> {
        let one = |place: u64| Recorded {
            issued: SimTime::ZERO,
            pause: SimSpan::ZERO,
            offset: Bytes(place * ACCESS),
            size: ACCESS as u32,
            op: if place.is_multiple_of(4) { Op::Write } else { Op::Read },
        };
        places.into_iter().map(one).collect()
    }

    fn drawn(count: usize, mut draw: impl FnMut(&mut Stream) -> u64) -> Arc<[Recorded]> {
        let mut draws = Seed(3).stream("law");
        stream((0..count).map(|_| draw(&mut draws)).collect::<Vec<_>>())
    }

    fn law(streams: &[Arc<[Recorded]>], blocks: u64) -> Law {
        Law::of(streams, Bytes(blocks * ACCESS)).unwrap()
    }

    /// A block number by a Zipf law: inverts the sum.
    fn zipf(sums: &Sums, blocks: u64, unit: f64) -> u64 {
        let wanted = unit * sums.up_to(blocks);
        let (mut low, mut high) = (0, blocks - 1);
        while low < high {
            let middle = u64::midpoint(low, high);
            if sums.up_to(middle + 1) < wanted { low = middle + 1 } else { high = middle }
        }
        low
    }

    #[test]
    fn uniform_choices_are_found_with_what_they_use() {
        let found = law(&[drawn(20_000, |draws| draws.below(1_000_000))], 1_000_000);
        assert_eq!((found.order, found.whole), (Order::Random, true));
        assert!((found.reads - 0.75).abs() < 0.02, "{}", found.reads);
        let found = law(&[drawn(20_000, |draws| draws.below(200_000))], 1_000_000);
        assert_eq!((found.order, found.whole), (Order::Random, false));
        assert!(found.blocks.abs_diff(200_000) < 100, "{}", found.blocks);
    }

    #[test]
    fn the_exponent_of_a_zipf_law_is_found() {
        for alpha in [0.6, 0.99, 1.3] {
            let sums = Sums::new(alpha);
            let found = law(&[drawn(20_000, |d| zipf(&sums, 500_000, d.unit()))], 500_000);
            let Order::Zipf { alpha: fitted } = found.order else { panic!("{found}") };
            assert!((fitted - alpha).abs() < 0.02, "{fitted} {alpha}");
            assert!(found.whole || alpha > 1.2, "{found}");
        }
    }

    #[test]
    fn a_hot_part_is_found() {
        let draw = |draws: &mut Stream| {
            if draws.chance(0.8) { draws.below(20_000) } else { 20_000 + draws.below(80_000) }
        };
        let found = law(&[drawn(20_000, draw)], 400_000);
        let Order::HotCold { hot, share } = found.order else { panic!("{found}") };
        assert!(hot.abs_diff(20_000) < 200 && (share - 0.8).abs() < 0.01, "{hot} {share}");
        assert!(found.blocks.abs_diff(100_000) < 200 && !found.whole, "{}", found.blocks);
    }

    #[test]
    fn order_is_found_with_what_it_uses() {
        // half of 1000 blocks: the second of two clients begins in the middle of the used blocks
        let found = law(&[stream(0..100), stream(250..350)], 1000);
        assert_eq!((found.order, found.blocks, found.whole), (Order::Sequential, 500, false));
        let found = law(&[stream(0..100)], 1000);
        assert_eq!((found.order, found.whole), (Order::Sequential, true));
        let found = law(&[stream((0..400).chain(0..50))], 1000);
        assert_eq!((found.order, found.blocks), (Order::Sequential, 400));
        let found = law(&[stream((0..100).map(|at| 4 * at))], 1000);
        assert_eq!(found.order, Order::Strided(4 * ACCESS));
    }

    #[test]
    fn what_follows_no_law_is_not_given_one() {
        // two hot spots in the middle
        let draw = |draws: &mut Stream| {
            if draws.chance(0.5) { 400_000 + draws.below(100) } else { 700_000 + draws.below(100) }
        };
        let streams = [drawn(10_000, draw)];
        let why = Law::of(&streams, Bytes(1_000_000 * ACCESS)).unwrap_err();
        assert_eq!(why, "its addresses follow none of the laws that a scenario can name");
        let mut sizes = stream(0..10).to_vec();
        sizes[3].size = 512;
        let why = Law::of(&[sizes.into()], Bytes(1000 * ACCESS)).unwrap_err();
        assert_eq!(why, "its requests have several sizes");
    }
}
