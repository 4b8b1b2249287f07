//! Sections of a reproduction: which of the paper's claims hold, and its pictures.

use maud::html;
use serde_json::Value;

use crate::page::{Part, Section, Table};
use crate::words::{at, entries, known, percent, text};

/// Maximum number of bytes of pictures in a page.
const MAX_BYTES: usize = 2 << 20;

/// The output of a reproduction.
#[derive(Debug)]
pub struct Reproduction {
    /// Its directory.
    pub name: String,
    /// `summary.json`.
    pub summary: Value,
    /// Pictures in the order of their names.
    pub pictures: Vec<Picture>,
}

/// A picture.
#[derive(Debug)]
pub struct Picture {
    /// Its file name without the extension: `fig07`.
    pub name: String,
    /// Content of the file, as SVG.
    pub svg: Vec<u8>,
}

/// Sections of a reproduction.
pub(super) fn sections(reproduction: &Reproduction) -> Vec<Section> {
    let summary = &reproduction.summary;
    let mut section = Section::new("Claims");
    if let Some(paper) = text(summary, &["paper"]) {
        section.text(format!("The paper: {paper}."));
    }
    let rows: Vec<&Value> = summary["rows"].as_array().into_iter().flatten().collect();
    let mut table = Table::new(
        "What the paper claims, and what was found",
        5,
        &["figure", "claim", "found", "holds", "why not"],
    );
    for row in &rows {
        let cell = |key: &str| match &row[key] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            Value::Bool(holds) => if *holds { "yes" } else { "no" }.to_owned(),
            other => other.to_string(),
        };
        table.rows.push(["figure", "claim", "ours", "holds", "why"].map(cell).to_vec());
    }
    let holding = rows.iter().filter(|row| row["holds"] == Value::Bool(true)).count();
    if rows.is_empty() {
        section.push(Part::Gap("`summary.json` has no claims (`rows`).".to_owned()));
    } else {
        section.text(format!("{holding} of {} claims hold.", rows.len()));
        section.push(Part::Table(table));
    }
    let mut errors = Table::new(
        "How near predictions came",
        1,
        &["model", "comparisons", "median error", "worst error"],
    );
    for (model, of) in entries(summary, "predictions") {
        errors.rows.push(vec![
            model.clone(),
            known(at(of, &["comparisons"]), |n| format!("{n}")),
            known(at(of, &["median_error"]), percent),
            known(at(of, &["worst_error"]), percent),
        ]);
    }
    if !errors.rows.is_empty() {
        section.push(Part::Table(errors));
    }
    vec![section, pictures(reproduction, &rows)]
}

/// Pictures as images, so that nothing in them can run or load anything.
fn pictures(reproduction: &Reproduction, rows: &[&Value]) -> Section {
    use base64::Engine;

    let mut section = Section::new("Figures");
    let mut room = MAX_BYTES;
    let mut left_out = Vec::new();
    for picture in &reproduction.pictures {
        let bytes = picture.svg.len() / 3 * 4 + 4;
        if bytes > room {
            left_out.push(picture.name.as_str());
            continue;
        }
        room -= bytes;
        let data = base64::engine::general_purpose::STANDARD.encode(&picture.svg);
        let claims: Vec<&str> = rows
            .iter()
            .filter(|row| {
                text(row, &["figure"]).is_some_and(|figure| picture.name.starts_with(figure))
            })
            .filter_map(|row| text(row, &["claim"]))
            .collect();
        let summary = if claims.is_empty() {
            format!("The numbers are in {}.csv.", picture.name)
        } else {
            format!("The paper: {}. The numbers are in {}.csv.", claims.join("; "), picture.name)
        };
        let markup = html! {
            img.picture src={ "data:image/svg+xml;base64," (data) } alt={ (picture.name) ". " (summary) };
        };
        section.push(Part::Figure { title: picture.name.clone(), summary, markup });
    }
    if !left_out.is_empty() {
        section.push(Part::Gap(format!(
            "There is no room in one page for {}; the pictures are in the directory.",
            left_out.join(", ")
        )));
    }
    section
}
