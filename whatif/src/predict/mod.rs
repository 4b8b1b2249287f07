//! Answers a question: replays the changed cluster, and computes the answer of a model.

mod figures;
mod represents;
mod resources;

use std::str::FromStr;
use std::sync::Arc;

use foretell_scenarios::Change;
use foretell_scenarios::model::{Arrivals, Scenario, Storage};
use foretell_sorted::SortedMap;
use foretell_units::SimSpan;
use thiserror::Error;

use self::figures::PhaseSeen;
use crate::answer::{Answer, Misfit, Model, ResponseTimeMs, ScrubAnswer, WorkloadAnswer};
use crate::bounds::{alone_s, bounds};
use crate::circumstances::{About, ChangeKind, Circumstances};
use crate::classes::analyse;
use crate::disk::Measurement;
use crate::error::WhatIfError;
use crate::expected::Experience;
use crate::load;
use crate::mva::Seen;
use crate::observed::{Observed, WorkloadSeen};
use crate::outages::{OutageAnswer, PhaseWorkload};
use crate::question::{Changed, OperatorKnowledge};
use crate::replay::{Detail, Material, Outcome, PhaseWorkloadOutcome, replay};

/// The outcome of a replay of the changed cluster. All models compute their answers from it.
#[derive(Debug)]
pub struct Prediction<'a> {
    observed: &'a Observed,
    scenario: Scenario,
    outcome: Outcome,
    /// Whether the question has any changes.
    is_changed: bool,
    /// Whether any change has an effect.
    differs: bool,
    /// Changes in the question that have no effect.
    notes: Vec<String>,
    /// Assumptions about loads that were not recorded.
    assumed: Vec<String>,
    /// By workload: what the question is about.
    about: Vec<About>,
    /// By workload: mean number of requests of a transaction.
    per_transaction: Vec<f64>,
    /// What of the run was replayed.
    part: Part,
}

/// The part of a run that was replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// The run, or long stretches of it: for the model `replay`.
    Long,
    /// Short stretches, on both the changed and the recorded cluster: for the model `fast`.
    Short,
    /// For the model `fast`: a run that is too short for stretches, whole.
    ShortRun,
}

/// The model that should answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// This model.
    Of(Model),
    /// The fast model if past scores show that it is as accurate as the replay, otherwise the replay.
    Auto,
}

/// The name is not that of a model.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("there is no model `{0}`; there are `auto`, `fast`, `replay`, `mva`, `bounds`")]
pub struct UnknownModel(pub String);

impl FromStr for Asked {
    type Err = UnknownModel;

    /// Reads `auto`, or the name that [`Model`] is displayed as.
    fn from_str(name: &str) -> Result<Self, UnknownModel> {
        if name == "auto" {
            return Ok(Self::Auto);
        }
        let model = Model::ALL.into_iter().find(|model| model.to_string() == name);
        model.map(Self::Of).ok_or_else(|| UnknownModel(name.to_owned()))
    }
}

/// The fast model counts as being as accurate as the replay if its expected error is at most this multiple of
/// the replay's, or at most this share.
const AS_GOOD: (f64, f64) = (1.15, 0.03);
/// For a long run, expected errors up to this share are accepted: its replay takes seconds.
const ACCEPTED_IF_LONG: f64 = 0.06;
/// A run with at least this number of requests is long: its replay takes more than a second.
const LONG: u64 = 150_000;
/// Minimum number of past scores. With fewer, the fast model is not chosen.
const ENOUGH: usize = 40;
/// Largest misfit (logarithm of modelled / recorded mean response time of the recorded run) with which the
/// fast model is trusted. If its misfit is larger, its stretches do not represent the run. Random variation
/// of queues and caches in short stretches is assumed to be smaller.
const TRUSTED_MISFIT: f64 = 0.1;
/// A misfit that the replay usually does not exceed: three quarters of the past scores that come with the
/// program have a smaller one.
const USUAL_MISFIT: f64 = 0.025;

impl Asked {
    /// Whether to give the fast model's answer about a run.
    pub fn takes(self, fast: &Answer, experience: &Experience, run: &Observed) -> bool {
        match self {
            Self::Of(model) => model == Model::Fast,
            Self::Auto => {
                let accepted = if run.requests() < LONG { AS_GOOD.1 } else { ACCEPTED_IF_LONG };
                // a run without short stretches is replayed whole in any case
                run.has_short_stretches() && fast.fast_is_as_good(experience, accepted)
            }
        }
    }
}

