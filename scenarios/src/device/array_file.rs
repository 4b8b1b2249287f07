//! Disk arrays: profiles as written and as checked.

use foretell_algorithms::array::Layout;
pub use foretell_algorithms::array::{Destage, Level};
use foretell_algorithms::cache::PolicyKind;
use foretell_units::{Bytes, Rate, SECTOR_BYTES, SimSpan};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::check::Context;
use crate::device::Device;
use crate::device::file;
use crate::error::Problem;
use crate::profiles::ProfileKind;
use crate::raw::{At, Share, Size, Speed, Time};

/// Equal devices behind one controller, with its caches.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    /// How data are distributed over the members.
    pub level: Level,
    /// Number of members.
    pub members: u32,
    /// Name of the members' profile.
    pub device_name: String,
    /// The members' properties; never an array.
    pub device: Device,
    /// Bytes on one member before the next member follows; whole sectors, and whole pages of the
    /// cache, if there is one.
    pub stripe_unit: Bytes,
    /// The controller's memory; `None`: data go directly to and from the members.
    pub cache: Option<ArrayCache>,
    /// Transfer rate of the host interface in each direction.
    pub rate: Rate,
    /// Time of each operation in the controller, during which others are not delayed.
    pub overhead: SimSpan,
}

/// The caches of an array's controller.
#[derive(Clone, PartialEq, Debug)]
pub struct ArrayCache {
    /// Memory for pages, read and written; lost without power.
    pub size: Bytes,
    /// Size of a page.
    pub page: Bytes,
    /// Name of the replacement policy, as `algorithms` knows it.
    pub policy: String,
    /// Maximum read-ahead of a sequential stream; zero: no read-ahead.
    pub read_ahead: Bytes,
    /// Memory that keeps written data without power until they are on the members; `None`: a write
    /// is done when it is on the members.
    pub write: Option<WriteCache>,
}

/// Memory of an array's controller that keeps written data without power. Each write is stored
/// there and in the volatile cache of the other half of the controller.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WriteCache {
    /// Memory for written pages.
    pub size: Bytes,
    /// When it is destaged.
    pub destage: Destage,
    /// Written bytes above which destaging begins, or has its highest rate.
    pub high: Bytes,
    /// Written bytes at which destaging stops.
    pub low: Bytes,
    /// Transfer rate of the link for the second copy.
    pub mirror_rate: Rate,
}

impl Array {
    /// The layout of its sectors.
    pub fn layout(&self) -> Layout {
        let sectors = |bytes: Bytes| bytes.get() / SECTOR_BYTES;
        let (unit, member) = (sectors(self.stripe_unit), sectors(self.device.capacity()));
        Layout::new(self.level, self.members, unit, member)
    }

    /// Its capacity: whole stripes.
    pub fn capacity(&self) -> Bytes {
        Bytes(self.layout().sectors() * SECTOR_BYTES)
    }
}

/// Equal devices behind one controller, with its caches.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawArray {
    /// Kind of device.
    #[schemars(extend("enum" = ["array"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// Where the figures come from: a data sheet, a measurement, or why something was assumed.
    #[allow(dead_code, reason = "must be there")]
    pub(crate) source: At<String>,
    /// How data is distributed over the members.
    pub(crate) level: At<RawLevel>,
    /// Number of members, including those for parity or copies.
    #[schemars(extend("minimum" = 1, "maximum" = 1024))]
    pub(crate) members: At<i64>,
    /// Name of the members' profile. The `scheduler` of the node's disk decides the order in which the
    /// members' waiting operations are served.
    #[schemars(extend("examples" = ["cheetah-15k"]))]
    pub(crate) device: At<String>,
    /// Bytes on one member before the next member follows.
    #[schemars(extend("default" = "64 KiB"))]
    pub(crate) stripe_unit: Size,
    /// Memory of the controller for pages that were read or written. `none`: there is no cache.
    #[schemars(extend("default" = "none", "x-words" = ["none"], "examples" = ["50 GiB"]))]
    pub(crate) read_cache: At<String>,
    /// Non-volatile memory of the controller. It keeps a second copy of written data until the data is on
    /// the members. `none`: there is no write cache, and a write is complete when it is on the members.
    #[schemars(extend("default" = "none", "x-words" = ["none"], "examples" = ["2 GiB"]))]
    pub(crate) write_cache: At<String>,
    /// Size of a page of the caches.
    #[schemars(extend("default" = "4 KiB"))]
    pub(crate) page: Size,
    /// Replacement policy of the caches.
    #[schemars(extend("default" = "lru", "enum" = policies()))]
    pub(crate) policy: At<String>,
    /// Maximum read-ahead of a sequential stream. `0 B`: no read-ahead.
    #[schemars(extend("default" = "1 MiB"))]
    pub(crate) read_ahead: Size,
    /// When written data goes to the members.
    #[schemars(extend("default" = "marks"))]
    pub(crate) destage: At<RawDestage>,
    /// With `marks`, destaging begins above this share of the write cache. With `linear`, it is as fast as it
    /// can be above this share.
    #[schemars(extend("default" = "90%"))]
    pub(crate) destage_high: At<Share>,
    /// Share of the write cache at which destaging stops.
    #[schemars(extend("default" = "80%"))]
    pub(crate) destage_low: At<Share>,
    /// Transfer rate of the link for the second copy of written data.
    #[schemars(extend("default" = "1 GB/s"))]
    pub(crate) mirror_rate: Speed,
    /// Transfer rate of the host interface in each direction.
    #[schemars(extend("default" = "800 MB/s"))]
    pub(crate) rate: Speed,
    /// Time that each operation takes in the controller. Other operations are not delayed.
    #[schemars(extend("default" = "0.1 ms"))]
    pub(crate) overhead: Time,
}

