//! Regression models, from matrices of numbers.
//!
//! It has the models of "predictive performance modeling of virtualized storage systems" (Noorshams et
//! al. 2013): linear regression, MARS, CART, M5, Cubist, and the iterative search of their parameters.
//! It also has ridge, lasso, elastic net, and random forests, and the models of "Inside-Out" (Hsu et
//! al. 2016): regression on principal components, and a two-level model whose first level selects features.
//! Gradient boosting and Gaussian processes complete the list. This crate knows nothing about storage.

mod boost;
mod candidate;
mod cart;
mod coverage;
mod cubist;
mod dataset;
mod error;
mod error_forest;
mod evaluation;
mod explain;
mod explanation;
mod folds;
mod forest;
mod gp;
mod gram;
mod grow;
mod holding;
mod intervals;
mod least_squares;
mod linear;
mod m5;
mod mars;
mod matrix;
pub mod metrics;
mod model;
mod moments;
mod pca;
mod penalized;
mod search;
mod segments;
mod spec;
mod table;
mod transform;
mod tune;
mod two_level;
mod validate;

pub use boost::Boost;
pub use candidate::{Candidate, Criterion, Tested};
pub use cart::{Pruning, PruningStep, Tree};
pub use coverage::Coverage;
pub use cubist::{Condition, Cubist, Rule};
pub use dataset::{Dataset, Feature, Schema};
pub use error::LearnError;
pub use evaluation::{Evaluation, HeldOut, Judge};
pub use explain::{Dependence, Importance, Learned, dependence, importance, learning_curve};
pub use explanation::Explanation;
pub use folds::Folds;
pub use forest::Forest;
pub use gp::{Gp, Hyperparameters, Kernel, Normal, Unit};
pub use grow::{Node, Split};
pub use holding::{HoldOut, Holding};
pub use intervals::{Interval, IntervalCoverage, IntervalSettings, Intervals, Method, Scale};
pub use linear::{LinearModel, Term};
pub use m5::{M5, M5Node};
pub use mars::{Basis, Hinge, Mars, Shape};
pub use matrix::Matrix;
pub use model::{FeatureRange, Model, Outside, Selected, Trained, Training};
pub use moments::Plane;
pub use search::{Evaluated, SearchRange, SearchResult, SearchSettings, search};
pub use spec::{Kind, Parameter, Rows, Spec, Values};
pub use table::{Cells, Table};
pub use transform::{Input, Transform, View};
pub use tune::{
    InnerFolds, Tuned, TunedOutOfFold, default_ranges, ranges_or_default, tune, tuned_out_of_fold,
};
pub use validate::{
    LeftOut, OutOfFold, Part, Parts, is_grid, left_out, out_of_fold, out_of_fold_with,
};
