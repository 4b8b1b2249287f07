//! The bus and the controller above a disk.

use std::path::{Path, PathBuf};

use foretell_units::SimSpan;

use super::ImportError;
use super::lex::Read;
use super::parse::{Document, Kind, Part, parse};
use super::view::View;

/// Time of the bus and the controller above the disk for a sector.
#[derive(Clone, Copy, Default)]
pub(super) struct Wires {
    pub(super) read: SimSpan,
    pub(super) write: SimSpan,
    pub(super) controller: SimSpan,
}

/// The wires above `disk`, from its own description or from a file beside it.
pub(super) fn bus(
    file: &Path,
    document: &Document,
    disk: &View<'_>,
    read: Read<'_>,
    files: &mut Vec<PathBuf>,
    notes: &mut Vec<String>,
) -> Result<Wires, ImportError> {
    if let Some(wires) = wires(document, &disk.name(), notes)? {
        return Ok(wires);
    }
    // A description without topology: the parameter file beside it may have one.
    let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    for stem in [stem.as_str(), stem.trim_end_matches("_validate")] {
        let beside = file.with_file_name(format!("{stem}.parv"));
        if beside == file || read(&beside).is_err() {
            continue;
        }
        let other = parse(&beside, read)?;
        if let Some(wires) = wires(&other, &disk.name(), notes)? {
            notes.push(format!("the bus is that of {}", beside.display()));
            files.push(beside);
            return Ok(wires);
        }
    }
    notes
        .push("no bus is described: only the disk's own `Bulk sector transfer time` counts".into());
    Ok(Wires::default())
}

/// The wires above the disk whose block is `disk`, if the topology defines them.
fn wires(
    document: &Document,
    disk: &str,
    notes: &mut Vec<String>,
) -> Result<Option<Wires>, ImportError> {
    let instance_of = |instance: &str| {
        let named = |(name, _): &&(String, String)| {
            name == instance || name.split("..").next() == Some(instance)
        };
        let of = document.instances.iter().find(named).map(|(_, of)| of)?;
        document.blocks.iter().find(|block| block.name.as_ref() == Some(of))
    };
    let mut path = Vec::new();
    let is_disk = |part: &Part| {
        instance_of(&part.name).is_some_and(|block| block.name.as_deref() == Some(disk))
    };
    if !document.topology.iter().any(|part| find_path(part, &is_disk, &mut path)) {
        return Ok(None);
    }
    let mut found = Wires::default();
    let nearest = |kind: &str| {
        path.iter().rev().find(|part| part.of == kind).and_then(|part| instance_of(&part.name))
    };
    if let Some(bus) = nearest("disksim_bus") {
        let bus = View::new(bus, document);
        found.read = bus.span("Read block transfer time", 1.0)?;
        found.write = bus.span("Write block transfer time", 1.0)?;
        if bus.real_or("Arbitration time", 0.0)? > 0.0 {
            notes.push("the bus's `Arbitration time` is left out".into());
        }
    }
    if let Some(controller) = nearest("disksim_ctlr") {
        let controller = View::new(controller, document);
        found.controller = controller.span_or_none("Bulk sector transfer time", 1.0)?;
        if controller.real_or("Scale for delays", 0.0)? > 0.0 {
            notes.push("the controller's own delays are left out".into());
        }
    }
    Ok(Some(found))
}

/// The parts from the top down to the first that `wanted` accepts, excluding that one.
fn find_path<'a>(part: &'a Part, wanted: &dyn Fn(&Part) -> bool, path: &mut Vec<&'a Part>) -> bool {
    if wanted(part) {
        return true;
    }
    path.push(part);
    for below in &part.below {
        if let Kind::Topology(below) = &below.kind
            && find_path(below, wanted, path)
        {
            return true;
        }
    }
    path.pop();
    false
}
