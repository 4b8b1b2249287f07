//! What cases are made of: files of the project, of the real data beside it, and of the command's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::common::fio::{Job, result};
use crate::common::{root, run, succeed};

/// Of a large file, this is enough.
const MAX_BYTES: usize = 24 << 10;

/// A cluster of two nodes and one client that is simulated in some milliseconds.
pub(crate) const TINY: &str = r#"
seed     = 7
warmup   = "100 ms"
duration = "1 s"

[node.brick]
count = 2
cpu   = "pentium4-2.6"
cache = { size = "24 MiB", dirty_background = "256 KiB", dirty_limit = "1 MiB", flush_interval = "50 ms", dirty_expire = "100 ms" }
disk  = ["cheetah-15k"]

[client.app]
cpu = "xeon-p4-3.0"

[volume.data]
size     = "16 MiB"
nodes    = "brick"
encoding = "1-of-2"

[workload.load]
volume      = "data"
client      = "app0"
kind        = "ssio"
reads       = "70%"
access      = "8 KiB"
outstanding = 4
"#;

const SWEEP: &str = r#"
title       = "Tiny"
seed        = 3
replicates  = 2
design      = "full"
constraints = ["not (encoding == '1-of-2' and access > 32 KiB)", "outstanding + 2 * 3 <= 20 / 2"]

[factor.encoding]
path   = "volume.data.encoding"
values = ["1-of-1", "1-of-2"]

[factor.access]
path   = "workload.load.access"
values = ["4 KiB", "64 KiB"]

[factor.outstanding]
path   = "workload.load.outstanding"
range  = [1, 4]
count  = 2

[split]
validation    = "20%"
test          = "20%"
extrapolation = "outstanding == 4"

[output]
requests = "1/10"

"#;

const FIO_JOBS: &str = "[global]
bs=4k
size=1m
norandommap

[first]
rw=randread
number_ios=20
bssplit=4k/50:64k/50
numjobs=2
random_distribution=zipf:1.1

[second]
stonewall
rw=randrw
rwmixread=70
iodepth=8
rate_iops=200,100
runtime=200ms
time_based
offset=64k
thinktime=100us
";

const COSBENCH: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<workload name="tiny" description="a few objects">
  <storage type="swift" config="timeout=100"/>
  <workflow>
    <workstage name="init"><work type="init" workers="1" config="cprefix=s;containers=r(1,2)"/></workstage>
    <workstage name="prepare">
      <work type="prepare" workers="2" config="containers=r(1,2);objects=r(1,8);sizes=c(16)KB"/>
    </workstage>
    <workstage name="main" closuredelay="1">
      <work name="mixed" workers="2" rampup="0" totalOps="40">
        <operation type="read" ratio="60" config="containers=u(1,2);objects=u(1,8)"/>
        <operation type="write" ratio="30" config="containers=u(1,2);objects=s(9,16);sizes=h(1|4|50,4|16|50)KB"/>
        <operation type="delete" ratio="10" config="containers=c(1);objects=u(9,16)"/>
      </work>
    </workstage>
  </workflow>
</workload>
"#;

/// Requests in each text format of traces.
const TRACES: [(&str, &str); 10] = [
    ("csv", "version,time(s),op,size(B),lbn\n1,10,28,4096,8\n1,11,2a,512,7\n1,12,2a,8192,64\n"),
    (
        "msr",
        "128166372003061629,hm,1,Read,4096,4096,413\n128166372013061629,hm,1,Write,3584,512,9\n",
    ),
    ("alibaba", "419,R,4096,4096,1577808144360767\n419,W,3584,512,1577808145360767\n"),
    ("tencent", "1538323200,8,8,0,1063\n1538323201,7,1,1,1063\n"),
    ("spc", "0,8,4096,r,0.0\n0,7,512,W,1.0\n1,16,512,W,1.5\n"),
    (
        "fio-iolog",
        "fio version 3 iolog\n1 /a add\n2 /a open\n10 /a read 4096 4096\n1000010 /a write 3584 512\n",
    ),
    (
        "blkparse",
        "  8,0 3 1 0.000000000 697 Q R 8 + 8 [k]\n  8,0 3 2 1.000000000 697 Q W 7 + 1 [k]\n",
    ),
    ("disksim", "0.0 0 8 8 1\n1000.0 0 7 1 0\n"),
    ("foretell", "time_ns,op,offset,size\n5,R,4096,4096\n1000000005,W,3584,512\n"),
    ("block-list", "7\n8\n9\n7\n1000000\n8\n"),
];

