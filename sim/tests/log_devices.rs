//! Tests of OSDs whose databases and logs have separate devices.

use crate::common;

use common::run;
use foretell_scenarios::Document;
use foretell_sim::truth::Truth;

/// Three nodes with two OSDs each, on devices whose operations always take the same time, whatever their kind and
/// number.
fn truth(cluster: &str, disk: &str, workload: &str) -> Truth {
    let device = |name: &str, depth: u32, read: &str, write: &str| {
        let curve = |op: &str, reads: &str, latency: &str| {
            let one = |block: &str| {
                format!(
                    "[[device.{name}.curve]]\nop = \"{op}\"\nreads = \"{reads}\"\nblock = \"{block}\"\n\
                     outstanding = [{depth}]\nlatency = [\"{latency}\"]\n"
                )
            };
            one("4 KiB") + &one("1 MiB")
        };
        format!(
            "[device.{name}]\nkind = \"curves\"\nsource = \"made up\"\ncapacity = \"100 GB\"\n{}{}",
            curve("read", "100%", read),
            curve("write", "0%", write)
        )
    };
    let text = format!(
        "warmup = \"0 s\"\nduration = \"200 ms\"\nrecord = \"none\"\n\
         [cluster]\nsystem = \"ceph\"\n{cluster}\n\
         [node.osd]\ncount = 3\ncpu = \"xeon-2023\"\ncache = {{ size = \"64 MiB\" }}\n\
         disk = [{{ device = \"slow\", scheduler = \"noop\", count = 2{disk} }}]\n\
         [client.app]\ncpu = \"xeon-2023\"\n\
         [volume.data]\nsize = \"8 GiB\"\nnodes = \"osd\"\nencoding = \"1-of-3\"\n\
         [workload.load]\nvolume = \"data\"\nclient = \"app\"\nkind = \"ssio\"\naccess = \"4 KiB\"\n\
         outstanding = 1\n{workload}\n[tracking]\noverhead = false\n{}{}",
        device("slow", 64, "90 us", "200 us"),
        device("fast", 1, "10 us", "20 us")
    );
    let scenario = Document::parse("test", &text, "").unwrap().check();
    run(&scenario.unwrap_or_else(|errors| panic!("{}", errors.lines()))).unwrap()
}

const WRITES: &str = "reads = \"0%\"";
const WAL: &str = ", wal = { device = \"fast\", scheduler = \"noop\" }";
const DB: &str = ", db = { device = \"fast\", scheduler = \"noop\" }";

fn mean_ms(truth: &Truth) -> f64 {
    truth.workloads["load"].response_time_ms.mean
}

fn operations(truth: &Truth, disk: &str) -> u64 {
    truth.hosts.values().filter_map(|host| host.get(disk)).map(|disk| disk.operations).sum()
}

#[test]
fn closed_form_a_short_write_waits_for_the_log_alone() {
    let [own, wal, db] = ["", WAL, DB].map(|disk| truth("", disk, WRITES));
    // 20 us instead of 200 us; each write causes one write to the log
    for faster in [&wal, &db] {
        let gain = mean_ms(&own) - mean_ms(faster);
        assert!((gain - 0.180).abs() < 0.002, "{gain}");
    }
    // each node has a copy of every write, on one of the two OSDs that share the device
    let writes = wal.workloads["load"].requests as f64;
    for host in 0..3 {
        let found = &wal.hosts[&format!("osd{host}")]["disk2"];
        assert!((found.operations as f64 - writes).abs() <= 1.0, "{}", found.operations);
        let expected = writes * 20e-6 / 0.2;
        assert!((found.utilization - expected).abs() < 0.01 * expected, "{}", found.utilization);
    }
}

#[test]
fn a_long_write_goes_to_its_place_and_its_commit_to_the_log() {
    let direct = "deferred_below = \"0 B\"";
    let [own, wal] = ["", WAL].map(|disk| truth(direct, disk, WRITES));
    let gain = mean_ms(&own) - mean_ms(&wal);
    assert!((gain - 0.180).abs() < 0.002, "{gain}");
    let data = operations(&wal, "disk0") + operations(&wal, "disk1");
    let (writes, commits) = (3 * wal.workloads["load"].requests, operations(&wal, "disk2"));
    // no commit reaches the data devices; RocksDB's merges may, without `db`
    assert!(data.abs_diff(writes) <= 6 + merges(&wal), "{data} and {writes}");
    assert!(commits.abs_diff(writes) <= 6, "{commits} and {writes}");
    let both = truth(direct, &format!("{WAL}{DB}"), WRITES);
    let data = operations(&both, "disk0") + operations(&both, "disk1");
    let writes = 3 * both.workloads["load"].requests;
    assert!(data.abs_diff(writes) <= 6, "{data} and {writes}");
}

/// Upper bound for the operations that rewrite metadata: 1 KiB for each write, twice, in pieces of 512 KiB; every OSD
/// may have begun with almost a megabyte.
fn merges(truth: &Truth) -> u64 {
    3 * truth.workloads["load"].requests * 2 / 512 + 6 * 2
}

#[test]
fn metadata_that_are_not_in_memory_are_read_from_the_db_device() {
    let cluster = "threads = {}\nonodes = 1";
    let [own, wal, db] = ["", WAL, DB].map(|disk| truth(cluster, disk, "reads = \"100%\""));
    // two keys at 10 us instead of 90 us, for almost every object
    let gain = mean_ms(&own) - mean_ms(&db);
    assert!((0.140..0.162).contains(&gain), "{gain}");
    assert!((mean_ms(&own) - mean_ms(&wal)).abs() < 0.002);
    assert_eq!(operations(&wal, "disk2"), 0);
}

#[test]
fn several_devices_are_dealt_in_turn() {
    let two = ", wal = { device = \"fast\", scheduler = \"noop\", count = 2 }";
    let found = truth("", two, WRITES);
    let each = ["disk2", "disk3"].map(|disk| operations(&found, disk) as f64);
    let writes = 3.0 * found.workloads["load"].requests as f64;
    assert!((each[0] + each[1] - writes).abs() <= 6.0);
    assert!(each.iter().all(|each| *each > writes / 4.0), "{each:?}");
}
