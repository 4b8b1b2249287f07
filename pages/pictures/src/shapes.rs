//! A picture of rectangles and short texts, as SVG and as PNG.
//!
//! Bars and cells are filled here. The letters of a PNG come from the program's font; those of an SVG
//! from the viewer's font.
#![allow(clippy::similar_names, reason = "coordinates")]

use std::fmt::Write as _;

#[cfg(feature = "draw")]
use plotters::prelude::{BitMapBackend, DrawingArea, IntoDrawingArea, IntoFont, RGBColor};
#[cfg(feature = "draw")]
use plotters::style::text_anchor::{HPos, Pos, VPos};

#[cfg(feature = "draw")]
use crate::{font, png};

/// A colour as red, green, blue.
pub type Colour = [u8; 3];

/// Colour of axes and letters.
pub const BLACK: Colour = [40, 40, 40];
/// Colour of reads.
pub const READ: Colour = [38, 109, 180];
/// Colour of writes.
pub const WRITE: Colour = [214, 112, 32];

/// Alignment of a text relative to its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// The text begins at the position.
    Right,
    /// The middle of the text is at the position.
    Middle,
    /// The text ends at the position.
    Left,
}

enum Shape {
    Rectangle([f64; 4], Colour),
    Text { x: f64, y: f64, text: String, align: Align, colour: Colour },
}

/// A picture; x goes right, y goes down, in pixels.
pub struct Picture {
    width: usize,
    height: usize,
    shapes: Vec<Shape>,
}

/// Height of letters in pixels.
const LETTERS: u32 = 13;

impl Picture {
    /// An empty picture of this size in pixels.
    pub fn new(width: usize, height: usize) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    /// Adds a filled rectangle; `place`: left, top, width, height.
    pub fn rectangle(&mut self, place: [f64; 4], colour: Colour) {
        self.shapes.push(Shape::Rectangle(place, colour));
    }

    /// Adds a text with its baseline at `y`.
    pub fn text(&mut self, x: f64, y: f64, text: &str, align: Align, colour: Colour) {
        self.shapes.push(Shape::Text { x, y, text: text.to_owned(), align, colour });
    }

    /// The picture as SVG.
    pub fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"{LETTERS}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        for shape in &self.shapes {
            let _ = match shape {
                Shape::Rectangle([left, top, width, height], colour) => writeln!(
                    text,
                    "<rect x=\"{left:.2}\" y=\"{top:.2}\" width=\"{width:.2}\" \
                     height=\"{height:.2}\" fill=\"{}\"/>",
                    named(*colour)
                ),
                Shape::Text { x, y, text: content, align, colour } => {
                    let anchor = match align {
                        Align::Right => "start",
                        Align::Middle => "middle",
                        Align::Left => "end",
                    };
                    let content = content.replace('&', "&amp;").replace('<', "&lt;");
                    writeln!(
                        text,
                        "<text x=\"{x:.2}\" y=\"{y:.2}\" text-anchor=\"{anchor}\" \
                         fill=\"{}\">{content}</text>",
                        named(*colour)
                    )
                }
            };
        }
        text + "</svg>\n"
    }

    /// The picture as PNG.
    #[cfg(feature = "draw")]
    pub fn png(&self) -> Vec<u8> {
        let mut pixels = vec![255_u8; self.width * self.height * 3];
        let mut fill = |[x, y, width, height]: [f64; 4], colour: Colour| {
            let within = |at: f64, most: usize| (at.round().max(0.0) as usize).min(most);
            for row in within(y, self.height)..within(y + height, self.height) {
                for column in within(x, self.width)..within(x + width, self.width) {
                    let at = (row * self.width + column) * 3;
                    pixels[at..at + 3].copy_from_slice(&colour);
                }
            }
        };
        for shape in &self.shapes {
            if let Shape::Rectangle(place, colour) = shape {
                fill(*place, *colour);
            }
        }
        self.letters(&mut pixels);
        png::encoded(self.width, self.height, &pixels)
    }

    /// Draws the texts over the rectangles.
    #[cfg(feature = "draw")]
    fn letters(&self, pixels: &mut [u8]) {
        font::register();
        let size = (self.width as u32, self.height as u32);
        let area: DrawingArea<_, _> = BitMapBackend::with_buffer(pixels, size).into_drawing_area();
        for shape in &self.shapes {
            let Shape::Text { x, y, text, align, colour: [red, green, blue] } = shape else {
                continue;
            };
            let side = match align {
                Align::Right => HPos::Left,
                Align::Middle => HPos::Center,
                Align::Left => HPos::Right,
            };
            let style = (font::NAME, LETTERS).into_font().color(&RGBColor(*red, *green, *blue));
            let style = style.pos(Pos::new(side, VPos::Bottom));
            let place = (x.round() as i32, y.round() as i32 + DESCENT);
            area.draw_text(text, &style, place).expect("drawing into memory cannot fail");
        }
    }
}

