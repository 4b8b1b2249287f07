//! `foretell inspect`: statistics of a block trace.

mod pictures;

use std::fmt::Write as _;

use foretell_files::{Directory, Purpose};
use foretell_units::Bytes;
use foretell_workloads::trace::{Profile, Profiler, TraceReader};
use serde_json::{Value, json};

use crate::cli::InspectArguments;
use crate::failure::Failure;
use crate::import::{for_each, no_requests, open};
use crate::screen::fitted;
use crate::tables::{number, table};

/// Runs the command.
pub(crate) fn inspect(arguments: &InspectArguments) -> Result<(), Failure> {
    let inputs = [arguments.trace.as_path()];
    let purpose = Purpose::of("inspect").forced(arguments.force).reading(&inputs);
    arguments.output.as_deref().map_or(Ok(()), |path| Directory::may_take(path, purpose))?;
    let mut trace = open(&arguments.trace, &arguments.reading, arguments.format.0)?;
    let mut profiler = Profiler::new();
    let requests = for_each(&mut trace, |request| {
        profiler.add(request);
        Ok(())
    })?;
    let name = arguments.trace.display().to_string();
    if requests == 0 {
        return Err(no_requests(&trace, &arguments.trace, arguments.reading.device.as_deref()));
    }
    let profile = profiler.finish();
    let document = document(&name, &trace, &profile);
    if let Some(path) = &arguments.output {
        let directory = Directory::take(path, purpose)?;
        directory.clear(&[])?;
        directory.write("inspect.json", crate::output::json(&document).as_bytes())?;
        for (name, picture) in pictures::of(&profile) {
            directory.write(&format!("{name}.svg"), picture.svg().as_bytes())?;
            #[cfg(feature = "pictures")]
            directory.write(&format!("{name}.png"), &picture.png())?;
        }
    }
    let text =
        if arguments.json { crate::output::json(&document) } else { text(&name, &trace, &profile) };
    crate::output::print(&text)
}

/// Names of the two directions, in the order of a profile's pairs.
const DIRECTIONS: [&str; 2] = ["read", "write"];

fn document(name: &str, trace: &TraceReader, profile: &Profile) -> Value {
    let requests: u64 = profile.requests.iter().sum();
    let direction = |index: usize| {
        let sizes = &profile.sizes[index];
        let quantile = |q| sizes.quantile(q).map(Bytes::get);
        let count = profile.requests[index];
        let bytes = profile.bytes[index].get();
        json!({
            "requests": count,
            "bytes": bytes,
            "size_bytes": {
                "mean": (count > 0).then(|| bytes as f64 / count as f64),
                "p50": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99),
                "max": quantile(1.0),
                "most_common": sizes.most_common().map(|(size, share)| {
                    json!({ "size": size.get(), "share": share })
                }),
            },
        })
    };
    let reuse = &profile.reuse;
    let pages = |count: u64| count.saturating_mul(4096);
    let arrivals = profile.seconds.map(|seconds| {
        json!({
            "seconds": seconds,
            "rate_rps": rate(requests, seconds),
            "clock_seconds": profile.clock_s,
            "gap_squared_variation": profile.gap_variation(),
            "windows": profile.dispersions.iter().map(|(length, dispersion, most)| json!({
                "seconds": length, "dispersion": dispersion, "most_requests": most,
            })).collect::<Vec<_>>(),
        })
    });
    json!({
        "trace": name,
        "format": trace.format().name(),
        "requests": requests,
        "read_share": profile.requests[0] as f64 / requests.max(1) as f64,
        "read": direction(0),
        "write": direction(1),
        "sequential_share": profile.sequential,
        "stream_share": profile.streamed,
        "lowest_byte": profile.lowest.get(),
        "highest_byte": profile.highest.get(),
        "footprint_bytes": pages(reuse.pages),
        "footprint_read_bytes": pages(reuse.pages_read),
        "footprint_written_bytes": pages(reuse.pages_written),
        "reuse": {
            "page_references": reuse.references,
            "reused_share": reuse.reused,
            "pages_touched_once_share": reuse.touched_once,
            "gap_requests_p50": reuse.gap_quantile(0.5),
            "gap_requests_p90": reuse.gap_quantile(0.9),
            "sample": reuse.sample,
        },
        "arrivals": arrivals,
        "out_of_order": trace.out_of_order(),
        "bad": trace.bad(),
        "other": trace.other(),
    })
}

