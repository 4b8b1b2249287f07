//! Fills the caches of arrays before the first request.
//!
//! According to its documentation, FFSB creates its files and warms up before it measures. An operator knows
//! which workloads are FFSB. The files are assumed to lie where requests were recorded. The warm-up is
//! assumed to issue similar requests until it has written as much as the write cache holds. Creation and
//! warm-up take no time here, and change only the caches of arrays. All other state warms up during the run.

use foretell_units::{Bytes, HostId, Op, Stream};

use super::stream::{NextRequest, Requests};
use super::{Material, Replay, SEED};
use crate::disk::Measurement;
use crate::observed::Recorded;

/// Files are created in pieces of this size. The clients take turns.
const PIECE: Bytes = Bytes::mib(16);
/// Maximum number of requests in the warm-up.
const MAX_REQUESTS: u64 = 1 << 21;
/// Maximum number of requests in the warm-up if nothing is written.
const MAX_READS: u64 = 1 << 19;

/// The files of one client.
struct Files {
    volume: u32,
    begin: u64,
    end: u64,
}

impl Files {
    fn bytes(&self) -> u64 {
        self.end - self.begin
    }
}

impl Replay<'_> {
    /// Creates the files of all workloads that create files, and warms up with requests like theirs.
    pub(super) fn create_files(&mut self, material: &Material) {
        let arrays = || material.measured.iter().flatten().filter_map(|disk| caches(disk));
        let Some(kept) = arrays().map(|(all, _)| all).max() else { return };
        let written = arrays().map(|(_, written)| written).max().unwrap_or(0);
        let creating = || material.requests.iter().enumerate().filter(|(_, known)| known.creates);
        let mut all = Vec::new();
        for (index, known) in creating() {
            let volume = material.scenario.workloads[index].volume.0;
            for requests in known.of_clients.iter().filter(|requests| !requests.is_empty()) {
                let begins = requests.iter().map(|request| request.offset.get());
                let begin = begins.min().expect("there are some") / PIECE.get() * PIECE.get();
                let end = requests.iter().map(Recorded::end).max().unwrap_or(begin);
                all.push(Files { volume, begin, end });
            }
        }
        let mut left: u64 = all.iter().map(Files::bytes).sum();
        let longest = all.iter().map(Files::bytes).max().unwrap_or(0);
        for at in (0..longest).step_by(PIECE.get() as usize) {
            for files in all.iter().filter(|files| at < files.bytes()) {
                let size = PIECE.get().min(files.bytes() - at);
                left -= size;
                if left < kept {
                    let (offset, size) = (Bytes(files.begin + at), Bytes(size));
                    self.touch_disks(files.volume, Op::Write, offset, size);
                }
            }
        }
        let mut warming: Vec<(u32, Requests, Stream)> = Vec::new();
        for (index, _) in creating() {
            warming.extend(like_recorded(material, index));
        }
        let (mut requests, mut wrote) = (0, 0);
        let most = |wrote| if wrote > 0 { MAX_REQUESTS } else { MAX_READS };
        while requests < most(wrote) && wrote < written && !warming.is_empty() {
            for (volume, like, draws) in &mut warming {
                requests += 1;
                let NextRequest { op, offset, size } = like.next(draws);
                self.touch_disks(*volume, op, offset, size);
                if op == Op::Write {
                    wrote += size.get();
                }
            }
        }
    }

    /// Reads or writes part of a volume in no time; only the caches of arrays change.
    fn touch_disks(&mut self, volume: u32, op: Op, offset: Bytes, size: Bytes) {
        let Self { protocol, engine, .. } = self;
        let volumes = protocol.volumes();
        let found = &volumes[volume as usize];
        let (offset, size) = found.distribution.covering(offset, size);
        let (mut nodes, mut places) = (Vec::new(), Vec::new());
        for piece in found.distribution.pieces(offset, size) {
            found.distribution.places(piece.group, &mut nodes, &mut places);
            for place in &places {
                let host: HostId = found.nodes[place.node as usize];
                let Some((node, mut around)) = engine.node(host.0) else { continue };
                node.touch_disks(&mut around, volume, op, place.base + piece.start, piece.stored);
            }
        }
    }
}

/// Bytes of an array's caches: in total, and for written data.
fn caches(measured: &Measurement) -> Option<(u64, u64)> {
    let cache = measured.array.as_ref()?.cache.as_ref()?;
    let written = cache.write.as_ref().map_or(0, |write| write.bytes);
    Some((cache.bytes.max(written), written))
}

/// Streams that resemble the recorded ones of each client or thread. All of their requests are drawn.
fn like_recorded(material: &Material, index: usize) -> Vec<(u32, Requests, Stream)> {
    let workload = &material.scenario.workloads[index];
    let known = &material.requests[index];
    let volume = workload.volume;
    let bytes = material.scenario.volume(volume).size;
    let name = &workload.name;
    let draws =
        |place: usize, what: usize| SEED.stream(&format!("workload/{name}/warming/{place}/{what}"));
    let mut found = Vec::new();
    for place in 0..known.of_clients.len() {
        // requests beyond the recorded ones are drawn
        let all = match known.of_threads.get(place) {
            Some(threads) if !threads.is_empty() => {
                let count = threads.len();
                let of_one =
                    Requests::of_threads(name.as_str(), known, place, 2 * count, bytes, |at| {
                        draws(place, at)
                    });
                of_one.into_iter().skip(count).collect::<Vec<_>>()
            }
            _ => continue,
        };
        found
            .extend(all.into_iter().enumerate().map(|(at, all)| (volume.0, all, draws(place, at))));
    }
    found
}
