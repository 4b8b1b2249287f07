//! Reads the records of a run: its configuration, the measurements of its devices, and the requests
//! of each client in the order of issue.

mod requests;
mod thinking;

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use foretell_ati::{Facts, RecordKind, Records, Requests, StoreError};
use foretell_scenarios::Document;
use foretell_scenarios::model::{Host, Scenario, Workload};
use foretell_sorted::SortedMap;
use foretell_units::SimSpan;

use crate::answer::ResponseTimeMs;
use crate::caches::{CacheRates, CacheRecords};
use crate::circumstances::Figures;
use crate::disk::Measurement;
use crate::error::WhatIfError;
use crate::replay::{KeptFills, Outcome};

use requests::has_own_concurrency;
pub(crate) use requests::{Recorded, Sharing, Streams, is_whole};

/// The fact that holds the configuration, as TOML.
pub const CONFIGURATION_FACT: &str = "configuration";
/// Minimum number of requests of a workload for a prediction.
pub const MIN_REQUESTS: u64 = 100;
/// The longest time that a store may hold.
const MAX_NS: u64 = 1 << 62;

/// The fact that holds the measurement of a device, as JSON.
pub fn measurement_fact(device: &str) -> String {
    format!("device.{device}.measured")
}

/// Recorded figures of a workload in the measured time.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadSeen {
    pub(crate) throughput_rps: f64,
    pub(crate) response_ms: ResponseTimeMs,
    /// Share of the requests that are reads.
    pub(crate) read_share: f64,
    /// Time that a request took at each resource, summed over all hosts of a kind: see
    /// [`crate::WorkloadAnswer::demands_ms`].
    pub(crate) demands_ms: SortedMap<String, f64>,
}

impl WorkloadSeen {
    /// The figures that past scores compare with the model's.
    pub(crate) fn figures(&self) -> Figures {
        (self.throughput_rps, self.response_ms)
    }
}

/// A run, as its records show it.
#[derive(Debug)]
pub struct Observed {
    pub(crate) document: Document,
    pub(crate) scenario: Scenario,
    pub(crate) measured: SortedMap<String, Arc<Measurement>>,
    /// By workload.
    pub(crate) requests: Vec<Streams>,
    /// Records for each request.
    pub(crate) records_per_request: f64,
    /// By workload: its kind in the recorded run, which an operator knows.
    pub(crate) kinds: Vec<Option<String>>,
    /// By workload, in the measured time.
    pub(crate) seen: Vec<WorkloadSeen>,
    /// What caches did in the measured time, if that was recorded.
    pub(crate) caches: Option<CacheRates>,
    /// The model's outcome for the recorded run itself, computed when first needed. The inner value is `None`
    /// if the model says that the cluster does not keep up.
    pub(crate) unchanged: OnceLock<Option<Outcome>>,
    /// The same for short stretches.
    pub(crate) unchanged_short: OnceLock<Option<Outcome>>,
    /// Filled caches that are kept for short stretches.
    pub(crate) fills: KeptFills,
}

impl Observed {
    /// Reads the run in `dir`. Its `run.db` is enough.
    ///
    /// Returns an error if the run is incomplete, or if too little was recorded to predict from.
    #[cfg(feature = "sqlite")]
    pub fn open(dir: &std::path::Path) -> Result<Self, WhatIfError> {
        Self::of(&foretell_ati::open_run(dir)?)
    }

