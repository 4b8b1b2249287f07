//! Models by name and parameters, as users write them: `mars:degree=2,nnodes=41`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use foretell_units::Seed;

use crate::LearnError;
use crate::boost;
use crate::cart::{Pruning, Tree};
use crate::cubist::{self, Cubist};
use crate::error::nearest;
use crate::folds::Folds;
use crate::forest::{self, Forest};
use crate::gp::{self, Gp};
use crate::linear::LinearModel;
use crate::m5::{self, M5};
use crate::mars::{self, Mars};
use crate::matrix::Matrix;
use crate::model::Model;
use crate::pca;
use crate::penalized;
use crate::two_level::{self, First, Second};

/// The values that a parameter may have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Values {
    /// A whole number in this range.
    Whole(u32, u32),
    /// A number in this range.
    Real(f64, f64),
    /// One of these words; the value is its index.
    Words(&'static [&'static str]),
}

/// A parameter of a kind of model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The values it may have.
    pub values: Values,
    /// The default; `None`: derived from the data.
    pub default: Option<f64>,
    /// What it means.
    pub meaning: &'static str,
    /// Default range of a search; `None`: the parameter is not searched.
    pub search: Option<(f64, f64)>,
}

/// A kind of model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Linear regression by least squares.
    Lrm,
    /// Ridge regression.
    Ridge,
    /// The lasso.
    Lasso,
    /// The elastic net.
    ElasticNet,
    /// Multivariate adaptive regression splines.
    Mars,
    /// A regression tree with cost-complexity pruning.
    Cart,
    /// An unpruned regression tree.
    Tree,
    /// A random forest.
    Forest,
    /// An M5 model tree.
    M5,
    /// Cubist rules.
    Cubist,
    /// Least squares on principal components.
    Pca,
    /// A first model selects columns for a second.
    TwoLevel,
    /// Gradient boosting.
    Boost,
    /// A Gaussian process.
    Gp,
}

/// Other names of models and the specs that they stand for: those of Hsu et al. 2016, and Zou's.
const OTHER_NAMES: [(&str, &str); 4] = [
    ("inside-out", "two-level"),
    ("auto-dtl", "two-level:first=tree"),
    ("auto-rfl", "two-level:first=forest"),
    ("adaptive-lasso", "two-level:first=lasso,second=adaptive"),
];

/// Facts about rows besides their values.
#[derive(Clone, Copy, Default, Debug)]
pub struct Rows<'a> {
    /// By column, the feature it belongs to; without it, each column is its own feature.
    pub owners: Option<&'a [usize]>,
    /// By row, the group it belongs to. When a model validates its own choices, rows of a group are
    /// never on both sides of a fold.
    pub groups: Option<&'a [i64]>,
}

impl Rows<'_> {
    /// Folds in which a model chooses its own parameters: ten, or as many as rows or groups allow.
    /// `None`: there are too few.
    pub(crate) fn inner_folds(&self, rows: usize) -> Option<Folds> {
        self.folds(rows, 10)
    }

    /// The error for too few rows or groups to make folds.
    pub(crate) fn too_few(&self, rows: usize) -> LearnError {
        match self.groups {
            Some(groups) => {
                let found = crate::folds::different(groups).len();
                LearnError::TooFewGroups { found, wanted: 2 }
            }
            None => LearnError::TooFewRows { found: rows, wanted: 4 },
        }
    }

    /// The same, with at most `count` folds.
    pub(crate) fn folds(&self, rows: usize, count: usize) -> Option<Folds> {
        let Some(groups) = self.groups else {
            return Folds::random(rows, rows.min(count), Seed(0)).ok();
        };
        let count = crate::folds::different(groups).len().min(count);
        Folds::random_by_group(groups, count, Seed(0)).ok()
    }
}

const YES_NO: Values = Values::Words(&["false", "true"]);
const MAX_WHOLE: u32 = 1_000_000;

