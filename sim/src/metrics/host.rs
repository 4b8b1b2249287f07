//! The metrics of one host, derived from its simulated activity.
//!
//! - *Processor*: busy time is the processor's own account, to the nanosecond. It is divided in
//!   proportion to the work that was given to it: encoding, encryption and handling of requests are user
//!   code; sending, copying and all the rest belong to the kernel. Half of the receiving cost counts as
//!   software interrupt, the other half as the receiving thread's own system call. Hardware interrupts
//!   take [`HANDLER`] each from the kernel's share. Idle cores count as waiting (`wai`), up to the
//!   number of threads that wait for disks, as Linux counts them. Posted figures are counted in ticks:
//!   Linux charges a whole tick to the activity of a core at that tick (`account_process_tick`, with
//!   `CONFIG_TICK_CPU_ACCOUNTING`, its default), so a second's percentages are a sample of [`TIMER_HZ`]
//!   moments of each core. The moments are random within the second.
//! - *Load*: every fifth sample counts threads that run, are ready, or wait for disks, and decays by
//!   exp(−5 s / 1, 5, 15 min): Linux' `calc_load`.
//! - *Interrupts*: one for [`SEGMENTS_PER_INTERRUPT`] incoming segments, including acknowledgements; one
//!   for each disk operation; the timer's on busy cores.
//! - *Memory*: cached is the content of the buffer cache. Buffers are the indirect blocks of the cached
//!   data, one of 1,024 pointers for 1,024 blocks (ext3). Used is the memory of the idle system, plus
//!   the messages of the threads at work.
//! - *Pages*: messages of 128 KiB or more use memory that is mapped again each time (glibc's
//!   `M_MMAP_THRESHOLD`), so each of their pages faults. Allocated and freed pages are these, those of
//!   received data, and those that enter and leave the cache.
//! - *Disks and network* are counted when operations complete. Frames are counted as `/proc/net/dev` does:
//!   without preamble, gap and checksum. A connection is counted once it has been used.
//!
//! Left out, and therefore zero: swapping, major faults (files are not mapped), sockets that open and close.
//! Interrupt costs and the memory of an idle system are assumed. Nothing else depends on them.

use foretell_metrics::{METRICS, Metric, Sample};
use foretell_scenarios::model::{self, Host};
use foretell_units::{Bytes, HostId, SimSpan, SimTime, Stream};
use rand_distr::StandardNormal;

use crate::cpu::Cpu;
use crate::network::segments;
use crate::node::{Node, NodeCounts};

/// Interval at which a collector posts.
const PERIOD: SimSpan = SimSpan::from_secs(1);
/// Time of a hardware interrupt's handler; assumed.
const HANDLER: SimSpan = SimSpan::from_us(2);
/// An adapter at 1 Gbit/s receives 81,000 full segments a second, and e1000e's `InterruptThrottleRate`
/// limits it to 8,000 interrupts a second.
const SEGMENTS_PER_INTERRUPT: u64 = 10;
/// Timer ticks a second on a busy core (Linux' `CONFIG_HZ`; idle cores have none).
const TIMER_HZ: f64 = 250.0;
/// Bytes of a frame for a segment without data.
const ACKNOWLEDGEMENT: u64 = 66;
/// Segments for each acknowledgement (RFC 1122, delayed acknowledgements).
const ACKNOWLEDGED: u64 = 2;
/// Uncounted bytes of a segment on the wire: preamble, checksum, gap.
const UNCOUNTED: u64 = 24;
/// Bytes in a page of memory.
const PAGE: u64 = 4096;
/// Memory blocks of at least this size are mapped separately.
const MAPPED: u64 = 128 * 1024;
/// A host's memory besides its cache, and the part of it that an idle system uses; assumed.
const BESIDE_CACHE: u64 = 512 * 1024 * 1024;
const IDLE_SYSTEM: u64 = 384 * 1024 * 1024;
/// Bytes of cached files for each indirect block.
const PER_POINTER_BLOCK: u64 = 1024;
/// Listening sockets: a storage server's and the remote shell's; on other hosts only the latter.
const LISTENING: [f64; 2] = [1.0, 2.0];
/// Samples between two updates of the load, and the minutes of its averages.
const LOAD_EVERY: u64 = 5;
const LOAD_MINUTES: [f64; 3] = [1.0, 5.0, 15.0];

/// Work for a host's processor, by dstat's categories; nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Work {
    /// User code.
    pub(crate) usr: u64,
    /// The kernel.
    pub(crate) sys: u64,
    /// Software interrupts.
    pub(crate) siq: u64,
}

/// Counters since the beginning.
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
    /// Bytes as the kernel counts them.
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

    /// Number of acknowledgements that the other side sends for these segments.
    fn acknowledgements(self) -> u64 {
        self.segments.div_ceil(ACKNOWLEDGED)
    }
}

/// The state of one host's collector.
pub(super) struct HostMeter {
    /// Random stream for the moments of ticks.
    ticks: Stream,
    /// Offset of the host's clock from simulated time; nanoseconds.
    clock_offset: i64,
    /// Its wake-up time within each second, and its mean lateness.
    phase: i64,
    lateness: SimSpan,
    stream: Stream,
    due: SimTime,
    samples: u64,
    cores: u32,
    memory: u64,
    is_node: bool,
    /// Work that is not yet done: user, kernel, software interrupts.
    undone: [f64; 3],
    idle_cores: u32,
    waiting: u32,
    since: SimTime,
    counts: Counts,
    /// The counters at the last sample, and its time.
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
        mut stream: Stream,
        ticks: Stream,
    ) -> Self {
        let draw: f64 = stream.sample(&StandardNormal);
        // NTP corrects larger offsets at once
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

    /// Time of the collector's next wake-up.
    pub(super) fn due(&self) -> SimTime {
        self.due
    }

    /// Schedules the wake-up in the next second of the host's clock.
    fn plan(&mut self) {
        let late = self.stream.exponential(self.lateness);
        let second = (PERIOD * (self.samples + 1)).as_ns().cast_signed();
        let at = (second + self.phase - self.clock_offset).max(1).cast_unsigned();
        // a collector that is very late skips no second, but wakes again at once
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

    /// Updates the time-weighted counters up to now.
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

    /// Divides busy time in proportion to the work given. Any excess (context switches) belongs to the
    /// kernel.
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

/// Draws how many of `ticks` ticks fall into each state, given the states' shares of the time.
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
        // in one second, 20 % of 250 ticks are 50, with a deviation of 6.3; over 1,000 seconds the mean
        // has one of 0.2
        let seconds: Vec<u32> =
            (0..1000).map(|_| count_ticks(&mut stream, 250, [0.2, 0.1])[0]).collect();
        let mean = f64::from(seconds.iter().sum::<u32>()) / 1000.0;
        assert!((mean - 50.0).abs() < 1.0, "{mean}");
        let squares: f64 = seconds.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum();
        let deviation = (squares / 1000.0).sqrt();
        assert!((5.5..7.2).contains(&deviation), "{deviation}");
    }
}
