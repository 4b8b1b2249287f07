//! Readers for the status output of a Ceph cluster.
//!
//! `ceph report`, `ceph osd dump -f json`, `ceph osd crush dump` and the text of `crushtool -d` become a
//! [`ClusterMap`](foretell_algorithms::crush::ClusterMap) or a
//! [`CrushMap`](foretell_algorithms::crush::CrushMap). A report also becomes an [`Inventory`]: hosts,
//! drives, pools, stored data. Only the fields of this crate's structures are read. Keys, addresses, and
//! identifiers of hardware and of the cluster are never kept.
//!
//! Left out: binary maps (`crushtool -d` and `osdmaptool` turn them into text).

mod balance;
mod capacity;
mod change;
mod check;
mod contradictions;
mod crush_json;
mod crush_text;
mod documents;
mod domains;
mod error;
mod files;
mod inventory;
mod keys;
mod levels;
mod limits;
mod model;
mod osd_json;
mod pace;
mod plan;
mod promise;
mod recovery;
mod scenario;
mod shortage;
mod statistics;
mod text;
mod whole;

pub use balance::{Upmaps, balance, stay};
pub use capacity::{Capacity, Survives, Whole, capacity, survived, whole_capacity};
pub use change::{ChangeError, change};
pub use check::{Check, Difference, check};
pub use crush_text::rule_steps;
pub use error::ReadError;
pub use files::{Imported, keepable, keepable_text, read_files, read_text};
pub use inventory::{Inventory, OsdFacts, PoolFacts, Reported, Traffic};
pub use levels::{Levels, Situation, osd_bytes};
pub use pace::{Pace, Part, Throttle, pace};
pub use plan::{Floor, Moving, Plan, moves_by, plan};
pub use recovery::{ClassRecovery, Recovery, RecoveryLimits, RecoveryRate, UnknownClass};
pub use scenario::{Scenario, scenario};
pub use shortage::{Shortage, shortages};
pub use whole::{WholeError, WholeSets, all_up, bare_cluster, whole_sets};
