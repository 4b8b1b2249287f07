//! The latency curves of a drive, from its measured points, its maker's figures, or its class.
//!
//! A drive is modelled by latencies by operation, size and number outstanding (device kind `curves`). A
//! knee is inserted between the latency of one request and the rate of many, as a drive keeps its latency
//! until it is nearly saturated. If several OSDs share one drive, each has a part of it: a request of one
//! OSD competes with as many requests of each other OSD as of its own.

use foretell_sorted::SortedMap;
use foretell_units::{Bytes, SimSpan};
use toml::{Table, Value};

use crate::config::{DataSheet, Drive};
use crate::points::Row;

/// Performance of a class of drives: latency of one request in microseconds, 4 KiB requests a second,
/// megabytes a second; for reads and for writes.
struct Class {
    name: &'static str,
    read: (f64, f64, f64),
    write: (f64, f64, f64),
}

/// Assumed if neither points nor a data sheet give figures: usual figures of data-centre drives.
const CLASSES: [Class; 4] = [
    Class { name: "optane", read: (10.0, 550e3, 2400.0), write: (10.0, 500e3, 2000.0) },
    Class { name: "nvme", read: (85.0, 600e3, 3200.0), write: (18.0, 150e3, 2000.0) },
    Class { name: "ssd", read: (105.0, 80e3, 530.0), write: (40.0, 50e3, 480.0) },
    Class { name: "hdd", read: (8000.0, 180.0, 200.0), write: (8000.0, 180.0, 200.0) },
];

/// Assumed capacity of a drive, in bytes.
const ASSUMED_CAPACITY: f64 = 3.84e12;
/// The two sizes between which curves are interpolated.
const SMALL: u64 = 4096;
const LARGE: u64 = 1 << 20;

/// Latencies of one operation and size: number outstanding, and nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) read: bool,
    pub(crate) block: u64,
    pub(crate) points: Vec<(f64, f64)>,
}

/// The simulated model of a drive.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    pub(crate) capacity: u64,
    pub(crate) curves: Vec<Curve>,
    /// The source of the figures.
    pub(crate) source: String,
    pub(crate) assumed: Vec<String>,
}

/// A curve from the latency of one request and the rate of many, with a knee between.
fn kneed(latency_ns: f64, rate: f64) -> Vec<(f64, f64)> {
    let busy = latency_ns * 1e-9 * rate;
    if busy < 1.5 {
        // the drive serves one request at a time
        let latency = latency_ns.max(1e9 / rate);
        return vec![(1.0, latency), (64.0, 64.0 * 1e9 / rate.min(1e9 / latency))];
    }
    let knee = (0.7 * busy).round().max(2.0);
    let many = (4.0 * busy).round().max(knee + 1.0);
    vec![(1.0, latency_ns), (knee, 1.1 * latency_ns), (many, many * 1e9 / rate)]
}

/// The model of a drive; `points`: points that measure it alone.
pub(crate) fn model(name: Option<&str>, drive: Option<&Drive>, points: &[&Row]) -> Model {
    let mut assumed = Vec::new();
    let shown = name.unwrap_or("the drive");
    let kind = drive.and_then(|drive| drive.kind.as_deref()).unwrap_or_else(|| {
        assumed.push(format!("{shown}: its kind is not known; taken as an NVMe drive"));
        "nvme"
    });
    let class = CLASSES.iter().find(|class| kind.contains(class.name)).unwrap_or_else(|| {
        assumed.push(format!("{shown}: `{kind}` is not a kind known here; taken as an NVMe drive"));
        &CLASSES[1]
    });
    let capacity = drive.and_then(|drive| drive.capacity_bytes).unwrap_or_else(|| {
        assumed.push(format!("{shown}: its capacity is not known; 3.84 TB are assumed"));
        ASSUMED_CAPACITY
    });
    let sheet = drive.and_then(|drive| drive.data_sheet_unverified).unwrap_or_default();
    let mut figures = [class.read, class.write];
    by_sheet(&mut figures, &sheet);
    let protected = drive.and_then(|drive| drive.power_loss_protection);
    if protected.is_none() && class.name != "hdd" {
        assumed.push(format!("{shown}: has power-loss protection, so that flushes cost nothing"));
    }
    let mut curves = Vec::new();
    for (read, (latency_us, rate, mb_per_s)) in [true, false].into_iter().zip(figures) {
        let small = kneed(latency_us * 1e3, rate);
        let transfer = LARGE as f64 / (mb_per_s * 1e6);
        let large = kneed(latency_us * 1e3 + transfer * 1e9, 1.0 / transfer);
        curves.push(Curve { read, block: SMALL, points: small });
        curves.push(Curve { read, block: LARGE, points: large });
    }
    let found = measured(points);
    let source = if !found.is_empty() {
        format!("measured points of {shown} alone; what they leave open is of its class")
    } else if drive.is_some_and(|drive| drive.data_sheet_unverified.is_some()) {
        format!("unverified data-sheet figures of {shown}")
    } else {
        assumed.push(format!("{shown}: speeds are those of its class, `{}`", class.name));
        format!("usual figures of drives of the class `{}`", class.name)
    };
    for ((read, block), points) in found {
        replace(&mut curves, read, block, points);
    }
    Model { capacity: (capacity as u64) / 4096 * 4096, curves, source, assumed }
}

