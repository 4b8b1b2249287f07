//! Formulas of lessons: arithmetic over the slider and the figures of runs.
//!
//! ```text
//! base.workloads.web.response_time_ms.mean / (1 - x * base.hosts.brick0.disk0.demand_ms_per_request / 1000)
//! ```
//!
//! `x` is the slider's value. `run` is the document of the run at that value, `base` that at the slider's first
//! value. `ask` is the prediction for the slider's value from the records of `base`. The page evaluates the
//! tree that is built here, so an author learns of mistakes when the page is made.

use serde::Serialize;
use thiserror::Error;

/// A formula, as a tree.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Formula {
    /// A number.
    Number(f64),
    /// A figure: `x`, or a document and the path in it.
    Path(Vec<String>),
    /// An operator or a function, and its arguments.
    Call(String, Vec<Formula>),
}

/// An error in a formula.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("the formula `{formula}`, at `{rest}`: {what}")]
pub struct FormulaError {
    formula: String,
    rest: String,
    what: String,
}

/// The first parts of figures' paths.
const ROOTS: [&str; 4] = ["x", "run", "base", "ask"];
/// Functions, with their number of arguments.
const FUNCTIONS: [(&str, usize); 9] = [
    ("min", 2),
    ("max", 2),
    ("sqrt", 1),
    ("exp", 1),
    ("log", 1),
    // quantile of the response time in ms at a share of the requests of the lesson's workload
    ("quantile", 1),
    ("base_quantile", 1),
    // share of the requests that take longer than the given ms
    ("slower", 1),
    ("base_slower", 1),
];
/// Maximum nesting of parentheses.
const DEEPEST: usize = 50;

impl Formula {
    /// Parses a formula.
    ///
    /// # Errors
    ///
    /// If it is not a formula, or uses an unknown name.
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        let mut reader = Reader { text, at: 0, depth: 0 };
        let formula = reader.sum()?;
        match reader.peek() {
            None => Ok(formula),
            Some(_) => Err(reader.error("expected an operator, or the end")),
        }
    }

    /// Whether it uses figures of this document.
    pub fn uses(&self, document: &str) -> bool {
        match self {
            Self::Number(_) => false,
            Self::Path(path) => path[0] == document,
            Self::Call(_, of) => of.iter().any(|one| one.uses(document)),
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn takes(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    fn error(&self, what: impl Into<String>) -> FormulaError {
        let rest = self.text[self.at..].chars().take(20).collect::<String>();
        let rest = if rest.is_empty() { "the end".to_owned() } else { rest };
        FormulaError { formula: self.text.to_owned(), rest, what: what.into() }
    }

    fn sum(&mut self) -> Result<Formula, FormulaError> {
        let mut left = self.product()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.at += 1;
            left = Formula::Call(operator.to_string(), vec![left, self.product()?]);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Formula, FormulaError> {
        let mut left = self.power()?;
        while let Some(operator @ ('*' | '/')) = self.peek() {
            self.at += 1;
            left = Formula::Call(operator.to_string(), vec![left, self.power()?]);
        }
        Ok(left)
    }

    fn power(&mut self) -> Result<Formula, FormulaError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.error("too many parentheses or signs in each other"));
        }
        let found = if self.takes('-') {
            Formula::Call("-".to_owned(), vec![Formula::Number(0.0), self.power()?])
        } else {
            let base = self.single()?;
            if self.takes('^') {
                Formula::Call("^".to_owned(), vec![base, self.power()?])
            } else {
                base
            }
        };
        self.depth -= 1;
        Ok(found)
    }

    fn single(&mut self) -> Result<Formula, FormulaError> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                if self.takes(')') { Ok(inner) } else { Err(self.error("expected `)`")) }
            }
            Some(digit) if digit.is_ascii_digit() => {
                let rest = &self.text[self.at..];
                let end = rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
                let number = &rest[..end.unwrap_or(rest.len())];
                let value = number.parse().map_err(|_| self.error("expected a number"))?;
                self.at += number.len();
                Ok(Formula::Number(value))
            }
            Some(letter) if letter.is_ascii_alphabetic() => self.name(),
            _ => Err(self.error("expected a number, a name or `(`")),
        }
    }

    fn name(&mut self) -> Result<Formula, FormulaError> {
        let start = self.at;
        let first = self.word()?;
        if self.takes('(') {
            let Some((_, count)) = FUNCTIONS.iter().find(|(name, _)| *name == first) else {
                self.at = start;
                let names = FUNCTIONS.map(|(name, _)| format!("`{name}`")).join(", ");
                return Err(
                    self.error(format!("there is no function `{first}`; there are {names}"))
                );
            };
            let mut of = vec![self.sum()?];
            while self.takes(',') {
                of.push(self.sum()?);
            }
            if !self.takes(')') {
                return Err(self.error("expected `,` or `)`"));
            }
            if of.len() != *count {
                self.at = start;
                return Err(self.error(format!("`{first}` takes {count}, found {}", of.len())));
            }
            return Ok(Formula::Call(first, of));
        }
        if !ROOTS.contains(&first.as_str()) {
            self.at = start;
            return Err(self.error("figures begin with `x`, `run`, `base` or `ask`"));
        }
        let mut path = vec![first];
        while self.takes('.') {
            path.push(self.word()?);
        }
        if (path[0] == "x") != (path.len() == 1) {
            self.at = start;
            return Err(self.error("`x` is a number; the others have figures, as `run.events`"));
        }
        Ok(Formula::Path(path))
    }

    /// A name; it is quoted if it has characters that plain names do not have.
    fn word(&mut self) -> Result<String, FormulaError> {
        if self.takes('"') {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find('"') else {
                return Err(self.error("expected a name and a quote"));
            };
            self.at += end + 1;
            return Ok(rest[..end].to_owned());
        }
        self.peek();
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        let word = &rest[..end.unwrap_or(rest.len())];
        if word.is_empty() {
            return Err(self.error("expected a name"));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        fn of(formula: &Formula) -> String {
            match formula {
                Formula::Number(value) => value.to_string(),
                Formula::Path(path) => path.join("."),
                Formula::Call(name, of_what) => {
                    let inner: Vec<String> = of_what.iter().map(of).collect();
                    format!("{name}({})", inner.join(" "))
                }
            }
        }
        of(&Formula::parse(text).unwrap())
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        assert_eq!(shown("1 - x * 2 ^ 3 - 4"), "-(-(1 *(x ^(2 3))) 4)");
        assert_eq!(shown("(1 - x) / 2"), "/(-(1 x) 2)");
        assert_eq!(shown("-x ^ 2"), "-(0 ^(x 2))");
        assert_eq!(shown(r#"min(run.a.b, base."c-d")"#), "min(run.a.b base.c-d)");
    }

    #[test]
    fn mistakes_are_named() {
        let message = |text: &str| Formula::parse(text).unwrap_err().to_string();
        assert!(message("1 + ").contains("the end"));
        assert!(message("sin(x)").contains("`sqrt`"));
        assert!(message("truth.events").contains("`base`"));
        assert!(message("min(x)").contains("takes 2, found 1"));
        assert!(message("x y").contains("operator"));
        assert!(message(&"(".repeat(1000)).contains("parentheses"));
        assert!(message(&"-".repeat(100_000)).contains("parentheses"));
    }
}