const fn parameter(
    name: &'static str,
    values: Values,
    default: Option<f64>,
    search: Option<(f64, f64)>,
    meaning: &'static str,
) -> Parameter {
    Parameter { name, values, default, meaning, search }
}

const LAMBDA: Parameter = parameter(
    "lambda",
    Values::Real(0.0, f64::MAX),
    None,
    None,
    "weight of the penalty, in glmnet's convention; derived: the best in 10-fold cross-validation",
);

const RELATIVE: Parameter = parameter(
    "relative",
    YES_NO,
    Some(0.0),
    None,
    "whether squared relative errors are minimised, instead of squared errors",
);

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Lrm,
        Self::Mars,
        Self::Cart,
        Self::M5,
        Self::Cubist,
        Self::Ridge,
        Self::Lasso,
        Self::ElasticNet,
        Self::Tree,
        Self::Forest,
        Self::Pca,
        Self::TwoLevel,
        Self::Boost,
        Self::Gp,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lrm => "lrm",
            Self::Ridge => "ridge",
            Self::Lasso => "lasso",
            Self::ElasticNet => "elasticnet",
            Self::Mars => "mars",
            Self::Cart => "cart",
            Self::Tree => "tree",
            Self::Forest => "forest",
            Self::M5 => "m5",
            Self::Cubist => "cubist",
            Self::Pca => "pca",
            Self::TwoLevel => "two-level",
            Self::Boost => "boost",
            Self::Gp => "gp",
        }
    }

    /// Its parameters.
    #[expect(clippy::too_many_lines, reason = "a table")]
    pub fn parameters(self) -> &'static [Parameter] {
        const LRM: &[Parameter] = &[parameter(
            "interactions",
            YES_NO,
            Some(1.0),
            None,
            "whether products of pairs of features are terms too",
        )];
        const PENALTY: &[Parameter] = &[LAMBDA, RELATIVE];
        const ELASTIC_NET: &[Parameter] = &[
            LAMBDA,
            parameter(
                "l1_ratio",
                Values::Real(0.0, 1.0),
                Some(0.5),
                None,
                "share of the L1 penalty (glmnet's alpha)",
            ),
            RELATIVE,
        ];
        const PCA: &[Parameter] = &[parameter(
            "components",
            Values::Whole(1, MAX_WHOLE),
            Some(10.0),
            None,
            "number of principal components that are the inputs of the regression",
        )];
        const TWO_LEVEL: &[Parameter] = &[
            parameter(
                "first",
                Values::Words(First::NAMES),
                Some(0.0),
                None,
                "the model whose weights select columns",
            ),
            parameter(
                "second",
                Values::Words(Second::NAMES),
                Some(0.0),
                None,
                "the model that is fitted to the selected columns; `relative`: a lasso of relative errors; \
                 `adaptive`: the same, with each column's penalty divided by its weight",
            ),
            parameter(
                "alpha",
                Values::Real(0.0, f64::MAX),
                None,
                None,
                "minimum weight of a column, as a multiple of the median weight; derived: the best of a \
                 grid in 10-fold cross-validation, or 0 with `adaptive`",
            ),
        ];
        const BOOST: &[Parameter] = &[
            parameter("ntrees", Values::Whole(1, 100_000), Some(300.0), None, "trees"),
            parameter("rate", Values::Real(1e-6, 1.0), Some(0.1), None, "weight of each tree"),
            parameter("depth", Values::Whole(1, 30), Some(5.0), None, "levels of a tree"),
            parameter("minleaf", Values::Whole(1, MAX_WHOLE), Some(5.0), None, "rows of a leaf"),
            parameter(
                "leaves",
                Values::Whole(2, MAX_WHOLE),
                None,
                None,
                "maximum number of leaves of a tree; the best splits are made first; derived: as many as \
                 depth allows",
            ),
            parameter(
                "rows",
                Values::Real(0.01, 1.0),
                Some(0.5),
                None,
                "share of the rows that a tree is fitted to, drawn at random; 1: all",
            ),
            parameter(
                "columns",
                Values::Real(0.001, 1.0),
                None,
                None,
                "share of the columns that a node may split on; 1: all; derived: a third, at least 8",
            ),
        ];
        const GP: &[Parameter] = &[
            parameter(
                "kernel",
                Values::Words(gp::Kernel::NAMES),
                Some(0.0),
                None,
                "how correlation falls with distance: Matérn 3/2 or 5/2, or squared exponential",
            ),
            parameter(
                "length_scale",
                Values::Real(1e-3, 1e5),
                None,
                None,
                "length scale of every input, in its standard deviations; derived: fitted, one for each \
                 input (1 with fit=false)",
            ),
            parameter(
                "noise",
                Values::Real(0.0, 10.0),
                None,
                None,
                "variance of the noise, as a share of the target's variance; derived: fitted (0.01 with \
                 fit=false)",
            ),
            parameter(
                "signal",
                Values::Real(1e-5, 1e5),
                None,
                None,
                "variance of the part that varies with distance, as a share of the target's variance; \
                 derived: fitted (1 with fit=false)",
            ),
            parameter(
                "linear",
                Values::Real(1e-8, 1e4),
                None,
                None,
                "prior variance of the linear mean's coefficients; derived: fitted (1 with fit=false)",
            ),
            parameter(
                "mean",
                Values::Words(gp::Mean::NAMES),
                Some(0.0),
                None,
                "the mean of the process: a linear function of the inputs, the target's mean, or 0",
            ),
            parameter(
                "fit",
                YES_NO,
                Some(1.0),
                None,
                "whether parameters are fitted by maximum likelihood, beginning with the given values; \
                 otherwise these values are used",
            ),
            parameter(
                "standardize",
                YES_NO,
                Some(1.0),
                None,
                "whether inputs and target are standardised first (mean 0, 1/n deviation 1)",
            ),
        ];
        const MARS: &[Parameter] = &[
            parameter(
                "degree",
                Values::Whole(1, 10),
                Some(2.0),
                None,
                "maximum number of hinges in a term",
            ),
            parameter(
                "nnodes",
                Values::Whole(3, 10_000),
                None,
                Some((3.0, 800.0)),
                "maximum number of terms of the forward pass (earth's nk); derived: min(200, max(20, 2p)) \
                 + 1",
            ),
            parameter(
                "threshold",
                Values::Real(0.0, 0.999_999),
                Some(0.001),
                Some((0.0, 0.999)),
                "minimum growth of R² in a forward step (earth's thresh)",
            ),
            parameter(
                "nprune",
                Values::Whole(1, 10_000),
                None,
                Some((2.0, 800.0)),
                "maximum number of terms after pruning; derived: nnodes",
            ),
            parameter(
                "penalty",
                Values::Real(0.0, 1000.0),
                None,
                None,
                "price of a knot in the GCV; derived: 2 for degree 1, 3 above",
            ),
            parameter(
                "fast_k",
                Values::Whole(0, MAX_WHOLE),
                Some(20.0),
                None,
                "number of parents that a forward step tries (earth's fast.k); 0: all",
            ),
            parameter(
                "minspan",
                Values::Whole(0, MAX_WHOLE),
                Some(0.0),
                None,
                "number of rows between knots; 0: by Friedman's equation 43",
            ),
            parameter(
                "endspan",
                Values::Whole(0, MAX_WHOLE),
                Some(0.0),
                None,
                "number of rows without a knot at each end; 0: by Friedman's equation 45",
            ),
        ];
        const CART: &[Parameter] = &[
            parameter(
                "minsplit",
                Values::Whole(2, MAX_WHOLE),
                Some(20.0),
                Some((2.0, 400.0)),
                "minimum number of rows of a node that is split; a leaf has at least round(minsplit / 3)",
            ),
            parameter(
                "cp",
                Values::Real(0.0, 1.0),
                Some(0.01),
                Some((0.0, 0.999)),
                "minimum share of the root's sum of squares by which a split must reduce it, for each leaf \
                 that it adds",
            ),
            parameter(
                "prune",
                Values::Words(&["none", "cv", "cv1se"]),
                Some(0.0),
                None,
                "pruning beyond cp: none, to the least error in cross-validation, or within one \
                 standard error of it",
            ),
        ];
        const TREE: &[Parameter] =
            &[parameter("minleaf", Values::Whole(1, MAX_WHOLE), Some(1.0), None, "rows of a leaf")];
        const FOREST: &[Parameter] = &[
            parameter("ntrees", Values::Whole(1, 100_000), Some(500.0), None, "trees"),
            parameter(
                "mtry",
                Values::Whole(1, MAX_WHOLE),
                None,
                None,
                "columns that a node may split on; derived: a third, at least 8",
            ),
            parameter(
                "minsplit",
                Values::Whole(2, MAX_WHOLE),
                Some(forest::MIN_SPLIT as f64),
                None,
                "minimum number of rows of a node that is split",
            ),
        ];
        const M5: &[Parameter] = &[
            parameter(
                "nsplits",
                Values::Whole(0, MAX_WHOLE),
                None,
                Some((2.0, 400.0)),
                "maximum number of splits of the grown tree; derived: all that lower the deviation",
            ),
            parameter(
                "smoothing",
                Values::Real(0.0, 1e9),
                Some(15.0),
                None,
                "Quinlan's k; 0: predictions are not smoothed",
            ),
            parameter(
                "prune",
                YES_NO,
                Some(1.0),
                None,
                "whether subtrees become leaves where that predicts as well",
            ),
        ];
        const CUBIST: &[Parameter] = &[
            parameter(
                "nsplits",
                Values::Whole(1, MAX_WHOLE),
                Some(100.0),
                Some((2.0, 400.0)),
                "maximum number of rules of a member (R: rules)",
            ),
            parameter(
                "ntrees",
                Values::Whole(1, 1000),
                Some(1.0),
                Some((1.0, 100.0)),
                "number of members of the committee (R: committees)",
            ),
            parameter(
                "ninstances",
                Values::Whole(0, 9),
                Some(0.0),
                Some((0.0, 9.0)),
                "number of neighbours that correct a prediction (R: neighbors)",
            ),
        ];
        match self {
            Self::Lrm => LRM,
            Self::Ridge | Self::Lasso => PENALTY,
            Self::ElasticNet => ELASTIC_NET,
            Self::Mars => MARS,
            Self::Cart => CART,
            Self::Tree => TREE,
            Self::Forest => FOREST,
            Self::M5 => M5,
            Self::Cubist => CUBIST,
            Self::Pca => PCA,
            Self::TwoLevel => TWO_LEVEL,
            Self::Boost => BOOST,
            Self::Gp => GP,
        }
    }
}

