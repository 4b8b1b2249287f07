//! Growing of regression trees: binary splits x < cut that lower the sum of squares most.
//!
//! Every feature's rows are sorted once. A split moves the rows of a node's segment, in each feature's own
//! order, to the segments of its children. So a level costs one pass over all cells, whatever the depth.
//! Cuts lie half-way between values. Among equally good splits, the first feature is taken, and then the
//! lowest cut. Rows whose value is missing go to the side where they lower the sum of squares more, or form
//! a side of their own; if none was missing in training, they go right.

use foretell_units::Stream;
use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;

/// Maximum depth of a tree (rpart's `maxdepth`).
const DEEPEST: u32 = 30;

/// Gains that differ by less than this share are equal, so that rounding decides nothing.
const EQUAL: f64 = 1e-10;

/// Levels of a tree that are indented when it is shown; deeper levels get no further indentation.
pub(crate) const DEEPEST_SHOWN: usize = 100;

/// A node of a tree.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// Number of training rows in it.
    pub rows: usize,
    /// Mean of their targets, which is the prediction of a leaf.
    pub mean: f64,
    /// Sum of their squared deviations from the mean.
    pub deviance: f64,
    /// The split; `None`: a leaf.
    pub split: Option<Split>,
}

/// A split: rows with x below the cut go left, the others right.
///
/// A cut of `f64::MAX` separates known values from missing ones.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Split {
    /// Column of x.
    pub column: usize,
    /// The cut.
    pub cut: f64,
    /// Index of the child with lower values.
    pub left: usize,
    /// Index of the other child.
    pub right: usize,
    /// Whether rows whose value is missing go left.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing_left: bool,
}

/// Whether nodes with these children form a tree: each node but the first is the child of exactly one node
/// before it. (A node with two parents would be shown twice, and its children four times.)
pub(crate) fn is_tree(children: impl ExactSizeIterator<Item = Option<[usize; 2]>>) -> bool {
    let mut is_child = vec![false; children.len()];
    for (place, children) in children.enumerate() {
        for child in children.into_iter().flatten() {
            match is_child.get_mut(child) {
                Some(known) if child > place && !*known => *known = true,
                _ => return false,
            }
        }
    }
    !is_child.is_empty() && is_child.into_iter().skip(1).all(|known| known)
}

/// Limits on growing.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Minimum rows of a node to be split.
    pub(crate) min_split: usize,
    /// Minimum rows of each child.
    pub(crate) min_leaf: usize,
    /// A node whose deviance is at most this share of the root's is not split.
    pub(crate) least_deviance: f64,
    /// Deepest level.
    pub(crate) deepest: u32,
    /// Maximum number of leaves; the node whose split gains most is split first. `None`: no limit.
    pub(crate) leaves: Option<usize>,
}

impl Limits {
    pub(crate) fn new(min_split: usize, min_leaf: usize, least_deviance: f64) -> Self {
        Self {
            min_split,
            min_leaf: min_leaf.max(1),
            least_deviance,
            deepest: DEEPEST,
            leaves: None,
        }
    }
}

/// Rows of a matrix in the order of each column, with ranks that are the same for equal values.
pub(crate) struct Sorted {
    /// Rows by column.
    orders: Vec<Vec<u32>>,
    /// For each column and row, the number of different values that are lower.
    ranks: Vec<Vec<u32>>,
}

impl Sorted {
    pub(crate) fn new(x: &Matrix) -> Self {
        let (mut orders, mut ranks) = (Vec::new(), Vec::new());
        for column in 0..x.columns() {
            let values = x.column(column);
            let mut keyed: Vec<(u64, u32)> =
                values.iter().enumerate().map(|(row, value)| (key(*value), row as u32)).collect();
            keyed.sort_unstable();
            let mut rank_of_row = vec![0; values.len()];
            let mut rank = 0;
            for (index, (key, row)) in keyed.iter().enumerate() {
                if index > 0 && *key != keyed[index - 1].0 {
                    rank += 1;
                }
                rank_of_row[*row as usize] = rank;
            }
            orders.push(keyed.into_iter().map(|(_, row)| row).collect());
            ranks.push(rank_of_row);
        }
        Self { orders, ranks }
    }
}

/// A key that sorts like the number; −0 equals 0, and missing values come last.
fn key(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | (1 << 63) }
}

/// A row within a column's segment.
#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    rank: u32,
    y: f64,
}

/// Draws the columns that a node may split on.
pub(crate) struct Sampling<'a> {
    /// Number of columns to draw.
    pub(crate) columns: usize,
    /// Random numbers for the draw.
    pub(crate) stream: &'a mut Stream,
}

