//! The Flexible File System Benchmark as Noorshams et al. 2013 runs it (Section 4.3).
//!
//! A set of files of 16 MB. Each operation of a thread reads or writes one of them, chosen at random, by
//! 256 sub-requests of one size, one after the other: either sequentially, in consecutive blocks from a
//! random place, or each at a random place. Direct I/O: nothing is cached on the client. *Assumed*: places
//! are multiples of 4 KiB, the file system's block. A sequential operation begins where all of its
//! sub-requests fit; if they never do, it begins at the start of the file and wraps around. Creating the
//! files takes no simulated time. "MB" and "KB" are powers of 1024 here, and files lie side by side.

use foretell_units::{Bytes, Stream};

use super::GenerateError;
use super::pattern::check_share;
use crate::transaction::{TransactionStep, Transactions};

/// Sub-requests begin at multiples of this, or of their size if it is smaller.
const ALIGNED: u64 = 4096;

/// Settings of FFSB.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ffsb {
    /// Bytes of all files; only whole files are used.
    pub file_set: Bytes,
    /// Bytes of a file.
    pub file: Bytes,
    /// Bytes of a sub-request.
    pub request: Bytes,
    /// Number of sub-requests in an operation; at least one.
    pub sub_requests: u32,
    /// Whether sub-requests are consecutive in the file.
    pub sequential: bool,
    /// Share of operations that read.
    pub read_share: f64,
}

impl Default for Ffsb {
    /// 25 GB of files, half random reads and half random writes of 4 KB: values from the paper's Table 1.
    fn default() -> Self {
        Self {
            file_set: Bytes::gib(25),
            file: Bytes::mib(16),
            request: Bytes::kib(4),
            sub_requests: 256,
            sequential: false,
            read_share: 0.5,
        }
    }
}

impl Ffsb {
    /// An endless sequence of operations, on files that lie from `base` on in a volume of `volume` bytes.
    ///
    /// # Errors
    ///
    /// If a setting is impossible, or the files do not fit.
    pub fn over(
        self,
        volume: Bytes,
        base: Bytes,
        stream: Stream,
    ) -> Result<FfsbOperations, GenerateError> {
        check_share("read_share", self.read_share)?;
        if self.request == Bytes::ZERO {
            return Err(GenerateError::NoAccess);
        }
        let working_set = Bytes(base.get().saturating_add(self.file_set.get()));
        if working_set > volume {
            return Err(GenerateError::BeyondVolume { working_set, volume });
        }
        let too_small = |working_set, wanted| GenerateError::TooSmall {
            working_set,
            wanted,
            least: 1,
            access: wanted,
        };
        if self.file < self.request {
            return Err(too_small(self.file, self.request));
        }
        if self.file_set < self.file {
            return Err(too_small(self.file_set, self.file));
        }
        Ok(FfsbOperations { ffsb: self, base, stream })
    }
}

/// An endless sequence of operations.
#[derive(Clone, Debug)]
pub struct FfsbOperations {
    ffsb: Ffsb,
    base: Bytes,
    stream: Stream,
}

impl Transactions for FfsbOperations {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        let Ffsb { file_set, file, request, sub_requests, sequential, read_share } = self.ffsb;
        let stream = &mut self.stream;
        let reads = stream.chance(read_share);
        let begin = self.base + file * stream.below(file_set.get() / file.get());
        let unit = ALIGNED.min(request.get());
        let place = |stream: &mut Stream, span: Bytes| {
            let room = file.saturating_sub(span).get();
            Bytes(stream.below(room / unit + 1) * unit)
        };
        let count = u64::from(sub_requests.max(1));
        let span = Bytes(request.get().saturating_mul(count));
        let mut next = if sequential { place(stream, span) } else { Bytes::ZERO };
        for _ in 0..count {
            let within = if sequential {
                if next + request > file {
                    next = Bytes::ZERO;
                }
                let here = next;
                next += request;
                here
            } else {
                place(stream, request)
            };
            let offset = begin + within;
            steps.push(if reads {
                TransactionStep::read(offset, request)
            } else {
                TransactionStep::write(offset, request)
            });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::{Op, Seed};

    use super::*;
    use crate::Access;
    use crate::chi_square::assert_fits;

    fn operations(ffsb: Ffsb, count: usize) -> Vec<Vec<Access>> {
        let mut source = ffsb.over(Bytes::gib(100), Bytes::ZERO, Seed(1).stream("ffsb")).unwrap();
        let mut steps = Vec::new();
        (0..count)
            .map(|_| {
                assert!(source.next(&mut steps));
                let access = |step| match step {
                    TransactionStep::Io(access) => access,
                    TransactionStep::Cached(_) => panic!("direct"),
                };
                steps.drain(..).map(access).collect()
            })
            .collect()
    }

    #[test]
    fn an_operation_is_256_sub_requests_to_one_file() {
        for sequential in [false, true] {
            let ffsb = Ffsb { request: Bytes::kib(12), sequential, ..Ffsb::default() };
            for operation in operations(ffsb, 50) {
                assert_eq!(operation.len(), 256);
                let file = operation[0].offset.get() >> 24;
                assert!(operation.iter().all(|access| access.op == operation[0].op));
                assert!(
                    operation
                        .iter()
                        .all(|a| a.offset.get() >> 24 == file && (a.end().get() - 1) >> 24 == file)
                );
                let follow =
                    operation.windows(2).filter(|pair| pair[1].offset == pair[0].end()).count();
                assert!(if sequential { follow == 255 } else { follow < 5 }, "{follow}");
            }
        }
    }

    #[test]
    fn files_places_and_directions_have_their_shares() {
        let ffsb = Ffsb {
            file_set: Bytes::mib(160),
            read_share: 0.7,
            request: Bytes::kib(64),
            ..Ffsb::default()
        };
        let (mut files, mut places, mut reads) = (vec![0; 10], vec![0; 4081], [0; 2]);
        for operation in operations(ffsb, 4_000) {
            files[(operation[0].offset.get() >> 24) as usize] += 1;
            reads[usize::from(operation[0].op == Op::Read)] += 1;
            for access in operation {
                // 16 MiB − 64 KiB are 4080 steps of 4 KiB, so there is one place more
                places[((access.offset.get() & 0xff_ffff) / 4096) as usize] += 1;
            }
        }
        assert_fits(&files, &[1.0; 10]);
        assert_fits(&reads, &[0.3, 0.7]);
        assert_fits(&places, &vec![1.0; 4081]);
    }

    #[test]
    fn a_sequential_operation_longer_than_a_file_goes_round() {
        let ffsb = Ffsb {
            file: Bytes::kib(10),
            file_set: Bytes::kib(10),
            request: Bytes::kib(4),
            sub_requests: 3,
            sequential: true,
            ..Ffsb::default()
        };
        let offsets: Vec<u64> =
            operations(ffsb, 1)[0].iter().map(|a| a.offset.get() >> 10).collect();
        assert_eq!(offsets, [0, 4, 0]);
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refused = |ffsb: Ffsb| {
            ffsb.over(Bytes::gib(1), Bytes::ZERO, Seed(1).stream("x")).unwrap_err().to_string()
        };
        assert!(refused(Ffsb::default()).contains("the volume has 1 GiB"));
        let small = Ffsb { file_set: Bytes::mib(15), ..Ffsb::default() };
        assert!(refused(small).contains("wanted at least 16 MiB"));
    }
}
