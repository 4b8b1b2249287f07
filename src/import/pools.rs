//! Capacity, fault tolerance and cost of the pools of a Ceph cluster.

use std::fmt::Write as _;

use foretell_algorithms::crush::{ClusterMap, Placed};
use foretell_ceph_maps::{
    Capacity, Inventory, Survives, Whole, capacity, osd_bytes, whole_capacity,
};
use foretell_sorted::{SortedMap, SortedSet};
use serde_json::{Value, json};

use super::in_tib;
use foretell_core::Prices;

use crate::capacity::survivors;

const TIB: f64 = (1_u64 << 40) as f64;

/// The pools of a cluster, and all of them together.
pub(crate) struct Pools<'a> {
    map: &'a ClusterMap,
    by_id: SortedMap<i64, (Capacity, Option<f64>)>,
    whole: Whole,
    /// Cost of a usable TiB over all pools, given how they share the drives.
    cost: Option<f64>,
    currency: String,
    /// Classes with drives that have no price.
    pub(crate) unpriced: Vec<String>,
}

impl<'a> Pools<'a> {
    pub(crate) fn of(
        map: &'a ClusterMap,
        inventory: &Inventory,
        placed: &[Placed],
        prices: &Prices,
    ) -> Self {
        let class = |osd: i32| {
            let class = map.crush.parts().classes.get(&osd).cloned();
            class.or_else(|| inventory.osds.get(&osd)?.class.clone())
        };
        let price = |osd: i32| {
            let facts = inventory.osds.get(&osd);
            let model = facts.and_then(|facts| facts.model.clone()).unwrap_or_default();
            prices.of(&[&model, &class(osd)?], osd_bytes(map, inventory, osd))
        };
        let pools = capacity(map, inventory, placed);
        let pools = pools.into_iter().map(|(id, capacity)| {
            let paid: Option<f64> = capacity.osds.iter().map(|osd| price(*osd)).sum();
            let cost = paid.filter(|_| capacity.alone_bytes > 0.0);
            let cost = cost.map(|paid| paid / (capacity.alone_bytes / TIB));
            (id, (capacity, cost))
        });
        let whole = whole_capacity(map, inventory, placed);
        let in_use = map.existing().filter(|(_, osd)| osd.weight > 0);
        let drives: Vec<(i32, Option<f64>)> = in_use.map(|(osd, _)| (osd, price(osd))).collect();
        let paid: Option<f64> = drives.iter().map(|(_, price)| *price).sum();
        let unpriced = drives.iter().filter(|(_, price)| price.is_none());
        let unpriced: SortedSet<String> = unpriced.filter_map(|(osd, _)| class(*osd)).collect();
        let usable = whole.usable_bytes.filter(|bytes| *bytes > 0.0);
        let cost = paid.zip(usable).map(|(paid, bytes)| paid / (bytes / TIB));
        let currency = prices.currency.clone();
        let unpriced = unpriced.into_iter().collect();
        Self { map, by_id: pools.collect(), whole, cost, currency, unpriced }
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
            json!({
                "name": self.map.pools()[id].name,
                "stored_bytes": capacity.stored_bytes,
                "usable_bytes": capacity.usable_bytes,
                "overhead": capacity.overhead,
                "fill": capacity.fill,
                "first_full_osd": capacity.first_full,
                "survives": survives.collect::<serde_json::Map<String, Value>>(),
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
            &cost,
        ];
        let mut table = crate::tables::table(&header);
        for (id, (capacity, cost)) in &self.by_id {
            table.add_row([
                self.map.pools()[id].name.clone(),
                known(capacity.stored_known, in_tib(capacity.stored_bytes)),
                in_tib(capacity.usable_bytes),
                format!("{:.2}", capacity.overhead),
                known(self.whole.used_known, format!("{:.1} %", 100.0 * capacity.fill)),
                capacity.first_full.map_or("-".to_owned(), |osd| format!("osd.{osd}")),
                survives(capacity),
                cost.map_or("-".to_owned(), |cost| format!("{cost:.0}")),
            ]);
        }
        let mut text = format!("{table}\n");
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

/// The failures that every placement by the rule survives; then the failures that this placement
/// survives, if these are more.
fn survives(capacity: &Capacity) -> String {
    let by = |count: fn(&Survives) -> usize| {
        survivors(capacity.survives.iter().map(|kind| (count(kind), kind.kind.clone())))
    };
    let (rule, now) = (by(|failures| failures.rule_readable), by(|failures| failures.readable));
    if rule == now { rule } else { format!("{rule} (now {now})") }
}
