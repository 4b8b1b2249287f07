//! Hit ratios as a table and as JSON.

use std::fmt::Write;

use foretell_algorithms::cache::PolicyKind;
use foretell_units::Bytes;
use serde_json::{Value, json};

use super::Plan;
use super::curve::{Curve, Point, coarse_sizes, fine_sizes};
use super::follow::{Cache, Count};
use super::references::{Objects, References, Totals};
use crate::cli::ReplayCacheArguments;
use crate::screen::fitted;
use crate::tables::table;

/// What followed the trace to its end.
pub(crate) struct Replayed {
    /// By size, then by policy.
    pub(crate) caches: Vec<Cache>,
    pub(crate) curve: Option<Curve>,
}

/// All that is printed.
pub(crate) struct Report<'a> {
    arguments: &'a ReplayCacheArguments,
    plan: &'a Plan,
    totals: Totals,
    format: &'static str,
    bad: u64,
    curve: Option<&'a Curve>,
    rows: Vec<Row>,
}

/// What one cache did.
struct Row {
    policy: PolicyKind,
    size: u64,
    outcome: Outcome,
    /// References to objects larger than the cache; only objects with sizes can be.
    refused: u64,
    /// From a sample.
    estimated: bool,
}

/// Outcome of all references, by direction.
struct Outcome {
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

    /// The share of references that hit; `None`: there were none.
    fn ratio(&self) -> Option<f64> {
        let of = self.of[0].and(self.of[1]).references;
        (of > 0).then(|| (self.hits[0] + self.hits[1]) / of as f64)
    }

    /// The share of bytes that hit; `None`: there were none, or it is not known.
    fn byte_ratio(&self) -> Option<f64> {
        let of = self.of[0].and(self.of[1]).bytes;
        let hits = self.hit_bytes.filter(|_| of > 0)?;
        Some((hits[0] + hits[1]) / of as f64)
    }

