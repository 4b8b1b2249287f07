//! The curve of LRU: hit rate against cache size, from one pass.

use foretell_algorithms::reuse::{ReuseDistances, SampledReuse};
use foretell_sorted::SortedSet;
use foretell_units::Op;

use super::follow::Count;
use super::options::Sample;
use super::references::Reference;

/// References by reuse distance.
pub(crate) enum Curve {
    /// All of them.
    Exact(Box<ExactCurve>),
    /// References to a sample of the objects.
    Sampled(Box<SampledCurve>),
}

/// References at one distance: by direction, 0 read, 1 write.
type AtDistance = [Count; 2];

/// The distances of all references. The distance of a reference is the number of other objects that were
/// referenced since the last reference to the same object.
///
/// Element d of each vector counts the references with distance d.
#[derive(Default)]
pub(crate) struct ExactCurve {
    reuse: ReuseDistances,
    /// Direction and bytes of the first reference. In many traces all references are alike. Counting them
    /// separately then touches a quarter of the memory.
    usual: Option<(Op, u64)>,
    /// Number of references of the usual kind, by distance.
    usual_at: Vec<u64>,
    /// All other references, by distance.
    at: Vec<AtDistance>,
}

/// Distances of a sample. The bytes of objects outside the sample are not known.
pub(crate) struct SampledCurve {
    all: SampledReuse,
    /// From the first write on, reads alone are also counted here.
    reads: Option<SampledReuse>,
}

/// The hits of one cache size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    /// In objects or pages.
    pub(crate) size: u64,
    /// By direction: hits of all references to these objects. Estimates need not be whole numbers.
    pub(crate) hits: [f64; 2],
    /// The same in bytes, if known.
    pub(crate) hit_bytes: Option<[f64; 2]>,
}

impl Curve {
    /// An empty curve: exact, or from a sample.
    pub(crate) fn new(sample: Option<Sample>) -> Self {
        let sampled = |all| Self::Sampled(Box::new(SampledCurve { all, reads: None }));
        match sample {
            None => Self::Exact(Box::default()),
            Some(Sample::Rate(rate)) => sampled(SampledReuse::fixed_rate(rate)),
            Some(Sample::Objects(objects)) => sampled(SampledReuse::fixed_size(objects)),
        }
    }

    pub(crate) fn follow(&mut self, batch: &[Reference]) {
        match self {
            Self::Exact(curve) => curve.follow(batch),
            Self::Sampled(curve) => curve.follow(batch),
        }
    }

    /// The share of the objects that was still followed at the end.
    pub(crate) fn rate(&self) -> Option<f64> {
        match self {
            Self::Exact(_) => None,
            Self::Sampled(curve) => Some(curve.all.rate()),
        }
    }

    /// Number of different objects.
    pub(crate) fn objects(&self) -> Option<u64> {
        match self {
            Self::Exact(curve) => Some(curve.reuse.objects() as u64),
            Self::Sampled(_) => None,
        }
    }

    /// The smallest cache that has the highest hit rate.
    pub(crate) fn largest_useful_size(&self) -> u64 {
        match self {
            Self::Exact(curve) => curve.end() as u64,
            Self::Sampled(curve) => curve.all.curve().largest_useful_size(),
        }
    }

    /// The hits of caches of these sizes. `references` are those of the trace, by direction.
    pub(crate) fn points(&self, sizes: &SortedSet<u64>, references: [u64; 2]) -> Vec<Point> {
        match self {
            Self::Exact(curve) => curve.points(sizes),
            Self::Sampled(curve) => curve.points(sizes, references),
        }
    }
}

impl ExactCurve {
    fn follow(&mut self, batch: &[Reference]) {
        for reference in batch {
            let kind = (reference.op, reference.bytes);
            let usual = *self.usual.get_or_insert(kind) == kind;
            // at the first reference there is no distance
            let Some(distance) = self.reuse.touch(reference.key) else { continue };
            let distance = distance as usize;
            if usual {
                *element(&mut self.usual_at, distance) += 1;
            } else {
                element(&mut self.at, distance)[reference.op as usize].add(reference.bytes);
            }
        }
    }

    /// All distances that occurred are below this.
    fn end(&self) -> usize {
        self.usual_at.len().max(self.at.len())
    }

    fn points(&self, sizes: &SortedSet<u64>) -> Vec<Point> {
        let (op, bytes) = self.usual.unwrap_or((Op::Read, 0));
        let mut usual = 0;
        let mut others = AtDistance::default();
        let mut summed = 0;
        let point = |&size: &u64| {
            let end = usize::try_from(size).unwrap_or(usize::MAX).min(self.end());
            for distance in summed..end {
                usual += self.usual_at.get(distance).unwrap_or(&0);
                if let Some(at) = self.at.get(distance) {
                    others = [others[0].and(at[0]), others[1].and(at[1])];
                }
            }
            summed = end;
            let mut sum = others;
            let usual = Count { references: usual, bytes: usual.saturating_mul(bytes) };
            sum[op as usize] = sum[op as usize].and(usual);
            Point {
                size,
                hits: sum.map(|count| count.references as f64),
                hit_bytes: Some(sum.map(|count| count.bytes as f64)),
            }
        };
        sizes.iter().map(point).collect()
    }
}

/// Element `at`; the vector grows if it is too short.
#[inline]
fn element<T: Clone + Default>(elements: &mut Vec<T>, at: usize) -> &mut T {
    if at >= elements.len() {
        elements.resize(at + 1, T::default());
    }
    &mut elements[at]
}

