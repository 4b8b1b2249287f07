//! What the records of a run say: the configuration, what was measured of devices, and the requests
//! of each client in the order in which they were issued.

mod requests;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use foretell_ati::{RecordKind, Requests, RunDb, open_run};
use foretell_scenarios::Document;
use foretell_scenarios::model::{Scenario, System};
use foretell_units::SimSpan;

use crate::answer::ResponseTimeMs;
use crate::disk::Measurement;
use crate::error::WhatIfError;
use crate::replay::Outcome;

pub(crate) use requests::Recorded;

/// The fact that holds the configuration, as TOML.
pub const CONFIGURATION_FACT: &str = "configuration";
/// Requests of a workload that a prediction needs at the least.
pub const LEAST_REQUESTS: u64 = 100;

/// The fact that holds what was measured of a device, as JSON.
pub fn measurement_fact(device: &str) -> String {
    format!("device.{device}.measured")
}

/// What the clients of a workload saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientsSaw {
    pub(crate) throughput_rps: f64,
    pub(crate) response_ms: ResponseTimeMs,
}

/// A run, as far as its records tell.
#[derive(Debug)]
pub struct Observed {
    pub(crate) document: Document,
    pub(crate) scenario: Scenario,
    pub(crate) measured: BTreeMap<String, Arc<Measurement>>,
    /// By workload, by the position of the client among the workload's.
    pub(crate) requests: Vec<Vec<Arc<[Recorded]>>>,
    /// By workload, in the measured time.
    pub(crate) clients_saw: Vec<ClientsSaw>,
    /// What the model says of the run itself, when it was first needed; nothing where it says that
    /// the cluster does not keep up.
    pub(crate) unchanged: OnceLock<Option<Outcome>>,
}

impl Observed {
    /// Reads the run in `dir`, of which `run.db` suffices.
    ///
    /// Errors if there is no whole run, or if too little was recorded to predict from.
    pub fn open(dir: &Path) -> Result<Self, WhatIfError> {
        let run = open_run(dir)?;
        let unknown = |missing: &str| WhatIfError::Unknown {
            path: run.path().to_owned(),
            missing: missing.to_owned(),
        };
        let facts = run.facts()?;
        let text = facts.text(CONFIGURATION_FACT).map_err(|_| unknown("its configuration"))?;
        let document = Document::parse("the run's configuration", text, "")?;
        let scenario = document.check()?;
        if scenario.system != System::UrsaMinor {
            return Err(WhatIfError::System { system: scenario.system.name() });
        }
        all_were_recorded(&run)?;
        let duration = SimSpan::from_ns(facts.integer("measured")?.max(0).cast_unsigned());
        let mut measured = BTreeMap::new();
        for fact in facts.below("device") {
            let name = fact.path.strip_prefix("device.").and_then(|p| p.strip_suffix(".measured"));
            let Some(name) = name else { continue };
            let text = facts.text(&fact.path)?;
            let measurement =
                serde_json::from_str(text).map_err(|_| unknown("what its devices can do"))?;
            measured.insert(name.to_owned(), Arc::new(measurement));
        }
        let (requests, responses) = requests::read(&run, &scenario, duration)?;
        for (workload, responses) in scenario.workloads.iter().zip(&responses) {
            let completed = responses.len() as u64;
            if completed < LEAST_REQUESTS {
                return Err(WhatIfError::TooFew {
                    workload: workload.name.clone(),
                    found: completed,
                    needed: LEAST_REQUESTS,
                });
            }
        }
        let unchanged = OnceLock::new();
        let clients_saw = responses.into_iter().map(|responses| ClientsSaw {
            throughput_rps: responses.len() as f64 / duration.as_secs_f64().max(1e-9),
            response_ms: ResponseTimeMs::of(responses),
        });
        let clients_saw = clients_saw.collect();
        Ok(Self { document, scenario, measured, requests, clients_saw, unchanged })
    }

    /// Names of the devices of which measurements are recorded.
    pub fn measured_devices(&self) -> impl Iterator<Item = &str> {
        self.measured.keys().map(String::as_str)
    }

    /// Requests that were recorded.
    pub fn requests(&self) -> u64 {
        self.requests.iter().flatten().map(|stream| stream.len() as u64).sum()
    }
}

fn all_were_recorded(run: &RunDb) -> Result<(), WhatIfError> {
    let selection = run.selection()?;
    let sampled = |kept: String| Err(WhatIfError::Sampled { kept });
    match selection.requests() {
        Requests::All => {}
        _ => return sampled(selection.to_string()),
    }
    if !selection.kinds().contains(RecordKind::Request) {
        return sampled("without those of type `request`".to_owned());
    }
    Ok(())
}