struct Task {
    node: usize,
    start: usize,
    end: usize,
    depth: u32,
}

struct Best {
    column: usize,
    gain: f64,
    /// Number of rows with a known value left of the cut.
    left: usize,
    /// Number of rows at the end of the segment that also go left: their values are missing.
    missing_left: usize,
}

/// Grows a tree on the rows of `x`, each counted `counts[row]` times (once without `counts`).
#[expect(clippy::too_many_lines, reason = "the loop is the algorithm")]
pub(crate) fn grow(
    x: &Matrix,
    y: &[f64],
    sorted: &Sorted,
    counts: Option<&[u32]>,
    limits: Limits,
    mut sampling: Option<Sampling<'_>>,
) -> Vec<Node> {
    let times = |row: u32| counts.map_or(1, |counts| counts[row as usize]);
    let mut segments: Vec<Vec<Entry>> = Vec::with_capacity(x.columns());
    for (order, ranks) in sorted.orders.iter().zip(&sorted.ranks) {
        let mut segment = Vec::with_capacity(y.len());
        for &row in order {
            let entry = Entry { row, rank: ranks[row as usize], y: y[row as usize] };
            segment.extend(std::iter::repeat_n(entry, times(row) as usize));
        }
        segments.push(segment);
    }
    let total = segments.first().map_or(0, Vec::len);
    let has_missing: Vec<bool> =
        (0..x.columns()).map(|c| x.column(c).iter().any(|value| value.is_nan())).collect();
    let mut goes_left = vec![false; y.len()];
    let mut buffer = Vec::with_capacity(total);
    let mut columns: Vec<usize> = (0..x.columns()).collect();
    let mut nodes = vec![leaf(&segments[0])];
    let least = limits.least_deviance * nodes[0].deviance;
    let root = Task { node: 0, start: 0, end: total, depth: 0 };
    let most = limits.leaves.unwrap_or(usize::MAX).max(1);
    let mut leaves = 1;
    // with a limit on leaves, nodes wait with their best split
    let mut waiting: Vec<(Task, Best)> = Vec::new();
    let mut tasks = vec![root];
    loop {
        let (task, best) = if let Some(task) = tasks.pop() {
            let Task { node, start, end, depth } = task;
            let Node { rows, mean, deviance, .. } = nodes[node];
            if rows < limits.min_split || deviance <= least || depth >= limits.deepest {
                continue;
            }
            let tried = match &mut sampling {
                None => x.columns(),
                Some(sampling) => draw_first(&mut columns, sampling),
            };
            let mut best: Option<Best> = None;
            for &column in &columns[..tried] {
                let floor =
                    best.as_ref().map_or(1e-12 * deviance, |best| best.gain * (1.0 + EQUAL));
                let segment = &segments[column][start..end];
                let missing = if has_missing[column] {
                    let known = |e: &Entry| !x.get(e.row as usize, column).is_nan();
                    segment.len() - segment.partition_point(known)
                } else {
                    0
                };
                let found = if missing == 0 {
                    best_cut(segment, mean, limits.min_leaf, floor).map(|(g, left)| (g, left, 0))
                } else {
                    best_cut_with_missing(segment, missing, mean, limits.min_leaf, floor)
                };
                if let Some((gain, left, missing_left)) = found {
                    best = Some(Best { column, gain, left, missing_left });
                }
            }
            let Some(best) = best else { continue };
            if limits.leaves.is_some() {
                waiting.push((task, best));
                continue;
            }
            (task, best)
        } else {
            let most_gain =
                |a: &(usize, f64), b: &(usize, f64)| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0));
            let gains = waiting.iter().enumerate().map(|(place, (_, best))| (place, best.gain));
            let Some((place, _)) = gains.max_by(most_gain).filter(|_| leaves < most) else { break };
            waiting.swap_remove(place)
        };
        let Task { node, start, end, depth } = task;
        leaves += 1;
        let segment = &segments[best.column][start..end];
        let below = x.get(segment[best.left - 1].row as usize, best.column);
        let above = x.get(segment[best.left].row as usize, best.column);
        let cut = f64::midpoint(below, above);
        let cut = if above.is_nan() {
            f64::MAX
        } else if cut > below {
            cut
        } else {
            above
        };
        let missing_left = best.missing_left > 0;
        if missing_left {
            // rows with missing values to the front: they go left like those below the cut
            segments[best.column][start..end].rotate_right(best.missing_left);
        }
        let segment = &segments[best.column][start..end];
        let count = best.left + best.missing_left;
        let middle = start + count;
        let (left, right) = (nodes.len(), nodes.len() + 1);
        nodes.push(leaf(&segment[..count]));
        nodes.push(leaf(&segment[count..]));
        nodes[node].split = Some(Split { column: best.column, cut, left, right, missing_left });
        let open = |child: &Node| child.rows >= limits.min_split && child.deviance > least;
        if !open(&nodes[left]) && !open(&nodes[right]) {
            continue;
        }
        for entry in &segments[best.column][start..middle] {
            goes_left[entry.row as usize] = true;
        }
        for entry in &segments[best.column][middle..end] {
            goes_left[entry.row as usize] = false;
        }
        if missing_left {
            // missing values back to the end of the left side, so that the values stay in order
            segments[best.column][start..middle].rotate_left(best.missing_left);
        }
        for (column, segment) in segments.iter_mut().enumerate() {
            if column != best.column {
                part(&mut segment[start..end], &goes_left, &mut buffer);
            }
        }
        tasks.push(Task { node: right, start: middle, end, depth: depth + 1 });
        tasks.push(Task { node: left, start, end: middle, depth: depth + 1 });
    }
    nodes
}

