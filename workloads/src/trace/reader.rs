//! Opening a trace and reading its requests one after the other.

use std::io::Read;
use std::path::Path;

use foretell_units::{Bytes, SECTOR_BYTES};

use super::block_list::BlockList;
use super::csv::Csv;
use super::decode::{Clock, Decoder, Lines, Records, Tally};
use super::error::TraceError;
use super::format::Format;
use super::input::Input;
use super::oracle_general::OracleGeneral;
use super::vscsi::{self, Vscsi1, Vscsi2};
use crate::Request;

/// How a trace is to be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadOptions {
    /// Its format; `None`: found out from content and name.
    pub format: Option<Format>,
    /// Bytes of a block, in formats whose block numbers have no size of their own: default 4 KiB
    /// in [`Format::BlockList`], 512 B in [`Format::OracleGeneral`].
    pub block: Option<Bytes>,
    /// Bad lines and records are left out and counted; otherwise the first one ends the trace.
    pub skip_bad: bool,
}

/// The requests of a trace, in the order of the file.
///
/// Streams: the memory used is a fixed buffer, and a request costs no allocation. After an error
/// there is nothing more.
///
/// Times are since the first request and never run backwards; see
/// [`TraceSummary::out_of_order`](super::TraceSummary::out_of_order).
pub struct TraceReader {
    input: Input,
    decoder: Box<dyn Decoder>,
    format: Format,
    clock: Clock,
    tally: Tally,
    done: bool,
}

impl TraceReader {
    /// Opens the trace at `path`, decompressing gzip and zstd.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or read, or its format cannot be told.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        Self::start(Input::open(path)?, options)
    }

    /// Reads a trace called `name` from `source`, decompressing gzip and zstd.
    ///
    /// # Errors
    ///
    /// As [`TraceReader::open`].
    pub fn new(
        name: &str,
        source: impl Read + Send + 'static,
        options: &ReadOptions,
    ) -> Result<Self, TraceError> {
        Self::start(Input::new(name.to_owned(), source)?, options)
    }

    fn start(mut input: Input, options: &ReadOptions) -> Result<Self, TraceError> {
        let name = input.name().to_owned();
        if options.block == Some(Bytes::ZERO) {
            return Err(TraceError::ZeroBlock { trace: name });
        }
        let block = |default| options.block.map_or(default, Bytes::get);
        let head = input.head()?;
        let format = match options.format {
            Some(format) => format,
            None if head.is_empty() => return Err(TraceError::Empty { trace: name }),
            None => Format::detect(&name, head).ok_or_else(|| TraceError::UnknownFormat {
                trace: name,
                formats: Format::names(),
            })?,
        };
        let decoder: Box<dyn Decoder> = match format {
            Format::Csv => Box::new(Lines::new(Csv::new())),
            Format::OracleGeneral => {
                Box::new(Records::new(OracleGeneral { block: block(SECTOR_BYTES) }))
            }
            Format::Vscsi if vscsi::is_version_2(head) => Box::new(Records::new(Vscsi2)),
            Format::Vscsi => Box::new(Records::new(Vscsi1)),
            Format::BlockList => Box::new(Lines::new(BlockList { block: block(4096) })),
        };
        let clock = Clock::new(decoder.tick_ns());
        let tally = Tally { skip_bad: options.skip_bad, ..Tally::default() };
        Ok(Self { input, decoder, format, clock, tally, done: false })
    }

    /// The format, given or found out.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Requests so far whose time was before that of an earlier one.
    pub fn out_of_order(&self) -> u64 {
        self.clock.out_of_order()
    }

    /// Bad lines and records left out so far.
    pub fn bad(&self) -> u64 {
        self.tally.bad
    }

    /// Good lines left out so far, because they move no data or are not asked for.
    pub fn other(&self) -> u64 {
        self.tally.other
    }

    /// The first request's time on the trace's own clock, in nanoseconds, if it is read and has
    /// one.
    pub fn origin_ns(&self) -> Option<u128> {
        self.clock.origin_ns()
    }
}

impl Iterator for TraceReader {
    type Item = Result<Request, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.decoder.next(&mut self.input, &mut self.tally) {
            Ok(Some(decoded)) => {
                let at = decoded.ticks.map(|ticks| self.clock.at(ticks));
                Some(Ok(Request { at, access: decoded.access }))
            }
            Ok(None) => {
                self.done = true;
                None
            }
            Err(error) => {
                self.done = true;
                Some(Err(error))
            }
        }
    }
}
