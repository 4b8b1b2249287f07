//! The settings of a job in a job file.
//!
//! Simulated: `rw` (sequential and random, reads, writes, mixed), `rwmixread`, `rwmixwrite`, `bs`
//! (one size, or one for reads and one for writes), `bsrange`, `bssplit`, `blockalign`, `iodepth`, `numjobs`, `size`,
//! `filesize`, `io_size`, `number_ios`, `offset`, `offset_increment`, `filename`, `random_distribution` (random,
//! zipf, pareto, normal, zoned), `norandommap`, `rate`, `rate_iops`, `runtime`, `ramp_time`,
//! `time_based`, `thinktime`, `thinktime_blocks`, `startdelay`, `stonewall`, `loops`.
//!
//! All other keys of fio are in `keys.rs`: they change no request, or are errors. A job without `direct` reads and writes
//! the volume all the same, because the client has no page cache. A synchronous engine has one request outstanding
//! regardless of `iodepth`, as in fio. Jobs that name the same file share its addresses. Every other job, and each of its
//! `numjobs`, has a separate file. Files lie side by side from the beginning of the volume.

use foretell_units::{Bytes, SimSpan};

use super::ini::{FioError, Setting, refused, sections, unsupported, wrong};
use super::keys;
use super::quantity::{size, switch, time};

/// Supported keys.
const UNDERSTOOD: &[&str] = &[
    "rw",
    "readwrite",
    "rwmixread",
    "rwmixwrite",
    "bs",
    "blocksize",
    "bsrange",
    "blocksize_range",
    "bssplit",
    "ba",
    "blockalign",
    "ioengine",
    "iodepth",
    "iodepth_low",
    "numjobs",
    "size",
    "filesize",
    "io_size",
    "io_limit",
    "number_ios",
    "offset",
    "offset_increment",
    "filename",
    "random_distribution",
    "norandommap",
    "rate",
    "rate_iops",
    "runtime",
    "timeout",
    "ramp_time",
    "time_based",
    "thinktime",
    "thinktime_blocks",
    "startdelay",
    "start_delay",
    "stonewall",
    "wait_for_previous",
    "loops",
    "exitall",
];

/// The largest request.
const MAX_ACCESS: u64 = 1 << 30;

/// The supported key that is most similar to an unknown one, if one is similar.
pub(super) fn nearest_key(key: &str) -> Option<&'static str> {
    let all = UNDERSTOOD.iter().copied().chain(keys::known());
    let near = all.map(|known| (strsim::damerau_levenshtein(known, key), known)).min();
    near.filter(|(distance, _)| *distance <= 2).map(|(_, known)| known)
}

/// A job file.
#[derive(Clone, PartialEq, Debug)]
pub struct JobFile {
    /// Its jobs, in order; the `numjobs` processes of a job count as one job.
    pub jobs: Vec<Job>,
}

/// Request sizes of one direction, with their shares, which add up to 1.
#[derive(Clone, PartialEq, Debug)]
pub struct SizeMix(pub Vec<(Bytes, f64)>);

impl SizeMix {
    fn one(size: Bytes) -> Self {
        Self(vec![(size, 1.0)])
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        self.0.iter().map(|(size, _)| *size).max().unwrap_or(Bytes::ZERO)
    }

    /// The smallest size.
    pub fn smallest(&self) -> Bytes {
        self.0.iter().map(|(size, _)| *size).min().unwrap_or(Bytes::ZERO)
    }
}

/// Sequential or random.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Consecutive addresses.
    Sequential,
    /// Random, as in [`Job::distribution`].
    Random,
}

/// Distribution of random addresses.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Uniformly: every block once before any again, unless `norandommap`.
    Uniform,
    /// Zipf's law with this exponent.
    Zipf(f64),
    /// Pareto's law with this power, fio's `h`, 0 to 1: a share 1 − h of the accesses goes to a share h
    /// of the blocks.
    Pareto(f64),
    /// A normal distribution around the middle of the file; the standard deviation is a percentage of
    /// the file.
    Normal(f64),
    /// Shares of accesses, each with the share of the file that they go to, from its beginning.
    Zoned(Vec<(f64, f64)>),
}

