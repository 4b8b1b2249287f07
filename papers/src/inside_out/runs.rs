//! Runs of the paper's cluster, and the rows of features computed from them.

use std::fmt::Write as _;
use std::path::Path;

use foretell_core::Simulation;
use foretell_core::jobs::Workers;
use foretell_core::observed::prefix;
use foretell_files::FileKind;
use foretell_learn::Matrix;
use foretell_metrics::{Collected, Features, Observed, Smoothing, features};
use foretell_scenarios::model::Scenario;
use foretell_scenarios::{Document, INSIDE_OUT};
use foretell_units::Seed;

use crate::error::Error;

/// One in this number of rows is kept. A row ends every 5 s, and its window is a minute, so rows
/// overlap.
const EVERY: usize = 3;

/// Bandwidth of a server's link in Mbit/s.
const CABLE: u32 = 1000;

/// Sizes of objects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Request {
    /// 512 KB.
    Fixed,
    /// 1 to 1024 KB.
    Variable,
}

/// Settings of a run, as in Table III of the paper.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Setup {
    pub(super) osds: u32,
    pub(super) drivers: u32,
    /// Workers of each driver.
    pub(super) workers: u32,
    pub(super) request: Request,
    pub(super) read_percent: u32,
    pub(super) monitors: u32,
    /// Whether the instance is m1.medium, with two processors and twice the memory; m1.small has
    /// one.
    pub(super) medium: bool,
    /// Bandwidth limit of an instance in Mbit/s, for sending and for receiving; a server's link
    /// has 1000.
    pub(super) network: u32,
    /// Whether another tenant's cluster runs on the same servers, under the same load.
    pub(super) neighbour: bool,
}

impl Setup {
    /// The cluster of most scenarios.
    pub(super) const BASE: Self = Self {
        osds: 10,
        drivers: 2,
        workers: 4,
        request: Request::Fixed,
        read_percent: 50,
        monitors: 1,
        medium: false,
        network: CABLE,
        neighbour: false,
    };

    /// A name for its random draws, so that other runs do not change them.
    fn name(&self) -> String {
        let Self { osds, drivers, workers, request, read_percent, .. } = self;
        let Self { monitors, medium, network, neighbour, .. } = self;
        format!(
            "osds={osds} drivers={drivers} workers={workers} request={request:?} \
             reads={read_percent} monitors={monitors} medium={medium} network={network} \
             neighbour={neighbour}"
        )
    }

    fn workload(&self) -> String {
        workload(&[Work {
            name: "main".to_owned(),
            workers: self.workers,
            request: self.request,
            read_percent: self.read_percent,
            seconds: 180,
        }])
    }

    fn document(&self, workload: &Path) -> Result<Document, Error> {
        let [cluster, tenants] = INSIDE_OUT;
        let text = if self.neighbour { tenants } else { cluster };
        let mut document = Document::parse("inside-out.toml", text, ".")?;
        let mut set = |path: &str, value: String| document.set(path, &value);
        set("node.osd.count", self.osds.to_string())?;
        set("client.driver.count", self.drivers.to_string())?;
        set("client.mon.count", self.monitors.to_string())?;
        set("workload.cosbench.file", workload.display().to_string())?;
        if self.neighbour {
            set("workload.other.file", workload.display().to_string())?;
        }
        if self.network < CABLE {
            let rate = format!("{} Mbit/s", self.network);
            set("node.osd.machine.bandwidth", rate)?;
        }
        if self.medium {
            set("node.osd.cpu", "{ profile = \"xeon-2023\", cores = 2 }".to_owned())?;
            set("node.osd.cache.size", "3 GiB".to_owned())?;
        }
        Ok(document)
    }
}

/// One stage of a COSBench workload.
pub(super) struct Work {
    pub(super) name: String,
    pub(super) workers: u32,
    pub(super) request: Request,
    pub(super) read_percent: u32,
    pub(super) seconds: u64,
}

