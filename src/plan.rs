//! `foretell plan`: the data of a cluster that a change would move, and how to move less.

use std::fmt::Write as _;
use std::path::PathBuf;

use foretell_algorithms::crush::ClusterMap;
use foretell_ceph_maps::{
    Imported, Inventory, Levels, Plan, Situation, Upmaps, balance, change, moves_by,
    plan as compare, read_files, stay,
};
use serde_json::{Value, json};

use crate::cli::{PlanArguments, UpmapKind};
use crate::failure::Failure;
use crate::import::{MAP_FILE, Pools, in_tib, notes};

mod time;

use time::Time;

/// Refuses options of `--upmap balance` with `--upmap stay`.
fn balance_options_have_effect(arguments: &PlanArguments) -> Result<(), Failure> {
    let given = [
        ("--upmap-max", arguments.upmap_max.is_some()),
        ("--upmap-deviation", arguments.upmap_deviation.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) if arguments.upmap == Some(UpmapKind::Stay) => {
            let what = "has no effect with `--upmap stay`; it belongs to `--upmap balance`";
            Err(Failure::Usage(format!("`{option}` {what}")))
        }
        _ => Ok(()),
    }
}

/// Runs the command.
pub(crate) fn plan(arguments: &PlanArguments) -> Result<(), Failure> {
    balance_options_have_effect(arguments)?;
    let prices = arguments.prices.read()?;
    let (map, inventory) = cluster(&arguments.cluster)?;
    let (changed, known) = change(&map, &inventory, &arguments.what_if).map_err(usage)?;
    let plan = compare((&map, &inventory), (&changed, &known)).map_err(usage)?;
    let upmaps = match arguments.upmap {
        None => None,
        Some(UpmapKind::Balance) => {
            let most = arguments.upmap_max.unwrap_or(10);
            let deviation = arguments.upmap_deviation.unwrap_or(5.0);
            Some(balance(&changed, most, deviation).map_err(usage)?)
        }
        Some(UpmapKind::Stay) => Some(stay(&map, &changed).map_err(usage)?),
    };
    let with = match &upmaps {
        Some(upmaps) => {
            let mapped = upmaps.applied(&changed);
            Some((upmaps, compare((&map, &inventory), (&mapped, &known)).map_err(usage)?))
        }
        None => None,
    };
    let time = Time::of(&plan, (&changed, &known), arguments)?;
    let placed = [&map, &changed].map(ClusterMap::place_all);
    let [before, after] = placed;
    let (before, after) = (before.map_err(usage)?, after.map_err(usage)?);
    let [now, then] = &plan.levels;
    let before = Situation { map: &map, inventory: &inventory, placed: &before };
    let after = Situation { map: &changed, inventory: &known, placed: &after };
    let before = Pools::of(before, now, &prices).map_err(usage)?;
    let after = Pools::of(after, then, &prices).map_err(usage)?;
    let mut notes = notes(&changed, &known);
    notes.extend(after.notes());
    arguments.prices.note_unpriced(&after.unpriced);
    let printed = if arguments.json {
        let mut document = document(&plan, &changed);
        document["time"] = time.as_ref().map_or(Value::Null, Time::document);
        document["notes"] = json!(notes);
        document["capacity"] = json!({
            "before": { "pools": before.by_name(), "whole": before.whole() },
            "after": { "pools": after.by_name(), "whole": after.whole() },
        });
        if let Some((upmaps, with)) = &with {
            document["upmaps"] = json!({
                "count": upmaps.len(),
                "commands": upmaps.commands(),
                "cannot_stay": upmaps.lost.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "pgs_moved": with.groups,
                "bytes_moved": whole(with.bytes),
                "fullest": fullest(with),
            });
        }
        crate::output::json(&document)
    } else {
        let (before, after) = (before.text(), after.text());
        let mut text = text(&plan, time.as_ref(), with.as_ref(), &changed);
        if before == after {
            let _ = write!(text, "\nbefore and after\n{before}");
        } else {
            let _ = write!(text, "\nbefore\n{before}\nafter\n{after}");
        }
        text.extend(notes.iter().map(|note| crate::output::note(note)));
        text
    };
    crate::output::print(&printed)
}

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

fn cluster(paths: &[PathBuf]) -> Result<(ClusterMap, Inventory), Failure> {
    let kept = |path: &PathBuf| match path.join(MAP_FILE) {
        map if map.is_file() => Ok(map),
        _ if path.is_dir() => Err(Failure::Usage(format!(
            "`{}` holds no `{MAP_FILE}`; give the files of a Ceph cluster, or a directory that `foretell import ceph` \
             made",
            path.display()
        ))),
        _ => Ok(path.clone()),
    };
    let files = paths.iter().map(kept).collect::<Result<Vec<_>, _>>()?;
    match read_files(&files).map_err(usage)? {
        Imported::Cluster(map, inventory) => Ok((*map, *inventory)),
        Imported::Crush(..) => Err(Failure::Usage(
            "a CRUSH map alone has no placement groups to move; give the OSD map or a report"
                .to_owned(),
        )),
    }
}

