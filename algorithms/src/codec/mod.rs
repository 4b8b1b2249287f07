//! What happens to a block between a client and its storage nodes: encryption, then encoding.
//!
//! An [`Encoding`] describes the code (m-of-n, or repaired locally), and [`Erasure`] computes it.
//! [`Cipher`] seals a block before it is encoded. These are the real algorithms, on real bytes. The
//! simulator only charges their cost, but that cost is measured by running them, and a code that
//! cannot decode would prove nothing.

mod cipher;
mod encoding;
mod erasure;
mod shares;

pub use cipher::{CIPHER_BLOCK, Cipher, CipherError, IV_LEN, KEY_LEN};
pub use encoding::{Encoding, EncodingError};
pub use erasure::{CodecError, Erasure};
pub use shares::{Numbers, Shares};
