//! Storage devices as written.

use schemars::JsonSchema;
use serde::Deserialize;

use super::leaf::{At, Share, Size, Speed, Time};

/// A disk with moving heads.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawDisk {
    /// Kind of device.
    #[schemars(extend("enum" = ["disk"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// Where the figures come from: a data sheet, a measurement, or why something was assumed.
    #[allow(dead_code, reason = "must be there")]
    pub(crate) source: At<String>,
    /// Bytes that it holds.
    pub(crate) capacity: Size,
    /// Revolutions per minute.
    #[schemars(extend("minimum" = 100, "maximum" = 100_000))]
    pub(crate) rpm: At<i64>,
    /// Maximum deviation of a disk's speed from `rpm`, in either direction. Each disk has its own speed
    /// within it. The default is assumed: product manuals state 0.1 % to 0.5 %.
    #[schemars(extend("default" = "0.2%"))]
    pub(crate) rpm_tolerance: At<Share>,
    /// Number of cylinders. Addresses fill them in order.
    #[schemars(extend("minimum" = 16, "maximum" = 10_000_000))]
    pub(crate) cylinders: At<i64>,
    /// Time to move the arm.
    pub(crate) seek: At<RawSeek>,
    /// Media rate at the outermost cylinder.
    pub(crate) outer_rate: Speed,
    /// Media rate at the innermost cylinder. Between the outermost and the innermost cylinder, the rate
    /// falls linearly.
    pub(crate) inner_rate: Speed,
    /// Controller time for each operation.
    pub(crate) overhead: Time,
}

/// A device known only by measurements, as `run.db` describes it for `foretell ask`. It cannot be
/// simulated.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawMeasured {
    /// Kind of device.
    #[schemars(extend("enum" = ["measured"]))]
    #[allow(dead_code, reason = "decides which struct is read")]
    pub(crate) kind: At<String>,
    /// Where the measurements are.
    #[allow(dead_code, reason = "must be there")]
    pub(crate) source: At<String>,
    /// Bytes that it holds.
    pub(crate) capacity: Size,
}

/// Time to move the arm. It is given either by the three figures of a data sheet, from which the curve is
/// derived, or by the curve itself: a + b * sqrt(d) up to the knee, and c + e * d beyond.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RawSeek {
    /// Data sheet: seek time to the next cylinder.
    pub(crate) track_to_track: Option<Time>,
    /// Data sheet: mean seek time over all pairs of different cylinders.
    pub(crate) average: Option<Time>,
    /// Data sheet: seek time from the outermost to the innermost cylinder.
    pub(crate) full_stroke: Option<Time>,
    /// Curve: distance, in cylinders, up to which the arm only accelerates and brakes (the knee).
    #[schemars(extend("minimum" = 1, "maximum" = 10_000_000))]
    pub(crate) knee: Option<At<i64>>,
    /// Curve: the constant a.
    pub(crate) short: Option<Time>,
    /// Curve: the factor b, per square root of a cylinder.
    pub(crate) short_per_sqrt: Option<Time>,
    /// Curve: the constant c.
    pub(crate) long: Option<Time>,
    /// Curve: the factor e, per cylinder.
    pub(crate) long_per_cylinder: Option<Time>,
}
