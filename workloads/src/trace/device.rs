//! The choice of a device in a trace of several.

/// A device, by its name in the format, or all devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Device(Option<Box<[u8]>>);

impl Device {
    pub(super) fn new(name: Option<&str>) -> Self {
        Self(name.map(|name| name.as_bytes().into()))
    }

    /// Whether requests of `name` are read.
    #[inline]
    pub(super) fn is(&self, name: &[u8]) -> bool {
        self.0.as_deref().is_none_or(|wanted| wanted == name)
    }

    /// Whether requests of the device called `host`, an underscore and `disk` are read.
    #[inline]
    pub(super) fn is_of_host(&self, host: &[u8], disk: &[u8]) -> bool {
        self.0.as_deref().is_none_or(|wanted| {
            wanted
                .strip_prefix(host)
                .and_then(|rest| rest.strip_prefix(b"_"))
                .is_some_and(|rest| rest == disk)
        })
    }
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
    }
}