    /// Reads a run's records, wherever they are.
    ///
    /// Returns an error if too little was recorded to predict from.
    pub fn of(run: &impl Records) -> Result<Self, WhatIfError> {
        let unknown = |missing: &str| WhatIfError::Unknown {
            path: run.path().to_owned(),
            missing: missing.to_owned(),
        };
        let facts = run.facts()?;
        let text = facts.text(CONFIGURATION_FACT).map_err(|_| unknown("its configuration"))?;
        let mut document = Document::parse("the run's configuration", text, "")?;
        let mut scenario = document.check()?;
        all_were_recorded(run)?;
        // the measured time may have begun later than the scenario says
        let (warmup, duration) = (span(&facts, "warmup")?, span(&facts, "measured")?);
        let mut measured = SortedMap::new();
        for fact in facts.below("device") {
            let name = fact.path.strip_prefix("device.").and_then(|p| p.strip_suffix(".measured"));
            let Some(name) = name else { continue };
            let text = facts.text(&fact.path)?;
            let measurement: Measurement =
                serde_json::from_str(text).map_err(|_| unknown("what its devices can do"))?;
            measurement.check().map_err(|found| WhatIfError::Measurement {
                path: run.path().to_owned(),
                fact: fact.path.clone(),
                found,
            })?;
            measured.insert(name.to_owned(), Arc::new(measurement));
        }
        let kind = |workload: &Workload| {
            facts.text(&format!("workload.{}.kind", workload.name)).ok().map(str::to_owned)
        };
        let kinds = scenario.workloads.iter().map(kind).collect();
        let requests::Read { streams: requests, completed, outstanding } =
            requests::read(run, &scenario, warmup, duration, kind)?;
        for (workload, outstanding) in scenario.workloads.iter().zip(outstanding) {
            if kind(workload).as_deref().is_some_and(has_own_concurrency) && outstanding > 0 {
                let path = format!("workload.{}.outstanding", workload.name);
                document.set(&path, &outstanding.to_string())?;
            }
        }
        scenario = document.check()?;
        for (workload, completed) in scenario.workloads.iter().zip(&completed) {
            let found = completed.responses_ns.len() as u64;
            if found < MIN_REQUESTS {
                return Err(WhatIfError::TooFew {
                    workload: workload.name.clone(),
                    found,
                    needed: MIN_REQUESTS,
                });
            }
        }
        let finished = completed.iter().map(|one| one.responses_ns.len()).sum::<usize>() as f64;
        let caches = CacheRecords::recorded(run, warmup)?.map(|found| found.by_request(finished));
        let mut busy = vec![SortedMap::new(); scenario.workloads.len()];
        for demand in run.demands()? {
            let Some(busy) = busy.get_mut(demand.workload.index()) else { continue };
            let Some(host) = scenario.hosts.get(demand.host.index()) else { continue };
            let name = resource_name(host, &demand.resource);
            *busy.entry(name).or_insert(SimSpan::ZERO) += demand.busy;
        }
        let seen = completed.into_iter().zip(busy).map(|(completed, busy)| {
            let count = completed.responses_ns.len() as f64;
            let each = |busy: SimSpan| busy.as_ms_f64() / count;
            WorkloadSeen {
                throughput_rps: count / duration.as_secs_f64().max(1e-9),
                read_share: completed.reads as f64 / count,
                response_ms: ResponseTimeMs::of(completed.responses_ns),
                demands_ms: busy.into_iter().map(|(name, busy)| (name, each(busy))).collect(),
            }
        });
        let seen = seen.collect();
        let (unchanged, unchanged_short) = (OnceLock::new(), OnceLock::new());
        let fills = KeptFills::default();
        let count: usize = requests.iter().map(Streams::count).sum();
        let records_per_request = run.count_all()? as f64 / count.max(1) as f64;
        Ok(Self {
            document,
            scenario,
            measured,
            requests,
            records_per_request,
            kinds,
            seen,
            caches,
            unchanged,
            unchanged_short,
            fills,
        })
    }

    /// Allows questions to name files below this directory only. For questions of people who may not read everything
    /// that this process can.
    #[must_use]
    pub fn confining_changes(self, directory: &std::path::Path) -> Self {
        Self { document: self.document.confining_changes(directory), ..self }
    }

    /// Names of the devices whose measurements are recorded.
    pub fn measured_devices(&self) -> impl Iterator<Item = &str> {
        self.measured.keys().map(String::as_str)
    }

    /// Number of recorded requests.
    pub fn requests(&self) -> u64 {
        self.requests.iter().map(|known| known.count() as u64).sum()
    }
}

/// The span that a fact holds, ns.
fn span(facts: &Facts, path: &str) -> Result<SimSpan, WhatIfError> {
    let ns = facts.integer(path)?;
    u64::try_from(ns).ok().filter(|ns| *ns <= MAX_NS).map(SimSpan::from_ns).ok_or_else(|| {
        let wanted = "a time from 0 to 2^62 ns";
        StoreError::BadFact { path: path.to_owned(), wanted, found: format!("the integer {ns}") }
            .into()
    })
}

/// Name of a resource summed over all hosts of a kind: `node.cpu`.
pub(crate) fn resource_name(host: &Host, resource: impl Display) -> String {
    let kind = if host.role.storage().is_some() { "node" } else { "client" };
    format!("{kind}.{resource}")
}

fn all_were_recorded(run: &impl Records) -> Result<(), WhatIfError> {
    let selection = run.selection()?;
    let sampled = |kept: String| Err(WhatIfError::Sampled { kept });
    match selection.requests() {
        Requests::All => {}
        Requests::None => return Err(WhatIfError::NothingRecorded),
        Requests::OneIn(_) => return sampled(selection.to_string()),
    }
    if !selection.kinds().contains(RecordKind::Request) {
        return sampled("without those of type `request`".to_owned());
    }
    Ok(())
}
