//! Figure 9: a client's data is moved to one of two sets of nodes. One set has a node behind 100
//! Mbit/s; the network of the other is half loaded.

use foretell_pictures::Chart;

use super::{ACCEPTED, Figure, percent, throughput_mb_s};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::Sheet;

/// Label, nodes.
const SETS: [(&str, &str); 3] = [("original", "home"), ("S1", "slow"), ("S2", "busy")];

pub(super) const MOVEMENT: Figure =
    Figure { file: "fig09", title: "Peak throughput after moving to other nodes", needs, report };

fn setup(nodes: &str) -> Setup {
    Setup::of("movement").with("volume.a.nodes", nodes)
}

fn needs(plan: &mut Plan) {
    for (_, nodes) in SETS {
        plan.compare(&setup("home"), &setup(nodes));
    }
}

fn report(results: &Results, sheet: &mut Sheet) {
    for (label, nodes) in SETS {
        let (from, to) = (setup("home"), setup(nodes));
        let of = (Some(&from), &to);
        sheet.point(results, ("client A", label), "throughput_mb_s", of, throughput_mb_s("a"));
    }
    let mut chart = Chart::bars("", sheet.title, "nodes", "MB/s");
    chart.both(sheet, "throughput_mb_s", &["client A"]);
    sheet.chart(chart);
    let worst = sheet.worst(|_| true);
    sheet.claim(
        "Fig. 9",
        "throughput after a move is predicted for both sets of nodes",
        (worst < ACCEPTED, format!("worst error {}", percent(worst))),
        sheet.farthest(|_| true),
    );
    let at = |set: &str| sheet.measured("client A", set, "throughput_mb_s");
    let (slow, busy) = (at("S1"), at("S2"));
    let load = results.busy(&setup("home"), "busy0", "nic_receive");
    sheet.claim(
        "Fig. 9",
        "one node behind 100 Mbit/s limits writes more than a network that is half loaded",
        (slow < busy, format!("{slow:.1} MB/s on S1, {busy:.1} MB/s on S2")),
        (load > 0.52)
            .then(|| format!("the other workload loads the network of S2 by {}", percent(load))),
    );
    sheet.claim(
        "Fig. 9",
        "the other workload loads the network of S2 by 50 %",
        ((0.48..0.52).contains(&load), format!("{} before the move", percent(load))),
        None,
    );
}
