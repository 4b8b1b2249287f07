//! All tests of maps in one binary, which is linked once.

mod crushtool;
mod hostile;
mod osdmaptool;
mod reports;
mod statistics;
