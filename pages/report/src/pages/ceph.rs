//! Sections of an imported Ceph cluster: its pools, and how evenly placement groups are spread over its
//! OSDs.

use crate::chart::{Axis, Chart, Series, View};
use crate::page::{Part, Section, Table};
use crate::words::{count, number};

/// A cluster.
#[derive(Debug)]
pub struct Ceph {
    /// Its directory.
    pub name: String,
    /// Its pools.
    pub pools: Vec<Pool>,
    /// For each OSD that takes data: its number, its weight in the CRUSH map's units, and its number of
    /// placement groups.
    pub osds: Vec<(i32, f64, u64)>,
    /// Warnings that readers should know before they rely on it.
    pub notes: Vec<String>,
}

/// A pool.
#[derive(Debug)]
pub struct Pool {
    /// Its name.
    pub name: String,
    /// Number of placement groups.
    pub groups: u64,
    /// Number of OSDs that store each group.
    pub size: u64,
    /// `replicated` or `erasure-coded`.
    pub kind: &'static str,
}

/// Sections of a cluster.
pub(super) fn sections(cluster: &Ceph) -> Vec<Section> {
    let mut section = Section::new("Placement");
    let mut table = Table::new("Pools", 2, &["pool", "kind", "placement groups", "OSDs a group"]);
    for pool in &cluster.pools {
        let kind = pool.kind.to_owned();
        table.rows.push(vec![
            pool.name.clone(),
            kind,
            pool.groups.to_string(),
            pool.size.to_string(),
        ]);
    }
    section.push(Part::Table(table));
    for note in &cluster.notes {
        section.text(format!("Note: {note}"));
    }
    spread(cluster, &mut section);
    vec![section]
}

/// OSDs sorted by their number of groups relative to their weight: a level line means an even cluster.
fn spread(cluster: &Ceph, section: &mut Section) {
    let mut loads: Vec<f64> = cluster
        .osds
        .iter()
        .filter(|(_, weight, _)| *weight > 0.0)
        .map(|(_, weight, groups)| *groups as f64 / weight)
        .collect();
    let mean = loads.iter().sum::<f64>() / loads.len().max(1) as f64;
    if loads.is_empty() || mean <= 0.0 {
        section.push(Part::Gap("No OSD takes data.".to_owned()));
        return;
    }
    for load in &mut loads {
        *load *= 100.0 / mean;
    }
    loads.sort_by(|a, b| b.total_cmp(a));
    let (most, least) = (loads[0], loads[loads.len() - 1]);
    let fullest = cluster
        .osds
        .iter()
        .filter(|(_, weight, _)| *weight > 0.0)
        .max_by(|a, b| (a.2 as f64 / a.1).total_cmp(&(b.2 as f64 / b.1)));
    let summary = format!(
        "{}, the most loaded first: placement groups for its weight, where the mean is 100 %. They lie between {} \
         and {} %; the most are on osd.{}. A level line is an even cluster.",
        count(loads.len() as u64, "OSD", "OSDs"),
        number(least),
        number(most),
        fullest.map_or(0, |(osd, ..)| *osd),
    );
    let step = loads.len().div_ceil(2000);
    let points: Vec<(f64, f64)> = loads
        .iter()
        .enumerate()
        .step_by(step)
        .map(|(index, load)| (index as f64 + 1.0, *load))
        .collect();
    let xs = points.iter().map(|(x, _)| *x).collect();
    let values = points.iter().map(|(_, y)| Some(*y)).collect();
    let views =
        vec![View::new("OSDs", vec![Series::new("placement groups for its weight", values)])];
    let x = Axis::new("OSDs, the most loaded first", "");
    let y = Axis::new("of the mean", "%");
    section.chart("How evenly data lie", summary, Chart::Lines { x, y, xs, views });
    if cluster.osds.len() <= 200 {
        let mut table = Table::new("OSDs", 1, &["OSD", "weight", "placement groups"]);
        for (osd, weight, groups) in &cluster.osds {
            table.rows.push(vec![format!("osd.{osd}"), number(*weight), groups.to_string()]);
        }
        section.push(Part::Table(table));
    }
}
