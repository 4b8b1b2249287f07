//! Writes a drive as a drive file.

use std::fmt::{Display, Write as _};

use foretell_input::toml_string;
use foretell_units::SimSpan;

use crate::device::Tolerance;
use crate::drive::{
    After, Cache, Drive, EarlyWrite, Numbering, Overhead, ReadAhead, Requested, SeekCurve,
    SeekFormula, Sparing, Zone,
};

/// The text of a drive file; [`super::parse`] reads the same drive from it. Features that are off
/// and values that are zero are left out.
pub fn write(drive: &Drive) -> String {
    let spec = drive.specification();
    let geometry = &spec.geometry;
    let mut text = Text(String::new());
    text.set("kind", "\"drive\"");
    text.set("source", toml_string(&spec.source));
    text.set("rpm", spec.rpm);
    if spec.rpm_tolerance != Tolerance::USUAL {
        text.name("rpm_tolerance", &spec.rpm_tolerance.to_string());
    }
    text.set("heads", geometry.heads);
    match geometry.numbering {
        Numbering::Plain => {}
        Numbering::SerpentineByZone => text.name("numbering", "serpentine-by-zone"),
        Numbering::Serpentine => text.name("numbering", "serpentine"),
    }
    text.sparing(geometry.sparing);
    text.span("head_switch", spec.head_switch);
    if spec.write_settle_ns != 0 {
        let sign = if spec.write_settle_ns < 0 { "-" } else { "" };
        let size = ms(SimSpan::from_ns(spec.write_settle_ns.unsigned_abs()));
        text.set("write_settle", format!("\"{sign}{size} ms\""));
    }
    if spec.queue_depth != 1 {
        text.set("queue_depth", spec.queue_depth);
    }
    text.table("bus");
    text.set("read_sector", quoted(spec.bus.read_sector));
    text.set("write_sector", quoted(spec.bus.write_sector));
    text.flag("held_by_reads", spec.bus.held_by_reads);
    text.overhead(&spec.overhead);
    text.cache(&spec.cache);
    text.seek(&spec.seek);
    for zone in &geometry.zones {
        text.zone(zone);
    }
    text.0
}

/// Milliseconds as a decimal number, exact to the nanosecond.
fn ms(span: SimSpan) -> String {
    let (whole, part) = (span.as_ns() / 1_000_000, span.as_ns() % 1_000_000);
    if part == 0 {
        return whole.to_string();
    }
    format!("{whole}.{part:06}").trim_end_matches('0').to_owned()
}

fn quoted(span: SimSpan) -> String {
    format!("\"{} ms\"", ms(span))
}

struct Text(String);

impl Text {
    fn set(&mut self, key: &str, value: impl Display) {
        // writing to a string cannot fail
        let _ = writeln!(self.0, "{key} = {value}");
    }

    fn name(&mut self, key: &str, value: &str) {
        self.set(key, format_args!("\"{value}\""));
    }

    fn table(&mut self, name: &str) {
        let _ = writeln!(self.0, "\n[{name}]");
    }

    fn span(&mut self, key: &str, span: SimSpan) {
        if !span.is_zero() {
            self.set(key, quoted(span));
        }
    }

    fn after(&mut self, key: &str, after: After) {
        if after.read == after.write {
            self.span(key, after.read);
        } else {
            self.set(key, format_args!("[{}, {}]", quoted(after.read), quoted(after.write)));
        }
    }

    fn flag(&mut self, key: &str, on: bool) {
        if on {
            self.set(key, true);
        }
    }

    fn count(&mut self, key: &str, count: u64) {
        if count != 0 {
            self.set(key, count);
        }
    }

    fn sparing(&mut self, sparing: Sparing) {
        let name = match sparing {
            Sparing::None => return,
            Sparing::Tracks => "tracks",
            Sparing::Cylinder => "cylinder",
            Sparing::Track => "track",
            Sparing::CylinderSlipsAtEnd => "cylinder-slips-at-end",
            Sparing::CylinderFront => "cylinder-front",
            Sparing::CylinderFrontSlipsAtEnd => "cylinder-front-slips-at-end",
            Sparing::AtEnd => "at-end",
            Sparing::Range(cylinders) => {
                self.set("spare_range", cylinders);
                "range"
            }
            Sparing::Zone => "zone",
            Sparing::ZoneSlipsAtEnd => "zone-slips-at-end",
        };
        self.name("sparing", name);
    }

    fn overhead(&mut self, overhead: &Overhead) {
        self.table("overhead");
        self.span("command", overhead.command);
        self.after("read_hit", overhead.read_hit);
        self.after("read_miss", overhead.read_miss);
        self.after("write_hit", overhead.write_hit);
        self.after("write_miss", overhead.write_miss);
        self.span("read_completion", overhead.read_completion);
        self.span("write_completion", overhead.write_completion);
        self.span("data_preparation", overhead.data_preparation);
        self.span("first_reselect", overhead.first_reselect);
        self.span("other_reselect", overhead.other_reselect);
        self.after("read_disconnect", overhead.read_disconnect);
        self.span("write_disconnect", overhead.write_disconnect);
        self.span("least_write_seek", overhead.least_write_seek);
        if let Some(extra) = overhead.extra_disconnect {
            self.table("overhead.extra_disconnect");
            self.span("command", extra.command);
            self.span("disconnect", extra.disconnect);
            self.span("away", extra.away);
            self.span("second_disconnect", extra.second_disconnect);
            self.span("seek_delay", extra.seek_delay);
            self.count("gathered_sectors", extra.gathered.get());
            self.count("gathered_of_long_sectors", extra.gathered_of_long.get());
            self.count("long_sectors", extra.long.get());
        }
    }