impl FromStr for Kind {
    type Err = LearnError;

    fn from_str(name: &str) -> Result<Self, LearnError> {
        let names = Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| LearnError::NoModel {
            name: name.to_owned(),
            nearest: nearest(name, names),
            known: list(&names),
        })
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A kind of model with its parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Spec {
    kind: Kind,
    /// Values in the order of `kind.parameters()`; `None`: derived from the data.
    values: Vec<Option<f64>>,
}

impl Spec {
    /// The model with all parameters at their defaults.
    pub fn new(kind: Kind) -> Self {
        let values = kind.parameters().iter().map(|parameter| parameter.default).collect();
        Self { kind, values }
    }

    /// The kind of model.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// A parameter's value, if it is set or has a default. A word is given by its index, from 0.
    pub fn value(&self, name: &str) -> Option<f64> {
        let index = self.kind.parameters().iter().position(|parameter| parameter.name == name)?;
        self.values[index]
    }

    /// The same with one parameter set; errors if there is no such parameter or the value is impossible.
    pub fn with(mut self, name: &str, value: f64) -> Result<Self, LearnError> {
        let (index, parameter) = self.find(name)?;
        let possible = match parameter.values {
            Values::Whole(low, high) => {
                value.fract() == 0.0 && value >= f64::from(low) && value <= f64::from(high)
            }
            Values::Real(low, high) => value >= low && value <= high,
            Values::Words(words) => {
                value.fract() == 0.0 && value >= 0.0 && value < words.len() as f64
            }
        };
        if !possible {
            return Err(self.bad(parameter, &value.to_string()));
        }
        self.values[index] = Some(value);
        Ok(self)
    }

