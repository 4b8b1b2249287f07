//! Tests of arrays in a cluster: the truth about their caches.

use crate::common;

use common::{cluster, device, run, ssio};
use foretell_scenarios::model::{Disk, Pattern, Role, Scenario, Scheduler, WorkloadKind};
use foretell_units::{Bytes, SimSpan};

/// One node with a shipped device and almost no cache of its own, and one client that reads as often
/// as it writes, at random within `set`.
fn with(name: &str, set: Bytes) -> Scenario {
    let mut scenario = cluster(1, 1, 1, 1);
    scenario.volumes[0].size = Bytes::gib(100);
    let Role::Node(storage) = &mut scenario.hosts[0].role else { panic!("the first is a node") };
    storage.disks = vec![Disk {
        device_name: name.to_owned(),
        device: device(name),
        scheduler: Scheduler::Fcfs,
        class: None,
        db: None,
        wal: None,
    }];
    storage.cache.size = Bytes::kib(256);
    storage.cache.read_ahead = Bytes::ZERO;
    ssio(&mut scenario, 0, 0.5, 8);
    scenario.warmup = SimSpan::from_secs(20);
    scenario.workloads[0].kind = WorkloadKind::Ssio {
        read_share: 0.5,
        pattern: Pattern::Random,
        access: Bytes::kib(4),
        working_set: set,
    };
    scenario
}

#[test]
fn the_caches_of_an_array_hit_what_fits_into_them() {
    let hits = |set| {
        let truth = run(&with("ds8700-raid5", set)).unwrap();
        let array = &truth.hosts["brick0"]["disk0"];
        let (cache, written) = (array.cache.unwrap(), array.write_cache.unwrap());
        assert!(cache.pages_read > 1000 && written.pages_written > 1000);
        (cache.read_hit_rate.unwrap(), written.write_hit_rate.unwrap())
    };
    // 2048 pages stay in both caches, of 50 GB and 2 GB
    let (reads, writes) = hits(Bytes::mib(8));
    assert!(reads > 0.99 && writes > 0.99, "{reads} {writes}");
    // of 26 million pages, almost none is used twice
    let (reads, writes) = hits(Bytes::gib(100));
    assert!(reads < 0.02 && writes < 0.02, "{reads} {writes}");
}

#[test]
fn a_drive_has_no_controllers_cache_to_tell_of() {
    let truth = run(&with("nvme-3gbs", Bytes::mib(8))).unwrap();
    let drive = &truth.hosts["brick0"]["disk0"];
    assert!(drive.cache.is_none() && drive.write_cache.is_none());
}
