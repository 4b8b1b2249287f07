//! Small scenarios that together have every setting, each where it matters.

use std::fmt::Write as _;
use std::path::Path;

/// What scenarios name: a trace, a job file and a workload file, beside them.
pub(crate) fn write_files(dir: &Path) {
    let mut trace = "time_ns,op,offset,size\n".to_owned();
    for number in 0..300_u64 {
        let op = if number % 3 == 0 { 'W' } else { 'R' };
        let (at, offset) = (number * 2_000_000 + number % 7 * 90_000, number * 7919 % 4000 * 4096);
        writeln!(trace, "{at},{op},{offset},{}", 4096 << (number % 3)).unwrap();
    }
    std::fs::write(dir.join("map.txt"), MAP).unwrap();
    std::fs::write(dir.join("cluster.json"), CLUSTER).unwrap();
    std::fs::write(dir.join("other.csv"), trace.replace(",R,", ",W,").replace("0000,", "1000,"))
        .unwrap();
    // beyond the volume, which some put back into it, and not a request at all
    let wild = format!("{trace}700000000,R,{},4096\nand so on\n", 100 << 20);
    std::fs::write(dir.join("wild.csv"), wild).unwrap();
    std::fs::write(dir.join("trace.csv"), trace).unwrap();
    // blocks without a size, devices, and a line that is wrong
    let mut blocks = String::new();
    for number in 0..300_u64 {
        let (device, block) = (number % 2, number * 7919 % 9000);
        writeln!(
            blocks,
            "{device},{block},4096,{},{}",
            if number % 3 == 0 { 'w' } else { 'r' },
            number as f64 / 400.0
        )
        .unwrap();
    }
    std::fs::write(dir.join("other.spc"), blocks.replace(",r,", ",w,")).unwrap();
    std::fs::write(dir.join("spc.txt"), blocks).unwrap();
    let mut actions = String::new();
    for number in 0..200 {
        let action = if number % 2 == 0 { 'Q' } else { 'D' };
        let (at, sector) = (f64::from(number) / 400.0, number * 7919 % 9000);
        writeln!(actions, "8,0 1 {number} {at:.9} 1 {action} R {sector} + 8 [x]").unwrap();
    }
    std::fs::write(dir.join("actions.blkparse"), actions).unwrap();
    let job = "[global]\nbs=4k\nsize=8m\niodepth=4\n[a]\nrw=randrw\nnumber_ios=200\n";
    std::fs::write(dir.join("a.fio"), job).unwrap();
    std::fs::write(dir.join("b.fio"), job.replace("randrw", "write")).unwrap();
    let xml = |ratio: u32| {
        format!(
            "<workload name=\"w\"><workflow><workstage name=\"main\"><work name=\"mix\" workers=\"3\" \
             runtime=\"2\"><operation type=\"read\" ratio=\"{ratio}\" config=\"containers=u(1,2);\
             objects=u(1,9)\"/><operation type=\"write\" ratio=\"{}\" config=\"containers=u(1,2);\
             objects=u(1,9);sizes=c(64)KB\"/></work></workstage></workflow></workload>",
            100 - ratio
        )
    };
    std::fs::write(dir.join("a.xml"), xml(80)).unwrap();
    std::fs::write(dir.join("b.xml"), xml(20)).unwrap();
}

/// Clients that encode, nodes of two kinds, every pattern and every law of arrivals.
pub(crate) const PLAIN: &str = r#"
seed     = 5
warmup   = "200 ms"
duration = "2 s"

[node.brick]
count  = 4
cpu    = { profile = "pentium4-2.6", cores = 1, quantum = "200 us" }
cache  = { size = "24 MiB", dirty_background = "256 KiB", dirty_limit = "1 MiB", flush_interval = "100 ms", dirty_expire = "300 ms", read_ahead = "128 KiB" }
disk   = [{ device = "cheetah-15k", count = 2 }]
stripe = "64 KiB"

[node.slab]
count  = 2
cpu    = "pentium4-2.6"
cache  = { size = "24 MiB", write = "back" }
nvram  = "1 MiB"
layout = "log-structured"
disk   = ["sata-7200-2005"]

