//! `learn features`: turns hosts' low-level metrics into a table that models learn from.

use std::fmt::Write as _;

use foretell_ati::open_run;
use foretell_core::observed;
use foretell_files::FileKind;
use foretell_metrics::{
    FeatureTable, HostSeries, Observed, Smoothing, features as features_of, read_client_log,
    read_dstat, read_joined,
};

use super::{keep, rows};
use crate::cli::FeaturesArguments;
use crate::failure::Failure;
use crate::output::counted;

/// Name of the column that says which rows were observed together.
const SET: &str = "set";

const FILE: FileKind<'_> =
    FileKind::beginning("a table of `foretell learn features`", "set,time_s");

/// Makes the table.
pub(super) fn features(arguments: &FeaturesArguments) -> Result<String, Failure> {
    foretell_files::check(&arguments.output, FILE)?;
    let smoothing = Smoothing { window_s: arguments.window };
    let mut table = FeatureTable::default();
    for (name, observed) in observations(arguments)? {
        let found = features_of(&observed, smoothing)?.lagged(usize::from(arguments.lags));
        if found.times.is_empty() {
            return Err(Failure::Usage(format!(
                "`{name}` has no interval of clients at whose end {} s of metrics have passed; \
                 `--window` must be at least one interval of the metrics, and shorter than the run",
                arguments.window
            )));
        }
        table.add(found)?;
    }
    let all = table.features.names.len();
    let kept = if arguments.keep_constant { (0..all).collect() } else { table.varying() };
    keep::write_file(&arguments.output, FILE, |file| write(file, &table, &kept))?;
    let mut text =
        format!("{}, {}", counted(table.sets.len(), "row"), counted(kept.len(), "feature"));
    if kept.len() < all {
        let _ = write!(text, " ({} are constant and left out)", all - kept.len());
    }
    let _ = writeln!(
        text,
        "; targets: {}",
        table.targets().map(|(n, _)| n).collect::<Vec<_>>().join(", ")
    );
    Ok(text)
}

/// All observations to read, one by one, with their names.
fn observations(arguments: &FeaturesArguments) -> Result<Vec<(String, Observed)>, Failure> {
    let mut all = Vec::new();
    for directory in &arguments.runs {
        let run = open_run(directory).map_err(Failure::NotARun)?;
        let facts = run.facts().map_err(Failure::NotARun)?;
        let observed = observed::of_run(&observed::collected(&run)?, &facts);
        all.push((directory.display().to_string(), observed));
    }
    if let Some(path) = &arguments.clients {
        let name = path.display().to_string();
        let clients = read_client_log(rows::open(path)?, &name)?;
        let mut hosts = Vec::new();
        for host in &arguments.dstat {
            let name = host.file.display().to_string();
            let series = read_dstat(rows::open(&host.file)?, &name)?;
            hosts.push(HostSeries { kind: host.kind.clone(), name, series });
        }
        all.push((name, Observed { hosts, clients }));
    }
    for joined in &arguments.joined {
        let name = joined.file.display().to_string();
        let observed = read_joined(rows::open(&joined.file)?, &name, &joined.kind)?;
        all.push((name, observed));
    }
    if all.is_empty() {
        let message =
            "nothing to read; give directories of runs, `--dstat` and `--clients`, or `--joined`";
        return Err(Failure::Usage(message.to_owned()));
    }
    Ok(all)
}

fn write(
    file: &mut dyn std::io::Write,
    table: &FeatureTable,
    kept: &[usize],
) -> std::io::Result<()> {
    let FeatureTable { features, sets } = table;
    write!(file, "{SET},time_s")?;
    for (name, _) in table.targets() {
        write!(file, ",{name}")?;
    }
    for &index in kept {
        write!(file, ",{}", features.names[index])?;
    }
    writeln!(file)?;
    for (row, time) in features.times.iter().enumerate() {
        write!(file, "{},{time}", sets[row])?;
        for (_, column) in table.targets() {
            write!(file, ",{}", column[row])?;
        }
        for &index in kept {
            write!(file, ",{}", features.columns[index][row])?;
        }
        writeln!(file)?;
    }
    file.flush()
}
