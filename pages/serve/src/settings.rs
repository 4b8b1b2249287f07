//! The settings for sliders: paths, and values around the present ones.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use foretell_core::Scenario;
use foretell_scenarios::model::{Arrivals, Role};
use serde::Serialize;

use crate::limits;

/// A setting that a question can change.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Setting {
    /// Its path, as in `--what-if`.
    path: String,
    /// Values to choose from, in order.
    values: Vec<String>,
    /// Index of its present value.
    now: usize,
    /// Number of clients that each have this load, if it is a load.
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<usize>,
}

/// Factors on a number.
const FACTORS: [f64; 9] = [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];
/// Encodings to try.
const ENCODINGS: [&str; 10] = [
    "1-of-1",
    "1-of-2",
    "1-of-3",
    "2-of-3",
    "2-of-4",
    "3-of-4",
    "3-of-5",
    "4-of-6",
    "8-of-11",
    "lrc(6,2,2)",
];

/// Until when work is worth doing: for a limited time, and while its client waits.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    end: Instant,
    is_abandoned: Arc<AtomicBool>,
}

/// Held by a request; tells its work when the client has gone.
pub(crate) struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Budget {
    /// A budget for finding settings that begins now.
    #[expect(clippy::disallowed_methods, reason = "the work of a request is limited")]
    pub(crate) fn begin(lasts: Duration) -> (Self, Waits) {
        let is_abandoned = Arc::new(AtomicBool::new(false));
        let end = Instant::now() + lasts;
        (Self { end, is_abandoned: Arc::clone(&is_abandoned) }, Waits(is_abandoned))
    }

    #[expect(clippy::disallowed_methods, reason = "the work of a request is limited")]
    fn is_left(&self) -> bool {
        !self.is_abandoned.load(Ordering::Relaxed) && Instant::now() < self.end
    }
}

/// The settings of a scenario: the first [`limits::SETTINGS`], and of these as many as the budget allows, since each
/// value is tried.
pub(crate) fn of(scenario: &Scenario, budget: &Budget) -> Vec<Setting> {
    let Ok(model) = scenario.check() else { return Vec::new() };
    let mut found = Vec::new();
    for workload in &model.workloads {
        let root = format!("workload.{}", workload.name);
        let clients = Some(workload.clients.len());
        match workload.arrivals {
            Arrivals::Closed { outstanding, .. } => {
                let values = FACTORS.map(|factor| (f64::from(outstanding) * factor).round() as u64);
                let path = format!("{root}.outstanding");
                let load = around(path, values, u64::from(outstanding), |n| n.to_string());
                found.extend(load.map(|load| Setting { clients, ..load }));
            }
            Arrivals::Poisson { rate_rps } | Arrivals::Deterministic { rate_rps } => {
                // in whole thousandths
                let now = (rate_rps * 1e3).round() as u64;
                let values = FACTORS.map(|factor| (now as f64 * factor).round() as u64);
                let write = |n| format!("{} /s", n as f64 / 1e3);
                let load = around(format!("{root}.rate"), values, now, write);
                found.extend(load.map(|load| Setting { clients, ..load }));
            }
            _ => {}
        }
    }
    if model.system.traits().clients_encode() {
        for volume in &model.volumes {
            let mut all: BTreeSet<_> =
                ENCODINGS.iter().filter_map(|name| name.parse().ok()).collect();
            all.insert(volume.encoding);
            let all: Vec<_> = all.into_iter().filter(|one| one.n() <= volume.nodes.len()).collect();
            let now = all.iter().position(|encoding| *encoding == volume.encoding);
            found.extend(now.map(|now| Setting {
                path: format!("volume.{}.encoding", volume.name),
                values: all.iter().map(ToString::to_string).collect(),
                now,
                clients: None,
            }));
        }
    }
    let mut groups = BTreeSet::new();
    for host in &model.hosts {
        if let Role::Node(storage) = &host.role
            && groups.insert(host.group.clone())
        {
            let (size, page) = (storage.cache.size.get(), storage.cache.page.get().max(1));
            let values = FACTORS.map(|factor| ((size as f64 * factor) as u64 / page).max(1) * page);
            found.extend(around(format!("node.{}.cache.size", host.group), values, size, |n| {
                format!("{n} B")
            }));
        }
    }
    let found = found.iter().take(limits::SETTINGS);
    found.map_while(|setting| possible(setting, scenario, budget).ok()).flatten().collect()
}

/// The budget is spent.
struct Spent;

/// The setting with only the values that the scenario accepts, if there are several.
fn possible(
    setting: &Setting,
    scenario: &Scenario,
    budget: &Budget,
) -> Result<Option<Setting>, Spent> {
    let mut values = Vec::new();
    for value in &setting.values {
        if !budget.is_left() {
            return Err(Spent);
        }
        let mut changed = scenario.clone();
        if changed.set(&setting.path, value).is_ok() && changed.check().is_ok() {
            values.push(value.clone());
        }
    }
    let now = values.iter().position(|value| *value == setting.values[setting.now]);
    let several = now.filter(|_| values.len() > 1);
    Ok(several.map(|now| Setting { values, now, ..setting.clone() }))
}

/// A setting of numbers; values of 0 are left out.
fn around(
    path: String,
    values: [u64; 9],
    now: u64,
    write: impl Fn(u64) -> String,
) -> Option<Setting> {
    let values: BTreeSet<u64> =
        values.into_iter().chain([now]).filter(|value| *value > 0).collect();
    let now = values.iter().position(|value| *value == now)?;
    Some(Setting { path, values: values.into_iter().map(write).collect(), now, clients: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_tried_for_a_client_that_has_gone() {
        let scenario = Scenario::load("first-look").unwrap();
        let (budget, waits) = Budget::begin(limits::SETTINGS_TIME);
        drop(waits);
        assert_eq!(of(&scenario, &budget), []);
    }

    #[test]
    fn every_choice_is_a_scenario() {
        for name in ["first-look", "array-server"] {
            let scenario = Scenario::load(name).unwrap();
            let (budget, _waits) = Budget::begin(limits::SETTINGS_TIME);
            let settings = of(&scenario, &budget);
            assert!(settings.len() >= 2, "{name}: {settings:?}");
            for setting in settings {
                for value in [&setting.values[0], &setting.values[setting.now]] {
                    let mut changed = scenario.clone();
                    changed.set(&setting.path, value).unwrap();
                    changed
                        .check()
                        .unwrap_or_else(|error| panic!("{}={value}: {error}", setting.path));
                }
            }
        }
    }
}
