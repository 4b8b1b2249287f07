//! From a sweep file to a [`Sweep`]: everything is checked, and every error has its place in the text.

use std::fmt::Display;
use std::path::Path;

use foretell_input::Limit;
use foretell_scenarios::{
    Change, Document, ScenarioError, ScenarioErrors, ShippedKind, meant, shipped_names,
    shipped_sweep,
};
use toml::{Spanned, Value as Toml};

use crate::Value;
use crate::design::{Design, MAX_DIMENSIONS};
use crate::expression::Condition;
use crate::factor::{Domain, Factor, Range, Setting};
use crate::quantity::{self, Quantity};
use crate::split::Split;
use crate::sweep::{Invalid, Source, Sweep, apply_all};
use crate::sweep_file::{RawFactor, RawScenario, RawSplit, RawSweep};

/// Maximum number of runs; a larger number is probably a mistake.
const MAX_RUNS: u64 = 1 << 32;
/// Maximum number of design points of a sweep, before constraints. Each is checked before the first
/// run, which takes about 0.2 ms.
const MAX_POINTS: u64 = 10_000_000;

const DESIGNS: [&str; 4] = ["full", "latin-hypercube", "sobol", "random"];

/// The columns of every `runs` table; no factor may have these names.
const TAKEN: [&str; 10] = [
    "run_id",
    "point",
    "replicate",
    "seed",
    "scenario_hash",
    "tool_version",
    "split",
    "events",
    "simulated_s",
    "bottleneck",
];

pub(crate) fn load(path: &Path, changes: &[Change]) -> Result<Sweep, ScenarioErrors> {
    let shown = path.display().to_string();
    let shipped = if path.exists() { None } else { shipped_sweep(&shown) };
    let text = match shipped {
        Some(text) => text.to_owned(),
        None => {
            foretell_input::text(path, Limit::SCENARIO).map_err(|error| unread(path, &error))?
        }
    };
    let raw: RawSweep = toml::from_str(&text).map_err(|error| {
        // a scenario has tables that no sweep has
        if is_scenario(&text) {
            let help = format!("`foretell run {shown}` simulates it");
            let message = format!("`{shown}` is a scenario, and a sweep was expected");
            return ScenarioErrors::from(ScenarioError::nowhere(message, Some(help)));
        }
        ScenarioError::of_toml(&shown, &text, &error).into()
    })?;
    Checker { shown, text, path, errors: Vec::new() }.check(&raw, changes)
}

/// Whether a text that is no sweep has the tables of a scenario.
fn is_scenario(text: &str) -> bool {
    let table = text.parse::<toml::Table>().unwrap_or_default();
    ["node", "client", "volume", "workload"]
        .iter()
        .filter(|name| table.contains_key(**name))
        .count()
        > 1
}

/// The reason why a sweep file cannot be read.
fn unread(path: &Path, error: &std::io::Error) -> ScenarioErrors {
    let shown = path.display().to_string();
    let (message, help) = match error.kind() {
        std::io::ErrorKind::NotFound => {
            let inner = shown.strip_suffix(".toml").unwrap_or(&shown);
            let inner = inner.rsplit_once("sweeps/").map_or(inner, |(_, inner)| inner);
            let help = if shipped_sweep(inner).is_some() {
                Some(format!("one of that name comes with the program: `{inner}`"))
            } else {
                let names = ShippedKind::Sweep.files().iter().map(|(name, _)| *name);
                meant(inner, names)
            };
            (format!("there is no sweep `{shown}`"), help)
        }
        _ if path.is_dir() => (format!("`{shown}` is a directory, and a sweep is a file"), None),
        _ => (format!("cannot read the sweep `{shown}`: {error}"), None),
    };
    ScenarioError::nowhere(message, help).into()
}

struct Checker<'a> {
    shown: String,
    text: String,
    path: &'a Path,
    errors: Vec<ScenarioError>,
}

