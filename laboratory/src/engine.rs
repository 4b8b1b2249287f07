//! The engine that a page carries: `web/` as WebAssembly, compressed.
//!
//! It is read from a WebAssembly file, or extracted from a page that has one. So a user with a laboratory and
//! the command can make another page without a compiler.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::base85;
use crate::error::LessonError;

/// The first bytes of a WebAssembly file: its name and version 1.
const MAGIC: &[u8] = b"\0asm\x01\0\0\0";
/// The name of one of our functions, as it appears in the exports.
const OURS: &[u8] = b"\x0danswer_length";
/// The text before an engine in a page.
pub(crate) const BEGINS: &str = "<script type=\"text/plain\" id=\"engine\">";
/// The text after it.
pub(crate) const ENDS: &str = "</script>";
/// Maximum size of an engine.
const MOST_BYTES: u64 = 64 << 20;

/// An engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Engine {
    /// Compressed by gzip, as base85.
    text: String,
}

impl Engine {
    /// Reads the engine from a file's bytes: WebAssembly, or a page.
    ///
    /// # Errors
    ///
    /// If there is no engine.
    pub fn from_file(file: &str, bytes: &[u8]) -> Result<Self, LessonError> {
        let none = || LessonError::NoEngine { file: file.to_owned() };
        let found = if bytes.starts_with(MAGIC) { Some(bytes.to_owned()) } else { in_page(bytes) };
        let module = found.filter(|module| is_ours(module)).ok_or_else(none)?;
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&module).and_then(|()| packed.flush()).map_err(|_| none())?;
        let packed = packed.finish().map_err(|_| none())?;
        Ok(Self { text: base85::encode(&packed) })
    }

    /// The engine in the form used in a page.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

fn is_ours(module: &[u8]) -> bool {
    module.starts_with(MAGIC) && module.windows(OURS.len()).any(|window| window == OURS)
}

/// The module in a page.
fn in_page(page: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(page).ok()?;
    let (_, rest) = text.rsplit_once(BEGINS)?;
    let (packed, _) = rest.split_once(ENDS)?;
    let packed = base85::decode(packed.trim())?;
    let mut module = Vec::new();
    GzDecoder::new(packed.as_slice()).take(MOST_BYTES).read_to_end(&mut module).ok()?;
    Some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gives_its_engine_back() {
        let module = [MAGIC, OURS, &[7; 1000]].concat();
        let engine = Engine::from_file("a.wasm", &module).unwrap();
        let page = format!("<html>{BEGINS}{}{ENDS}</html>", engine.text());
        assert_eq!(Engine::from_file("lab.html", page.as_bytes()).unwrap(), engine);
    }

    #[test]
    fn other_files_hold_none() {
        for bytes in [b"" as &[u8], b"<html></html>", MAGIC, b"\xff\xfe"] {
            let error = Engine::from_file("it", bytes).unwrap_err();
            assert!(error.to_string().starts_with("`it` holds no engine"), "{error}");
        }
    }
}
