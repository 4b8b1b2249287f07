//! Results of a run as tables.

mod phases;
mod wear;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use foretell_ati::Summary;
use foretell_report::{MIN_BOTTLENECK_UTILIZATION, STORES_RECORDS};
use foretell_scenarios::model::{Arrivals, Scenario, Workload, WorkloadKind};
use foretell_sim::truth::{
    OutageTruth, RecoveryTruth, ResourceTruth, ScrubTruth, TraceTruth, Truth, Unfinished,
    WorkloadTruth,
};
use foretell_sorted::SortedMap;
use foretell_systems::HoursLeft;

use foretell_units::{Bytes, by_name};

use crate::screen::fitted;

/// With more hosts than this, resources are shown by group.
const MAX_HOSTS: usize = 24;

/// Latency and throughput of clients, and utilization of resources.
///
/// `cpu`: processor time that simulating the run took on this computer.
pub(crate) fn of_run(scenario: &Scenario, truth: &Truth, cpu: Duration) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:.3} s simulated{}: {} requests, {} events in {:.2} s ({:.2} CPU-s, {:.1} M events per \
         CPU-second)\n",
        truth.simulated_seconds,
        if truth.warmup.is_zero() {
            String::new()
        } else {
            format!(" after {} of warm-up", truth.warmup)
        },
        truth.workloads.values().map(|workload| workload.requests).sum::<u64>(),
        truth.events,
        truth.wall_seconds,
        cpu.as_secs_f64(),
        truth.events as f64 / cpu.as_secs_f64().max(1e-9) / 1e6
    );
    let known = truth.workloads.values().any(|known| known.throughput_rps_half_width.is_some());
    let confidence = if known { " (± 95 % confidence)" } else { "" };
    let _ = writeln!(text, "What clients saw{confidence}\n{}\n", fitted(&workloads(truth), 2));
    if let Some(benchmarks) = benchmarks(truth) {
        let _ = writeln!(text, "What benchmarks report\n{}\n", fitted(&benchmarks, 1));
    }
    if let Some(jobs) = jobs(truth) {
        let _ = writeln!(text, "What jobs did\n{}\n", fitted(&jobs, 4));
    }
    for (name, workload) in &truth.workloads {
        for remark in remarks(scenario, name, workload, truth.simulated_seconds) {
            let _ = writeln!(text, "{remark}\n");
        }
    }
    let _ = writeln!(text, "How busy resources were\n{}\n", fitted(&resources(scenario, truth), 1));
    if let Some(uplinks) = uplinks(truth) {
        let _ = writeln!(text, "How busy the uplinks of racks were\n{}\n", fitted(&uplinks, 1));
    }
    if let Some(arrays) = arrays(scenario, truth) {
        let _ = writeln!(text, "What caches of arrays found\n{}\n", fitted(&arrays, 2));
    }
    if let Some(wear) = wear::table_of(scenario, truth) {
        let _ = writeln!(text, "What writing cost solid-state drives\n{}\n", fitted(&wear, 1));
    }
    let _ = writeln!(text, "{}", bottleneck(truth));
    if let Some(losses) = losses(truth) {
        let _ = writeln!(text, "{losses}");
    }
    if let Some(hedges) = hedges(truth) {
        let _ = writeln!(text, "{hedges}");
    }
    if let Some(scrub) = &truth.scrub {
        let _ = writeln!(text, "{}", scrubbing(scrub));
    }
    if let Some(outages) = &truth.outages {
        let _ = writeln!(text, "{}", failures(outages));
        if let Some(waiting) = waiting(scenario, outages) {
            let _ = writeln!(text, "{waiting}");
        }
    }
    if let Some(oldest_ms) = truth.unfinished.oldest_ms {
        let oldest = number(oldest_ms);
        let waiting = still_waiting(&truth.unfinished);
        let _ = match truth.unfinished.requests {
            1 => {
                writeln!(
                    text,
                    "Unfinished: one request, issued {oldest} ms before the end{waiting}"
                )
            }
            requests => writeln!(
                text,
                "Unfinished: {requests} requests, the oldest issued {oldest} ms before the end{waiting}"
            ),
        };
    }
    text
}

