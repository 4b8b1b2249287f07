//! Errors in data, parameters and models, with readable messages.

use thiserror::Error;

/// Why data cannot be read or a model cannot be fitted.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum LearnError {
    /// A text that is not a table; the reader's own error.
    #[error("`{file}` is not a table of comma-separated values: {error}")]
    NotATable {
        /// The file.
        file: String,
        /// The reader's message.
        error: String,
    },
    /// A row whose number of cells differs from the number of column names.
    #[error(
        "`{file}` line {line}: {found} cells, but {wanted} columns are named in the first line"
    )]
    RowLength {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Cells found.
        found: usize,
        /// Cells wanted.
        wanted: usize,
    },
    /// Two columns with the same name.
    #[error("`{file}`: two columns are named `{column}`")]
    SameName {
        /// The file.
        file: String,
        /// The name.
        column: String,
    },
    /// A cell that is not a number, in a column of numbers.
    #[error(
        "`{file}` line {line}, column `{column}`: `{cell}` is not a number{}",
        if *.factor_possible { "; if the column names things, say so (`--factor`)" } else { "" }
    )]
    NotANumber {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Content of the cell.
        cell: String,
        /// Whether the column could be read as names.
        factor_possible: bool,
    },
    /// A cell that is infinite.
    #[error("`{file}` line {line}, column `{column}`: `{cell}` is not a finite number")]
    NotFinite {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
        /// Content of the cell.
        cell: String,
    },
    /// A column with more different names than are kept.
    #[error(
        "`{file}` line {line}, column `{column}`: it holds more than {} different names",
        foretell_input::MAX_NAMES
    )]
    TooManyNames {
        /// The file.
        file: String,
        /// Line, from 1.
        line: u64,
        /// Name of the column.
        column: String,
    },
    /// A matrix that may not fit into memory.
    #[error(
        "{rows} rows of {columns} columns, one for each name of a factor but the first, are more than \
         is learned from: {} columns and {} cells at most",
        foretell_input::MAX_COLUMNS,
        foretell_input::MAX_CELLS
    )]
    TooLarge {
        /// Rows.
        rows: usize,
        /// Columns.
        columns: usize,
    },
    /// A value whose square, or that of a product of such values, may be infinite.
    #[error(
        "row {row}: `{column}` = {value:e} is too large to learn from; expected at most {:e} (give it in another unit)",
        crate::dataset::LARGEST
    )]
    TooLargeValue {
        /// Row, from 1.
        row: usize,
        /// Name of the column.
        column: String,
        /// The value.
        value: f64,
    },
    /// A fitted model whose predictions are not numbers.
    #[error(
        "`{model}` cannot be fitted to `{target}`: its prediction for row {row} is not a finite number"
    )]
    NoNumber {
        /// The model.
        model: String,
        /// The target.
        target: String,
        /// Row, from 1.
        row: usize,
    },
    /// A target that is missing.
    #[error("row {row}: the target `{column}` is missing; leave the row out")]
    MissingTarget {
        /// Row, from 1.
        row: usize,
        /// Name of the column.
        column: String,
    },
    /// A missing value of a feature, for a model that needs all values.
    #[error(
        "row {row}: `{column}` is missing; `{model}` needs every value, `cart`, `tree`, `forest` and \
         `boost` do not"
    )]
    MissingValue {
        /// Row, from 1.
        row: usize,
        /// Name of the column.
        column: String,
        /// The model.
        model: String,
    },
    /// No such column.
    #[error("there is no column `{column}`{}", nearest_text(.nearest.as_deref()))]
    NoColumn {
        /// The name asked for.
        column: String,
        /// The column that was probably meant.
        nearest: Option<String>,
    },
    /// The target holds names.
    #[error("the target `{column}` holds names such as `{example}`; expected numbers")]
    TargetIsFactor {
        /// Name of the column.
        column: String,
        /// One of its names.
        example: String,
    },
    /// A column whose values are all the same.
    #[error("column `{column}` is constant (always {value}); leave it out (`--drop {column}`)")]
    ConstantColumn {
        /// Name of the column.
        column: String,
        /// Its only value.
        value: String,
    },
    /// A target whose values are all the same.
    #[error("the target `{column}` is constant (always {value}); there is nothing to learn")]
    ConstantTarget {
        /// Name of the column.
        column: String,
        /// Its only value.
        value: f64,
    },
    /// No column besides the target.
    #[error("there is no column beside the target `{target}` to learn from")]
    NoFeatures {
        /// Name of the target.
        target: String,
    },
    /// Too few rows.
    #[error("{found} rows are too few; expected {wanted} or more")]
    TooFewRows {
        /// Rows found.
        found: usize,
        /// Rows wanted.
        wanted: usize,
    },
    /// Too few rows are left where some are held out.
    #[error(
        "{rows} rows are too few to hold some out: {found} of them would be left to learn from; expected {wanted} or \
         more"
    )]
    TooFewLeft {
        /// Rows of the data.
        rows: usize,
        /// Rows that are left.
        found: usize,
        /// Rows wanted.
        wanted: usize,
    },
    /// More folds than rows, or fewer than two folds.
    #[error(
        "cannot make {folds} folds of {rows} rows; expected 2 folds or more, and a row for each"
    )]
    TooManyFolds {
        /// Number of folds.
        folds: usize,
        /// Number of rows.
        rows: usize,
    },
    /// Too few groups of rows that were observed together.
    #[error("the rows belong to {found} group{}; expected {wanted} or more, one for each fold", if *.found == 1 { "" } else { "s" })]
    TooFewGroups {
        /// Groups found.
        found: usize,
        /// Groups wanted.
        wanted: usize,
    },
    /// Different numbers of rows and targets, or of rows and folds.
    #[error("{what}: {found} rows, but the data has {wanted}")]
    Length {
        /// The quantity that has the wrong length.
        what: String,
        /// Rows found.
        found: usize,
        /// Rows wanted.
        wanted: usize,
    },
    /// A row with a different width than the rows the model was fitted on.
    #[error("{found} features, but the model was fitted on {wanted}")]
    Width {
        /// Features found.
        found: usize,
        /// Features wanted.
        wanted: usize,
    },
    /// A file of folds that does not split the rows.
    #[error("folds in `{file}`: {fault}")]
    Folds {
        /// The file.
        file: String,
        /// What is wrong.
        fault: String,
    },
    /// A value in a matrix that is not finite.
    #[error("row {row}, {column}: {value} is not a finite number")]
    ValueNotFinite {
        /// Row, from 1.
        row: usize,
        /// The column.
        column: String,
        /// The value.
        value: f64,
    },
    /// A logarithm of a target that is not positive.
    #[error("row {row}: the target is {value}; its logarithm needs values above 0")]
    LogOfTarget {
        /// Row, from 1.
        row: usize,
        /// The value.
        value: f64,
    },
    /// A name that a factor did not have when the model was fitted.
    #[error("row {row}: `{column}` is `{level}`, which the model never saw{}", nearest_text(.nearest.as_deref()))]
    UnknownLevel {
        /// Row, from 1.
        row: usize,
        /// The column.
        column: String,
        /// The name.
        level: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// A column of numbers where the model was fitted on names, or the reverse.
    #[error("column `{column}` holds {found}, but the model was fitted on {wanted}")]
    OtherKind {
        /// The column.
        column: String,
        /// What it holds.
        found: &'static str,
        /// What it should hold.
        wanted: &'static str,
    },
    /// No such kind of model.
    #[error("there is no model `{name}`{}; there are {known}", nearest_text(.nearest.as_deref()))]
    NoModel {
        /// The name asked for.
        name: String,
        /// The model that was probably meant.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// No such parameter.
    #[error("`{model}` has no parameter `{name}`{}; it has {known}", nearest_text(.nearest.as_deref()))]
    NoParameter {
        /// The model.
        model: String,
        /// The name asked for.
        name: String,
        /// The parameter that was probably meant.
        nearest: Option<String>,
        /// All names.
        known: String,
    },
    /// A parameter value that is not possible.
    #[error("`{name}={value}` of `{model}`: expected {wanted}")]
    BadParameter {
        /// The model.
        model: String,
        /// The parameter.
        name: String,
        /// The value given.
        value: String,
        /// The values that are possible.
        wanted: String,
    },
    /// A file that is not a saved model.
    #[error("not a saved model: {error}")]
    NotAModel {
        /// The reader's message.
        error: String,
    },
    /// Covariances that cannot be decomposed.
    #[error(
        "the covariances of the rows cannot be decomposed, as rows are too much alike; allow more \
         noise (`noise=0.001`)"
    )]
    NotPositive,
    /// No feature whose levels could be left out in turn.
    #[error("no feature of numbers has three levels or more, and {most} at most, to leave out")]
    NoLevels {
        /// Highest number of levels of such a feature.
        most: usize,
    },
    /// Folds of groups, of rows without groups.
    #[error(
        "`--cv group`: nothing says which rows belong together; give `--group COLUMN` or `--blocks N`"
    )]
    NoGroups,
    /// Folds asked for where levels of a design are left out.
    #[error(
        "`--cv leave-level-out` is not a split into folds; `evaluate`, `score` and `explain` know it"
    )]
    LevelsAreNoFolds,
    /// Too few rows whose target is large enough to count.
    #[error("{count} rows have a `{target}` above {least}; two are needed at least")]
    FewAbove {
        /// Rows that count.
        count: usize,
        /// Name of the target.
        target: String,
        /// The value that the target must exceed.
        least: f64,
    },
    /// A search over nothing.
    #[error("`{model}` has no parameters that are searched by themselves; name one (`--range`)")]
    NothingToSearch {
        /// The model.
        model: String,
    },
    /// Quantiles asked of a model that has none.
    #[error("`{model}` learns no quantiles; `forest` and `boost` do")]
    NoQuantiles {
        /// The model.
        model: String,
    },
    /// A search that is not possible.
    #[error("search: {fault}")]
    Search {
        /// What is wrong.
        fault: String,
    },
}

impl LearnError {
    /// The same, for data of this number of rows: too few rows may be a part of them.
    pub(crate) fn of_rows(self, rows: usize) -> Self {
        match self {
            Self::TooFewRows { found, wanted } if found < rows => {
                Self::TooFewLeft { rows, found, wanted }
            }
            other => other,
        }
    }
}

fn nearest_text(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The name nearest to `wanted`, if one is similar enough to have been meant.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let wanted = wanted.to_lowercase();
    let most = (wanted.chars().count() / 3).max(1) + 1;
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&wanted, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}
