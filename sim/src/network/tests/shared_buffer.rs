//! Tests of buffer memory that ports share.

use super::*;

/// Senders 0 to 7 each send one burst to hosts 8 and above; `to` gives the receivers.
fn bursts(to: &[u32]) -> Vec<Sent> {
    (0..).zip(to).map(|(from, &to)| sent(u64::from(from), from, to, 60_000)).collect()
}

fn dropped(messages: &[Sent], size: u64, alpha: f64) -> u64 {
    let switch =
        Switch { shared_buffer: Some(Bytes(size)), shared_buffer_alpha: alpha, ..wide_open() };
    run(network(&[1000; 16], &switch), messages).counts.segments_dropped
}

#[test]
fn one_busy_port_gets_its_share_of_the_pool() {
    // Two senders of 42 segments: 41 or 42 of the 84 wait when the last arrive, 64 KB.
    let messages = bursts(&[8, 8]);
    let waiting = 41 * 1538;
    // a port may use alpha / (1 + alpha) of the pool: half of it with 1, eight ninths with 8
    assert_eq!(dropped(&messages, 2 * waiting + 8_000, 1.0), 0);
    assert!(dropped(&messages, 2 * waiting - 8_000, 1.0) > 0);
    assert_eq!(dropped(&messages, 9 * waiting / 8 + 8_000, 8.0), 0);
    assert!(dropped(&messages, 9 * waiting / 8 - 8_000, 8.0) > 0);
}

#[test]
fn busy_ports_leave_each_other_less() {
    // with alpha = 1 each of n busy ports gets 1 / (1 + n): enough for one is not enough for three
    let (one, three) = (bursts(&[8, 8]), bursts(&[8, 8, 9, 9, 10, 10]));
    let enough_for_one = 2 * 41 * 1538 + 8_000;
    assert_eq!(dropped(&one, enough_for_one, 1.0), 0);
    assert!(dropped(&three, enough_for_one, 1.0) > 0);
    let enough_for_three = 4 * 41 * 1538 + 16_000;
    assert_eq!(dropped(&three, enough_for_three, 1.0), 0);
}

#[test]
fn a_ports_own_limit_holds_beside_the_pool() {
    let switch =
        Switch { shared_buffer: Some(Bytes::mib(64)), port_buffer: Bytes::kib(32), ..wide_open() };
    let outcome = run(network(&[1000; 16], &switch), &bursts(&[8, 8]));
    assert!(outcome.counts.segments_dropped > 0);
    // with an ample pool the ports behave as if each had its own buffer
    let own = Switch { shared_buffer: None, ..switch };
    let alone = run(network(&[1000; 16], &own), &bursts(&[8, 8]));
    assert_eq!(alone.delivered_ns, outcome.delivered_ns);
}

#[test]
fn oracle_a_shared_buffer_walked_matches_segment_by_segment() {
    for seed in 0..40 {
        let mut draws = Seed(seed).stream("shared");
        let mut messages: Vec<Sent> = (0..60)
            .map(|_| {
                let from = draws.below(8) as u32;
                let to = 8 + draws.below(3) as u32;
                sent(draws.below(3_000_000), from, to, draws.below(100_000))
            })
            .collect();
        messages.sort_by_key(|sent| sent.at_ns);
        let switch = Switch {
            shared_buffer: Some(Bytes::kib(40 + seed * 8)),
            port_buffer: Bytes::kib(64),
            ..switch()
        };
        let fast = run(network(&[1000; 12], &switch), &messages);
        let slow = run(network(&[1000; 12], &switch).segment_by_segment(), &messages);
        assert_eq!(fast.delivered_ns, slow.delivered_ns, "seed {seed}");
        assert_eq!(fast.counts, slow.counts, "seed {seed}");
    }
}
