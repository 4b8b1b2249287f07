//! `foretell reproduce virtualized`: paper 001, "Predictive performance modeling of virtualized storage
//! systems using optimized statistical regression techniques" (Noorshams et al., ICPE 2013).
//!
//! The system under study (`scenarios/virtualized.toml`) is simulated in the configurations of Table 1;
//! four regression models learn each of four targets from what was measured, with standard parameters and
//! with those that the paper's search finds by cross-validation of the same rows; then they are asked
//! about configurations that nobody learned from.

mod design;
mod figures;
mod measure;
mod models;
mod published;

use foretell_ati::DirectoryLock;
use serde::Serialize;

use super::page::Page;
use super::sheet::Claim;
use super::summary::table_of_claims;
use crate::cli::ReproduceArguments;
use crate::directory::write_whole;
use crate::failure::Failure;
use crate::jobs;
use design::Point;
use figures::Errors;
use measure::{Effort, Laboratory, Measured};
use models::{Learning, Pair, Target, Technique};

#[derive(Serialize)]
struct Summary {
    paper: &'static str,
    quick: bool,
    full: bool,
    /// Configurations that models learned from.
    learned: usize,
    rows: Vec<Claim>,
}

/// Runs the command.
pub(super) fn reproduce(arguments: &ReproduceArguments) -> Result<(), Failure> {
    let directory = &arguments.output;
    let _lock = DirectoryLock::take(directory)?;
    let quick = arguments.quick;
    let effort = match (quick, arguments.full) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Full,
        _ => Effort::Usual,
    };
    let threads = jobs::threads(arguments.jobs);
    let mut laboratory = Laboratory::open(directory, effort, threads)?;
    let mut claims = Vec::new();
    let mut publish = |page: Page| -> Result<(), Failure> {
        page.write(directory)?;
        claims.extend(page.claims);
        Ok(())
    };

    let learned = runs(&mut laboratory, design::learned(quick))?;
    publish(figures::measurements(&learned))?;
    publish(figures::spread(&learned))?;
    publish(figures::schedulers(&learned))?;
    publish(figures::stability(&learned))?;

    let (each, few) = if quick { (6, 40) } else { (25, 100) };
    let reads = runs(&mut laboratory, design::interpolated(few, (25, 100), "reads"))?;
    let writes = runs(&mut laboratory, design::interpolated(few, (0, 75), "writes"))?;
    let beyond = runs(&mut laboratory, design::extrapolated(quick))?;
    let two = runs(&mut laboratory, design::distributed(2, each))?;
    let three = runs(&mut laboratory, design::distributed(3, each))?;

    let iterations = if quick { 3 } else { 10 };
    let how = Learning { iterations, threads, log_target: false };
    let pairs = learn(&learned, how)?;
    publish(figures::parameters(&pairs))?;
    publish(figures::fit(&pairs))?;

    let within = |target: Target| if target.reads() { &reads } else { &writes };
    let all = |target: Target| within(target).iter().collect();
    let errors = Errors::of(&pairs, all)?;
    publish(figures::predictions("tab04", &pairs, |target| within(target).clone())?)?;
    publish(figures::distribution(&errors))?;
    let mut page = figures::interpolation(&errors);
    let logarithms = learn(&learned, Learning { log_target: true, ..how })?;
    figures::with_logarithms(&mut page, &Errors::of(&logarithms, all)?);
    publish(page)?;

    let of_size = |large: bool| {
        let is = move |run: &&(Point, Measured)| (run.0.request_bytes > 4096) == large;
        Errors::of(&pairs, |_| beyond.iter().filter(is).collect())
    };
    publish(figures::predictions("tab05", &pairs, |_| beyond.clone())?)?;
    publish(figures::extrapolation(&of_size(false)?, &of_size(true)?))?;

    for (runs, is_three) in [(&two, false), (&three, true)] {
        let found = runs
            .chunks(each)
            .map(|group| Errors::of(&pairs, |_| group.iter().collect()))
            .collect::<Result<Vec<_>, _>>()?;
        publish(figures::machines(is_three, &found))?;
    }
    publish(figures::reduction(&errors))?;

    let (learned, full) = (learned.len(), arguments.full);
    let summary = Summary { paper: "virtualized", quick, full, learned, rows: claims };
    write_whole(&directory.join("summary.json"), &crate::output::json(&summary))?;
    let mut text = table_of_claims(&summary.rows);
    text += &format!("\nTables and pictures are in {}\n", directory.display());
    crate::output::print(&text)
}

fn runs(
    laboratory: &mut Laboratory,
    points: Vec<Point>,
) -> Result<Vec<(Point, Measured)>, Failure> {
    let measured = laboratory.measure(&points)?;
    Ok(points.into_iter().zip(measured).collect())
}

/// Models of every technique and target, in the paper's order.
fn learn(runs: &[(Point, Measured)], how: Learning) -> Result<Vec<Pair>, Failure> {
    let mut pairs = Vec::new();
    for technique in Technique::ALL {
        for target in Target::ALL {
            let of_it = runs.iter().filter_map(|(point, found)| Some((point, target.of(found)?)));
            let learned: Vec<(&Point, f64)> = of_it.collect();
            pairs.push(Pair::learn(technique, target, &learned, how)?);
        }
    }
    Ok(pairs)
}
