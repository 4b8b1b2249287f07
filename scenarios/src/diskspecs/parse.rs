//! The parameter language of DiskSim ("libparam"): text to blocks.
//!
//! A file is a sequence of `TYPE NAME { parameter = value, ... }`, `instantiate [ names ] as NAME`
//! and `topology TYPE NAME [ ... ]`. A parameter's name is one or more words. A value is a number,
//! a word, a list, a block (`TYPE { ... }` or `TYPE NAME { ... }`) or a piece of topology
//! (`TYPE NAME [ ... ]`). `source FILE` is replaced by the contents of another file, anywhere; `#` begins
//! a comment. A block whose type is the name of an earlier block inherits the parameters that it
//! does not set itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ImportError;
use super::lex::{Location, Read, Token, Tokens};

/// Maximum depth of nested blocks; a disk needs five levels.
const DEEPEST: usize = 64;

/// A value, its place and its kind.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) at: Location,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Integer(i64),
    Real(f64),
    Word(String),
    List(Vec<Value>),
    Block(Block),
    Topology(Part),
}

/// `TYPE NAME { parameters }`.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) at: Location,
    pub(super) of: String,
    pub(super) name: Option<String>,
    /// Shared if several parameters are given one value.
    pub(super) parameters: Vec<(String, Arc<Value>)>,
}

/// `TYPE NAME [ parts ]`: a component and those below it.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) of: String,
    pub(super) name: String,
    pub(super) below: Vec<Value>,
}

/// The content of a file and of the files that it sources.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) blocks: Vec<Block>,
    /// Instance and block name.
    pub(super) instances: Vec<(String, String)>,
    pub(super) topology: Vec<Part>,
    pub(super) files: Vec<PathBuf>,
}

/// Parses `file` and the files that it sources.
pub(super) fn parse(file: &Path, read: Read<'_>) -> Result<Document, ImportError> {
    let tokens = Tokens::new(file, read)?;
    let mut parser = Parser { tokens, document: Document::default() };
    parser.document()?;
    parser.document.files = parser.tokens.into_files();
    Ok(parser.document)
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    document: Document,
}

