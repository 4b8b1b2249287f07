//! Clusters that others measured: their configurations as scenarios, their points as loads. The costs of
//! their software, which are not published, are fitted to a few of the points.
//!
//! [`Source`] and [`points`] are what a source says; [`write()`] makes scenarios of it; a [`Map`] keeps which is
//! which; a [`Twin`] is both, and [`predict`] sets one of its scenarios to a point and simulates it. [`Values`] are
//! what is fitted, [`fit()`] fits them; [`fitted`] shows them, and [`report`] shows measured beside predicted.

mod backfill;
mod config;
mod drives;
mod fit;
pub mod fitted;
mod load;
mod map;
mod notes;
mod parameters;
pub mod points;
pub mod report;
mod write;

pub use config::Source;
pub use fit::{Fitted, fit};
pub use load::{Effort, Twin, outcomes, predict};
pub use map::{MAP_FILE, Map, Mapped, MappedDrive};
pub use parameters::{FITTED_FILE, Values};
pub use write::{Entry, Written, write};
