//! Features of several observations, one below the other.

use crate::error::MetricsError;
use crate::features::Features;
use crate::series::TARGETS;

/// Rows of features with the number of the observation that each belongs to.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct FeatureTable {
    /// The rows.
    pub features: Features,
    /// By row: its observation, from 0 in the order in which they were added.
    pub sets: Vec<usize>,
}

impl FeatureTable {
    /// Adds the rows of an observation.
    ///
    /// # Errors
    ///
    /// As [`Features::append`].
    pub fn add(&mut self, rows: Features) -> Result<(), MetricsError> {
        let set = self.sets.last().map_or(0, |last| last + 1);
        let count = rows.times.len();
        self.features.append(rows)?;
        self.sets.extend(std::iter::repeat_n(set, count));
        Ok(())
    }

    /// The indices of the features that are not the same in all rows. There must be a row.
    pub fn varying(&self) -> Vec<usize> {
        let varies =
            |column: &[f64]| column.iter().any(|value| value.to_bits() != column[0].to_bits());
        let columns = self.features.columns.iter().enumerate();
        columns.filter(|(_, column)| varies(column)).map(|(index, _)| index).collect()
    }

    /// The targets that clients reported, by name, with their values by row.
    pub fn targets(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        let all = TARGETS.iter().zip(&self.features.targets);
        all.filter(|(_, column)| !column.is_empty())
            .map(|(target, column)| (target.name, &column[..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_are_numbered_and_constant_features_known() {
        let rows =
            |values: &[f64]| Features {
                names: vec!["a".to_owned(), "b".to_owned()],
                times: values.to_vec(),
                columns: vec![vec![1.0; values.len()], values.to_vec()],
                targets: std::array::from_fn(|target| {
                    if target == 1 { values.to_vec() } else { Vec::new() }
                }),
            };
        let mut table = FeatureTable::default();
        table.add(rows(&[3.0, 4.0])).unwrap();
        table.add(rows(&[5.0])).unwrap();
        assert_eq!((table.sets.as_slice(), table.varying()), (&[0, 0, 1][..], vec![1]));
        let targets: Vec<(&str, &[f64])> = table.targets().collect();
        assert_eq!(targets, [(TARGETS[1].name, &[3.0, 4.0, 5.0][..])]);
    }
}
