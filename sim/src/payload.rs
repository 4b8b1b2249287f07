//! Real bytes in requests (`payload = "real"`): data read back must be those that were written.
//!
//! A write creates a new version of each block that it touches: its own bytes over those of the previous
//! version, encrypted, encoded, and kept as n fragments. A fragment counts as stored when its node has served
//! the message that brings it. A read is pinned to the version of each block that was complete when its
//! messages were sent (nodes keep versions, as in PASIS). The read takes the fragments from the nodes that it
//! asked, decodes and decrypts them, and compares the result. If a write's quorum is smaller than n, a node
//! may be asked for a fragment that is still on its way; it answers once it has the fragment.
//!
//! The bytes are kept outside the simulated disks, by block and fragment. The timing model decides on which
//! page of which disk they lie. A replicated block that is written in part is kept as a whole here, although
//! the message carries only the part.
//!
//! In scenarios with events, this module also tracks which node has which fragment: if a host is lost for
//! good, its data are gone. A rebuilt fragment is really decoded and encoded, and compared.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use foretell_algorithms::codec::{Cipher, Encoding, Erasure, KEY_LEN};
use foretell_systems::{Copied, Fragments, Home};
use foretell_units::{HostId, Seed, Stream, VolumeId};

use crate::error::SimError;

/// The bytes of all volumes.
pub(crate) struct Vault {
    key: [u8; KEY_LEN],
    volumes: Vec<Codec>,
    /// The versions of each block, by (volume, block); oldest first.
    blocks: BTreeMap<(u32, u64), Block>,
    /// Blocks whose encoding has changed since the beginning, by (volume of the scenario, block): the volume that
    /// they now belong to.
    converted: BTreeMap<(u32, u64), u32>,
    /// The blocks that each request reads.
    reads: BTreeMap<u32, Vec<Pinned>>,
    /// Exchanges that wait for a fragment to be stored, with their fragments.
    parked: Vec<(u32, Fragments)>,
    contents: Stream,
    compared: u64,
    /// Present only in scenarios with events.
    failures: Option<Losses>,
    /// Whether reads may return older versions: then each node's newest version is kept. The order of versions is that
    /// in which their messages were sent.
    may_be_stale: bool,
}

/// The effects of failures on the initial data.
struct Losses {
    homes: Vec<Home>,
    /// Nodes that have lost all data.
    wiped: Vec<HostId>,
    /// Fragments of blocks that were never written, as (volume, block, fragment, node), at the nodes where they were
    /// rebuilt.
    rebuilt: BTreeSet<(u32, u64, u8, HostId)>,
    /// Initial fragments, in the same form, that nodes have dropped because others hold them.
    dropped: BTreeSet<(u32, u64, u8, HostId)>,
}

/// Encryption and encoding of a volume's blocks.
struct Codec {
    name: String,
    erasure: Erasure,
    cipher: Cipher,
    block: u64,
}

#[derive(Default)]
struct Block {
    versions: Vec<Version>,
    /// The newest version that its quorum has acknowledged; 0: the initial content.
    complete: u64,
    /// Versions that outstanding reads are pinned to.
    pins: Vec<u64>,
    /// Number of versions so far.
    sent: u64,
}

struct Version {
    number: u64,
    /// Its place in the order in which the messages of versions were sent, from 1.
    place: u64,
    plain: Vec<u8>,
    fragments: Vec<Vec<u8>>,
    /// Stored fragments, with their nodes.
    stored: Vec<(u8, HostId)>,
}

/// A block that a request reads, with the version that it is pinned to.
struct Pinned {
    volume: u32,
    block: u64,
    version: u64,
    /// The place of the version that it was pinned to first.
    known: u64,
    taken: Vec<(usize, Vec<u8>)>,
}

impl Vault {
    /// Volumes as (name, encoding, cipher, block size), in order.
    pub(crate) fn new(seed: Seed, volumes: Vec<(String, Encoding, Cipher, u64)>) -> Self {
        let mut key = [0; KEY_LEN];
        let mut stream = seed.stream("payload/key");
        for half in key.chunks_mut(8) {
            half.copy_from_slice(&stream.bits().to_le_bytes());
        }
        let codec = |(name, encoding, cipher, block)| Codec {
            name,
            erasure: Erasure::new(encoding),
            cipher,
            block,
        };
        Self {
            key,
            volumes: volumes.into_iter().map(codec).collect(),
            blocks: BTreeMap::new(),
            converted: BTreeMap::new(),
            reads: BTreeMap::new(),
            parked: Vec::new(),
            contents: seed.stream("payload/contents"),
            compared: 0,
            failures: None,
            may_be_stale: false,
        }
    }

