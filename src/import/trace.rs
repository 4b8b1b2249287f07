//! `foretell import FORMAT FILE`: converts a block trace to the project's own format.
//!
//! It takes one pass in fixed memory. The output file is either complete or absent.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use foretell_files::{FileKind, FilesError, NewFile};
use foretell_workloads::trace::{
    Format, ReadOptions, TraceError, TraceFile, TraceReader, TraceWriter,
};
use serde_json::json;

use crate::cli::{ImportTraceArguments as Arguments, ReadingArguments};
use crate::failure::{Failure, note};
use crate::interrupt;

/// Number of requests between checks for an interruption by the user.
const BETWEEN_LOOKS: u64 = 1 << 16;

/// Opens a trace, or standard input. Errors if an option has no effect with its format.
pub(crate) fn open(
    file: &Path,
    reading: &ReadingArguments,
    format: Option<Format>,
) -> Result<TraceReader, Failure> {
    let options = reading.options(format);
    let opened = if file == Path::new("-") {
        TraceReader::new("standard input", std::io::stdin(), &options)
    } else {
        TraceReader::open(file, &options)
    };
    let trace = opened.map_err(|error| match error {
        TraceError::UnknownFormat { .. } => {
            Failure::Usage(format!("{error}, with `--format NAME`"))
        }
        error => error.into(),
    })?;
    reading.without_effect(trace.format()).map_or(Ok(trace), |what| Err(Failure::Usage(what)))
}

/// The failure for a trace without requests, which is probably a mistake.
pub(crate) fn no_requests(trace: &TraceReader, file: &Path, device: Option<&str>) -> Failure {
    let name = file.display();
    let others: Vec<String> = trace.other_devices().map(|other| format!("`{other}`")).collect();
    Failure::Usage(match device {
        Some(device) if !others.is_empty() => format!(
            "no request of trace `{name}` is to device `{device}`; its first devices are {}",
            others.join(", ")
        ),
        _ => format!(
            "trace `{name}` holds no requests: {} bad lines or records and {} others were left out",
            trace.bad(),
            trace.other()
        ),
    })
}

/// Calls `each` with the requests of a trace, until the trace ends or the user interrupts.
pub(crate) fn for_each(
    trace: &mut TraceReader,
    mut each: impl FnMut(foretell_workloads::Request) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    interrupt::watch();
    let mut requests = 0;
    for request in trace.by_ref() {
        each(request?)?;
        requests += 1;
        if requests % BETWEEN_LOOKS == 0 && interrupt::asked() {
            return Err(Failure::Interrupted { done: format!("{requests} requests") });
        }
    }
    Ok(requests)
}

/// Runs the command for one format, or for whatever format the file has.
pub(super) fn import(arguments: &Arguments, format: Option<Format>) -> Result<(), Failure> {
    foretell_files::check_apart(arguments.output.as_deref(), FileKind::ANY, [&arguments.file])?;
    if let Some(output) = &arguments.output {
        is_replaceable(output)?;
    }
    let mut trace = open(&arguments.file, &arguments.reading, format)?;
    let Some(output) = &arguments.output else {
        let mut writer =
            TraceWriter::new(std::io::BufWriter::new(std::io::stdout().lock()), trace.has_times())
                .map_err(Failure::Output)?;
        for_each(&mut trace, |request| writer.write(request).map_err(Failure::Output))?;
        writer.finish().map_err(Failure::Output)?;
        nothing(&trace, arguments)?;
        // standard output has the trace
        for line in left_out(&trace).lines() {
            note(line);
        }
        return Ok(());
    };
    to_file(&mut trace, output, arguments)?;
    let text = if arguments.json { as_json(&trace, output) } else { as_text(&trace, output) };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(Failure::Output)
}

/// Fails if a trace has no requests.
fn nothing(trace: &TraceReader, arguments: &Arguments) -> Result<(), Failure> {
    if trace.given() > 0 {
        return Ok(());
    }
    Err(no_requests(trace, &arguments.file, arguments.reading.device.as_deref()))
}

/// Errors if there is a file that is not a trace in our own format: it is not replaced. It may be compressed.
fn is_replaceable(path: &Path) -> Result<(), Failure> {
    if std::fs::metadata(path).map_or(true, |file| file.len() == 0) {
        return Ok(());
    }
    let options = ReadOptions { format: Some(Format::Foretell), ..ReadOptions::default() };
    let first = TraceReader::open(path, &options).ok().and_then(|mut trace| trace.next());
    if matches!(first, Some(Ok(_))) {
        return Ok(());
    }
    let what = "a trace in foretell's own format";
    Err(FilesError::OtherKind { path: path.to_owned(), what }.into())
}

fn to_file(trace: &mut TraceReader, path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let failed = |error| Failure::file("write", path)(error);
    let output = TraceFile::new(NewFile::begin(path, FileKind::ANY)?, path).map_err(failed)?;
    let mut writer = TraceWriter::new(output, trace.has_times()).map_err(failed)?;
    for_each(trace, |request| writer.write(request).map_err(failed))?;
    nothing(trace, arguments)?;
    let file = writer.finish().and_then(TraceFile::finish).map_err(failed)?;
    Ok(file.commit()?)
}

fn as_text(trace: &TraceReader, output: &Path) -> String {
    let (given, format, output) = (trace.given(), trace.format(), output.display());
    format!("{given} requests ({format}) in {output}\n{}", left_out(trace))
}

/// What an import left out or changed, each on a line.
fn left_out(trace: &TraceReader) -> String {
    let mut text = String::new();
    for (count, what) in [
        (trace.bad(), "bad lines or records left out"),
        (trace.other(), "lines left out that move no data or are not asked for"),
        (trace.out_of_order(), "requests out of order, given the latest time before them"),
    ] {
        if count > 0 {
            let _ = writeln!(text, "{count} {what}");
        }
    }
    text
}

fn as_json(trace: &TraceReader, output: &Path) -> String {
    let document = json!({
        "output": output.display().to_string(),
        "format": trace.format().name(),
        "requests": trace.given(),
        "bad": trace.bad(),
        "other": trace.other(),
        "out_of_order": trace.out_of_order(),
        "has_times": trace.has_times(),
    });
    crate::output::json(&document)
}
