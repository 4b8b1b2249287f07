//! The fitted parameters: software costs, and corrections of drives. Each is a factor on the scenario's
//! value.
//!
//! Nobody publishes these figures, and they differ by several times between releases, builds and
//! processors. Each factor has physical bounds and a weak prior towards 1, the profile's value. So two
//! points move the few factors that they depend on, and leave the others unchanged.
//!
//! `fitted.toml` holds the factors, how measured tails differ from simulated ones, and the drives as they were
//! measured alone.

use std::fmt::Write as _;
use std::path::Path;

use foretell_core::Error;
use foretell_input::Limit;
use foretell_scenarios::ScenarioError;
use foretell_sorted::SortedMap;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::drives::Model;
use crate::points::Row;
use crate::tail::Tail;

/// The file's name in the directory.
pub const FITTED_FILE: &str = "fitted.toml";

/// A fitted parameter.
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// Prior standard deviation of the factor's logarithm.
    pub(crate) prior_deviation: f64,
    /// Smallest and largest factor.
    pub(crate) bounds: (f64, f64),
    /// Whether reads depend on it, and whether writes do.
    touches: (bool, bool),
    /// Whether it is a cost per byte, which hardly matters for small requests.
    by_byte: bool,
    apply: fn(&mut Table, f64),
}

/// All parameters, the same for all sources.
pub(crate) const PARAMETERS: [Parameter; 12] = [
    Parameter {
        name: "osd_read",
        meaning: "processor time of an OSD for a read",
        prior_deviation: 0.8,
        bounds: (0.02, 20.0),
        touches: (true, true),
        by_byte: false,
        apply: |table, factor| time(table, &["cluster", "read"], "fixed", factor),
    },
    Parameter {
        name: "osd_write",
        meaning: "processor time of the OSDs for a write and each of its copies or shards",
        prior_deviation: 0.8,
        bounds: (0.02, 20.0),
        touches: (false, true),
        by_byte: false,
        apply: |table, factor| {
            time(table, &["cluster", "write"], "fixed", factor);
            time(table, &["cluster", "commit"], "fixed", factor);
            time(table, &["cluster", "threads"], "merge", factor);
        },
    },
    Parameter {
        name: "osd_read_bytes",
        meaning: "processor time of an OSD for each byte read",
        prior_deviation: 0.8,
        bounds: (0.02, 20.0),
        touches: (true, false),
        by_byte: true,
        apply: |table, factor| rate(table, &["cluster", "read"], factor),
    },
    Parameter {
        name: "osd_write_bytes",
        meaning: "processor time of an OSD for each byte written",
        prior_deviation: 0.8,
        bounds: (0.02, 20.0),
        touches: (false, true),
        by_byte: true,
        apply: |table, factor| {
            rate(table, &["cluster", "write"], factor);
            rate(table, &["cluster", "commit"], factor);
        },
    },
    Parameter {
        name: "message",
        meaning: "messenger threads' time for a message",
        prior_deviation: 0.6,
        bounds: (0.05, 20.0),
        touches: (true, true),
        by_byte: false,
        apply: |table, factor| time(table, &["cluster", "threads", "message"], "fixed", factor),
    },
    Parameter {
        name: "message_bytes",
        meaning: "messenger threads' time for each byte",
        prior_deviation: 0.8,
        bounds: (0.02, 20.0),
        touches: (true, true),
        by_byte: true,
        apply: |table, factor| rate(table, &["cluster", "threads", "message"], factor),
    },
    Parameter {
        name: "commit",
        meaning: "time of an OSD's kv thread for a transaction and for a round of them",
        prior_deviation: 0.8,
        bounds: (0.05, 50.0),
        touches: (false, true),
        by_byte: false,
        apply: |table, factor| {
            time(table, &["cluster", "threads"], "kv_round", factor);
            time(table, &["cluster", "threads"], "kv_transaction", factor);
        },
    },
    Parameter {
        name: "flush",
        meaning: "time of a drive's flushes in a round of commits",
        prior_deviation: 0.7,
        bounds: (0.05, 20.0),
        touches: (false, true),
        by_byte: false,
        apply: |table, factor| time(table, &["cluster", "threads"], "flush", factor),
    },
    Parameter {
        name: "client",
        meaning: "processor time of a client for a request",
        prior_deviation: 0.6,
        bounds: (0.05, 10.0),
        touches: (true, true),
        by_byte: false,
        apply: |table, factor| time(table, &["client", "load", "cpu", "request"], "fixed", factor),
    },
    Parameter {
        name: "hop",
        meaning: "latency of a message",
        prior_deviation: 0.5,
        bounds: (0.1, 20.0),
        touches: (true, true),
        by_byte: false,
        apply: |table, factor| {
            time(table, &["node", "osd", "nic"], "latency", factor);
            time(table, &["node", "osd", "cluster_nic"], "latency", factor);
            time(table, &["client", "load", "nic"], "latency", factor);
        },
    },
    Parameter {
        name: "drive_read",
        meaning: "latency of the drive's reads",
        prior_deviation: 0.25,
        bounds: (0.2, 10.0),
        touches: (true, false),
        by_byte: false,
        apply: |_, _| {},
    },
    Parameter {
        name: "drive_write",
        meaning: "latency of the drive's writes",
        prior_deviation: 0.25,
        bounds: (0.2, 10.0),
        touches: (false, true),
        by_byte: false,
        apply: |_, _| {},
    },
];

