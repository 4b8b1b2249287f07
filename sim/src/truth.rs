//! The true results of a run: the content of `truth.json`.

use foretell_ati::Resource;
use foretell_scenarios::device;
use foretell_sorted::SortedMap;
use foretell_units::{HostId, Op, SimSpan, SimTime, is_zero};
use foretell_workloads::transaction::Unit;
use hdrhistogram::Histogram;
use serde::Serialize;

use crate::array::{ArrayHits, CacheHits};
use crate::cluster::Cluster;
use crate::intervals::relative_standard_error;
use crate::ledger::Usage;
use crate::load::Instance;
use crate::network::{Counts, Troubles};
use crate::program::is_program;
use crate::ssd::Written;
use crate::tally::OpTally;
use crate::transaction::TransactionTally;
pub use crate::truth_outages::{
    Happening, OutageTruth, PhaseChange, PhaseTruth, PhaseWorkload, RecoveryTruth, SecondTruth,
};

pub use crate::truth_scrub::ScrubTruth;

/// Seconds of a day.
const SECONDS_PER_DAY: f64 = 86_400.0;

/// Clients' results and usage of resources, from the end of the warm-up to the end of the run.
#[derive(Clone, Debug, Serialize)]
pub struct Truth {
    /// Results of workloads, by name.
    pub workloads: SortedMap<String, WorkloadTruth>,
    /// Usage of resources, by name of the host, then of the resource: `cpu`, `disk0`, `nic_transmit`,
    /// `nic_receive`, `cluster_nic_transmit`.
    pub hosts: SortedMap<String, SortedMap<String, ResourceTruth>>,
    /// Usage of the uplinks of racks, by name of the rack: `uplink_transmit` (to the core),
    /// `uplink_receive`. Only if racks have uplinks.
    #[serde(skip_serializing_if = "SortedMap::is_empty")]
    pub uplinks: SortedMap<String, SortedMap<String, ResourceTruth>>,
    /// Hits and misses of nodes' caches, by name of the node.
    pub caches: SortedMap<String, CacheTruth>,
    /// The resource with the highest utilization.
    pub bottleneck: Bottleneck,
    /// Counters of the network.
    pub network: NetworkTruth,
    /// Requests issued since the beginning.
    pub requests_issued: u64,
    /// Requests completed since the beginning.
    pub requests_completed: u64,
    /// Requests outstanding at the end.
    pub requests_in_flight: u64,
    /// Requests outstanding at the end, with the age of the oldest.
    pub unfinished: Unfinished,
    /// Blocks read back and found equal to the data written (with `payload = "real"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks_compared: Option<u64>,
    /// What scrubbers read; only in scenarios with `scrub`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scrub: Option<ScrubTruth>,
    /// Effects of failures; only in scenarios with events.
    #[serde(flatten)]
    pub outages: Option<OutageTruth>,
    /// Events of the whole run.
    pub events: u64,
    /// Length of the warm-up; longer than requested if measuring restarted.
    #[serde(skip)]
    pub warmup: SimSpan,
    /// Measured time, without the warm-up.
    pub simulated_seconds: f64,
    /// Time that the run took on the computer that simulated it; filled in by the caller.
    pub wall_seconds: f64,
}

/// The results of one workload as its clients see them.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadTruth {
    /// Requests completed per second.
    pub throughput_rps: f64,
    /// Half-width of the throughput's 95 % confidence interval (batch means); `null`: the run was too
    /// short.
    pub throughput_rps_half_width: Option<f64>,
    /// Bytes read and written per second.
    pub throughput_bytes_per_s: f64,
    /// Response times from issue to completion.
    pub response_time_ms: ResponseTime,
    /// Requests completed.
    pub requests: u64,
    /// Requests outstanding on average.
    pub outstanding_mean: f64,
    /// Requests that were outstanding at the end. Response times do not include them.
    pub unfinished: Unfinished,
    /// How much of its trace it has replayed, if it replays one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceTruth>,
    /// Share of the pages that its reads requested that were in the nodes' caches; `null`: no reads.
    pub read_hit_rate: Option<f64>,
    /// Number of hedged reads, counted per group: reads that were also sent to one more node. Only if its
    /// volume has `hedge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hedges: Option<u64>,
    /// Reads alone.
    pub read: OpTruth,
    /// Writes alone.
    pub write: OpTruth,
    /// The result that the benchmark itself would report; only for a workload that counts transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub benchmark: Option<BenchmarkTruth>,
    /// Results by job; only for a workload that is a program of jobs (`fio`, `cosbench`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobTruth>,
    /// What ended in the warm-up, so that nothing of it was measured: jobs, or the workload as a whole.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended_in_warmup: Vec<Ended>,
    /// When its last request ended, in seconds of the measured time, if that was before the last hundredth of it. Rates
    /// count the whole measured time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_s: Option<f64>,
}

