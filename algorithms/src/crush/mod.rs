//! Placement exactly as Ceph computes it: CRUSH maps, and their use by an OSD map.
//!
//! A [`CrushMap`] is a tree of buckets with devices as leaves, and rules that draw devices from it
//! for an input (Weil et al., *CRUSH*, SC 2006). A [`ClusterMap`] also has pools and the state of
//! OSDs. It computes for each placement group where its data belong and where they are. This
//! includes exceptions by administrators and the balancer (`pg_upmap`), those by the cluster itself
//! (`pg_temp`), and the choice of the primary. All kinds of buckets, rules and tunables up to
//! Squid are modelled. Formats are read elsewhere (`foretell-ceph-maps`).
//!
//! [`placement::Crush`](crate::placement::Crush) is different: a plain two-level placement with its
//! own draws, for clusters other than Ceph's.

mod bucket;
mod choose;
mod classes;
mod cluster;
mod edit;
mod hash;
mod logarithm;
mod map;
mod msr;
mod rule;
mod straw;

pub use choose::Workspace;
pub use classes::add_shadows;
pub use cluster::{
    ClusterMap, ClusterMapError, DEFAULT_AFFINITY, MAX_GROUPS, Osd, Pg, Placed, Pool, PoolKind,
    stable_mod,
};
pub use hash::{hash2, hash3, hash4};
pub use map::{
    Algorithm, Bucket, ChooseArg, CrushError, CrushMap, Item, MAX_ITEMS, MapParts, NONE, Tunables,
};
pub use rule::{Mask, Mode, Rule, Setting, Step};
