//! Long flows over a shared port, and distant flows alone.
//!
//! Published: with drop-tail queues a flow's throughput is inversely proportional to a power between 1 and 2
//! of the round trip, queueing included (Lakshman & Madhow, *The Performance of TCP/IP for Networks with
//! High Bandwidth-Delay Products and Random Loss*, IEEE/ACM Transactions on Networking 5(3), 1997). Linux's
//! CUBIC grows like Reno where round trips are short (RFC 9438, 4.3).

use crate::common::flows;

use flows::Flows;
use foretell_sim::network::Counts;
use foretell_units::{Bytes, SimSpan};

/// Time in which a full port of 512 KiB drains at 1 Gbit/s, ms.
const FULL_PORT_MS: f64 = 4.2;

#[test]
fn published_a_far_flow_gets_its_share_by_round_trip() {
    for (near, far) in [(50, 500), (10, 1000), (10, 5000)] {
        for seed in 1..=4 {
            let found = Flows { seed, ..Flows::of(&[near, far]) }.run();
            let rates = found.rates();
            let shown = format!("{near} and {far} us, seed {seed}: {rates:.0?}");
            // the port is kept busy, and no sender starves in any two seconds
            assert!((920.0..942.0).contains(&found.total()), "{shown}");
            assert!(found.mbits[1][1..].iter().all(|&mbit| mbit > 20.0), "{shown}");
            // the queue is between half full and full
            let ratio = |queue: f64| {
                let round_trip = |us: u64| queue + 2.0 * (us + 10) as f64 / 1e3;
                round_trip(far) / round_trip(near)
            };
            let most = ratio(FULL_PORT_MS / 2.0).powi(2);
            let least = ratio(FULL_PORT_MS);
            let unfairness = rates[0] / rates[1];
            assert!((least..most).contains(&unfairness), "{shown}: {least:.2} to {most:.2}");
        }
    }
}

#[test]
fn equal_flows_share_equally() {
    for seed in 1..=4 {
        let rates = Flows { seed, ..Flows::of(&[50, 50]) }.run().rates();
        let share = rates[0] / (rates[0] + rates[1]);
        assert!((0.45..0.55).contains(&share), "seed {seed}: {rates:.0?}");
    }
}

#[test]
fn messages_back_to_back_fill_the_window_of_a_far_flow() {
    for (us, window_kib) in
        [(5_000, 64), (5_000, 256), (20_000, 64), (20_000, 1024), (20_000, 4096)]
    {
        for message_kib in [16, 64] {
            let mut flows = Flows {
                message: Bytes::kib(message_kib),
                outstanding: (4 * window_kib / message_kib) as u32 + 8,
                duration: SimSpan::from_secs(10),
                ..Flows::of(&[us])
            };
            flows.switch.receive_window = Bytes::kib(window_kib);
            let found = flows.run().total();
            // a train of a third of the window, at most 45 segments, passes two links one after the other
            let train_us = 2.0 * 12.3 * (window_kib as f64 / 1.414 / 3.0).min(45.0);
            let round_trip_s = (2.0 * (us + 10) as f64 + train_us) / 1e6;
            let bound = (window_kib as f64 * 1024.0 * 8.0 / 1e6 / round_trip_s).min(941.0);
            let shown = format!("{us} us, {window_kib} KiB, {message_kib} KiB: {found} of {bound}");
            // the data in flight are less than the window by up to a train
            assert!(found > 0.9 * bound, "{shown}");
        }
    }
}

#[test]
fn oracle_flows_match_segment_by_segment() {
    for seed in 1..=3 {
        let flows = Flows {
            seed,
            duration: SimSpan::from_ms(500),
            outstanding: 20,
            ..Flows::of(&[50, 500, 2000])
        };
        let (fast, slow) = (flows.run(), flows.run_slowly());
        assert_eq!(fast.mbits, slow.mbits, "seed {seed}");
        // data on their way at the end become known to arrive at different times
        let known = |counts: Counts| Counts { messages_delivered: 0, ..counts };
        assert_eq!(known(fast.counts), known(slow.counts), "seed {seed}");
    }
}
