//! TCP's throughput collapse under synchronized reads, compared with measurements of real Linux TCP.

use crate::common::incast;

use foretell_scenarios::model::Switch;
use foretell_units::{Bytes, SimSpan};
use incast::{Incast, MEASURED, SERVERS};

/// Runs of each case.
const SEEDS: u64 = 4;

/// Goodput in percent of line rate, by number of servers: the mean of several runs.
fn goodputs(servers: &[u32], buffer_kib: u64, least_timeout: SimSpan) -> Vec<f64> {
    let goodput = |&servers: &u32| {
        let incast = Incast::measured(servers, Bytes::kib(buffer_kib), least_timeout);
        // a single timeout in a hundred blocks costs a third, so one run is not representative
        (1..=SEEDS).map(|seed| Incast { seed, ..incast }.run().0 * 100.0).sum::<f64>()
            / SEEDS as f64
    };
    servers.iter().map(goodput).collect()
}

/// The index in [`SERVERS`] of the first number for which less than half the line rate is left.
fn collapse(goodputs: &[f64]) -> usize {
    goodputs.iter().position(|&goodput| goodput < 50.0).unwrap_or(SERVERS.len())
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn published_collapse_by_buffer() {
    let mut onsets = Vec::new();
    let mut differences = Vec::new();
    for (buffer_kib, measured) in MEASURED {
        let ours = goodputs(&SERVERS, buffer_kib, SimSpan::from_ms(200));
        let shown = format!("{buffer_kib} KB: {ours:.0?}, measured {measured:.0?}");
        // half the rate is lost with the same number of servers, or with the next number measured
        let (onset, wanted) = (collapse(&ours), collapse(&measured));
        assert!(onset.abs_diff(wanted) <= 1, "{shown}");
        onsets.push(SERVERS[onset]);
        // well before that, most of the rate is left; well beyond, little, but not nothing
        assert!(ours[..wanted - 1].iter().all(|&goodput| goodput > 60.0), "{shown}");
        let floor = if buffer_kib == 128 { 15.0..40.0 } else { 4.0..20.0 };
        assert!(floor.contains(&ours[9]), "{shown}");
        differences
            .extend(ours.iter().zip(measured).map(|(ours, measured)| (ours - measured).abs()));
        assert!(differences.iter().all(|&points| points < 40.0), "{shown}");
    }
    // doubling the buffer about doubles the number of servers before the collapse
    for pair in onsets.windows(2) {
        let factor = f64::from(pair[1]) / f64::from(pair[0]);
        assert!((1.3..3.1).contains(&factor), "{onsets:?}");
    }
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    assert!(mean < 9.0, "{mean} points on average");
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn published_recovery_by_small_timeouts() {
    // measured: 79 to 85 % with 10 ms and 88 to 90 % with 1 ms, for 4 to 32 servers
    let servers = [4, 8, 16, 32];
    let collapsed = goodputs(&servers, 64, SimSpan::from_ms(200));
    let ten = goodputs(&servers, 64, SimSpan::from_ms(10));
    let one = goodputs(&servers, 64, SimSpan::from_ms(1));
    assert!(collapsed[1..].iter().all(|&goodput| goodput < 60.0), "{collapsed:?}");
    assert!(ten.iter().all(|goodput| (70.0..95.0).contains(goodput)), "{ten:?}");
    assert!(one.iter().all(|goodput| (75.0..95.0).contains(goodput)), "{one:?}");
    let mean = |goodputs: &[f64]| goodputs.iter().sum::<f64>() / goodputs.len() as f64;
    assert!(mean(&one) > mean(&ten), "{one:?} {ten:?}");
}

#[test]
fn links_alone_do_not_collapse() {
    let mut incast = Incast::measured(32, Bytes::kib(32), SimSpan::from_ms(200));
    incast.switch = Switch::QUEUE;
    let (goodput, counts, _) = incast.run();
    assert!(goodput > 0.93, "{goodput}");
    assert_eq!(counts.segments_dropped, 0);
}

#[test]
fn probes_for_losses_at_the_end_save_timeouts() {
    let mut incast = Incast::measured(8, Bytes::kib(64), SimSpan::from_ms(200));
    let (with, _, _) = incast.run();
    incast.switch.loss_probes = false;
    let (without, _, _) = incast.run();
    assert!(without < with, "{without} {with}");
}

#[test]
fn oracle_incast_matches_segment_by_segment() {
    for servers in [2, 5, 12] {
        let incast = Incast {
            rounds: 10,
            ..Incast::measured(servers, Bytes::kib(64), SimSpan::from_ms(200))
        };
        let ((fast, counts, events), (slow, slow_counts, slow_events)) =
            (incast.run(), incast.run_slowly());
        assert_eq!((fast.to_bits(), counts), (slow.to_bits(), slow_counts), "{servers} servers");
        assert!(events < slow_events, "{events} {slow_events}");
    }
}
