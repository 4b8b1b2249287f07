//! A page: sections of parts, and the single HTML file made from them.
//!
//! All text from data is escaped: markup by `maud`, the data of charts as JSON without `<`. A content
//! security policy allows only the page's own script, by its digest. So even markup that slipped in
//! could neither run nor load anything.

use base64::Engine;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::chart::Chart;
use crate::words::{cut, of_all};

/// The chart library (uPlot, MIT), for pages that draw their own charts.
pub const CHART_SCRIPT: &str = include_str!("../assets/uPlot.iife.min.js");
/// The style of the chart library.
pub const CHART_STYLE: &str = include_str!("../assets/uPlot.min.css");
const STYLE: &str =
    concat!(include_str!("../assets/uPlot.min.css"), include_str!("../assets/report.css"));
const SCRIPT: &str =
    concat!(include_str!("../assets/uPlot.iife.min.js"), "\n", include_str!("../assets/report.js"));
/// The program that made the page.
const GENERATOR: &str = concat!("foretell ", env!("CARGO_PKG_VERSION"));

/// Maximum number of rows of a table.
const MAX_ROWS: usize = 200;
/// Maximum length of a cell, of a heading or title, and of a text, in characters.
const MAX_CELL_CHARS: usize = 240;
const MAX_HEADING_CHARS: usize = 240;
const MAX_TEXT_CHARS: usize = 4000;

/// A page.
#[derive(Debug)]
pub struct Page {
    /// Its title.
    pub title: String,
    /// Its content in one sentence.
    pub lead: String,
    /// Its sections.
    pub sections: Vec<Section>,
}

/// A section.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Its parts, in order.
    pub parts: Vec<Part>,
}

/// A part of a section.
#[derive(Debug)]
pub enum Part {
    /// A paragraph.
    Text(String),
    /// Something that cannot be shown, and the reason.
    Gap(String),
    /// A table.
    Table(Table),
    /// The same part of several results, side by side.
    Beside(Vec<Column>),
    /// A chart that the browser draws.
    Chart {
        /// Its title.
        title: String,
        /// Its content in words.
        summary: String,
        /// Its data.
        chart: Chart,
    },
    /// A figure that needs no script.
    Figure {
        /// Its title.
        title: String,
        /// Its content in words.
        summary: String,
        /// The figure.
        markup: Markup,
    },
}

/// A part of one of several results.
#[derive(Debug)]
pub struct Column {
    /// The name of the result.
    pub of: String,
    /// The part.
    pub part: Part,
}

/// A table of texts.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Number of columns at the beginning that hold words and are left-aligned.
    pub words: usize,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table. Its first `words` columns hold words, the others hold numbers.
    pub fn new(title: impl Into<String>, words: usize, head: &[&str]) -> Self {
        let head = head.iter().map(|name| (*name).to_owned()).collect();
        Self { title: title.into(), head, words, rows: Vec::new() }
    }

    /// The rows that are shown, and a sentence about the rows that are not.
    fn shown(&self) -> (&[Vec<String>], Option<String>) {
        let shown = self.rows.len().min(MAX_ROWS);
        (&self.rows[..shown], of_all(shown, self.rows.len(), "first rows"))
    }

    fn markup(&self) -> Markup {
        let side = |column: usize| if column < self.words { "left" } else { "" };
        let (rows, others) = self.shown();
        html! {
            div.scroll tabindex="0" role="region" aria-label=(self.title) {
                table {
                    caption { (self.title) }
                    thead { tr { @for (column, name) in self.head.iter().enumerate() { th scope="col" class=(side(column)) { (cut(name, MAX_CELL_CHARS)) } } } }
                    tbody { @for row in rows { tr { @for (column, cell) in row.iter().enumerate() { td class=(side(column)) { (cut(cell, MAX_CELL_CHARS)) } } } } }
                }
            }
            @if let Some(others) = others { p.faint { (others) } }
        }
    }
}

impl Section {
    /// An empty section.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), parts: Vec::new() }
    }

    /// Adds a part.
    pub fn push(&mut self, part: Part) {
        self.parts.push(part);
    }

    /// Adds a paragraph.
    pub fn text(&mut self, text: impl Into<String>) {
        self.parts.push(Part::Text(text.into()));
    }

    /// Adds a chart.
    pub fn chart(&mut self, title: impl Into<String>, summary: impl Into<String>, chart: Chart) {
        self.parts.push(Part::Chart { title: title.into(), summary: summary.into(), chart });
    }
}

impl Part {
    /// Its kind, its title and its content in words; of parts side by side, those of each.
    fn outlines(&self) -> Vec<Value> {
        let Self::Beside(columns) = self else { return vec![self.outline()] };
        let of = |column: &Column| {
            let mut outline = column.part.outline();
            outline["of"] = column.of.as_str().into();
            outline
        };
        columns.iter().map(of).collect()
    }

    fn outline(&self) -> Value {
        let cut = |text: &String| cut(text, MAX_TEXT_CHARS);
        match self {
            Self::Beside(columns) => columns.iter().map(|column| column.part.outline()).collect(),
            Self::Text(text) => json!({ "kind": "text", "summary": cut(text) }),
            Self::Gap(why) => json!({ "kind": "gap", "summary": cut(why) }),
            Self::Table(table) => {
                let (rows, others) = table.shown();
                let mut outline = json!({ "kind": "table", "title": table.title, "columns": table.head, "rows": rows });
                if let Some(others) = others {
                    outline["summary"] = others.into();
                }
                outline
            }
            Self::Chart { title, summary, .. } => {
                json!({ "kind": "chart", "title": cut(title), "summary": cut(summary) })
            }
            Self::Figure { title, summary, .. } => {
                json!({ "kind": "figure", "title": cut(title), "summary": cut(summary) })
            }
        }
    }

