//! Encryption of blocks.
//!
//! AES-128 in CBC mode (FIPS 197, NIST SP 800-38A), the cipher of Thereska et al. 2006's
//! experiments. Blocks of volumes are whole sectors, so there is no padding: an encrypted block
//! is as long as the plain one, as on encrypted disks. It hides contents; it does not
//! authenticate them, so a wrong key gives wrong data instead of an error.

use std::fmt;
use std::str::FromStr;

use aes::Aes128;
use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit};
use foretell_units::{Bytes, VolumeId};
use thiserror::Error;

use crate::names;

/// Bytes of a key.
pub const KEY_LEN: usize = 16;
/// Bytes of an initialisation vector.
pub const IV_LEN: usize = 16;
/// Encrypted data are a multiple of this.
pub const CIPHER_BLOCK: Bytes = Bytes(16);

/// How blocks are encrypted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Cipher {
    /// Not at all: sealed and plain are the same.
    #[default]
    None,
    /// AES with a 128-bit key, cipher block chaining, without padding.
    Aes128Cbc,
}

/// Why a name is not that of a cipher, or sealed bytes cannot be opened.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum CipherError {
    /// No cipher has this name.
    #[error("`{found}` is not a cipher; {wanted}")]
    Name {
        /// The name as found.
        found: String,
        /// The known names.
        wanted: String,
    },
    /// Not a whole number of cipher blocks.
    #[error("sealed data has {found} bytes; `{cipher}` gives a multiple of 16")]
    Length {
        /// Number of bytes found.
        found: usize,
        /// The cipher.
        cipher: Cipher,
    },
}

impl Cipher {
    /// All ciphers.
    pub const ALL: &[Self] = &[Self::None, Self::Aes128Cbc];

    /// The name as scenarios write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Aes128Cbc => "aes-128-cbc",
        }
    }

    /// The initialisation vector of version `version` of block `block` of `volume`.
    ///
    /// CBC needs an unpredictable vector, a different one for each message. This is the first
    /// method of SP 800-38A, appendix C: the nonce, encrypted by the forward cipher under the same
    /// key. Here the triple is the nonce, so the vector need not be stored. All zero without a
    /// cipher.
    pub fn iv(
        self,
        key: &[u8; KEY_LEN],
        volume: VolumeId,
        block: u64,
        version: u32,
    ) -> [u8; IV_LEN] {
        if self == Self::None {
            return [0; IV_LEN];
        }
        let mut nonce = [0; IV_LEN];
        nonce[..4].copy_from_slice(&volume.0.to_be_bytes());
        nonce[4..12].copy_from_slice(&block.to_be_bytes());
        nonce[12..].copy_from_slice(&version.to_be_bytes());
        let mut nonce = nonce.into();
        Aes128::new(key.into()).encrypt_block(&mut nonce);
        nonce.into()
    }

    /// Seals `plain` into the same number of bytes.
    ///
    /// # Panics
    ///
    /// With a cipher, if `plain` is not a multiple of [`CIPHER_BLOCK`].
    pub fn encrypt(self, key: &[u8; KEY_LEN], iv: &[u8; IV_LEN], plain: &[u8]) -> Vec<u8> {
        match self {
            Self::None => plain.to_vec(),
            Self::Aes128Cbc => cbc::Encryptor::<Aes128>::new(key.into(), iv.into())
                .encrypt_padded_vec::<NoPadding>(plain),
        }
    }

    /// Opens data that [`Cipher::encrypt`] sealed with the same key and vector.
    ///
    /// # Errors
    ///
    /// If the length is not a multiple of [`CIPHER_BLOCK`].
    pub fn decrypt(
        self,
        key: &[u8; KEY_LEN],
        iv: &[u8; IV_LEN],
        sealed: &[u8],
    ) -> Result<Vec<u8>, CipherError> {
        match self {
            Self::None => Ok(sealed.to_vec()),
            Self::Aes128Cbc => cbc::Decryptor::<Aes128>::new(key.into(), iv.into())
                .decrypt_padded_vec::<NoPadding>(sealed)
                .map_err(|_| CipherError::Length { found: sealed.len(), cipher: self }),
        }
    }
}

