//! Figures 5 and 6: hit rates and disk service times of three loads at several sizes of the nodes'
//! cache, all predicted from the records at 512 MiB.
//!
//! A hit is a page that a read finds in the node's cache, including pages read ahead. The service
//! time is the paper's: disk time of a request that goes to the disk. All writes and the reads that
//! miss go there.

use foretell_pictures::Chart;
use foretell_sim::truth::Truth;
use foretell_whatif::Answer;

use super::{ACCEPTED, Figure, hit_rate, percent};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::Sheet;

const LOADS: [&str; 3] = ["oltp", "postmark", "iozone"];
/// Sizes of the cache, MiB.
const SIZES: [u32; 6] = [128, 256, 384, 512, 768, 1024];
/// The cache size of the recorded run, MiB.
const RECORDED: u32 = 512;

pub(super) const HITS: Figure = Figure {
    file: "fig05",
    title: "Hit rate of the nodes' cache by its size, predicted from 512 MiB",
    needs,
    report: hits,
};

pub(super) const DISKS: Figure = Figure {
    file: "fig06",
    title: "Disk service time by size of the cache, predicted from 512 MiB",
    needs,
    report: disks,
};

fn setup(load: &'static str, size: u32) -> Setup {
    Setup::of(load).with("node.brick.cache.size", format!("{size} MiB"))
}

fn needs(plan: &mut Plan) {
    for load in LOADS {
        for size in SIZES {
            plan.compare(&setup(load, RECORDED), &setup(load, size));
        }
    }
}

fn hits(results: &Results, sheet: &mut Sheet) {
    for load in LOADS {
        for size in SIZES {
            let (from, to) = (setup(load, RECORDED), setup(load, size));
            sheet.point(results, (load, size), "hit_rate", (Some(&from), &to), hit_rate("load"));
        }
        let mut chart =
            Chart::bars(load, format!("{load}: hit rate"), "cache, MiB", "share of pages read");
        chart.both(sheet, "hit_rate", &[load]);
        sheet.chart(chart);
    }
    let near = sheet.worst(|row| row.series != "oltp");
    let all = sheet.worst(|_| true);
    let (same, good) = (
        (near < 0.02, format!("worst error {}", percent(near))),
        (all < ACCEPTED, format!("worst error {}", percent(all))),
    );
    sheet.claim(
        "Fig. 5",
        "Postmark and IOzone: measured and predicted hit rates are almost indistinguishable",
        same,
        sheet.farthest_of_shares(|row| row.series != "oltp"),
    );
    sheet.claim(
        "Fig. 5",
        "hit rates at other cache sizes are predicted from the records at 512 MB",
        good,
        sheet.farthest_of_shares(|_| true),
    );
}

/// Disk time of a request that goes to the disk.
fn service_ms() -> (impl Fn(&Answer) -> f64, impl Fn(&Truth) -> f64) {
    let to_disk = |reads: f64, hits: Option<f64>| 1.0 - reads * hits.unwrap_or(0.0);
    (
        move |found: &Answer| {
            let load = &found.workloads["load"];
            let disk = load.demands_ms.get("node.disk0").copied().unwrap_or(0.0);
            disk / to_disk(load.read_share, load.read_hit_rate)
        },
        move |truth: &Truth| {
            let load = &truth.workloads["load"];
            let reads = load.read.requests as f64 / load.requests as f64;
            let disk = truth.hosts["brick0"]["disk0"].demand_ms_per_request;
            disk / to_disk(reads, load.read_hit_rate)
        },
    )
}

fn disks(results: &Results, sheet: &mut Sheet) {
    for load in LOADS {
        for size in SIZES {
            let (from, to) = (setup(load, RECORDED), setup(load, size));
            sheet.point(results, (load, size), "service_ms", (Some(&from), &to), service_ms());
        }
        let mut chart =
            Chart::bars(load, format!("{load}: disk service time"), "cache, MiB", "ms a request");
        chart.both(sheet, "service_ms", &[load]);
        sheet.chart(chart);
    }
    let against = LOADS.iter().find_map(|load| {
        let rows: Vec<_> = sheet.rows.iter().filter(|row| row.series == *load).collect();
        let against = rows.windows(2).find(|pair| {
            let measured = pair[1].measured.mean - pair[0].measured.mean;
            let predicted = pair[1].predicted[0].mean - pair[0].predicted[0].mean;
            // a change of at most 5 % does not count as a trend
            !(measured.abs() < 0.05 * pair[0].measured.mean || measured * predicted > 0.0)
        })?;
        let [from, to] = [against[0], against[1]];
        Some(format!(
            "{load}, from {} to {} MiB: measured {:.3} and {:.3} ms, predicted {:.3} and {:.3} ms",
            from.x,
            to.x,
            from.measured.mean,
            to.measured.mean,
            from.predicted[0].mean,
            to.predicted[0].mean
        ))
    });
    let worst = sheet.worst(|_| true);
    sheet.claim(
        "Fig. 6",
        "the disk module captures the trends of service times",
        (against.is_none(), format!("worst error {}", percent(worst))),
        against,
    );
    let postmark = sheet.worst(|row| row.series == "postmark");
    let others = sheet.worst(|row| row.series != "postmark");
    sheet.claim(
        "Fig. 6",
        "service times are predicted worst for Postmark, whose disk queue is not full",
        (
            postmark > others,
            format!(
                "worst error {} for Postmark, {} for others",
                percent(postmark),
                percent(others)
            ),
        ),
        None,
    );
}