impl SampledCurve {
    fn follow(&mut self, batch: &[Reference]) {
        for reference in batch {
            if reference.op == Op::Write && self.reads.is_none() {
                self.reads = Some(self.all.clone());
            }
            self.all.refer(reference.key);
            match (&mut self.reads, reference.op) {
                (None, _) => {}
                (Some(reads), Op::Read) => reads.refer(reference.key),
                (Some(reads), Op::Write) => reads.touch(reference.key),
            }
        }
    }

    fn points(&self, sizes: &SortedSet<u64>, references: [u64; 2]) -> Vec<Point> {
        let all = self.all.curve();
        let reads = self.reads.as_ref().map(SampledReuse::curve);
        let [read, written] = references.map(|count| count as f64);
        let point = |&size: &u64| {
            let hits = all.hit_ratio(size) * (read + written);
            let hits_read = match &reads {
                // two estimates may disagree, so each is limited to the number of references
                Some(reads) => {
                    (reads.hit_ratio(size) * read).clamp((hits - written).max(0.0), hits.min(read))
                }
                None => hits,
            };
            Point { size, hits: [hits_read, hits - hits_read], hit_bytes: None }
        };
        sizes.iter().map(point).collect()
    }
}

/// Sizes at which a curve is shown: 1, 2, 5, 10, 20, 50 ... up to `largest`, and `largest` itself.
pub(crate) fn coarse_sizes(largest: u64) -> SortedSet<u64> {
    let powers = std::iter::successors(Some(1_u64), |power| power.checked_mul(10));
    let steps = powers.flat_map(|power| [1, 2, 5].map(|step| step * u128::from(power)));
    let sizes = steps.map_while(|size| u64::try_from(size).ok()).take_while(|size| *size < largest);
    sizes.chain([largest.max(1)]).collect()
}

/// Sizes from which a curve can be drawn: all up to 32, then 16 for each power of two, and those of
/// [`coarse_sizes`].
pub(crate) fn fine_sizes(largest: u64) -> SortedSet<u64> {
    let steps = (0..60).flat_map(|shift| (16..32).map(move |step: u64| step << shift));
    let mut sizes: SortedSet<u64> =
        (1..16).chain(steps).take_while(|size| *size < largest).collect();
    sizes.extend(coarse_sizes(largest));
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(sizes: &SortedSet<u64>) -> Vec<u64> {
        sizes.iter().copied().collect()
    }

    #[test]
    fn a_curve_ends_at_the_largest_useful_size() {
        assert_eq!(sizes(&coarse_sizes(73)), [1, 2, 5, 10, 20, 50, 73]);
        assert_eq!(sizes(&coarse_sizes(50)), [1, 2, 5, 10, 20, 50]);
        assert_eq!(sizes(&coarse_sizes(0)), [1]);
        assert_eq!(coarse_sizes(u64::MAX).len(), 59);
        let fine = sizes(&fine_sizes(73));
        // 1 to 31, then in steps of 2, then of 4; 50 is among them
        assert_eq!(fine[..31], sizes(&(1..32).collect())[..]);
        assert_eq!(fine[31..48], (16..33).map(|half| half * 2).collect::<Vec<_>>()[..]);
        assert_eq!(fine[48..], [68, 72, 73]);
        assert!(fine_sizes(u64::MAX).len() > 900);
    }

    fn reference(key: u64, bytes: u64, op: Op) -> Reference {
        Reference { key, bytes, op }
    }

    #[test]
    fn hits_are_split_by_direction_and_weighed_by_bytes() {
        let mut curve = Curve::new(None);
        // distances: 1 first, 2 first, 1 at 1, 2 at 1, 2 at 0
        curve.follow(&[
            reference(1, 10, Op::Write),
            reference(2, 20, Op::Write),
            reference(1, 40, Op::Read),
            reference(2, 80, Op::Write),
            reference(2, 160, Op::Read),
        ]);
        assert_eq!((curve.objects(), curve.largest_useful_size()), (Some(2), 2));
        let points = curve.points(&[1, 2, 9].into(), [2, 3]);
        let found: Vec<_> = points.iter().map(|point| (point.hits, point.hit_bytes)).collect();
        let all = ([2.0, 1.0], Some([200.0, 80.0]));
        assert_eq!(found, [([1.0, 0.0], Some([160.0, 0.0])), all, all]);
    }

    #[test]
    fn a_sample_of_all_estimates_the_exact_curve() {
        let references: Vec<Reference> = (0..20_000_u64)
            .map(|i| {
                let op = if i % 3 == 0 { Op::Write } else { Op::Read };
                reference((i * i) % 997 % (1 + i % 400), 1, op)
            })
            .collect();
        let mut exact = Curve::new(None);
        let mut sampled = Curve::new(Some(Sample::Rate(1.0)));
        exact.follow(&references);
        sampled.follow(&references);
        let sizes = fine_sizes(exact.largest_useful_size());
        // every third of 20,000 is a write, beginning with the first
        let counts = [13_333, 6_667];
        let pairs = exact.points(&sizes, counts).into_iter().zip(sampled.points(&sizes, counts));
        for (exact, sampled) in pairs {
            for op in 0..2 {
                // distances are grouped with a precision of 0.8 %
                assert!((exact.hits[op] - sampled.hits[op]).abs() < 150.0, "{exact:?} {sampled:?}");
            }
        }
    }
}
