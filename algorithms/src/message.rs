//! The size of messages between hosts on the wire, which any system knows from its own protocols.
//!
//! A full TCP segment over Ethernet carries 1448 bytes of data in 1538 bytes on the wire: preamble
//! 8, Ethernet header 14 and checksum 4, gap 12, IP header 20, TCP header 20 and its time stamps
//! 12. So payload is 94.1 % of line rate. Messages do not share segments.

use foretell_units::Bytes;

/// Bytes of a message besides its data: operation, addresses, breadcrumb, version. Assumed, because
/// an NFS call or an `iSCSI` header takes about as much.
pub const MESSAGE_HEADER: Bytes = Bytes(128);
/// Data in a full TCP segment.
pub const SEGMENT_DATA: u64 = 1448;
/// Bytes of a segment on the wire besides its data.
const SEGMENT_HEADERS: u64 = 90;
/// A full segment on the wire.
pub const SEGMENT_WIRE: u64 = SEGMENT_DATA + SEGMENT_HEADERS;

/// Bytes on the wire for `data` bytes of message; the empty message needs one segment.
pub fn wire_bytes(data: Bytes) -> Bytes {
    data + Bytes(data.get().div_ceil(SEGMENT_DATA).max(1) * SEGMENT_HEADERS)
}
