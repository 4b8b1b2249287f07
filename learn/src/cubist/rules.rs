//! Rules from the paths of a tree.
//!
//! Conditions of a path are dropped as long as that helps. Without a condition the rule also applies
//! to the cases that met all others. Their error must not grow when the rule's value joins the mean
//! of the values they have so far. The last condition stays.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::Range;
use super::tree::Tree;
use crate::matrix::Matrix;
use crate::moments::Plane;

/// A test of one column.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Condition {
    /// Column of x.
    pub column: usize,
    /// The value that x is compared with.
    pub cut: f64,
    /// Whether x must be at most the cut, rather than above it.
    pub at_most: bool,
}

impl Condition {
    fn holds(&self, x: f64) -> bool {
        (x <= self.cut) == self.at_most
    }
}

/// Conditions and a linear model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Rule {
    /// Conditions that must all hold.
    pub conditions: Vec<Condition>,
    /// The linear model that predicts the rows that the rule applies to.
    pub model: Plane,
    /// Number of training rows that the rule applies to.
    pub cover: usize,
    pub(super) range: Range,
}

impl Rule {
    fn holds(&self, row: impl Fn(usize) -> f64) -> bool {
        self.conditions.iter().all(|condition| condition.holds(row(condition.column)))
    }

    pub(super) fn describe(&self, names: &[String]) -> String {
        let mut text = format!("{} rows\n", self.cover);
        for condition in &self.conditions {
            let sign = if condition.at_most { "<=" } else { ">" };
            let _ = writeln!(text, "  if {} {sign} {}", names[condition.column], condition.cut);
        }
        let _ = writeln!(text, "  y = {}", self.model.describe(names));
        text
    }
}

/// The mean of the rules that a case meets; `otherwise` if it meets none.
pub(super) fn predict(rules: &[Rule], otherwise: f64, row: impl Fn(usize) -> f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for rule in rules {
        if rule.holds(&row) {
            sum += rule.range.clamp(rule.model.of_row(&row));
            count += 1;
        }
    }
    if count == 0 { otherwise } else { sum / f64::from(count) }
}

/// Predictions of the cases so far: by the tree, and by rules that came to apply to them.
struct Standing {
    sum: Vec<f64>,
    count: Vec<f64>,
}

/// The rules of a tree, for the true target `y`.
pub(super) fn of_tree(tree: &Tree, x: &Matrix, y: &[f64], range: Range) -> Vec<Rule> {
    let mut paths = Vec::new();
    paths_below(tree, 0, &mut Vec::new(), &mut paths);
    let mut standing = Standing { sum: vec![0.0; y.len()], count: vec![1.0; y.len()] };
    for (leaf, _) in &paths {
        for &row in tree.rows(*leaf) {
            let row = row as usize;
            let value = tree.nodes[*leaf].model.of_row(|column| x.get(row, column));
            standing.sum[row] = range.clamp(value);
        }
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (leaf, conditions) in paths {
        let model = &tree.nodes[leaf].model;
        let rule = pruned(conditions, model, x, y, range, &standing);
        let known = rules
            .iter()
            .any(|other| other.conditions == rule.0.conditions && other.model == rule.0.model);
        if !known {
            for row in rule.1 {
                let value = rule.0.model.of_row(|column| x.get(row, column));
                standing.sum[row] += value.clamp(rule.2.0, rule.2.1);
                standing.count[row] += 1.0;
            }
            rules.push(rule.0);
        }
    }
    rules
}

fn paths_below(
    tree: &Tree,
    node: usize,
    path: &mut Vec<Condition>,
    paths: &mut Vec<(usize, Vec<Condition>)>,
) {
    let Some((column, cut, low, high)) = tree.nodes[node].split else {
        paths.push((node, path.clone()));
        return;
    };
    for (child, at_most) in [(low, true), (high, false)] {
        path.push(Condition { column, cut, at_most });
        paths_below(tree, child, path, paths);
        path.pop();
    }
}

/// The rule with fewer conditions, the rows that it newly applies to, and the range of y it covers.
fn pruned(
    mut conditions: Vec<Condition>,
    model: &Plane,
    x: &Matrix,
    y: &[f64],
    range: Range,
    standing: &Standing,
) -> (Rule, Vec<usize>, (f64, f64)) {
    let n = y.len();
    // by row: number of failed conditions; by condition: whether a row fails it
    let mut fails = vec![0_u32; n];
    let failed: Vec<Vec<bool>> = conditions
        .iter()
        .map(|condition| {
            let values = x.column(condition.column);
            let failed: Vec<bool> = values.iter().map(|value| !condition.holds(*value)).collect();
            fails.iter_mut().zip(&failed).for_each(|(fails, failed)| *fails += u32::from(*failed));
            failed
        })
        .collect();
    let at_first = fails.clone();
    let mut alive: Vec<usize> = (0..conditions.len()).collect();
    // by condition: how much dropping it lowers the error of rows that fail only this one
    let mut gains = vec![0.0; conditions.len()];
    let count = |row: usize, alive: &[usize], gains: &mut [f64]| {
        let only = alive.iter().find(|&&condition| failed[condition][row]);
        let Some(&only) = only else { return };
        let value = range.clamp(model.of_row(|column| x.get(row, column)));
        let before = standing.sum[row] / standing.count[row];
        let after = (standing.sum[row] + value) / (standing.count[row] + 1.0);
        gains[only] += (y[row] - before).abs() - (y[row] - after).abs();
    };
    for row in (0..n).filter(|&row| fails[row] == 1) {
        count(row, &alive, &mut gains);
    }
    while alive.len() > 1 {
        let mut best: Option<usize> = None;
        for &condition in &alive {
            let gain = gains[condition];
            if gain >= 0.0 && best.is_none_or(|best| gain > gains[best]) {
                best = Some(condition);
            }
        }
        let Some(best) = best else { break };
        alive.retain(|&condition| condition != best);
        for row in 0..n {
            if failed[best][row] {
                fails[row] -= 1;
                if fails[row] == 1 {
                    count(row, &alive, &mut gains);
                }
            }
        }
    }
    conditions = alive.into_iter().map(|condition| conditions[condition]).collect();
    let covered: Vec<usize> = (0..y.len()).filter(|&row| fails[row] == 0).collect();
    let seen = covered
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &row| (l.min(y[row]), h.max(y[row])));
    let range = Range::around(seen.0, seen.1);
    let rule = Rule { conditions, model: model.clone(), cover: covered.len(), range };
    let new = covered.into_iter().filter(|&row| at_first[row] > 0).collect();
    (rule, new, seen)
}
