//! Runs the cluster that a document describes, with or without keeping its records.

use std::ops::ControlFlow;

#[cfg(feature = "files")]
use foretell_ati::{Conclusion, Facts, Summary};
use foretell_ati::{KindSet, MemoryRun, Record, RecordKind, Recorder, Selection, SelectionError};
#[cfg(feature = "files")]
use foretell_files::{Directory, NewFile};
use foretell_metrics::Collected;
use foretell_scenarios::Document;
use foretell_scenarios::model::{Scenario, Tracking};
#[cfg(feature = "files")]
use foretell_sim::SimError;
use foretell_sim::goal::Goal;
use foretell_sim::truth::Truth;
use foretell_sim::{Cluster, Progress};

use foretell_units::{SimSpan, SimTime};

use crate::error::Error;
use crate::facts;

/// A cluster that is ready to run.
pub struct Simulation<'a> {
    document: &'a Document,
    /// The scenario in the document.
    pub scenario: Scenario,
    selection: Selection,
    cluster: Cluster,
}

impl<'a> Simulation<'a> {
    /// Builds the cluster, and opens the files that its workloads read.
    pub fn new(document: &'a Document) -> Result<Self, Error> {
        let scenario = document.check()?;
        let selection = selection(&scenario.tracking)?.of_seed(scenario.seed);
        let cluster = Cluster::new(scenario.clone(), Recorder::none())?;
        Ok(Self { document, scenario, selection, cluster })
    }

    /// Makes the run go on until the figure is known with the wanted precision.
    pub fn aim_at(&mut self, goal: Goal) {
        self.cluster.aim_at(goal);
    }

    /// Runs the cluster. Returns the completion time and response time of each request of a workload.
    pub fn responses(
        mut self,
        workload: usize,
        watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Vec<(SimTime, SimSpan)>, Error> {
        self.cluster.record_to(Recorder::forgetful(self.selection));
        self.cluster.keep_responses(workload);
        self.cluster.run(watch)?;
        Ok(self.cluster.take_responses(workload))
    }

    /// Runs the cluster without keeping records. Posting them still costs the usual time.
    pub fn run(mut self, watch: impl FnMut(Progress) -> ControlFlow<()>) -> Result<Truth, Error> {
        self.cluster.record_to(Recorder::forgetful(self.selection));
        Ok(self.cluster.run(watch)?)
    }

    /// Runs the cluster. Returns the truth, what its collectors posted, and its records if they are wanted.
    pub fn remember(
        mut self,
        records: bool,
        watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Truth, Vec<Record>, Collected), Error> {
        let recorder = if records { Recorder::in_memory } else { Recorder::forgetful };
        self.cluster.record_to(recorder(self.selection));
        let truth = self.cluster.run(watch)?;
        let metrics = self.cluster.take_metrics().unwrap_or_default();
        let kept = self.cluster.into_recorder();
        Ok((truth, if records { kept.records().to_vec() } else { Vec::new() }, metrics))
    }

    /// Runs the cluster and keeps its records in memory: those of requests, and other types that are wanted.
    pub fn keep(
        mut self,
        wanted: impl Fn(&Record) -> bool + Send + 'static,
        watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Truth, MemoryRun), Error> {
        let wanted =
            move |record: &Record| record.body.kind() == RecordKind::Request || wanted(record);
        self.cluster.record_to(Recorder::in_memory_of(self.selection, wanted));
        let truth = self.cluster.run(watch)?;
        let demands = self.cluster.demands();
        let mut facts = facts::of(&self.scenario, &self.document.known_to_operator()?);
        facts::ended(&mut facts, &truth);
        Ok((truth, self.cluster.into_recorder().into_run(facts, demands)?))
    }

    /// Runs the cluster and keeps its records in a directory, without the scenario and the truth. If the run does
    /// not complete, no `run.db` is written, and an earlier one stays.
    #[cfg(feature = "files")]
    pub fn record(
        self,
        directory: &Directory,
        watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Truth, Summary), Error> {
        let (truth, summary, store) = self.record_unnamed(directory, watch)?;
        store.commit()?;
        Ok((truth, summary))
    }

    /// As [`Simulation::record`], but the store does not have the name `run.db` yet. It gets this name
    /// together with the files beside it.
    #[cfg(feature = "files")]
    pub(crate) fn record_unnamed(
        mut self,
        directory: &Directory,
        watch: impl FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(Truth, Summary, NewFile), Error> {
        self.cluster.record_to(Recorder::create_in(directory, self.selection)?);
        let outcome = self.cluster.run(watch);
        let demands = self.cluster.demands();
        let metrics = self.cluster.take_metrics().unwrap_or_default();
        let recorder = self.cluster.into_recorder();
        match outcome {
            Ok(truth) => {
                let mut facts = facts::of(&self.scenario, &self.document.known_to_operator()?);
                crate::shelf::measure_devices(&mut facts, &self.scenario);
                facts::ended(&mut facts, &truth);
                let conclusion = Conclusion { facts: &facts, demands: &demands, metrics: &metrics };
                let (summary, store) = recorder.conclude_unnamed(&conclusion)?;
                Ok((truth, summary, store))
            }
            // the store's own error says why it failed
            Err(SimError::StoreFailed) => {
                recorder.finish(&Facts::default(), &[])?;
                Err(SimError::StoreFailed.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The types of records that are wanted.
fn selection(tracking: &Tracking) -> Result<Selection, Error> {
    let wrong = |error: SelectionError| Error::Invalid(format!("record: {error}"));
    let selection: Selection = tracking.record.parse().map_err(wrong)?;
    if tracking.kinds.is_empty() {
        return Ok(selection);
    }
    let kinds: Result<KindSet, _> =
        tracking.kinds.iter().map(|name| name.parse::<RecordKind>()).collect();
    Ok(selection.of_kinds(kinds.map_err(|error| Error::Invalid(format!("record: {error}")))?))
}
