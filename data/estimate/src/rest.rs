//! Demand of requests on everything except the links: processors, drives, and unknown resources.
//!
//! For a size that does not fill a link, the cost of a request is its demand on the rest. For
//! larger sizes the links hide it. It is assumed to continue linearly: a fixed cost per request and
//! a cost per byte, by least squares through the sizes that show it.

use foretell_units::Bytes;

/// The rest for only reads, or for only writes.
#[derive(Clone, Debug)]
pub(crate) struct Rest {
    /// Seconds per request and seconds per byte; neither below 0.
    request: f64,
    byte: f64,
}

impl Rest {
    /// From the sizes that do not fill a link, with the cost of a request in seconds.
    pub(crate) fn of(shown: &[(Bytes, f64)]) -> Self {
        let count = shown.len().max(1) as f64;
        let mean = |of: &dyn Fn(f64, f64) -> f64| {
            shown.iter().map(|(size, cost)| of(size.get() as f64, *cost)).sum::<f64>() / count
        };
        let (size, cost) = (mean(&|size, _| size), mean(&|_, cost| cost));
        let spread = mean(&|of, _| (of - size).powi(2));
        let together = mean(&|of, seconds| (of - size) * (seconds - cost));
        let byte = if spread > 0.0 { (together / spread).max(0.0) } else { 0.0 };
        let request = (cost - byte * size).max(0.0);
        Self { request, byte }
    }

    /// Demand on the rest for a request of a size that hides it, s.
    pub(crate) fn seconds(&self, size: Bytes) -> f64 {
        self.request + self.byte * size.get() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64) {
        assert!((found - wanted).abs() < 1e-9, "{found}, wanted {wanted}");
    }

    #[test]
    fn it_goes_on_as_it_began() {
        // 10 s, and 1 s per byte
        let rest = Rest::of(&[(Bytes(2), 12.0), (Bytes(4), 14.0)]);
        near(rest.seconds(Bytes(20)), 30.0);
        // a decrease with size is noise
        let falling = Rest::of(&[(Bytes(2), 12.0), (Bytes(4), 10.0)]);
        near(falling.seconds(Bytes(20)), 11.0);
        // nothing is known beyond the links' time
        near(Rest::of(&[]).seconds(Bytes(20)), 0.0);
    }
}
