//! The source of a simulated client's requests: a generator or a trace.

use std::fmt;
use std::path::Path;

use foretell_units::{Bytes, SECTOR_BYTES};
use thiserror::Error;

use crate::generate::Generator;
use crate::trace::{ReadOptions, TraceError, TraceReader, TraceSummary, summarize};
use crate::{Access, Request};

/// A sequence of requests, finite or endless.
pub trait Source: Send {
    /// The next request; `None`: there are no more, now or later.
    ///
    /// # Errors
    ///
    /// If a trace turns out to be unreadable. After that there are no more requests.
    fn next_request(&mut self) -> Result<Option<Request>, SourceError>;

    /// Summary of the trace behind it, if that was read to its end beforehand.
    fn summary(&self) -> Option<&TraceSummary> {
        None
    }
}

/// The reason why there are no requests.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace addresses more than the volume has.
    #[error(
        "trace `{trace}` goes up to byte {highest}, but the volume has {volume}; make the volume \
         larger, or wrap the addresses around"
    )]
    BeyondVolume {
        /// The trace's name.
        trace: String,
        /// The byte after the highest requested.
        highest: u64,
        /// The volume's size.
        volume: Bytes,
    },
    /// The trace should be replayed at its times, but has none.
    #[error(
        "trace `{trace}` is a list of blocks without times to replay them at; set `arrivals = \
         \"closed\"`, and how many are `outstanding`"
    )]
    NoTimes {
        /// The trace's name.
        trace: String,
    },
    /// The trace contains no request.
    #[error(
        "trace `{trace}` has no requests: {bad} bad lines or records and {other} others were left \
         out"
    )]
    NoRequests {
        /// The trace's name.
        trace: String,
        /// Number of bad lines or records left out.
        bad: u64,
        /// Number of good ones left out.
        other: u64,
    },
    /// A request that is too large for the volume, with or without wrapping.
    #[error("trace `{trace}` has a request of {size}, but the volume has {volume}")]
    LargerThanVolume {
        /// The trace's name.
        trace: String,
        /// The request's size.
        size: Bytes,
        /// The volume's size.
        volume: Bytes,
    },
}

/// The requests of a generator, which have no times.
#[derive(Clone, Debug)]
pub struct Generated<G> {
    generator: G,
    left: Option<u64>,
}

impl<G: Generator> Generated<G> {
    /// All requests, without end.
    pub fn endless(generator: G) -> Self {
        Self { generator, left: None }
    }

    /// Only the first `count` requests.
    pub fn limited(generator: G, count: u64) -> Self {
        Self { generator, left: Some(count) }
    }
}

impl<G: Generator> Source for Generated<G> {
    fn next_request(&mut self) -> Result<Option<Request>, SourceError> {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                return Ok(None);
            }
            *left -= 1;
        }
        Ok(Some(Request { at: None, access: self.generator.next() }))
    }
}

/// Treatment of addresses beyond the volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beyond {
    /// They are an error. The trace is read once beforehand, so that the error is found before the
    /// simulation starts.
    Refuse,
    /// They wrap around: the address modulo the volume's whole sectors, rounded down to a sector. A
    /// request that would cross the end of the volume is moved back to end there.
    Wrap,
}

/// The requests of a trace, read when they are needed.
pub struct Replay {
    trace: TraceReader,
    name: String,
    volume: Bytes,
    beyond: Beyond,
    given: u64,
    wrapped: u64,
    summary: Option<TraceSummary>,
    done: bool,
}

impl Replay {
    /// The trace at `path` on a volume of `volume` bytes.
    ///
    /// # Errors
    ///
    /// If the trace cannot be read; with [`Beyond::Refuse`] also if any of it is bad or beyond the
    /// volume.
    pub fn open(
        path: &Path,
        options: &ReadOptions,
        volume: Bytes,
        beyond: Beyond,
    ) -> Result<Self, SourceError> {
        let name = path.display().to_string();
        let mut trace = TraceReader::open(path, options)?;
        let mut summary = None;
        if beyond == Beyond::Refuse {
            let found = summarize(trace)?;
            if found.highest > volume {
                let highest = found.highest.get();
                return Err(SourceError::BeyondVolume { trace: name, highest, volume });
            }
            summary = Some(found);
            trace = TraceReader::open(path, options)?;
        }
        Ok(Self { trace, name, volume, beyond, given: 0, wrapped: 0, summary, done: false })
    }

    /// Number of requests so far that were moved, because they were beyond the volume or crossed
    /// its end.
    pub fn wrapped(&self) -> u64 {
        self.wrapped
    }

    /// The reader, for its counts.
    pub fn trace(&self) -> &TraceReader {
        &self.trace
    }

    /// Places `access` on this volume.
    fn place(&mut self, access: Access) -> Result<Access, SourceError> {
        let volume = self.volume;
        if access.end() <= volume {
            return Ok(access);
        }
        let trace = || self.name.clone();
        if self.beyond == Beyond::Refuse {
            // the file has grown since it was scanned
            let highest = access.end().get();
            return Err(SourceError::BeyondVolume { trace: trace(), highest, volume });
        }
        if access.size > volume {
            let size = access.size;
            return Err(SourceError::LargerThanVolume { trace: trace(), size, volume });
        }
        self.wrapped += 1;
        let sectors = volume.get() / SECTOR_BYTES;
        let sector = if sectors == 0 { 0 } else { access.offset.get() / SECTOR_BYTES % sectors };
        let offset = Bytes(sector * SECTOR_BYTES).min(volume - access.size);
        Ok(Access { offset, ..access })
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("trace", &self.name).finish_non_exhaustive()
    }
}