[host.brick3]
nic = { rate = "100 Mbit/s" }

[client.app]
count = 3
cpu   = { profile = "xeon-p4-3.0", quantum = "200 us" }

[switch]
port_buffer   = "16 KiB"
shared_buffer = "48 KiB"
receive_window = "64 KiB"
retransmit_timeout = "20 ms"

[volume.mirror]
size         = "64 MiB"
nodes        = "brick[0-2]"
encoding     = "1-of-2"
write_quorum = 1

[volume.coded]
size     = "64 MiB"
nodes    = "brick"
encoding = "2-of-3"
cipher   = "aes-128-cbc"
group    = "512 KiB"

[volume.plain]
size  = "64 MiB"
nodes = "slab"

[workload.stream]
volume      = "mirror"
client      = "app0"
kind        = "ssio"
reads       = "90%"
pattern     = "sequential"
access      = "64 KiB"
outstanding = 8
think       = "1 ms"

[workload.update]
volume   = "coded"
client   = "app"
kind     = "ssio"
reads    = "40%"
access   = "4 KiB"
pattern  = "zipf"
arrivals = "poisson"
rate     = 60

[workload.clock]
volume   = "plain"
client   = "app1"
kind     = "ssio"
reads    = "60%"
pattern  = "strided"
step     = "96 KiB"
access   = "32 KiB"
arrivals = "deterministic"
rate     = 50

[workload.burst]
volume   = "plain"
client   = "app2"
kind     = "ssio"
reads    = "50%"
pattern  = "hot-cold"
arrivals = "bursty"
burst_rate = 300
burst      = "50 ms"
quiet_rate = 20
quiet      = "100 ms"

[workload.timed]
volume   = "mirror"
client   = "app1"
kind     = "ssio"
reads    = "50%"
requests = 200
arrivals = "times"
times    = "trace.csv"

[tracking]
overhead = true
metrics = true
buffer  = "1 MB"
batch   = "8 KiB"
"#;

/// One node and one client, to which a workload and a device are added.
fn single(device: &str, more: &str) -> String {
    format!(
        r#"
seed     = 5
warmup   = "100 ms"
duration = "1 s"
tracking = {{ overhead = false }}
[node.brick]
cpu   = "xeon-2023"
cache = {{ size = "256 KiB", read_ahead = "0 B", dirty_background = "64 KiB", dirty_limit = "128 KiB" }}
disk  = [{{ device = "{device}" }}]
[client.app]
count = 2
cpu   = "xeon-2023"
[volume.plain]
size  = "64 MiB"
nodes = "brick"
[volume.mirror]
size  = "32 MiB"
nodes = "brick"
{more}
"#
    )
}

/// Loads that find most of what a device does: streams of both directions, and places used again.
const LOADS: &str = r#"
[workload.stream]
volume = "plain"
client = "app0"
kind   = "ssio"
reads  = "70%"
pattern = "sequential"
access = "16 KiB"
outstanding = 2
[workload.spots]
volume = "plain"
client = "app1"
kind   = "ssio"
reads  = "50%"
pattern = "hot-cold"
hot_fraction = "2%"
access = "4 KiB"
outstanding = 6
"#;

/// The workload that is a benchmark, on a volume that it fits on.
fn benchmark(keys: &str) -> String {
    let workload = format!("[workload.w]\nvolume = \"plain\"\nclient = \"app0\"\n{keys}");
    single("cheetah-15k", &workload)
        .replace("tracking = { overhead = false }", "tracking = { overhead = true }")
        .replace("cache = { size = \"256 KiB\"", "cache = { size = \"24 MiB\"")
}

/// Clients and nodes whose work costs what is said here, and a profile of one's own.
fn own_cpu() -> String {
    let cost = |name: &str| format!("{name} = {{ fixed = \"20 us\", rate = \"2 GB/s\" }}");
    let all: Vec<String> = ["send", "receive", "copy", "encrypt", "decrypt", "code", "request"]
        .iter()
        .map(|name| cost(name))
        .collect();
    let own = format!(
        "cores = 2, smt = 1.2, context_switch = \"5 us\", post = \"3 us\", {}",
        all.join(", ")
    );
    format!("cpu = {{ profile = \"xeon-2023\", {own} }}")
}

