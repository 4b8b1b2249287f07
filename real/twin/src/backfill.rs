//! An OSD that is backfilled while clients are measured: `background.kind` is `backfill`.
//!
//! A second volume holds the objects that are moved. The cluster's last OSD joins it when the measurement begins,
//! so that backfill continues while the points are measured. Left out: the time before, when that OSD was away.

use std::fmt::Write as _;

use crate::config::{Config, Drive};

/// Image of the clients, in bytes. A real OSD that returns still has the data written before it went away, and only
/// the data written since are moved. Here the OSD begins empty; an image of this size is moved soon after it joins.
const IMAGE: f64 = 512.0 * 1024.0 * 1024.0;
/// Number of objects to move, if unknown: enough for any measurement.
const ASSUMED_OBJECTS: f64 = 75_000.0;
const ASSUMED_OBJECT: f64 = 4.0 * 1024.0 * 1024.0;
/// Value of `osd_max_backfills` and `osd_recovery_max_active` if a source says that they do not limit.
const UNLIMITED: u32 = 1000;

/// Additions to a scenario.
#[derive(Debug, Default)]
pub(super) struct Backfill {
    /// Lines of `[cluster]`.
    pub(super) cluster: String,
    /// Tables.
    pub(super) tables: String,
    /// Bytes of the moved volume.
    pub(super) bytes: f64,
    /// Bytes of the clients' image.
    pub(super) image: f64,
}

/// The placement of the moved volume.
pub(super) struct Place<'a> {
    pub(super) nodes: u32,
    pub(super) per_node: u32,
    /// Number of shards that suffice, and of all shards.
    pub(super) encoding: (u32, u32),
    pub(super) domain: &'a str,
    pub(super) groups: u64,
    /// Bytes of a block, and of a group of blocks: an object of 4 MiB.
    pub(super) block: u64,
    pub(super) group: u64,
    /// Bytes that the cluster can hold.
    pub(super) usable: f64,
}

/// The backfill of a configuration, or the reason why it cannot be simulated.
pub(super) fn backfill(
    config: &Config,
    drive: Option<&Drive>,
    throttle: Option<u64>,
    place: &Place<'_>,
    assumed: &mut Vec<String>,
) -> Result<Backfill, String> {
    let background = &config.background;
    let is_disk = drive.is_some_and(Drive::is_disk);
    let profile = background.profile.as_deref().unwrap_or_else(|| {
        assumed.push("the profile of the scheduler is not known: Ceph's default".to_owned());
        "default"
    });
    let scheduler = background.scheduler.as_deref().unwrap_or_else(|| {
        assumed.push("the scheduler is not known; WPQ is taken".to_owned());
        "wpq"
    });
    let throttle = throttle.map_or_else(String::new, |bytes| format!(", throttle = \"{bytes} B\""));
    let scheduler = match scheduler {
        "wpq" => format!("kind = \"wpq\"{throttle}"),
        "mclock" => {
            let name = match profile {
                "high_client" | "high_client_ops" | "default" => "high_client_ops",
                "balanced" => "balanced",
                "high_recovery" | "high_recovery_ops" => "high_recovery_ops",
                other => return Err(format!("mClock's profile `{other}` cannot be simulated")),
            };
            // osd_mclock_max_capacity_iops_ssd and _hdd of Quincy
            let capacity = if is_disk { 315.0 } else { 21_500.0 };
            assumed.push(format!("an OSD's capacity for mClock: Ceph's default, {capacity} IOPS"));
            let spins = if spins(config.version.as_deref()) {
                assumed.push(
                    "a thread of each op queue spins while recovery is at its limit, as before 17.2.4"
                        .to_owned(),
                );
                ", spins = true"
            } else {
                ""
            };
            format!(
                "kind = \"mclock\", profile = \"{name}\", capacity = {capacity:.1}{spins}{throttle}"
            )
        }
        other => return Err(format!("the scheduler `{other}` cannot be simulated")),
    };
    // WPQ has Ceph's default limits unless they are lifted; the source lifts them under mClock, too
    let (backfills, active) = match (profile, background.scheduler.as_deref()) {
        ("default", Some("wpq") | None) => (1, if is_disk { 3 } else { 10 }),
        _ => (UNLIMITED, UNLIMITED),
    };
    if backfills == UNLIMITED {
        assumed.push(format!("osd_max_backfills and osd_recovery_max_active are {UNLIMITED}"));
    }
    let (_, n) = place.encoding;
    let osds = f64::from(place.nodes * place.per_node);
    let objects = background.objects.unwrap_or(ASSUMED_OBJECTS);
    // the joining OSD has a copy or shard of n in `osds` objects
    let bytes = objects * background.object_bytes.unwrap_or(ASSUMED_OBJECT) * osds / f64::from(n);
    let room = place.usable * 0.9 - IMAGE.min(place.usable * 0.4);
    let groups = (bytes.min(room) / place.group as f64).floor().max(4.0);
    let bytes = groups * place.group as f64;
    assumed.push("what the clients write to is not moved; their image has 512 MiB".to_owned());
    assumed.push("OSDs are filled while clients are measured, from the beginning on".to_owned());
    let mut tables = String::new();
    let _ = write!(
        tables,
        "# What is moved: the last OSD joins as measuring begins.\n\
         [volume.backfilled]\nsize     = \"{bytes:.0} B\"\nnodes    = \"osd\"\nencoding = \"{}-of-{n}\"\n\
         block    = \"{} B\"\ngroup    = \"{} B\"\nplacement_groups = {}\nfailure_domain = \"{}\"\n\n\
         [event.join]\nat   = \"0 s\"\nwhat = \"add\"\ndisk = \"osd{}.disk{}\"\n\n\
         [recovery]\nmax_backfills = {backfills}\nparallel      = {active}\n\n",
        place.encoding.0,
        place.block,
        place.group,
        place.groups,
        place.domain,
        place.nodes - 1,
        place.per_node - 1,
    );
    Ok(Backfill {
        cluster: format!("scheduler = {{ {scheduler} }}\n"),
        tables,
        bytes,
        image: IMAGE,
    })
}

