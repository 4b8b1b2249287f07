//! Keys of Ceph's documents that are not used here.
//!
//! A newer Ceph may say something of placement under a key that this program does not know. To pass over it in silence
//! would give wrong answers. So each kind of document has the list of keys that are used, and of those that have no
//! effect on placement and capacity. Everything else is named, unless its value says nothing (0, false, empty).

use std::collections::BTreeMap;
use std::fmt;

use foretell_input::one_line;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// Maximum number of keys that a note names.
const MOST_NAMED: usize = 8;

/// Keys of the objects at a path.
struct Known {
    /// Keys from the document down, separated by dots; `*` is any key. Lists add nothing to a path.
    path: &'static str,
    used: &'static [&'static str],
    /// Without effect on placement and capacity.
    harmless: &'static [&'static str],
}

/// Kinds of documents.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Kind {
    Report,
    OsdMap,
    CrushMap,
    /// `ceph df`.
    Pools,
    /// `ceph osd df`.
    OsdDf,
    OsdPerf,
    PerfDump,
}

impl Kind {
    /// The command that writes it.
    pub(crate) fn command(self) -> &'static str {
        match self {
            Self::Report => "ceph report",
            Self::OsdMap => "ceph osd dump",
            Self::CrushMap => "ceph osd crush dump",
            Self::Pools => "ceph df",
            Self::OsdDf => "ceph osd df",
            Self::OsdPerf => "ceph osd perf",
            Self::PerfDump => "perf dump",
        }
    }

    /// The kind of a document with these keys.
    pub(crate) fn of(has: impl Fn(&str) -> bool) -> Option<Self> {
        let kinds: [(&[&str], Self); 8] = [
            (&["osdmap", "crushmap"], Self::Report),
            (&["osds", "pools"], Self::OsdMap),
            (&["buckets", "rules"], Self::CrushMap),
            (&["stats", "pools"], Self::Pools),
            (&["nodes", "summary"], Self::OsdDf),
            (&["osdstats"], Self::OsdPerf),
            (&["osd_perf_infos"], Self::OsdPerf),
            (&["osd"], Self::PerfDump),
        ];
        kinds.iter().find(|(keys, _)| keys.iter().all(|key| has(key))).map(|(_, kind)| *kind)
    }

    fn known(self) -> Vec<(String, &'static Known)> {
        let of = |prefix: &str, all: &'static [Known]| {
            let path = |known: &Known| match (prefix, known.path) {
                ("", path) => path.to_owned(),
                (prefix, "") => prefix.to_owned(),
                (prefix, path) => format!("{prefix}.{path}"),
            };
            all.iter().map(|known| (path(known), known)).collect::<Vec<_>>()
        };
        match self {
            Self::Report => {
                let maps = of("osdmap", OSD_MAP).into_iter().chain(of("crushmap", CRUSH_MAP));
                of("", REPORT).into_iter().chain(maps).collect()
            }
            Self::OsdMap => of("", OSD_MAP),
            Self::CrushMap => of("", CRUSH_MAP),
            Self::Pools => of("", DF),
            Self::OsdDf => of("", OSD_DF),
            // it has hundreds of counters, and we read a few
            Self::OsdPerf | Self::PerfDump => Vec::new(),
        }
    }
}

const REPORT: &[Known] = &[Known {
    path: "",
    used: &[
        "version",
        "osdmap",
        "crushmap",
        "osd_metadata",
        "pool_stats",
        "osd_stats",
        "num_pg_by_osd",
        "osd_sum",
        "foretell_statistics",
    ],
    harmless: &[
        "cluster_fingerprint",
        "commit",
        "timestamp",
        "tag",
        "health",
        "monmap_first_committed",
        "monmap_last_committed",
        "monmap",
        "quorum",
        "osdmap_clean_epochs",
        "osdmap_first_committed",
        "osdmap_last_committed",
        "fsmap",
        "mdsmap",
        "mdsmap_first_committed",
        "mdsmap_last_committed",
        "auth",
        "num_pg",
        "num_pg_active",
        "num_pg_unknown",
        "num_osd",
        "pool_sum",
        "osd_sum_by_class",
        "num_pg_by_state",
        "purged_snaps",
        "servicemap",
        "paxos",
        "mgrmap",
        "mgrstat",
        "pg_stats",
        "osd_epochs",
        "stamp",
    ],
}];

