//! Data sets of many runs: designs of experiments, journals of finished runs, Parquet, cards.
//!
//! A sweep file names a base scenario and what varies in it ([`Sweep`]); each run of it is a point
//! of its design with a seed. Nothing here runs anything: whoever does puts the rows of each run
//! into a journal, and a data set is made of complete journals.

mod column;
mod design;
mod digest;
mod expression;
mod factor;
mod quantity;
mod split;
mod sweep;
mod sweep_check;
mod sweep_file;
mod value;

pub use column::{Column, Kind, Role, TableSchema};
pub use design::{Design, MOST_DIMENSIONS};
pub use digest::{ContentDigest, hex_of};
pub use expression::{Condition, ExpressionError};
pub use factor::{Factor, Setting};
pub use quantity::Quantity;
pub use split::{Part, Split};
pub use sweep::{Invalid, Point, Run, Sweep};
pub use value::Value;
