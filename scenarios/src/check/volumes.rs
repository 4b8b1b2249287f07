//! Volumes, and whether the disks hold them.

use std::collections::BTreeSet;

use foretell_units::{Bytes, HostId, SECTOR_BYTES};

use super::{Context, Hosts, section};
use crate::error::Problem;
use crate::model::{Cipher, Placement, ReadFrom, Volume};
use crate::raw::{At, CountOrWord, RawCipher, RawPlacement, RawReadFrom, RawVolume};
use crate::source::Place;
use crate::tree::Table;

/// Bytes of a block group unless given.
const DEFAULT_GROUP: Bytes = Bytes::mib(1);

/// A volume, as far as it is all right.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) model: Option<Volume>,
    size_place: Place,
}

impl Context<'_> {
    pub(super) fn volumes(&mut self, tree: &Table, hosts: &Hosts) -> Vec<Found> {
        let mut found = Vec::new();
        for entry in section(tree, "volume") {
            let broken = self.broken.entry("volume", &entry.key);
            let raw: Option<RawVolume> = if broken { None } else { self.read(&entry.node) };
            let size_place = raw.as_ref().map_or(entry.key_place, |raw| raw.size.place());
            let model = raw.and_then(|raw| self.volume(&entry.key, &raw, hosts));
            found.push(Found { name: entry.key.clone(), model, size_place });
        }
        if !found.iter().any(|volume| volume.model.is_none()) {
            self.capacity(&found, hosts);
        }
        found
    }

    fn volume(&mut self, name: &str, raw: &RawVolume, hosts: &Hosts) -> Option<Volume> {
        let nodes = self.hosts_of(&raw.nodes, true, &format!("volume `{name}`"), hosts);
        let encoding = self.encoding(&raw.encoding);
        let block = self.block(raw);
        let size = self.size_above_zero(&raw.size, "a volume");
        if let (Some((_, n)), Some(nodes)) = (encoding, &nodes) {
            if usize::from(n) > nodes.len() {
                let (have, s) = (nodes.len(), if nodes.len() == 1 { "" } else { "s" });
                let message = format!(
                    "volume `{name}` writes {n} fragments of each block, but is on {have} node{s}"
                );
                self.add(Problem::new(raw.encoding.place(), message).help(format!(
                    "`nodes` must name at least {n}, or `encoding` have n of at most {have}"
                )));
            }
        }
        let quorum = encoding.and_then(|encoding| self.quorum(&raw.write_quorum, encoding));
        let (block, size) = (block?, size?);
        self.whole_blocks(size, block, raw.size.place(), "the volume");
        let group = self.group(raw, block);
        let (m, n) = encoding?;
        Some(Volume {
            name: name.to_owned(),
            size,
            nodes: nodes?,
            m,
            n,
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
            read_from: match raw.read_from.get() {
                RawReadFrom::Primary => ReadFrom::Primary,
                RawReadFrom::Random => ReadFrom::Random,
            },
        })
    }

    /// `m-of-n`.
    fn encoding(&mut self, raw: &At<String>) -> Option<(u8, u8)> {
        let text = raw.get().trim();
        let parsed = text
            .split_once("-of-")
            .and_then(|(m, n)| Some((m.parse::<u64>().ok()?, n.parse::<u64>().ok()?)));
        let Some((m, n)) = parsed else {
            let message = format!("`{text}` is not an encoding");
            let help = "write m-of-n, such as \"1-of-3\" for three replicas or \"3-of-5\"";
            self.add(Problem::new(raw.place(), message).help(help));
            return None;
        };
        let message = if m == 0 || n == 0 {
            format!("`{text}`: m and n are at least 1")
        } else if m > n {
            format!("`{text}`: {m} fragments cannot be read of {n} that are written")
        } else if let (Ok(m), Ok(n)) = (u8::try_from(m), u8::try_from(n)) {
            return Some((m, n));
        } else {
            format!("`{text}`: a block has at most 255 fragments")
        };
        let help = (m > n && n > 0).then(|| format!("did you mean `{n}-of-{m}`?"));
        self.add(Problem::new(raw.place(), message).maybe_help(help));
        None
    }

    fn block(&mut self, raw: &RawVolume) -> Option<Bytes> {
        let block = self.size_above_zero(&raw.block, "a block")?;
        if !block.get().is_multiple_of(SECTOR_BYTES) {
            let message = format!("a block of {block} is not a whole number of sectors of 512 B");
            self.add(Problem::new(raw.block.place(), message));
            return None;
        }
        Some(block)
    }

    fn group(&mut self, raw: &RawVolume, block: Bytes) -> Option<Bytes> {
        let text = raw.group.get().as_str();
        if text == "auto" {
            return Some(block * DEFAULT_GROUP.div_ceil(block));
        }
        let group = self.size_of(text, raw.group.place())?;
        if group == Bytes::ZERO {
            self.add(Problem::new(raw.group.place(), "a block group cannot be empty"));
            return None;
        }
        self.whole_blocks(group, block, raw.group.place(), "a block group");
        Some(group)
    }

    fn whole_blocks(&mut self, size: Bytes, block: Bytes, place: Place, what: &str) {
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
        self.add(Problem::new(place, message).help(help));
    }

    fn quorum(&mut self, raw: &At<CountOrWord>, (m, n): (u8, u8)) -> Option<u8> {
        match raw.get() {
            CountOrWord::Word(_) => Some(n),
            CountOrWord::Count(count) => {
                let quorum = u8::try_from(*count).ok().filter(|count| (m..=n).contains(count));
                if quorum.is_none() {
                    let message = format!(
                        "a write cannot be complete with {count} acknowledgements when {n} \
                         fragments are written and {m} needed to read"
                    );
                    self.add(
                        Problem::new(raw.place(), message)
                            .help(format!("`write_quorum` is from {m} to {n}, or \"all\"")),
                    );
                }
                quorum
            }
        }
    }

    /// Checks that the disks of each node hold the fragments that are placed there.
    fn capacity(&mut self, found: &[Found], hosts: &Hosts) {
        let volumes: Vec<(&Volume, Place)> = found
            .iter()
            .filter_map(|found| Some((found.model.as_ref()?, found.size_place)))
            .collect();
        let nodes: BTreeSet<HostId> =
            volumes.iter().flat_map(|(volume, _)| volume.nodes.iter().copied()).collect();
        // one message for each set of volumes that is too much for some node
        let mut told = BTreeSet::new();
        for node in nodes {
            let Some(storage) = hosts.get(node).and_then(|host| host.role.storage()) else {
                continue;
            };
            let room: u128 =
                storage.disks.iter().map(|disk| u128::from(disk.device.capacity().get())).sum();
            let shares: Vec<(usize, u128)> = volumes
                .iter()
                .enumerate()
                .filter_map(|(index, (volume, _))| Some((index, share_of(volume, node)?)))
                .collect();
            let needed: u128 = shares.iter().map(|(_, share)| share).sum();
            let set: Vec<usize> = shares.iter().map(|(index, _)| *index).collect();
            if needed <= room || !told.insert(set) {
                continue;
            }
            let Some(&(largest, _)) = shares.iter().max_by_key(|(_, share)| share) else {
                continue;
            };
            let names: Vec<_> =
                shares.iter().map(|(index, _)| format!("`{}`", volumes[*index].0.name)).collect();
            let (disks, s) = (storage.disks.len(), if shares.len() == 1 { "s" } else { "" });
            let message = format!(
                "volume{} {} need{s} {} on `{}`, which has {} on {disks} disk{}",
                if shares.len() == 1 { "" } else { "s" },
                names.join(", "),
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

/// Bytes of the volume's fragments on the node, or none if it is not on it.
///
/// Exact for `rotate`. For `hash` it is the mean, from which a real node differs by little: with
/// g groups on it, by about √g.
fn share_of(volume: &Volume, node: HostId) -> Option<u128> {
    let position = volume.nodes.iter().position(|other| *other == node)? as u128;
    let (m, n, all) = (u128::from(volume.m), u128::from(volume.n), volume.nodes.len() as u128);
    let (size, block, group) = (
        u128::from(volume.size.get()),
        u128::from(volume.block.get()),
        u128::from(volume.group.get()),
    );
    let fragment = block.div_ceil(m);
    let per_group = (group / block).max(1) * fragment;
    let groups = size.div_ceil(group);
    let here = match volume.placement {
        Placement::Rotate => {
            // Of every N groups, n are here. Of the r that are left, beginning at nodes 0 to
            // r - 1, those are here that begin at one of the n nodes up to this one.
            let left = groups % all;
            let begins_here = (0..n).filter(|back| (position + all - back) % all < left).count();
            groups / all * n + begins_here as u128
        }
        Placement::Hash => (groups * n).div_ceil(all),
    };
    Some(here * per_group)
}

/// About so many bytes, for people.
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

    fn volume(m: u8, n: u8, nodes: u32, groups: u64) -> Volume {
        Volume {
            name: "v".to_owned(),
            size: Bytes::mib(groups),
            nodes: (0..nodes).map(HostId).collect(),
            m,
            n,
            cipher: Cipher::None,
            block: Bytes::kib(8),
            placement: Placement::Rotate,
            group: Bytes::mib(1),
            write_quorum: n,
            read_from: ReadFrom::Primary,
        }
    }

    #[test]
    fn oracle_rotate_shares_match_counting_group_by_group() {
        for (n, nodes, groups) in [(1, 1, 5), (3, 5, 12), (3, 5, 10), (5, 8, 3), (2, 3, 100)] {
            let volume = volume(1, n, nodes, groups);
            for node in 0..nodes {
                let counted = (0..groups)
                    .filter(|g| {
                        (0..u64::from(n)).any(|i| (g + i) % u64::from(nodes) == u64::from(node))
                    })
                    .count() as u128;
                assert_eq!(share_of(&volume, HostId(node)), Some(counted << 20));
            }
        }
        assert_eq!(share_of(&volume(1, 1, 1, 1), HostId(1)), None);
    }

    #[test]
    fn a_fragment_of_three_is_rounded_up() {
        // 128 blocks of 8192 B, each in fragments of ceil(8192 / 3) = 2731 B
        assert_eq!(share_of(&volume(3, 5, 5, 1), HostId(0)), Some(128 * 2731));
    }

    #[test]
    fn large_amounts_are_readable() {
        assert_eq!(human(512), "512 B");
        assert_eq!(human(250_000_000_000), "232.8 GiB");
        assert_eq!(human(u128::MAX).split(' ').next_back(), Some("EiB"));
    }
}
