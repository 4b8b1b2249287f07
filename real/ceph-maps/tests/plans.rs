//! Plans of small clusters, against counts by hand: levels of OSDs, groups that split and merge, refusals.

#![allow(clippy::similar_names, reason = "a change, and the changed map")]

use std::collections::BTreeMap;

use foretell_algorithms::crush::{ClusterMap, Pg, stable_mod};
use foretell_ceph_maps::{Inventory, Plan, Situation, change, plan, whole_capacity};
use proptest::prelude::*;

use crate::small::{bucket, cluster, crush, hosts, levels, osd_map, pool, report, rule};

const TIB: u64 = 1 << 40;

/// Three hosts of three OSDs, a pool of three copies that stores 2 TiB, and what is measured on OSDs.
fn three_by_three(pg_num: u32, used: &[u64]) -> (ClusterMap, Inventory) {
    let osds = osd_map(9, &[pool(1, "p", 3, pg_num, 0)]);
    cluster(&report(&hosts(3, 3), &osds, &[(1, 2 * TIB)], used).to_string())
}

fn planned((map, inventory): &(ClusterMap, Inventory), changes: &[&str]) -> (ClusterMap, Plan) {
    let changes: Vec<String> = changes.iter().map(ToString::to_string).collect();
    let (changed, known) = change(map, inventory, &changes).unwrap();
    let plan = plan((map, inventory), (&changed, &known)).unwrap();
    (changed, plan)
}

fn refused(cluster: &(ClusterMap, Inventory), changed: &str) -> String {
    change(&cluster.0, &cluster.1, &[changed.to_owned()]).unwrap_err().to_string()
}

fn up(map: &ClusterMap) -> BTreeMap<Pg, Vec<i32>> {
    map.groups().zip(map.place_all().unwrap()).map(|(pg, placed)| (pg, placed.up)).collect()
}

#[test]
fn a_level_after_is_the_measured_one_with_what_comes_and_without_what_goes() {
    // 30 % to 46 %, which the groups do not explain
    let used: Vec<u64> = (0..9).map(|osd| TIB * (30 + 2 * osd) / 100).collect();
    let before = three_by_three(64, &used);
    for change in ["osd.0=out", "osd.4.crush_weight=2", "osd.7.reweight=0.5", "node.n1.count=2"] {
        let (after, plan) = planned(&before, &[change]);
        let [now, then] = &plan.levels;
        for (osd, _) in after.existing() {
            let measured = used.get(osd as usize).copied().unwrap_or(0) as f64;
            let into = |to: bool| {
                let moves = plan.moves.iter();
                let here =
                    moves.filter(|((from, target), _)| osd == if to { *target } else { *from });
                here.map(|(_, bytes)| bytes).sum::<f64>()
            };
            assert!((now.of(osd) - measured).abs() < 2048.0, "{change} osd.{osd}");
            let wanted = (measured + into(true) - into(false)).max(0.0);
            assert!((then.of(osd) - wanted).abs() < 1e6, "{change} osd.{osd}: {}", then.of(osd));
        }
        // the same OSD is the fullest in all figures
        let placed = after.place_all().unwrap();
        let situation = Situation { map: &after, inventory: &before.1, placed: &placed };
        let whole = whole_capacity(situation, then);
        assert_eq!(Some(plan.fullest.unwrap()[1]), whole.fullest, "{change}");
    }
}

#[test]
fn levels_measured_as_computed_change_nothing() {
    let computed = three_by_three(64, &[]);
    let used: Vec<u64> =
        (0..9).map(|osd| levels(&computed.0, &computed.1).of(osd) as u64).collect();
    let measured = three_by_three(64, &used);
    for change in ["osd.0=out", "node.n1.count=2", "pool.p.pg_num=32", "pool.p.size=2"] {
        let plans = [&computed, &measured].map(|cluster| planned(cluster, &[change]).1);
        let [one, other] = &plans.map(|plan| plan.levels);
        for (a, b) in one.iter().zip(other) {
            assert!((0..12).all(|osd| (a.of(osd) - b.of(osd)).abs() < 4096.0), "{change}");
        }
    }
}

#[test]
fn copies_of_groups_that_merge_move_to_the_other_group() {
    let before = three_by_three(64, &[]);
    for pg_num in [63, 48, 33, 32, 16, 5, 1] {
        let change = format!("pool.p.pg_num={pg_num}");
        let (after, plan) = planned(&before, &[&change]);
        let (old, new) = (up(&before.0), up(&after));
        let (mut groups, mut copies) = (0, 0);
        for (pg, set) in &old {
            let target = Pg { seed: stable_mod(pg.seed, pg_num), ..*pg };
            let comes = new[&target].iter().filter(|osd| !set.contains(osd)).count();
            groups += usize::from(comes > 0);
            copies += comes;
        }
        assert_eq!(
            (plan.groups, plan.shards, plan.shards_in_all),
            (groups, copies, 192),
            "{pg_num}"
        );
        assert!(copies > 0 || pg_num > 60);
        let bytes = copies as f64 * 2.0 * TIB as f64 / 64.0;
        assert!((plan.bytes - bytes).abs() < 1e6, "{pg_num}: {} for {bytes}", plan.bytes);
        assert!(plan.floor.misplaced_bytes <= plan.bytes + 1e-6);
        // `pgp_num` alone moves the same, and merging then moves nothing
        let (lowered, only) = planned(&before, &[&format!("pool.p.pgp_num={pg_num}")]);
        assert_eq!((only.groups, only.shards), (groups, copies), "{pg_num}");
        let merged = planned(&(lowered, before.1.clone()), &[&change]).1;
        assert_eq!((merged.groups, merged.shards), (0, 0), "{pg_num}");
        // what is stored stays the same
        let sum =
            |levels: &foretell_ceph_maps::Levels| (0..9).map(|osd| levels.of(osd)).sum::<f64>();
        assert!((sum(&plan.levels[0]) - sum(&plan.levels[1])).abs() < 1e6);
    }
}