impl Observed {
    /// The answer to a question with these changes. Without any, it is the model's result for the recorded
    /// run itself.
    pub fn ask(
        &self,
        changes: &[Change],
        parts: &mut dyn OperatorKnowledge,
        model: Model,
    ) -> Result<Answer, WhatIfError> {
        let prediction = self.predict(changes, parts)?;
        prediction.must_know(model, changes)?;
        Ok(prediction.answer(model))
    }

    /// Replays the recorded requests on the changed cluster. On first use, it also replays them on
    /// the recorded cluster.
    pub fn predict(
        &self,
        changes: &[Change],
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Prediction<'_>, WhatIfError> {
        let cluster = self.changed(changes, parts)?;
        self.predict_changed(changes, cluster, parts)
    }

    /// The answer of the requested model, with expected errors. If the choice is free, the answer of the fast
    /// model if past scores show that it is as accurate as the replay.
    pub fn answer(
        &self,
        changes: &[Change],
        parts: &mut dyn OperatorKnowledge,
        asked: Asked,
        experience: &Experience,
    ) -> Result<(Answer, Scenario), WhatIfError> {
        let cluster = self.changed(changes, parts)?;
        let expected = |prediction: Prediction<'_>, model| {
            let mut answer = prediction.answer(model);
            if prediction.differs() {
                answer.expect(experience);
            }
            (answer, prediction.scenario)
        };
        let worth_a_try = asked == Asked::Auto
            && experience.scores(Model::Fast) >= ENOUGH
            && self.has_short_stretches();
        if worth_a_try || asked == Asked::Of(Model::Fast) {
            let fast = match self.predict_fast(changes, &cluster, parts) {
                // the replay is more reliable than the fast model about overload
                Err(error) if asked == Asked::Auto => Err(error.to_string()),
                found => found?,
            };
            match fast {
                Ok(found) if asked.takes(&found.answer(Model::Fast), experience, self) => {
                    return Ok(expected(found, Model::Fast));
                }
                Err(reason) if asked == Asked::Of(Model::Fast) => {
                    return Err(WhatIfError::not_followed(Model::Fast, changes, &reason));
                }
                _ => {}
            }
        }
        let model = match asked {
            Asked::Of(model) => model,
            Asked::Auto => Model::Replay,
        };
        let prediction = self.predict_changed(changes, cluster, parts)?;
        prediction.must_know(model, changes)?;
        Ok(expected(prediction, model))
    }

    /// Replays short stretches on the changed cluster and, on first use, on the recorded one. The inner error
    /// says why this is not enough.
    fn predict_fast(
        &self,
        changes: &[Change],
        cluster: &Changed,
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Result<Prediction<'_>, String>, WhatIfError> {
        if cluster.scenario.outages.is_some() {
            return Ok(Err("failures need a replay of the whole run".to_owned()));
        }
        if cluster.scenario.hedges() || self.scenario.hedges() {
            return Ok(Err("hedged reads need a replay of the whole run".to_owned()));
        }
        if cluster.scenario.reads_newest() || self.scenario.reads_newest() {
            return Ok(
                Err("reads of the newest version need a replay of the whole run".to_owned()),
            );
        }
        if !cluster.assumed.is_empty() {
            return Ok(Err(
                "it changes the clients' requests, and so the content of caches".to_owned()
            ));
        }
        if let Some(reason) = self.stretches_miss_caches(&cluster.scenario) {
            return Ok(Err(reason));
        }
        let detail = self.short(&cluster.measured);
        let mut workloads = cluster.scenario.workloads.iter().zip(&cluster.stretch);
        let draws_bursts = workloads.any(|(workload, stretch)| {
            matches!(workload.arrivals, Arrivals::Bursty { .. }) && *stretch <= 0.0
        });
        if draws_bursts || detail.sees_few_bursts(&self.scenario, &self.requests) {
            return Ok(Err(
                "requests come in bursts, and its short stretches contain too few bursts"
                    .to_owned(),
            ));
        }
        if self.unchanged_short.get().is_none() {
            let before = self.changed(&[], parts)?;
            self.unchanged_short.get_or_init(|| self.replayed(&before, self.short(&[])).ok());
        }
        let Some(Some(unchanged)) = self.unchanged_short.get() else {
            return Ok(Err("the replay of the recorded run does not end".to_owned()));
        };
        let is_partial = detail.is_part_of(&cluster.scenario, &self.requests);
        let outcome = self.replayed(cluster, detail)?;
        if let Some(reason) = self.stretches_are_blind(&cluster.scenario, unchanged, &outcome) {
            return Ok(Err(reason));
        }
        let idle = self.idle(changes);
        let prediction = Prediction {
            observed: self,
            about: about(changes, cluster),
            per_transaction: cluster.per_transaction(),
            scenario: cluster.scenario.clone(),
            outcome,
            is_changed: !changes.is_empty(),
            differs: idle.len() < changes.len(),
            notes: idle,
            assumed: Vec::new(),
            part: if is_partial { Part::Short } else { Part::ShortRun },
        };
        if prediction.differs
            && unchanged.goes_as(
                &self.scenario.hosts,
                &prediction.outcome,
                &prediction.scenario.hosts,
            )
        {
            return Ok(Err("the change makes no difference in its short stretches".to_owned()));
        }
        Ok(Ok(prediction))
    }

    /// Whether the fast model replays less of the run than the replay does.
    pub fn has_short_stretches(&self) -> bool {
        self.short(&[]).is_part_of(&self.scenario, &self.requests)
    }

    /// The stretches of the fast model. `changed` are the devices of the changed cluster by host and disk.
    fn short(&self, changed: &[Vec<Arc<Measurement>>]) -> Detail {
        let mut devices = self.measured.values().chain(changed.iter().flatten());
        let is_flash = devices.all(|device| device.is_flash());
        let detail = if is_flash { Detail::SHORT_OF_FLASH } else { Detail::SHORT };
        // Little's law
        let outstanding = |seen: &WorkloadSeen| seen.throughput_rps * seen.response_ms.mean / 1e3;
        detail.with_outstanding(self.seen.iter().map(outstanding).sum())
    }

    /// The fast model's answer to a question that was also predicted by replay. The inner error
    /// says why the fast model does not follow the question.
    pub fn fast_beside(
        &self,
        changes: &[Change],
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Result<Answer, String>, WhatIfError> {
        let cluster = self.changed(changes, parts)?;
        let fast = self.predict_fast(changes, &cluster, parts)?;
        Ok(fast.map(|prediction| prediction.answer(Model::Fast)))
    }

    /// Changes that have no effect, and why. Changes of a recorded load always have an effect.
    fn idle(&self, changes: &[Change]) -> Vec<String> {
        let of_load = |change: &&Change| load::of_change(self, change, changes).is_none();
        let others: Vec<Change> = changes.iter().filter(of_load).cloned().collect();
        let idle = self.document.idle_beside(&self.scenario, &others);
        idle.iter().map(ToString::to_string).collect()
    }

    fn predict_changed(
        &self,
        changes: &[Change],
        cluster: Changed,
        parts: &mut dyn OperatorKnowledge,
    ) -> Result<Prediction<'_>, WhatIfError> {
        let about = about(changes, &cluster);
        let idle = self.idle(changes);
        let (is_changed, differs) = (!changes.is_empty(), idle.len() < changes.len());
        let outcome = if !is_changed {
            let outcome = self.replayed(&cluster, Detail::WHOLE)?;
            self.unchanged.get_or_init(|| Some(outcome.clone()));
            outcome
        } else if self.unchanged.get().is_some() {
            self.replayed(&cluster, Detail::WHOLE)?
        } else {
            let before = self.changed(&[], parts)?;
            let itself = || {
                self.unchanged.get_or_init(|| self.replayed(&before, Detail::WHOLE).ok());
            };
            std::thread::scope(|scope| {
                // if no thread can be started, both run one after the other
                if std::thread::Builder::new().spawn_scoped(scope, itself).is_err() {
                    itself();
                }
                self.replayed(&cluster, Detail::WHOLE)
            })?
        };
        let notes = idle;
        let per_transaction = cluster.per_transaction();
        let (scenario, assumed) = (cluster.scenario, cluster.assumed);
        let observed = self;
        let mut prediction = Prediction {
            observed,
            scenario,
            outcome,
            is_changed,
            differs,
            notes,
            assumed,
            about,
            per_transaction,
            part: Part::Long,
        };
        if differs && prediction.nothing_differs() {
            prediction.differs = false;
            prediction.notes.push(NO_DIFFERENCE.to_owned());
        }
        Ok(prediction)
    }

    fn replayed(&self, cluster: &Changed, detail: Detail) -> Result<Outcome, WhatIfError> {
        has_room(&cluster.scenario, foretell_input::available_memory)?;
        replay(&Material {
            detail,
            fills: &self.fills,
            scenario: &cluster.scenario,
            requests: &cluster.requests,
            records_per_request: self.records_per_request,
            stretch: &cluster.stretch,
            measured: &cluster.measured,
        })
    }
}