/// A workload file of COSBench, with a stage for each work.
pub(super) fn workload(works: &[Work]) -> String {
    let mut text = String::from(
        "<workload name=\"inside-out\">\n<storage type=\"librados\" config=\"\"/>\n<workflow>\n",
    );
    for Work { name, workers, request, read_percent, seconds } in works {
        let sizes = match request {
            Request::Fixed => "c(512)KB",
            Request::Variable => "u(1,1024)KB",
        };
        let objects = "containers=u(1,64);objects=u(1,1024)";
        let _ = writeln!(
            text,
            "<workstage name=\"{name}\"><work name=\"{name}\" workers=\"{workers}\" runtime=\"{seconds}\">"
        );
        for (kind, ratio, config) in [
            ("read", *read_percent, format!("{objects};sizes={sizes}")),
            ("write", 100 - read_percent, format!("{objects};sizes={sizes}")),
        ] {
            if ratio > 0 {
                let _ = writeln!(
                    text,
                    "<operation type=\"{kind}\" ratio=\"{ratio}\" config=\"{config}\"/>"
                );
            }
        }
        text += "</work></workstage>\n";
    }
    text + "</workflow>\n</workload>\n"
}

/// Rows of features and of the clients' performance, from many runs.
#[derive(Clone, Default, Debug)]
pub(super) struct Rows {
    pub(super) found: Features,
    /// By row, the number of its run.
    pub(super) groups: Vec<i64>,
}

impl Rows {
    /// The features found in run number `run`: the first row, and every `every`-th after it.
    pub(super) fn of_run(run: i64, found: &Features, every: usize) -> Self {
        let rows: Vec<usize> = (0..found.times.len()).step_by(every).collect();
        Self { found: found.take_rows(&rows), groups: vec![run; rows.len()] }
    }

    /// Adds all rows of another set, which must have the same features.
    pub(super) fn extend(&mut self, other: &Self) -> Result<(), Error> {
        self.groups.extend(&other.groups);
        Ok(self.found.append(other.found.clone())?)
    }

    /// Only the rows with these indexes.
    pub(super) fn take(&self, rows: &[usize]) -> Self {
        let groups = rows.iter().map(|&row| self.groups[row]).collect();
        Self { found: self.found.take_rows(rows), groups }
    }

    /// Features as a matrix.
    pub(super) fn matrix(&self) -> Result<Matrix, Error> {
        Ok(Matrix::from_columns(&self.found.columns)?)
    }
}

/// The records that storage hosts and clients of the first tenant posted in a run.
fn observed(scenario: &Scenario, collected: &Collected) -> Observed {
    let kinds: Vec<(Option<&str>, &str)> = foretell_core::host_kinds(scenario)
        .zip(&scenario.hosts)
        .map(|(kind, host)| {
            let is_first_tenants = ["osd", "mon"].contains(&host.group.as_str());
            (prefix(kind).filter(|_| is_first_tenants), host.name.as_str())
        })
        .collect();
    Observed::of_run(collected, &kinds, &[0])
}

/// The features of a run of a document.
pub(super) fn run(
    mut document: Document,
    seed: u64,
    workers: Workers<'_>,
) -> Result<Features, Error> {
    document.set("seed", &seed.to_string())?;
    let simulation = Simulation::new(&document)?;
    let scenario = simulation.scenario.clone();
    let (_, _, collected) = simulation.remember(false, |progress| workers.go_on(progress))?;
    Ok(features(&observed(&scenario, &collected), Smoothing::default())?)
}

/// The paper's cluster with a workload of many stages.
pub(super) fn staged(path: &Path, works: &[Work], drivers: u32) -> Result<Document, Error> {
    foretell_files::write(path, FileKind::ANY, workload(works).as_bytes())?;
    let seconds: u64 = works.iter().map(|work| work.seconds).sum();
    let mut document = Setup { drivers, ..Setup::BASE }.document(path)?;
    document.set("duration", &format!("{seconds} s"))?;
    Ok(document)
}

/// The rows of each of these runs, in their order. Files for COSBench are written to `directory`.
pub(super) fn perform(
    setups: &[Setup],
    workers: Workers<'_>,
    directory: &Path,
) -> Result<Vec<Rows>, Error> {
    let numbered: Vec<(usize, &Setup)> = setups.iter().enumerate().collect();
    let done = workers.perform(&numbered, |(number, setup)| {
        let path = directory.join(format!("{number}.xml"));
        foretell_files::write(&path, FileKind::ANY, setup.workload().as_bytes())?;
        let stream = format!("reproduce/inside-out/{}", setup.name());
        let found = run(setup.document(&path)?, Seed(1).stream(&stream).below(1 << 31), workers)?;
        Ok(Rows::of_run(i64::from(*number as u32), &found, EVERY))
    });
    done.all()
}