#[test]
fn splitting_moves_data_only_when_new_groups_are_placed_apart() {
    let before = three_by_three(48, &[]);
    let split = planned(&before, &["pool.p.pgp_num=32", "pool.p.pg_num=128"]).0;
    assert_eq!((split.pools()[&1].pg_num, split.pools()[&1].pgp_num), (128, 32));
    let (after, plan) = planned(&before, &["pool.p.pg_num=128"]);
    let (old, new) = (up(&before.0), up(&after));
    let mut bytes = 0.0;
    for (pg, set) in &new {
        let origin = Pg { seed: stable_mod(pg.seed, 48), ..*pg };
        let comes = set.iter().filter(|osd| !old[&origin].contains(osd)).count();
        bytes += comes as f64 * 2.0 * TIB as f64 / 128.0;
    }
    assert!(bytes > 0.0 && (plan.bytes - bytes).abs() < 1e6, "{} for {bytes}", plan.bytes);
    // of 48 groups, 16 to 31 are not split yet: each has twice as much as the others
    let level = levels(&before.0, &before.1);
    let share = |seed: u32| if (16..32).contains(&seed) { 2.0 } else { 1.0 };
    let held: f64 =
        old.iter().filter(|(_, set)| set.contains(&0)).map(|(pg, _)| share(pg.seed)).sum();
    assert!((level.of(0) - held * 2.0 * TIB as f64 / 64.0).abs() < 1e6);
}

#[test]
fn pgp_num_follows_unless_it_was_set() {
    let before = three_by_three(64, &[]);
    let numbers = |changes: &[&str]| {
        let after = planned(&before, changes).0;
        (after.pools()[&1].pg_num, after.pools()[&1].pgp_num)
    };
    assert_eq!(numbers(&["pool.p.pg_num=128"]), (128, 128));
    assert_eq!(numbers(&["pool.p.pgp_num=32", "pool.p.pg_num=128"]), (128, 32));
    assert_eq!(numbers(&["pool.p.pgp_num=32", "pool.p.pg_num=16"]), (16, 16));
    assert!(refused(&before, "pool.p.pgp_num=65").contains("expected at most `pg_num`, 64"));
}

#[test]
fn a_rule_without_osds_is_refused() {
    let mut buckets = hosts(3, 3)["buckets"].as_array().unwrap().clone();
    buckets.push(bucket(-20, "empty", "root", &[]));
    buckets.push(bucket(-21, "n9", "host", &[(9, 1.0)]));
    buckets.push(bucket(-22, "small", "root", &[(-21, 1.0)]));
    let rules =
        [rule(0, "r", -1, "host"), rule(1, "none", -20, "host"), rule(2, "one", -22, "host")];
    let osds = osd_map(10, &[pool(1, "p", 3, 64, 0), pool(2, "q", 1, 8, 2)]);
    let before = cluster(&report(&crush(&buckets, &rules), &osds, &[(1, TIB)], &[]).to_string());
    let nothing = refused(&before, "pool.p.rule=none");
    assert!(nothing.contains("`none` reaches no OSD that is in"), "{nothing}");
    let few = refused(&before, "pool.p.rule=one");
    assert!(few.contains("`one` reaches 1 host, with at most 1 in each: room for 1"), "{few}");
    let gone = refused(&before, "osd.9=out");
    assert!(gone.contains("the rule of pool `q`") && gone.contains("reaches no OSD"), "{gone}");
}

#[test]
fn a_new_size_brings_its_min_size() {
    let before = three_by_three(64, &[]);
    let least = |changes: &[&str]| planned(&before, changes).0.pools()[&1].min_size;
    assert_eq!((least(&[]), least(&["pool.p.size=2"]), least(&["pool.p.min_size=3"])), (2, 1, 3));
    assert!(refused(&before, "pool.p.min_size=4").contains("the pool's size, 3"));
}

proptest! {
    /// Whatever happens to a pool's groups, what is stored stays, and the floor is a floor.
    #[test]
    fn bytes_are_neither_made_nor_lost(from in 1_u32..70, to in 1_u32..70, out in 0_usize..9) {
        let before = three_by_three(from, &[]);
        let (_, plan) = planned(&before, &[&format!("pool.p.pg_num={to}"), &format!("osd.{out}=out")]);
        let sum = |at: usize| (0..9).map(|osd| plan.levels[at].of(osd)).sum::<f64>();
        prop_assert!((sum(0) - 6.0 * TIB as f64).abs() < 1e7, "{}", sum(0));
        prop_assert!(plan.short > 0 || (sum(1) - sum(0)).abs() < 1e7, "{} {}", sum(0), sum(1));
        prop_assert!(plan.floor.bytes(plan.bytes) <= plan.bytes);
        prop_assert!(plan.floor.misplaced_bytes <= plan.bytes * (1.0 + 1e-9) + 1.0, "{:?} of {}", plan.floor, plan.bytes);
    }
}

#[test]
fn copies_in_a_host_of_no_weight_cannot_stay() {
    let osds = osd_map(9, &[pool(1, "p", 2, 64, 0)]);
    let before = cluster(&report(&hosts(3, 3), &osds, &[(1, 2 * TIB)], &[]).to_string());
    let there = up(&before.0).values().flatten().filter(|osd| **osd < 3).count();
    let (_, plan) = planned(&before, &["crush.n0.weight=0"]);
    let bytes = there as f64 * (2 * TIB) as f64 / 64.0;
    assert!((plan.floor.misplaced_bytes - bytes).abs() < 1e6, "{there}: {:?}", plan.floor);
}
