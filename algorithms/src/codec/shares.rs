//! Which fragments suffice for a block, or for another fragment.
//!
//! Each fragment is a sum of the data fragments with factors in GF(2⁸), its *row*. A block can be
//! decoded from fragments whose rows span the whole space. With m-of-n, any m do. With a code that
//! repairs locally this must be computed: it is a pyramid code (Huang, Chen & Li 2007), in which
//! the first parity of m-of-(m + r + 1) is split into one parity for each group. Any r + 1 losses
//! are survived, as with the original code.

use std::sync::OnceLock;

use foretell_galois::multiply_add;
use reed_solomon_erasure::galois_8::{self, ReedSolomon};
use smallvec::SmallVec;

use super::Encoding;

/// Numbers of fragments.
pub type Numbers = SmallVec<[u8; 16]>;

/// The composition of an encoding's fragments.
#[derive(Clone, Debug)]
pub struct Shares {
    encoding: Encoding,
    /// For each parity fragment, the factor of each data fragment; empty for replication and
    /// striping. Computed when first needed.
    parity: OnceLock<Vec<Vec<u8>>>,
}

impl Shares {
    /// The shares of an encoding. The first use of its factors takes O(n·m²), so keep it. If any m
    /// fragments suffice, choosing some needs no factors.
    pub fn new(encoding: Encoding) -> Self {
        Self { encoding, parity: OnceLock::new() }
    }

    /// Factors of the data fragments in each parity fragment.
    pub(super) fn parity(&self) -> &[Vec<u8>] {
        self.parity.get_or_init(|| Self::parity_of(self.encoding))
    }

    fn parity_of(encoding: Encoding) -> Vec<Vec<u8>> {
        let (m, n, groups) = (encoding.m(), encoding.n(), encoding.groups());
        if m == 1 || m == n {
            return Vec::new();
        }
        let parities = encoding.tolerates();
        let code = ReedSolomon::new(m, parities).expect("1 < m < n <= 255 is within GF(2^8)");
        // the parity of unit fragments (m bytes, with a 1 at their own place) is the factors
        let mut fragments = vec![vec![0; m]; m + parities];
        for (place, fragment) in fragments[..m].iter_mut().enumerate() {
            fragment[place] = 1;
        }
        code.encode(&mut fragments).expect("n fragments of equal length");
        let mut parity = fragments.split_off(m);
        if let Some(each) = m.checked_div(groups) {
            let first = parity.remove(0);
            let local = |group: usize| {
                let its = group * each..(group + 1) * each;
                let factor = |place| if its.contains(&place) { first[place] } else { 0 };
                (0..m).map(factor).collect()
            };
            parity.splice(0..0, (0..groups).map(local).collect::<Vec<_>>());
        }
        parity
    }

    fn row(&self, fragment: u8) -> Vec<u8> {
        let (m, fragment) = (self.encoding.m(), usize::from(fragment));
        if fragment >= m {
            return self.parity()[fragment - m].clone();
        }
        let mut row = vec![0; m];
        row[fragment] = 1;
        row
    }

    /// Chooses candidates, in order, that together with `have` decode the block; `None` if all of
    /// them do not suffice. Candidates that add nothing are skipped.
    pub fn complete(&self, have: &[u8], candidates: &[u8]) -> Option<Numbers> {
        let m = self.encoding.m();
        if self.encoding.groups() == 0 {
            let wanted = m.saturating_sub(have.len());
            return (candidates.len() >= wanted)
                .then(|| candidates[..wanted].iter().copied().collect());
        }
        let mut span = Span::default();
        for fragment in have {
            span.add(self.row(*fragment));
        }
        let mut added = Numbers::new();
        for &fragment in candidates {
            if span.rank() == m {
                break;
            }
            if span.add(self.row(fragment)) {
                added.push(fragment);
            }
        }
        (span.rank() == m).then_some(added)
    }

    /// Whether the block can be decoded from these.
    pub fn decodes(&self, fragments: &[u8]) -> bool {
        self.complete(&[], fragments).is_some()
    }

    /// Chooses fragments to read for the repair of a lost fragment, besides those in `have`: the
    /// rest of its group if the candidates contain it, otherwise fragments that decode the block.
    /// `None` if the candidates do not suffice.
    pub fn repair(&self, lost: u8, have: &[u8], candidates: &[u8]) -> Option<Numbers> {
        if let Some(group) = self.encoding.group_of(usize::from(lost)) {
            let group: Numbers =
                group.map(|fragment| fragment as u8).filter(|fragment| *fragment != lost).collect();
            let is_there = |fragment: &u8| have.contains(fragment) || candidates.contains(fragment);
            if group.iter().all(is_there) {
                return Some(group.into_iter().filter(|one| !have.contains(one)).collect());
            }
        }
        self.complete(have, candidates)
    }

