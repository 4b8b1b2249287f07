//! COSBench's selectors: `c(5)`, `u(1,100)`, `r(1,100)`, `s(1,100)`, `h(1|64|10,64|512|90)`.

use foretell_units::Bytes;

/// A rule for choosing numbers.
#[derive(Clone, PartialEq, Debug)]
pub enum Select {
    /// Always this number.
    Constant(u64),
    /// Uniformly in this range, both ends included.
    Uniform(u64, u64),
    /// In order, and then from the beginning again (`r` and `s`).
    Sequential(u64, u64),
    /// From bins `low|high|weight`, each uniform.
    Histogram(Vec<(u64, u64, f64)>),
}

impl Select {
    /// Parses a selector as COSBench writes it. Also returns the text after it (a unit). `None`: it
    /// is not a selector.
    pub fn parse(text: &str) -> Option<(Self, &str)> {
        let (kind, rest) = text.trim().split_once('(')?;
        let (inside, unit) = rest.split_once(')')?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let range = || {
            let (low, high) = inside.split_once(',')?;
            Some((number(low)?, number(high)?)).filter(|(low, high)| low <= high)
        };
        let select = match kind.trim() {
            "c" => Self::Constant(number(inside)?),
            "u" => range().map(|(low, high)| Self::Uniform(low, high))?,
            "r" | "s" => range().map(|(low, high)| Self::Sequential(low, high))?,
            "h" => {
                let bin = |text: &str| {
                    let mut parts = text.split('|');
                    let (low, high) = (number(parts.next()?)?, number(parts.next()?)?);
                    let weight = parts.next()?.trim().parse::<f64>().ok()?;
                    (low <= high && weight > 0.0 && weight.is_finite() && parts.next().is_none())
                        .then_some((low, high, weight))
                };
                Self::Histogram(inside.split(',').map(bin).collect::<Option<_>>()?)
            }
            _ => return None,
        };
        Some((select, unit.trim()))
    }

    /// The largest number that can be chosen.
    pub fn largest(&self) -> u64 {
        match self {
            Self::Constant(only) => *only,
            Self::Uniform(_, high) | Self::Sequential(_, high) => *high,
            Self::Histogram(bins) => bins.iter().map(|bin| bin.1).max().unwrap_or(0),
        }
    }

    /// The smallest number that can be chosen.
    pub fn smallest(&self) -> u64 {
        match self {
            Self::Constant(only) => *only,
            Self::Uniform(low, _) | Self::Sequential(low, _) => *low,
            Self::Histogram(bins) => bins.iter().map(|bin| bin.0).min().unwrap_or(0),
        }
    }

    /// Number of values from the smallest to the largest.
    pub fn span(&self) -> u64 {
        (self.largest() - self.smallest()).saturating_add(1)
    }

    /// The number chosen for two random numbers from 0 to 1 and a position in the sequence of
    /// choices.
    pub fn at(&self, chance: f64, within: f64, place: u64) -> u64 {
        let among = |low: u64, high: u64, share: f64| {
            let span = (high - low).saturating_add(1);
            low + ((share * span as f64) as u64).min(span - 1)
        };
        match self {
            Self::Constant(only) => *only,
            Self::Uniform(low, high) => among(*low, *high, within),
            Self::Sequential(low, _) => low + place % self.span(),
            Self::Histogram(bins) => {
                let all: f64 = bins.iter().map(|bin| bin.2).sum();
                let mut left = chance * all;
                let mut chosen = bins[bins.len() - 1];
                for bin in bins {
                    if left < bin.2 {
                        chosen = *bin;
                        break;
                    }
                    left -= bin.2;
                }
                among(chosen.0, chosen.1, within)
            }
        }
    }
}

/// Bytes in a unit of sizes in COSBench. `None`: it is not a unit.
pub fn unit(text: &str) -> Option<Bytes> {
    Some(Bytes(match text {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::chi_square::assert_fits;

    #[test]
    fn selectors_are_read_with_their_unit() {
        assert_eq!(Select::parse("c(64)KB"), Some((Select::Constant(64), "KB")));
        assert_eq!(Select::parse(" u(1, 32)"), Some((Select::Uniform(1, 32), "")));
        assert_eq!(Select::parse("r(1,9)"), Some((Select::Sequential(1, 9), "")));
        let bins = vec![(1, 64, 10.0), (64, 512, 90.0)];
        assert_eq!(Select::parse("h(1|64|10,64|512|90)KB"), Some((Select::Histogram(bins), "KB")));
        for bad in ["", "u(5,1)", "u(1)", "x(1)", "c(a)", "h(1|2)", "c(1", "h()"] {
            assert_eq!(Select::parse(bad), None, "{bad}");
        }
        assert_eq!(
            (unit("MB"), unit("MiB"), unit("XB")),
            (Some(Bytes(1_000_000)), Some(Bytes::mib(1)), None)
        );
    }

    #[test]
    fn choices_fit_their_laws() {
        let mut stream = Seed(1).stream("select");
        let mut counts = vec![0; 10];
        let uniform = Select::Uniform(1, 10);
        let histogram = Select::parse("h(1|4|20,5|10|80)").unwrap().0;
        let mut bins = vec![0; 10];
        for place in 0..100_000 {
            let (chance, within) = (stream.unit(), stream.unit());
            counts[uniform.at(chance, within, place) as usize - 1] += 1;
            bins[histogram.at(chance, within, place) as usize - 1] += 1;
        }
        assert_fits(&counts, &[1.0; 10]);
        let weights: Vec<f64> =
            (1..=10).map(|n| if n < 5 { 20.0 / 4.0 } else { 80.0 / 6.0 }).collect();
        assert_fits(&bins, &weights);
        let order: Vec<u64> =
            (0..5).map(|place| Select::Sequential(2, 4).at(0.9, 0.9, place)).collect();
        assert_eq!(order, [2, 3, 4, 2, 3]);
    }
}
