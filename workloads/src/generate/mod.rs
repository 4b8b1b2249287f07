//! Synthetic request streams.
//!
//! A generator is a pure function of its settings and its random stream: the same seed gives the
//! same requests on every machine. It is endless and has no times; see
//! [`arrivals`](crate::arrivals) for the times of issue.

mod alias;
mod error;
mod ffsb;
mod iozone;
mod oltp;
mod pattern;
mod postmark;
mod ssio;
mod zipf;

pub use alias::AliasTable;
pub use error::GenerateError;
pub use ffsb::{Ffsb, FfsbOperations};
pub use iozone::{Iozone, IozoneRecords};
pub use oltp::{Oltp, OltpTransactions};
pub use pattern::{Addresses, Pattern};
pub use postmark::{Postmark, PostmarkTransactions};
pub use ssio::{Ssio, SsioGenerator};
pub use zipf::{ZIPF_ALPHA_MAX, Zipf};

use crate::Access;

/// An endless stream of requests.
pub trait Generator: Send {
    /// The next request.
    fn next(&mut self) -> Access;
}

impl<G: Generator + ?Sized> Generator for Box<G> {
    fn next(&mut self) -> Access {
        (**self).next()
    }
}
