//! `survives` and `serves`, checked by simulation: as many hosts fail as the figures say, whichever they are, and then one
//! more.

use std::fmt::Write as _;

use foretell_core::{Outcome, Scenario, run, unwatched};

/// A cluster with a volume of many groups and a client that uses all of it.
struct Cluster {
    nodes: usize,
    /// Text of the node, the cluster, `recovery` and the volume.
    node: &'static str,
    system: &'static str,
    recovery: &'static str,
    volume: &'static str,
}

const CEPH: &str = "[cluster]\nsystem = \"ceph\"\nplacement_groups_per_osd = 12\n";
const CEPH_RECOVERY: &str =
    "heartbeat = \"100 ms\"\ngrace = \"300 ms\"\nout_after = \"60 s\"\ngive_up = \"60 s\"\n";
const SWIFT: &str = "[cluster]\nsystem = \"swift\"\nproxies = \"app0\"\npartition_power = 6\n[client.app]\ncount = 2\ncpu = \"xeon-2023\"\n";
const SWIFT_RECOVERY: &str = "conn_timeout = \"20 ms\"\nnode_timeout = \"200 ms\"\n";
const URSA: &str = "";
const URSA_RECOVERY: &str = "heartbeat = \"100 ms\"\ngrace = \"300 ms\"\ntimeout = \"200 ms\"\nout_after = \"60 s\"\ngive_up = \"60 s\"\n";

impl Cluster {
    /// The scenario in which these hosts fail and do not return.
    fn scenario(&self, down: &[usize]) -> Scenario {
        let Self { nodes, node, system, recovery, volume } = self;
        let client = if system.contains("[client") {
            ""
        } else {
            "[client.app]\ncount = 2\ncpu = \"xeon-2023\"\n"
        };
        let mut text = format!(
            "warmup = \"200 ms\"\nduration = \"4 s\"\nrecord = \"none\"\n{system}{client}\
             [node.osd]\ncount = {nodes}\ncpu = \"xeon-2023\"\ncache = {{ size = \"64 MiB\" }}\n{node}\n\
             [volume.data]\nsize = \"16 MiB\"\nnodes = \"osd\"\ngroup = \"64 KiB\"\n{volume}\n\
             [workload.load]\nvolume = \"data\"\nclient = \"app1\"\nkind = \"ssio\"\nreads = \"50%\"\n\
             access = \"8 KiB\"\noutstanding = 8\nthink = \"2 ms\"\n"
        );
        for host in down {
            let _ = write!(
                text,
                "[event.e{host}]\nat = \"500 ms\"\nwhat = \"fail\"\nhost = \"osd{host}\"\n"
            );
        }
        if !down.is_empty() {
            let _ = write!(text, "[recovery]\n{recovery}");
        }
        Scenario::parse(&text, "serves.toml").unwrap_or_else(|errors| panic!("{errors}\n{text}"))
    }

    fn run(&self, down: &[usize]) -> Outcome {
        run(&self.scenario(down), unwatched).unwrap()
    }

    /// `survives` and `serves` of the volume, by unit.
    fn figures(&self) -> (usize, usize) {
        let outcome = self.run(&[]);
        let volume = &outcome.capacity.volumes["data"];
        let units = |map: &foretell_sorted::SortedMap<String, usize>| {
            map.keys().cloned().collect::<Vec<String>>()
        };
        assert_eq!(units(&volume.survives), units(&volume.serves));
        (volume.survives["host"], volume.serves["host"])
    }
}

/// Sets of `count` of the numbers below `all`.
fn sets(all: usize, count: usize) -> Vec<Vec<usize>> {
    let masks = (0_u32..1 << all).filter(|mask| mask.count_ones() as usize == count);
    masks.map(|mask| (0..all).filter(|bit| mask >> bit & 1 == 1).collect()).collect()
}

/// Whether all requests are served while hosts are down: from a second after the failure on, none fails, and none waits
/// for a group.
fn is_served(outcome: &Outcome) -> bool {
    let found = outcome.truth.outages.as_ref().unwrap();
    let later = &found.timeline[2..];
    let served = later.iter().all(|second| second.failed_requests == 0 && second.requests > 20);
    served && found.waiting_below_min_size == 0
}

#[test]
fn hosts_fail_up_to_serves_and_then_one_more() {
    let disk = "disk = [\"cheetah-15k\"]";
    let cluster =
        |nodes, system, recovery, volume| Cluster { nodes, node: disk, system, recovery, volume };
    let four_disks = Cluster {
        nodes: 3,
        node: "disk = [{ device = \"cheetah-15k\", count = 4 }]",
        system: CEPH,
        recovery: CEPH_RECOVERY,
        volume: "encoding = \"8-of-12\"\nfailure_domain = \"osd\"\nplacement_groups = 64",
    };
    let cases = [
        // copies: half of them, rounded up, must be up
        (cluster(4, CEPH, CEPH_RECOVERY, "encoding = \"1-of-3\""), (2, 1)),
        (cluster(4, CEPH, CEPH_RECOVERY, "encoding = \"1-of-3\"\nmin_size = 1"), (2, 2)),
        (cluster(3, CEPH, CEPH_RECOVERY, "encoding = \"1-of-2\""), (1, 1)),
        // codes: one shard more than a read needs
        (cluster(5, CEPH, CEPH_RECOVERY, "encoding = \"2-of-4\""), (2, 1)),
        (
            cluster(4, CEPH, CEPH_RECOVERY, "encoding = \"2-of-3\"\nfailure_domain = \"host\""),
            (1, 0),
        ),
        // the other settings of the volume do not matter
        (cluster(5, CEPH, CEPH_RECOVERY, "encoding = \"2-of-4\"\nmin_size = 2"), (2, 2)),
        (cluster(4, URSA, URSA_RECOVERY, "encoding = \"1-of-3\""), (2, 2)),
        (cluster(5, URSA, URSA_RECOVERY, "encoding = \"2-of-4\"\nmin_write = 3"), (2, 1)),
        (cluster(7, URSA, URSA_RECOVERY, "encoding = \"lrc(4,2,1)\""), (2, 2)),
        // a write needs two of three copies, on handoffs if need be: here there are none
        (cluster(3, SWIFT, SWIFT_RECOVERY, "encoding = \"1-of-3\""), (2, 1)),
        (cluster(5, SWIFT, SWIFT_RECOVERY, "encoding = \"1-of-3\""), (2, 2)),
        (four_disks, (1, 0)),
    ];
    for (cluster, (survives, serves)) in cases {
        assert_eq!(cluster.figures(), (survives, serves), "{}", cluster.volume);
        for down in sets(cluster.nodes, serves).into_iter().filter(|down| !down.is_empty()) {
            let outcome = cluster.run(&down);
            let found = outcome.truth.outages.as_ref().unwrap();
            assert!(is_served(&outcome), "{} {down:?}: {found:?}", cluster.volume);
            assert_eq!(found.bytes_lost, 0, "{} {down:?}", cluster.volume);
        }
        let more = sets(cluster.nodes, serves + 1);
        let waits: Vec<bool> = more.iter().map(|down| !is_served(&cluster.run(down))).collect();
        assert!(waits.contains(&true), "{} {more:?} are served", cluster.volume);
    }
}
