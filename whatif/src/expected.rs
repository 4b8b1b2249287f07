//! The expected error of an answer, learned from scored predictions.
//!
//! The width of an answer's interval comes from past scores of the same model and metric. It is a quantile of
//! the errors of the scores that most resemble the answer ([`Circumstances`]). These are its nearest
//! neighbours (Fix & Hodges, *Discriminatory Analysis*, 1951). The quantile is then scaled until the
//! intervals contain the truth for 90 % of the past scores, each judged by the others (localized conformal
//! prediction: Lei & Wasserman, *Distribution-free prediction bands*, 2014; jackknife+: Barber et al.,
//! *Predictive inference with the jackknife+*, 2021). Outside the range of past scores, no interval is
//! narrower than the model's error for the recorded run itself (its *misfit*). If too few similar cases were
//! scored, the answer says so.
//!
//! Some past scores come with the program. They are from random questions about random clusters. Users can
//! add their own.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

use foretell_sorted::SortedMap;
use serde::Serialize;

use crate::answer::{Model, WITH_EVENTS};
use crate::circumstances::{About, Circumstances, DeviceKind, Located};

/// Number of most similar past scores that are used.
const NEIGHBOURS: usize = 40;
/// Share of cases in which an interval should contain the truth.
const HELD: f64 = 0.9;
/// Past scores of one question are adjacent. When a score is judged by the others, this number of scores
/// before and after it is left out.
const TOGETHER: usize = 3;
/// Minimum number of scores of the same device and system. With fewer, the scale is computed from all scores.
const ENOUGH: usize = 40;
/// Minimum number of scores of the same system, and of the same devices. With fewer, the answer says that
/// nothing like it was scored.
const MIN_ALIKE: usize = 8;
/// Quantile of the misfits of the most similar past scores, beyond which this run's misfit is
/// unusual. Then the interval is no narrower than its misfit.
const MISFITS_ALIKE: f64 = 0.75;
/// Smallest half-width of an interval, as a logarithm: the truth itself is not more precise.
const MIN_WIDTH: f64 = 0.002;

/// A prediction that was scored: one line of a history.
#[derive(Clone, PartialEq, Debug)]
pub struct PastScore {
    /// The model that predicted.
    pub model: Model,
    /// The metric, by the name that `score` uses.
    pub metric: String,
    /// The circumstances of the prediction.
    pub circumstances: Circumstances,
    /// (predicted - measured) / measured; without its sign in files of earlier versions.
    pub error: f64,
}

/// The first line of a file of past scores.
pub const HISTORY_HEADER: &str =
    "model,metric,misfit,moved,error,utilization,system,device,change,arrivals,requests";
/// Headers of earlier versions, whose files are still read.
const EARLIER_HEADERS: [&str; 2] = [
    "model,metric,misfit,moved,error,utilization,system,device,change,arrivals",
    "model,metric,misfit,moved,error",
];

impl fmt::Display for PastScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { model, metric, circumstances, error } = self;
        let Circumstances { misfit, moved, utilization, about, requests, .. } = circumstances;
        let number = |log: &Option<f64>| log.map_or_else(String::new, |log| format!("{log:.4}"));
        write!(f, "{model},{metric},{},{},{error:.4}", number(misfit), number(moved))?;
        let Some(About { system, device, change, open }) = about else { return Ok(()) };
        let arrivals = if *open { "open" } else { "closed" };
        write!(f, ",{},{system},{device},{change},{arrivals}", number(utilization))?;
        write!(f, ",{}", requests.map_or_else(String::new, |count| format!("{count:.0}")))
    }
}

