//! The scenarios that come with the program are valid, and survive being resolved.

use std::fs;
use std::path::Path;

use foretell_scenarios::model::{Arrivals, Scenario, WorkloadKind};
use foretell_scenarios::{Document, ShippedKind, shipped_names};
use foretell_units::{Bytes, SimSpan};

fn shipped(name: &str) -> Document {
    Document::shipped(name)
        .expect("it is shipped")
        .unwrap_or_else(|errors| panic!("{}", errors.lines()))
}

fn checked(document: &Document) -> Scenario {
    document.check().unwrap_or_else(|errors| panic!("{}", errors.lines()))
}

/// The document, with a trace if it needs one.
fn with_trace(name: &str, directory: &Path) -> Document {
    let mut document = shipped(name);
    if name == "trace-replay" {
        let trace = directory.join("a.trace");
        fs::write(&trace, "1\n2\n3\n").unwrap();
        document.set("workload.replay.file", trace.to_str().unwrap()).unwrap();
    }
    document
}

#[test]
fn all_are_right_and_read_back_from_their_resolved_text() {
    let directory = tempfile::tempdir().unwrap();
    for name in shipped_names() {
        let document = with_trace(name, directory.path());
        let scenario = checked(&document);
        let text = document.resolved().unwrap();
        let again = Document::parse("run.toml", &text, "elsewhere").unwrap();
        assert_eq!(checked(&again), scenario, "{name}");
        // a resolved scenario resolves to itself
        assert_eq!(again.resolved().unwrap(), text, "{name}");
    }
}

#[test]
fn every_file_in_the_directory_is_shipped() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = |directory: &Path| {
        let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().file_name());
        let mut names: Vec<String> = files
            .filter_map(|file| file.to_str()?.strip_suffix(".toml").map(str::to_owned))
            .filter(|name| name != "Cargo")
            .collect();
        names.sort();
        names
    };
    let sorted = |mut list: Vec<&str>| {
        list.sort_unstable();
        list.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let (inner, own): (Vec<_>, Vec<_>) = shipped_names().partition(|name| name.contains('/'));
    assert_eq!(names(root), sorted(own));
    let inner = inner.iter().map(|name| name.strip_prefix("ursa-minor/").unwrap()).collect();
    assert_eq!(names(&root.join("ursa-minor")), sorted(inner));
    for kind in [ShippedKind::Cpu, ShippedKind::Device, ShippedKind::Sweep] {
        let shipped = kind.files().iter().map(|(name, _)| *name).collect();
        assert_eq!(names(&root.join(kind.directory())), sorted(shipped));
    }
}

#[test]
fn first_look_is_the_example_of_the_readme() {
    let scenario = checked(&shipped("first-look"));
    assert_eq!(scenario.hosts.len(), 12);
    let names: Vec<_> = scenario.hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names[..2], ["brick0", "brick1"]);
    assert_eq!(names[8..], ["app0", "app1", "app2", "app3"]);
    let mail = &scenario.volumes[0];
    assert_eq!((mail.name.as_str(), mail.m(), mail.n(), mail.write_quorum), ("mail", 1, 3, 3));
    assert_eq!(mail.nodes.iter().map(|node| node.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(scenario.workloads.len(), 2);
}

#[test]
fn a_trace_replay_lasts_as_long_as_its_trace() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = checked(&with_trace("trace-replay", directory.path()));
    assert_eq!((scenario.duration, scenario.warmup.as_ns()), (None, 0));
    let workload = &scenario.workloads[0];
    assert!(matches!(&workload.kind, WorkloadKind::Trace { path, wrap: true, format: None, .. }
        if path.is_absolute() && path.ends_with("a.trace")));
    assert_eq!(workload.arrivals, Arrivals::Trace { speed_up: 1.0 });
}

#[test]
fn the_big_cluster_is_big() {
    let scenario = checked(&shipped("big-cluster"));
    let nodes = scenario.hosts.iter().filter(|host| host.role.storage().is_some()).count();
    let workload = &scenario.workloads[0];
    let Arrivals::Closed { outstanding, .. } = workload.arrivals else { panic!("a closed loop") };
    assert_eq!((nodes, workload.clients.len() * outstanding as usize), (1000, 10_000));
}

#[test]
fn runs_of_all_scenarios_record_what_questions_need() {
    let directory = tempfile::tempdir().unwrap();
    for name in shipped_names() {
        let tracking = checked(&with_trace(name, directory.path())).tracking;
        assert_eq!(tracking.record, "all", "{name}");
        let has_requests = tracking.kinds.iter().any(|kind| kind == "request");
        assert!(tracking.kinds.is_empty() || has_requests, "{name}");
    }
}

#[test]
fn costs_of_a_storage_system_have_their_defaults() {
    use foretell_scenarios::model::System;
    let scenario = Document::shipped("ceph").unwrap().unwrap().check().unwrap();
    let System::Ceph(ceph) = scenario.system else { panic!("{:?}", scenario.system) };
    // 100 us and 4 KiB at 2 GB/s; 150 us and 64 KiB at 1 GB/s
    assert_eq!(ceph.read.of(Bytes::kib(4)), SimSpan::from_ns(102_048));
    assert_eq!(ceph.commit.of(Bytes::kib(64)), SimSpan::from_ns(215_536));
}
