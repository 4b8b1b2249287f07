//! Volumes as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{At, CountOrWord, HostPatterns, Size};

/// A set of data with one distribution over nodes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawVolume {
    /// Bytes that clients can address: a whole number of blocks.
    pub(crate) size: Size,
    /// Storage nodes that may hold its fragments, in order: `brick[0-4]`, `brick[0,2,5-7]`, `brick3`, or
    /// `brick` or `brick*` for the whole group. Several of these are separated by commas or written as a
    /// list.
    pub(crate) nodes: At<HostPatterns>,
    /// `m-of-n`: a block is written as n fragments, and any m of them suffice to read it. m = 1 is
    /// replication. `lrc(k,l,r)`: k data fragments in l local groups, each with a parity fragment, and r global
    /// parity fragments. `lrc` is not available with Ceph and Swift.
    #[schemars(extend(
        "default" = "1-of-1",
        "pattern" = r"^\s*([0-9]+-of-[0-9]+|lrc\(\s*[0-9]+\s*,\s*[0-9]+\s*,\s*[0-9]+\s*\))\s*$",
        "examples" = ["1-of-3", "3-of-5", "lrc(12,2,2)"]
    ))]
    pub(crate) encoding: At<String>,
    /// Encryption before encoding.
    #[schemars(extend("default" = "none"))]
    pub(crate) cipher: At<RawCipher>,
    /// Unit of encoding: a block is encoded as a whole.
    #[schemars(extend("default" = "8 KiB"))]
    pub(crate) block: Size,
    /// How groups are spread over the nodes.
    #[schemars(extend("default" = "rotate"))]
    pub(crate) placement: At<RawPlacement>,
    /// Bytes of the volume that go to one set of n nodes before the next set follows: a whole number of
    /// blocks. With Ceph, this is the size of an object. `auto` is 1 MiB, or 4 MiB with Ceph and Swift,
    /// rounded up to whole blocks.
    #[schemars(extend("default" = "auto", "x-words" = ["auto"], "examples" = ["1 MiB"]))]
    pub(crate) group: At<String>,
    /// Number of acknowledgements that complete a write: m to n, or `all` for n. With `lrc(k,l,r)`, at least
    /// k + l - 1, the number of fragments that always suffice to read a block.
    #[schemars(extend("default" = "all"))]
    pub(crate) write_quorum: At<CountOrWord>,
    /// With `ursa-minor`: minimum number of fragments that a write needs while nodes are down, from m to
    /// `write_quorum`. Without it, m. With `lrc(k,l,r)`, k + l - 1 replaces m. It decides how many nodes may be down
    /// while writes go on (`serves` in results).
    #[schemars(extend("minimum" = 1, "maximum" = 255))]
    pub(crate) min_write: Option<At<i64>>,
    /// With Ceph: minimum number of copies or shards with which a placement group serves requests, m to n. Without it,
    /// as in Ceph: half of n copies, rounded up, and m + 1 shards, but at most n. It decides how many OSDs, hosts or
    /// racks may be down while requests go on (`serves` in results).
    #[schemars(extend("minimum" = 1, "maximum" = 255))]
    pub(crate) min_size: Option<At<i64>>,
    /// Which fragments a read asks for.
    #[schemars(extend("default" = "primary"))]
    pub(crate) read_from: At<RawReadFrom>,
    /// A read that has waited this long for its nodes asks one more node, and takes the answers that come
    /// first. The value is a time, or a percentile of the client's own recent read times (`p50` to
    /// `p99`). Without it, a read asks no further node. Not with Ceph, Swift and guests.
    #[schemars(extend("examples" = ["20 ms", "p95"]))]
    pub(crate) hedge: Option<At<String>>,
    /// With `crush` in `cluster`: name of the map's pool that this volume represents. Without it, the pool
    /// with the volume's name. If the map has no such pool, the volume is a new pool.
    pub(crate) pool: Option<At<String>>,
    /// With placement by a CRUSH map: the rule that places the volume, from the map (by name or number) or
    /// from `[rule]`. Without it, the rule of the pool, or a rule for `failure_domain`.
    pub(crate) rule: Option<At<String>>,
    /// With placement by a CRUSH map: number of placement groups. Without it, as many as the map's pool
    /// has, or as follow from `placement_groups_per_osd`.
    #[schemars(extend("minimum" = 1, "maximum" = 65536))]
    pub(crate) placement_groups: Option<At<i64>>,
    /// With Ceph and without `crush`: failure domain. No two copies or shards of a placement group are in the same
    /// one. If neither this nor `rule` is given, copies and shards are on distinct hosts.
    pub(crate) failure_domain: Option<At<RawDomain>>,
    /// With Ceph: name of the volume that holds the bucket index of this volume. Clients then reach this
    /// volume through the gateways of `cluster`, and each access is a request for a whole S3 object. A write
    /// also updates the index twice: before and after the first `group` bytes. Without it, or with `none`,
    /// clients access the volume directly.
    pub(crate) bucket_index: Option<At<String>>,
    /// With `bucket_index`: number of objects over which the index is spread (`bucket_index_max_shards`, 11 if it
    /// is not given). Ceph adds shards when a bucket has more than 100,000 objects in each. If the volume has several
    /// buckets, give the sum.
    #[schemars(extend("minimum" = 1, "maximum" = 65521))]
    pub(crate) index_shards: Option<At<i64>>,
}

/// Failure domain of copies and shards.
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
    /// The steps in the notation of `crushtool`, in order, from a `take` to an `emit`.
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

/// How the groups of a volume are spread over its nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawPlacement {
    /// Group g is on n consecutive nodes. The first of them is node g mod N, where N is the number of
    /// nodes.
    Rotate,
    /// Each group is on n nodes, chosen by a hash of volume and group.
    Hash,
}

/// Which m of the n fragments a read asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub(crate) enum RawReadFrom {
    /// The first m fragments. The code is systematic, so these are the data fragments, and nothing is
    /// decoded.
    Primary,
    /// m fragments at random.
    Random,
}
