//! Clusters that others measured: their configurations as scenarios, their points as loads. The costs of
//! their software, which are not published, are fitted to a few of the points.
//!
//! [`config`] and [`points`] read what a source says; [`write`] makes scenarios of it, with [`drives`] and
//! [`backfill`];
//! [`map`] keeps which is which; [`load`] sets a scenario to a point and simulates it; [`parameters`] are
//! what is fitted, [`fit`] fits them; [`report`] shows measured beside predicted.

mod backfill;
pub(crate) mod config;
pub(crate) mod drives;
pub(crate) mod fit;
pub(crate) mod load;
pub(crate) mod map;
mod notes;
pub(crate) mod parameters;
pub(crate) mod points;
pub(crate) mod report;
pub(crate) mod write;
