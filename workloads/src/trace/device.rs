//! The choice of a device in a trace of several.

use std::sync::{Arc, OnceLock};

/// Number of other devices whose names are remembered, for messages.
const REMEMBERED: usize = 4;

/// A device, by its name in the format, or all devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Device {
    wanted: Option<Box<[u8]>>,
    /// The first other devices that the trace names; shared by clones.
    others: Arc<[OnceLock<String>; REMEMBERED]>,
}

impl Device {
    pub(super) fn new(name: Option<&str>) -> Self {
        Self { wanted: name.map(|name| name.as_bytes().into()), ..Self::default() }
    }

    /// The first devices in the trace other than the wanted one.
    pub(super) fn others(&self) -> impl Iterator<Item = &str> {
        self.others.iter().filter_map(OnceLock::get).map(String::as_str)
    }

    /// Remembers the device whose name has these parts, if there is room. Returns `false`.
    fn is_other<const N: usize>(&self, parts: [&[u8]; N]) -> bool {
        for slot in self.others.iter() {
            match slot.get() {
                Some(known) if is_joined(known.as_bytes(), parts) => break,
                Some(_) => {}
                None => {
                    let _ = slot.set(parts.map(String::from_utf8_lossy).concat());
                    break;
                }
            }
        }
        false
    }

    /// Whether requests of `name` are read.
    #[inline]
    pub(super) fn is(&self, name: &[u8]) -> bool {
        self.wanted.as_deref().is_none_or(|wanted| wanted == name || self.is_other([name]))
    }

    /// Whether requests of the device called `host`, an underscore and `disk` are read.
    #[inline]
    pub(super) fn is_of_host(&self, host: &[u8], disk: &[u8]) -> bool {
        let parts = [host, b"_", disk];
        self.wanted.as_deref().is_none_or(|wanted| is_joined(wanted, parts) || self.is_other(parts))
    }
}

/// Whether a name consists of these parts.
#[inline]
fn is_joined<const N: usize>(name: &[u8], parts: [&[u8]; N]) -> bool {
    let rest = parts.iter().try_fold(name, |rest, part| rest.strip_prefix(*part));
    rest.is_some_and(<[u8]>::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_by_its_name() {
        assert!(Device::new(None).is(b"7"));
        assert!(Device::new(Some("7")).is(b"7"));
        assert!(!Device::new(Some("7")).is(b"77"));
        let device = Device::new(Some("src1_2"));
        assert!(device.is_of_host(b"src1", b"2"));
        for (host, disk) in [(&b"src"[..], &b"2"[..]), (b"src1", b"20"), (b"src1_2", b"")] {
            assert!(!device.is_of_host(host, disk));
        }
        assert_eq!(device.others().collect::<Vec<_>>(), ["src_2", "src1_20", "src1_2_"]);
        // known ones are remembered once, and no more than there is room for
        assert!(!device.clone().is(b"src_2") && !device.is(b"a") && !device.is(b"b"));
        assert_eq!(device.others().collect::<Vec<_>>(), ["src_2", "src1_20", "src1_2_", "a"]);
    }
}
