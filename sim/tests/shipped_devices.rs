//! Tests of the shipped scenarios with solid-state drives and with an array, from their text to their truth;
//! and of disks that read as fast as their data sheets say.

use std::ops::ControlFlow;

use foretell_ati::Recorder;
use foretell_scenarios::Document;
use foretell_sim::Cluster;
use foretell_sim::truth::Truth;

fn run(name: &str, changes: &[(&str, &str)]) -> Truth {
    let mut document = Document::shipped(name)
        .expect("it is shipped")
        .unwrap_or_else(|errors| panic!("{}", errors.lines()));
    for (path, value) in changes {
        document.set(path, value).unwrap();
    }
    simulate(&document)
}

fn simulate(document: &Document) -> Truth {
    let scenario = document.check().unwrap_or_else(|errors| panic!("{}", errors.lines()));
    let mut cluster = Cluster::new(scenario, Recorder::none()).unwrap();
    cluster.run(|_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn the_faster_the_drive_the_more_is_done() {
    let truth = run("solid-state", &[]);
    let load = |name: &str| &truth.workloads[name];
    let done = |name: &str| load(name).throughput_rps;
    assert!(done("hdd") > 100.0 && done("hdd") < 300.0, "{}", done("hdd"));
    assert!(done("sata") > 100.0 * done("hdd") && done("nvme") > done("sata"), "{truth:?}");
    // the disk is busy all the time, and nothing else is
    assert_eq!(
        (truth.bottleneck.host.as_str(), truth.bottleneck.resource.as_str()),
        ("hdd0", "disk0")
    );
    assert!(truth.bottleneck.utilization > 0.99, "{:?}", truth.bottleneck);
    // a write is done when it is in a drive's buffer: 20 us and 15 us of latency of the two drives, plus 33
    // us (5 us for each of four links, and 13 us of processors)
    for (name, least_ms) in [("sata", 0.053), ("nvme", 0.048)] {
        let write = &load(name).write.response_time_ms;
        assert!(write.p50 > least_ms && write.p50 < 0.1, "{name}: {write:?}");
        // a read waits for rows being programmed
        let read = &load(name).read.response_time_ms;
        assert!(read.mean > 4.0 * write.mean && read.p50 > 0.08, "{name}: {read:?}");
    }
}

#[test]
fn what_if_the_drive_had_more_spare_flash() {
    let rate = |changes: &[(&str, &str)]| {
        // only the NVMe drive, under writes that it cannot keep up with
        let alone = [
            ("workload.hdd", "none"),
            ("workload.sata", "none"),
            ("workload.nvme.reads", "0%"),
            ("workload.nvme.outstanding", "128"),
        ];
        let truth = run("solid-state", &[&alone, changes].concat());
        truth.workloads["nvme"].write.throughput_rps
    };
    // 38,000 a second by its data sheet
    let as_it_is = rate(&[]);
    assert!((as_it_is / 38_000.0 - 1.0).abs() < 0.06, "{as_it_is}");
    // write amplification 6.3 and 2.1 (Desnoyers): about three times the rate
    let spare = rate(&[("device.nvme-3gbs.over_provisioning", "24%")]);
    assert!(spare > 2.4 * as_it_is && spare < 3.2 * as_it_is, "{as_it_is}, {spare}");
}

#[test]
fn an_array_answers_from_its_memory() {
    let short = [("warmup", "5 s"), ("duration", "10 s")];
    let truth = run("array-server", &short);
    let (users, backup) = (&truth.workloads["users"], &truth.workloads["backup"]);
    // 0.2 ms of overhead; 16 KiB over 1.6 GB/s, 1 GB/s and 10 Gbit/s; links and processors
    let write = users.write.response_time_ms.mean;
    assert!(write > 0.27 && write < 0.45, "{write} ms");
    // sequential reads are cached before they are requested: one in hundreds waits for drives
    let read = &backup.read.response_time_ms;
    assert!(read.p50 < 0.5 && backup.throughput_bytes_per_s > 100e6, "{backup:?}");
    // without the write cache, a write is a read-modify-write on two drives
    let through =
        run("array-server", &[&short[..], &[("device.ds8700-raid5.write_cache", "none")]].concat());
    let slow = through.workloads["users"].write.response_time_ms.mean;
    assert!(slow > 8.0 && slow < 60.0, "{slow} ms");
    let drives = |truth: &Truth| truth.hosts["server0"]["disk0"].utilization;
    assert!(drives(&through) > drives(&truth), "{} {}", drives(&through), drives(&truth));
    // without read-ahead, the backup waits for every read
    let alone =
        run("array-server", &[&short[..], &[("device.ds8700-raid5.read_ahead", "0 B")]].concat());
    let alone = &alone.workloads["backup"];
    assert!(alone.throughput_rps < 0.5 * backup.throughput_rps, "{alone:?}");
}

#[test]
fn a_disk_streams_as_fast_with_several_commands_as_its_data_sheet_says() {
    // one client reads a volume from its beginning, at the edge of the platter. With one request outstanding,
    // the network and the processors take turns with the disk, so the disk would not be the bottleneck
    let text = |device: &str, outstanding: u32| {
        format!(
            r#"
            seed = 1
            warmup = "1 s"
            duration = "4 s"
            node.n = {{ cpu = "xeon-2023", cache.size = "64 MiB", nic.rate = "25 Gbit/s", disk = [{{ device = "{device}", scheduler = "noop" }}] }}
            client.c = {{ cpu = "xeon-2023", nic.rate = "25 Gbit/s" }}
            volume.v = {{ size = "50 GiB", nodes = "n" }}
            workload.w = {{ volume = "v", client = "c", kind = "ssio", reads = 1, pattern = "sequential", access = "64 KiB", outstanding = {outstanding} }}
            "#
        )
    };
    // MB/s, of the data sheets that the profiles name
    for (device, sheet) in [
        ("fc-15k-2008", 125.0),
        ("hdd-4tb-7200", 215.0),
        ("hdd-16tb-7200", 261.0),
        ("hdd-24tb-7200", 285.0),
    ] {
        for outstanding in [2, 4, 16] {
            let document = Document::parse("a stream", &text(device, outstanding), "").unwrap();
            let found = simulate(&document).workloads["w"].throughput_bytes_per_s / 1e6;
            println!("{device}, {outstanding} outstanding: {found:.0} MB/s");
            assert!(found > 0.8 * sheet && found < 1.15 * sheet, "{device} {outstanding}: {found}");
        }
    }
}
