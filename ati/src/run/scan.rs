//! Reading of records: all of a table, several tables in the order of time, a range of time, a request.

use foretell_units::Breadcrumb;
use rusqlite::types::ValueRef;

use super::RunDb;
use super::cells::Shown;
use super::walk::{Walk, WalkStep};
use crate::columns::{BadColumn, MAX_COLUMNS, read_row};
use crate::target::{io_error, sql_error};
use crate::{KindSet, Record, RecordKind, StoreError};

/// Number of rows per query when a table is read by SQL.
const ROWS_BY_SQL: usize = 8192;

/// A position in a table.
pub(super) struct Cursor {
    kind: RecordKind,
    /// Reads leaf by leaf while the pages are understood; `None` afterwards, when SQL is used.
    pub(super) walk: Option<Walk>,
    /// The rowid of the last record in `records`.
    last_rowid: i64,
    /// Records that were read and are not all returned yet.
    records: Vec<Record>,
    /// Index of the next one.
    next: usize,
}

impl RunDb {
    /// Calls `each` with every record of `kind`, in the order of posting.
    pub fn scan(&self, kind: RecordKind, mut each: impl FnMut(&Record)) -> Result<(), StoreError> {
        let mut cursor = self.cursor(kind)?;
        loop {
            for record in &cursor.records[cursor.next..] {
                each(record);
            }
            if !self.fill(&mut cursor)? {
                return Ok(());
            }
        }
    }

    /// Like [`RunDb::scan`], by SQL alone: the oracle, at a seventh of the speed.
    pub fn scan_by_sql(
        &self,
        kind: RecordKind,
        mut each: impl FnMut(&Record),
    ) -> Result<(), StoreError> {
        self.query(kind, "", [], |_, record| each(record))
    }

    /// Calls `each` with every record of these `kinds`, with the tables merged by time.
    ///
    /// Each table stays in the order of posting, so the result is in the order of time if each table is. Records
    /// of the same nanosecond come in the order of hosts, then of tables.
    pub fn scan_in_time(
        &self,
        kinds: KindSet,
        mut each: impl FnMut(&Record),
    ) -> Result<(), StoreError> {
        let mut cursors = Vec::new();
        for kind in kinds.iter() {
            let mut cursor = self.cursor(kind)?;
            if self.fill(&mut cursor)? {
                cursors.push(cursor);
            }
        }
        let key = |cursor: &Cursor| {
            let header = &cursor.records[cursor.next].header;
            (header.ts_ns, header.host)
        };
        // Ties go to the first: cursors stay in the order of their tables.
        while let Some(first) = (0..cursors.len()).min_by_key(|index| key(&cursors[*index])) {
            // as long as it stays the first, the others need not be checked
            let others = (0..cursors.len()).filter(|index| *index != first);
            let next = others.map(|index| (key(&cursors[index]), index)).min();
            let cursor = &mut cursors[first];
            while let Some(record) = cursor.records.get(cursor.next) {
                let header = &record.header;
                if next.is_some_and(|next| ((header.ts_ns, header.host), first) > next) {
                    break;
                }
                each(record);
                cursor.next += 1;
            }
            if cursor.next == cursor.records.len() && !self.fill(cursor)? {
                cursors.remove(first);
            }
        }
        Ok(())
    }

    /// A cursor before the first record of `kind`.
    pub(super) fn cursor(&self, kind: RecordKind) -> Result<Cursor, StoreError> {
        let root = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?";
        let root = self.db.query_row(root, [kind.name()], |row| row.get(0));
        let root = root.map_err(sql_error("read", &self.path))?;
        let file = self.file.try_clone().map_err(io_error("read", &self.path))?;
        let walk = Walk::new(file, kind, root);
        Ok(Cursor { kind, walk, last_rowid: i64::MIN, records: Vec::new(), next: 0 })
    }

    /// Replaces the records of `cursor` by the next ones of its table; `false` if there are none.
    pub(super) fn fill(&self, cursor: &mut Cursor) -> Result<bool, StoreError> {
        cursor.records.clear();
        cursor.next = 0;
        while let Some(walk) = &mut cursor.walk {
            match walk.step(&mut cursor.last_rowid, &mut cursor.records) {
                WalkStep::Leaf => {}
                WalkStep::End => return Ok(!cursor.records.is_empty()),
                WalkStep::NotUnderstood => cursor.walk = None,
                WalkStep::Disorder => return Err(self.disorder(cursor.kind)),
            }
            if !cursor.records.is_empty() {
                return Ok(true);
            }
        }
        let after = format!("WHERE rowid > ? ORDER BY rowid LIMIT {ROWS_BY_SQL}");
        let (records, last) = (&mut cursor.records, &mut cursor.last_rowid);
        let mut in_order = true;
        self.query(cursor.kind, &after, [*last], |rowid, record| {
            in_order &= rowid > *last;
            records.push(*record);
            *last = rowid;
        })?;
        if !in_order {
            // SQLite does not check this, and we might loop for ever.
            return Err(self.disorder(cursor.kind));
        }
        Ok(!cursor.records.is_empty())
    }

