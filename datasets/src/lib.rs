//! Data sets of many runs.
