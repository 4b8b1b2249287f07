//! `foretell import`: converts real traces and descriptions of real systems into our own files.

mod ceph;
mod cluster;
mod fio_json;
mod pools;
mod trace;

use std::fmt::Write as _;

use foretell_files::FileKind;
use foretell_input::one_line;
use foretell_scenarios::diskspecs::{Import, import_files};
use foretell_scenarios::drive_file;
use foretell_workloads::trace::Format;

pub(crate) use ceph::{MAP_FILE, in_tib, notes};
pub(crate) use pools::Pools;
pub(crate) use trace::{for_each, no_requests, open};

use crate::cli::{DiskspecsArguments, ImportArguments, ImportFormat};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn import(arguments: &ImportArguments) -> Result<(), Failure> {
    match &arguments.format {
        ImportFormat::Diskspecs(arguments) => diskspecs(arguments),
        ImportFormat::Ceph(arguments) => ceph::import(arguments),
        ImportFormat::Cluster(arguments) => cluster::import(arguments),
        ImportFormat::FioJson(arguments) => fio_json::import(arguments),
        ImportFormat::Trace(any) => trace::import(&any.trace, any.format.0),
        ImportFormat::Csv(arguments) => trace::import(arguments, Some(Format::Csv)),
        ImportFormat::OracleGeneral(arguments) => {
            trace::import(arguments, Some(Format::OracleGeneral))
        }
        ImportFormat::Vscsi(arguments) => trace::import(arguments, Some(Format::Vscsi)),
        ImportFormat::BlockList(arguments) => trace::import(arguments, Some(Format::BlockList)),
        ImportFormat::Msr(arguments) => trace::import(arguments, Some(Format::Msr)),
        ImportFormat::Alibaba(arguments) => trace::import(arguments, Some(Format::Alibaba)),
        ImportFormat::Tencent(arguments) => trace::import(arguments, Some(Format::Tencent)),
        ImportFormat::Spc(arguments) => trace::import(arguments, Some(Format::Spc)),
        ImportFormat::FioIolog(arguments) => trace::import(arguments, Some(Format::FioIolog)),
        ImportFormat::Blkparse(arguments) => trace::import(arguments, Some(Format::Blkparse)),
        ImportFormat::Disksim(arguments) => trace::import(arguments, Some(Format::DiskSim)),
        ImportFormat::Foretell(arguments) => trace::import(arguments, Some(Format::Foretell)),
    }
}

/// The first line of an imported drive.
const IMPORTED: &str = "# Written by `foretell import diskspecs`.\n";
const DRIVE: FileKind<'_> = FileKind::beginning("a drive of `foretell import diskspecs`", IMPORTED);

fn diskspecs(arguments: &DiskspecsArguments) -> Result<(), Failure> {
    foretell_files::check_apart(arguments.output.as_deref(), DRIVE, &arguments.files)?;
    let import = import_files(&arguments.files, arguments.disk.as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let text = device_file(&import);
    let printed = match &arguments.output {
        None => text,
        Some(file) => {
            foretell_files::write(file, DRIVE, text.as_bytes())?;
            format!("{}\n{}in {}\n", headline(&import), noted(&import, ""), file.display())
        }
    };
    crate::output::print(&printed)
}

/// A description in one line.
fn headline(import: &Import) -> String {
    let specification = import.drive.specification();
    let (heads, zones) = (specification.geometry.heads, specification.geometry.zones.len());
    format!(
        "{}: {} sectors, {} rpm, {heads} heads, {zones} zones",
        one_line(&import.name),
        import.drive.sectors().get(),
        specification.rpm
    )
}

fn noted(import: &Import, before: &str) -> String {
    import.notes.iter().fold(String::new(), |mut text, note| {
        let _ = writeln!(text, "{before}note: {}", one_line(note));
        text
    })
}

/// The text of the device file, with notes about omissions at its head.
fn device_file(import: &Import) -> String {
    let (headline, notes) = (headline(import), noted(import, "# "));
    format!("{IMPORTED}# {headline}\n{notes}{}", drive_file::write(&import.drive))
}
