//! Opens a trace and reads its requests one after the other.

use std::io::Read;
use std::path::Path;

use foretell_units::{Bytes, SECTOR_BYTES};

use super::alibaba::Alibaba;
use super::blkparse::Blkparse;
use super::block_list::BlockList;
use super::csv::Csv;
use super::decode::{Clock, Decoder, Lines, Records, Tally};
use super::device::Device;
use super::disksim::DiskSim;
use super::error::{MAX_YEARS, TraceError, YEAR_NS};
use super::fio_iolog::{self, FioIolog};
use super::foretell::{self, Foretell};
use super::format::Format;
use super::input::Input;
use super::msr::Msr;
use super::oracle_general::OracleGeneral;
use super::spc::Spc;
use super::tencent::Tencent;
use super::vscsi::{self, Vscsi1, Vscsi2};
use crate::Request;

/// Options for reading a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// Its format; `None`: detected from content and name.
    pub format: Option<Format>,
    /// Bytes of a block, in formats with block numbers of unspecified size: default 4 KiB in
    /// [`Format::BlockList`], 512 B in [`Format::OracleGeneral`], [`Format::Spc`] and
    /// [`Format::DiskSim`]. Other formats ignore it.
    pub block: Option<Bytes>,
    /// The device whose requests are read, in formats that distinguish devices, identified as the
    /// format's file describes; `None`: all devices, as if they were one.
    pub device: Option<String>,
    /// The action that marks a request, in [`Format::Blkparse`]: for example `Q` (queued, the
    /// default) or `D` (sent to the device).
    pub blkparse_action: char,
    /// Whether bad lines and records are left out and counted. Otherwise the first one ends the
    /// trace.
    pub skip_bad: bool,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, block: None, device: None, blkparse_action: 'Q', skip_bad: false }
    }
}

/// The requests of a trace, in the order of the file.
///
/// The requests are streamed: the memory used is a fixed buffer, and a request costs no allocation.
/// After an error there are no more requests.
///
/// Times are since the first request and never decrease; see
/// [`TraceSummary::out_of_order`](super::TraceSummary::out_of_order).
pub struct TraceReader {
    input: Input,
    decoder: Box<dyn Decoder>,
    format: Format,
    /// The detected format of the content, if another one was given.
    looks_like: Option<Format>,
    timed: bool,
    device: Device,
    /// The action that marks a request, where lines have actions.
    action: char,
    clock: Clock,
    tally: Tally,
    /// Number of requests so far.
    given: u64,
    done: bool,
}

