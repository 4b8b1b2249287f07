//! What a storage device can do, as its profile file says.

use std::sync::Arc;

use foretell_units::{Bytes, Rate, SimSpan};

pub use crate::array_file::{Array, ArrayCache, Destage, Level, WriteCache};
pub use crate::curves_file::{Curve, Curves, Order};
use crate::drive::Drive;
pub use crate::ssd_file::{Precondition, Ssd};

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
    /// One known by how long its requests last.
    Curves(Curves),
    /// One of which only measurements are known: it can be predicted, not simulated.
    Measured {
        /// Bytes that it holds.
        capacity: Bytes,
    },
}

impl Device {
    /// Bytes that it holds.
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
}

/// A disk with moving heads: seek, rotation, transfer.
#[derive(Clone, PartialEq, Debug)]
pub struct Mechanical {
    /// Bytes that it holds.
    pub capacity: Bytes,
    /// Revolutions per minute.
    pub rpm: u32,
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
    /// Time to move the arm by `distance` cylinders; none for none.
    pub fn time(&self, distance: u32) -> SimSpan {
        if distance == 0 {
            return SimSpan::ZERO;
        }
        let d = f64::from(distance);
        SimSpan::from_ms_f64(if distance <= self.knee {
            // `sqrt` is exact to the last bit on every machine (IEEE 754)
            self.short_ms + self.short_ms_per_sqrt * d.sqrt()
        } else {
            self.long_ms + self.long_ms_per_cylinder * d
        })
    }
}
