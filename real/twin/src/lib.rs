//! Clusters that others measured: their configurations become scenarios, and their points become loads. The costs
//! of their software are not published, so they are fitted to a few of the points.
//!
//! [`Source`] and [`points`] read a source, and [`write()`] makes scenarios of it. A [`Map`] records which scenario
//! belongs to which configuration. A [`Twin`] holds the scenarios and the map; [`predict`] applies a point's load
//! to one of its scenarios and simulates it. [`Values`] are the fitted parameters, [`fit()`] fits them, [`fitted`]
//! shows them, and [`report`] shows measured beside predicted figures.

mod backfill;
mod config;
mod drives;
mod fit;
pub mod fitted;
mod json_keys;
mod load;
mod map;
mod notes;
mod parameters;
pub mod points;
pub mod report;
mod tail;
mod write;

pub use config::Source;
pub use fit::{Fitted, fit};
pub use load::{Effort, Twin, no_configuration, outcomes, predict};
pub use map::{MAP_FILE, Map, Mapped, MappedDrive};
pub use parameters::{FITTED_FILE, Values};
pub use write::{Entry, Written, write};
