//! What members read and write for a write to the array.
//!
//! Without parity, a write goes to the member or to all copies. With parity (RAID 5), stripe by
//! stripe, there are three ways (Patterson, Gibson & Katz 1988; Chen et al., ACM Computing Surveys 26,
//! 1994, 4.1):
//!
//! - *full stripe*: everything is new, nothing is read;
//! - *read-modify-write*: the old data and the old parity are read; the new parity is their XOR with
//!   the new data;
//! - *reconstruct-write*: the rest of the stripe is read; the new parity is its XOR with the new data.
//!
//! The way that reads from fewer members is taken; if equal, reconstruct-write (as Linux's md
//! does). Parity is read and written from the first to the last sector that the write touches in
//! any unit. Reconstruct-write reads the same sectors. The sectors read of a unit are one
//! operation.

use super::layout::{Layout, Piece, Range};

/// How the parity of a stripe is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// There is no parity.
    NoParity,
    /// All data of the stripe are new.
    FullStripe,
    /// From the old data and the old parity.
    ReadModifyWrite,
    /// From the rest of the stripe.
    Reconstruct,
}

/// What members read, and then write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How parity is computed.
    pub way: Way,
    /// What is read first.
    pub reads: Vec<Piece>,
    /// Data, copies, then parity.
    pub writes: Vec<Piece>,
}

impl Layout {
    /// Plans a write of `ranges` of a stripe: its sectors, in order, with gaps between ranges.
    pub fn plan(&self, stripe: u64, ranges: &[Range]) -> Plan {
        let mut plan = Plan { way: Way::NoParity, reads: Vec::new(), writes: Vec::new() };
        let base = stripe * self.stripe();
        for &(from, until) in ranges {
            self.pieces((base + from, base + until), &mut plan.writes);
        }
        let Some(parity) = self.parity(stripe) else {
            let first = plan.writes.len();
            for copy in 1..self.copies() {
                for index in 0..first {
                    let piece = plan.writes[index];
                    plan.writes.push(Piece { member: piece.member + copy, ..piece });
                }
            }
            return plan;
        };
        let unit = self.unit();
        // the first to the last sector touched: of each unit, and of all units
        let mut touched = vec![None::<Range>; self.data_units() as usize];
        // whether the touched part of a unit has no gap
        let mut whole = vec![true; self.data_units() as usize];
        for &(from, until) in ranges {
            for number in from / unit..until.div_ceil(unit) {
                let begin = from.max(number * unit) - number * unit;
                let end = until.min((number + 1) * unit) - number * unit;
                let number = number as usize;
                touched[number] = match touched[number] {
                    None => Some((begin, end)),
                    Some((first, last)) => {
                        whole[number] &= begin == last;
                        Some((first, end))
                    }
                };
            }
        }
        let all = touched.iter().flatten().copied();
        let hull = all.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).expect("something is written");
        let covers = |number: usize| touched[number] == Some(hull) && whole[number];
        let units = 0..self.data_units();
        let missing: Vec<u64> = units.clone().filter(|&unit| !covers(unit as usize)).collect();
        let modified = touched.iter().flatten().count();
        let parity =
            Piece { member: parity, lbn: stripe * unit + hull.0, sectors: hull.1 - hull.0 };
        if missing.is_empty() {
            plan.way = Way::FullStripe;
        } else if missing.len() <= modified + 1 {
            plan.way = Way::Reconstruct;
            plan.reads.extend(missing.iter().map(|&unit| self.piece(stripe, unit, hull)));
        } else {
            plan.way = Way::ReadModifyWrite;
            let old = units.zip(&touched);
            plan.reads
                .extend(old.filter_map(|(unit, part)| Some(self.piece(stripe, unit, (*part)?))));
            plan.reads.push(parity);
        }
        plan.writes.push(parity);
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::super::layout::Level;
    use super::super::layout::tests::layout;
    use super::*;
    use proptest::prelude::*;

    fn counts(plan: &Plan) -> (Way, usize, usize) {
        (plan.way, plan.reads.len(), plan.writes.len())
    }

    #[test]
    fn a_small_write_to_raid_5_is_two_reads_and_two_writes() {
        let seven = layout(Level::Raid5, 7, 512, 100);
        // sectors 8 to 16 of unit 1, whose parity (stripe 0) is on member 6
        let plan = seven.plan(0, &[(520, 528)]);
        let data = Piece { member: 1, lbn: 8, sectors: 8 };
        let parity = Piece { member: 6, lbn: 8, sectors: 8 };
        let expected = Plan {
            way: Way::ReadModifyWrite,
            reads: vec![data, parity],
            writes: vec![data, parity],
        };
        assert_eq!(plan, expected);
    }

    #[test]
    fn the_way_with_fewer_reads_is_taken() {
        let seven = layout(Level::Raid5, 7, 512, 100);
        // number of the six units that are written completely; either the rest is read, or the same units and parity
        for (units, expected) in [
            (1, (Way::ReadModifyWrite, 2, 2)),
            (2, (Way::ReadModifyWrite, 3, 3)),
            (3, (Way::Reconstruct, 3, 4)),
            (4, (Way::Reconstruct, 2, 5)),
            (5, (Way::Reconstruct, 1, 6)),
            (6, (Way::FullStripe, 0, 7)),
        ] {
            assert_eq!(counts(&seven.plan(3, &[(0, units * 512)])), expected, "{units} units");
        }
        // with three members the other unit is read instead of old data and parity
        let three = layout(Level::Raid5, 3, 512, 100);
        assert_eq!(counts(&three.plan(0, &[(0, 8)])), (Way::Reconstruct, 1, 2));
    }

