//! Converts quantities from text to numbers.

use std::fmt::Display;
use std::str::FromStr;

use foretell_units::{Bytes, Rate, SimSpan};

use super::Context;
use crate::error::Problem;
use crate::model::Think;
use crate::raw::{At, Frequency, PartSize, Share, Size, Speed, Time};
use crate::source::Place;

/// A larger size is a mistake, and sums of smaller ones do not overflow: 1 EiB.
const MAX_BYTES: Bytes = Bytes(1 << 60);

/// A longer time is a mistake, and sums of shorter ones do not overflow: ten years.
const MAX_TIME: SimSpan = SimSpan::from_secs(10 * 365 * 86_400);

/// A size, or a share of another size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Part {
    /// A number of bytes.
    Size(Bytes),
    /// A share of the whole, above 0 and at most 1.
    Share(f64),
    /// `auto`.
    Auto,
}

impl Part {
    /// The size in bytes; `auto` is the given size.
    pub(crate) fn of(self, whole: Bytes, auto: Bytes) -> Bytes {
        match self {
            Self::Size(size) => size,
            Self::Share(share) if share >= 1.0 => whole,
            Self::Share(share) => Bytes((whole.get() as f64 * share) as u64).min(whole),
            Self::Auto => auto,
        }
    }
}

impl Context<'_> {
    fn parse<T: FromStr<Err: Display>>(&mut self, text: &str, place: Place) -> Option<T> {
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                self.add(Problem::new(place, error.to_string()));
                None
            }
        }
    }

    /// Checks a value against `most`, which is written as `limit`.
    fn limited<T: PartialOrd + Copy>(
        &mut self,
        value: T,
        text: &str,
        most: T,
        limit: &str,
        place: Place,
    ) -> Option<T> {
        if value <= most {
            return Some(value);
        }
        self.add(Problem::new(place, format!("`{}` is more than {limit}", text.trim())));
        None
    }

    pub(super) fn above_zero<T: PartialEq + Default>(
        &mut self,
        value: T,
        what: &str,
        place: Place,
    ) -> Option<T> {
        if value != T::default() {
            return Some(value);
        }
        self.add(Problem::new(place, format!("{what} cannot be zero")));
        None
    }

    pub(crate) fn size_of(&mut self, text: &str, place: Place) -> Option<Bytes> {
        let size = self.parse(text, place)?;
        self.limited(size, text, MAX_BYTES, "1024 PiB", place)
    }

    pub(crate) fn size(&mut self, raw: &Size) -> Option<Bytes> {
        self.size_of(&raw.get().text, raw.place())
    }

    /// A size that is not zero; `what` is the subject of the message.
    pub(crate) fn size_above_zero(&mut self, raw: &Size, what: &str) -> Option<Bytes> {
        let size = self.size(raw)?;
        self.above_zero(size, what, raw.place())
    }

    /// Metadata of one write: more than zero, and at most 1 MiB, because each write writes them.
    pub(crate) fn metadata(&mut self, raw: &Size) -> Option<Bytes> {
        let size = self.size_above_zero(raw, "metadata")?;
        self.limited(size, &raw.get().text, Bytes::mib(1), "1 MiB", raw.place())
    }

    pub(crate) fn time_of(&mut self, text: &str, place: Place) -> Option<SimSpan> {
        let time = self.parse(text, place)?;
        self.limited(time, text, MAX_TIME, "ten years", place)
    }

    pub(crate) fn time(&mut self, raw: &Time) -> Option<SimSpan> {
        self.time_of(&raw.get().text, raw.place())
    }

    /// A time that is not zero; `what` is the subject of the message.
    pub(crate) fn time_above_zero(&mut self, raw: &Time, what: &str) -> Option<SimSpan> {
        let time = self.time(raw)?;
        self.above_zero(time, what, raw.place())
    }

    /// A time of at most a second.
    pub(crate) fn time_within_a_second(&mut self, raw: &Time) -> Option<SimSpan> {
        let time = self.time(raw)?;
        self.limited(time, &raw.get().text, SimSpan::from_secs(1), "a second", raw.place())
    }

    pub(crate) fn rate(&mut self, raw: &Speed) -> Option<Rate> {
        self.parse(&raw.get().text, raw.place())
    }

    pub(crate) fn part_size(&mut self, raw: &At<PartSize>) -> Option<Part> {
        let text = raw.get().0.trim();
        if text == "auto" {
            return Some(Part::Auto);
        }
        let Some(percent) = text.strip_suffix('%') else {
            return self.size_of(text, raw.place()).map(Part::Size);
        };
        match percent.trim().parse::<f64>() {
            Ok(percent) if percent > 0.0 && percent <= 100.0 => Some(Part::Share(percent / 100.0)),
            _ => {
                let message = format!("`{text}` is not a percentage above 0% and up to 100%");
                self.add(Problem::new(raw.place(), message));
                None
            }
        }
    }

    /// A share from 0 to 1.
    pub(crate) fn share(&mut self, raw: &At<Share>) -> Option<f64> {
        if let Some(share) = raw.get().number() {
            return Some(share);
        }
        let found = match raw.get() {
            Share::Number(share) => share.to_string(),
            Share::Text(text) => text.clone(),
        };
        let message = format!("`{found}` is not a share");
        let help = "a share is a number from 0 to 1, or a percentage from \"0%\" to \"100%\"";
        self.add(Problem::new(raw.place(), message).help(help));
        None
    }

    /// Requests per second.
    pub(crate) fn frequency(&mut self, raw: &At<Frequency>) -> Option<f64> {
        /// From one in eleven days to one per nanosecond, the resolution of simulated times.
        const POSSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e9;
        let (rate, found) = match raw.get() {
            Frequency::Number(rate) => (Some(*rate), rate.to_string()),
            Frequency::Text(text) => {
                let rate = text.split_once('/').and_then(|(number, unit)| {
                    let seconds = match unit.trim() {
                        "s" => 1.0,
                        "min" => 60.0,
                        "h" => 3600.0,
                        _ => return None,
                    };
                    Some(number.trim().replace('_', "").parse::<f64>().ok()? / seconds)
                });
                (rate, text.clone())
            }
        };
        if let Some(rate) = rate.filter(|rate| POSSIBLE.contains(rate)) {
            return Some(rate);
        }
        let message = format!("`{found}` is not a rate of requests");
        let help = "requests per second, such as 200 or \"200/s\", from 1e-6 to 1e9";
        self.add(Problem::new(raw.place(), message).help(help));
        None
    }

    /// A think time, fixed or random.
    pub(crate) fn think(&mut self, raw: &At<String>) -> Option<Think> {
        let text = raw.get().trim();
        match text.split_once(char::is_whitespace) {
            Some(("exponential", mean)) => {
                self.time_of(mean.trim(), raw.place()).map(Think::Exponential)
            }
            _ => self.time_of(text, raw.place()).map(Think::Fixed),
        }
    }
}
