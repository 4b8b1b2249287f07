//! Tokens of DiskSim's parameter language: words, numbers and marks. `source FILE` is followed here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use foretell_input::Limit;

use super::ImportError;

/// Maximum number of files read in all, so that a file that sources itself ends.
const MAX_FILES: usize = 64;

/// Reads the files that a parameter file names.
pub(super) type Read<'a> = &'a dyn Fn(&Path) -> std::io::Result<Vec<u8>>;

/// The place of a token.
#[derive(Clone, Debug)]
pub(super) struct Location {
    pub(super) file: Arc<PathBuf>,
    pub(super) line: u32,
}

impl Location {
    pub(super) fn error(&self, message: impl Into<String>) -> ImportError {
        ImportError { file: self.file.to_path_buf(), line: self.line, message: message.into() }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    Mark(char),
    Integer(i64),
    Real(f64),
    Word(String),
    End,
}

impl Token {
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Mark(mark) => format!("`{mark}`"),
            Self::Integer(number) => format!("`{number}`"),
            Self::Real(number) => format!("`{number}`"),
            Self::Word(word) => format!("`{word}`"),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

/// One file being read.
struct Source {
    file: Arc<PathBuf>,
    text: Vec<u8>,
    next: usize,
    line: u32,
    /// Line numbers of its open `{` and `[`.
    open: Vec<u32>,
}

/// The tokens of a file and of the files that it sources.
pub(super) struct Tokens<'a> {
    stack: Vec<Source>,
    read: Read<'a>,
    files: Vec<PathBuf>,
    /// Total bytes of all of them.
    bytes: u64,
    peeked: Option<(Location, Token)>,
}

fn separates(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t'
            | b'\r'
            | b'\n'
            | b'\x0c'
            | b';'
            | b'{'
            | b'}'
            | b','
            | b'['
            | b']'
            | b':'
            | b'?'
            | b'='
    )
}

impl<'a> Tokens<'a> {
    /// Begins with `file`.
    pub(super) fn new(file: &Path, read: Read<'a>) -> Result<Self, ImportError> {
        let mut tokens =
            Self { stack: Vec::new(), read, files: Vec::new(), bytes: 0, peeked: None };
        let origin = Location { file: Arc::new(file.to_path_buf()), line: 0 };
        tokens.open(file.to_path_buf(), &origin)?;
        Ok(tokens)
    }

    /// The files that were read.
    pub(super) fn into_files(self) -> Vec<PathBuf> {
        self.files
    }

    fn open(&mut self, file: PathBuf, from: &Location) -> Result<(), ImportError> {
        if self.files.len() >= MAX_FILES {
            let message = format!(
                "`source {}` would be file number {}; a file that sources itself never ends",
                file.display(),
                MAX_FILES + 1
            );
            return Err(from.error(message));
        }
        let text = (self.read)(&file).map_err(|error| {
            if self.files.is_empty() {
                let message = format!("cannot be read: {error}");
                return ImportError { file: file.clone(), line: 0, message };
            }
            from.error(format!("`source {}` cannot be read: {error}", file.display()))
        })?;
        self.bytes += text.len() as u64;
        if self.bytes > Limit::DESCRIPTION.bytes() {
            let message = format!(
                "with `source {}` it is larger than {}",
                file.display(),
                Limit::DESCRIPTION
            );
            return Err(from.error(message));
        }
        self.files.push(file.clone());
        self.stack.push(Source { file: Arc::new(file), text, next: 0, line: 1, open: Vec::new() });
        Ok(())
    }

    /// The next token, without consuming it.
    pub(super) fn peek(&mut self) -> Result<&(Location, Token), ImportError> {
        if self.peeked.is_none() {
            self.peeked = Some(self.read_token()?);
        }
        Ok(self.peeked.as_ref().expect("it has just been filled"))
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<(Location, Token), ImportError> {
        match self.peeked.take() {
            Some(token) => Ok(token),
            None => self.read_token(),
        }
    }

    fn read_token(&mut self) -> Result<(Location, Token), ImportError> {
        loop {
            let (at, token) = self.raw()?;
            match &token {
                Token::End if self.stack.len() > 1 => {
                    // otherwise the sourcing file would be blamed
                    let ended = self.stack.pop().expect("there are two");
                    if let Some(line) = ended.open.last() {
                        let message =
                            format!("the file ends before what begins on line {line} is closed");
                        return Err(at.error(message));
                    }
                }
                Token::Word(word) if word == "source" => {
                    let (_, name) = self.raw()?;
                    let Token::Word(name) = name else {
                        let message = format!("`source` needs a file, not {}", name.shown());
                        return Err(at.error(message));
                    };
                    // relative to the file that names it
                    let beside = at.file.parent().map(|folder| folder.join(&name));
                    self.open(beside.unwrap_or_else(|| PathBuf::from(&name)), &at)?;
                }
                _ => return Ok((at, token)),
            }
        }
    }

    /// The next token of the file on top.
    fn raw(&mut self) -> Result<(Location, Token), ImportError> {
        let source = self.stack.last_mut().expect("the first file stays open");
        loop {
            match source.text.get(source.next) {
                Some(b'\n') => {
                    source.line += 1;
                    source.next += 1;
                }
                Some(b' ' | b'\t' | b'\r' | b'\x0c') => source.next += 1,
                Some(b'#') => {
                    while source.text.get(source.next).is_some_and(|byte| *byte != b'\n') {
                        source.next += 1;
                    }
                }
                _ => break,
            }
        }
        let at = Location { file: source.file.clone(), line: source.line };
        let Some(first) = source.text.get(source.next).copied() else {
            return Ok((at, Token::End));
        };
        if separates(first) {
            source.next += 1;
            match first {
                b'{' | b'[' => source.open.push(source.line),
                b'}' | b']' => drop(source.open.pop()),
                _ => {}
            }
            return Ok((at, Token::Mark(char::from(first))));
        }
        let start = source.next;
        while source.text.get(source.next).is_some_and(|byte| !separates(*byte)) {
            source.next += 1;
        }
        let Ok(word) = std::str::from_utf8(&source.text[start..source.next]) else {
            return Err(at.error("the text is not UTF-8"));
        };
        Ok((at, classify(word)))
    }
}

/// A number if the word looks like one, otherwise a word.
fn classify(word: &str) -> Token {
    let digits = word.strip_prefix('-').unwrap_or(word);
    if let Some(hex) = digits.strip_prefix("0x")
        && let Ok(number) = i64::from_str_radix(hex, 16)
    {
        return Token::Integer(if word.starts_with('-') { -number } else { number });
    }
    let numeric = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if numeric {
        if let Ok(number) = word.parse::<i64>() {
            return Token::Integer(number);
        }
        if let Some(number) = word.parse::<f64>().ok().filter(|number| number.is_finite()) {
            return Token::Real(number);
        }
    }
    Token::Word(word.to_owned())
}
