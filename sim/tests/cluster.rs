//! Tests of whole clusters, with small ones.

use crate::common;

use common::{cluster, run, run_recorded, run_with, ssio};
use foretell_ati::{Body, KindSet, Record, RecordKind, Recorder, Selection};
use foretell_scenarios::model::{
    Cipher, Guest, Intervals, Layout, Payload, ReadFrom, Role, Scheduler, TrackingCost,
    WorkloadKind, WritePolicy,
};
use foretell_sim::truth::Truth;
use foretell_units::{Breadcrumb, Bytes, HostId, SimSpan};

#[test]
fn every_request_is_served_under_every_encoding() {
    for (m, n) in [(1, 1), (1, 3), (2, 3), (3, 5), (5, 5)] {
        for cipher in [Cipher::None, Cipher::Aes128Cbc] {
            let mut scenario = cluster(6, 1, m, n);
            scenario.volumes[0].cipher = cipher;
            ssio(&mut scenario, 0, 0.5, 8);
            let truth = run(&scenario).unwrap();
            let load = &truth.workloads["load0"];
            assert!(load.requests > 100, "{m}-of-{n}: {load:?}");
            assert!((load.outstanding_mean - 8.0).abs() < 1e-9, "{m}-of-{n}: closed loop of 8");
        }
    }
}

