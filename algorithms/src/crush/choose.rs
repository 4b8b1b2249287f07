//! Searches for items of a type below a bucket, and evaluation of whole rules.
//!
//! It follows Ceph's computation attempt by attempt, because the order of
//! attempts, and what counts as one, decide where data lie. Source: Ceph's `src/crush/mapper.c` and
//! its documentation of tunables; the code is our own. A search with unlimited tries ends in an
//! error.

use super::bucket::{Draw, Shuffle, Straw2, Urn};
use super::hash::hash2;
use super::map::{CrushError, CrushMap, NONE, slot};
use super::rule::{Mode, Rule, Setting, Step};

/// A position without a successful attempt so far.
pub(super) const UNDECIDED: i32 = i32::MAX - 1;

/// Maximum number of draws for one input: the worst real rules need some thousands.
const MAX_DRAWS: u64 = 1 << 24;

/// Memory that searches reuse.
#[derive(Clone, Default, Debug)]
pub struct Workspace {
    shuffles: Vec<Shuffle>,
    held: Vec<i32>,
    chosen: Vec<i32>,
    leaves: Vec<i32>,
    draws: u64,
}

impl Workspace {
    /// Number of items drawn in all searches; up to eight items of a bucket count as one.
    pub fn draws(&self) -> u64 {
        self.draws
    }
}

/// The search was abandoned.
pub(super) struct Endless;

/// A position as in Ceph's arithmetic: there are at most 255.
pub(super) fn signed(position: usize) -> i32 {
    (position as u32).cast_signed()
}

/// Settings for searches, from the map or the rule.
#[derive(Clone, Copy)]
struct Tries {
    choose: u32,
    /// 0: not set.
    leaf: u32,
    local: u32,
    fallback: u32,
    vary_r: u32,
    stable: bool,
}

/// A search for one input.
pub(super) struct Search<'a> {
    pub(super) map: &'a CrushMap,
    /// By device: probability that the device keeps what is placed on it, 16.16 fixed point.
    reweights: &'a [u32],
    args: Option<&'a [Vec<Straw2>]>,
    x: u32,
    shuffles: &'a mut [Shuffle],
    draws: &'a mut u64,
    most: u64,
}

/// The goal of a nested search, and its number of attempts.
#[derive(Clone, Copy)]
struct Goal {
    /// End of the positions to fill.
    count: i32,
    kind: u16,
    tries: u32,
    leaf_tries: u32,
    parent_r: i32,
}

impl CrushMap {
    /// The devices (or buckets, if the rule ends there) for input `x`, at most `size`; [`NONE`] is
    /// a hole. `reweights` has for each device the probability that it keeps what is placed on it,
    /// 16.16 fixed point; devices beyond its end are out. `args` chooses the weight sets; if none
    /// has that key, those of -1 apply, if any.
    #[expect(
        clippy::too_many_arguments,
        reason = "what a search depends on, and memory to use again"
    )]
    pub fn place(
        &self,
        rule: &Rule,
        x: u32,
        size: usize,
        reweights: &[u32],
        args: i64,
        work: &mut Workspace,
        result: &mut Vec<i32>,
    ) -> Result<(), CrushError> {
        work.shuffles.resize_with(self.urns.len(), Shuffle::default);
        let args = self.choose_args.get(&args).or_else(|| self.choose_args.get(&-1));
        let begun = work.draws;
        if let Some(what) = &rule.unknown {
            let (rule, what) = (rule.name.clone(), what.clone());
            return Err(CrushError::UnknownRule { rule, what });
        }
        let Workspace { shuffles, held, chosen, leaves, draws } = work;
        let most = begun + MAX_DRAWS;
        let args = args.map(Vec::as_slice);
        let mut search = Search { map: self, reweights, args, x, shuffles, draws, most };
        let found = if rule.is_msr() {
            search.msr(rule, size, result)
        } else {
            search.rule(rule, size, [held, chosen, leaves], result)
        };
        found.map_err(|Endless| CrushError::Endless {
            rule: rule.name.clone(),
            input: x,
            draws: MAX_DRAWS,
        })
    }
}

