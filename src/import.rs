//! `foretell import`: descriptions of real things into files of our own.

use std::fmt::Write as _;
use std::io::Write;

use foretell_scenarios::diskspecs::{Import, import_files};
use foretell_scenarios::drive_file;

use crate::cli::{DiskspecsArguments, ImportArguments, ImportFormat};
use crate::directory::write_whole;
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn import(arguments: &ImportArguments) -> Result<(), Failure> {
    match &arguments.format {
        ImportFormat::Diskspecs(arguments) => diskspecs(arguments),
    }
}

fn diskspecs(arguments: &DiskspecsArguments) -> Result<(), Failure> {
    let import = import_files(&arguments.files, arguments.disk.as_deref())
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let text = device_file(&import);
    let printed = match &arguments.output {
        None => text,
        Some(file) => {
            write_whole(file, &text)?;
            format!("{}\n{}in {}\n", headline(&import), noted(&import, ""), file.display())
        }
    };
    let mut output = std::io::stdout().lock();
    output.write_all(printed.as_bytes()).and_then(|()| output.flush()).map_err(Failure::Output)
}

/// What it is, in a line.
fn headline(import: &Import) -> String {
    let specification = import.drive.specification();
    let (heads, zones) = (specification.geometry.heads, specification.geometry.zones.len());
    format!(
        "{}: {} sectors, {} rpm, {heads} heads, {zones} zones",
        import.name,
        import.drive.sectors().get(),
        specification.rpm
    )
}

fn noted(import: &Import, before: &str) -> String {
    import.notes.iter().fold(String::new(), |mut text, note| {
        let _ = writeln!(text, "{before}note: {note}");
        text
    })
}

/// The device file: what was left out stands at its head.
fn device_file(import: &Import) -> String {
    let (headline, notes) = (headline(import), noted(import, "# "));
    format!("# {headline}\n{notes}{}", drive_file::write(&import.drive))
}
