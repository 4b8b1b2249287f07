//! `foretell schema`: the JSON Schemas of scenarios and of the documents that `--json` prints.

use foretell_scenarios::meant;

use crate::cli::SchemaArguments;
use crate::failure::Failure;
use crate::output;

/// Schemas of documents, by the command that prints them.
macro_rules! documents {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../docs/schemas/", $name, ".schema.json")))),*]
    };
}

/// The schemas by name.
const DOCUMENTS: &[(&str, &str)] = documents![
    "ask",
    "calibrate-cluster",
    "calibrate-cpu",
    "calibrate-disk",
    "estimate",
    "import-ceph",
    "import-cluster",
    "import-trace",
    "init",
    "inspect",
    "learn-evaluate",
    "learn-explain",
    "learn-predict",
    "learn-score",
    "learn-search",
    "learn-train",
    "list",
    "plan",
    "replay-cache",
    "replay-disk",
    "report",
    "run",
    "runs",
    "score",
    "show",
    "sweep",
    "sweep-check",
    "sweep-missing",
    "sweep-shard",
    "trace",
    "validate",
];

/// Runs the command.
pub(crate) fn schema(arguments: &SchemaArguments) -> Result<(), Failure> {
    let Some(name) = &arguments.document else {
        return output::print(&foretell_scenarios::schema_text());
    };
    let Some((_, text)) = DOCUMENTS.iter().find(|(known, _)| known == name) else {
        // one by one: no other command lists them, so none is left out
        let near = DOCUMENTS.iter().map(|(known, _)| *known);
        let near = meant(name, near).filter(|near| near.starts_with("did you mean"));
        let all = || {
            let names: Vec<String> =
                DOCUMENTS.iter().map(|(known, _)| format!("`{known}`")).collect();
            format!("there are {}", names.join(", "))
        };
        let help = near.unwrap_or_else(all);
        return Err(Failure::Usage(format!("no document is called `{name}`; {help}")));
    };
    output::print(text)
}
