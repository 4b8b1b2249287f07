//! Tests of OSD operations that wait for locks of placement groups and objects.

use crate::common;

use common::run;
use foretell_scenarios::Document;
use foretell_sim::truth::WorkloadTruth;

/// Three OSDs with one placement group. Their drives take the same time for each operation, however many are
/// outstanding.
fn load(locks: bool, read: &str, write: &str, volume: &str, reads: &str) -> WorkloadTruth {
    let curve = |op: &str, reads: &str, latency: &str| {
        format!(
            "[[device.drive.curve]]\nop = \"{op}\"\nreads = \"{reads}\"\nblock = \"4 KiB\"\noutstanding = [1, 64]\n\
             latency = [\"{latency}\", \"{latency}\"]\n"
        )
    };
    let text = format!(
        "warmup = \"0 s\"\nduration = \"1 s\"\nrecord = \"none\"\n\
         [cluster]\nsystem = \"ceph\"\nplacement_groups_per_osd = 1\nthreads = {{ locks = {locks} }}\n\
         deferred_below = \"0 B\"\n\
         [node.osd]\ncount = 3\ncpu = {{ profile = \"xeon-2023\", cores = 32 }}\ncache = {{ size = \"128 KiB\" }}\n\
         disk = [{{ device = \"drive\", scheduler = \"noop\" }}]\n\
         [client.app]\ncpu = {{ profile = \"xeon-2023\", cores = 32 }}\n\
         [volume.data]\nsize = \"{volume}\"\nnodes = \"osd\"\nencoding = \"1-of-3\"\n\
         [workload.load]\nvolume = \"data\"\nclient = \"app\"\nkind = \"ssio\"\naccess = \"4 KiB\"\n\
         outstanding = 8\nreads = \"{reads}\"\n[tracking]\noverhead = false\n\
         [device.drive]\nkind = \"curves\"\nsource = \"made up\"\ncapacity = \"100 GB\"\n{}{}",
        curve("read", "100%", read),
        curve("write", "0%", write)
    );
    let scenario = Document::parse("test", &text, "").unwrap().check();
    let scenario = scenario.unwrap_or_else(|errors| panic!("{}", errors.lines()));
    run(&scenario).unwrap().workloads.remove("load").unwrap()
}

#[test]
fn closed_form_reads_of_one_group_go_one_after_the_other() {
    let [free, locked] =
        [false, true].map(|locks| load(locks, "500 us", "500 us", "1 GiB", "100%"));
    // 100 us and 4 KiB at 2 GB/s on the processor, some microseconds of its profile, and 500 us on the drive
    let each_us = 1e6 / locked.throughput_rps;
    assert!((602.0..625.0).contains(&each_us), "{each_us}");
    // eight in parallel
    assert!(free.throughput_rps > 5.0 * locked.throughput_rps, "{}", free.throughput_rps);
}

#[test]
fn a_read_waits_for_the_writes_to_its_object() {
    // one object of 4 MiB, or 256 of them
    let [one, many] = ["4 MiB", "1 GiB"].map(|volume| load(true, "50 us", "5 ms", volume, "50%"));
    let mean = |load: &WorkloadTruth| load.read.response_time_ms.mean;
    assert!(mean(&one) > 5.0, "{}", mean(&one));
    assert!(mean(&many) < 2.0, "{}", mean(&many));
    let free = load(false, "50 us", "5 ms", "4 MiB", "50%");
    assert!(mean(&free) < 1.0, "{}", mean(&free));
}
