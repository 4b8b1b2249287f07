//! The forward pass: adds pairs of hinges until a limit is reached.

use super::candidates::{Candidates, FeatureOrder, Offer, Spans};
use super::{Basis, Hinge, MarsSettings, Shape, gcv};
use crate::matrix::{Matrix, add_scaled, dot, mean};

/// Reductions of the squared error that differ by less than this are equal; the target's deviation is 1.
const EQUAL: f64 = 1e-9;
/// A knot may reduce the squared error by at most this multiple of the last step's reduction, as in earth. This
/// keeps out knots whose reduction is a rounding error.
const RISE: f64 = 10.0;
/// A pass whose 1 − GCV/GCV₀ falls below this has gone astray and ends.
const MIN_GRSQ: f64 = -10.0;

/// A place for a term. A pair takes two slots; the second may stay unused.
struct Slot {
    basis: Basis,
    /// Values by row.
    values: Vec<f64>,
    used: bool,
    /// Candidates by feature.
    candidates: Vec<Option<Candidates>>,
}

/// The state after a step.
#[derive(Clone, Copy, Debug)]
struct ForwardStep {
    /// Number of slots after the step.
    slots: usize,
    /// Number of used terms after the step.
    terms: usize,
    r2: f64,
    growth: f64,
    grsq: f64,
}

/// The terms in the order in which they were added.
pub(crate) struct Forward {
    terms: Vec<Basis>,
    steps: Vec<ForwardStep>,
}

struct Choice {
    parent: usize,
    column: usize,
    /// Index among the feature's values; `None`: it enters linearly.
    knot: Option<usize>,
    pair: bool,
    reduction: f64,
}

struct Pass<'a> {
    x: &'a Matrix,
    settings: &'a MarsSettings,
    orders: Vec<FeatureOrder>,
    /// The target with mean 0 and deviation 1.
    y: Vec<f64>,
    slots: Vec<Slot>,
    /// By slot: the best reduction that it offered, and the number of slots at that time.
    queue: Vec<(f64, usize)>,
    /// Orthonormal columns of the used terms, without the intercept, and their products with y.
    orthonormal: Vec<Vec<f64>>,
    with_y: Vec<f64>,
    rss: f64,
    /// The reduction of the squared error by the last step.
    last_reduction: f64,
}

impl Forward {
    pub(crate) fn run(x: &Matrix, y: &[f64], settings: &MarsSettings) -> Self {
        let mut pass = Pass::new(x, y, settings);
        let intercept = Basis { hinges: Vec::new() };
        let null = pass.rss;
        if null <= 0.0 || x.columns() == 0 {
            return Self { terms: vec![intercept], steps: Vec::new() };
        }
        let (n, penalty) = (x.rows(), settings.price());
        let null_gcv = gcv(null, n, 1, penalty);
        let most = settings.nodes(x.columns());
        let mut steps = Vec::new();
        let mut r2 = 0.0;
        while pass.slots.len() + 2 <= most {
            let Some(choice) = pass.best() else { break };
            let before = pass.rss;
            pass.add(&choice);
            if pass.rss < before {
                pass.last_reduction = before - pass.rss;
            }
            let now = 1.0 - pass.rss / null;
            let terms = pass.orthonormal.len() + 1;
            let step = ForwardStep {
                slots: pass.slots.len(),
                terms,
                r2: now,
                growth: now - r2,
                grsq: 1.0 - gcv(pass.rss, n, terms, penalty) / null_gcv,
            };
            r2 = now;
            steps.push(step);
            if ends(&step, settings.threshold).is_some() || pass.rss <= 1e-12 * null {
                break;
            }
        }
        let used = pass.slots.into_iter().filter(|slot| slot.used).map(|slot| slot.basis);
        let mut forward = Self { terms: used.collect(), steps };
        let kept = forward.terms_at(most, settings.threshold);
        forward.terms.truncate(kept);
        forward
    }

    /// The terms: the intercept first.
    pub(crate) fn terms(&self) -> &[Basis] {
        &self.terms
    }

    /// Number of terms of the pass if it ends by these rules.
    pub(crate) fn terms_at(&self, nnodes: usize, threshold: f64) -> usize {
        let mut terms = 1;
        for step in &self.steps {
            if step.slots > nnodes {
                break;
            }
            match ends(step, threshold) {
                Some(End::Reject) => break,
                Some(End::Accept) => {
                    terms = step.terms;
                    break;
                }
                None => terms = step.terms,
            }
        }
        terms
    }
}

enum End {
    /// The step's terms do not count.
    Reject,
    /// The step's terms count.
    Accept,
}

