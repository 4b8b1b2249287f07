//! Costs of an OSD's software before any fit, and what depends on its release.

use crate::config::Config;

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
    if release.is_some_and(|release| release < 15) {
        return "";
    }
    if background == "backfill" {
        assumed.push("librbd merges no writes beside backfill".to_owned());
        return "";
    }
    "coalesce  = true   # librbd, rbd_io_scheduler = simple since Octopus\n"
}

/// Size in bytes below which writes go through the log, and the reason.
pub(super) fn deferred(config: &Config, assumed: &mut Vec<String>) -> (u64, String) {
    if let Some(bytes) = config.store.min_alloc_size_bytes {
        let bytes = bytes as u64;
        let deferred = if bytes > 4096 { bytes } else { 0 };
        return (deferred, format!("min_alloc_size {bytes}"));
    }
    let release = release(config.version.as_deref());
    if release.is_none() {
        assumed.push(
            "the release is not known; writes are assumed to work as in Pacific and later"
                .to_owned(),
        );
    }
    match release {
        Some(release) if release < 16 => {
            (16_384, format!("min_alloc_size_ssd of release {release}: 16 KiB"))
        }
        _ => (0, "min_alloc_size_ssd is 4 KiB since Pacific: no write is deferred".to_owned()),
    }
}

/// Ceph's major release: `18.2.0`, `Reef`, `19.2.1 (Squid)`.
fn release(version: Option<&str>) -> Option<u32> {
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
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    let named = || NAMES.iter().find(|(name, _)| version.contains(name)).map(|(_, number)| *number);
    digits.parse().ok().or_else(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_known_by_number_and_name() {
        assert_eq!(release(Some("12.2.8-52 (Red Hat Ceph Storage 3.2)")), Some(12));
        assert_eq!(release(Some("Reef pre-release")), Some(18));
        assert_eq!(release(Some("nightly")), None);
    }
}