/// Names of all replacement policies.
fn policies() -> Vec<&'static str> {
    PolicyKind::ALL.iter().map(|policy| policy.name()).collect()
}

/// How data is distributed over the members.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum RawLevel {
    /// Striped.
    Raid0,
    /// The same data on every member.
    Raid1,
    /// Striped over mirrored pairs of members.
    Raid10,
    /// Striped, with a parity unit in each stripe.
    Raid5,
}

/// When a write cache is emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawDestage {
    /// From the high mark down to the low mark, as fast as the members can.
    Marks,
    /// Continuously: between the low mark and the high mark, the number of stripes that are being destaged
    /// grows from none to as many as the members can take.
    Linear,
}

/// Maximum number of pages in a cache, as in `algorithms`.
const MAX_PAGES: u64 = 1 << 29;

/// The array of a profile.
pub(crate) fn array(raw: &RawArray, context: &mut Context<'_>) -> Option<Array> {
    let (level, least) = match raw.level.get() {
        RawLevel::Raid0 => (Level::Raid0, 1),
        RawLevel::Raid1 => (Level::Raid1, 2),
        RawLevel::Raid10 => (Level::Raid10, 2),
        RawLevel::Raid5 => (Level::Raid5, 3),
    };
    let members = members(raw, level, least, context);
    let device = member(raw, context);
    let stripe_unit = stripe_unit(raw, context);
    let cache = cache(raw, context);
    let (rate, overhead) = (context.rate(&raw.rate), context.time(&raw.overhead));
    let array = Array {
        level,
        members: members?,
        device_name: raw.device.get().clone(),
        device: device?,
        stripe_unit: stripe_unit?,
        cache: cache?,
        rate: rate?,
        overhead: overhead?,
    };
    if array.capacity() == Bytes::ZERO {
        let message = format!(
            "a stripe unit of {} is more than `{}` holds",
            array.stripe_unit, array.device_name
        );
        context.add(Problem::new(raw.stripe_unit.place(), message));
        return None;
    }
    let page = array.cache.as_ref().map(|cache| cache.page);
    if let Some(page) = page.filter(|page| !array.stripe_unit.get().is_multiple_of(page.get())) {
        let unit = array.stripe_unit;
        let message = format!("a stripe unit of {unit} is not a whole number of pages of {page}");
        let near = Bytes(unit.get().next_multiple_of(page.get()));
        let problem = Problem::new(raw.stripe_unit.place(), message).also(raw.page.place());
        context.add(problem.help(format!("the next is \"{near}\"")));
        return None;
    }
    Some(array)
}

fn members(raw: &RawArray, level: Level, least: u32, context: &mut Context<'_>) -> Option<u32> {
    let members = u32::try_from(*raw.members.get()).ok()?;
    let message = if members < least {
        format!("an array of this level has {least} members or more, not {members}")
    } else if level == Level::Raid10 && !members.is_multiple_of(2) {
        format!("the members of `raid10` form pairs, and {members} is odd")
    } else {
        return Some(members);
    };
    context.add(Problem::new(raw.members.place(), message).also(raw.level.place()));
    None
}