/// Bytes as a whole number for JSON.
fn whole(bytes: f64) -> u64 {
    bytes.round() as u64
}

fn fullest(plan: &Plan) -> Value {
    let Some([before, after]) = plan.fullest else { return Value::Null };
    let osd = |(osd, fill): (i32, f64)| json!({ "osd": osd, "fill": fill });
    json!({ "before": osd(before), "after": osd(after) })
}

fn document(plan: &Plan, map: &ClusterMap) -> Value {
    let moves = plan
        .moves
        .iter()
        .map(|((from, to), bytes)| json!({ "from": from, "to": to, "bytes": whole(*bytes) }));
    let pools = plan.pools.iter().map(|(id, (groups, bytes))| {
        let name = map.pools().get(id).map(|pool| pool.name.as_str());
        json!({ "pool": id, "name": name, "pgs_moved": groups, "bytes_moved": whole(*bytes) })
    });
    let mut by = serde_json::Map::new();
    for (kind, name) in &map.crush.parts().types {
        let places = moves_by(plan, map, *kind);
        // a level with a single place says nothing
        if *kind == 0 || places.len() > 1 {
            let place = |(name, (into, out)): (&String, &(f64, f64))| json!({ "name": name, "bytes_in": whole(*into), "bytes_out": whole(*out) });
            by.insert(name.clone(), places.iter().map(place).collect());
        }
    }
    json!({
        "pgs_moved": plan.groups,
        "pgs_changed": plan.groups_changed,
        "shards_moved": plan.shards,
        "shards": plan.shards_in_all,
        "bytes_moved": whole(plan.bytes),
        "pgs_short": plan.short,
        "bytes_floor": whole(plan.floor.bytes(plan.bytes)),
        "bytes_known": plan.bytes_known,
        "floor": {
            "misplaced_bytes": whole(plan.floor.misplaced_bytes),
            "balance_bytes": whole(plan.floor.balance_bytes),
        },
        "fullest": fullest(plan),
        "pools": pools.collect::<Value>(),
        "by": by,
        "moves": moves.collect::<Value>(),
    })
}

fn text(
    plan: &Plan,
    time: Option<&Time>,
    upmaps: Option<&(&Upmaps, Plan)>,
    map: &ClusterMap,
) -> String {
    let mut text = String::new();
    let bytes = |amount: f64| if plan.bytes_known { in_tib(amount) } else { "-".to_owned() };
    let share = 100.0 * plan.shards as f64 / plan.shards_in_all.max(1) as f64;
    let _ = writeln!(
        text,
        "{} placement groups move: {} of {} copies or shards ({share:.1} %), {}",
        plan.groups,
        plan.shards,
        plan.shards_in_all,
        bytes(plan.bytes)
    );
    let floor = &plan.floor;
    let _ = writeln!(
        text,
        "at least {} must move: {} cannot stay where it is, and {} goes to OSDs whose share of the weight grows",
        bytes(floor.bytes(plan.bytes)),
        bytes(floor.misplaced_bytes),
        bytes(floor.balance_bytes)
    );
    if plan.short > 0 {
        let _ = writeln!(
            text,
            "{} placement groups have fewer copies or shards than their pool wants; the notes say why",
            plan.short
        );
    }
    if !plan.bytes_known {
        text.push_str("the files do not say how much the pools hold: bytes are unknown\n");
    }
    write_fullest(&mut text, plan);
    text.push_str(&time.map(Time::text).unwrap_or_default());
    for (id, (groups, moved)) in plan.pools.iter().filter(|(_, (groups, _))| *groups > 0) {
        let name = map.pools().get(id).map_or("", |pool| pool.name.as_str());
        let _ = writeln!(text, "  pool {name}: {groups} groups, {}", bytes(*moved));
    }
    for (kind, name) in map.crush.parts().types.iter().filter(|(kind, _)| **kind > 0) {
        let places = moves_by(plan, map, *kind);
        for (place, (into, out)) in places.iter().filter(|_| places.len() > 1) {
            let _ = writeln!(text, "  {name} {place}: {} in, {} out", bytes(*into), bytes(*out));
        }
    }
    if let Some((upmaps, with)) = upmaps {
        let _ = writeln!(
            text,
            "\nwith {} upmaps: {} groups move, {}",
            upmaps.len(),
            with.groups,
            bytes(with.bytes)
        );
        write_fullest(&mut text, with);
        if !upmaps.lost.is_empty() {
            let _ =
                writeln!(text, "{} groups cannot stay: an OSD is out or gone", upmaps.lost.len());
        }
        for command in upmaps.commands() {
            let _ = writeln!(text, "{command}");
        }
    }
    text
}

fn write_fullest(text: &mut String, plan: &Plan) {
    let known = plan.levels.iter().all(Levels::are_known);
    if let Some([(before, old), (after, new)]) = plan.fullest.filter(|_| known) {
        let (old, new) = (100.0 * old, 100.0 * new);
        let _ =
            writeln!(text, "fullest: osd.{before} {old:.1} % before, osd.{after} {new:.1} % after");
    }
}
