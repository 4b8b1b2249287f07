//! The card of a data set: `README.md` with the front matter that the Hugging Face hub reads.

use std::fmt::Write as _;

use crate::column::{Column, Kind, TableSchema};
use crate::finish::{Content, table_directory};
use crate::manifest::Manifest;
use crate::split::Part;

/// Quotes a text for YAML; a JSON text is also a YAML text.
fn yaml(text: &str) -> String {
    serde_json::to_string(text).expect("a text is a text")
}

/// Writes the card.
pub(crate) fn card(manifest: &Manifest, content: &Content) -> String {
    let mut text = front_matter(manifest, content);
    let _ = writeln!(text, "\n# {}\n", foretell_input::one_line(&manifest.title));
    if !manifest.description.is_empty() {
        let _ = writeln!(text, "{}\n", manifest.description.trim());
    }
    let _ = writeln!(
        text,
        "Made by `foretell sweep`, version {}: runs of a simulated storage cluster over a design of \
         experiments. Every row is a run, simulated from a scenario and a seed; nothing was measured on \
         real hardware. `sweep.toml` beside this file makes the same data set again:\n\n\
         ```\nforetell sweep sweep.toml -o DIR\n```\n",
        manifest.tool_version
    );
    design(&mut text, manifest, content);
    text += "## Tables\n\n";
    for table in tables(manifest, content) {
        let rows = content.rows(&table.name);
        let directory = table_directory(&table.name);
        let _ = writeln!(
            text,
            "### `{}`\n\n{} {rows} rows, in `{directory}/`.\n",
            table.name, table.description
        );
        text += "| column | type | unit | meaning |\n| --- | --- | --- | --- |\n";
        for column in &table.columns {
            let description = column.description.replace('|', "\\|").replace('\n', " ");
            let (name, unit) = (&column.name, &column.unit);
            let _ =
                writeln!(text, "| `{name}` | {} | {unit} | {description} |", feature_type(column));
        }
        text.push('\n');
    }
    text += LIMITS;
    if let Some(levels) = between_levels(&manifest.sparse) {
        let _ = writeln!(text, "- {levels}");
    }
    let _ = writeln!(
        text,
        "\n## Licence\n\n{}\n\n## Content\n\nSHA-256 of all rows in the order of runs: `{}`",
        manifest.license, content.digest
    );
    text
}

const LIMITS: &str = "## Known limits\n\n\
    - Times are those of a model of hardware, software and network; what the model leaves out is in the \
    program's documentation.\n\
    - Each run has a warm-up, which is not counted, and a length of its own: a percentile of few requests \
    is uncertain, and `*_half_width` columns tell how far means are.\n\
    - An empty cell (null) means that there was nothing to observe: a hit rate without reads, a response \
    time without requests.\n\
    - Replicates of a design point, and points that set the same, are all in one split; never split by \
    rows.\n";

/// A note that models cannot know the target between the few values of a numeric factor.
fn between_levels(sparse: &[(String, usize)]) -> Option<String> {
    let (first, others) = sparse.split_first()?;
    let mut text = format!("Of `{}` the design takes {} values", first.0, first.1);
    for (name, count) in others {
        let _ = write!(text, ", of `{name}` {count}");
    }
    text += ", with room between them. Cross-validation over design points, and the splits here, tell how far \
             off a model is at these values; between them it can be several times as far off. For models that are \
             used there, learn from a Sobol design over ranges (`design = \"sobol\"`), or test on its points.";
    Some(text)
}

fn design(text: &mut String, manifest: &Manifest, content: &Content) {
    let _ = writeln!(
        text,
        "## Design\n\nA {} design: {} points, each run {}; seed {}, of which every run has a seed of its \
         own.\n\n| factor | values |\n| --- | --- |",
        manifest.design,
        manifest.points,
        if manifest.replicates == 1 {
            "once".to_owned()
        } else {
            format!("{} times", manifest.replicates)
        },
        manifest.seed
    );
    for (name, values) in &manifest.factors {
        let _ = writeln!(text, "| `{name}` | {} |", values.replace('|', "\\|"));
    }
    if !manifest.constraints.is_empty() {
        text.push_str("\nAll points satisfy:\n\n");
        for condition in &manifest.constraints {
            let _ = writeln!(text, "- `{condition}`");
        }
    }
    let _ = writeln!(text, "\nSplits: {}.\n\n| split | runs |\n| --- | --- |", manifest.split);
    for part in Part::ALL {
        let files = content.files_of("runs").filter(|file| file.split == part.name());
        let rows: u64 = files.map(|file| file.rows).sum();
        if rows > 0 {
            let _ = writeln!(text, "| `{}` | {rows} |", part.name());
        }
    }
    let (runs, failed, left_out) = (content.runs, content.failures, content.left_out);
    let _ = writeln!(
        text,
        "\n{runs} runs ended well, {failed} failed, {left_out} were left out as their scenarios are not valid.\n"
    );
}

/// The tables that have rows.
fn tables<'a>(
    manifest: &'a Manifest,
    content: &'a Content,
) -> impl Iterator<Item = &'a TableSchema> {
    manifest.tables.iter().filter(|table| content.rows(&table.name) > 0)
}

/// The type's name in the `datasets` library.
fn feature_type(column: &Column) -> &'static str {
    match column.kind {
        Kind::Flag => "bool",
        Kind::Whole => "int64",
        Kind::Number => "float64",
        Kind::Text => "string",
    }
}

fn front_matter(manifest: &Manifest, content: &Content) -> String {
    let size = match content.rows("runs") {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        _ => "10M<n<100M",
    };
    let mut text = String::from("---\n");
    let _ = writeln!(text, "pretty_name: {}", yaml(&manifest.title));
    let _ = writeln!(text, "license: {}", yaml(&manifest.license));
    let _ = writeln!(text, "size_categories:\n- {size}");
    text +=
        "task_categories:\n- tabular-regression\ntags:\n- storage\n- performance\n- simulation\n";
    text += "configs:\n";
    for (number, table) in tables(manifest, content).enumerate() {
        let _ = writeln!(text, "- config_name: {}", table.name);
        if number == 0 {
            text += "  default: true\n";
        }
        text += "  data_files:\n";
        for part in splits(content, &table.name) {
            let directory = table_directory(&table.name);
            let ending = content.format.ending();
            let _ = writeln!(text, "  - split: {part}\n    path: {directory}/{part}-*.{ending}");
        }
    }
    text += "dataset_info:\n";
    for table in tables(manifest, content) {
        let _ = writeln!(text, "- config_name: {}\n  features:", table.name);
        for column in &table.columns {
            let _ = writeln!(
                text,
                "  - name: {}\n    dtype: {}",
                yaml(&column.name),
                feature_type(column)
            );
        }
        text += "  splits:\n";
        for part in splits(content, &table.name) {
            let files = || content.files_of(&table.name).filter(|file| file.split == part);
            let rows: u64 = files().map(|file| file.rows).sum();
            let bytes: u64 = files().map(|file| file.bytes).sum();
            let _ = writeln!(
                text,
                "  - name: {part}\n    num_bytes: {bytes}\n    num_examples: {rows}"
            );
        }
    }
    text += "---\n";
    text
}

/// The splits that a table has, in order.
pub(crate) fn splits<'a>(content: &'a Content, table: &'a str) -> Vec<&'static str> {
    let has = |part: &Part| content.files_of(table).any(|file| file.split == part.name());
    Part::ALL.into_iter().filter(has).map(Part::name).collect()
}
