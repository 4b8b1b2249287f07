//! `foretell import fio-json`: the results of fio as a table.

use std::fmt::Write as _;

use foretell_files::FileKind;
use foretell_input::Limit;
use foretell_sorted::SortedSet;
use foretell_workloads::fio::{Job, Order};
use foretell_workloads::results::fio::{JobResult, Measured, parse};

use crate::cli::FioJsonArguments;
use crate::failure::Failure;

/// The columns; units are at the end of their names.
const HEADER: &str = "file,job,operation,order,block_bytes,read_share,iodepth,numjobs,requests,bytes,\
                      iops,bytes_per_s,latency_mean_ms,latency_deviation_ms,latency_max_ms,p50_ms,\
                      p95_ms,p99_ms";

const FILE: FileKind<'_> =
    FileKind::beginning("a table of `foretell import fio-json`", "file,job,operation,");

/// Runs the command.
pub(super) fn import(arguments: &FioJsonArguments) -> Result<(), Failure> {
    foretell_files::check_apart(arguments.output.as_deref(), FILE, &arguments.files)?;
    let mut table = format!("{HEADER}\n");
    let (mut rows, mut jobs) = (0, 0);
    let mut notes = SortedSet::new();
    let mut left_out = Vec::new();
    for path in &arguments.files {
        let file = path.display().to_string();
        let text = foretell_input::text(path, Limit::RESULT)
            .map_err(|error| Failure::Usage(format!("cannot read `{file}`: {error}")))?;
        let found = parse(&file, &text).map_err(|error| Failure::Usage(error.to_string()))?;
        notes.extend(found.notes);
        for result in found.runs.iter().flat_map(|run| &run.jobs) {
            let (job, ignored) = match result.job() {
                Ok(found) => found,
                Err(error) => {
                    left_out.push(format!("`{file}`: {error}"));
                    continue;
                }
            };
            jobs += 1;
            notes
                .extend(ignored.iter().map(|key| format!("option `{key}` of fio is in no column")));
            for measured in &result.measured {
                rows += 1;
                row(&mut table, &file, result, &job, measured);
            }
            if let Some(flushes) = result.flushes {
                notes.insert(format!(
                    "`{file}`, job `{}`: its {} flushes (`sync`), of {} ms on average, are in no column; \
                     `calibrate disk --fio` uses them",
                    result.name, flushes.count, flushes.mean_ms
                ));
            }
        }
    }
    if jobs == 0
        && let Some(error) = left_out.first()
    {
        return Err(Failure::Usage(error.clone()));
    }
    notes.extend(left_out.into_iter().map(|error| format!("a job is left out: {error}")));
    for note in &notes {
        crate::failure::note(note);
    }
    let printed = match &arguments.output {
        None => table,
        Some(output) => {
            foretell_files::write(output, FILE, table.as_bytes())?;
            let files = arguments.files.len();
            format!("{rows} rows of {jobs} jobs in {files} results, in {}\n", output.display())
        }
    };
    crate::output::print(&printed)
}

fn row(table: &mut String, file: &str, result: &JobResult, job: &Job, measured: &Measured) {
    // a name with a separator in it is quoted
    let quoted = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let percentile = |percent: f64| {
        let mut known = measured.percentiles_ms.iter();
        known
            .find(|(at, _)| (at - percent).abs() < 1e-6)
            .map_or_else(String::new, |p| p.1.to_string())
    };
    let order = if job.order == Order::Random { "random" } else { "sequential" };
    let sizes = &job.sizes[measured.op as usize];
    let block = if sizes.0.len() == 1 { sizes.largest().get().to_string() } else { String::new() };
    let _ = writeln!(
        table,
        "{},{},{},{order},{block},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        quoted(file),
        quoted(&result.name),
        measured.op,
        job.read_share,
        job.iodepth,
        job.numjobs,
        measured.requests,
        measured.bytes.get(),
        measured.iops,
        measured.bytes_per_s,
        measured.mean_ms,
        measured.deviation_ms,
        measured.max_ms,
        percentile(50.0),
        percentile(95.0),
        percentile(99.0)
    );
}
