//! Converts DiskSim's representations of seek times.

use std::path::PathBuf;

use super::ImportError;
use super::lex::Read;
use super::view::{View, number};
use crate::device::Seek;
use crate::drive::{SeekCurve, SeekFormula};

/// The seek curve of a drive's mechanics.
pub(super) fn seek(
    mechanics: &View<'_>,
    model: &View<'_>,
    read: Read<'_>,
    files: &mut Vec<PathBuf>,
    notes: &mut Vec<String>,
) -> Result<SeekCurve, ImportError> {
    if mechanics.word("Access time type")? != "trackSwitchPlusRotation" {
        let found = format!("`{}`", mechanics.word("Access time type")?);
        let wanted = "`trackSwitchPlusRotation`; a drive whose arm or platters take a constant time \
                      is not supported";
        return mechanics.refuse("Access time type", found, wanted);
    }
    let formula = |curve| SeekCurve { points: Vec::new(), beyond: Some(curve) };
    let cylinders = || model.whole::<u32>("Number of cylinders");
    let three = || -> Result<(f64, f64, f64), ImportError> {
        Ok((
            mechanics.real("Single cylinder seek time")?,
            mechanics.real("Average seek time")?,
            mechanics.real("Full strobe seek time")?,
        ))
    };
    match mechanics.word("Seek type")? {
        "extracted" => measured(mechanics, read, files, notes),
        "constant" => {
            let ms = mechanics.real("Constant seek time")?;
            Ok(SeekCurve { points: vec![(1, ms)], beyond: None })
        }
        "linear" => {
            let ((single, average, full), cylinders) = (three()?, cylinders()?.max(6));
            let points = vec![(1, single), (cylinders / 3, average), (cylinders - 1, full)];
            Ok(SeekCurve { points, beyond: None })
        }
        "curve" => {
            let (single, average, full) = three()?;
            Ok(formula(SeekFormula::lee(single, average, full, cylinders()?)))
        }
        "hpl" => {
            let (seek, single) = hewlett_packard(mechanics)?;
            let points = single.map(|ms| (1, ms)).into_iter().collect();
            Ok(SeekCurve { points, beyond: Some(SeekFormula::ThreePart(seek)) })
        }
        "hplplus10" => {
            let (seek, _) = hewlett_packard(mechanics)?;
            let name = "First ten seek times";
            let times: Vec<f64> = mechanics
                .list(name)?
                .iter()
                .map(|value| number(name, value))
                .collect::<Result<_, _>>()?;
            if times.len() < 10 {
                return mechanics.refuse(name, format!("{} times", times.len()), "ten times");
            }
            Ok(SeekCurve {
                points: (1..=10).zip(times).collect(),
                beyond: Some(SeekFormula::ThreePart(seek)),
            })
        }
        other => {
            let wanted = "`extracted`, `constant`, `linear`, `curve`, `hpl` or `hplplus10`";
            mechanics.refuse("Seek type", format!("`{other}`"), wanted)
        }
    }
}

/// The six values of Ruemmler & Wilkes's equation: the formula, and the single-cylinder time if it
/// is given separately.
fn hewlett_packard(mechanics: &View<'_>) -> Result<(Seek, Option<f64>), ImportError> {
    let name = "HPL seek equation values";
    let values: Vec<f64> =
        mechanics.list(name)?.iter().map(|value| number(name, value)).collect::<Result<_, _>>()?;
    let [division, short_ms, root, long_ms, slope, single] = values[..] else {
        return mechanics.refuse(name, format!("{} values", values.len()), "six values");
    };
    let seek = Seek {
        // the linear part begins at the division point itself
        knee: (division.clamp(0.0, 1e9) as u32).saturating_sub(1),
        short_ms,
        short_ms_per_sqrt: root,
        long_ms,
        long_ms_per_cylinder: slope,
    };
    Ok((seek, (single >= 0.0).then_some(single)))
}

/// Reads a file of `distance, milliseconds[, deviation]`.
fn measured(
    mechanics: &View<'_>,
    read: Read<'_>,
    files: &mut Vec<PathBuf>,
    notes: &mut Vec<String>,
) -> Result<SeekCurve, ImportError> {
    let value = mechanics.get("Full seek curve")?;
    let name = mechanics.word("Full seek curve")?;
    let file =
        value.at.file.parent().map_or_else(|| PathBuf::from(name), |folder| folder.join(name));
    let bytes = read(&file).map_err(|error| {
        value.at.error(format!("`Full seek curve` {} cannot be read: {error}", file.display()))
    })?;
    files.push(file.clone());
    let text = String::from_utf8_lossy(&bytes);
    let mut points: Vec<(u32, f64)> = Vec::new();
    let mut columns = 0;
    for (number, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with("Seek distances measured") {
            continue;
        }
        let mut fields = line.split([',', ' ', '\t']).filter(|field| !field.is_empty());
        let distance = fields.next().and_then(|field| field.parse().ok());
        let ms = fields.next().and_then(|field| field.parse::<f64>().ok());
        let (Some(distance), Some(ms)) = (distance, ms) else {
            let message =
                format!("`{}` is not a distance in cylinders and a time in ms", line.trim());
            return Err(ImportError { file, line: number as u32 + 1, message });
        };
        columns = columns.max(2 + fields.count());
        points.push((distance, ms));
    }
    if columns > 3 {
        // there, Western Digital's DiskSim reads the seek time for a write
        notes.push(format!(
            "the fourth column of {} is left out: reads and writes seek alike except for `Add. write \
             settling delay`",
            file.display()
        ));
    }
    let given = points.len();
    points.sort_by_key(|point| point.0);
    points.dedup_by_key(|point| point.0);
    points.retain(|point| point.0 > 0);
    if points.len() < given {
        notes.push(format!(
            "{} seek times of distances given twice, or of 0, are left out",
            given - points.len()
        ));
    }
    if points.is_empty() {
        let message = "there is no seek time in it".to_owned();
        return Err(ImportError { file, line: 0, message });
    }
    Ok(SeekCurve { points, beyond: None })
}
