//! Figures 7 and 8: peak throughput by share of reads. Each of two encodings is predicted from a run
//! of the other: with and without encryption, and replicated or coded.

use foretell_pictures::Chart;
use foretell_sim::truth::Truth;

use super::{ACCEPTED, Figure, percent, throughput_mb_s};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::{Row, Sheet};
use crate::statistics::median;

/// Label, encoding, cipher.
type Encoding = (&'static str, &'static str, &'static str);

const REPLICATED: Encoding = ("1-of-3", "1-of-3", "none");
const ENCRYPTED: Encoding = ("1-of-3 encr", "1-of-3", "aes-128-cbc");
const CODED: Encoding = ("3-of-5", "3-of-5", "none");

pub(super) const ENCRYPTION: Figure = Figure {
    file: "fig07",
    title: "Peak throughput with and without encryption by share of reads",
    needs: |plan| needs(plan, [REPLICATED, ENCRYPTED]),
    report: encryption,
};

pub(super) const CODING: Figure = Figure {
    file: "fig08",
    title: "Peak throughput of 3-way replication and 3-of-5 by share of reads",
    needs: |plan| needs(plan, [REPLICATED, CODED]),
    report: coding,
};

fn setup((_, encoding, cipher): Encoding, reads: u32) -> Setup {
    Setup::of("micro")
        .with("volume.data.encoding", encoding)
        .with("volume.data.cipher", cipher)
        .with("workload.ssio.reads", format!("{reads}%"))
}

fn reads() -> impl Iterator<Item = u32> {
    (0..=100).step_by(10)
}

fn needs(plan: &mut Plan, [one, other]: [Encoding; 2]) {
    for reads in reads() {
        plan.compare(&setup(one, reads), &setup(other, reads));
        plan.compare(&setup(other, reads), &setup(one, reads));
    }
}

fn points(results: &Results, sheet: &mut Sheet, [one, other]: [Encoding; 2]) {
    for (from, to) in [(other, one), (one, other)] {
        for reads in reads() {
            let of = (Some(&setup(from, reads)), &setup(to, reads));
            sheet.point(results, (to.0, reads), "throughput_mb_s", of, throughput_mb_s("ssio"));
        }
    }
    let mut chart = Chart::lines("", sheet.title, "reads, % of requests", "MB/s");
    chart.both(sheet, "throughput_mb_s", &[one.0, other.0]);
    sheet.chart(chart);
}

fn encryption(results: &Results, sheet: &mut Sheet) {
    points(results, sheet, [REPLICATED, ENCRYPTED]);
    let worst = sheet.worst(|_| true);
    sheet.claim(
        "Fig. 7",
        "predictions track the throughput with and without encryption",
        (worst < ACCEPTED, format!("worst error {}", percent(worst))),
        sheet.farthest(|_| true),
    );
    let bound = reads().all(|reads| {
        results.always(&setup(ENCRYPTED, reads), |truth| {
            truth.bottleneck.host == "app0" && truth.bottleneck.resource == "cpu"
        })
    });
    let busiest = |reads| {
        let setup = setup(ENCRYPTED, reads);
        let cpu = results.truths(&setup, |truth| truth.hosts["app0"]["cpu"].utilization);
        median(&cpu).unwrap_or(0.0)
    };
    let least = reads().map(busiest).fold(1.0, f64::min);
    let least_at = reads().min_by(|a, b| busiest(*a).total_cmp(&busiest(*b))).unwrap_or(0);
    let client = |encoding, reads| {
        let setup = setup(encoding, reads);
        ["nic_transmit", "cpu"].map(|resource| results.busy(&setup, "app0", resource))
    };
    let [link, cpu] = client(ENCRYPTED, least_at);
    sheet.claim(
        "Fig. 7",
        "with encryption the client's CPU is the bottleneck",
        (bound, format!("the client's CPU is {} busy or more", percent(least))),
        (link > cpu).then(|| {
            format!(
                "at {} % reads the client's link is {} busy, its CPU {}",
                least_at,
                percent(link),
                percent(cpu)
            )
        }),
    );
    for (encoding, claim) in [
        (ENCRYPTED, "with encryption, throughput increases slightly with the share of reads"),
        (REPLICATED, "without encryption, throughput increases with the share of reads"),
    ] {
        let at = |reads: u32| sheet.measured(encoding.0, reads, "throughput_mb_s");
        let (writes, reads) = (at(0), at(100));
        let [link, cpu] = client(encoding, 0);
        // a growth by half is not slight
        let slight = encoding != ENCRYPTED || reads < 1.5 * writes;
        let ours = format!("from {writes:.1} MB/s (writes) to {reads:.1} MB/s (reads)");
        sheet.claim(
            "Fig. 7",
            claim,
            (reads > writes && slight, ours),
            (link > cpu).then(|| {
                format!(
                    "writes are bound by the client's link, which is {} busy; its CPU is {}",
                    percent(link),
                    percent(cpu)
                )
            }),
        );
    }
}

fn coding(results: &Results, sheet: &mut Sheet) {
    points(results, sheet, [REPLICATED, CODED]);
    let worst = sheet.worst(|_| true);
    sheet.claim(
        "Fig. 8",
        "throughput is predicted from replication for 3-of-5, and the other way around",
        (worst < ACCEPTED, format!("worst error {}", percent(worst))),
        sheet.farthest(|_| true),
    );
    let at = |encoding: Encoding, reads: u32| sheet.measured(encoding.0, reads, "throughput_mb_s");
    let mostly = [0, 10, 20, 30, 40];
    let best = mostly.iter().all(|reads| at(CODED, *reads) > at(REPLICATED, *reads));
    let (coded, copies) = (at(CODED, 0), at(REPLICATED, 0));
    let waits = results.bottlenecks(&setup(REPLICATED, 0));
    sheet.claim(
        "Fig. 8",
        "for mostly-write workloads the 3-of-5 encoding performs best",
        (best, format!("all writes: {coded:.1} MB/s 3-of-5, {copies:.1} MB/s 1-of-3")),
        (!waits.iter().any(|resource| resource.starts_with("nic"))).then(|| {
            let waits: Vec<String> = waits.into_iter().collect();
            format!("writes of three copies wait for {}, not for the network", waits.join(" and "))
        }),
    );
    let error = |encoding: Encoding| {
        let rows = sheet.rows.iter().filter(|row| row.series == encoding.0);
        let errors: Vec<f64> = rows.filter_map(|row: &Row| row.error(0)).collect();
        median(&errors).unwrap_or(0.0)
    };
    let (coded, copies) = (error(CODED), error(REPLICATED));
    let drops = |truth: &Truth| truth.network.segments_dropped as f64;
    let dropped = results.truths(&setup(CODED, 100), drops).into_iter().fold(0.0, f64::max);
    sheet.claim(
        "Fig. 8",
        "3-of-5 is predicted less accurately than replication (replies of three nodes collide)",
        (
            // differences below 1 % are noise
            coded > copies.max(0.01),
            format!("median error {} for 3-of-5, {} for 1-of-3", percent(coded), percent(copies)),
        ),
        (dropped < 1.0).then(|| {
            "the replies of three nodes fit in the switch's port buffer: in no run of reads a segment is dropped"
                .to_owned()
        }),
    );
}