const DSTAT: &str = "\"Dstat 0.7.2 CSV output\"
\"Cmdline:\",\"x\",,,,\"Date:\",\"31 Dec 2025 23:59:56 UTC\"

\"system\",\"net/total\",,\"total cpu usage\",
\"time\",\"recv\",\"send\",\"usr\",\"sys\"
31-12 23:59:56,1,2,3,4
31-12 23:59:57,5,6,7,8.5
31-12 23:59:58,5,6,7,9
01-01 00:00:00,9,1e3,1,2
";

const CLIENTS: &str = "epoch,read_iops,write_bytes_per_s
1767225597,10,4096
1767225598,11,4097.5
1767225599,12,8192
1767225600,9,100
";

const JOINED: &str = "epoch,total_cpu_usage:usr,note,read_iops,network.send
1,5,y,20,100
2,7,x,30,200
3,6,x,25,150
";

const HISTORY: &str = "model,metric,misfit,moved,error\nreplay,throughput_rps,0.01,0.2,0.03\n";

const POINTS: &str = "series,bs,read_percent,iops
random,4k,100,1000
random,4k,0,500
random,4k,50,700
random,64k,100,400
random,64k,0,200
";

const REPORT: &str = "Stage,Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime,Throughput
s1,read,read,100,409600,1.5,50
s1,write,write,100,409600,2.5,50
s2,read,read,100,409600,1.5,90
s3,write,write,100,409600,1.5,40
";

/// A drive of nobody, as DiskSim describes one.
const PARV: &str =
    "disksim_bus BUS0 { type = 1, Read block transfer time = 0.9, Write block transfer time = 0.9 }
disksim_ctlr CTLR0 { type = 1, Scale for delays = 0.0, Bulk sector transfer time = 0.0 }
source a.diskspecs
instantiate [ bus0 ] as BUS0
instantiate [ disk0 .. disk1 ] as TINY
topology disksim_bus bus0 [ disksim_ctlr ctlr0 [ disksim_bus bus1 [ disksim_disk disk0 [] ] ] ]
";

/// Whatever cases are made of.
pub(crate) struct Corpus {
    dir: TempDir,
    /// By kind: texts, or bytes.
    all: BTreeMap<&'static str, Vec<Vec<u8>>>,
}

impl Corpus {
    /// Collects and makes it.
    pub(crate) fn make() -> Self {
        let mut corpus = Self {
            dir: tempfile::tempdir().expect("there is room for temporary files"),
            all: BTreeMap::new(),
        };
        corpus.texts();
        corpus.of_the_project();
        corpus.of_the_command();
        corpus
    }

