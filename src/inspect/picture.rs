//! A picture of rectangles and short texts, as SVG and as PNG.
//!
//! Drawn here, because all that is wanted are bars and cells: a library would bring a font, which
//! this project would have to carry.

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Red, green, blue.
pub(super) type Colour = [u8; 3];

pub(super) const BLACK: Colour = [40, 40, 40];
pub(super) const READ: Colour = [38, 109, 180];
pub(super) const WRITE: Colour = [214, 112, 32];

/// Where a text stands from its place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Right,
    Middle,
    Left,
}

enum Shape {
    Rectangle([f64; 4], Colour),
    Text { x: f64, y: f64, text: String, align: Align, colour: Colour },
}

/// A picture; x to the right, y down, in pixels.
pub(super) struct Picture {
    width: usize,
    height: usize,
    shapes: Vec<Shape>,
}

/// Pixels of the dots that letters in a PNG are made of.
const DOT: f64 = 2.0;

impl Picture {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self { width, height, shapes: Vec::new() }
    }

    /// `place`: left, top, width, height.
    pub(super) fn rectangle(&mut self, place: [f64; 4], colour: Colour) {
        self.shapes.push(Shape::Rectangle(place, colour));
    }

    pub(super) fn text(&mut self, x: f64, y: f64, text: &str, align: Align, colour: Colour) {
        self.shapes.push(Shape::Text { x, y, text: text.to_owned(), align, colour });
    }

    /// As SVG.
    pub(super) fn svg(&self) -> String {
        let (width, height) = (self.width, self.height);
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
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

    /// As PNG.
    pub(super) fn png(&self) -> Vec<u8> {
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
            match shape {
                Shape::Rectangle(place, colour) => fill(*place, *colour),
                Shape::Text { x, y, text, align, colour } => {
                    let width = text.chars().count() as f64 * 4.0 * DOT;
                    let left = match align {
                        Align::Right => *x,
                        Align::Middle => x - width / 2.0,
                        Align::Left => x - width,
                    };
                    for (index, letter) in text.chars().enumerate() {
                        let dots = glyph(letter);
                        for place in (0..15).filter(|place| dots >> (14 - place) & 1 == 1) {
                            let column = f64::from(place % 3) + index as f64 * 4.0;
                            let row = f64::from(place / 3) - 5.0;
                            fill([left + column * DOT, y + row * DOT, DOT, DOT], *colour);
                        }
                    }
                }
            }
        }
        encoded(self.width, self.height, &pixels)
    }
}

/// A colour in SVG.
fn named([red, green, blue]: Colour) -> String {
    format!("rgb({red},{green},{blue})")
}

/// Letters as five rows of three dots, the top one first.
const GLYPHS: [(char, u16); 41] = [
    ('0', 0b111_101_101_101_111),
    ('1', 0b010_110_010_010_111),
    ('2', 0b111_001_111_100_111),
    ('3', 0b111_001_111_001_111),
    ('4', 0b101_101_111_001_001),
    ('5', 0b111_100_111_001_111),
    ('6', 0b111_100_111_101_111),
    ('7', 0b111_001_010_010_010),
    ('8', 0b111_101_111_101_111),
    ('9', 0b111_101_111_001_111),
    ('A', 0b010_101_111_101_101),
    ('B', 0b110_101_110_101_110),
    ('C', 0b011_100_100_100_011),
    ('D', 0b110_101_101_101_110),
    ('E', 0b111_100_110_100_111),
    ('F', 0b111_100_110_100_100),
    ('G', 0b011_100_101_101_011),
    ('H', 0b101_101_111_101_101),
    ('I', 0b111_010_010_010_111),
    ('J', 0b001_001_001_101_010),
    ('K', 0b101_101_110_101_101),
    ('L', 0b100_100_100_100_111),
    ('M', 0b101_111_111_101_101),
    ('N', 0b110_101_101_101_101),
    ('O', 0b010_101_101_101_010),
    ('P', 0b110_101_110_100_100),
    ('Q', 0b010_101_101_111_011),
    ('R', 0b110_101_110_101_101),
    ('S', 0b011_100_010_001_110),
    ('T', 0b111_010_010_010_010),
    ('U', 0b101_101_101_101_111),
    ('V', 0b101_101_101_101_010),
    ('W', 0b101_101_111_111_101),
    ('X', 0b101_101_010_101_101),
    ('Y', 0b101_101_010_010_010),
    ('Z', 0b111_001_010_100_111),
    ('.', 0b000_000_000_000_010),
    (',', 0b000_000_000_010_100),
    ('/', 0b001_001_010_100_100),
    ('-', 0b000_000_111_000_000),
    ('%', 0b101_001_010_100_101),
];

fn glyph(letter: char) -> u16 {
    let letter = letter.to_ascii_uppercase();
    GLYPHS.iter().find(|(known, _)| *known == letter).map_or(0, |(_, dots)| *dots)
}

/// Eight bits a colour, no interlace (RFC 2083).
fn encoded(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8; 4], data: &[u8]| {
        file.extend((data.len() as u32).to_be_bytes());
        let checked = [kind, data].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&checked);
        file.extend(checked);
        file.extend(crc.sum().to_be_bytes());
    };
    let size = [width as u32, height as u32].map(u32::to_be_bytes).concat();
    chunk(b"IHDR", &[size, vec![8, 2, 0, 0, 0]].concat());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    for row in pixels.chunks(width * 3) {
        // each row says by which filter it was changed: none
        encoder.write_all(&[0]).and_then(|()| encoder.write_all(row)).expect("memory");
    }
    chunk(b"IDAT", &encoder.finish().expect("memory"));
    chunk(b"IEND", &[]);
    file
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_png_holds_the_pixels_that_were_drawn() {
        let mut picture = Picture::new(4, 2);
        picture.rectangle([1.0, 0.0, 2.0, 1.0], READ);
        let file = picture.png();
        // signature, IHDR of 13 bytes, then the length of IDAT
        let length = u32::from_be_bytes(file[33..37].try_into().unwrap()) as usize;
        let mut pixels = Vec::new();
        flate2::read::ZlibDecoder::new(&file[41..41 + length]).read_to_end(&mut pixels).unwrap();
        let white = [255; 3];
        let rows = [[white, READ, READ, white], [white; 4]];
        let expected: Vec<u8> =
            rows.iter().flat_map(|row| [0].into_iter().chain(row.concat())).collect();
        assert_eq!(pixels, expected);
        assert!(picture.svg().contains("<rect x=\"1.00\" y=\"0.00\" width=\"2.00\""));
    }
}