    fn markup(&self, id: &str) -> Markup {
        match self {
            Self::Text(text) => html! { p { (with_code(text)) } },
            Self::Gap(why) => html! { p.gap { strong { "Not shown. " } (with_code(why)) } },
            Self::Table(table) => table.markup(),
            Self::Beside(columns) => html! {
                div.beside { @for (number, column) in columns.iter().enumerate() { div {
                    p.of { (cut(&column.of, MAX_HEADING_CHARS)) }
                    (column.part.markup(&format!("{id}-{number}")))
                } } }
            },
            Self::Figure { title, summary, markup } => html! {
                figure {
                    h3 { (cut(title, MAX_HEADING_CHARS)) }
                    (markup)
                    figcaption { (cut(summary, MAX_TEXT_CHARS)) }
                }
            },
            Self::Chart { title, summary, chart } => {
                let data = json!({ "name": cut(title, MAX_HEADING_CHARS), "data": chart });
                let data = serde_json::to_string(&data).unwrap_or_default().replace('<', "\\u003c");
                html! {
                    figure data-chart=(id) {
                        h3 { (cut(title, MAX_HEADING_CHARS)) }
                        div.controls {}
                        div.plot {}
                        figcaption { (cut(summary, MAX_TEXT_CHARS)) }
                        @if matches!(chart, Chart::Lines { .. } | Chart::Timeline { .. }) { details.data { summary { "Values of " (title) } } }
                        noscript { p.gap { "Charts need JavaScript. Nothing is loaded from the network." } }
                    }
                    script type="application/json" id=(id) { (PreEscaped(data)) }
                }
            }
        }
    }
}

/// A text in which the parts between backticks are code.
fn with_code(text: &str) -> Markup {
    let text = cut(text, MAX_TEXT_CHARS);
    html! {
        @for (index, piece) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (piece) } } @else { (piece) }
        }
    }
}

impl Page {
    /// Sections and parts with their titles and descriptions, and tables, without the data of charts.
    pub fn outline(&self) -> Value {
        let sections: Vec<Value> = self
            .sections
            .iter()
            .map(|section| {
                let parts: Vec<Value> = section.parts.iter().flat_map(Part::outlines).collect();
                json!({ "heading": section.heading, "parts": parts })
            })
            .collect();
        json!({ "title": self.title, "lead": self.lead, "sections": sections })
    }

    /// The page as one HTML file that needs no other file.
    pub fn html(&self) -> String {
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT));
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; \
             base-uri 'none'; form-action 'none'"
        );
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="generator" content=(GENERATOR);
                    link rel="icon" href="data:,";
                    title { (cut(&self.title, MAX_HEADING_CHARS)) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to the results" }
                    header {
                        h1 { (cut(&self.title, MAX_HEADING_CHARS)) }
                        p.faint { (cut(&self.lead, MAX_TEXT_CHARS)) " " button.theme type="button" { "Dark" } }
                    }
                    // a wide screen shows it as a column, a narrow one on demand
                    nav aria-label="Sections" {
                        details.contents {
                            summary { "Contents" }
                            ol { @for (index, section) in self.sections.iter().enumerate() {
                                li { a href={ "#s" (index) } { (cut(&section.heading, MAX_HEADING_CHARS)) } }
                            } }
                        }
                    }
                    main id="main" {
                        @for (index, section) in self.sections.iter().enumerate() {
                            section aria-labelledby={ "s" (index) } {
                                h2 id={ "s" (index) } { (cut(&section.heading, MAX_HEADING_CHARS)) }
                                @for (number, part) in section.parts.iter().enumerate() {
                                    (part.markup(&format!("c{index}-{number}")))
                                }
                            }
                        }
                    }
                    footer { "Made by " (GENERATOR) ". This page holds all its data and loads nothing. Charts: uPlot 1.6.32, MIT licence, © Leon Sorokin." }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        // names from data must not turn the order of the letters around them
        foretell_input::printable(&page.into_string()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Series, View};

    #[test]
    fn nothing_from_data_becomes_markup() {
        let evil = "</script><img src=x onerror=alert(1)>\"'&\u{202e}\u{1b}";
        let mut section = Section::new(evil);
        section.text(evil);
        section.push(Part::Gap(evil.to_owned()));
        let mut table = Table::new(evil, 1, &[evil]);
        table.rows.push(vec![evil.to_owned()]);
        section.push(Part::Table(table));
        let view = View::new(evil, vec![Series::new(evil, vec![Some(1.0)])]);
        let (x, y) = (Axis::new(evil, "s"), Axis::new(evil, "ms"));
        section.chart(evil, evil, Chart::Lines { x, y, xs: vec![0.0], views: vec![view] });
        let page = Page { title: evil.to_owned(), lead: evil.to_owned(), sections: vec![section] };
        let html = page.html();
        assert!(!html.contains("<img"), "markup came through");
        assert!(!html.contains("onerror=alert(1)>\""), "an attribute came through");
        let is_obeyed = |c| foretell_input::is_control_or_bidi(c) && !matches!(c, '\n' | '\t');
        assert!(!html.contains(is_obeyed), "a character turns others around");
        // the script itself, and the data of one chart
        assert_eq!(html.matches("</script>").count(), 2);
    }

    #[test]
    fn the_script_is_allowed_by_its_digest() {
        let html = Page { title: String::new(), lead: String::new(), sections: vec![] }.html();
        let script = html.split_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
        let digest = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
        assert!(html.contains(&format!("script-src 'sha256-{digest}'")));
    }
}
