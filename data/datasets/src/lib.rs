//! Data sets of many runs: designs of experiments, journals of finished runs, Parquet, cards.
//!
//! A sweep file names a base scenario and what varies in it ([`Sweep`]). Each run of it is a point
//! of its design with a seed. This crate runs nothing: the caller writes the rows of each run to a
//! journal, and a data set is made from complete journals.

#[cfg(feature = "parquet")]
mod arrow_schema;
mod card;
mod column;
mod croissant;
mod design;
mod digest;
mod error;
mod expression;
mod factor;
mod finish;
mod followed;
mod journal;
mod manifest;
#[cfg(feature = "parquet")]
mod parquet_file;
mod quantity;
mod read;
mod shards;
mod split;
mod sweep;
mod sweep_check;
mod sweep_file;
mod table_file;
mod value;

pub use column::{Column, Kind, Role, TableSchema};
pub use design::{Design, MAX_DIMENSIONS};
pub use digest::{ContentDigest, hex_of};
pub use error::DataError;
pub use expression::{Condition, ExpressionError};
pub use factor::{Factor, Setting};
pub use finish::{CONTENT_FILE, Content, DataFile, finish, missing, table_directory};
pub use followed::{FollowedSweep, Progress, is_sampled};
pub use journal::{EncodedEntry, Entry, JournalWriter, Journals, Row, WINDOW};
pub use manifest::{Format, MANIFEST_FILE, Manifest};
pub use quantity::Quantity;
pub use read::{FileTable, describe_text_file, read_columns, read_parquet_file};
pub use shards::{JOURNAL, SHARDS, journals};
pub use split::{FEWEST_SPLIT, Part, Split};
pub use sweep::{Invalid, Point, Run, Sweep};
pub use table_file::TableFile;
pub use value::{Value, numbers, texts};
