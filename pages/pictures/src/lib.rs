//! Pictures as SVG and PNG: charts of series with error bars, and rectangles with short texts.
//!
//! The feature `draw` includes the libraries that draw letters and PNGs. Without it charts are not drawn, and
//! [`Picture`]s are SVG only.

mod chart;
#[cfg(feature = "draw")]
mod font;
#[cfg(feature = "draw")]
mod png;
mod shapes;
mod spread;

pub use chart::{Chart, draw};
pub use shapes::{Align, BLACK, Colour, Picture, READ, WRITE};
pub use spread::Spread;
