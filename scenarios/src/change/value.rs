//! The value of a change: TOML if the key takes the result, otherwise a text.

use super::changer::Changer;
use crate::shape::Shape;
use crate::source::Place;
use crate::tree::{Node, Value, parse_value};

impl Changer<'_> {
    /// The value, read for a shape.
    pub(super) fn node_for(&self, shape: &Shape) -> Node {
        let trimmed = self.value.trim();
        let start = self.value_base + (self.value.len() - self.value.trim_start().len());
        let place = Place { start, end: start + trimmed.len() };
        let text = Node { value: Value::Text(trimmed.to_owned()), place };
        let parsed = parse_value(trimmed, start);
        match (parsed, shape) {
            (Some(node), _) if shape.fits(&node) => node,
            _ if shape.takes_text() => text,
            (parsed, Shape::List { item, .. }) if item.takes_text() => match parsed {
                Some(node) if !matches!(node.value, Value::Text(_)) => node,
                _ => Node { value: Value::List(split(trimmed, start)), place },
            },
            (Some(node), _) => node,
            (None, _) => text,
        }
    }
}

/// The texts between commas outside brackets.
fn split(text: &str, base: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    let ends = text.char_indices().chain([(text.len(), ',')]);
    for (at, c) in ends {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == text.len() => {
                let part = &text[start..at];
                let from = base + start + (part.len() - part.trim_start().len());
                let part = part.trim();
                let place = Place { start: from, end: from + part.len() };
                nodes.push(Node { value: Value::Text(part.to_owned()), place });
                start = at + 1;
            }
            _ => {}
        }
    }
    nodes
}
