//! Rules that retry all their steps (`choosemsr`, since Squid): several devices in each of several hosts.
//!
//! A rule with two plain `choose` steps cannot leave a host whose devices are all out. These rules can: they descend
//! depth first through all steps, and what hits a device that is out is tried again from the top. The positions of the
//! result are divided into strides, one for each item of a step. An item that one stride uses is closed to the others;
//! a stride may use several items in the end. Source: Ceph's `doc/dev/crush-msr.rst` and `src/crush/mapper.c`; the
//! code is our own. Ceph does not define what a malformed rule does: here it finds nothing.

use std::ops::Range;

use super::bucket::Urn;
use super::choose::{Endless, Search, UNDECIDED};
use super::map::NONE;
use super::rule::{Rule, Setting, Step};

/// Number of items of a step, and their type.
#[derive(Clone, Copy)]
struct Choice {
    count: usize,
    kind: u16,
}

/// The state of one `take ... emit` block.
struct Block<'a> {
    choices: &'a [Choice],
    /// By step and position: the items in use, for collisions.
    used: Vec<Vec<i32>>,
    tries: Tries,
    size: usize,
}

#[derive(Clone, Copy)]
struct Tries {
    descents: u32,
    collisions: u32,
}

/// The result so far.
struct Output {
    devices: Vec<i32>,
    found: usize,
    /// Whether devices are in the order in which they were found.
    firstn: bool,
}

impl Output {
    fn emit(&mut self, position: usize, device: i32) {
        let place = if self.firstn { self.found } else { position };
        if let Some(place) = self.devices.get_mut(place) {
            *place = device;
            self.found += 1;
        }
    }
}

impl Block<'_> {
    /// Whether `item` may be used at `step` in `stride`, given all positions of the bucket above.
    fn is_free(&self, step: usize, all: &Range<usize>, stride: &Range<usize>, item: i32) -> bool {
        let used = &self.used[step];
        all.clone().find(|at| used[*at] == item).is_none_or(|at| stride.contains(&at))
    }

    /// Marks `item` as used in `stride`; false if it is already.
    fn mark(&mut self, step: usize, stride: &Range<usize>, item: i32) -> bool {
        let places = &mut self.used[step][stride.clone()];
        match places.iter().position(|used| *used == item || *used == UNDECIDED) {
            Some(place) if places[place] == UNDECIDED => {
                places[place] = item;
                true
            }
            _ => false,
        }
    }

    /// Frees the last mark in `stride`.
    fn unmark(&mut self, step: usize, stride: &Range<usize>) {
        let places = &mut self.used[step][stride.clone()];
        if let Some(last) = places.iter_mut().rev().find(|used| **used != UNDECIDED) {
            *last = UNDECIDED;
        }
    }
}