impl TraceReader {
    /// Opens the trace at `path`, decompressing gzip and zstd.
    ///
    /// # Errors
    ///
    /// If the file cannot be opened or read, or its format cannot be detected.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        Self::start(Input::open(path)?, options)
    }

    /// Reads a trace called `name` from `source`, decompressing gzip and zstd.
    ///
    /// # Errors
    ///
    /// Like [`TraceReader::open`].
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
        let action = options.blkparse_action;
        if !action.is_ascii_uppercase() {
            return Err(TraceError::NoAction { trace: name, action });
        }
        let block = |default| options.block.map_or(default, Bytes::get);
        let head = input.head()?;
        let detected = Format::detect(&name, head);
        let format = match options.format {
            Some(format) => format,
            None if head.is_empty() => return Err(TraceError::Empty { trace: name }),
            None => detected.ok_or_else(|| TraceError::UnknownFormat {
                trace: name,
                formats: Format::names(),
            })?,
        };
        let looks_like = detected.filter(|&other| other != format);
        if options.device.is_some() && !format.has_devices() {
            return Err(TraceError::NoDevices { trace: input.name().to_owned(), format });
        }
        if options.block.is_some() && !format.has_blocks() {
            let wanted = Format::ALL.into_iter().filter(|format| format.has_blocks());
            let wanted: Vec<String> = wanted.map(|format| format!("`{format}`")).collect();
            let (trace, wanted) = (input.name().to_owned(), wanted.join(", "));
            return Err(TraceError::NoBlocks { trace, format, wanted });
        }
        if action != ReadOptions::default().blkparse_action && format != Format::Blkparse {
            let trace = input.name().to_owned();
            return Err(TraceError::NoActions { trace, action, format });
        }
        let timed = match format {
            Format::BlockList => false,
            Format::Foretell => !foretell::is_untimed(head),
            _ => true,
        };
        let is_bare = looks_like.is_none() && !options.skip_bad;
        if format == Format::Vscsi && is_bare && vscsi::states_no_version(head) {
            return Err(TraceError::NotVscsi { trace: input.name().to_owned() });
        }
        let chosen = Device::new(options.device.as_deref());
        let device = chosen.clone();
        let fresh = true;
        let decoder: Box<dyn Decoder> = match format {
            Format::Csv => Box::new(Lines::new(Csv::new())),
            Format::OracleGeneral => {
                Box::new(Records::new(OracleGeneral { block: block(SECTOR_BYTES) }))
            }
            Format::Vscsi if vscsi::is_version_2(head) => Box::new(Records::new(Vscsi2)),
            Format::Vscsi => Box::new(Records::new(Vscsi1)),
            Format::BlockList => Box::new(Lines::new(BlockList { block: block(4096) })),
            Format::Msr => Box::new(Lines::new(Msr { device, fresh })),
            Format::Alibaba => Box::new(Lines::new(Alibaba { device, fresh })),
            Format::Tencent => Box::new(Lines::new(Tencent { device, fresh })),
            Format::Spc => Box::new(Lines::new(Spc { device, block: block(SECTOR_BYTES) })),
            Format::FioIolog => Box::new(Lines::new(FioIolog::new(device, head))),
            Format::Blkparse => Box::new(Lines::new(Blkparse::new(device, action as u8))),
            Format::DiskSim => Box::new(Lines::new(DiskSim { device, block: block(SECTOR_BYTES) })),
            Format::Foretell => Box::new(Lines::new(Foretell::new())),
        };
        let clock = Clock::new(decoder.tick_ns());
        let waits = format == Format::FioIolog && fio_iolog::has_only_waits(head);
        let clock = if waits { clock.starting_at_zero() } else { clock };
        let tally = Tally { skip_bad: options.skip_bad, ..Tally::default() };
        Ok(Self {
            input,
            decoder,
            format,
            looks_like,
            timed,
            device: chosen,
            action,
            clock,
            tally,
            given: 0,
            done: false,
        })
    }

    /// The format, given or detected.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the trace has times of issue.
    pub fn has_times(&self) -> bool {
        self.timed
    }

    /// Number of requests so far whose time was before that of an earlier one.
    pub fn out_of_order(&self) -> u64 {
        self.clock.out_of_order()
    }

    /// Number of requests returned so far.
    pub fn given(&self) -> u64 {
        self.given
    }

    /// Number of bad lines and records left out so far.
    pub fn bad(&self) -> u64 {
        self.tally.bad
    }

    /// Number of good lines left out so far, because they move no data or were not requested.
    pub fn other(&self) -> u64 {
        self.tally.other
    }

    /// Names of the first few devices, other than the chosen one, to which the trace has had requests so far. Empty
    /// if no device was chosen.
    pub fn other_devices(&self) -> impl Iterator<Item = &str> {
        self.device.others()
    }

    /// The first request's time on the trace's own clock, in nanoseconds, if that request has been
    /// read and has a time.
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
        loop {
            return match self.decoder.next(&mut self.input, &mut self.tally) {
                Ok(Some(decoded)) => {
                    self.looks_like = None;
                    self.given += 1;
                    let before = self.clock;
                    let at = decoded.ticks.map(|ticks| self.clock.at(ticks));
                    let late = at.map_or(0, |at| at.as_ns() / YEAR_NS);
                    if late >= MAX_YEARS {
                        if self.tally.skip_bad {
                            self.clock = before;
                            self.given -= 1;
                            self.tally.bad += 1;
                            continue;
                        }
                        self.done = true;
                        let (trace, number) = (self.input.name().to_owned(), self.given);
                        return Some(Err(TraceError::TooLate { trace, number, years: late }));
                    }
                    Some(Ok(Request { at, access: decoded.access }))
                }
                Ok(None) => {
                    self.done = true;
                    let others = self.decoder.other_actions();
                    (self.given == 0 && !others.is_empty()).then(|| {
                        let trace = self.input.name().to_owned();
                        Err(TraceError::no_such_action(trace, self.action, others))
                    })
                }
                Err(error) => {
                    self.done = true;
                    Some(Err(match (error, self.looks_like) {
                        (TraceError::Bad(bad), Some(looks_like)) => {
                            TraceError::OtherFormat { bad, given: self.format, looks_like }
                        }
                        (error, _) => error,
                    }))
                }
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_cannot_be_are_refused() {
        let message = |text: &'static [u8], options: ReadOptions| {
            TraceReader::new("x", text, &options).err().expect("an error").to_string()
        };
        let default = ReadOptions::default;
        assert_eq!(message(b"", default()), "trace `x` is empty");
        let unknown = message(b"hello\n", default());
        assert!(
            unknown.starts_with(
                "cannot tell the format of trace `x`; give its format, one of `csv`, "
            )
        );
        assert_eq!(
            message(b"1\n", ReadOptions { block: Some(Bytes::ZERO), ..default() }),
            "block size 0 B given for trace `x`; wanted at least 1 B"
        );
        assert_eq!(
            message(b"1\n", ReadOptions { device: Some("sda".to_owned()), ..default() }),
            "a device is chosen of trace `x`, but its format, `block-list`, does not tell devices \
             apart"
        );
        let format = Some(Format::Csv);
        assert_eq!(
            message(b"1\n", ReadOptions { block: Some(Bytes(512)), format, ..default() }),
            "a block size is given for trace `x`, but it has no effect: the trace is read as `csv`; block sizes \
             belong to `oracle-general`, `block-list`, `spc`, `disksim`"
        );
        assert_eq!(
            message(b"1\n", ReadOptions { blkparse_action: 'ü', ..default() }),
            "`ü` given as the action that makes a request in trace `x`; wanted a capital letter, \
             such as `Q` or `D`"
        );
        let absent = TraceReader::open("no/such.csv".as_ref(), &default()).err().unwrap();
        assert!(absent.to_string().starts_with("cannot open trace `no/such.csv`: "));
    }

    #[test]
    fn a_given_format_may_be_empty() {
        let options = ReadOptions { format: Some(Format::Csv), ..ReadOptions::default() };
        assert!(TraceReader::new("x", &b""[..], &options).unwrap().next().is_none());
    }

    #[test]
    fn a_wrong_format_given_is_told_from_a_bad_line() {
        let text = b"version,time,op,size,lbn\n1,2,2a,512,4096\n1,3,2a,512,4097\n";
        let options = ReadOptions { format: Some(Format::Vscsi), ..ReadOptions::default() };
        let mut trace = TraceReader::new("x", &text[..], &options).unwrap();
        let message = trace.next().unwrap().unwrap_err().to_string();
        assert!(message.ends_with("; it is read as `vscsi`, but looks like `csv`"), "{message}");
    }

    #[test]
    fn a_file_without_a_version_of_vscsi_is_none() {
        let options = ReadOptions { format: Some(Format::Vscsi), ..ReadOptions::default() };
        // falling bytes are no times of any other format
        let bytes: Vec<u8> = (100..180).rev().collect();
        let error =
            TraceReader::new("x", std::io::Cursor::new(bytes), &options).err().unwrap().to_string();
        assert_eq!(
            error,
            "trace `x` is not of vscsiStats: its first record states neither version 0100 nor version 0200"
        );
        let skips = ReadOptions { skip_bad: true, ..options };
        let mut trace = TraceReader::new("x", &[7; 64][..], &skips).unwrap();
        assert!(trace.next().is_none());
        assert_eq!(trace.bad(), 2);
    }

    #[test]
    fn devices_that_were_not_chosen_are_named() {
        let options = ReadOptions { device: Some("4".to_owned()), ..ReadOptions::default() };
        let text = b"3,R,0,4096,0\n5,R,0,4096,1\n3,R,0,4096,2\n";
        let mut trace = TraceReader::new("x", &text[..], &options).unwrap();
        assert!(trace.next().is_none());
        assert_eq!(trace.other_devices().collect::<Vec<_>>(), ["3", "5"]);
    }

    #[test]
    fn an_absurd_size_or_time_is_refused() {
        let message = |text: &'static [u8]| {
            let mut trace = TraceReader::new("x", text, &ReadOptions::default()).unwrap();
            let error = trace.find_map(Result::err).expect("an error");
            error.to_string()
        };
        assert_eq!(
            message(b"3,R,0,4096,0\n3,R,4096,4096,99999999999999999\n"),
            "trace `x`, request 2: its time is 584 years after that of the first; wanted at most 100"
        );
        assert_eq!(
            message(b"3,R,0,4294967297,0\n"),
            "trace `x`, line 1: `size` is `4294967297`; wanted at most 4 GiB"
        );
    }

    #[test]
    fn an_absurd_time_is_skipped_as_other_bad_lines_are() {
        let text = b"3,R,0,4096,0\n3,R,4096,4096,99999999999999999\n3,R,8192,4096,7\n";
        let options = ReadOptions { skip_bad: true, ..ReadOptions::default() };
        let mut trace = TraceReader::new("x", &text[..], &options).unwrap();
        let at: Vec<_> = trace.by_ref().map(|request| request.unwrap().at).collect();
        assert_eq!(at, [0, 7_000].map(|ns| Some(foretell_units::SimTime::from_ns(ns))));
        assert_eq!((trace.bad(), trace.out_of_order()), (1, 0));
    }

    #[test]
    fn a_block_size_may_be_given() {
        let options = ReadOptions { block: Some(Bytes(100)), ..ReadOptions::default() };
        let mut trace = TraceReader::new("x", &b"7\n"[..], &options).unwrap();
        let access = trace.next().unwrap().unwrap().access;
        assert_eq!((access.offset, access.size), (Bytes(700), Bytes(100)));
    }
}
