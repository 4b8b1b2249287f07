//! Checks volumes, and whether the disks have room for them.

use foretell_algorithms::codec::{self, Encoding, EncodingError};
use foretell_algorithms::distribution::Distribution;
use foretell_algorithms::placement;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, HostId, SECTOR_BYTES, VolumeId};

use super::host_list::AllowedHosts;
use super::{Context, Hosts, section};
use crate::error::Problem;
use crate::model::{Cipher, Placement, ReadFrom, Storage, Volume};
use crate::raw::{At, CountOrWord, RawCipher, RawPlacement, RawReadFrom, RawVolume};
use crate::source::Place;
use crate::tree::Table;

/// Default size of a block group.
const DEFAULT_GROUP: Bytes = Bytes::mib(1);

/// Default size of an object of Ceph or Swift, as of an RBD image.
const DEFAULT_OBJECT: Bytes = Bytes::mib(4);

/// Maximum size of a block group; with this, file sizes do not overflow.
const MAX_GROUP: Bytes = Bytes(1 << 30);
/// Maximum pages of a node's file, so that file and page numbers fit into one number.
const MAX_PAGES: u64 = 1 << 40;

/// A volume; its model is present if it is valid.
pub(crate) struct CheckedVolume {
    pub(crate) name: String,
    pub(crate) model: Option<Volume>,
    size_place: Place,
    pub(super) index: WrittenIndex,
}

/// `bucket_index` and `index_shards` of a volume, as written.
#[derive(Default)]
pub(super) struct WrittenIndex {
    pub(super) volume: Option<At<String>>,
    pub(super) shards: Option<At<i64>>,
}