    fn find(&self, name: &str) -> Result<(usize, &'static Parameter), LearnError> {
        let parameters = self.kind.parameters();
        let found = parameters.iter().enumerate().find(|(_, parameter)| parameter.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            LearnError::NoParameter {
                model: self.kind.name().to_owned(),
                name: name.to_owned(),
                nearest: nearest(name, names.iter().copied()),
                known: list(&names),
            }
        })
    }

    fn bad(&self, parameter: &Parameter, value: &str) -> LearnError {
        let wanted = match parameter.values {
            Values::Whole(low, high) => format!("a whole number from {low} to {high}"),
            Values::Real(low, f64::MAX) => format!("a number of at least {low}"),
            Values::Real(low, high) => format!("a number from {low} to {high}"),
            Values::Words(words) => format!("one of {}", list(words)),
        };
        LearnError::BadParameter {
            model: self.kind.name().to_owned(),
            name: parameter.name.to_owned(),
            value: value.to_owned(),
            wanted,
        }
    }

    fn set_text(self, name: &str, text: &str) -> Result<Self, LearnError> {
        let (_, parameter) = self.find(name)?;
        let value = match parameter.values {
            Values::Words(words) => words.iter().position(|word| *word == text).map(|i| i as f64),
            Values::Whole(..) | Values::Real(..) => text.parse().ok(),
        };
        match value {
            Some(value) => {
                let fault = self.bad(parameter, text);
                self.with(name, value).map_err(|_| fault)
            }
            None => Err(self.bad(parameter, text)),
        }
    }

