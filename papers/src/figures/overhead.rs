//! Section IV-D: the cost of tracking for four loads.
//!
//! With tracking, each record takes processor time where it is posted, 20 MB of each node's cache,
//! and network and disk time to get to the store. Without it, there is no such cost.

use foretell_pictures::Chart;

use super::{Figure, hit_rate, percent, throughput_mb_s};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::Sheet;

/// Name, scenario, workload.
const LOADS: [(&str, &str, &str); 4] = [
    ("ssio", "micro", "ssio"),
    ("oltp", "oltp", "load"),
    ("postmark", "postmark", "load"),
    ("iozone", "iozone", "load"),
];

pub(super) const OVERHEAD: Figure =
    Figure { file: "overhead", title: "Throughput with and without tracking", needs, report };

fn setups(scenario: &'static str) -> [Setup; 2] {
    let without = Setup::of(scenario).with("record", "none").with("tracking.overhead", "false");
    [Setup::of(scenario), without]
}

fn needs(plan: &mut Plan) {
    for (_, scenario, _) in LOADS {
        for setup in setups(scenario) {
            plan.measure(&setup);
        }
    }
}

fn report(results: &Results, sheet: &mut Sheet) {
    for (name, scenario, workload) in LOADS {
        let [with, without] = setups(scenario);
        for (x, setup) in [("with", &with), ("without", &without)] {
            let of = throughput_mb_s(workload);
            sheet.point(results, (name, x), "throughput_mb_s", (None, setup), of);
        }
    }
    let mut chart = Chart::bars("", sheet.title, "tracking", "MB/s");
    chart.measured_only(sheet, "throughput_mb_s", &LOADS.map(|(name, ..)| name));
    sheet.chart(chart);
    for ((name, scenario, workload), claim) in LOADS.into_iter().zip([
        "tracking costs the SSIO benchmark less than 6 % of its throughput",
        "tracking costs OLTP less than 6 % of its throughput",
        "tracking costs Postmark less than 6 % of its throughput",
        "tracking costs IOzone less than 6 % of its throughput",
    ]) {
        let at = |x: &str| sheet.measured(name, x, "throughput_mb_s");
        let cost = 1.0 - at("with") / at("without");
        let [with, without] = setups(scenario);
        let (_, hit_rate) = hit_rate(workload);
        let [with, without] = [with, without].map(|setup| results.mean(&setup, &hit_rate));
        let pushed_out = (without - with > 0.001).then(|| {
            format!(
                "the nodes' caches, which records pass on their way to the store and have a part of, have {} of \
                 the load's pages instead of {}",
                percent(with),
                percent(without)
            )
        });
        sheet.claim("Section IV-D", claim, (cost < 0.06, percent(cost)), pushed_out);
    }
}
