//! The font of pictures. It is part of the program, so no font of the system is needed.

use std::sync::Once;

use plotters::style::{FontStyle, register_font};

/// Its name in pictures.
pub(crate) const NAME: &str = "sans-serif";

/// Registers the font; must be called before letters are drawn.
pub(crate) fn register() {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        let font = epaint_default_fonts::UBUNTU_LIGHT;
        assert!(register_font(NAME, FontStyle::Normal, font).is_ok(), "the font is right");
    });
}
