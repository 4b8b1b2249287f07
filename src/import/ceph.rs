//! `foretell import ceph`: the placement of data in a real cluster, checked against the cluster's
//! own report.

use std::fmt::Write as _;
use std::path::Path;

use foretell_algorithms::crush::{ClusterMap, CrushMap, NONE, Placed, Rule, Workspace};
use foretell_ceph_maps::{
    Check, Imported, Inventory, Levels, Scenario, Situation, check, keepable, read_files, scenario,
};
use foretell_files::{Directory, FileKind, Purpose};
use foretell_input::one_line;
use serde_json::{Value, json};

use crate::cli::{CephArguments, Inputs};
use crate::failure::Failure;
use crate::import::pools::Pools;
use crate::output::note;

/// The file in which an imported cluster is kept.
pub(crate) const MAP_FILE: &str = "ceph-map.json";
/// The cluster's scenario, in the same directory.
const SCENARIO_FILE: &str = "scenario.toml";

const HEADER: &str = "pool,pg,up,up_primary,acting,acting_primary\n";
const MAPPINGS: FileKind<'_> = FileKind::beginning("a table of mappings", HEADER);

/// Runs the command.
pub(super) fn import(arguments: &CephArguments) -> Result<(), Failure> {
    foretell_files::check_apart(arguments.mappings.as_deref(), MAPPINGS, &arguments.files)?;
    match read_files(&arguments.files).map_err(usage)? {
        Imported::Cluster(map, inventory) => {
            if arguments.rule.is_some() {
                return Err(Failure::Usage(
                    "--rule is for a CRUSH map alone; pools of a cluster have their rules"
                        .to_owned(),
                ));
            }
            cluster(arguments, &map, &inventory)
        }
        Imported::Crush(map, notes) => crush(arguments, &map, notes),
    }
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

fn cluster(
    arguments: &CephArguments,
    map: &ClusterMap,
    inventory: &Inventory,
) -> Result<(), Failure> {
    let prices = arguments.prices.read()?;
    if arguments.check && inventory.reported.is_none() {
        return Err(Failure::Usage(
            "nothing to check: the files do not say how many placement groups each OSD has \
             (`ceph report` does)"
                .to_owned(),
        ));
    }
    let placed = map.place_all().map_err(usage)?;
    if let Some(path) = &arguments.mappings {
        foretell_files::write(path, MAPPINGS, mappings(map, &placed).as_bytes())?;
    }
    let written = match &arguments.output {
        Some(_) => scenario(map, inventory, MAP_FILE).map_err(usage)?,
        None => None,
    };
    if let Some(directory) = &arguments.output {
        let kept = keepable(&arguments.files).map_err(usage)?;
        let directory = Directory::take(directory, Purpose::of("import ceph"))?;
        directory.write(MAP_FILE, kept.as_bytes())?;
        if let Some(scenario) = &written {
            directory.write(SCENARIO_FILE, scenario.text.as_bytes())?;
        }
    }
    let checked = inventory.reported.as_ref().map(|reported| check(map, &placed, reported));
    let situation = Situation { map, inventory, placed: &placed };
    let pools = Pools::of(situation, &Levels::now(situation), &prices).map_err(usage)?;
    let mut notes = notes(map, inventory);
    notes.extend(pools.notes());
    arguments.prices.note_unpriced(&pools.unpriced);
    let printed = if arguments.json {
        let mut document = document(map, checked.as_ref(), &notes);
        if arguments.output.is_some() {
            document["scenario"] = written.as_ref().map_or(Value::Null, |scenario| {
                json!({ "file": SCENARIO_FILE, "caveats": scenario.caveats, "measure": scenario.measure })
            });
        }
        document["pgs_short"] = json!(pools.groups_short());
        document["pools"] = pools.by_name();
        document["capacity"] = pools.whole();
        crate::output::json(&document)
    } else {
        let mut text = summary(map, inventory, checked.as_ref());
        text.push_str(&pools.text());
        text.extend(notes.iter().map(|text| note(text)));
        if let Some(path) = &arguments.mappings {
            let _ = writeln!(text, "mappings in {}", path.display());
        }
        if let Some(directory) = &arguments.output {
            let _ = writeln!(text, "the cluster is in {}", directory.join(MAP_FILE).display());
            write_scenario(&mut text, directory, written.as_ref());
        }
        text
    };
    crate::output::print(&printed)?;
    match checked {
        Some(check) if arguments.check && !check.differing.is_empty() => {
            let (osds, differing) = (check.osds, check.differing.len());
            Err(Failure::Differs(format!("{differing} of {osds} OSDs differ from the report")))
        }
        _ => Ok(()),
    }
}

/// Describes the scenario, and what would improve it.
fn write_scenario(text: &mut String, directory: &Path, scenario: Option<&Scenario>) {
    let Some(scenario) = scenario else {
        text.push_str("there is no scenario: no pool can be simulated\n");
        return;
    };
    let file = directory.join(SCENARIO_FILE);
    let _ = writeln!(text, "a scenario of it is in {0}: foretell run {0}", file.display());
    for caveat in &scenario.caveats {
        let _ = writeln!(text, "differs from the cluster: {}", one_line(caveat));
    }
    text.push_str("measure next:\n");
    for step in &scenario.measure {
        let _ = writeln!(text, "- {}", one_line(step));
    }
}

/// Warnings about the map that users should know before they rely on it.
pub(crate) fn notes(map: &ClusterMap, inventory: &Inventory) -> Vec<String> {
    let mut notes = inventory.notes.clone();
    for pool in map.pools().values() {
        if map.rule_named_by(pool).is_none() {
            let (name, rule, size) = (&pool.name, pool.rule, pool.size);
            notes.push(format!("pool `{name}` has no rule: no rule {rule} allows {size} replicas"));
        }
    }
    notes.extend(map.crush.notes());
    notes
}

fn document(map: &ClusterMap, check: Option<&Check>, notes: &[String]) -> Value {
    let mut document = json!({ "pgs": map.group_count(), "osds": map.existing().count() });
    if let Some(check) = check {
        let differing = check.differing.iter().map(|difference| {
            json!({
                "osd": difference.osd,
                "reported": difference.reported.groups,
                "computed": difference.computed.groups,
                "reported_primaries": difference.reported.primaries,
                "computed_primaries": difference.computed.primaries,
            })
        });
        document["osds"] = json!(check.osds);
        document["osds_equal"] = json!(check.osds_equal);
        document["primaries_equal"] = json!(check.primaries_equal);
        document["differing"] = differing.collect();
    }
    document["notes"] = json!(notes);
    document
}

fn summary(map: &ClusterMap, inventory: &Inventory, check: Option<&Check>) -> String {
    let mut text = String::new();
    let version = inventory
        .version
        .as_ref()
        .map_or(String::new(), |version| format!("Ceph {}, ", one_line(version)));
    let (osds, pools, groups) = (map.existing().count(), map.pools().len(), map.group_count());
    let _ = writeln!(text, "{version}{osds} OSDs, {pools} pools, {groups} placement groups");
    if let Some(check) = check {
        let _ = writeln!(
            text,
            "as reported: placement groups of {} of {} OSDs, primaries of {}",
            check.osds_equal, check.osds, check.primaries_equal
        );
        for difference in &check.differing {
            let (reported, computed) = (difference.reported, difference.computed);
            let _ = writeln!(
                text,
                "  osd.{}: {} groups reported, {} computed; leads {} reported, {} computed",
                difference.osd,
                reported.groups,
                computed.groups,
                reported.primaries,
                computed.primaries
            );
        }
    }
    text
}

/// Bytes in a suitable unit.
pub(crate) fn in_tib(bytes: f64) -> String {
    let units = [(1_u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| bytes >= *unit as f64);
    // + 0.0 turns -0 into 0
    let bytes = bytes + 0.0;
    unit.map_or(format!("{bytes:.0} B"), |(unit, name)| {
        format!("{:.2} {name}", bytes / unit as f64)
    })
}

fn mappings(map: &ClusterMap, placed: &[Placed]) -> String {
    let mut text = String::from(HEADER);
    for (pg, placed) in map.groups().zip(placed) {
        let _ = write!(text, "{},{},", pg.pool, pg.seed);
        write_set(&mut text, &placed.up);
        let _ = write!(text, ",{},", placed.up_primary);
        write_set(&mut text, &placed.acting);
        let _ = writeln!(text, ",{}", placed.acting_primary);
    }
    text
}

/// OSDs separated by spaces; `-` for a hole.
fn write_set(text: &mut String, set: &[i32]) {
    for (at, osd) in set.iter().enumerate() {
        if at > 0 {
            text.push(' ');
        }
        if *osd == NONE {
            text.push('-');
        } else {
            let _ = write!(text, "{osd}");
        }
    }
}

fn crush(arguments: &CephArguments, map: &CrushMap, mut notes: Vec<String>) -> Result<(), Failure> {
    if arguments.check {
        return Err(Failure::Usage(
            "nothing to check: a CRUSH map alone has no pools; give the OSD map or a report"
                .to_owned(),
        ));
    }
    if arguments.output.is_some() {
        return Err(Failure::Usage(
            "there is nothing to write into a directory: a CRUSH map alone has no pools; give the OSD map or a \
             report"
                .to_owned(),
        ));
    }
    let parts = map.parts();
    let (buckets, rules) = (parts.buckets.len(), parts.rules.len());
    let devices = map.placed_devices().len();
    let mut document = json!({ "devices": devices, "buckets": buckets, "rules": rules });
    let mut text = format!(
        "{}, {}, {}\n",
        crate::output::counted(devices, "device"),
        crate::output::counted(buckets, "bucket"),
        crate::output::counted(rules, "rule")
    );
    if let (Some(rule), Some(replicas), Some(inputs)) =
        (&arguments.rule, arguments.replicas, arguments.inputs)
    {
        let rule = rule_named(map, rule)?;
        let reweights = reweights(map, &arguments.weights)?;
        let rows = place_inputs(map, rule, replicas as usize, inputs, &reweights)?;
        let count = u64::from(inputs.last - inputs.first) + 1;
        document["mappings"] = json!(count);
        match &arguments.mappings {
            Some(path) => {
                foretell_files::write(path, MAPPINGS, rows.as_bytes())?;
                let _ = writeln!(text, "{count} mappings in {}", path.display());
            }
            None if arguments.json => {}
            None => text = rows,
        }
    } else if arguments.mappings.is_some() {
        return Err(Failure::Usage(
            "a CRUSH map alone has no pools: --mappings needs --rule, --replicas and --inputs"
                .to_owned(),
        ));
    }
    notes.extend(map.notes());
    text.extend(notes.iter().map(|text| note(text)));
    document["notes"] = json!(notes);
    crate::output::print(&if arguments.json { crate::output::json(&document) } else { text })
}

fn rule_named<'a>(map: &'a CrushMap, name: &str) -> Result<&'a Rule, Failure> {
    let rules = &map.parts().rules;
    let by_name = rules.iter().find(|rule| rule.name == name);
    let found = by_name.or_else(|| map.rule(name.parse().ok()?));
    found.ok_or_else(|| {
        let known: Vec<String> =
            rules.iter().map(|rule| format!("{} (`{}`)", rule.id, rule.name)).collect();
        Failure::Usage(format!("there is no rule `{name}`; there are {}", known.join(", ")))
    })
}

