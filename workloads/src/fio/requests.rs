//! The requests of one process of a job.

use foretell_units::{Bytes, Stream};
use rand_distr::StandardNormal;

use super::job::{Distribution, Job, Order, SizeMix};
use super::shuffle::Shuffle;
use crate::generate::{GenerateError, Zipf};
use crate::source::{Source, SourceError};
use crate::{Access, Op, Request};

/// The requests of a process, one after the other, until it has transferred its amount.
#[derive(Clone, Debug)]
pub struct JobRequests {
    job: Job,
    /// Start and size of its part of the volume.
    base: Bytes,
    span: Bytes,
    places: Places,
    /// Random addresses are multiples of this number of bytes.
    unit: u64,
    /// Start of the next sequential request, in the part.
    next: Bytes,
    bytes_left: Option<u64>,
    requests_left: Option<u64>,
    stream: Stream,
}

/// Random addresses: multiples of the smallest block, or of the job's alignment.
#[derive(Clone, Debug)]
enum Places {
    Uniform,
    Once {
        shuffle: Shuffle,
        drawn: u64,
    },
    Zipf(Zipf, Shuffle),
    /// As in fio: block = blocks · u^(ln h / ln(1 − h)), spread by a hash.
    Pareto(f64, Shuffle),
    Normal(f64),
    Zoned(Vec<(f64, f64)>),
}

impl JobRequests {
    /// The process's requests on `span` bytes from `base` of the volume on.
    ///
    /// # Errors
    ///
    /// If no request fits, or the distribution is impossible.
    pub fn new(
        job: &Job,
        base: Bytes,
        span: Bytes,
        mut stream: Stream,
    ) -> Result<Self, GenerateError> {
        let smallest = job.sizes.iter().map(SizeMix::smallest).min().unwrap_or(Bytes::ZERO);
        let unit = job.align.unwrap_or(smallest);
        let largest = job.sizes.iter().map(SizeMix::largest).max().unwrap_or(Bytes::ZERO);
        if smallest == Bytes::ZERO {
            return Err(GenerateError::NoAccess);
        }
        if span < largest {
            return Err(GenerateError::TooSmall {
                working_set: span,
                wanted: largest,
                least: 1,
                access: largest,
            });
        }
        if job.order == Order::Random && span < unit {
            return Err(GenerateError::TooSmall {
                working_set: span,
                wanted: unit,
                least: 1,
                access: unit,
            });
        }
        let blocks = (span.get() / unit.get()).clamp(1, 1 << 53);
        let shuffle = Shuffle::new(blocks, std::array::from_fn(|_| stream.bits()));
        // fio keeps no map of blocks if sizes differ
        let one_size = job.sizes.iter().all(|mix| mix.0.len() == 1 && mix.0[0].0 == unit);
        let places = match &job.distribution {
            Distribution::Uniform if one_size && !job.repeats => Places::Once { shuffle, drawn: 0 },
            Distribution::Uniform => Places::Uniform,
            Distribution::Zipf(theta) => Places::Zipf(Zipf::new(blocks, *theta)?, shuffle),
            Distribution::Pareto(h) => Places::Pareto(libm::log(*h) / libm::log(1.0 - *h), shuffle),
            Distribution::Normal(deviation) => Places::Normal(*deviation / 100.0),
            Distribution::Zoned(zones) => Places::Zoned(zones.clone()),
        };
        let whole = span.get() / smallest.get() * smallest.get();
        let moved = job.io_size.map_or(whole, Bytes::get).saturating_mul(job.loops);
        Ok(Self {
            unit: unit.get(),
            job: job.clone(),
            base,
            span,
            places,
            next: Bytes::ZERO,
            bytes_left: (!job.time_based).then_some(moved),
            requests_left: job.number_ios,
            stream,
        })
    }

    fn size(&mut self, op: Op) -> Bytes {
        let mix = &self.job.sizes[op as usize].0;
        if let [(only, _)] = mix.as_slice() {
            return *only;
        }
        let mut place = self.stream.unit();
        for (size, share) in mix {
            if place < *share {
                return *size;
            }
            place -= share;
        }
        mix[mix.len() - 1].0
    }

