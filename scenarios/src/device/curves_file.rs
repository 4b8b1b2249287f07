//! A device known only by measurement: the latency of its requests, by their kind and by the number
//! of requests in the device. The profile as written, as checked, and written back.
//!
//! It is for devices whose internals are unknown: volumes of a cloud or of a storage network,
//! virtual disks, drives with only benchmark results. `foretell calibrate disk` writes such a
//! profile from results of fio.

use std::fmt::Write as _;

use foretell_input::{one_line, toml_string};
use foretell_sorted::SortedSet;
use foretell_units::{Bytes, Op, SimSpan};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::check::Context;
use crate::error::Problem;
use crate::raw::{At, Share, Size, Time};

/// A device described by latency curves.
#[derive(Clone, PartialEq, Debug)]
pub struct Curves {
    /// Bytes that a host can address.
    pub capacity: Bytes,
    /// Number of requests that the device accepts before one completes.
    pub queue_depth: u32,
    /// Time of a flush; zero: writes are durable without one.
    pub flush: SimSpan,
    /// At least one; no two for the same kind of requests.
    pub curves: Vec<Curve>,
}

/// Latency of one kind of requests, by the number of requests in the device.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Whether they are sequential.
    pub order: Order,
    /// Operation of the requests.
    pub op: Op,
    /// Share of reads among all requests to the device at the same time, 0 to 1.
    pub reads: f64,
    /// Their size.
    pub block: Bytes,
    /// Number of requests in the device, including this one, ascending, each with the mean latency.
    pub points: Vec<(u32, SimSpan)>,
}

/// Where a request lies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Order {
    /// At any address.
    Random,
    /// At the end of an earlier request.
    Sequential,
}

impl Order {
    /// Its name in a profile.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Sequential => "sequential",
        }
    }
}

/// A device known only by the measured latencies of its requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCurves {
    /// Kind of device.
    #[schemars(extend("enum" = ["curves"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// Where the figures come from: which results of which benchmark.
    #[allow(dead_code, reason = "must be there")]
    pub(crate) source: At<String>,
    /// Bytes that a host can address.
    pub(crate) capacity: Size,
    /// Maximum number of requests in the device. Others wait in the node's scheduler.
    #[schemars(extend("default" = 65_535, "minimum" = 1, "maximum" = 1_048_576))]
    pub(crate) queue_depth: At<i64>,
    /// Time that the device takes for a flush. Each write is done when a flush that began after its transfer has
    /// ended, because we assume that a flush follows each write. One flush runs at a time, and writes that arrive
    /// during it share the next one. Zero for devices with power-loss protection, and for latencies of writes
    /// that were measured with their flushes.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) flush: Time,
    /// Latencies of the device: `[[device.NAME.curve]]`, or `[[curve]]` in a device file.
    #[schemars(length(min = 1))]
    pub(crate) curve: At<Vec<RawCurve>>,
}

/// Latency of one kind of requests.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawCurve {
    /// Where the measured requests begin.
    #[schemars(extend("default" = "random"))]
    pub(crate) order: At<Order>,
    /// Operation of the requests.
    pub(crate) op: At<RawOp>,
    /// Share of reads among all requests to the device at the same time.
    pub(crate) reads: At<Share>,
    /// Size of the requests.
    pub(crate) block: Size,
    /// Numbers of requests in the device, in ascending order. The measured request is included.
    #[schemars(length(min = 1))]
    pub(crate) outstanding: At<Vec<i64>>,
    /// Mean latency of a request at each of these numbers.
    #[schemars(length(min = 1))]
    pub(crate) latency: At<Vec<Time>>,
}

