//! Defaults.

use crate::shape::{Shape, TableShape};
use crate::source::Place;
use crate::tree::{Entry, Node, Table, Value};

/// Fills in defaults; the tree must have been checked.
///
/// `place` is that of the table's key. Defaults get its beginning as an empty place.
pub(crate) fn complete(table: &mut Table, shape: &TableShape, place: Place) {
    let place = Place { end: place.start, ..place };
    for key in &shape.keys {
        let Some(default) = &key.default else { continue };
        if table.get(&key.name).is_none() && shape.meaningless(table, key).is_none() {
            let node = Node { value: default.clone(), place };
            table.entries.push(Entry { key: key.name.clone(), key_place: place, node });
        }
    }
    table.entries.sort_by_key(|entry| shape.keys.iter().position(|key| key.name == entry.key));
    for entry in &mut table.entries {
        if let Some(key) = shape.key(&entry.key) {
            complete_node(&mut entry.node, &key.shape, entry.key_place);
        }
    }
}

/// Fills in defaults in a value.
pub(crate) fn complete_node(node: &mut Node, shape: &Shape, place: Place) {
    match (&mut node.value, shape) {
        (Value::Table(table), Shape::Map(inner)) => {
            for entry in &mut table.entries {
                complete_node(&mut entry.node, inner, entry.key_place);
            }
        }
        (Value::Table(table), _) => {
            if let Some(shape) = shape.table_for(table) {
                complete(table, shape, place);
            }
        }
        (Value::List(list), Shape::List { item, .. }) => {
            for node in list {
                let place = node.place;
                complete_node(node, item, place);
            }
        }
        _ => {}
    }
}
