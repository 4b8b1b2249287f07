//! The engine that a page carries: `web/` as WebAssembly, compressed.
//!
//! It is read from a WebAssembly file, or extracted from a page that has one. So a user with a laboratory and
//! the command can make another page without a compiler.

use std::io::Read;
use std::num::NonZeroU64;

use flate2::read::GzDecoder;
use zopfli::{Format, Options};

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
/// Passes in which the compression looks for a shorter result. More passes save less than a hundredth.
const ITERATIONS: NonZeroU64 = NonZeroU64::new(2).unwrap();

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
        if !bytes.starts_with(MAGIC) {
            return in_page(bytes).ok_or_else(none);
        }
        if !is_ours(bytes) {
            return Err(none());
        }
        // takes seconds, and saves a twentieth of the page
        let options = Options { iteration_count: ITERATIONS, ..Options::default() };
        let mut packed = Vec::new();
        zopfli::compress(options, Format::Gzip, bytes, &mut packed).map_err(|_| none())?;
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

/// The engine in a page.
fn in_page(page: &[u8]) -> Option<Engine> {
    let text = std::str::from_utf8(page).ok()?;
    let (_, rest) = text.rsplit_once(BEGINS)?;
    let (text, _) = rest.split_once(ENDS)?;
    let packed = base85::decode(text.trim())?;
    let mut module = Vec::new();
    GzDecoder::new(packed.as_slice()).take(MOST_BYTES).read_to_end(&mut module).ok()?;
    is_ours(&module).then(|| Engine { text: text.trim().to_owned() })
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
