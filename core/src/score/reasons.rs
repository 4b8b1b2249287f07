//! Reasons for the error of a prediction: intermediate figures that differ from the truth.
//!
//! A response time follows from the utilization of resources and from the content of caches. So the predicted
//! intermediate figures are compared with the truth: the model's error for the recorded run itself, each
//! resource's utilization, and hit rates. The figure that differs most is named first.

use foretell_sim::truth::Truth;
use foretell_whatif::Answer;

/// Smallest differences that count as a reason: of the model's error for the recorded run, of a utilization,
/// of a hit rate.
const SLIGHT: (f64, f64, f64) = (0.02, 0.03, 0.01);
/// A resource with a higher utilization than this is called full.
const FULL: f64 = 0.9;

/// The reasons in words, the strongest first.
pub fn reasons(answer: &Answer, truth: &Truth) -> Vec<String> {
    let mut found: Vec<(f64, String)> = Vec::new();
    for (name, workload) in &answer.workloads {
        if let Some(misfit) = workload.misfit.map(|misfit| misfit.mean_response_time)
            && misfit.abs() > SLIGHT.0
        {
            let off = foretell_units::relative_change(misfit, 0);
            let text = format!("{name}'s response time is off by {off} in the recorded run itself");
            found.push((misfit.abs(), text));
        }
        let measured = truth.workloads.get(name).and_then(|measured| measured.read_hit_rate);
        if let Some((predicted, was)) = workload.read_hit_rate.zip(measured)
            && (predicted - was).abs() > SLIGHT.2
        {
            // misses take the time, so their ratio is compared
            let misses = libm::log((1.0 - predicted).max(1e-3) / (1.0 - was).max(1e-3)).abs();
            found.push((
                misses,
                format!(
                    "{name}'s hit rate: {} predicted, {} measured",
                    share(predicted),
                    share(was)
                ),
            ));
        }
    }
    for (host, resources) in &answer.utilization {
        for (resource, predicted) in resources {
            let was = truth.hosts.get(host).and_then(|resources| resources.get(resource));
            let Some(was) = was.map(|was| was.utilization) else { continue };
            if (predicted - was).abs() > SLIGHT.1 {
                let full = if was > FULL { ", where it is full" } else { "" };
                let text = format!(
                    "{host}.{resource} busy: {} predicted, {} measured{full}",
                    share(*predicted),
                    share(was)
                );
                found.push(((predicted - was).abs(), text));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, text)| text).collect()
}

fn share(part: f64) -> String {
    format!("{:.0} %", 100.0 * part)
}
