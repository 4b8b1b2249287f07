//! The metrics of a run as files that readers of dstat's take, and the clients' log beside them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use foretell_ati::RunDb;
use foretell_metrics::{write_client_log, write_dstat};

use crate::failure::Failure;
use crate::{observed, output};

/// The clients' log.
const CLIENTS: &str = "clients.csv";

/// Writes a file for each host, `dstat-HOST.csv`, and the clients' log.
pub(super) fn export(run: &RunDb, directory: &Path) -> Result<(), Failure> {
    let facts = run.facts().map_err(Failure::NotARun)?;
    let collected = observed::collected(run)?;
    fs::create_dir_all(directory).map_err(Failure::file("make the directory", directory))?;
    let mut text = String::new();
    let mut write = |name: &str, fill: &dyn Fn(BufWriter<File>) -> std::io::Result<()>| {
        let path = directory.join(name);
        let written = File::create(&path).and_then(|file| fill(BufWriter::new(file)));
        written.map_err(Failure::file("write", &path))?;
        let _ = writeln!(text, "{}", path.display());
        Ok::<(), Failure>(())
    };
    for host in &facts.hosts {
        let samples = || collected.hosts.iter().filter(|sample| sample.host == host.host.0);
        write(&format!("dstat-{}.csv", host.name), &|file| {
            write_dstat(file, &host.name, samples())
        })?;
    }
    let clients = observed::of_run(&collected, &facts).clients;
    write(CLIENTS, &|file| write_client_log(file, &clients))?;
    output::print(&text)
}