impl Search<'_> {
    /// Evaluates a rule that retries all its steps.
    pub(super) fn msr(
        &mut self,
        rule: &Rule,
        size: usize,
        result: &mut Vec<i32>,
    ) -> Result<(), Endless> {
        let map = self.map;
        let tunables = map.parts().tunables;
        let mut tries =
            Tries { descents: tunables.msr_descents, collisions: tunables.msr_collision_tries };
        let firstn = rule.kind == Rule::MSR_FIRSTN;
        let mut output = Output { devices: vec![NONE; size], found: 0, firstn };
        let mut steps = rule.steps.iter().copied().peekable();
        while let Some(Step::Set(setting, value)) = steps.peek() {
            match setting {
                Setting::MsrDescents => tries.descents = value.cast_unsigned(),
                Setting::MsrCollisionTries => tries.collisions = value.cast_unsigned(),
                _ => break,
            }
            steps.next();
        }
        result.clear();
        let mut start = 0;
        while let Some(step) = steps.next() {
            let Step::Take(from) = step else { return Ok(()) };
            let mut choices = Vec::new();
            loop {
                match steps.next() {
                    Some(Step::ChooseMsr { count, kind }) => {
                        let count = if count == 0 { size } else { count as usize };
                        choices.push(Choice { count, kind });
                    }
                    Some(Step::Emit) => break,
                    _ => return Ok(()),
                }
            }
            let Some(urn) = map.urn(from) else {
                if !choices.is_empty() {
                    return Ok(());
                }
                if self.exists(from) {
                    output.emit(start, from);
                    start += 1;
                }
                continue;
            };
            let total =
                choices.iter().fold(1_usize, |all, choice| all.saturating_mul(choice.count));
            let positions = start..start.saturating_add(total).min(size);
            let wanted = output.found + positions.len();
            let used = vec![vec![UNDECIDED; size]; choices.len()];
            let mut block = Block { choices: &choices, used, tries, size };
            for descent in 0..tries.descents {
                if output.found >= wanted || choices.is_empty() {
                    break;
                }
                self.descend(&mut block, &mut output, urn, total, &positions, 0, descent)?;
            }
            start = positions.end;
        }
        output.devices.truncate(if firstn { output.found } else { size });
        *result = output.devices;
        Ok(())
    }

    /// Fills the open `positions` below a bucket by the steps from `step` on. Returns how many it filled. `total` is
    /// the number of positions that these steps make; there may be fewer.
    #[expect(clippy::too_many_arguments, reason = "the state of a nested search")]
    fn descend(
        &mut self,
        block: &mut Block<'_>,
        output: &mut Output,
        urn: &Urn,
        total: usize,
        positions: &Range<usize>,
        step: usize,
        descent: u32,
    ) -> Result<usize, Endless> {
        let Choice { count, kind } = block.choices[step];
        let length = (total / count).max(1);
        let last = step + 1 == block.choices.len();
        let mut filled = 0;
        // what a stride chose in vain stays closed to the others until the end of this descent
        let mut vain = Vec::new();
        for (index, begin) in positions.clone().step_by(length).enumerate() {
            let stride = begin..(begin + length).min(positions.end);
            let leaves = block.used.last().expect("there is a step");
            if stride.clone().all(|at| leaves[at] != UNDECIDED) {
                continue;
            }
            let mut found = None;
            for collision in 0..block.tries.collisions {
                let candidate = self.below(urn, kind, block.size, index, descent, collision)?;
                let Some(candidate) = candidate else { break };
                if block.is_free(step, positions, &stride, candidate) {
                    found = Some(candidate);
                    break;
                }
            }
            let Some(item) = found else { continue };
            match self.map.urn(item) {
                None if kind == 0 && length == 1 && last && !self.is_out(item) => {
                    block.mark(step, &stride, item);
                    output.emit(begin, item);
                    filled += 1;
                }
                Some(below) if kind != 0 && !last => {
                    let nested =
                        self.descend(block, output, below, length, &stride, step + 1, descent)?;
                    let marked = block.mark(step, &stride, item);
                    if marked && nested == 0 {
                        vain.push(stride);
                    }
                    filled += nested;
                }
                // a device that is out or where a bucket was wanted, or no step for devices
                _ => {}
            }
        }
        for stride in vain {
            block.unmark(step, &stride);
        }
        Ok(filled)
    }

    /// The first item of type `kind`, or the device, on a way down from a bucket; `None` below an empty bucket.
    fn below(
        &mut self,
        urn: &Urn,
        kind: u16,
        size: usize,
        index: usize,
        descent: u32,
        collision: u32,
    ) -> Result<Option<i32>, Endless> {
        let way = descent.wrapping_mul(size as u32).wrapping_add(index as u32);
        let r = (way << 16).wrapping_add(collision).cast_signed();
        let mut urn = urn;
        loop {
            let Some(item) = self.draw(urn, r, index, false)? else { return Ok(None) };
            match self.map.urn(item) {
                Some(below) if below.kind != kind => urn = below,
                _ => return Ok(Some(item)),
            }
        }
    }
}
