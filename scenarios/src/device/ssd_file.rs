//! Solid-state drives: profiles as written and as checked.
//!
//! Every default is that of MQSim's published configuration (Tavakkol et al., FAST 2018;
//! `ssdconfig.xml` and the parameter sets of its repository), so `kind`, `source` and `capacity`
//! alone describe that drive.
#![allow(clippy::option_option, reason = "wrong, or right and perhaps absent")]

use foretell_units::{Bytes, Rate, SimSpan};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::check::Context;
use crate::error::Problem;
use crate::raw::{At, Share, Size, Speed, Time};

/// A solid-state drive: flash behind channels, a write buffer and a page-mapped translation layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Ssd {
    /// Bytes that a host can address.
    pub capacity: Bytes,
    /// Share of the flash that a host cannot address, more than 0 and less than 1.
    pub over_provisioning: f64,
    /// Channels: independent buses.
    pub channels: u32,
    /// Number of chips on each channel.
    pub chips: u32,
    /// Dies in each chip; each works independently.
    pub dies: u32,
    /// Planes of each die; they program and erase together.
    pub planes: u32,
    /// Size of a page.
    pub page: Bytes,
    /// Pages of a block, the unit of erasure.
    pub pages_per_block: u32,
    /// Bytes mapped by one entry of the mapping table; a page is a whole number of them.
    pub mapping: Bytes,
    /// Time to read a page from its cells into the die's register.
    pub read: SimSpan,
    /// Time to program a page from the register into the cells.
    pub program: SimSpan,
    /// Time to erase a block of each plane.
    pub erase: SimSpan,
    /// Transfer rate of each channel.
    pub channel_rate: Rate,
    /// Memory for written data that are not yet in flash.
    pub buffer: Bytes,
    /// Whether capacitors save the contents of that memory. Without them a write is done when it is in flash.
    pub power_loss_protection: bool,
    /// Number of commands that the drive accepts before one completes.
    pub queue_depth: u32,
    /// Transfer rate of the host interface.
    pub host_rate: Rate,
    /// Whether the host interface transfers in both directions at once.
    pub duplex: bool,
    /// Time of a command on the host interface, besides its data.
    pub command: SimSpan,
    /// Additional time of a command, during which others are not delayed.
    pub latency: SimSpan,
    /// The writes before the simulation begins.
    pub precondition: Precondition,
    /// Bytes that may be written before the drive is worn out, as its manufacturer rates it.
    pub endurance: Option<Bytes>,
}

/// The writes to a drive before the simulation begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precondition {
    /// Everything, and then random writes until garbage collection no longer changes the
    /// distribution of valid data over blocks.
    Random,
    /// Everything once, from the beginning to the end: all spare blocks are free.
    Sequential,
}

/// Blocks of a die (in each plane) that must be spare: one open for the host, one open for
/// collected data, up to three free, and three for imbalance between dies.
const SPARE_BLOCKS: u64 = 8;

/// Maximum number of dies in a drive.
const MAX_DIES: u32 = 1 << 16;

/// Maximum number of blocks in a drive, where those of a die's planes count as one: each takes some memory.
const MAX_BLOCKS: u64 = 1 << 24;

/// Maximum entries of a mapping table, which are numbered with 31 bits.
const MAX_ENTRIES: u64 = (1 << 31) - 1;

/// Memory per erase block, to find it in garbage collection: 20 bytes, and 4 for blocks that are initially free.
const BYTES_BY_BLOCK: u64 = 24;

/// Memory per die, for each unit of one of its blocks: two blocks being written, and lists of
/// blocks by their number of valid units.
const BYTES_BY_UNIT: u64 = 12;

impl Ssd {
    /// Memory that a simulation takes for the tables of its flash, in bytes.
    pub(crate) fn table_bytes(&self) -> u64 {
        let die =
            self.blocks_per_plane() * BYTES_BY_BLOCK + self.entries_per_block() * BYTES_BY_UNIT;
        u64::from(self.all_dies()).saturating_mul(die)
    }

    /// Number of dies of the whole drive.
    pub fn all_dies(&self) -> u32 {
        self.channels * self.chips * self.dies
    }