/// The rest of a recovery, in a unit that fits: `25.3 min left (23.1 to 28.0)`.
pub(crate) fn time_left(HoursLeft { value, low, high }: HoursLeft) -> String {
    let (unit, each) = match value {
        hours if hours >= 1.0 => ("h", 1.0),
        hours if hours >= 1.0 / 60.0 => ("min", 60.0),
        _ => ("s", 3600.0),
    };
    let shown = |hours: f64| number(hours * each);
    format!("{} {unit} left ({} to {})", shown(value), shown(low), shown(high))
}

/// How far a recovery is that has not ended: `not finished: 31.4 % done, 0.42 h left (0.39 to 0.46) at 118 MB/s`.
fn unfinished_recovery(one: &RecoveryTruth) -> String {
    let left = match (one.hours_left, one.why) {
        (Some(left), _) => time_left(left),
        (None, why) => format!("time left unknown: {}", why.unwrap_or("no reason is known")),
    };
    let (done, rate) = (percent(Some(one.share_done)), number(one.rate_bytes_per_s / 1e6));
    format!("not finished: {done} done at {rate} MB/s, {left}")
}

/// Requests that waited because too few servers of their group were up, by workload.
fn waiting(scenario: &Scenario, outages: &OutageTruth) -> Option<String> {
    let of = |name: &str| {
        let in_phases = outages.phases.iter().filter_map(|phase| phase.workloads.get(name));
        in_phases.map(|of| of.waiting_below_min_size).sum::<u64>()
    };
    let names = scenario.workloads.iter().map(|workload| workload.name.as_str());
    let some: Vec<(&str, u64)> =
        names.map(|name| (name, of(name))).filter(|(_, count)| *count > 0).collect();
    let listed: Vec<String> = some.iter().map(|(name, count)| format!("{name} {count}")).collect();
    (!some.is_empty()).then(|| {
        format!(
            "Waiting below `{}`: {} requests ({}): too few {} of a group were up (see `serves without any`)",
            crate::capacity::least_key(scenario),
            outages.waiting_below_min_size,
            listed.join(", "),
            crate::capacity::members(scenario),
        )
    })
}

/// How many of the unfinished requests wait because too few servers of their group are up.
fn still_waiting(unfinished: &Unfinished) -> String {
    match unfinished.waiting_below_min_size {
        0 => String::new(),
        waiting => {
            format!("; {waiting} of them waited because too few servers of their group were up")
        }
    }
}

/// Remarks that the figures of a workload do not show.
fn remarks(scenario: &Scenario, name: &str, workload: &WorkloadTruth, seconds: f64) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(trace) = workload.trace.filter(TraceTruth::is_cut) {
        remarks.push(cut(name, &trace));
    }
    let outstanding = workload.outstanding_mean;
    let written = scenario.workloads.iter().find(|written| written.name == name);
    let limit = written.filter(|written| stays_busy(written)).and_then(|all| all.requests);
    let idle = outstanding == 0.0 && workload.unfinished.requests == 0;
    // stages of COSBench that prepare the measured ones are meant to end early
    let is_fio = written.is_some_and(|all| matches!(all.kind, WorkloadKind::Fio { .. }));
    let ended = (workload.jobs.is_empty() || is_fio) && !workload.ended_in_warmup.is_empty();
    let limit = limit.filter(|_| workload.requests == 0 && idle);
    if ended && limit.is_none() {
        remarks.push(ended_in_warmup(scenario, name, workload));
    } else if workload.requests == 0 {
        remarks.push(match limit {
            Some(limit) => format!(
                "No request of `{name}` completed in the measured time: it had ended in the warm-up, after \
                 `requests = {limit}` of each client"
            ),
            None => format!(
                "No request of `{name}` completed in the measured time; {outstanding:.1} were \
                 outstanding on average{}",
                still_waiting(&workload.unfinished)
            ),
        });
    } else if workload.hides_the_unfinished() {
        let oldest_s = workload.unfinished.oldest_ms.unwrap_or(0.0) / 1e3;
        remarks.push(format!(
            "Warning: response times of `{name}` leave out {} that did not finish, the oldest \
             issued {} s before the end{}.\nThe completed ones account for {} of the {} outstanding \
             on average (throughput × mean response time)",
            match workload.unfinished.requests {
                1 => "one request".to_owned(),
                requests => format!("{requests} requests"),
            },
            number(oldest_s),
            still_waiting(&workload.unfinished),
            number(workload.outstanding_accounted_for()),
            number(outstanding),
        ));
    }
    if let Some(ended_s) = workload.ended_s {
        let seconds = number(seconds);
        remarks.push(format!(
            "`{name}` ended after {} s: its rates in the table count all {seconds} s",
            number(ended_s)
        ));
    }
    remarks
}

