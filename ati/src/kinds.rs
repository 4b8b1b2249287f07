//! The types of records: the only place where each is declared, with its table and columns.
//!
//! Each type is one entry of the list below. Everything else is derived from it: [`RecordKind`], [`Body`], the
//! writing and reading of rows, and the comments in the store. Source: Thereska et al. 2006, Table II;
//! [`Body::Request`] and phases are ours.

use std::fmt;

use foretell_units::Op;

#[cfg(feature = "sqlite")]
use crate::column::{Cell, Range};
use crate::record::Phase;

/// Declares the types, each with its documentation, name, and name of the table. Each column has its documentation
/// (also its comment in the store), name, type, and range of values in a store.
macro_rules! record_kinds {
    ($(
        #[doc = $doc:literal]
        $(#[doc = $more:literal])*
        $kind:ident $table:literal {
            $(#[doc = $meaning:literal] $field:ident: $type:ty as $range:ident,)+
        }
    )+) => {
        /// The type of a record; each has a separate table, named like the type in snake case.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum RecordKind {
            $(#[doc = $doc] $kind,)+
        }

        /// The payload of a record: one variant for each type of Table II, and [`Body::Request`].
        ///
        /// `file` is the volume's number ([`foretell_units::VolumeId`]): on a storage node the fragments
        /// of a volume form one file. Offsets and sizes are bytes.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Body {
            $(
                #[doc = $doc]
                $(#[doc = $more])*
                $kind {
                    $(#[doc = $meaning] $field: $type,)+
                },
            )+
        }

        impl RecordKind {
            /// All types, in the order of Table II of Thereska et al. 2006, and `request`.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$kind),+];

            /// Number of types.
            pub const COUNT: usize = [$($table),+].len();

            /// The name of the type and of its table.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $table,)+
                }
            }

            /// The columns of its table after those of the header.
            pub const fn payload_columns(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$(stringify!($field)),+],)+
                }
            }

            /// The meanings of these columns, in the same order; each begins with a space.
            #[cfg(feature = "sqlite")]
            pub(crate) const fn payload_meanings(self) -> &'static [&'static str] {
                match self {
                    $(Self::$kind => &[$($meaning),+],)+
                }
            }

            /// The ranges of these columns' values, in the same order.
            #[cfg(all(test, feature = "sqlite"))]
            pub(crate) const fn payload_ranges(self) -> &'static [Range] {
                match self {
                    $(Self::$kind => &[$(Range::$range),+],)+
                }
            }
        }

        impl Body {
            /// The type of this payload.
            #[inline]
            pub const fn kind(&self) -> RecordKind {
                match self {
                    $(Self::$kind { .. } => RecordKind::$kind,)+
                }
            }

            /// Passes the row of a record with this payload to `sink`; `header`: its first columns.
            #[cfg(feature = "sqlite")]
            #[inline]
            pub(crate) fn write_row<S: crate::columns::RowSink>(
                &self,
                [ts, breadcrumb, pid, tid, host]: [i64; 5],
                sink: &mut S,
            ) -> Result<(), S::Error> {
                match *self {
                    $(Self::$kind { $($field),+ } => {
                        let kind = RecordKind::$kind;
                        sink.row(kind, [ts, breadcrumb, pid, tid, host, $($field.cell()),+])
                    })+
                }
            }

            /// Reads the payload from a row of the table of `kind`, starting at column `first`. An error names the
            /// column with a value out of range.
            #[cfg(feature = "sqlite")]
            #[inline]
            pub(crate) fn read_row(
                kind: RecordKind,
                row: &[i64],
                first: usize,
            ) -> Result<Self, crate::columns::BadColumn> {
                let mut index = first;
                match kind {
                    $(RecordKind::$kind => Ok(Self::$kind {
                        $($field: {
                            let value = row[index];
                            index += 1;
                            Range::$range.read(index - 1, value)?
                        },)+
                    }),)+
                }
            }
        }

        impl fmt::Display for Body {
            /// The name of the type and its arguments, as Table II has them:
            /// `disk_op disk 0, lbn 8, size 4096, op read, phase issue`.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.kind().name())?;
                match self {
                    $(Self::$kind { $($field),+ } => {
                        let arguments: &[(&str, &dyn fmt::Display)] =
                            &[$((stringify!($field), $field)),+];
                        for (place, (name, value)) in arguments.iter().enumerate() {
                            let comma = if place == 0 { "" } else { "," };
                            write!(f, "{comma} {name} {value}")?;
                        }
                        Ok(())
                    })+
                }
            }
        }
    };
}

