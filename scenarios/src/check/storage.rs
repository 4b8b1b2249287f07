//! Checks the parts of a host: processor, adapter, cache, disks.

use foretell_units::{Bytes, SECTOR_BYTES, SimSpan};

use super::Context;
use super::quantities::Part;
use crate::cpu_file;
use crate::error::Problem;
use crate::model::{Cache, CpuProfile, Disk, Guest, Layout, LogPart, Nic, Storage, WritePolicy};
use crate::overlay::overlay;
use crate::profiles::ProfileKind;
use crate::raw::{
    At, RawCache, RawGuest, RawLayout, RawLogDevice, RawNic, RawNode, RawNodeDisk, RawWrite, Size,
};
use crate::shape;
use crate::source::Place;
use crate::tree::Node;

/// Maximum number of disks in a node.
const MAX_DISKS: usize = 1024;
/// Minimum part of a device for a database or a log. An OSD's log here is up to 1 GiB long.
const MIN_PART: Bytes = Bytes::gib(1);

/// Maximum number of pages in a cache, as in `algorithms`.
const MAX_PAGES: u64 = foretell_algorithms::cache::MAX_CAPACITY as u64;

impl Context<'_> {
    /// The processor: the profile, overlaid with the differences.
    pub(super) fn cpu(&mut self, own: &Node) -> Option<CpuProfile> {
        let profile = own.table()?.get("profile")?;
        let name = profile.text()?;
        let mut node = self.profile(ProfileKind::Cpu, name, profile.place)?;
        let mut own = own.clone();
        own.table_mut()?.remove("profile");
        overlay(&mut node, &own, shape::section("cpu"));
        let raw = self.read(&node)?;
        cpu_file::cpu(name, &raw, self)
    }

    pub(super) fn nic(&mut self, raw: &RawNic) -> Option<Nic> {
        let (rate, latency) = (self.rate(&raw.rate), self.time(&raw.latency));
        Some(Nic { rate: rate?, latency: latency? })
    }

    /// The block layer of a virtual machine.
    pub(super) fn guest(&mut self, raw: &RawGuest) -> Option<Guest> {
        let largest = self.size_above_zero(&raw.largest, "the largest request");
        let (hypervisor, commit) = (self.time(&raw.hypervisor), self.time(&raw.journal_commit));
        let largest = largest?;
        if !largest.get().is_multiple_of(SECTOR_BYTES) {
            let message = format!("{largest} is not a whole number of sectors of 512 B");
            self.add(Problem::new(raw.largest.place(), message));
        }
        Some(Guest {
            scheduler: raw.scheduler.get().known(),
            queue_depth: u32::try_from(*raw.queue_depth.get()).ok()?,
            largest,
            hypervisor: hypervisor?,
            journal_commit: commit?,
        })
    }

    pub(super) fn storage(&mut self, raw: &RawNode) -> Option<Storage> {
        let nvram = self.nvram(raw);
        let cache = self.cache(&raw.cache, nvram.flatten());
        let page = cache.as_ref().map(|cache| cache.page);
        let stripe = self.whole_pages(&raw.stripe, page, "a stripe");
        let layout = match raw.layout.get() {
            RawLayout::InPlace => Some(Layout::InPlace),
            RawLayout::LogStructured
                if cache.as_ref().is_some_and(|cache| cache.size == Bytes::ZERO) =>
            {
                let message = "without a cache there are no pages to append to a log";
                self.add(
                    Problem::new(raw.layout.place(), message)
                        .help("leave `layout` out, or give the node a cache"),
                );
                None
            }
            RawLayout::LogStructured => raw
                .segment
                .as_ref()
                .and_then(|segment| self.whole_pages(segment, page, "a segment"))
                .map(|segment| Layout::LogStructured { segment }),
        };
        let disks = self.disks(&raw.disk);
        let (disks, log_devices) = disks?;
        Some(Storage {
            cache: cache?,
            nvram: nvram?,
            layout: layout?,
            disks,
            log_devices,
            stripe: stripe?,
            shared_by: 1,
        })
    }

    #[allow(clippy::option_option, reason = "none fitted is not an error")]
    fn nvram(&mut self, raw: &RawNode) -> Option<Option<Bytes>> {
        let text = raw.nvram.get().as_str();
        if text == "none" {
            return Some(None);
        }
        let size = self.size_of(text, raw.nvram.place())?;
        if size == Bytes::ZERO {
            let message = "NVRAM of no size is written as `nvram = \"none\"`";
            self.add(Problem::new(raw.nvram.place(), message));
            return None;
        }
        if *raw.cache.get().write.get() == RawWrite::Through {
            let message = "NVRAM would have no effect: `cache.write` is `through`, so that a write \
                           is acknowledged when it is on disk";
            self.add(
                Problem::new(raw.nvram.place(), message)
                    .help("leave `nvram` out, or set `cache.write = \"back\"`"),
            );
            return None;
        }
        Some(Some(size))
    }

    fn cache(&mut self, raw: &At<RawCache>, nvram: Option<Bytes>) -> Option<Cache> {
        let raw = raw.get();
        let page = self.page(raw);
        let size = self.size(&raw.size);
        let read_ahead = self.size(&raw.read_ahead);
        let (page, size) = (page?, size?);
        let none = size == Bytes::ZERO;
        if size < page && !none {
            let message = format!("a cache of {size} does not hold one page of {page}");
            self.add(Problem::new(raw.size.place(), message));
            return None;
        }
        if size.get() / page.get() > MAX_PAGES {
            let message = format!("a cache of {size} has more than 2^29 pages of {page}");
            self.add(Problem::new(raw.size.place(), message).help("take larger pages"));
            return None;
        }
        let read_ahead = read_ahead?;
        if read_ahead > size && !none {
            let message = format!("{read_ahead} cannot be read ahead into a cache of {size}");
            self.add(Problem::new(raw.read_ahead.place(), message));
        }
        let write = match raw.write.get() {
            RawWrite::Back => WritePolicy::Back,
            RawWrite::Through => WritePolicy::Through,
        };
        let (dirty_background, dirty_limit) = self.dirty(raw, size, page, nvram)?;
        // settings that a write-through cache does not need have their defaults
        let time = |context: &mut Self, raw: &Option<_>, what, default| match raw {
            Some(raw) => context.time_above_zero(raw, what),
            None => Some(SimSpan::from_secs(default)),
        };
        let dirty_expire = time(self, &raw.dirty_expire, "the age of a written page", 30);
        let flush_interval = time(self, &raw.flush_interval, "the flusher's interval", 5);
        Some(Cache {
            policy: raw.policy.get().clone(),
            size,
            page,
            write,
            dirty_background,
            dirty_limit,
            dirty_expire: dirty_expire?,
            flush_interval: flush_interval?,
            read_ahead,
        })
    }

    fn page(&mut self, raw: &RawCache) -> Option<Bytes> {
        let page = self.size(&raw.page)?;
        if page.get().is_power_of_two() && (512..=1 << 24).contains(&page.get()) {
            return Some(page);
        }
        let message = format!("a page cannot be {page}");
        let help = "a page is a power of two from 512 B to 16 MiB, such as \"4 KiB\"";
        self.add(Problem::new(raw.page.place(), message).help(help));
        None
    }

    /// The limits of dirty data: background and hard.
    fn dirty(
        &mut self,
        raw: &RawCache,
        size: Bytes,
        page: Bytes,
        nvram: Option<Bytes>,
    ) -> Option<(Bytes, Bytes)> {
        let room = nvram.map_or(size, |nvram| nvram.min(size));
        let (auto_background, auto_limit) = match nvram {
            // Linux 2.4 to 2.6: `dirty_background_ratio` 10, `dirty_ratio` 40
            None => (Part::Share(0.1), Part::Share(0.4)),
            Some(_) => (Part::Size(room / 2), Part::Size(room)),
        };
        let whole_pages = |part: Part| {
            let bytes = part.of(size, size).get();
            Bytes(bytes / page.get() * page.get()).max(page)
        };
        let mut limit_of = |raw: &Option<At<_>>, auto: Part| {
            let Some(raw) = raw else { return Some((whole_pages(auto), Place::default())) };
            let part = self.part_size(raw)?;
            let bytes = match part {
                Part::Size(bytes) => bytes,
                Part::Auto => whole_pages(auto),
                share @ Part::Share(_) => whole_pages(share),
            };
            Some((bytes, raw.place()))
        };
        let background = limit_of(&raw.dirty_background, auto_background);
        let limit = limit_of(&raw.dirty_limit, auto_limit);
        let ((background, background_place), (limit, limit_place)) = (background?, limit?);
        if limit < page {
            let message = format!("{limit} of written data is less than one page of {page}");
            self.add(Problem::new(limit_place, message));
        } else if limit > room.max(page) {
            let whose =
                if nvram.is_some() { "the NVRAM and the cache hold" } else { "the cache holds" };
            let message = format!("{limit} of written data is more than {whose}, {room}");
            self.add(Problem::new(limit_place, message));
        } else if background > limit {
            let message = format!(
                "the flusher would start at {background} of written data, but writers wait from \
                 {limit} on"
            );
            self.add(
                Problem::new(background_place, message)
                    .help("make `dirty_background` at most `dirty_limit`"),
            );
        }
        Some((background, limit))
    }

    /// A size that is a multiple of the page, if the page is known.
    fn whole_pages(&mut self, raw: &Size, page: Option<Bytes>, what: &str) -> Option<Bytes> {
        let size = self.size_above_zero(raw, what)?;
        let page = page?;
        if !size.get().is_multiple_of(page.get()) {
            let message = format!("{what} of {size} is not a whole number of pages of {page}");
            let near = Bytes(size.get().div_ceil(page.get()) * page.get());
            self.add(Problem::new(raw.place(), message).help(format!("the next is \"{near}\"")));
        }
        Some(size)
    }

    fn disks(&mut self, raw: &[RawNodeDisk]) -> Option<(Vec<Disk>, Vec<Disk>)> {
        let mut disks = Vec::new();
        let mut log_devices = Vec::new();
        let mut good = true;
        for raw in raw {
            let count = usize::try_from(*raw.count.get()).unwrap_or(1);
            if disks.len() + log_devices.len() + count > MAX_DISKS {
                let message = format!("a node has at most {MAX_DISKS} disks");
                self.add(Problem::new(raw.count.place(), message));
                return None;
            }
            let name = raw.device.get();
            let Some(device) = self.device(name, raw.device.place()) else {
                good = false;
                continue;
            };
            let scheduler = raw.scheduler.get().known();
            let class = raw.class.as_ref().map(|class| class.get().trim().to_owned());
            let [db, wal] = [&raw.db, &raw.wal].map(|raw| {
                let raw = raw.as_ref()?;
                Some(self.log_devices(raw, count, disks.len(), &mut log_devices))
            });
            if [&db, &wal].into_iter().flatten().any(Option::is_none) {
                good = false;
                continue;
            }
            let (db, wal) = (db.flatten(), wal.flatten());
            for number in 0..count {
                let part = |found: Option<Parts>| found.map(|parts| parts.of(number));
                let (db, wal) = (part(db), part(wal));
                let (device_name, device, class) = (name.clone(), device.clone(), class.clone());
                disks.push(Disk { device_name, device, scheduler, class, db, wal });
            }
        }
        good.then_some((disks, log_devices))
    }

    /// Adds the devices for the databases or logs of `disks` disks. Returns the parts of the disks; `None` on errors.
    fn log_devices(
        &mut self,
        raw: &RawLogDevice,
        disks: usize,
        before: usize,
        all: &mut Vec<Disk>,
    ) -> Option<Parts> {
        let count = usize::try_from(*raw.count.get()).unwrap_or(1);
        if count > disks {
            let message =
                format!("{count} devices for databases or logs are more than the disks, {disks}");
            let help = format!("each disk uses one of them: write at most `count = {disks}`");
            self.add(Problem::new(raw.count.place(), message).help(help));
            return None;
        }
        if before + disks + all.len() + count > MAX_DISKS {
            let message = format!("a node has at most {MAX_DISKS} disks");
            self.add(Problem::new(raw.count.place(), message));
            return None;
        }
        let name = raw.device.get();
        let device = self.device(name, raw.device.place())?;
        let parts = disks.div_ceil(count);
        let part = device.capacity() / parts as u64;
        if part < MIN_PART {
            let message = format!(
                "each of {parts} disks would have {part} of `{name}`; a database or a log takes at least {MIN_PART}"
            );
            let help = "more of these devices (`count`), or larger ones, give each disk more";
            self.add(Problem::new(raw.device.place(), message).help(help));
            return None;
        }
        let parts = Parts { first: all.len(), devices: count, in_each: parts };
        let scheduler = raw.scheduler.get().known();
        let (class, db, wal) = (None, None, None);
        let disk = Disk { device_name: name.clone(), device, scheduler, class, db, wal };
        all.extend(std::iter::repeat_n(disk, count));
        Some(parts)
    }
}

/// Devices that are divided into equal parts.
#[derive(Clone, Copy)]
struct Parts {
    first: usize,
    devices: usize,
    in_each: usize,
}

impl Parts {
    /// The part of a disk: disks are assigned to the devices in turn.
    fn of(self, disk: usize) -> LogPart {
        LogPart {
            device: (self.first + disk % self.devices) as u32,
            place: (disk / self.devices) as u32,
            parts: self.in_each as u32,
        }
    }
}
