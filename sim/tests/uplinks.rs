//! Tests of clusters whose racks share uplinks.

use crate::common;

use common::outages::ms;
use common::{cluster_with, run, ssio};
use foretell_scenarios::model::{Rack, Scenario, Uplinks};
use foretell_sim::truth::{Truth, WorkloadTruth};
use foretell_units::{HostId, Rate, SimSpan};

/// Four nodes, two in each rack, and a client at the core that reads copies.
fn racked(uplink_mbit: Option<u64>) -> Scenario {
    let mut scenario = cluster_with(4, 1, "1-of-2".parse().unwrap());
    scenario.warmup = ms(500);
    scenario.duration = Some(SimSpan::from_secs(5));
    ssio(&mut scenario, 0, 1.0, 16);
    scenario.uplinks = uplink_mbit.map(|mbit| {
        let rack = |name: &str, hosts: [u32; 2]| Rack {
            name: name.to_owned(),
            hosts: hosts.map(HostId).to_vec(),
        };
        let rate = Rate::bits_per_s(mbit * 1_000_000);
        Uplinks { rate, racks: vec![rack("a", [0, 1]), rack("b", [2, 3])] }
    });
    scenario
}

fn only(truth: &Truth) -> &WorkloadTruth {
    truth.workloads.values().next().expect("there is one")
}

#[test]
fn an_uplink_that_is_too_slow_is_the_bottleneck() {
    let without = run(&racked(None)).unwrap();
    let free = only(&without).throughput_bytes_per_s;
    // an eighth of what clients read, for each of two racks
    let mbit = (free * 8.0 / 1e6 / 8.0) as u64;
    let with = run(&racked(Some(mbit))).unwrap();
    assert!(with.bottleneck.resource == "uplink_transmit", "{:?}", with.bottleneck);
    let carried = only(&with).throughput_bytes_per_s * 8.0 / 1e6;
    // 94 % of the line is data; requests and answers' headers take a little of it
    let capacity = 2.0 * mbit as f64;
    assert!((0.80..0.95).contains(&(carried / capacity)), "{carried} of {capacity}");
    let uplinks: Vec<f64> =
        with.uplinks.values().map(|both| both["uplink_transmit"].utilization).collect();
    assert!(uplinks.iter().all(|share| *share > 0.9), "{uplinks:?}");
}

#[test]
fn closed_form_utilization_is_the_load_over_the_rate() {
    let with = run(&racked(Some(100_000))).unwrap();
    let seen = only(&with);
    let sum: f64 = with.uplinks.values().map(|both| both["uplink_transmit"].utilization).sum();
    // 1538 bytes on the wire for 1448 of data
    let expected = seen.throughput_bytes_per_s * 8.0 * 1538.0 / 1448.0 / 100e9;
    assert!((sum / expected - 1.0).abs() < 0.03, "{sum} {expected}");
    // fast uplinks cost nothing that matters
    let without = run(&racked(None)).unwrap();
    let ratio = seen.throughput_rps / only(&without).throughput_rps;
    assert!((ratio - 1.0).abs() < 0.02, "{ratio}");
}