impl Search<'_> {
    fn rule(
        &mut self,
        rule: &Rule,
        size: usize,
        [held, chosen, leaves]: [&mut Vec<i32>; 3],
        result: &mut Vec<i32>,
    ) -> Result<(), Endless> {
        let map = self.map;
        let tunables = map.parts().tunables;
        let mut tries = Tries {
            // the tunable counts retries
            choose: tunables.choose_total_tries.saturating_add(1),
            leaf: 0,
            local: tunables.choose_local_tries,
            fallback: tunables.choose_local_fallback_tries,
            vary_r: tunables.chooseleaf_vary_r,
            stable: tunables.chooseleaf_stable,
        };
        result.clear();
        held.clear();
        for step in &rule.steps {
            match *step {
                Step::Take(item) => {
                    if self.exists(item) {
                        held.clear();
                        held.push(item);
                    }
                }
                Step::Set(setting, value) => tries.set(setting, value),
                // Ceph ignores such a step in a rule of another kind
                Step::ChooseMsr { .. } => {}
                Step::Choose { mode, leaf, count, kind } => {
                    let count = if count > 0 { count } else { count.saturating_add(signed(size)) };
                    if held.is_empty() {
                        continue;
                    }
                    chosen.clear();
                    chosen.resize(size, NONE);
                    leaves.clear();
                    leaves.resize(size, NONE);
                    let mut found = 0;
                    for &item in held.iter() {
                        let Some(urn) = map.urn(item).filter(|_| count > 0) else { continue };
                        let (chosen, leaves) = (&mut chosen[found..], &mut leaves[found..]);
                        let leaves = leaf.then_some(leaves);
                        let mut goal =
                            Goal { count, kind, tries: tries.choose, leaf_tries: 1, parent_r: 0 };
                        found += match mode {
                            Mode::Firstn => {
                                goal.leaf_tries = match tries.leaf {
                                    0 if tunables.chooseleaf_descend_once => 1,
                                    0 => tries.choose,
                                    set => set,
                                };
                                let room = chosen.len();
                                self.firstn(urn, &goal, &tries, chosen, 0, room, leaves)?
                            }
                            Mode::Indep => {
                                goal.leaf_tries = tries.leaf.max(1);
                                let room = (count as usize).min(chosen.len());
                                self.indep(urn, &goal, chosen, 0, room, leaves)?;
                                room
                            }
                        };
                    }
                    std::mem::swap(held, if leaf { &mut *leaves } else { &mut *chosen });
                    held.truncate(found);
                }
                Step::Emit => {
                    result.extend(held.iter().take(size - result.len()));
                    held.clear();
                }
            }
        }
        Ok(())
    }

    /// Whether such a device or bucket exists.
    pub(super) fn exists(&self, item: i32) -> bool {
        if item >= 0 { (item as usize) < self.map.devices } else { self.map.urn(item).is_some() }
    }

    /// Chooses items one after another into `out[at..]`, at most `room`. Returns the position after
    /// the last. With `leaves`, a device below each item is stored there at the same position.
    #[expect(clippy::too_many_arguments, reason = "the state of a nested search")]
    fn firstn(
        &mut self,
        start: &Urn,
        goal: &Goal,
        tries: &Tries,
        out: &mut [i32],
        mut at: usize,
        mut room: usize,
        mut leaves: Option<&mut [i32]>,
    ) -> Result<usize, Endless> {
        let mut position = if tries.stable { 0 } else { signed(at) };
        while position < goal.count && room > 0 {
            let mut failures = 0_u32;
            let found = 'descent: loop {
                let mut urn = start;
                let mut failures_here = 0_u32;
                loop {
                    let r =
                        position.wrapping_add(goal.parent_r).wrapping_add(failures.cast_signed());
                    let half = urn.items.len() as u32 >> 1;
                    let shuffle = tries.fallback > 0
                        && failures_here >= half
                        && failures_here > tries.fallback;
                    let mut collides = false;
                    let mut accepted = None;
                    if let Some(item) = self.draw(urn, r, at, shuffle)? {
                        let below = self.map.urn(item);
                        if below.map_or(0, |urn| urn.kind) != goal.kind {
                            // descend further; a device of the wrong type ends the search
                            let Some(below) = below else { break 'descent None };
                            urn = below;
                            continue;
                        }
                        collides = out[..at].contains(&item);
                        let mut rejected = false;
                        if let Some(leaves) = leaves.as_deref_mut().filter(|_| !collides) {
                            if let Some(below) = below {
                                let nested = Goal {
                                    count: if tries.stable { 1 } else { signed(at) + 1 },
                                    kind: 0,
                                    tries: goal.leaf_tries,
                                    leaf_tries: 0,
                                    parent_r: match tries.vary_r {
                                        0 => 0,
                                        vary => r.wrapping_shr(vary - 1),
                                    },
                                };
                                rejected = self
                                    .firstn(below, &nested, tries, leaves, at, room, None)?
                                    <= at;
                            } else {
                                leaves[at] = item;
                            }
                        }
                        if !rejected && !collides && goal.kind == 0 {
                            rejected = self.is_out(item);
                        }
                        if !rejected && !collides {
                            accepted = Some(item);
                        }
                    }
                    if accepted.is_some() {
                        break 'descent accepted;
                    }
                    failures += 1;
                    failures_here += 1;
                    let here = collides && failures_here <= tries.local
                        || tries.fallback > 0
                            && failures_here
                                <= (urn.items.len() as u32).saturating_add(tries.fallback);
                    if here {
                        continue;
                    }
                    if failures < goal.tries {
                        continue 'descent;
                    }
                    break 'descent None;
                }
            };
            if let Some(item) = found {
                out[at] = item;
                at += 1;
                room -= 1;
            }
            position += 1;
        }
        Ok(at)
    }

    /// Chooses each item for its own position, in `out[at..at + room]`.
    fn indep(
        &mut self,
        start: &Urn,
        goal: &Goal,
        out: &mut [i32],
        at: usize,
        room: usize,
        mut leaves: Option<&mut [i32]>,
    ) -> Result<(), Endless> {
        let mine = at..at + room;
        out[mine.clone()].fill(UNDECIDED);
        if let Some(leaves) = leaves.as_deref_mut() {
            leaves[mine.clone()].fill(UNDECIDED);
        }
        let mut left = room;
        let mut failures = 0_u32;
        while left > 0 && failures < goal.tries {
            for position in mine.clone() {
                if out[position] != UNDECIDED {
                    continue;
                }
                let mut urn = start;
                loop {
                    // positions advance in strides; a permutation must not repeat itself
                    let uniform = matches!(urn.draw, Draw::Uniform)
                        && (urn.items.len() as u32).is_multiple_of(goal.count.cast_unsigned());
                    let stride = if uniform { goal.count.wrapping_add(1) } else { goal.count };
                    let r = signed(position)
                        .wrapping_add(goal.parent_r)
                        .wrapping_add(stride.wrapping_mul(failures.cast_signed()));
                    let Some(item) = self.draw(urn, r, at, false)? else { break };
                    let below = self.map.urn(item);
                    if below.map_or(0, |urn| urn.kind) != goal.kind {
                        if let Some(below) = below {
                            urn = below;
                            continue;
                        }
                        // a device of the wrong type: no item can be found here
                        out[position] = NONE;
                        if let Some(leaves) = leaves.as_deref_mut() {
                            leaves[position] = NONE;
                        }
                        left -= 1;
                        break;
                    }
                    if out[mine.clone()].contains(&item) {
                        break;
                    }
                    if let Some(leaves) = leaves.as_deref_mut() {
                        if let Some(below) = below {
                            let nested = Goal {
                                count: goal.count,
                                kind: 0,
                                tries: goal.leaf_tries,
                                leaf_tries: 0,
                                parent_r: r,
                            };
                            self.indep(below, &nested, leaves, position, 1, None)?;
                            if leaves[position] == NONE {
                                break;
                            }
                        } else {
                            leaves[position] = item;
                        }
                    }
                    if goal.kind == 0 && self.is_out(item) {
                        break;
                    }
                    out[position] = item;
                    left -= 1;
                    break;
                }
            }
            failures += 1;
        }
        for set in [Some(out), leaves].into_iter().flatten() {
            set[mine.clone()]
                .iter_mut()
                .filter(|item| **item == UNDECIDED)
                .for_each(|item| *item = NONE);
        }
        Ok(())
    }

    /// Draws an item of a bucket; `None` if it is empty. `position` chooses the weight set.
    pub(super) fn draw(
        &mut self,
        urn: &Urn,
        r: i32,
        position: usize,
        shuffle: bool,
    ) -> Result<Option<i32>, Endless> {
        *self.draws += 1 + urn.items.len() as u64 / 8;
        if *self.draws > self.most {
            return Err(Endless);
        }
        if urn.items.is_empty() {
            return Ok(None);
        }
        let slot = slot(urn.id).expect("a bucket");
        if shuffle {
            return Ok(urn.shuffled(&mut self.shuffles[slot], self.x, r));
        }
        let sets = self.args.map_or(&[][..], |args| &args[slot]);
        let set = sets.get(position).or(sets.last());
        Ok(urn.draw(&mut self.shuffles[slot], self.x, r, set))
    }

    /// Whether a device rejects what is placed on it for this input.
    pub(super) fn is_out(&self, device: i32) -> bool {
        match self.reweights.get(device as usize) {
            None | Some(0) => true,
            Some(weight) => {
                *weight < 0x1_0000 && hash2(self.x, device.cast_unsigned()) & 0xffff >= *weight
            }
        }
    }
}

impl Tries {
    /// Applies a setting. Negative values, and 0 attempts, are ignored.
    fn set(&mut self, setting: Setting, value: i32) {
        let Ok(value) = u32::try_from(value) else { return };
        match setting {
            Setting::ChooseTries if value > 0 => self.choose = value,
            Setting::ChooseleafTries if value > 0 => self.leaf = value,
            Setting::ChooseTries
            | Setting::ChooseleafTries
            | Setting::MsrDescents
            | Setting::MsrCollisionTries => {}
            Setting::ChooseLocalTries => self.local = value,
            Setting::ChooseLocalFallbackTries => self.fallback = value,
            Setting::ChooseleafVaryR => self.vary_r = value,
            Setting::ChooseleafStable => self.stable = value > 0,
        }
    }
}

impl CrushMap {
    pub(super) fn urn(&self, item: i32) -> Option<&Urn> {
        self.urns.get(slot(item)?)?.as_ref()
    }
}