    /// Number of mapping entries for one block of each plane of a die.
    pub fn entries_per_block(&self) -> u64 {
        let page = self.page.get() / self.mapping.get();
        u64::from(self.planes) * u64::from(self.pages_per_block) * page
    }

    /// Number of blocks of each plane, which follows from capacity and over-provisioning.
    pub fn blocks_per_plane(&self) -> u64 {
        let entries = self.entries() as f64 / (1.0 - self.over_provisioning);
        let blocks = entries / (u64::from(self.all_dies()) * self.entries_per_block()) as f64;
        // a capacity computed from a whole number of blocks gives that number again
        (blocks - 1e-6).ceil() as u64
    }

    /// Number of entries of the mapping table.
    pub fn entries(&self) -> u64 {
        self.capacity.get() / self.mapping.get()
    }

    /// Total bytes of flash.
    pub fn flash(&self) -> Bytes {
        let entries =
            u64::from(self.all_dies()) * self.blocks_per_plane() * self.entries_per_block();
        Bytes(entries * self.mapping.get())
    }
}

/// A solid-state drive.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawSsd {
    /// Kind of device.
    #[schemars(extend("enum" = ["ssd"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// Where the figures come from: a data sheet, a measurement, or why something was assumed.
    #[allow(dead_code, reason = "must be there")]
    pub(crate) source: At<String>,
    /// Bytes that a host can address.
    pub(crate) capacity: Size,
    /// Share of the flash that a host cannot address. A larger share means less write amplification.
    #[schemars(extend("default" = "7%"))]
    pub(crate) over_provisioning: At<Share>,
    /// Number of channels: independent buses between controller and flash.
    #[schemars(extend("default" = 8, "minimum" = 1, "maximum" = 256))]
    pub(crate) channels: At<i64>,
    /// Number of chips on each channel.
    #[schemars(extend("default" = 4, "minimum" = 1, "maximum" = 256))]
    pub(crate) chips: At<i64>,
    /// Number of dies in each chip. Each die works independently.
    #[schemars(extend("default" = 2, "minimum" = 1, "maximum" = 64))]
    pub(crate) dies: At<i64>,
    /// Number of planes of each die. They program and erase together.
    #[schemars(extend("default" = 2, "minimum" = 1, "maximum" = 16))]
    pub(crate) planes: At<i64>,
    /// Size of a page.
    #[schemars(extend("default" = "8 KiB"))]
    pub(crate) page: Size,
    /// Pages of a block, the unit of erasure.
    #[schemars(extend("default" = 256, "minimum" = 2, "maximum" = 65_536))]
    pub(crate) pages_per_block: At<i64>,
    /// Bytes that one entry of the mapping table maps: `page`, or a part of a page. A write that is
    /// shorter than this first reads the rest.
    #[schemars(extend("default" = "page", "x-words" = ["page"], "examples" = ["4 KiB"]))]
    pub(crate) mapping: At<String>,
    /// Time to read a page from its cells into the die's register.
    #[schemars(extend("default" = "75 us"))]
    pub(crate) read: Time,
    /// Time to program a page of each plane, from the register into the cells.
    #[schemars(extend("default" = "750 us"))]
    pub(crate) program: Time,
    /// Time to erase a block of each plane.
    #[schemars(extend("default" = "3.8 ms"))]
    pub(crate) erase: Time,
    /// Transfer rate of each channel.
    #[schemars(extend("default" = "333 MB/s"))]
    pub(crate) channel_rate: Speed,
    /// Memory for written data that is not yet in flash.
    #[schemars(extend("default" = "256 MiB"))]
    pub(crate) buffer: Size,
    /// Whether capacitors save the data in `buffer` when power fails. Without them, a write is complete
    /// only when it is in flash, because we assume that a flush follows each write. Storage systems,
    /// databases and journals flush if they must not lose data that they have acknowledged.
    #[schemars(extend("default" = true))]
    pub(crate) power_loss_protection: At<bool>,
    /// Maximum number of outstanding commands in the drive.
    #[schemars(extend("default" = 65_535, "minimum" = 1, "maximum" = 1_048_576))]
    pub(crate) queue_depth: At<i64>,
    /// Transfer rate of the host interface.
    #[schemars(extend("default" = "4 GB/s"))]
    pub(crate) host_rate: Speed,
    /// Whether both directions of the host interface transfer at once (as with PCI Express) or
    /// one at a time (as with Serial ATA).
    #[schemars(extend("default" = "full"))]
    pub(crate) duplex: At<RawDuplex>,
    /// Time for which a command occupies the host interface, in addition to its data. It limits operations
    /// per second.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) command: Time,
    /// Additional time of a command, in firmware and driver. Other commands are not delayed.
    #[schemars(extend("default" = "0 s"))]
    pub(crate) latency: Time,
    /// What was written before the simulation begins.
    #[schemars(extend("default" = "random"))]
    pub(crate) precondition: At<RawPrecondition>,
    /// Bytes that a host may write before the drive is worn out, as its maker rates it (TBW). In the
    /// simulation, wear slows nothing down and causes no failure. `truth.json` shows how long the drive
    /// would last.
    #[schemars(extend("examples" = ["6160 TB"]))]
    pub(crate) endurance: Option<Size>,
    /// Endurance as a multiple of the capacity that a host may write each day of the warranty (DWPD). It
    /// replaces `endurance`.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub(crate) drive_writes_per_day: Option<At<f64>>,
    /// Warranty, in years, for which `drive_writes_per_day` is rated.
    #[schemars(extend("default" = 5, "minimum" = 1, "maximum" = 100))]
    pub(crate) warranty_years: At<i64>,
}

