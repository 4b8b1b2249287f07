//! Tests that low-level metrics describe the hosts' activity.

use crate::common;

use std::ops::ControlFlow;

use common::{cluster, ssio};
use foretell_ati::Recorder;
use foretell_metrics::{Collected, Metric, Sample};
use foretell_scenarios::model::{Metrics, Scenario};
use foretell_sim::Cluster;
use foretell_sim::truth::Truth;
use foretell_units::SimSpan;

/// Exact clocks, so that sums can be compared.
const EXACT: Metrics = Metrics { clock_skew: SimSpan::ZERO, sample_delay: SimSpan::ZERO };

fn collected(scenario: &Scenario) -> (Truth, Collected) {
    let mut cluster = Cluster::new(scenario.clone(), Recorder::none()).unwrap();
    let truth = cluster.run(|_| ControlFlow::Continue(())).unwrap();
    (truth, cluster.take_metrics().unwrap_or_default())
}

fn scenario() -> Scenario {
    let mut scenario = cluster(3, 1, 1, 2);
    ssio(&mut scenario, 0, 0.5, 8);
    scenario.warmup = SimSpan::ZERO;
    scenario.duration = Some(SimSpan::from_secs(21));
    scenario
}

/// The mean of a host's metric over all samples except the first, which began with the run.
fn mean(samples: &[Sample], host: u32, metric: Metric) -> f64 {
    let of_host: Vec<f64> = samples
        .iter()
        .filter(|sample| sample.host == host)
        .skip(1)
        .map(|sample| sample.get(metric))
        .collect();
    of_host.iter().sum::<f64>() / of_host.len() as f64
}

#[test]
fn collecting_changes_nothing_and_is_the_same_each_time() {
    let without = scenario();
    let mut with = without.clone();
    with.tracking.metrics =
        Some(Metrics { clock_skew: SimSpan::from_ms(5), sample_delay: SimSpan::from_ms(2) });
    let ((truth, nothing), (observed, metrics)) = (collected(&without), collected(&with));
    assert_eq!(format!("{truth:?}"), format!("{observed:?}"));
    assert!(nothing.hosts.is_empty() && nothing.clients.is_empty());
    assert_eq!(collected(&with).1, metrics);
    // four hosts, one sample each second; two directions of one client, each 5 s
    assert!((80..=84).contains(&metrics.hosts.len()), "{}", metrics.hosts.len());
    assert_eq!(metrics.clients.len(), 8);
}

#[test]
fn metrics_agree_with_the_accounts_of_resources() {
    let mut scenario = scenario();
    scenario.tracking.metrics = Some(EXACT);
    let (truth, metrics) = collected(&scenario);
    for (number, host) in (0..).zip(&scenario.hosts) {
        let of = |metric| mean(&metrics.hosts, number, metric);
        let resources = &truth.hosts[&host.name];
        let busy =
            of(Metric::CpuUsr) + of(Metric::CpuSys) + of(Metric::CpuHiq) + of(Metric::CpuSiq);
        // the samples do not cover the first second, nor the time after the last sample
        let wanted = 100.0 * resources["cpu"].utilization;
        // the posted value is a sample of 250 ticks a second of each core: four deviations
        let ticks = 250.0 * truth.simulated_seconds * f64::from(host.cpu.cores);
        let chance = 4.0 * (wanted * (100.0 - wanted) / ticks).sqrt();
        let most = 0.05 * wanted + chance;
        assert!((busy - wanted).abs() < most, "{}: {busy} {wanted}", host.name);
        let all = busy + of(Metric::CpuIdl) + of(Metric::CpuWai);
        assert!((all - 100.0).abs() < 1e-6, "{}: {all}", host.name);
        if let Some(disk) = resources.get("disk0") {
            let found = of(Metric::IoRead) + of(Metric::IoWrit);
            let wanted = disk.operations as f64 / truth.simulated_seconds;
            assert!((found - wanted).abs() < 0.1 * wanted, "{}: {found} {wanted}", host.name);
            assert!(of(Metric::CpuWai) > 0.0, "clients wait for these disks");
        }
        // sent data go over the link at 1 Gbit/s, except for preamble, checksum and gap
        let wire = resources["nic_transmit"].utilization * 1e9 / 8.0;
        let sent = of(Metric::NetworkSend);
        assert!(sent > 0.9 * wire && sent < 1.05 * wire, "{}: {sent} {wire}", host.name);
    }
}

#[test]
fn drivers_count_every_request() {
    let mut scenario = scenario();
    scenario.duration = Some(SimSpan::from_secs(20));
    scenario.tracking.metrics = Some(EXACT);
    let (truth, metrics) = collected(&scenario);
    let load = &truth.workloads["load0"];
    for (is_write, wanted) in [(false, &load.read), (true, &load.write)] {
        let of = metrics.clients.iter().filter(|sample| sample.is_write == is_write);
        let (operations, time) = of.fold((0, 0), |(operations, time), sample| {
            (operations + sample.operations, time + sample.response_ns)
        });
        assert_eq!(operations, wanted.requests);
        let mean = time as f64 / 1e6 / operations as f64;
        assert!((mean - wanted.response_time_ms.mean).abs() < 1e-9 * mean);
    }
}

#[test]
fn clocks_are_off_by_their_skew_alone() {
    let mut scenario = scenario();
    scenario.tracking.metrics =
        Some(Metrics { clock_skew: SimSpan::from_ms(50), sample_delay: SimSpan::ZERO });
    let (_, metrics) = collected(&scenario);
    let times = |host| {
        let of_host = metrics.hosts.iter().filter(move |sample| sample.host == host);
        of_host.map(|sample| sample.ts_ns).collect::<Vec<_>>()
    };
    for host in 0..4 {
        // by its own clock, a collector wakes every second
        let gaps: Vec<i64> = times(host).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (gap - 1_000_000_000).abs() <= 1), "{gaps:?}");
    }
    assert_ne!(times(0)[0], times(1)[0]);
}
