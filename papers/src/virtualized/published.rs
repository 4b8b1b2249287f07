//! Numbers printed in the paper, in the order LRM, MARS, CART, Cubist, each for `RTr`, `RTw`,
//! `TPr`, `TPw`.

/// Four techniques by four targets.
pub(super) type Grid = [[f64; 4]; 4];

/// Table 3: coefficient of determination.
pub(super) const FIT: Grid = [
    [0.9720, 0.9703, 0.9699, 0.9546],
    [0.9955, 0.9991, 0.9951, 0.9973],
    [0.9983, 1.0, 1.0, 1.0],
    [0.9990, 0.9994, 0.9995, 1.0],
];

/// Figure 9: mean relative error in percent, interpolation.
pub(super) const INTERPOLATION: Grid = [
    [14.73, 8.72, 15.05, 13.74],
    [7.80, 4.90, 9.52, 5.39],
    [10.47, 7.98, 12.41, 10.26],
    [8.63, 7.23, 7.75, 6.44],
];

/// Figure 10, requests of 1 and 2 KB.
pub(super) const EXTRAPOLATION_SMALL: Grid = [
    [22.36, 33.65, 393.19, 315.81],
    [21.79, 17.54, 395.66, 168.26],
    [22.18, 22.59, 211.69, 204.60],
    [14.47, 14.96, 130.76, 108.38],
];

/// Figure 10, requests of 36 and 40 KB.
pub(super) const EXTRAPOLATION_LARGE: Grid = [
    [19.90, 18.34, 29.77, 42.47],
    [11.66, 10.00, 24.86, 17.98],
    [18.10, 9.96, 28.85, 24.25],
    [8.70, 8.52, 14.12, 15.74],
];

/// Figure 11, two machines: CFQ random, CFQ sequential, NOOP random, NOOP sequential.
pub(super) const TWO_MACHINES: [Grid; 4] = [
    [
        [29.42, 12.24, 14.86, 13.88],
        [29.62, 13.96, 12.80, 9.01],
        [28.27, 18.39, 20.51, 13.44],
        [30.17, 17.03, 13.24, 10.47],
    ],
    [
        [102.32, 66.32, 45.42, 44.50],
        [98.55, 67.73, 40.58, 42.84],
        [97.45, 64.34, 43.08, 43.20],
        [103.40, 81.14, 44.81, 45.10],
    ],
    [
        [28.85, 39.83, 15.79, 14.58],
        [20.31, 33.82, 7.97, 5.48],
        [28.11, 35.70, 18.30, 15.00],
        [20.61, 36.07, 7.78, 10.46],
    ],
    [
        [17.71, 11.47, 5.82, 6.43],
        [14.35, 10.57, 4.00, 1.82],
        [14.05, 12.13, 12.19, 4.22],
        [12.08, 10.95, 7.81, 2.49],
    ],
];

/// Figure 12, three machines.
pub(super) const THREE_MACHINES: [Grid; 4] = [
    [
        [28.43, 34.32, 13.74, 14.66],
        [20.37, 24.44, 10.08, 8.40],
        [21.12, 28.34, 14.97, 11.88],
        [23.88, 28.60, 9.89, 10.13],
    ],
    [
        [163.93, 133.93, 57.13, 57.37],
        [169.06, 136.32, 57.91, 57.85],
        [167.72, 134.81, 60.63, 57.98],
        [173.29, 143.90, 59.63, 57.51],
    ],
    [
        [25.21, 251.33, 33.34, 27.04],
        [20.14, 237.03, 11.02, 10.64],
        [18.65, 261.30, 16.55, 12.19],
        [19.85, 244.44, 12.32, 11.58],
    ],
    [
        [24.01, 16.13, 7.04, 5.17],
        [21.16, 16.49, 5.83, 2.59],
        [24.95, 17.23, 8.99, 5.87],
        [20.30, 16.89, 7.35, 2.70],
    ],
];

/// Figure 13: change of the error by the search, in percent; LRM has nothing to search.
pub(super) const REDUCTION: Grid = [
    [0.0; 4],
    [-58.64, -60.20, -77.59, -68.78],
    [-73.14, -73.24, -80.78, -69.15],
    [-0.25, -24.01, -31.52, -7.23],
];

/// Mean of a technique over the targets.
pub(super) fn mean(row: &[f64; 4]) -> f64 {
    row.iter().sum::<f64>() / 4.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_those_that_the_paper_prints() {
        let printed = |row: &[f64; 4], mean: f64| (super::mean(row) - mean).abs() < 0.011;
        for (row, mean) in INTERPOLATION.iter().zip([13.06, 6.90, 10.28, 7.51]) {
            assert!(printed(row, mean), "{row:?}");
        }
        for (row, mean) in EXTRAPOLATION_LARGE.iter().zip([27.62, 16.13, 20.29, 11.77]) {
            assert!(printed(row, mean), "{row:?}");
        }
        for (grids, means) in [
            (&TWO_MACHINES, [17.73, 68.61, 18.73, 8.33]),
            (&THREE_MACHINES, [18.12, 108.58, 72.05, 11.81]),
        ] {
            for (grid, mean) in grids.iter().zip(means) {
                assert!(printed(&grid[3], mean), "{grid:?}");
            }
        }
        assert!(printed(&REDUCTION[2], -74.08) && printed(&EXTRAPOLATION_SMALL[1], 150.81));
    }
}
