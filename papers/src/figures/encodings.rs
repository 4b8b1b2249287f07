//! Figures 3 and 4: demands of six encodings on the client's processor and on the network, as given by the
//! encoding modules.
//!
//! The cost of coding alone is measured on a client that does nothing else. The demand of a whole
//! request, TCP included, is predicted from a run without redundancy and cipher.

use foretell_pictures::Chart;
use foretell_sim::truth::Truth;
use foretell_whatif::Answer;

use super::{Figure, percent};
use crate::chart::OfSheet as _;
use crate::lab::Results;
use crate::plan::{Plan, Setup};
use crate::sheet::Sheet;

/// Label, encoding, cipher.
const ENCODINGS: [(&str, &str, &str); 6] = [
    ("1-of-1", "1-of-1", "none"),
    ("1-of-1 encr", "1-of-1", "aes-128-cbc"),
    ("1-of-3", "1-of-3", "none"),
    ("1-of-3 encr", "1-of-3", "aes-128-cbc"),
    ("3-of-5", "3-of-5", "none"),
    ("3-of-5 encr", "3-of-5", "aes-128-cbc"),
];
/// The work of a request, its operation, and the share of reads that makes all requests do it.
const WAYS: [(&str, &str, &str); 2] = [("encode", "write", "0%"), ("decode", "read", "100%")];

pub(super) const CPU: Figure = Figure {
    file: "fig03",
    title: "CPU demand of encoding and decoding",
    needs: |plan| {
        needs(plan);
        for (_, _, reads) in WAYS {
            for encoding in ENCODINGS {
                plan.measure(&setup("coding", encoding, reads));
            }
        }
    },
    report: cpu,
};

pub(super) const NETWORK: Figure =
    Figure { file: "fig04", title: "Network demand of writes and reads", needs, report: network };

fn setup(scenario: &'static str, (_, encoding, cipher): (&str, &str, &str), reads: &str) -> Setup {
    Setup::of(scenario)
        .with("volume.data.encoding", encoding)
        .with("volume.data.cipher", cipher)
        .with("workload.ssio.reads", reads)
}

fn needs(plan: &mut Plan) {
    for (_, _, reads) in WAYS {
        let base = setup("micro", ENCODINGS[0], reads);
        for encoding in ENCODINGS {
            plan.compare(&base, &setup("micro", encoding, reads));
        }
    }
}

/// Demand of a request on a resource of the client, in milliseconds.
fn demand(resource: &'static str) -> (impl Fn(&Answer) -> f64, impl Fn(&Truth) -> f64) {
    let known = format!("client.{resource}");
    (
        move |found: &Answer| {
            found.workloads["ssio"].demands_ms.get(&known).copied().unwrap_or(0.0)
        },
        move |truth: &Truth| truth.hosts["app0"][resource].demand_ms_per_request,
    )
}

fn cpu(results: &Results, sheet: &mut Sheet) {
    for (way, _, reads) in WAYS {
        let base = setup("micro", ENCODINGS[0], reads);
        for encoding in ENCODINGS {
            let alone = setup("coding", encoding, reads);
            sheet.point(results, (way, encoding.0), "coding_ms", (None, &alone), demand("cpu"));
        }
        for encoding in ENCODINGS {
            let setup = setup("micro", encoding, reads);
            let of = (Some(&base), &setup);
            sheet.point(results, (way, encoding.0), "client_cpu_ms", of, demand("cpu"));
        }
    }
    let cost = |way: &str, encoding: &str| sheet.measured(way, encoding, "coding_ms");
    let cipher = cost("encode", "1-of-1 encr") - cost("encode", "1-of-1");
    let code = cost("encode", "3-of-5") - cost("encode", "1-of-3");
    let decipher = cost("decode", "1-of-1 encr") - cost("decode", "1-of-1");
    let decode = cost("decode", "3-of-5");
    let dominates = (
        cipher > code && decipher > decode,
        format!("encrypting 32 KiB {cipher:.3} ms, coding it 3-of-5 {code:.3} ms"),
    );
    let replicas = cost("encode", "1-of-3");
    let more = (
        cost("encode", "3-of-5") > replicas,
        format!("3-of-5 {:.3} ms, 1-of-3 {replicas:.3} ms", cost("encode", "3-of-5")),
    );
    let costs = ENCODINGS.map(|(encoding, ..)| cost("encode", encoding));
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = costs.iter().copied().fold(0.0, f64::max);
    let differ = (most > 10.0 * least, format!("from {least:.3} ms to {most:.3} ms a block"));
    let whole = |way: &str, encoding: &str| sheet.measured(way, encoding, "client_cpu_ms");
    let tcp = (
        whole("encode", "1-of-3") > whole("decode", "1-of-3"),
        format!(
            "1-of-3: {:.3} ms a write, {:.3} ms a read",
            whole("encode", "1-of-3"),
            whole("decode", "1-of-3")
        ),
    );
    let worst = sheet.worst(|row| row.metric == "client_cpu_ms");
    let perfect = (worst < 0.01, format!("worst error {}", percent(worst)));
    sheet.claim("Fig. 3", "encryption costs more CPU than encoding and decoding", dominates, None);
    sheet.claim("Fig. 3", "to encode, erasure coding takes more CPU than replication", more, None);
    sheet.claim(
        "Fig. 3",
        "some encodings take more than ten times the CPU of others",
        differ,
        None,
    );
    sheet.claim(
        "Fig. 3",
        "TCP takes CPU too: more for writes to three nodes than for reads from one",
        tcp,
        None,
    );
    sheet.claim("Fig. 3", "the CPU module's prediction is almost perfect", perfect, None);
    for way in ["encode", "decode"] {
        let title = format!("CPU to {way} 32 KiB");
        let mut chart = Chart::bars(way, title, "encoding", "ms a block");
        chart.measured_only(sheet, "coding_ms", &[way]);
        sheet.chart(chart);
    }
}

