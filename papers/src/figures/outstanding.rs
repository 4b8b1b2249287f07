//! Figure 11: throughput and response time by the number of outstanding requests, 3-of-5, all reads;
//! predicted from one run.

use foretell_pictures::Chart;
use foretell_sim::truth::Truth;
use foretell_whatif::Answer;

use super::{ACCEPTED, Figure, percent, throughput_mb_s};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::Sheet;

/// Number of outstanding requests in the recorded run: in the middle of the range.
const RECORDED: u32 = 6;

pub(super) const OUTSTANDING: Figure = Figure {
    file: "fig11",
    title: "Throughput and response time by outstanding requests",
    needs,
    report,
};

fn setup(outstanding: u32) -> Setup {
    Setup::of("micro")
        .with("volume.data.encoding", "3-of-5")
        .with("workload.ssio.reads", "100%")
        .with("workload.ssio.outstanding", outstanding)
}

fn needs(plan: &mut Plan) {
    for outstanding in 1..=12 {
        plan.compare(&setup(RECORDED), &setup(outstanding));
    }
}

fn response_ms() -> (impl Fn(&Answer) -> f64, impl Fn(&Truth) -> f64) {
    (
        |found: &Answer| found.workloads["ssio"].response_time_ms.mean,
        |truth: &Truth| truth.workloads["ssio"].response_time_ms.mean,
    )
}

fn report(results: &Results, sheet: &mut Sheet) {
    for outstanding in 1..=12 {
        let of = (Some(&setup(RECORDED)), &setup(outstanding));
        let point = ("3-of-5", outstanding);
        sheet.point(results, point, "throughput_mb_s", of, throughput_mb_s("ssio"));
        sheet.point(results, point, "response_ms", of, response_ms());
    }
    for (name, metric, axis) in
        [("throughput", "throughput_mb_s", "MB/s"), ("response", "response_ms", "ms")]
    {
        let mut chart = Chart::lines(name, sheet.title, "outstanding requests", axis);
        chart.both(sheet, metric, &["3-of-5"]);
        sheet.chart(chart);
    }
    let throughput = |n: u32| sheet.measured("3-of-5", n, "throughput_mb_s");
    let response = |n: u32| sheet.measured("3-of-5", n, "response_ms");
    let peak = (1..=12).map(throughput).fold(0.0, f64::max);
    let knee = (1..=12).find(|n| throughput(*n) >= 0.95 * peak).unwrap_or(12);
    let of = |found: &Answer| found.workloads["ssio"].outstanding_to_saturate;
    let known = results.predictions(&setup(RECORDED), &setup(RECORDED), 0, of);
    let known = known.iter().sum::<f64>() / known.len() as f64;
    let saturates = (
        (2..=4).contains(&knee),
        format!("{knee} give 95 % of the peak of {peak:.1} MB/s; N* is predicted to be {known:.1}"),
    );
    let flat = (knee..=12).map(throughput).fold(f64::INFINITY, f64::min);
    let stays = (flat >= 0.9 * peak, format!("from {flat:.1} to {peak:.1} MB/s beyond it"));
    // beyond saturation R = N / T (equation 2): twice as many requests take twice as long
    let growth = response(12) / response(6);
    let linear =
        ((1.8..2.2).contains(&growth), format!("12 outstanding take {growth:.2} times what 6 do"));
    let change = throughput(12) / throughput(6);
    let dropped = results.mean(&setup(12), |truth| truth.network.segments_dropped as f64);
    let worst = sheet.worst(|_| true);
    let good = (worst < ACCEPTED, format!("worst error {}", percent(worst)));
    sheet.claim(
        "Fig. 11",
        "the pipeline fills at about three outstanding requests (N* about 3)",
        saturates,
        // N* is the time of a single request divided by the time at its bottleneck
        (!(2.0..=4.0).contains(&known)).then(|| {
            format!(
                "a request alone takes {known:.1} times as long as its bottleneck, not three times"
            )
        }),
    );
    sheet.claim(
        "Fig. 11",
        "beyond that, throughput stays at its peak",
        stays,
        (dropped > 0.0).then(|| {
            format!(
                "at 12 outstanding the switch drops {dropped:.0} segments in the mean of the runs"
            )
        }),
    );
    sheet.claim(
        "Fig. 11",
        "beyond that, response time grows linearly",
        linear,
        ((change - 1.0).abs() > 0.05).then(|| {
            format!("throughput at 12 outstanding is {change:.2} times that at 6 (R = N / T)")
        }),
    );
    sheet.claim(
        "Fig. 11",
        "throughput and response time are predicted at each number outstanding",
        good,
        sheet.farthest(|_| true),
    );
}
