//! The place of all data before the simulation begins, computed without a table.
//!
//! The host's rows are assigned to the dies in turn. On each die they fill its blocks in order, each up to
//! its number of valid rows. Those numbers are the same on every die, so one short list describes the whole
//! drive. After random writes the blocks are filled as greedy collection leaves them: a block loses valid
//! data at a rate proportional to the valid data that it has, and is collected when it has the least of all
//! blocks. So the k-th youngest of n blocks has the valid share v^(k/n), where v is the valid share of the
//! block that is collected. The mean over k/n from 0 to 1 is (1 − v) / ln(1/v). It must equal the share of
//! the flash that the host's data fill (the fluid limit: Desnoyers 2012; Bux & Iliadis 2010). Ages are spread
//! so that every part of the address space lies in blocks of all ages. Each die begins with another of its rows.
//! So sequential writes reach the ends of blocks at a different time on each die, as they do on a drive that was
//! written at random. Otherwise they would leave the same part of a block valid on all dies, and all dies would
//! have nothing but moves to do at the same time.

use foretell_scenarios::device::Precondition;

use super::geometry::{Address, Geometry, Unit};

/// The golden section: multiples of it are spread evenly.
const GOLDEN: f64 = 0.618_034;

/// Free blocks of a die after random writes: the first row from the host starts collection.
const FREE_AFTER_RANDOM: u32 = super::blocks::ENOUGH_ROOM;

/// The initial place of all data.
#[derive(Debug)]
pub(super) struct Home {
    /// Number of the host's rows before each block of a die; the last entry is their total.
    before: Vec<u32>,
    /// The block of the first row of each stretch of host rows; a stretch has a power of two of rows.
    /// The block of any row in the stretch is a step or two further.
    stretches: Vec<u32>,
    stretch: u32,
    /// By how many rows the order of a die's rows is ahead of that of the die before.
    ahead: u32,
}

impl Home {
    pub(super) fn new(geometry: &Geometry, precondition: Precondition) -> Self {
        let (rows, wanted) = (geometry.rows, geometry.user_rows);
        let filled: Vec<u32> = match precondition {
            Precondition::Sequential => {
                let full = wanted.div_ceil(rows);
                (0..full).map(|block| rows.min(wanted - block * rows)).collect()
            }
            Precondition::Random => {
                let used = geometry.blocks - FREE_AFTER_RANDOM;
                valid_rows(used, rows, wanted)
            }
        };
        let mut before = vec![0];
        before.extend(filled.iter().scan(0, |sum, filled| {
            *sum += filled;
            Some(*sum)
        }));
        assert_eq!(before.last(), Some(&wanted));
        // about as long as the data of half a block
        let stretch = (wanted / (before.len() as u32 - 1).max(1)).max(2).ilog2() - 1;
        let block_of = |row| before.partition_point(|before| *before <= row) as u32 - 1;
        let stretches = (0..=wanted >> stretch).map(|number| block_of(number << stretch)).collect();
        let ahead = match precondition {
            Precondition::Sequential => 0,
            Precondition::Random => (f64::from(wanted) * GOLDEN) as u32,
        };
        Self { before, stretches, stretch, ahead }
    }

    /// By how many of its rows the order of a die is ahead.
    fn ahead(&self, geometry: &Geometry, die: u32) -> u64 {
        u64::from(die) * u64::from(self.ahead) % u64::from(geometry.user_rows)
    }

    /// Number of blocks of a die that hold data.
    pub(super) fn used(&self) -> u32 {
        self.before.len() as u32 - 1
    }

    /// Number of rows of a block that hold data.
    pub(super) fn filled(&self, block: u32) -> u32 {
        let block = block as usize;
        self.before.get(block + 1).map_or(0, |end| end - self.before[block])
    }

    /// The initial address of a unit.
    pub(super) fn address(&self, geometry: &Geometry, unit: Unit) -> Address {
        let (row, place) = (unit / geometry.row, unit % geometry.row);
        let (index, die) = (row / geometry.dies, row % geometry.dies);
        let index = (u64::from(index) + self.ahead(geometry, die)) % u64::from(geometry.user_rows);
        let index = index as u32;
        let mut block = self.stretches[(index >> self.stretch) as usize] as usize;
        while self.before[block + 1] <= index {
            block += 1;
        }
        let row = self.spread(geometry, block as u32, index - self.before[block]);
        geometry.address(die, block as u32, row) + place
    }

