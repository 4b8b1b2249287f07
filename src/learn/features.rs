//! `learn features`: turns hosts' low-level metrics into a table that models learn from.

use std::fmt::Write as _;

use foretell_ati::open_run;
use foretell_core::observed;
use foretell_metrics::{
    Features, HostSeries, Observed, Smoothing, TARGETS, features as features_of, read_client_log,
    read_dstat, read_joined,
};

use super::{keep, rows};
use crate::cli::FeaturesArguments;
use crate::failure::Failure;

/// Name of the column that says which rows were observed together.
const SET: &str = "set";

/// Makes the table.
pub(super) fn features(arguments: &FeaturesArguments) -> Result<String, Failure> {
    foretell_files::check(&arguments.output)?;
    let smoothing = Smoothing { window_s: arguments.window };
    let mut table = Features::default();
    let mut sets = Vec::new();
    for (name, observed) in observations(arguments)? {
        let found = features_of(&observed, smoothing)?.lagged(usize::from(arguments.lags));
        if found.times.is_empty() {
            return Err(Failure::Usage(format!(
                "`{name}` has no interval of clients at whose end {} s of metrics have passed; make \
                 `--window` smaller",
                arguments.window
            )));
        }
        sets.extend(std::iter::repeat_n(sets.last().map_or(0, |last| last + 1), found.times.len()));
        table.append(found)?;
    }
    let varies = |column: &[f64]| column.iter().any(|value| value.to_bits() != column[0].to_bits());
    let kept: Vec<usize> = (0..table.names.len())
        .filter(|index| arguments.keep_constant || varies(&table.columns[*index]))
        .collect();
    keep::write_file(&arguments.output, |file| write(file, &table, &sets, &kept))?;
    let mut text = format!("{} rows, {} features", table.times.len(), kept.len());
    if kept.len() < table.names.len() {
        let _ = write!(text, " ({} are constant and left out)", table.names.len() - kept.len());
    }
    let _ = writeln!(
        text,
        "; targets: {}",
        targets(&table).map(|(n, _)| n).collect::<Vec<_>>().join(", ")
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

/// The targets that clients reported, by name.
fn targets(table: &Features) -> impl Iterator<Item = (&'static str, &[f64])> {
    let all = TARGETS.iter().zip(&table.targets);
    all.filter(|(_, column)| !column.is_empty()).map(|(target, column)| (target.name, &column[..]))
}

fn write(
    file: &mut dyn std::io::Write,
    table: &Features,
    sets: &[usize],
    kept: &[usize],
) -> std::io::Result<()> {
    write!(file, "{SET},time_s")?;
    for (name, _) in targets(table) {
        write!(file, ",{name}")?;
    }
    for &index in kept {
        write!(file, ",{}", table.names[index])?;
    }
    writeln!(file)?;
    for (row, time) in table.times.iter().enumerate() {
        write!(file, "{},{time}", sets[row])?;
        for (_, column) in targets(table) {
            write!(file, ",{}", column[row])?;
        }
        for &index in kept {
            write!(file, ",{}", table.columns[index][row])?;
        }
        writeln!(file)?;
    }
    file.flush()
}