/// A workload that ends in this last part of the measured time counts as one that lasts: its rates are off by no more.
const LAST_PART: f64 = 0.01;

/// A workload, or a job of one, that ended in the warm-up.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Ended {
    /// The job's stage, if stages have names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stage: Option<String>,
    /// The job's name; absent: the workload as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// When the job issued nothing more, in seconds from the beginning of the warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// Requests that were outstanding at the end of the run.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Unfinished {
    /// How many.
    pub requests: u64,
    /// Age of the oldest at the end; `null`: there is none.
    pub oldest_ms: Option<f64>,
    /// How many of them have waited because too few servers of a group were up: with Ceph fewer than `min_size`, with
    /// Ursa Minor fewer than `min_write`, or than a read needs. Only if there are any.
    #[serde(skip_serializing_if = "is_zero")]
    pub waiting_below_min_size: u64,
}

/// How much of a trace was replayed, including the warm-up.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct TraceTruth {
    /// Requests issued, by all clients that replay it.
    pub requests: u64,
    /// Requests of the trace, summed over these clients; `null`: the rest of the trace cannot be read.
    pub requests_total: Option<u64>,
    /// Time of the last request issued, on the trace's clock; `null`: the trace has no times.
    pub seconds: Option<f64>,
    /// Time of the trace's last request.
    pub seconds_total: Option<f64>,
}

impl TraceTruth {
    /// Whether the run ended before the trace did.
    pub fn is_cut(&self) -> bool {
        self.requests_total.is_none_or(|total| self.requests < total)
    }
}

impl Unfinished {
    fn add(&mut self, other: Self) {
        self.requests += other.requests;
        self.waiting_below_min_size += other.waiting_below_min_size;
        let both = self.oldest_ms.into_iter().chain(other.oldest_ms);
        self.oldest_ms = both.max_by(f64::total_cmp);
    }
}

/// An unfinished request counts as starved if it is older than the 99th percentile times the first
/// number, and than the longest response time times the second. Otherwise it may just be the next to
/// finish.
const STARVED: (f64, f64) = (10.0, 2.0);
/// Minimum share of the mean number of outstanding requests for which completed requests must account.
/// Otherwise, response times do not represent all requests.
const ACCOUNTED: f64 = 0.8;

impl WorkloadTruth {
    /// Mean number of outstanding requests that the completed ones account for: throughput × mean
    /// response time, by Little's law.
    pub fn outstanding_accounted_for(&self) -> f64 {
        self.throughput_rps * self.response_time_ms.mean / 1e3
    }

    /// Whether response times hide unfinished requests: requests that starve, or a queue that grows.
    pub fn hides_the_unfinished(&self) -> bool {
        let Some(oldest_ms) = self.unfinished.oldest_ms else { return false };
        let response = &self.response_time_ms;
        let starved = oldest_ms > STARVED.0 * response.p99 && oldest_ms > STARVED.1 * response.max;
        starved || self.outstanding_accounted_for() < ACCOUNTED * self.outstanding_mean
    }
}