fn ends(step: &ForwardStep, threshold: f64) -> Option<End> {
    if threshold > 0.0 && (step.growth < threshold || step.grsq < MIN_GRSQ) {
        Some(End::Reject)
    } else if step.r2 >= 1.0 - threshold {
        Some(End::Accept)
    } else {
        None
    }
}

impl<'a> Pass<'a> {
    fn new(x: &'a Matrix, y: &[f64], settings: &'a MarsSettings) -> Self {
        let middle = mean(y);
        let mut y: Vec<f64> = y.iter().map(|y| y - middle).collect();
        let deviation = (dot(&y, &y) / (y.len().max(2) - 1) as f64).sqrt();
        if deviation > 0.0 {
            for y in &mut y {
                *y /= deviation;
            }
        }
        let orders = (0..x.columns()).map(|column| FeatureOrder::new(x.column(column))).collect();
        let rss = dot(&y, &y);
        let mut pass = Self {
            x,
            settings,
            orders,
            y,
            slots: Vec::new(),
            queue: vec![(f64::INFINITY, 1)],
            orthonormal: Vec::new(),
            with_y: Vec::new(),
            rss,
            last_reduction: f64::INFINITY,
        };
        pass.push_slot(Basis { hinges: Vec::new() }, vec![1.0; x.rows()], true);
        pass
    }

    fn push_slot(&mut self, basis: Basis, values: Vec<f64>, used: bool) {
        let candidates = (0..self.x.columns()).map(|_| None).collect();
        self.slots.push(Slot { basis, values, used, candidates });
    }

    /// The parents to try, the most promising first. They are ranked by their last offer, minus one
    /// place for each term added since, as earth does (Friedman 1993 lets parents rise with time).
    /// Newer parents have offered nothing yet and come first, even those that have no degree left.
    ///
    /// The queue knows only as many of the first slots as there are used terms. This reproduces
    /// earth's queue: unused slots are not entered, but the slots after them take their numbers, so a
    /// new parent may have to wait for some steps.
    fn parents(&self) -> Vec<usize> {
        let fast_k = if self.settings.fast_k == 0 { usize::MAX } else { self.settings.fast_k };
        let offered = |slot: usize| self.queue[slot].0;
        let mut ranked: Vec<usize> = (0..self.queue.len()).collect();
        ranked.sort_by(|&a, &b| offered(b).total_cmp(&offered(a)));
        let now = self.slots.len();
        let mut aged: Vec<(usize, usize)> = ranked
            .into_iter()
            .enumerate()
            .map(|(rank, slot)| (rank + now - self.queue[slot].1, slot))
            .collect();
        aged.sort_by(|(a, one), (b, other)| {
            let by_offer = || offered(*other).total_cmp(&offered(*one));
            a.cmp(b).then_with(by_offer).then(one.cmp(other))
        });
        aged.into_iter().take(fast_k).map(|(_, slot)| slot).collect()
    }

    /// The term that lowers the squared error most.
    fn best(&mut self) -> Option<Choice> {
        let legal = (1.01 * self.rss).min(RISE * self.last_reduction);
        let mut best: Option<Choice> = None;
        let mut sums = Vec::new();
        for parent in self.parents() {
            let slot = &self.slots[parent];
            if !slot.used || slot.basis.hinges.len() >= self.settings.degree {
                continue;
            }
            let mut offered = -1.0_f64;
            for (column, offer) in self.offers(parent, legal, &mut sums) {
                let linear = offer.pair.then_some((None, false, offer.linear));
                let hinges =
                    offer.knot.map(|(knot, reduction)| (Some(knot), offer.pair, reduction));
                for (knot, pair, reduction) in linear.into_iter().chain(hinges) {
                    offered = offered.max(reduction);
                    let choice = Choice { parent, column, knot, pair, reduction };
                    let is_better = match &best {
                        Some(best) => self.is_better(&choice, best),
                        None => reduction > 0.0,
                    };
                    if is_better {
                        best = Some(choice);
                    }
                }
            }
            self.queue[parent] = (offered, self.slots.len());
        }
        best
    }

    /// Whether a term lowers the error more than another, or as much with fewer factors.
    fn is_better(&self, one: &Choice, other: &Choice) -> bool {
        let factors = |choice: &Choice| self.slots[choice.parent].basis.hinges.len();
        let gain = one.reduction - other.reduction;
        gain > EQUAL || (gain > -EQUAL && factors(one) < factors(other))
    }