fn member(raw: &RawArray, context: &mut Context<'_>) -> Option<Device> {
    let (name, place) = (raw.device.get(), raw.device.place());
    let node = context.profile(ProfileKind::Device, name, place)?;
    if file::kind(&node) == Some("array") {
        let message = format!("`{name}` is an array, and cannot be a member of one");
        context.add(Problem::new(place, message).help("name a disk or a solid-state drive"));
        return None;
    }
    file::device(&node, context)
}

fn stripe_unit(raw: &RawArray, context: &mut Context<'_>) -> Option<Bytes> {
    let unit = context.size_above_zero(&raw.stripe_unit, "a stripe unit")?;
    if unit.get().is_multiple_of(SECTOR_BYTES) {
        return Some(unit);
    }
    let message = format!("a stripe unit of {unit} is not a whole number of sectors");
    let near = Bytes(unit.get().next_multiple_of(SECTOR_BYTES));
    context.add(
        Problem::new(raw.stripe_unit.place(), message).help(format!("the next is \"{near}\"")),
    );
    None
}

#[expect(clippy::option_option, reason = "none is what is wrong; some none is no cache")]
fn cache(raw: &RawArray, context: &mut Context<'_>) -> Option<Option<ArrayCache>> {
    let read = memory(&raw.read_cache, context);
    let write = memory(&raw.write_cache, context);
    let page = page(raw, context);
    let read_ahead = context.size(&raw.read_ahead);
    let (high, low) = (context.share(&raw.destage_high), context.share(&raw.destage_low));
    let mirror_rate = context.rate(&raw.mirror_rate);
    let (read, write, page) = (read?, write?, page?);
    let Some(size) = read else {
        if write.is_some() {
            let message = "a write cache keeps second copies of pages of the read cache, and \
                           `read_cache` is `none`";
            context.add(
                Problem::new(raw.write_cache.place(), message)
                    .also(raw.read_cache.place())
                    .help("give `read_cache` a size, as large as the write cache or larger"),
            );
            return None;
        }
        return Some(None);
    };
    let (read_ahead, high, low, mirror_rate) = (read_ahead?, high?, low?, mirror_rate?);
    let message = if size < page {
        format!("a read cache of {size} does not hold one page of {page}")
    } else if size.get() / page.get() > MAX_PAGES {
        format!("a read cache of {size} has more than 2^29 pages of {page}")
    } else if write.is_some_and(|write| write > size) {
        format!("a read cache of {size} does not hold all pages of the write cache")
    } else {
        String::new()
    };
    if !message.is_empty() {
        context.add(Problem::new(raw.read_cache.place(), message));
        return None;
    }
    if read_ahead > size {
        let message = format!("{read_ahead} cannot be read ahead into a cache of {size}");
        context.add(Problem::new(raw.read_ahead.place(), message));
        return None;
    }
    if let Some(write) = write.filter(|&write| write < page) {
        let message = format!("a write cache of {write} does not hold one page of {page}");
        context.add(Problem::new(raw.write_cache.place(), message));
        return None;
    }
    if low > high {
        let message = "destaging would end before it begins: `destage_low` is more than \
                       `destage_high`";
        context.add(Problem::new(raw.destage_low.place(), message).also(raw.destage_high.place()));
        return None;
    }
    let part = |size: Bytes, share: f64| Bytes((size.get() as f64 * share) as u64);
    let write = write.map(|size| WriteCache {
        destage: match raw.destage.get() {
            RawDestage::Marks => Destage::Marks,
            RawDestage::Linear => Destage::Linear,
        },
        size,
        high: part(size, high),
        low: part(size, low),
        mirror_rate,
    });
    Some(Some(ArrayCache { size, page, policy: raw.policy.get().clone(), read_ahead, write }))
}

/// A size, or `none`.
#[expect(clippy::option_option, reason = "none is what is wrong; some none is no memory")]
fn memory(raw: &At<String>, context: &mut Context<'_>) -> Option<Option<Bytes>> {
    if raw.get() == "none" {
        return Some(None);
    }
    let size = context.size_of(raw.get(), raw.place())?;
    if size == Bytes::ZERO {
        context.add(Problem::new(raw.place(), "memory of no size is written as `none`"));
        return None;
    }
    Some(Some(size))
}

fn page(raw: &RawArray, context: &mut Context<'_>) -> Option<Bytes> {
    let page = context.size(&raw.page)?;
    if page.get().is_power_of_two() && (512..=1 << 24).contains(&page.get()) {
        return Some(page);
    }
    let message = format!("a page cannot be {page}");
    let help = "a page is a power of two from 512 B to 16 MiB, such as \"4 KiB\"";
    context.add(Problem::new(raw.page.place(), message).help(help));
    None
}