/// The results of one job for one kind of operation, from the end of its ramp-up.
#[derive(Clone, Debug, Serialize)]
pub struct JobTruth {
    /// The stage's name; empty if stages have no names.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// The job's name.
    pub job: String,
    /// `read`, `write`, ...
    pub operation: &'static str,
    /// Operations completed.
    pub operations: u64,
    /// Bytes read or written.
    pub bytes: u64,
    /// Time counted: to the job's end, or the run's.
    pub seconds: f64,
    /// Operations per second; `null` for a single operation, from which no rate follows.
    pub operations_per_s: Option<f64>,
    /// Bytes per second; `null` likewise.
    pub bytes_per_s: Option<f64>,
    /// Response times from the beginning of an operation to its end.
    pub response_time_ms: ResponseTime,
    /// Response times at 60, 80 and 90 %: for COSBench's own table.
    #[serde(skip)]
    pub quantiles_ms: [f64; 3],
    /// Simulated times at which counting began and ended, s: also for COSBench's table.
    #[serde(skip)]
    pub counted_s: [f64; 2],
    /// Whether all its processes ended before the run did.
    #[serde(skip)]
    pub completed: bool,
}

/// The results that a benchmark reports.
#[derive(Clone, Debug, Serialize)]
pub struct BenchmarkTruth {
    /// `tpm`, `tps`, `op/s` or `MB/s`.
    pub unit: &'static str,
    /// The result, in that unit.
    pub value: f64,
    /// Transactions completed.
    pub transactions: u64,
    /// Times from the beginning of a transaction to its end.
    pub transaction_time_ms: ResponseTime,
    /// For a workload with the unit MB/s: bytes read, divided by the time during which there were
    /// reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_mb_per_s: Option<f64>,
    /// The same for writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_mb_per_s: Option<f64>,
    /// Share of the reads that a file server's cache served, which cause no requests; `null`: no reads.
    pub server_hit_rate: Option<f64>,
}

/// Requests of one direction.
#[derive(Clone, Debug, Serialize)]
pub struct OpTruth {
    /// Requests completed per second.
    pub throughput_rps: f64,
    /// Bytes per second.
    pub throughput_bytes_per_s: f64,
    /// Response times from issue to completion.
    pub response_time_ms: ResponseTime,
    /// Requests completed.
    pub requests: u64,
    /// Mean response time of each interval, if the measured time is cut into intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interval_means_ms: Vec<f64>,
    /// Standard error of these means, relative to their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub relative_standard_error: Option<f64>,
}

/// A distribution of response times, milliseconds; zeros where there were no requests.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ResponseTime {
    /// Mean.
    pub mean: f64,
    /// Half-width of the mean's 95 % confidence interval; `null`: unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_half_width: Option<f64>,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// Usage of one resource.
#[derive(Clone, Debug, Serialize)]
pub struct ResourceTruth {
    /// Share of time busy, averaged over the resource's servers.
    pub utilization: f64,
    /// Mean number of jobs waiting or in service.
    pub queue_length_mean: f64,
    /// Busy time per request completed anywhere in the cluster.
    pub demand_ms_per_request: f64,
    /// Jobs done.
    pub operations: u64,
    /// For an array: pages found in its controller's memory by reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheTruth>,
    /// For an array: the memory that keeps written data without power.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<WriteCacheTruth>,
    /// For a solid-state drive, or for all drives of an array of them: the wear of their flash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashTruth>,
    /// For a receiving adapter: segments for it that were dropped at its switch port, including the
    /// warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments_dropped: Option<u64>,
    /// For a transmitting adapter: segments that were retransmitted, including the warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segments_resent: Option<u64>,
    /// For a transmitting adapter: retransmission timeouts of its host, including the warm-up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
}

/// Counters of the network, including the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkTruth {
    /// Messages handed to the network.
    pub messages_sent: u64,
    /// Segments put on links, including retransmissions.
    pub segments_sent: u64,
    /// Segments dropped at a full port of the switch.
    pub segments_dropped: u64,
    /// Segments retransmitted.
    pub segments_resent: u64,
    /// Losses detected by later acknowledgements that halved a window.
    pub fast_retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// Hits and misses of a node's cache, or of an array's.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CacheTruth {
    /// Share of the pages that reads requested that were in the cache; `null`: no reads.
    pub read_hit_rate: Option<f64>,
    /// Pages that reads requested.
    pub pages_read: u64,
}

