//! Parts of a trace: its times and addresses, with other directions or sizes.
//!
//! *Assumed*: whether a request reads does not depend on its address. Requests of another size begin at multiples
//! of that size, like those of a file system with larger blocks. Not modelled: larger requests would be fewer.

use foretell_units::{Bytes, Stream};

use crate::source::{Source, SourceError};
use crate::trace::TraceSummary;
use crate::{Op, Request};

/// The requests of a source, with changes.
pub struct Altered<S> {
    source: S,
    reads: Option<(f64, Stream)>,
    access: Option<Bytes>,
    volume: Bytes,
}

impl<S: Source> Altered<S> {
    /// The requests of `source`, on a volume of `volume` bytes; unchanged so far.
    pub fn of(source: S, volume: Bytes) -> Self {
        Self { source, reads: None, access: None, volume }
    }

    /// Makes each request a read with probability `share`, drawn from `stream`.
    #[must_use]
    pub fn reading(mut self, share: f64, stream: Stream) -> Self {
        self.reads = Some((share, stream));
        self
    }

    /// Gives each request `access` bytes, at most those of the volume. It begins at its address rounded down to a
    /// multiple of that size; a request that would cross the end of the volume is moved to end there.
    #[must_use]
    pub fn of_size(mut self, access: Bytes) -> Self {
        self.access = Some(access);
        self
    }
}

impl<S: Source> Source for Altered<S> {
    fn next_request(&mut self) -> Result<Option<Request>, SourceError> {
        let Some(mut request) = self.source.next_request()? else { return Ok(None) };
        if let Some((share, stream)) = &mut self.reads {
            request.access.op = if stream.chance(*share) { Op::Read } else { Op::Write };
        }
        if let Some(access) = self.access {
            let aligned = Bytes(request.access.offset.get() / access.get() * access.get());
            request.access.offset = aligned.min(self.volume.saturating_sub(access));
            request.access.size = access;
        }
        Ok(Some(request))
    }

    fn summary(&self) -> Option<&TraceSummary> {
        self.source.summary()
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::generate::{Pattern, Ssio};
    use crate::source::Generated;

    fn source() -> impl Source {
        let mut ssio = Ssio::new(1.0, Pattern::Random);
        ssio.access = Bytes::kib(4);
        Generated::limited(ssio.over(Bytes::mib(1), Seed(1).stream("ssio")).unwrap(), 10_000)
    }

    fn all(mut source: impl Source) -> Vec<Request> {
        std::iter::from_fn(move || source.next_request().unwrap()).collect()
    }

    #[test]
    fn nothing_else_is_altered() {
        assert_eq!(all(Altered::of(source(), Bytes::mib(1))), all(source()));
    }

    #[test]
    fn so_many_read() {
        let altered = Altered::of(source(), Bytes::mib(1));
        let altered = all(altered.reading(0.3, Seed(1).stream("reads")));
        let reads = altered.iter().filter(|request| request.access.op == Op::Read).count();
        // three standard deviations are 137
        assert!(reads.abs_diff(3000) < 140, "{reads}");
        let places = |all: &[Request]| -> Vec<Bytes> {
            all.iter().map(|request| request.access.offset).collect()
        };
        assert_eq!(places(&altered), places(&all(source())));
    }

    #[test]
    fn larger_requests_are_aligned_and_end_with_the_volume() {
        // 1 MiB is not a multiple of 48 KiB: the last request begins at 976 KiB instead of 1008 KiB
        let altered = all(Altered::of(source(), Bytes::mib(1)).of_size(Bytes::kib(48)));
        assert!(altered.iter().all(|request| request.access.size == Bytes::kib(48)));
        let last = Bytes::kib(976);
        let aligned = |at: Bytes| at.get().is_multiple_of(48 << 10) || at == last;
        assert!(altered.iter().all(|request| aligned(request.access.offset)));
        assert_eq!(altered.iter().map(|request| request.access.end()).max(), Some(Bytes::mib(1)));
    }
}
