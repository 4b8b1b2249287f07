//! `foretell learn`: regression models on a table.

mod data_set;
mod evaluate;
mod explain;
mod features;
mod keep;
mod rows;
mod score;
mod space;

use std::fmt::Write as _;

use foretell_learn::{Kind, Values};

use crate::cli::{LearnArguments, Learning};
use crate::failure::Failure;

/// Runs the command.
pub(crate) fn learn(arguments: &LearnArguments) -> Result<(), Failure> {
    let text = match &arguments.step {
        Learning::Evaluate(arguments) => evaluate::evaluate(arguments)?,
        Learning::Score(arguments) => score::score(arguments)?,
        Learning::Train(arguments) => keep::train(arguments)?,
        Learning::Predict(arguments) => keep::predict(arguments)?,
        Learning::Search(arguments) => space::search(arguments)?,
        Learning::Explain(arguments) => explain::explain(arguments)?,
        Learning::Show(arguments) => keep::show(arguments)?,
        Learning::Models => models(),
        Learning::Features(arguments) => features::features(arguments)?,
    };
    crate::output::print(&text)
}

/// The size of an error with this number of decimals; in powers of ten if these would show less than two digits of it.
fn error_size(size: f64, decimals: i32) -> String {
    if size > 0.0 && size < 10.0_f64.powi(1 - decimals) {
        return format!("{size:.3e}");
    }
    format!("{size:.0$}", decimals.unsigned_abs() as usize)
}

fn models() -> String {
    let mut text = String::new();
    for kind in Kind::ALL {
        let _ = writeln!(text, "{}", kind.name());
        for parameter in kind.parameters() {
            let values = match parameter.values {
                Values::Whole(low, high) => format!("{low} to {high}"),
                Values::Real(low, f64::MAX) => format!("{low} or more"),
                Values::Real(low, high) => format!("{low} to {high}"),
                Values::Words(words) => words.join(", "),
            };
            let default = match (parameter.default, parameter.values) {
                (None, _) => "derived".to_owned(),
                (Some(value), Values::Words(words)) => words[value as usize].to_owned(),
                (Some(value), _) => value.to_string(),
            };
            let (name, meaning) = (parameter.name, parameter.meaning);
            let _ = writeln!(text, "  {name}={default} ({values}): {meaning}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn small_errors_are_not_zero() {
        assert_eq!(super::error_size(0.25, 4), "0.2500");
        assert_eq!(super::error_size(0.000_012, 4), "1.200e-5");
        assert_eq!(super::error_size(0.0, 4), "0.0000");
    }
}