impl FromStr for PastScore {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split(',').collect();
        let (first, rest) = fields.split_at(fields.len().min(5));
        let [model, metric, misfit, moved, error] = first[..] else {
            return Err(format!("has {} fields instead of 11: {HISTORY_HEADER}", fields.len()));
        };
        let model = Model::ALL.into_iter().find(|known| known.to_string() == model);
        let model = model.ok_or("names no model: bounds, mva, fast or replay")?;
        let number = |text: &str| {
            let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
            number.ok_or_else(|| format!("has `{text}` instead of a number"))
        };
        let known = |text: &str| if text.is_empty() { Ok(None) } else { number(text).map(Some) };
        let (utilization, about) = match *rest {
            [] => (None, None),
            [utilization, system, device, change, arrivals]
            | [utilization, system, device, change, arrivals, _] => {
                let open = match arrivals {
                    "open" => true,
                    "closed" => false,
                    _ => return Err(format!("has `{arrivals}` instead of open or closed")),
                };
                let (system, device, change) = (system.parse()?, device.parse()?, change.parse()?);
                (known(utilization)?, Some(About { system, device, change, open }))
            }
            _ => {
                let count = fields.len();
                return Err(format!("has {count} fields instead of 11: {HISTORY_HEADER}"));
            }
        };
        let requests = rest.get(5).map_or(Ok(None), |count| known(count))?;
        let (misfit, moved) = (known(misfit)?, known(moved)?);
        let circumstances = Circumstances {
            misfit,
            moved,
            utilization,
            about,
            requests,
            ..Circumstances::default()
        };
        Ok(Self { model, metric: metric.to_owned(), circumstances, error: number(error)? })
    }
}

/// The expected error of an answer: relative errors of the past scores that are most like it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ExpectedError {
    /// The median of these errors.
    pub median: f64,
    /// 90 % of the errors are expected to be smaller: half the width of the interval.
    pub p90: f64,
    /// The number of past scores used.
    pub scores: usize,
}

/// The interval that contains the truth in 90 % of all cases.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl ExpectedError {
    /// The interval around a predicted figure.
    pub fn around(&self, predicted: f64) -> Interval {
        let ratio = 1.0 + self.p90;
        Interval { low: predicted / ratio, high: predicted * ratio }
    }
}

/// Past scores of a model and metric: circumstances, and the absolute logarithm of the error.
#[derive(Clone, Debug, Default)]
struct Group {
    known: Vec<(Located, f64)>,
    /// For each past score, its error divided by the width of its interval according to the most similar
    /// scores; computed when needed.
    farther: OnceLock<Vec<f64>>,
}

/// Past scores.
#[derive(Clone, Debug, Default)]
pub struct Experience(SortedMap<(Model, String), Group>);

/// The most similar past scores.
struct Alike {
    /// Logarithms of errors, ascending.
    off: Vec<f64>,
    /// The misfit at the quantile [`MISFITS_ALIKE`], and the largest movement among them.
    reach: (f64, f64),
}

impl Alike {
    fn at(&self, share: f64) -> f64 {
        let count = self.off.len();
        // with few scores, the next error may exceed all of them, so one such error is counted
        let place = (share * (count + 1) as f64).ceil() as usize;
        self.off[place.clamp(1, count) - 1]
    }
}

impl Group {
    /// The most similar past scores, without those adjacent to `without`.
    fn alike(&self, here: &Located, without: Option<usize>) -> Option<Alike> {
        let left_out = |index: usize| without.is_some_and(|it| index.abs_diff(it) <= TOGETHER);
        let mut near: Vec<(f64, usize)> = self
            .known
            .iter()
            .enumerate()
            .filter(|(index, _)| !left_out(*index))
            .map(|(index, (known, _))| (here.distance(known), index))
            .filter(|(distance, _)| distance.is_finite())
            .collect();
        let last = near.len().checked_sub(1)?.min(NEIGHBOURS - 1);
        let order = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        near.select_nth_unstable_by(last, order);
        near.truncate(last + 1);
        let mut off: Vec<f64> = near.iter().map(|(_, index)| self.known[*index].1).collect();
        off.sort_by(f64::total_cmp);
        let near: Vec<&Circumstances> =
            near.iter().map(|(_, index)| &self.known[*index].0.circumstances).collect();
        let mut misfits: Vec<f64> =
            near.iter().map(|known| known.misfit.unwrap_or(0.0).abs()).collect();
        misfits.sort_by(f64::total_cmp);
        // one or two runs with a large misfit say nothing about other such runs
        let misfit = misfits[(MISFITS_ALIKE * misfits.len() as f64) as usize];
        let moved = near.iter().filter_map(|known| known.moved).map(f64::abs).fold(0.0, f64::max);
        Some(Alike { off, reach: (misfit, moved) })
    }

