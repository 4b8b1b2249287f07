//! What a sweep varies: a factor, its levels or its range, and the changes that each value means.

use foretell_scenarios::Change;

use crate::Value;
use crate::column::{Column, Kind, Role};
use crate::quantity::Quantity;

/// A factor of a design.
#[derive(Clone, PartialEq, Debug)]
pub struct Factor {
    /// Name, as constraints use it.
    pub name: String,
    /// What it is.
    pub description: String,
    /// What its values are.
    pub quantity: Quantity,
    /// Where values come from.
    pub(crate) domain: Domain,
}

/// Where the values of a factor come from.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Domain {
    /// From a list.
    Levels(Vec<Setting>),
    /// From a range.
    Range(Range),
}

/// Numbers from `low` to `high`, both possible.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether equal ratios, rather than equal differences, are equally likely.
    pub(crate) logarithmic: bool,
    /// Distance of possible values from one another, beginning at `low`; zero: none.
    pub(crate) step: f64,
    /// Values that a full factorial design takes, if any are told.
    pub(crate) count: Option<u64>,
    /// What is changed.
    pub(crate) paths: Vec<String>,
}

/// One value of a factor.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// As in the data set.
    pub value: Value,
    /// As in the scenario.
    pub changes: Vec<Change>,
}

impl Factor {
    /// Name of its column: with the unit at its end.
    pub fn column_name(&self) -> String {
        format!("{}{}", self.name, self.quantity.unit().0)
    }

    /// Its column.
    pub fn column(&self) -> Column {
        let mut description = self.description.clone();
        if !description.is_empty() {
            description += ": ";
        }
        description += &self.values_told();
        let (_, unit) = self.quantity.unit();
        Column::new(self.column_name(), self.kind(), Role::Factor, unit, description)
    }

    /// What its column holds.
    pub fn kind(&self) -> Kind {
        self.quantity.kind()
    }

    /// Its values, for people: `4, 8, 16`, or `1 to 64`.
    pub fn values_told(&self) -> String {
        match &self.domain {
            Domain::Levels(levels) => {
                levels.iter().map(|level| level.value.to_string()).collect::<Vec<_>>().join(", ")
            }
            Domain::Range(range) => {
                let [low, high] = [range.low, range.high].map(|end| self.quantity.value(end));
                let mut text = format!("{low} to {high}");
                if range.step > 0.0 && (range.step > 1.0 || self.kind() != Kind::Whole) {
                    text = format!("{text} in steps of {}", range.step);
                }
                if range.logarithmic {
                    text += ", logarithmic";
                }
                text
            }
        }
    }

    /// The paths that it changes; some more than once.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        let (levels, range) = match &self.domain {
            Domain::Levels(levels) => (levels.as_slice(), None),
            Domain::Range(range) => (&[][..], Some(range)),
        };
        let of_levels = levels.iter().flat_map(|level| &level.changes);
        let of_range = range.into_iter().flat_map(|range| &range.paths);
        of_levels.map(|change| change.path.as_str()).chain(of_range.map(String::as_str))
    }

    /// Number of values in a full factorial design; `None`: a range without a number of values.
    pub fn levels(&self) -> Option<u64> {
        match &self.domain {
            Domain::Levels(levels) => Some(levels.len() as u64),
            Domain::Range(range) => range.count,
        }
    }

    /// How many values a design takes of it, if they are few with room between them: what is learned at
    /// these is not known between them. `None`: it is no number, or its values lie close.
    pub(crate) fn sparse_levels(&self, full: bool) -> Option<usize> {
        if self.kind() == Kind::Text || self.kind() == Kind::Flag {
            return None;
        }
        let settings: Vec<Setting> = match &self.domain {
            Domain::Levels(levels) => levels.clone(),
            Domain::Range(range) if full => {
                (0..range.count?).map(|index| self.level(index)).collect()
            }
            Domain::Range(_) => return None,
        };
        let mut values: Vec<f64> =
            settings.iter().filter_map(|setting| setting.value.as_f64()).collect();
        values.sort_by(f64::total_cmp);
        let gap = |pair: &[f64]| pair[1] - pair[0] > 1.0 || pair[0].fract() != 0.0;
        values.windows(2).any(gap).then_some(values.len())
    }

    /// Value `index` of those that a full factorial design takes.
    pub(crate) fn level(&self, index: u64) -> Setting {
        match &self.domain {
            Domain::Levels(levels) => levels[index as usize].clone(),
            Domain::Range(range) => {
                let last = range.count.unwrap_or(1).max(2) - 1;
                self.in_range(range, range.at(index as f64 / last as f64))
            }
        }
    }

    /// The value at `share`, at least 0 and below 1, of all.
    pub(crate) fn at(&self, share: f64) -> Setting {
        match &self.domain {
            Domain::Levels(levels) => {
                let index = (share * levels.len() as f64) as usize;
                levels[index.min(levels.len() - 1)].clone()
            }
            Domain::Range(range) => self.in_range(range, range.draw(share)),
        }
    }

    fn in_range(&self, range: &Range, number: f64) -> Setting {
        let value = self.quantity.value(number);
        let written = self.quantity.written(&value);
        let change = |path: &String| Change { path: path.clone(), value: written.clone() };
        Setting { value, changes: range.paths.iter().map(change).collect() }
    }
}

