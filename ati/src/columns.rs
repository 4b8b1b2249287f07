//! A record as the integers of its table's row, and back.
//!
//! The store keeps integers only. Unsigned 64-bit values go in as the signed integer of the same
//! bits, which is the same number below 2^63.

use foretell_units::{Breadcrumb, HostId, SECTOR_BYTES};

use crate::kind::HEADER_COLUMNS;
use crate::{Body, Header, Op, Phase, Record, RecordKind};

/// Columns of the widest table, `request`.
pub(crate) const MAX_COLUMNS: usize = 12;

/// Takes rows, each with as many columns as its table has.
///
/// The number is a constant of each call, so that a row is written without a loop.
pub(crate) trait RowSink {
    /// Why a row may not be taken.
    type Error;
    /// Takes the next row of the table of `kind`.
    fn row<const N: usize>(&mut self, kind: RecordKind, row: [i64; N]) -> Result<(), Self::Error>;
}

impl Record {
    /// Its row: a cell for each of [`RecordKind::columns`].
    pub fn row(&self) -> Vec<i64> {
        struct Cells(Vec<i64>);
        impl RowSink for Cells {
            type Error = std::convert::Infallible;
            fn row<const N: usize>(
                &mut self,
                _: RecordKind,
                row: [i64; N],
            ) -> Result<(), Self::Error> {
                self.0.extend(row);
                Ok(())
            }
        }
        let mut cells = Cells(Vec::with_capacity(MAX_COLUMNS));
        let Ok(()) = write_row(self, &mut cells);
        cells.0
    }
}

/// Passes the row of `record` to `sink`.
#[inline]
pub(crate) fn write_row<S: RowSink>(record: &Record, sink: &mut S) -> Result<(), S::Error> {
    let h = &record.header;
    let ts = h.ts_ns.cast_signed();
    let breadcrumb = h.breadcrumb.0.cast_signed();
    let (pid, tid, host) = (i64::from(h.pid), i64::from(h.tid), i64::from(h.host.0));
    macro_rules! row {
        ($($value:expr),*) => {
            sink.row(record.body.kind(), [ts, breadcrumb, pid, tid, host, $($value),*])
        };
    }
    match record.body {
        Body::UserThreadSwitch { oldthread, newthread } => {
            row!(oldthread.into(), newthread.into())
        }
        Body::KernelProcessSwitch { cpu, oldprocess, newprocess } => {
            row!(cpu.into(), oldprocess.into(), newprocess.into())
        }
        Body::BufferReadHit { file, offset, size }
        | Body::BufferReadMiss { file, offset, size }
        | Body::BufferWrite { file, offset, size }
        | Body::BufferFlush { file, offset, size }
        | Body::BufferEvict { file, offset, size } => {
            row!(file.into(), offset.cast_signed(), size.into())
        }
        Body::BufferReadAhead { file, offset, numpages, pagesize } => {
            row!(file.into(), offset.cast_signed(), numpages.into(), pagesize.into())
        }
        Body::NetworkTransmit { sender, receiver, numbytes } => {
            row!(sender.into(), receiver.into(), numbytes.cast_signed())
        }
        Body::DiskOp { disk, lbn, size, op, phase } => {
            row!(disk.into(), lbn.cast_signed(), size.into(), op as i64, phase as i64)
        }
        Body::Request { workload, client, op, file, offset, size, phase } => row!(
            workload.into(),
            client.into(),
            op as i64,
            file.into(),
            offset.cast_signed(),
            size.cast_signed(),
            phase as i64
        ),
    }
}

/// The latest time, the last byte and the largest size that a row may have: 146 years, 4 EiB. So sums of
/// a few of them are within 64 bits.
pub(crate) const MOST: u64 = 1 << 62;

/// What a number of something is.
pub(crate) const ID: &str = "a whole number from 0 to 2^32 - 1";

/// A value that its column cannot hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BadColumn {
    /// The column's place in the row.
    pub(crate) index: usize,
    /// What stood there.
    pub(crate) value: i64,
    /// What should.
    pub(crate) wanted: &'static str,
}

