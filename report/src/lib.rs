//! Pages of results: one self-contained HTML file of runs, comparisons, answers, sweeps.
//!
//! A [`Page`] is made of sections, a section of [`Part`]s: a paragraph, a table, a figure, a chart (its data
//! and a sentence that says what it shows), or a note that says what cannot be shown. [`page`] makes the
//! parts from results; whoever wants others (an application that serves them) makes a page of its own.
//! A run's records are read once, into bins, histograms and samples ([`observe`]), so that neither memory nor the
//! page grows with the run.
//!
//! In the browser `assets/report.js` draws the charts with [uPlot](https://github.com/leeoniya/uPlot) 1.6.32
//! (MIT, `assets/uPlot.LICENSE`; the files `uPlot.iife.min.js` and `uPlot.min.css` of its npm package). It
//! was chosen for its size, 51 KB, and for having no dependencies. A page loads nothing: its content security
//! policy forbids it.
//!
//! Left out: what results mean. This crate models nothing; it shows what others found.

pub mod chart;
mod cluster;
mod page;
mod pages;
mod path;
mod run;
mod words;

pub use page::{CHART_SCRIPT, CHART_STYLE, Page, Part, Section, Table};
pub use pages::{Ceph, Picture, Pool, Reproduction, Run, Source, Sweep, page};
pub use path::Step;
pub use run::{Completed, Observed, observe};