/// What ended in the warm-up, and what to do about it.
fn ended_in_warmup(scenario: &Scenario, name: &str, workload: &WorkloadTruth) -> String {
    const MAX_NAMED: usize = 4;
    let ended = &workload.ended_in_warmup;
    let jobs: Vec<String> = ended
        .iter()
        .filter_map(|ended| {
            let at = number(ended.seconds?);
            let stage = ended.stage.as_ref().map_or_else(String::new, |stage| format!("{stage}/"));
            Some(format!("job `{stage}{}` (at {at} s)", ended.job.as_ref()?))
        })
        .collect();
    let what = if jobs.is_empty() {
        "the workload".to_owned()
    } else if jobs.len() > MAX_NAMED {
        format!("{} and {} more", jobs[..MAX_NAMED].join(", "), jobs.len() - MAX_NAMED)
    } else {
        jobs.join(", ")
    };
    format!(
        "Nothing of this was measured in `{name}`, because it ended in the warm-up of {}: {what}.\nSet \
         `warmup = \"0 s\"`, or let it last longer than the warm-up",
        scenario.warmup
    )
}

/// Whether a workload has requests outstanding at all times until it ends.
fn stays_busy(workload: &Workload) -> bool {
    matches!(workload.arrivals, Arrivals::Closed { .. })
}

/// The part of a trace that was replayed, if it was cut off.
fn cut(name: &str, trace: &TraceTruth) -> String {
    let requests = match trace.requests_total {
        Some(total) => {
            let share = percent(Some(trace.requests as f64 / total as f64));
            format!("{} of {total} requests of its trace ({share})", trace.requests)
        }
        None => {
            format!("{} requests of its trace, the rest of which cannot be read", trace.requests)
        }
    };
    let time = match (trace.seconds, trace.seconds_total) {
        (Some(seconds), Some(total)) => format!(": {seconds:.3} of {total:.3} s"),
        (Some(seconds), None) => format!(": {seconds:.3} s"),
        (None, _) => String::new(),
    };
    format!("`{name}` replayed {requests}{time}")
}

/// Place and size of a kept run.
pub(crate) fn what_was_kept(directory: &Path, summary: &Summary) -> String {
    format!(
        "{} records, {:.1} MB in {}\n",
        summary.total(),
        summary.bytes() as f64 / 1e6,
        directory.join(foretell_ati::STORE_FILE).display()
    )
}

/// What scrubbers read.
fn scrubbing(scrub: &ScrubTruth) -> String {
    let ScrubTruth { disks, bytes, chunks, passes, disk_bytes_per_s } = scrub;
    let rate = disk_bytes_per_s / 1e6;
    format!(
        "Scrubbed: {rate:.2} MB/s of each of {disks} disks, {:.2} GB in {chunks} chunks; passes \
         completed: {passes}",
        *bytes as f64 / 1e9
    )
}