/// Directions of the host interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawDuplex {
    /// Both at once.
    Full,
    /// One at a time.
    Half,
}

/// What was written before the simulation begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawPrecondition {
    /// Everything once, and then random writes until garbage collection has reached its steady state.
    Random,
    /// Everything once, in order. All spare blocks are free.
    Sequential,
}

/// The drive of a profile.
pub(crate) fn ssd(raw: &RawSsd, context: &mut Context<'_>) -> Option<Ssd> {
    let capacity = context.size_above_zero(&raw.capacity, "a capacity");
    let over_provisioning = context.share(&raw.over_provisioning);
    let page = page(raw, context);
    let mapping = page.and_then(|page| mapping(raw, page, context));
    let read = context.time_above_zero(&raw.read, "reading a page");
    let program = context.time_above_zero(&raw.program, "programming a page");
    let erase = context.time_above_zero(&raw.erase, "erasing a block");
    let channel_rate = context.rate(&raw.channel_rate);
    let buffer = context.size(&raw.buffer);
    let host_rate = context.rate(&raw.host_rate);
    let (command, latency) = (context.time(&raw.command), context.time(&raw.latency));
    let endurance = endurance(raw, capacity, context);
    let count = |raw: &At<i64>| u32::try_from(*raw.get()).ok();
    let ssd = Ssd {
        capacity: capacity?,
        over_provisioning: over_provisioning?,
        channels: count(&raw.channels)?,
        chips: count(&raw.chips)?,
        dies: count(&raw.dies)?,
        planes: count(&raw.planes)?,
        page: page?,
        pages_per_block: count(&raw.pages_per_block)?,
        mapping: mapping?,
        read: read?,
        program: program?,
        erase: erase?,
        channel_rate: channel_rate?,
        buffer: buffer?,
        power_loss_protection: *raw.power_loss_protection.get(),
        queue_depth: count(&raw.queue_depth)?,
        host_rate: host_rate?,
        duplex: *raw.duplex.get() == RawDuplex::Full,
        command: command?,
        latency: latency?,
        precondition: match raw.precondition.get() {
            RawPrecondition::Random => Precondition::Random,
            RawPrecondition::Sequential => Precondition::Sequential,
        },
        endurance: endurance?,
    };
    fits(&ssd, raw, context).then_some(ssd)
}

/// Days per year.
pub const DAYS_PER_YEAR: f64 = 365.25;

/// The endurance, which may be absent; `None`: it is wrong.
fn endurance(
    raw: &RawSsd,
    capacity: Option<Bytes>,
    context: &mut Context<'_>,
) -> Option<Option<Bytes>> {
    match (&raw.endurance, &raw.drive_writes_per_day) {
        (None, None) => Some(None),
        (Some(endurance), None) => context.size_above_zero(endurance, "an endurance").map(Some),
        (None, Some(daily)) => {
            let days = *raw.warranty_years.get() as f64 * DAYS_PER_YEAR;
            Some(Some(Bytes((capacity?.get() as f64 * daily.get() * days) as u64)))
        }
        (Some(endurance), Some(daily)) => {
            let message = "`endurance` and `drive_writes_per_day` say the same; give one of them";
            context.add(Problem::new(daily.place(), message).also(endurance.place()));
            None
        }
    }
}