fn by_sheet(figures: &mut [(f64, f64, f64); 2], sheet: &DataSheet) {
    let known = [
        (sheet.read_lat_us.or(sheet.lat_us), sheet.rand_read_4k_iops, sheet.seq_read_mb_s),
        (sheet.write_lat_us.or(sheet.lat_us), sheet.rand_write_4k_iops, sheet.seq_write_mb_s),
    ];
    for (figure, (latency, rate, bandwidth)) in figures.iter_mut().zip(known) {
        figure.0 = latency.unwrap_or(figure.0);
        figure.1 = rate.unwrap_or(figure.1);
        figure.2 = bandwidth.unwrap_or(figure.2);
    }
}

/// Curves from points: by operation and size, latency in ns by number outstanding.
fn measured(rows: &[&Row]) -> SortedMap<(bool, u64), Vec<(f64, f64)>> {
    let mut found: SortedMap<(bool, u64), SortedMap<u32, (f64, u32)>> = SortedMap::new();
    for row in rows {
        let pure = row.reads >= 1.0 || row.reads <= 0.0;
        let outstanding = row.outstanding.unwrap_or(1);
        let latency_ms = row
            .measured
            .iops
            .map(|iops| f64::from(outstanding) * 1e3 / iops)
            .or(row.measured.mean_ms);
        if let (true, Some(latency_ms)) = (pure, latency_ms) {
            let curve = found.entry((row.reads >= 1.0, row.block)).or_default();
            // several points are averaged by their geometric mean
            let sum = curve.entry(outstanding).or_insert((0.0, 0));
            *sum = (sum.0 + libm::log(latency_ms * 1e6), sum.1 + 1);
        }
    }
    let line = |(key, points): ((bool, u64), SortedMap<u32, (f64, u32)>)| {
        let points: Vec<(f64, f64)> = points
            .into_iter()
            .map(|(outstanding, (sum, count))| {
                (f64::from(outstanding), libm::exp(sum / f64::from(count)))
            })
            .collect();
        (key, with_knee(&points))
    };
    found.into_iter().map(line).collect()
}

/// Inserts a knee between the measured latency of one request and the next point.
fn with_knee(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut all = Vec::with_capacity(points.len() + 1);
    for (index, &point) in points.iter().enumerate() {
        if index == 1 && points[0].0 <= 1.0 {
            let most = points.iter().map(|(n, latency)| n / latency).fold(0.0, f64::max);
            let knee = (0.7 * most * points[0].1).round().max(2.0);
            let latency = 1.1 * points[0].1;
            if knee < point.0 && latency < point.1 {
                all.push((knee, latency));
            }
        }
        all.push(point);
    }
    all
}

/// Replaces a class's points by measured ones, and scales the other size with them.
fn replace(curves: &mut Vec<Curve>, read: bool, block: u64, points: Vec<(f64, f64)>) {
    if block > LARGE / 2 {
        // large requests have a curve for one size only: keep the rate in bytes
        let scale = LARGE as f64 / block as f64;
        let points = points.into_iter().map(|(n, latency)| (n, latency * scale)).collect();
        curves.retain(|curve| curve.read != read || curve.block <= LARGE / 2);
        curves.push(Curve { read, block: LARGE, points });
        return;
    }
    if block <= SMALL {
        curves.retain(|curve| curve.read != read || curve.block > SMALL);
    } else {
        curves.retain(|curve| curve.read != read || curve.block != block);
    }
    curves.push(Curve { read, block, points });
}

impl Model {
    /// The share of the drive for each of `parts` OSDs.
    pub(crate) fn part(&self, parts: u32) -> Self {
        let parts = parts.max(1);
        let each = f64::from(parts);
        let share = |curve: &Curve| {
            let mut points: Vec<(f64, f64)> = Vec::new();
            for &(n, latency) in &curve.points {
                let n = if n <= 1.0 { 1.0 } else { (n / each).round().max(1.0) };
                match points.last_mut() {
                    Some(last) if n <= last.0 => last.1 = last.1.max(latency),
                    _ => points.push((n, latency)),
                }
            }
            Curve { points, ..curve.clone() }
        };
        Self {
            capacity: self.capacity / u64::from(parts) / 4096 * 4096,
            curves: self.curves.iter().map(share).collect(),
            ..self.clone()
        }
    }

    /// The same drive with all reads and all writes slower by these factors.
    pub(crate) fn slower(&self, read: f64, write: f64) -> Self {
        let curves = self.curves.iter().map(|curve| {
            let factor = if curve.read { read } else { write };
            let points = curve.points.iter().map(|(n, latency)| (*n, latency * factor)).collect();
            Curve { points, ..curve.clone() }
        });
        Self { curves: curves.collect(), ..self.clone() }
    }

