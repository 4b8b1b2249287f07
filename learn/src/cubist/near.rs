//! Finds the rows near a given one without looking at all rows: a k-d tree.
//!
//! After Friedman, Bentley and Finkel, An algorithm for finding best matches in logarithmic expected
//! time, ACM TOMS 3 (1977). Rows are halved at the median of the column with the largest spread. A
//! half is skipped if its bounding box is farther away than the distance limit. The distance is a sum
//! over the columns, with at most 1 for each, as in [`super::neighbours`].

/// Maximum number of rows in a leaf.
const LEAF: usize = 16;

/// The tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    columns: usize,
    /// Row numbers; those of one part of the tree are contiguous.
    rows: Vec<u32>,
    /// Bounding boxes by part: lowest and highest value of each column. A part comes before its
    /// halves.
    boxes: Vec<f64>,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    begin: usize,
    end: usize,
    /// The part's second half; the first half directly follows the part. `None`: a leaf.
    second: Option<usize>,
}

impl Tree {
    /// Builds the tree of rows that lie one after the other in `values`.
    pub(super) fn new(values: &[f64], columns: usize) -> Self {
        let columns = columns.max(1);
        let rows = (0..(values.len() / columns) as u32).collect();
        let mut tree = Self { columns, rows, boxes: Vec::new(), parts: Vec::new() };
        tree.grow(values, 0, tree.rows.len());
        tree
    }

    fn grow(&mut self, values: &[f64], begin: usize, end: usize) -> usize {
        let part = self.parts.len();
        self.parts.push(Part { begin, end, second: None });
        let (mut widest, mut spread) = (0, 0.0);
        for column in 0..self.columns {
            let of_rows = self.rows[begin..end].iter();
            let of_rows = of_rows.map(|row| values[*row as usize * self.columns + column]);
            let (low, high) = of_rows
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                    (low.min(value), high.max(value))
                });
            self.boxes.extend([low, high]);
            if high - low > spread {
                (widest, spread) = (column, high - low);
            }
        }
        if end - begin > LEAF && spread > 0.0 {
            let middle = (end - begin) / 2;
            let value = |row: &u32| values[*row as usize * self.columns + widest];
            self.rows[begin..end]
                .select_nth_unstable_by(middle, |a, b| value(a).total_cmp(&value(b)));
            self.grow(values, begin, begin + middle);
            let second = self.grow(values, begin + middle, end);
            self.parts[part].second = Some(second);
        }
        part
    }

    /// Calls `look` with all rows whose distance from `from` is at most `limit`, and with some others.
    /// `look` returns the new limit, which may only shrink.
    pub(super) fn visit(&self, from: &[f64], mut limit: f64, mut look: impl FnMut(usize) -> f64) {
        let mut left = vec![(0.0, 0)];
        while let Some((distance, part)) = left.pop() {
            if distance > limit {
                continue;
            }
            let Part { begin, end, second } = self.parts[part];
            let Some(second) = second else {
                for row in &self.rows[begin..end] {
                    limit = look(*row as usize);
                }
                continue;
            };
            let mut halves = [part + 1, second].map(|half| (self.distance(from, half), half));
            // the nearer one first
            if halves[0].0 < halves[1].0 {
                halves.swap(0, 1);
            }
            left.extend(halves);
        }
    }

    /// Distance from `from` to a part's bounding box.
    fn distance(&self, from: &[f64], part: usize) -> f64 {
        let sides = self.boxes[2 * self.columns * part..].chunks_exact(2);
        from.iter().zip(sides).map(|(x, side)| (side[0] - x).max(x - side[1]).clamp(0.0, 1.0)).sum()
    }
}
