//! The clusters of Ra and Lee, and the loads under which they are measured.

use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::path::PathBuf;

use foretell_files::{Directory, FileKind, Scratch};
use foretell_sim::truth::Truth;

use crate::error::Error;
use crate::plan::Setup;

/// The paper's two systems.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Storage {
    Ceph,
    Swift,
}

impl Storage {
    pub(super) const ALL: [Self; 2] = [Self::Ceph, Self::Swift];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ceph => "Ceph",
            Self::Swift => "Swift",
        }
    }

    /// Requests a second that a run measured.
    pub(super) fn iops(self, truth: &Truth) -> f64 {
        let workload = match self {
            Self::Ceph => "vms",
            Self::Swift => "objects",
        };
        truth.workloads[workload].throughput_rps
    }
}

/// Number of workers of COSBench, which is the number of outstanding requests.
pub(super) const WORKERS: NonZeroU32 = NonZeroU32::new(32).expect("it is not 0");

/// Sizes of requests, in KiB.
pub(super) const SIZES_KIB: [u32; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];

/// Percentages of reads.
pub(super) fn read_percentages() -> impl Iterator<Item = u32> {
    (0..=100).step_by(10)
}

/// Sizes in KiB with their shares of the requests in percent.
pub(super) type Sizes = Vec<(u32, u32)>;

/// Settings of the experiments: the place of the load files, the size of clusters, and the length of runs.
#[derive(Debug)]
pub(super) struct Laboratory {
    /// COSBench's workload files.
    files: Files,
    quick: bool,
}

/// The place of workload files.
#[derive(Debug)]
enum Files {
    /// In a directory of the reproduction's output, where they stay.
    Kept(Directory),
    /// In a temporary directory.
    Passing(Scratch),
}

/// Name of the directory of the files that are kept.
const KEPT: &str = "workloads";

/// Warm-up and measurement times of a run, in milliseconds, by its largest request.
///
/// Large requests are few. Before Ceph is measured, the queue of the fullest drive must have filled, since
/// all requests end up waiting there. That takes many times as long as all outstanding requests need. The
/// whole cluster has nearly four times as many outstanding requests per drive as the quick one.
fn times_ms(storage: Storage, largest_kib: u32, quick: bool) -> (u32, u32) {
    let (warmup, duration) = match (storage, largest_kib) {
        (Storage::Ceph, ..=16) => (500, 300),
        (Storage::Ceph, ..=128) => (750, 600),
        (Storage::Ceph, _) => (2000, 2000),
        (Storage::Swift, ..=128) => (300, 1200),
        (Storage::Swift, _) => (500, 3000),
    };
    match (storage, quick) {
        (_, true) => (warmup, duration),
        (Storage::Ceph, false) => (4 * warmup, duration),
        (Storage::Swift, false) => (4 * warmup, 4 * duration),
    }
}

impl Laboratory {
    /// The setup of a cluster under requests of these sizes, with this share of reads.
    pub(super) fn setup(&self, storage: Storage, sizes: &Sizes, reads: u32) -> Setup {
        let largest = sizes.iter().map(|(kib, _)| *kib).max().unwrap_or(0);
        let (warmup, duration) = times_ms(storage, largest, self.quick);
        let timed = |setup: Setup| {
            setup
                .with("record", "none")
                .with("warmup", format!("{warmup} ms"))
                .with("duration", format!("{duration} ms"))
        };
        match storage {
            Storage::Ceph => {
                let (kib, _) = sizes[0];
                // still far more data than the caches hold, while the drives' tables stay small
                let setup = timed(Setup::of("ceph"))
                    .with("volume.images.size", "256 GiB")
                    .with("workload.vms.access", format!("{kib} KiB"))
                    .with("workload.vms.reads", format!("{reads}%"));
                if self.quick {
                    // a third of the nodes, and one machine with its 8 jobs for each
                    setup.with("node.osd.count", 3).with("workload.vms.outstanding", 256)
                } else {
                    setup
                }
            }
            Storage::Swift => timed(Setup::of("swift"))
                .with("workload.objects.kind", "cosbench")
                .with("workload.objects.file", self.file(sizes, reads).display()),
        }
    }

    fn file(&self, sizes: &Sizes, reads: u32) -> PathBuf {
        let mut name = String::new();
        for (kib, share) in sizes {
            let _ = write!(name, "{kib}k{share}-");
        }
        let name = format!("{name}{reads}.xml");
        let path = match &self.files {
            Files::Kept(directory) => directory.path().join(KEPT).join(name),
            Files::Passing(scratch) => scratch.path().join(name),
        };
        // paths in documents are relative to the document's own directory
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Writes the workload file that a Swift setup refers to.
    pub(super) fn write_file(&self, sizes: &Sizes, reads: u32) -> Result<(), Error> {
        let (path, text) = (self.file(sizes, reads), cosbench(sizes, reads));
        match &self.files {
            Files::Kept(directory) => {
                let name = path.file_name().map(|name| name.to_string_lossy());
                let name = name.expect("a workload file has a name");
                Ok(directory.write(&format!("{KEPT}/{name}"), text.as_bytes())?)
            }
            Files::Passing(_) => Ok(foretell_files::write(&path, FileKind::ANY, text.as_bytes())?),
        }
    }

    /// Settings for this output directory; with `keep`, workload files stay in it.
    pub(super) fn new(directory: &Directory, quick: bool, keep: bool) -> Result<Self, Error> {
        let files =
            if keep { Files::Kept(directory.clone()) } else { Files::Passing(Scratch::new()?) };
        Ok(Self { files, quick })
    }
}

/// A workload file of COSBench: 32 containers of 1000 objects with the paper's number of workers.
fn cosbench(sizes: &Sizes, reads: u32) -> String {
    let bins: Vec<String> =
        sizes.iter().map(|(kib, share)| format!("{0}|{0}|{share}", kib * 1024)).collect();
    let sizes = format!("sizes=h({})B", bins.join(","));
    let place = "containers=u(1,32);objects=u(1,1000)";
    let mut operations = String::new();
    if reads > 0 {
        let _ = write!(operations, r#"<operation type="read" ratio="{reads}" config="{place}"/>"#);
    }
    if reads < 100 {
        let ratio = 100 - reads;
        let _ = write!(
            operations,
            r#"<operation type="write" ratio="{ratio}" config="{place};{sizes}"/>"#
        );
    }
    // the second stage is never reached; it only gives the sizes of the objects that are read
    format!(
        r#"<?xml version="1.0" encoding="UTF-8" ?>
<workload name="mix" description="Ra and Lee">
  <storage type="swift" config="" />
  <workflow>
    <workstage name="main"><work name="main" workers="{WORKERS}" runtime="3600">{operations}</work></workstage>
    <workstage name="objects"><work name="objects" workers="1" totalOps="1">
      <operation type="write" ratio="100" config="{place};{sizes}"/>
    </work></workstage>
  </workflow>
</workload>
"#
    )
}
