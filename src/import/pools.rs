//! Capacity, fault tolerance and cost of the pools of a Ceph cluster.

use std::fmt::Write as _;

use foretell_algorithms::crush::{ClusterMap, ClusterMapError, PoolKind};
use foretell_ceph_maps::{
    Capacity, Levels, Shortage, Situation, Survives, Whole, capacity, osd_bytes, shortages,
    whole_capacity,
};
use foretell_report::survivors;
use foretell_sorted::{SortedMap, SortedSet};
use serde_json::{Value, json};

use super::in_tib;
use foretell_core::Prices;

const TIB: f64 = (1_u64 << 40) as f64;

/// The pools of a cluster, and all of them together.
pub(crate) struct Pools<'a> {
    map: &'a ClusterMap,
    by_id: SortedMap<i64, (Capacity, Option<f64>)>,
    /// Pools with groups that lack copies or shards.
    short: SortedMap<i64, Shortage>,
    whole: Whole,
    /// Cost of a usable TiB over all pools, given how they share the drives.
    cost: Option<f64>,
    currency: String,
    /// Classes with drives that have no price.
    pub(crate) unpriced: Vec<String>,
}

impl<'a> Pools<'a> {
    /// The pools at these levels of the OSDs.
    pub(crate) fn of(
        cluster: Situation<'a>,
        levels: &Levels,
        prices: &Prices,
    ) -> Result<Self, ClusterMapError> {
        let Situation { map, inventory, placed } = cluster;
        let class = |osd: i32| {
            let class = map.crush.parts().classes.get(&osd).cloned();
            class.or_else(|| inventory.osds.get(&osd)?.class.clone())
        };
        let price = |osd: i32| {
            let facts = inventory.osds.get(&osd);
            let model = facts.and_then(|facts| facts.model.clone()).unwrap_or_default();
            prices.of(&[&model, &class(osd)?], osd_bytes(map, inventory, osd))
        };
        let pools = capacity(cluster, levels);
        let pools = pools.into_iter().map(|(id, capacity)| {
            let paid: Option<f64> = capacity.osds.iter().map(|osd| price(*osd)).sum();
            let cost = paid.filter(|_| capacity.alone_bytes > 0.0);
            let cost = cost.map(|paid| paid / (capacity.alone_bytes / TIB));
            (id, (capacity, cost))
        });
        let whole = whole_capacity(cluster, levels);
        let in_use = map.existing().filter(|(_, osd)| osd.weight > 0);
        let drives: Vec<(i32, Option<f64>)> = in_use.map(|(osd, _)| (osd, price(osd))).collect();
        let paid: Option<f64> = drives.iter().map(|(_, price)| *price).sum();
        let unpriced = drives.iter().filter(|(_, price)| price.is_none());
        let unpriced: SortedSet<String> = unpriced.filter_map(|(osd, _)| class(*osd)).collect();
        let usable = whole.usable_bytes.filter(|bytes| *bytes > 0.0);
        let cost = paid.zip(usable).map(|(paid, bytes)| paid / (bytes / TIB));
        let currency = prices.currency.clone();
        let unpriced = unpriced.into_iter().collect();
        let short = shortages(map, placed)?;
        Ok(Self { map, by_id: pools.collect(), short, whole, cost, currency, unpriced })
    }

    /// Groups with fewer copies or shards than their pool wants.
    pub(crate) fn groups_short(&self) -> usize {
        self.short.values().map(|short| short.groups).sum()
    }