/// The note about a change that could have an effect, but has none on the recorded requests.
const NO_DIFFERENCE: &str = "the change makes no difference to the recorded requests";

/// What the question is about, by workload of the changed cluster.
fn about(changes: &[Change], cluster: &Changed) -> Vec<About> {
    let (scenario, kind) = (&cluster.scenario, ChangeKind::of(changes));
    let of = |workload| About::of(scenario, workload, &cluster.measured, kind);
    scenario.workloads.iter().map(of).collect()
}

/// Memory that the replay needs for a host, and for each of its disks, before its first request.
/// Measured on 20,000 nodes with one and with four disks: 33 and 118 KiB a node.
const BYTES_BY_HOST: u64 = 5 << 10;
const BYTES_BY_DISK: u64 = 29 << 10;

/// A replay that needs no more bytes than this has room. To ask the system for its memory would take a hundredth of the
/// time of a fast answer.
const LITTLE: u64 = 64 << 20;

/// Returns an error if the replay would need more memory than is `available`.
fn has_room(
    scenario: &Scenario,
    available: impl FnOnce() -> Option<u64>,
) -> Result<(), WhatIfError> {
    let hosts = scenario.hosts.len();
    let storage = scenario.hosts.iter().filter_map(|host| host.role.storage());
    let disks: usize = storage.map(Storage::device_count).sum();
    let needed = hosts as u64 * BYTES_BY_HOST + disks as u64 * BYTES_BY_DISK;
    match (needed > LITTLE).then(available).flatten() {
        Some(available) if needed > available => {
            Err(WhatIfError::TooLarge { hosts, disks, needed, available })
        }
        _ => Ok(()),
    }
}

