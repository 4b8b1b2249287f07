//! Sections of an answer: latency and throughput for clients, utilization of resources, and demands
//! of requests.

use serde_json::Value;

use crate::cluster;
use crate::page::{Part, Section, Table};
use crate::words::{at, entries, known, number, percent, short_name, text};

/// Sections of `ask --json`.
pub(super) fn sections(document: &Value) -> Vec<Section> {
    let mut section = Section::new("What clients would see");
    for note in
        document["notes"].as_array().into_iter().flatten().filter_map(Value::as_str).take(50)
    {
        section.text(format!("Note: {note}"));
    }
    let mut table = Table::new(
        "Predicted",
        1,
        &[
            "workload",
            "requests/s",
            "MB/s",
            "mean ms",
            "p50",
            "p95",
            "p99",
            "read hit rate",
            "peak requests/s",
            "expected error of the mean",
            "bottleneck",
        ],
    );
    for (name, of) in entries(document, "workloads") {
        let time = |key| known(at(of, &["response_time_ms", key]), number);
        table.rows.push(vec![
            short_name(name),
            known(at(of, &["throughput_rps"]), number),
            known(at(of, &["throughput_bytes_per_s"]).map(|bytes| bytes / 1e6), number),
            time("mean"),
            time("p50"),
            time("p95"),
            time("p99"),
            known(at(of, &["read_hit_rate"]), percent),
            known(at(of, &["peak_throughput_rps"]), number),
            known(at(of, &["expected_error", "response_time_ms.mean", "median"]), percent),
            short_name(text(of, &["bottleneck"]).unwrap_or("–")),
        ]);
    }
    section.push(Part::Table(table));
    let mut demands = Table::new(
        "Milliseconds that a request takes of each resource, of all hosts together",
        2,
        &["workload", "resource", "ms"],
    );
    for (name, of) in entries(document, "workloads") {
        for (resource, ms) in entries(of, "demands_ms") {
            demands.rows.push(vec![
                short_name(name),
                short_name(resource),
                known(ms.as_f64(), number),
            ]);
        }
    }
    let hosts = cluster::hosts(document, |_| None);
    let marked = cluster::bottleneck(document);
    let mut drawn = Section::new("The cluster");
    let busiest = marked.as_ref().map_or_else(String::new, |(host, resource)| {
        let share = at(document, &["utilization", host, resource]);
        let (host, resource) = (short_name(host), short_name(resource));
        let records = cluster::and_records(document);
        format!(" The busiest is {resource} of {host}, {}.{records}", known(share, percent))
    });
    drawn.push(Part::Figure {
        title: "Hosts and how busy they would be".to_owned(),
        summary: format!("Predicted shares of time for which each resource is busy.{busiest}"),
        markup: cluster::drawn(&hosts, marked.as_ref()),
    });
    if !demands.rows.is_empty() {
        drawn.push(Part::Table(demands));
    }
    vec![section, drawn]
}
