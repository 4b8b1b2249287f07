//! Volumes as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{At, CountOrWord, HostPatterns, Size};

/// A set of data with one distribution.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawVolume {
    /// Bytes that clients can address: a whole number of blocks.
    pub(crate) size: Size,
    /// Storage nodes that may hold its fragments, in order: `brick[0-4]`, `brick[0,2,5-7]`,
    /// `brick3`, `brick` or `brick*` for the whole group, several with commas, or a list of
    /// these.
    pub(crate) nodes: At<HostPatterns>,
    /// `m-of-n`: a block is written as n fragments, any m suffice to read it. m = 1 is
    /// replication. `lrc(k,l,r)`: k data fragments in l groups with a parity each, and r global parities, not with
    /// Ceph and Swift.
    #[schemars(extend(
        "default" = "1-of-1",
        "pattern" = r"^\s*([0-9]+-of-[0-9]+|lrc\(\s*[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]+\s*\))\s*$",
        "examples" = ["1-of-3", "3-of-5", "lrc(12,2,2)"]
    ))]
    pub(crate) encoding: At<String>,
    /// Encryption before encoding.
    #[schemars(extend("default" = "none"))]
    pub(crate) cipher: At<RawCipher>,
    /// Unit of encoding: a block is encoded whole.
    #[schemars(extend("default" = "8 KiB"))]
    pub(crate) block: Size,
    /// How block groups are spread over the nodes.
    #[schemars(extend("default" = "rotate"))]
    pub(crate) placement: At<RawPlacement>,
    /// Bytes, in whole blocks, that go to one set of n nodes before the next: an object of Ceph. `auto`
    /// is 1 MiB, or 4 MiB with Ceph and Swift, rounded up to whole blocks.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "examples" = ["1 MiB"]))]
    pub(crate) group: At<String>,
    /// Acknowledgements that complete a write, m to n, or `all` n.
    #[schemars(extend("default" = "all"))]
    pub(crate) write_quorum: At<CountOrWord>,
    /// With events: least fragments that a write needs while nodes are down, m to `write_quorum`; without it, m.
    #[schemars(extend("minimum" = 1, "maximum" = 255))]
    pub(crate) min_write: Option<At<i64>>,
    /// With Ceph and events: least copies or shards with which a placement group serves requests, m to n. Without
    /// it, as in Ceph: of n copies n - n/2, of shards m + 1.
    #[schemars(extend("minimum" = 1, "maximum" = 255))]
    pub(crate) min_size: Option<At<i64>>,
    /// Which fragments a read asks for.
    #[schemars(extend("default" = "primary"))]
    pub(crate) read_from: At<RawReadFrom>,
    /// How long a read waits for its nodes before it asks one more and takes the answers that come first: a time, or
    /// `p95` for the 95th percentile of the client's own last reads (`p50` to `p99`). Without it, reads wait. Not
    /// with Ceph, Swift and guests.
    #[schemars(extend("examples" = ["20 ms", "p95"]))]
    pub(crate) hedge: Option<At<String>>,
    /// With `crush` in `cluster`: the name of the map's pool that this volume stands for. Where the map has no pool
    /// of this name, or of the volume's own, it is a new pool.
    pub(crate) pool: Option<At<String>>,
    /// With Ceph's own placement: the rule that places it, of the map (by name or number) or of `[rule]`;
    /// without it, the pool's, or one for `failure_domain`.
    pub(crate) rule: Option<At<String>>,
    /// With Ceph's own placement: how many placement groups there are; without it as many as the map's pool
    /// has, or as `placement_groups_per_osd` says.
    #[schemars(extend("minimum" = 1, "maximum" = 65536))]
    pub(crate) placement_groups: Option<At<i64>>,
    /// With Ceph, and without `crush`: what no two copies or shards may share. Where a CRUSH map is made of
    /// the nodes and neither this nor `rule` is given: a host.
    pub(crate) failure_domain: Option<At<RawDomain>>,
}

/// What copies and shards do not share.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawDomain {
    /// A device.
    Osd,
    /// A host.
    Host,
    /// A rack.
    Rack,
    /// A room.
    Room,
    /// A datacenter.
    Datacenter,
}

/// How a CRUSH map of the nodes places volumes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawRule {
    /// The steps in the words of `crushtool`, in order, from a `take` to an `emit`.
    #[schemars(extend(
        "minItems" = 1,
        "examples" = [["take default", "choose firstn 2 type rack", "chooseleaf firstn 2 type host", "emit"]]
    ))]
    pub(crate) steps: Vec<At<String>>,
}

/// Encryption of a volume.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawCipher {
    /// None.
    None,
    /// AES with a 128-bit key in CBC mode.
    #[serde(rename = "aes-128-cbc")]
    Aes128Cbc,
}

/// How the block groups of a volume are spread over its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawPlacement {
    /// Group g begins at node g mod N and takes the n that follow.
    Rotate,
    /// n nodes chosen by a hash of volume and group.
    Hash,
}

/// Which m of the n fragments a read asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawReadFrom {
    /// The first m: data fragments of a systematic code, no decoding.
    Primary,
    /// m at random.
    Random,
}
