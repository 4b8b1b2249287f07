//! Laying one table over another: a host over its group, differences over a profile, changes over
//! the scenario.

use crate::shape::{Shape, TableShape};
use crate::tree::{Node, Table, Value};

/// Lays `own` over `base`: tables are merged, everything else is replaced. A `cpu` that names a
/// profile replaces the other. What meant something only with a value that is replaced is dropped.
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
    if let Some(table) = shape.table_for(over).or(shape.table_for(under)).cloned() {
        drop_meaningless(under, &table, |key| over.get(key).is_none());
    }
}

/// Whether a value stands for itself, not for a difference.
fn starts_afresh(node: &Node, shape: &Shape) -> bool {
    match (shape, &node.value) {
        (Shape::Table(TableShape { short: Some(short), .. }), Value::Table(table)) => {
            table.get(short).is_some()
        }
        _ => false,
    }
}

/// Drops the keys of `table` that mean nothing there, or that it does not have, if `may_go`.
pub(crate) fn drop_meaningless(
    table: &mut Table,
    shape: &TableShape,
    may_go: impl Fn(&str) -> bool,
) {
    let stays = |table: &Table, name: &str| match shape.key(name) {
        Some(key) => shape.meaningless(table, key).is_none(),
        None => false,
    };
    let gone: Vec<String> = table
        .keys()
        .filter(|name| !stays(table, name) && may_go(name))
        .map(str::to_owned)
        .collect();
    table.entries.retain(|entry| !gone.contains(&entry.key));
}
