//! Costs of an OSD's software before any fit, and what depends on its release.

use crate::config::{Config, Drive};

/// Software costs of an OSD before any fit. `docs/systems.md` names the sources.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Software {
    Ceph,
    Vitastor,
}

impl Software {
    /// Lines of `[cluster]`.
    pub(super) fn costs(self) -> &'static str {
        match self {
            Self::Ceph => {
                "read      = { fixed = \"100 us\", rate = \"2 GB/s\" }\n\
                 write     = { fixed = \"60 us\", rate = \"2 GB/s\" }\n\
                 commit    = { fixed = \"150 us\", rate = \"1 GB/s\" }\n\
                 threads.message        = { fixed = \"10 us\", rate = \"2 GB/s\" }\n\
                 threads.kv_round       = \"20 us\"\n\
                 threads.kv_transaction = \"10 us\"\n\
                 threads.merge          = \"60 us\"\n"
            }
            // assumed from the author's count: 3 to 4.7 cores a node at 160,000 to 895,000 requests a second
            Self::Vitastor => {
                "read      = { fixed = \"10 us\", rate = \"4 GB/s\" }\n\
                 write     = { fixed = \"8 us\", rate = \"4 GB/s\" }\n\
                 commit    = { fixed = \"15 us\", rate = \"2 GB/s\" }\n\
                 threads.message        = { fixed = \"2 us\", rate = \"2 GB/s\" }\n\
                 threads.kv_round       = \"2 us\"\n\
                 threads.kv_transaction = \"1 us\"\n\
                 threads.merge          = \"0 us\"\n"
            }
        }
    }
}

/// The line that lets clients coalesce writes, if they use librbd of Octopus or later.
pub(super) fn coalesce(
    config: &Config,
    software: Software,
    background: &str,
    assumed: &mut Vec<String>,
) -> &'static str {
    let librbd = config.client.interface.as_deref() == Some("librbd");
    if software != Software::Ceph || !librbd {
        return "";
    }
    let release = release(config.version.as_deref());
    if release.is_some_and(|release| release < OCTOPUS) {
        return "";
    }
    if background == "backfill" {
        assumed.push("librbd merges no writes beside backfill".to_owned());
        return "";
    }
    "coalesce  = true   # librbd, rbd_io_scheduler = simple since Octopus\n"
}

/// Size in bytes below which writes go through the log, and the reason.
///
/// On disks Ceph takes the larger of `min_alloc_size_hdd` and `bluestore_prefer_deferred_size_hdd`. That is 64 KiB in
/// all releases: before Pacific they were 64 and 32 KiB, since then 4 and 64 KiB.
pub(super) fn deferred(
    config: &Config,
    software: Software,
    drive: Option<&Drive>,
    assumed: &mut Vec<String>,
) -> (u64, String) {
    if software == Software::Vitastor {
        return (
            131_072,
            "Vitastor's journal takes writes below its block_size, 128 KiB".to_owned(),
        );
    }
    if drive.is_some_and(Drive::is_disk) {
        let bytes = config.store.min_alloc_size_bytes.map_or(0, |bytes| bytes as u64);
        return (bytes.max(65_536), "on disks: prefer_deferred_size_hdd is 64 KiB".to_owned());
    }
    if let Some(bytes) = config.store.min_alloc_size_bytes {
        let bytes = bytes as u64;
        let deferred = if bytes > 4096 { bytes } else { 0 };
        return (deferred, format!("min_alloc_size {bytes}"));
    }
    let release = release(config.version.as_deref());
    if release.is_none() {
        assumed.push(
            "the release is not known; writes are assumed to work as in Octopus and later"
                .to_owned(),
        );
    }
    match release {
        Some(release) if release < NAUTILUS_4K => {
            (16_384, format!("min_alloc_size_ssd of release {}: 16 KiB", release.0))
        }
        _ => (0, "min_alloc_size_ssd is 4 KiB since 14.2.8: no write is deferred".to_owned()),
    }
}

/// A release of Ceph: its three numbers.
type Release = (u32, u32, u32);

/// The first release whose `bluestore_min_alloc_size_ssd` is 4 KiB instead of 16 (its release notes).
const NAUTILUS_4K: Release = (14, 2, 8);
const OCTOPUS: Release = (15, 0, 0);

/// The release that a text names: `18.2.0`, `Reef`, `19.2.1 (Squid)`. Numbers that are missing are zero.
fn release(version: Option<&str>) -> Option<Release> {
    const NAMES: [(&str, u32); 9] = [
        ("luminous", 12),
        ("mimic", 13),
        ("nautilus", 14),
        ("octopus", 15),
        ("pacific", 16),
        ("quincy", 17),
        ("reef", 18),
        ("squid", 19),
        ("tentacle", 20),
    ];
    let version = version?.to_lowercase();
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let mut numbers = version[..end].split('.').map_while(|digits| digits.parse().ok());
    if let Some(major) = numbers.next() {
        return Some((major, numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)));
    }
    let named = NAMES.iter().find(|(name, _)| version.contains(name));
    named.map(|(_, major)| (*major, 0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_known_by_number_and_name() {
        assert_eq!(release(Some("12.2.8-52 (Red Hat Ceph Storage 3.2)")), Some((12, 2, 8)));
        assert_eq!(release(Some("Reef pre-release")), Some((18, 0, 0)));
        assert_eq!(release(Some("18 (Reef)")), Some((18, 0, 0)));
        assert_eq!(release(Some("14.2.22")), Some((14, 2, 22)));
        assert_eq!(release(Some("nightly")), None);
    }
}