    fn count(&self, name: &str) -> Option<usize> {
        self.value(name).map(|value| value as usize)
    }

    fn yes(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value > 0.0)
    }

    pub(crate) fn mars(&self) -> mars::MarsSettings {
        mars::MarsSettings {
            degree: self.count("degree").unwrap_or(2),
            nnodes: self.count("nnodes"),
            threshold: self.value("threshold").unwrap_or(0.001),
            nprune: self.count("nprune"),
            penalty: self.value("penalty"),
            fast_k: self.count("fast_k").unwrap_or(20),
            min_span: self.count("minspan").unwrap_or(0),
            end_span: self.count("endspan").unwrap_or(0),
        }
    }

    pub(crate) fn cubist(&self) -> cubist::CubistSettings {
        cubist::CubistSettings {
            nsplits: self.count("nsplits").unwrap_or(100),
            ntrees: self.count("ntrees").unwrap_or(1),
            ninstances: self.count("ninstances").unwrap_or(0),
        }
    }

    pub(crate) fn gp(&self) -> gp::GpSettings {
        gp::GpSettings {
            kernel: gp::Kernel::ALL[self.count("kernel").unwrap_or(0)],
            mean: gp::Mean::ALL[self.count("mean").unwrap_or(0)],
            length_scale: self.value("length_scale"),
            noise: self.value("noise"),
            signal: self.value("signal"),
            linear: self.value("linear"),
            fit: self.yes("fit"),
            standardize: self.yes("standardize"),
            is_quick: false,
        }
    }

    pub(crate) fn boost(&self) -> boost::BoostSettings {
        let usual = boost::BoostSettings::default();
        boost::BoostSettings {
            trees: self.count("ntrees").unwrap_or(usual.trees),
            rate: self.value("rate").unwrap_or(usual.rate),
            depth: self.value("depth").map_or(usual.depth, |depth| depth as u32),
            leaf: self.count("minleaf").unwrap_or(usual.leaf),
            leaves: self.count("leaves"),
            rows: self.value("rows").unwrap_or(usual.rows),
            columns: self.value("columns"),
        }
    }

    /// Fits a model to `x`, n rows × p columns, and `y`, n finite targets; errors if lengths differ,
    /// n < 2 or there are no columns.
    pub fn fit(&self, x: &Matrix, y: &[f64]) -> Result<Model, LearnError> {
        self.fit_rows(x, y, &Rows::default())
    }

    /// Like [`Spec::fit`], with further facts about the rows.
    pub fn fit_rows(&self, x: &Matrix, y: &[f64], rows: &Rows<'_>) -> Result<Model, LearnError> {
        if x.rows() != y.len() {
            let what = "targets".to_owned();
            return Err(LearnError::Length { what, found: y.len(), wanted: x.rows() });
        }
        if y.len() < 2 {
            return Err(LearnError::TooFewRows { found: y.len(), wanted: 2 });
        }
        if x.columns() == 0 {
            return Err(LearnError::NoFeatures { target: "y".to_owned() });
        }
        if let Some(row) = y.iter().position(|y| !y.is_finite()) {
            let column = "target".to_owned();
            return Err(LearnError::ValueNotFinite { row: row + 1, column, value: y[row] });
        }
        let alone: Vec<usize>;
        let owners = if let Some(owners) = rows.owners {
            owners
        } else {
            alone = (0..x.columns()).collect();
            &alone
        };
        let (lambda, relative) = (self.value("lambda"), self.yes("relative"));
        let penalty = |alpha| penalized::PenalizedSettings { lambda, alpha, relative };
        Ok(match self.kind {
            Kind::Lrm => Model::Linear(LinearModel::fit(x, y, self.yes("interactions"), owners)),
            Kind::Ridge => Model::Linear(penalized::fit(x, y, &penalty(0.0), rows)),
            Kind::Lasso => Model::Linear(penalized::fit(x, y, &penalty(1.0), rows)),
            Kind::ElasticNet => {
                let alpha = self.value("l1_ratio").unwrap_or(0.5);
                Model::Linear(penalized::fit(x, y, &penalty(alpha), rows))
            }
            Kind::Mars => Model::Mars(Mars::fit(x, y, &self.mars())),
            Kind::Cart => {
                let pruning = match self.count("prune") {
                    Some(1) => Pruning::CrossValidation,
                    Some(2) => Pruning::OneStandardError,
                    _ => Pruning::None,
                };
                let min_split = self.count("minsplit").unwrap_or(20);
                Model::Tree(Tree::fit(x, y, min_split, self.value("cp").unwrap_or(0.01), pruning))
            }
            Kind::Tree => Model::Tree(Tree::full(x, y, self.count("minleaf").unwrap_or(1))),
            Kind::Forest => {
                let trees = self.count("ntrees").unwrap_or(500);
                let min_split = self.count("minsplit").unwrap_or(forest::MIN_SPLIT);
                Model::Forest(Forest::fit(x, y, trees, self.count("mtry"), min_split))
            }
            Kind::M5 => Model::M5(M5::fit(
                x,
                y,
                &m5::M5Settings {
                    nsplits: self.count("nsplits"),
                    smoothing: self.value("smoothing").unwrap_or(15.0),
                    prune: self.yes("prune"),
                },
            )),
            Kind::Cubist => Model::Cubist(Cubist::fit(x, y, &self.cubist())),
            Kind::Pca => Model::Linear(pca::fit(x, y, self.count("components").unwrap_or(10))),
            Kind::TwoLevel => {
                let first = First::ALL[self.count("first").unwrap_or(0)];
                let second = Second::ALL[self.count("second").unwrap_or(0)];
                two_level::fit(x, y, first, second, self.value("alpha"), rows)?
            }
            Kind::Gp => Model::Gp(Gp::fit(x, y, owners, &self.gp())?),
            Kind::Boost => Model::Boost(boost::fit(x, y, &self.boost())),
        })
    }
}