impl Answer {
    /// Whether past scores show that an answer of the fast model is as accurate as one of the replay, or that its error
    /// is at most `accepted`.
    fn fast_is_as_good(&self, experience: &Experience, accepted: f64) -> bool {
        let good = |found: &WorkloadAnswer, metric| {
            let here = found.circumstances;
            if experience.unlike(Model::Fast, &here).is_some()
                || here.misfit.is_some_and(|misfit| misfit.abs() > TRUSTED_MISFIT)
            {
                return false;
            }
            // the replay's own answer is not known; its movement is assumed to be that of the fast answer,
            // and its misfit at most a usual one
            let misfit = here.misfit.map(|misfit| misfit.clamp(-USUAL_MISFIT, USUAL_MISFIT));
            let beside = Circumstances { misfit, ..here };
            let fast = experience.expect(Model::Fast, metric, &here);
            let replay = experience.expect(Model::Replay, metric, &beside);
            let (Some(fast), Some(replay)) = (fast, replay) else { return false };
            // a few scores are no proof
            fast.scores >= ENOUGH && fast.p90 <= (AS_GOOD.0 * replay.p90).max(accepted)
        };
        let metrics = ["throughput_rps", "response_time_ms.mean"];
        self.workloads.values().all(|found| metrics.iter().all(|metric| good(found, metric)))
    }
}