/// Number of hedged reads, which asked one more node.
fn hedges(truth: &Truth) -> Option<String> {
    let of_workload = |(name, workload): (&String, &WorkloadTruth)| {
        Some(format!("{name} {} of {} requests", workload.hedges?, workload.requests))
    };
    let hedged: Vec<String> = truth.workloads.iter().filter_map(of_workload).collect();
    (!hedged.is_empty()).then(|| format!("Reads that asked one more node: {}", hedged.join(", ")))
}

fn workloads(truth: &Truth) -> Table {
    let mut table = table(&[
        "workload",
        "",
        "requests/s",
        "MB/s",
        "mean ms",
        "p50",
        "p95",
        "p99",
        "max",
        "hit rate",
    ]);
    for (name, workload) in &truth.workloads {
        let response = &workload.response_time_ms;
        // without requests nothing is known
        let known = |text: String| if workload.requests == 0 { String::new() } else { text };
        table.add_row([
            name.clone(),
            "all".to_owned(),
            interval(workload.throughput_rps, workload.throughput_rps_half_width),
            number(workload.throughput_bytes_per_s / 1e6),
            known(interval(response.mean, response.mean_half_width)),
            known(number(response.p50)),
            known(number(response.p95)),
            known(number(response.p99)),
            known(number(response.max)),
            percent(workload.read_hit_rate),
        ]);
        for (what, op) in [("read", &workload.read), ("write", &workload.write)] {
            if op.requests == 0 || op.requests == workload.requests {
                continue;
            }
            let response = &op.response_time_ms;
            table.add_row([
                String::new(),
                what.to_owned(),
                number(op.throughput_rps),
                number(op.throughput_bytes_per_s / 1e6),
                number(response.mean),
                number(response.p50),
                number(response.p95),
                number(response.p99),
                number(response.max),
                String::new(),
            ]);
        }
    }
    table
}

/// The results of workloads that are programs of jobs.
fn jobs(truth: &Truth) -> Option<Table> {
    let mut table = table(&[
        "workload",
        "stage",
        "job",
        "operation",
        "op/s",
        "MB/s",
        "count",
        "mean ms",
        "p50",
        "p95",
        "p99",
        "max",
    ]);
    let mut any = false;
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".to_owned(), number);
    for (name, workload) in &truth.workloads {
        for job in &workload.jobs {
            any = true;
            let time = &job.response_time_ms;
            table.add_row([
                name.clone(),
                job.stage.clone(),
                job.job.clone(),
                job.operation.to_owned(),
                rate(job.operations_per_s),
                rate(job.bytes_per_s.map(|rate| rate / 1e6)),
                job.operations.to_string(),
                number(time.mean),
                number(time.p50),
                number(time.p95),
                number(time.p99),
                number(time.max),
            ]);
        }
    }
    any.then_some(table)
}

/// The results of workloads that count transactions, each in its own unit.
fn benchmarks(truth: &Truth) -> Option<Table> {
    let mut table = table(&[
        "workload",
        "result",
        "read MB/s",
        "write MB/s",
        "transactions",
        "mean ms",
        "p95",
        "p99",
        "max",
        "server hits",
    ]);
    let mut any = false;
    for (name, workload) in &truth.workloads {
        let Some(benchmark) = &workload.benchmark else { continue };
        any = true;
        let time = &benchmark.transaction_time_ms;
        let rate = |rate: Option<f64>| rate.map_or_else(String::new, number);
        table.add_row([
            name.clone(),
            format!("{} {}", number(benchmark.value), benchmark.unit),
            rate(benchmark.read_mb_per_s),
            rate(benchmark.write_mb_per_s),
            benchmark.transactions.to_string(),
            number(time.mean),
            number(time.p95),
            number(time.p99),
            number(time.max),
            percent(benchmark.server_hit_rate),
        ]);
    }
    any.then_some(table)
}

