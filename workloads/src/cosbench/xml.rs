//! The subset of XML that COSBench's files use: elements with attributes. Text between them,
//! comments and declarations are skipped.

use super::CosbenchError;

/// An element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    /// Line number, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its attributes, in order.
    pub attributes: Vec<(String, String)>,
    /// Child elements.
    pub children: Vec<Element>,
}

impl Element {
    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The child elements with that name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }
}

/// Maximum nesting depth of elements: COSBench's files have six.
const DEEPEST: usize = 64;

/// The root element of a document.
///
/// # Errors
///
/// If it is not well formed, in the aspects that matter here.
pub fn parse(text: &str) -> Result<Element, CosbenchError> {
    let mut rest = text;
    let mut open: Vec<Element> = Vec::new();
    // number of line ends up to the last element's beginning: each is counted once
    let (mut counted, mut newlines) = (0, 0);
    let line = |rest: &str| text[..text.len() - rest.len()].matches('\n').count() + 1;
    let wrong =
        |rest: &str, what: &str| CosbenchError::Xml { line: line(rest), what: what.to_owned() };
    loop {
        let Some(at) = rest.find('<') else {
            return Err(wrong(
                "",
                if open.is_empty() { "there is no element" } else { "an element is not closed" },
            ));
        };
        rest = &rest[at..];
        let skipped = [("<?", "?>"), ("<!--", "-->"), ("<!", ">")];
        if let Some((begin, end)) = skipped.iter().find(|(begin, _)| rest.starts_with(begin)) {
            let inside = &rest[begin.len()..];
            let end_at = inside.find(end).ok_or_else(|| wrong(rest, "it is not closed"))?;
            rest = &inside[end_at + end.len()..];
            continue;
        }
        if let Some(inside) = rest.strip_prefix("</") {
            let (name, after) =
                inside.split_once('>').ok_or_else(|| wrong(rest, "`>` is missing"))?;
            let Some(closed) = open.pop().filter(|element| element.name == name.trim()) else {
                return Err(wrong(rest, "what is closed here was not opened last"));
            };
            rest = after;
            match open.last_mut() {
                Some(parent) => parent.children.push(closed),
                None => return Ok(closed),
            }
            continue;
        }
        let here = rest;
        let (mut element, after, closed) = tag(&rest[1..])
            .ok_or_else(|| wrong(here, "it is not a tag with attributes in quotes"))?;
        let at = text.len() - here.len();
        newlines += text[counted..at].matches('\n').count();
        counted = at;
        element.line = newlines + 1;
        rest = after;
        if !closed {
            if open.len() >= DEEPEST {
                return Err(wrong(here, "elements lie too deep"));
            }
            open.push(element);
        } else if let Some(parent) = open.last_mut() {
            parent.children.push(element);
        } else {
            return Ok(element);
        }
    }
}

/// The tag that begins after `<`, the text after it, and whether it is self-closing.
fn tag(text: &str) -> Option<(Element, &str, bool)> {
    let name_end = text.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
    let (name, mut rest) = text.split_at(name_end);
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix("/>") {
            let element =
                Element { line: 0, name: name.to_owned(), attributes, children: Vec::new() };
            return (!name.is_empty()).then_some((element, after, true));
        }
        if let Some(after) = rest.strip_prefix('>') {
            let element =
                Element { line: 0, name: name.to_owned(), attributes, children: Vec::new() };
            return (!name.is_empty()).then_some((element, after, false));
        }
        let (key, after) = rest.split_once('=')?;
        let key = key.trim();
        if key.is_empty() || key.contains(['<', '>', '"', '\'']) {
            return None;
        }
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, after) = after[1..].split_once(quote)?;
        attributes.push((key.to_owned(), unescaped(value)));
        rest = after;
    }
}

/// Replaces the five predefined entities of XML.
fn unescaped(text: &str) -> String {
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn elements_have_attributes_and_children() {
        let text = "<?xml version=\"1.0\"?>\n<!-- a > b -->\n<a x='1' y=\"2 &lt; 3\">\n text <b/>\n <b z=\"\"><c></c></b>\n</a>";
        let found = parse(text).unwrap();
        assert_eq!(
            (found.name.as_str(), found.get("x"), found.get("y")),
            ("a", Some("1"), Some("2 < 3"))
        );
        assert_eq!(found.all("b").count(), 2);
        assert_eq!((found.children[1].line, found.children[1].children[0].name.as_str()), (5, "c"));
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        for bad in ["", "text", "<a>", "<a></b>", "<a x=1/>", "<a x=\"1/>", "</a>", "<!-- ", "<>"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(parse(&"<a>".repeat(1000)).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[<>/a=\"' !?-]{0,60}|.{0,60}") {
            let _ = parse(&text);
        }
    }
}