impl Checker<'_> {
    fn add<T>(&mut self, at: &Spanned<T>, message: impl Into<String>, help: Option<String>) {
        self.add_at(at.span(), message, help);
    }

    fn add_at(
        &mut self,
        span: std::ops::Range<usize>,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        self.errors.push(ScenarioError::in_text(&self.shown, &self.text, span, message, help));
    }

    fn check(mut self, raw: &RawSweep, first: &[Change]) -> Result<Sweep, ScenarioErrors> {
        let changes: Vec<Change> =
            raw.set.iter().filter_map(|change| self.change(change)).collect();
        let mut base = self.base(&raw.scenario)?;
        apply_all("--set", &mut base, first)?;
        apply_all("set", &mut base, &changes)?;
        let resolved = base.resolved()?;
        let mut written: Vec<_> = raw.factor.iter().collect();
        written.sort_by_key(|(name, _)| name.span().start);
        let mut factors = Vec::new();
        for (name, raw) in written {
            if let Some(factor) = self.factor(name, raw) {
                factors.push(factor);
            }
        }
        self.apart(raw, &factors);
        if raw.factor.is_empty() {
            self.add_at(0..0, "nothing varies; a sweep has one `[factor.NAME]` at least", None);
        }
        let design = self.design(raw, &factors);
        let seed = raw.seed.as_ref().and_then(|seed| self.natural("seed", seed, i64::MAX as u64));
        let replicates = raw.replicates.as_ref().map_or(Some(1), |replicates| {
            self.natural("replicates", replicates, MAX_RUNS).filter(|count| {
                if *count == 0 {
                    self.add(replicates, "a point is run once at least", None);
                }
                *count > 0
            })
        });
        let points = design.map_or(0, |design| design.extent(&factors).1);
        if let (Some(at), Some(replicates)) = (&raw.replicates, replicates)
            && points.saturating_mul(replicates) > MAX_RUNS
        {
            let message = format!(
                "{points} points, each run {replicates} times, are more runs than the {MAX_RUNS} of a sweep"
            );
            self.add(at, message, None);
        }
        // skip conditions after other errors: a wrong factor would be reported again with each condition
        let sound = self.errors.is_empty();
        let constraints = if sound {
            raw.constraints.iter().filter_map(|text| self.condition(text, &factors)).collect()
        } else {
            Vec::new()
        };
        let usual = Split::usual(points);
        let split = match &raw.split {
            Some(split) if sound => self.split(split, &factors, &usual),
            _ => usual,
        };
        let invalid = match raw.invalid.as_ref().map(|word| (word, word.get_ref().as_str())) {
            None | Some((_, "refuse")) => Invalid::Refuse,
            Some((_, "drop")) => Invalid::Drop,
            Some((at, other)) => {
                self.add(at, format!("`{other}` is neither `refuse` nor `drop`"), None);
                Invalid::Refuse
            }
        };
        let output = raw.output.as_ref();
        let requests =
            output.and_then(|o| o.requests.as_ref()).and_then(|share| self.one_in(share));
        let records = output
            .and_then(|output| output.records.as_ref())
            .map(|records| records.get_ref().clone())
            .unwrap_or_default();
        if let (None, Some(at)) = (requests, output.and_then(|output| output.records.as_ref())) {
            let help = "such as `requests = \"1/100\"`";
            self.add(at, "records are kept of sampled requests; tell which", Some(help.to_owned()));
        }
        if let Some(errors) = ScenarioErrors::collect(std::mem::take(&mut self.errors)) {
            return Err(errors);
        }
        let name = self.path.file_stem().map(|name| name.to_string_lossy().into_owned());
        Ok(Sweep {
            title: raw.title.clone().or(name).unwrap_or_default(),
            description: raw.description.clone().unwrap_or_default(),
            license: raw.license.clone().unwrap_or_else(|| "cc0-1.0".to_owned()),
            file: self.path.to_owned(),
            seed: seed.unwrap_or(1),
            design: design.unwrap_or(Design::Full),
            replicates: replicates.unwrap_or(1),
            factors,
            constraints,
            invalid,
            split,
            requests,
            records,
            base,
            source: Source {
                text: self.text,
                scenario: raw.scenario.span(),
                here: matches!(raw.scenario.get_ref(), RawScenario::Here(_)),
            },
            resolved,
        })
    }

    /// The base scenario: a file beside the sweep file, a shipped scenario, or a table.
    fn base(&mut self, raw: &Spanned<RawScenario>) -> Result<Document, ScenarioErrors> {
        let directory = self.path.parent().unwrap_or(Path::new(""));
        match raw.get_ref() {
            RawScenario::Here(table) => {
                let text = toml::to_string(table).map_err(|error| self.only(raw, &error))?;
                Document::parse(&format!("{}, scenario", self.shown), &text, directory)
            }
            RawScenario::Named(name) if Path::new(name).extension().is_some() => {
                Document::load(directory.join(name))
            }
            RawScenario::Named(name) => Document::shipped(name).unwrap_or_else(|| {
                let names: Vec<&str> = shipped_names().collect();
                let message = format!("there is no scenario `{name}` that comes with the program");
                let help = meant(name, names.iter().copied());
                let help = help.map(|help| format!("{help} A file's name ends with `.toml`."));
                self.add(raw, message, help);
                Err(ScenarioErrors::collect(std::mem::take(&mut self.errors))
                    .expect("one was added"))
            }),
        }
    }

    fn only<T>(&self, at: &Spanned<T>, error: &impl Display) -> ScenarioErrors {
        let message = error.to_string();
        ScenarioError::in_text(&self.shown, &self.text, at.span(), message, None).into()
    }

    fn change(&mut self, text: &Spanned<String>) -> Option<Change> {
        match text.get_ref().parse() {
            Ok(change) => Some(change),
            Err(error) => {
                self.add(text, format!("{error}"), None);
                None
            }
        }
    }

    fn natural(&mut self, what: &str, value: &Spanned<i64>, most: u64) -> Option<u64> {
        let found = u64::try_from(*value.get_ref()).ok().filter(|number| *number <= most);
        if found.is_none() {
            let message = format!("`{what}` is a whole number from 0 to {most}");
            self.add(value, message, None);
        }
        found
    }

    fn design(&mut self, raw: &RawSweep, factors: &[Factor]) -> Option<Design> {
        let word = raw.design.as_ref().map_or("full", |word| word.get_ref().as_str());
        let points = raw.points.as_ref().and_then(|points| {
            let count = self.natural("points", points, MAX_POINTS)?;
            if count == 0 {
                self.add(points, "a design has one point at least", None);
            }
            (count > 0).then_some(count)
        });
        if word == "full" {
            if let Some(points) = &raw.points {
                self.add(
                    points,
                    "a full factorial design has all points; `points` means nothing",
                    None,
                );
            }
            for factor in factors.iter().filter(|factor| factor.levels().is_none()) {
                let span = raw.factor.keys().find(|name| *name.get_ref() == factor.name);
                let message = format!(
                    "factor `{}` has a range; in a full factorial design it needs a `count` of values",
                    factor.name
                );
                self.add_at(span.map_or(0..0, Spanned::span), message, None);
            }
            for factor in factors {
                self.distinct(raw, factor);
            }
            let levels = factors.iter().map(|factor| factor.levels().unwrap_or(1));
            let all = levels.fold(1, u64::saturating_mul);
            if all > MAX_POINTS {
                let message = format!(
                    "a full factorial design of these factors has {all} points; a sweep has {MAX_POINTS} at most"
                );
                let help = "`design = \"sobol\"` with a number of `points` takes some of them";
                let at = raw.design.as_ref().map_or(0..0, Spanned::span);
                self.add_at(at, message, Some(help.to_owned()));
            }
            return Some(Design::Full);
        }
        let at = raw.design.as_ref()?;
        if !DESIGNS.contains(&word) {
            let message = format!("`{word}` is not a design");
            self.add(at, message, meant(word, DESIGNS));
            return None;
        }
        let Some(points) = points else {
            if raw.points.is_none() {
                self.add(at, format!("design `{word}` needs a number of `points`"), None);
            }
            return None;
        };
        if word == "sobol" && factors.len() > MAX_DIMENSIONS {
            let found = factors.len();
            let message =
                format!("a Sobol design has {MAX_DIMENSIONS} factors at most, not {found}");
            self.add(at, message, Some("`latin-hypercube` has no limit".to_owned()));
        }
        Some(match word {
            "latin-hypercube" => Design::LatinHypercube { points },
            "sobol" => Design::Sobol { points },
            _ => Design::Random { points },
        })
    }

    fn factor(&mut self, name: &Spanned<String>, raw: &RawFactor) -> Option<Factor> {
        let word = name.get_ref().as_str();
        let good = word.starts_with(|first: char| first.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && !["and", "or", "not"].contains(&word);
        if !good {
            let help = "lower-case letters, digits and `_`, so that it can head a column";
            self.add(name, format!("`{word}` is not a name of a factor"), Some(help.to_owned()));
            return None;
        }
        let (quantity, domain) = match (&raw.values, &raw.levels, &raw.range) {
            (Some(values), None, None) => self.listed(name, raw, values)?,
            (None, Some(_), None) => self.levels(raw)?,
            (None, None, Some(range)) => self.ranged(name, raw, range)?,
            _ => {
                let message =
                    format!("factor `{word}` needs one of `values`, `levels` and `range`");
                self.add(name, message, None);
                return None;
            }
        };
        if let (Some(at), Domain::Levels(_)) = (raw.scale.as_ref(), &domain) {
            self.add(at, "only a range has a scale", None);
        }
        for at in [raw.step.as_ref().map(Spanned::span), raw.count.as_ref().map(Spanned::span)] {
            if let (Some(span), Domain::Levels(_)) = (at, &domain) {
                self.add_at(span, "only a range has steps and a count", None);
            }
        }
        let description = raw.description.clone().unwrap_or_default();
        let factor = Factor { name: word.to_owned(), description, quantity, domain };
        if TAKEN.contains(&factor.column_name().as_str()) {
            self.add(name, format!("`{word}` is a column that every data set has"), None);
            return None;
        }
        Some(factor)
    }

    /// Every setting varies by one factor: the last one would win, and the columns of the others would be wrong.
    fn apart(&mut self, raw: &RawSweep, factors: &[Factor]) {
        for (index, later) in factors.iter().enumerate() {
            let overwritten = factors[..index].iter().find_map(|earlier| {
                let mut paths =
                    earlier.paths().flat_map(|path| later.paths().map(move |of| (path, of)));
                let (path, of) = paths.find(|(path, of)| is_within(path, of))?;
                Some((earlier.name.as_str(), path.to_owned(), of.to_owned()))
            });
            let Some((earlier, path, of)) = overwritten else { continue };
            let message = if path == of {
                format!("the factors `{earlier}` and `{}` both set `{path}`", later.name)
            } else {
                format!(
                    "factor `{}` sets `{of}`, which contains `{path}` of factor `{earlier}`",
                    later.name
                )
            };
            let help =
                "a setting varies by one factor; `levels` of one factor can set several paths"
                    .to_owned();
            let span = raw.factor.keys().find(|name| *name.get_ref() == later.name);
            self.add_at(span.map_or(0..0, Spanned::span), message, Some(help));
        }
    }

    /// The values of a range in a full factorial design differ from each other.
    fn distinct(&mut self, raw: &RawSweep, factor: &Factor) {
        let (Domain::Range(_), Some(count)) = (&factor.domain, factor.levels()) else { return };
        let values: Vec<Value> = (0..count).map(|index| factor.level(index).value).collect();
        let repeated = values.windows(2).filter(|pair| pair[0] == pair[1]).count();
        let Some(twice) = values.windows(2).find(|pair| pair[0] == pair[1]) else { return };
        let message = format!("`{}` stands there twice", twice[0]);
        let different = values.len() - repeated;
        let help = format!("a smaller `count`: of these {count} values, {different} differ");
        let written = raw.factor.iter().find(|(name, _)| *name.get_ref() == factor.name);
        let at = written.and_then(|(_, raw)| raw.count.as_ref());
        self.add_at(at.map_or(0..0, Spanned::span), message, Some(help));
    }

    /// The paths that get a value.
    fn paths(&mut self, name: &Spanned<String>, raw: &RawFactor) -> Option<Vec<String>> {
        let paths = raw.path.as_ref().map(|path| path.get_ref().all()).unwrap_or_default();
        if paths.is_empty() {
            let message = format!("factor `{}` has no `path` in the scenario", name.get_ref());
            let help = "such as `path = \"volume.mail.encoding\"`";
            self.add(name, message, Some(help.to_owned()));
            return None;
        }
        Some(paths)
    }

    /// `values = [...]`, set at `path`.
    fn listed(
        &mut self,
        name: &Spanned<String>,
        raw: &RawFactor,
        values: &Spanned<Vec<Spanned<Toml>>>,
    ) -> Option<(Quantity, Domain)> {
        let paths = self.paths(name, raw)?;
        let mut read: Vec<(Quantity, Value, String)> = Vec::new();
        for value in values.get_ref() {
            read.push(self.scalar(value)?);
        }
        let Some(quantity) = common(read.iter().map(|(quantity, ..)| *quantity)) else {
            self.add(values, "a factor has one value at least", None);
            return None;
        };
        let mut levels: Vec<Setting> = Vec::new();
        for ((_, value, written), at) in read.into_iter().zip(values.get_ref()) {
            // names keep their spelling, even if some of them are numbers
            let value = match quantity {
                Quantity::Name => Value::Text(written.clone()),
                quantity => value.as_f64().map_or(value, |number| quantity.value(number)),
            };
            if levels.iter().any(|level| level.value == value) {
                self.add(at, format!("`{written}` stands there twice"), None);
            }
            let change = |path: &String| Change { path: path.clone(), value: written.clone() };
            levels.push(Setting { value, changes: paths.iter().map(change).collect() });
        }
        Some((quantity, Domain::Levels(levels)))
    }

    /// `levels = { name = ["PATH=VALUE", ...], ... }`.
    fn levels(&mut self, raw: &RawFactor) -> Option<(Quantity, Domain)> {
        if let Some(path) = &raw.path {
            self.add(
                path,
                "levels have paths of their own; `path` means nothing beside them",
                None,
            );
        }
        let mut written: Vec<_> = raw.levels.iter().flatten().collect();
        written.sort_by_key(|(name, _)| name.span().start);
        let mut levels = Vec::new();
        let mut values = Vec::new();
        for (name, changes) in written {
            let changes = changes.iter().filter_map(|change| self.change(change)).collect();
            // if all names are quantities, the column has numbers
            let (quantity, value) = match name.get_ref().parse::<i64>() {
                Ok(whole) => (Quantity::Whole, Value::Whole(whole)),
                Err(_) => quantity::read(name.get_ref()),
            };
            values.push((quantity, name.get_ref().clone()));
            levels.push(Setting { value, changes });
        }
        let quantity = common(values.iter().map(|(quantity, _)| *quantity))?;
        for (level, (_, name)) in levels.iter_mut().zip(values) {
            if quantity == Quantity::Name {
                level.value = Value::Text(name);
            }
        }
        Some((quantity, Domain::Levels(levels)))
    }

    /// `range = [LOW, HIGH]`, set at `path`.
    fn ranged(
        &mut self,
        name: &Spanned<String>,
        raw: &RawFactor,
        range: &Spanned<[Spanned<Toml>; 2]>,
    ) -> Option<(Quantity, Domain)> {
        let paths = self.paths(name, raw)?;
        let [low, high] = range.get_ref();
        let ends = [self.scalar(low)?, self.scalar(high)?];
        let quantity = ends[0].0.common(ends[1].0);
        let numbers = ends.each_ref().map(|(_, value, _)| value.as_f64());
        let (Some(quantity), [Some(low), Some(high)]) = (quantity, numbers) else {
            self.add(range, "the ends of a range are numbers of one unit", None);
            return None;
        };
        if low >= high {
            self.add(range, "a range begins below its end", None);
            return None;
        }
        let logarithmic = match raw.scale.as_ref().map(|word| (word, word.get_ref().as_str())) {
            None | Some((_, "linear")) => false,
            Some((at, "log")) => {
                if low <= 0.0 {
                    self.add(at, "a logarithmic range begins above 0", None);
                    return None;
                }
                true
            }
            Some((at, other)) => {
                self.add(at, format!("`{other}` is neither `linear` nor `log`"), None);
                return None;
            }
        };
        let whole = quantity.kind() == crate::Kind::Whole;
        let step = match &raw.step {
            None if whole => 1.0,
            None => 0.0,
            Some(at) => {
                let (found, value, _) = self.scalar(at)?;
                match value.as_f64().filter(|step| *step > 0.0) {
                    Some(step) if found.common(quantity) == Some(quantity) => step,
                    _ => {
                        self.add(at, "a step is more than 0, and of the unit of the range", None);
                        return None;
                    }
                }
            }
        };
        let count = match &raw.count {
            None => None,
            Some(at) => {
                let count = self.natural("count", at, MAX_POINTS)?;
                if count < 2 {
                    self.add(at, "a range has 2 values at least", None);
                    return None;
                }
                Some(count)
            }
        };
        Some((quantity, Domain::Range(Range { low, high, logarithmic, step, count, paths })))
    }

    /// A value of a factor: its quantity, its value as a number or text, and its spelling.
    fn scalar(&mut self, value: &Spanned<Toml>) -> Option<(Quantity, Value, String)> {
        Some(match value.get_ref() {
            Toml::String(text) => {
                let (quantity, value) = quantity::read(text);
                (quantity, value, text.clone())
            }
            Toml::Integer(whole) => (Quantity::Whole, Value::Whole(*whole), whole.to_string()),
            Toml::Float(number) if number.is_finite() => {
                (Quantity::Number, Value::Number(*number), number.to_string())
            }
            Toml::Boolean(flag) => (Quantity::Flag, Value::Flag(*flag), flag.to_string()),
            _ => {
                let help = "what is changed by several paths at once has `levels`";
                self.add(value, "a value of a factor is a text or a number", Some(help.to_owned()));
                return None;
            }
        })
    }

    fn condition(&mut self, text: &Spanned<String>, factors: &[Factor]) -> Option<Condition> {
        match Condition::parse(text.get_ref(), factors) {
            Ok(condition) => Some(condition),
            Err(error) => {
                let span = text.span();
                // the place inside the text, if the text has no escapes
                let inside = span.start + 1 + error.span.start..span.start + 1 + error.span.end;
                let as_written =
                    self.text.get(span.start + 1..span.start + 1 + text.get_ref().len())
                        == Some(text.get_ref().as_str());
                self.add_at(if as_written { inside } else { span }, error.message, error.help);
                None
            }
        }
    }

    fn split(&mut self, raw: &RawSplit, factors: &[Factor], usual: &Split) -> Split {
        let mut share = |raw: &Option<Spanned<String>>, default| {
            let Some(text) = raw else { return default };
            match quantity::read(text.get_ref()) {
                (Quantity::Share, Value::Number(percent)) if (0.0..=100.0).contains(&percent) => {
                    percent / 100.0
                }
                _ => {
                    let is_condition = text.get_ref().contains(['<', '>', '=']);
                    let help = is_condition.then(|| {
                        "points that satisfy a condition can be kept apart with `extrapolation`"
                            .to_owned()
                    });
                    self.add(text, "a share of the points is written as \"10%\"", help);
                    default
                }
            }
        };
        let validation = share(&raw.validation, usual.validation);
        let test = share(&raw.test, usual.test);
        if let Some(at) = raw.test.as_ref().or(raw.validation.as_ref())
            && validation + test >= 1.0
        {
            self.add(at, "validation and test leave nothing to learn from", None);
        }
        let extrapolation =
            raw.extrapolation.as_ref().and_then(|text| self.condition(text, factors));
        Split { validation, test, extrapolation }
    }

    fn one_in(&mut self, share: &Spanned<String>) -> Option<u32> {
        let found = share.get_ref().trim().strip_prefix("1/").and_then(|k| k.parse().ok());
        if found.is_none_or(|k| k == 0) {
            self.add(share, "a share of the requests is written as \"1/100\"", None);
        }
        found.filter(|k| *k > 0)
    }
}

/// Whether setting `outer` overwrites what was set at `path`: it is the same setting, or a table that contains it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The quantity of a column with values of these quantities: names, if they have none in common.
fn common(mut found: impl Iterator<Item = Quantity>) -> Option<Quantity> {
    let first = found.next()?;
    Some(found.try_fold(first, Quantity::common).unwrap_or(Quantity::Name))
}