/// Where the payload begins in a row.
const P: usize = HEADER_COLUMNS.len();

/// The record whose row in the table of `kind` is `row`, which has as many columns as the table.
#[inline]
pub(crate) fn read_row(kind: RecordKind, row: &[i64]) -> Result<Record, BadColumn> {
    let u32_at = |index: usize| {
        let value = row[index];
        u32::try_from(value).map_err(|_| BadColumn { index, value, wanted: ID })
    };
    let up_to = |index: usize, most: u64, wanted| {
        let value = row[index];
        let amount = u64::try_from(value).ok().filter(|amount| *amount <= most);
        amount.ok_or(BadColumn { index, value, wanted })
    };
    let u64_at = |index: usize| up_to(index, MOST, "a whole number from 0 to 2^62");
    let sector_at =
        |index: usize| up_to(index, MOST / SECTOR_BYTES, "a sector's number, from 0 to 2^53");
    let op_at = |index: usize| match row[index] {
        0 => Ok(Op::Read),
        1 => Ok(Op::Write),
        value => Err(BadColumn { index, value, wanted: "0 or 1" }),
    };
    let phase_at = |index: usize| match row[index] {
        0 => Ok(Phase::Issue),
        1 => Ok(Phase::Complete),
        value => Err(BadColumn { index, value, wanted: "0 or 1" }),
    };
    let header = Header {
        ts_ns: u64_at(0)?,
        breadcrumb: Breadcrumb(row[1].cast_unsigned()),
        pid: u32_at(2)?,
        tid: u32_at(3)?,
        host: HostId(u32_at(4)?),
    };
    macro_rules! buffer {
        ($variant:ident) => {
            Body::$variant { file: u32_at(P)?, offset: u64_at(P + 1)?, size: u32_at(P + 2)? }
        };
    }
    let body = match kind {
        RecordKind::UserThreadSwitch => {
            Body::UserThreadSwitch { oldthread: u32_at(P)?, newthread: u32_at(P + 1)? }
        }
        RecordKind::KernelProcessSwitch => Body::KernelProcessSwitch {
            cpu: u32_at(P)?,
            oldprocess: u32_at(P + 1)?,
            newprocess: u32_at(P + 2)?,
        },
        RecordKind::BufferReadHit => buffer!(BufferReadHit),
        RecordKind::BufferReadMiss => buffer!(BufferReadMiss),
        RecordKind::BufferWrite => buffer!(BufferWrite),
        RecordKind::BufferFlush => buffer!(BufferFlush),
        RecordKind::BufferEvict => buffer!(BufferEvict),
        RecordKind::BufferReadAhead => Body::BufferReadAhead {
            file: u32_at(P)?,
            offset: u64_at(P + 1)?,
            numpages: u32_at(P + 2)?,
            pagesize: u32_at(P + 3)?,
        },
        RecordKind::NetworkTransmit => Body::NetworkTransmit {
            sender: u32_at(P)?,
            receiver: u32_at(P + 1)?,
            numbytes: u64_at(P + 2)?,
        },
        RecordKind::DiskOp => Body::DiskOp {
            disk: u32_at(P)?,
            lbn: sector_at(P + 1)?,
            size: u32_at(P + 2)?,
            op: op_at(P + 3)?,
            phase: phase_at(P + 4)?,
        },
        RecordKind::Request => Body::Request {
            workload: u32_at(P)?,
            client: u32_at(P + 1)?,
            op: op_at(P + 2)?,
            file: u32_at(P + 3)?,
            offset: u64_at(P + 4)?,
            size: u64_at(P + 5)?,
            phase: phase_at(P + 6)?,
        },
    };
    Ok(Record { header, body })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any record that a store may have; integers of every length, as those are what rows are encoded
    /// from.
    pub(crate) fn any_record() -> impl Strategy<Value = Record> {
        let any_long = || (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift);
        let long = || any_long().prop_map(|bits| bits >> 2);
        let short = || (any::<u32>(), 0_u32..32).prop_map(|(bits, shift)| bits >> shift);
        let op = prop_oneof![Just(Op::Read), Just(Op::Write)];
        let phase = prop_oneof![Just(Phase::Issue), Just(Phase::Complete)];
        let payload = (
            0..RecordKind::COUNT,
            (short(), short(), short(), short()),
            (long(), long()),
            (op, phase),
        );
        let header = (long(), any_long(), short(), short(), short());
        (header, payload).prop_map(
            |((ts_ns, breadcrumb, host, pid, tid), (kind, (a, b, c, d), (x, y), (op, phase)))| {
                let header = Header {
                    ts_ns,
                    breadcrumb: Breadcrumb(breadcrumb),
                    host: HostId(host),
                    pid,
                    tid,
                };
                let body = match RecordKind::ALL[kind] {
                    RecordKind::UserThreadSwitch => {
                        Body::UserThreadSwitch { oldthread: a, newthread: b }
                    }
                    RecordKind::KernelProcessSwitch => {
                        Body::KernelProcessSwitch { cpu: a, oldprocess: b, newprocess: c }
                    }
                    RecordKind::BufferReadHit => {
                        Body::BufferReadHit { file: a, offset: x, size: b }
                    }
                    RecordKind::BufferReadMiss => {
                        Body::BufferReadMiss { file: a, offset: x, size: b }
                    }
                    RecordKind::BufferWrite => Body::BufferWrite { file: a, offset: x, size: b },
                    RecordKind::BufferFlush => Body::BufferFlush { file: a, offset: x, size: b },
                    RecordKind::BufferEvict => Body::BufferEvict { file: a, offset: x, size: b },
                    RecordKind::BufferReadAhead => {
                        Body::BufferReadAhead { file: a, offset: x, numpages: b, pagesize: c }
                    }
                    RecordKind::NetworkTransmit => {
                        Body::NetworkTransmit { sender: a, receiver: b, numbytes: x }
                    }
                    RecordKind::DiskOp => Body::DiskOp { disk: a, lbn: x >> 9, size: b, op, phase },
                    RecordKind::Request => Body::Request {
                        workload: a,
                        client: b,
                        op,
                        file: d,
                        offset: x,
                        size: y,
                        phase,
                    },
                };
                Record { header, body }
            },
        )
    }

    /// Keeps the row it was given last.
    struct Last(RecordKind, Vec<i64>);

    impl RowSink for Last {
        type Error = ();
        fn row<const N: usize>(&mut self, kind: RecordKind, row: [i64; N]) -> Result<(), ()> {
            *self = Self(kind, row.to_vec());
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn a_row_reads_back_as_its_record(record in any_record()) {
            let mut last = Last(RecordKind::Request, Vec::new());
            write_row(&record, &mut last).unwrap();
            prop_assert_eq!(last.0, record.body.kind());
            prop_assert_eq!(last.1.len(), last.0.columns().count());
            prop_assert_eq!(read_row(last.0, &last.1), Ok(record));
        }
    }

    #[test]
    fn a_value_out_of_range_is_named() {
        let fault = |kind, row: &[i64]| {
            let BadColumn { index, value, .. } = read_row(kind, row).unwrap_err();
            (index, value)
        };
        // ts_ns, breadcrumb, pid, tid, host, disk, lbn, size, op, phase
        let good = [5, -1, 2, 3, 4, 0, 8, 4096, 1, 0];
        assert!(read_row(RecordKind::DiskOp, &good).is_ok());
        let bad = [
            (0, -1),
            (0, i64::MAX),
            (2, -1),
            (4, 1 << 32),
            (6, 1 << 54),
            (6, -8),
            (7, -4096),
            (8, 2),
            (9, -1),
        ];
        for (index, value) in bad {
            let mut row = good;
            row[index] = value;
            assert_eq!(fault(RecordKind::DiskOp, &row), (index, value));
        }
        // ..., workload, client, op, file, offset, size, phase
        let row = [5, 1, 2, 3, 4, 0, 8, 0, 0, -1, 4096, 0];
        assert_eq!(fault(RecordKind::Request, &row), (9, -1));
    }
}
