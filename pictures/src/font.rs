//! The font of pictures, which comes with the program: none of the system is needed.

use std::sync::Once;

use plotters::style::{FontStyle, register_font};

/// What pictures call it.
pub(crate) const NAME: &str = "sans-serif";

/// Makes it known; whoever draws letters calls this first.
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let font = epaint_default_fonts::UBUNTU_LIGHT;
        assert!(register_font(NAME, FontStyle::Normal, font).is_ok(), "the font is right");
    });
}
