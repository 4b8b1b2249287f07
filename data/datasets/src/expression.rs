//! Conditions on the factors of a design point: `nodes >= 5 or encoding == "1-of-1"`.
//!
//! Names are those of factors. Numbers may have the units of scenarios (`access <= 64 KiB`,
//! `reads > 50%`); texts are quoted. The operators are `+ - * /`, the six comparisons, `and`, `or`,
//! `not`, and parentheses.

use std::ops::Range;

use crate::Value;
use crate::factor::Factor;
use crate::quantity;

/// A checked condition: it has a truth value at each design point.
#[derive(Clone, PartialEq, Debug)]
pub struct Condition {
    text: String,
    root: Expression,
}

/// The reason why a text is not a condition.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// The message.
    pub message: String,
    /// A suggestion of what was meant.
    pub help: Option<String>,
    /// The bytes of the text where the error is.
    pub span: Range<usize>,
}

#[derive(Clone, PartialEq, Debug)]
enum Expression {
    Factor(usize),
    Number(f64),
    Text(String),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Both(Operator, Box<(Expression, Expression)>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Plus,
    Minus,
    Times,
    Over,
}

/// Maximum number of terms and operators of a condition; the tree of an expression is walked
/// recursively.
const MAX_TOKENS: usize = 1000;
/// Maximum nesting of parentheses, `not` and `-`.
const DEEPEST: usize = 50;

/// The value of an expression.
#[derive(Clone, PartialEq, Debug)]
enum Worth {
    Truth(bool),
    Number(f64),
    Text(String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Type {
    Truth,
    Number,
    Text,
}

impl Type {
    fn described(self) -> &'static str {
        match self {
            Self::Truth => "true or false",
            Self::Number => "a number",
            Self::Text => "a text",
        }
    }
}

impl Condition {
    /// Parses a condition on `factors`.
    pub fn parse(text: &str, factors: &[Factor]) -> Result<Self, ExpressionError> {
        let tokens = tokens(text)?;
        if let Some((_, span)) = tokens.get(MAX_TOKENS) {
            let message = format!(
                "a condition has {MAX_TOKENS} names, numbers and signs at most; this one has {}",
                tokens.len()
            );
            return Err(fault(message, span.clone()));
        }
        let mut parser = Parser { tokens, next: 0, depth: 0, factors, end: text.len() };
        let (root, found) = parser.level(0)?;
        let rest = parser.span();
        if parser.next < parser.tokens.len() {
            return Err(fault("there is something more than a condition", rest));
        }
        if found != Type::Truth {
            let message = format!("this is {}; a condition is true or false", found.described());
            return Err(fault(message, 0..text.len()));
        }
        Ok(Self { text: text.to_owned(), root })
    }

    /// The text of the condition.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the condition holds; `values`: one for each factor.
    pub fn holds(&self, values: &[&Value]) -> bool {
        matches!(self.root.worth(values), Worth::Truth(true))
    }
}

impl Expression {
    fn worth(&self, values: &[&Value]) -> Worth {
        match self {
            Self::Factor(index) => match values[*index] {
                Value::Flag(flag) => Worth::Truth(*flag),
                Value::Text(text) => Worth::Text(text.clone()),
                number => Worth::Number(number.as_f64().unwrap_or(f64::NAN)),
            },
            Self::Number(number) => Worth::Number(*number),
            Self::Text(text) => Worth::Text(text.clone()),
            Self::Not(inner) => Worth::Truth(inner.worth(values) == Worth::Truth(false)),
            Self::Negative(inner) => match inner.worth(values) {
                Worth::Number(number) => Worth::Number(-number),
                other => other,
            },
            Self::Both(operator, sides) => {
                operator.apply(&sides.0.worth(values), &sides.1.worth(values))
            }
        }
    }
}

impl Operator {
    fn apply(self, left: &Worth, right: &Worth) -> Worth {
        match (self, left, right) {
            (Self::Or, Worth::Truth(a), Worth::Truth(b)) => Worth::Truth(*a || *b),
            (Self::And, Worth::Truth(a), Worth::Truth(b)) => Worth::Truth(*a && *b),
            (Self::Equal, a, b) => Worth::Truth(a == b),
            (Self::Unequal, a, b) => Worth::Truth(a != b),
            (_, Worth::Number(a), Worth::Number(b)) => match self {
                Self::Less => Worth::Truth(a < b),
                Self::AtMost => Worth::Truth(a <= b),
                Self::More => Worth::Truth(a > b),
                Self::AtLeast => Worth::Truth(a >= b),
                Self::Plus => Worth::Number(a + b),
                Self::Minus => Worth::Number(a - b),
                Self::Times => Worth::Number(a * b),
                _ => Worth::Number(a / b),
            },
            // cannot happen: types are checked when the condition is parsed
            _ => Worth::Truth(false),
        }
    }