    fn disorder(&self, table: RecordKind) -> StoreError {
        StoreError::Disorder { path: self.path.clone(), table }
    }

    /// Calls `each` with every record of `kind` posted from `from_ns` until before `to_ns`, in the order of
    /// posting. Reads only the ranges of rows that can contain such records.
    pub fn scan_between(
        &self,
        kind: RecordKind,
        from_ns: u64,
        to_ns: u64,
        mut each: impl FnMut(&Record),
    ) -> Result<(), StoreError> {
        if from_ns >= to_ns {
            return Ok(());
        }
        let last_ns = to_ns - 1;
        let stretches =
            self.stretches(kind, |zone| zone.from_ns <= last_ns && zone.to_ns >= from_ns)?;
        // Compared here and not in SQL, where 64 unsigned bits are signed.
        self.scan_stretches(kind, &stretches, |record| {
            if (from_ns..to_ns).contains(&record.header.ts_ns) {
                each(record);
            }
        })
    }

    /// Estimated number of records of `kind` that were posted at `since_ns` or later, without reading them: of a zone
    /// that begins earlier and ends later, the rows count in proportion to the time.
    pub fn count_since(&self, kind: RecordKind, since_ns: u64) -> Result<u64, StoreError> {
        let mut count = 0.0;
        for ([first, last], zone) in self.zones(kind)? {
            let span = (zone.to_ns.saturating_sub(zone.from_ns) as f64).max(1.0);
            let later = zone.to_ns.saturating_sub(since_ns) as f64;
            let share = if zone.from_ns >= since_ns { 1.0 } else { (later / span).min(1.0) };
            count += share * (last.abs_diff(first) + 1) as f64;
        }
        Ok(count as u64)
    }

    /// All records of the request of `breadcrumb`, on all hosts, in the order of time.
    ///
    /// Reads only the ranges of rows that can contain such records, but everything for [`Breadcrumb::NONE`].
    /// Empty if there are none: the request does not exist or was not sampled.
    pub fn trace(&self, breadcrumb: Breadcrumb) -> Result<Vec<Record>, StoreError> {
        let mut records = Vec::new();
        for kind in RecordKind::ALL {
            self.scan_requests(kind, &[breadcrumb], |record| records.push(*record))?;
        }
        // Stable: records that a host posts at one instant stay in the order of the tables.
        records.sort_by_key(|record| (record.header.ts_ns, record.header.host));
        Ok(records)
    }

    /// Calls `each` with every record of `kind` that belongs to one of these requests, in the order of posting.
    /// Reads only the ranges of rows that can contain such records.
    pub fn scan_requests(
        &self,
        kind: RecordKind,
        requests: &[Breadcrumb],
        mut each: impl FnMut(&Record),
    ) -> Result<(), StoreError> {
        let stretches =
            self.stretches(kind, |zone| requests.iter().any(|one| zone.may_hold(*one)))?;
        self.scan_stretches(kind, &stretches, |record| {
            if requests.contains(&record.header.breadcrumb) {
                each(record);
            }
        })
    }

    /// Calls `each` with every record of `kind` in these ranges of rows, and perhaps with others on the same
    /// pages; with none twice.
    fn scan_stretches(
        &self,
        kind: RecordKind,
        stretches: &[[i64; 2]],
        mut each: impl FnMut(&Record),
    ) -> Result<(), StoreError> {
        let mut cursor = self.cursor(kind)?;
        for [first, last] in stretches {
            while let Some(walk) = &mut cursor.walk
                && cursor.last_rowid < *last
            {
                walk.skip_to(*first);
                cursor.records.clear();
                match walk.step(&mut cursor.last_rowid, &mut cursor.records) {
                    WalkStep::Leaf => {}
                    WalkStep::End => return Ok(()),
                    WalkStep::NotUnderstood => cursor.walk = None,
                    WalkStep::Disorder => return Err(self.disorder(kind)),
                }
                for record in &cursor.records {
                    each(record);
                }
            }
            if cursor.walk.is_none() && cursor.last_rowid < *last {
                let rows = [(*first).max(cursor.last_rowid.saturating_add(1)), *last];
                self.query(kind, "WHERE rowid BETWEEN ? AND ?", rows, |_, record| each(record))?;
                cursor.last_rowid = *last;
            }
        }
        Ok(())
    }

