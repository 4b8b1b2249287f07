//! `foretell reproduce virtualized`: Noorshams et al. 2013, "Predictive performance modeling of virtualized storage
//! systems using optimized statistical regression techniques" (Noorshams et al., ICPE 2013).
//!
//! The system under study (`scenarios/virtualized.toml`) is simulated in the configurations of Table 1. Four
//! regression models learn each of four targets from the measurements. They use standard parameters, and those
//! found by the paper's search with cross-validation on the same rows. Then they predict configurations that no
//! model learned from.

mod design;
mod figures;
mod measure;
mod models;
mod published;

use foretell_files::Directory;
use serde::Serialize;

use super::page::Page;
use super::sheet::Claim;
use crate::Options;
use crate::error::Error;
use design::Point;
use figures::Errors;
use measure::{Effort, Laboratory, Measured};
use models::{Inputs, Learning, Pair, Target, Technique};

#[derive(Serialize)]
struct Summary {
    paper: &'static str,
    quick: bool,
    full: bool,
    /// Number of configurations that models learned from.
    learned: usize,
    rows: Vec<Claim>,
}

/// Runs the experiments, and returns the claims with their results.
pub(super) fn reproduce(options: &Options<'_>, directory: &Directory) -> Result<Vec<Claim>, Error> {
    let quick = options.quick;
    let effort = match (options.full, quick) {
        (true, _) => Effort::Full,
        (false, true) => Effort::Quick,
        (false, false) => Effort::Usual,
    };
    let workers = options.workers;
    let mut laboratory = Laboratory::open(directory, effort, workers)?;
    let mut claims = Vec::new();
    let mut publish = |page: Page| -> Result<(), Error> {
        page.write(directory)?;
        claims.extend(page.claims);
        Ok(())
    };

    let learned = runs(&mut laboratory, design::learned(quick))?;
    publish(figures::measurements(&learned))?;
    publish(figures::spread(&learned))?;
    publish(figures::schedulers(&learned))?;

    let (each, few) = if quick { (4, 30) } else { (25, 100) };
    let study = Study {
        learned,
        reads: runs(&mut laboratory, design::interpolated(few, (25, 100), "reads"))?,
        writes: runs(&mut laboratory, design::interpolated(few, (0, 75), "writes"))?,
        beyond: runs(&mut laboratory, design::extrapolated(quick))?,
        two: runs(&mut laboratory, design::distributed(2, each))?,
        three: runs(&mut laboratory, design::distributed(3, each))?,
        each,
    };
    let within: Vec<Point> = study.reads.iter().map(|(point, _)| point.clone()).collect();
    let again = laboratory.measure_again(&within)?;
    publish(figures::stability(&study.learned, &study.reads, &again))?;
    let iterations = if quick { 2 } else { 10 };
    let how =
        Learning { iterations, threads: workers.threads, log_target: false, inputs: Inputs::Table };
    for page in evaluate(&study, how)? {
        publish(page)?;
    }

    let (learned, full) = (study.learned.len(), options.full);
    let summary = Summary { paper: "virtualized", quick, full, learned, rows: claims };
    directory.write("summary.json", foretell_core::to_json(&summary).as_bytes())?;
    Ok(summary.rows)
}

/// All measurements.
struct Study {
    /// Training configurations.
    learned: Vec<(Point, Measured)>,
    /// Configurations within the range of the training, for predictions of reads and of writes.
    reads: Vec<(Point, Measured)>,
    writes: Vec<(Point, Measured)>,
    /// Configurations outside that range.
    beyond: Vec<(Point, Measured)>,
    /// Configurations on two and on three machines: `each` for every scheduler and pattern, in their order.
    two: Vec<(Point, Measured)>,
    three: Vec<(Point, Measured)>,
    each: usize,
}

/// Trains models, predicts, and compares with the paper.
fn evaluate(study: &Study, how: Learning) -> Result<Vec<Page>, Error> {
    let Study { learned, reads, writes, beyond, two, three, each } = study;
    let pairs = learn(learned, how)?;
    let mut pages = vec![figures::parameters(&pairs), figures::fit(&pairs)];

    let within = |target: Target| if target.reads() { reads } else { writes };
    let all = |target: Target| within(target).iter().collect();
    let errors = Errors::of(&pairs, all)?;
    pages.push(figures::predictions("tab04", &pairs, |target| within(target).clone())?);
    pages.push(figures::distribution(&errors));
    let mut page = figures::interpolation(&errors);
    for (inputs, variant) in
        [(Inputs::Table, &figures::LOGARITHMS), (Inputs::Known, &figures::KNOWN)]
    {
        let others = learn(learned, Learning { log_target: true, inputs, ..how })?;
        figures::with_variant(&mut page, variant, &Errors::of(&others, all)?);
    }
    pages.push(page);

    let of_size = |large: bool| {
        let is = move |run: &&(Point, Measured)| (run.0.request_bytes > 4096) == large;
        Errors::of(&pairs, |_| beyond.iter().filter(is).collect())
    };
    pages.push(figures::predictions("tab05", &pairs, |_| beyond.clone())?);
    pages.push(figures::extrapolation(&of_size(false)?, &of_size(true)?));

    for (runs, is_three) in [(two, false), (three, true)] {
        let found = runs
            .chunks(*each)
            .map(|group| Errors::of(&pairs, |_| group.iter().collect()))
            .collect::<Result<Vec<_>, _>>()?;
        pages.push(figures::machines(is_three, &found));
    }
    pages.push(figures::reduction(&errors));
    Ok(pages)
}

