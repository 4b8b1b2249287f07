//! One host's metrics, from what it really did.
//!
//! - *Processor*: busy time is the processor's own account, to the nanosecond. It is divided as the
//!   work that it had to do: encoding, encryption and handling of requests are user code; sending,
//!   copying and what is left are the kernel's. Half of what receiving costs is taken for the software
//!   interrupt, the other half for the receiving thread's own system call; hardware interrupts take
//!   [`HANDLER`] each out of the kernel's share. Idle cores count as waiting (`wai`), as many as
//!   threads wait for disks, as Linux counts them. What is posted is counted in ticks: Linux charges the
//!   whole of a tick to what a core does when the tick comes (`account_process_tick`, with
//!   `CONFIG_TICK_CPU_ACCOUNTING`, its default), so that a second's percentages are a sample of
//!   [`TIMER_HZ`] moments of each core. Moments are taken at random within the second.
//! - *Load*: every fifth sample counts threads that run, are ready, or wait for disks, and decays by
//!   exp(−5 s / 1, 5, 15 min): Linux' `calc_load`.
//! - *Interrupts*: one for [`SEGMENTS_PER_INTERRUPT`] segments that come in, acknowledgements among
//!   them; one for each disk operation; the timer's on busy cores.
//! - *Memory*: cached is what the buffer cache holds. Buffers are the indirect blocks of what is
//!   cached, one of 1,024 pointers for 1,024 blocks (ext3). Used is what the system holds without load,
//!   and the messages of the threads at work.
//! - *Pages*: messages of 128 KiB or more are in memory that is mapped anew each time (glibc's
//!   `M_MMAP_THRESHOLD`), so that each of their pages faults; allocated and freed are those, what is
//!   received, and what comes into and leaves the cache.
//! - *Disks and network* are counted where operations complete, and frames as `/proc/net/dev` counts
//!   them: without preamble, gap and check sum. A connection is counted once it was used.
//!
//! Left out, so zero: swapping, major faults (files are not mapped), sockets that come and go. Interrupt
//! costs and the memory of an idle system are assumed; nothing else depends on them.

use foretell_metrics::{METRICS, Metric, Sample};
use foretell_scenarios::model::{self, Host};
use foretell_units::{Bytes, HostId, SimSpan, SimTime, Stream};
use rand_distr::StandardNormal;

use crate::cpu::Cpu;
use crate::network::segments;
use crate::node::{Node, NodeCounts};

/// How often a collector posts.
const PERIOD: SimSpan = SimSpan::from_secs(1);
/// Time of a hardware interrupt's handler; assumed.
const HANDLER: SimSpan = SimSpan::from_us(2);
/// An adapter at 1 Gbit/s takes 81,000 full segments in, and e1000e's `InterruptThrottleRate` holds it
/// to 8,000 interrupts a second.
const SEGMENTS_PER_INTERRUPT: u64 = 10;
/// Ticks a second of a core that is busy (Linux' `CONFIG_HZ`; idle cores have none).
const TIMER_HZ: f64 = 250.0;
/// A frame of a segment without data.
const ACKNOWLEDGEMENT: u64 = 66;
/// Segments that an acknowledgement is for (RFC 1122, delayed acknowledgements).
const ACKNOWLEDGED: u64 = 2;
/// Of a segment on the wire: preamble, check sum, gap.
const UNCOUNTED: u64 = 24;
/// A page of memory.
const PAGE: u64 = 4096;
/// Memory blocks of that size are mapped by themselves.
const MAPPED: u64 = 128 * 1024;
/// What a host has beside its cache, and what of it an idle system holds; assumed.
const BESIDE_CACHE: u64 = 512 * 1024 * 1024;
const IDLE_SYSTEM: u64 = 384 * 1024 * 1024;
/// Bytes of cached files that an indirect block is for.
const PER_POINTER_BLOCK: u64 = 1024;
/// Sockets that listen: a storage server's and the remote shell's; elsewhere only the latter.
const LISTENING: [f64; 2] = [1.0, 2.0];
/// Samples between two looks at the load, and the minutes of its averages.
const LOAD_EVERY: u64 = 5;
const LOAD_MINUTES: [f64; 3] = [1.0, 5.0, 15.0];