    /// The same for a system whose reads may return older versions.
    pub(crate) fn with_stale_reads(self, may_be_stale: bool) -> Self {
        Self { may_be_stale, ..self }
    }

    /// The same in a scenario with events; `homes`: placement by volume.
    pub(crate) fn with_failures(self, homes: Option<Vec<Home>>) -> Self {
        let losses = |homes| {
            let (rebuilt, dropped) = (BTreeSet::new(), BTreeSet::new());
            Losses { homes, wiped: Vec::new(), rebuilt, dropped }
        };
        Self { failures: homes.map(losses), ..self }
    }

    /// Number of blocks read back and found correct so far.
    pub(crate) fn compared(&self) -> u64 {
        self.compared
    }

    /// The messages of a write are sent: bytes `offset..end` of the volume get new contents.
    pub(crate) fn write(&mut self, volume: u32, version: u64, offset: u64, end: u64) {
        let size = self.volumes[volume as usize].block;
        for block in offset / size..end.div_ceil(size) {
            let volume = self.now(volume, block);
            let mut plain = self.newest(volume, block);
            let from = offset.saturating_sub(block * size).min(size) as usize;
            let to = (end - block * size).min(size) as usize;
            for chunk in plain[from..to].chunks_mut(8) {
                chunk.copy_from_slice(&self.contents.bits().to_le_bytes()[..chunk.len()]);
            }
            let fragments = self.encode(volume, block, version, &plain);
            let block = self.blocks.entry((volume, block)).or_default();
            block.push(version, plain, fragments);
            if self.may_be_stale {
                // until it has settled: a node may get it late
                block.pins.push(version);
            }
        }
    }

    /// No message of a write is outstanding any more.
    pub(crate) fn settle(&mut self, volume: u32, version: u64, blocks: Range<u64>) {
        for number in blocks {
            self.unpin(volume, number, version);
        }
    }

    /// The volume that a block of a volume of the scenario now belongs to.
    fn now(&self, volume: u32, block: u64) -> u32 {
        self.converted.get(&(volume, block)).copied().unwrap_or(volume)
    }

    /// Blocks of a volume move to another volume. The other volume gets its own fragments of their content, which
    /// are not stored yet. If it already has content for a block, that content stays.
    pub(crate) fn convert(&mut self, volume: u32, from: u32, to: u32, blocks: Range<u64>) {
        for number in blocks {
            self.converted.insert((volume, number), to);
            if to == volume || self.blocks.contains_key(&(to, number)) {
                self.blocks.remove(&(from, number));
                continue;
            }
            let known = self.blocks.get(&(from, number));
            let complete = known.map_or(0, |block| block.complete);
            let known = known.and_then(|block| block.version(complete));
            let plain = known.map_or_else(|| self.initial(from, number), |one| one.plain.clone());
            let fragments = self.encode(to, number, complete, &plain);
            let mut block = Block { complete, ..Block::default() };
            block.push(complete, plain, fragments);
            self.blocks.insert((to, number), block);
        }
    }

    /// Drops the blocks' fragments in the old encoding.
    pub(crate) fn leave(&mut self, volume: u32, blocks: Range<u64>) {
        for number in blocks {
            self.blocks.remove(&(volume, number));
        }
    }

    fn newest(&self, volume: u32, block: u64) -> Vec<u8> {
        let newest = self.blocks.get(&(volume, block)).and_then(|block| block.versions.last());
        newest.map_or_else(|| self.initial(volume, block), |version| version.plain.clone())
    }

    /// The initial content of a block: its own number.
    fn initial(&self, volume: u32, block: u64) -> Vec<u8> {
        let size = self.volumes[volume as usize].block as usize;
        block.to_le_bytes().iter().copied().cycle().take(size).collect()
    }

    fn encode(&self, volume: u32, block: u64, version: u64, plain: &[u8]) -> Vec<Vec<u8>> {
        let codec = &self.volumes[volume as usize];
        let iv = codec.cipher.iv(&self.key, VolumeId(volume), block, version as u32);
        codec.erasure.encode(&codec.cipher.encrypt(&self.key, &iv, plain))
    }