/// Clients and nodes with such processors.
fn costs() -> String {
    let workload = "[workload.w]\nvolume = \"plain\"\nclient = \"app0\"\nkind = \"ssio\"\n\
                    reads = \"50%\"\naccess = \"64 KiB\"\noutstanding = 6";
    single("cheetah-15k", workload)
        .replace("tracking = { overhead = false }", "tracking = { overhead = true }")
        .replace("cache = { size = \"256 KiB\"", "cache = { size = \"24 MiB\"")
        .replace("cpu   = \"xeon-2023\"", &own_cpu())
        .replace(
            "size  = \"64 MiB\"",
            "size = \"64 MiB\"\nencoding = \"2-of-3\"\ncipher = \"aes-128-cbc\"",
        )
        .replace("[node.brick]", "[node.brick]\ncount = 3")
}

/// A run that goes on until intervals are as asked for.
fn intervals(asked: &str) -> String {
    let load = "kind = \"ssio\"\nreads = \"60%\"\naccess = \"4 KiB\"";
    let measured = "duration = \"1 s\"";
    benchmark(load).replace(
        measured,
        &format!("{measured}\nintervals = {{ count = 4, {asked}, longest = \"3 s\" }}"),
    )
}

fn drive(seek: &str, medium: &str, bus: &str) -> String {
    let device = format!(
        r#"
[device.d]
kind = "drive"
source = "made up"
rpm = 10000
heads = 4
numbering = "serpentine"
head_switch = "0.5 ms"
write_settle = "0.5 ms"
queue_depth = 2
seek = {{ {seek} }}
bus = {{ {bus} }}
{medium}
[device.d.overhead]
command = "0.1 ms"
read_hit = ["0.1 ms", "0.3 ms"]
read_miss = ["0.3 ms", "0.1 ms"]
write_hit = ["0.7 ms", "0.5 ms"]
write_miss = ["0.7 ms", "0.5 ms"]
read_completion = "0.1 ms"
write_completion = "0.1 ms"
data_preparation = "0.1 ms"
first_reselect = "0.1 ms"
other_reselect = "0.1 ms"
read_disconnect = ["0.1 ms", "0.2 ms"]
write_disconnect = "0.1 ms"
least_write_seek = "1 ms"
extra_disconnect = {{ command = "0.1 ms", disconnect = "0.2 ms", away = "0.1 ms", second_disconnect = "0.1 ms", seek_delay = "0.2 ms" }}
[device.d.cache]
enabled = true
segments = 3
segment_sectors = 64
read_ahead = "segment"
high_water = 0.5
{LOADS}
"#
    );
    single("d", &device)
}

