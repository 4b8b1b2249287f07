//! Converts blocks of DiskSim parameters to a drive.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foretell_units::{Sectors, SimSpan};

use super::lex::Read;
use super::parse::{Document, Kind, Value};
use super::seek::seek;
use super::view::{View, whole};
use super::wires::{Wires, bus};
use super::{Import, ImportError};
use crate::device::Tolerance;
use crate::drive::{
    After, Bus, Cache, Drive, EarlyWrite, ExtraDisconnect, Geometry, Numbering, Overhead,
    ReadAhead, Requested, Sparing, Specification, Zone,
};

pub(super) fn convert(
    file: &Path,
    document: &Document,
    wanted: Option<&str>,
    read: Read<'_>,
) -> Result<Import, ImportError> {
    let mut notes = Vec::new();
    let (disk, model) = choose(file, document, wanted)?;
    let name = disk.as_ref().unwrap_or(&model).name();
    let mut files = document.files.clone();
    let bus = match &disk {
        Some(disk) => bus(file, document, disk, read, &mut files, &mut notes)?,
        None => Wires::default(),
    };
    let mechanics = model.block("Mechanical Model")?;
    let layout = model.block("Layout Model")?;
    let seek = seek(&mechanics, &model, read, &mut files, &mut notes)?;
    let specification = Specification {
        source: String::new(),
        rpm: mechanics.whole("Rotation speed (in rpms)")?,
        rpm_tolerance: tolerance(&mechanics)?,
        geometry: geometry(&model, &layout)?,
        seek,
        head_switch: mechanics.span("Head switch time", 1.0)?,
        write_settle_ns: (mechanics.real("Add. write settling delay")? * 1e6).round() as i64,
        bus: match &disk {
            Some(disk) => wired(disk, &bus)?,
            None => Bus { read_sector: bus.read, write_sector: bus.write, held_by_reads: false },
        },
        overhead: disk.as_ref().map_or(Ok(Overhead::default()), overhead)?,
        cache: match &disk {
            Some(disk) => cache(disk, &mut notes)?,
            None => plain_buffer(),
        },
        queue_depth: match &disk {
            Some(disk) => disk.whole_or::<u32>("Max queue length", 1)?.max(1),
            None => 1,
        },
    };
    if disk.is_none() {
        notes.push(
            "a model alone does not describe overheads, bus and cache: none are assumed".into(),
        );
    }
    let specification = Specification { source: source(&name, &files), ..specification };
    let drive =
        Drive::new(specification).map_err(|fault| model.block.at.error(fault.to_string()))?;
    if let Ok(count) = model.whole::<u64>("Block count")
        && count != drive.sectors().get()
    {
        notes.push(format!(
            "`Block count` is {count}, the zones hold {}; as in DiskSim, the zones count",
            drive.sectors().get()
        ));
    }
    Ok(Import { drive, name, notes })
}

/// DiskSim also draws each drive's speed within the tolerance; by default it has none.
fn tolerance(mechanics: &View<'_>) -> Result<Tolerance, ImportError> {
    let name = "Percent error in rpms";
    let percent = mechanics.real_or(name, 0.0)?;
    if percent == 0.0 {
        return Ok(Tolerance::USUAL);
    }
    match Tolerance::share(percent / 100.0) {
        Some(tolerance) => Ok(tolerance),
        None => mechanics.refuse(name, percent, "from 0 to 10"),
    }
}

fn source(name: &str, files: &[PathBuf]) -> String {
    let files: Vec<_> = files
        .iter()
        .filter_map(|file| file.file_name())
        .map(|file| file.to_string_lossy())
        .collect();
    format!("DiskSim's description of {name}, imported from {}", files.join(", "))
}

