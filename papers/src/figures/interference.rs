//! Figure 10: a random workload moves to the nodes of a sequential one whose data was in their
//! caches.

use foretell_pictures::Chart;

use super::{ACCEPTED, Figure, hit_rate, percent, throughput_mb_s};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::Sheet;

pub(super) const INTERFERENCE: Figure = Figure {
    file: "fig10",
    title: "A random workload moves in with a sequential one",
    needs,
    report,
};

fn setup(nodes: &str) -> Setup {
    Setup::of("interference").with("volume.b.nodes", nodes)
}

fn needs(plan: &mut Plan) {
    plan.compare(&setup("t"), &setup("t"));
    plan.compare(&setup("t"), &setup("s"));
}

fn report(results: &Results, sheet: &mut Sheet) {
    let (apart, together) = (setup("t"), setup("s"));
    for (series, workload, x, to) in [
        ("workload 1", "a", "original", &apart),
        ("workload 1", "a", "workload 2 added", &together),
        ("workload 2", "b", "workload 2 added", &together),
    ] {
        let of = (Some(&apart), to);
        sheet.point(results, (series, x), "throughput_mb_s", of, throughput_mb_s(workload));
        sheet.point(results, (series, x), "hit_rate", of, hit_rate(workload));
    }
    let mut chart = Chart::bars("", sheet.title, "setup", "MB/s");
    chart.both(sheet, "throughput_mb_s", &["workload 1", "workload 2"]);
    sheet.chart(chart);
    let worst = sheet.worst(|row| row.metric == "throughput_mb_s");
    sheet.claim(
        "Fig. 10",
        "the throughput of both workloads is predicted reasonably",
        (worst < ACCEPTED, format!("worst error {}", percent(worst))),
        sheet.farthest(|row| row.metric == "throughput_mb_s"),
    );
    let hits = |x: &str| sheet.measured("workload 1", x, "hit_rate");
    let (before, after) = (hits("original"), hits("workload 2 added"));
    sheet.claim(
        "Fig. 10",
        "with workload 2, workload 1 misses in the cache that it fitted into before",
        // if everything is read from disk, every 16th page misses, as reads are in steps of at
        // least 64 KiB
        (
            before > 0.99 && after < 0.95,
            format!(
                "{} of its pages hit before, {} after, those read ahead included",
                percent(before),
                percent(after)
            ),
        ),
        None,
    );
    let worst = sheet.worst(|row| row.metric == "hit_rate");
    sheet.claim(
        "Fig. 10",
        "hit rates of both workloads are predicted correctly",
        (worst < ACCEPTED, format!("worst relative error {}", percent(worst))),
        sheet.farthest_of_shares(|row| row.metric == "hit_rate"),
    );
    let at = |x: &str| sheet.measured("workload 1", x, "throughput_mb_s");
    let (before, after) = (at("original"), at("workload 2 added"));
    sheet.claim(
        "Fig. 10",
        "workload 1, although sequential, then gets semi-random service of the disks",
        (
            after < 0.5 * before,
            format!("{before:.1} MB/s before, {after:.1} MB/s after, of three disks of 60 MB/s"),
        ),
        None,
    );
}
