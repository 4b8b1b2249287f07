//! The forest that expects how large errors are at a row, stored as small as predictions allow.
//!
//! A file with a model of a few terms has this forest of many trees, too. So only what a prediction needs is kept: for
//! a split its column and cut, for a leaf its value, to four decimals. (The values are logarithms of errors, so this
//! changes a width by less than 0.01 %.) Nodes are stored parent first, then the left and the right subtree; this order
//! makes the numbers of children superfluous.

use serde::{Deserialize, Serialize};

use crate::cart::Tree;
use crate::forest::Forest;
use crate::grow::{Node, Split};

/// Decimals of a leaf's value, as a factor.
const DECIMALS: f64 = 1e4;

/// A forest without the figures that predictions do not need.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(into = "Vec<Stored>", try_from = "Saved")]
pub(crate) struct ErrorForest(Forest);

/// A tree in a file: two figures for each node.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    /// -1 of a leaf; else twice the column, plus one if rows whose value is missing go left.
    splits: Vec<i64>,
    /// The cut of a split, or the value of a leaf.
    values: Vec<f64>,
}

/// The forest in a file of this version, or of one before.
#[derive(Deserialize)]
#[serde(untagged)]
enum Saved {
    Stored(Vec<Stored>),
    Forest(Forest),
}

impl ErrorForest {
    /// What predictions need of `forest`.
    pub(crate) fn of(mut forest: Forest) -> Self {
        for node in forest.trees.iter_mut().flat_map(|tree| &mut tree.nodes) {
            let mean =
                if node.split.is_some() { 0.0 } else { (node.mean * DECIMALS).round() / DECIMALS };
            *node = Node { rows: 0, deviance: 0.0, mean, ..*node };
        }
        // as it will be read from the file
        let trees = forest.trees.iter().map(Stored::of).map(Stored::tree);
        Self(Forest { trees: trees.collect::<Option<_>>().unwrap_or(forest.trees) })
    }

    pub(crate) fn predict_row(&self, row: impl Fn(usize) -> f64) -> f64 {
        self.0.predict_row(row)
    }

    /// Whether there are trees and all their columns exist.
    pub(crate) fn fits(&self, columns: usize) -> bool {
        self.0.fits(columns)
    }
}

impl Stored {
    fn of(tree: &Tree) -> Self {
        let (mut splits, mut values) = (Vec::new(), Vec::new());
        let mut open = vec![0];
        while let Some(node) = open.pop().and_then(|node: usize| tree.nodes.get(node)) {
            match node.split {
                None => {
                    splits.push(-1);
                    values.push(node.mean);
                }
                Some(Split { column, cut, left, right, missing_left }) => {
                    splits.push(2 * column.cast_signed() as i64 + i64::from(missing_left));
                    values.push(cut);
                    open.extend([right, left]);
                }
            }
        }
        Self { splits, values }
    }

    /// The tree; `None` if subtrees are missing, or too many.
    fn tree(self) -> Option<Tree> {
        if self.splits.len() != self.values.len() {
            return None;
        }
        let mut nodes: Vec<Node> = Vec::new();
        // splits that wait for their right subtree
        let mut open: Vec<usize> = Vec::new();
        let mut is_whole = false;
        for (place, (split, value)) in self.splits.into_iter().zip(self.values).enumerate() {
            if is_whole {
                return None;
            }
            let leaf = Node { rows: 0, mean: value, deviance: 0.0, split: None };
            let Ok(split) = usize::try_from(split) else {
                nodes.push(leaf);
                match open.pop() {
                    None => is_whole = true,
                    Some(parent) => nodes[parent].split.as_mut()?.right = place + 1,
                }
                continue;
            };
            let (column, missing_left) = (split / 2, split % 2 == 1);
            let split = Split { column, cut: value, left: place + 1, right: 0, missing_left };
            nodes.push(Node { mean: 0.0, split: Some(split), ..leaf });
            open.push(place);
        }
        is_whole.then_some(Tree { nodes })
    }
}

impl From<ErrorForest> for Vec<Stored> {
    fn from(forest: ErrorForest) -> Self {
        forest.0.trees.iter().map(Stored::of).collect()
    }
}

impl TryFrom<Saved> for ErrorForest {
    type Error = &'static str;

    fn try_from(saved: Saved) -> Result<Self, Self::Error> {
        match saved {
            Saved::Forest(forest) => Ok(Self(forest)),
            Saved::Stored(trees) => {
                let trees: Option<Vec<Tree>> = trees.into_iter().map(Stored::tree).collect();
                Ok(Self(Forest { trees: trees.ok_or("a tree lacks nodes, or has too many")? }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest;
    use crate::matrix::Matrix;

    #[test]
    fn what_is_stored_predicts_as_the_forest_does() {
        let columns: Vec<Vec<f64>> =
            [7, 13].map(|step| (0..200).map(|row| f64::from(row * step % 31)).collect()).into();
        let x = Matrix::from_columns(&columns).unwrap();
        let y: Vec<f64> =
            (0..200).map(|row| libm::log(1.0 + x.get(row, 0) * x.get(row, 1))).collect();
        let (whole, _) = forest::out_of_bag(&x, &y, None, 20, 5);
        let small = ErrorForest::of(whole.clone());
        for row in 0..200 {
            let at = |column| x.get(row, column);
            assert!((small.predict_row(at) - whole.predict_row(at)).abs() < 1e-4);
        }
        let text = serde_json::to_string(&small).unwrap();
        assert_eq!(serde_json::from_str::<ErrorForest>(&text).unwrap(), small);
        // files of the format before have the whole forest
        let before = serde_json::to_string(&whole).unwrap();
        assert_eq!(serde_json::from_str::<ErrorForest>(&before).unwrap().0, whole);
        assert!(6 * text.len() < before.len(), "{} of {} bytes", text.len(), before.len());
    }

    #[test]
    fn damaged_trees_are_refused() {
        let read = |splits: &str, values: &str| {
            let text = format!(r#"[{{"splits":{splits},"values":{values}}}]"#);
            serde_json::from_str::<ErrorForest>(&text)
        };
        assert!(read("[0,-1,-1]", "[0.5,1.0,2.0]").unwrap().fits(1));
        assert!(!read("[8,-1,-1]", "[0.5,1.0,2.0]").unwrap().fits(4));
        for (splits, values) in
            [("[]", "[]"), ("[0,-1]", "[0.5,1.0]"), ("[-1,-1]", "[1.0,2.0]"), ("[-1]", "[1.0,2.0]")]
        {
            assert!(read(splits, values).is_err(), "{splits}");
        }
    }
}