impl FromStr for Spec {
    type Err = LearnError;

    /// Parses `kind` or `kind:name=value,name=value`. The kind may be one of the other names.
    fn from_str(text: &str) -> Result<Self, LearnError> {
        let parts = |text| str::split_once(text, ':').unwrap_or((text, ""));
        let (name, parameters) = parts(text);
        let other = OTHER_NAMES.iter().find(|(other, _)| *other == name.trim());
        let (kind, implied) = other.map_or((name, ""), |(_, meant)| parts(meant));
        let mut spec = Self::new(kind.trim().parse()?);
        for pair in implied
            .split(',')
            .chain(parameters.split(','))
            .map(str::trim)
            .filter(|pair| !pair.is_empty())
        {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            spec = spec.set_text(name.trim(), value.trim())?;
        }
        Ok(spec)
    }
}

impl fmt::Display for Spec {
    /// Writes the form that is parsed, with the parameters that differ from their defaults.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        let mut sign = ':';
        for (parameter, value) in self.kind.parameters().iter().zip(&self.values) {
            let Some(value) = value.filter(|value| parameter.default != Some(*value)) else {
                continue;
            };
            match parameter.values {
                Values::Words(words) => {
                    write!(f, "{sign}{}={}", parameter.name, words[value as usize])?;
                }
                Values::Whole(..) | Values::Real(..) => {
                    write!(f, "{sign}{}={value}", parameter.name)?;
                }
            }
            sign = ',';
        }
        Ok(())
    }
}