/// The wanted disk, if the description has one, and its model.
fn choose<'a>(
    file: &Path,
    document: &'a Document,
    wanted: Option<&str>,
) -> Result<(Option<View<'a>>, View<'a>), ImportError> {
    let of_kind = |kind: &str| -> Vec<View<'a>> {
        let views = document.blocks.iter().map(|block| View::new(block, document));
        views.filter(|view| view.kind() == kind).collect()
    };
    let names = |views: &[View<'_>]| {
        views.iter().map(|view| format!("`{}`", view.name())).collect::<Vec<_>>().join(", ")
    };
    let fail = |message: String| Err(ImportError { file: file.to_path_buf(), line: 0, message });
    let disks = of_kind("disksim_disk");
    let is_disk = !disks.is_empty();
    let mut found = if is_disk { disks } else { of_kind("dm_disk") };
    if let Some(wanted) = wanted {
        if !found.iter().any(|view| view.name() == wanted) {
            return fail(format!("there is no disk `{wanted}`; there are {}", names(&found)));
        }
        found.retain(|view| view.name() == wanted);
    }
    if found.len() > 1 {
        let used = |view: &View<'_>| document.instances.iter().any(|(_, of)| *of == view.name());
        if found.iter().any(used) {
            found.retain(used);
        }
    }
    // the same block sourced twice counts as one disk
    found.dedup_by_key(|view| view.name());
    if found.len() > 1 {
        return fail(format!("there are several disks, {}; name one", names(&found)));
    }
    let Some(disk) = found.pop() else {
        return fail("there is no block of type `disksim_disk` or `dm_disk`".to_owned());
    };
    if !is_disk {
        return Ok((None, disk));
    }
    let model = disk.block("Model")?;
    Ok((Some(disk), model))
}

/// The slowest of disk, bus and controller determines the transfer time.
fn wired(disk: &View<'_>, wires: &Wires) -> Result<Bus, ImportError> {
    let own = disk.span("Bulk sector transfer time", 1.0)?.max(wires.controller);
    Ok(Bus {
        read_sector: own.max(wires.read),
        write_sector: own.max(wires.write),
        held_by_reads: disk.switch("Hold bus entire read xfer")?
            || disk.switch("Never disconnect")?,
    })
}

fn geometry(model: &View<'_>, layout: &View<'_>) -> Result<Geometry, ImportError> {
    if layout.block.of != "dm_layout_g1" {
        let why = match layout.block.of.as_str() {
            "dm_layout_g2" => ", which maps every extent in a file of its own",
            "dm_layout_g4" => ", which lists the order of tracks one by one",
            _ => "",
        };
        let message = format!(
            "the layout is `{}`{why}; only `dm_layout_g1` (zones) is supported",
            layout.block.of
        );
        return Err(layout.block.at.error(message));
    }
    let numbering = match layout.whole_or::<i64>("LBN-to-PBN mapping scheme", 0)? {
        0 => Numbering::Plain,
        1 => Numbering::SerpentineByZone,
        2 => Numbering::Serpentine,
        other => return layout.refuse("LBN-to-PBN mapping scheme", other, "0, 1 or 2"),
    };
    let sparing = match layout.whole_or::<i64>("Sparing scheme used", 0)? {
        0 => Sparing::None,
        1 => Sparing::Tracks,
        2 => Sparing::Cylinder,
        3 => Sparing::Track,
        4 => Sparing::CylinderSlipsAtEnd,
        5 => Sparing::CylinderFront,
        6 => Sparing::CylinderFrontSlipsAtEnd,
        7 => Sparing::AtEnd,
        8 => Sparing::Range(layout.whole("Rangesize for sparing")?),
        9 => Sparing::Zone,
        10 => Sparing::ZoneSlipsAtEnd,
        other => return layout.refuse("Sparing scheme used", other, "0 to 10"),
    };
    let units = layout.find("Skew units");
    let mut zones = Vec::new();
    for value in layout.list("Zones")? {
        let Kind::Block(block) = &value.kind else {
            return Err(value.at.error("a zone is a block, `dm_layout_g1_zone { ... }`"));
        };
        zones.push(zone(&View::alone(block), units)?);
    }
    Ok(Geometry { heads: model.whole("Number of data surfaces")?, numbering, sparing, zones })
}

