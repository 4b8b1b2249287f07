//! Real bytes in requests (`payload = "real"`): what is read back must be what was written.
//!
//! A write makes a new version of each block that it touches: its own bytes over those of the
//! version before, encrypted, encoded, and kept as n fragments. A fragment counts as stored when
//! its node has served the message that brings it. A read is pinned to the version of each block
//! that was complete when its messages went out (nodes keep versions, as PASIS's do), takes the
//! fragments of the nodes that it asked, decodes, decrypts, and compares. Where a write's quorum is
//! smaller than n, a node asked for a fragment that is still on its way answers when it has it.
//!
//! The bytes are kept beside the cluster, keyed by block and fragment; which page of which disk
//! they lie on is the timing model's affair. A replicated block that is written in part is kept
//! whole here, although the message carries only the part.
//!
//! With events it is also known which node has which fragment: what a host loses for good is gone, and a
//! fragment that is rebuilt is really decoded and encoded, and compared.

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
    /// By (volume, block): its versions, oldest first.
    blocks: BTreeMap<(u32, u64), Block>,
    /// Blocks of volumes that are encoded otherwise than at the beginning, by (volume of the scenario, block): whose
    /// they are now.
    converted: BTreeMap<(u32, u64), u32>,
    /// By request: what it reads.
    reads: BTreeMap<u32, Vec<Pinned>>,
    /// Legs that wait for a fragment to be stored.
    parked: Vec<(u32, Fragments)>,
    contents: Stream,
    compared: u64,
    /// Only in scenarios with events.
    failures: Option<Losses>,
}

/// What failures have done to what was there at the beginning.
struct Losses {
    homes: Vec<Home>,
    /// Nodes that have lost everything.
    wiped: Vec<HostId>,
    /// Fragments of blocks that were never written, as (volume, block, fragment, node), where they were
    /// rebuilt.
    rebuilt: BTreeSet<(u32, u64, u8, HostId)>,
    /// Those, in the same way, that nodes have dropped because others hold them.
    dropped: BTreeSet<(u32, u64, u8, HostId)>,
}

/// How a volume's blocks are sealed.
struct Codec {
    name: String,
    erasure: Erasure,
    cipher: Cipher,
    block: u64,
}

#[derive(Default)]
struct Block {
    versions: Vec<Version>,
    /// The newest version that its quorum has acknowledged; 0: as it was at the beginning.
    complete: u64,
    /// Versions that reads under way are pinned to.
    pins: Vec<u64>,
}

struct Version {
    number: u64,
    plain: Vec<u8>,
    fragments: Vec<Vec<u8>>,
    /// Which fragments were stored by whom.
    stored: Vec<(u8, HostId)>,
}

