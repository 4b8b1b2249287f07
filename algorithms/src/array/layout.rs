//! Maps the sectors of an array to its members.
//!
//! A *unit* is the data on one member before the next member follows. A *stripe* is one unit on
//! each member that holds data, at the same place on all of them. RAID 5 is left-symmetric: the
//! parity of stripe s is on member n − 1 − (s mod n), and the data follow it cyclically. Members of
//! RAID 1+0 are pairs of neighbours; those of RAID 1 are all copies of each other.

use foretell_units::Sectors;

/// How data lies on the members of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Striped.
    Raid0,
    /// The same on every member.
    Raid1,
    /// Striped over pairs of equal members.
    Raid10,
    /// Striped with a parity unit in each stripe, which moves to another member from stripe to
    /// stripe (left-symmetric).
    Raid5,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Raid0, Self::Raid1, Self::Raid10, Self::Raid5];

    /// As scenarios call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Raid0 => "raid0",
            Self::Raid1 => "raid1",
            Self::Raid10 => "raid10",
            Self::Raid5 => "raid5",
        }
    }

    /// Number of members whose capacity counts for data.
    pub const fn data_members(self, members: u32) -> u32 {
        match self {
            Self::Raid0 => members,
            Self::Raid1 => 1,
            Self::Raid10 => members / 2,
            Self::Raid5 => members - 1,
        }
    }
}

/// Consecutive sectors of one member. For copies, those of the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Piece {
    /// Which member.
    pub member: u32,
    /// The first sector.
    pub lbn: u64,
    /// Number of sectors.
    pub sectors: u64,
}

/// Sectors of the array, or of a stripe: first, and end (exclusive).
pub type Range = (u64, u64);

/// The layout of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    level: Level,
    members: u32,
    /// Sectors of a unit.
    unit: u64,
    /// Units of a stripe that hold data.
    data: u64,
    /// Number of stripes.
    stripes: u64,
}

impl Layout {
    /// A layout of members with this number of sectors each; `unit` sectors are on one before the next follows.
    pub fn new(level: Level, members: u32, unit: u64, member_sectors: u64) -> Self {
        let data = u64::from(level.data_members(members));
        Self { level, members, unit, data, stripes: member_sectors / unit }
    }

    /// Sectors of the array.
    pub fn sectors(&self) -> u64 {
        self.stripe() * self.stripes
    }

    /// The sectors of an operation. Those beyond the end are replaced by the last one.
    pub fn range(&self, lbn: Sectors, sectors: Sectors) -> Range {
        let last = self.sectors();
        let first = lbn.get().min(last - 1);
        (first, (first + sectors.get().max(1)).min(last))
    }

    /// Sectors of data in a stripe.
    pub fn stripe(&self) -> u64 {
        self.data * self.unit
    }

    /// Sectors of a unit.
    pub fn unit(&self) -> u64 {
        self.unit
    }

    /// Units of data in a stripe.
    pub fn data_units(&self) -> u64 {
        self.data
    }

    /// Number of members with the same data; the member of a piece is the first of them.
    pub fn copies(&self) -> u32 {
        match self.level {
            Level::Raid0 | Level::Raid5 => 1,
            Level::Raid1 => self.members,
            Level::Raid10 => 2,
        }
    }

    /// The member that holds a unit of a stripe; for copies, the first.
    pub fn member(&self, stripe: u64, unit: u64) -> u32 {
        match self.level {
            Level::Raid0 => unit as u32,
            Level::Raid1 => 0,
            Level::Raid10 => 2 * unit as u32,
            Level::Raid5 => {
                let members = u64::from(self.members);
                let parity = members - 1 - stripe % members;
                ((parity + 1 + unit) % members) as u32
            }
        }
    }

    /// The member that holds the parity of a stripe, if any.
    pub fn parity(&self, stripe: u64) -> Option<u32> {
        let members = u64::from(self.members);
        (self.level == Level::Raid5).then(|| (members - 1 - stripe % members) as u32)
    }

    /// The part of a unit of a stripe in these sectors of the unit.
    pub fn piece(&self, stripe: u64, unit: u64, range: Range) -> Piece {
        let (from, until) = range;
        let member = self.member(stripe, unit);
        Piece { member, lbn: stripe * self.unit + from, sectors: until - from }
    }

