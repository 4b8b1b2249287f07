//! The OLTP workload of Thereska et al. 2006 (Section IV-A): an on-line database that processes transactions.
//!
//! A transaction reads and writes back a small number of records of 8 KB in a database of 5 GB, one after the
//! other; results are transactions per minute. The paper does not give the number of records. *Assumed*:
//! four, because the paper speaks of a small number, and TPC-C's short transactions change some three to
//! five. The paper does not say how records are chosen. *Assumed*: uniformly at random; Zipf's law can be
//! selected. Not modelled: the log, which the paper does not mention, and locks: two transactions that change
//! the same record do not wait for each other. "8 KB" and "5 GB" are taken as 8 KiB and 5 GiB.

use foretell_units::{Bytes, Stream};

use super::{Addresses, GenerateError, Pattern};
use crate::transaction::{TransactionStep, Transactions};

/// Settings of the OLTP workload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Oltp {
    /// Bytes of the database, from the beginning of the volume.
    pub database: Bytes,
    /// Bytes of a record; records lie side by side.
    pub record: Bytes,
    /// Number of records that a transaction reads and writes back; at least one.
    pub records: u32,
    /// Choice of records.
    pub pattern: Pattern,
}

impl Default for Oltp {
    fn default() -> Self {
        let (database, record) = (Bytes::gib(5), Bytes::kib(8));
        Self { database, record, records: 4, pattern: Pattern::Random }
    }
}

impl Oltp {
    /// The transactions on a volume of `volume` bytes.
    ///
    /// # Errors
    ///
    /// If the database does not fit the volume, or holds too few records.
    pub fn over(self, volume: Bytes, stream: Stream) -> Result<OltpTransactions, GenerateError> {
        if self.database > volume {
            return Err(GenerateError::BeyondVolume { working_set: self.database, volume });
        }
        let addresses = self.pattern.over(self.database, self.record)?;
        Ok(OltpTransactions { oltp: self, addresses, stream })
    }
}

/// An endless sequence of transactions.
#[derive(Clone, Debug)]
pub struct OltpTransactions {
    oltp: Oltp,
    addresses: Addresses,
    stream: Stream,
}

impl Transactions for OltpTransactions {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        let record = self.oltp.record;
        for _ in 0..self.oltp.records.max(1) {
            let offset = record * self.addresses.next(&mut self.stream);
            steps.extend([
                TransactionStep::read(offset, record),
                TransactionStep::write(offset, record),
            ]);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use foretell_units::Seed;

    use super::*;
    use crate::chi_square::assert_fits;

    fn transactions(oltp: Oltp, count: usize) -> Vec<Vec<TransactionStep>> {
        let mut source = oltp.over(Bytes::gib(6), Seed(1).stream("oltp")).unwrap();
        (0..count)
            .map(|_| {
                let mut steps = Vec::new();
                assert!(source.next(&mut steps));
                steps
            })
            .collect()
    }

    #[test]
    fn each_record_is_read_and_then_written_back() {
        for steps in transactions(Oltp::default(), 100) {
            assert_eq!(steps.len(), 8, "four records, read and written");
            for pair in steps.chunks(2) {
                let [TransactionStep::Io(read), TransactionStep::Io(write)] = pair else {
                    panic!("{pair:?}")
                };
                assert_eq!((read.op, write.op), (crate::Op::Read, crate::Op::Write));
                assert_eq!((read.offset, read.size), (write.offset, write.size));
                assert_eq!(read.size, Bytes::kib(8));
                assert!(read.offset.get().is_multiple_of(8192) && read.end() <= Bytes::gib(5));
            }
        }
    }

    #[test]
    fn records_are_chosen_uniformly_or_by_zipf() {
        for (pattern, weights) in [
            (Pattern::Random, vec![1.0; 100]),
            (
                Pattern::Zipf { alpha: 0.8 },
                (1..=100).map(|r| libm::pow(f64::from(r), -0.8)).collect(),
            ),
        ] {
            let oltp = Oltp { database: Bytes::kib(800), pattern, ..Oltp::default() };
            let mut counts = vec![0; 100];
            for step in transactions(oltp, 50_000).concat() {
                let TransactionStep::Io(access) = step else { panic!("no server") };
                counts[(access.offset.get() / 8192) as usize] +=
                    u64::from(access.op == crate::Op::Read);
            }
            assert_fits(&counts, &weights);
        }
    }

    #[test]
    fn a_database_must_fit() {
        let refused = Oltp::default().over(Bytes::gib(4), Seed(1).stream("x")).unwrap_err();
        assert_eq!(refused.to_string(), "`working_set` is 5 GiB, but the volume has 4 GiB");
    }
}