/// The wear of the flash of a solid-state drive, or of all drives of an array.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FlashTruth {
    /// Number of drives.
    pub drives: u32,
    /// Bytes written to the drives, in units of their mapping tables.
    pub written_bytes: u64,
    /// Bytes programmed: data that had been written, data moved by garbage collection, and places that
    /// were left empty.
    pub programmed_bytes: u64,
    /// The part of these that garbage collection moved.
    pub moved_bytes: u64,
    /// Bytes programmed divided by bytes written; `null`: nothing was written.
    pub write_amplification: Option<f64>,
    /// Blocks erased; each plane's block counts.
    pub blocks_erased: u64,
    /// Bytes written to the drives per day at this rate.
    pub written_bytes_per_day: f64,
    /// Bytes that may be written to the drives before they are worn, as rated by their maker; `null`:
    /// unknown.
    pub endurance_bytes: Option<u64>,
    /// Number of years for which they can be written to at this rate; `null`: unknown, or nothing was
    /// written.
    pub years_until_worn: Option<f64>,
}

impl FlashTruth {
    /// The wear of `drives` drives described by `spec`, in `seconds`.
    fn new(written: &Written, spec: &device::Ssd, drives: u32, seconds: f64) -> Self {
        let programmed = written.programmed + written.moved + written.padding;
        let per_day = per_second(written.host.get(), seconds) * SECONDS_PER_DAY;
        let endurance = spec.endurance.map(|bytes| bytes.get().saturating_mul(u64::from(drives)));
        Self {
            drives,
            written_bytes: written.host.get(),
            programmed_bytes: programmed.get(),
            moved_bytes: written.moved.get(),
            write_amplification: ratio(programmed.get() as f64, written.host.get()),
            blocks_erased: written.erased * u64::from(spec.planes),
            written_bytes_per_day: per_day,
            endurance_bytes: endurance,
            years_until_worn: endurance
                .filter(|_| per_day > 0.0)
                .map(|bytes| bytes as f64 / per_day / device::DAYS_PER_YEAR),
        }
    }

    /// The sum for these drives and others. Together they last as long as the drives that wear out first.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        let first = [self.years_until_worn, others.years_until_worn].into_iter().flatten();
        let (written, programmed) = (
            self.written_bytes + others.written_bytes,
            self.programmed_bytes + others.programmed_bytes,
        );
        Self {
            drives: self.drives + others.drives,
            written_bytes: written,
            programmed_bytes: programmed,
            moved_bytes: self.moved_bytes + others.moved_bytes,
            write_amplification: ratio(programmed as f64, written),
            blocks_erased: self.blocks_erased + others.blocks_erased,
            written_bytes_per_day: self.written_bytes_per_day + others.written_bytes_per_day,
            endurance_bytes: sum(self.endurance_bytes, others.endurance_bytes),
            years_until_worn: first.reduce(f64::min),
        }
    }

    /// The wear of a device's drives, if it is made of flash.
    fn of(device: &device::Device, written: &Written, seconds: f64) -> Option<Self> {
        let (spec, drives) = match device {
            device::Device::Ssd(ssd) => (ssd, 1),
            device::Device::Array(array) => match &array.device {
                device::Device::Ssd(ssd) => (ssd, array.members),
                _ => return None,
            },
            _ => return None,
        };
        Some(Self::new(written, spec, drives, seconds))
    }
}

/// Hits of an array's write cache.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WriteCacheTruth {
    /// Pages that were already waiting to be destaged when they were written, as a share of pages
    /// written; `null`: no writes.
    pub write_hit_rate: Option<f64>,
    /// Pages written.
    pub pages_written: u64,
}

/// The resource with the highest utilization.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Bottleneck {
    /// The host; of an uplink, the rack.
    pub host: String,
    /// The resource.
    pub resource: String,
    /// Its utilization.
    pub utilization: f64,
    /// Whether it also stores the records of tracking, at a cost: it may be the busiest only because of them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub keeps_records: bool,
}

