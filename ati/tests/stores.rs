//! All tests of stores in one binary, which is linked once.

mod crash;
mod docs;
mod hostile;
mod store;
