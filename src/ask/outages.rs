//! The part of an answer about failures, as text.

use std::fmt::Write as _;

use comfy_table::CellAlignment;
use foretell_whatif::{OutageAnswer, RecoveryAnswer};

use super::short;
use crate::screen::fitted;
use crate::tables;

/// Phases, recoveries, and data loss.
pub(super) fn text(found: &OutageAnswer) -> String {
    let header =
        ["phase", "seconds", "workload", "req/s", "mean ms", "p99", "failed", "in 9 of 10 cases"];
    let mut table = tables::table(&header);
    for phase in &found.phases {
        let mut seconds = format!("{:.1}", phase.seconds);
        let mut name = phase.phase.to_owned();
        for (workload, seen) in &phase.workloads {
            let times = &seen.response_time_ms;
            // a phase in which nothing completes has no response times
            let ms = |ms: Option<f64>| {
                let known = ms.filter(|_| seen.requests > 0);
                known.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.3}"))
            };
            let of = |metric, unit: &str| {
                let interval = seen.interval.get(metric)?;
                Some(format!("{} to {} {unit}", short(interval.low), short(interval.high)))
            };
            let intervals = [of("throughput_rps", "req/s"), of("response_time_ms.mean", "ms")];
            let intervals: Vec<String> = intervals.into_iter().flatten().collect();
            table.add_row([
                std::mem::take(&mut name),
                std::mem::take(&mut seconds),
                workload.clone(),
                format!("{:.1}", seen.throughput_rps),
                ms(Some(times.mean)),
                ms(times.p99),
                seen.failed_requests.to_string(),
                intervals.join(", "),
            ]);
        }
    }
    for index in [1, 3, 4, 5, 6] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("\nWhat clients would see of the events\n{}\n\n", fitted(&table, 2));
    for one in &found.recoveries {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let lasts = match one.ended_s {
            Some(ended) => format!("{:.1} s, until {ended:.1} s", ended - one.began_s),
            None => format!("still going on at the end, {}", progress(one)),
        };
        let _ = writeln!(
            text,
            "Recovery of {}, {}: from {:.1} s, {lasts}; {} objects, {:.0} MiB read, {:.0} MiB sent, {:.0} MiB \
             written",
            one.host,
            one.kind,
            one.began_s,
            one.objects,
            mib(one.bytes_read),
            mib(one.bytes_sent),
            mib(one.bytes_written)
        );
    }
    let lost = match found.bytes_lost {
        0 => "no data lost".to_owned(),
        bytes => format!("{bytes} bytes lost"),
    };
    let stale = found.stale_reads.map(|count| format!("; stale reads: {count}"));
    let stale = stale.unwrap_or_default();
    let waiting = match found.waiting_below_min_size {
        0 => String::new(),
        waiting => format!("; waiting because too few servers of their group are up: {waiting}"),
    };
    let _ = writeln!(text, "Requests given up: {}{waiting}; {lost}{stale}", found.failed_requests);
    text
}

/// How far a recovery is at the end.
fn progress(one: &RecoveryAnswer) -> String {
    let left = match one.hours_left {
        Some(left) => tables::time_left(left),
        None => format!("time left unknown: {}", one.why.unwrap_or("no reason is known")),
    };
    let (done, rate) = (100.0 * one.share_done, one.rate_bytes_per_s / 1e6);
    format!("{done:.1} % done at {rate:.1} MB/s, {left}")
}