/// The truth of a run that has ended.
///
/// `traces`: how much of its trace each workload replayed, if it has one.
pub(crate) fn of(cluster: &mut Cluster, traces: Vec<Option<TraceTruth>>) -> Truth {
    let now = cluster.engine.agenda.now();
    let seconds = cluster.measured().as_secs_f64();
    let workloads = workloads(cluster, now, seconds, traces);
    let mut unfinished = Unfinished::default();
    for workload in workloads.values() {
        unfinished.add(workload.unfinished);
    }
    let requests: u64 = workloads.values().map(|workload| workload.requests).sum();
    // sorted by name at the end: names such as brick2 and brick10 are not in order
    let mut hosts = Vec::new();
    let mut caches = Vec::new();
    let mut bottleneck = Bottleneck::default();
    for index in 0..cluster.engine.hosts.len() {
        let name = cluster.scenario.hosts[index].name.clone();
        let host = &mut cluster.engine.hosts[index];
        let mut resources = SortedMap::new();
        let mut add = |resource: String, usage: Usage, own: Particulars| {
            if usage.utilization > bottleneck.utilization {
                bottleneck = Bottleneck {
                    host: name.clone(),
                    resource: resource.clone(),
                    utilization: usage.utilization,
                    keeps_records: false,
                };
            }
            resources.insert(resource, ResourceTruth::of(&usage, requests, own));
        };
        let none = Particulars::default();
        add("cpu".to_owned(), host.cpu.usage(now), none);
        // the first virtual machine of a machine has the machine's disks and link
        for (disk, device) in cluster.engine.disks[index].iter_mut().enumerate() {
            let usage = device.usage(now);
            let mut own = device.array_hits().map_or(none, caches_of_array);
            let storage = cluster.scenario.hosts[index].role.storage();
            own.flash = storage.zip(device.flash()).and_then(|(storage, written)| {
                FlashTruth::of(&storage.devices().nth(disk)?.device, &written, seconds)
            });
            add(format!("disk{disk}"), usage, own);
        }
        let has_link = host.physical.index() == index;
        if let Some(node) = &host.node {
            let (pages_read, hits) = node.hits().all();
            let read_hit_rate = ratio(hits as f64, pages_read);
            caches.push((name.clone(), CacheTruth { read_hit_rate, pages_read }));
        }
        if has_link {
            let (transmit, receive) = cluster.engine.network.usage(now, HostId::from(index));
            let (to_host, by_host) = troubles(cluster.engine.network.troubles(HostId::from(index)));
            add("nic_transmit".to_owned(), transmit, by_host);
            add("nic_receive".to_owned(), receive, to_host);
            if let Some(adapter) = cluster.engine.adapters.second(HostId::from(index)) {
                let (transmit, receive) = cluster.engine.network.usage(now, adapter);
                let (to_host, by_host) = troubles(cluster.engine.network.troubles(adapter));
                add(Resource::ClusterTransmit.to_string(), transmit, by_host);
                add(Resource::ClusterReceive.to_string(), receive, to_host);
            }
        }
        hosts.push((name, resources));
    }
    let mut uplinks = SortedMap::new();
    let racks = cluster.scenario.uplinks.iter().flat_map(|uplinks| &uplinks.racks);
    for (number, rack) in racks.enumerate() {
        let [up, down] = cluster.engine.network.uplink_usage(now, number);
        let mut resources = SortedMap::new();
        for (resource, usage) in [("uplink_transmit", up), ("uplink_receive", down)] {
            if usage.utilization > bottleneck.utilization {
                bottleneck = Bottleneck {
                    host: rack.name.clone(),
                    resource: resource.to_owned(),
                    utilization: usage.utilization,
                    keeps_records: false,
                };
            }
            let usage = ResourceTruth::of(&usage, requests, Particulars::default());
            resources.insert(resource.to_owned(), usage);
        }
        uplinks.insert(rack.name.clone(), resources);
    }
    bottleneck.keeps_records =
        foretell_systems::keeps_records(&cluster.scenario, &bottleneck.host, &bottleneck.resource);
    Truth {
        workloads,
        hosts: hosts.into_iter().collect(),
        uplinks,
        caches: caches.into_iter().collect(),
        bottleneck,

        network: network(cluster.engine.network.counts()),
        requests_issued: cluster.instances.iter().map(|instance| instance.issued).sum(),
        requests_completed: cluster.tallies.iter().map(|tally| tally.completed).sum(),
        requests_in_flight: cluster.requests_in_flight(),
        unfinished,
        blocks_compared: cluster.engine.vault.as_ref().map(crate::payload::Vault::compared),
        scrub: ScrubTruth::of(cluster, seconds),
        outages: OutageTruth::of(cluster),
        events: cluster.engine.agenda.taken(),
        warmup: cluster.mark_at() - SimTime::ZERO,
        simulated_seconds: seconds,
        wall_seconds: 0.0,
    }
}

