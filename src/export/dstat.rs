//! The metrics of a run as files in the format of dstat, with the clients' log beside them.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

use foretell_ati::RunDb;
use foretell_core::observed;
use foretell_files::{Directory, Purpose};
use foretell_metrics::{write_client_log, write_dstat};

use crate::failure::Failure;
use crate::output;

/// File name of the clients' log.
const CLIENTS: &str = "clients.csv";

/// Writes a file for each host, `dstat-HOST.csv`, and the clients' log.
pub(super) fn export(run: &RunDb, path: &Path, purpose: Purpose<'_>) -> Result<(), Failure> {
    let facts = run.facts().map_err(Failure::NotARun)?;
    let collected = observed::collected(run)?;
    let directory = Directory::take(path, purpose)?;
    let mut text = String::new();
    let mut files = Vec::new();
    let mut write = |name: String, fill: &dyn Fn(&mut dyn Write) -> std::io::Result<()>| {
        let path = directory.path().join(&name);
        let failed = |error| Failure::file("write", &path)(error);
        let mut file = BufWriter::new(directory.begin(&name)?);
        fill(&mut file).map_err(failed)?;
        let mut file = file.into_inner().map_err(|error| failed(error.into_error()))?;
        file.close()?;
        let _ = writeln!(text, "{}", path.display());
        files.push((file, name));
        Ok::<(), Failure>(())
    };
    for host in &facts.hosts {
        let samples = || collected.hosts.iter().filter(|sample| sample.host == host.host.0);
        write(format!("dstat-{}.csv", name_of(run, &host.name)?), &|file| {
            write_dstat(file, &host.name, samples())
        })?;
    }
    let clients = observed::of_run(&collected, &facts).clients;
    write(CLIENTS.to_owned(), &|file| write_client_log(file, &clients))?;
    super::replace(&directory, files)?;
    output::print(&text)
}

/// The name of a host as a part of a file name. It is checked, as a store is untrusted data.
fn name_of<'a>(run: &RunDb, name: &'a str) -> Result<&'a str, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.len() <= 100 && name.chars().all(plain) {
        return Ok(name);
    }
    let shown: String = name.chars().take(80).collect();
    let path = run.path().display();
    Err(Failure::Usage(format!("`{path}` has a host {shown:?}, which cannot be its name")))
}
