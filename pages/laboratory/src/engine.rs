//! The engine that a page carries: `web/` as WebAssembly, compressed.
//!
//! It is read from a WebAssembly file, or extracted from a page that has one. So a user with a laboratory and
//! the command can make another page without a compiler.

use crate::base85;
use crate::error::LessonError;
use crate::packed::{is_gzip, pack, unpack};

/// The first bytes of a WebAssembly file: its name and version 1.
const MAGIC: &[u8] = b"\0asm\x01\0\0\0";
/// The name of one of our functions, as it appears in the exports.
const OURS: &[u8] = b"\x0danswer_length";
/// The text before an engine in a page.
pub(crate) const BEGINS: &str = "<script type=\"text/plain\" id=\"engine\">";
/// The text after it.
pub(crate) const ENDS: &str = "</script>";

/// An engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Engine {
    /// Packed with LZMA, as base85.
    text: String,
}

impl Engine {
    /// Reads the engine from a file's bytes: WebAssembly, or a page.
    ///
    /// # Errors
    ///
    /// If there is no engine.
    pub fn from_file(file: &str, bytes: &[u8]) -> Result<Self, LessonError> {
        let engine = if bytes.starts_with(MAGIC) { packed(bytes) } else { in_page(bytes) };
        engine.ok_or_else(|| LessonError::NoEngine { file: file.to_owned() })
    }

    /// The engine in the form used in a page.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

fn is_ours(module: &[u8]) -> bool {
    module.starts_with(MAGIC) && module.windows(OURS.len()).any(|window| window == OURS)
}

/// The engine of a WebAssembly file.
fn packed(module: &[u8]) -> Option<Engine> {
    if !is_ours(module) {
        return None;
    }
    Some(Engine { text: base85::encode(&pack(module)?) })
}

/// The engine in a page. Pages of earlier versions have it packed by gzip; it is packed again.
fn in_page(page: &[u8]) -> Option<Engine> {
    let text = std::str::from_utf8(page).ok()?;
    let (_, rest) = text.rsplit_once(BEGINS)?;
    let (text, _) = rest.split_once(ENDS)?;
    let text = text.trim();
    let bytes = base85::decode(text)?;
    let module = unpack(&bytes)?;
    if is_gzip(&bytes) {
        return packed(&module);
    }
    is_ours(&module).then(|| Engine { text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_page_gives_its_engine_back() {
        let module = [MAGIC, OURS, &[7; 1000]].concat();
        let engine = Engine::from_file("a.wasm", &module).unwrap();
        let page = format!("<html>{BEGINS}{}{ENDS}</html>", engine.text());
        assert_eq!(Engine::from_file("lab.html", page.as_bytes()).unwrap(), engine);
    }

    #[test]
    fn a_page_of_an_earlier_version_gives_its_engine_packed_anew() {
        let module = [MAGIC, OURS, &[7; 1000]].concat();
        let mut writer = GzEncoder::new(Vec::new(), Compression::best());
        writer.write_all(&module).unwrap();
        let text = base85::encode(&writer.finish().unwrap());
        let page = format!("<html>{BEGINS}{text}{ENDS}</html>");
        let engine = Engine::from_file("old.html", page.as_bytes()).unwrap();
        assert_eq!(engine, Engine::from_file("a.wasm", &module).unwrap());
    }

    #[test]
    fn a_damaged_page_holds_none() {
        let module = [MAGIC, OURS, &[7; 1000]].concat();
        let text = Engine::from_file("a.wasm", &module).unwrap().text;
        for text in [&text[..text.len() - 5], &text.replacen('#', "$", 1), "#####", ""] {
            let page = format!("<html>{BEGINS}{text}{ENDS}</html>");
            assert!(Engine::from_file("lab.html", page.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn other_files_hold_none() {
        for bytes in [b"" as &[u8], b"<html></html>", MAGIC, b"\xff\xfe"] {
            let error = Engine::from_file("it", bytes).unwrap_err();
            assert!(error.to_string().starts_with("`it` holds no engine"), "{error}");
        }
    }
}