impl ResourceTruth {
    /// `requests`: those that were completed.
    fn of(usage: &Usage, requests: u64, own: Particulars) -> Self {
        Self {
            utilization: usage.utilization,
            queue_length_mean: usage.queue_length_mean,
            demand_ms_per_request: ratio(usage.busy.as_ms_f64(), requests).unwrap_or(0.0),
            operations: usage.operations,
            cache: own.cache,
            write_cache: own.write_cache,
            flash: own.flash,
            segments_dropped: own.segments_dropped,
            segments_resent: own.segments_resent,
            timeouts: own.timeouts,
        }
    }
}

/// Figures that only some resources have.
#[derive(Clone, Copy, Default)]
struct Particulars {
    cache: Option<CacheTruth>,
    write_cache: Option<WriteCacheTruth>,
    flash: Option<FlashTruth>,
    segments_dropped: Option<u64>,
    segments_resent: Option<u64>,
    timeouts: Option<u64>,
}

/// Figures for the link's receive and transmit directions: segments dropped on the way to a host, and
/// its retransmissions and timeouts.
fn troubles(found: Troubles) -> (Particulars, Particulars) {
    let none = Particulars::default();
    let to_host = Particulars { segments_dropped: Some(found.dropped), ..none };
    let (segments_resent, timeouts) = (Some(found.resent), Some(found.timeouts));
    (to_host, Particulars { segments_resent, timeouts, ..none })
}

/// Figures for the caches of an array.
fn caches_of_array(hits: ArrayHits) -> Particulars {
    let rate = |found: CacheHits| ratio(found.hits as f64, found.pages);
    let cache = CacheTruth { read_hit_rate: rate(hits.read), pages_read: hits.read.pages };
    let write_cache = hits.write.map(|written| WriteCacheTruth {
        write_hit_rate: rate(written),
        pages_written: written.pages,
    });
    Particulars { cache: Some(cache), write_cache, ..Particulars::default() }
}

fn network(counts: Counts) -> NetworkTruth {
    NetworkTruth {
        messages_sent: counts.messages_sent,
        segments_sent: counts.segments_sent,
        segments_dropped: counts.segments_dropped,
        segments_resent: counts.segments_resent,
        fast_retransmits: counts.fast_retransmits,
        timeouts: counts.timeouts,
    }
}

fn workloads(
    cluster: &mut Cluster,
    now: SimTime,
    seconds: f64,
    traces: Vec<Option<TraceTruth>>,
) -> SortedMap<String, WorkloadTruth> {
    let mut found = SortedMap::new();
    let unfinished = unfinished(cluster, now);
    for (index, (workload, trace)) in cluster.scenario.workloads.iter().zip(traces).enumerate() {
        let nodes = cluster.engine.hosts.iter().filter_map(|host| host.node.as_ref());
        let (pages, hits) = nodes
            .map(|node| node.hits().of(index))
            .fold((0, 0), |(pages, hits), (p, h)| (pages + p, hits + h));
        let jobs = jobs(cluster, index, now);
        let ended_in_warmup = ended_in_warmup(cluster, index);
        let ended_s = ended_s(cluster, index, seconds);
        let hedges = hedges(cluster, index);
        let tally = &mut cluster.tallies[index];
        let (throughput, response) = tally.batches.estimates(now);
        let mut all = tally.reads.histogram.clone();
        all.add(&tally.writes.histogram).expect("histograms of one kind");
        let intervals = tally.intervals.as_ref();
        let means = |op| intervals.map_or(Vec::new(), |intervals| intervals.means_ms(op));
        let known = |half_width: f64| half_width.is_finite().then_some(half_width);
        let max = tally.reads.max.max(tally.writes.max).as_ms_f64();
        let bytes = tally.reads.bytes + tally.writes.bytes;
        found.insert(
            workload.name.clone(),
            WorkloadTruth {
                throughput_rps: throughput.mean,
                throughput_rps_half_width: known(throughput.half_width),
                throughput_bytes_per_s: per_second(bytes, seconds),
                response_time_ms: ResponseTime {
                    mean_half_width: known(response.half_width),
                    ..response_time(response.mean, &all, max)
                },
                requests: tally.reads.requests + tally.writes.requests,
                outstanding_mean: tally.ledger.usage(now, 1).queue_length_mean,
                unfinished: unfinished[index],
                trace,
                read_hit_rate: ratio(hits as f64, pages),
                hedges,
                read: op_truth(&tally.reads, seconds, means(Op::Read)),
                write: op_truth(&tally.writes, seconds, means(Op::Write)),
                benchmark: cluster.transaction_tallies[index].as_ref().map(|tally| {
                    let mut of_it = cluster.instances.iter();
                    let ended = of_it.all(|i| i.workload.index() != index || i.is_done());
                    benchmark(tally, now, ended)
                }),
                jobs,
                ended_in_warmup,
                ended_s,
            },
        );
    }
    found
}