record_kinds! {
    /// CPU demand: a user-level context switch within the header's process.
    UserThreadSwitch "user_thread_switch" {
        /// thread that leaves the processor
        oldthread: u32 as Id,
        /// thread that gets it
        newthread: u32 as Id,
    }
    /// CPU demand: a kernel-level context switch.
    KernelProcessSwitch "kernel_process_switch" {
        /// processor of the host
        cpu: u32 as Id,
        /// process that leaves the processor; 0: idle
        oldprocess: u32 as Id,
        /// process that gets it; 0: idle
        newprocess: u32 as Id,
    }
    /// Buffer cache demand: a read found its data in the cache.
    BufferReadHit "buffer_read_hit" {
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// bytes
        size: u32 as Id,
    }
    /// Buffer cache demand: a read did not find its data in the cache.
    BufferReadMiss "buffer_read_miss" {
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// bytes
        size: u32 as Id,
    }
    /// Buffer cache demand: a write that marks the buffer dirty.
    BufferWrite "buffer_write" {
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// bytes
        size: u32 as Id,
    }
    /// Buffer cache demand: pages are prefetched; no thread waits for them.
    BufferReadAhead "buffer_read_ahead" {
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// number of pages
        numpages: u32 as Id,
        /// bytes a page
        pagesize: u32 as Id,
    }
    /// Buffer cache demand: a dirty page goes to disk.
    BufferFlush "buffer_flush" {
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// bytes
        size: u32 as Id,
    }
    /// Buffer cache demand: a page leaves the cache.
    BufferEvict "buffer_evict" {
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// bytes
        size: u32 as Id,
    }
    /// Network demand: a message is handed to the network.
    NetworkTransmit "network_transmit" {
        /// host that sends -> hosts
        sender: u32 as Id,
        /// host that is to receive -> hosts
        receiver: u32 as Id,
        /// bytes on the wire
        numbytes: u64 as Bytes,
    }
    /// Disk demand, posted when an operation is sent to the disk and again when it completes.
    ///
    /// The two postings of one operation agree in host, breadcrumb, disk, `lbn` and `op`; that
    /// pairs them, as a request has at most one outstanding operation of a kind at one address of
    /// one disk. Work of no request (breadcrumb 0) pairs first with first in time.
    DiskOp "disk_op" {
        /// disk of the host
        disk: u32 as Id,
        /// first sector, 512 bytes each
        lbn: u64 as Sector,
        /// bytes, a multiple of 512
        size: u32 as Id,
        /// 0: read, 1: write
        op: Op as Flag,
        /// 0: issue, 1: complete
        phase: Phase as Flag,
    }
    /// A client's own request, posted by the client library when it is issued and when it
    /// completes. Not in Table II; the two postings agree in breadcrumb.
    Request "request" {
        /// who asked -> workloads
        workload: u32 as Id,
        /// client machine -> hosts
        client: u32 as Id,
        /// 0: read, 1: write
        op: Op as Flag,
        /// the volume -> volumes
        file: u32 as Id,
        /// first byte, from the start of the file
        offset: u64 as Bytes,
        /// bytes
        size: u64 as Bytes,
        /// 0: issue, 1: complete
        phase: Phase as Flag,
    }
}
