//! Digests of content.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal.
pub fn hex_of(bytes: &[u8]) -> String {
    let mut hash = ContentDigest::default();
    hash.update(bytes);
    hash.finish()
}

/// A digest that grows.
#[derive(Clone, Default)]
pub struct ContentDigest(Sha256);

impl ContentDigest {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// In hexadecimal.
    pub fn finish(self) -> String {
        self.0.finalize().iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