    /// Appends the pieces of data in `range` of the array. Adjacent pieces on a member are merged.
    pub fn pieces(&self, range: Range, pieces: &mut Vec<Piece>) {
        let begin = pieces.len();
        let (mut from, until) = range;
        while from < until {
            let (stripe, within) = (from / self.stripe(), from % self.stripe());
            let (unit, offset) = (within / self.unit, within % self.unit);
            let end = (offset + until - from).min(self.unit);
            let piece = self.piece(stripe, unit, (offset, end));
            let same = pieces[begin..].iter_mut().rev().find(|other| other.member == piece.member);
            match same {
                Some(other) if other.lbn + other.sectors == piece.lbn => {
                    other.sectors += piece.sectors;
                }
                _ => pieces.push(piece),
            }
            from += end - offset;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A layout with units of `unit` sectors and this number of stripes.
    pub(crate) fn layout(level: Level, members: u32, unit: u64, stripes: u64) -> Layout {
        Layout::new(level, members, unit, unit * stripes)
    }

    fn piece(member: u32, lbn: u64, sectors: u64) -> Piece {
        Piece { member, lbn, sectors }
    }

    fn pieces(layout: &Layout, range: Range) -> Vec<Piece> {
        let mut found = Vec::new();
        layout.pieces(range, &mut found);
        found
    }

    #[test]
    fn raid_5_goes_round_with_its_parity() {
        // five members, units of 8 sectors: stripe 0 has its parity on member 4, data on 0 to 3;
        // stripe 1 parity on 3, data on 4, 0, 1, 2
        let layout = layout(Level::Raid5, 5, 8, 100);
        assert_eq!(
            (layout.parity(0), layout.parity(1), layout.parity(5)),
            (Some(4), Some(3), Some(4))
        );
        assert_eq!((0..4).map(|unit| layout.member(0, unit)).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((0..4).map(|unit| layout.member(1, unit)).collect::<Vec<_>>(), [4, 0, 1, 2]);
        // sectors 28 to 44: the last half of unit 3, unit 4 (stripe 1, member 4), a half on member 0
        assert_eq!(pieces(&layout, (28, 44)), [piece(3, 4, 4), piece(4, 8, 8), piece(0, 8, 4)]);
    }

    #[test]
    fn raid_10_and_raid_1_name_the_first_copy() {
        let ten = layout(Level::Raid10, 4, 8, 100);
        assert_eq!((ten.copies(), ten.stripe(), ten.sectors()), (2, 16, 1600));
        assert_eq!(pieces(&ten, (8, 24)), [piece(2, 0, 8), piece(0, 8, 8)]);
        // copies are not striped: consecutive sectors are one piece
        let one = layout(Level::Raid1, 3, 8, 100);
        assert_eq!((one.copies(), one.sectors()), (3, 800));
        assert_eq!(pieces(&one, (5, 100)), [piece(0, 5, 95)]);
    }

    #[test]
    fn long_ranges_are_one_piece_a_member() {
        // eight units of a RAID 0 of four: two consecutive ones on each
        let layout = layout(Level::Raid0, 4, 8, 100);
        let expected: Vec<_> = (0..4).map(|member| piece(member, 0, 16)).collect();
        assert_eq!(pieces(&layout, (0, 64)), expected);
    }

    fn level() -> impl Strategy<Value = Level> {
        prop::sample::select(vec![Level::Raid0, Level::Raid1, Level::Raid10, Level::Raid5])
    }

    proptest! {
        #[test]
        fn every_sector_has_a_place_of_its_own(
            level in level(), pairs in 2_u32..5, unit in 1_u64..9, stripes in 1_u64..12,
        ) {
            let layout = layout(level, 2 * pairs, unit, stripes);
            let mut places = Vec::new();
            for sector in 0..layout.sectors() {
                let found = pieces(&layout, (sector, sector + 1));
                prop_assert_eq!(found.len(), 1);
                prop_assert!(found[0].lbn < stripes * unit && found[0].member < 2 * pairs);
                if let Some(parity) = layout.parity(sector / layout.stripe()) {
                    prop_assert_ne!(parity, found[0].member);
                }
                places.push(found[0]);
            }
            places.sort_unstable();
            places.dedup();
            prop_assert_eq!(places.len() as u64, layout.sectors());
            // a long range has the same sectors
            let mut whole = Vec::new();
            for piece in pieces(&layout, (0, layout.sectors())) {
                let one = |lbn| Piece { lbn, sectors: 1, ..piece };
                whole.extend((piece.lbn..piece.lbn + piece.sectors).map(one));
            }
            whole.sort_unstable();
            prop_assert_eq!(whole, places);
        }
    }
}
