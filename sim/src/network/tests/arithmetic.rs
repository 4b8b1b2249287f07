//! Delivery times that can be calculated by hand. Links have 1 Gbit/s (8 ns a byte, 12 304 ns for
//! a full segment of 1538 bytes) and 10 us of latency, unless said otherwise.

use super::*;

/// Time of the last of `n` full segments over two links. The second link begins when it has the
/// first segment.
const fn pipelined(n: u64) -> u64 {
    n * 12_304 + 12_304 + 20_000
}

#[test]
fn a_message_alone_takes_its_time_and_a_segment() {
    // 10 segments: 123 040 ns on the wire, one segment 12 304 ns, 2 × 10 us
    let outcome = run(network(&[1000, 1000], &switch()), &[sent(0, 0, 1, 14_480)]);
    assert_eq!(outcome.delivered_ns, [pipelined(10)]);
    assert_eq!(outcome.delivered_ns, [155_344]);
    // nothing else was sent, so the time was known from the beginning
    assert_eq!(outcome.events, 1);
    // the empty message: 90 bytes on the wire, 720 ns on each link
    let outcome = run(network(&[1000, 1000], &switch()), &[sent(5, 0, 1, 0)]);
    assert_eq!(outcome.delivered_ns, [5 + 2 * 720 + 20_000]);
}

#[test]
fn a_new_connection_starts_slowly() {
    // 20 segments, of which 10 may be sent at once: three trains of a third and one of the rest.
    // The first train's 3 segments are acknowledged when its last has arrived and the
    // acknowledgement has returned, a round trip of 2 × 20 us plus a segment behind the link. Then
    // the window opens by 3.
    let outcome = run(network(&[1000, 1000], &switch()), &[sent(0, 0, 1, 28_960)]);
    let without_pause = pipelined(20);
    let [delivered] = outcome.delivered_ns[..] else { unreachable!() };
    // 10 segments take 123 us, and the first acknowledgement comes after 3 × 12.3 + 12.3 + 40 = 89
    // us plus at most a segment's time: no pause at all
    assert_eq!(delivered, without_pause);
    // over a link of 1 ms the sender waits for the first acknowledgement, and then for more
    let far = Nic { latency: SimSpan::from_ms(1), ..nic(1000) };
    let network = Network::new([far, far], &switch(), Seed(7));
    let outcome = run(network, &[sent(0, 0, 1, 28_960)]);
    let [delivered] = outcome.delivered_ns[..] else { unreachable!() };
    // 4 ms until the first acknowledgement, and 2 ms until the data that it allows arrive
    assert!((6_000_000..6_400_000).contains(&delivered), "{delivered}");
}

#[test]
fn an_open_window_is_kept_and_closes_when_idle_for_long() {
    let far = Nic { latency: SimSpan::from_ms(1), ..nic(1000) };
    let messages = [
        // 30 segments
        sent(0, 0, 1, 43_440),
        // the window now holds 14 segments
        sent(100_000_000, 0, 1, 20_272),
        // an idle second is five timeouts: back to the initial window
        sent(1_200_000_000, 0, 1, 20_272),
    ];
    let outcome = run(Network::new([far, far], &switch(), Seed(7)), &messages);
    let times: Vec<u64> =
        outcome.delivered_ns.iter().zip(messages).map(|(at, sent)| at - sent.at_ns).collect();
    let at_once = 14 * 12_304 + 12_304 + 2_000_000;
    assert!(times[0] > 6_000_000, "{times:?}");
    assert_eq!(times[1], at_once);
    assert!(times[2] > 6_000_000, "{times:?}");
}

#[test]
fn a_receive_window_limits_a_far_connection() {
    // a window of 45 segments and a round trip of 4 ms: 65 160 bytes for each, of 6 MB
    let far = Nic { latency: SimSpan::from_ms(1), ..nic(1000) };
    let narrow = Switch { receive_window: Bytes(65_160), ..switch() };
    let data = 65_160 * 100;
    let outcome = run(Network::new([far, far], &narrow, Seed(7)), &[sent(0, 0, 1, data)]);
    let seconds = outcome.delivered_ns[0] as f64 / 1e9;
    let round_trips = seconds / 0.004;
    // a train of a third of the window is acknowledged as a whole: slightly more than a round trip
    assert!((99.0..112.0).contains(&round_trips), "{round_trips}");
}

#[test]
fn a_slow_sender_does_not_hold_the_receivers_link() {
    // over 100 Mbit/s 10 segments take 1 230 400 ns; the last one takes 12 304 more at the switch
    let messages = [sent(0, 0, 2, 14_480), sent(500_000, 1, 2, 14_480)];
    let outcome = run(network(&[100, 1000, 1000], &switch()), &messages);
    // the fast message meets at most one slow segment: the slow ones arrive every 123 040 ns, at 10
    // 000 + n × 123 040. Its own, from 522 304 to 633 040, keep the link busy from 522 304 on. The
    // slow message's fifth comes at 625 200, while the last of them is on its way and the ninth has
    // not left: it takes 12 304 from the tenth.
    assert_eq!(outcome.delivered_ns[1], 500_000 + pipelined(10) + 12_304);
    assert_eq!(outcome.delivered_ns[0], 1_230_400 + 12_304 + 20_000);
}