    /// The drive as a device table of a scenario.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new();
        let text = |text: &str| Value::String(text.to_owned());
        table.insert("kind".to_owned(), text("curves"));
        table.insert("source".to_owned(), text(&self.source));
        table.insert("capacity".to_owned(), Value::String(format!("{} B", self.capacity)));
        let curves = self.curves.iter().map(|curve| {
            let mut one = Table::new();
            one.insert("op".to_owned(), text(if curve.read { "read" } else { "write" }));
            one.insert("reads".to_owned(), Value::Float(if curve.read { 1.0 } else { 0.0 }));
            one.insert("block".to_owned(), Value::String(format!("{} B", curve.block)));
            let counts = curve.points.iter().map(|(n, _)| Value::Integer(*n as i64));
            one.insert("outstanding".to_owned(), Value::Array(counts.collect()));
            let times = curve.points.iter().map(|(_, ns)| Value::String(format!("{ns:.0} ns")));
            one.insert("latency".to_owned(), Value::Array(times.collect()));
            Value::Table(one)
        });
        table.insert("curve".to_owned(), Value::Array(curves.collect()));
        table
    }

    /// The model from such a table.
    pub(crate) fn of_table(table: &Table) -> Option<Self> {
        let text = |key: &str| table.get(key).and_then(Value::as_str);
        let bytes = |text: &str| text.parse::<Bytes>().ok().map(Bytes::get);
        let ns = |text: &str| text.parse::<SimSpan>().ok().map(|span| span.as_ns() as f64);
        let curve = |value: &Value| {
            let one = value.as_table()?;
            let counts = one.get("outstanding")?.as_array()?.iter();
            let counts: Option<Vec<f64>> =
                counts.map(|count| count.as_integer().map(|count| count as f64)).collect();
            let times = one.get("latency")?.as_array()?.iter();
            let times: Option<Vec<f64>> = times.map(|time| ns(time.as_str()?)).collect();
            Some(Curve {
                read: one.get("op")?.as_str()? == "read",
                block: bytes(one.get("block")?.as_str()?)?,
                points: counts?.into_iter().zip(times?).collect(),
            })
        };
        if text("kind")? != "curves" {
            return None;
        }
        let curves: Option<Vec<Curve>> =
            table.get("curve")?.as_array()?.iter().map(curve).collect();
        Some(Self {
            capacity: bytes(text("capacity")?)?,
            curves: curves?,
            source: text("source")?.to_owned(),
            assumed: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points::parse;

    #[test]
    fn raw_points_are_met_and_a_knee_lies_between() {
        let rows = parse(
            "config,op_mix,block_bytes,pattern,iodepth,iops\n\
             raw,1,4096,random,1,9800\nraw,1,4096,random,32,81700\n",
        )
        .unwrap()
        .rows;
        let model = model(Some("x"), None, &rows.iter().collect::<Vec<_>>());
        let curve = model.curves.iter().find(|curve| curve.read && curve.block == 4096).unwrap();
        let (counts, times): (Vec<f64>, Vec<f64>) = curve.points.iter().copied().unzip();
        assert_eq!(counts, [1.0, 6.0, 32.0]);
        // 1 / 9800 s, a tenth more, 32 / 81700 s
        assert!((times[0] - 102_041.0).abs() < 1.0 && (times[2] - 391_677.0).abs() < 1.0);
        assert!(model.assumed.iter().any(|line| line.contains("capacity")));
        assert_eq!(Model::of_table(&model.table()).unwrap().curves.len(), model.curves.len());
    }

    #[test]
    fn a_drive_may_be_written_in_any_unit() {
        let text = "kind = \"curves\"\nsource = \"mine\"\ncapacity = \"1 TiB\"\n\
                    [[curve]]\nop = \"read\"\nreads = 1.0\nblock = \"4 KiB\"\n\
                    outstanding = [1]\nlatency = [\"85 us\"]\n";
        let model = Model::of_table(&toml::from_str(text).unwrap()).unwrap();
        assert_eq!((model.capacity, model.curves[0].block), (1 << 40, 4096));
        assert_eq!(model.curves[0].points, [(1.0, 85_000.0)]);
    }

    #[test]
    fn parts_of_a_drive_share_its_rate() {
        let whole = model(None, None, &[]);
        let half = whole.part(2);
        assert_eq!(half.capacity, whole.capacity / 2);
        for (whole, half) in whole.curves.iter().zip(&half.curves) {
            let (n, latency) = whole.points[whole.points.len() - 1];
            let (part, same) = half.points[half.points.len() - 1];
            assert!((part / n - 0.5).abs() < 0.1 && (same / latency - 1.0).abs() < 1e-9);
            assert!(half.points.is_sorted_by(|a, b| a.0 < b.0));
        }
    }
}