    /// Half the width of the interval before scaling, as a logarithm.
    fn width(alike: &Alike) -> f64 {
        alike.at(HELD).max(MIN_WIDTH)
    }

    /// The factor that scales the widths of intervals, for answers about such questions.
    fn scale(&self, about: Option<About>) -> f64 {
        let farther = self.farther.get_or_init(|| {
            let each = |(index, (known, off)): (usize, &(Located, f64))| {
                let alike = self.alike(known, Some(index));
                alike.map_or(1.0, |alike| off / Self::width(&alike))
            };
            self.known.iter().enumerate().map(each).collect()
        });
        let of = |same: &dyn Fn(About) -> bool| -> Vec<f64> {
            let known = self.known.iter().zip(farther);
            known
                .filter(|((c, _), _)| c.circumstances.about.is_none_or(same))
                .map(|(_, f)| *f)
                .collect()
        };
        let both = about
            .map(|here| of(&|other| other.device == here.device && other.system == here.system));
        let device = about.map(|here| of(&|other| other.device == here.device));
        let enough = [both, device].into_iter().flatten().find(|these| these.len() >= ENOUGH);
        let mut these = enough.unwrap_or_else(|| farther.clone());
        these.sort_by(f64::total_cmp);
        let place = (HELD * (these.len() + 1) as f64).ceil() as usize;
        let found = these.get(place.clamp(1, these.len().max(1)) - 1).copied().unwrap_or(1.0);
        // outliers in a small group say little about its scale
        found.clamp(0.5, 10.0)
    }
}

impl Experience {
    /// The past scores that come with the program.
    pub fn shipped() -> Self {
        Self::parse(include_str!("past_scores.csv")).expect("the file was written by `score`")
    }

