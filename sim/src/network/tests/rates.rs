//! Links whose rate changes while messages are on their way.

use proptest::prelude::*;

use super::slow::{MBITS, unequal_messages};
use super::*;

#[test]
fn what_has_arrived_goes_at_the_old_rate_and_the_rest_at_the_new_one() {
    // ten segments arrive at the switch every 12 304 ns, the first at 22 304. At 50 000 three have arrived. The third
    // leaves at 22 304 + 3 × 12 304 = 59 216, and the other seven take 49 216 each
    let rates = [RateChange { at_ns: 50_000, host: 1, mbit: 250 }];
    let outcome = run_with(network(&[1000, 1000], &wide_open()), &[sent(0, 0, 1, 14_480)], &rates);
    assert_eq!(outcome.delivered_ns, [59_216 + 7 * 49_216 + 10_000]);
    // fast again at 200 000: the remaining segments had all arrived by then. Everything that waits has a place in the
    // timetable, at the rate of its time of arrival
    let rates = [rates[0], RateChange { at_ns: 200_000, host: 1, mbit: 1000 }];
    let outcome = run_with(network(&[1000, 1000], &wide_open()), &[sent(0, 0, 1, 14_480)], &rates);
    assert_eq!(outcome.delivered_ns, [59_216 + 7 * 49_216 + 10_000]);
    // fast again at 75 000: the fourth and the fifth take 49 216, and the last five 12 304 each after them
    let rates = [rates[0], RateChange { at_ns: 75_000, host: 1, mbit: 1000 }];
    let outcome = run_with(network(&[1000, 1000], &wide_open()), &[sent(0, 0, 1, 14_480)], &rates);
    assert_eq!(outcome.delivered_ns, [59_216 + 2 * 49_216 + 5 * 12_304 + 10_000]);
}

#[test]
fn what_the_adapter_has_taken_leaves_at_the_old_rate() {
    let rates = [RateChange { at_ns: 50_000, host: 0, mbit: 250 }];
    let messages = [sent(0, 0, 1, 14_480), sent(60_000, 0, 1, 14_480)];
    let outcome = run_with(network(&[1000, 1000], &wide_open()), &messages, &rates);
    // the second message begins when the first has left, at 123 040
    let second = 123_040 + 10 * 49_216 + 12_304 + 20_000;
    assert_eq!(outcome.delivered_ns, [11 * 12_304 + 20_000, second]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_rate_from_the_beginning_is_that_of_a_slower_link(
        sent in unequal_messages(40, 3_000, 200_000),
        host in 0..5_u32,
        buffer_kb in prop::sample::select(vec![32_u64, 100_000]),
    ) {
        let switch = Switch { port_buffer: Bytes::kib(buffer_kb), ..switch() };
        let mut mbits = MBITS;
        mbits[host as usize] /= 4;
        let change = RateChange { at_ns: 0, host, mbit: mbits[host as usize] };
        let changed = run_with(network(&MBITS, &switch), &sent, &[change]);
        prop_assert_eq!(changed.delivered_ns, run(network(&mbits, &switch), &sent).delivered_ns);
    }

    #[test]
    fn oracle_fast_matches_segment_by_segment_while_rates_change(
        sent in unequal_messages(40, 3_000, 200_000),
        changes in prop::collection::vec((0..4_000_000_u64, 0..5_u32, 1..8_u64), 1..6),
        buffer_kb in prop::sample::select(vec![16_u64, 64, 100_000]),
        shared_kb in prop::sample::select(vec![None, Some(64_u64), Some(400)]),
    ) {
        let switch = Switch {
            port_buffer: Bytes::kib(buffer_kb),
            shared_buffer: shared_kb.map(Bytes::kib),
            ..switch()
        };
        let change = |(at_ns, host, slower)| {
            RateChange { at_ns, host, mbit: MBITS[host as usize] / slower }
        };
        let mut rates: Vec<RateChange> = changes.into_iter().map(change).collect();
        rates.sort_by_key(|change| change.at_ns);
        let fast = run_with(network(&MBITS, &switch), &sent, &rates);
        let slow = run_with(network(&MBITS, &switch).segment_by_segment(), &sent, &rates);
        prop_assert_eq!(fast.delivered_ns, slow.delivered_ns);
        prop_assert_eq!(fast.counts, slow.counts);
    }
}