impl Parser<'_> {
    fn document(&mut self) -> Result<(), ImportError> {
        loop {
            let (at, token) = self.tokens.next()?;
            match token {
                Token::End => return Ok(()),
                Token::Mark(';') => {}
                Token::Word(word) if word == "topology" => {
                    let of = self.word("the type of a component")?;
                    let name = self.word("the name of a component")?;
                    self.mark('[')?;
                    let below = self.list(1)?;
                    self.document.topology.push(Part { of, name, below });
                }
                Token::Word(word) if word == "instantiate" => self.instantiate()?,
                Token::Word(of) => {
                    let name = self.word("the name of a block")?;
                    self.mark('{')?;
                    let block = self.block(at, of, Some(name), 1)?;
                    self.document.blocks.push(block);
                }
                other => {
                    let message = format!("a block was expected, {} was found", other.shown());
                    return Err(at.error(message));
                }
            }
        }
    }

    fn instantiate(&mut self) -> Result<(), ImportError> {
        self.mark('[')?;
        let names = self.list(1)?;
        let (at, keyword) = self.tokens.next()?;
        if keyword != Token::Word("as".to_owned()) {
            return Err(at.error(format!("`as` was expected, {} was found", keyword.shown())));
        }
        let block = self.word("the name of a block")?;
        for name in names {
            if let Kind::Word(name) = name.kind {
                self.document.instances.push((name, block.clone()));
            }
        }
        Ok(())
    }

    fn word(&mut self, what: &str) -> Result<String, ImportError> {
        match self.tokens.next()? {
            (_, Token::Word(word)) => Ok(word),
            (_, Token::Integer(number)) => Ok(number.to_string()),
            (at, other) => {
                Err(at.error(format!("{what} was expected, {} was found", other.shown())))
            }
        }
    }

    fn mark(&mut self, wanted: char) -> Result<(), ImportError> {
        let (at, token) = self.tokens.next()?;
        if token == Token::Mark(wanted) {
            return Ok(());
        }
        Err(at.error(format!("`{wanted}` was expected, {} was found", token.shown())))
    }

    /// The parameters of a block, after its `{`.
    fn block(
        &mut self,
        at: Location,
        of: String,
        name: Option<String>,
        depth: usize,
    ) -> Result<Block, ImportError> {
        check_depth(&at, depth)?;
        let mut parameters = Vec::new();
        loop {
            let (place, token) = self.tokens.next()?;
            match token {
                Token::Mark('}') => return Ok(Block { at, of, name, parameters }),
                Token::Mark(',') => {}
                Token::Mark('[') => {
                    // several parameters with one value
                    let names = self.list(depth + 1)?;
                    self.mark('=')?;
                    let value = Arc::new(self.value(depth + 1)?);
                    for name in names {
                        if let Kind::Word(name) = name.kind {
                            parameters.push((name, value.clone()));
                        }
                    }
                    self.end_of_item('}')?;
                }
                Token::Word(_) | Token::Integer(_) | Token::Real(_) => {
                    let mut name = plain(&token);
                    loop {
                        let (place, token) = self.tokens.next()?;
                        match token {
                            Token::Mark('=') => break,
                            Token::Word(_) | Token::Integer(_) | Token::Real(_) => {
                                name.push(' ');
                                name.push_str(&plain(&token));
                            }
                            other => {
                                let message = format!(
                                    "`=` was expected after `{name}`, {} was found",
                                    other.shown()
                                );
                                return Err(place.error(message));
                            }
                        }
                    }
                    let value = self.value(depth + 1)?;
                    parameters.push((name, Arc::new(value)));
                    self.end_of_item('}')?;
                }
                Token::End => {
                    let message = format!(
                        "the block `{}` that begins on line {} is not closed by `}}`",
                        name.as_deref().unwrap_or(&of),
                        at.line
                    );
                    return Err(place.error(message));
                }
                other @ Token::Mark(_) => {
                    let message =
                        format!("a parameter or `}}` was expected, {} was found", other.shown());
                    return Err(place.error(message));
                }
            }
        }
    }

    /// Reads a comma, or finds the closing mark, which is not consumed.
    fn end_of_item(&mut self, closing: char) -> Result<(), ImportError> {
        let (at, token) = self.tokens.peek()?;
        if *token == Token::Mark(',') {
            self.tokens.next()?;
            return Ok(());
        }
        if *token == Token::Mark(closing) {
            return Ok(());
        }
        Err(at.error(format!("`,` or `{closing}` was expected, {} was found", token.shown())))
    }

    /// The items of a list, after its `[`.
    fn list(&mut self, depth: usize) -> Result<Vec<Value>, ImportError> {
        let mut items = Vec::new();
        loop {
            let (at, token) = self.tokens.peek()?.clone();
            check_depth(&at, depth)?;
            match token {
                Token::Mark(']') => {
                    self.tokens.next()?;
                    return Ok(items);
                }
                Token::Mark(',') => {
                    self.tokens.next()?;
                }
                _ => {
                    items.push(self.value(depth + 1)?);
                    self.end_of_item(']')?;
                }
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, ImportError> {
        let (at, token) = self.tokens.next()?;
        check_depth(&at, depth)?;
        let kind = match token {
            Token::Integer(number) => Kind::Integer(number),
            Token::Real(number) => Kind::Real(number),
            Token::Mark('[') => Kind::List(self.list(depth + 1)?),
            Token::Word(word) => match self.tokens.peek()?.1.clone() {
                Token::Mark('{') => {
                    self.tokens.next()?;
                    Kind::Block(self.block(at.clone(), word, None, depth + 1)?)
                }
                Token::Word(name) => {
                    self.tokens.next()?;
                    self.named(at.clone(), word, name, depth)?
                }
                _ => Kind::Word(word),
            },
            other => {
                return Err(at.error(format!("a value was expected, {} was found", other.shown())));
            }
        };
        Ok(Value { at, kind })
    }

    /// Reads what follows `TYPE NAME`: a block or a piece of topology. `a .. b` is a range of
    /// names; the first stands for all.
    fn named(
        &mut self,
        at: Location,
        of: String,
        name: String,
        depth: usize,
    ) -> Result<Kind, ImportError> {
        if name == ".." {
            self.word("the last name of a range")?;
            return Ok(Kind::Word(of));
        }
        let (place, token) = self.tokens.next()?;
        match token {
            Token::Mark('{') => {
                let block = self.block(at, of, Some(name), depth + 1)?;
                self.document.blocks.push(block.clone());
                Ok(Kind::Block(block))
            }
            Token::Mark('[') => Ok(Kind::Topology(Part { of, name, below: self.list(depth + 1)? })),
            other => {
                let message = format!(
                    "`{{` or `[` was expected after `{of} {name}`, {} was found",
                    other.shown()
                );
                Err(place.error(message))
            }
        }
    }
}

/// A number or word as it is written in a parameter's name.
fn plain(token: &Token) -> String {
    match token {
        Token::Word(word) => word.clone(),
        Token::Integer(number) => number.to_string(),
        Token::Real(number) => number.to_string(),
        Token::Mark(_) | Token::End => String::new(),
    }
}

fn check_depth(at: &Location, depth: usize) -> Result<(), ImportError> {
    if depth > DEEPEST {
        return Err(at.error(format!("blocks and lists nest more than {DEEPEST} deep")));
    }
    Ok(())
}
