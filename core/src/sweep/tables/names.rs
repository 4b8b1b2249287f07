//! The tables with the names for the numbers in records: hosts, volumes and workloads of each run.
//!
//! A number means the same in all runs of a design point, but not at all design points, because a factor may
//! change the number of hosts.

use foretell_datasets::{Column, Kind, Role, Row, Run, TableSchema, Value};
use foretell_scenarios::model::Scenario;

use super::RECORDS_PER_FILE;
use crate::facts::host_kinds;

/// The tables `hosts`, `volumes`, `workloads`.
pub(super) fn tables() -> [TableSchema; 3] {
    let table = |name: &str, number: &str, about: &str, more: &[(&str, &str)]| {
        let column =
            |name: &str, kind, about: &str| Column::new(name, kind, Role::Identity, "", about);
        let mut columns = vec![
            column("run_id", Kind::Whole, "number of the run"),
            column(number, Kind::Whole, about),
            column("name", Kind::Text, "its name in the scenario"),
        ];
        columns.extend(more.iter().map(|(name, about)| column(name, Kind::Text, about)));
        TableSchema {
            name: name.to_owned(),
            description: format!(
                "A row is what a number in the tables of records stands for: a {number} of a run."
            ),
            columns,
            rows_per_file: RECORDS_PER_FILE,
        }
    };
    [
        table(
            "hosts",
            "host",
            "number of the host, as `host`, `client`, `sender` and `receiver` have it",
            &[("group", "the group of the host"), ("kind", "`node`, `client` or `monitor`")],
        ),
        table("volumes", "volume", "number of the volume, as `file` has it", &[]),
        table("workloads", "workload", "number of the workload, as `workload` has it", &[]),
    ]
}

/// Their rows, table by table.
pub(super) fn rows(run: &Run, scenario: &Scenario) -> [Vec<Row>; 3] {
    let row = |(number, name): (u64, &str)| {
        vec![Value::count(run.number), Value::count(number), Value::from(name)]
    };
    let hosts =
        (0..).zip(&scenario.hosts).zip(host_kinds(scenario)).map(|((number, host), kind)| {
            let mut row = row((number, &host.name));
            row.extend([Value::from(&*host.group), Value::from(kind.name())]);
            row
        });
    let volumes = scenario.volumes.iter().map(|volume| volume.name.as_str());
    let workloads = scenario.workloads.iter().map(|workload| workload.name.as_str());
    [
        hosts.collect(),
        (0..).zip(volumes).map(row).collect(),
        (0..).zip(workloads).map(row).collect(),
    ]
}
