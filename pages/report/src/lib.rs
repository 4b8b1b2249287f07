//! Pages of results: one self-contained HTML file of runs, comparisons, answers, sweeps.
//!
//! A [`Page`] is made of sections, a section of [`Part`]s: a paragraph, a table, a figure, a chart (its data and
//! a sentence about its content), or a note about something that cannot be shown. [`page`] makes the parts from
//! results. An application that needs other parts makes a page of its own. A run's records are read once, into
//! bins, histograms and samples ([`observe`]), so that neither memory nor the page grows with the run.
//!
//! In the browser `assets/report.js` draws the charts with [uPlot](https://github.com/leeoniya/uPlot) 1.6.32
//! (MIT, `assets/uPlot.LICENSE`; the files `uPlot.iife.min.js` and `uPlot.min.css` of its npm package). uPlot was
//! chosen because it is small (51 KB) and has no dependencies. A page loads nothing from elsewhere: its content
//! security policy forbids it.
//!
//! Left out: the interpretation of results. This crate models nothing; it only shows results.

pub mod chart;
mod cluster;
mod page;
mod pages;
mod path;
mod run;
mod words;

pub use cluster::{MIN_BOTTLENECK_UTILIZATION, MIN_EXTRAPOLATED_S, STORES_RECORDS};
pub use page::{CHART_SCRIPT, CHART_STYLE, Column, Page, Part, Section, Table};
pub use pages::{Ceph, Picture, Pool, Reproduction, Run, Source, Sweep, UnderWay, page};
pub use path::PathStep;
pub use run::{Completed, Observed, observe};
pub use words::survivors;