fn zone(view: &View<'_>, units: Option<&Arc<Value>>) -> Result<Zone, ImportError> {
    let sectors_per_track: u32 = view.whole("Blocks per track")?;
    let unit = view.find("Skew units").or(units);
    let in_revolutions = match unit.map(|value| (value, &value.kind)) {
        None => false,
        Some((_, Kind::Word(word))) if word == "sectors" => false,
        Some((_, Kind::Word(word))) if word == "revolutions" => true,
        Some((value, _)) => {
            return Err(value.at.error("`Skew units` are `sectors` or `revolutions`"));
        }
    };
    let skew = |name: &str| -> Result<f64, ImportError> {
        let skew = view.real_or(name, 0.0)?;
        // DiskSim truncates a skew in sectors to whole sectors
        Ok(if in_revolutions { skew * f64::from(sectors_per_track) } else { skew.trunc() })
    };
    let places = |name: &str| -> Result<Vec<u64>, ImportError> {
        view.list(name)?.iter().map(|value| whole(name, value)).collect()
    };
    let mut slips = places("slips")?;
    slips.sort_unstable();
    slips.dedup();
    let defects = places("defects")?;
    if defects.len() % 2 != 0 {
        return view.refuse(
            "defects",
            "an odd number of places",
            "pairs: the bad one, its stand-in",
        );
    }
    Ok(Zone {
        first_cylinder: view.whole("First cylinder number")?,
        last_cylinder: view.whole("Last cylinder number")?,
        sectors_per_track,
        first_sector: skew("Offset of first block")?,
        track_skew: skew("Skew for track switch")?,
        cylinder_skew: skew("Skew for cylinder switch")?,
        reserved: view.whole_or("Empty space at zone front", 0)?,
        spares: view.whole_or("Number of spares", 0)?,
        slips,
        defects: defects.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect(),
    })
}

fn overhead(disk: &View<'_>) -> Result<Overhead, ImportError> {
    let scale = disk.real_or("Time scale for overheads", 1.0)?;
    if scale < 0.0 {
        return disk.refuse("Time scale for overheads", scale, "not negative");
    }
    let span = |name: &str| disk.span_or_none(name, scale);
    // a drive that never leaves the bus need not reacquire it
    let never = disk.switch("Never disconnect")?;
    let leaving = |name: &str| if never { Ok(SimSpan::ZERO) } else { span(name) };
    let after = |read: &str, write: &str| Ok(After { read: span(read)?, write: span(write)? });
    let extra = disk.switch("Extra write disconnect")? && !never;
    Ok(Overhead {
        command: span("Per-request overhead time")?,
        read_hit: after("Read hit over. after read", "Read hit over. after write")?,
        read_miss: after("Read miss over. after read", "Read miss over. after write")?,
        write_hit: after("Write hit over. after read", "Write hit over. after write")?,
        write_miss: after("Write miss over. after read", "Write miss over. after write")?,
        read_completion: span("Read completion overhead")?,
        write_completion: span("Write completion overhead")?,
        data_preparation: span("Data preparation overhead")?,
        first_reselect: leaving("First reselect overhead")?,
        other_reselect: leaving("Other reselect overhead")?,
        read_disconnect: After {
            read: leaving("Read disconnect afterread")?,
            write: leaving("Read disconnect afterwrite")?,
        },
        write_disconnect: leaving("Write disconnect overhead")?,
        least_write_seek: disk.span_or_none("Minimum seek delay", 1.0)?,
        extra_disconnect: if extra {
            Some(ExtraDisconnect {
                command: span("Extradisc command overhead")?,
                disconnect: span("Extradisc disconnect overhead")?,
                away: disk.span_or_none("Extradisc inter-disconnect delay", 1.0)?,
                second_disconnect: span("Extradisc 2nd disconnect overhead")?,
                seek_delay: span("Extradisc seek delta")?,
                // not parameters: DiskSim uses these values for every drive of this kind
                gathered: Sectors(10),
                gathered_of_long: Sectors(15),
                long: Sectors(45),
            })
        } else {
            None
        },
    })
}