fn leaf(segment: &[Entry]) -> Node {
    let rows = segment.len();
    let mean = segment.iter().map(|entry| entry.y).sum::<f64>() / rows.max(1) as f64;
    let deviance = segment.iter().map(|entry| (entry.y - mean) * (entry.y - mean)).sum();
    Node { rows, mean, deviance, split: None }
}

/// Moves a random choice of columns to the front, in ascending order. Returns their number.
fn draw_first(columns: &mut [usize], sampling: &mut Sampling<'_>) -> usize {
    let wanted = sampling.columns.min(columns.len());
    if wanted < columns.len() {
        for place in 0..wanted {
            let rest = (columns.len() - place) as u64;
            columns.swap(place, place + sampling.stream.below(rest) as usize);
        }
        columns[..wanted].sort_unstable();
    }
    wanted
}

/// The best cut of a sorted segment that lowers the sum of squares by more than `floor`, and the number of
/// rows left of it.
fn best_cut(segment: &[Entry], mean: f64, min_leaf: usize, floor: f64) -> Option<(f64, usize)> {
    let rows = segment.len();
    if rows < 2 * min_leaf || segment[0].rank == segment[rows - 1].rank {
        return None;
    }
    let all = rows as f64;
    let mut sum = 0.0;
    let mut best = None;
    let mut most = floor;
    for (index, pair) in segment.windows(2).enumerate().take(rows - min_leaf) {
        sum += pair[0].y - mean;
        let left = index + 1;
        if pair[0].rank != pair[1].rank && left >= min_leaf {
            let (low, high) = (left as f64, all - left as f64);
            // Σ²/l + Σ²/r, since deviations from the mean sum to 0
            let gain = sum * sum * all / (low * high);
            if gain > most {
                most = gain * (1.0 + EQUAL);
                best = Some((gain, left));
            }
        }
    }
    best
}

/// The best cut where the values of the last `missing` rows are missing. With a cut, these rows go right or
/// left; they may also form a side of their own. The third result is the number of them that go left.
fn best_cut_with_missing(
    segment: &[Entry],
    missing: usize,
    mean: f64,
    min_leaf: usize,
    floor: f64,
) -> Option<(f64, usize, usize)> {
    let rows = segment.len();
    let known = rows - missing;
    if rows < 2 * min_leaf || known == 0 {
        return None;
    }
    let of_missing: f64 = segment[known..].iter().map(|entry| entry.y - mean).sum();
    let gain = |sum: f64, left: usize| {
        let (low, high) = (left as f64, (rows - left) as f64);
        sum * sum * rows as f64 / (low * high)
    };
    let fair = |left: usize| left >= min_leaf && rows - left >= min_leaf && left < rows;
    let mut best = None;
    let mut most = floor;
    let mut sum = 0.0;
    for left in 1..=known {
        sum += segment[left - 1].y - mean;
        let is_cut = left == known || segment[left - 1].rank != segment[left].rank;
        let ways = [(left, sum, 0), (left + missing, sum + of_missing, missing)];
        for (count, sum, missing_left) in ways {
            if is_cut && fair(count) {
                let gain = gain(sum, count);
                if gain > most {
                    most = gain * (1.0 + EQUAL);
                    best = Some((gain, left, missing_left));
                }
            }
        }
    }
    best
}

/// Moves rows that go left to the front; both parts keep their order.
fn part(segment: &mut [Entry], goes_left: &[bool], buffer: &mut Vec<Entry>) {
    buffer.clear();
    let mut kept = 0;
    for index in 0..segment.len() {
        let entry = segment[index];
        if goes_left[entry.row as usize] {
            segment[kept] = entry;
            kept += 1;
        } else {
            buffer.push(entry);
        }
    }
    segment[kept..].copy_from_slice(buffer);
}