    /// Reads a history: a header, then a line for each score. Errors name the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        match lines.next() {
            Some(header) if header == HISTORY_HEADER || EARLIER_HEADERS.contains(&header) => {}
            _ => return Err(format!("line 1 is not the header `{HISTORY_HEADER}`")),
        }
        let mut experience = Self::default();
        for (index, line) in lines.enumerate() {
            let score: PastScore =
                line.parse().map_err(|error| format!("line {} {error}", index + 2))?;
            experience.learn(score);
        }
        Ok(experience)
    }

    fn learn(&mut self, score: PastScore) {
        let PastScore { model, metric, circumstances, error } = score;
        let group = self.0.entry((model, metric)).or_default();
        group.known.push((circumstances.into(), libm::log((1.0 + error).max(1e-3)).abs()));
        group.farther = OnceLock::new();
    }

    /// Adds other past scores.
    pub fn add(&mut self, other: Self) {
        for (key, group) in other.0 {
            let own = self.0.entry(key).or_default();
            own.known.extend(group.known);
            own.farther = OnceLock::new();
        }
    }

    /// The expected error of a model, if enough past scores exist.
    pub fn expect(
        &self,
        model: Model,
        metric: &str,
        circumstances: &Circumstances,
    ) -> Option<ExpectedError> {
        let group = self.0.get(&(model, metric.to_owned()))?;
        let alike = group.alike(&(*circumstances).into(), None)?;
        let mut width = Group::width(&alike) * group.scale(circumstances.about);
        // outside the range of past scores, the uncertainty is at least the distance beyond that range
        let beyond = |here: Option<f64>, reach: f64| {
            here.map(f64::abs).filter(|here| *here > reach + 0.05).map_or(0.0, |here| here - reach)
        };
        let of_throughput =
            circumstances.misfit_of_throughput.filter(|_| metric.ends_with("throughput_rps"));
        for misfit in [circumstances.misfit, of_throughput] {
            if beyond(misfit, alike.reach.0) > 0.0 {
                width = width.max(misfit.unwrap_or_default().abs());
            }
        }
        width += 0.5 * beyond(circumstances.moved, alike.reach.1);
        if self.unlike(model, circumstances).is_some() {
            width = (2.0 * width).max(0.3);
        }
        // libm gives the same result on every machine
        let ratio = |log: f64| libm::exp(log) - 1.0;
        let median = ratio(alike.at(0.5).min(width));
        Some(ExpectedError { median, p90: ratio(width.min(5.0)), scores: alike.off.len() })
    }

    /// The number of scored answers of a model.
    pub fn scores(&self, model: Model) -> usize {
        self.0.get(&(model, "throughput_rps".to_owned())).map_or(0, |group| group.known.len())
    }

    /// The part of an answer with events that no past score resembles.
    pub fn unlike_events(&self, model: Model) -> Option<String> {
        let known = self.0.get(&(model, format!("{WITH_EVENTS}throughput_rps")));
        let scores = known.map_or(0, |group| group.known.len());
        (scores < MIN_ALIKE).then(|| format!("failures of hosts, model {model}"))
    }

    /// The part of an answer that no past score resembles.
    pub fn unlike(&self, model: Model, circumstances: &Circumstances) -> Option<String> {
        let here = circumstances.about?;
        let known = self.0.get(&(model, "throughput_rps".to_owned()))?;
        let count = |alike: &dyn Fn(About) -> bool| {
            known.known.iter().filter(|(c, _)| c.circumstances.about.is_some_and(alike)).count()
        };
        if count(&|other| other.system == here.system) < MIN_ALIKE {
            return Some(format!("{}, model {model}", here.system));
        }
        (count(&|other| other.device == here.device) < MIN_ALIKE).then(|| match here.device {
            DeviceKind::Mixed => format!("several kinds of devices, model {model}"),
            device => format!("devices of kind {device}, model {model}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circumstances::{ChangeKind, SystemKind};

    fn past(misfit: f64, moved: f64, error: f64) -> PastScore {
        PastScore {
            model: Model::Replay,
            metric: "throughput_rps".to_owned(),
            circumstances: Circumstances {
                misfit: Some(misfit),
                moved: Some(moved),
                ..Circumstances::default()
            },
            error,
        }
    }

    fn experience(scores: impl IntoIterator<Item = PastScore>) -> Experience {
        let mut experience = Experience::default();
        scores.into_iter().for_each(|score| experience.learn(score));
        experience
    }

    #[test]
    fn those_most_alike_are_asked() {
        let good = (0..50).map(|index| past(0.01, 0.1, f64::from(index) / 1000.0));
        let bad = (0..50).map(|index| past(0.5, -2.0, 0.2 + f64::from(index) / 100.0));
        let experience = experience(good.chain(bad));
        let expect = |misfit, moved| {
            let circumstances = past(misfit, moved, 0.0).circumstances;
            experience.expect(Model::Replay, "throughput_rps", &circumstances).unwrap()
        };
        let near = expect(-0.012, 0.09);
        assert!(near.median < 0.05 && near.p90 < 0.12, "{near:?}");
        assert!(expect(0.45, 1.8).median > 0.3);
        let other = experience.expect(Model::Mva, "throughput_rps", &Circumstances::default());
        assert_eq!(other, None);
        let fresh = experience.expect(Model::Replay, "throughput_rps", &Circumstances::default());
        assert_eq!(fresh, None, "nothing is known of new workloads");
    }

    #[test]
    fn nine_of_ten_of_the_same_kind_are_held() {
        // errors that grow with the movement, in a fixed, unsorted order
        let draw = |n: u32| f64::from((n * 7919) % 1000) / 1000.0;
        let case = |n: u32| {
            let moved = draw(n + 17) * 2.0;
            past(0.02, moved, (draw(n) - 0.5) * (0.02 + 0.2 * moved))
        };
        let experience = experience((0..400).map(case));
        let held = (400..800).map(case).filter(|score| {
            let found = experience.expect(score.model, &score.metric, &score.circumstances);
            let interval = found.unwrap().around(1.0 + score.error);
            (interval.low..=interval.high).contains(&1.0)
        });
        let held = held.count();
        assert!((344..=376).contains(&held), "{held} of 400");
    }

    #[test]
    fn a_misfit_beyond_all_that_was_scored_widens() {
        let experience = experience((0..100).map(|n| past(0.02, 0.3, f64::from(n % 10) / 500.0)));
        let expect = |misfit: f64| {
            let here = past(misfit, 0.3, 0.0).circumstances;
            experience.expect(Model::Replay, "throughput_rps", &here).unwrap().p90
        };
        assert!(expect(0.02) < 0.05);
        // modelled: 23.8 times as long as recorded
        assert!(expect(libm::log(23.8)) > 20.0, "{}", expect(libm::log(23.8)));
    }

    #[test]
    fn one_run_that_was_as_far_off_does_not_speak_for_others() {
        let usual = (0..100).map(|n| past(0.02, 0.3, f64::from(n % 10) / 500.0));
        let lucky = past(0.9, 0.3, 0.01);
        let experience = experience(usual.chain([lucky]));
        let here = past(0.86, 0.3, 0.0).circumstances;
        let found = experience.expect(Model::Replay, "throughput_rps", &here).unwrap();
        assert!(found.p90 > 1.0, "{found:?}");
    }

    #[test]
    fn what_was_never_scored_is_said_and_wide() {
        let about = |device| About {
            system: SystemKind::UrsaMinor,
            device,
            change: ChangeKind::Load,
            open: false,
        };
        let score = |n: u32| {
            let mut score = past(0.02, 0.3, f64::from(n % 10) / 500.0);
            score.circumstances.about = Some(about(DeviceKind::Disk));
            score
        };
        let experience = experience((0..100).map(score));
        let mut here = score(0).circumstances;
        assert_eq!(experience.unlike(Model::Replay, &here), None);
        let near = experience.expect(Model::Replay, "throughput_rps", &here).unwrap();
        here.about = Some(about(DeviceKind::Array));
        assert!(experience.unlike(Model::Replay, &here).unwrap().contains("array"));
        let far = experience.expect(Model::Replay, "throughput_rps", &here).unwrap();
        assert!(near.p90 < 0.05 && far.p90 > 0.3, "{near:?} {far:?}");
    }

    #[test]
    fn a_history_is_read_as_it_is_written() {
        let mut fresh = past(0.0, 0.0, 0.125);
        fresh.circumstances = Circumstances::default();
        let mut known = past(-0.25, 1.5, -0.0625);
        known.circumstances.utilization = Some(0.75);
        known.circumstances.about = Some(About {
            system: SystemKind::Ceph,
            device: DeviceKind::Flash,
            change: ChangeKind::Encoding,
            open: true,
        });
        known.circumstances.requests = Some(12_345.0);
        for score in [past(-0.25, 1.5, 0.0625), fresh, known] {
            assert_eq!(score.to_string().parse(), Ok(score));
        }
        let error = Experience::parse("model,metric,misfit,moved,error\nreplay,x,1,2").unwrap_err();
        assert!(error.starts_with("line 2 has 4 fields"), "{error}");
        assert!(Experience::parse("a,b\n").unwrap_err().contains("line 1"));
        let word = format!("{HISTORY_HEADER}\nreplay,x,1,2,0.1,0.5,ceph,tape,load,open");
        assert!(Experience::parse(&word).unwrap_err().contains("`tape`"));
    }

    #[test]
    fn the_shipped_scores_cover_every_model() {
        let shipped = Experience::shipped();
        for model in Model::ALL {
            let usual =
                Circumstances { misfit: Some(0.02), moved: Some(0.3), ..Circumstances::default() };
            let found = shipped.expect(model, "throughput_rps", &usual).unwrap();
            // the fast model does not follow every question that was drawn
            assert!(
                found.scores >= NEIGHBOURS / 2 && found.median < found.p90,
                "{model} {found:?}"
            );
        }
    }
}
