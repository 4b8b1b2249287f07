//! The results of measurements and models: a page for each figure and table of the paper.

use foretell_learn::metrics::{Ecdf, paired_t_test};
use foretell_pictures::Chart;

use super::design::{Pattern, Point, Scheduler};
use super::measure::{Direction, Measured};
use super::models::{Pair, Target, Technique};
use super::published::{self, Grid};
use crate::error::Error;
use crate::page::Page;
use crate::sheet::figure;

/// Measured configurations.
pub(super) type Runs = [(Point, Measured)];

/// Errors of the optimized and the standard models, by technique and target.
pub(super) struct Errors {
    pub(super) optimized: Vec<Vec<Vec<f64>>>,
    pub(super) standard: Vec<Vec<Vec<f64>>>,
    /// Errors of the optimized models by technique: for file sets between the smallest and the next size learned
    /// from, and for all others.
    split: Vec<[Vec<f64>; 2]>,
}

/// The smallest file set that was learned from, and the next, in MiB. The caches' sizes lie between them, and
/// response times rise there.
const BETWEEN_MIB: [u64; 2] = [1024, 25 * 1024];

impl Errors {
    /// Errors of models in the paper's order, on the configurations that `of` returns for a target.
    pub(super) fn of<'a>(
        pairs: &[Pair],
        of: impl Fn(Target) -> Vec<&'a (Point, Measured)>,
    ) -> Result<Self, Error> {
        let mut errors = Self {
            optimized: vec![Vec::new(); 4],
            standard: vec![Vec::new(); 4],
            split: vec![Default::default(); 4],
        };
        for pair in pairs {
            let runs = of(pair.target);
            let measured: Vec<(&Point, f64)> = runs
                .iter()
                .filter_map(|(point, measured)| Some((point, pair.target.of(measured)?)))
                .collect();
            let technique = pair.technique as usize;
            let found = pair.errors(&pair.optimized, &measured)?;
            for ((point, _), error) in measured.iter().zip(&found) {
                let [from, to] = BETWEEN_MIB;
                let is_between = from < point.file_set_mib && point.file_set_mib < to;
                errors.split[technique][usize::from(!is_between)].push(*error);
            }
            errors.optimized[technique].push(found);
            errors.standard[technique].push(pair.errors(&pair.standard, &measured)?);
        }
        Ok(errors)
    }

    /// If the errors of a technique are much larger between sizes that were learned from: a sentence that says so.
    fn between(&self, technique: Technique) -> Option<String> {
        let [between, elsewhere] = &self.split[technique as usize];
        let [off, otherwise] = [between, elsewhere].map(|errors| 100.0 * mean(errors));
        (!elsewhere.is_empty() && off > 1.5 * otherwise).then(|| {
            format!(
                "{} is {off:.1} % off where files are larger than 1 and smaller than 25 GiB, sizes between which \
                 nothing is learned, and {otherwise:.1} % elsewhere",
                technique.name()
            )
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Mean errors in percent, by technique and target.
fn grid(errors: &[Vec<Vec<f64>>]) -> Grid {
    let mut grid = [[0.0; 4]; 4];
    for (row, targets) in grid.iter_mut().zip(errors) {
        for (cell, errors) in row.iter_mut().zip(targets) {
            *cell = 100.0 * mean(errors);
        }
    }
    grid
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

/// All measurements.
pub(super) fn measurements(runs: &Runs) -> Page {
    let mut page = Page::new(
        "tab01",
        "scheduler,file_set_mib,request_bytes,pattern,reads_percent,read_ms,write_ms,read_mb_per_s,\
         write_mb_per_s,read_relative_standard_error,write_relative_standard_error,measured_s",
    );
    for (point, measured) in runs {
        let cell = |value: Option<f64>| value.map_or_else(String::new, figure);
        let mut cells = point_cells(point);
        cells.extend(Target::ALL.map(|target| cell(target.of(measured))));
        for direction in [measured.read, measured.write] {
            cells.push(cell(direction.and_then(|direction| direction.relative_standard_error)));
        }
        cells.push(figure(measured.seconds));
        page.row(cells);
    }
    page
}

fn point_cells(point: &Point) -> Vec<String> {
    vec![
        point.scheduler.name().to_owned(),
        point.file_set_mib.to_string(),
        point.request_bytes.to_string(),
        point.pattern.name().to_owned(),
        point.reads_percent.to_string(),
    ]
}

/// Figure 1a: the spread of response times, and the effects of the caches.
pub(super) fn spread(runs: &Runs) -> Page {
    let mut page = Page::new("fig01a", "direction,share_of_configurations,response_ms");
    let mut chart = Chart::lines(
        "",
        "Response time of all configurations, in order",
        "share of configurations, percent",
        "ms",
    );
    let mut all = Vec::new();
    for (target, name) in [(Target::ReadTime, "reads"), (Target::WriteTime, "writes")] {
        let mut times: Vec<f64> =
            runs.iter().filter_map(|(_, measured)| target.of(measured)).collect();
        times.sort_by(f64::total_cmp);
        let shares = (1..).map(|number| 100.0 * f64::from(number) / times.len() as f64);
        let points: Vec<(f64, f64)> = shares.zip(times.iter().copied()).collect();
        for (share, ms) in &points {
            page.row(vec![name.to_owned(), figure(*share), figure(*ms)]);
        }
        chart.line(name, &points);
        all.extend(times);
    }
    page.chart(chart);
    let (least, most) = extremes(&all);
    page.claim(
        "Fig. 1a",
        "the longest mean response time is more than 35 times the shortest",
        (most > 35.0 * least, format!("{:.0}: from {least:.2} to {most:.1} ms", most / least)),
        None,
    );
    let random = |target: Target, gib: u64, reads: u32| {
        let those = runs.iter().filter(|(point, _)| {
            point.pattern == Pattern::Random
                && point.file_set_mib == 1024 * gib
                && point.reads_percent == reads
        });
        mean(&those.filter_map(|(_, measured)| target.of(measured)).collect::<Vec<_>>())
    };
    let writes = [1, 25].map(|gib| random(Target::WriteTime, gib, 0));
    page.claim(
        "Section 6.1",
        "writes pay where the file set is larger than the NVC (2 GB)",
        (
            writes[1] > 1.5 * writes[0],
            format!("random writes: {:.1} ms of 1 GiB, {:.1} ms of 25 GiB", writes[0], writes[1]),
        ),
        None,
    );
    let reads = [50, 75].map(|gib| random(Target::ReadTime, gib, 100));
    page.claim(
        "Section 6.1",
        "reads pay where the file set is larger than the VC (50 GB)",
        (
            reads[1] > 1.5 * reads[0],
            format!("random reads: {:.1} ms of 50 GiB, {:.1} ms of 75 GiB", reads[0], reads[1]),
        ),
        None,
    );
    page
}

fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

/// Figure 1b: CFQ against NOOP.
pub(super) fn schedulers(runs: &Runs) -> Page {
    let mut page = Page::new(
        "fig01b",
        "file_set_mib,request_bytes,pattern,reads_percent,direction,cfq_ms,noop_ms,cfq_by_noop",
    );
    let mut worst: Option<(f64, String)> = None;
    let mut shown: Vec<(String, f64, f64)> = Vec::new();
    for (point, measured) in runs.iter().filter(|(point, _)| point.scheduler == Scheduler::Cfq) {
        let twin = Point { scheduler: Scheduler::Noop, ..point.clone() };
        let Some((_, noop)) = runs.iter().find(|(other, _)| *other == twin) else { continue };
        for (target, name) in [(Target::ReadTime, "read"), (Target::WriteTime, "write")] {
            let (Some(cfq), Some(noop)) = (target.of(measured), target.of(noop)) else { continue };
            let mut cells = point_cells(point);
            cells.remove(0);
            cells.extend([name.to_owned(), figure(cfq), figure(noop), figure(cfq / noop)]);
            page.row(cells);
            let (gib, kib) = (point.file_set_mib / 1024, point.request_bytes / 1024);
            let (pattern, reads) = (point.pattern.name(), point.reads_percent);
            let description =
                || format!("{name}s of {kib} KiB, {pattern}, {gib} GiB, {reads} % reads");
            if worst.as_ref().is_none_or(|(ratio, _)| cfq / noop > *ratio) {
                worst = Some((cfq / noop, description()));
            }
            if name == "read" && reads == 100 && matches!(kib, 4 | 32) && gib == 25 {
                shown.push((format!("{pattern} {kib} KiB"), cfq, noop));
            }
        }
    }
    let mut chart = Chart::bars("", "Reads of 25 GiB by I/O scheduler", "", "ms");
    for (name, cfq) in [("CFQ", true), ("NOOP", false)] {
        let heights: Vec<(&str, f64)> = shown
            .iter()
            .map(|(at, with_cfq, with_noop)| {
                (at.as_str(), if cfq { *with_cfq } else { *with_noop })
            })
            .collect();
        chart.bar(name, &heights);
    }
    page.chart(chart);
    let (ratio, what) = worst.unwrap_or_default();
    page.claim(
        "Fig. 1b",
        "CFQ impairs performance drastically for certain configurations",
        (ratio > 3.0, format!("up to {ratio:.1} times the time of NOOP: {what}")),
        (ratio < 1.2).then(|| "NOOP is nearly as slow everywhere".to_owned()),
    );
    page
}

/// Picks the measurements of one direction.
type Of = fn(&Measured) -> Option<Direction>;

/// Figure 5: how stable the measurements are. `again`: the results for `within` with other random draws.
pub(super) fn stability(runs: &Runs, within: &Runs, again: &[Measured]) -> Page {
    let mut page = Page::new("fig05", "direction,share_of_configurations,relative_standard_error");
    let mut chart = Chart::lines(
        "",
        "Relative standard error of the intervals' mean response times",
        "percent",
        "share of configurations, percent",
    );
    let directions: [(&str, Of, &'static str, &'static str, f64, f64); 2] = [
        (
            "reads",
            |m| m.read,
            "reads: mean RSE 3.35 %",
            "reads: 90th percentile 8.45 %",
            3.35,
            8.45,
        ),
        (
            "writes",
            |m| m.write,
            "writes: mean RSE 2.10 %",
            "writes: 90th percentile 5.35 %",
            2.10,
            5.35,
        ),
    ];
    for (name, of, mean_statement, p90_statement, mean_bar, p90_bar) in directions {
        let errors = runs.iter().filter_map(|(_, measured)| of(measured)?.relative_standard_error);
        let mut errors: Vec<f64> = errors.map(|error| 100.0 * error).collect();
        errors.sort_by(f64::total_cmp);
        let shares = (1..).map(|number| 100.0 * f64::from(number) / errors.len() as f64);
        let points: Vec<(f64, f64)> = errors.iter().copied().zip(shares).collect();
        for (error, share) in &points {
            page.row(vec![name.to_owned(), figure(*share), figure(*error / 100.0)]);
        }
        chart.line(name, &points);
        let p90 = Ecdf::new(errors.clone()).quantile(0.9).unwrap_or(0.0);
        let found = mean(&errors);
        let why = |bar| cut_short(runs, of, bar);
        let holds = (found <= mean_bar, format!("{found:.2} %"));
        page.claim("Fig. 5", mean_statement, holds, why(mean_bar));
        let holds = (p90 <= p90_bar, format!("{p90:.2} %"));
        page.claim("Fig. 5", p90_statement, holds, why(p90_bar));
    }
    let off = Target::ALL.map(|target| noise(target, within, again));
    let each: Vec<String> = off.iter().map(|off| format!("{off:.1}")).collect();
    let best_model = published::mean(&published::INTERPOLATION[Technique::Mars as usize]);
    page.claim(
            "Fig. 5, ours",
            "where something is read, chance makes a measurement differ from its mean by less than the best model \
             of Fig. 9 (6.9 %)",
        (published::mean(&off) < best_model, format!("{:.1} % (of the targets {})", published::mean(&off), each.join(", "))),
        None,
    );
    page.chart(chart);
    page
}

/// A sentence, if most configurations whose error exceeds `bar` percent were measured for the longest possible time:
/// their measurement ended before the error was small.
fn cut_short(runs: &Runs, of: Of, bar: f64) -> Option<String> {
    let seconds = || runs.iter().map(|(_, measured)| measured.seconds);
    let (least, longest) = extremes(&seconds().collect::<Vec<_>>());
    let above = runs.iter().filter(|(_, measured)| {
        of(measured)
            .and_then(|found| found.relative_standard_error)
            .is_some_and(|e| 100.0 * e > bar)
    });
    let above: Vec<f64> = above.map(|(_, measured)| measured.seconds).collect();
    let cut = above.iter().filter(|seconds| **seconds > 0.99 * longest).count();
    // if all were measured equally long, none was cut short
    (longest > 1.01 * least && 2 * cut > above.len()).then(|| {
        format!(
            "{cut} of the {} configurations above {bar} % were measured for the longest time, {longest:.0} s, and not \
             until their error was small; `--full` measures as long as the paper",
            above.len()
        )
    })
}

/// Mean relative error of a measurement by chance, in percent. No model can do better on these configurations.
///
/// Two measurements of a configuration differ by the errors of both, which is √2 times one error.
fn noise(target: Target, within: &Runs, again: &[Measured]) -> f64 {
    let both = within.iter().zip(again).filter_map(|((_, one), other)| {
        let (one, other) = (target.of(one)?, target.of(other)?);
        Some((one - other).abs() / f64::midpoint(one, other))
    });
    100.0 * mean(&both.collect::<Vec<_>>()) / std::f64::consts::SQRT_2
}

/// Table 2: the parameters that the search found.
pub(super) fn parameters(pairs: &[Pair]) -> Page {
    let mut page = Page::new("tab02", "technique,target,standard,optimized,evaluations");
    let mut most = 0;
    for pair in pairs.iter().filter(|pair| pair.evaluations > 0) {
        page.row(vec![
            pair.technique.name().to_owned(),
            pair.target.name().to_owned(),
            pair.standard.spec.to_string(),
            pair.optimized.spec.to_string(),
            pair.evaluations.to_string(),
        ]);
        if pair.technique == Technique::Cubist {
            most = most.max(pair.evaluations);
        }
    }
    page.claim(
        "Section 5",
        "a search over three parameters evaluates at most 6³ − 1 + 9·5·(6³ − 4) points",
        (most <= 9755, format!("Cubist: {most} points at most")),
        None,
    );
    page
}

/// Table 3: goodness of fit.
pub(super) fn fit(pairs: &[Pair]) -> Page {
    const STATEMENTS: [(&str, f64); 4] = [
        ("LRM: R² .967 (at least .96 is aimed at)", 0.96),
        ("MARS: R² .997 (at least .995)", 0.995),
        ("CART: R² 1.000 (at least .998)", 0.998),
        ("Cubist: R² .9995 (at least .999)", 0.999),
    ];
    let mut page = Page::new("tab03", "technique,target,r2,published_r2");
    let mut chart = Chart::bars("", "Goodness of fit", "", "R²");
    for technique in Technique::ALL {
        let of_it = pairs.iter().filter(|pair| pair.technique == technique);
        let fits: Vec<f64> = of_it.map(|pair| pair.fit).collect();
        let published = published::FIT[technique as usize];
        for ((target, fit), published) in Target::ALL.iter().zip(&fits).zip(published) {
            let (technique, target) = (technique.name().to_owned(), target.name().to_owned());
            page.row(vec![technique, target, format!("{fit:.4}"), published.to_string()]);
        }
        let heights: Vec<(&str, f64)> =
            Target::ALL.iter().map(|target| target.name()).zip(fits.iter().copied()).collect();
        chart.bar(technique.name(), &heights);
        let (statement, bar) = STATEMENTS[technique as usize];
        let found = mean(&fits);
        page.claim("Table 3", statement, (found >= bar, format!("{found:.4}")), None);
    }
    page.chart(chart);
    page
}

/// A figure of mean errors beside those of the paper.
struct ErrorPage {
    file: &'static str,
    figure: &'static str,
    title: &'static str,
    /// The paper's claims by technique, with the limit of each in percent.
    claims: [(&'static str, f64); 4],
    /// Reasons for claims that do not hold, by technique.
    why: [Option<String>; 4],
}

fn error_rows(page: &mut Page, group: &str, found: &Grid, published: &Grid) {
    for technique in Technique::ALL {
        for (index, target) in Target::ALL.iter().enumerate() {
            page.row(vec![
                group.to_owned(),
                technique.name().to_owned(),
                target.name().to_owned(),
                figure(found[technique as usize][index]),
                published[technique as usize][index].to_string(),
            ]);
        }
    }
}

const ERROR_HEADER: &str = "group,technique,target,mean_error_percent,published_mean_error_percent";

fn error_chart(name: &'static str, title: &str, found: &Grid) -> Chart {
    let mut chart = Chart::bars(name, title, "", "mean relative error, percent");
    for technique in Technique::ALL {
        let row = found[technique as usize];
        let mut heights: Vec<(&str, f64)> =
            Target::ALL.iter().map(|target| target.name()).zip(row).collect();
        heights.push(("mean", published::mean(&row)));
        chart.bar(technique.name(), &heights);
    }
    chart
}

impl ErrorPage {
    fn page(self, found: &Grid, published: &Grid) -> Page {
        let mut page = Page::new(self.file, ERROR_HEADER);
        error_rows(&mut page, "all", found, published);
        page.chart(error_chart("", self.title, found));
        for (technique, why) in Technique::ALL.into_iter().zip(self.why) {
            let ours = published::mean(&found[technique as usize]);
            let (statement, bar) = self.claims[technique as usize];
            page.claim(self.figure, statement, (ours <= bar, percent(ours)), why);
        }
        page
    }
}

/// Figure 9: interpolation.
pub(super) fn interpolation(errors: &Errors) -> Page {
    let found = grid(&errors.optimized);
    let about = ErrorPage {
        file: "fig09",
        figure: "Fig. 9",
        title: "Prediction error, interpolation",
        claims: [
            ("LRM: 13.1 % off in the mean", 13.1),
            ("MARS: 6.9 %", 6.9),
            ("CART: 10.3 %", 10.3),
            ("Cubist: 7.5 %", 7.5),
        ],
        why: Technique::ALL.map(|technique| errors.between(technique)),
    };
    let mut page = about.page(&found, &published::INTERPOLATION);
    let means = found.map(|row| published::mean(&row));
    let best = means[Technique::Mars as usize].max(means[Technique::Cubist as usize]);
    let rest = means[Technique::Lrm as usize].min(means[Technique::Cart as usize]);
    page.claim(
        "Fig. 9",
        "MARS and Cubist are better than LRM and CART",
        (
            best < rest,
            format!("MARS and Cubist at most {best:.1} %, the others at least {rest:.1} %"),
        ),
        None,
    );
    page
}

/// A variant of the paper's models.
pub(super) struct Variant {
    group: &'static str,
    title: &'static str,
    statement: &'static str,
}

/// Models of the target's logarithm.
pub(super) const LOGARITHMS: Variant = Variant {
    group: "log",
    title: "Interpolation, models of the target's logarithm",
    statement: "13.1, 6.9, 10.3, 7.5 % (plain targets), beside models of the logarithm",
};

/// The same models from [`Inputs::Known`](super::models::Inputs::Known).
pub(super) const KNOWN: Variant = Variant {
    group: "known",
    title: "Interpolation, models that see what the caches do not hold",
    statement: "the same, beside models of the logarithm that see what the caches do not hold, and requests' sizes as powers of two",
};

/// Adds the errors of other models to Figure 9.
pub(super) fn with_variant(page: &mut Page, variant: &Variant, errors: &Errors) {
    let found = grid(&errors.optimized);
    error_rows(page, variant.group, &found, &published::INTERPOLATION);
    page.chart(error_chart(variant.group, variant.title, &found));
    let means = found.map(|row| published::mean(&row));
    let ours: Vec<String> = Technique::ALL
        .iter()
        .zip(means)
        .map(|(technique, mean)| format!("{} {mean:.1} %", technique.name()))
        .collect();
    let bars = published::INTERPOLATION.map(|row| published::mean(&row));
    page.claim(
        "Fig. 9, ours",
        variant.statement,
        (means.iter().zip(bars).all(|(mean, bar)| *mean <= bar), ours.join(", ")),
        None,
    );
}

/// Figure 8: distribution of the errors of interpolation, before and after the search.
pub(super) fn distribution(errors: &Errors) -> Page {
    let mut page = Page::new("fig08", "technique,parameters,error_percent,share_percent");
    let kinds = [("optimized", &errors.optimized), ("standard", &errors.standard)];
    let mut shares = [0.0; 4];
    let mut p90 = [0.0; 4];
    for (name, errors) in kinds {
        let title = format!("Distribution of errors, {name} parameters");
        let mut chart = Chart::lines(
            if name == "optimized" { "optimized" } else { "standard" },
            title,
            "relative error, percent (up to 100)",
            "share, percent",
        );
        for technique in Technique::ALL {
            let all: Vec<f64> = errors[technique as usize].concat();
            let ecdf = Ecdf::new(all.iter().map(|error| 100.0 * error).collect());
            let at = |error: f64| (error, 100.0 * ecdf.share(error));
            let points: Vec<(f64, f64)> = (0..=200).map(|half| at(f64::from(half) / 2.0)).collect();
            for (error, share) in &points {
                let (technique, name) = (technique.name().to_owned(), name.to_owned());
                page.row(vec![technique, name, figure(*error), figure(*share)]);
            }
            chart.line(technique.name(), &points);
            if name == "optimized" {
                shares[technique as usize] = at(10.0).1;
                p90[technique as usize] = ecdf.quantile(0.9).unwrap_or(0.0);
            }
        }
        page.chart(chart);
    }
    let [_, mars, _, cubist] = shares;
    page.claim(
        "Fig. 8",
        "for MARS and Cubist more than 75 % of the errors are less than 10 %",
        (mars > 75.0 && cubist > 75.0, format!("{mars:.0} % and {cubist:.0} %")),
        errors.between(if mars > 75.0 { Technique::Cubist } else { Technique::Mars }),
    );
    let [_, mars, _, cubist] = p90;
    page.claim(
        "Fig. 8",
        "their 90th percentile is less than 25 %",
        (mars < 25.0 && cubist < 25.0, format!("{mars:.0} % and {cubist:.0} %")),
        errors.between(if mars < 25.0 { Technique::Cubist } else { Technique::Mars }),
    );
    page
}

/// Figure 10: extrapolation to small and to large requests.
pub(super) fn extrapolation(small: &Errors, large: &Errors) -> Page {
    const STATEMENTS: [(&str, f64); 4] = [
        ("LRM: 191 % off in the mean", 191.25),
        ("MARS: 151 %", 150.81),
        ("CART: 115 %", 115.27),
        ("Cubist: 67 %", 67.14),
    ];
    let large = grid(&large.optimized);
    let about = ErrorPage {
        file: "fig10",
        figure: "Fig. 10, large",
        title: "Prediction error, extrapolation to 36 and 40 KB",
        claims: [
            ("LRM: 27.6 % off in the mean", 27.62),
            ("MARS: 16.1 %", 16.13),
            ("CART: 20.3 %", 20.29),
            ("Cubist: 11.8 % (at most 16 % is aimed at)", 16.0),
        ],
        why: [const { None }; 4],
    };
    let mut page = about.page(&large, &published::EXTRAPOLATION_LARGE);
    let small = grid(&small.optimized);
    error_rows(&mut page, "small", &small, &published::EXTRAPOLATION_SMALL);
    page.chart(error_chart("small", "Prediction error, extrapolation to 1 and 2 KB", &small));
    for technique in Technique::ALL {
        let ours = published::mean(&small[technique as usize]);
        let (statement, bar) = STATEMENTS[technique as usize];
        page.claim("Fig. 10, small", statement, (ours <= bar, percent(ours)), None);
    }
    page
}

/// Figures 11 and 12: several virtual machines, predicted by models of one machine.
pub(super) fn machines(three: bool, found: &[Errors]) -> Page {
    const GROUPS: [&str; 4] = ["cfq random", "cfq sequential", "noop random", "noop sequential"];
    const STATEMENTS: [[&str; 4]; 2] = [
        [
            "two VMs, CFQ, random: Cubist 17.7 % off in the mean",
            "two VMs, CFQ, sequential: Cubist 68.6 %",
            "two VMs, NOOP, random: Cubist 18.7 %",
            "two VMs, NOOP, sequential: Cubist 8.3 %",
        ],
        [
            "three VMs, CFQ, random: Cubist 18.1 % off in the mean",
            "three VMs, CFQ, sequential: Cubist 108.6 %",
            "three VMs, NOOP, random: Cubist 72.1 %",
            "three VMs, NOOP, sequential: Cubist 11.8 %",
        ],
    ];
    let (file, figure, published) = if three {
        ("fig12", "Fig. 12", &published::THREE_MACHINES)
    } else {
        ("fig11", "Fig. 11", &published::TWO_MACHINES)
    };
    let mut page = Page::new(file, ERROR_HEADER);
    let mut chart = Chart::bars("", "Mean error of what was learned from one VM", "", "percent");
    let grids: Vec<Grid> = found.iter().map(|errors| grid(&errors.optimized)).collect();
    for ((group, grid), published) in GROUPS.iter().zip(&grids).zip(published) {
        error_rows(&mut page, group, grid, published);
    }
    for technique in Technique::ALL {
        let heights: Vec<(&str, f64)> = GROUPS
            .iter()
            .zip(&grids)
            .map(|(group, grid)| (*group, published::mean(&grid[technique as usize])))
            .collect();
        chart.bar(technique.name(), &heights);
    }
    page.chart(chart);
    let cubist = Technique::Cubist as usize;
    for (index, statement) in STATEMENTS[usize::from(three)].iter().enumerate() {
        let ours = published::mean(&grids[index][cubist]);
        let bar = published::mean(&published[index][cubist]);
        page.claim(figure, statement, (ours <= bar + 0.05, percent(ours)), None);
    }
    let of = |index: usize| published::mean(&grids[index][cubist]);
    page.claim(
        figure,
        "CFQ with sequential requests is predicted worst of all but NOOP's random writes",
        (
            of(1) > of(0) && of(1) > of(3),
            format!("{:.1} % beside {:.1} % and {:.1} %", of(1), of(0), of(3)),
        ),
        None,
    );
    page
}

/// Figure 13: the reduction of the error by the search.
pub(super) fn reduction(errors: &Errors) -> Page {
    const STATEMENTS: [(&str, &str); 3] = [
        (
            "MARS: the search lowers the error by 66 %",
            "MARS: so much cannot be chance (p < 2.2e−16)",
        ),
        ("CART: by 74 %", "CART: so much cannot be chance (p < 2.2e−16)"),
        ("Cubist: by 16 %", "Cubist: so much cannot be chance (p = 0.00034)"),
    ];
    const BARS: [f64; 3] = [-66.30, -74.08, -15.75];
    let mut page =
        Page::new("fig13", "technique,target,change_percent,published_change_percent,p_value");
    let mut chart = Chart::bars("", "Reduction of the error by the search", "", "percent");
    let (optimized, standard) = (grid(&errors.optimized), grid(&errors.standard));
    for (index, technique) in Technique::ALL.into_iter().enumerate().skip(1) {
        let mut changes = [0.0; 4];
        for (at, target) in Target::ALL.iter().enumerate() {
            let change = 100.0 * (optimized[index][at] / standard[index][at] - 1.0);
            changes[at] = if change.is_finite() { change } else { 0.0 };
            let test = paired_t_test(&errors.optimized[index][at], &errors.standard[index][at]);
            page.row(vec![
                technique.name().to_owned(),
                target.name().to_owned(),
                figure(changes[at]),
                published::REDUCTION[index][at].to_string(),
                test.map_or_else(|_| "1".to_owned(), |test| format!("{:.3e}", test.p_value)),
            ]);
        }
        let names = Target::ALL.iter().map(|target| target.name());
        let heights: Vec<(&str, f64)> = names.zip(changes.map(|change| -change)).collect();
        chart.bar(technique.name(), &heights);
        let change = published::mean(&changes);
        let (statement, tested) = STATEMENTS[index - 1];
        page.claim(
            "Fig. 13",
            statement,
            (change <= BARS[index - 1], format!("{:.0} %", -change)),
            None,
        );
        let test =
            paired_t_test(&errors.optimized[index].concat(), &errors.standard[index].concat());
        let (p, lower) =
            test.map_or((1.0, false), |test| (test.p_value, test.mean_difference < 0.0));
        page.claim("Fig. 13", tested, (p < 0.05 && lower, format!("p = {p:.2e}")), None);
    }
    page.chart(chart);
    page
}

/// Tables 4 and 5: configurations that no model learned from, measured and predicted.
pub(super) fn predictions(
    file: &'static str,
    pairs: &[Pair],
    of: impl Fn(Target) -> Vec<(Point, Measured)>,
) -> Result<Page, Error> {
    let mut page = Page::new(
        file,
        "scheduler,file_set_mib,request_bytes,pattern,reads_percent,target,measured,LRM,MARS,CART,Cubist",
    );
    for target in Target::ALL {
        let runs = of(target);
        let measured: Vec<(&Point, f64)> =
            runs.iter().filter_map(|(point, found)| Some((point, target.of(found)?))).collect();
        let predicted = pairs
            .iter()
            .filter(|pair| pair.target == target)
            .map(|pair| pair.predict(&measured))
            .collect::<Result<Vec<_>, _>>()?;
        for (row, (point, value)) in measured.iter().enumerate() {
            let mut cells = point_cells(point);
            cells.extend([target.name().to_owned(), figure(*value)]);
            cells.extend(predicted.iter().map(|by_row| figure(by_row[row])));
            page.row(cells);
        }
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::virtualized::design;

    #[test]
    fn chance_is_what_two_measurements_differ_by_over_the_root_of_two() {
        let measured = |response_ms| {
            let direction = super::super::measure::Direction {
                response_ms,
                mb_per_s: 1.0,
                relative_standard_error: None,
                requests: 1,
            };
            Measured { read: Some(direction), write: Some(direction), seconds: 1.0 }
        };
        let point = design::learned(true).remove(0);
        let within = [(point.clone(), measured(9.0)), (point, measured(10.0))];
        let again = [measured(11.0), measured(10.0)];
        // one pair differs by 20 % of its mean, the other by nothing
        let found = noise(Target::ALL[0], &within, &again);
        assert!((found - 10.0 / std::f64::consts::SQRT_2).abs() < 1e-9, "{found}");
        let throughput = noise(Target::ALL[2], &within, &again);
        assert!(throughput.abs() < 1e-9, "{throughput}");
    }
}