    /// A node has served the message that brings a write's fragments. Appends to `woken` the exchanges whose
    /// nodes waited for them.
    pub(crate) fn store(&mut self, what: Fragments, woken: &mut Vec<u32>) {
        for block in what.range() {
            let Some(block) = self.blocks.get_mut(&(what.volume, block)) else { continue };
            // A version that is gone has been superseded everywhere. Version 0 stands for a node's conversion to
            // another encoding, which applies to every version.
            let is_it = |v: &Version| v.number == what.version || what.version == 0;
            for version in block.versions.iter_mut().filter(|version| is_it(version)) {
                version.note_stored(what);
            }
        }
        self.wake(woken);
    }

    /// Appends the exchanges whose nodes now have the fragments that they waited for.
    fn wake(&mut self, woken: &mut Vec<u32>) {
        let parked = std::mem::take(&mut self.parked);
        for (leg, fragments) in parked {
            if self.holds(fragments) {
                woken.push(leg);
            } else {
                self.parked.push((leg, fragments));
            }
        }
    }

    /// A quorum has acknowledged a write.
    pub(crate) fn complete(&mut self, volume: u32, version: u64, offset: u64, end: u64) {
        let size = self.volumes[volume as usize].block;
        for block in offset / size..end.div_ceil(size) {
            let volume = self.now(volume, block);
            let block = self.blocks.get_mut(&(volume, block)).expect("it was written");
            block.completes(version, self.may_be_stale);
        }
    }

    /// A quorum has acknowledged some blocks of a write. A write that spans several groups completes group by group:
    /// a rebuild of one group must use the new version, whether or not the other groups have it.
    pub(crate) fn complete_blocks(&mut self, volume: u32, version: u64, blocks: Range<u64>) {
        for number in blocks {
            let Some(block) = self.blocks.get_mut(&(volume, number)) else { continue };
            if block.version(version).is_some() {
                block.completes(version, self.may_be_stale);
            }
        }
    }

    /// The messages of a read are sent for consecutive blocks: it will see the versions that are complete now.
    pub(crate) fn pin(&mut self, request: u32, volume: u32, first_block: u64, blocks: u64) {
        for number in first_block..first_block + blocks {
            let block = self.blocks.entry((volume, number)).or_default();
            block.pins.push(block.complete);
            let (version, known) = (block.complete, block.place(block.complete));
            let pinned = Pinned { volume, block: number, version, known, taken: Vec::new() };
            self.reads.entry(request).or_default().push(pinned);
        }
    }

    /// Whether the node has the fragments that the exchange asks for. If not, the exchange is parked until
    /// the node has them.
    pub(crate) fn ready(&mut self, leg: u32, what: Fragments) -> bool {
        let holds = self.holds(what);
        if !holds {
            self.parked.push((leg, what));
        }
        holds
    }

    /// A node has read fragments of the versions that a request is pinned to.
    ///
    /// # Errors
    ///
    /// It lacks one.
    pub(crate) fn read(&self, what: Fragments) -> Result<(), SimError> {
        if self.holds(what) {
            return Ok(());
        }
        Err(self.not_there(what))
    }

    /// A node has found its copies for a request, which from now on sees the versions that the node has. `is_stale`:
    /// whether any must be older than the one that the request was pinned to first.
    ///
    /// # Errors
    ///
    /// It lacks one, or one is older although none may be, or none is.
    pub(crate) fn find(&mut self, what: Fragments, is_stale: bool) -> Result<(), SimError> {
        let Some(mut read) = self.reads.remove(&what.request) else { return Ok(()) };
        let mut is_any_older = false;
        for pinned in read.iter_mut().filter(|pinned| what.range().contains(&pinned.block)) {
            let is_there_initially = self.holds_initial(pinned.block, what);
            let block = self.blocks.get_mut(&(what.volume, pinned.block)).expect("it is pinned");
            let stored = (what.fragment, what.node);
            let newest = block.versions.iter().rev().find(|one| one.stored.contains(&stored));
            let newest = newest.map(|one| one.number).or(is_there_initially.then_some(0));
            let Some(newest) = newest else { return Err(self.not_there(what)) };
            is_any_older |= block.place(newest) < pinned.known;
            let pin = block.pins.iter().position(|pin| *pin == pinned.version);
            block.pins[pin.expect("it is pinned")] = newest;
            pinned.version = newest;
        }
        self.reads.insert(what.request, read);
        if is_any_older == is_stale {
            return Ok(());
        }
        let which = |is_older| if is_older { "an older version" } else { "the newest version" };
        let reason = format!("{} in place of {}", which(is_any_older), which(is_stale));
        Err(self.wrong_copies(what, &reason))
    }

