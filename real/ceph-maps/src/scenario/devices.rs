//! Devices of a scenario for drives whose class and size are known.
//!
//! A report states neither the speed of a drive nor its internals. Each class stands for drives that
//! are usual at that size. Every figure is an assumption that a measurement should replace.

use std::fmt::Write as _;

/// A drive, as far as a report describes it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Drive {
    /// Its name in the scenario.
    pub(super) name: String,
    /// Its kind.
    pub(super) sort: Sort,
}

/// Kinds of drives that behave alike.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Sort {
    /// A disk of 7200 revolutions per minute.
    Disk,
    /// Flash on SATA or SAS.
    Sata,
    /// Flash on `NVMe`.
    Nvme,
}

impl Sort {
    /// The kind by device class; flash attached by `NVMe` is `Nvme`.
    pub(super) fn of(class: &str, nvme: bool) -> Self {
        match class {
            "ssd" if !nvme => Self::Sata,
            "ssd" | "nvme" => Self::Nvme,
            // classes that users defined
            _ if nvme => Self::Nvme,
            _ if class.contains("nvme") => Self::Nvme,
            _ if class.contains("ssd") || class.contains("flash") => Self::Sata,
            _ => Self::Disk,
        }
    }

    /// The beginning of the names of its devices.
    fn word(self) -> &'static str {
        match self {
            Self::Disk => "hdd",
            Self::Sata => "ssd",
            Self::Nvme => "nvme",
        }
    }
}

impl Drive {
    /// A drive of this size; sizes that differ by less than 1 % get the same name.
    pub(super) fn new(sort: Sort, bytes: f64) -> Self {
        let (value, unit) = if bytes >= 1e12 { (bytes / 1e12, "tb") } else { (bytes / 1e9, "gb") };
        let value = match value {
            value if value < 10.0 => format!("{value:.2}"),
            value if value < 100.0 => format!("{value:.1}"),
            value => format!("{value:.0}"),
        };
        let value = if value.contains('.') {
            value.trim_end_matches('0').trim_end_matches('.').replace('.', "-")
        } else {
            value
        };
        Self { name: format!("{}-{value}{unit}", sort.word()), sort }
    }
}

/// The device's table; `bytes` is the smallest size among these drives.
pub(super) fn device(drive: &Drive, bytes: u64, models: &[String]) -> String {
    let mut text = format!("\n[device.{}]\n", drive.name);
    let capacity = bytes / 4096 * 4096;
    let known = if models.is_empty() { String::new() } else { format!("; {}", models.join(", ")) };
    match drive.sort {
        Sort::Disk => disk(&mut text, capacity, &known),
        Sort::Sata | Sort::Nvme => flash(&mut text, drive.sort, capacity, &known),
    }
    text
}

fn disk(text: &mut String, capacity: u64, known: &str) {
    // rates from data sheets by size: 1 TB of 2012, 4 TB of 2015, 12 TB of 2018, 20 TB of 2022
    let tb = capacity as f64 / 1e12;
    let (outer, inner, heads) = match tb {
        tb if tb < 1.5 => (150, 75, 2),
        tb if tb < 3.0 => (165, 80, 4),
        tb if tb < 7.0 => (200, 95, 8),
        tb if tb < 13.0 => (250, 115, 16),
        _ => (275, 125, 18),
    };
    let _ = write!(
        text,
        "# assumed: all but the size, as usual for disks of 7200/min of that size{known}\n\
         kind         = \"drive\"\n\
         source       = \"assumed by size: the report says nothing of speed\"\n\
         rpm          = 7200\n\
         heads        = {heads}\n\
         head_switch  = \"0.8 ms\"\n\
         write_settle = \"0.5 ms\"\n\
         queue_depth  = 32\n\
         medium       = {{ capacity = \"{capacity} B\", outer_rate = \"{outer} MB/s\", inner_rate = \"{inner} MB/s\", zones = 16 }}\n\
         seek         = {{ data_sheet = {{ single = \"0.5 ms\", average = \"8.5 ms\", full = \"18 ms\" }} }}\n\
         bus          = {{ rate = \"600 MB/s\" }}\n\
         overhead     = {{ read_hit = \"0.1 ms\", read_miss = \"0.1 ms\", write_hit = \"0.1 ms\", write_miss = \"0.1 ms\" }}\n\
         cache        = {{ enabled = true, segments = 32, segment_sectors = 1024, read_ahead = \"segment\", keep_passing = true, read_hits_on_writes = true, hits_on_next = true }}\n"
    );
}

fn flash(text: &mut String, sort: Sort, capacity: u64, known: &str) {
    // as in `sata-ssd` and `nvme-3gbs`: the number of dies grows with the size, up to the capacity of
    // the channels
    let (word, host, duplex, latency, channel) = match sort {
        Sort::Nvme => ("NVMe", "3.26 GB/s", "full", "15 us", "533 MB/s"),
        _ => ("SATA or SAS", "525 MB/s", "half", "20 us", "400 MB/s"),
    };
    let chips = match capacity as f64 / 1e12 {
        tb if tb < 0.7 => 1,
        tb if tb < 1.5 => 2,
        _ => 4,
    };
    let (depth, command) = match sort {
        Sort::Nvme => (4096, "784 ns"),
        _ => (32, "2.5 us"),
    };
    let _ = write!(
        text,
        "# assumed: all but the size, as usual for data-centre flash with power-loss protection on {word}{known}\n\
         kind = \"ssd\"\n\
         source = \"assumed by class and size: the report says nothing of speed\"\n\
         capacity = \"{capacity} B\"\n\
         over_provisioning = \"10%\"\n\
         channels = 8\n\
         chips = {chips}\n\
         dies = 2\n\
         planes = 2\n\
         page = \"16 KiB\"\n\
         pages_per_block = 512\n\
         mapping = \"4 KiB\"\n\
         read = \"60 us\"\n\
         program = \"1.93 ms\"\n\
         erase = \"3.8 ms\"\n\
         channel_rate = \"{channel}\"\n\
         buffer = \"32 MiB\"\n\
         queue_depth = {depth}\n\
         host_rate = \"{host}\"\n\
         duplex = \"{duplex}\"\n\
         command = \"{command}\"\n\
         latency = \"{latency}\"\n"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_class_and_size() {
        let name = |sort, bytes| Drive::new(sort, bytes).name;
        assert_eq!(name(Sort::Disk, 12_000_134_430_720.0), "hdd-12tb");
        assert_eq!(name(Sort::Disk, 4_000_762_036_224.0), "hdd-4tb");
        assert_eq!(name(Sort::Sata, 960_193_626_112.0), "ssd-960gb");
        assert_eq!(name(Sort::Nvme, 1_920_000_000_000.0), "nvme-1-92tb");
        assert_eq!(name(Sort::Nvme, 100_000_000_000.0), "nvme-100gb");
        assert_eq!(name(Sort::Nvme, 20_000_000_000.0), "nvme-20gb");
    }

    #[test]
    fn flash_is_told_from_disks() {
        assert_eq!(Sort::of("hdd", false), Sort::Disk);
        assert_eq!(Sort::of("ssd", true), Sort::Nvme);
        assert_eq!(Sort::of("ssd", false), Sort::Sata);
        assert_eq!(Sort::of("fast-nvme", false), Sort::Nvme);
        assert_eq!(Sort::of("", false), Sort::Disk);
    }
}
