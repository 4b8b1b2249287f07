//! Whatever is dropped, every message is delivered once, in order on its connection. `run` asserts
//! that it is delivered once, and that every segment is accounted for.

use proptest::prelude::*;

use super::*;

fn traffic() -> impl Strategy<Value = (Vec<Sent>, Switch)> {
    let message = (0..20_000_000_u64, 0..6_u32, 1..6_u32, 0..400_000_u64);
    let messages = prop::collection::vec(message, 1..80);
    let buffer = prop_oneof![Just(1_600_u64), Just(4_000), 8_000..64_000_u64];
    let shared = prop::option::of(4_000..100_000_u64);
    (messages, buffer, shared, 1..20_u32, any::<bool>(), 0..3_usize).prop_map(
        |(list, port_buffer, shared, initial_window, loss_probes, timeout)| {
            let sent = |(at_ns, from, hop, data)| Sent { at_ns, from, to: (from + hop) % 6, data };
            let mut messages: Vec<Sent> = list.into_iter().map(sent).collect();
            messages.sort_by_key(|message| message.at_ns);
            let switch = Switch {
                port_buffer: Bytes(port_buffer),
                shared_buffer: shared.map(Bytes),
                retransmit_timeout: SimSpan::from_ms([1, 10, 200][timeout]),
                initial_window,
                loss_probes,
                ..switch()
            };
            (messages, switch)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_message_is_delivered_once_and_in_order((messages, switch) in traffic()) {
        let outcome = run(network(&[1000, 1000, 100, 1000, 100, 1000], &switch), &messages);
        let counts = outcome.counts;
        prop_assert_eq!(counts.messages_sent, messages.len() as u64);
        prop_assert_eq!(counts.messages_delivered, counts.messages_sent);
        // every segment dropped was sent again, once
        prop_assert_eq!(counts.segments_resent, counts.segments_dropped);
        let segments: u64 = messages
            .iter()
            .map(|sent| sent.data.div_ceil(1448).max(1))
            .sum();
        prop_assert_eq!(counts.segments_sent, segments + counts.segments_dropped);
        for (index, later) in messages.iter().enumerate() {
            for (before, earlier) in messages[..index].iter().enumerate() {
                if (earlier.from, earlier.to) == (later.from, later.to) {
                    let times = (outcome.delivered_ns[before], outcome.delivered_ns[index]);
                    prop_assert!(times.0 <= times.1, "{} before {}", before, index);
                }
            }
        }
    }
}
