//! `IOzone` as Thereska et al. 2006 runs it (Section IV-A): one file of 2 GB is written sequentially in records
//! of 64 KB, then read sequentially; results are megabytes per second written and read.
//!
//! Each test makes one pass over the file, as in `iozone -i 0 -i 1` but without the re-write and re-read, which
//! the paper does not report. Flushing after the writing is not counted (no `-e`). A "KB" is taken as 1024
//! bytes; a result's MB is 10⁶ bytes, as everywhere here.

use foretell_units::Bytes;

use super::GenerateError;
use crate::transaction::{TransactionStep, Transactions};

/// Settings of `IOzone`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Iozone {
    /// Bytes of the file.
    pub file: Bytes,
    /// Bytes of a record; the last record of the file may be shorter.
    pub record: Bytes,
    /// Number of times that the file is written and read.
    pub passes: u64,
}

impl Default for Iozone {
    fn default() -> Self {
        Self { file: Bytes::gib(2), record: Bytes::kib(64), passes: 1 }
    }
}

impl Iozone {
    /// The transactions, of one record each, on a volume of `volume` bytes; the file begins at `base`.
    ///
    /// # Errors
    ///
    /// If the file does not fit, or a record is empty.
    pub fn over(self, volume: Bytes, base: Bytes) -> Result<IozoneRecords, GenerateError> {
        if self.record == Bytes::ZERO {
            return Err(GenerateError::NoAccess);
        }
        let working_set = Bytes(base.get().saturating_add(self.file.get()));
        if working_set > volume {
            return Err(GenerateError::BeyondVolume { working_set, volume });
        }
        Ok(IozoneRecords { iozone: self, base, next: 0 })
    }
}

/// The records of the file: all are written, then all are read.
#[derive(Clone, Debug)]
pub struct IozoneRecords {
    iozone: Iozone,
    base: Bytes,
    /// Number of records so far, over all passes.
    next: u64,
}

impl Transactions for IozoneRecords {
    fn next(&mut self, steps: &mut Vec<TransactionStep>) -> bool {
        let Iozone { file, record, passes } = self.iozone;
        let records = file.div_ceil(record);
        if records == 0 || self.next / records >= passes.saturating_mul(2) {
            return false;
        }
        let (phase, index) = (self.next / records, self.next % records);
        self.next += 1;
        let at = record * index;
        let (offset, size) = (self.base + at, record.min(file - at));
        steps.push(if phase % 2 == 0 {
            TransactionStep::write(offset, size)
        } else {
            TransactionStep::read(offset, size)
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_then_read_in_order() {
        // 200 KiB in records of 64 KiB: three full ones and one of 8 KiB
        let iozone = Iozone { file: Bytes::kib(200), ..Iozone::default() };
        let mut records = iozone.over(Bytes::mib(1), Bytes::kib(100)).unwrap();
        let mut steps = Vec::new();
        while records.next(&mut steps) {}
        let sizes = [64, 64, 64, 8].map(Bytes::kib);
        let offsets = [100, 164, 228, 292].map(Bytes::kib);
        let expected: Vec<TransactionStep> = (0..8)
            .map(|i| {
                let (offset, size) = (offsets[i % 4], sizes[i % 4]);
                if i < 4 {
                    TransactionStep::write(offset, size)
                } else {
                    TransactionStep::read(offset, size)
                }
            })
            .collect();
        assert_eq!(steps, expected);
        assert!(!records.next(&mut steps), "an end is an end");
    }

    #[test]
    fn a_file_must_fit() {
        let refused = Iozone::default().over(Bytes::gib(2), Bytes(512)).unwrap_err().to_string();
        assert!(refused.contains("but the volume has 2 GiB"), "{refused}");
    }
}
