//! Parameters of a block by name, with their expected types.

use std::sync::Arc;

use foretell_units::SimSpan;

use super::ImportError;
use super::parse::{Block, Document, Kind, Value};

/// A block with the blocks that it inherits from.
pub(super) struct View<'a> {
    pub(super) block: &'a Block,
    bases: Vec<&'a Block>,
}

impl<'a> View<'a> {
    pub(super) fn new(block: &'a Block, document: &'a Document) -> Self {
        let mut bases = Vec::new();
        let mut of = &block.of;
        while let Some(base) = document.blocks.iter().find(|base| base.name.as_ref() == Some(of)) {
            if bases.len() > document.blocks.len() {
                break; // blocks that inherit from each other
            }
            bases.push(base);
            of = &base.of;
        }
        Self { block, bases }
    }

    pub(super) fn alone(block: &'a Block) -> Self {
        Self { block, bases: Vec::new() }
    }

    /// Its type, through inheritance.
    pub(super) fn kind(&self) -> &str {
        self.bases.last().map_or(&self.block.of, |base| &base.of)
    }

    pub(super) fn name(&self) -> String {
        self.block.name.clone().unwrap_or_else(|| self.block.of.clone())
    }

    pub(super) fn find(&self, name: &str) -> Option<&'a Arc<Value>> {
        std::iter::once(&self.block).chain(&self.bases).find_map(|block| {
            let named = |(parameter, _): &&(String, Arc<Value>)| parameter == name;
            block.parameters.iter().find(named).map(|(_, value)| value)
        })
    }

    pub(super) fn get(&self, name: &str) -> Result<&'a Arc<Value>, ImportError> {
        self.find(name).ok_or_else(|| {
            let message = format!("`{}` lacks the parameter `{name}`", self.name());
            self.block.at.error(message)
        })
    }

    pub(super) fn block(&self, name: &str) -> Result<View<'a>, ImportError> {
        let value = self.get(name)?;
        match &value.kind {
            Kind::Block(block) => Ok(View::alone(block)),
            _ => Err(value.at.error(format!("`{name}` is a block"))),
        }
    }

    pub(super) fn real(&self, name: &str) -> Result<f64, ImportError> {
        number(name, self.get(name)?)
    }

    pub(super) fn real_or(&self, name: &str, default: f64) -> Result<f64, ImportError> {
        self.find(name).map_or(Ok(default), |value| number(name, value))
    }

    pub(super) fn whole<T: TryFrom<i64>>(&self, name: &str) -> Result<T, ImportError> {
        whole(name, self.get(name)?)
    }

    pub(super) fn whole_or<T: TryFrom<i64>>(
        &self,
        name: &str,
        default: T,
    ) -> Result<T, ImportError> {
        self.find(name).map_or(Ok(default), |value| whole(name, value))
    }

    /// A switch: 0 or 1; off if it is not given.
    pub(super) fn switch(&self, name: &str) -> Result<bool, ImportError> {
        Ok(self.whole_or::<i64>(name, 0)? != 0)
    }

    /// A time given in milliseconds.
    pub(super) fn span(&self, name: &str, scale: f64) -> Result<SimSpan, ImportError> {
        let value = self.get(name)?;
        let ms = number(name, value)?;
        if ms < 0.0 {
            return Err(value.at.error(format!("`{name}` is {ms}; a time is not negative")));
        }
        Ok(SimSpan::from_ms_f64(ms * scale))
    }

    pub(super) fn span_or_none(&self, name: &str, scale: f64) -> Result<SimSpan, ImportError> {
        if self.find(name).is_some() { self.span(name, scale) } else { Ok(SimSpan::ZERO) }
    }

    pub(super) fn word(&self, name: &str) -> Result<&'a str, ImportError> {
        let value = self.get(name)?;
        match &value.kind {
            Kind::Word(word) => Ok(word),
            _ => Err(value.at.error(format!("`{name}` is a word"))),
        }
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], ImportError> {
        match self.find(name).map(|value| (value, &value.kind)) {
            None => Ok(&[]),
            Some((_, Kind::List(items))) => Ok(items),
            Some((value, _)) => Err(value.at.error(format!("`{name}` is a list, `[ ... ]`"))),
        }
    }

    /// Reports a parameter outside DiskSim's allowed values.
    pub(super) fn refuse<T>(
        &self,
        name: &str,
        found: impl std::fmt::Display,
        wanted: &str,
    ) -> Result<T, ImportError> {
        let at = self.find(name).map_or(&self.block.at, |value| &value.at);
        Err(at.error(format!("`{name}` is {found}; it must be {wanted}")))
    }
}

pub(super) fn number(name: &str, value: &Value) -> Result<f64, ImportError> {
    match value.kind {
        Kind::Integer(number) => Ok(number as f64),
        Kind::Real(number) => Ok(number),
        _ => Err(value.at.error(format!("`{name}` is a number"))),
    }
}

pub(super) fn whole<T: TryFrom<i64>>(name: &str, value: &Value) -> Result<T, ImportError> {
    let number = match value.kind {
        Kind::Integer(number) => number,
        Kind::Real(real) if real.fract() == 0.0 && real.abs() < 1e15 => real as i64,
        _ => return Err(value.at.error(format!("`{name}` is a whole number"))),
    };
    T::try_from(number)
        .map_err(|_| value.at.error(format!("`{name}` is {number}, which is out of its range")))
}
