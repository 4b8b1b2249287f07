//! Digests of content.

use std::fmt::Write as _;
use std::io::Read as _;

use foretell_files::NewFile;
use sha2::{Digest as _, Sha256};

/// SHA-256 of bytes, in hexadecimal.
pub fn hex_of(bytes: &[u8]) -> String {
    let mut hash = ContentDigest::default();
    hash.update(bytes);
    hash.finish()
}

/// A digest of content that is added piece by piece.
#[derive(Clone, Default)]
pub struct ContentDigest(Sha256);

impl ContentDigest {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest in hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

/// SHA-256 of the content written to a file so far, and its length in bytes.
pub(crate) fn hex_of_file(file: &mut NewFile) -> Result<(String, u64), crate::DataError> {
    let path = &file.path().to_owned();
    let failed = |error| crate::DataError::file("read", path)(error);
    let mut file = file.written().map_err(failed)?;
    let (mut digest, mut bytes, mut buffer) = (ContentDigest::default(), 0, vec![0; 1 << 16]);
    loop {
        let read = file.read(&mut buffer).map_err(failed)?;
        if read == 0 {
            return Ok((digest.finish(), bytes));
        }
        digest.update(&buffer[..read]);
        bytes += read as u64;
    }
}