    /// For each fragment in `of`, the factors with which the `used` ones sum to it; `None` if they cannot.
    pub(super) fn factors(&self, of: &[u8], used: &[u8]) -> Option<Vec<Vec<u8>>> {
        // one equation for each data fragment: one unknown for each used fragment, and the sum
        let columns: Vec<Vec<u8>> =
            used.iter().chain(of).map(|fragment| self.row(*fragment)).collect();
        let equation = |place: usize| columns.iter().map(|row| row[place]).collect();
        let mut equations: Vec<Vec<u8>> = (0..self.encoding.m()).map(equation).collect();
        let mut solved = Vec::new();
        for unknown in 0..used.len() {
            let from = solved.len();
            let Some(at) = (from..equations.len()).find(|at| equations[*at][unknown] != 0) else {
                continue;
            };
            equations.swap(from, at);
            let scaled = divided(&equations[from], equations[from][unknown]);
            for (at, other) in equations.iter_mut().enumerate() {
                let factor = other[unknown];
                if at != from && factor != 0 {
                    multiply_add(factor, &scaled, other);
                }
            }
            equations[from] = scaled;
            solved.push(unknown);
        }
        let (known, rest) = equations.split_at(solved.len());
        if rest.iter().any(|equation| equation[used.len()..].iter().any(|sum| *sum != 0)) {
            return None;
        }
        let factors = |target: usize| {
            let mut factors = vec![0; used.len()];
            for (equation, unknown) in known.iter().zip(&solved) {
                factors[*unknown] = equation[used.len() + target];
            }
            factors
        };
        Some((0..of.len()).map(factors).collect())
    }
}

fn divided(row: &[u8], by: u8) -> Vec<u8> {
    row.iter().map(|factor| galois_8::div(*factor, by)).collect()
}

/// Linearly independent rows, each with a leading 1 where all rows before it have a 0.
#[derive(Default)]
struct Span(Vec<(usize, Vec<u8>)>);

impl Span {
    fn rank(&self) -> usize {
        self.0.len()
    }

    /// Adds a row. Returns whether it was independent of the others.
    fn add(&mut self, mut row: Vec<u8>) -> bool {
        for (lead, known) in &self.0 {
            let factor = row[*lead];
            if factor != 0 {
                multiply_add(factor, known, &mut row);
            }
        }
        let Some(lead) = row.iter().position(|factor| *factor != 0) else { return false };
        let row = divided(&row, row[lead]);
        self.0.push((lead, row));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(text: &str) -> Shares {
        Shares::new(text.parse().unwrap())
    }

    /// All sets of the n fragments without `lost` of them.
    fn left(n: u8, lost: usize) -> Vec<Vec<u8>> {
        let sets = (0_u32..1 << n).filter(|set| set.count_ones() as usize == usize::from(n) - lost);
        sets.map(|set| (0..n).filter(|at| set >> at & 1 == 1).collect()).collect()
    }

    #[test]
    fn any_losses_within_what_is_tolerated_leave_enough() {
        for (text, n) in
            [("lrc(4,2,1)", 7), ("lrc(6,2,2)", 10), ("lrc(6,3,1)", 10), ("lrc(4,2,0)", 6)]
        {
            let shares = shares(text);
            let tolerates = shares.encoding.tolerates();
            for lost in 0..=tolerates {
                assert!(left(n, lost).iter().all(|set| shares.decodes(set)), "{text}, {lost} lost");
            }
            let more = left(n, tolerates + 1);
            let survived = more.iter().filter(|set| shares.decodes(set)).count();
            // a group that has lost more than its own parity and the global ones can replace is lost
            assert!(survived > 0 && survived < more.len(), "{text}: {survived} of {}", more.len());
        }
    }

    #[test]
    fn a_fragment_is_repaired_from_its_group_if_that_is_whole() {
        let shares = shares("lrc(6,2,2)");
        let all_but =
            |lost: &[u8]| -> Vec<u8> { (0..10).filter(|at| !lost.contains(at)).collect() };
        let repair = |lost: u8, also: &[u8]| {
            shares.repair(lost, &[], &all_but(&[&[lost], also].concat())).map(|set| set.to_vec())
        };
        assert_eq!(repair(1, &[]), Some(vec![0, 2, 6]));
        assert_eq!(repair(6, &[]), Some(vec![0, 1, 2]));
        // a global parity needs the data; a group with two losses needs a decoded block
        assert_eq!(repair(9, &[]), Some(vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(repair(1, &[2]), Some(vec![0, 3, 4, 5, 6, 8]));
        assert_eq!(repair(1, &[0, 2, 6]), None);
    }

    #[test]
    fn factors_sum_up_to_the_fragment() {
        let shares = shares("lrc(6,2,2)");
        for used in left(10, 3) {
            for of in 0..10 {
                let factors = shares.factors(&[of], &used).unwrap().remove(0);
                let mut sum = vec![0; 6];
                for (factor, fragment) in factors.iter().zip(&used) {
                    multiply_add(*factor, &shares.row(*fragment), &mut sum);
                }
                assert_eq!(sum, shares.row(of));
            }
        }
        assert_eq!(shares.factors(&[1], &[0, 3, 4, 5, 6]), None);
    }
}
