//! The fast model compared with slow ones, to the nanosecond.

use proptest::prelude::*;

use super::*;
use crate::network::segment::{Run, SEGMENT_WIRE};

/// Delivery times over links alone: every segment is in a list, sorted by arrival.
fn segment_list(mbits: &[u64], messages: &[Sent]) -> Vec<u64> {
    let time = |mbit: u64, bytes: u64| (bytes * 8_000).div_ceil(mbit);
    let mut out_free = vec![0; mbits.len()];
    // port, arrival, order of sending, bytes, message
    let mut segments = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        let run = Run::message(wire_bytes(Bytes(message.data)));
        let mbit = mbits[message.from as usize];
        let mut at = message.at_ns.max(out_free[message.from as usize]);
        let mut left = run.wire;
        while left > 0 {
            let bytes = left.min(SEGMENT_WIRE);
            left -= bytes;
            at += time(mbit, bytes);
            segments.push((message.to, at + 10_000, number, bytes));
        }
        out_free[message.from as usize] = at;
    }
    segments.sort_by_key(|&(port, arrival, number, _)| (port, arrival, number));
    let mut delivered = vec![0; messages.len()];
    let mut port_free = vec![0; mbits.len()];
    for (port, arrival, number, bytes) in segments {
        let free = &mut port_free[port as usize];
        *free = arrival.max(*free) + time(mbits[port as usize], bytes);
        delivered[number] = *free + 10_000;
    }
    delivered
}

pub(super) const MBITS: [u64; 5] = [1000, 1000, 1000, 100, 10_000];

/// Messages between five hosts; times are multiples of 4 us, so many of them are equal.
fn messages(most: usize, within_us: u64, data: u64) -> impl Strategy<Value = Vec<Sent>> {
    let one = (0..within_us / 4, 0..5_u32, 1..5_u32, 0..data).prop_map(|(at, from, hop, data)| {
        Sent { at_ns: at * 4_000, from, to: (from + hop) % 5, data }
    });
    prop::collection::vec(one, 1..most).prop_map(|mut messages| {
        messages.sort_by_key(|message| message.at_ns);
        messages
    })
}

/// Like [`messages`], at times that no other event has by chance.
pub(super) fn unequal_messages(
    most: usize,
    within_us: u64,
    data: u64,
) -> impl Strategy<Value = Vec<Sent>> {
    let one = (0..within_us * 1000, 0..5_u32, 1..5_u32, 0..data);
    prop::collection::vec(one, 1..most).prop_map(|list| {
        let sent = |(at_ns, from, hop, data)| Sent { at_ns, from, to: (from + hop) % 5, data };
        let mut messages: Vec<Sent> = list.into_iter().map(sent).collect();
        messages.sort_by_key(|message| message.at_ns);
        messages
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn oracle_links_alone_match_a_list_of_all_segments(sent in messages(60, 2_000, 65_000)) {
        let outcome = run(network(&MBITS, &Switch::QUEUE), &sent);
        prop_assert_eq!(&outcome.delivered_ns, &segment_list(&MBITS, &sent));
    }

    #[test]
    fn oracle_tcp_without_loss_matches_a_list_of_all_segments(sent in messages(60, 2_000, 65_000)) {
        let outcome = run(network(&MBITS, &wide_open()), &sent);
        prop_assert_eq!(&outcome.delivered_ns, &segment_list(&MBITS, &sent));
        prop_assert!(outcome.events <= 2 * sent.len() as u64, "{} events", outcome.events);
    }

    #[test]
    fn oracle_fast_matches_segment_by_segment(
        sent in unequal_messages(40, 3_000, 200_000),
        buffer_kb in prop::sample::select(vec![16_u64, 32, 64, 256, 100_000]),
        probes: bool,
    ) {
        let switch = Switch {
            port_buffer: Bytes::kib(buffer_kb),
            loss_probes: probes,
            ..switch()
        };
        let fast = run(network(&MBITS, &switch), &sent);
        let slow = run(network(&MBITS, &switch).segment_by_segment(), &sent);
        prop_assert_eq!(fast.delivered_ns, slow.delivered_ns);
        prop_assert_eq!(fast.counts, slow.counts);
    }

    #[test]
    fn oracle_fast_matches_segment_by_segment_with_a_shared_buffer(
        sent in unequal_messages(40, 3_000, 200_000),
        shared_kb in 16_u64..400,
        buffer_kb in prop::sample::select(vec![32_u64, 64, 100_000]),
        shared_buffer_alpha in prop::sample::select(vec![0.5, 1.0, 8.0]),
    ) {
        let switch = Switch {
            port_buffer: Bytes::kib(buffer_kb),
            shared_buffer: Some(Bytes::kib(shared_kb)),
            shared_buffer_alpha,
            ..switch()
        };
        let fast = run(network(&MBITS, &switch), &sent);
        let slow = run(network(&MBITS, &switch).segment_by_segment(), &sent);
        prop_assert_eq!(fast.delivered_ns, slow.delivered_ns);
        prop_assert_eq!(fast.counts, slow.counts);
    }
}

#[test]
fn the_same_messages_give_the_same_times() {
    let messages: Vec<Sent> =
        (0..200).map(|n| sent(n * 5_000, (n % 7) as u32, 7, 50_000)).collect();
    let small = Switch { port_buffer: Bytes::kib(64), ..switch() };
    let once = run(network(&[1000; 8], &small), &messages);
    assert!(once.counts.segments_dropped > 0);
    assert_eq!(run(network(&[1000; 8], &small), &messages), once);
}
