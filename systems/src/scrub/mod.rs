//! Scrubbing: each disk that holds data of volumes has a scrubber, which reads all of them over and over.
//!
//! A scrubber reads chunk after chunk in the order of addresses, one at a time, and computes its checksum. The
//! next chunk begins `chunk / rate` after the one before began, or when that one is done, whichever is later. A
//! scrubber that is late does not catch up. It begins at a random place and time. Reads bypass the caches of
//! nodes, but go through the schedulers of disks, where they compete with those of clients.
//!
//! A scrubber has one step pending at a time: a timer, an access, or a computation. If its server is down
//! when this step ends, the scrubber stops. It goes on when the server returns.
//!
//! Ceph's deep scrub (`osd_deep_scrub_stride`) and Swift's object auditor read in this way; see `docs/systems.md`.
//! Left out: messages in which servers compare checksums (some bytes for each object), shallow scrubs of metadata
//! alone, schedules by the hour or by the load of a host, errors that a scrub finds, and data that move: a
//! scrubber reads the places that held data when the run began.

mod places;
mod scrubber;

use foretell_algorithms::node::{DiskOperation, NO_CLIENT};
use foretell_scenarios::model::{Scenario, Scrub};
use foretell_units::{Breadcrumb, Bytes, Op, Sectors, SimSpan, SimTime, Thread};

use crate::failures::Unit;
use crate::hosts::{Continuation, Hosts, Timer, Work, WorkKind};
use crate::objects::Target;
use crate::process::scrub_thread;
use crate::protocol::{Clocks, Core, NO_EXCHANGE};
use crate::store::Access;

use places::without_joining;
pub(crate) use places::{Places, Region, of_files};
use scrubber::Scrubber;

/// Marks the numbers of scrubbers among those of exchanges.
const SCRUBBER: u32 = 1 << 31;

/// The scrubber's number as a disk sees it: one reader of its own for each disk.
const READER: u64 = u64::MAX - 1;

/// A scrubber's access to its disk.
#[derive(Clone, Copy, Debug)]
pub struct ScrubAccess {
    /// What waits for it, in place of an exchange.
    pub(crate) leg: u32,
    /// The number of the disk.
    pub disk: u32,
    /// The first byte: of the disk, or of the data on it in a store of objects.
    pub begin: Bytes,
    /// Number of bytes.
    pub size: Bytes,
    /// The scrubber's thread.
    pub(crate) thread: Thread,
}

impl ScrubAccess {
    /// The operation that reads the chunk at a place of the disk.
    pub(crate) fn operation(&self, begin: Bytes) -> DiskOperation {
        DiskOperation {
            disk: self.disk,
            lbn: Sectors::covering(begin),
            size: self.size,
            op: Op::Read,
            breadcrumb: Breadcrumb::NONE,
            workload: NO_CLIENT,
            thread: self.thread,
            reader: READER,
        }
    }
}

/// The results of all scrubbers since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Scrubbed {
    /// Number of disks with a scrubber.
    pub disks: u64,
    /// Chunks whose checksums were computed.
    pub chunks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of times that a scrubber reached the end of its disk's data.
    pub passes: u64,
}

/// The scrubbers of a cluster.
#[derive(Debug)]
pub(crate) struct Scrubs {
    settings: Scrub,
    all: Vec<Scrubber>,
    done: Scrubbed,
}

/// The scrubber that an access belongs to, if its `leg` is one's.
pub(crate) fn of_leg(leg: u32) -> Option<u32> {
    (leg & SCRUBBER != 0 && leg != NO_EXCHANGE).then_some(leg & !SCRUBBER)
}

impl Scrubs {
    /// The scrubbers of a scenario that has some, for disks that hold data at these places.
    pub(crate) fn of(
        scenario: &Scenario,
        mut places: Places,
        clocks: &Clocks,
    ) -> Option<Box<Self>> {
        let settings = scenario.scrub?;
        if let Some(outages) = &scenario.outages {
            without_joining(&mut places, outages);
        }
        let scrubber = |(server, regions): (Target, Vec<Region>)| {
            let owner = clocks(server.host).below(format_args!("disk{}", server.disk));
            Scrubber::new(server, regions, settings, &mut owner.stream("scrub"))
        };
        let all: Vec<Scrubber> = places.into_iter().filter_map(scrubber).collect();
        let done = Scrubbed { disks: all.len() as u64, ..Scrubbed::default() };
        Some(Box::new(Self { settings, all, done }))
    }