/// One row a host; with many hosts one row a group, with the mean over its hosts and the highest
/// value.
/// The uplinks of racks, if there are any.
fn uplinks(truth: &Truth) -> Option<Table> {
    let mut table = table(&["rack", "to the core", "from the core"]);
    let mut racks: Vec<_> = truth.uplinks.iter().collect();
    racks.sort_by(|a, b| by_name(a.0, b.0));
    for (rack, resources) in racks {
        let busy = |resource: &str| percent(resources.get(resource).map(|of| of.utilization));
        table.add_row([rack.clone(), busy("uplink_transmit"), busy("uplink_receive")]);
    }
    (!truth.uplinks.is_empty()).then_some(table)
}

fn resources(scenario: &Scenario, truth: &Truth) -> Table {
    let grouped = scenario.hosts.len() > MAX_HOSTS;
    let mut rows: SortedMap<(usize, &str), Vec<&str>> = SortedMap::new();
    let mut order = Vec::new();
    for host in &scenario.hosts {
        let label = if grouped { &host.group } else { &host.name };
        let position = order.iter().position(|known| known == label).unwrap_or_else(|| {
            order.push(label.clone());
            order.len() - 1
        });
        rows.entry((position, label)).or_default().push(&host.name);
    }
    let mut all = truth.hosts.values().flat_map(SortedMap::keys);
    let has_second = all.any(|resource| resource.starts_with("cluster_nic"));
    let mut names = vec!["host", "cpu", "disks", "nic transmit", "nic receive"];
    if has_second {
        names.extend(["cluster nic transmit", "cluster nic receive"]);
    }
    names.push("cache hits");
    let mut table = table(&names);
    for ((_, label), hosts) in rows {
        let cell = |prefix: &str| {
            let found: Vec<f64> = hosts
                .iter()
                .flat_map(|host| truth.hosts[*host].iter())
                .filter(|(resource, _)| resource.starts_with(prefix))
                .map(|(_, resource): (_, &ResourceTruth)| resource.utilization)
                .collect();
            let highest = found.iter().copied().fold(0.0, f64::max);
            match found.len() {
                0 => String::new(),
                1 => percent(found.first().copied()),
                count => format!(
                    "{} (highest {})",
                    percent(Some(found.iter().sum::<f64>() / count as f64)),
                    percent(Some(highest))
                ),
            }
        };
        let (pages, hits) = hosts.iter().filter_map(|host| truth.caches.get(*host)).fold(
            (0, 0.0),
            |(pages, hits), cache| {
                let rate = cache.read_hit_rate.unwrap_or(0.0);
                (pages + cache.pages_read, hits + rate * cache.pages_read as f64)
            },
        );
        let label = match hosts.len() {
            1 => label.to_owned(),
            count => format!("{label} × {count}"),
        };
        let mut row = vec![label];
        row.extend(["cpu", "disk", "nic_transmit", "nic_receive"].map(cell));
        if has_second {
            row.extend(["cluster_nic_transmit", "cluster_nic_receive"].map(cell));
        }
        row.push(percent((pages > 0).then(|| hits / pages as f64)));
        table.add_row(row);
    }
    table
}

/// Hits of arrays' caches: pages found by reads, and pages rewritten before they were destaged.
fn arrays(scenario: &Scenario, truth: &Truth) -> Option<Table> {
    let mut table = table(&["host", "disk", "read hits", "write hits"]);
    for host in scenario.hosts.iter().map(|host| &host.name) {
        for (resource, known) in &truth.hosts[host] {
            let Some(cache) = &known.cache else { continue };
            table.add_row([
                host.clone(),
                resource.clone(),
                percent(cache.read_hit_rate),
                percent(known.write_cache.and_then(|cache| cache.write_hit_rate)),
            ]);
        }
    }
    (!table.is_empty()).then_some(table)
}

