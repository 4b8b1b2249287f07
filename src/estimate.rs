//! `foretell estimate`: the throughput of mixed loads from points measured elsewhere.

mod report;

use foretell_core::measured_points::{Sources, read};
use foretell_estimate::{
    Knowledge, Links, Measured, Overload, ReadShare, Series, Survey, WritePath,
};

use crate::cli::{EstimateArguments, WritePathChoice};
use crate::failure::Failure;
use report::Report;

/// Runs the command.
pub(crate) fn estimate(arguments: &EstimateArguments) -> Result<(), Failure> {
    let asked = arguments.read.iter().map(|percent| {
        ReadShare::from_percent(*percent).ok_or_else(|| {
            Failure::Usage(format!("`--read {percent}`: expected a percentage from 0 to 100"))
        })
    });
    let asked = asked.collect::<Result<Vec<_>, _>>()?;
    let EstimateArguments { fio, cosbench, csv, run, .. } = arguments;
    let found = read(Sources { fio, cosbench, csv, run })?;
    let mut notes = found.notes;
    match found.unusable.first() {
        Some(why) if !arguments.skip || found.points.is_empty() => {
            let hint = if arguments.skip { "" } else { "; `--skip` passes over such runs" };
            return Err(Failure::Usage(format!("{why}{hint}")));
        }
        _ => notes.extend(found.unusable.iter().map(|why| format!("left out: {why}"))),
    }
    let (survey, left_out) = Survey::new(&found.points, arguments.skip).map_err(|fault| {
        let hint = match fault {
            foretell_estimate::Fault::Missing { .. } if !arguments.skip => {
                "; `--skip` passes over such sizes"
            }
            _ => "",
        };
        Failure::Usage(format!("{fault}{hint}"))
    })?;
    notes.extend(left_out.iter().map(|fault| format!("left out: {fault}")));
    let links = arguments.link_in.zip(arguments.link_out);
    let knowledge = Knowledge {
        links: links.map(|(into, out_of)| Links { into, out_of }),
        needed: arguments.encoding.m() as u32,
        stored: arguments.encoding.n() as u32,
        path: match arguments.write_path {
            WritePathChoice::Client => WritePath::Client,
            WritePathChoice::Primary => WritePath::Primary,
            WritePathChoice::Proxy => WritePath::Proxy,
        },
        outstanding: arguments.outstanding,
    };
    let sizes = arguments.sizes.as_ref().map(|sizes| sizes.0.as_slice());
    let knows = |series: &str| Knowledge {
        outstanding: found.outstanding.get(series).copied().or(knowledge.outstanding),
        ..knowledge
    };
    for (name, series) in &survey.series {
        fits_links(series, knows(name))?;
    }
    let report = Report::new(&survey, &knows, &asked, sizes, notes)?;
    crate::output::print(&if arguments.json { report.json() } else { report.text() })
}

/// Returns an error if more was measured than the links carry.
fn fits_links(series: &Series, knowledge: Knowledge) -> Result<(), Failure> {
    for (size, points) in &series.sizes {
        let pure = [(ReadShare::READS, &points.read), (ReadShare::WRITES, &points.write)];
        let mixed = points.mixed.iter().map(|(reads, measured)| (*reads, measured));
        for (reads, Measured { iops, .. }) in pure.into_iter().chain(mixed) {
            let Some(overload) = knowledge.overload(*size, reads, *iops) else { continue };
            let Overload { direction, bits_per_s, link } = overload;
            let what = match reads {
                ReadShare::READS => format!("{iops:.0} reads/s"),
                ReadShare::WRITES => format!("{iops:.0} writes/s"),
                mix => format!("{iops:.0} requests/s with {mix} % reads"),
            };
            return Err(Failure::Usage(format!(
                "{size}: {what} were measured, which is {}; the links {direction} carry {link}",
                rate_of(bits_per_s)
            )));
        }
    }
    Ok(())
}

/// A rate in a suitable unit.
fn rate_of(bits_per_s: f64) -> String {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    let unit = units.into_iter().find(|(unit, _)| bits_per_s >= *unit);
    unit.map_or(format!("{bits_per_s:.0} bit/s"), |(unit, name)| {
        format!("{:.1} {name}", bits_per_s / unit)
    })
}
