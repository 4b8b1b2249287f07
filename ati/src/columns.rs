//! Conversion of records to the integers of their table's row, and back.

use foretell_units::{Breadcrumb, HostId};

pub(crate) use crate::column::BadColumn;
use crate::column::Range;
use crate::kind::HEADER_COLUMNS;
use crate::{Body, Header, Record, RecordKind};

/// Number of columns of the widest table, `request`.
pub(crate) const MAX_COLUMNS: usize = 12;

/// Accepts rows, each with the number of columns of its table.
///
/// The number is a constant of each call, so that a row is written without a loop.
pub(crate) trait RowSink {
    /// The reason why a row is not accepted.
    type Error;
    /// Accepts the next row of the table of `kind`.
    fn row<const N: usize>(&mut self, kind: RecordKind, row: [i64; N]) -> Result<(), Self::Error>;
}

impl Record {
    /// The record's row: a cell for each of [`RecordKind::columns`].
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
    record.body.write_row([ts, breadcrumb, pid, tid, host], sink)
}

/// Index of the first payload column in a row.
const P: usize = HEADER_COLUMNS.len();

/// The record whose row in the table of `kind` is `row`, which has as many columns as the table.
#[inline]
pub(crate) fn read_row(kind: RecordKind, row: &[i64]) -> Result<Record, BadColumn> {
    let id = |index: usize| Range::Id.read(index, row[index]);
    let header = Header {
        ts_ns: Range::Bytes.read(0, row[0])?,
        breadcrumb: Breadcrumb(row[1].cast_unsigned()),
        pid: id(2)?,
        tid: id(3)?,
        host: HostId(id(4)?),
    };
    Ok(Record { header, body: Body::read_row(kind, row, P)? })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any record that a store may hold; with integers of every length, because the encoding of rows
    /// depends on it.
    pub(crate) fn any_record() -> impl Strategy<Value = Record> {
        let any_long = || (any::<u64>(), 0_u32..64).prop_map(|(bits, shift)| bits >> shift);
        let long = || any_long().prop_map(|bits| bits >> 2);
        let short = || (any::<u32>(), 0_u32..32).prop_map(|(bits, shift)| bits >> shift);
        let cells = prop::collection::vec(long(), MAX_COLUMNS - P);
        let header = (long(), any_long(), short(), short(), short());
        (header, 0..RecordKind::COUNT, cells).prop_map(
            |((ts_ns, breadcrumb, host, pid, tid), kind, cells)| {
                let kind = RecordKind::ALL[kind];
                let row = [ts_ns, breadcrumb, pid.into(), tid.into(), host.into()].into_iter();
                let payload = kind.payload_ranges().iter().zip(cells);
                let payload = payload.map(|(range, cell)| cell % (range.most() + 1));
                let row: Vec<i64> = row.chain(payload).map(u64::cast_signed).collect();
                read_row(kind, &row).expect("each value is in its range")
            },
        )
    }

    /// Keeps the last row that it was given.
    struct Last(RecordKind, Vec<i64>);

    impl RowSink for Last {
        type Error = ();
        fn row<const N: usize>(&mut self, kind: RecordKind, row: [i64; N]) -> Result<(), ()> {
            *self = Self(kind, row.to_vec());
            Ok(())
        }
    }

    #[test]
    fn the_widest_table_is_known() {
        let widest = RecordKind::ALL.into_iter().map(|kind| kind.columns().count()).max();
        assert_eq!(widest, Some(MAX_COLUMNS));
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
