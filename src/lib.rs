//! The face of `foretell`.
