//! A device on the test bench: starts operations, and measures their times.

use foretell_algorithms::io_scheduler::Io;
use foretell_scenarios::device::Device as Profile;
use foretell_scenarios::model::{Disk, Scheduler};
use foretell_sim::device::Device;
use foretell_sorted::SortedSet;
use foretell_units::{Op, SECTOR_BYTES, Sectors, Seed, SimSpan, SimTime, Stream};

/// A device on the bench.
pub(super) struct Bench {
    pub(super) device: Device<u32>,
    pub(super) now: SimTime,
    /// Operations whose completion the bench has not seen yet.
    pub(super) under_way: u64,
    calls: SortedSet<SimTime>,
    pub(super) sectors: u64,
    pub(super) stream: Stream,
}

impl Bench {
    /// A new, idle device with this profile.
    pub(super) fn new(name: &str, profile: &Profile) -> Self {
        // the members of an array have the scheduler, and are measured with the usual one
        let scheduler = match profile {
            Profile::Array(_) => Scheduler::Elevator,
            _ => Scheduler::Fcfs,
        };
        let spec = Disk {
            device_name: name.to_owned(),
            device: profile.clone(),
            scheduler,
            class: None,
            db: None,
            wal: None,
        };
        Self {
            device: Device::new(&spec),
            now: SimTime::ZERO,
            calls: SortedSet::new(),
            under_way: 0,
            sectors: profile.capacity().get() / SECTOR_BYTES,
            stream: Seed(1).stream("bench"),
        }
    }

    pub(super) fn submit(&mut self, op: Op, lbn: u64, sectors: u64, tag: u32) {
        let io = Io { lbn: Sectors(lbn), sectors: Sectors(sectors), op, thread: 1, tag };
        self.under_way += 1;
        if let Some(at) = self.device.submit(self.now, io) {
            self.calls.insert(at);
        }
    }

    /// Waits until the next operation completes, or until `until`.
    pub(super) fn step(&mut self, until: SimTime) -> Option<u32> {
        while let Some(&at) = self.calls.first() {
            if at > until {
                break;
            }
            self.calls.pop_first();
            self.now = self.now.max(at);
            let completion = self.device.complete(self.now);
            if let Some(next) = completion.next {
                self.calls.insert(next);
            }
            if let Some(done) = completion.done {
                self.under_way -= 1;
                return Some(done.io.tag);
            }
        }
        None
    }

    /// Lets time pass.
    pub(super) fn pause(&mut self, span: SimSpan) {
        let until = self.now + span;
        while self.step(until).is_some() {}
        self.now = until;
    }

    /// Does a single operation on an otherwise idle device. Returns its time.
    pub(super) fn one(&mut self, op: Op, lbn: u64, sectors: u64) -> f64 {
        let start = self.now;
        self.submit(op, lbn.min(self.sectors - sectors), sectors, 0);
        while self.step(SimTime::from_ns(u64::MAX)).is_none() {}
        (self.now - start).as_ns() as f64
    }

    /// A random multiple of `sectors` with at least `sectors` sectors after it.
    pub(super) fn anywhere(&mut self, sectors: u64) -> u64 {
        self.stream.below(self.sectors / sectors - 1) * sectors
    }
}
