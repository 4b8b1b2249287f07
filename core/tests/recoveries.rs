//! How far a recovery is when the run ends before it: checked against a run that sees its end.

use foretell_core::{Outcome, Scenario, run, unwatched};

const HEARTBEATS: &str = "heartbeat = \"100 ms\"\ngrace = \"200 ms\"\nout_after = \"300 ms\"\n";
const FAILS: &str = "what = \"fail\"\nhost = \"osd0\"";

/// Parts of a scenario: lines of TOML.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    cluster: &'a str,
    volume: &'a str,
    /// What makes a recovery necessary after a second.
    event: &'a str,
    recovery: &'a str,
}

/// An almost idle cluster with slow links, simulated for some seconds.
fn outcome(case: Case<'_>, seconds: f64) -> Outcome {
    let Case { cluster, volume, event, recovery } = case;
    let text = format!(
        "warmup = \"0 s\"\nduration = \"{seconds} s\"\nrecord = \"none\"\n{cluster}\n\
         [client.app]\ncount = 2\ncpu = \"xeon-2023\"\n\
         [node.osd]\ncount = 5\ncpu = \"xeon-2023\"\ncache = {{ size = \"64 MiB\" }}\n\
         disk = [\"cheetah-15k\"]\nnic = {{ rate = \"20 Mbit/s\" }}\n\
         [volume.data]\nsize = \"64 MiB\"\nnodes = \"osd\"\ngroup = \"64 KiB\"\n{volume}\n\
         [workload.load]\nvolume = \"data\"\nclient = \"app1\"\nkind = \"ssio\"\nreads = \"100%\"\n\
         access = \"8 KiB\"\narrivals = \"poisson\"\nrate = 2\n\
         [event.e]\nat = \"1 s\"\n{event}\n[recovery]\n{recovery}"
    );
    let scenario = Scenario::parse(&text, "").unwrap_or_else(|error| panic!("{error}\n{text}"));
    run(&scenario, unwatched).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn an_unfinished_recovery_says_how_much_is_left() {
    let ceph = "[cluster]\nsystem = \"ceph\"\nplacement_groups_per_osd = 40";
    let swift = "[cluster]\nsystem = \"swift\"\nproxies = \"app0\"\npartition_power = 6";
    let copies = "encoding = \"1-of-3\"";
    let code = "encoding = \"2-of-4\"";
    let replicators = "replicator_interval = \"100 ms\"\n";
    let ring = "what = \"drain\"\nhost = \"osd0\"";
    let converts = "what = \"set\"\nset = { \"volume.data.encoding\" = \"2-of-4\" }";
    let in_ceph = Case { cluster: ceph, volume: copies, event: FAILS, recovery: HEARTBEATS };
    let in_ursa_minor = Case { cluster: "", ..in_ceph };
    let in_swift = Case { cluster: swift, event: ring, recovery: replicators, ..in_ceph };
    let cases = [
        in_ceph,
        Case { volume: code, ..in_ceph },
        in_ursa_minor,
        Case { volume: code, ..in_ursa_minor },
        Case { event: ring, ..in_ursa_minor },
        Case { event: converts, ..in_ursa_minor },
        in_swift,
    ];
    for case in cases {
        let whole = outcome(case, 300.0);
        let found = &whole.truth.outages.as_ref().unwrap().recoveries;
        let [one] = found.as_slice() else { panic!("{case:?}: {found:?}") };
        let (began, ended) = (one.began_s, one.ended_s.unwrap());
        let left = one.hours_left.unwrap();
        assert!((one.share_done - 1.0).abs() < 1e-12 && left.high.abs() < 1e-12, "{one:?}");
        let rate = one.bytes_written as f64 / (ended - began);
        assert!((one.rate_bytes_per_s / rate - 1.0).abs() < 1e-6, "{one:?}");
        for share in [0.3, 0.6] {
            let cut = outcome(case, began + share * (ended - began));
            let one = &cut.truth.outages.as_ref().unwrap().recoveries[0];
            assert_eq!(one.ended_s, None);
            let left = one.hours_left.unwrap_or_else(|| panic!("{case:?}: {one:?}"));
            let truth = (1.0 - share) * (ended - began) / 3600.0;
            let off = left.value / truth - 1.0;
            // the last fragments wait for the same few hosts, so that the rate may fall to half
            assert!((-0.5..0.35).contains(&off), "{case:?}: {off} {one:?}, {truth} h");
            assert!((one.share_done - share).abs() < 0.2, "{case:?} {share}: {one:?}");
            assert!(left.low <= left.value && left.value <= left.high, "{left:?}");
        }
    }
}

#[test]
fn a_recovery_that_waits_has_a_reason_instead() {
    // with `min_size = 3` the two hosts that are left do not serve, and nothing can be rebuilt
    let event = "what = \"fail\"\nhost = \"osd[0-2]\"\nfor = \"2 s\"\n[event.f]\nat = \"5 s\"\n\
                 what = \"fail\"\nhost = \"osd[0-2]\"";
    let ceph = "[cluster]\nsystem = \"ceph\"\nplacement_groups_per_osd = 40";
    let volume = "encoding = \"1-of-3\"";
    let found = outcome(Case { cluster: ceph, volume, event, recovery: HEARTBEATS }, 40.0);
    let found = found.truth.outages.unwrap();
    for one in found.recoveries.iter().filter(|one| one.ended_s.is_none()) {
        assert_eq!(one.hours_left.is_none(), one.why.is_some(), "{one:?}");
    }
    assert!(found.waiting_below_min_size > 0, "{found:?}");
}