/// Reweights of all devices of the map: 1, except for those that are named.
fn reweights(map: &CrushMap, named: &[(u32, f64)]) -> Result<Vec<u32>, Failure> {
    let mut reweights = vec![0; map.devices()];
    for osd in map.placed_devices() {
        reweights[osd as usize] = 0x1_0000;
    }
    for (osd, weight) in named {
        let place = reweights.get_mut(*osd as usize).filter(|weight| **weight > 0);
        let place = place.ok_or_else(|| Failure::Usage(format!("osd.{osd} is not in the map")))?;
        *place = (weight * 65_536.0) as u32;
    }
    Ok(reweights)
}

/// A row for each input, as for the placement groups of a pool whose number is the rule's.
fn place_inputs(
    map: &CrushMap,
    rule: &Rule,
    replicas: usize,
    inputs: Inputs,
    reweights: &[u32],
) -> Result<String, Failure> {
    let mut text = String::from(HEADER);
    let (mut work, mut set, mut members) = (Workspace::default(), Vec::new(), String::new());
    for input in inputs.first..=inputs.last {
        map.place(rule, input, replicas, reweights, 0, &mut work, &mut set).map_err(usage)?;
        members.clear();
        write_set(&mut members, &set);
        let leader = set.iter().copied().find(|osd| *osd != NONE).unwrap_or(-1);
        let _ = writeln!(text, "{},{input},{members},{leader},{members},{leader}", rule.id);
    }
    Ok(text)
}