    /// The type of both operands (`None`: any type, but equal ones), and the type of the result.
    fn types(self) -> (Option<Type>, Type) {
        match self {
            Self::Or | Self::And => (Some(Type::Truth), Type::Truth),
            Self::Equal | Self::Unequal => (None, Type::Truth),
            Self::Less | Self::AtMost | Self::More | Self::AtLeast => {
                (Some(Type::Number), Type::Truth)
            }
            Self::Plus | Self::Minus | Self::Times | Self::Over => {
                (Some(Type::Number), Type::Number)
            }
        }
    }
}

/// Operators by precedence, the loosest first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::More),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over)],
];

#[derive(Clone, PartialEq, Debug)]
enum Token {
    Name(String),
    Number(f64),
    Text(String),
    Sign(&'static str),
}

const SIGNS: [&str; 12] = ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "(", ")"];

fn fault(message: impl Into<String>, span: Range<usize>) -> ExpressionError {
    ExpressionError { message: message.into(), help: None, span }
}

fn is_in_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, ExpressionError> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let length_while = |held: fn(char) -> bool| rest.find(|c| !held(c)).unwrap_or(rest.len());
        let (token, length) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if first.is_ascii_digit() || first == '.' {
            number(rest).ok_or_else(|| {
                let length = length_while(|c| is_in_name(c) || c == '.').max(1);
                fault(format!("`{}` is not a number", &rest[..length]), at..at + length)
            })?
        } else if first.is_ascii_alphabetic() || first == '_' {
            let length = length_while(is_in_name);
            (Token::Name(rest[..length].to_owned()), length)
        } else if first == '"' || first == '\'' {
            let Some(length) = rest[1..].find(first) else {
                return Err(fault("this text has no end", at..text.len()));
            };
            (Token::Text(rest[1..=length].to_owned()), length + 2)
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            (Token::Sign(sign), sign.len())
        } else {
            let span = at..at + first.len_utf8();
            let mut error = fault(format!("`{first}` means nothing in a condition"), span);
            if first == '=' {
                error.help = Some("write `==` to compare".to_owned());
            }
            return Err(error);
        };
        found.push((token, at..at + length));
        at += length;
    }
    Ok(found)
}

/// Parses a number, with its unit if it has one: `64 KiB`, `50%`, `1 Gbit/s`.
fn number(text: &str) -> Option<(Token, usize)> {
    let digits =
        text.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(text.len());
    let rest = &text[digits..];
    let blank = rest.len() - rest.trim_start_matches(' ').len();
    // units are letters and `%`, with a slash for rates
    let unit = rest[blank..]
        .find(|c: char| !(c.is_alphabetic() || c == '/' || c == '%'))
        .unwrap_or(rest.len() - blank);
    for end in [digits + blank + unit, digits] {
        let (_, value) = quantity::read(&text[..end]);
        if let Some(number) = value.as_f64() {
            return Some((Token::Number(number), end));
        }
    }
    let plain: f64 = text[..digits].replace('_', "").parse().ok()?;
    Some((Token::Number(plain), digits))
}

struct Parser<'a> {
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    /// Number of enclosing parentheses, `not` and `-`.
    depth: usize,
    factors: &'a [Factor],
    end: usize,
}