/// A job.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Name of its section.
    pub name: String,
    /// Share of reads among its requests.
    pub read_share: f64,
    /// Order of addresses.
    pub order: Order,
    /// Distribution of random addresses.
    pub distribution: Distribution,
    /// Whether random addresses may repeat before all have been used.
    pub repeats: bool,
    /// Sizes of reads and of writes.
    pub sizes: [SizeMix; 2],
    /// Random addresses are multiples of this size, if it is not the size of the smallest request.
    pub align: Option<Bytes>,
    /// Highest number of outstanding requests of each process.
    pub iodepth: u32,
    /// Number of identical processes.
    pub numjobs: u32,
    /// Size of the part of the file that is used; `None`: the whole file.
    pub size: Option<Bytes>,
    /// Start of that part.
    pub offset: Bytes,
    /// Shift of that start from one process to the next.
    pub offset_increment: Bytes,
    /// Bytes to transfer; `None`: the size of the part.
    pub io_size: Option<Bytes>,
    /// Number of requests; `None`: no limit.
    pub number_ios: Option<u64>,
    /// Number of repetitions of the whole.
    pub loops: u64,
    /// Name of the file, if given: jobs with the same name share it.
    pub filename: Option<String>,
    /// Highest rates of reads and of writes, in bytes per second.
    pub rate: [Option<f64>; 2],
    /// Highest rates of reads and of writes, in requests per second.
    pub rate_iops: [Option<f64>; 2],
    /// Time after which it ends in any case.
    pub runtime: Option<SimSpan>,
    /// Whether only the runtime ends it.
    pub time_based: bool,
    /// Requests in this time from its start are not counted.
    pub ramp_time: SimSpan,
    /// Length of a pause, which comes every [`Job::think_blocks`] requests.
    pub think: SimSpan,
    /// Number of requests between two pauses.
    pub think_blocks: u64,
    /// Delay of its start.
    pub start_delay: SimSpan,
    /// Whether it waits until all earlier jobs have ended.
    pub stonewall: bool,
}

impl JobFile {
    /// Parses the jobs of a file's text.
    ///
    /// # Errors
    ///
    /// If it is not a job file, or uses something that is not supported: the error names its key.
    pub fn parse(text: &str) -> Result<Self, FioError> {
        let sections = sections(text)?;
        let of = |(name, settings): &(String, Vec<Setting>)| Job::of(name, settings);
        let jobs = sections.iter().map(of).collect::<Result<Vec<_>, _>>()?;
        let processes: u64 = jobs.iter().map(|job| u64::from(job.numjobs)).sum();
        for (name, settings) in sections.iter().filter(|_| processes > 1) {
            let ends_others = |setting: &&Setting| {
                setting.key == "exitall" && switch(&setting.value) != Some(false)
            };
            if let Some(setting) = settings.iter().find(ends_others) {
                let why = "that a job ends the others is not simulated; give them a `runtime`";
                return Err(refused(name, setting, why));
            }
        }
        Ok(Self { jobs })
    }
}

/// Parses one value, or one for reads and one for writes.
fn pair<T>(text: &str, read: impl Fn(&str) -> Option<T>) -> Option<[Option<T>; 2]> {
    let mut parts = text.split(',');
    let part = |text: &str| if text.trim().is_empty() { Some(None) } else { read(text).map(Some) };
    let first = part(parts.next()?)?;
    let second = match parts.next() {
        Some(text) => part(text)?,
        None => read(text),
    };
    // a third value is for trims
    (parts.count() <= 1).then_some([first, second])
}

/// Sizes in a range: fio draws the least size plus a part of the largest, rounds that down to a
/// multiple of the least, and limits it to the largest.
fn range(text: &str) -> Option<SizeMix> {
    /// Limit for the number of sizes, because each takes memory.
    const MAX_SIZES: u64 = 4096;
    let (least, most) = text.split_once('-')?;
    let (least, most) = (size(least.trim())?.get(), size(most.trim())?.get());
    if least == 0 || least > most || most > MAX_ACCESS || most / least > MAX_SIZES {
        return None;
    }
    let of = |number: u64| {
        let end = ((number + 1) * least).min(most);
        (Bytes(end), (end - number * least) as f64 / most as f64)
    };
    Some(SizeMix((0..most.div_ceil(least)).map(of).collect()))
}