    /// Notes on pools whose groups lack copies or shards, with the reason.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (id, Shortage { groups, below_min_size, why }) in &self.short {
            let pool = &self.map.pools()[id];
            let rule = self.map.rule_named_by(pool);
            let rule = rule.map_or(String::new(), |rule| format!(", rule `{}`", rule.name));
            let head = format!("pool `{}`{rule}", pool.name);
            let what = match pool.kind {
                PoolKind::Replicated => "copies",
                PoolKind::Erasure => "shards",
            };
            let have = |count: usize| if count == 1 { "group has" } else { "groups have" };
            notes.push(format!(
                "{head}: {groups} {} fewer {what} than the pool wants: {why}; `survives` and `serves` count them as \
                 they are",
                have(*groups)
            ));
            if *below_min_size > 0 {
                notes.push(format!(
                    "{head}: {below_min_size} {} fewer {what} than `min_size`, {}: they accept no reads and writes now",
                    have(*below_min_size),
                    pool.min_size
                ));
            }
        }
        notes
    }

    /// The figures of each pool as JSON.
    pub(crate) fn by_name(&self) -> Value {
        let pool = |(id, (capacity, cost)): (&i64, &(Capacity, Option<f64>))| {
            let survives = capacity.survives.iter().map(|failures| {
                let counts = json!({
                    "readable": failures.readable,
                    "served": failures.served,
                    "rule_readable": failures.rule_readable,
                    "rule_served": failures.rule_served,
                });
                (failures.kind.clone(), counts)
            });
            let serves = capacity.survives.iter();
            let serves = serves.map(|failures| (failures.kind.clone(), json!(failures.served)));
            let short = self.short.get(id);
            json!({
                "name": self.map.pools()[id].name,
                "stored_bytes": capacity.stored_bytes,
                "usable_bytes": capacity.usable_bytes,
                "overhead": capacity.overhead,
                "fill": capacity.fill,
                "first_full_osd": capacity.first_full,
                "survives": survives.collect::<serde_json::Map<String, Value>>(),
                "serves": serves.collect::<serde_json::Map<String, Value>>(),
                "min_size": self.map.pools()[id].min_size,
                "pgs_short": short.map_or(0, |short| short.groups),
                "pgs_below_min_size": short.map_or(0, |short| short.below_min_size),
                "short_because": short.map(|short| &short.why),
                "cost_per_usable_tib": cost,
            })
        };
        self.by_id.iter().map(pool).collect()
    }

    /// The figures of all pools together as JSON.
    pub(crate) fn whole(&self) -> Value {
        let whole = &self.whole;
        let fullest = whole.fullest.map(|(osd, fill)| json!({ "osd": osd, "fill": fill }));
        json!({
            "raw_bytes": whole.raw_bytes,
            "stored_bytes": whole.stored_bytes,
            "usable_bytes": whole.usable_bytes,
            "first_full_osd": whole.first_full,
            "fill": whole.fill,
            "fullest": fullest,
            "full_ratio": whole.full_ratio,
            "cost_per_usable_tib": self.cost,
            "currency": self.currency,
        })
    }

    /// The figures as text.
    pub(crate) fn text(&self) -> String {
        let cost = format!("{}/usable TiB", self.currency);
        let header = [
            "pool",
            "stored",
            "usable",
            "overhead",
            "fullest",
            "first full",
            "survives any",
            "serves without any",
            &cost,
        ];
        let mut table = crate::tables::table(&header);
        for (id, (capacity, cost)) in &self.by_id {
            table.add_row([
                self.map.pools()[id].name.clone(),
                known(capacity.stored_known, in_tib(capacity.stored_bytes)),
                in_tib(capacity.usable_bytes),
                format!("{:.2}", capacity.overhead),
                capacity.fill.map_or("-".to_owned(), |fill| format!("{:.1} %", 100.0 * fill)),
                capacity.first_full.map_or("-".to_owned(), |osd| format!("osd.{osd}")),
                failures(capacity, |kind| (kind.rule_readable, kind.readable)),
                failures(capacity, |kind| (kind.rule_served, kind.served)),
                cost.map_or("-".to_owned(), |cost| format!("{cost:.0}")),
            ]);
        }
        let mut text = format!("{}\n", crate::screen::fitted(&table, 1));
        let Whole { raw_bytes, fill, full_ratio, .. } = &self.whole;
        let (used, full) = (100.0 * fill, 100.0 * full_ratio);
        let _ = write!(text, "all drives: {}", in_tib(*raw_bytes));
        if self.whole.used_known {
            let _ = write!(text, ", {used:.1} % used");
        }
        if let Some((osd, fill)) = self.whole.fullest.filter(|_| self.whole.used_known) {
            let _ = write!(text, "; the fullest is osd.{osd}, {:.1} %", 100.0 * fill);
        }
        text.push('\n');
        if let (Some(usable), Some(osd)) = (self.whole.usable_bytes, self.whole.first_full) {
            let stored = self.whole.stored_bytes;
            let _ = write!(
                text,
                "if all pools grow alike, osd.{osd} is {full:.0} % full at {} stored, {} more than now",
                in_tib(usable),
                in_tib((usable - stored).max(0.0))
            );
            if let Some(cost) = self.cost {
                let _ = write!(text, "; drives for a usable TiB cost {cost:.0} {}", self.currency);
            }
            text.push('\n');
        }
        text
    }
}

/// What a table says of an amount: `-` if it is unknown.
fn known(is_known: bool, amount: String) -> String {
    if is_known { amount } else { "-".to_owned() }
}

/// The failures that every placement by the rule bears; then those that this placement bears, if these are more.
fn failures(capacity: &Capacity, of: fn(&Survives) -> (usize, usize)) -> String {
    let by = |count: fn((usize, usize)) -> usize| {
        survivors(capacity.survives.iter().map(|kind| (count(of(kind)) as u64, &kind.kind)))
    };
    let (rule, now) = (by(|(rule, _)| rule), by(|(_, now)| now));
    if rule == now { rule } else { format!("{rule} (now {now})") }
}
