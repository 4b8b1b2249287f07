//! `foretell list`: names of shipped files and of the words that a scenario may use.

use std::fmt::Write;

use clap::{CommandFactory, ValueEnum};
use foretell_algorithms::cache::PolicyKind;
use foretell_algorithms::codec::Encoding;
use foretell_scenarios::model::usual_min_size;
use foretell_scenarios::{Named, ShippedKind, TRACE_FORMATS, about, words};
use serde::Serialize;

use crate::cli::{Cli, ListArguments, ListKind, here};
use crate::failure::Failure;
use crate::{output, screen};

/// The encodings that are listed: those of the papers, and common ones.
const ENCODINGS: [&str; 10] = [
    "1-of-1",
    "1-of-2",
    "1-of-3",
    "2-of-3",
    "2-of-4",
    "3-of-5",
    "4-of-6",
    "8-of-11",
    "10-of-14",
    "lrc(12,2,2)",
];

/// Runs the command.
pub(crate) fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let wanted = match &arguments.kind {
        Some(kind) => std::slice::from_ref(kind),
        None => ListKind::value_variants(),
    };
    let kinds = wanted.iter().map(|kind| Listed::of(*kind)).collect::<Result<Vec<_>, _>>()?;
    let text = if arguments.json {
        output::json(&Document { kinds })
    } else if arguments.kind.is_some() {
        kinds.iter().map(Listed::described).collect()
    } else {
        overview(&kinds)
    };
    output::print(&text)
}

/// The kind, as `foretell list` calls it, that has a word of this name.
pub(crate) fn kind_of_word(name: &str) -> Option<String> {
    let kinds = ListKind::value_variants().iter().filter(|kind| shipped(**kind).is_none());
    let has = |kind: &Listed| kind.items.iter().any(|item| item.name == name);
    kinds.filter_map(|kind| Listed::of(*kind).ok()).find(has).map(|kind| kind.kind)
}

#[derive(Serialize)]
struct Document {
    kinds: Vec<Listed>,
}

/// Items of one kind.
#[derive(Serialize)]
struct Listed {
    kind: String,
    about: String,
    /// How an item is used.
    usage: &'static str,
    items: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    name: String,
    about: String,
    /// The file of a profile that is in this directory and was not shipped.
    file: Option<String>,
}

impl Item {
    fn new(name: &str, about: &str) -> Self {
        Self { name: name.to_owned(), about: plain(about), file: None }
    }
}

/// A sentence without the backticks that documentation of code needs around some names.
fn plain(about: &str) -> String {
    let marked = ["PostMark", "IOzone", "VMware", "UMass"];
    let unmarked = |text: String, name: &str| text.replace(&format!("`{name}`"), name);
    marked.into_iter().fold(about.to_owned(), unmarked)
}

/// The kind of files behind a list, if there are files.
fn shipped(kind: ListKind) -> Option<ShippedKind> {
    match kind {
        ListKind::Scenarios => Some(ShippedKind::Scenario),
        ListKind::Sweeps => Some(ShippedKind::Sweep),
        ListKind::Devices => Some(ShippedKind::Device),
        ListKind::Cpus => Some(ShippedKind::Cpu),
        _ => None,
    }
}

impl Listed {
    fn of(kind: ListKind) -> Result<Self, Failure> {
        let value = kind.to_possible_value().expect("none is skipped");
        let about = value.get_help().map(ToString::to_string).unwrap_or_default();
        Ok(Self {
            kind: value.get_name().to_owned(),
            about,
            usage: usage(kind),
            items: items(kind)?,
        })
    }

    /// All items with their descriptions.
    fn described(&self) -> String {
        let widest = self.items.iter().map(|item| item.name.chars().count()).max().unwrap_or(0);
        let mut text = format!("{}: {}\n\n", self.about, self.usage);
        for item in &self.items {
            let mut about = item.about.clone();
            if let Some(file) = &item.file {
                let _ = write!(about, " ({file})");
            }
            let head = format!(" {:widest$}  ", item.name);
            text.push_str(&screen::wrapped(&head, &about));
        }
        text
    }
}

fn overview(kinds: &[Listed]) -> String {
    let widest = kinds.iter().map(|kind| kind.kind.len()).max().unwrap_or(0);
    let mut text = String::new();
    for kind in kinds {
        let names: Vec<&str> = kind.items.iter().map(|item| item.name.as_str()).collect();
        text.push_str(&screen::wrapped(&format!(" {:widest$}  ", kind.kind), &names.join(", ")));
    }
    text.push_str(
        "\n`foretell list devices` says what each is; `foretell show NAME` prints a file.\n",
    );
    text
}