#[test]
fn a_slow_receiver_queues_what_a_fast_sender_sends() {
    // the first segment is at the switch at 22 304; the slow link takes 123 040 for each
    let outcome = run(network(&[1000, 100], &switch()), &[sent(0, 0, 1, 14_480)]);
    assert_eq!(outcome.delivered_ns, [22_304 + 1_230_400 + 10_000]);
}

#[test]
fn senders_to_one_host_share_its_link_segment_by_segment() {
    // Both begin at the same time and their segments alternate, so both end when everything has
    // passed, or one segment earlier.
    let messages = [sent(0, 0, 2, 14_480), sent(0, 1, 2, 14_480)];
    let outcome = run(network(&[1000, 1000, 1000], &switch()), &messages);
    let end = 22_304 + 20 * 12_304 + 10_000;
    assert_eq!(outcome.delivered_ns, [end - 12_304, end]);
    // a short message does not wait for a whole long one that came first: it arrives at 10 us + 720
    // ns after 12 segments, of which the 12th is on the wire, and finds one segment before it
    let messages = [sent(0, 0, 2, 14_480 * 4), sent(150_000, 1, 2, 0)];
    let outcome = run(network(&[1000, 1000, 1000], &wide_open()), &messages);
    let waits = outcome.delivered_ns[1] - 150_000 - 2 * 720 - 20_000;
    assert!(waits < 12_304, "{waits}");
}

#[test]
fn a_host_sends_one_message_after_the_other() {
    let messages = [sent(0, 0, 1, 14_480), sent(0, 0, 2, 14_480)];
    let outcome = run(network(&[1000, 1000, 1000], &switch()), &messages);
    assert_eq!(outcome.delivered_ns, [pipelined(10), pipelined(20)]);
}

#[test]
fn both_directions_of_a_link_are_independent() {
    let messages = [sent(0, 0, 1, 14_480), sent(0, 1, 0, 14_480)];
    let outcome = run(network(&[1000, 1000], &switch()), &messages);
    assert_eq!(outcome.delivered_ns, [pipelined(10), pipelined(10)]);
}

#[test]
fn a_long_transfer_has_94_percent_of_the_line() {
    let data = 64 << 20;
    let outcome = run(network(&[1000, 1000], &switch()), &[sent(0, 0, 1, data)]);
    let share = (data * 8) as f64 / outcome.delivered_ns[0] as f64;
    // 1448 / 1538 = 0.9415, less the latencies
    assert!((0.941..0.9415).contains(&share), "{share}");
}

#[test]
fn fan_in_of_fragments_is_as_fast_as_the_receivers_link() {
    // A client reads 8 fragments of 8 segments: all at the same time, 64 segments through one
    // link.
    let messages: Vec<Sent> = (1..9).map(|node| sent(0, node, 0, 11_584)).collect();
    let outcome = run(network(&[1000; 9], &switch()), &messages);
    let last = outcome.delivered_ns.iter().max().unwrap();
    assert_eq!(*last, 22_304 + 64 * 12_304 + 10_000);
    // and a client that writes 8 fragments sends them one after the other
    let messages: Vec<Sent> = (1..9).map(|node| sent(0, 0, node, 11_584)).collect();
    let outcome = run(network(&[1000; 9], &switch()), &messages);
    let expected: Vec<u64> = (1..9).map(|node| pipelined(8 * node)).collect();
    assert_eq!(outcome.delivered_ns, expected);
}

#[test]
fn a_lost_tail_waits_for_the_timeout_or_a_probe() {
    // The buffer holds 10 segments. Two senders send 10 each at the same time: the last ones of
    // both are dropped, and no later segment could show the loss.
    let small = Switch { port_buffer: Bytes(15_380), loss_probes: false, ..switch() };
    let messages = [sent(0, 0, 2, 14_480), sent(0, 1, 2, 14_480)];
    let outcome = run(network(&[1000, 1000, 1000], &small), &messages);
    assert!(outcome.counts.segments_dropped > 0);
    assert!(outcome.counts.timeouts > 0, "{outcome:?}");
    let last = *outcome.delivered_ns.iter().max().unwrap();
    assert!((200_000_000..202_000_000).contains(&last), "{last}");
    // with probes the last segment is sent again after two round trips
    let probing = Switch { loss_probes: true, ..small };
    let outcome = run(network(&[1000, 1000, 1000], &probing), &messages);
    let last = *outcome.delivered_ns.iter().max().unwrap();
    assert_eq!(outcome.counts.timeouts, 0);
    assert!(last < 3_000_000, "{last}");
}

#[test]
fn links_alone_give_the_times_of_tcp_with_ample_windows() {
    let queue = Switch::QUEUE;
    let messages = [
        sent(0, 0, 2, 40_000),
        sent(1_000, 1, 2, 60_000),
        sent(2_000, 0, 1, 5_000),
        sent(500_000, 2, 0, 65_000),
    ];
    let tcp = run(network(&[1000, 100, 1000], &wide_open()), &messages);
    assert_eq!(run(network(&[1000, 100, 1000], &queue), &messages), tcp);
}

#[test]
fn what_goes_over_the_bridge_takes_no_link() {
    let hosts = [HostId(0), HostId(0), HostId(2)];
    let network = Network::new([nic(1000); 3], &switch(), Seed(7)).with_machines(hosts);
    let wire = Bytes(1250);
    let time = |from, to| network.link_time(HostId(from), HostId(from), HostId(to), wire);
    assert_eq!([time(0, 1), time(1, 2), time(2, 0)], [0, 10, 10].map(SimSpan::from_us));
}