impl Parser<'_> {
    fn span(&self) -> Range<usize> {
        self.tokens.get(self.next).map_or(self.end..self.end, |(_, span)| span.clone())
    }

    /// The next token's operator, if it is of this level.
    fn operator(&mut self, level: usize) -> Option<Operator> {
        let word = match &self.tokens.get(self.next)?.0 {
            Token::Name(name) => name.as_str(),
            Token::Sign(sign) => sign,
            _ => return None,
        };
        let (_, operator) = LEVELS[level].iter().find(|(known, _)| *known == word)?;
        self.next += 1;
        Some(*operator)
    }

    fn level(&mut self, level: usize) -> Result<(Expression, Type), ExpressionError> {
        if level == LEVELS.len() {
            return self.single();
        }
        let begin = self.span().start;
        let (mut left, mut found) = self.level(level + 1)?;
        while let Some(operator) = self.operator(level) {
            let (right, other) = self.level(level + 1)?;
            let end = self.tokens[self.next - 1].1.end;
            let (wanted, given) = operator.types();
            let wanted = wanted.unwrap_or(found);
            if found != wanted || other != wanted {
                let (a, b) = (found.described(), other.described());
                return Err(fault(format!("{a} and {b} do not go together here"), begin..end));
            }
            left = Expression::Both(operator, Box::new((left, right)));
            found = given;
        }
        Ok((left, found))
    }

    fn single(&mut self) -> Result<(Expression, Type), ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("parentheses, `not` and `-` lie {DEEPEST} deep at most");
            return Err(fault(message, self.span()));
        }
        let found = self.within();
        self.depth -= 1;
        found
    }

    fn within(&mut self) -> Result<(Expression, Type), ExpressionError> {
        let span = self.span();
        let Some((token, _)) = self.tokens.get(self.next).cloned() else {
            let from = self.end.saturating_sub(1);
            return Err(fault("the condition ends too early", from..self.end));
        };
        self.next += 1;
        match token {
            Token::Number(number) => Ok((Expression::Number(number), Type::Number)),
            Token::Text(text) => Ok((Expression::Text(text), Type::Text)),
            Token::Name(name) if name == "not" => {
                let (inner, found) = self.level(2)?;
                if found != Type::Truth {
                    return Err(fault(format!("`not` {} means nothing", found.described()), span));
                }
                Ok((Expression::Not(Box::new(inner)), Type::Truth))
            }
            Token::Name(name) => self.factor(&name, span),
            Token::Sign("(") => {
                let inner = self.level(0)?;
                if !matches!(self.tokens.get(self.next), Some((Token::Sign(")"), _))) {
                    return Err(fault("`)` is missing", span));
                }
                self.next += 1;
                Ok(inner)
            }
            Token::Sign("-") => {
                let (inner, found) = self.single()?;
                if found != Type::Number {
                    return Err(fault("only a number has a negative", span));
                }
                Ok((Expression::Negative(Box::new(inner)), Type::Number))
            }
            Token::Sign(sign) => Err(fault(format!("`{sign}` has nothing before it"), span)),
        }
    }

    fn factor(
        &self,
        name: &str,
        span: Range<usize>,
    ) -> Result<(Expression, Type), ExpressionError> {
        let Some(index) = self.factors.iter().position(|factor| factor.name == name) else {
            let known: Vec<&str> = self.factors.iter().map(|factor| &*factor.name).collect();
            let help = foretell_scenarios::meant(name, known.iter().copied());
            return Err(ExpressionError {
                message: format!("there is no factor `{name}`"),
                help,
                span,
            });
        };
        let found = match self.factors[index].kind() {
            crate::Kind::Flag => Type::Truth,
            crate::Kind::Text => Type::Text,
            crate::Kind::Whole | crate::Kind::Number => Type::Number,
        };
        Ok((Expression::Factor(index), found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::{Domain, Setting};
    use crate::quantity::Quantity;

    fn factors() -> Vec<Factor> {
        let factor = |name: &str, quantity| {
            let level = Setting { value: Value::Whole(1), changes: Vec::new() };
            let (name, description) = (name.to_owned(), String::new());
            Factor { name, description, quantity, domain: Domain::Levels(vec![level]) }
        };
        vec![
            factor("nodes", Quantity::Whole),
            factor("access", Quantity::Size),
            factor("encoding", Quantity::Name),
            factor("sync", Quantity::Flag),
        ]
    }

    fn holds(text: &str) -> bool {
        let values =
            [Value::Whole(5), Value::Whole(65_536), Value::from("3-of-5"), Value::Flag(true)];
        let condition = Condition::parse(text, &factors()).unwrap();
        condition.holds(&values.iter().collect::<Vec<_>>())
    }

    #[test]
    fn conditions_are_what_they_say() {
        assert!(holds("nodes >= 5"));
        assert!(!holds("nodes > 5 or access < 64 KiB"));
        assert!(holds("access == 64 KiB and encoding == \"3-of-5\""));
        assert!(holds("2 + 3 * nodes == 17 and -nodes < 0"));
        assert!(holds("not (nodes == 4) and sync"));
        assert!(holds("not nodes == 4"));
        // units are letters; a division is not a part of them
        assert!(holds("access/nodes > 13_000"));
        assert!(holds("10 / 2 == nodes"));
    }

    #[test]
    fn faults_have_places() {
        let fault = |text: &str| {
            let error = Condition::parse(text, &factors()).unwrap_err();
            (error.message, text[error.span].to_owned())
        };
        assert_eq!(fault("node > 3"), ("there is no factor `node`".into(), "node".into()));
        assert_eq!(
            fault("nodes > \"a\""),
            ("a number and a text do not go together here".into(), "nodes > \"a\"".into())
        );
        assert_eq!(fault("nodes = 3").1, "=");
        assert_eq!(fault("nodes +").0, "the condition ends too early");
        let deep = |depth: usize| format!("{}nodes > 3{}", "(".repeat(depth), ")".repeat(depth));
        assert!(holds(&deep(49)));
        assert!(fault(&deep(51)).0.contains("50 deep at most"));
        assert!(fault(&deep(5000)).0.contains("1000 names, numbers and signs at most"));
        assert!(fault(&("not ".repeat(500) + "sync")).0.contains("50 deep at most"));
        assert!(fault(&("-".repeat(500) + "3 < 4")).0.contains("50 deep at most"));
        let long = |terms: usize| vec!["sync"; terms].join(" and ");
        assert!(holds(&long(500)));
        assert!(fault(&long(20_000)).0.contains("1000 names, numbers and signs at most"));
        assert_eq!(fault("(nodes > 3").0, "`)` is missing");
        assert_eq!(fault("nodes").0, "this is a number; a condition is true or false");
        assert_eq!(fault("nodes > 3 nodes").1, "nodes");
    }
}
