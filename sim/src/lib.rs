//! The simulated cluster: ground truth.
