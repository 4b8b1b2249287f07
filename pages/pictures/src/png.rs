//! PNG files in memory.

/// A PNG file of pixels with three bytes each, given row by row.
pub(crate) fn encoded(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = ::png::Encoder::new(&mut file, width as u32, height as u32);
    encoder.set_color(::png::ColorType::Rgb);
    encoder.set_depth(::png::BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(pixels));
    written.expect("memory takes all, and there are as many pixels");
    file
}