/// Number of hedged reads of a workload in the measured time, if its reads are hedged.
fn hedges(cluster: &Cluster, workload: usize) -> Option<u64> {
    let volume = cluster.scenario.workloads[workload].volume;
    cluster.scenario.volume(volume).hedge?;
    let now = cluster.protocol.hedges()[workload];
    Some(now - cluster.hedges_before.get(workload).copied().unwrap_or(0))
}

/// Outstanding requests by workload.
fn unfinished(cluster: &Cluster, now: SimTime) -> Vec<Unfinished> {
    let mut found = vec![Unfinished::default(); cluster.scenario.workloads.len()];
    for request in cluster.outstanding() {
        let oldest_ms = Some((now - request.issued).as_ms_f64());
        let waiting_below_min_size = u64::from(request.is_below_min_size);
        let one = Unfinished { requests: 1, oldest_ms, waiting_below_min_size };
        found[request.issue.workload as usize].add(one);
    }
    found
}

/// When a workload's last request ended, in seconds of the measured time, if it ended early in it.
fn ended_s(cluster: &Cluster, workload: usize, seconds: f64) -> Option<f64> {
    let mut of_it = cluster.instances.iter().filter(|of| of.workload.index() == workload);
    let tally = &cluster.tallies[workload];
    let is_over = tally.reads.requests + tally.writes.requests > 0
        && tally.ledger.present() == 0
        && of_it.all(Instance::is_done);
    if !is_over {
        return None;
    }
    let last = tally.last.saturating_since(cluster.mark_at()).as_secs_f64();
    (last < (1.0 - LAST_PART) * seconds).then_some(last)
}

/// The jobs of a workload that ended before measuring began, or the workload itself.
fn ended_in_warmup(cluster: &Cluster, workload: usize) -> Vec<Ended> {
    let mark = cluster.mark_at();
    if mark == SimTime::ZERO {
        return Vec::new();
    }
    if !is_program(&cluster.scenario.workloads[workload]) {
        let mut of_it =
            cluster.instances.iter().filter(|of| of.workload.index() == workload).peekable();
        let tally = &cluster.tallies[workload];
        let is_over = of_it.peek().is_some()
            && of_it.all(Instance::is_done)
            && tally.reads.requests + tally.writes.requests == 0
            && tally.ledger.present() == 0;
        let whole = Ended { stage: None, job: None, seconds: None };
        return is_over.then_some(whole).into_iter().collect();
    }
    let mut found: Vec<Ended> = Vec::new();
    for job in cluster.programs.jobs.iter().filter(|job| job.workload.index() == workload) {
        let Some(stopped) = job.ended_before(mark) else { continue };
        let ended = Ended {
            stage: Some(job.stage.clone()).filter(|stage| !stage.is_empty()),
            job: Some(job.name.clone()),
            seconds: Some(stopped.as_secs_f64()),
        };
        // a job has a tally for each kind of operation
        if found.last() != Some(&ended) {
            found.push(ended);
        }
    }
    found
}

