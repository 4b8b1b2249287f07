//! Drives as devices of a scenario.

use toml::{Table, Value};

use crate::config::{Drive, Source};
use crate::drives::{self, Model};
use crate::points::Row;

/// The model of a drive, with assumptions.
pub(super) fn drive_of(source: &Source, name: Option<&str>, points: &[Row]) -> Model {
    let drive: Option<&Drive> = name.and_then(|name| source.drives.get(name));
    let raw = drive.and_then(|drive| drive.raw_config.as_deref());
    let rows: Vec<&Row> = points.iter().filter(|row| Some(row.config.as_str()) == raw).collect();
    let mut model = drives::model(name, drive, &rows);
    if drive.is_none() && name.is_some_and(|name| !source.drives.contains_key(name)) {
        let name = name.unwrap_or_default();
        model.assumed.insert(0, format!("`drives` does not have `{name}`"));
    }
    model
}

/// A scenario of a single drive.
pub(super) fn raw_drive(drive: &Model) -> String {
    let size = drive.capacity / 2 / 8192 * 8192;
    let cost = "{ fixed = \"0 us\", rate = \"8000 Gbit/s\" }";
    let free = format!(
        "{{ profile = \"xeon-2023\", cores = 64, context_switch = \"0 us\", request = {{ fixed = \"0 us\" }}, \
         send = {cost}, receive = {cost}, copy = {cost} }}"
    );
    let nic = "nic = { rate = \"8000 Gbit/s\", latency = \"0 us\" }\n";
    format!(
        "warmup   = \"20 ms\"\nduration = \"100 ms\"\nrecord   = \"none\"\n\n\
         # A drive alone: the client, its processor and the way to it cost nothing.\n\
         [node.drive]\ncpu   = {free}\ncache = {{ size = \"0 B\" }}   # direct I/O\n\
         disk  = [{{ device = \"drive\", scheduler = \"noop\" }}]\n{nic}\n\
         [client.load]\ncpu = {free}\n{nic}\n[switch]\nmodel = \"queue\"\n\n\
         [volume.pool]\nsize  = \"{size} B\"\nnodes = \"drive\"\n\n\
         [workload.load]\nvolume = \"pool\"\nclient = \"load\"\nkind   = \"ssio\"\nreads  = \"100%\"\n\
         access = \"4 KiB\"\n\n\
         [tracking]\noverhead = false\n\n{}",
        device_text(&[("drive", drive)])
    )
}

/// The tables `[device.NAME]` of models.
pub(super) fn device_text(models: &[(&str, &Model)]) -> String {
    let mut top = Table::new();
    let mut devices = Table::new();
    for (name, model) in models {
        devices.insert((*name).to_owned(), Value::Table(model.table()));
    }
    top.insert("device".to_owned(), Value::Table(devices));
    toml::to_string(&top).expect("a table of texts and numbers")
}
