//! `foretell report`: results as a page. Each path is recognised by its files; `foretell-report` makes the page.

mod clusters;
mod sources;

use std::path::{Path, PathBuf};

use foretell_files::FileKind;
use foretell_report::{Page, Source, page};
use serde_json::json;

use crate::cli::ReportArguments;
use crate::failure::Failure;

/// Maximum number of results on a page; more lines in one chart cannot be told apart.
const MAX_RESULTS: usize = 6;

/// A page: it names its generator in its head.
pub(crate) const FILE: FileKind<'_> =
    FileKind::beginning("a page that foretell made", "<!DOCTYPE html>")
        .and_saying("<meta name=\"generator\" content=\"foretell ");

/// Runs the command.
pub(crate) fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let output = arguments.output.as_path();
    if arguments.results.len() > MAX_RESULTS {
        return Err(Failure::Usage(format!(
            "{} results are too many for a page; give {MAX_RESULTS} at most, or make a data set of them with \
             `foretell sweep`",
            arguments.results.len()
        )));
    }
    for path in &arguments.results {
        if is_among_results(path, output) {
            return Err(Failure::Usage(format!(
                "`{}` is in a directory that the report reads. There, only a file whose name ends in \
                 `.html` is written",
                output.display()
            )));
        }
    }
    // check the output before the records are read
    let inputs = arguments.results.iter().flat_map(|path| {
        let inside = sources::FILES.iter().map(|name| path.join(name));
        std::iter::once(path.clone()).chain(inside)
    });
    foretell_files::check_apart(Some(output), FILE, inputs)?;
    let page = page_of(&arguments.results, arguments.title.as_deref())?;
    let html = page.html();
    foretell_files::write(output, FILE, html.as_bytes())?;
    if arguments.json {
        let mut document = page.outline();
        document["file"] = json!(output.display().to_string());
        document["bytes"] = json!(html.len());
        return crate::output::print(&crate::output::json(&document));
    }
    let parts: usize = page.sections.iter().map(|section| section.parts.len()).sum();
    crate::output::print(&format!(
        "{}: {} sections, {parts} parts, {:.2} MB; open it in a browser\n",
        output.display(),
        page.sections.len(),
        html.len() as f64 / 1e6
    ))
}

/// The page with these results.
pub(crate) fn page_of(results: &[PathBuf], title: Option<&str>) -> Result<Page, Failure> {
    let names = sources::names(results);
    let sources = results.iter().zip(&names);
    let sources: Vec<Source> =
        sources.map(|(path, name)| sources::read(path, name)).collect::<Result<_, _>>()?;
    Ok(page(title, &sources))
}

/// Whether the output would be a file, other than a page, beside or below an input. Such a file could make the results
/// there unreadable.
fn is_among_results(input: &Path, output: &Path) -> bool {
    let is_page = output.extension().is_some_and(|ending| {
        ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm")
    });
    let parent = |path: &Path| match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let directory = if input.is_dir() { input.to_owned() } else { parent(input) };
    let (Ok(directory), Ok(place)) = (directory.canonicalize(), parent(output).canonicalize())
    else {
        return false;
    };
    // beside a single document any file may be written
    let is_result = input.is_dir() || sources::FILES.iter().any(|name| input.ends_with(name));
    !is_page && is_result && place.starts_with(&directory)
}