impl TryFrom<String> for Spec {
    type Error = LearnError;

    fn try_from(text: String) -> Result<Self, LearnError> {
        text.parse()
    }
}

impl From<Spec> for String {
    fn from(spec: Spec) -> Self {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_are_read_as_they_are_written() {
        for text in ["lrm", "mars:degree=1,nnodes=201,threshold=0.00001", "cart:cp=0,prune=cv"] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
        }
        // an alias brings its parameters, and further ones are added
        for (text, meant) in [
            ("inside-out", "two-level"),
            ("auto-dtl:alpha=1", "two-level:first=tree,alpha=1"),
            (" auto-rfl : second=relative", "two-level:first=forest,second=relative"),
            ("adaptive-lasso", "two-level:first=lasso,second=adaptive"),
        ] {
            assert_eq!(text.parse::<Spec>().unwrap().to_string(), meant);
        }
        // values equal to the default are not written
        assert_eq!(
            "cubist:ntrees=1,nsplits=7".parse::<Spec>().unwrap().to_string(),
            "cubist:nsplits=7"
        );
    }

    #[test]
    fn faults_are_told() {
        for (text, fault) in [
            (
                "marz",
                "there is no model `marz`; did you mean `mars`?; there are `lrm`, `mars`, `cart`, \
                 `m5`, `cubist`, `ridge`, `lasso`, `elasticnet`, `tree`, `forest`, `pca`, \
                 `two-level`, `boost`, `gp`",
            ),
            (
                "cart:minsplt=3",
                "`cart` has no parameter `minsplt`; did you mean `minsplit`?; it has `minsplit`, \
                 `cp`, `prune`",
            ),
            (
                "cart:minsplit=1",
                "`minsplit=1` of `cart`: expected a whole number from 2 to 1000000",
            ),
            (
                "cubist:ninstances=x",
                "`ninstances=x` of `cubist`: expected a whole number from 0 to 9",
            ),
            ("cart:prune=yes", "`prune=yes` of `cart`: expected one of `none`, `cv`, `cv1se`"),
            (
                "mars:threshold=NaN",
                "`threshold=NaN` of `mars`: expected a number from 0 to 0.999999",
            ),
        ] {
            assert_eq!(text.parse::<Spec>().unwrap_err().to_string(), fault);
        }
    }
}