fn network(results: &Results, sheet: &mut Sheet) {
    for (_, way, reads) in WAYS {
        let base = setup("micro", ENCODINGS[0], reads);
        let resource = if way == "write" { "nic_transmit" } else { "nic_receive" };
        for encoding in ENCODINGS {
            let setup = setup("micro", encoding, reads);
            let of = (Some(&base), &setup);
            sheet.point(results, (way, encoding.0), "network_ms", of, demand(resource));
        }
    }
    let cost = |way: &str, encoding: &str| sheet.measured(way, encoding, "network_ms");
    let (one, three, coded) =
        (cost("write", "1-of-1"), cost("write", "1-of-3"), cost("write", "3-of-5"));
    let larger =
        (three > coded, format!("a write takes {three:.3} ms 1-of-3, {coded:.3} ms 3-of-5"));
    // copies and fragments have headers, hence the tolerance of 2 %
    let near = |ratio: f64, wanted: f64| (ratio / wanted - 1.0).abs() < 0.02;
    let lengths = (
        near(three / one, 3.0) && near(coded / one, 5.0 / 3.0),
        format!("{:.3} and {:.3} times a 1-of-1 write", three / one, coded / one),
    );
    // bytes sent beyond the data: copies and fragments have headers, and are acknowledged
    let (of_copies, of_fragments) = (three / one / 3.0 - 1.0, coded / one / (5.0 / 3.0) - 1.0);
    let added = (of_fragments > of_copies.max(0.0)).then(|| {
        format!(
            "fragments take {} more than their share of a 1-of-1 write, copies {}",
            percent(of_fragments),
            percent(of_copies)
        )
    });
    let (read, fragments) = (cost("read", "1-of-3"), cost("read", "3-of-5"));
    let same =
        (near(fragments / read, 1.0), format!("{read:.3} ms 1-of-3, {fragments:.3} ms 3-of-5"));
    let ratio = three / coded;
    let forty = (
        (1.3..1.5).contains(&ratio),
        format!(
            "{} more (and 3-of-5 takes {} less)",
            percent(ratio - 1.0),
            percent(1.0 - 1.0 / ratio)
        ),
    );
    let worst = sheet.worst(|_| true);
    let perfect = (worst < 0.01, format!("worst error {}", percent(worst)));
    sheet.claim(
        "Fig. 4",
        "at two crashes tolerated, replication loads the network more than erasure coding",
        larger,
        None,
    );
    sheet.claim(
        "Fig. 4",
        "a write sends n blocks under replication and n/m under m-of-n",
        lengths,
        added,
    );
    sheet.claim("Fig. 4", "reads take the same network bandwidth under both", same, None);
    sheet.claim(
        "Section II",
        "for writes, 3-way replication takes about 40 % more network bandwidth than 3-of-5",
        forty,
        // headers make copies and fragments differ from the rule by a few percent
        ((ratio / 1.8 - 1.0).abs() < 0.05).then(|| {
            format!(
                "the paper's own rule of Section IV-B, n blocks against n/m, gives 3 / (5/3) = 1.8; it is \
                 3-of-5 that takes {:.0} % less",
                100.0 * (1.0 - 1.0 / ratio)
            )
        }),
    );
    sheet.claim("Fig. 4", "the network module's prediction is almost perfect", perfect, None);
    for way in ["write", "read"] {
        let title = format!("Network time of a {way} of 32 KiB");
        let mut chart = Chart::bars(way, title, "encoding", "ms a request");
        chart.both(sheet, "network_ms", &[way]);
        sheet.chart(chart);
    }
}