/// Work for a host's processor, by what dstat calls it; nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Work {
    /// User code.
    pub(crate) usr: u64,
    /// The kernel.
    pub(crate) sys: u64,
    /// Software interrupts.
    pub(crate) siq: u64,
}

/// What is counted from the beginning.
#[derive(Clone, Copy, Default)]
struct Counts {
    busy_ns: u64,
    wait_ns: u64,
    switches: u64,
    sent: Traffic,
    received: Traffic,
    faults: u64,
    node: NodeCounts,
}

#[derive(Clone, Copy, Default)]
struct Traffic {
    /// As the kernel counts them.
    bytes: u64,
    segments: u64,
    messages: u64,
    /// Pages of the socket's buffers.
    pages: u64,
}

impl Traffic {
    fn add(&mut self, wire: Bytes) {
        let segments = segments(wire);
        self.bytes += wire.get() - UNCOUNTED * segments;
        self.segments += segments;
        self.messages += 1;
        self.pages += wire.get().div_ceil(PAGE);
    }

    fn since(self, before: Self) -> Self {
        Self {
            bytes: self.bytes - before.bytes,
            segments: self.segments - before.segments,
            messages: self.messages - before.messages,
            pages: self.pages - before.pages,
        }
    }

    /// Acknowledgements that the other side sends for these.
    fn acknowledgements(self) -> u64 {
        self.segments.div_ceil(ACKNOWLEDGED)
    }
}

/// What one host's collector knows.
pub(super) struct HostMeter {
    /// Of the moments of ticks.
    ticks: Stream,
    /// Ahead of the simulation's time, or behind; nanoseconds.
    clock_offset: i64,
    /// When in each second it wakes, and how late on average.
    phase: i64,
    lateness: SimSpan,
    stream: Stream,
    due: SimTime,
    samples: u64,
    cores: u32,
    memory: u64,
    is_node: bool,
    /// Work that has not been done: user, kernel, software interrupts.
    undone: [f64; 3],
    idle_cores: u32,
    waiting: u32,
    since: SimTime,
    counts: Counts,
    /// At the last sample, and when that was.
    before: Counts,
    before_at: SimTime,
    peers: Vec<bool>,
    connected: u64,
    load: [f64; 3],
}

impl HostMeter {
    pub(super) fn new(
        host: &Host,
        hosts: usize,
        settings: &model::Metrics,
        (mut stream, ticks): (Stream, Stream),
    ) -> Self {
        let draw: f64 = stream.sample(&StandardNormal);
        // what is farther off than this is corrected at once
        let offset = draw.clamp(-4.0, 4.0) * settings.clock_skew.as_ns() as f64;
        let phase = stream.below(PERIOD.as_ns()).cast_signed();
        let storage = host.role.storage();
        let cores = host.cpu.cores;
        let mut meter = Self {
            ticks,
            clock_offset: offset as i64,
            phase,
            lateness: settings.sample_delay,
            stream,
            due: SimTime::ZERO,
            samples: 0,
            cores,
            memory: storage.map_or(0, |storage| storage.cache.size.get()) + BESIDE_CACHE,
            is_node: storage.is_some(),
            undone: [0.0; 3],
            idle_cores: cores,
            waiting: 0,
            since: SimTime::ZERO,
            counts: Counts::default(),
            before: Counts::default(),
            before_at: SimTime::ZERO,
            peers: vec![false; hosts],
            connected: 0,
            load: [0.0; 3],
        };
        meter.plan();
        meter
    }

    /// When the collector wakes next.
    pub(super) fn due(&self) -> SimTime {
        self.due
    }

    /// Plans to wake in the next second of the host's clock.
    fn plan(&mut self) {
        let late = self.stream.exponential(self.lateness);
        let second = (PERIOD * (self.samples + 1)).as_ns().cast_signed();
        let at = (second + self.phase - self.clock_offset).max(1).cast_unsigned();
        // a collector that is very late skips nothing, but wakes again at once
        self.due = (SimTime::from_ns(at) + late).max(self.due + SimSpan::from_ns(1));
    }

    pub(super) fn give(&mut self, work: Work) {
        for (undone, more) in self.undone.iter_mut().zip([work.usr, work.sys, work.siq]) {
            *undone += more as f64;
        }
    }