    /// The same of one direction.
    fn only(&self, op: usize) -> Self {
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

    /// Columns of a table.
    fn cells(&self) -> [String; 6] {
        let (hit, byte_hit) = (self.ratio(), self.byte_ratio());
        let miss = |ratio: Option<f64>| digits(ratio.map(|ratio| 1.0 - ratio));
        [
            miss(hit),
            digits(hit),
            miss(byte_hit),
            digits(byte_hit),
            digits(self.only(0).ratio()),
            digits(self.only(1).ratio()),
        ]
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

/// The headers of [`Outcome::cells`].
const CELLS: [&str; 6] = ["miss", "hit", "byte miss", "byte hit", "read hit", "write hit"];

impl<'a> Report<'a> {
    pub(crate) fn new(
        arguments: &'a ReplayCacheArguments,
        plan: &'a Plan,
        references: &References,
        replayed: &'a Replayed,
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
                rows.push(Row { policy, size, outcome, refused, estimated });
            }
        }
        let (format, bad) = (references.format().name(), references.bad());
        let curve = replayed.curve.as_ref();
        Self { arguments, plan, totals, format, bad, curve, rows }
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut text = self.heading();
        if !self.rows.is_empty() {
            let mut table = table(&[&["size", "policy"], &CELLS[..]].concat());
            for row in &self.rows {
                let head = [self.size(row.size), row.policy.to_string()];
                table.add_row(head.into_iter().chain(row.outcome.cells()));
            }
            let _ = writeln!(text, "\n{}", fitted(&table, 2));
            let refused = self.rows.iter().map(|row| row.refused).max().unwrap_or(0);
            if refused > 0 {
                let _ = writeln!(
                    text,
                    "\nUp to {refused} references were to objects larger than the cache: misses."
                );
            }
        }
        if let Some(curve) = self.curve {
            let how = match curve.rate() {
                Some(rate) => format!("estimated from {} of the objects", percent(rate)),
                None => "exact".to_owned(),
            };
            let mut table = table(&[&["size"], &CELLS[..]].concat());
            let mut sizes = coarse_sizes(curve.largest_useful_size());
            sizes.extend(&self.plan.sizes);
            for point in points(curve, &sizes, &self.totals) {
                let cells = Outcome::at(&point, &self.totals).cells();
                table.add_row([self.size(point.size)].into_iter().chain(cells));
            }
            let _ = writeln!(text, "\nLRU of all sizes, {how}\n{}", fitted(&table, 1));
        }
        text
    }

    fn heading(&self) -> String {
        let [read, written] = self.totals.requests;
        let [all_read, all_written] = self.totals.references;
        let all = all_read.and(all_written);
        let mut text = format!(
            "{} ({}): {} requests, {read} reads and {written} writes, {}\n",
            self.arguments.trace.display(),
            self.format,
            read + written,
            amount(all.bytes),
        );
        if self.bad > 0 {
            let _ = writeln!(text, "{} lines or records are wrong and were left out", self.bad);
        }
        let _ = match self.plan.objects {
            Objects::Addresses => {
                writeln!(text, "Each request is a reference to the object that its address names")
            }
            Objects::Pages(page) => {
                writeln!(text, "{} references to pages of {page}", all.references)
            }
            Objects::BySize => writeln!(
                text,
                "Each request is a reference to the object that its address names, as large as \
                 the request"
            ),
        };
        if let Some(objects) = self.curve.and_then(Curve::objects) {
            let what =
                if matches!(self.plan.objects, Objects::Pages(_)) { "pages" } else { "objects" };
            let _ = writeln!(text, "{objects} different {what}");
        }
        text
    }

    /// A size as people read it.
    fn size(&self, size: u64) -> String {
        match self.plan.objects {
            Objects::Addresses => size.to_string(),
            Objects::Pages(page) => match page.get().checked_mul(size) {
                Some(bytes) => format!("{size} ({})", amount(bytes)),
                None => size.to_string(),
            },
            Objects::BySize => Bytes(size).to_string(),
        }
    }

    /// One JSON document.
    pub(crate) fn json(&self) -> String {
        let [read, written] = self.totals.requests;
        let [all_read, all_written] = self.totals.references;
        let all = all_read.and(all_written);
        let (unit, page) = match self.plan.objects {
            Objects::Addresses => ("objects", None),
            Objects::Pages(page) => ("pages", Some(page.get())),
            Objects::BySize => ("bytes", None),
        };
        let results: Vec<Value> = self.rows.iter().map(|row| self.row(row)).collect();
        let document = json!({
            "trace": self.arguments.trace.display().to_string(),
            "format": self.format,
            "requests": read + written,
            "reads": read,
            "writes": written,
            "bytes": all.bytes,
            "bad_records": self.bad,
            "references": all.references,
            "objects": self.curve.and_then(Curve::objects),
            "size_unit": unit,
            "page_bytes": page,
            "results": results,
            "curve": self.curve.map(|curve| self.curve_json(curve)),
        });
        crate::output::json(&document)
    }

    fn row(&self, row: &Row) -> Value {
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

    fn size_bytes(&self, size: u64) -> Option<u64> {
        match self.plan.objects {
            Objects::Addresses => None,
            Objects::Pages(page) => page.get().checked_mul(size),
            Objects::BySize => Some(size),
        }
    }

    /// Points without anything nested: a row of a table each.
    fn curve_json(&self, curve: &Curve) -> Value {
        let mut sizes = fine_sizes(curve.largest_useful_size());
        sizes.extend(&self.plan.sizes);
        let point = |point: &Point| {
            let hits = Outcome::at(point, &self.totals);
            let mut map = serde_json::Map::new();
            map.insert("size".to_owned(), json!(point.size));
            map.insert("size_bytes".to_owned(), json!(self.size_bytes(point.size)));
            map.extend(hits.ratios().map(|(key, value)| (key.to_owned(), value)));
            map.insert("read_hit_ratio".to_owned(), json!(hits.only(0).ratio()));
            map.insert("write_hit_ratio".to_owned(), json!(hits.only(1).ratio()));
            Value::from(map)
        };
        let points: Vec<Value> = points(curve, &sizes, &self.totals).iter().map(point).collect();
        json!({
            "policy": PolicyKind::Lru.name(),
            "estimated": curve.rate().is_some(),
            "sample_rate": curve.rate(),
            "largest_useful_size": curve.largest_useful_size(),
            "points": points,
        })
    }
}

fn points(curve: &Curve, sizes: &std::collections::BTreeSet<u64>, totals: &Totals) -> Vec<Point> {
    curve.points(sizes, totals.references.map(|count| count.references))
}

/// A ratio to four digits; nothing where there is none.
fn digits(ratio: Option<f64>) -> String {
    ratio.map_or_else(String::new, |ratio| format!("{ratio:.4}"))
}

/// A share, to three digits.
fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 1.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.2e} %"),
    }
}

/// Bytes to three or four digits, in powers of 1024.
fn amount(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let index = (bytes.max(1).ilog2() / 10) as usize;
    match bytes as f64 / (1_u64 << (10 * index)) as f64 {
        value if index == 0 || value >= 100.0 => format!("{value:.0} {}", units[index]),
        value => format!("{value:.1} {}", units[index]),
    }
}
