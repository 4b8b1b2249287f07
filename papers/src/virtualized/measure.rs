//! The measurements: runs of configurations on all cores, each done only once.
//!
//! Each finished run becomes a line of `measurements.jsonl` in the output directory, so that an
//! interrupted reproduction can continue. A line names its run. Lines of another version of the
//! program, of another scenario, or of runs that are not wanted now, are ignored.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Mutex;

use foretell_core::Simulation;
use foretell_core::jobs::Workers;
use foretell_datasets::hex_of;
use foretell_files::Directory;
use foretell_input::Limit;
use foretell_scenarios::{Document, ShippedKind};
use foretell_sim::truth::{OpTruth, Truth};
use foretell_sorted::SortedMap;
use foretell_units::Seed;
use serde::{Deserialize, Serialize};

use super::design::Point;
use crate::error::Error;

/// The system under study.
const SCENARIO: &str = "virtualized";

/// The length of measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Effort {
    /// As in the scenario: until the intervals agree.
    Usual,
    /// The same, but at most half as long if they never agree.
    Quick,
    /// Five intervals of a minute after a minute, as in the paper.
    Full,
}

impl Effort {
    fn changes(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Usual => &[],
            Self::Quick => &[("intervals.longest", "80 s")],
            Self::Full => {
                &[("warmup", "60 s"), ("duration", "300 s"), ("intervals.longest", "auto")]
            }
        }
    }
}

/// The measurements of one direction.
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

/// The measurements of a configuration.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) read: Option<Direction>,
    pub(super) write: Option<Direction>,
    /// Measured time in seconds.
    pub(super) seconds: f64,
}

/// A line of the file.
#[derive(Serialize, Deserialize)]
struct Line {
    version: String,
    run: String,
    measured: Measured,
}

/// Name of the file of measurements.
const JOURNAL: &str = "measurements.jsonl";

/// The measurements in an output directory.
pub(super) struct Laboratory<'a> {
    directory: Directory,
    effort: Effort,
    workers: Workers<'a>,
    path: PathBuf,
    known: SortedMap<String, Measured>,
    /// Whether the file's last line is incomplete.
    torn: bool,
}

impl<'a> Laboratory<'a> {
    /// Opens the directory, with the measurements made there before.
    pub(super) fn open(
        directory: &Directory,
        effort: Effort,
        workers: Workers<'a>,
    ) -> Result<Self, Error> {
        directory.check(&[JOURNAL])?;
        let path = directory.path().join(JOURNAL);
        let text = match foretell_input::bytes(&path, Limit::MEASUREMENTS) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::file("read", &path)(error)),
        };
        let mut known = SortedMap::new();
        // skip incomplete lines
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok(Line { version, run, measured }) = serde_json::from_slice(line)
                && version == env!("CARGO_PKG_VERSION")
            {
                known.insert(run, measured);
            }
        }
        let torn = text.last().is_some_and(|byte| *byte != b'\n');
        let directory = directory.clone();
        Ok(Self { directory, effort, workers, path, known, torn })
    }

    /// Measures these configurations, except those measured before. Returns them in the given order.
    pub(super) fn measure(&mut self, points: &[Point]) -> Result<Vec<Measured>, Error> {
        self.measure_as(points, "")
    }

    /// The same with other random draws.
    pub(super) fn measure_again(&mut self, points: &[Point]) -> Result<Vec<Measured>, Error> {
        self.measure_as(points, "again ")
    }

    fn measure_as(&mut self, points: &[Point], draws: &str) -> Result<Vec<Measured>, Error> {
        let mut names = Vec::with_capacity(points.len());
        let mut missing: Vec<(String, Document)> = Vec::new();
        for point in points {
            let (name, document) = self.document(point, draws)?;
            if !self.known.contains_key(&name) {
                missing.push((name.clone(), document));
            }
            names.push(name);
        }
        let file = Mutex::new(self.journal()?);
        let done = self.workers.perform::<_, _, Error>(&missing, |(run, document)| {
            let truth = Simulation::new(document)?.run(|progress| self.workers.go_on(progress))?;
            let measured = Measured::of(&truth);
            let line = line_of(run, measured);
            let mut file = file.lock().expect("no thread panics");
            file.write_all(line.as_bytes()).map_err(Error::file("write", &self.path))?;
            Ok(measured)
        });
        for (number, measured) in &done.results {
            self.known.insert(missing[*number].0.clone(), *measured);
        }
        done.all()?;
        Ok(names.iter().map(|name| self.known[name]).collect())
    }

    /// The file, opened for adding lines.
    fn journal(&mut self) -> Result<File, Error> {
        let cannot = || Error::file("write", &self.path);
        let mut file = self.directory.grow(JOURNAL)?;
        file.seek(SeekFrom::End(0)).map_err(cannot())?;
        if self.torn {
            file.write_all(b"\n").map_err(cannot())?;
            self.torn = false;
        }
        Ok(file)
    }

    /// The scenario of a configuration, and a name that identifies it: all changes, seed included, and
    /// the digest of the complete scenario.
    fn document(&self, point: &Point, draws: &str) -> Result<(String, Document), Error> {
        let text = ShippedKind::Scenario.shipped(SCENARIO).expect("it comes with the program");
        let mut document = Document::parse("virtualized.toml", text, ".")?;
        let mut name = String::new();
        let own = self.effort.changes().iter().map(|(path, value)| (*path, (*value).to_owned()));
        for (path, value) in own.chain(point.changes()) {
            document.set(path, &value)?;
            let _ = write!(name, "{path}={value} ");
        }
        // each configuration has its own random draws
        let seed = Seed(1).stream(&format!("reproduce/virtualized/{draws}{name}")).below(1 << 31);
        document.set("seed", &seed.to_string())?;
        let digest = hex_of(document.resolved()?.as_bytes());
        // half of the digits are enough to distinguish scenarios
        Ok((format!("{name}seed={seed} scenario={}", &digest[..32]), document))
    }
}