    pub(super) fn switched(&mut self) {
        self.counts.switches += 1;
    }

    /// Counts the time up to now.
    fn advance(&mut self, now: SimTime) {
        let waiting = u64::from(self.waiting.min(self.idle_cores));
        self.counts.wait_ns += (now - self.since).as_ns() * waiting;
        self.since = now;
    }

    pub(super) fn set_idle(&mut self, now: SimTime, cores: u32) {
        self.advance(now);
        self.idle_cores = cores;
    }

    pub(super) fn waits(&mut self, now: SimTime, change: i32) {
        self.advance(now);
        self.waiting =
            self.waiting.checked_add_signed(change).expect("who waits no more has waited");
    }

    pub(super) fn sent(&mut self, to: HostId, wire: Bytes) {
        self.counts.sent.add(wire);
        self.exchange(to, wire);
    }

    pub(super) fn received(&mut self, from: HostId, wire: Bytes) {
        self.counts.received.add(wire);
        self.exchange(from, wire);
    }

    fn exchange(&mut self, with: HostId, wire: Bytes) {
        if wire.get() >= MAPPED {
            self.counts.faults += wire.get().div_ceil(PAGE);
        }
        let known = &mut self.peers[with.index()];
        self.connected += u64::from(!*known);
        *known = true;
    }

    /// The metrics since the last sample.
    pub(super) fn sample<T: Copy>(
        &mut self,
        now: SimTime,
        number: u32,
        cpu: &mut Cpu<T>,
        node: Option<&Node>,
    ) -> Sample {
        self.advance(now);
        self.counts.busy_ns = cpu.busy(now).as_ns();
        self.counts.node = node.map(Node::counts).unwrap_or_default();
        self.samples += 1;
        let threads = f64::from(self.waiting) + cpu.present() as f64;
        if self.samples.is_multiple_of(LOAD_EVERY) {
            for (load, minutes) in self.load.iter_mut().zip(LOAD_MINUTES) {
                let decay = libm::exp(-(LOAD_EVERY as f64) / (60.0 * minutes));
                *load = *load * decay + threads * (1.0 - decay);
            }
        }
        let mut values = [0.0; METRICS];
        let mut put = |metric: Metric, value: f64| values[metric.index()] = value;
        let span = now - self.before_at;
        let seconds = span.as_secs_f64();
        let (before, counts) = (self.before, self.counts);
        let sent = counts.sent.since(before.sent);
        let received = counts.received.since(before.received);
        let node = counts.node.since(before.node);
        let faults = counts.faults - before.faults;
        let per_s = |count: u64| count as f64 / seconds;

        let busy_ns = counts.busy_ns - before.busy_ns;
        let incoming = received.segments + sent.acknowledgements();
        let network_interrupts = incoming.div_ceil(SEGMENTS_PER_INTERRUPT).max(received.messages);
        let device_interrupts = network_interrupts + node.operations[0] + node.operations[1];
        let timer = TIMER_HZ * busy_ns as f64 / 1e9;
        let [usr, sys, siq] = self.divide(busy_ns as f64);
        let hiq = sys.min((device_interrupts as f64 + timer) * HANDLER.as_ns() as f64);
        let capacity = span.as_ns() as f64 * f64::from(self.cores);
        let wait_ns = (counts.wait_ns - before.wait_ns) as f64;
        let shares = [usr, sys - hiq, wait_ns, hiq, siq].map(|ns| ns / capacity);
        let ticks = (seconds * TIMER_HZ).round().max(1.0) as u32 * self.cores;
        let counted = count_ticks(&mut self.ticks, ticks, shares);
        let percent = |count: u32| 100.0 * f64::from(count) / f64::from(ticks);
        let states =
            [Metric::CpuUsr, Metric::CpuSys, Metric::CpuWai, Metric::CpuHiq, Metric::CpuSiq];
        for (metric, count) in states.into_iter().zip(counted) {
            put(metric, percent(count));
        }
        put(Metric::CpuIdl, percent(ticks - counted.iter().sum::<u32>()));

        for (metric, load) in
            [Metric::Load1m, Metric::Load5m, Metric::Load15m].into_iter().zip(self.load)
        {
            put(metric, load);
        }
        put(Metric::SystemInt, (device_interrupts as f64 + timer) / seconds);
        put(Metric::SystemCsw, per_s(counts.switches - before.switches));

        let cached = counts.node.cached;
        let buffers = cached / PER_POINTER_BLOCK;
        let messages = sent.messages + received.messages;
        let message = (sent.bytes + received.bytes) as f64 / messages.max(1) as f64;
        let used = IDLE_SYSTEM + (threads * message) as u64;
        put(Metric::MemoryUsed, used as f64);
        put(Metric::MemoryBuff, buffers as f64);
        put(Metric::MemoryCach, cached as f64);
        put(Metric::MemoryFree, self.memory.saturating_sub(used + buffers + cached) as f64);

        put(Metric::VmMinpf, per_s(faults));
        let cached_pages = (cached + node.evicted).saturating_sub(before.node.cached) / PAGE;
        put(Metric::VmAlloc, per_s(faults + received.pages + sent.pages + cached_pages));
        put(Metric::VmFree, per_s(faults + received.pages + sent.pages + node.evicted / PAGE));

        put(Metric::DiskRead, per_s(node.bytes[0]));
        put(Metric::DiskWrit, per_s(node.bytes[1]));
        put(Metric::IoRead, per_s(node.operations[0]));
        put(Metric::IoWrit, per_s(node.operations[1]));
        let acknowledged = sent.acknowledgements() * ACKNOWLEDGEMENT;
        let acknowledging = received.acknowledgements() * ACKNOWLEDGEMENT;
        put(Metric::NetworkRecv, per_s(received.bytes + acknowledged));
        put(Metric::NetworkSend, per_s(sent.bytes + acknowledging));
        put(Metric::TcpLis, LISTENING[usize::from(self.is_node)]);
        put(Metric::TcpAct, self.connected as f64);

        self.before = self.counts;
        self.before_at = now;
        self.plan();
        let ts_ns = now.as_ns().cast_signed() + self.clock_offset;
        Sample { ts_ns, host: number, values }
    }

