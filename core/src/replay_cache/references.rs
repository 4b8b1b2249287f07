//! A trace as references to the objects that a cache keeps.
//!
//! Every request counts, reads and writes alike, in the order of the file. Without pages, a request is one
//! reference to the object at its address, whatever the request's size. libCacheSim reads block traces in the
//! same way. With pages a request is one reference to each page that it touches, in ascending order, with the
//! bytes that it moves in that page.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foretell_algorithms::cache::{BySize, Lru, MAX_CAPACITY, Policy, SizedPolicy};
use foretell_units::{Bytes, Op};
use foretell_workloads::Access;
use foretell_workloads::trace::{Format, ReadOptions, TraceError, TraceReader};

use super::follow::Count;
use super::options::{CacheReplay, Objects};
use super::{CacheProgress, Observer};
use crate::error::Error;

/// References in a batch. A batch has 96 KiB and fits in a core's second-level cache beside the data of a
/// policy.
const BATCH: usize = 4096;

/// A reference to an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reference {
    /// Names the object.
    pub(crate) key: u64,
    /// Bytes of the object that are read or written.
    pub(crate) bytes: u64,
    /// Read or write.
    pub(crate) op: Op,
}

/// Totals so far.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Totals {
    /// By direction: 0 read, 1 write.
    pub(crate) requests: [u64; 2],
    /// By direction.
    pub(crate) references: [Count; 2],
}

/// The references of a trace, in batches.
pub(crate) struct References<'a> {
    trace: TraceReader,
    page: Option<u64>,
    /// The size of each request from the reader is multiplied by this; see [`References::open`].
    scale: u64,
    /// The rest of a request that did not fit into the last batch.
    rest: Option<Access>,
    totals: Totals,
    /// How much of the file was read.
    read: Arc<AtomicU64>,
    /// Length of the file, if it is a plain file.
    length: Option<u64>,
    observer: Observer<'a>,
}

impl<'a> References<'a> {
    /// Opens the trace.
    pub(crate) fn open(arguments: &CacheReplay, observer: Observer<'a>) -> Result<Self, Error> {
        let path = &arguments.trace;
        let objects = arguments.objects;
        if objects == Objects::Pages(Bytes::ZERO) {
            return Err(Error::Invalid("pages of 0 B: a page has at least one byte".to_owned()));
        }
        let mut options = ReadOptions {
            format: arguments.format,
            block: arguments.block,
            device: arguments.device.clone(),
            skip_bad: arguments.skip_bad,
            blkparse_action: arguments
                .blkparse_action
                .unwrap_or(ReadOptions::default().blkparse_action),
        };
        let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
        let length = length.map(|metadata| metadata.len());
        let (mut trace, mut read) = open(path, &options)?;
        let mut scale = 1;
        // In these formats objects have numbers, and some traces have hashes there. Unless pages or blocks
        // need addresses in bytes, the numbers are read as they are. This opens the file again, so it is done
        // for plain files only.
        let numbers = matches!(trace.format(), Format::OracleGeneral | Format::BlockList);
        if numbers && page_of(objects).is_none() && options.block.is_none() && length.is_some() {
            options.block = Some(Bytes(1));
            if trace.format() == Format::BlockList {
                scale = 4096; // what the reader takes a block for
            }
            (trace, read) = open(path, &options)?;
        }
        let page = page_of(objects);
        Ok(Self {
            trace,
            page,
            scale,
            rest: None,
            totals: Totals::default(),
            read,
            length,
            observer,
        })
    }

    /// Format of the trace.
    pub(crate) fn format(&self) -> Format {
        self.trace.format()
    }

    /// Totals so far.
    pub(crate) fn totals(&self) -> Totals {
        self.totals
    }

    fn requests(&self) -> u64 {
        self.totals.requests.iter().sum()
    }

    /// Lines or records that were skipped so far because they are wrong.
    pub(crate) fn bad(&self) -> u64 {
        self.trace.bad()
    }

