//! A device that may be slow for a while: all of its work takes longer by a factor.
//!
//! The device has its own clock ([`SlowClock`]) and does not know that it is slow: platters turn slower, flash takes
//! longer, and so do the pauses of the scheduler in front of it. Operations in progress slow down too. This module
//! converts the device's times and accounts to those of the cluster.

use foretell_units::{SimSpan, SimTime, SlowClock};

use super::Completion;
use crate::ledger::Usage;

/// The clock of a device, and its accounts by the cluster's clock.
#[derive(Debug, Default)]
pub(super) struct Slow {
    clock: SlowClock,
    /// Requested calls that are still to come, by the device's clock.
    named: Vec<SimTime>,
    /// Operations in the device, and those completed since the mark.
    present: u64,
    operations: u64,
    /// Time of the last update of the accounts, and time of the mark.
    at: SimTime,
    mark: SimTime,
    /// Time of the mark by the device's clock.
    own_mark: SimTime,
    /// ∫ operations present dt since the mark, in operation-nanoseconds.
    present_ns: u128,
    /// By the device's own clock, up to the last update: its busy time, and its utilization times seconds.
    seen: (SimSpan, f64),
    /// The same by the cluster's clock.
    busy: SimSpan,
    utilized_s: f64,
}

impl Slow {
    pub(super) fn own(&self, now: SimTime) -> SimTime {
        self.clock.own(now)
    }

    fn count(&mut self, now: SimTime) {
        let span = now.saturating_since(self.at).as_ns();
        self.present_ns += u128::from(span) * u128::from(self.present);
        self.at = now;
    }

    /// An operation comes in.
    pub(super) fn arrives(&mut self, now: SimTime) {
        self.count(now);
        self.present += 1;
    }

    /// Whether the device has asked for a call at this time. If not, the call was requested before a change
    /// of its speed.
    pub(super) fn answers(&mut self, now: SimTime) -> bool {
        let place = self.named.iter().position(|own| self.clock.common(*own) == now);
        if let Some(place) = place {
            self.named.swap_remove(place);
        }
        place.is_some()
    }

    /// Converts the time of a requested call to the cluster's clock.
    pub(super) fn names(&mut self, call: Option<SimTime>) -> Option<SimTime> {
        self.named.extend(call);
        call.map(|own| self.clock.common(own))
    }

    /// Converts a completion of the device to the cluster's clock.
    pub(super) fn completes<T>(&mut self, now: SimTime, mut found: Completion<T>) -> Completion<T> {
        if let Some(done) = &mut found.done {
            self.count(now);
            self.present -= 1;
            self.operations += 1;
            done.service = self.clock.stretched(done.service);
        }
        found.next = self.names(found.next);
        found
    }

    /// Brings the accounts up to date. `usage`: the device's own, up to now.
    fn settle(&mut self, now: SimTime, usage: &Usage) {
        self.count(now);
        let own_s = self.own(now).saturating_since(self.own_mark).as_secs_f64();
        let seen = (usage.busy, usage.utilization * own_s);
        let before = std::mem::replace(&mut self.seen, seen);
        self.busy += self.clock.stretched(seen.0.saturating_sub(before.0));
        // stretched by the clock's factor
        let second = self.clock.stretched(SimSpan::from_secs_f64(1.0)).as_secs_f64();
        self.utilized_s += (seen.1 - before.1) * second;
    }

    /// From now on everything takes `factor` times as long as normal. Returns when the device must be called.
    pub(super) fn set(
        &mut self,
        now: SimTime,
        factor: f64,
        usage: Usage,
    ) -> impl Iterator<Item = SimTime> {
        self.settle(now, &usage);
        self.clock.set(now, factor);
        self.named.iter().map(|own| self.clock.common(*own))
    }

    /// Measuring begins.
    pub(super) fn mark(&mut self, now: SimTime) {
        self.count(now);
        (self.mark, self.own_mark) = (now, self.own(now));
        (self.operations, self.present_ns) = (0, 0);
        (self.seen, self.busy, self.utilized_s) = Default::default();
    }

    /// Usage of the device since the mark; `usage`: the same by its own clock.
    pub(super) fn usage(&mut self, now: SimTime, usage: &Usage) -> Usage {
        self.settle(now, usage);
        let measured_ns = (now.saturating_since(self.mark).as_ns() as f64).max(1.0);
        Usage {
            utilization: self.utilized_s * 1e9 / measured_ns,
            queue_length_mean: self.present_ns as f64 / measured_ns,
            busy: self.busy,
            operations: self.operations,
        }
    }
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::device::{self, Curve, Order};
    use foretell_scenarios::model::{Disk, Scheduler};
    use foretell_units::{Bytes, Op, Sectors};

    use super::super::Device;
    use crate::disk::Io;

    use super::*;

