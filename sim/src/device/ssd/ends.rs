//! When each die finishes its current work.
//!
//! A die does one thing at a time, so there is one time for each. The earliest is found by a knock-out
//! tournament; when a die's time changes, one path of it is replayed. Of equal times, that of the
//! lower die comes first, whenever it was set.

use foretell_units::SimTime;

/// The times of all dies.
#[derive(Debug)]
pub(super) struct Ends {
    /// Time by die, padded to a power of two; `SimTime::MAX` means never.
    at: Vec<SimTime>,
    /// The winner of each match: match k is between the winners of 2k and 2k + 1. Numbers from
    /// `at.len()` on are the dies themselves; the first entry is not used.
    winners: Vec<u32>,
}

impl Ends {
    /// `dies` dies that do nothing.
    pub(super) fn new(dies: u32) -> Self {
        let leaves = dies.next_power_of_two();
        let mut winners = vec![0; leaves as usize];
        winners.extend(0..leaves);
        for number in (1..leaves as usize).rev() {
            winners[number] = winners[2 * number];
        }
        Self { at: vec![SimTime::MAX; leaves as usize], winners }
    }

    /// Sets the time of a die; `SimTime::MAX` for never.
    pub(super) fn set(&mut self, die: u32, at: SimTime) {
        self.at[die as usize] = at;
        let leaf = self.at.len() + die as usize;
        let mut number = leaf / 2;
        while number > 0 {
            let (a, b) = (self.winners[2 * number], self.winners[2 * number + 1]);
            let (at_a, at_b) = (self.at[a as usize], self.at[b as usize]);
            self.winners[number] = if at_b < at_a { b } else { a };
            number /= 2;
        }
    }

    /// The earliest time, and the die.
    pub(super) fn first(&self) -> (SimTime, u32) {
        // a single die has no match: the winner is die 0
        let die = if self.at.len() == 1 { 0 } else { self.winners[1] };
        (self.at[die as usize], die)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Seed;

    #[test]
    fn oracle_the_first_is_that_of_a_search() {
        let mut stream = Seed(4).stream("ends");
        for dies in [1, 2, 3, 8, 13, 64] {
            let mut ends = Ends::new(dies);
            let mut list = vec![SimTime::MAX; dies as usize];
            for _ in 0..2000 {
                let die = stream.below(u64::from(dies)) as u32;
                let at = match stream.below(20) {
                    0 => SimTime::MAX,
                    at => SimTime::from_ns(at),
                };
                ends.set(die, at);
                list[die as usize] = at;
                let expected = (0..).zip(&list).map(|(die, at)| (*at, die)).min();
                // if no time is set, any die
                let found = ends.first();
                assert_eq!(Some(found.0), expected.map(|(at, _)| at));
                assert!(found.0 == SimTime::MAX || Some(found) == expected);
            }
        }
    }
}