    /// A random address for `size` bytes.
    fn place(&mut self, size: Bytes) -> Bytes {
        let unit = self.unit;
        let blocks = (self.span.get() / unit).clamp(1, 1 << 53);
        let stream = &mut self.stream;
        let block = match &mut self.places {
            Places::Uniform => stream.below(blocks),
            Places::Once { shuffle, drawn } => {
                if *drawn == blocks {
                    *drawn = 0;
                    *shuffle = Shuffle::new(blocks, std::array::from_fn(|_| stream.bits()));
                }
                *drawn += 1;
                shuffle.at(*drawn - 1)
            }
            // popular blocks are scattered, as fio hashes them
            Places::Zipf(zipf, shuffle) => shuffle.at(zipf.draw(stream)),
            Places::Pareto(power, shuffle) => {
                let rank = libm::pow(stream.unit(), *power) * blocks as f64;
                shuffle.at((rank as u64).min(blocks - 1))
            }
            Places::Normal(deviation) => loop {
                let off: f64 = stream.sample(&StandardNormal);
                let place = (0.5 + off * *deviation) * blocks as f64;
                if place >= 0.0 && place < blocks as f64 {
                    break place as u64;
                }
            },
            Places::Zoned(zones) => {
                let mut chance = stream.unit();
                let (mut begin, mut chosen) = (0.0, (0.0, 1.0));
                for (accesses, span) in zones.iter() {
                    chosen = (begin, *span);
                    if chance < *accesses {
                        break;
                    }
                    chance -= accesses;
                    begin += span;
                }
                let place = (chosen.0 + stream.unit() * chosen.1) * blocks as f64;
                (place as u64).min(blocks - 1)
            }
        };
        // a large request does not begin so late that it would leave the part
        Bytes(block * unit).min(Bytes((self.span - size).get() / unit * unit))
    }
}

