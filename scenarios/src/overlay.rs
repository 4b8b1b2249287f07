//! Overlays one table on another: a host on its group, differences on a profile, changes on the scenario.

use crate::shape::{Shape, TableShape};
use crate::tree::{Node, Table, Value};

/// Overlays `own` on `base`: tables are merged, everything else is replaced. A `cpu` that names a
/// profile replaces the other one. Keys that only had a meaning with a replaced value are dropped.
pub(crate) fn overlay(base: &mut Node, own: &Node, shape: &Shape) {
    let (Value::Table(under), Value::Table(over)) = (&mut base.value, &own.value) else {
        *base = own.clone();
        return;
    };
    for entry in &over.entries {
        let inner = shape.table_for(under).and_then(|table| table.key(&entry.key));
        match (under.get_mut(&entry.key), inner) {
            (Some(old), Some(key)) if !starts_afresh(&entry.node, &key.shape) => {
                overlay(old, &entry.node, &key.shape);
            }
            _ => under.insert(entry.clone()),
        }
    }
    if let Some(table) = shape.table_for(over).or(shape.table_for(under)) {
        drop_meaningless(under, table, |key| over.get(key).is_none());
    }
}

/// Whether a value is complete, not a difference.
fn starts_afresh(node: &Node, shape: &Shape) -> bool {
    match (shape, &node.value) {
        (Shape::Table(TableShape { short: Some(short), .. }), Value::Table(table)) => {
            table.get(short).is_some()
        }
        _ => false,
    }
}

/// Drops the keys of `table` that have no meaning there, if they `may_go`. Unknown keys stay, to be
/// reported as errors.
pub(crate) fn drop_meaningless(
    table: &mut Table,
    shape: &TableShape,
    may_go: impl Fn(&str) -> bool,
) {
    let gone: Vec<String> = shape
        .keys
        .iter()
        .filter(|key| shape.meaningless(table, key).is_some() && may_go(&key.name))
        .map(|key| key.name.clone())
        .collect();
    table.entries.retain(|entry| !gone.contains(&entry.key));
}
