//! PNG files: eight bits a colour, no interlace, no filter (RFC 2083).

use std::io::Write as _;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// The file of a picture whose pixels, three bytes each, come row by row.
pub(crate) fn encoded(width: usize, height: usize, pixels: &[u8]) -> Vec<u8> {
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