fn runs(
    laboratory: &mut Laboratory<'_>,
    points: Vec<Point>,
) -> Result<Vec<(Point, Measured)>, Error> {
    let measured = laboratory.measure(&points)?;
    Ok(points.into_iter().zip(measured).collect())
}

/// Models of every technique and target, in the paper's order.
fn learn(runs: &[(Point, Measured)], how: Learning) -> Result<Vec<Pair>, Error> {
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

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::measure::Direction;
    use super::*;

    /// A system that follows a formula: the time of reads is a sum of the inputs, and writes take half as long
    /// again.
    fn law(points: Vec<Point>) -> Vec<(Point, Measured)> {
        let measured = |point: &Point| {
            let response_ms = 2.0
                + point.request_bytes as f64 / 4096.0
                + point.file_set_mib as f64 / 10_240.0
                + f64::from(point.reads_percent) / 50.0;
            let direction = |times: f64, share: u32| {
                (share > 0).then(|| Direction {
                    response_ms: times * response_ms,
                    mb_per_s: f64::from(share) / response_ms,
                    relative_standard_error: Some(0.01),
                    requests: 1000,
                })
            };
            let (read, write) =
                (direction(1.0, point.reads_percent), direction(1.5, 100 - point.reads_percent));
            Measured { read, write, seconds: 10.0 }
        };
        points.into_iter().map(|point| (point.clone(), measured(&point))).collect()
    }

    #[test]
    fn a_lawful_system_is_predicted_and_every_figure_has_its_claims() {
        let mut learned = law(design::learned(true));
        // a quarter of the configurations is enough, and quickly searched
        learned.retain(|(point, _)| {
            [1024, 51_200, 102_400].contains(&point.file_set_mib)
                && [4096, 32_768].contains(&point.request_bytes)
        });
        let study = Study {
            learned,
            reads: law(design::interpolated(20, (25, 100), "reads")),
            writes: law(design::interpolated(20, (0, 75), "writes")),
            beyond: law(design::extrapolated(true)),
            two: law(design::distributed(2, 3)),
            three: law(design::distributed(3, 3)),
            each: 3,
        };
        let threads = NonZeroUsize::MIN;
        let how = Learning { iterations: 1, threads, log_target: false, inputs: Inputs::Table };
        let pages = evaluate(&study, how).unwrap();
        let files: Vec<&str> = pages.iter().map(|page| page.file).collect();
        assert_eq!(
            files,
            [
                "tab02", "tab03", "tab04", "fig08", "fig09", "tab05", "fig10", "fig11", "fig12",
                "fig13"
            ]
        );
        // response times are sums of the inputs: linear models fit them, and predict throughput less well
        let fig09 = pages.iter().find(|page| page.file == "fig09").unwrap();
        let claims: Vec<&str> = fig09.claims.iter().map(|claim| claim.statement).collect();
        assert!(claims[0].starts_with("LRM") && fig09.claims[0].holds, "{:?}", fig09.claims[0]);
        assert_eq!(claims.len(), 7);
        let again: Vec<Measured> = study.reads.iter().map(|(_, measured)| *measured).collect();
        for page in [
            figures::measurements(&study.learned),
            figures::spread(&study.learned),
            figures::schedulers(&study.learned),
            figures::stability(&study.learned, &study.reads, &again),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let out = Directory::take(directory.path(), foretell_files::Purpose::of("test"));
            page.write(&out.unwrap()).unwrap();
            let table =
                std::fs::read_to_string(directory.path().join(format!("{}.csv", page.file)));
            assert!(table.unwrap().lines().count() > 90, "{}", page.file);
            let claims = page.claims.iter();
            // both schedulers are equally fast here, and there is no limit of a cache
            let holds = claims.filter(|claim| claim.holds).count();
            assert_eq!(holds, if page.file == "fig05" { 5 } else { 0 }, "{:?}", page.claims);
        }
    }
}
