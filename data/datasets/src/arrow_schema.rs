//! The schema of a table in Arrow's form, for the key `ARROW:schema` of a Parquet file. Readers of Arrow
//! find the meaning of columns there.
//!
//! It is an encapsulated IPC message, a `FlatBuffer` (`Message.fbs` and `Schema.fbs` of Apache Arrow), in
//! base 64. Only the parts that our columns need are written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flatbuffers::{FlatBufferBuilder, Push, TableFinishedWIPOffset, VOffsetT, WIPOffset};

use crate::column::{Column, Kind, TableSchema};

/// A table that was written.
type Written = WIPOffset<TableFinishedWIPOffset>;

/// Metadata version: this value stands for version 5.
const VERSION: i16 = 4;
/// Numbers of the union members.
const HEADER_SCHEMA: u8 = 1;
const TYPE_INT: u8 = 2;
const TYPE_FLOAT: u8 = 3;
const TYPE_TEXT: u8 = 5;
const TYPE_FLAG: u8 = 6;
const LITTLE_ENDIAN: i16 = 0;
/// Enum value for double precision.
const DOUBLE: i16 = 2;

/// The value of the key `ARROW:schema`.
pub(crate) fn arrow_schema(table: &TableSchema) -> String {
    let mut buffer = FlatBufferBuilder::new();
    let fields: Vec<Written> =
        table.columns.iter().map(|column| field(&mut buffer, column)).collect();
    let fields = buffer.create_vector(&fields);
    let begun = buffer.start_table();
    set(&mut buffer, 0, LITTLE_ENDIAN);
    set(&mut buffer, 1, fields);
    let schema = buffer.end_table(begun);
    let begun = buffer.start_table();
    set(&mut buffer, 0, VERSION);
    set(&mut buffer, 1, HEADER_SCHEMA);
    set(&mut buffer, 2, schema);
    let message = buffer.end_table(begun);
    buffer.finish_minimal(message);

    let mut content = buffer.finished_data().to_vec();
    content.resize(content.len().next_multiple_of(8), 0);
    let length = u32::try_from(content.len()).expect("a schema is small");
    STANDARD.encode([&[0xff; 4][..], &length.to_le_bytes(), &content].concat())
}

/// Sets a field of the table being built, by its number in the schema.
fn set<T: Push>(buffer: &mut FlatBufferBuilder<'_>, number: VOffsetT, value: T) {
    buffer.push_slot_always(4 + 2 * number, value);
}

fn field(buffer: &mut FlatBufferBuilder<'_>, column: &Column) -> Written {
    let pairs = [
        ("description", column.description.clone()),
        ("role", word_of(&column.role)),
        ("unit", column.unit.clone()),
    ];
    let pairs: Vec<Written> = pairs.iter().map(|(key, value)| pair(buffer, key, value)).collect();
    let metadata = buffer.create_vector(&pairs);
    // there are no children, but readers expect the list
    let children = buffer.create_vector::<Written>(&[]);
    let name = buffer.create_string(&column.name);
    let begun = buffer.start_table();
    let kind = match column.kind {
        Kind::Flag => TYPE_FLAG,
        Kind::Text => TYPE_TEXT,
        Kind::Whole => {
            let (bits, is_signed) = (64_i32, true);
            set(buffer, 0, bits);
            set(buffer, 1, is_signed);
            TYPE_INT
        }
        Kind::Number => {
            set(buffer, 0, DOUBLE);
            TYPE_FLOAT
        }
    };
    let of_type = buffer.end_table(begun);
    let begun = buffer.start_table();
    set(buffer, 0, name);
    let is_nullable = true;
    set(buffer, 1, is_nullable);
    set(buffer, 2, kind);
    set(buffer, 3, of_type);
    set(buffer, 5, children);
    set(buffer, 6, metadata);
    buffer.end_table(begun)
}

/// A `KeyValue`.
fn pair(buffer: &mut FlatBufferBuilder<'_>, key: &str, value: &str) -> Written {
    let (key, value) = (buffer.create_string(key), buffer.create_string(value));
    let begun = buffer.start_table();
    set(buffer, 0, key);
    set(buffer, 1, value);
    buffer.end_table(begun)
}

/// The word for a unit variant in JSON.
fn word_of(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Role;

    /// Follows the offsets from the root like a reader.
    #[test]
    fn a_reader_finds_names_types_and_metadata() {
        let column = |name: &str, kind| Column::new(name, kind, Role::Observed, "ms", "what it is");
        let columns = vec![column("a", Kind::Number), column("longer", Kind::Text)];
        let table =
            TableSchema { name: "t".into(), description: String::new(), columns, rows_per_file: 1 };
        let message = STANDARD.decode(arrow_schema(&table)).unwrap();
        assert_eq!(message[..4], [0xff; 4]);
        let bytes = &message[8..];
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(u32::from_le_bytes(message[4..8].try_into().unwrap()) as usize, bytes.len());
        assert!(bytes.len().is_multiple_of(8));
        let follow = |at: usize| at + word(at);
        let slot = |table: usize, number: usize| {
            let back = i32::from_le_bytes(bytes[table..table + 4].try_into().unwrap());
            let places = table.checked_add_signed(-back as isize).unwrap();
            let count = usize::from(u16::from_le_bytes([bytes[places], bytes[places + 1]]));
            let at = 4 + 2 * number;
            let place = if at < count {
                u16::from_le_bytes([bytes[places + at], bytes[places + at + 1]])
            } else {
                0
            };
            (place > 0).then(|| table + usize::from(place))
        };
        let text = |at: usize| {
            let at = follow(at);
            std::str::from_utf8(&bytes[at + 4..at + 4 + word(at)]).unwrap()
        };
        let message = follow(0);
        assert_eq!(slot(message, 0).map(|at| bytes[at]), Some(4));
        let fields = follow(slot(follow(slot(message, 2).unwrap()), 1).unwrap());
        assert_eq!(word(fields), 2);
        let field = follow(fields + 8);
        assert_eq!(text(slot(field, 0).unwrap()), "longer");
        assert_eq!(slot(field, 2).map(|at| bytes[at]), Some(5));
        assert_eq!(slot(field, 4), None);
        let metadata = follow(slot(field, 6).unwrap());
        assert_eq!(word(metadata), 3);
        let unit = follow(metadata + 4 + 2 * 4);
        assert_eq!((text(slot(unit, 0).unwrap()), text(slot(unit, 1).unwrap())), ("unit", "ms"));
    }
}