    /// The first of the units that are initially in a row, if there are any.
    pub(super) fn unit(&self, geometry: &Geometry, die: u32, block: u32, row: u32) -> Option<Unit> {
        let filled = self.filled(block);
        let number = (u64::from(row) * u64::from(filled)).div_ceil(u64::from(geometry.rows)) as u32;
        if number >= filled || self.spread(geometry, block, number) != row {
            return None;
        }
        let (index, rows) = (self.before[block as usize] + number, u64::from(geometry.user_rows));
        let index = (u64::from(index) + rows - self.ahead(geometry, die)) % rows;
        Some((index as u32 * geometry.dies + die) * geometry.row)
    }

    /// The row of a block that holds the block's host row `number`. Rows with data are spread evenly,
    /// so that collection finds garbage throughout.
    fn spread(&self, geometry: &Geometry, block: u32, number: u32) -> u32 {
        let filled = u64::from(self.filled(block));
        (u64::from(number) * u64::from(geometry.rows) / filled) as u32
    }
}

/// Valid rows of each block in the steady state; `wanted` in total.
fn valid_rows(blocks: u32, rows: u32, wanted: u32) -> Vec<u32> {
    let share = f64::from(wanted) / (f64::from(blocks) * f64::from(rows));
    let log_least = libm::log(least(share));
    // by age, rounded so that the sum is exact
    let mut by_age = Vec::with_capacity(blocks as usize);
    let (mut exact, mut given) = (0.0, 0);
    for age in 0..blocks {
        let share = libm::exp(log_least * (f64::from(age) + 0.5) / f64::from(blocks));
        exact += share * f64::from(rows);
        let here = (exact as u32).saturating_sub(given).min(rows).min(wanted - given);
        by_age.push(here);
        given += here;
    }
    for here in &mut by_age {
        let more = (rows - *here).min(wanted - given);
        *here += more;
        given += more;
    }
    // a step near the golden section, with no divisor in common with the number of blocks, visits
    // every age
    let mut step = (f64::from(blocks) * GOLDEN) as u32;
    while gcd(step.max(1), blocks) != 1 {
        step += 1;
    }
    let step = u64::from(step.max(1));
    let age = |block: u64| (block * step % u64::from(blocks)) as usize;
    (0..u64::from(blocks)).map(|block| by_age[age(block)]).collect()
}

/// Valid share of a victim of greedy collection, if data fill `share` of the blocks.
fn least(share: f64) -> f64 {
    let mean = |least: f64| (1.0 - least) / -libm::log(least);
    let (mut low, mut high) = (1e-12, 1.0 - 1e-9);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if mean(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Bytes;
    use proptest::prelude::*;

    #[test]
    fn the_least_solves_its_equation() {
        // (1 − v) / ln(1/v) for v = 0.5: 0.5 / 0.693147
        assert!((least(0.5 / std::f64::consts::LN_2) - 0.5).abs() < 1e-9);
        // 30 % more flash than data: the write amplification 1 / (1 − v) is 2.36 (Xiang & Kurkoski)
        assert!((1.0 / (1.0 - least(1.0 / 1.3)) - 2.36).abs() < 0.01);
    }

    #[test]
    fn blocks_of_all_ages_lie_side_by_side() {
        let filled = valid_rows(1000, 64, 48_000);
        assert_eq!(filled.iter().sum::<u32>(), 48_000);
        for hundred in filled.chunks(100) {
            let mean = f64::from(hundred.iter().sum::<u32>()) / 100.0;
            assert!((mean - 48.0).abs() < 1.0, "{mean}");
        }
    }

    proptest! {
        #[test]
        fn every_unit_has_its_place(
            dies in 1_u32..6, row in 1_u32..5, rows in 2_u32..20, blocks in 12_u32..40,
            share in 0.05_f64..0.95, random in any::<bool>(),
        ) {
            let most = (blocks - FREE_AFTER_RANDOM) * rows;
            let user_rows = ((f64::from(most) * share) as u32).max(1);
            let geometry =
                Geometry { dies, channels: 1, row, rows, blocks, user_rows, unit: Bytes::kib(4) };
            let precondition =
                if random { Precondition::Random } else { Precondition::Sequential };
            let home = Home::new(&geometry, precondition);
            let mut found = 0;
            for die in 0..dies {
                for block in 0..home.used() {
                    for filled in 0..rows {
                        let Some(unit) = home.unit(&geometry, die, block, filled) else {
                            continue;
                        };
                        for place in 0..row {
                            let address = geometry.address(die, block, filled) + place;
                            prop_assert_eq!(home.address(&geometry, unit + place), address);
                            found += 1;
                        }
                    }
                }
            }
            // the number of places equals that of units, and no two units share a place
            prop_assert_eq!(found, geometry.user());
        }
    }
}
