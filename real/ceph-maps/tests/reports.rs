//! Real clusters: every placement group is where Ceph's own tools put it, every OSD has what it reports.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use foretell_algorithms::crush::NONE;
use foretell_ceph_maps::{Imported, check, read_text};

/// The reports, where there are any.
fn directory() -> Option<PathBuf> {
    foretell_test_data::shared("ceph-reports")
}

fn text(path: &Path) -> String {
    let mut text = String::new();
    let file = File::open(path).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(file).read_to_string(&mut text).unwrap();
    } else {
        (&file).read_to_string(&mut text).unwrap();
    }
    text
}

/// Pairs of a map's file and that of its mappings.
fn pairs(directory: &Path) -> Vec<(PathBuf, PathBuf)> {
    let numbers = ["01", "04", "09", "13"];
    let reports = numbers.iter().map(|number| {
        let mappings = directory.join(format!("mappings-{number}.csv.gz"));
        (directory.join(format!("report-{number}.json")), mappings)
    });
    let perturbed = numbers.iter().map(|number| {
        let perturbed = directory.join("perturbed");
        let mappings = perturbed.join(format!("{number}-1.csv.gz"));
        (perturbed.join(format!("{number}-1.json.gz")), mappings)
    });
    reports.chain(perturbed).collect()
}

fn set(osds: &[i32]) -> String {
    let osd = |osd: &i32| if *osd == NONE { "-".to_owned() } else { osd.to_string() };
    osds.iter().map(osd).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_group_is_where_osdmaptool_puts_it() {
    let Some(directory) = directory() else { return };
    let mut compared = 0;
    for (map, mappings) in pairs(&directory) {
        let name = map.display().to_string();
        let Imported::Cluster(map, _) = read_text(&name, &text(&map)).unwrap() else {
            panic!("{name} has no OSDs")
        };
        let placed = map.place_all().unwrap();
        let mappings = text(&mappings);
        let mut rows = mappings.lines().skip(1);
        for (pg, placed) in map.groups().zip(&placed) {
            let (up, acting) = (set(&placed.up), set(&placed.acting));
            let (leader, acting_leader) = (placed.up_primary, placed.acting_primary);
            let ours = format!("{},{},{up},{leader},{acting},{acting_leader}", pg.pool, pg.seed);
            assert_eq!(Some(ours.as_str()), rows.next(), "{name}");
            compared += 1;
        }
        assert_eq!(rows.next(), None, "{name}");
    }
    assert_eq!(compared, 2 * (1073 + 528 + 1106 + 857));
}

#[test]
fn every_osd_has_what_its_cluster_reports() {
    let Some(directory) = directory() else { return };
    for (map, _) in &pairs(&directory)[..4] {
        let name = map.display().to_string();
        let Imported::Cluster(map, inventory) = read_text(&name, &text(map)).unwrap() else {
            panic!("{name} has no OSDs")
        };
        let check = check(&map, &map.place_all().unwrap(), &inventory.reported.clone().unwrap());
        assert!(check.osds >= 18, "{name}");
        // in one of the reports, OSDs have one address each
        assert_eq!(inventory.has_cluster_network, !name.ends_with("report-13.json"), "{name}");
        assert_eq!(check.osds_equal, check.osds, "{name}: {:?}", check.differing);
        assert_eq!(check.primaries_equal, check.osds, "{name}: {:?}", check.differing);
    }
}

#[test]
fn a_report_cut_off_anywhere_is_an_error() {
    let Some(directory) = directory() else { return };
    let whole = text(&directory.join("report-04.json"));
    for part in 1..40 {
        let mut end = whole.len() * part / 40;
        while !whole.is_char_boundary(end) {
            end -= 1;
        }
        let error = read_text("report.json", &whole[..end]).unwrap_err().to_string();
        assert!(error.starts_with("report.json"), "{error}");
    }
}
