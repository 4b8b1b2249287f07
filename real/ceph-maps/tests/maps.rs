//! All tests of maps in one binary, which is linked once.

mod crushtool;
mod hostile;
mod osdmaptool;
mod plans;
mod reading;
mod reports;
mod retries;
mod small;
mod statistics;
mod trees;
