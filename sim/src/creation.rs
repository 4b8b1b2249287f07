//! Fills the caches of arrays before the first request.
//!
//! Before it measures, FFSB creates its files and warms up (Noorshams et al. 2013, Section 4.3). To simulate
//! these gigabytes would take longer than the rest of the run. So both phases take no simulated time, and
//! change only the caches of arrays (as the warming of Wunderlich et al., SMARTS, ISCA 2003):
//!
//! 1. *creation*: each instance's files are written one after the other, with all instances side by side. A
//!    file is skipped if the data written after it fill the cache;
//! 2. *warm-up*: all threads do operations that are drawn from a separate random stream, one request each in
//!    turn (where destaged data lie on the disks depends on how the writes of threads mix). The warm-up ends
//!    when they have written as much as the write cache holds. It has at most two million requests, or half a
//!    million if no thread writes. (The paper's system did 575 000 requests on average in its warm-up of a
//!    minute.) Above its high mark, the write cache destages stripes, for which disks take no time.
//!
//! The dynamic state, that is queues and arm positions, is warmed up by simulated time (`warmup`). Files of other
//! workloads, and devices other than arrays, are left unchanged.

use foretell_algorithms::distribution::Place;
use foretell_scenarios::device::{Array, Device};
use foretell_scenarios::model::{Arrivals, WorkloadKind};
use foretell_units::{Bytes, HostId, Op};
use foretell_workloads::Access;
use foretell_workloads::transaction::{TransactionStep, Transactions};

use crate::cluster::Cluster;
use crate::error::SimError;
use crate::load;

/// Most requests of the warm-up.
const MAX_REQUESTS: u64 = 1 << 21;
/// Maximum number of requests of the warm-up if nothing is written: about as many as the system of Noorshams
/// et al. 2013 did in an average minute.
const MAX_READS: u64 = 1 << 19;

/// The volume whose places are touched, and lists that are used again for each access.
struct Touched {
    volume: u32,
    nodes: Vec<u32>,
    places: Vec<Place>,
}

/// Files of one instance, and the operations on them.
struct Files {
    touched: Touched,
    base: Bytes,
    file: Bytes,
    count: u64,
    operations: Box<dyn Transactions>,
    /// Remaining steps of each thread.
    threads: Vec<std::vec::IntoIter<TransactionStep>>,
}

impl Files {
    /// The next request of a thread. Begins an operation if the thread has finished one.
    fn next(&mut self, thread: usize) -> Option<Access> {
        loop {
            match self.threads[thread].next() {
                Some(TransactionStep::Io(access)) => return Some(access),
                Some(TransactionStep::Cached(_)) => {}
                None => self.begin(thread, 0)?,
            }
        }
    }

    /// Begins an operation for a thread and skips its first `done` steps; `None` if there is no operation.
    fn begin(&mut self, thread: usize, done: usize) -> Option<()> {
        let mut steps = Vec::new();
        if !self.operations.next(&mut steps) {
            return None;
        }
        steps.drain(..done.min(steps.len()));
        self.threads[thread] = steps.into_iter();
        Some(())
    }
}

impl Cluster {
    /// Creates the files of all workloads that create files, and warms up with their operations.
    pub(crate) fn create_files(&mut self) -> Result<(), SimError> {
        let caches = |array: &Array| {
            let cache = array.cache.as_ref()?;
            let written = cache.write.map_or(Bytes::ZERO, |write| write.size);
            Some((cache.size.max(written), written))
        };
        let hosts = self.scenario.hosts.iter().filter_map(|host| host.role.storage());
        let arrays =
            hosts.flat_map(foretell_scenarios::model::Storage::devices).filter_map(|disk| {
                if let Device::Array(array) = &disk.device { caches(array) } else { None }
            });
        let largest = arrays.fold(None, |most: Option<(Bytes, Bytes)>, (cache, written)| {
            let (a, b) = most.unwrap_or_default();
            Some((a.max(cache), b.max(written)))
        });
        let Some((kept, written)) = largest else { return Ok(()) };
        let mut all = Vec::new();
        for (index, workload) in self.scenario.workloads.iter().enumerate() {
            let WorkloadKind::Ffsb { file_set, file, sub_requests, .. } = workload.kind else {
                continue;
            };
            let threads = match workload.arrivals {
                Arrivals::Closed { outstanding, .. } => outstanding,
                _ => 1,
            };
            for position in 0..workload.clients.len() {
                let base = file_set * position as u64;
                let count = file_set.get() / file.get();
                let mut files = Files {
                    touched: Touched {
                        volume: workload.volume.0,
                        nodes: Vec::new(),
                        places: Vec::new(),
                    },
                    base,
                    file,
                    count,
                    operations: load::warming(&self.scenario, index, position)?,
                    threads: vec![Vec::new().into_iter(); threads as usize],
                };
                // start the threads at different steps
                for thread in 0..threads {
                    let done = u64::from(thread) * u64::from(sub_requests) / u64::from(threads);
                    files.begin(thread as usize, done as usize);
                }
                all.push(files);
            }
        }
        let mut left: Bytes = all.iter().map(|files| files.file * files.count).sum();
        for disk in self.engine.disks.iter_mut().flatten() {
            disk.expect(left);
        }
        for number in 0..all.iter().map(|files| files.count).max().unwrap_or(0) {
            for Files { touched, base, file, count, .. } in &mut all {
                if number >= *count {
                    continue;
                }
                left = left.saturating_sub(*file);
                if left < kept {
                    let offset = *base + *file * number;
                    self.touch(touched, Access { op: Op::Write, offset, size: *file });
                }
            }
        }
        let (mut requests, mut wrote) = (0, Bytes::ZERO);
        let most = |wrote| if wrote > Bytes::ZERO { MAX_REQUESTS } else { MAX_READS };
        while requests < most(wrote) && wrote < written && !all.is_empty() {
            for files in &mut all {
                for thread in 0..files.threads.len() {
                    requests += 1;
                    let Some(access) = files.next(thread) else { continue };
                    self.touch(&mut files.touched, access);
                    if access.op == Op::Write {
                        wrote += access.size;
                    }
                }
            }
        }
        Ok(())
    }

    /// Updates the arrays' caches for a read or write of a volume's range; it takes no time.
    fn touch(&mut self, touched: &mut Touched, access: Access) {
        let Touched { volume, nodes, places } = touched;
        let (volume, op) = (*volume, access.op);
        let found = &self.protocol.volumes()[volume as usize];
        let (offset, size) = found.distribution.covering(access.offset, access.size);
        for piece in found.distribution.pieces(offset, size) {
            found.distribution.places(piece.group, nodes, places);
            for place in &*places {
                let host: HostId = found.nodes[place.node as usize];
                let host = &self.engine.hosts[host.index()];
                let node = host.node.as_ref().expect("it stores fragments");
                let disks = &mut self.engine.disks[host.physical.index()];
                node.touch(disks, volume, op, place.base + piece.start, piece.stored);
            }
        }
    }
}