    /// Calls `each` with rowid and record of the rows of `kind` that satisfy `condition`.
    fn query<const P: usize>(
        &self,
        kind: RecordKind,
        condition: &str,
        parameters: [i64; P],
        mut each: impl FnMut(i64, &Record),
    ) -> Result<(), StoreError> {
        let columns: Vec<&str> = kind.columns().collect();
        let sql = format!("SELECT {}, rowid FROM {kind} {condition}", columns.join(", "));
        let bad = |row: i64, column: usize, found: String, wanted| StoreError::BadRow {
            path: self.path.clone(),
            table: kind.name().to_owned(),
            row,
            column: columns[column],
            found,
            wanted,
        };
        let read = |error: rusqlite::Error| self.unreadable(kind.name(), error);
        let mut statement = self.db.prepare_cached(&sql).map_err(read)?;
        let mut rows = statement.query(rusqlite::params_from_iter(parameters)).map_err(read)?;
        let mut values = [0; MAX_COLUMNS];
        let values = &mut values[..columns.len()];
        while let Some(row) = rows.next().map_err(read)? {
            let rowid = row.get(columns.len()).map_err(read)?;
            for (index, value) in values.iter_mut().enumerate() {
                *value = match row.get_ref(index).map_err(read)? {
                    ValueRef::Integer(value) => value,
                    other => {
                        return Err(bad(rowid, index, Shown(other).to_string(), "a whole number"));
                    }
                };
            }
            match read_row(kind, values) {
                Ok(record) => each(rowid, &record),
                Err(BadColumn { index, value, wanted }) => {
                    return Err(bad(rowid, index, value.to_string(), wanted));
                }
            }
        }
        Ok(())
    }

    /// The error for a row of `kind` whose `column` holds `value` instead of `wanted`. The caller knows that the
    /// record is impossible, although each value is within its range.
    pub fn bad_record(
        &self,
        kind: RecordKind,
        column: &'static str,
        value: i64,
        wanted: &'static str,
    ) -> StoreError {
        let sql = format!("SELECT min(rowid) FROM {kind} WHERE {column} = ?");
        let row = self.db.query_row(&sql, [value], |row| row.get(0));
        StoreError::BadRow {
            path: self.path.clone(),
            table: kind.name().to_owned(),
            row: row.unwrap_or(0),
            column,
            found: value.to_string(),
            wanted,
        }
    }

    /// First and last rowid of the zones of `kind`, in order, and what their rows span.
    fn zones(&self, kind: RecordKind) -> Result<Vec<([i64; 2], ZoneBounds)>, StoreError> {
        let columns = &[
            "first_rowid",
            "last_rowid",
            "ts_min_ns",
            "ts_max_ns",
            "breadcrumb_min",
            "breadcrumb_max",
        ];
        let rest = "WHERE kind = ? ORDER BY first_rowid";
        let mut after = None;
        self.list("zones", columns, rest, [kind.name()], |cells| {
            let rows = [cells.whole(0)?, cells.whole(1)?];
            if rows[0] > rows[1] || after.is_some_and(|last| rows[0] <= last) {
                return Err(
                    cells.bad(0, "a row after those of the zone before, up to the last one")
                );
            }
            after = Some(rows[1]);
            let breadcrumb = |column: usize| match cells.cell(column)? {
                ValueRef::Null => Ok(None),
                _ => cells.whole(column).map(|value| Some(value.cast_unsigned())),
            };
            let breadcrumbs = breadcrumb(4)?.zip(breadcrumb(5)?);
            let bounds =
                ZoneBounds { from_ns: cells.amount(2)?, to_ns: cells.amount(3)?, breadcrumbs };
            Ok((rows, bounds))
        })
    }

    /// First and last rowid of the ranges of rows of `kind` whose zones are `wanted`.
    fn stretches(
        &self,
        kind: RecordKind,
        wanted: impl Fn(&ZoneBounds) -> bool,
    ) -> Result<Vec<[i64; 2]>, StoreError> {
        let zones = self.zones(kind)?;
        let mut stretches: Vec<[i64; 2]> = Vec::new();
        for (rows, _) in zones.into_iter().filter(|(_, bounds)| wanted(bounds)) {
            match stretches.last_mut() {
                Some([_, last]) if last.checked_add(1) == Some(rows[0]) => *last = rows[1],
                _ => stretches.push(rows),
            }
        }
        Ok(stretches)
    }
}

/// The span of the rows of a zone.
struct ZoneBounds {
    from_ns: u64,
    to_ns: u64,
    breadcrumbs: Option<(u64, u64)>,
}

impl ZoneBounds {
    fn may_hold(&self, breadcrumb: Breadcrumb) -> bool {
        // Zones contain no information about breadcrumb 0.
        breadcrumb == Breadcrumb::NONE
            || self.breadcrumbs.is_some_and(|(min, max)| (min..=max).contains(&breadcrumb.0))
    }
}