/// Requests a second, if the trace has a duration.
fn rate(requests: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| requests as f64 / seconds)
}

fn text(name: &str, trace: &TraceReader, profile: &Profile) -> String {
    let requests: u64 = profile.requests.iter().sum();
    let mut text = format!("{name} ({}): {requests} requests", trace.format());
    if let Some(seconds) = profile.seconds {
        let _ = write!(text, " in {} s", number(seconds));
    }
    text += "\n\n";
    let mut sizes =
        table(&["", "requests", "share", "bytes", "mean size", "p50", "p95", "p99", "max"]);
    for (index, direction) in DIRECTIONS.iter().enumerate() {
        let count = profile.requests[index];
        if count == 0 {
            continue;
        }
        let found = &profile.sizes[index];
        let quantile = |q| found.quantile(q).map_or_else(String::new, |size| size.to_string());
        let bytes = profile.bytes[index];
        sizes.add_row([
            (*direction).to_owned(),
            count.to_string(),
            percent(count as f64 / requests as f64),
            amount(bytes.get()),
            amount(bytes.get() / count),
            quantile(0.5),
            quantile(0.95),
            quantile(0.99),
            quantile(1.0),
        ]);
    }
    let _ = writeln!(text, "{}\n", fitted(&sizes, 1));
    let reuse = &profile.reuse;
    let about = if reuse.sample < 1.0 { "about " } else { "" };
    let mut facts = table(&["", ""]);
    let mut fact = |what: &str, value: String| {
        facts.add_row([what.to_owned(), value]);
    };
    fact("begin where the one before ended", percent(profile.sequential));
    fact("begin where one of the last 64 ended", percent(profile.streamed));
    fact(
        "addresses",
        format!("{} to {}", amount(profile.lowest.get()), amount(profile.highest.get())),
    );
    fact("footprint, in pages of 4 KiB", format!("{about}{}", amount(reuse.pages * 4096)));
    fact("pages read", format!("{about}{}", amount(reuse.pages_read * 4096)));
    fact("pages written", format!("{about}{}", amount(reuse.pages_written * 4096)));
    fact("page touches of pages touched before", percent(reuse.reused));
    fact("pages touched once only", percent(reuse.touched_once));
    for (q, what) in [(0.5, "half"), (0.9, "nine in ten")] {
        if let Some(gap) = reuse.gap_quantile(q) {
            fact(&format!("{what} of the reuses come within"), format!("{gap} requests"));
        }
    }
    match profile.seconds {
        None => fact("arrivals", "the trace has no times".to_owned()),
        Some(seconds) => {
            if let Some(rate) = rate(requests, seconds) {
                fact("requests per second", number(rate));
            }
            if let Some(clock) = profile.clock_s.filter(|clock| *clock >= 0.001) {
                fact("clock resolution", format!("{} s", number(clock)));
            }
            if let Some(variation) = profile.gap_variation() {
                fact("squared variation of the gaps (Poisson: 1)", number(variation));
            }
            for (length, dispersion, most) in &profile.dispersions {
                let Some(dispersion) = dispersion else { continue };
                fact(
                    &format!("index of dispersion in {length} s (Poisson: 1)"),
                    format!("{}, at most {most} requests", number(*dispersion)),
                );
            }
        }
    }
    for (count, what) in [
        (trace.out_of_order(), "requests out of order"),
        (trace.bad(), "bad lines or records left out"),
        (trace.other(), "lines left out that move no data or are not asked for"),
    ] {
        if count > 0 {
            fact(what, count.to_string());
        }
    }
    let facts = fitted(&facts, 1);
    // drop the empty header line
    let facts = facts.split_once('\n').map_or(facts.as_str(), |(_, rest)| rest);
    let _ = writeln!(text, "{facts}");
    text
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A number of bytes with three digits.
fn amount(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let unit = (bytes.max(1).ilog2() / 10) as usize;
    if unit == 0 {
        return format!("{bytes} B");
    }
    format!("{} {}", number(bytes as f64 / (1_u64 << (10 * unit)) as f64), units[unit])
}