/// Effect of full switch ports, if segments were dropped.
fn losses(truth: &Truth) -> Option<String> {
    let network = &truth.network;
    (network.segments_dropped > 0).then(|| {
        format!(
            "Network: {} of {} segments dropped at full ports of the switch, {} timeouts",
            network.segments_dropped, network.segments_sent, network.timeouts
        )
    })
}

/// Effects of failures, in three lines.
fn failures(outages: &OutageTruth) -> String {
    let listed = |parts: Vec<String>| match parts.as_slice() {
        [] => "none".to_owned(),
        parts if parts.len() <= 4 => parts.join("; "),
        parts => format!("{}; and {} more", parts[..3].join("; "), parts.len() - 3),
    };
    let recovery = |one: &RecoveryTruth| {
        let duration = match one.ended_s {
            Some(ended) => format!("in {} s", number(ended - one.began_s)),
            None => unfinished_recovery(one),
        };
        format!(
            "{} of {}, {} fragments, {} written for {} read, {duration}",
            one.kind,
            one.host,
            one.objects,
            Bytes(one.bytes_written),
            Bytes(one.bytes_read),
        )
    };
    let stale = outages.stale_reads.map(|count| format!("; stale reads: {count}"));
    format!(
        "{}\nRecoveries: {}\nFailed requests: {}; bytes lost: {}{}",
        phases::text(outages),
        listed(outages.recoveries.iter().map(recovery).collect()),
        outages.failed_requests,
        Bytes(outages.bytes_lost),
        stale.unwrap_or_default(),
    )
}

/// Share of the busiest resource's utilization from which another one is nearly as busy.
const NEARLY_AS_BUSY: f64 = 0.98;

fn bottleneck(truth: &Truth) -> String {
    let bottleneck = &truth.bottleneck;
    if bottleneck.utilization < 0.005 {
        return "Bottleneck: none, nothing was busy".to_owned();
    }
    let host = &bottleneck.host;
    let resource = match bottleneck.resource.as_str() {
        "cpu" => format!("processor of {host}"),
        "nic_transmit" => format!("network adapter (transmit) of {host}"),
        "nic_receive" => format!("network adapter (receive) of {host}"),
        "cluster_nic_transmit" => format!("second network adapter (transmit) of {host}"),
        "cluster_nic_receive" => format!("second network adapter (receive) of {host}"),
        "uplink_transmit" => format!("uplink of rack {host}, to the core"),
        "uplink_receive" => format!("uplink of rack {host}, from the core"),
        disk => format!("{disk} of {host}"),
    };
    let share = percent(Some(bottleneck.utilization));
    let what =
        if bottleneck.utilization < MIN_BOTTLENECK_UTILIZATION { "Busiest" } else { "Bottleneck" };
    let all = truth.hosts.values().chain(truth.uplinks.values()).flat_map(SortedMap::values);
    let nearly = NEARLY_AS_BUSY * bottleneck.utilization;
    let as_busy = all.filter(|other| other.utilization >= nearly).count();
    let others = match as_busy {
        0 | 1 => String::new(),
        2 => " (and one other nearly as busy)".to_owned(),
        count => format!(" (and {} others nearly as busy)", count - 1),
    };
    let records = and_records(bottleneck.keeps_records);
    format!("{what}: {resource}, {share} busy{others}{records}")
}

/// A further line about a busiest resource, if it also stores the records of tracking.
pub(crate) fn and_records(keeps_records: bool) -> String {
    if keeps_records { format!("\n{STORES_RECORDS}") } else { String::new() }
}

pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Three significant digits; whole numbers from 100 on.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || value == 0.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

fn interval(mean: f64, half_width: Option<f64>) -> String {
    match half_width {
        Some(half_width) => format!("{} ± {}", number(mean), number(half_width)),
        None => number(mean),
    }
}

pub(crate) fn percent(share: Option<f64>) -> String {
    share.map_or_else(String::new, |share| format!("{:.1} %", share * 100.0))
}
