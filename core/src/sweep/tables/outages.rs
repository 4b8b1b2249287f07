//! Columns of runs with events: phases, clients' response times and throughput in them, and
//! recoveries.

use foretell_datasets::{Column, Kind, Role, Row, Value};
use foretell_sim::truth::OutageTruth;

use super::prefix;

/// Phases in order, with their descriptions.
const PHASES: [(&str, &str); 4] = [
    ("before", "before the first event"),
    ("degraded", "while something was down, slow or out of date and nothing was rebuilt"),
    ("recovering", "while fragments or objects were rebuilt"),
    ("after", "when all was whole again"),
];

/// The columns of a sweep whose base scenario has events. `stale`: whether reads may be stale.
pub(super) fn columns(workloads: &[String], stale: bool, columns: &mut Vec<Column>) {
    let mut add = |name: &str, kind, unit: &str, about: &str| {
        columns.push(Column::new(name, kind, Role::Observed, unit, about));
    };
    add("failed_requests", Kind::Whole, "", "requests given up in the measured time");
    add("bytes_lost", Kind::Whole, "bytes", "bytes of volumes with too few fragments left");
    if stale {
        let older = "reads that returned an older version than the one acknowledged last";
        add("stale_reads", Kind::Whole, "", older);
    }
    let took = "time of all recoveries, from the first fragment to the last; missing: one goes on";
    add("recovery_s", Kind::Number, "seconds", took);
    add("recovery_bytes_written", Kind::Whole, "bytes", "bytes that recoveries wrote");
    for (phase, when) in PHASES {
        add(&format!("{phase}_s"), Kind::Number, "seconds", &format!("measured time {when}"));
        for workload in workloads {
            let of = prefix(workload);
            let whose = format!("{when}, workload `{workload}`; missing: there was no such time");
            for (name, kind, unit, what) in [
                ("throughput_rps", Kind::Number, "requests per second", "requests completed"),
                ("response_mean_ms", Kind::Number, "milliseconds", "mean response time"),
                ("response_p99_ms", Kind::Number, "milliseconds", "99th percentile of those"),
                ("failed_requests", Kind::Whole, "", "requests given up"),
            ] {
                add(&format!("{of}_{phase}_{name}"), kind, unit, &format!("{what} {whose}"));
            }
        }
    }
}

/// The cells of a run; all are missing for a run without events.
pub(super) fn cells(workloads: &[String], stale: bool, truth: Option<&OutageTruth>, row: &mut Row) {
    let Some(truth) = truth else {
        let count = 4 + usize::from(stale) + PHASES.len() * (1 + 4 * workloads.len());
        row.extend((0..count).map(|_| Value::Missing));
        return;
    };
    row.push(Value::count(truth.failed_requests));
    row.push(Value::count(truth.bytes_lost));
    if stale {
        row.push(truth.stale_reads.map_or(Value::Missing, Value::count));
    }
    let took = truth.recoveries.iter().map(|one| Some(one.ended_s? - one.began_s)).sum();
    let took: Option<f64> = took;
    row.push(took.into());
    row.push(Value::count(truth.recoveries.iter().map(|one| one.bytes_written).sum()));
    for (name, _) in PHASES {
        let phase = truth.phases.iter().find(|phase| phase.phase == name);
        row.push(Value::number(phase.map_or(0.0, |phase| phase.seconds)));
        for workload in workloads {
            let Some(of) = phase.and_then(|phase| phase.workloads.get(workload)) else {
                row.extend((0..4).map(|_| Value::Missing));
                continue;
            };
            row.push(Value::number(of.throughput_rps));
            let time = |ms: f64| if of.requests == 0 { Value::Missing } else { Value::number(ms) };
            row.push(time(of.response_time_ms.mean));
            row.push(time(of.response_time_ms.p99));
            row.push(Value::count(of.failed_requests));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use foretell_scenarios::Document;

    use super::*;
    use crate::simulation::Simulation;

    #[test]
    fn cells_are_those_of_the_columns() {
        for stale in [false, true] {
            check(stale);
        }
    }

    fn check(stale: bool) {
        let shipped = Document::shipped("failure").unwrap().unwrap();
        // `min_write` has no effect with Swift
        let lines = shipped.text().lines().filter(|line| !stale || !line.starts_with("min_write"));
        let text: Vec<&str> = lines.collect();
        let mut document = Document::parse("failure.toml", &text.join("\n"), "").unwrap();
        let swift = [
            ("client.proxy", "{ cpu = \"xeon-2023\" }"),
            ("cluster", "{ system = \"swift\", proxies = \"proxy\" }"),
            ("volume.mail.encoding", "1-of-3"),
            ("recovery", "{ node_timeout = \"1 s\" }"),
        ];
        for (path, value) in swift.into_iter().filter(|_| stale) {
            document.set(path, value).unwrap();
        }
        for (path, value) in [
            ("warmup", "1 s"),
            ("duration", "6 s"),
            ("event.crash.at", "1 s"),
            ("event.crash.for", "2 s"),
            ("recovery.grace", "1 s"),
        ] {
            if stale && path == "recovery.grace" {
                continue;
            }
            document.set(path, value).unwrap();
        }
        let simulation = Simulation::new(&document).unwrap();
        let truth = simulation.run(|_| ControlFlow::Continue(())).unwrap();
        let workloads = vec!["mail".to_owned()];
        let (mut names, mut row, mut empty) = (Vec::new(), Row::new(), Row::new());
        columns(&workloads, stale, &mut names);
        cells(&workloads, stale, truth.outages.as_ref(), &mut row);
        cells(&workloads, stale, None, &mut empty);
        assert_eq!((row.len(), empty.len()), (names.len(), names.len()));
        let of = |name: &str| {
            let place = names.iter().position(|column| column.name == name);
            row[place.unwrap_or_else(|| panic!("{name}"))].clone()
        };
        let outages = truth.outages.unwrap();
        assert_eq!(names.iter().any(|column| column.name == "stale_reads"), stale);
        if stale {
            assert_eq!(of("stale_reads"), Value::count(outages.stale_reads.unwrap()));
        }
        assert_eq!(of("failed_requests"), Value::count(outages.failed_requests));
        let before = outages.phases[0].workloads["mail"].throughput_rps;
        assert_eq!(of("mail_before_throughput_rps"), Value::number(before));
        assert_eq!(of("before_s"), Value::number(1.0));
    }
}