/// Whether threads of this release spin while operations wait for mClock's limits: before 17.2.4.
fn spins(version: Option<&str>) -> bool {
    let numbers = version.unwrap_or_default().split(|c: char| !c.is_ascii_digit());
    let mut numbers = numbers.map_while(|part| part.parse::<u32>().ok());
    let Some(major) = numbers.next() else { return false };
    let later = |of: &mut dyn Iterator<Item = u32>| of.next().unwrap_or(u32::MAX);
    (major, later(&mut numbers), later(&mut numbers)) < (17, 2, 4)
}

/// Bytes of `BlueStore`'s throttle, if a source's notes mention them: `BlueStore throttle bytes: 256 KiB`.
pub(super) fn throttle_of_notes(notes: &[String]) -> Option<u64> {
    let note = notes.iter().find(|note| note.to_lowercase().contains("throttle"))?;
    let after = &note[note.to_lowercase().find("throttle")?..];
    let digits = after.find(|c: char| c.is_ascii_digit())?;
    let number: String = after[digits..].chars().take_while(char::is_ascii_digit).collect();
    let unit = after[digits + number.len()..].trim_start();
    let scale = match unit.get(..3)? {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale).filter(|bytes| (4096..=1 << 40).contains(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_whose_threads_spin_are_known_by_their_number() {
        for version in ["17.0.0-2125 (quincy dev)", "16.2.9", "17.2.3"] {
            assert!(spins(Some(version)), "{version}");
        }
        for version in ["17.2.4", "18.2.0", "19.2.1 (Squid)", "17", "quincy", ""] {
            assert!(!spins(Some(version)), "{version}");
        }
        assert!(!spins(None));
    }

    #[test]
    fn a_throttle_is_found_in_notes() {
        let of = |text: &str| throttle_of_notes(&["else".to_owned(), text.to_owned()]);
        assert_eq!(of("BlueStore throttle bytes: 256 KiB (SSD)."), Some(256 << 10));
        assert_eq!(of("throttled to 1 MiB"), Some(1 << 20));
        for text in
            ["no throttle", "throttle 3", "throttle: 7 apples", "throttle 99999999999999999999 KiB"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