impl Parameter {
    /// Whether a row's prediction may depend on it.
    pub(crate) fn touches(&self, row: &Row, scenario: &Table) -> bool {
        let (reads, writes) = self.touches;
        let op = reads && row.reads > 0.0 || writes && row.reads < 1.0;
        // recovery reads and writes whole objects
        let recovers = scenario.contains_key("event");
        (recovers || op && (!self.by_byte || row.block > 16_384))
            && (self.is_of_drive() || self.changes(scenario))
    }

    /// Whether it corrects the drive, whose curves are not changed like a setting.
    fn is_of_drive(&self) -> bool {
        self.name.starts_with("drive_")
    }

    /// Whether a scenario has the settings that it multiplies.
    fn changes(&self, scenario: &Table) -> bool {
        let mut changed = scenario.clone();
        (self.apply)(&mut changed, 2.0);
        changed != *scenario
    }
}

/// The table at a path within a table.
pub(super) fn table_at<'a>(table: &'a mut Table, path: &[&str]) -> Option<&'a mut Table> {
    path.iter().try_fold(table, |table, key| table.get_mut(*key)?.as_table_mut())
}

/// Multiplies a time in a scenario by a factor.
fn time(table: &mut Table, path: &[&str], key: &str, factor: f64) {
    let Some(table) = table_at(table, path) else { return };
    let value = table.get(key).and_then(Value::as_str);
    let span = value.and_then(|text| text.parse::<foretell_units::SimSpan>().ok());
    if let Some(span) = span {
        let ns = (span.as_ns() as f64 * factor).round();
        table.insert(key.to_owned(), Value::String(format!("{ns} ns")));
    }
}

/// Multiplies the time per byte by a factor: divides a rate.
fn rate(table: &mut Table, path: &[&str], factor: f64) {
    let Some(table) = table_at(table, path) else { return };
    let value = table.get("rate").and_then(Value::as_str);
    let rate = value.and_then(|text| text.parse::<foretell_units::Rate>().ok());
    if let Some(rate) = rate {
        let rate = (rate.as_bytes_per_s_f64() / factor / 1e3).round().max(1.0);
        table.insert("rate".to_owned(), Value::String(format!("{rate} kB/s")));
    }
}

/// Values of the parameters, and further results of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Logarithms of the factors, in the order of [`PARAMETERS`].
    pub(crate) logs: Vec<f64>,
    /// Standard deviations of the logarithms, once they are fitted.
    pub(crate) deviations: Vec<f64>,
    /// How measured 99th percentiles differ from simulated ones: for reads, and for writes.
    pub(crate) tails: (Tail, Tail),
    /// Models of the drives that were measured alone.
    pub(crate) drives: SortedMap<String, Model>,
}

/// The content of `fitted.toml`.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    #[serde(default)]
    factor: SortedMap<String, f64>,
    #[serde(default)]
    deviation_of_log: SortedMap<String, f64>,
    #[serde(default)]
    tail: SortedMap<String, f64>,
    #[serde(default)]
    drive: SortedMap<String, Table>,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            logs: vec![0.0; PARAMETERS.len()],
            deviations: PARAMETERS.iter().map(|parameter| parameter.prior_deviation).collect(),
            tails: (Tail::NONE, Tail::NONE),
            drives: SortedMap::new(),
        }
    }
}

impl Values {
    /// Applies the values to a scenario.
    pub(crate) fn apply(&self, table: &mut Table) {
        for (parameter, log) in PARAMETERS.iter().zip(&self.logs) {
            if *log != 0.0 {
                (parameter.apply)(table, libm::exp(*log));
            }
        }
    }

    /// Factors on the latencies of a drive: for reads, and for writes.
    pub(crate) fn drive_factors(&self) -> (f64, f64) {
        let of = |name: &str| {
            let at = PARAMETERS.iter().position(|parameter| parameter.name == name);
            at.map_or(1.0, |at| libm::exp(self.logs[at]))
        };
        (of("drive_read"), of("drive_write"))
    }

    /// How the 99th percentile of a row differs from the simulated one.
    pub(crate) fn tail(&self, row: &Row) -> Tail {
        Tail::mixed(self.tails.0, self.tails.1, row.reads)
    }