    fn cache(&mut self, cache: &Cache) {
        self.table("cache");
        self.flag("enabled", cache.enabled);
        self.set("segments", cache.segments);
        self.set("segment_sectors", cache.segment.get());
        self.flag("separate_write_segment", cache.separate_write_segment);
        match cache.read_ahead {
            ReadAhead::Off => {}
            ReadAhead::Track => self.name("read_ahead", "track"),
            ReadAhead::Cylinder => self.name("read_ahead", "cylinder"),
            ReadAhead::Segment => self.name("read_ahead", "segment"),
            ReadAhead::NextTrack => self.name("read_ahead", "next-track"),
        }
        self.count("least_read_ahead_sectors", cache.least_read_ahead.get());
        self.count("most_read_ahead_sectors", cache.most_read_ahead.get());
        self.flag("read_ahead_on_hit", cache.read_ahead_on_hit);
        match cache.requested {
            Requested::Replaced => {}
            Requested::Kept => self.name("requested", "kept"),
            Requested::Dropped => self.name("requested", "dropped"),
        }
        self.flag("keep_passing", cache.keep_passing);
        self.flag("read_as_passing", cache.read_as_passing);
        self.flag("write_as_passing", cache.write_as_passing);
        self.flag("early_write", cache.early_write == EarlyWrite::On);
        self.flag("combine_writes", cache.combine_writes);
        self.flag("read_hits_on_writes", cache.read_hits_on_writes);
        self.flag("hits_on_next", cache.hits_on_next);
        self.flag("full_hits_while_busy", cache.full_hits_while_busy);
        self.flag("partial_hits_while_busy", cache.partial_hits_while_busy);
        if !cache.partial_hits_at_once {
            self.set("partial_hits_at_once", false);
        }
        self.flag("stops_in_sector", cache.stops_in_sector);
        self.flag("leaves_while_reading_on", cache.leaves_while_reading_on);
        if cache.high_water > 0.0 {
            self.set("high_water", real(cache.high_water));
        }
        self.flag("water_by_segment", !cache.water_by_request);
    }

    fn seek(&mut self, seek: &SeekCurve) {
        self.table("seek");
        if !seek.points.is_empty() {
            let points =
                seek.points.iter().map(|(distance, ms)| format!("[{distance}, {}]", real(*ms)));
            self.list("table_ms", points, 6);
        }
        match seek.beyond {
            None => {}
            Some(SeekFormula::ThreePart(part)) => self.set(
                "three_part",
                format_args!(
                    "{{ knee = {}, short_ms = {}, short_ms_per_sqrt = {}, long_ms = {}, long_ms_per_cylinder = {} }}",
                    part.knee,
                    real(part.short_ms),
                    real(part.short_ms_per_sqrt),
                    real(part.long_ms),
                    real(part.long_ms_per_cylinder)
                ),
            ),
            Some(SeekFormula::Lee { root_ms, linear_ms, single_ms }) => self.set(
                "lee",
                format_args!(
                    "{{ root_ms = {}, linear_ms = {}, single_ms = {} }}",
                    real(root_ms),
                    real(linear_ms),
                    real(single_ms)
                ),
            ),
        }
    }

    fn zone(&mut self, zone: &Zone) {
        let _ = writeln!(self.0, "\n[[zone]]");
        self.set("first_cylinder", zone.first_cylinder);
        self.set("last_cylinder", zone.last_cylinder);
        self.set("sectors_per_track", zone.sectors_per_track);
        self.set("first_sector", real(zone.first_sector));
        self.set("track_skew", real(zone.track_skew));
        self.set("cylinder_skew", real(zone.cylinder_skew));
        self.count("reserved", zone.reserved);
        self.count("spares", zone.spares);
        if !zone.slips.is_empty() {
            self.list("slips", zone.slips.iter().map(ToString::to_string), 10);
        }
        if !zone.defects.is_empty() {
            let pairs = zone.defects.iter().map(|(bad, good)| format!("[{bad}, {good}]"));
            self.list("defects", pairs, 6);
        }
    }

    /// An array with this number of items per line.
    fn list(&mut self, key: &str, items: impl Iterator<Item = String>, per_line: usize) {
        let items: Vec<_> = items.collect();
        if items.len() <= per_line {
            self.set(key, format_args!("[{}]", items.join(", ")));
            return;
        }
        let lines: Vec<_> = items.chunks(per_line).map(|line| line.join(", ")).collect();
        self.set(key, format_args!("[\n    {},\n]", lines.join(",\n    ")));
    }
}

/// The shortest decimal number, with a point, that reads back as the same number.
fn real(number: f64) -> String {
    format!("{number:?}")
}