/// A block that a request reads.
struct Pinned {
    volume: u32,
    block: u64,
    version: u64,
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
        }
    }

    /// The same in a scenario with events; `homes`: by volume.
    pub(crate) fn with_failures(self, homes: Option<Vec<Home>>) -> Self {
        let losses = |homes| {
            let (rebuilt, dropped) = (BTreeSet::new(), BTreeSet::new());
            Losses { homes, wiped: Vec::new(), rebuilt, dropped }
        };
        Self { failures: homes.map(losses), ..self }
    }

    /// Blocks read back and found right so far.
    pub(crate) fn compared(&self) -> u64 {
        self.compared
    }

    /// A write's messages go out: bytes `offset..end` of the volume get new contents.
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
            let fragments = self.seal(volume, block, version, &plain);
            let made = Version { number: version, plain, fragments, stored: Vec::new() };
            self.blocks.entry((volume, block)).or_default().versions.push(made);
        }
    }

    /// Whose a block of a volume of the scenario is now.
    fn now(&self, volume: u32, block: u64) -> u32 {
        self.converted.get(&(volume, block)).copied().unwrap_or(volume)
    }

    /// Blocks of a volume become those of another one. The other volume has fragments of its own for their content,
    /// not stored yet; where it has content already, that stays.
    pub(crate) fn convert(&mut self, volume: u32, (from, to): (u32, u32), blocks: Range<u64>) {
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
            let fragments = self.seal(to, number, complete, &plain);
            let version = Version { number: complete, plain, fragments, stored: Vec::new() };
            let (versions, pins) = (vec![version], Vec::new());
            self.blocks.insert((to, number), Block { versions, complete, pins });
        }
    }

    /// Fragments of blocks that were encoded otherwise are dropped.
    pub(crate) fn leave(&mut self, volume: u32, blocks: Range<u64>) {
        for number in blocks {
            self.blocks.remove(&(volume, number));
        }
    }

    fn newest(&self, volume: u32, block: u64) -> Vec<u8> {
        let newest = self.blocks.get(&(volume, block)).and_then(|block| block.versions.last());
        newest.map_or_else(|| self.initial(volume, block), |version| version.plain.clone())
    }

    /// What a block holds before anybody has written it: its own number.
    fn initial(&self, volume: u32, block: u64) -> Vec<u8> {
        let size = self.volumes[volume as usize].block as usize;
        block.to_le_bytes().iter().copied().cycle().take(size).collect()
    }

    fn seal(&self, volume: u32, block: u64, version: u64, plain: &[u8]) -> Vec<Vec<u8>> {
        let codec = &self.volumes[volume as usize];
        let iv = codec.cipher.iv(&self.key, VolumeId(volume), block, version as u32);
        codec.erasure.encode(&codec.cipher.encrypt(&self.key, &iv, plain))
    }

    /// A node has served the message that brings a write's fragments. Appends to `woken` the legs
    /// whose nodes waited for it.
    pub(crate) fn store(&mut self, what: Fragments, woken: &mut Vec<u32>) {
        for block in what.range() {
            let Some(block) = self.blocks.get_mut(&(what.volume, block)) else { continue };
            // a version that is gone has been superseded everywhere
            // of version 0 is what a node has encoded otherwise, whatever version that was
            let is_it = |v: &Version| v.number == what.version || what.version == 0;
            for version in block.versions.iter_mut().filter(|version| is_it(version)) {
                version.note_stored(what);
            }
        }
        self.wake(woken);
    }

    /// Legs whose nodes have what they waited for.
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

    /// A write's quorum has acknowledged.
    pub(crate) fn complete(&mut self, volume: u32, version: u64, offset: u64, end: u64) {
        let size = self.volumes[volume as usize].block;
        for block in offset / size..end.div_ceil(size) {
            let volume = self.now(volume, block);
            let block = self.blocks.get_mut(&(volume, block)).expect("it was written");
            block.complete = block.complete.max(version);
            block.trim();
        }
    }

    /// The quorum of some blocks of a write has acknowledged. A write that spans several groups is complete group by
    /// group: what is rebuilt of one group must be the new version, whether or not the other groups have it.
    pub(crate) fn complete_blocks(&mut self, volume: u32, version: u64, blocks: Range<u64>) {
        for number in blocks {
            let Some(block) = self.blocks.get_mut(&(volume, number)) else { continue };
            if block.version(version).is_some() {
                block.complete = block.complete.max(version);
                block.trim();
            }
        }
    }

    /// A read's messages go out for a row of blocks: it will see the versions complete now.
    pub(crate) fn pin(&mut self, request: u32, volume: u32, first_block: u64, blocks: u64) {
        for number in first_block..first_block + blocks {
            let block = self.blocks.entry((volume, number)).or_default();
            block.pins.push(block.complete);
            let version = block.complete;
            let pinned = Pinned { volume, block: number, version, taken: Vec::new() };
            self.reads.entry(request).or_default().push(pinned);
        }
    }

    /// Whether the node has what the leg asks for; otherwise the leg is parked until it has.
    pub(crate) fn ready(&mut self, leg: u32, what: Fragments) -> bool {
        let holds = self.holds(what);
        if !holds {
            self.parked.push((leg, what));
        }
        holds
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

    /// Whether a node has what was there at the beginning.
    fn holds_initial(&self, block: u64, what: Fragments) -> bool {
        let Some(Losses { homes, wiped, rebuilt, dropped }) = &self.failures else { return true };
        let Fragments { volume, fragment, node, .. } = what;
        let which = (volume, block, fragment, node);
        let was_there = homes[volume as usize].node(block, fragment) == node;
        was_there && !wiped.contains(&node) && !dropped.contains(&which) || rebuilt.contains(&which)
    }

    /// What a host has is gone.
    pub(crate) fn wipe(&mut self, host: HostId) {
        for version in self.blocks.values_mut().flat_map(|block| &mut block.versions) {
            version.stored.retain(|(_, node)| *node != host);
        }
        let losses = self.failures.as_mut().expect("hosts fail only with events");
        losses.wiped.push(host);
        losses.rebuilt.retain(|(.., node)| *node != host);
    }

    /// The client has given up on a leg. Returns whether it was parked.
    pub(crate) fn forget(&mut self, leg: u32) -> bool {
        let place = self.parked.iter().position(|(parked, _)| *parked == leg);
        place.map(|place| self.parked.remove(place)).is_some()
    }

    /// A request ends without having been opened.
    pub(crate) fn fail(&mut self, request: u32) {
        for pinned in self.reads.remove(&request).unwrap_or_default() {
            self.unpin(pinned.volume, pinned.block, pinned.version);
        }
    }

    /// A node has made a fragment of those that a request has read, and has stored it.
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

    /// A node has read fragments, and another node gets a copy of all versions of them.
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

    /// A node drops fragments in all versions.
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

    /// Servers have made fragments of those that others hold. Of each version that is there in full, and of
    /// what was there at the beginning, they are really decoded and encoded, and compared.
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
                self.copy_version((volume, number, version), sources, targets)?;
            }
        }
        Ok(())
    }

    fn copy_version(
        &mut self,
        (volume, block, version): (u32, u64, u64),
        sources: &[(u8, HostId)],
        targets: &[(u8, HostId)],
    ) -> Result<(), SimError> {
        let mut pinned = Pinned { volume, block, version, taken: Vec::new() };
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

    /// The sealed block that a request has taken fragments of.
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
        block.trim();
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
        self.seal(volume, pinned.block, 0, &initial).swap_remove(fragment)
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

    /// A read has all its fragments: opens them and compares.
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
    fn version(&self, number: u64) -> Option<&Version> {
        self.versions.iter().find(|version| version.number == number)
    }

    /// Forgets the versions that nobody can ask for any more.
    fn trim(&mut self) {
        let (complete, pins) = (self.complete, &self.pins);
        self.versions
            .retain(|version| version.number >= complete || pins.contains(&version.number));
    }
}