    /// The text of the file.
    pub fn text(&self, head: &str) -> String {
        let by_name = |values: &mut dyn Iterator<Item = f64>| {
            PARAMETERS.iter().map(|parameter| parameter.name.to_owned()).zip(values).collect()
        };
        let (reads, writes) = self.tails;
        let tails = [
            ("read", reads.factor),
            ("read_stall_ms", reads.stall_ms),
            ("write", writes.factor),
            ("write_stall_ms", writes.stall_ms),
        ];
        let kept = Kept {
            factor: by_name(&mut self.logs.iter().map(|log| libm::exp(*log))),
            deviation_of_log: by_name(&mut self.deviations.iter().copied()),
            tail: tails.into_iter().map(|(name, tail)| (name.to_owned(), tail)).collect(),
            drive: self.drives.iter().map(|(name, model)| (name.clone(), model.table())).collect(),
        };
        let mut text = String::new();
        for line in head.lines() {
            let _ = writeln!(text, "# {line}");
        }
        text + "\n" + &toml::to_string(&kept).expect("texts and numbers")
    }

    /// Reads the values from a directory's file; `None` if there is no file.
    pub fn load(directory: &Path) -> Result<Option<Self>, Error> {
        let path = directory.join(FITTED_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let shown = path.display();
        let text = foretell_input::text(&path, Limit::SCENARIO)
            .map_err(|error| Error::Invalid(format!("cannot read `{shown}`: {error}")))?;
        Self::parse(&text).map(Some).map_err(|fault| Error::Invalid(format!("`{shown}`: {fault}")))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let kept: Kept = toml::from_str(text)
            .map_err(|error| ScenarioError::of_toml(FITTED_FILE, text, &error).line())?;
        let mut values = Self::default();
        for (name, factor) in &kept.factor {
            let at = PARAMETERS.iter().position(|parameter| parameter.name == name);
            let at = at.ok_or_else(|| {
                let names = PARAMETERS.iter().map(|parameter| parameter.name);
                let near = foretell_scenarios::meant(name, names).unwrap_or_default();
                format!("there is no parameter `{name}`. {near}")
            })?;
            if !(1e-3..=1e3).contains(factor) {
                return Err(format!("factor `{name}` is {factor}; expected 0.001 to 1000"));
            }
            values.logs[at] = libm::log(*factor);
            if let Some(deviation) = kept.deviation_of_log.get(name) {
                values.deviations[at] = *deviation;
            }
        }
        for (name, tail) in &kept.tail {
            let (reads, writes) = &mut values.tails;
            let (place, bounds) = match name.as_str() {
                "read" => (&mut reads.factor, 1e-3..=1e3),
                "read_stall_ms" => (&mut reads.stall_ms, 0.0..=1e4),
                "write" => (&mut writes.factor, 1e-3..=1e3),
                "write_stall_ms" => (&mut writes.stall_ms, 0.0..=1e4),
                other => {
                    return Err(format!(
                        "there is no tail `{other}`; there are read, read_stall_ms, write and write_stall_ms"
                    ));
                }
            };
            if !bounds.contains(tail) {
                let (least, most) = (bounds.start(), bounds.end());
                return Err(format!("tail `{name}` is {tail}; expected {least} to {most}"));
            }
            *place = *tail;
        }
        for (name, table) in &kept.drive {
            let model = Model::of_table(table)
                .ok_or_else(|| format!("drive `{name}` is not a device of kind `curves`"))?;
            values.drives.insert(name.clone(), model);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_and_read_again() {
        let mut values = Values::default();
        values.logs[0] = libm::log(2.0);
        values.tails = (Tail { factor: 3.0, stall_ms: 0.0 }, Tail { factor: 1.0, stall_ms: 1.5 });
        values.drives.insert("x".to_owned(), super::super::drives::model(None, None, &[]));
        let again = Values::parse(&values.text("fitted\nto two points")).unwrap();
        assert!((again.logs[0] - values.logs[0]).abs() < 1e-12 && again.tails == values.tails);
        assert_eq!(again.drives["x"].curves.len(), 4);
        assert!(Values::parse("[factor]\nosd_raed = 1.0").unwrap_err().contains("osd_read"));
        assert!(Values::parse("[factor]\nosd_read = 0.0").unwrap_err().contains("0.001 to 1000"));
    }

    #[test]
    fn factors_change_times_and_rates_of_a_scenario() {
        let mut table: Table = toml::from_str(
            "[cluster]\nread = { fixed = \"100 us\", rate = \"2 GB/s\" }\nwrite = { fixed = \"60 us\" }\n",
        )
        .unwrap();
        let logs = vec![libm::log(2.0); PARAMETERS.len()];
        let values = Values { logs, ..Values::default() };
        values.apply(&mut table);
        let read = table["cluster"]["read"].as_table().unwrap();
        assert_eq!(read["fixed"].as_str(), Some("200000 ns"));
        assert_eq!(read["rate"].as_str(), Some("1000000 kB/s"));
        assert_eq!(table["cluster"]["write"]["fixed"].as_str(), Some("120000 ns"));
    }
}