    fn not_there(&self, what: Fragments) -> SimError {
        self.wrong_copies(what, "nothing")
    }

    fn wrong_copies(&self, what: Fragments, found: &str) -> SimError {
        let Fragments { volume, first_block, node, .. } = what;
        let volume = self.volumes[volume as usize].name.clone();
        let reason = format!("device {} sends {found}", node.0);
        SimError::WrongData { volume, block: first_block, reason }
    }

    fn holds(&self, what: Fragments) -> bool {
        let Some(read) = self.reads.get(&what.request) else { return true };
        read.iter().filter(|pinned| what.range().contains(&pinned.block)).all(|pinned| {
            let block = &self.blocks[&(what.volume, pinned.block)];
            match block.version(pinned.version) {
                Some(version) => version.stored.contains(&(what.fragment, what.node)),
                None => pinned.version == 0 && self.holds_initial(pinned.block, what),
            }
        })
    }

    /// Whether a node has a fragment of the initial content.
    fn holds_initial(&self, block: u64, what: Fragments) -> bool {
        let Some(Losses { homes, wiped, rebuilt, dropped }) = &self.failures else { return true };
        let Fragments { volume, fragment, node, .. } = what;
        let which = (volume, block, fragment, node);
        let was_there = homes[volume as usize].node(block, fragment) == node;
        was_there && !wiped.contains(&node) && !dropped.contains(&which) || rebuilt.contains(&which)
    }

    /// The data of a host are lost.
    pub(crate) fn wipe(&mut self, host: HostId) {
        for version in self.blocks.values_mut().flat_map(|block| &mut block.versions) {
            version.stored.retain(|(_, node)| *node != host);
        }
        let losses = self.failures.as_mut().expect("hosts fail only with events");
        losses.wiped.push(host);
        losses.rebuilt.retain(|(.., node)| *node != host);
    }

    /// The client no longer waits for an exchange. Returns whether it was parked.
    pub(crate) fn forget(&mut self, leg: u32) -> bool {
        let place = self.parked.iter().position(|(parked, _)| *parked == leg);
        place.map(|place| self.parked.remove(place)).is_some()
    }

    /// A request ends without its data being opened.
    pub(crate) fn fail(&mut self, request: u32) {
        for pinned in self.reads.remove(&request).unwrap_or_default() {
            self.unpin(pinned.volume, pinned.block, pinned.version);
        }
    }

    /// A node has made a fragment from those that a request has read, and has stored it.
    pub(crate) fn rebuild(
        &mut self,
        what: Fragments,
        woken: &mut Vec<u32>,
    ) -> Result<(), SimError> {
        for pinned in self.reads.remove(&what.request).unwrap_or_default() {
            let Fragments { volume, fragment, node, .. } = what;
            let codec = &self.volumes[volume as usize];
            let lost = usize::from(fragment);
            let made = codec.erasure.repair(lost, &pinned.fragments(), codec.block as usize);
            let made = made.map_err(|error| self.wrong(&pinned, error.to_string()))?;
            let right = self.fragment(volume, &pinned, fragment);
            if made != right {
                let reason = format!("fragment {fragment} was rebuilt as something else");
                return Err(self.wrong(&pinned, reason));
            }
            let block = self.blocks.get_mut(&(volume, pinned.block)).expect("it is pinned");
            let version = block.versions.iter_mut().find(|v| v.number == pinned.version);
            match (version, &mut self.failures) {
                (Some(version), _) => version.note_stored(what),
                (None, Some(losses)) => {
                    losses.rebuilt.insert((volume, pinned.block, fragment, node));
                }
                (None, None) => {}
            }
            self.unpin(volume, pinned.block, pinned.version);
        }
        self.wake(woken);
        Ok(())
    }

    /// A node has read fragments, and another node gets copies of them in all versions.
    pub(crate) fn copy_to(&mut self, what: Fragments, to: HostId) {
        let Fragments { volume, fragment, node, .. } = what;
        for number in what.range() {
            if self.holds_initial(number, what) {
                let losses = self.failures.as_mut().expect("nodes join and leave only with events");
                losses.dropped.remove(&(volume, number, fragment, to));
                losses.rebuilt.insert((volume, number, fragment, to));
            }
            let versions = self.blocks.get_mut(&(volume, number));
            for version in versions.into_iter().flat_map(|block| &mut block.versions) {
                if version.stored.contains(&(fragment, node)) {
                    version.note_stored(Fragments { node: to, ..what });
                }
            }
        }
    }