fn cache(disk: &View<'_>, notes: &mut Vec<String>) -> Result<Cache, ImportError> {
    for (name, harmless) in [
        ("Allow sneaky intermediate read hits", 0),
        ("Allow write prebuffering", 0),
        ("Preseeking level", 0),
        ("Read directly to buffer", 1),
    ] {
        let found = disk.whole_or(name, harmless)?;
        if found != harmless {
            notes.push(format!(
                "`{name}` = {found} is left out; the model behaves as with {harmless}"
            ));
        }
    }
    if disk.switch("Use separate write segment")? {
        notes.push(
            "`Use separate write segment` is left out: DiskSim 4.0, with which such descriptions were fitted, ignores it"
                .to_owned(),
        );
    }
    let enabled = match disk.whole_or::<i64>("Enable caching in buffer", 0)? {
        0 => false,
        1 | 2 => true, // DiskSim treats both alike
        other => return disk.refuse("Enable caching in buffer", other, "0, 1 or 2"),
    };
    let read_ahead = match disk.whole_or::<i64>("Buffer continuous read", 0)? {
        0 => ReadAhead::Off,
        1 => ReadAhead::Track,
        2 => ReadAhead::Cylinder,
        3 => ReadAhead::Segment,
        4 => ReadAhead::NextTrack,
        other => return disk.refuse("Buffer continuous read", other, "0 to 4"),
    };
    let least: u64 = disk.whole_or("Minimum read-ahead (blks)", 0)?;
    let most: u64 = disk.whole_or("Maximum read-ahead (blks)", 0)?;
    let some = read_ahead != ReadAhead::Off;
    Ok(Cache {
        enabled,
        segments: disk.whole("Number of buffer segments")?,
        segment: Sectors(disk.whole("Segment size (in blks)")?),
        // Read and left out. DiskSim 4.0 does the same: its mean for the HP C3323A, which asks for such
        // a segment, comes out to the microsecond only if writes and reads share all segments.
        separate_write_segment: false,
        read_ahead,
        least_read_ahead: Sectors(if some { least } else { 0 }),
        most_read_ahead: Sectors(if some { most.max(least) } else { 0 }),
        read_ahead_on_hit: disk.switch("Read-ahead on idle hit")?,
        requested: match disk.whole_or::<i64>("Read-ahead over requested", 1)? {
            1 => Requested::Replaced,
            0 => Requested::Kept,
            -1 => Requested::Dropped,
            other => return disk.refuse("Read-ahead over requested", other, "-1, 0 or 1"),
        },
        keep_passing: disk.switch("Read any free blocks")?,
        read_as_passing: disk.switch("Immediate buffer read")?,
        write_as_passing: disk.switch("Immediate buffer write")?,
        early_write: match disk.whole_or::<i64>("Fast write level", 0)? {
            0 => EarlyWrite::Off,
            1 | 2 => EarlyWrite::On,
            other => return disk.refuse("Fast write level", other, "0, 1 or 2"),
        },
        combine_writes: disk.switch("Combine seq writes")?,
        read_hits_on_writes: disk.switch("Allow read hits on write data")?,
        hits_on_next: disk.switch("Allow almost read hits")?,
        full_hits_while_busy: disk.switch("Allow sneaky full read hits")?,
        partial_hits_while_busy: disk.switch("Allow sneaky partial read hits")?,
        partial_hits_at_once: disk.switch("Immed transfer partial hit")?,
        stops_in_sector: disk.switch("Stop prefetch in sector")?,
        // despite its name, this parameter means that
        leaves_while_reading_on: disk.switch("Disconnect write if seek")?,
        // a drive that holds the bus all the time sends data as they become available
        high_water: if disk.switch("Never disconnect")? {
            0.0
        } else {
            disk.real_or("High (read) water mark", 0.0)?
        },
        water_by_request: disk.switch("Set watermark by reqsize")?,
    })
}

/// A buffer that keeps nothing and does not report writes early.
fn plain_buffer() -> Cache {
    Cache {
        enabled: false,
        segments: 1,
        segment: Sectors(1024),
        separate_write_segment: false,
        read_ahead: ReadAhead::Off,
        least_read_ahead: Sectors(0),
        most_read_ahead: Sectors(0),
        read_ahead_on_hit: false,
        requested: Requested::Replaced,
        keep_passing: false,
        read_as_passing: false,
        write_as_passing: false,
        early_write: EarlyWrite::Off,
        combine_writes: false,
        read_hits_on_writes: false,
        hits_on_next: false,
        full_hits_while_busy: false,
        partial_hits_while_busy: false,
        partial_hits_at_once: true,
        stops_in_sector: false,
        leaves_while_reading_on: false,
        high_water: 0.0,
        water_by_request: true,
    }
}