#[test]
fn real_bytes_come_back() {
    for (m, n, quorum) in [(1, 1, 1), (1, 3, 2), (3, 5, 5), (3, 5, 4), (2, 2, 2)] {
        for (cipher, access) in [
            (Cipher::None, Bytes::kib(32)),
            (Cipher::Aes128Cbc, Bytes::kib(32)),
            (Cipher::None, Bytes(1536)),
            (Cipher::Aes128Cbc, Bytes(1536)),
        ] {
            for read_from in [ReadFrom::Primary, ReadFrom::Random] {
                let mut scenario = cluster(5, 1, m, n);
                scenario.payload = Payload::Real;
                scenario.duration = Some(SimSpan::from_ms(300));
                let volume = &mut scenario.volumes[0];
                (volume.cipher, volume.write_quorum, volume.read_from) =
                    (cipher, quorum, read_from);
                ssio(&mut scenario, 0, 0.5, 16);
                if let WorkloadKind::Ssio { access: size, working_set, .. } =
                    &mut scenario.workloads[0].kind
                {
                    (*size, *working_set) = (access, Bytes::mib(1));
                }
                let truth = run(&scenario).unwrap();
                assert!(truth.blocks_compared.unwrap() > 100, "{m}-of-{n} {cipher:?} {access}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_truth_recorded_or_not() {
    let mut scenario = cluster(4, 2, 2, 3);
    ssio(&mut scenario, 0, 0.7, 4);
    ssio(&mut scenario, 1, 0.2, 2);
    let text = |truth| format!("{truth:?}");
    let first = text(run(&scenario).unwrap());
    assert_eq!(first, text(run(&scenario).unwrap()));
    let (truth, recorder) = run_recorded(&scenario);
    assert_eq!(first, text(truth));
    assert!(recorder.records().len() > 10_000);
}

#[test]
fn write_policies_layouts_and_limits_all_flow() {
    for write in [WritePolicy::Back, WritePolicy::Through] {
        for layout in [Layout::InPlace, Layout::LogStructured { segment: Bytes::kib(512) }] {
            for limit in [Bytes::kib(4), Bytes::mib(1), Bytes::mib(26)] {
                let mut scenario = cluster(3, 1, 1, 3);
                for host in &mut scenario.hosts {
                    if let Role::Node(storage) = &mut host.role {
                        storage.cache.write = write;
                        storage.layout = layout;
                        storage.cache.dirty_limit = limit;
                        storage.cache.dirty_background = limit / 2;
                    }
                }
                ssio(&mut scenario, 0, 0.3, 8);
                let truth = run(&scenario).unwrap();
                assert!(truth.requests_completed > 50, "{write:?} {layout:?} {limit}");
            }
        }
    }
}

#[test]
fn a_tracked_cluster_is_a_little_slower() {
    let mut scenario = cluster(3, 1, 1, 3);
    ssio(&mut scenario, 0, 1.0, 4);
    if let WorkloadKind::Ssio { working_set, .. } = &mut scenario.workloads[0].kind {
        *working_set = Bytes::mib(16);
    }
    scenario.tracking.cost = Some(tracking_cost());
    scenario.tracking.record = "all".to_owned();
    let free = run(&scenario).unwrap().workloads["load0"].throughput_rps;
    let tracked = run_recorded(&scenario).0.workloads["load0"].throughput_rps;
    assert!(tracked < free && tracked > 0.9 * free, "{tracked} of {free}");
}

#[test]
fn records_of_a_guest_cost_its_machine() {
    // one machine with two guests, of which only the second works
    let mut scenario = cluster(1, 2, 1, 1);
    for host in &mut scenario.hosts[1..] {
        host.guest = Some(guest());
    }
    ssio(&mut scenario, 1, 1.0, 4);
    if let WorkloadKind::Ssio { working_set, .. } = &mut scenario.workloads[0].kind {
        *working_set = Bytes::mib(16);
    }
    // one batch for two requests
    scenario.tracking.cost = Some(TrackingCost { batch: Bytes(256), ..tracking_cost() });
    let requests = KindSet::EMPTY.with(RecordKind::Request);
    let selection = Selection::ALL.of_kinds(requests);
    let (tracked, recorder) = run_with(&scenario, Recorder::in_memory(selection)).unwrap();
    let free = run(&scenario).unwrap();
    // requests are posted by the guest that issues them, and by no other host
    assert!(recorder.records().iter().all(|record| record.header.host == HostId(2)));
    // two posts of 0.5 us per request, and the sending of batches, are the machine's work
    let work = |truth: &Truth| truth.hosts["app0"]["cpu"].demand_ms_per_request;
    assert!(work(&tracked) >= work(&free) + 0.001, "{} {}", work(&tracked), work(&free));
    // the batches leave by the machine's link
    let sent = |truth: &Truth, host: &str| truth.hosts[host]["nic_transmit"].operations;
    assert!(sent(&tracked, "app0") > tracked.workloads["load0"].requests * 5 / 4);
    assert_eq!(sent(&tracked, "app1"), 0);
}

#[test]
fn a_journal_in_a_coded_volume_fetches_what_it_covers_in_part() {
    let mut scenario = cluster(5, 1, 3, 5);
    let journal_commit = SimSpan::from_ms(100);
    scenario.hosts[5].guest = Some(Guest { journal_commit, ..guest() });
    scenario.volumes[0].cipher = Cipher::Aes128Cbc;
    scenario.payload = Payload::Real;
    scenario.duration = Some(SimSpan::from_secs(2));
    ssio(&mut scenario, 0, 0.5, 4);
    let (truth, recorder) = run_recorded(&scenario);
    assert!(truth.blocks_compared.unwrap() > 100);
    // commits are not requests
    let journal = |record: &&Record| {
        matches!(record.body, Body::NetworkTransmit { sender: 5, .. })
            && record.header.breadcrumb == Breadcrumb::NONE
    };
    let sent: Vec<_> = recorder.records().iter().filter(journal).collect();
    assert!(sent.len() > 100, "{}", sent.len());
    // a fetch asks three nodes, with only the header; a write goes to five
    let asks = sent.iter().filter(|record| match record.body {
        Body::NetworkTransmit { numbytes, .. } => numbytes < 1024,
        _ => false,
    });
    assert!(asks.count() * 5 >= sent.len(), "blocks that a commit fills in part are fetched");
}

fn tracking_cost() -> TrackingCost {
    TrackingCost {
        buffer: Bytes::mib(16),
        record: Bytes(64),
        batch: Bytes::kib(64),
        store: HostId(0),
    }
}

fn guest() -> Guest {
    Guest {
        scheduler: Scheduler::Noop,
        queue_depth: 32,
        largest: Bytes::kib(512),
        hypervisor: SimSpan::ZERO,
        journal_commit: SimSpan::ZERO,
    }
}

#[test]
fn what_has_ended_is_not_measured_anew() {
    let mut scenario = cluster(3, 1, 1, 1);
    (scenario.warmup, scenario.duration) = (SimSpan::ZERO, Some(SimSpan::from_secs(1)));
    let longest = SimSpan::from_secs(8);
    scenario.intervals = Some(Intervals { count: 2, requests: 1, error: 0.0, longest });
    ssio(&mut scenario, 0, 1.0, 4);
    // while requests keep coming, intervals never agree as closely as that
    let grown = run(&scenario).unwrap();
    assert!((grown.simulated_seconds - 8.0).abs() < 1e-9, "{}", grown.simulated_seconds);
    scenario.workloads[0].requests = Some(20);
    let ended = run(&scenario).unwrap();
    assert!((ended.simulated_seconds - 1.0).abs() < 1e-9, "{}", ended.simulated_seconds);
    assert_eq!(ended.workloads["load0"].requests, 20);
}