    /// A node drops fragments of all versions.
    pub(crate) fn drop_fragments(&mut self, what: Fragments) {
        let Fragments { volume, fragment, node, .. } = what;
        for number in what.range() {
            let losses = self.failures.as_mut().expect("nodes join and leave only with events");
            losses.rebuilt.remove(&(volume, number, fragment, node));
            losses.dropped.insert((volume, number, fragment, node));
            let versions = self.blocks.get_mut(&(volume, number));
            for version in versions.into_iter().flat_map(|block| &mut block.versions) {
                version.stored.retain(|stored| *stored != (fragment, node));
            }
        }
    }

    /// Servers have made fragments from those that others hold. Each version that is complete there, and the initial
    /// content, is really decoded and encoded, and compared.
    pub(crate) fn copy(&mut self, copied: &Copied) -> Result<(), SimError> {
        let &Copied { volume, first_block, blocks, sources, targets } = copied;
        for number in first_block..first_block + blocks {
            let held = |version: &Version| {
                sources.iter().all(|&(fragment, node)| version.stored.contains(&(fragment, node)))
            };
            let held_initially = sources.iter().all(|&(fragment, node)| {
                let (request, version, first_block, blocks) = (0, 0, number, 1);
                let what =
                    Fragments { request, version, volume, first_block, blocks, fragment, node };
                self.holds_initial(number, what)
            });
            let versions = self.blocks.get(&(volume, number));
            let versions = versions.map_or(&[][..], |block| &block.versions);
            let mut whole: Vec<u64> =
                versions.iter().filter(|v| held(v)).map(|version| version.number).collect();
            if held_initially {
                whole.push(0);
            }
            for version in whole {
                self.copy_version(volume, number, version, sources, targets)?;
            }
        }
        Ok(())
    }

    fn copy_version(
        &mut self,
        volume: u32,
        block: u64,
        version: u64,
        sources: &[(u8, HostId)],
        targets: &[(u8, HostId)],
    ) -> Result<(), SimError> {
        let mut pinned = Pinned { volume, block, version, known: 0, taken: Vec::new() };
        for (fragment, _) in sources {
            let bytes = self.fragment(volume, &pinned, *fragment);
            pinned.taken.push((usize::from(*fragment), bytes));
        }
        let sealed = self.decode(&pinned)?;
        let made = self.volumes[volume as usize].erasure.encode(&sealed);
        for &(fragment, node) in targets {
            if made[usize::from(fragment)] != self.fragment(volume, &pinned, fragment) {
                let reason = format!("fragment {fragment} was recovered as something else");
                return Err(self.wrong(&pinned, reason));
            }
            if version == 0 {
                let losses = self.failures.as_mut().expect("only with events");
                losses.rebuilt.insert((volume, block, fragment, node));
                continue;
            }
            let known = self.blocks.get_mut(&(volume, block));
            let mut versions = known.into_iter().flat_map(|block| &mut block.versions);
            if let Some(found) = versions.find(|found| found.number == version)
                && !found.stored.contains(&(fragment, node))
            {
                found.stored.push((fragment, node));
            }
        }
        Ok(())
    }

    /// The sealed block, decoded from the fragments that a request has taken.
    fn decode(&self, pinned: &Pinned) -> Result<Vec<u8>, SimError> {
        let codec = &self.volumes[pinned.volume as usize];
        let decoded = codec.erasure.decode(&pinned.fragments(), codec.block as usize);
        decoded.map_err(|error| self.wrong(pinned, error.to_string()))
    }

    fn wrong(&self, pinned: &Pinned, reason: String) -> SimError {
        let volume = self.volumes[pinned.volume as usize].name.clone();
        SimError::WrongData { volume, block: pinned.block, reason }
    }

    fn unpin(&mut self, volume: u32, number: u64, version: u64) {
        let block = self.blocks.get_mut(&(volume, number)).expect("it is pinned");
        let pin = block.pins.iter().position(|pin| *pin == version);
        block.pins.swap_remove(pin.expect("it was pinned"));
        block.trim(self.may_be_stale);
    }