/// All of them, by name.
pub(crate) fn all() -> Vec<(&'static str, String)> {
    let mut bases = vec![("plain", PLAIN.to_owned())];
    bases.extend([
        ("oltp", benchmark("kind = \"oltp\"\ndatabase = \"32 MiB\"\npattern = \"zipf\"\nalpha = 0.7\ntransactions = 40")),
        ("postmark", benchmark("kind = \"postmark\"\nfiles = 500\ntransactions = 300\nsubdirectories = 5")),
        ("postmark that fits no cache", benchmark("kind = \"postmark\"\nfiles = 500\ntransactions = 300\nserver_cache = \"256 KiB\"")),
        ("iozone", benchmark("kind = \"iozone\"\nfile = \"8 MiB\"")),
        ("ffsb", benchmark("kind = \"ffsb\"\nreads = \"50%\"\nfile_set = \"32 MiB\"\nfile = \"1 MiB\"\nthreads = 4\nsub_requests = 8\noperations = 100")),
        ("fio", benchmark("kind = \"fio\"\nfile = \"a.fio\"")),
        ("cosbench", benchmark("kind = \"cosbench\"\nfile = \"a.xml\"")),
        ("trace", benchmark("kind = \"trace\"\nfile = \"spc.txt\"\nformat = \"spc\"\nblock = \"4 KiB\"\ndevice = \"0\"\nwrap = true\nrequests = 100")),
        ("trace of actions", benchmark("kind = \"trace\"\nfile = \"actions.blkparse\"")),
        ("trace in part", benchmark("kind = \"trace\"\nfile = \"trace.csv\"\nreads = \"30%\"\naccess = \"16 KiB\"")),
        ("trace that does not fit", benchmark("kind = \"trace\"\nfile = \"wild.csv\"\nwrap = true\nskip_bad = true")),
        ("intervals of few requests", intervals("requests = 100, error = \"100%\"")),
        ("intervals that differ", intervals("requests = 10, error = \"3%\"")),
        ("costs", costs()),
        ("costs of objects", objects("system = \"ceph\"\nmonitors = \"mon\"", "encoding = \"2-of-3\"").replace("cpu   = \"xeon-2023\"", &own_cpu())),
        ("costs of a file server", benchmark("kind = \"postmark\"\nfiles = 500\ntransactions = 300").replace("cpu   = \"xeon-2023\"", &own_cpu())),
        ("trace again", benchmark("kind = \"trace\"\nfile = \"trace.csv\"\narrivals = \"closed\"\noutstanding = 3\nthink = \"1 ms\"")),
    ]);
    // every law of arrivals with every kind that has them: the keys are those of `ssio`
    for (name, keys) in [
        ("oltp", "kind = \"oltp\"\ndatabase = \"32 MiB\""),
        ("postmark", "kind = \"postmark\"\nfiles = 500\ntransactions = 300"),
        ("iozone", "kind = \"iozone\"\nfile = \"8 MiB\""),
        (
            "ffsb",
            "kind = \"ffsb\"\nreads = \"50%\"\nfile_set = \"32 MiB\"\nfile = \"1 MiB\"\nsub_requests = 8",
        ),
        ("ssio", "kind = \"ssio\"\nreads = \"50%\""),
    ] {
        for arrivals in [
            "arrivals = \"poisson\"\nrate = 50",
            "arrivals = \"bursty\"\nburst_rate = 300\nburst = \"50 ms\"\nquiet_rate = 20\nquiet = \"100 ms\"",
            "arrivals = \"times\"\ntimes = \"trace.csv\"",
        ] {
            bases.push((name, benchmark(&format!("{keys}\n{arrivals}"))));
        }
    }
    bases.extend([
        ("disk", single("d", &format!("[device.d]\nkind = \"disk\"\nsource = \"made up\"\ncapacity = \"300 MB\"\nrpm = 7200\ncylinders = 2000\nseek = {{ track_to_track = \"0.8 ms\", average = \"8 ms\", full_stroke = \"15 ms\" }}\nouter_rate = \"65 MB/s\"\ninner_rate = \"36 MB/s\"\noverhead = \"0.2 ms\"\n{LOADS}"))),
        ("disk by its curve", single("d", &format!("[device.d]\nkind = \"disk\"\nsource = \"made up\"\ncapacity = \"300 MB\"\nrpm = 7200\ncylinders = 2000\nseek = {{ knee = 100, short = \"0.8 ms\", short_per_sqrt = \"300 us\", long = \"3.5 ms\", long_per_cylinder = \"4 us\" }}\nouter_rate = \"65 MB/s\"\ninner_rate = \"36 MB/s\"\noverhead = \"0.2 ms\"\n{LOADS}"))),
        ("drive", drive("three_part = { knee = 100, short_ms = 0.8, short_ms_per_sqrt = 0.3, long_ms = 3.5, long_ms_per_cylinder = 0.004 }", "medium = { capacity = \"300 MB\", cylinders = 2000, inner_share = 0.6, zones = 5 }", "rate = \"20 MB/s\"")),
        ("drive by rates", drive("data_sheet = { single = \"0.8 ms\", average = \"5 ms\", full = \"10 ms\" }", "medium = { capacity = \"300 MB\", outer_rate = \"40 MB/s\", inner_rate = \"25 MB/s\" }", "rate = \"20 MB/s\", held_by_reads = true").replace("read_ahead = \"segment\"", "read_ahead = \"track\"\nearly_write = true\ncombine_writes = true\nread_hits_on_writes = true")),
        ("drive by zones", drive("table_ms = [[1, 0.8], [100, 3.0], [390, 9.0]]",
            "sparing = \"range\"\nspare_range = 20\nzone = [{ first_cylinder = 0, last_cylinder = 99, sectors_per_track = 200, first_sector = 3, track_skew = 20, cylinder_skew = 40, reserved = 8, spares = 16, slips = [100, 5000], defects = [[8, 79990]] }, { first_cylinder = 100, last_cylinder = 399, sectors_per_track = 150 }]",
            "read_sector = \"20 us\", write_sector = \"30 us\"")),
        ("drive by lee", drive("lee = { root_ms = 0.2, linear_ms = 0.001, single_ms = 0.8 }", "medium = { capacity = \"300 MB\", cylinders = 2000, inner_share = 0.6, zones = 5 }", "rate = \"0.5 MB/s\"").replace("seek_delay = \"0.2 ms\"", "seek_delay = \"0.2 ms\", gathered_sectors = 6, gathered_of_long_sectors = 24, long_sectors = 24")),
        ("ssd", single("d", &format!("[device.d]\nkind = \"ssd\"\nsource = \"made up\"\ncapacity = \"96 MiB\"\nchannels = 2\nchips = 1\ndies = 2\nplanes = 2\npage = \"4 KiB\"\npages_per_block = 32\nbuffer = \"512 KiB\"\nqueue_depth = 4\nhost_rate = \"200 MB/s\"\ncommand = \"10 us\"\nlatency = \"20 us\"\nover_provisioning = \"40%\"\ndrive_writes_per_day = 2.0\nwarranty_years = 3\n{LOADS}"))),
        ("ssd that is worn", single("nvme-3gbs", LOADS)),
        ("array", single("d", &format!("[device.d]\nkind = \"array\"\nsource = \"made up\"\nlevel = \"raid5\"\nmembers = 5\ndevice = \"fc-15k-2008\"\nread_cache = \"2 MiB\"\nwrite_cache = \"1 MiB\"\nmirror_rate = \"100 MB/s\"\n{LOADS}"))),
        ("curves", single("d", &format!("[device.d]\nkind = \"curves\"\nsource = \"made up\"\ncapacity = \"1 GiB\"\nqueue_depth = 4\nflush = \"1 ms\"\n[[device.d.curve]]\nop = \"read\"\nreads = 1\nblock = \"4 KiB\"\noutstanding = [1, 8]\nlatency = [\"1 ms\", \"3 ms\"]\n[[device.d.curve]]\nop = \"read\"\nreads = 0.3\nblock = \"64 KiB\"\noutstanding = [1, 8]\nlatency = [\"2 ms\", \"5 ms\"]\n[[device.d.curve]]\nop = \"write\"\nreads = 0\nblock = \"4 KiB\"\noutstanding = [2]\nlatency = [\"2 ms\"]\n{LOADS}"))),
        ("guest", single("d", "[device.d]\nkind = \"array\"\nsource = \"made up\"\nlevel = \"raid0\"\nmembers = 2\ndevice = \"fc-15k-2008\"\n[workload.w]\nvolume = \"plain\"\nclient = \"app\"\nkind = \"ffsb\"\nreads = \"50%\"\nfile_set = \"16 MiB\"\nfile = \"1 MiB\"\nthreads = 4\nsub_requests = 4\nrequest = \"64 KiB\"")
            .replace("count = 2\ncpu   = \"xeon-2023\"", "count = 2\ncpu   = \"xeon-2023\"\nguest = { queue_depth = 2, largest = \"32 KiB\", journal_commit = \"200 ms\" }")
            .replace("cache = { size = \"256 KiB\", read_ahead = \"0 B\", dirty_background = \"64 KiB\", dirty_limit = \"128 KiB\" }", "cache = { size = \"0 B\" }")),
        ("bluestore", objects("system = \"ceph\"\nmonitors = \"mon\"\nwrite = { fixed = \"30 us\", rate = \"1 GB/s\" }", "")),
        ("threads", objects("system = \"ceph\"\nmonitors = \"mon\"\ncoalesce = true\nonodes = 4\nthreads = { op = 1, messenger = 1, processors = 1, message = { fixed = \"200 us\", rate = \"50 MB/s\" }, kv_round = \"1 ms\", kv_transaction = \"300 us\", merge = \"300 us\", flush = \"2 ms\" }", "")),
        ("logs", objects("system = \"ceph\"\nmonitors = \"mon\"\nonodes = 4\nthreads = { op = 4, locks = true }", "")
            .replace("[node.store]\ncount = 4\ncpu   = \"xeon-2023\"\ncache = { size = \"32 MiB\" }\ndisk  = [{ device = \"cheetah-15k\" }]", "[node.store]\ncount = 4\ncpu   = \"xeon-2023\"\ncache = { size = \"32 MiB\" }\ndisk  = [{ device = \"cheetah-15k\", count = 4, db = { device = \"cheetah-15k\", scheduler = \"fcfs\", count = 1 }, wal = { device = \"cheetah-15k\", scheduler = \"fcfs\", count = 1 } }]")
            .replace("volume = \"plain\"", "volume = \"plain\"\noutstanding = 24")),
        ("second adapters", objects("system = \"ceph\"\nmonitors = \"mon\"", "encoding = \"1-of-2\"")
            .replace("[node.store]\ncount = 4", "[node.store]\ncluster_nic = { rate = \"300 Mbit/s\" }\ncount = 4")
            .replace("nodes = \"store\"", "nodes = \"store\"\nencoding = \"1-of-2\"")),
        ("gateways", objects("system = \"ceph\"\nmonitors = \"mon\"\ngateway = { hosts = \"proxy[1-2]\", read = { fixed = \"1 ms\", rate = \"1 GB/s\" }, write = { fixed = \"1 ms\", rate = \"1 GB/s\" } }", "encoding = \"2-of-3\"\nbucket_index = \"plain\"\nindex_shards = 7")
            .replace("size  = \"64 MiB\"\nnodes = \"store\"", "size  = \"64 MiB\"\ngroup = \"1 MiB\"\nnodes = \"store\"")),
        ("filestore", objects("system = \"ceph\"\nstore = \"filestore\"\nmonitors = \"mon0\"", "encoding = \"2-of-3\"")),
        ("racks", placed("", "rack = \"a\"\nosds = \"0-1\"", "rack = [\"b\", \"c\"]\nosds = \"2-5\"", "failure_domain = \"host\"\nplacement_groups = 16")),
        ("rooms", placed("", "room = \"e\"\ndatacenter = \"x\"", "room = [\"b\", \"c\"]\ndatacenter = [\"x\", \"y\"]", "rule = \"fast\"").replace("disk  = [{ device = \"cheetah-15k\" }]", "disk  = [{ device = \"cheetah-15k\", class = \"fast\" }]") + "\n[rule.fast]\nsteps = [\"take default class fast\", \"chooseleaf firstn 0 type host\", \"emit\"]\n"),
        ("crush-map", placed("crush = \"map.txt\"", "osds = \"0-1\"", "osds = \"2-5\"", "rule = \"spread\"")),
        ("crush-pools", placed("crush = \"cluster.json\"", "", "", "pool = \"first\"")),
        ("failures", FAILURES.to_owned()),
        ("failing OSDs", FAILING_OSDS.to_owned()),
        ("failing Swift", FAILING_SWIFT.to_owned()),
        ("uplinks", UPLINKS.to_owned()),
        ("swift", objects("system = \"swift\"\nproxies = \"proxy\"", "encoding = \"1-of-2\"")),
    ]);
    bases
}

