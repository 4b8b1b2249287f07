//! Sections of one run: the cluster, client latencies, time lines, distributions, time breakdowns, waterfalls.

use foretell_sorted::SortedMap;
use maud::{Markup, html};
use serde_json::Value;

use super::outages;
use crate::chart::{Axis, Chart, Scale, Series, View};
use crate::cluster;
use crate::page::{Part, Section, Table};
use crate::path::{PathStep, waterfall};
use crate::run::{Breakdown, Charged, Completed, Observed, Requests, Resources, Seen, What};
use crate::words::{at, count, cut, entries, known, number, of_all, percent, short_name};

/// Maximum number of lines of a view.
const MAX_LINES: usize = 5;
/// Maximum number of workloads in a table.
const MAX_WORKLOADS: usize = 50;
/// Maximum number of rows of a heat map.
const MAX_ROWS: usize = 24;
/// The percentiles in the table.
const SHARES: [(f64, &str); 6] = [
    (0.5, "p50"),
    (0.9, "p90"),
    (0.95, "p95"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (0.9999, "p99.99"),
];

/// A run, with what the page needs besides its records.
#[derive(Debug)]
pub struct Run {
    /// Its name on the page: its directory.
    pub name: String,
    /// Statistics from its records.
    pub observed: Observed,
    /// `truth.json`, if the run has it.
    pub truth: Option<Value>,
    /// Paths of single requests, in the order of [`Observed::wanted`].
    pub paths: Vec<(Completed, Vec<PathStep>)>,
}

impl Run {
    /// The name of a workload.
    pub fn workload(&self, number: u32) -> String {
        let mut all = self.observed.facts.workloads.iter();
        let known = all.find(|workload| workload.workload.0 == number);
        known.map_or_else(|| format!("workload {number}"), |workload| short_name(&workload.name))
    }

    fn host(&self, number: u32) -> String {
        let known = self.observed.facts.hosts.iter().find(|host| host.host.0 == number);
        known.map_or_else(|| format!("host {number}"), |host| short_name(&host.name))
    }

    /// Hosts and the utilization of their resources, from the truth or else from the records.
    fn busy(&self) -> Vec<cluster::Busy> {
        let kind_of = |name: &str| {
            let mut hosts = self.observed.facts.hosts.iter();
            let found = hosts.find(|host| host.name == name);
            found.map(|host| cluster::Kind::of_host(host.kind))
        };
        if let Some(truth) = &self.truth {
            return cluster::hosts(truth, kind_of);
        }
        let mut by_host: SortedMap<u32, Vec<(String, f64)>> = SortedMap::new();
        for ((host, part), over_time) in
            self.observed.resources.iter().flat_map(|all| &all.by_resource)
        {
            let busy: f64 =
                over_time.busy.by_bin.iter().sum::<f64>() / self.observed.grid.span_ns as f64;
            by_host.entry(*host).or_default().push((part.name(), busy));
        }
        let hosts = by_host.into_iter().map(|(host, resources)| {
            let name = self.host(host);
            let kind = kind_of(&name).unwrap_or(cluster::Kind::Node);
            cluster::Busy { name, kind, resources }
        });
        hosts.collect()
    }
}

/// Sections of a run. `is_compared`: other sections compare it with other runs, and what they show is left out.
pub(super) fn sections(run: &Run, is_compared: bool) -> Vec<Section> {
    let mut sections = vec![clients(run), cluster_section(run)];
    sections.extend(outages::section(run, is_compared));
    if let Some(requests) = &run.observed.requests {
        sections.push(over_time(run, requests));
        sections.push(distribution(run, requests));
    }
    if let Some(resources) = &run.observed.resources {
        sections.push(busy_over_time(run, resources));
    }
    if !run.observed.breakdowns.is_empty() {
        sections.push(where_time_goes(run));
    }
    if !run.paths.is_empty() {
        sections.push(paths(run));
    }
    sections.retain(|section| !section.parts.is_empty());
    sections
}

/// The section with the drawing of the cluster.
fn cluster_section(run: &Run) -> Section {
    let mut section = Section::new("The cluster");
    let hosts = run.busy();
    if hosts.is_empty() {
        section.push(Part::Gap(
            "Neither `truth.json` nor records say how busy resources were.".to_owned(),
        ));
    } else {
        let busiest = hosts
            .iter()
            .flat_map(|host| {
                host.resources.iter().map(move |(resource, share)| (host, resource, *share))
            })
            .max_by(|a, b| a.2.total_cmp(&b.2));
        let marked = run.truth.as_ref().and_then(cluster::bottleneck);
        let marked = marked
            .or_else(|| busiest.map(|(host, resource, _)| (host.name.clone(), resource.clone())));
        let busiest_text = busiest.map_or_else(String::new, |(host, resource, share)| {
            format!(
                " The busiest resource is {} of {}, {} busy.{}",
                short_name(resource),
                short_name(&host.name),
                percent(share),
                run.truth.as_ref().map_or_else(String::new, cluster::and_records)
            )
        });
        let number = |kind| hosts.iter().filter(|host| host.kind == kind).count() as u64;
        let some = |kind, one, many| {
            let number = number(kind);
            (number > 0).then(|| count(number, one, many))
        };
        let kinds = [
            some(cluster::Kind::Client, "client", "clients"),
            some(cluster::Kind::Node, "storage node", "storage nodes"),
            some(cluster::Kind::Monitor, "monitor", "monitors"),
            some(cluster::Kind::Uplink, "uplink of a rack", "uplinks of racks"),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        let summary = format!(
            "{}, with the share of the measured time for which each resource was busy.{busiest_text}",
            kinds.join(", "),
        );
        section.push(Part::Figure {
            title: "Hosts and how busy they were".to_owned(),
            summary,
            markup: cluster::drawn(&hosts, marked.as_ref()),
        });
    }
    for gap in &run.observed.gaps {
        section.push(Part::Gap(gap.clone()));
    }
    section
}

fn clients(run: &Run) -> Section {
    let mut section = Section::new("What clients saw");
    if let Some(truth) = &run.truth {
        let mut table = Table::new(
            "By workload, and by operation",
            2,
            &[
                "workload",
                "operation",
                "requests/s",
                "MB/s",
                "mean ms",
                "p50",
                "p95",
                "p99",
                "max",
                "read hit rate",
            ],
        );
        let (workloads, others) = busiest_workloads(truth);
        for (name, seen) in workloads {
            for (operation, seen, whole) in [
                ("all", Some(seen), true),
                ("read", seen.get("read"), false),
                ("write", seen.get("write"), false),
            ] {
                let Some(seen) = seen.filter(|seen| at(seen, &["requests"]).unwrap_or(0.0) > 0.0)
                else {
                    continue;
                };
                let time = |key| known(at(seen, &["response_time_ms", key]), number);
                let mb = at(seen, &["throughput_bytes_per_s"]).map(|bytes| bytes / 1e6);
                let rate = known(at(seen, &["throughput_rps"]), number);
                let hits = at(seen, &["read_hit_rate"]).filter(|_| whole);
                table.rows.push(vec![
                    short_name(name),
                    operation.to_owned(),
                    rate,
                    known(mb, number),
                    time("mean"),
                    time("p50"),
                    time("p95"),
                    time("p99"),
                    time("max"),
                    known(hits, percent),
                ]);
            }
        }
        section.push(Part::Table(table));
        let hedged = entries(truth, "workloads").filter_map(|(name, seen)| {
            let hedges = at(seen, &["hedges"])?;
            Some(format!("{} {hedges}", short_name(name)))
        });
        let hedged: Vec<String> = hedged.take(MAX_WORKLOADS).collect();
        if !hedged.is_empty() {
            section.text(format!("Reads that asked one more node: {}.", hedged.join(", ")));
        }
        let scrub = |key| at(truth, &["scrub", key]);
        if let (Some(disks), Some(rate)) = (scrub("disks"), scrub("disk_bytes_per_s")) {
            section.text(format!(
                "Scrubbers read {} MB/s of each of {} disks.",
                number(rate / 1e6),
                number(disks)
            ));
        }
        section.parts.extend(others.map(Part::Text));
    } else {
        section.push(Part::Gap(
            "There is no `truth.json`; what follows is from the records alone.".to_owned(),
        ));
    }
    if let Some(requests) = &run.observed.requests {
        section.push(Part::Table(percentiles(run, requests)));
        section.text(
            "Percentiles are of recorded requests that completed in the measured time. An asterisk marks those \
             with fewer than ten slower requests: chance decides them.",
        );
    }
    section
}

/// The workloads of a truth that are shown, and a sentence about the others. If there are too many, those with most
/// requests are shown.
pub(super) fn busiest_workloads(truth: &Value) -> (Vec<(&String, &Value)>, Option<String>) {
    let mut all: Vec<_> = entries(truth, "workloads").collect();
    let count = all.len();
    if count > MAX_WORKLOADS {
        let requests = |seen: &Value| at(seen, &["requests"]).unwrap_or(0.0);
        all.sort_by(|a, b| requests(b.1).total_cmp(&requests(a.1)).then(a.0.cmp(b.0)));
        all.truncate(MAX_WORKLOADS);
        all.sort_by_key(|(name, _)| *name);
    }
    let others = of_all(all.len(), count, "workloads with most requests");
    (all, others)
}

fn percentiles(run: &Run, requests: &Requests) -> Table {
    let head: Vec<&str> = ["workload", "operation", "requests", "mean"]
        .into_iter()
        .chain(SHARES.map(|(_, name)| name))
        .chain(["max"])
        .collect();
    let mut table = Table::new("Response time in milliseconds", 2, &head);
    for (number_of, seen) in &requests.by_workload {
        let [reads, writes] = &seen.by_op;
        for (operation, seen) in [("all", &seen.all), ("read", reads), ("write", writes)] {
            if seen.requests() == 0 {
                continue;
            }
            let mut row =
                vec![run.workload(*number_of), operation.to_owned(), seen.requests().to_string()];
            row.push(known(seen.mean_ms(), number));
            for (share, _) in SHARES {
                let few = seen.requests() as f64 * (1.0 - share) < 10.0;
                let value = known(seen.quantile_ms(share), number);
                row.push(if few { format!("{value} *") } else { value });
            }
            row.push(known(seen.quantile_ms(1.0), number));
            table.rows.push(row);
        }
    }
    table
}

/// The workloads with most requests first, up to the number of lines of a view.
fn most_asked(requests: &Requests) -> Vec<u32> {
    let mut all: Vec<_> = requests.by_workload.iter().collect();
    all.sort_by_key(|(number, seen)| (u64::MAX - seen.all.requests(), **number));
    let mut numbers: Vec<u32> =
        all.into_iter().take(MAX_LINES).map(|(number, _)| *number).collect();
    numbers.sort_unstable();
    numbers
}

fn over_time(run: &Run, requests: &Requests) -> Section {
    let grid = &run.observed.grid;
    let bin_s = grid.bin_ns() / 1e9;
    let shown = most_asked(requests);
    let weight = f64::from(run.observed.one_in.max(1));
    let rate = |seen: &Seen| {
        seen.completed.iter().map(|n| Some(*n as f64 * weight / bin_s)).collect::<Vec<_>>()
    };
    let time = || Axis::new("time since the measuring began", "s");
    let names: Vec<String> = shown.iter().map(|number| run.workload(*number)).collect();
    let of = |number: &u32| &requests.by_workload[number];
    let mut section = Section::new("Over time");
    if requests.by_workload.len() > shown.len() {
        section.text(format!(
            "Shown are the {} workloads with most requests, of {}.",
            shown.len(),
            requests.by_workload.len()
        ));
    }
    section.text(format!("Each point is a mean over {} s.", number(bin_s)));

    let all = shown.iter().zip(&names).map(|(n, name)| Series::new(name.clone(), rate(&of(n).all)));
    let mut views = vec![View::new("all workloads, requests/s", all.collect())];
    let bytes = shown.iter().zip(&names).map(|(n, name)| {
        let moved = of(n).all.moved.iter().map(|bytes| Some(bytes * weight / bin_s / 1e6));
        Series::new(name.clone(), moved.collect())
    });
    let mut in_bytes = View::new("all workloads, MB/s", bytes.collect());
    in_bytes.y = Some(Axis::new("throughput", "MB/s"));
    views.push(in_bytes);
    for (n, name) in shown.iter().zip(&names) {
        let [reads, writes] = &of(n).by_op;
        if reads.requests() > 0 && writes.requests() > 0 {
            let both = vec![Series::new("reads", rate(reads)), Series::new("writes", rate(writes))];
            views.push(View::new(format!("{name}, requests/s"), both));
        }
    }
    let summary: Vec<String> = shown
        .iter()
        .zip(&names)
        .map(|(n, name)| {
            let rates = rate(&of(n).all).into_iter().flatten();
            let (low, high) =
                rates.fold((f64::MAX, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
            format!("{name} completes {} to {} requests a second", number(low), number(high))
        })
        .collect();
    let y = Axis::new("throughput", "requests/s");
    let xs = grid.middles_s();
    section.chart(
        "Throughput",
        format!("{}.", summary.join("; ")),
        Chart::Lines { x: time(), y, xs: xs.clone(), views },
    );

    let mut views = Vec::new();
    for (n, name) in shown.iter().zip(&names) {
        let at_share = |share: f64| {
            let of_bin = |bin: &hdrhistogram::Histogram<u32>| {
                (!bin.is_empty()).then(|| bin.value_at_quantile(share) as f64 / 1e6)
            };
            of(n).over_time.iter().map(of_bin).collect::<Vec<_>>()
        };
        let lines = [(0.5, "p50: half are faster"), (0.95, "p95"), (0.99, "p99")];
        views.push(View::new(
            name.clone(),
            lines.into_iter().map(|(share, name)| Series::new(name, at_share(share))).collect(),
        ));
    }
    let summary: Vec<String> = shown
        .iter()
        .zip(&names)
        .map(|(n, name)| {
            let quantile = |share| known(of(n).all.quantile_ms(share), number);
            format!("{name}: median {} ms, 99th percentile {} ms", quantile(0.5), quantile(0.99))
        })
        .collect();
    let y = Axis::new("response time", "ms");
    section.chart(
        "Response time",
        format!("Over the whole run {}.", summary.join("; ")),
        Chart::Lines { x: time(), y, xs: xs.clone(), views },
    );

    let under_way = shown.iter().zip(&names).map(|(n, name)| {
        let means = of(n).under_way.means(grid).into_iter();
        Series::new(name.clone(), means.map(|mean| Some(mean * weight)).collect())
    });
    let views = vec![View::new("requests", under_way.collect())];
    let y = Axis::new("requests under way", "");
    let summary = "Requests that were issued and not complete, on average. A line that rises and never \
                   falls is a workload that asks for more than the cluster can do.";
    section.chart("Requests under way", summary, Chart::Lines { x: time(), y, xs, views });
    section
}

/// The places at which the distribution of response times is read: even steps of `-log10(1 - q)`.
pub(super) fn nines(most: u64) -> Vec<f64> {
    let end = libm::log10(most.max(10) as f64).min(4.0);
    let steps = (end * 40.0).round() as usize;
    (0..=steps).map(|step| step as f64 / 40.0).map(|at| at.min(end)).collect()
}

/// Response times at these places, or `None` beyond the requests there are.
pub(super) fn curve(seen: &Seen, nines: &[f64]) -> Vec<Option<f64>> {
    let most = libm::log10(seen.requests() as f64);
    let at = |at: &f64| {
        let share = 1.0 - libm::pow(10.0, -at);
        (*at <= most + 1e-9).then(|| seen.quantile_ms(share)).flatten()
    };
    nines.iter().map(at).collect()
}

/// The axes of a distribution.
pub(super) fn distribution_axes() -> (Axis, Axis) {
    let x = Axis::new("share of requests that are no slower", "").scaled(Scale::Nines);
    (x, Axis::new("response time", "ms").scaled(Scale::Log))
}

fn distribution(run: &Run, requests: &Requests) -> Section {
    let mut section = Section::new("Distribution of response times");
    let most = requests.by_workload.values().map(|seen| seen.all.requests()).max().unwrap_or(0);
    let xs = nines(most);
    let shown = most_asked(requests);
    let of = |number: &u32| &requests.by_workload[number];
    let mut views = vec![View::new(
        "all workloads",
        shown.iter().map(|n| Series::new(run.workload(*n), curve(&of(n).all, &xs))).collect(),
    )];
    for n in &shown {
        let [reads, writes] = &of(n).by_op;
        let both = [("reads", reads), ("writes", writes)];
        let lines = both.into_iter().filter(|(_, seen)| seen.requests() > 0);
        views.push(View::new(
            run.workload(*n),
            lines.map(|(name, seen)| Series::new(name, curve(seen, &xs))).collect(),
        ));
    }
    let (x, y) = distribution_axes();
    section.chart(
        "Response time by percentile",
        "The cumulative distribution, turned so that its tail can be read: each step to the right is a tenth \
         of the requests that were left. The vertical axis is logarithmic.",
        Chart::Lines { x, y, xs, views },
    );
    section
}

fn busy_over_time(run: &Run, resources: &Resources) -> Section {
    let grid = &run.observed.grid;
    let mut section = Section::new("Resources over time");
    let mut all: Vec<_> = resources.by_resource.iter().collect();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
    all.sort_by(|a, b| mean(&b.1.busy.by_bin).total_cmp(&mean(&a.1.busy.by_bin)));
    let more = all.len().saturating_sub(MAX_ROWS);
    all.truncate(MAX_ROWS);
    if !all.is_empty() {
        let rows: Vec<String> = all
            .iter()
            .map(|((host, part), _)| format!("{} {}", run.host(*host), part.name()))
            .collect();
        let values = all
            .iter()
            .map(|(_, over_time)| {
                let means = over_time.busy.means(grid).into_iter();
                means.map(|share| Some((share * 100.0).min(100.0))).collect()
            })
            .collect();
        let first = all.first().map(|(_, over_time)| mean(&over_time.busy.means(grid)));
        let others = of_all(all.len(), all.len() + more, "busiest resources");
        let others = others.map(|others| format!(" {others}")).unwrap_or_default();
        let summary = format!(
            "The busiest first: {}, {} busy on average. A disk is busy while it has any operation; links and \
             processors by what they carry and run.{others}",
            rows[0],
            known(first, percent)
        );
        section.chart(
            "Utilization",
            summary,
            Chart::Heat {
                x: "seconds since the measuring began".to_owned(),
                unit: "%",
                max: 100.0,
                xs: grid.middles_s(),
                rows,
                values,
            },
        );
    }
    let mut disks: Vec<_> = resources
        .by_resource
        .iter()
        .filter_map(|(key, over_time)| {
            over_time.queue.as_ref().map(|queue| (key, queue.means(grid)))
        })
        .collect();
    disks.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
    let all = disks.len();
    disks.truncate(MAX_ROWS);
    if let Some((key, longest)) = disks.first() {
        let name = |key: &(u32, crate::run::Part)| format!("{} {}", run.host(key.0), key.1.name());
        let most = disks.iter().flat_map(|(_, means)| means).copied().fold(0.0, f64::max);
        let summary = format!(
            "Operations at each disk, waiting or in service, on average: longest at {}, {} on average; {} at most. {}",
            name(key),
            number(mean(longest)),
            number(most),
            of_all(disks.len(), all, "longest queues").unwrap_or_default()
        );
        let rows = disks.iter().map(|(key, _)| name(key)).collect();
        let values =
            disks.iter().map(|(_, means)| means.iter().copied().map(Some).collect()).collect();
        section.chart(
            "Queues of disks",
            summary,
            Chart::Heat {
                x: "seconds since the measuring began".to_owned(),
                unit: "operations",
                max: most,
                xs: grid.middles_s(),
                rows,
                values,
            },
        );
    }
    hit_rates(run, resources, &mut section);
    section
}

fn hit_rates(run: &Run, resources: &Resources, section: &mut Section) {
    let mut rates: Vec<_> = resources
        .caches
        .iter()
        .map(|(host, bins)| {
            let (hit, asked) =
                bins.iter().fold((0.0, 0.0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
            (run.host(*host), if asked > 0.0 { hit / asked } else { 0.0 }, asked, bins)
        })
        .filter(|(_, _, asked, _)| *asked > 0.0)
        .collect();
    rates.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    let all = rates.len();
    rates.truncate(MAX_ROWS);
    if rates.is_empty() {
        return;
    }
    let rate_texts: Vec<String> = rates
        .iter()
        .take(8)
        .map(|(name, rate, _, _)| format!("{name} {}", percent(*rate)))
        .collect();
    let rows = rates.iter().map(|(name, ..)| name.clone()).collect();
    let share = |(hit, asked): &(f64, f64)| (*asked > 0.0).then(|| 100.0 * hit / asked);
    let values = rates.iter().map(|(.., bins)| bins.iter().map(share).collect()).collect();
    section.chart(
        "Hit rates of caches",
        format!(
            "Bytes that reads found in each node's cache, of those they asked for: {}. {}",
            rate_texts.join(", "),
            of_all(rates.len(), all, "caches that were asked for most").unwrap_or_default()
        ),
        Chart::Heat {
            x: "seconds since the measuring began".to_owned(),
            unit: "%",
            max: 100.0,
            xs: run.observed.grid.middles_s(),
            rows,
            values,
        },
    );
}

fn where_time_goes(run: &Run) -> Section {
    let mut section = Section::new("Where time goes");
    section.text(
        "Parts of a request run side by side, so each instant is charged once: to a disk that serves it, else to \
         the queue of a disk, else to a processor, else to the network, else to other waiting (for a processor, for \
         room in a cache, for another request). An operation counts as served from when the one before it \
         completed.",
    );
    let mut table = Table::new(
        "Mean milliseconds of a request",
        2,
        &[
            "workload",
            "requests",
            "sampled",
            What::ALL[0].name(),
            What::ALL[1].name(),
            What::ALL[2].name(),
            What::ALL[3].name(),
            What::ALL[4].name(),
            "together",
        ],
    );
    let mut disks = Table::new(
        "Disks that requests spend most time at, waiting and in service",
        2,
        &["workload", "requests", "disk", "mean ms", "of the response time"],
    );
    disks.words = 3;
    for Breakdown { workload, mean, tail } in &run.observed.breakdowns {
        let name = run.workload(*workload);
        for (which, charged) in [("all", mean), ("slowest 1 %", tail)] {
            let mut row = vec![name.clone(), which.to_owned(), charged.requests.to_string()];
            row.extend(charged.by_what.iter().map(|ns| number(ns / 1e6)));
            row.push(number(charged.total_ns() / 1e6));
            table.rows.push(row);
            let mut by_disk: Vec<_> = charged.by_disk.iter().collect();
            by_disk.sort_by(|a, b| b.1.total_cmp(a.1).then(a.0.cmp(b.0)));
            for ((host, disk), ns) in by_disk.into_iter().take(3) {
                let share = ns / charged.total_ns().max(1.0);
                disks.rows.push(vec![
                    name.clone(),
                    which.to_owned(),
                    format!("{} disk{disk}", run.host(*host)),
                    number(ns / 1e6),
                    percent(share),
                ]);
            }
        }
        section.push(Part::Figure {
            title: format!("{name}: the mean, and the slowest 1 %"),
            summary: times_summary(&name, mean, tail),
            markup: stacks(mean, tail),
        });
    }
    section.push(Part::Table(table));
    if !disks.rows.is_empty() {
        section.push(Part::Table(disks));
    }
    section
}

fn times_summary(name: &str, mean: &Charged, tail: &Charged) -> String {
    let most = |charged: &Charged| {
        let by_what = charged.by_what.iter().zip(What::ALL).max_by(|a, b| a.0.total_cmp(b.0));
        by_what.map_or_else(String::new, |(ns, what)| {
            format!("{} ({})", what.name(), percent(ns / charged.total_ns().max(1.0)))
        })
    };
    format!(
        "A request of {name} takes {} ms on average, most of it {}; one of the slowest 1 % takes {} ms, most of it {}.",
        number(mean.total_ns() / 1e6),
        most(mean),
        number(tail.total_ns() / 1e6),
        most(tail)
    )
}

/// Two bars of equal length, so that shares can be compared; their lengths in time are written beside them.
fn stacks(mean: &Charged, tail: &Charged) -> Markup {
    let bar = |label: &str, charged: &Charged| {
        let total = charged.total_ns().max(1.0);
        html! {
            p.note { (label) ": " (number(charged.total_ns() / 1e6)) " ms" }
            div.stack role="img" aria-label={ (label) ": " (What::ALL.iter().zip(&charged.by_what).map(|(what, ns)| format!("{} {}", what.name(), percent(ns / total))).collect::<Vec<_>>().join(", ")) } {
                @for (index, (what, ns)) in What::ALL.iter().zip(&charged.by_what).enumerate() {
                    span class={ "w" (index) } style=(format!("width:{:.2}%", 100.0 * ns / total)) title={ (what.name()) ": " (number(ns / 1e6)) " ms, " (percent(ns / total)) } {}
                }
            }
        }
    };
    html! {
        (bar("All requests", mean))
        (bar("The slowest 1 %", tail))
        div.legend { @for (index, what) in What::ALL.iter().enumerate() { span { span class={ "swatch w" (index) } {} (what.name()) } } }
    }
}

fn paths(run: &Run) -> Section {
    let mut section = Section::new("Single requests");
    section.text(
        "Steps of typical requests, and of the slowest. Dark is service, hatched is waiting. A request's parts \
         run side by side. `foretell trace DIR NUMBER` prints the same.",
    );
    let typical = run.observed.typical.len();
    for (index, (request, steps)) in run.paths.iter().enumerate() {
        let response_ms = request.response_ns as f64 / 1e6;
        let kind = if index < typical { "A typical" } else { "A slow" };
        let operation = if request.is_write { "write" } else { "read" };
        let name = run.workload(request.workload);
        let title = format!(
            "{kind} {operation} of {name}: request {}, {} ms",
            request.breadcrumb,
            number(response_ms)
        );
        if steps.is_empty() {
            section.push(Part::Gap(format!("{title}: no steps were recorded.")));
            continue;
        }
        let longest = steps.iter().max_by(|a, b| {
            let lasts =
                |step: &PathStep| step.waiting_ms.unwrap_or(0.0) + step.service_ms.unwrap_or(0.0);
            lasts(a).total_cmp(&lasts(b))
        });
        let summary = longest.map_or_else(String::new, |step| {
            format!(
                "{} of {} bytes. Its longest step: {} {}, {}; it waits {} ms and is served {} ms.",
                if request.is_write { "A write" } else { "A read" },
                request.bytes,
                short_name(&step.host),
                short_name(&step.resource),
                cut(&step.what, 160),
                known(step.waiting_ms, number),
                known(step.service_ms, number)
            )
        });
        let markup = waterfall(&title, steps, response_ms, index == 0 || index == typical);
        section.push(Part::Figure { title, summary, markup });
    }
    section
}
