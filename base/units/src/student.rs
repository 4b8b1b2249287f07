//! Quantiles of Student's t distribution, for confidence intervals of means of few values.

/// The 95 % point: half the width of a 90 % interval, in standard errors. NaN without degrees of freedom.
pub fn student_t_95(degrees: usize) -> f64 {
    student_t([6.314, 2.920, 2.353, 2.132], 1.644_854, degrees)
}

/// The 97.5 % point: half the width of a 95 % interval, in standard errors. NaN without degrees of freedom.
pub fn student_t_975(degrees: usize) -> f64 {
    student_t([12.706, 4.303, 3.182, 2.776], 1.959_964, degrees)
}

/// A quantile: from a table below 5 degrees of freedom; from 5 on by its normal quantile `z` (Abramowitz & Stegun
/// 26.7.5, within 0.2 %).
fn student_t(few: [f64; 4], z: f64, degrees: usize) -> f64 {
    match degrees {
        0 => f64::NAN,
        1..=4 => few[degrees - 1],
        _ => {
            let n = degrees as f64;
            let z3 = z * z * z;
            let (z5, z7) = (z3 * z * z, z3 * z3 * z);
            z + (z3 + z) / (4.0 * n)
                + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
                + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t_points_agree_with_the_tables() {
        let tables = [
            (3, 2.353, 3.182),
            (5, 2.015, 2.571),
            (7, 1.895, 2.365),
            (10, 1.812, 2.228),
            (15, 1.753, 2.131),
            (30, 1.697, 2.042),
            (63, 1.669, 1.998),
        ];
        for (degrees, t_95, t_975) in tables {
            for (found, table) in [(student_t_95(degrees), t_95), (student_t_975(degrees), t_975)] {
                assert!((found / table - 1.0).abs() < 3e-3, "{degrees}: {found}");
            }
        }
        assert!(student_t_95(0).is_nan() && student_t_975(0).is_nan());
    }
}