impl Prediction<'_> {
    /// The changed cluster.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn is_fast(&self) -> bool {
        self.part != Part::Long
    }

    /// Whether any change has an effect; otherwise the answer equals the recorded run.
    pub fn differs(&self) -> bool {
        self.differs
    }

    /// Whether a model can answer: only the replay follows failures, hedged reads and reads of the newest version. Mean value analysis knows
    /// only the demands of workloads at hosts: no load that no client causes, and no uplinks.
    pub fn knows(&self, model: Model) -> bool {
        let only_replay = self.outcome.outages.is_some()
            || self.scenario.hedges()
            || self.scenario.reads_newest();
        match model {
            Model::Replay => true,
            Model::Mva => {
                !only_replay && self.scenario.scrub.is_none() && self.scenario.uplinks.is_none()
            }
            Model::Fast | Model::Bounds => !only_replay,
        }
    }

    /// Returns an error if a model cannot answer the question with these changes.
    pub fn must_know(&self, model: Model, changes: &[Change]) -> Result<(), WhatIfError> {
        if self.knows(model) {
            return Ok(());
        }
        let what = match self.outcome.outages {
            Some(_) => "the model has no failures of hosts",
            None if self.scenario.hedges() => "the model has no hedged reads",
            None if self.scenario.reads_newest() => "the model has no reads of the newest version",
            None if self.scenario.scrub.is_some() => "the model has no load of scrubbers",
            None => "the model has no uplinks of racks",
        };
        Err(WhatIfError::not_followed(model, changes, what))
    }

    /// Whether the replay had the same outcome as the replay of the recorded cluster.
    fn nothing_differs(&self) -> bool {
        let Some(unchanged) = self.observed.unchanged.get().and_then(Option::as_ref) else {
            return false;
        };
        let before = &self.observed.scenario;
        let names = |scenario: &Scenario| {
            scenario.workloads.iter().map(|workload| workload.name.clone()).collect::<Vec<_>>()
        };
        names(before) == names(&self.scenario)
            && unchanged.goes_as(&before.hosts, &self.outcome, &self.scenario.hosts)
    }

    /// A model's answer.
    ///
    /// A prediction from short stretches is always answered by the fast model.
    pub fn answer(&self, model: Model) -> Answer {
        let model = if self.is_fast() { Model::Fast } else { model };
        let (utilization, bottleneck) = self.utilization();
        let analysed = match model {
            Model::Mva => analyse(&self.scenario, &self.outcome),
            Model::Replay | Model::Fast | Model::Bounds => Vec::new(),
        };
        // by workload: how many requests it completes in this model for one in the replay
        let paces = analysed.iter().zip(&self.outcome.workloads);
        let paces: Vec<f64> = paces
            .map(|(seen, found)| match found.completed {
                0 => 0.0,
                _ => seen.throughput_rps / found.throughput_rps.max(1e-9),
            })
            .collect();
        let workloads = self.scenario.workloads.iter().zip(&self.outcome.workloads);
        let workloads = workloads.zip(&self.about).enumerate();
        let workloads = workloads.map(|(index, ((workload, found), about))| {
            let limit = self.limit(index, &paces);
            let peak = limit.as_ref().map_or(found.throughput_rps, |limit| limit.peak_rps);
            let alone = alone_s(&self.scenario, found);
            let (throughput_rps, response_time_ms) = match model {
                Model::Replay | Model::Fast => self.replayed(workload, found),
                Model::Bounds => {
                    let (throughput, response) = bounds(workload, alone, peak, found);
                    (throughput, ResponseTimeMs::of_mean(response))
                }
                Model::Mva => {
                    let Seen { throughput_rps, response_s } = analysed[index];
                    (throughput_rps, ResponseTimeMs::of_mean(response_s))
                }
            };
            // without a completed request there are no demands, and so nothing that a model could say
            let no_requests = found.completed == 0;
            let (throughput_rps, response_time_ms) = if no_requests {
                (0.0, ResponseTimeMs::of_mean(0.0))
            } else {
                (throughput_rps, response_time_ms)
            };
            // the peak is corrected like the throughput
            let corrected = throughput_rps / found.throughput_rps.max(1e-9);
            let peak = match model {
                _ if no_requests => 0.0,
                Model::Bounds | Model::Mva => peak,
                Model::Replay | Model::Fast => (peak * corrected).max(throughput_rps),
            };
            let bytes = found.throughput_bytes_per_s / found.throughput_rps.max(1e-9);
            let before = self.before(workload);
            let answer = WorkloadAnswer {
                circumstances: Circumstances {
                    utilization: Some(self.busiest_of(found)),
                    about: Some(*about),
                    requests: Some(throughput_rps * self.seconds()),
                    ..before.map_or_else(Circumstances::default, |(modelled, recorded)| {
                        let predicted_ms = found.response_ms.mean;
                        Circumstances::of(predicted_ms, modelled.figures(), recorded.figures())
                    })
                },
                expected_error: SortedMap::new(),
                interval: SortedMap::new(),
                unlike: None,
                arrivals_spread: self
                    .changed_arrivals(workload)
                    .map_or(0.0, |arriving| arriving.spread),
                throughput_rps,
                throughput_bytes_per_s: throughput_rps * bytes,
                peak_throughput_rps: peak,
                response_time_ms,
                no_requests,
                outstanding: throughput_rps * response_time_ms.mean / 1e3,
                outstanding_to_saturate: (alone + found.think_s) * peak,
                read_share: self.read_share(workload, found),
                read_hit_rate: found.read_hit_rate,
                hedges: found.hedges,
                bottleneck: limit.map_or_else(String::new, |limit| limit.resource),
                overload: self.overload(workload, found),
                demands_ms: self.demands_ms(workload, found),
                misfit: before.map(|(modelled, recorded)| Misfit {
                    throughput: modelled.throughput_rps / recorded.throughput_rps - 1.0,
                    mean_response_time: modelled.response_ms.mean / recorded.response_ms.mean - 1.0,
                }),
            };
            (workload.name.clone(), answer)
        });
        Answer {
            model,
            notes: self.notes.clone(),
            assumed: self.assumed.clone(),
            workloads: workloads.collect(),
            utilization,
            bottleneck,
            scrub: self
                .outcome
                .scrub_bytes_per_s
                .map(|bytes| ScrubAnswer { disk_bytes_per_s: bytes }),
            outages: self.outages(),
        }
    }

    /// Measured time, s.
    fn seconds(&self) -> f64 {
        self.scenario.duration.map_or(self.outcome.seconds, SimSpan::as_secs_f64)
    }

    /// The effects of events, phase by phase. Each phase gets its own bias correction, in the same way as the
    /// whole run.
    fn outages(&self) -> Option<OutageAnswer> {
        let outcome = self.outcome.outages.as_ref()?;
        let workload = |index: usize, seen: &PhaseWorkloadOutcome, seconds: f64| {
            let (workload, whole) =
                (&self.scenario.workloads[index], &self.outcome.workloads[index]);
            let completed = seen.requests as f64;
            let found = PhaseSeen {
                throughput_rps: completed / seconds.max(1e-9),
                response_ms: seen.response_ms,
                think_s: whole.think_s,
                keeps_up: whole.overload().is_none(),
            };
            let (throughput_rps, response_time_ms) = self.corrected(workload, found);
            let circumstances = Circumstances {
                utilization: Some(self.busiest_of(whole)),
                about: Some(self.about[index]),
                requests: Some(completed),
                ..self.before(workload).map_or_else(
                    Circumstances::default,
                    |(modelled, recorded)| {
                        let predicted_ms = seen.response_ms.mean;
                        Circumstances::of(predicted_ms, modelled.figures(), recorded.figures())
                    },
                )
            };
            let answer = PhaseWorkload {
                throughput_rps,
                throughput_bytes_per_s: throughput_rps * seen.bytes as f64 / completed.max(1.0),
                response_time_ms,
                requests: seen.requests,
                failed_requests: seen.failed,
                waiting_below_min_size: seen.below_min_size,
                expected_error: SortedMap::new(),
                interval: SortedMap::new(),
                circumstances,
            };
            (workload.name.clone(), answer)
        };
        Some(OutageAnswer::of(outcome, workload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_does_not_fit_into_memory_is_refused() {
        let mut document = foretell_scenarios::Document::shipped("first-look").unwrap().unwrap();
        has_room(&document.check().unwrap(), || panic!("a small cluster always fits")).unwrap();
        document.set("node.brick.count", "4000").unwrap();
        let scenario = document.check().unwrap();
        // with the clients, 4004 hosts and 4000 disks
        let needed = 4004 * (5 << 10) + 4000 * (29 << 10);
        has_room(&scenario, || None).unwrap();
        has_room(&scenario, || Some(needed)).unwrap();
        let error = has_room(&scenario, || Some(needed - 1)).unwrap_err().to_string();
        let expected = "a prediction for 4004 hosts with 4000 disks takes 0.1 GiB of memory, and 0.1 GiB are free";
        assert_eq!(error, expected);
    }
}
