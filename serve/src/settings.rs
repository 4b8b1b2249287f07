//! The settings for sliders: paths, and values around the present ones.

use std::collections::BTreeSet;

use foretell_core::Scenario;
use foretell_scenarios::model::{Arrivals, Role};
use serde::Serialize;

/// A setting that a question can change.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Setting {
    /// Its path, as in `--what-if`.
    path: String,
    /// Values to choose from, in order.
    values: Vec<String>,
    /// Index of its present value.
    now: usize,
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

/// The settings of a scenario.
pub(crate) fn of(scenario: &Scenario) -> Vec<Setting> {
    let Ok(model) = scenario.check() else { return Vec::new() };
    let mut found = Vec::new();
    for workload in &model.workloads {
        let root = format!("workload.{}", workload.name);
        match workload.arrivals {
            Arrivals::Closed { outstanding, .. } => {
                let values = FACTORS.map(|factor| (f64::from(outstanding) * factor).round() as u64);
                found.extend(around(
                    format!("{root}.outstanding"),
                    values,
                    u64::from(outstanding),
                    |n| n.to_string(),
                ));
            }
            Arrivals::Poisson { rate_rps } | Arrivals::Deterministic { rate_rps } => {
                // in whole thousandths
                let now = (rate_rps * 1e3).round() as u64;
                let values = FACTORS.map(|factor| (now as f64 * factor).round() as u64);
                found.extend(around(format!("{root}.rate"), values, now, |n| {
                    format!("{} /s", n as f64 / 1e3)
                }));
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
    found.iter().filter_map(|setting| possible(setting, scenario)).collect()
}

/// The setting with only the values that the scenario accepts; `None` unless there are several.
fn possible(setting: &Setting, scenario: &Scenario) -> Option<Setting> {
    let can_be = |value: &&String| {
        let mut changed = scenario.clone();
        changed.set(&setting.path, value).is_ok() && changed.check().is_ok()
    };
    let values: Vec<String> = setting.values.iter().filter(can_be).cloned().collect();
    let now = values.iter().position(|value| *value == setting.values[setting.now])?;
    (values.len() > 1).then(|| Setting { path: setting.path.clone(), values, now })
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
    Some(Setting { path, values: values.into_iter().map(write).collect(), now })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_a_scenario() {
        for name in ["first-look", "array-server"] {
            let scenario = Scenario::load(name).unwrap();
            let settings = of(&scenario);
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
