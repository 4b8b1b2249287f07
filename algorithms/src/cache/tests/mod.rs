//! Each policy against a naive list, and against published and measured miss ratios.

mod contract;
mod golden;
mod naive;
mod naive_ghosts;