fn mix(text: &str) -> Option<SizeMix> {
    let mut found: Vec<(Bytes, Option<f64>)> = Vec::new();
    for part in text.split(':') {
        let (bytes, share) = match part.split_once('/') {
            Some((bytes, "")) => (bytes, None),
            Some((bytes, share)) => (bytes, Some(share.trim().parse::<f64>().ok()?)),
            None => (part, None),
        };
        let bytes = size(bytes).filter(|size| (1..=MAX_ACCESS).contains(&size.get()))?;
        found.push((
            bytes,
            share.filter(|share| (0.0..=100.0).contains(share)).or(share.map(|_| f64::NAN)),
        ));
    }
    // sizes without a share divide the rest equally
    let given: f64 = found.iter().filter_map(|(_, share)| *share).sum();
    let open = found.iter().filter(|(_, share)| share.is_none()).count();
    let rest = if open > 0 { (100.0 - given).max(0.0) / open as f64 } else { 0.0 };
    let all: f64 = found.iter().map(|(_, share)| share.unwrap_or(rest)).sum();
    let right = all.is_finite() && (all - 100.0).abs() < 1e-6;
    right.then(|| SizeMix(found.into_iter().map(|(b, s)| (b, s.unwrap_or(rest) / all)).collect()))
}

fn distribution(text: &str) -> Option<Distribution> {
    let (name, rest) = text.split_once(':').unwrap_or((text, ""));
    let number = |low: f64, high: f64, default: f64| {
        if rest.is_empty() {
            return Some(default);
        }
        rest.trim().parse::<f64>().ok().filter(|found| *found > low && *found <= high)
    };
    Some(match name.trim() {
        "random" => Distribution::Uniform,
        // fio's own defaults: theta 1.1, h 0.2
        "zipf" => Distribution::Zipf(number(0.0, 16.0, 1.1)?),
        "pareto" => Distribution::Pareto(number(0.0, 0.999_999, 0.2)?),
        "normal" | "gauss" => Distribution::Normal(number(0.0, 100.0, f64::NAN)?).checked()?,
        "zoned" => {
            let mut zones = Vec::new();
            for zone in rest.split(':') {
                let (accesses, span) = zone.split_once('/')?;
                let share = |text: &str| {
                    text.trim().parse::<f64>().ok().filter(|s| *s > 0.0 && *s <= 100.0)
                };
                zones.push((share(accesses)? / 100.0, share(span)? / 100.0));
            }
            let sum = |of: fn(&(f64, f64)) -> f64| zones.iter().map(of).sum::<f64>();
            let right = (sum(|z| z.0) - 1.0).abs() < 1e-6 && (sum(|z| z.1) - 1.0).abs() < 1e-6;
            right.then_some(Distribution::Zoned(zones))?
        }
        _ => return None,
    })
}

impl Distribution {
    fn checked(self) -> Option<Self> {
        match self {
            Self::Normal(deviation) if deviation.is_nan() => None,
            other => Some(other),
        }
    }
}

impl Job {
    fn new(name: &str) -> Self {
        let size = SizeMix::one(Bytes::kib(4));
        Self {
            name: name.to_owned(),
            read_share: 1.0,
            order: Order::Sequential,
            distribution: Distribution::Uniform,
            repeats: false,
            sizes: [size.clone(), size],
            align: None,
            iodepth: 1,
            numjobs: 1,
            size: None,
            offset: Bytes::ZERO,
            offset_increment: Bytes::ZERO,
            io_size: None,
            number_ios: None,
            loops: 1,
            filename: None,
            rate: [None; 2],
            rate_iops: [None; 2],
            runtime: None,
            time_based: false,
            ramp_time: SimSpan::ZERO,
            think: SimSpan::ZERO,
            think_blocks: 1,
            start_delay: SimSpan::ZERO,
            stonewall: false,
        }
    }