/// Read or write, as written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawOp {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// The device of a profile.
pub(crate) fn curves(raw: &RawCurves, context: &mut Context<'_>) -> Option<Curves> {
    let capacity = context.size_above_zero(&raw.capacity, "a capacity");
    let queue_depth = u32::try_from(*raw.queue_depth.get()).ok();
    let flush = context.time(&raw.flush);
    let curves: Vec<Option<Curve>> =
        raw.curve.get().iter().map(|curve| self::curve(curve, context)).collect();
    let curves: Vec<Curve> = curves.into_iter().collect::<Option<_>>()?;
    let mut seen = SortedSet::new();
    for (raw, curve) in raw.curve.get().iter().zip(&curves) {
        let what = (curve.order, curve.op as usize, curve.reads.to_bits(), curve.block);
        if !seen.insert(what) {
            let message = format!(
                "there is a curve of {} {}s of {} at this share of reads already",
                curve.order.name(),
                curve.op,
                curve.block
            );
            let help = "all numbers outstanding go into one curve";
            context.add(Problem::new(raw.block.place(), message).help(help));
            return None;
        }
    }
    Some(Curves { capacity: capacity?, queue_depth: queue_depth?, flush: flush?, curves })
}

fn curve(raw: &RawCurve, context: &mut Context<'_>) -> Option<Curve> {
    let reads = context.share(&raw.reads);
    let block = context.size_above_zero(&raw.block, "a block");
    let latencies: Vec<Option<SimSpan>> = raw
        .latency
        .get()
        .iter()
        .map(|latency| context.time_above_zero(latency, "a latency"))
        .collect();
    let latencies: Vec<SimSpan> = latencies.into_iter().collect::<Option<_>>()?;
    let outstanding = raw.outstanding.get();
    if outstanding.len() != latencies.len() {
        let message = format!(
            "{} latencies for {} numbers of requests outstanding",
            latencies.len(),
            outstanding.len()
        );
        let problem = Problem::new(raw.latency.place(), message).also(raw.outstanding.place());
        context.add(problem.help("a curve has a latency for each number"));
        return None;
    }
    let counts: Option<Vec<u32>> = outstanding
        .iter()
        .map(|&count| u32::try_from(count).ok().filter(|&count| count > 0))
        .collect();
    let Some(counts) = counts.filter(|counts| counts.is_sorted_by(|a, b| a < b)) else {
        let message = "these are no numbers of requests outstanding";
        let help = "a curve has whole numbers from 1 up, each larger than the one before";
        context.add(Problem::new(raw.outstanding.place(), message).help(help));
        return None;
    };
    let op = match raw.op.get() {
        RawOp::Read => Op::Read,
        RawOp::Write => Op::Write,
    };
    let points = counts.into_iter().zip(latencies).collect();
    Some(Curve { order: *raw.order.get(), op, reads: reads?, block: block?, points })
}

/// The text of a device file; a scenario reads the same device from it.
///
/// `head`: lines to write first, as comments.
pub fn write(device: &Curves, source: &str, head: &[String]) -> String {
    let mut text = head.iter().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "# {}", one_line(line));
        text
    });
    let _ = writeln!(text, "kind = \"curves\"");
    let _ = writeln!(text, "source = {}", toml_string(source));
    let _ = writeln!(text, "capacity = \"{} B\"", device.capacity.get());
    let _ = writeln!(text, "queue_depth = {}", device.queue_depth);
    if !device.flush.is_zero() {
        let _ = writeln!(text, "flush = \"{} ns\"", device.flush.as_ns());
    }
    for curve in &device.curves {
        let counts: Vec<String> = curve.points.iter().map(|(count, _)| count.to_string()).collect();
        let times: Vec<String> =
            curve.points.iter().map(|(_, latency)| format!("\"{} ns\"", latency.as_ns())).collect();
        let _ = write!(
            text,
            "\n[[curve]]\norder = \"{}\"\nop = \"{}\"\nreads = {}\nblock = \"{} B\"\n\
             outstanding = [{}]\nlatency = [{}]\n",
            curve.order.name(),
            curve.op,
            curve.reads,
            curve.block.get(),
            counts.join(", "),
            times.join(", ")
        );
    }
    text
}