/// How an item is used: the command to type, or its place in a scenario.
fn usage(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Scenarios => "foretell run NAME",
        ListKind::Sweeps => "foretell sweep NAME -o DIR",
        ListKind::Devices => "disk = [\"NAME\"] of a node",
        ListKind::Cpus => "cpu = \"NAME\" of a node or a client",
        ListKind::Encodings => {
            "encoding = \"M-of-N\" of a volume, 1 <= M <= N <= 255, or \"lrc(K,L,R)\""
        }
        ListKind::Ciphers => "cipher = \"NAME\" of a volume",
        ListKind::Placements => "placement = \"NAME\" of a volume",
        ListKind::Policies => "cache = { policy = \"NAME\", ... } of a node",
        ListKind::Schedulers => "disk = [{ scheduler = \"NAME\", ... }] of a node",
        ListKind::Workloads => "kind = \"NAME\" of a workload",
        ListKind::Patterns => "pattern = \"NAME\" of a workload",
        ListKind::Arrivals => "arrivals = \"NAME\" of a workload",
        ListKind::Systems => "[cluster] system = \"NAME\"",
        ListKind::Formats => "foretell import NAME, or format = \"NAME\" of a workload",
    }
}

fn items(kind: ListKind) -> Result<Vec<Item>, Failure> {
    if let Some(kind) = shipped(kind) {
        return files(kind);
    }
    let of_path = |path: &[&str]| -> Vec<Item> {
        // `recorded` comes from records alone, so users cannot write it
        let words = words(path).into_iter().filter(|word| word.name != "recorded");
        words.map(|word| Item::new(&word.name, &word.about)).collect()
    };
    Ok(match kind {
        ListKind::Encodings => ENCODINGS.iter().map(|name| encoding(name)).collect(),
        ListKind::Ciphers => of_path(&["volume", "*", "cipher"]),
        ListKind::Placements => of_path(&["volume", "*", "placement"]),
        ListKind::Schedulers => of_path(&["node", "*", "disk", "*", "scheduler"]),
        ListKind::Workloads => of_path(&["workload", "*"]),
        ListKind::Patterns => of_path(&["workload", "*", "pattern"]),
        ListKind::Arrivals => of_path(&["workload", "*", "arrivals"]),
        ListKind::Systems => of_path(&["cluster"]),
        ListKind::Policies => {
            PolicyKind::ALL.iter().map(|policy| Item::new(policy.name(), policy.about())).collect()
        }
        ListKind::Formats => formats(),
        ListKind::Scenarios | ListKind::Sweeps | ListKind::Devices | ListKind::Cpus => Vec::new(),
    })
}

fn files(kind: ShippedKind) -> Result<Vec<Item>, Failure> {
    let item = |name: String| {
        let found = Named::find(&format!("{}/{name}", kind.directory()), here())?;
        let file = found.file.map(|file| file.display().to_string());
        Ok(Item { about: about(&found.text), name, file })
    };
    kind.names(here()).into_iter().map(item).collect()
}

/// Fault tolerance and cost of an encoding.
fn encoding(name: &str) -> Item {
    let encoding: Encoding = name.parse().expect("it is one");
    let (m, n, groups) = (encoding.m(), encoding.n(), encoding.groups());
    let what = match (m, n) {
        (m, n) if groups > 0 => format!(
            "{m} data fragments in {groups} groups with a parity each, and {} global parities",
            n - m - groups
        ),
        (1, 1) => "one copy".to_owned(),
        (1, copies) => format!("{copies} copies"),
        (m, n) => format!("{m} data and {} parity fragments", n - m),
    };
    let lost = match encoding.tolerates() {
        0 => "no loss".to_owned(),
        1 => "the loss of 1 node".to_owned(),
        lost => format!("the loss of {lost} nodes"),
    };
    let times = n as f64 / m as f64;
    let narrow = |number: usize| u8::try_from(number).expect("n is at most 255");
    // Ceph has no codes that repair locally
    let with_ceph = (groups == 0)
        .then(|| format!(" (with Ceph {})", narrow(n) - usual_min_size(narrow(m), narrow(n))));
    Item::new(
        name,
        &format!(
            "{what}: survives {lost}, serves without {}{}, stores {times:.2} times the data",
            encoding.tolerates(),
            with_ceph.unwrap_or_default()
        ),
    )
}

/// The formats, with their descriptions from the help of `import`.
fn formats() -> Vec<Item> {
    let command = Cli::command();
    let import = command.find_subcommand("import").expect("it is a command");
    let about = |name: &str| {
        let format = import.find_subcommand(name)?;
        Some(format.get_about()?.to_string())
    };
    TRACE_FORMATS.iter().map(|name| Item::new(name, &about(name).unwrap_or_default())).collect()
}
