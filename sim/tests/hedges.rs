//! Tests of hedged reads: their number, their benefit, and that they do no harm.

use crate::common;

use common::outages::{event, fails, ms, recovery, set_working_set, with};
use common::{cluster_with, run, ssio};
use foretell_algorithms::codec::Encoding;
use foretell_scenarios::model::{Arrivals, Hedge, Payload, Placement, ReadFrom, Scenario, Think};
use foretell_scenarios::outages::Action;
use foretell_sim::truth::{Truth, WorkloadTruth};
use foretell_units::{Bytes, SimSpan};

/// Requests of 8 KiB on five nodes. A share of them are reads.
fn small(encoding: &str, reads: f64, outstanding: u32) -> Scenario {
    let encoding: Encoding = encoding.parse().unwrap();
    let mut scenario = cluster_with((encoding.n() as u32).max(5), 1, encoding);
    scenario.warmup = ms(500);
    scenario.duration = Some(SimSpan::from_secs(10));
    ssio(&mut scenario, 0, reads, outstanding);
    scenario
}

fn hedged(mut scenario: Scenario, hedge: Hedge) -> Scenario {
    scenario.volumes[0].hedge = Some(hedge);
    scenario
}

fn mail(truth: &Truth) -> &WorkloadTruth {
    truth.workloads.values().next().expect("there is one")
}

/// The truth as text, without the fields for hedged reads.
fn as_text(truth: &Truth) -> String {
    let mut truth = truth.clone();
    truth.wall_seconds = 0.0;
    truth.workloads.values_mut().for_each(|workload| workload.hedges = None);
    format!("{truth:?}")
}

#[test]
fn a_hedge_that_never_comes_changes_nothing() {
    for (encoding, quorum) in [("1-of-3", 2), ("3-of-5", 4), ("lrc(4,2,1)", 7)] {
        for read_from in [ReadFrom::Primary, ReadFrom::Random] {
            let mut scenario = small(encoding, 0.7, 6);
            let volume = &mut scenario.volumes[0];
            (volume.write_quorum, volume.read_from) = (quorum, read_from);
            // some requests lie in two groups
            set_working_set(&mut scenario, Bytes::mib(512), Bytes::kib(24));
            let without = run(&scenario).unwrap();
            let never = hedged(scenario, Hedge::After(SimSpan::from_secs(1000)));
            let never = run(&never).unwrap();
            assert_eq!(mail(&never).hedges, Some(0));
            assert_eq!(as_text(&without), as_text(&never), "{encoding} {read_from:?}");
        }
    }
}

#[test]
fn closed_form_above_a_percentile_are_as_many_as_it_says() {
    // the delay does not move: even a read that a hedge shortens still exceeds the percentile
    for (encoding, share, expected) in
        [("1-of-3", 900, 0.1), ("1-of-3", 500, 0.5), ("2-of-4", 950, 0.05)]
    {
        let mut scenario = hedged(small(encoding, 1.0, 1), Hedge::Quantile(share));
        scenario.volumes[0].read_from = ReadFrom::Random;
        (scenario.warmup, scenario.duration) =
            (SimSpan::from_secs(10), Some(SimSpan::from_secs(100)));
        let truth = run(&scenario).unwrap();
        let found = mail(&truth).hedges.unwrap() as f64 / mail(&truth).requests as f64;
        // three standard deviations for this number of reads
        let off = 3.0 * (expected * (1.0 - expected) / mail(&truth).requests as f64).sqrt();
        assert!((found - expected).abs() < off, "{encoding} p{share}: {found} +- {off}");
    }
}

#[test]
fn closed_form_a_slow_node_costs_the_delay_and_no_more() {
    // its processor takes 10,000 times as long: 100 ms a request
    for encoding in ["1-of-2", "3-of-5", "lrc(2,2,1)"] {
        let mut scenario = small(encoding, 1.0, 1);
        set_working_set(&mut scenario, Bytes::mib(8), Bytes::kib(8));
        (scenario.volumes[0].placement, scenario.volumes[0].group) =
            (Placement::Hash, Bytes::kib(64));
        scenario.workloads[0].arrivals =
            Arrivals::Closed { outstanding: 1, think: Think::Fixed(SimSpan::from_secs(1)) };
        (scenario.warmup, scenario.duration) =
            (SimSpan::from_secs(1), Some(SimSpan::from_secs(60)));
        let mut recovery = recovery();
        recovery.timeout = SimSpan::from_secs(20);
        let slow = event(1, 0, Action::Slow { factor: 10_000.0 });
        let scenario = with(scenario, vec![slow], recovery);
        let slowest = |scenario: &Scenario| mail(&run(scenario).unwrap()).response_time_ms.max;
        let (without, within) =
            (slowest(&scenario), slowest(&hedged(scenario.clone(), Hedge::After(ms(40)))));
        assert!(without > 200.0, "{encoding}: {without}");
        // besides the delay, at most one or two reads of the disk
        assert!(within > 40.0 && within < 90.0, "{encoding}: {within}");
    }
}

#[test]
fn what_is_read_is_what_was_written_whoever_answers_first() {
    for encoding in ["1-of-2", "2-of-3", "3-of-5", "lrc(4,2,1)", "lrc(2,2,2)"] {
        for hedge in [Hedge::After(SimSpan::from_us(1)), Hedge::After(ms(2)), Hedge::Quantile(500)]
        {
            let mut scenario = hedged(small(encoding, 0.5, 4), hedge);
            scenario.payload = Payload::Real;
            scenario.duration = Some(SimSpan::from_secs(3));
            set_working_set(&mut scenario, Bytes::mib(8), Bytes::kib(12));
            let truth =
                run(&scenario).unwrap_or_else(|error| panic!("{encoding} {hedge:?}: {error}"));
            assert!(truth.blocks_compared > Some(100), "{encoding}");
            let hedges = mail(&truth).hedges.unwrap();
            assert!(hedges > 10, "{encoding} {hedge:?}: {hedges}");
            if hedge == Hedge::After(SimSpan::from_us(1)) {
                // each read, and each write that reads the rest of its blocks, is hedged
                assert!(hedges >= mail(&truth).read.requests, "{encoding}: {hedges}");
            }
        }
    }
}

#[test]
fn where_nobody_else_is_up_there_is_no_hedge() {
    let scenario = hedged(small("1-of-2", 1.0, 2), Hedge::After(SimSpan::from_us(1)));
    let mut scenario =
        with(scenario, (1..5).map(|host| fails(1, host, true)).collect(), recovery());
    scenario.volumes[0].nodes.truncate(2);
    let truth = run(&scenario).unwrap();
    let per_read = mail(&truth).hedges.unwrap() as f64 / mail(&truth).requests as f64;
    assert!(per_read < 0.1, "{per_read}");
}
