//! Results of a replay: hit rates, as values and as JSON.

use std::path::{Path, PathBuf};

use foretell_algorithms::cache::PolicyKind;
use foretell_sorted::SortedSet;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::Plan;
use super::curve::{Curve, Point, coarse_sizes, fine_sizes};
use super::follow::{Cache, Count};
use super::options::Objects;
use super::references::{References, Totals};

/// Caches and curve after the end of the trace.
pub(crate) struct Replayed {
    /// Caches by size, then by policy.
    pub(crate) caches: Vec<Cache>,
    pub(crate) curve: Option<Curve>,
}

/// The hits that caches would have had. Serializes to the output of `foretell replay-cache --json`.
pub struct CacheReport {
    trace: PathBuf,
    plan: Plan,
    totals: Totals,
    format: &'static str,
    bad: u64,
    curve: Option<Curve>,
    rows: Vec<CacheRow>,
}

/// The result of one cache.
pub struct CacheRow {
    /// Its policy.
    pub policy: PolicyKind,
    /// Its size, in objects, pages or bytes.
    pub size: u64,
    /// Its hits.
    pub outcome: Outcome,
    /// References to objects larger than the cache; they occur only if objects have sizes.
    pub refused: u64,
    /// Whether the hits are an estimate from a sample.
    pub estimated: bool,
}

/// Outcome of all references, by direction: 0 read, 1 write.
pub struct Outcome {
    of: [Count; 2],
    hits: [f64; 2],
    hit_bytes: Option<[f64; 2]>,
}

impl Outcome {
    fn at(point: &Point, totals: &Totals) -> Self {
        Self { of: totals.references, hits: point.hits, hit_bytes: point.hit_bytes }
    }

    fn of(cache: &Cache) -> Self {
        let counts = [cache.counts(0), cache.counts(1)];
        Self {
            of: counts.map(|[miss, hit]| miss.and(hit)),
            hits: counts.map(|[_, hit]| hit.references as f64),
            hit_bytes: Some(counts.map(|[_, hit]| hit.bytes as f64)),
        }
    }

    /// The share of references that hit; `None` if there were none.
    pub fn ratio(&self) -> Option<f64> {
        let of = self.of[0].and(self.of[1]).references;
        (of > 0).then(|| (self.hits[0] + self.hits[1]) / of as f64)
    }

    /// The share of bytes that hit; `None` if there were none, or if it is not known.
    pub fn byte_ratio(&self) -> Option<f64> {
        let of = self.of[0].and(self.of[1]).bytes;
        let hits = self.hit_bytes.filter(|_| of > 0)?;
        Some((hits[0] + hits[1]) / of as f64)
    }

    /// The outcome of one direction only: 0 read, 1 write.
    pub fn only(&self, op: usize) -> Self {
        let mut only =
            Self { of: [Count::default(); 2], hits: [0.0; 2], hit_bytes: Some([0.0; 2]) };
        only.of[op] = self.of[op];
        only.hits[op] = self.hits[op];
        only.hit_bytes = self.hit_bytes.map(|bytes| {
            let mut only = [0.0; 2];
            only[op] = bytes[op];
            only
        });
        only
    }

    /// Ratios for JSON, each followed by its complement.
    fn ratios(&self) -> [(&'static str, Value); 4] {
        let (hit, byte_hit) = (self.ratio(), self.byte_ratio());
        [
            ("hit_ratio", json!(hit)),
            ("miss_ratio", json!(hit.map(|hit| 1.0 - hit))),
            ("byte_hit_ratio", json!(byte_hit)),
            ("byte_miss_ratio", json!(byte_hit.map(|hit| 1.0 - hit))),
        ]
    }

    /// Counts and ratios for JSON.
    fn json(&self, estimated: bool) -> serde_json::Map<String, Value> {
        let of = self.of[0].and(self.of[1]);
        let whole = |hits: f64| (!estimated).then_some(hits as u64);
        let hits = whole(self.hits[0] + self.hits[1]);
        let hit_bytes = self.hit_bytes.and_then(|bytes| whole(bytes[0] + bytes[1]));
        let mut map = serde_json::Map::new();
        map.insert("references".to_owned(), json!(of.references));
        map.insert("hits".to_owned(), json!(hits));
        map.insert("misses".to_owned(), json!(hits.map(|hits| of.references - hits)));
        map.insert("bytes".to_owned(), json!(of.bytes));
        map.insert("hit_bytes".to_owned(), json!(hit_bytes));
        map.extend(self.ratios().map(|(key, value)| (key.to_owned(), value)));
        map
    }
}

impl CacheReport {
    pub(crate) fn new(
        trace: &Path,
        plan: Plan,
        references: &References<'_>,
        replayed: Replayed,
    ) -> Self {
        let totals = references.totals();
        let mut caches = replayed.caches.iter();
        let mut rows = Vec::new();
        for &size in &plan.sizes {
            for &policy in &plan.kinds {
                let (outcome, refused, estimated) = match &replayed.curve {
                    Some(curve) if plan.is_on_curve(policy) => {
                        let points = points(curve, &[size].into(), &totals);
                        (Outcome::at(&points[0], &totals), 0, curve.rate().is_some())
                    }
                    _ => {
                        let cache = caches.next().expect("one for each size and policy");
                        assert_eq!((cache.capacity, cache.kind), (size, policy));
                        (Outcome::of(cache), cache.refused, false)
                    }
                };
                rows.push(CacheRow { policy, size, outcome, refused, estimated });
            }
        }
        let (format, bad) = (references.format().name(), references.bad());
        let curve = replayed.curve;
        Self { trace: trace.to_owned(), plan, totals, format, bad, curve, rows }
    }

