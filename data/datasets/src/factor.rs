//! Factors of a sweep: levels or a range, and the changes to the scenario for each value.

use foretell_scenarios::Change;

use crate::Value;
use crate::column::{Column, Kind, Role};
use crate::quantity::Quantity;

/// A factor of a design.
#[derive(Clone, PartialEq, Debug)]
pub struct Factor {
    /// Name, as constraints use it.
    pub name: String,
    /// Its description.
    pub description: String,
    /// The quantity of its values.
    pub quantity: Quantity,
    /// The possible values.
    pub(crate) domain: Domain,
}

/// The possible values of a factor.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Domain {
    /// A list of values.
    Levels(Vec<Setting>),
    /// A range of numbers.
    Range(Range),
}

/// Numbers from `low` to `high`, both included.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Range {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// Whether equal ratios are equally likely, instead of equal differences.
    pub(crate) logarithmic: bool,
    /// Distance between neighbouring values, beginning at `low`; zero: any number is possible.
    pub(crate) step: f64,
    /// Number of values in a full factorial design, if it is given.
    pub(crate) count: Option<u64>,
    /// The paths in the scenario that get the value.
    pub(crate) paths: Vec<String>,
}

/// One value of a factor.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The value in the data set.
    pub value: Value,
    /// The changes to the scenario.
    pub changes: Vec<Change>,
}

impl Factor {
    /// Name of its column, with the unit at the end.
    pub fn column_name(&self) -> String {
        format!("{}{}", self.name, self.quantity.unit().0)
    }

    /// Its column.
    pub fn column(&self) -> Column {
        let (_, unit) = self.quantity.unit();
        Column::new(self.column_name(), self.kind(), Role::Factor, unit, self.described())
    }

    /// Its description and its values as text.
    pub fn described(&self) -> String {
        let mut text = self.description.clone();
        if !text.is_empty() {
            text += ": ";
        }
        text += &self.values_described();
        // what is observed is the number of all clients together
        if self.paths().any(|path| path.starts_with("workload.") && path.ends_with(".outstanding"))
        {
            text += "; of each client";
        }
        text
    }

    /// Type of its column.
    pub fn kind(&self) -> Kind {
        self.quantity.kind()
    }

    /// Its values as text: `4, 8, 16`, or `1 to 64`.
    pub fn values_described(&self) -> String {
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

    /// The paths that it changes; a path may appear more than once.
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

    /// The number of values in the design, if they are few with gaps between them. A model that learned
    /// at these values knows nothing between them. `None`: it is not a number, or its values are close
    /// together.
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

    /// Value `index` of the values in a full factorial design.
    pub(crate) fn level(&self, index: u64) -> Setting {
        match &self.domain {
            Domain::Levels(levels) => levels[index as usize].clone(),
            Domain::Range(range) => {
                let last = range.count.unwrap_or(1).max(2) - 1;
                self.in_range(range, range.at(index as f64 / last as f64))
            }
        }
    }

    /// The value at `share` of all values; `share` is at least 0 and below 1.
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

    /// Like [`Range::at`], but every possible value, the ends included, has an equal share.
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
        // 0.3 is three steps of 0.1, but not exactly in binary
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