/// The prediction of a tree for a row.
pub(crate) fn predict(nodes: &[Node], row: impl Fn(usize) -> f64) -> f64 {
    nodes[leaf_of(nodes, row)].mean
}

/// The leaf that a row falls into.
pub(crate) fn leaf_of(nodes: &[Node], row: impl Fn(usize) -> f64) -> usize {
    let mut node = 0;
    while let Some(split) = &nodes[node].split {
        node = if split.goes_left(row(split.column)) { split.left } else { split.right };
    }
    node
}

impl Split {
    /// Whether a row with this value goes left.
    pub(crate) fn goes_left(&self, value: f64) -> bool {
        value < self.cut || (self.missing_left && value.is_nan())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The best first split by trying every cut of every column.
    fn naive(x: &Matrix, y: &[f64], min_leaf: usize) -> Option<(usize, f64, f64)> {
        let squares = |rows: &[f64]| {
            let mean = rows.iter().sum::<f64>() / rows.len() as f64;
            rows.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>()
        };
        let mut best: Option<(usize, f64, f64)> = None;
        for column in 0..x.columns() {
            let mut values = x.column(column).to_vec();
            values.sort_unstable_by(f64::total_cmp);
            values.dedup();
            for pair in values.windows(2) {
                let cut = f64::midpoint(pair[0], pair[1]);
                let side = |left: bool| -> Vec<f64> {
                    let rows = 0..y.len();
                    rows.filter(|&r| (x.get(r, column) < cut) == left).map(|r| y[r]).collect()
                };
                let (left, right) = (side(true), side(false));
                if left.len() < min_leaf || right.len() < min_leaf {
                    continue;
                }
                let gain = squares(y) - squares(&left) - squares(&right);
                if gain > 1e-9 && best.is_none_or(|(_, _, most)| gain > most + 1e-9) {
                    best = Some((column, cut, gain));
                }
            }
        }
        best
    }

    /// y is 10 where x is missing, and 0 or 1 elsewhere. Missing rows form a side of their own; where
    /// another column explains the rest, they join the side that is similar to them.
    #[test]
    fn rows_with_missing_values_go_where_they_fit() {
        let (nan, one) = (f64::NAN, 1.0);
        let x = Matrix::from_columns(&[vec![one, nan, 2.0, nan, 3.0, nan]]).unwrap();
        let nodes = grow(
            &x,
            &[0.0, 10.0, 0.0, 10.0, 0.0, 10.0],
            &Sorted::new(&x),
            None,
            Limits::new(2, 1, 0.0),
            None,
        );
        for (value, wanted) in [(one, 0.0), (99.0, 0.0), (nan, 10.0)] {
            assert!((predict(&nodes, |_| value) - wanted).abs() < 1e-12, "{value}");
        }
        // with the low values: they go left
        let y = [10.0, 10.0, 0.0, 10.0, 0.0, 10.0];
        let nodes = grow(&x, &y, &Sorted::new(&x), None, Limits::new(2, 1, 0.0), None);
        let split = nodes[0].split.unwrap();
        assert!(split.missing_left && (split.cut - 1.5).abs() < 1e-12, "{split:?}");
        for (value, wanted) in [(one, 10.0), (2.0, 0.0), (99.0, 0.0), (nan, 10.0)] {
            assert!((predict(&nodes, |_| value) - wanted).abs() < 1e-12, "{value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn oracle_every_cut_is_tried(
            cells in prop::collection::vec(0..6_i32, 45),
            y in prop::collection::vec(-9..9_i32, 15),
            min_leaf in 1..4_usize,
        ) {
            let columns: Vec<Vec<f64>> =
                cells.chunks(15).map(|c| c.iter().map(|&v| f64::from(v)).collect()).collect();
            let x = Matrix::from_columns(&columns).unwrap();
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            let limits = Limits::new(2, min_leaf, 0.0);
            let nodes = grow(&x, &y, &Sorted::new(&x), None, limits, None);
            let found = nodes[0].split.map(|split| {
                let children = nodes[split.left].deviance + nodes[split.right].deviance;
                nodes[0].deviance - children
            });
            let wanted = naive(&x, &y, min_leaf).map(|(_, _, gain)| gain);
            prop_assert_eq!(found.is_some(), wanted.is_some());
            prop_assert!((found.unwrap_or(0.0) - wanted.unwrap_or(0.0)).abs() < 1e-8);
            for row in 0..15 {
                let leaf = predict(&nodes, |column| x.get(row, column));
                prop_assert!(leaf.is_finite());
            }
        }
    }
}