    /// The offers of this parent with each feature that it does not contain.
    fn offers(&mut self, parent: usize, legal: f64, sums: &mut Vec<f64>) -> Vec<(usize, Offer)> {
        let columns: Vec<usize> = (0..self.x.columns())
            .filter(|&column| self.slots[parent].basis.hinges.iter().all(|h| h.column != column))
            .collect();
        let slots = self.slots.len();
        let spans = self.spans(parent);
        let Self { orders, y, slots: all, orthonormal, with_y, .. } = self;
        let slot = &mut all[parent];
        // columns of a parent are updated together, so all have absorbed the same number
        let absorbed = columns
            .first()
            .and_then(|column| slot.candidates[*column].as_ref())
            .map_or(0, |candidates| candidates.absorbed);
        let products: Vec<Vec<f64>> = orthonormal[absorbed..]
            .iter()
            .map(|q| q.iter().zip(&slot.values).map(|(q, parent)| q * parent).collect())
            .collect();
        let mut offers = Vec::with_capacity(columns.len());
        for column in columns {
            let order = &orders[column];
            let candidates = slot.candidates[column]
                .get_or_insert_with(|| Candidates::new(order, &slot.values, y, spans));
            candidates.absorb(order, &products, &with_y[absorbed..], sums);
            offers.push((column, candidates.offer(slots, legal)));
        }
        offers
    }

    /// Friedman's equations 43 and 45, with α = 0.05. Terms of two or more hinges keep three times
    /// the distance from the ends, as in earth (`Adjust.endspan`).
    fn spans(&self, parent: usize) -> Spans {
        let slot = &self.slots[parent];
        let (n, p) = (slot.values.len(), self.x.columns() as f64);
        let mut end = self.settings.end_span;
        if end == 0 {
            // 3 − log₂(0.05 / p)
            end = (3.0 + libm::log2(20.0 * p)) as usize;
        }
        if !slot.basis.hinges.is_empty() {
            end *= 3;
        }
        let end = end.min((n / 2).saturating_sub(1)).max(1);
        let mut between = self.settings.min_span;
        if between == 0 {
            // −log₂(−ln(1 − 0.05) / (p·n₊)) / 2.5
            let positive = slot.values.iter().filter(|value| **value > 0.0).count() as f64;
            between = (libm::log2(p * positive / -libm::log(0.95)) / 2.5).max(0.0) as usize;
        }
        let between = between.max(1);
        // the remainder between the ends is shared by both
        let free = n.saturating_sub(2 * end);
        let start = if free <= between {
            free / 2
        } else if free % between == 0 {
            between / 2
        } else {
            (free % between) / 2
        };
        Spans { start: (end + start).max(1), between, end }
    }

    fn add(&mut self, choice: &Choice) {
        let column = choice.column;
        let order = &self.orders[column];
        let knot = order.values[choice.knot.unwrap_or(0)];
        let shapes = match choice.knot {
            None => [Shape::Linear, Shape::Below],
            Some(_) => [Shape::Above, Shape::Below],
        };
        let unused = choice.knot.is_none() || !choice.pair;
        let slots = self.slots.len();
        for (place, shape) in shapes.into_iter().enumerate() {
            let hinge = Hinge { column, shape, knot };
            let mut hinges = self.slots[choice.parent].basis.hinges.clone();
            let at = hinges.partition_point(|other| other.column < column);
            hinges.insert(at, hinge);
            let mut used = place == 0 || !unused;
            let mut values = Vec::new();
            if used {
                values.clone_from(&self.slots[choice.parent].values);
                for (value, x) in values.iter_mut().zip(self.x.column(column)) {
                    *value *= hinge.of(*x);
                }
                used = self.orthogonalise(&values);
            }
            self.push_slot(Basis { hinges }, values, used);
            if used {
                self.queue.push((f64::INFINITY, slots));
            }
        }
    }

    /// Adds the new part of a column to the orthonormal ones; returns false if there is none.
    fn orthogonalise(&mut self, values: &[f64]) -> bool {
        let middle = mean(values);
        let mut column: Vec<f64> = values.iter().map(|value| value - middle).collect();
        let length = dot(&column, &column);
        // two rounds are enough (Kahan)
        for _ in 0..2 {
            for q in &self.orthonormal {
                let share = dot(q, &column);
                add_scaled(&mut column, -share, q);
            }
            let middle = mean(&column);
            for value in &mut column {
                *value -= middle;
            }
        }
        let left = dot(&column, &column);
        if left <= 1e-12 * length || left <= 0.0 {
            return false;
        }
        let scale = left.sqrt().recip();
        for value in &mut column {
            *value *= scale;
        }
        let with_y = dot(&column, &self.y);
        self.rss = (self.rss - with_y * with_y).max(0.0);
        self.with_y.push(with_y);
        self.orthonormal.push(column);
        true
    }
}