/// Pixels between the baseline and the lowest parts of letters.
#[cfg(feature = "draw")]
const DESCENT: i32 = 3;

/// A colour in SVG.
fn named([red, green, blue]: Colour) -> String {
    format!("rgb({red},{green},{blue})")
}

#[cfg(all(test, feature = "draw"))]
mod tests {

    use super::*;

    /// The shades of grey of a text, by pixel.
    fn written(text: &str, align: Align) -> Vec<u8> {
        let mut picture = Picture::new(80, 20);
        picture.text(40.0, 15.0, text, align, [0; 3]);
        let mut pixels = vec![255; 80 * 20 * 3];
        picture.letters(&mut pixels);
        pixels.chunks(3).map(|pixel| pixel[0]).collect()
    }

    #[test]
    fn letters_are_those_of_a_font() {
        // smooth edges, small letters that differ from capitals, a letter for each character
        let small = written("requests", Align::Right);
        assert!(small.iter().any(|shade| (64..192).contains(shade)), "no smooth edge");
        assert_ne!(small, written("REQUESTS", Align::Right));
        let pictures: Vec<_> =
            "abcxyz019%/.-²µ".chars().map(|c| written(&c.to_string(), Align::Right)).collect();
        for (index, picture) in pictures.iter().enumerate() {
            assert!(picture.iter().any(|shade| *shade < 128), "letter {index} is not drawn");
            assert!(!pictures[..index].contains(picture), "letter {index} looks like another");
        }
    }

    #[test]
    fn texts_stand_where_they_are_put() {
        let columns = |align| -> Vec<usize> {
            let shades = written("address", align);
            (0..80).filter(|x| (0..20).any(|y| shades[y * 80 + x] < 200)).collect()
        };
        let (right, left, middle) =
            (columns(Align::Right), columns(Align::Left), columns(Align::Middle));
        assert!(right[0] >= 39 && left[left.len() - 1] <= 41, "{right:?} {left:?}");
        assert!(middle[0] < 40 && middle[middle.len() - 1] > 40, "{middle:?}");
        // no letter hangs below the baseline at 15
        assert!(!written("address", Align::Right)[16 * 80..].iter().any(|shade| *shade < 200));
    }

    #[test]
    fn a_png_holds_the_pixels_that_were_drawn() {
        let mut picture = Picture::new(4, 2);
        picture.rectangle([1.0, 0.0, 2.0, 1.0], READ);
        let file = picture.png();
        let mut reader = ::png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height, info.color_type), (4, 2, ::png::ColorType::Rgb));
        let white = [255; 3];
        let rows = [[white, READ, READ, white], [white; 4]];
        assert_eq!(pixels, rows.as_flattened().as_flattened());
        assert!(picture.svg().contains("<rect x=\"1.00\" y=\"0.00\" width=\"2.00\""));
    }
}