fn page(raw: &RawSsd, context: &mut Context<'_>) -> Option<Bytes> {
    let page = context.size(&raw.page)?;
    if page.get().is_power_of_two() && (512..=1 << 20).contains(&page.get()) {
        return Some(page);
    }
    let message = format!("a flash page cannot be {page}");
    let help = "a page is a power of two from 512 B to 1 MiB, such as \"16 KiB\"";
    context.add(Problem::new(raw.page.place(), message).help(help));
    None
}

fn mapping(raw: &RawSsd, page: Bytes, context: &mut Context<'_>) -> Option<Bytes> {
    let text = raw.mapping.get().as_str();
    if text == "page" {
        return Some(page);
    }
    let mapping = context.size_of(text, raw.mapping.place())?;
    if mapping.get().is_power_of_two() && (512..=page.get()).contains(&mapping.get()) {
        return Some(mapping);
    }
    let message = format!("an entry of the mapping table cannot map {mapping}");
    let help = format!("it maps a power of two from 512 B to a page, {page}, or write `page`");
    context.add(Problem::new(raw.mapping.place(), message).help(help));
    None
}

/// Checks that the parts fit together.
fn fits(ssd: &Ssd, raw: &RawSsd, context: &mut Context<'_>) -> bool {
    if ssd.buffer < ssd.mapping {
        let message = format!(
            "a buffer of {} does not hold the {} that one entry of the mapping table maps",
            ssd.buffer, ssd.mapping
        );
        context.add(Problem::new(raw.buffer.place(), message));
        return false;
    }
    if !(0.001..=0.95).contains(&ssd.over_provisioning) {
        let message =
            format!("over-provisioning cannot be {}% of the flash", ssd.over_provisioning * 100.0);
        let help = "it is the share that a host cannot address, from \"0.1%\" to \"95%\"";
        context.add(Problem::new(raw.over_provisioning.place(), message).help(help));
        return false;
    }
    if ssd.all_dies() > MAX_DIES {
        let message = format!("a drive of {} dies has more than {MAX_DIES}", ssd.all_dies());
        let places = [raw.channels.place(), raw.chips.place(), raw.dies.place()];
        let problem = Problem::new(places[0], message).also(places[1]).also(places[2]);
        context.add(problem.help("make `channels`, `chips` or `dies` smaller"));
        return false;
    }
    let (blocks, dies) = (ssd.blocks_per_plane(), u64::from(ssd.all_dies()));
    if blocks > MAX_BLOCKS / dies {
        let message = format!(
            "a drive of {} would have {blocks} blocks in each plane of {dies} dies, and they are more \
             than {MAX_BLOCKS}",
            raw.capacity.get().text.trim()
        );
        let problem = Problem::new(raw.pages_per_block.place(), message);
        context.add(problem.help("make `pages_per_block` larger or `capacity` smaller"));
        return false;
    }
    let used = ssd.entries().div_ceil(dies * ssd.entries_per_block());
    if blocks < used + SPARE_BLOCKS {
        let message = format!(
            "a drive of {} with {}% of over-provisioning has {} spare blocks in each plane, and \
             needs {SPARE_BLOCKS}",
            raw.capacity.get().text.trim(),
            ssd.over_provisioning * 100.0,
            blocks - used.min(blocks)
        );
        let help = "make `over_provisioning` or `capacity` larger, or `pages_per_block`, \
                    `channels`, `chips`, `dies` or `planes` smaller";
        context.add(Problem::new(raw.over_provisioning.place(), message).help(help));
        return false;
    }
    if ssd.flash().get() / ssd.mapping.get() >= MAX_ENTRIES {
        let message = format!(
            "a mapping table of a drive of {} would have more than 2^31 entries of {}",
            raw.capacity.get().text.trim(),
            ssd.mapping
        );
        context.add(
            Problem::new(raw.capacity.place(), message)
                .also(raw.mapping.place())
                .help("let an entry map more, up to a page"),
        );
        return false;
    }
    true
}
