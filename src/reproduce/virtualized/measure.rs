//! The measurements: runs of configurations, on all cores, none of which is done twice.
//!
//! Each run that is done becomes a line of `measurements.jsonl` in the output directory, so that an
//! interrupted reproduction goes on where it was. A line says what was run; lines of another version of
//! the program, or of runs that are not wanted now, are ignored.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use foretell_scenarios::Document;
use foretell_sim::truth::{OpTruth, Truth};
use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use super::design::Point;
use crate::failure::Failure;
use crate::simulate::Simulation;
use crate::{interrupt, jobs};

/// The system under study.
const SCENARIO: &str = include_str!("../../../scenarios/virtualized.toml");

/// How long is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// Ten seconds, up to forty.
    Quick,
    /// As the scenario says.
    Usual,
    /// Five intervals of a minute after a minute, as in the paper.
    Full,
}

impl Effort {
    fn changes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Quick => &[
                ("warmup", "5 s"),
                ("duration", "10 s"),
                ("intervals.error", "5%"),
                ("intervals.longest", "40 s"),
            ],
            Self::Usual => &[],
            Self::Full => {
                &[("warmup", "60 s"), ("duration", "300 s"), ("intervals.longest", "auto")]
            }
        }
    }
}

/// What was measured of one direction.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Direction {
    /// Mean response time.
    pub(super) response_ms: f64,
    /// Throughput.
    pub(super) mb_per_s: f64,
    /// Relative standard error of the five intervals' mean response times.
    pub(super) relative_standard_error: Option<f64>,
    pub(super) requests: u64,
}

/// What was measured of a configuration.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) read: Option<Direction>,
    pub(super) write: Option<Direction>,
    /// Measured time.
    pub(super) seconds: f64,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    version: String,
    run: String,
    measured: Measured,
}

/// The measurements of an output directory.
pub(super) struct Laboratory {
    effort: Effort,
    threads: NonZeroUsize,
    path: PathBuf,
    known: BTreeMap<String, Measured>,
}

impl Laboratory {
    /// With what was measured in this directory before.
    pub(super) fn open(
        directory: &Path,
        effort: Effort,
        threads: NonZeroUsize,
    ) -> Result<Self, Failure> {
        let path = directory.join("measurements.jsonl");
        let mut known = BTreeMap::new();
        match File::open(&path) {
            Ok(file) => {
                // the last line may have been cut off
                for line in BufReader::new(file).lines().map_while(Result::ok) {
                    if let Ok(Line { version, run, measured }) = serde_json::from_str(&line)
                        && version == env!("CARGO_PKG_VERSION")
                    {
                        known.insert(run, measured);
                    }
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::file("read", &path)(error)),
        }
        Ok(Self { effort, threads, path, known })
    }

    /// Measures these configurations, as far as that was not done before; in their order.
    pub(super) fn measure(&mut self, points: &[Point]) -> Result<Vec<Measured>, Failure> {
        let missing: Vec<(String, Document)> = points
            .iter()
            .map(|point| self.document(point))
            .filter(|run| run.as_ref().is_ok_and(|(name, _)| !self.known.contains_key(name)))
            .collect::<Result<_, _>>()?;
        let cannot = Failure::file("write", &self.path);
        let file = OpenOptions::new().create(true).append(true).open(&self.path);
        let file = Mutex::new(file.map_err(cannot)?);
        let done = jobs::perform(&missing, self.threads, |(run, document)| {
            let truth = Simulation::new(document)?.run(interrupt::unless_asked)?;
            let measured = Measured::of(&truth);
            let version = env!("CARGO_PKG_VERSION").to_owned();
            let line = Line { version, run: run.clone(), measured };
            let mut line = serde_json::to_string(&line).expect("it is plain data");
            line.push('\n');
            let mut file = file.lock().expect("no thread panics");
            file.write_all(line.as_bytes()).map_err(Failure::file("write", &self.path))?;
            Ok(measured)
        });
        for (number, measured) in &done.results {
            self.known.insert(missing[*number].0.clone(), *measured);
        }
        done.all()?;
        points.iter().map(|point| Ok(self.known[&self.document(point)?.0])).collect()
    }

    /// The scenario of a configuration, and what tells it from others: all changes, seed included.
    fn document(&self, point: &Point) -> Result<(String, Document), Failure> {
        let mut document = Document::parse("virtualized.toml", SCENARIO, ".")?;
        let mut name = String::new();
        let own = self.effort.changes().iter().map(|(path, value)| (*path, (*value).to_owned()));
        for (path, value) in own.chain(point.changes()) {
            document.set(path, &value)?;
            let _ = write!(name, "{path}={value} ");
        }
        // each configuration has random draws of its own
        let seed = Seed(1).stream(&format!("reproduce/virtualized/{name}")).below(1 << 31);
        document.set("seed", &seed.to_string())?;
        Ok((format!("{name}seed={seed}"), document))
    }
}

impl Measured {
    fn of(truth: &Truth) -> Self {
        let seen = &truth.workloads["ffsb"];
        let direction = |seen: &OpTruth| {
            (seen.requests > 0).then_some(Direction {
                response_ms: seen.response_time_ms.mean,
                mb_per_s: seen.throughput_bytes_per_s / 1e6,
                relative_standard_error: seen.relative_standard_error,
                requests: seen.requests,
            })
        };
        let (read, write) = (direction(&seen.read), direction(&seen.write));
        Self { read, write, seconds: truth.simulated_seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::super::design;
    use super::*;

    #[test]
    fn every_configuration_is_a_right_scenario() {
        let directory = tempfile::tempdir().unwrap();
        for effort in [Effort::Quick, Effort::Usual, Effort::Full] {
            let lab = Laboratory::open(directory.path(), effort, NonZeroUsize::MIN).unwrap();
            for point in design::extrapolated(true).iter().chain(&design::distributed(3, 2)) {
                let (_, document) = lab.document(point).unwrap();
                document.check().unwrap_or_else(|error| panic!("{point:?}: {}", error.lines()));
            }
        }
    }
}