    /// The job with the settings of a section.
    ///
    /// # Errors
    ///
    /// If a key is not supported, or a value is invalid for its key.
    #[expect(clippy::too_many_lines, reason = "a table of keys")]
    pub fn of(name: &str, settings: &[Setting]) -> Result<Self, FioError> {
        let mut job = Self::new(name);
        let (mut mix_read, mut mixed, mut split, mut depth_one) = (0.5, false, [false; 2], true);
        let mut engine_known = false;
        let (mut file_size, mut low) = (None, None);
        for setting in settings {
            let value = setting.value.as_str();
            let bad = |wanted| wrong(name, setting, wanted);
            let a_size = || size(value).ok_or_else(|| bad("a size, such as 4k or 1g"));
            let a_time = |unit| time(value, unit).ok_or_else(|| bad("a time, such as 30 or 500ms"));
            let second = SimSpan::from_secs(1);
            let count = |least: u64, most: u64| {
                let found = value.parse::<u64>().ok().filter(|n| (least..=most).contains(n));
                found.ok_or_else(|| bad("a whole number in its range"))
            };
            match setting.key.as_str() {
                "rw" | "readwrite" => {
                    let (order, share) = match value {
                        "read" => (Order::Sequential, Some(1.0)),
                        "write" => (Order::Sequential, Some(0.0)),
                        "randread" => (Order::Random, Some(1.0)),
                        "randwrite" => (Order::Random, Some(0.0)),
                        "rw" | "readwrite" => (Order::Sequential, None),
                        "randrw" => (Order::Random, None),
                        _ => return Err(bad("read, write, randread, randwrite, rw or randrw")),
                    };
                    (job.order, mixed) = (order, share.is_none());
                    job.read_share = share.unwrap_or(0.5);
                }
                "rwmixread" => mix_read = count(0, 100)? as f64 / 100.0,
                "rwmixwrite" => mix_read = 1.0 - count(0, 100)? as f64 / 100.0,
                "bs" | "blocksize" => {
                    let possible =
                        |text: &str| size(text).filter(|s| (1..=MAX_ACCESS).contains(&s.get()));
                    let found = pair(value, possible).ok_or_else(|| {
                        bad("a size up to 1g, or one for reads and one for writes")
                    })?;
                    for (direction, found) in found.into_iter().enumerate() {
                        if let Some(found) = found.filter(|_| !split[direction]) {
                            job.sizes[direction] = SizeMix::one(found);
                        }
                    }
                }
                "bssplit" => {
                    let found = pair(value, mix).ok_or_else(|| {
                        bad("sizes and percentages that add up to 100, such as 4k/60:64k/40")
                    })?;
                    for (direction, found) in found.into_iter().enumerate() {
                        if let Some(found) = found {
                            job.sizes[direction] = found;
                            split[direction] = true;
                        }
                    }
                }
                "bsrange" | "blocksize_range" => {
                    let found = pair(value, range)
                        .ok_or_else(|| bad("two sizes up to 1g, such as 4k-64k"))?;
                    for (direction, found) in found.into_iter().enumerate() {
                        if let Some(found) = found.filter(|_| !split[direction]) {
                            job.sizes[direction] = found;
                        }
                    }
                }
                "ba" | "blockalign" => {
                    let found = pair(value, size).ok_or_else(|| bad("a size, such as 4k or 1m"))?;
                    let [reads, writes] = found.map(|size| size.filter(|size| *size > Bytes::ZERO));
                    if reads != writes {
                        return Err(bad("one size for reads and writes"));
                    }
                    job.align = reads;
                }
                "ioengine" => {
                    let why = "it does not read and write storage, or is not known";
                    depth_one = keys::waits(value).ok_or_else(|| refused(name, setting, why))?;
                    engine_known = true;
                }
                "iodepth_low" => low = Some((setting, count(0, 1 << 20)?)),
                "iodepth" => job.iodepth = count(1, 1 << 20)? as u32,
                "numjobs" => job.numjobs = count(1, 1 << 16)? as u32,
                "size" => match value.strip_suffix('%') {
                    // relative to a file as large as the volume's part, whose size is not known here
                    Some("100") => job.size = None,
                    Some(_) => return Err(bad("a size in bytes, or 100%")),
                    None => job.size = Some(a_size()?).filter(|size| *size > Bytes::ZERO),
                },
                "filesize" => {
                    let why = "files of different sizes are not simulated";
                    let size = size(value).ok_or_else(|| refused(name, setting, why))?;
                    file_size = Some(size).filter(|size| *size > Bytes::ZERO);
                }
                "io_size" | "io_limit" => {
                    job.io_size = Some(a_size()?).filter(|size| *size > Bytes::ZERO);
                }
                "number_ios" => job.number_ios = Some(count(0, u64::MAX)?).filter(|n| *n > 0),
                "offset" => job.offset = a_size()?,
                "offset_increment" => job.offset_increment = a_size()?,
                "filename" => {
                    let several = value.replace("\\:", "").contains(':');
                    if several {
                        let why = "several files of a job are not simulated; a colon in a name is written `\\:`";
                        return Err(refused(name, setting, why));
                    }
                    job.filename = Some(value.to_owned());
                }
                "random_distribution" => {
                    job.distribution = distribution(value)
                        .ok_or_else(|| bad("random, zipf:THETA, pareto:H, normal:DEVIATION, or zoned:ACCESSES/SPAN:..."))?;
                }
                "norandommap" => job.repeats = switch(value).ok_or_else(|| bad("0 or 1"))?,
                "rate" => {
                    let found = pair(value, |text| size(text).map(|size| size.get() as f64))
                        .ok_or_else(|| bad("bytes per second"))?;
                    job.rate = found.map(|rate| rate.filter(|rate| *rate > 0.0));
                }
                "rate_iops" => {
                    let found = pair(value, |text| text.trim().parse::<u32>().ok())
                        .ok_or_else(|| bad("requests per second"))?;
                    job.rate_iops = found.map(|rate| rate.filter(|rate| *rate > 0).map(f64::from));
                }
                "runtime" | "timeout" => {
                    job.runtime = Some(a_time(second)?).filter(|time| !time.is_zero());
                }
                "ramp_time" => job.ramp_time = a_time(second)?,
                "time_based" => job.time_based = switch(value).ok_or_else(|| bad("0 or 1"))?,
                "thinktime" => job.think = a_time(SimSpan::from_us(1))?,
                "thinktime_blocks" => job.think_blocks = count(1, u64::MAX)?,
                "startdelay" | "start_delay" => job.start_delay = a_time(second)?,
                "stonewall" | "wait_for_previous" => {
                    job.stonewall = switch(value).ok_or_else(|| bad("nothing, 0 or 1"))?;
                }
                "loops" => job.loops = count(1, u64::MAX)?,
                // the job file knows whether there are others to end
                "exitall" => {}
                key if keys::is_without_effect(key, value) => {}
                _ => return Err(unsupported(name, setting)),
            }
        }
        if mixed {
            job.read_share = mix_read;
        }
        // fio's default engine on Linux is psync
        if depth_one || !engine_known {
            job.iodepth = if engine_known { 1 } else { job.iodepth };
        }
        if let Some((setting, low)) = low
            && low > 0
            && low != u64::from(job.iodepth)
        {
            return Err(refused(name, setting, "requests in batches are not simulated"));
        }
        if let Some(size) = file_size {
            job.io_size = job.io_size.or(job.size);
            job.size = Some(size);
        }
        let smallest = job.sizes.iter().map(SizeMix::smallest).min();
        job.align = job.align.filter(|align| Some(*align) != smallest);
        // as fio says: "any use of blockalign= turns off randommap"
        job.repeats |= job.align.is_some();
        let missing =
            |what: &str| Err(FioError::Job { job: name.to_owned(), what: what.to_owned() });
        if job.time_based && job.runtime.is_none() {
            return missing("it is `time_based`, and has no `runtime`");
        }
        Ok(job)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Job {
        JobFile::parse(&format!("[j]\n{text}")).unwrap().jobs.remove(0)
    }

    #[test]
    fn defaults_are_those_of_fio() {
        let job = only("");
        assert_eq!(
            (job.read_share, job.order, job.iodepth, job.numjobs),
            (1.0, Order::Sequential, 1, 1)
        );
        assert_eq!(job.sizes[0], SizeMix::one(Bytes::kib(4)));
    }

    #[test]
    fn settings_are_understood() {
        let job = only(
            "rw=randrw\nrwmixread=70\nbssplit=4k/60:64k/40,8k/100\niodepth=16\nioengine=libaio\n\
             random_distribution=zoned:60/10:40/90\nrate=1m,512k\nrate_iops=,100\nruntime=30\n\
             thinktime=500\nthinktime_blocks=4\nramp_time=2s\ntime_based\n",
        );
        assert_eq!((job.read_share, job.order, job.iodepth), (0.7, Order::Random, 16));
        assert_eq!(job.sizes[0].0, [(Bytes::kib(4), 0.6), (Bytes::kib(64), 0.4)]);
        assert_eq!(job.sizes[1], SizeMix::one(Bytes::kib(8)));
        assert_eq!(job.distribution, Distribution::Zoned(vec![(0.6, 0.1), (0.4, 0.9)]));
        assert_eq!(job.rate, [Some(1_048_576.0), Some(524_288.0)]);
        assert_eq!(job.rate_iops, [None, Some(100.0)]);
        assert_eq!((job.runtime, job.think), (Some(SimSpan::from_secs(30)), SimSpan::from_us(500)));
        assert_eq!(job.think_blocks, 4);
        assert_eq!(only("ioengine=psync\niodepth=8").iodepth, 1, "a synchronous engine waits");
        let [reads, writes] = only("bsrange=4k-16k,8k-12k").sizes;
        assert_eq!(reads.0.iter().map(|(s, _)| s.get() >> 10).collect::<Vec<_>>(), [4, 8, 12, 16]);
        assert!(reads.0.iter().all(|(_, share)| (share - 0.25).abs() < 1e-12));
        assert_eq!(writes.0, [(Bytes::kib(8), 2.0 / 3.0), (Bytes::kib(12), 1.0 / 3.0)]);
        assert_eq!(only("bs=4k,64k").sizes[1], SizeMix::one(Bytes::kib(64)));
        assert!(only("rw=write\nrwmixread=70").read_share < 1e-12, "a mix is of mixed jobs");
    }

    #[test]
    fn what_changes_no_request_is_accepted() {
        let plain = only("rw=randread\nioengine=rbd\niodepth=8");
        let with = only(
            "rw=randread\nioengine=rbd\niodepth=8\nclientname=admin\npool=rbd\nrbdname=test\nclustername=ceph\n\
             busy_poll=0\ndo_verify=0\nverify=0\nexitall\nnrfiles=1\niodepth_low=8\ndirect=1\nfdatasync=0\n\
             http_host=x\nnfs_url=nfs://x/y\ninitiator=iqn\nzonemode=none\nfile_service_type=random",
        );
        assert_eq!(plain, with);
        // the file has 1 GiB, of which 64 MiB are moved
        let job = only("size=64m\nfilesize=1g");
        assert_eq!((job.size, job.io_size), (Some(Bytes::gib(1)), Some(Bytes::mib(64))));
        let job = only("rw=randread\nba=1m");
        assert_eq!((job.align, job.repeats), (Some(Bytes::mib(1)), true));
        assert_eq!(only("rw=randread\nba=4k").align, None);
    }

    #[test]
    fn what_is_not_supported_is_named() {
        let message = |text: &str| JobFile::parse(text).unwrap_err().to_string();
        assert_eq!(
            message("[a]\nrw=randread\nverify=crc32c\n"),
            "fio job file, line 3, job `a`: `verify` is not supported as `crc32c`; it would change the requests; allowed: `verify=0`, `verify=none`, `verify=false`"
        );
        assert_eq!(
            message("[a]\niodept=4\n"),
            "fio job file, line 2, job `a`: `iodept` is not supported; did you mean `iodepth`?"
        );
        for refused in [
            "create_only=1",
            "create_only",
            "nrfiles=8",
            "file_append=1",
            "buffered=1",
            "direct=0",
            "iodepth_batch=8",
            "iodepth_batch_complete_min=4",
            "iodepth_low=2",
            "max_latency=1s",
            "latency_target=5ms",
            "steadystate=iops:0.3%",
            "zonemode=strided",
            "fsync=1",
            "rate_process=poisson",
            "read_iolog=x",
            "opendir=/x",
            "filename=/dev/a:/dev/b",
            "filesize=1m-2m",
            "ioengine=cpuio",
            "percentage_random=50",
        ] {
            let key = refused.split('=').next().unwrap();
            let found = message(&format!("[a]\nrw=randread\niodepth=8\n{refused}\n"));
            assert!(
                found.contains(&format!("line 4, job `a`: `{key}` is not supported")),
                "{found}"
            );
        }
        let found = message("[a]\nruntime=1\n[b]\nexitall\n");
        assert!(found.contains("line 4, job `b`: `exitall` is not supported"), "{found}");
        assert!(message("[a]\nrw=randtrim\n").contains("`rw` is `randtrim`; wanted read, write"));
        assert!(message("[a]\nbssplit=4k/60:8k/60\n").contains("add up to 100"));
        assert!(message("[a]\nbsrange=8k-4k\n").contains("two sizes"));
        assert!(message("[a]\nbsrange=1-1g\n").contains("two sizes"));
        assert!(message("[a]\ntime_based\n").contains("no `runtime`"));
        assert!(message("[a]\nrandom_distribution=normal\n").contains("normal:DEVIATION"));
    }
}