impl Source for Replay {
    fn next_request(&mut self) -> Result<Option<Request>, SourceError> {
        if self.done {
            return Ok(None);
        }
        let next = match self.trace.next() {
            None if self.given == 0 => {
                let (bad, other) = (self.trace.bad(), self.trace.other());
                Err(SourceError::NoRequests { trace: self.name.clone(), bad, other })
            }
            None => Ok(None),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(Request { at, access })) => {
                self.place(access).map(|access| Some(Request { at, access }))
            }
        };
        self.done = !matches!(next, Ok(Some(_)));
        self.given += u64::from(!self.done);
        next
    }

    /// Present with [`Beyond::Refuse`].
    fn summary(&self) -> Option<&TraceSummary> {
        self.summary.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use foretell_units::{Seed, SimTime};
    use proptest::prelude::*;
    use tempfile::NamedTempFile;

    use super::*;
    use crate::generate::{Pattern, Ssio};

    fn file(text: &str) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    fn replay(text: &str, volume: Bytes, beyond: Beyond) -> Result<Replay, SourceError> {
        Replay::open(file(text).path(), &ReadOptions::default(), volume, beyond)
    }

    /// A request of `size` bytes at sector `lbn`.
    fn line(lbn: u64, size: u64) -> String {
        format!("1,1,28,{size},{lbn}\n")
    }

    #[test]
    fn a_generator_is_endless_or_limited() {
        let generator = || {
            let ssio = Ssio::new(1.0, Pattern::Sequential);
            ssio.over(Bytes::mib(1), Seed(1).stream("source")).unwrap()
        };
        let count = |source: &mut dyn Source| {
            (0..100).take_while(|_| source.next_request().unwrap().is_some()).count()
        };
        assert_eq!(count(&mut Generated::endless(generator())), 100);
        assert_eq!(count(&mut Generated::limited(generator(), 7)), 7);
    }

    #[test]
    fn a_trace_is_replayed_to_its_end() {
        let text = "1,5,28,512,1\n1,7,2a,1024,3\n";
        // (3 + 2) × 512 bytes just fit
        let mut replay = replay(text, Bytes(2560), Beyond::Refuse).unwrap();
        assert_eq!(replay.summary().unwrap().requests, 2);
        let first = replay.next_request().unwrap().unwrap();
        assert_eq!((first.at, first.access.offset), (Some(SimTime::ZERO), Bytes(512)));
        let second = replay.next_request().unwrap().unwrap();
        assert_eq!(
            (second.at, second.access.end()),
            (Some(SimTime::from_ns(2_000_000_000)), Bytes(2560))
        );
        assert!(replay.next_request().unwrap().is_none());
        assert!(replay.next_request().unwrap().is_none());
    }

    #[test]
    fn a_trace_without_requests_is_an_error() {
        let options = ReadOptions { device: Some("7".to_owned()), ..ReadOptions::default() };
        let file = file("0,1,512,r,0.0\n1,1,512,w,0.5\n");
        let mut replay =
            Replay::open(file.path(), &options, Bytes::mib(1), Beyond::Refuse).unwrap();
        let error = replay.next_request().unwrap_err().to_string();
        assert!(
            error.ends_with("no requests: 0 bad lines or records and 2 others were left out"),
            "{error}"
        );
        assert!(replay.next_request().unwrap().is_none());
    }

    #[test]
    fn addresses_beyond_the_volume_are_found_beforehand() {
        let text = line(1, 512) + &line(3, 1024);
        let error = replay(&text, Bytes(2559), Beyond::Refuse).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "goes up to byte 2560, but the volume has 2559 B; make the volume larger, or wrap \
                 the addresses around"
            ),
            "{error}"
        );
        let error = replay("1,1,28,512,1\nnothing\n", Bytes(2559), Beyond::Refuse).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }

    #[test]
    fn addresses_wrap_around_by_whole_sectors() {
        // A volume of 10.5 sectors. Sector 9 fits. Sector 10 would end at 11 × 512 and goes to 10
        // mod 10 = 0; 27 goes to 7. Two sectors at 19 go to 9, where they no longer fit: they are
        // moved to end with the volume, at 5376.
        let text = line(9, 512) + &line(10, 512) + &line(27, 512) + &line(19, 1024);
        let mut replay = replay(&text, Bytes(5376), Beyond::Wrap).unwrap();
        let offsets: Vec<u64> =
            (0..4).map(|_| replay.next_request().unwrap().unwrap().access.offset.get()).collect();
        assert_eq!(offsets, [9 * 512, 0, 7 * 512, 5376 - 1024]);
        assert_eq!(replay.wrapped(), 3);
    }

    #[test]
    fn a_request_larger_than_the_volume_does_not_wrap() {
        let mut replay = replay(&line(1, 4096), Bytes::kib(2), Beyond::Wrap).unwrap();
        let error = replay.next_request().unwrap_err().to_string();
        assert!(error.ends_with("has a request of 4 KiB, but the volume has 2 KiB"), "{error}");
        assert!(replay.next_request().unwrap().is_none(), "an error is the end");
    }

    proptest! {
        #[test]
        fn wrapped_requests_lie_within_the_volume(
            volume in 1..100_000_u64,
            lbn in 0..1_u64 << 54,
            size in 1..10_000_u64,
        ) {
            let mut replay = replay(&line(lbn, size), Bytes(volume), Beyond::Wrap).unwrap();
            match replay.next_request() {
                Ok(request) => {
                    let access = request.unwrap().access;
                    prop_assert_eq!(access.size, Bytes(size));
                    prop_assert!(access.end() <= Bytes(volume));
                }
                Err(_) => prop_assert!(size > volume),
            }
        }
    }
}