/// Ceph whose volumes lie where a CRUSH map puts them.
fn placed(cluster: &str, few: &str, many: &str, volume: &str) -> String {
    format!(
        r#"
seed     = 5
warmup   = "200 ms"
duration = "3 s"
[cluster]
system = "ceph"
{cluster}
[node.few]
count = 2
cpu   = "xeon-2023"
cache = {{ size = "32 MiB" }}
disk  = [{{ device = "cheetah-15k" }}]
{few}
[node.many]
count = 4
cpu   = "xeon-2023"
cache = {{ size = "32 MiB" }}
disk  = [{{ device = "cheetah-15k" }}]
{many}
[client.driver]
count = 1
cpu   = "xeon-2023"
[volume.mirror]
size     = "64 MiB"
nodes    = "few, many"
group    = "1 MiB"
encoding = "1-of-2"
{volume}
[workload.w]
volume = "mirror"
client = "driver0"
kind   = "ssio"
reads  = "50%"
access = "64 KiB"
outstanding = 3
"#
    )
}

/// A map of six hosts with a device each.
const MAP: &str = include_str!("map.txt");

/// An OSD map over such hosts, with two pools.
const CLUSTER: &str = include_str!("cluster.json");

/// A cluster of OSDs or object servers, on virtual machines.
fn objects(system: &str, volume: &str) -> String {
    let monitored = if system.contains("ceph") { "monitors = \"mon1\"" } else { "" };
    format!(
        r#"
seed     = 5
warmup   = "200 ms"
duration = "6 s"
[cluster]
{system}
[node.osd]
count = 4
cpu   = "xeon-2023"
cache = {{ size = "32 MiB" }}
disk  = [{{ device = "cheetah-15k" }}]
machine = {{ count = 2, bandwidth = "200 Mbit/s" }}
{monitored}
[node.store]
count = 4
cpu   = "xeon-2023"
cache = {{ size = "32 MiB" }}
disk  = [{{ device = "cheetah-15k" }}]
machine = {{ count = 2 }}
[node.guest]
count = 4
cpu   = "xeon-2023"
cache = {{ size = "32 MiB" }}
disk  = [{{ device = "cheetah-15k" }}]
machine = {{ of = "osd" }}
[client.mon]
count = 2
cpu   = "xeon-2023"
[client.proxy]
count = 3
cpu   = "xeon-2023"
[client.driver]
count = 2
cpu   = "xeon-2023"
[volume.mirror]
size  = "64 MiB"
nodes = "osd"
group = "1 MiB"
{volume}
[volume.plain]
size  = "64 MiB"
nodes = "store"
[volume.coded]
size  = "64 MiB"
nodes = "guest"
[workload.w]
volume = "mirror"
client = "driver0"
kind   = "ssio"
reads  = "50%"
access = "64 KiB"
outstanding = 3
[workload.v]
volume = "plain"
client = "driver1"
kind   = "ssio"
reads  = "50%"
access = "4 KiB"
[workload.u]
volume = "coded"
client = "driver1"
kind   = "ssio"
reads  = "50%"
access = "4 KiB"
"#
    )
}

