//! Device profiles: from raw to checked. A new kind of device is a raw struct (in `raw/device.rs` or
//! a file of its own), a branch of the `oneOf` there, and a case of [`device`].

use crate::check::Context;
use crate::device::{Device, Mechanical, Seek};
use crate::error::Problem;
use crate::raw::{At, RawDisk, RawSeek, Time};
use crate::seek::{self, DataSheet};
use crate::tree::Node;
use crate::{array_file, ssd_file};

/// The device of a profile, whose structure was checked.
pub(crate) fn device(node: &Node, context: &mut Context<'_>) -> Option<Device> {
    match kind(node)? {
        "ssd" => {
            let raw = context.read(node)?;
            ssd_file::ssd(&raw, context).map(Device::Ssd)
        }
        "array" => {
            let raw = context.read(node)?;
            array_file::array(&raw, context).map(|array| Device::Array(Box::new(array)))
        }
        _ => {
            let raw = context.read(node)?;
            mechanical(&raw, context).map(Device::Mechanical)
        }
    }
}

/// What kind of device a profile describes.
pub(crate) fn kind(node: &Node) -> Option<&str> {
    node.table()?.get("kind")?.text()
}

fn mechanical(raw: &RawDisk, context: &mut Context<'_>) -> Option<Mechanical> {
    let capacity = context.size_above_zero(&raw.capacity, "a capacity");
    let overhead = context.time(&raw.overhead);
    let (outer, inner) = (context.rate(&raw.outer_rate), context.rate(&raw.inner_rate));
    let cylinders = u32::try_from(*raw.cylinders.get()).ok()?;
    let seek = seek_curve(&raw.seek, cylinders, context);
    if let (Some(outer), Some(inner)) = (outer, inner) {
        if inner > outer {
            let message = format!(
                "the inner rate, {inner}, is more than the outer rate, {outer}: a disk turns at one \
                 speed, and its outer tracks are longer"
            );
            context.add(Problem::new(raw.inner_rate.place(), message));
        }
    }
    Some(Mechanical {
        capacity: capacity?,
        rpm: u32::try_from(*raw.rpm.get()).ok()?,
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
    let mut ms = |time: &Option<Time>| Some(context.time(time.as_ref()?)?.as_ms_f64());
    let sheet = [&raw.track_to_track, &raw.average, &raw.full_stroke];
    let curve = [&raw.short, &raw.short_per_sqrt, &raw.long, &raw.long_per_cylinder];
    let given = |times: &[&Option<Time>]| times.iter().filter(|time| time.is_some()).count();
    let curve_given = given(&curve) + usize::from(raw.knee.is_some());
    match (given(&sheet), curve_given) {
        (3, 0) => {
            let [first, average, full] = sheet.map(&mut ms);
            let sheet = DataSheet {
                track_to_track_ms: first?,
                average_ms: average?,
                full_stroke_ms: full?,
            };
            if sheet.track_to_track_ms <= 0.0 || sheet.full_stroke_ms <= sheet.track_to_track_ms {
                let message = "a seek takes time, and one over the full stroke more than one to \
                               the next track";
                context.add(Problem::new(place, message));
                return None;
            }
            let derived = seek::curve(sheet, cylinders);
            if let Err(possible) = derived {
                let message = format!(
                    "an average seek of {} ms does not go with {} ms to the next track and {} ms \
                     over the full stroke",
                    sheet.average_ms, sheet.track_to_track_ms, sheet.full_stroke_ms
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
            let [short, short_per_sqrt, long, long_per_cylinder] = curve.map(&mut ms);
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
