//! Facts that a source gives only in words: its `notes`, as far as they are understood.

use crate::backfill::throttle_of_notes;

/// `osd_memory_target`, if a source does not state it (Ceph's default).
const ASSUMED_TARGET: f64 = 4.0 * GIB;
const GIB: f64 = 1_073_741_824.0;
/// `osd_memory_base`: memory of an OSD besides its caches; and `osd_memory_expected_fragmentation`.
const BASE: f64 = 0.75 * GIB;
const FRAGMENTED: f64 = 0.15;

/// Facts found in notes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Facts {
    /// Bytes of `BlueStore`'s throttle.
    pub(super) throttle: Option<u64>,
    /// Bytes of an OSD's caches.
    pub(super) cache: f64,
    /// Gbit/s of all clients together, if something between them and the cluster limits them.
    pub(super) client_gbit: Option<f64>,
}

impl Facts {
    /// The facts in these notes.
    pub(super) fn of(notes: &[String]) -> Self {
        let after = |words: &str| {
            notes.iter().find_map(|note| {
                let lower = note.to_lowercase();
                let at = lower.find(words)? + words.len();
                number(&lower[at..])
            })
        };
        let gigabytes = |(number, unit): (f64, String)| match unit.as_str() {
            "gb" | "gib" => Some(number * GIB),
            _ => None,
        };
        let target = after("osd_memory_target ").and_then(gigabytes);
        let of_target = target.unwrap_or(ASSUMED_TARGET) * (1.0 - FRAGMENTED) - BASE;
        let stated = after("bluestore cache ").and_then(gigabytes);
        let uplink = notes.iter().find_map(|note| {
            let lower = note.to_lowercase();
            let clients = lower.find("client")?;
            let limit = clients + lower[clients..].find("limited to ")? + "limited to ".len();
            let (gbit, unit) = number(&lower[limit..])?;
            (unit == "gb/s" && lower[limit..].contains("in total")).then_some(gbit)
        });
        Self {
            throttle: throttle_of_notes(notes),
            cache: stated.unwrap_or(of_target).max(0.25 * GIB),
            client_gbit: uplink.filter(|gbit| (0.001..=1e6).contains(gbit)),
        }
    }
}

/// The number at the beginning of a text, and the word after it.
fn number(text: &str) -> Option<(f64, String)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].trim_end_matches('.').parse().ok()?;
    let unit = text[end..].trim_start().split(|c: char| !c.is_ascii_alphanumeric() && c != '/');
    Some((number, unit.into_iter().next().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(notes: &[&str]) -> Facts {
        Facts::of(&notes.iter().map(|note| (*note).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn memory_and_uplinks_are_found_in_notes() {
        let none = of(&[]);
        assert_eq!((none.throttle, none.client_gbit), (None, None));
        // 4 GiB, 15 % less, and 768 MiB less
        assert!((none.cache / GIB - 2.65).abs() < 1e-9);
        assert!((of(&["osd_memory_target 8 GB; more"]).cache / GIB - 6.05).abs() < 1e-9);
        assert!((of(&["Tuned: BlueStore cache 8 GB an OSD"]).cache / GIB - 8.0).abs() < 1e-9);
        let uplink =
            of(&["Clients: 7 blades of 2x 10 Gb, their uplink limited to 80 Gb/s in total."]);
        assert_eq!(uplink.client_gbit, Some(80.0));
        for text in
            ["Clients limited to 8 apples in total", "limited to 80 Gb/s in total", "clients"]
        {
            assert_eq!(of(&[text]).client_gbit, None, "{text}");
        }
    }
}
