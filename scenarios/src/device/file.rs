//! Checks device profiles. A new kind of device needs: a file here with its raw struct and its
//! check, a branch of `oneOf`, and a branch of [`device`]. Detailed drives are in
//! [`super::drive_file`], solid-state drives in [`super::ssd_file`], arrays in
//! [`super::array_file`], devices by measured latencies in [`super::curves_file`].

use std::borrow::Cow;
use std::sync::Arc;

use foretell_units::SECTOR_BYTES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::array_file::RawArray;
use super::curves_file::RawCurves;
use super::drive_file::raw::File;
use super::ssd_file::RawSsd;
use super::{Device, Mechanical, Seek, Tolerance, array_file, curves_file, ssd_file};
use crate::check::Context;
use crate::drive::Drive;
use crate::error::Problem;
use crate::raw::{At, RawDisk, RawMeasured, RawSeek, Time};
use crate::seek::{self, DataSheet};
use crate::tree::Node;

/// A device profile. `kind` says which, and each is read as the struct of its kind.
pub(crate) enum RawDevice {}

impl JsonSchema for RawDevice {
    fn schema_name() -> Cow<'static, str> {
        "device".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "x-tag": "kind",
            "oneOf": [
                RawDisk::json_schema(generator),
                File::json_schema(generator),
                RawSsd::json_schema(generator),
                RawArray::json_schema(generator),
                RawCurves::json_schema(generator),
                RawMeasured::json_schema(generator)
            ]
        })
    }

    fn inline_schema() -> bool {
        true
    }
}

/// The device of a profile whose structure was checked.
pub(crate) fn device(node: &Node, context: &mut Context<'_>) -> Option<Device> {
    match kind(node)? {
        "drive" => drive(node, context).map(Device::Drive),
        "ssd" => ssd_file::ssd(&context.read(node)?, context).map(Device::Ssd),
        "array" => array_file::array(&context.read(node)?, context)
            .map(|array| Device::Array(Box::new(array))),
        "curves" => curves_file::curves(&context.read(node)?, context).map(Device::Curves),
        "measured" => {
            let raw: RawMeasured = context.read(node)?;
            let capacity = context.size_above_zero(&raw.capacity, "a capacity")?;
            Some(Device::Measured { capacity })
        }
        _ => mechanical(&context.read(node)?, context).map(Device::Mechanical),
    }
}

/// The kind of device that a profile describes.
pub(crate) fn kind(node: &Node) -> Option<&str> {
    node.table()?.get("kind")?.text()
}

fn drive(node: &Node, context: &mut Context<'_>) -> Option<Arc<Drive>> {
    let raw: File = context.read(node)?;
    match raw.checked() {
        Ok(drive) => Some(Arc::new(drive)),
        Err(error) => {
            context.add(Problem::new(node.place, error.to_string()));
            None
        }
    }
}

fn mechanical(raw: &RawDisk, context: &mut Context<'_>) -> Option<Mechanical> {
    let capacity = context.size_above_zero(&raw.capacity, "a capacity");
    let overhead = context.time(&raw.overhead);
    let (outer, inner) = (context.rate(&raw.outer_rate), context.rate(&raw.inner_rate));
    let cylinders = u32::try_from(*raw.cylinders.get()).ok()?;
    let seek = seek_curve(&raw.seek, cylinders, context);
    if let (Some(outer), Some(inner)) = (outer, inner)
        && inner > outer
    {
        let message = format!(
            "the inner rate, {inner}, is more than the outer rate, {outer}: a disk turns at one \
                 speed, and its outer tracks are longer"
        );
        context.add(Problem::new(raw.inner_rate.place(), message));
    }
    let rpm = u32::try_from(*raw.rpm.get()).ok()?;
    let rpm_tolerance = context.share(&raw.rpm_tolerance).and_then(|share| {
        let tolerance = Tolerance::share(share);
        if tolerance.is_none() {
            let message =
                format!("a motor's speed is within {} of the nominal one", Tolerance::MAX);
            context.add(Problem::new(raw.rpm_tolerance.place(), message));
        }
        tolerance
    });
    // with less than a sector per revolution it would never complete
    if let Some(inner) = inner
        && inner.as_bytes_per_s_f64() * 60.0 / f64::from(rpm) < SECTOR_BYTES as f64
    {
        let message = format!("at {inner} less than a sector passes in a turn of {rpm} rpm");
        context.add(Problem::new(raw.inner_rate.place(), message));
    }
    Some(Mechanical {
        capacity: capacity?,
        rpm,
        rpm_tolerance: rpm_tolerance?,
        cylinders,
        seek: seek?,
        outer_rate: outer?,
        inner_rate: inner?,
        overhead: overhead?,
    })
}

fn seek_curve(raw: &At<RawSeek>, cylinders: u32, context: &mut Context<'_>) -> Option<Seek> {
    let place = raw.place();
    let raw = raw.get();
    let mut span = |time: &Option<Time>| context.time(time.as_ref()?);
    let sheet = [&raw.track_to_track, &raw.average, &raw.full_stroke];
    let curve = [&raw.short, &raw.short_per_sqrt, &raw.long, &raw.long_per_cylinder];
    let given = |times: &[&Option<Time>]| times.iter().filter(|time| time.is_some()).count();
    let curve_given = given(&curve) + usize::from(raw.knee.is_some());
    match (given(&sheet), curve_given) {
        (3, 0) => {
            let [track_to_track, average, full_stroke] = sheet.map(&mut span);
            let sheet = DataSheet {
                track_to_track: track_to_track?,
                average: average?,
                full_stroke: full_stroke?,
            };
            if sheet.track_to_track.is_zero() || sheet.full_stroke <= sheet.track_to_track {
                let message = "a seek takes time, and one over the full stroke more than one to \
                               the next track";
                context.add(Problem::new(place, message));
                return None;
            }
            let derived = seek::curve(sheet, cylinders);
            if let Err(possible) = derived {
                let message = format!(
                    "an average seek of {} does not go with {} to the next track and {} over the \
                     full stroke",
                    sheet.average, sheet.track_to_track, sheet.full_stroke
                );
                let place = raw.average.as_ref().map_or(place, At::place);
                context.add(Problem::new(place, message).help(format!(
                    "with these, an average is from {:.2} ms to {:.2} ms",
                    possible.least_ms, possible.most_ms
                )));
            }
            derived.ok()
        }
        (0, 5) => {
            let [short, short_per_sqrt, long, long_per_cylinder] =
                curve.map(|time| Some(span(time)?.as_ms_f64()));
            Some(Seek {
                knee: u32::try_from(*raw.knee.as_ref()?.get()).ok()?,
                short_ms: short?,
                short_ms_per_sqrt: short_per_sqrt?,
                long_ms: long?,
                long_ms_per_cylinder: long_per_cylinder?,
            })
        }
        _ => {
            let message = "a seek curve is given by three figures or by five";
            context.add(Problem::new(place, message).help(
                "either `track_to_track`, `average`, `full_stroke` of a data sheet, or `knee`, \
                 `short`, `short_per_sqrt`, `long`, `long_per_cylinder`",
            ));
            None
        }
    }
}