    /// A fragment of the version that a request is pinned to.
    fn fragment(&self, volume: u32, pinned: &Pinned, fragment: u8) -> Vec<u8> {
        let fragment = usize::from(fragment);
        let block = self.blocks.get(&(volume, pinned.block));
        if let Some(version) = block.and_then(|block| block.version(pinned.version)) {
            return version.fragments[fragment].clone();
        }
        assert_eq!(pinned.version, 0, "pinned versions are kept");
        let initial = self.initial(volume, pinned.block);
        self.encode(volume, pinned.block, 0, &initial).swap_remove(fragment)
    }

    /// A node's answer has arrived at the client.
    pub(crate) fn take(&mut self, what: Fragments) {
        let Some(mut read) = self.reads.remove(&what.request) else { return };
        let is_it = |pinned: &&mut Pinned| {
            pinned.volume == what.volume && what.range().contains(&pinned.block)
        };
        for pinned in read.iter_mut().filter(is_it) {
            let bytes = self.fragment(what.volume, pinned, what.fragment);
            pinned.taken.push((usize::from(what.fragment), bytes));
        }
        self.reads.insert(what.request, read);
    }

    /// A read has all its fragments: decrypts and compares the data.
    pub(crate) fn open(&mut self, request: u32) -> Result<(), SimError> {
        for pinned in self.reads.remove(&request).unwrap_or_default() {
            let volume = pinned.volume;
            let wrong = |reason: String| self.wrong(&pinned, reason);
            let sealed = self.decode(&pinned)?;
            let codec = &self.volumes[volume as usize];
            let version = pinned.version as u32;
            let iv = codec.cipher.iv(&self.key, VolumeId(volume), pinned.block, version);
            let plain = codec
                .cipher
                .decrypt(&self.key, &iv, &sealed)
                .map_err(|error| wrong(error.to_string()))?;
            let initial;
            let known = &self.blocks[&(volume, pinned.block)];
            let written = if let Some(version) = known.version(pinned.version) {
                &version.plain
            } else {
                assert_eq!(pinned.version, 0, "pinned versions are kept");
                initial = self.initial(volume, pinned.block);
                &initial
            };
            if plain != *written {
                return Err(wrong(format!("version {version} differs from what was written")));
            }
            self.compared += 1;
            self.unpin(volume, pinned.block, pinned.version);
        }
        Ok(())
    }
}

impl Pinned {
    fn fragments(&self) -> Vec<(usize, &[u8])> {
        self.taken.iter().map(|(index, bytes)| (*index, bytes.as_slice())).collect()
    }
}

impl Version {
    fn note_stored(&mut self, what: Fragments) {
        let stored = (what.fragment, what.node);
        if !self.stored.contains(&stored) {
            self.stored.push(stored);
        }
    }
}

impl Block {
    /// The messages of a version are sent.
    fn push(&mut self, number: u64, plain: Vec<u8>, fragments: Vec<Vec<u8>>) {
        self.sent += 1;
        self.versions.push(Version {
            number,
            place: self.sent,
            plain,
            fragments,
            stored: Vec::new(),
        });
    }

    fn version(&self, number: u64) -> Option<&Version> {
        self.versions.iter().find(|version| version.number == number)
    }

    /// The place of a version in the order in which their messages were sent; 0: the initial content.
    fn place(&self, number: u64) -> u64 {
        self.version(number).map_or(0, |version| version.place)
    }

    /// A version is complete. `in_order`: the last one is that which was sent last.
    fn completes(&mut self, number: u64, in_order: bool) {
        let is_later = if in_order {
            self.place(number) > self.place(self.complete)
        } else {
            number > self.complete
        };
        if is_later {
            self.complete = number;
        }
        self.trim(in_order);
    }

    /// Forgets versions that can no longer be read. `stale`: what a node has may be read although it is older.
    fn trim(&mut self, stale: bool) {
        let (complete, pins) = (self.complete, &self.pins);
        if !stale {
            self.versions
                .retain(|version| version.number >= complete || pins.contains(&version.number));
            return;
        }
        // from the last to the first: what nodes have in later versions
        let (mut later, mut is_earlier) = (Vec::new(), false);
        for at in (0..self.versions.len()).rev() {
            let version = &self.versions[at];
            let is_newest = version.stored.iter().any(|stored| !later.contains(stored));
            let stays = !is_earlier || is_newest || pins.contains(&version.number);
            is_earlier |= version.number == complete;
            if stays {
                later.extend_from_slice(&version.stored);
            } else {
                self.versions.remove(at);
            }
        }
    }
}