    /// A directory that the command made: `run`, `sweep`, `shards`.
    pub(crate) fn made(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// All of a kind.
    pub(crate) fn all(&self, kind: &str) -> &[Vec<u8>] {
        self.all.get(kind).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, kind: &'static str, content: impl AsRef<[u8]>) {
        let content = content.as_ref();
        let content = content[..content.len().min(MAX_BYTES)].to_vec();
        self.all.entry(kind).or_default().push(content);
    }

    fn add_file(&mut self, kind: &'static str, path: &Path) {
        if let Ok(content) = fs::read(path) {
            self.add(kind, content);
        }
    }

    fn texts(&mut self) {
        self.add("scenario", TINY);
        self.add("sweep", format!("{SWEEP}\nscenario = \"tiny.toml\"\n").replacen("seed", "x", 0));
        self.add("fio-job", FIO_JOBS);
        self.add("cosbench", COSBENCH);
        for (name, text) in TRACES {
            self.add(name, text);
            self.add("trace", text);
        }
        self.add("dstat", DSTAT);
        self.add("clients", CLIENTS);
        self.add("joined", JOINED);
        self.add("history", HISTORY);
        self.add("points", POINTS);
        self.add("report", REPORT);
        self.add("parv", PARV);
        self.add("validate", "R 0 100 8 5000 1000\nW 0 108 8 4000 20\nR 0 9000 16 7000 0\n");
        for version in [2, 3] {
            let mixed = Job {
                rw: "randrw",
                bs: 8192,
                iodepth: 4,
                numjobs: 2,
                rwmixread: 70,
                seen: [Some((700.0, 900.0)), Some((300.0, 1900.0))],
            };
            let jobs = [
                Job::full("randread", 4096, 1, 200.0).json(version),
                Job::full("randread", 4096, 16, 900.0).json(version),
                Job::full("randwrite", 4096, 8, 300.0).json(version),
                Job::full("read", 65536, 4, 500.0).json(version),
                mixed.json(version),
            ];
            self.add("fio-json", result(&jobs, "sda", version));
            for job in jobs {
                self.add("fio-json", result(&[job], "sda", version));
            }
        }
        let mut table = "a,kind,b,y\n".to_owned();
        let mut folds = "row,fold\n".to_owned();
        for row in 0..40_u32 {
            let kind = ["ssd", "disk", "tape"][row as usize % 3];
            let y = 3.0 + f64::from(row % 7) * 1.5 + f64::from(row * row % 11);
            table += &format!("{},{kind},{:.2},{y}\n", row % 7, f64::from(row) * 0.37);
            folds += &format!("{row},{}\n", row % 4);
        }
        self.add("table", table);
        self.add("folds", folds);
        for change in [
            "node.brick.cache.size=1 MiB",
            "volume.data.encoding=1-of-1",
            "node.brick.count=3",
            "workload.load={ volume = \"data\", client = \"app0\", kind = \"ssio\", reads = 1 }",
            "workload.load.arrivals=poisson",
            "host.brick1.nic.rate=100 Mbit/s",
            "node.brick.disk=[\"sata-ssd\"]",
            "workload.load.think=exponential 1 ms",
            "tracking.metrics=true",
            "duration=100 ms",
            "record=every 1/10 requests",
            "node.brick.disk[0].scheduler=cfq",
        ] {
            self.add("change", change);
        }
        for condition in [
            "outstanding >= 2 and not (access == 64 KiB or encoding == '1-of-2')",
            "-outstanding * 3 + 1 / 2 < 10",
            "encoding != \"1-of-1\"",
            "access / 1 KiB > 3_000",
        ] {
            self.add("condition", condition);
        }
    }

    /// Scenarios, sweeps, devices that come with the project, and files of the real data.
    fn of_the_project(&mut self) {
        let scenarios = root().join("scenarios");
        for (kind, below) in [
            ("scenario-file", ""),
            ("scenario-file", "ursa-minor"),
            ("scenario-file", "inside-out"),
            ("sweep-file", "sweeps"),
            ("device", "devices"),
            ("cpu", "cpus"),
        ] {
            for path in sorted(&scenarios.join(below)) {
                let ending = path.extension().and_then(|ending| ending.to_str());
                if ending == Some("toml") && path.file_name().is_some_and(|n| n != "Cargo.toml") {
                    self.add_file(kind, &path);
                }
            }
        }
        self.add_file("cosbench", &scenarios.join("inside-out/cosbench.xml"));
        for (kind, name) in [
            ("trace", "traces/cloudPhysicsIO.csv"),
            ("vscsi", "traces/cloudPhysicsIO.vscsi"),
            ("oracle-general", "traces/cloudPhysicsIO.oracleGeneral.bin"),
            ("fio-iolog", "fio/sample_v3.iolog"),
            ("dstat", "dstat/dstat-raw.csv"),
            ("joined", "dstat/fio-and-dstat-1s.csv"),
            ("validate", "disks/barracuda.trace"),
            ("parv", "disks/barracuda.parv"),
            ("diskspecs", "disks/barracuda.diskspecs"),
            ("model-file", "disks/barracuda.model"),
            ("seek", "disks/barracuda.seek"),
            ("table-file", "regression/ssd_random_iops.csv"),
        ] {
            if let Some(path) = foretell_test_data::shared(name) {
                self.add_file(kind, &path);
            }
        }
        // records of 24 and 36 bytes, where the real ones are absent
        if self.all("oracle-general").is_empty() {
            let record = |n: u32| {
                let mut record = n.to_le_bytes().to_vec();
                record.extend(u64::from(n * 7 % 50).to_le_bytes());
                record.extend(4096_u32.to_le_bytes());
                record.extend(i64::from(n).to_le_bytes());
                record
            };
            self.add("oracle-general", (1..60).flat_map(record).collect::<Vec<u8>>());
        }
    }

    /// A kept run, shards of a sweep and its data set, saved models, metrics as dstat's files.
    fn of_the_command(&mut self) {
        let made = self.dir.path().to_owned();
        let at = |name: &str| made.join(name).display().to_string();
        fs::write(at("tiny.toml"), TINY).unwrap();
        fs::write(at("sweep.toml"), format!("scenario = \"tiny.toml\"\n{SWEEP}")).unwrap();
        let metrics =
            ["--set", "tracking.metrics=true", "--set", "duration=6 s", "--set", "warmup=0 s"];
        succeed(["run", &at("tiny.toml"), "-o", &at("run")]);
        succeed([&["run", &at("tiny.toml"), "-o", &at("measured")][..], &metrics].concat());
        succeed(["export", &at("measured"), "--dstat", "-o", &at("dstat")]);
        for shard in ["1/2", "2/2"] {
            succeed([
                "sweep",
                &at("sweep.toml"),
                "-o",
                &at("shards"),
                "--shard",
                shard,
                "--jobs",
                "1",
            ]);
        }
        succeed(["sweep", &at("sweep.toml"), "-o", &at("set"), "--csv", "--jobs", "1"]);
        succeed(["sweep", &at("sweep.toml"), "-o", &at("parquet"), "--jobs", "1"]);
        let table = at("table.csv");
        fs::write(&table, &self.all("table")[0]).unwrap();
        let mut models = Vec::new();
        for model in [
            "lrm",
            "mars:degree=2",
            "cart",
            "m5",
            "cubist:ntrees=3,ninstances=5",
            "forest:ntrees=3",
            "boost:ntrees=5",
            "ridge",
        ] {
            let file = at("model.json");
            let done = run([
                "learn", "train", "--data", &table, "--target", "y", "--model", model, "-o", &file,
            ]);
            if done.status == Some(0) {
                models.push(fs::read(&file).unwrap());
            }
        }
        assert!(models.len() >= 5, "models are saved");
        let dstat = sorted(&self.made("dstat"));
        for path in dstat {
            let kind = if path.ends_with("clients.csv") { "clients" } else { "dstat" };
            self.add_file(kind, &path);
        }
        let sweep = fs::read(self.made("sweep.toml")).unwrap();
        self.all.insert("sweep", vec![sweep]);
        self.all.insert("model", models);
        for (kind, share) in [("truth-of-reads", "100%"), ("truth-of-writes", "0%")] {
            let reads = format!("workload.load.reads={share}");
            succeed(["run", &at("tiny.toml"), "--set", &reads, "-o", &at(kind)]);
        }
        for (kind, name) in [
            ("truth-of-reads", "truth-of-reads/truth.json"),
            ("truth-of-writes", "truth-of-writes/truth.json"),
            ("run-toml", "run/run.toml"),
            ("manifest", "shards/sweep.json"),
            ("content", "set/content.json"),
        ] {
            // whole: the rest of a document would be missing
            let content = fs::read(self.made(name)).unwrap();
            self.all.insert(kind, vec![content]);
        }
        for format in ["msr", "csv"] {
            let (_, text) = TRACES.iter().find(|(name, _)| *name == format).unwrap();
            let (plain, packed) = (at(&format!("{format}.txt")), at(&format!("{format}.gz")));
            fs::write(&plain, text).unwrap();
            succeed(["import", format, &plain, "-o", &packed]);
            let zst = at(&format!("{format}.zst"));
            succeed(["import", format, &plain, "-o", &zst]);
            for path in [packed, zst] {
                let content = fs::read(path).unwrap();
                self.all.entry("packed").or_default().push(content);
            }
        }
    }
}

fn sorted(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|p| p.is_file()).collect();
    paths.sort();
    paths
}