    #[test]
    fn the_same_sectors_of_all_units_are_a_stripe_of_their_own() {
        let layout = layout(Level::Raid5, 4, 512, 100);
        let ranges = [(16, 32), (528, 544), (1040, 1056)];
        assert_eq!(counts(&layout.plan(0, &ranges)), (Way::FullStripe, 0, 4));
        // a unit with a gap is read
        let ranges = [(16, 32), (528, 532), (536, 544), (1040, 1056)];
        assert_eq!(counts(&layout.plan(0, &ranges)), (Way::Reconstruct, 1, 5));
    }

    #[test]
    fn copies_are_written_without_reading() {
        let one = layout(Level::Raid1, 3, 512, 100).plan(0, &[(0, 8)]);
        assert_eq!(counts(&one), (Way::NoParity, 0, 3));
        let ten = layout(Level::Raid10, 6, 512, 100).plan(0, &[(512, 520)]);
        let on = |member| Piece { member, lbn: 0, sectors: 8 };
        assert_eq!((ten.reads.len(), ten.writes), (0, vec![on(2), on(3)]));
        let zero = layout(Level::Raid0, 6, 512, 100).plan(0, &[(512, 520)]);
        assert_eq!(zero.writes, [on(1)]);
    }

    /// Members with contents: one number for each sector.
    struct Members {
        layout: Layout,
        sectors: Vec<Vec<u64>>,
    }

    impl Members {
        /// Writes the stripe's `ranges`, with `content` for each sector of the array. The members
        /// do exactly what the plan says.
        fn write(&mut self, stripe: u64, ranges: &[Range], content: impl Fn(u64) -> u64) {
            let layout = self.layout;
            let plan = layout.plan(stripe, ranges);
            // the controller's knowledge: (member, sector) and its content
            let mut known = std::collections::BTreeMap::new();
            for piece in &plan.reads {
                for lbn in piece.lbn..piece.lbn + piece.sectors {
                    let old = self.sectors[piece.member as usize][lbn as usize];
                    assert!(known.insert((piece.member, lbn), old).is_none(), "read once");
                }
            }
            let base = stripe * layout.stripe();
            let mut fresh = std::collections::BTreeMap::new();
            for sector in ranges.iter().flat_map(|&(from, until)| base + from..base + until) {
                let within = sector % layout.stripe();
                let member = layout.member(stripe, within / layout.unit());
                let lbn = stripe * layout.unit() + within % layout.unit();
                fresh.insert((member, lbn), content(sector));
            }
            let parity_of = |lbn: u64| {
                let on = (0..layout.data_units()).map(|unit| layout.member(stripe, unit));
                let parity = layout.parity(stripe).expect("it is a RAID 5");
                match plan.way {
                    Way::ReadModifyWrite => {
                        on.fold(known[&(parity, lbn)], |sum, member| {
                            match fresh.get(&(member, lbn)) {
                                Some(new) => sum ^ known[&(member, lbn)] ^ new,
                                None => sum,
                            }
                        })
                    }
                    _ => on.fold(0, |sum, member| {
                        sum ^ fresh.get(&(member, lbn)).unwrap_or_else(|| &known[&(member, lbn)])
                    }),
                }
            };
            let mut written = Vec::new();
            for piece in &plan.writes {
                for lbn in piece.lbn..piece.lbn + piece.sectors {
                    let new = if layout.parity(stripe) == Some(piece.member) {
                        parity_of(lbn)
                    } else {
                        let first = piece.member - piece.member % layout.copies();
                        fresh[&(first, lbn)]
                    };
                    written.push((piece.member as usize, lbn as usize, new));
                }
            }
            for (member, lbn, new) in written {
                self.sectors[member][lbn] = new;
            }
        }
    }

    proptest! {
        #[test]
        fn oracle_members_hold_the_data_their_copies_and_their_parity(
            level in prop::sample::select(
                vec![Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5]),
            members in 3_u32..8, unit in 1_u64..9,
            writes in prop::collection::vec(
                (0_u64..4, prop::collection::btree_set(0_u64..64, 1..12)), 1..40),
        ) {
            let members = if level == Level::Raid10 { members / 2 * 2 } else { members };
            let stripes = 4;
            let layout = layout(level, members, unit, stripes);
            let blank = vec![0; (stripes * unit) as usize];
            let mut array = Members { layout, sectors: vec![blank; members as usize] };
            let mut expected = vec![0; layout.sectors() as usize];
            for (number, (stripe, sectors)) in (1..).zip(&writes) {
                let mut ranges: Vec<Range> = Vec::new();
                for sector in sectors.iter().filter(|sector| **sector < layout.stripe()) {
                    match ranges.last_mut() {
                        Some((_, until)) if *until == *sector => *until += 1,
                        _ => ranges.push((*sector, *sector + 1)),
                    }
                }
                if ranges.is_empty() {
                    continue;
                }
                let content = |sector: u64| number * 1_000_003 + sector;
                for sector in ranges.iter().flat_map(|&(from, until)| from..until) {
                    let sector = stripe * layout.stripe() + sector;
                    expected[sector as usize] = content(sector);
                }
                array.write(*stripe, &ranges, content);
            }
            for (sector, expected) in (0..).zip(&expected) {
                let mut pieces = Vec::new();
                layout.pieces((sector, sector + 1), &mut pieces);
                for copy in 0..layout.copies() {
                    let member = &array.sectors[(pieces[0].member + copy) as usize];
                    prop_assert_eq!(member[pieces[0].lbn as usize], *expected);
                }
            }
            if level == Level::Raid5 {
                for lbn in 0..(stripes * unit) as usize {
                    // data and parity together
                    prop_assert_eq!(array.sectors.iter().fold(0, |sum, member| sum ^ member[lbn]), 0);
                }
            }
        }
    }
}
