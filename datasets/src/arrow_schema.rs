//! The schema of a table as Arrow writes it, for the key `ARROW:schema` of a Parquet file: readers of
//! Arrow find there what columns mean.
//!
//! It is an encapsulated IPC message, a `FlatBuffer` (`Message.fbs` and `Schema.fbs` of Apache Arrow), in
//! base 64. Only what our columns need is written. Every field of a table takes four bytes here, which
//! `FlatBuffers` allow; what is pointed to comes after what points.

use crate::column::{Column, Kind, TableSchema};

/// Version 5 of the metadata.
const VERSION: u32 = 4;
/// Numbers of members of unions.
const HEADER_SCHEMA: u32 = 1;
const TYPE_INT: u32 = 2;
const TYPE_FLOAT: u32 = 3;
const TYPE_TEXT: u32 = 5;
const TYPE_FLAG: u32 = 6;
/// Precision of 64-bit numbers.
const DOUBLE: u32 = 2;
/// A field that points to what is written later.
const LATER: Option<u32> = Some(0);

/// The value of the key `ARROW:schema`.
pub(crate) fn arrow_schema(table: &TableSchema) -> String {
    let mut flat = Flat::default();
    let root = flat.word();
    // version, header's type, header; there is no body
    let message = flat.table(root, &[Some(VERSION), Some(HEADER_SCHEMA), LATER]);
    // little endian, fields
    let schema = flat.table(message[2], &[Some(0), LATER]);
    let places = flat.list(schema[1], table.columns.len());
    for (column, place) in table.columns.iter().zip(places) {
        field(&mut flat, place, column);
    }
    while !flat.0.len().is_multiple_of(8) {
        flat.0.push(0);
    }
    let mut message = vec![0xff; 4];
    message.extend(count(flat.0.len()).to_le_bytes());
    message.extend(flat.0);
    base64(&message)
}

fn field(flat: &mut Flat, place: usize, column: &Column) {
    let (kind, of_type): (u32, &[Option<u32>]) = match column.kind {
        Kind::Flag => (TYPE_FLAG, &[]),
        // bits, signed
        Kind::Whole => (TYPE_INT, &[Some(64), Some(1)]),
        Kind::Number => (TYPE_FLOAT, &[Some(DOUBLE)]),
        Kind::Text => (TYPE_TEXT, &[]),
    };
    // name, nullable, type, what it is like, no dictionary, children, metadata
    let slots = [LATER, Some(1), Some(kind), LATER, None, LATER, LATER];
    let field = flat.table(place, &slots);
    flat.text(field[0], &column.name);
    flat.table(field[3], of_type);
    // none, but readers want the list
    flat.list(field[5], 0);
    let pairs = [
        ("description", column.description.clone()),
        ("role", crate::card::word(&column.role)),
        ("unit", column.unit.clone()),
    ];
    let places = flat.list(field[6], pairs.len());
    for ((key, value), place) in pairs.into_iter().zip(places) {
        let pair = flat.table(place, &[LATER, LATER]);
        flat.text(pair[0], key);
        flat.text(pair[1], &value);
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a schema is small")
}

/// A `FlatBuffer` that is written from its beginning.
#[derive(Default)]
struct Flat(Vec<u8>);

impl Flat {
    /// A word that will point somewhere; where it is.
    fn word(&mut self) -> usize {
        let place = self.0.len();
        self.0.extend([0; 4]);
        place
    }

    fn align(&mut self) {
        while !self.0.len().is_multiple_of(4) {
            self.0.push(0);
        }
    }

    /// Lets the word at `place` point to the end.
    fn point(&mut self, place: usize) {
        let ahead = count(self.0.len() - place).to_le_bytes();
        self.0[place..place + 4].copy_from_slice(&ahead);
    }

    /// Writes a table that the word at `from` points to; where its fields are. `None`: an absent field,
    /// whose place means nothing.
    fn table(&mut self, from: usize, slots: &[Option<u32>]) -> Vec<usize> {
        // places of the fields come first, as 16-bit numbers
        let places = 4 + 2 * slots.len();
        self.align();
        if !places.is_multiple_of(4) {
            self.0.extend([0; 2]);
        }
        let bytes = |number: usize| u16::try_from(number).expect("few fields").to_le_bytes();
        self.0.extend(bytes(places));
        self.0.extend(bytes(4 + 4 * slots.iter().flatten().count()));
        let mut next = 4;
        let mut found = Vec::new();
        for slot in slots {
            found.push(next);
            self.0.extend(bytes(if slot.is_some() { next } else { 0 }));
            next += if slot.is_some() { 4 } else { 0 };
        }
        self.point(from);
        let start = self.0.len();
        self.0.extend(count(places).to_le_bytes());
        self.0.extend(slots.iter().flatten().flat_map(|value| value.to_le_bytes()));
        found.into_iter().map(|place| start + place).collect()
    }

    /// Writes a list of words that point somewhere, which the word at `from` points to; where they are.
    fn list(&mut self, from: usize, length: usize) -> Vec<usize> {
        self.align();
        self.point(from);
        self.0.extend(count(length).to_le_bytes());
        (0..length).map(|_| self.word()).collect()
    }

    /// Writes a text that the word at `from` points to.
    fn text(&mut self, from: usize, text: &str) {
        self.align();
        self.point(from);
        self.0.extend(count(text.len()).to_le_bytes());
        self.0.extend(text.bytes());
        self.0.push(0);
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit > three.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Role;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    /// Follows the words from the root as a reader does.
    #[test]
    fn a_reader_finds_names_types_and_metadata() {
        let column = |name: &str, kind| Column::new(name, kind, Role::Observed, "ms", "what it is");
        let columns = vec![column("a", Kind::Number), column("longer", Kind::Text)];
        let table =
            TableSchema { name: "t".into(), description: String::new(), columns, rows_per_file: 1 };
        let mut flat = Flat::default();
        let root = flat.word();
        let message = flat.table(root, &[Some(VERSION), None, LATER]);
        let places = flat.list(message[2], 1);
        field(&mut flat, places[0], &table.columns[1]);
        let bytes = flat.0;
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let follow = |at: usize| at + word(at);
        let slot = |table: usize, number: usize| {
            let places = table - word(table);
            let at = places + 4 + 2 * number;
            let place = u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
            (place > 0).then(|| table + usize::from(place))
        };
        let text = |at: usize| {
            let at = follow(at);
            std::str::from_utf8(&bytes[at + 4..at + 4 + word(at)]).unwrap()
        };
        let message = follow(0);
        assert_eq!(slot(message, 0).map(word), Some(4));
        assert_eq!(slot(message, 1), None);
        let fields = follow(slot(message, 2).unwrap());
        assert_eq!(word(fields), 1);
        let field = follow(fields + 4);
        assert_eq!(text(slot(field, 0).unwrap()), "longer");
        assert_eq!(slot(field, 2).map(word), Some(5));
        assert_eq!(slot(field, 4), None);
        let metadata = follow(slot(field, 6).unwrap());
        assert_eq!(word(metadata), 3);
        let unit = follow(metadata + 4 + 2 * 4);
        assert_eq!((text(slot(unit, 0).unwrap()), text(slot(unit, 1).unwrap())), ("unit", "ms"));
        assert!(arrow_schema(&table).starts_with("/////"));
    }
}