    fn at(us: u64) -> SimTime {
        SimTime::ZERO + SimSpan::from_us(us)
    }

    fn read(tag: u32) -> Io<u32> {
        let lbn = Sectors(8 * u64::from(tag % 97));
        Io { lbn, sectors: Sectors(8), op: Op::Read, thread: 0, tag }
    }

    /// A device whose reads take 100 us, however many are outstanding.
    fn steady() -> Disk {
        let points = (1..=8).map(|n| (n, SimSpan::from_us(100))).collect();
        let block = Bytes::kib(4);
        let curve = Curve { order: Order::Random, op: Op::Read, reads: 1.0, block, points };
        let capacity = Bytes::gib(1);
        let curves =
            device::Curves { capacity, queue_depth: 8, flush: SimSpan::ZERO, curves: vec![curve] };
        let (device_name, device) = ("steady".to_owned(), device::Device::Curves(curves));
        Disk {
            device_name,
            device,
            scheduler: Scheduler::Elevator,
            class: None,
            db: None,
            wal: None,
        }
    }

    /// Completion times of some reads that arrive at the given times (us); the device becomes slow and fast at times.
    fn done(
        device: &mut Device<u32>,
        reads: &[u64],
        changes: &[(u64, f64)],
    ) -> Vec<(u32, SimTime)> {
        #[derive(Clone, Copy)]
        enum Event {
            Read(u32),
            Call,
            Change(f64),
        }
        let mut agenda = crate::agenda::Agenda::new();
        for (tag, us) in (0..).zip(reads) {
            agenda.schedule(at(*us), Event::Read(tag));
        }
        for (us, factor) in changes {
            agenda.schedule(at(*us), Event::Change(*factor));
        }
        let mut done = Vec::new();
        while let Some(event) = agenda.next() {
            let now = agenda.now();
            let calls: Vec<SimTime> = match event {
                Event::Read(tag) => device.submit(now, read(tag)).into_iter().collect(),
                Event::Change(factor) => device.slow_down(now, factor).collect(),
                Event::Call => {
                    let found = device.complete(now);
                    done.extend(found.done.map(|done| (done.io.tag, now)));
                    found.next.into_iter().collect()
                }
            };
            for call in calls {
                agenda.schedule(call, Event::Call);
            }
            device.audit(now).unwrap();
        }
        done
    }

    #[test]
    fn closed_form_a_slow_device_takes_factor_times_as_long() {
        let mut device = Device::new(&steady()).with_slow_times();
        device.mark(at(0));
        // the second has 60 of its 100 us left at 1040, which take 240; the third comes while the device is slow; the
        // fourth has 75 left at 2300, because 100 us at a factor of four were 25 of its own
        let reads = [0, 1000, 1500, 2200, 3000];
        let found = done(&mut device, &reads, &[(1040, 4.0), (2300, 1.0)]);
        let ends = [100, 1280, 1900, 2375, 3100];
        let wanted: Vec<(u32, SimTime)> = (0..).zip(ends.map(at)).collect();
        assert_eq!(found, wanted);
        let usage = device.usage(at(4000));
        // reads were present for 100 + 280 + 400 + 175 + 100 us
        assert!((usage.queue_length_mean - 1055.0 / 4000.0).abs() < 1e-9, "{usage:?}");
        // it could serve eight at a time: 12.5 us each, and four times that for those served while it is slow
        assert_eq!((usage.operations, usage.busy), (5, SimSpan::from_ns(137_500)));
        assert!((usage.utilization - 137.5 / 4000.0).abs() < 1e-9, "{usage:?}");
    }

    #[test]
    fn any_device_that_is_slow_from_the_beginning_takes_factor_times_as_long() {
        for name in ["cheetah-15k", "nvme-3gbs", "sata-ssd"] {
            let device = device::Device::named(name).unwrap();
            let of = |device: &device::Device| Disk {
                device_name: name.to_owned(),
                device: device.clone(),
                scheduler: Scheduler::Elevator,
                class: None,
                db: None,
                wal: None,
            };
            let spec = of(&device);
            let reads: Vec<u64> = (0..50).map(|n| 900 * n).collect();
            let usual = done(&mut Device::new(&spec).with_slow_times(), &reads, &[]);
            let plain = done(&mut Device::new(&spec), &reads, &[]);
            assert_eq!(usual, plain, "{name}");
            let later: Vec<u64> = reads.iter().map(|us| 3 * us).collect();
            let slow = done(&mut Device::new(&spec).with_slow_times(), &later, &[(0, 3.0)]);
            let three = |(tag, at): &(u32, SimTime)| (*tag, SimTime::from_ns(3 * at.as_ns()));
            assert_eq!(slow, usual.iter().map(three).collect::<Vec<_>>(), "{name}");
        }
    }
}
