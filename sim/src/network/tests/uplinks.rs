//! Trains between racks. Links have 1 Gbit/s and 10 us of latency, unless said otherwise.

use foretell_scenarios::model::{Rack, Uplinks};
use proptest::prelude::*;

use super::slow::unequal_messages;
use super::*;

/// Two racks with uplinks of this rate: hosts 0 and 1, hosts 2 and 3. Host 4 is at the core.
fn two_racks(mbit: u64) -> Uplinks {
    let rack = |name: &str, hosts: [u32; 2]| Rack {
        name: name.to_owned(),
        hosts: hosts.map(HostId).to_vec(),
    };
    let rate = Rate::bits_per_s(mbit * 1_000_000);
    Uplinks { rate, racks: vec![rack("a", [0, 1]), rack("b", [2, 3])] }
}

fn racked(uplink_mbit: u64, switch: &Switch) -> Network {
    network(&[1000; 5], switch).with_uplinks(Some(&two_racks(uplink_mbit)))
}

#[test]
fn a_message_between_racks_takes_a_segment_more_on_each_uplink() {
    // ten segments of 12 304 ns on two links, 20 us of latency; a segment on an uplink of 10 Gbit/s
    // takes 1231 ns (1230.4, rounded up)
    let within = 10 * 12_304 + 12_304 + 20_000;
    for (from, to, uplinks) in [(0, 1, 0), (0, 2, 2), (0, 4, 1), (4, 3, 1)] {
        let outcome = run(racked(10_000, &switch()), &[sent(0, from, to, 14_480)]);
        assert_eq!(outcome.delivered_ns, [within + uplinks * 1231], "{from} to {to}");
    }
    // an empty message: 90 bytes, 720 ns on each link, 72 on each uplink
    let outcome = run(racked(10_000, &switch()), &[sent(0, 0, 2, 0)]);
    assert_eq!(outcome.delivered_ns, [2 * 720 + 2 * 72 + 20_000]);
}

#[test]
fn a_slow_uplink_sets_the_pace() {
    // 100 segments at 100 Mbit/s: 123 040 ns each; one more on the other uplink, and one on each link
    let outcome = run(racked(100, &wide_open()), &[sent(0, 0, 2, 144_800)]);
    assert_eq!(outcome.delivered_ns, [100 * 123_040 + 123_040 + 2 * 12_304 + 20_000]);
}

#[test]
fn senders_of_a_rack_share_its_uplink() {
    // two hosts of a rack send 1000 segments each to two hosts elsewhere, over one uplink of 1 Gbit/s
    let messages = [sent(0, 0, 2, 1_448_000), sent(0, 1, 4, 1_448_000)];
    let outcome = run(racked(1000, &wide_open()), &messages);
    let last = outcome.delivered_ns.iter().max().unwrap();
    let shared = 2000 * 12_304;
    assert!((shared..shared + 100_000).contains(last), "{last}");
    // within racks nothing is shared
    let messages = [sent(0, 0, 1, 1_448_000), sent(0, 2, 3, 1_448_000)];
    let outcome = run(racked(1000, &wide_open()), &messages);
    assert_eq!(outcome.delivered_ns, [1000 * 12_304 + 12_304 + 20_000; 2]);
}

#[test]
fn closed_form_the_utilization_of_an_uplink_is_its_load() {
    let mut network = racked(10_000, &wide_open());
    let outcome = run_kept(&mut network, &[sent(0, 0, 2, 1_448_000)]);
    let end = SimTime::from_ns(outcome.delivered_ns[0]);
    let [up, down] = network.uplink_usage(end, 0);
    // 1000 segments of 1538 bytes at 10 Gbit/s
    assert_eq!(up.busy, SimSpan::from_ns(1_230_400));
    assert_eq!(down.busy, SimSpan::ZERO);
    let [up, down] = network.uplink_usage(end, 1);
    assert_eq!((up.busy, down.busy), (SimSpan::ZERO, SimSpan::from_ns(1_230_400)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn oracle_the_fast_model_equals_the_slow_one(
        messages in unequal_messages(40, 3000, 200_000),
        uplink_mbit in 50_u64..20_000,
        buffer in 4_000_u64..300_000,
    ) {
        let switch = Switch { port_buffer: Bytes(buffer), ..switch() };
        let fast = run(racked(uplink_mbit, &switch), &messages);
        let slow = run(racked(uplink_mbit, &switch).segment_by_segment(), &messages);
        prop_assert_eq!(fast.delivered_ns, slow.delivered_ns);
        prop_assert_eq!(fast.counts.segments_dropped, slow.counts.segments_dropped);
    }

    #[test]
    fn uplinks_of_unlimited_rate_only_add_their_latency_of_nothing(
        messages in unequal_messages(40, 3000, 200_000),
    ) {
        // at 100 Tbit/s a segment takes 1 ns (0.12, rounded up)
        let switch = wide_open();
        let without = run(network(&[1000; 5], &switch), &messages);
        let with = run(racked(100_000_000, &switch), &messages);
        for (with, without) in with.delivered_ns.iter().zip(&without.delivered_ns) {
            prop_assert!(with.abs_diff(*without) <= 60_000, "{} {}", with, without);
        }
    }
}
