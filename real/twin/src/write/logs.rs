//! Devices that OSDs share for their logs and tables.

use foretell_units::Bytes;

use super::drive::drive_of;
use crate::config::{Config, Source};
use crate::drives::Model;
use crate::points::Row;

/// Devices that OSDs share for logs or for tables.
pub(super) struct Logs {
    /// `wal` or `db`: the key of a disk, and the name of the device.
    pub(super) what: &'static str,
    /// Number of devices in a node.
    count: u32,
    pub(super) model: Model,
    shown: String,
}

/// The devices of a node for logs and for tables.
pub(super) fn logs(source: &Source, config: &Config, points: &[Row]) -> Vec<Logs> {
    let found = |what| {
        let devices = config.log_devices(what)?;
        let name = devices.model.as_deref();
        Some(Logs {
            what,
            count: devices.count.unwrap_or(1).max(1),
            model: drive_of(source, name, points),
            shown: name.unwrap_or("device of unknown model").to_owned(),
        })
    };
    ["db", "wal"].into_iter().filter_map(found).collect()
}

impl Logs {
    /// The key of the disks of a node with this number of OSDs; `None` if their parts would be too small.
    pub(super) fn key(&self, osds: u32, assumed: &mut Vec<String>) -> Option<String> {
        let Self { what, count, model, shown } = self;
        let count = (*count).min(osds);
        let shared_by = osds.div_ceil(count);
        let held =
            if *what == "db" { "tables, and logs without a device of their own" } else { "logs" };
        if model.capacity / u64::from(shared_by) < Bytes::gib(1).get() {
            assumed.push(format!("`{shown}` is too small for {held}: they lie on the data drives"));
            return None;
        }
        assumed.extend(model.assumed.iter().cloned());
        assumed.push(format!(
            "{held}: on `{shown}`, {count} a node, of each of which {shared_by} OSDs have equal parts"
        ));
        Some(format!(", {what} = {{ device = \"{what}\", scheduler = \"noop\", count = {count} }}"))
    }
}