impl Source for JobRequests {
    fn next_request(&mut self) -> Result<Option<Request>, SourceError> {
        if self.requests_left == Some(0) || self.bytes_left == Some(0) {
            return Ok(None);
        }
        let op = if self.stream.chance(self.job.read_share) { Op::Read } else { Op::Write };
        let size = self.size(op);
        let at = match self.job.order {
            Order::Random => self.place(size),
            Order::Sequential => {
                // reads and writes of a mixed job continue from one another, because fio has one
                // position per file
                let next = &mut self.next;
                if *next + size > self.span {
                    *next = Bytes::ZERO;
                }
                let at = *next;
                *next += size;
                at
            }
        };
        if let Some(left) = &mut self.bytes_left {
            *left = left.saturating_sub(size.get());
        }
        if let Some(left) = &mut self.requests_left {
            *left -= 1;
        }
        let access = Access { op, offset: self.base + at, size };
        Ok(Some(Request { at: None, access }))
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::chi_square::assert_fits;
    use crate::fio::JobFile;

    fn stream(name: &str) -> Stream {
        Seed(1).stream(name)
    }

    fn accesses(text: &str, span: Bytes, count: usize) -> Vec<Access> {
        let job = JobFile::parse(&format!("[j]\n{text}")).unwrap().jobs.remove(0);
        let mut source = JobRequests::new(&job, Bytes::mib(1), span, stream("fio")).unwrap();
        let mut found = Vec::new();
        while found.len() < count
            && let Some(request) = source.next_request().unwrap()
        {
            found.push(request.access);
        }
        for access in &found {
            assert!(access.offset >= Bytes::mib(1) && access.end() <= Bytes::mib(1) + span);
        }
        found
    }

    fn blocks(found: &[Access], count: usize) -> Vec<u64> {
        let mut counts = vec![0; count];
        for access in found {
            counts[((access.offset - Bytes::mib(1)).get() / 4096) as usize] += 1;
        }
        counts
    }

    #[test]
    fn a_job_ends_when_it_has_moved_its_size() {
        let found = accesses("rw=read", Bytes::kib(40), 1_000);
        let offsets: Vec<u64> = found.iter().map(|a| (a.offset.get() >> 10) - 1024).collect();
        assert_eq!(offsets, [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]);
        assert_eq!(accesses("rw=read\nloops=3", Bytes::kib(40), 1_000).len(), 30);
        assert_eq!(accesses("rw=read\nio_size=8k", Bytes::kib(40), 1_000).len(), 2);
        assert_eq!(accesses("rw=read\nnumber_ios=7", Bytes::kib(40), 1_000).len(), 7);
        assert_eq!(accesses("rw=read\ntime_based\nruntime=1", Bytes::kib(40), 1_000).len(), 1_000);
    }

    #[test]
    fn random_blocks_come_once_each_unless_there_is_no_map() {
        let found = accesses("rw=randread", Bytes::kib(400), 1_000);
        assert_eq!(blocks(&found, 100), [1; 100]);
        let found = accesses("rw=randread\nnorandommap\nloops=1000", Bytes::kib(400), 100_000);
        assert_fits(&blocks(&found, 100), &[1.0; 100]);
    }

    #[test]
    fn aligned_addresses_are_multiples() {
        let found = accesses("rw=randread\nba=64k\nloops=100", Bytes::mib(1), 10_000);
        let mut counts = [0; 16];
        for access in &found {
            assert_eq!((access.offset.get() % (64 << 10), access.size), (0, Bytes::kib(4)));
            counts[((access.offset - Bytes::mib(1)).get() >> 16) as usize] += 1;
        }
        assert_fits(&counts, &[1.0; 16]);
        let job = JobFile::parse("[j]\nrw=randread\nba=2m").unwrap().jobs.remove(0);
        assert!(JobRequests::new(&job, Bytes(0), Bytes::mib(1), stream("x")).is_err());
    }

    #[test]
    fn directions_and_sizes_have_their_shares() {
        let text = "rw=randrw\nrwmixread=30\nbssplit=4k/60:8k/30:64k/10,16k\nloops=100000";
        let found = accesses(text, Bytes::mib(1), 100_000);
        let reads: Vec<&Access> = found.iter().filter(|a| a.op == Op::Read).collect();
        assert_fits(&[reads.len() as u64, (found.len() - reads.len()) as u64], &[0.3, 0.7]);
        let of = |kib: u64| reads.iter().filter(|a| a.size == Bytes::kib(kib)).count() as u64;
        assert_fits(&[of(4), of(8), of(64)], &[0.6, 0.3, 0.1]);
        assert!(found.iter().all(|a| a.op == Op::Read || a.size == Bytes::kib(16)));
    }

    #[test]
    fn distributions_fit_their_laws() {
        let draw = |law: &str, blocks_of: usize| {
            let text = format!("rw=randread\nrandom_distribution={law}\nloops=100000");
            blocks(&accesses(&text, Bytes::kib(4) * blocks_of as u64, 200_000), blocks_of)
        };
        let zoned = draw("zoned:60/10:30/20:10/70", 100);
        let weights: Vec<f64> = (0..100)
            .map(|block| match block {
                0..10 => 0.6 / 10.0,
                10..30 => 0.3 / 20.0,
                _ => 0.1 / 70.0,
            })
            .collect();
        assert_fits(&zoned, &weights);
        let mut zipf = draw("zipf:1.2", 50);
        zipf.sort_unstable_by(|a, b| b.cmp(a));
        assert_fits(&zipf[..3], &[1.0, libm::pow(2.0, -1.2), libm::pow(3.0, -1.2)]);
        // a share 1 − h of the accesses goes to a share h of the blocks
        let mut pareto = draw("pareto:0.2", 100);
        pareto.sort_unstable_by(|a, b| b.cmp(a));
        let top: u64 = pareto[..20].iter().sum();
        assert!((top as f64 / 200_000.0 - 0.8).abs() < 0.01, "{top}");
        // half of a normal distribution lies within 0.674 deviations: 6.74 of 100 blocks on either
        // side
        let normal = draw("normal:10", 100);
        let inner: u64 = normal[43..57].iter().sum();
        // 7 blocks on either side: erf(0.7/√2) = 0.516
        assert!((inner as f64 / 200_000.0 - 0.516).abs() < 0.01, "{inner}");
    }

    #[test]
    fn a_part_without_room_is_refused() {
        let job = JobFile::parse("[j]\nbs=64k").unwrap().jobs.remove(0);
        assert!(JobRequests::new(&job, Bytes(0), Bytes::kib(32), stream("x")).is_err());
    }
}