const OSD_MAP: &[Known] = &[
    Known {
        path: "",
        used: &[
            "max_osd",
            "pools",
            "osds",
            "pg_upmap",
            "pg_upmap_items",
            "pg_upmap_primaries",
            "pg_temp",
            "primary_temp",
            "erasure_code_profiles",
            "full_ratio",
            "backfillfull_ratio",
            "nearfull_ratio",
        ],
        harmless: &[
            "epoch",
            "fsid",
            "created",
            "modified",
            "last_up_change",
            "last_in_change",
            "flags",
            "flags_num",
            "flags_set",
            "crush_version",
            "cluster_snapshot",
            "pool_max",
            "require_min_compat_client",
            "min_compat_client",
            "require_osd_release",
            "osd_xinfo",
            "blocklist",
            "blacklist",
            "range_blocklist",
            "removed_snaps_queue",
            "new_removed_snaps",
            "new_purged_snaps",
            "crush_node_flags",
            "device_class_flags",
            "allow_crimson",
        ],
    },
    Known {
        path: "pools",
        used: &[
            "pool",
            "pool_name",
            "flags",
            "flags_names",
            "type",
            "size",
            "min_size",
            "crush_rule",
            "crush_ruleset",
            "pg_num",
            "pg_placement_num",
            "pg_num_target",
            "pg_placement_num_target",
            "erasure_code_profile",
            "stripe_width",
            "tier_of",
        ],
        harmless: &[
            "create_time",
            "object_hash",
            "pg_autoscale_mode",
            "pg_num_pending",
            "last_pg_merge_meta",
            "last_change",
            "last_force_op_resend",
            "last_force_op_resend_prenautilus",
            "last_force_op_resend_preluminous",
            "auid",
            "snap_mode",
            "snap_seq",
            "snap_epoch",
            "pool_snaps",
            "removed_snaps",
            "tiers",
            "read_tier",
            "write_tier",
            "cache_mode",
            "target_max_bytes",
            "target_max_objects",
            "cache_target_dirty_ratio_micro",
            "cache_target_dirty_high_ratio_micro",
            "cache_target_full_ratio_micro",
            "cache_min_flush_age",
            "cache_min_evict_age",
            "hit_set_params",
            "hit_set_period",
            "hit_set_count",
            "use_gmt_hitset",
            "min_read_recency_for_promote",
            "min_write_recency_for_promote",
            "hit_set_grade_decay_rate",
            "hit_set_search_last_n",
            "grade_table",
            "expected_num_objects",
            "fast_read",
            "options",
            "application_metadata",
            "read_balance",
            "crash_replay_interval",
            // the bucket that must have a member; it counts only with `peering_crush_bucket_count`
            "peering_crush_bucket_mandatory_member",
        ],
    },
    Known {
        path: "osds",
        used: &["osd", "up", "weight", "primary_affinity", "public_addr", "cluster_addr"],
        harmless: &[
            "uuid",
            "in",
            "last_clean_begin",
            "last_clean_end",
            "up_from",
            "up_thru",
            "down_at",
            "lost_at",
            "public_addrs",
            "cluster_addrs",
            "heartbeat_back_addrs",
            "heartbeat_front_addrs",
            "heartbeat_back_addr",
            "heartbeat_front_addr",
            "state",
        ],
    },
    Known { path: "pg_upmap", used: &["pgid", "osds"], harmless: &[] },
    Known { path: "pg_upmap_items", used: &["pgid", "mappings"], harmless: &[] },
    Known { path: "pg_upmap_items.mappings", used: &["from", "to"], harmless: &[] },
    Known { path: "pg_upmap_primaries", used: &["pgid", "primary_osd"], harmless: &[] },
    Known { path: "pg_temp", used: &["pgid", "osds"], harmless: &[] },
    Known { path: "primary_temp", used: &["pgid", "osd"], harmless: &[] },
];

const CRUSH_MAP: &[Known] = &[
    Known {
        path: "",
        used: &["devices", "types", "buckets", "rules", "tunables", "choose_args"],
        harmless: &[],
    },
    Known { path: "devices", used: &["id", "class"], harmless: &["name"] },
    Known { path: "types", used: &["type_id", "name"], harmless: &[] },
    Known {
        path: "buckets",
        used: &["id", "name", "type_id", "alg", "hash", "items"],
        harmless: &["type_name", "weight"],
    },
    Known { path: "buckets.items", used: &["id", "weight"], harmless: &["pos"] },
    Known {
        path: "rules",
        used: &["rule_id", "rule_name", "ruleset", "type", "min_size", "max_size", "steps"],
        harmless: &[],
    },
    Known {
        path: "rules.steps",
        used: &["op", "opcode", "arg1", "arg2", "item", "num", "type"],
        harmless: &["item_name"],
    },
    Known {
        path: "tunables",
        used: &[
            "choose_local_tries",
            "choose_local_fallback_tries",
            "choose_total_tries",
            "chooseleaf_descend_once",
            "chooseleaf_vary_r",
            "chooseleaf_stable",
            "straw_calc_version",
            "msr_descents",
            "msr_collision_tries",
        ],
        harmless: &[
            "allowed_bucket_algs",
            "profile",
            "optimal_tunables",
            "legacy_tunables",
            "minimum_required_version",
            "require_feature_tunables",
            "require_feature_tunables2",
            "require_feature_tunables3",
            "require_feature_tunables5",
            "has_v2_rules",
            "has_v3_rules",
            "has_v4_buckets",
            "has_v5_rules",
            "has_msr_rules",
        ],
    },
    Known { path: "choose_args.*", used: &["bucket_id", "weight_set", "ids"], harmless: &[] },
];