impl fmt::Display for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Cipher {
    type Err = CipherError;

    /// Reads the name that [`Cipher::name`] gives.
    fn from_str(text: &str) -> Result<Self, CipherError> {
        Self::ALL.iter().copied().find(|cipher| cipher.name() == text).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|cipher| cipher.name()).collect();
            CipherError::Name { found: text.to_owned(), wanted: names::wanted(text, &names) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::{Encoding, Erasure};
    use proptest::prelude::*;

    const AES: Cipher = Cipher::Aes128Cbc;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap())
            .collect()
    }

    #[test]
    fn published_sp800_38a_f21_cbc_aes128() {
        let key = hex("2b7e151628aed2a6abf7158809cf4f3c").try_into().unwrap();
        let iv = hex("000102030405060708090a0b0c0d0e0f").try_into().unwrap();
        let plain = hex("6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51");
        let sealed = AES.encrypt(&key, &iv, &plain);
        assert_eq!(sealed, hex("7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b2"));
        assert_eq!(AES.decrypt(&key, &iv, &sealed), Ok(plain));
    }

    #[test]
    fn names_round_trip_and_suggest() {
        for &cipher in Cipher::ALL {
            assert_eq!(cipher.to_string().parse(), Ok(cipher));
        }
        let message = "aes-128-cbs".parse::<Cipher>().unwrap_err().to_string();
        assert!(message.contains("did you mean `aes-128-cbc`?"), "{message}");
    }

    #[test]
    fn what_cannot_be_opened_is_an_error() {
        let (key, iv) = ([1; 16], [2; 16]);
        for found in [1, 15, 17] {
            let error = AES.decrypt(&key, &iv, &vec![0; found]).unwrap_err();
            assert_eq!(error, CipherError::Length { found, cipher: AES });
        }
    }

    #[test]
    fn another_key_does_not_open() {
        let (iv, plain) = ([2; 16], *b"attack at dawn, ");
        let sealed = AES.encrypt(&[1; 16], &iv, &plain);
        assert_eq!(AES.decrypt(&[1; 16], &iv, &sealed), Ok(plain.to_vec()));
        assert_ne!(AES.decrypt(&[3; 16], &iv, &sealed), Ok(plain.to_vec()));
    }

    #[test]
    fn every_block_and_version_has_its_own_vector() {
        let iv = |key, volume, block, version| AES.iv(&[key; 16], VolumeId(volume), block, version);
        let base = iv(1, 2, 3, 4);
        assert_eq!(base, iv(1, 2, 3, 4));
        for other in [iv(0, 2, 3, 4), iv(1, 3, 2, 4), iv(1, 2, 4, 3), iv(1, 2, 3, 5)] {
            assert_ne!(base, other);
        }
        assert_eq!(Cipher::None.iv(&[1; 16], VolumeId(2), 3, 4), [0; 16]);
    }

    proptest! {
        #[test]
        fn what_was_sealed_and_encoded_comes_back(
            plain in (0..32_usize).prop_flat_map(|n| prop::collection::vec(any::<u8>(), 16 * n)),
            key in any::<[u8; 16]>(),
            block in any::<u64>(),
            aes in any::<bool>(),
            (m, n) in (1_u32..=8).prop_flat_map(|n| (1..=n, Just(n))),
        ) {
            let cipher = if aes { AES } else { Cipher::None };
            let codec = Erasure::new(Encoding::new(m, n).unwrap());
            let iv = cipher.iv(&key, VolumeId(1), block, 0);
            let sealed = cipher.encrypt(&key, &iv, &plain);
            prop_assert_eq!(sealed.len(), plain.len());
            let fragments = codec.encode(&sealed);
            let last: Vec<_> =
                fragments.iter().enumerate().skip((n - m) as usize).map(|(i, f)| (i, &f[..])).collect();
            let decoded = codec.decode(&last, sealed.len()).unwrap();
            prop_assert_eq!(cipher.decrypt(&key, &iv, &decoded), Ok(plain));
        }
    }
}