impl Range {
    /// The possible value nearest to `share` of the way; 0 and 1 are the ends.
    fn at(&self, share: f64) -> f64 {
        self.possible(self.between(self.low, self.high, share))
    }

    /// As [`Range::at`], but all possible values, the ends too, have their full share.
    fn draw(&self, share: f64) -> f64 {
        if self.step <= 0.0 {
            return self.at(share);
        }
        let half = self.step / 2.0;
        let low =
            if self.logarithmic { (self.low - half).max(self.low / 2.0) } else { self.low - half };
        self.possible(self.between(low, self.last() + half, share))
    }

    fn between(&self, low: f64, high: f64, share: f64) -> f64 {
        if self.logarithmic {
            let (from, to) = (libm::log(low), libm::log(high));
            libm::exp(from + share * (to - from))
        } else {
            low + share * (high - low)
        }
    }

    fn possible(&self, number: f64) -> f64 {
        if self.step <= 0.0 {
            return number.clamp(self.low, self.high);
        }
        let steps = libm::rint((number - self.low) / self.step);
        (self.low + steps * self.step).clamp(self.low, self.last())
    }

    /// The last possible value.
    fn last(&self) -> f64 {
        if self.step <= 0.0 {
            return self.high;
        }
        // 0.3 is three steps of 0.1, though not in binary
        let steps = libm::floor((self.high - self.low) / self.step + 1e-9);
        self.low + steps * self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(quantity: Quantity, low: f64, high: f64, step: f64, logarithmic: bool) -> Factor {
        let paths = vec!["workload.w.outstanding".to_owned()];
        let range = Range { low, high, logarithmic, step, count: Some(3), paths };
        let (name, description) = ("x".to_owned(), String::new());
        Factor { name, description, quantity, domain: Domain::Range(range) }
    }

    #[test]
    fn whole_numbers_of_a_range_are_equally_likely() {
        let factor = factor(Quantity::Whole, 1.0, 4.0, 1.0, false);
        let drawn = |share| factor.at(share).value;
        // a quarter for each
        for (share, value) in [(0.0, 1), (0.24, 1), (0.26, 2), (0.51, 3), (0.76, 4), (0.999, 4)] {
            assert_eq!(drawn(share), Value::Whole(value), "{share}");
        }
    }

    #[test]
    fn a_logarithmic_range_has_equal_ratios() {
        let factor = factor(Quantity::Size, 4096.0, 65536.0, 4096.0, true);
        // √(4096 · 65536) = 16384
        assert_eq!(factor.level(1).value, Value::Whole(16384));
        assert_eq!(factor.level(2).changes[0].to_string(), "workload.w.outstanding=65536 B");
    }

    #[test]
    fn values_with_room_between_them_are_told_from_close_ones() {
        let range = |step, high| factor(Quantity::Whole, 1.0, high, step, false);
        // 1, 5, 9
        assert_eq!(range(1.0, 9.0).sparse_levels(true), Some(3));
        // 1, 2, 3
        assert_eq!(range(1.0, 3.0).sparse_levels(true), None);
        assert_eq!(range(1.0, 9.0).sparse_levels(false), None, "any value is possible");
    }

    #[test]
    fn steps_end_where_the_range_does() {
        let factor = factor(Quantity::Number, 0.0, 0.3, 0.1, false);
        let Value::Number(last) = factor.at(0.9999).value else { panic!() };
        assert!((last - 0.3).abs() < 1e-12, "{last}");
    }
}