const DF: &[Known] = &[
    Known { path: "", used: &["stats", "pools"], harmless: &["stats_by_class"] },
    Known { path: "pools", used: &["id", "stats"], harmless: &["name"] },
];

const OSD_DF: &[Known] =
    &[Known { path: "", used: &["nodes"], harmless: &["stray", "summary", "filters"] }];

/// A note on the keys of a document that are not used; `None` if all are.
pub(crate) fn note(file: &str, kind: Kind, text: &str) -> Option<String> {
    let outline: Outline = serde_json::from_str(text).ok()?;
    let mut unused = Vec::new();
    outline.unused(&kind.known(), "", "", &mut unused);
    let more = unused.len().saturating_sub(MOST_NAMED);
    let named: Vec<String> =
        unused.iter().take(MOST_NAMED).map(|key| format!("`{}`", one_line(key))).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!named.is_empty()).then(|| {
        let (named, command) = (named.join(", "), kind.command());
        format!(
            "{file}: `{command}` has keys that are not used here, and may matter: {named}{more}"
        )
    })
}

/// The keys of a document, without values; entries of a list are merged.
#[derive(PartialEq, Debug)]
enum Outline {
    /// A value that says nothing: null, false, 0, empty.
    Empty,
    Value,
    Object(BTreeMap<String, Outline>),
}

impl Outline {
    fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Value => false,
            Self::Object(keys) => keys.values().all(Self::is_empty),
        }
    }

    fn of(says_something: bool) -> Self {
        if says_something { Self::Value } else { Self::Empty }
    }

    fn merge(self, other: Self) -> Self {
        match (self, other) {
            (Self::Object(mut keys), Self::Object(others)) => {
                for (key, other) in others {
                    let both = keys.remove(&key).map_or(Self::Empty, |own| own).merge(other);
                    keys.insert(key, both);
                }
                Self::Object(keys)
            }
            (object @ Self::Object(_), _) | (_, object @ Self::Object(_)) => object,
            (Self::Empty, Self::Empty) => Self::Empty,
            _ => Self::Value,
        }
    }

    /// Collects the keys that are not known. `path` is where this is, `pattern` the same with `*` for any key.
    fn unused(
        &self,
        known: &[(String, &Known)],
        path: &str,
        pattern: &str,
        found: &mut Vec<String>,
    ) {
        let Self::Object(keys) = self else { return };
        let below = |path: &str, key: &str| {
            if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
        };
        let any = below(pattern, "*");
        let has_any = known.iter().any(|(known, _)| *known == any);
        let here = known.iter().find(|(known, _)| known == pattern).map(|(_, known)| known);
        for (key, value) in keys.iter().filter(|(_, value)| !value.is_empty()) {
            let is_known = here.is_none_or(|known| {
                known.used.contains(&key.as_str()) || known.harmless.contains(&key.as_str())
            });
            if is_known {
                let pattern = if has_any { any.clone() } else { below(pattern, key) };
                value.unused(known, &below(path, key), &pattern, found);
            } else {
                found.push(below(path, key));
            }
        }
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Outline, E> {
        Ok(Outline::of(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Outline, E> {
        Ok(Outline::of(value != 0))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Outline, E> {
        Ok(Outline::of(value != 0))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Outline, E> {
        Ok(Outline::of(value.abs() > 0.0))
    }

    fn visit_str<E>(self, value: &str) -> Result<Outline, E> {
        Ok(Outline::of(!value.is_empty()))
    }

    fn visit_unit<E>(self) -> Result<Outline, E> {
        Ok(Outline::Empty)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Outline, A::Error> {
        let mut all = Outline::Empty;
        while let Some(entry) = entries.next_element::<Outline>()? {
            all = all.merge(entry);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Outline, A::Error> {
        let mut keys = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry::<String, Outline>()? {
            keys.insert(key, value);
        }
        Ok(Outline::Object(keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_say_something_and_are_not_known_are_named() {
        let map = r#"{ "epoch": 3, "osds": [{ "osd": 0 }, { "osd": 1, "shelf": 4 }], "pg_upmap_lanes": [{ "a": 1 }],
            "stretch_mode": { "enabled": false }, "pools": [{ "pool": 1, "quota_max_bytes": 0, "zone": "" }] }"#;
        let note = note("dump.json", Kind::OsdMap, map).unwrap();
        assert!(note.ends_with("may matter: `osds.shelf`, `pg_upmap_lanes`"), "{note}");
    }

    #[test]
    fn weight_sets_have_any_number_as_their_key() {
        let known = r#"{ "choose_args": { "-1": [{ "bucket_id": -2, "ids": [3] }] } }"#;
        assert_eq!(note("c", Kind::CrushMap, known), None);
        let other = r#"{ "choose_args": { "-1": [{ "bucket_id": -2 }, { "straws": [3] }] } }"#;
        let note = note("c", Kind::CrushMap, other).unwrap();
        assert!(note.ends_with(": `choose_args.-1.straws`"), "{note}");
    }
}