/// A line of the file, with its end.
fn line_of(run: &str, measured: Measured) -> String {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let line = Line { version, run: run.to_owned(), measured };
    serde_json::to_string(&line).expect("it is plain data") + "\n"
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
    use std::num::NonZeroUsize;

    use foretell_core::jobs::Unwatched;
    use foretell_files::Purpose;

    use super::super::design;
    use super::*;

    const WORKERS: Workers<'static> = Workers { threads: NonZeroUsize::MIN, watch: &Unwatched };

    #[test]
    fn what_was_measured_is_known_after_a_line_was_cut_off() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::take(place.path(), Purpose::of("test")).unwrap();
        let open = || Laboratory::open(&directory, Effort::Usual, WORKERS).unwrap();
        let points = design::extrapolated(true);
        let measured = |seconds| Measured { read: None, write: None, seconds };
        let mut lab = open();
        let add = |lab: &mut Laboratory, text: &str| {
            lab.journal().unwrap().write_all(text.as_bytes()).unwrap();
        };
        let line = |lab: &Laboratory, number: usize| {
            line_of(&lab.document(&points[number], "").unwrap().0, measured(number as f64))
        };
        let (first, second) = (line(&lab, 0), line(&lab, 1));
        add(&mut lab, &first);
        add(&mut lab, &second[..second.len() / 2]);
        let mut lab = open();
        assert_eq!(lab.known.len(), 1);
        add(&mut lab, &second);
        // nothing is left to simulate
        let found = open().measure(&points[..2]).unwrap();
        assert_eq!(found, [measured(0.0), measured(1.0)]);
        // except with other random draws
        let lab = open();
        assert_ne!(
            lab.document(&points[0], "").unwrap().0,
            lab.document(&points[0], "again ").unwrap().0
        );
    }

    #[test]
    fn every_configuration_is_a_right_scenario() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::take(place.path(), Purpose::of("test")).unwrap();
        for effort in [Effort::Usual, Effort::Quick, Effort::Full] {
            let lab = Laboratory::open(&directory, effort, WORKERS).unwrap();
            for point in design::extrapolated(true).iter().chain(&design::distributed(3, 2)) {
                let (_, document) = lab.document(point, "").unwrap();
                document.check().unwrap_or_else(|error| panic!("{point:?}: {}", error.lines()));
            }
        }
    }
}