impl Context<'_> {
    /// `has_system`: whether it is known how data are placed.
    pub(super) fn volumes(
        &mut self,
        tree: &Table,
        hosts: &Hosts,
        has_system: bool,
    ) -> Vec<CheckedVolume> {
        let mut found = Vec::new();
        for entry in section(tree, "volume") {
            let broken = self.broken.entry("volume", &entry.key);
            let raw: Option<RawVolume> = if broken { None } else { self.read(&entry.node) };
            let size_place = raw.as_ref().map_or(entry.key_place, |raw| raw.size.place());
            let by_map = self.disks_are_servers && Self::has_crush(tree);
            let model = raw.as_ref().and_then(|raw| self.volume(&entry.key, raw, hosts, by_map));
            let written = |raw: RawVolume| WrittenIndex {
                volume: raw.bucket_index,
                shards: raw.index_shards,
            };
            let index = raw.map(written).unwrap_or_default();
            found.push(CheckedVolume { name: entry.key.clone(), model, size_place, index });
        }
        // if a CRUSH map places copies, each device is checked instead
        let by_map = self.disks_are_servers && Self::has_crush(tree);
        if has_system && !by_map && !found.iter().any(|volume| volume.model.is_none()) {
            self.capacity(&found, hosts);
        }
        found
    }

    fn volume(
        &mut self,
        name: &str,
        raw: &RawVolume,
        hosts: &Hosts,
        by_map: bool,
    ) -> Option<Volume> {
        let nodes =
            self.hosts_of(&raw.nodes, AllowedHosts::Nodes, &format!("volume `{name}`"), hosts);
        let encoding = self.encoding(&raw.encoding);
        let block = self.block(raw);
        let size = self.size_above_zero(&raw.size, "a volume");
        if let (Some(encoding), Some(nodes)) = (encoding, &nodes) {
            let n = encoding.n();
            // a rule may place several on one node
            if n > nodes.len() && !by_map {
                let (have, s) = (nodes.len(), if nodes.len() == 1 { "" } else { "s" });
                let message = format!(
                    "volume `{name}` writes {n} fragments of each block, but is on {have} node{s}"
                );
                let help = format!(
                    "`nodes` must name at least {n}, or `encoding` have n of at most {have}"
                );
                let (encoding, nodes) = (raw.encoding.place(), raw.nodes.place());
                self.add(Problem::new(encoding, message).also(nodes).help(help));
            }
        }
        let quorum = encoding
            .and_then(|encoding| self.quorum(&raw.write_quorum, encoding, raw.encoding.place()));
        let (block, size) = (block?, size?);
        self.whole_blocks(size, block, (raw.size.place(), raw.block.place()), "the volume");
        let group = self.group(raw, block);
        let encoding = encoding?;
        let narrow = |number: usize| u8::try_from(number).expect("n is at most 255");
        let (m, n) = (narrow(encoding.m()), narrow(encoding.n()));
        let hedge = match &raw.hedge {
            Some(hedge) => self.hedge(name, hedge, (encoding, raw.encoding.place())).map(Some),
            None => Some(None),
        };
        let least = n - narrow(encoding.tolerates());
        let min_write = if self.disks_are_servers {
            self.min_size(raw, m, n)
        } else {
            self.min_write(raw, quorum?, least, n)
        };
        Some(Volume {
            name: name.to_owned(),
            size,
            nodes: nodes?,
            encoding,
            cipher: match raw.cipher.get() {
                RawCipher::None => Cipher::None,
                RawCipher::Aes128Cbc => Cipher::Aes128Cbc,
            },
            block,
            placement: match raw.placement.get() {
                RawPlacement::Rotate => Placement::Rotate,
                RawPlacement::Hash => Placement::Hash,
            },
            group: group?,
            write_quorum: quorum?,
            min_write: min_write?,
            read_from: match raw.read_from.get() {
                RawReadFrom::Primary => ReadFrom::Primary,
                RawReadFrom::Random => ReadFrom::Random,
            },
            hedge: hedge?,
            // known once all volumes are
            bucket_index: None,
        })
    }

    /// `m-of-n`, or `lrc(k,l,r)`.
    fn encoding(&mut self, raw: &At<String>) -> Option<Encoding> {
        match raw.get().trim().parse() {
            Ok(encoding) => Some(encoding),
            Err(error) => {
                self.add(Problem::new(raw.place(), EncodingError::to_string(&error)));
                None
            }
        }
    }

    fn block(&mut self, raw: &RawVolume) -> Option<Bytes> {
        let block = self.size_above_zero(&raw.block, "a block")?;
        if !block.get().is_multiple_of(SECTOR_BYTES) {
            let message = format!("a block of {block} is not a whole number of sectors of 512 B");
            self.add(Problem::new(raw.block.place(), message));
            return None;
        }
        if block > MAX_GROUP {
            let message = format!("a block cannot be {block}; the largest is {MAX_GROUP}");
            self.add(Problem::new(raw.block.place(), message));
            return None;
        }
        Some(block)
    }

    fn group(&mut self, raw: &RawVolume, block: Bytes) -> Option<Bytes> {
        let text = raw.group.get().as_str();
        if text == "auto" {
            let usual = if self.keeps_objects { DEFAULT_OBJECT } else { DEFAULT_GROUP };
            return Some(block * usual.div_ceil(block));
        }
        let group = self.size_of(text, raw.group.place())?;
        if group == Bytes::ZERO || group > MAX_GROUP {
            let message =
                format!("a block group cannot be {group}; it is from one block to {MAX_GROUP}");
            self.add(Problem::new(raw.group.place(), message));
            return None;
        }
        self.whole_blocks(group, block, (raw.group.place(), raw.block.place()), "a block group");
        Some(group)
    }

    fn whole_blocks(&mut self, size: Bytes, block: Bytes, places: (Place, Place), what: &str) {
        if size.get().is_multiple_of(block.get()) {
            return;
        }
        let below = size.get() / block.get();
        let near = [below, below + 1]
            .into_iter()
            .filter(|&blocks| blocks > 0)
            .map(|blocks| format!("\"{}\"", block * blocks));
        let message = format!("{what} of {size} is not a whole number of blocks of {block}");
        let help = format!("take {}", near.collect::<Vec<_>>().join(" or "));
        self.add(Problem::new(places.0, message).also(places.1).help(help));
    }

    fn quorum(&mut self, raw: &At<CountOrWord>, encoding: Encoding, place: Place) -> Option<u8> {
        // the number that suffices whichever fragments they are
        let least = encoding.n() - encoding.tolerates();
        let [m, n] =
            [least, encoding.n()].map(|number| u8::try_from(number).expect("n is at most 255"));
        match raw.get() {
            CountOrWord::Word(_) => Some(n),
            CountOrWord::Count(count) => {
                let quorum = u8::try_from(*count).ok().filter(|count| (m..=n).contains(count));
                if quorum.is_none() {
                    let message = format!(
                        "a write cannot be complete with {count} acknowledgements when {n} \
                         fragments are written and {m} needed to read"
                    );
                    let help = format!("`write_quorum` is from {m} to {n}, or \"all\"");
                    self.add(Problem::new(raw.place(), message).also(place).help(help));
                }
                quorum
            }
        }
    }

    /// Checks that the disks of each node have room for the fragments placed there.
    fn capacity(&mut self, found: &[CheckedVolume], hosts: &Hosts) {
        let volumes: Vec<(&Volume, Place, Bytes)> = found
            .iter()
            .filter_map(|found| {
                let volume = found.model.as_ref()?;
                Some((volume, found.size_place, file_size(volume)?))
            })
            .collect();
        // one message for each set of volumes that is too large for some node
        let mut reported = SortedSet::new();
        let mut on_node: SortedMap<HostId, Vec<usize>> = SortedMap::new();
        for (index, (volume, ..)) in volumes.iter().enumerate() {
            for &node in &volume.nodes {
                on_node.entry(node).or_default().push(index);
            }
        }
        for (node, here) in on_node {
            let storage = hosts.get(node).and_then(|host| host.role.storage());
            let Some(storage) = storage else { continue };
            let page = storage.cache.page;
            let long = here.iter().find(|&&index| volumes[index].2.div_ceil(page) > MAX_PAGES);
            if let Some(&index) = long {
                if reported.insert(vec![index]) {
                    let (volume, place, size) = &volumes[index];
                    let message = format!(
                        "volume `{}` needs {size} on `{}`, more than 2^40 pages of {page}",
                        volume.name,
                        hosts.name(node)
                    );
                    self.add(Problem::new(*place, message).help("make `size` smaller"));
                }
                continue;
            }
            let needed: u128 = here.iter().map(|&index| u128::from(volumes[index].2.get())).sum();
            let room = room(storage);
            if needed <= room || !reported.insert(here.clone()) {
                continue;
            }
            let Some(&largest) = here.iter().max_by_key(|&&index| volumes[index].2) else {
                continue;
            };
            let names: Vec<_> =
                here.iter().map(|&index| format!("`{}`", volumes[index].0.name)).collect();
            let disks = storage.disks.len();
            let message = format!(
                "volume{} {} need{} {} on `{}`, which has {} on {disks} disk{}",
                if here.len() == 1 { "" } else { "s" },
                names.join(", "),
                if here.len() == 1 { "s" } else { "" },
                human(needed),
                hosts.name(node),
                human(room),
                if disks == 1 { "" } else { "s" },
            );
            self.add(
                Problem::new(volumes[largest].1, message)
                    .help("make `size` smaller, or add nodes or disks"),
            );
        }
    }
}