    /// The trace's file.
    pub fn trace(&self) -> &Path {
        &self.trace
    }

    /// The trace's format.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Requests of the trace: reads and writes.
    pub fn requests(&self) -> [u64; 2] {
        self.totals.requests
    }

    /// References to objects.
    pub fn references(&self) -> u64 {
        self.totals.references.iter().map(|count| count.references).sum()
    }

    /// Bytes of all references; saturates at 2⁶⁴ − 1.
    pub fn bytes(&self) -> u64 {
        let [read, written] = self.totals.references;
        read.and(written).bytes
    }

    /// Lines or records that were skipped because they are wrong.
    pub fn bad_records(&self) -> u64 {
        self.bad
    }

    /// What an object is.
    pub fn objects(&self) -> Objects {
        self.plan.objects
    }

    /// Number of different objects, if the exact curve was computed.
    pub fn different_objects(&self) -> Option<u64> {
        self.curve.as_ref().and_then(Curve::objects)
    }

    /// Hits of each cache: by size, then by policy, in the order requested.
    pub fn rows(&self) -> &[CacheRow] {
        &self.rows
    }

    /// The share of the objects that the curve of LRU is computed from, 1 for the exact curve; `None` if there
    /// is no curve.
    pub fn curve_rate(&self) -> Option<f64> {
        self.curve.as_ref().map(|curve| curve.rate().unwrap_or(1.0))
    }

    /// Whether the curve is an estimate from a sample.
    pub fn is_estimated(&self) -> bool {
        self.curve.as_ref().is_some_and(|curve| curve.rate().is_some())
    }

    /// The curve of LRU at a few round sizes, and at the requested sizes; empty if there is no curve.
    pub fn curve(&self) -> Vec<(u64, Outcome)> {
        self.curve_at(coarse_sizes)
    }

    fn curve_at(&self, sizes: impl Fn(u64) -> SortedSet<u64>) -> Vec<(u64, Outcome)> {
        let Some(curve) = &self.curve else { return Vec::new() };
        let mut sizes = sizes(curve.largest_useful_size());
        sizes.extend(&self.plan.sizes);
        let all = points(curve, &sizes, &self.totals);
        all.iter().map(|point| (point.size, Outcome::at(point, &self.totals))).collect()
    }

    /// Size of this cache in bytes; `None` if objects have no size.
    pub fn size_bytes(&self, size: u64) -> Option<u64> {
        match self.plan.objects {
            Objects::Addresses => None,
            Objects::Pages(page) => page.get().checked_mul(size),
            Objects::BySize => Some(size),
        }
    }

    fn document(&self) -> Value {
        let [read, written] = self.totals.requests;
        let (unit, page) = match self.plan.objects {
            Objects::Addresses => ("objects", None),
            Objects::Pages(page) => ("pages", Some(page.get())),
            Objects::BySize => ("bytes", None),
        };
        let results: Vec<Value> = self.rows.iter().map(|row| self.row(row)).collect();
        json!({
            "trace": self.trace.display().to_string(),
            "format": self.format,
            "requests": read + written,
            "reads": read,
            "writes": written,
            "bytes": self.bytes(),
            "bad_records": self.bad,
            "references": self.references(),
            "objects": self.different_objects(),
            "size_unit": unit,
            "page_bytes": page,
            "results": results,
            "curve": self.curve.as_ref().map(|curve| self.curve_json(curve)),
        })
    }

    fn row(&self, row: &CacheRow) -> Value {
        let mut map = serde_json::Map::new();
        map.insert("policy".to_owned(), json!(row.policy.name()));
        map.insert("size".to_owned(), json!(row.size));
        map.insert("size_bytes".to_owned(), json!(self.size_bytes(row.size)));
        map.insert("estimated".to_owned(), json!(row.estimated));
        map.extend(row.outcome.json(row.estimated));
        map.insert("refused".to_owned(), json!(row.refused));
        for (op, name) in ["read", "write"].into_iter().enumerate() {
            map.insert(name.to_owned(), row.outcome.only(op).json(row.estimated).into());
        }
        map.into()
    }

    /// The points of the curve. They are not nested, so that each can be a row of a table.
    fn curve_json(&self, curve: &Curve) -> Value {
        let point = |(size, hits): &(u64, Outcome)| {
            let mut map = serde_json::Map::new();
            map.insert("size".to_owned(), json!(size));
            map.insert("size_bytes".to_owned(), json!(self.size_bytes(*size)));
            map.extend(hits.ratios().map(|(key, value)| (key.to_owned(), value)));
            map.insert("read_hit_ratio".to_owned(), json!(hits.only(0).ratio()));
            map.insert("write_hit_ratio".to_owned(), json!(hits.only(1).ratio()));
            Value::from(map)
        };
        let points: Vec<Value> = self.curve_at(fine_sizes).iter().map(point).collect();
        json!({
            "policy": PolicyKind::Lru.name(),
            "estimated": curve.rate().is_some(),
            "sample_rate": curve.rate(),
            "largest_useful_size": curve.largest_useful_size(),
            "points": points,
        })
    }
}

impl Serialize for CacheReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document().serialize(serializer)
    }
}

fn points(curve: &Curve, sizes: &SortedSet<u64>, totals: &Totals) -> Vec<Point> {
    curve.points(sizes, totals.references.map(|count| count.references))
}