    /// Replaces the content of `batch` by the next batch. At the end of the trace `batch` is empty.
    pub(crate) fn next(&mut self, batch: &mut Vec<Reference>) -> Result<(), Error> {
        batch.clear();
        batch.reserve(BATCH);
        let requests = self.requests();
        let read_bytes = self.read.load(Ordering::Relaxed);
        let progress = CacheProgress { requests, read_bytes, of_bytes: self.length };
        if (self.observer)(progress).is_break() {
            return Err(Error::Interrupted { done: format!("{requests} requests") });
        }
        if let Some(access) = self.rest.take() {
            self.split(access, batch);
        }
        while batch.len() < BATCH
            && let Some(request) = self.trace.next()
        {
            let access = request?.access;
            let bytes = access.size.get() * self.scale;
            self.totals.requests[access.op as usize] += 1;
            if self.page.is_some() {
                self.split(access, batch);
            } else {
                batch.push(Reference { key: access.offset.get(), bytes, op: access.op });
            }
        }
        for reference in &*batch {
            self.totals.references[reference.op as usize].add(reference.bytes);
        }
        Ok(())
    }

    /// Appends the references to the pages of `access`, and keeps those that do not fit.
    fn split(&mut self, access: Access, batch: &mut Vec<Reference>) {
        let page = self.page.expect("only requests in pages are split");
        let (mut from, end) = (access.offset.get(), access.end().get());
        while from < end {
            if batch.len() == BATCH {
                self.rest = Some(Access { offset: Bytes(from), size: Bytes(end - from), ..access });
                return;
            }
            let key = from / page;
            let to = (key + 1).checked_mul(page).map_or(end, |next| next.min(end));
            batch.push(Reference { key, bytes: to - from, op: access.op });
            from = to;
        }
    }
}

fn page_of(objects: Objects) -> Option<u64> {
    match objects {
        Objects::Pages(page) => Some(page.get()),
        Objects::Addresses | Objects::BySize => None,
    }
}

/// `-` means standard input.
fn named(path: &Path) -> &Path {
    if path == Path::new("-") { Path::new("/dev/stdin") } else { path }
}

/// Opens a trace, and a counter of the bytes read from its file.
fn open(path: &Path, options: &ReadOptions) -> Result<(TraceReader, Arc<AtomicU64>), TraceError> {
    let path = named(path);
    let name = path.display().to_string();
    let file = foretell_input::open(path)
        .map_err(|source| TraceError::Open { trace: name.clone(), source })?;
    let read = Arc::new(AtomicU64::new(0));
    let reader = TraceReader::new(&name, Counted { file, read: Arc::clone(&read) }, options)?;
    Ok((reader, read))
}

/// Counts the bytes read from a file.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The total in the unit of cache sizes. That is the number of different objects or pages, or the bytes of
/// all different objects. Each object has the size of its first request.
pub(crate) fn footprint(arguments: &CacheReplay, observer: Observer<'_>) -> Result<u64, Error> {
    let by_size = arguments.objects == Objects::BySize;
    if !arguments.trace.is_file() {
        let trace = arguments.trace.display();
        return Err(match foretell_input::open(named(&arguments.trace)) {
            Err(source) => TraceError::Open { trace: trace.to_string(), source }.into(),
            Ok(_) => Error::Invalid(format!(
                "a size in % of all objects needs a trace that can be read twice; `{trace}` is \
                 not a file"
            )),
        });
    }
    let mut references = References::open(arguments, observer)?;
    let mut batch = Vec::new();
    // a cache that nothing ever leaves
    let mut all = Lru::new(MAX_CAPACITY);
    let mut all_bytes = Lru::<BySize>::sized(1 << 61);
    let mut evicted = Vec::new();
    loop {
        references.next(&mut batch)?;
        if batch.is_empty() {
            break;
        }
        for reference in &batch {
            if by_size {
                all_bytes.access_sized(reference.key, reference.bytes, &mut evicted);
            } else {
                all.access(reference.key);
            }
        }
    }
    Ok(if by_size { all_bytes.used() } else { all.len() as u64 })
}