/// Bytes of the volume's file on each of its nodes.
fn file_size(volume: &Volume) -> Option<Bytes> {
    let cipher = match volume.cipher {
        Cipher::None => codec::Cipher::None,
        Cipher::Aes128Cbc => codec::Cipher::Aes128Cbc,
    };
    let placement = match volume.placement {
        Placement::Rotate => placement::Placement::Rotate,
        Placement::Hash => placement::Placement::Hash,
    };
    let nodes: Vec<u32> = volume.nodes.iter().map(|node| node.0).collect();
    let (id, block, group) = (VolumeId::default(), volume.block, volume.group);
    let distribution =
        Distribution::new(id, volume.encoding, cipher, placement, block, group, &nodes).ok()?;
    Some(distribution.file_size(volume.size))
}

/// Bytes that a node's striped disks hold: each counts as the smallest.
fn room(storage: &Storage) -> u128 {
    let smallest = storage.capacities().map(Bytes::get).min().unwrap_or(0);
    u128::from(smallest / storage.stripe.get() * storage.stripe.get()) * storage.disks.len() as u128
}

/// An approximate size, for messages.
fn human(bytes: u128) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_fragments_of_its_groups() {
        let volume = Volume {
            name: "v".to_owned(),
            size: Bytes::mib(10),
            nodes: (0..5).map(HostId).collect(),
            encoding: "3-of-5".parse().unwrap(),
            cipher: Cipher::None,
            block: Bytes::kib(8),
            placement: Placement::Rotate,
            group: Bytes::mib(1),
            write_quorum: 5,
            min_write: 3,
            read_from: ReadFrom::Primary,
            hedge: None,
            bucket_index: None,
        };
        // 10 groups of 128 blocks; 8192 / 3 = 2730.7 B, which take 6 sectors of a file
        assert_eq!(file_size(&volume), Some(Bytes(10 * 128 * 3072)));
    }

    #[test]
    fn large_amounts_are_readable() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(250_000_000_000), "232.8 GiB");
        assert_eq!(human(u128::MAX).split(' ').next_back(), Some("EiB"));
    }
}