/// Nodes that fail, for good or for a time, and one that is slow.
const FAILURES: &str = r#"
seed     = 5
warmup   = "200 ms"
duration = "4 s"
tracking = { overhead = false }

[node.brick]
count = 4
cpu   = "xeon-2023"
cache = { size = "32 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-2023"

[volume.mirror]
size      = "16 MiB"
nodes     = "brick"
encoding  = "1-of-2"
min_write = 1
hedge     = "20 ms"

[workload.load]
volume      = "mirror"
client      = "app"
kind        = "ssio"
reads       = "50%"
outstanding = 4

[event.crash]
at   = "400 ms"
what = "fail"
disk = "brick0.disk0"

[event.blip]
at   = "700 ms"
what = "fail"
host = "brick1"
for  = "900 ms"

[event.slow]
at     = "200 ms"
what   = "slow"
host   = "brick2"
factor = 8.0
for    = "500 ms"

[event.link]
at     = "350 ms"
what   = "slow"
link   = "brick3"
factor = 90.0
for    = "300 ms"

[event.code]
at   = "50 ms"
what = "set"
set  = { "recovery.parallel" = 4 }

[recovery]
heartbeat = "100 ms"
grace     = "200 ms"
out_after = "1200 ms"
timeout   = "60 ms"
give_up   = "200 ms"
parallel  = 2
pause     = "20 ms"
"#;

/// OSDs that fail while clients go on, with few threads and a scheduler whose limits are low.
const FAILING_OSDS: &str = r#"
seed     = 5
warmup   = "200 ms"
duration = "3 s"
tracking = { overhead = false }

[cluster]
system    = "ceph"
threads   = { op = 4 }
scheduler = { kind = "mclock", shards = 2, capacity = 300.0, profile = "balanced", throttle = "16 KiB" }
placement_groups_per_osd = 8

[node.osd]
count = 4
cpu   = "xeon-2023"
cache = { size = "1 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-2023"

[volume.rbd]
size     = "16 MiB"
nodes    = "osd"
encoding = "1-of-2"
group    = "256 KiB"
min_size = 1

[workload.load]
volume      = "rbd"
client      = "app"
kind        = "ssio"
reads       = "50%"
access      = "8 KiB"
outstanding = 8

[event.crash]
at   = "200 ms"
what = "fail"
host = "osd0"

[event.blip]
at   = "1500 ms"
what = "fail"
host = "osd1"
for  = "300 ms"

[recovery]
heartbeat     = "50 ms"
grace         = "100 ms"
out_after     = "200 ms"
give_up       = "2 s"
parallel      = 2
pause         = "1 ms"
max_backfills = 1

[scrub]
rate  = "10 MB/s"
chunk = "64 KiB"
"#;

/// Object servers that fail and return, and a proxy that finds out.
const FAILING_SWIFT: &str = r#"
seed     = 5
warmup   = "200 ms"
duration = "4 s"
tracking = { overhead = false }

[cluster]
system          = "swift"
proxies         = "proxy"
partition_power = 5
x_newest        = true

[node.store]
count = 6
cpu   = "xeon-2023"
cache = { size = "1 MiB" }
disk  = ["cheetah-15k"]

[client.proxy]
count = 1
cpu   = "xeon-2023"

[client.app]
count = 2
cpu   = "xeon-2023"

[volume.objects]
size     = "16 MiB"
nodes    = "store"
encoding = "1-of-3"
group    = "256 KiB"

[workload.load]
volume      = "objects"
client      = "app"
kind        = "ssio"
reads       = "50%"
access      = "8 KiB"
outstanding = 8

[event.crash]
at   = "200 ms"
what = "fail"
host = "store[0-1]"
for  = "900 ms"

[event.again]
at   = "1600 ms"
what = "fail"
host = "store[1-3]"
for  = "900 ms"

[event.disk]
at   = "2600 ms"
what = "fail"
disk = "store0.disk0"
for  = "500 ms"

[event.leave]
at   = "2700 ms"
what = "drain"
host = "store4"

[event.join]
at   = "2800 ms"
what = "add"
host = "store5"

[recovery]
conn_timeout               = "20 ms"
node_timeout               = "60 ms"
request_node_count         = 4
error_suppression_limit    = 3
error_suppression_interval = "300 ms"
replicator_interval        = "100 ms"
replicator_concurrency     = 1
min_part_hours             = "99 ms"
give_up                    = "2 s"
"#;

/// Racks with uplinks so slow that they are full.
const UPLINKS: &str = r#"
seed     = 5
warmup   = "200 ms"
duration = "2 s"
tracking = { overhead = false }
switch   = { uplink = "200 Mbit/s" }

[node.store]
count = 4
rack  = ["a", "b"]
cpu   = "xeon-2023"
cache = { size = "64 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
rack  = "a"
cpu   = "xeon-2023"

[volume.plain]
size     = "16 MiB"
nodes    = "store"
encoding = "1-of-2"

[workload.load]
volume      = "plain"
client      = "app"
kind        = "ssio"
reads       = "80%"
access      = "64 KiB"
outstanding = 8
"#;
