//! The properties of storage devices, from their profile files.

#[cfg_attr(not(test), allow(dead_code, reason = "for the schema, which tests derive"))]
pub(crate) mod array_file;
pub mod curves_file;
#[cfg_attr(
    not(test),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "for the schema, which tests derive"
    )
)]
pub mod drive_file;
#[cfg_attr(
    not(test),
    allow(
        dead_code,
        unused_imports,
        unused_variables,
        reason = "for the schema, which tests derive"
    )
)]
pub(crate) mod file;
pub(crate) mod ssd_file;

use std::sync::Arc;

use foretell_units::{Bytes, Rate, SimSpan};

use crate::drive::Drive;
pub use array_file::{Array, ArrayCache, Destage, Level, WriteCache};
pub use curves_file::{Curve, Curves, Order};
pub use ssd_file::{DAYS_PER_YEAR, Precondition, Ssd};

/// A storage device.
#[derive(Clone, PartialEq, Debug)]
pub enum Device {
    /// A disk with moving heads.
    Mechanical(Mechanical),
    /// A disk with moving heads, described in detail.
    Drive(Arc<Drive>),
    /// A solid-state drive.
    Ssd(Ssd),
    /// Equal devices behind one controller.
    Array(Box<Array>),
    /// A device known by the latency of its requests.
    Curves(Curves),
    /// A device known only by measurements: it can be predicted, not simulated.
    Measured {
        /// Its capacity in bytes.
        capacity: Bytes,
    },
}

impl Device {
    /// Its capacity in bytes.
    pub fn capacity(&self) -> Bytes {
        match self {
            Self::Mechanical(disk) => disk.capacity,
            Self::Drive(drive) => drive.capacity(),
            Self::Ssd(ssd) => ssd.capacity,
            Self::Array(array) => array.capacity(),
            Self::Curves(curves) => curves.capacity,
            Self::Measured { capacity } => *capacity,
        }
    }

    /// Whether it is, or consists of, devices that are known only by measurements.
    pub fn is_only_measured(&self) -> bool {
        match self {
            Self::Measured { .. } => true,
            Self::Array(array) => array.device.is_only_measured(),
            _ => false,
        }
    }

    /// Whether it is, or consists of, disks with moving heads.
    pub fn has_heads(&self) -> bool {
        match self {
            Self::Array(array) => array.device.has_heads(),
            _ => self.class() == Some("hdd"),
        }
    }

    /// The class under which it is sold in price lists: `hdd`, `ssd`. An array is sold by its own
    /// name, and measurements do not show the class.
    pub fn class(&self) -> Option<&'static str> {
        match self {
            Self::Mechanical(_) | Self::Drive(_) => Some("hdd"),
            Self::Ssd(_) => Some("ssd"),
            Self::Array(_) | Self::Curves(_) | Self::Measured { .. } => None,
        }
    }

    /// Memory that a simulation takes for its flash tables once every die has been written to, in bytes.
    pub fn table_bytes(&self) -> u64 {
        match self {
            Self::Ssd(ssd) => ssd.table_bytes(),
            Self::Array(array) => {
                array.device.table_bytes().saturating_mul(u64::from(array.members))
            }
            _ => 0,
        }
    }
}

/// A disk with moving heads: seek, rotation, transfer.
#[derive(Clone, PartialEq, Debug)]
pub struct Mechanical {
    /// Its capacity in bytes.
    pub capacity: Bytes,
    /// Revolutions per minute.
    pub rpm: u32,
    /// The possible deviation of a disk's speed from that.
    pub rpm_tolerance: Tolerance,
    /// Cylinders; addresses fill them in order.
    pub cylinders: u32,
    /// Time to move the arm.
    pub seek: Seek,
    /// Media rate at the outermost cylinder.
    pub outer_rate: Rate,
    /// Media rate at the innermost cylinder; in between it falls linearly.
    pub inner_rate: Rate,
    /// Controller time for each operation.
    pub overhead: SimSpan,
}

impl Mechanical {
    /// Time of a revolution at nominal speed.
    pub fn revolution(&self) -> SimSpan {
        SimSpan::from_ns(60_000_000_000 / u64::from(self.rpm))
    }
}

/// The possible deviation of a motor's speed from its nominal one, in either direction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Tolerance {
    ppm: u32,
}

impl Tolerance {
    /// 0.2 %. Assumed if none is given, because product manuals of disks state bounds from 0.1 % to 0.5 %.
    pub const USUAL: Self = Self { ppm: 2000 };
    /// Upper bound, 10 %: no motor is worse.
    pub const MAX: Self = Self { ppm: 100_000 };

    /// A share of the speed, from 0 to that of [`Tolerance::MAX`], to a millionth.
    pub fn share(share: f64) -> Option<Self> {
        let ppm = (share * 1e6).round();
        (0.0..=f64::from(Self::MAX.ppm)).contains(&ppm).then_some(Self { ppm: ppm as u32 })
    }

    /// This share of a quantity, rounded down.
    pub fn of(self, whole: u64) -> u64 {
        (u128::from(whole) * u128::from(self.ppm) / 1_000_000) as u64
    }
}

impl std::fmt::Display for Tolerance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}%", f64::from(self.ppm) / 1e4)
    }
}

/// Seek time against distance in cylinders: a + b·√d up to `d_c`, c + e·d beyond
/// (Ruemmler & Wilkes 1994).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seek {
    /// Distance up to which the arm only accelerates and brakes, cylinders.
    pub knee: u32,
    /// a, milliseconds.
    pub short_ms: f64,
    /// b, milliseconds per square root of a cylinder.
    pub short_ms_per_sqrt: f64,
    /// c, milliseconds.
    pub long_ms: f64,
    /// e, milliseconds per cylinder.
    pub long_ms_per_cylinder: f64,
}

impl Seek {
    /// Time to move the arm by `distance` cylinders; zero for zero.
    pub fn time(&self, distance: u32) -> SimSpan {
        if distance == 0 {
            return SimSpan::ZERO;
        }
        let d = f64::from(distance);
        SimSpan::from_ms_f64(if distance <= self.knee {
            // `sqrt` is exact on every machine (IEEE 754)
            self.short_ms + self.short_ms_per_sqrt * d.sqrt()
        } else {
            self.long_ms + self.long_ms_per_cylinder * d
        })
    }
}