    /// Divides time that the processor was busy as the work that it had; what goes beyond (switches of
    /// context) is the kernel's.
    fn divide(&mut self, busy_ns: f64) -> [f64; 3] {
        let undone: f64 = self.undone.iter().sum();
        if undone <= 0.0 {
            return [0.0, busy_ns, 0.0];
        }
        let share = (busy_ns / undone).min(1.0);
        let mut done = self.undone.map(|undone| undone * share);
        for (undone, done) in self.undone.iter_mut().zip(done) {
            *undone = (*undone - done).max(0.0);
        }
        done[1] += (busy_ns - undone).max(0.0);
        done
    }
}

/// Of so many ticks, how many meet each state, whose shares of the time are given.
fn count_ticks<const STATES: usize>(
    stream: &mut Stream,
    ticks: u32,
    shares: [f64; STATES],
) -> [u32; STATES] {
    let mut counted = [0; STATES];
    for _ in 0..ticks {
        let mut left = stream.unit();
        for (count, share) in counted.iter_mut().zip(shares) {
            if left < share {
                *count += 1;
                break;
            }
            left -= share;
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;

    #[test]
    fn ticks_meet_each_state_as_often_as_it_is_there() {
        let mut stream = Seed(3).stream("ticks");
        // all of the time, or none of it
        assert_eq!(count_ticks(&mut stream, 250, [0.0, 1.0, 0.0]), [0, 250, 0]);
        assert_eq!(count_ticks(&mut stream, 250, [0.0; 3]), [0; 3]);
        // of a second, 20 % of 250 ticks are 50, with a deviation of 6.3; of 1,000 seconds, of 0.2
        let seconds: Vec<u32> =
            (0..1000).map(|_| count_ticks(&mut stream, 250, [0.2, 0.1])[0]).collect();
        let mean = f64::from(seconds.iter().sum::<u32>()) / 1000.0;
        assert!((mean - 50.0).abs() < 1.0, "{mean}");
        let squares: f64 = seconds.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum();
        let deviation = (squares / 1000.0).sqrt();
        assert!((5.5..7.2).contains(&deviation), "{deviation}");
    }
}