    pub(crate) fn done(&self) -> Scrubbed {
        self.done
    }
}

impl Core {
    /// The scrubbers of a scenario that has some.
    fn scrubs(&mut self) -> &mut Scrubs {
        self.scrubs.as_mut().expect("only scenarios with scrubbing get here")
    }

    /// The disk of a scrubber.
    pub(crate) fn scrubbed_server(&self, number: u32) -> Target {
        self.scrubs.as_ref().expect("there are scrubbers").all[number as usize].server
    }

    /// The place of a scrubber's chunk.
    pub(crate) fn scrubbed_chunk(&self, number: u32) -> Region {
        let scrubs = self.scrubs.as_ref().expect("there are scrubbers");
        scrubs.all[number as usize].chunk(scrubs.settings.chunk)
    }

    /// Sets the first timers.
    pub(crate) fn begin_scrubs<H: Hosts>(&mut self, hosts: &mut H) {
        let Some(scrubs) = &self.scrubs else { return };
        for (number, scrubber) in (0..).zip(&scrubs.all) {
            hosts.set_timer(hosts.now() + scrubber.phase, Timer::Scrub { scrubber: number });
        }
    }

    /// A scrubber is due to read its next chunk.
    pub(crate) fn scrub_begins(&mut self, now: SimTime, number: u32) {
        self.scrubs().all[number as usize].began = now;
    }

    /// A scrubber reads its chunk.
    pub(crate) fn scrub_reads<H: Hosts>(&mut self, hosts: &mut H, number: u32) {
        let Target { host, disk } = self.scrubbed_server(number);
        let Region { begin, size, .. } = self.scrubbed_chunk(number);
        let (leg, thread) = (number | SCRUBBER, scrub_thread(number));
        let access = Access::Scrub(ScrubAccess { leg, disk, begin, size, thread });
        let waits = hosts.store(host, &access);
        assert_eq!(waits, 1, "scrubbers bypass caches");
    }

    /// The disk has read a scrubber's chunk. A processor computes the checksum, which takes `span`, unless the
    /// server is down.
    pub(crate) fn scrub_computes<H: Hosts>(
        &mut self,
        hosts: &mut H,
        number: u32,
        is_stopped: bool,
        span: SimSpan,
    ) {
        if is_stopped {
            return self.scrub_stops(number);
        }
        hosts.compute(Work {
            host: self.scrubbed_server(number).host,
            workload: NO_CLIENT,
            thread: scrub_thread(number),
            breadcrumb: Breadcrumb::NONE,
            span,
            work_kind: WorkKind::Application,
            then: Continuation::Scrubbed { scrubber: number },
        });
    }

    /// The checksum of a scrubber's chunk is computed. The next chunk follows.
    pub(crate) fn scrub_ends<H: Hosts>(&mut self, hosts: &mut H, number: u32) {
        let size = self.scrubbed_chunk(number).size;
        let scrubs = self.scrubs();
        scrubs.done.chunks += 1;
        scrubs.done.bytes += size.get();
        let Scrub { rate, chunk } = scrubs.settings;
        let scrubber = &mut scrubs.all[number as usize];
        let next = scrubber.began + rate.time_for(size);
        let is_pass = scrubber.advance(chunk);
        scrubs.done.passes += u64::from(is_pass);
        hosts.set_timer(next.max(hosts.now()), Timer::Scrub { scrubber: number });
    }

    /// A scrubber stops, because its server is down.
    pub(crate) fn scrub_stops(&mut self, number: u32) {
        self.scrubs().all[number as usize].is_stopped = true;
    }

    /// Servers are back: their scrubbers go on, each at a phase of its own.
    pub(crate) fn scrubs_go_on<H: Hosts>(&mut self, hosts: &mut H, what: Unit) {
        let Some(scrubs) = &mut self.scrubs else { return };
        for (number, scrubber) in (0..).zip(&mut scrubs.all) {
            let Target { host, disk } = scrubber.server;
            let is_back = host == what.host && what.disk.is_none_or(|back| back == disk);
            if is_back && std::mem::take(&mut scrubber.is_stopped) {
                hosts.set_timer(hosts.now() + scrubber.phase, Timer::Scrub { scrubber: number });
            }
        }
    }
}