fn jobs(cluster: &Cluster, workload: usize, now: SimTime) -> Vec<JobTruth> {
    let of_it = cluster.programs.jobs.iter().filter(|job| job.workload.index() == workload);
    let mark = cluster.mark_at();
    of_it
        // of a job that ended in the warm-up, a few last requests may have been counted
        .filter(|job| job.tally.requests > 0 && job.ended_before(mark).is_none())
        .map(|job| {
            let (tally, seconds) = (&job.tally, job.seconds(now));
            let from = job.from.map_or(0.0, SimTime::as_secs_f64);
            let rate = |count| (tally.requests > 1).then(|| per_second(count, seconds));
            let mean = ratio(tally.response_ns as f64 / 1e6, tally.requests).unwrap_or(0.0);
            JobTruth {
                stage: job.stage.clone(),
                job: job.name.clone(),
                operation: job.operation,
                operations: tally.requests,
                bytes: tally.bytes,
                seconds,
                operations_per_s: rate(tally.requests),
                bytes_per_s: rate(tally.bytes),
                response_time_ms: response_time(mean, &tally.histogram, tally.max.as_ms_f64()),
                quantiles_ms: [0.6, 0.8, 0.9].map(|q| {
                    (tally.histogram.value_at_quantile(q) as f64 / 1e6).min(tally.max.as_ms_f64())
                }),
                counted_s: [from, from + seconds],
                completed: job.left == 0,
            }
        })
        .collect()
}

fn benchmark(tally: &TransactionTally, now: SimTime, ended: bool) -> BenchmarkTruth {
    let mean = ratio(tally.response_ns as f64 / 1e6, tally.completed).unwrap_or(0.0);
    let per_s = per_second(tally.completed, tally.measured_s(now, ended));
    // each direction is divided by the time during which it was active, because one follows the other
    let moved = [0, 1].map(|direction| {
        let active = tally.active_s(direction, now);
        (active > 0.0).then(|| tally.moved[direction].bytes as f64 / 1e6 / active)
    });
    let in_mb = tally.unit == Unit::MegabytesPerSecond;
    BenchmarkTruth {
        unit: tally.unit.name(),
        value: match tally.unit {
            Unit::PerMinute => per_s * 60.0,
            Unit::PerSecond | Unit::OperationsPerSecond => per_s,
            Unit::MegabytesPerSecond => {
                let bytes = tally.moved[0].bytes + tally.moved[1].bytes;
                let active: f64 =
                    [0, 1].map(|direction| tally.active_s(direction, now)).iter().sum();
                if active > 0.0 { bytes as f64 / 1e6 / active } else { 0.0 }
            }
        },
        transactions: tally.completed,
        transaction_time_ms: response_time(mean, &tally.histogram, tally.max.as_ms_f64()),
        read_mb_per_s: moved[0].filter(|_| in_mb),
        write_mb_per_s: moved[1].filter(|_| in_mb),
        server_hit_rate: ratio(tally.reads[1] as f64, tally.reads[0]),
    }
}

fn op_truth(tally: &OpTally, seconds: f64, interval_means_ms: Vec<f64>) -> OpTruth {
    let mean = ratio(tally.response_ns as f64 / 1e6, tally.requests).unwrap_or(0.0);
    OpTruth {
        throughput_rps: per_second(tally.requests, seconds),
        throughput_bytes_per_s: per_second(tally.bytes, seconds),
        response_time_ms: response_time(mean, &tally.histogram, tally.max.as_ms_f64()),
        requests: tally.requests,
        relative_standard_error: relative_standard_error(&interval_means_ms),
        interval_means_ms,
    }
}

pub(crate) fn response_time(mean: f64, histogram: &Histogram<u64>, max: f64) -> ResponseTime {
    // the upper end of a bucket may lie above the longest response time
    let quantile = |q: f64| (histogram.value_at_quantile(q) as f64 / 1e6).min(max);
    ResponseTime {
        mean,
        mean_half_width: None,
        p50: quantile(0.50),
        p95: quantile(0.95),
        p99: quantile(0.99),
        max,
    }
}

fn per_second(count: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
}

fn ratio(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}
