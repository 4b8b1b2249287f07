//! The translation layer: the place of each unit, and the garbage.
//!
//! A unit is in the write buffer, at a flash address, or still in its initial place ([`Home`]). The
//! mapping table stores which, in 32 bits. Nothing here takes time.

use foretell_scenarios::device::Ssd;

use super::blocks::{Blocks, NONE, Writer};
use super::geometry::{Address, Geometry, Unit};
use super::home::Home;
use super::table::Table;

/// Marks a mapping entry that refers to a place in the buffer.
const IN_BUFFER: u32 = 1 << 31;

/// The place of a unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// In the buffer, at this place.
    Buffer(u32),
    /// In flash.
    Flash(Address),
}

/// The translation layer of a drive.
#[derive(Debug)]
pub(super) struct Translation {
    geometry: Geometry,
    home: Home,
    /// By unit: zero if it is in its initial place; else an address plus one, or a place in the
    /// buffer.
    map: Table,
    /// Blocks by die; created when the die is first written to.
    dies: Vec<Option<Box<Blocks>>>,
}

impl Translation {
    pub(super) fn new(spec: &Ssd) -> Self {
        let geometry = Geometry::new(spec);
        Self {
            geometry,
            home: Home::new(&geometry, spec.precondition),
            map: Table::new(),
            dies: (0..geometry.dies).map(|_| None).collect(),
        }
    }

    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The place of a unit.
    pub(super) fn place(&self, unit: Unit) -> Place {
        match self.map.get(unit) {
            0 => Place::Flash(self.home.address(&self.geometry, unit)),
            buffer if buffer & IN_BUFFER != 0 => Place::Buffer(buffer & !IN_BUFFER),
            address => Place::Flash(address - 1),
        }
    }

    /// The blocks of a die.
    pub(super) fn blocks(&mut self, die: u32) -> &mut Blocks {
        self.dies[die as usize]
            .get_or_insert_with(|| Box::new(Blocks::new(&self.geometry, &self.home)))
    }

    /// Whether a die has been written to, or lost valid units.
    pub(super) fn is_written(&self, die: u32) -> bool {
        self.dies[die as usize].is_some()
    }

    /// Number of valid units of a die.
    pub(super) fn valid(&self, die: u32) -> u32 {
        let blocks = self.dies[die as usize].as_ref();
        blocks.map_or(self.geometry.user_per_die(), |blocks| blocks.valid())
    }

    /// A unit is in the buffer at `place`; its content in flash becomes garbage.
    pub(super) fn put_in_buffer(&mut self, unit: Unit, place: u32) {
        if let Place::Flash(address) = self.place(unit) {
            let (die, block) = self.geometry.die_and_block(address);
            let unit = self.geometry.in_block(address);
            self.blocks(die).drop_valid(block, unit);
        }
        self.map.set(unit, place | IN_BUFFER);
    }

    /// Assigns the next row of a die to `units`; `None` if the host may not have one.
    pub(super) fn next_row(
        &mut self,
        die: u32,
        writer: Writer,
        units: impl Iterator<Item = Unit>,
    ) -> Option<Address> {
        let (block, row) = self.blocks(die).next_row(writer, units)?;
        Some(self.geometry.address(die, block, row))
    }

    /// The row at `address` has been programmed with `row`: the units, each with the place that its
    /// content was taken from if that content is still the latest. Other units become garbage.
    /// Content from flash comes from the block `victim` of the same die.
    pub(super) fn row_programmed(
        &mut self,
        address: Address,
        victim: u32,
        row: impl Iterator<Item = (Unit, Option<Place>)>,
    ) {
        let geometry = self.geometry;
        let (die, block) = geometry.die_and_block(address);
        let first = geometry.in_block(address);
        let base = geometry.address(die, victim, 0);
        let (mut valid, mut moved) = (0, 0);
        for (place, (unit, from)) in (0..).zip(row) {
            debug_assert!(from.is_none_or(|from| self.place(unit) == from));
            if from.is_some() {
                self.map.set(unit, address + place + 1);
                valid += 1;
            }
            match from {
                None => self.blocks(die).set_stale(block, first + place),
                Some(Place::Flash(from)) => {
                    self.blocks(die).set_stale(victim, from - base);
                    moved += 1;
                }
                Some(Place::Buffer(_)) => {}
            }
        }
        let blocks = self.blocks(die);
        if moved > 0 {
            blocks.moved(victim, moved);
        }
        blocks.add_valid(block, valid);
        blocks.programmed(block, first / geometry.row);
    }

    /// Whether the unit that was programmed at an address of a block is still valid there.
    pub(super) fn is_valid(&self, die: u32, block: u32, address: Address) -> bool {
        let unit = address - self.geometry.address(die, block, 0);
        self.dies[die as usize].as_ref().is_none_or(|blocks| !blocks.is_stale(block, unit))
    }

    /// Appends the valid units of a row, and their places, to `found`.
    pub(super) fn valid_units(
        &self,
        die: u32,
        block: u32,
        row: u32,
        found: &mut Vec<(Unit, Place)>,
    ) {
        let geometry = &self.geometry;
        let Some(blocks) = &self.dies[die as usize] else { return };
        let first = geometry.address(die, block, row);
        let place = row * geometry.row;
        let valid = |index: &u32| !blocks.is_stale(block, place + index);
        let places = (0..geometry.row).filter(valid);
        match blocks.owners(block) {
            Some(owners) => {
                let owners = &owners[place as usize..];
                let places = places.map(|index| (owners[index as usize], first + index));
                let written = places.filter(|(unit, _)| *unit != NONE);
                found.extend(written.map(|(unit, address)| (unit, Place::Flash(address))));
            }
            None => {
                if let Some(unit) = self.home.unit(geometry, die, block, row) {
                    found.extend(places.map(|index| (unit + index, Place::Flash(first + index))));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ssd::blocks::{ENOUGH_ROOM, State};
    use crate::ssd::tests::small;
    use foretell_units::{Seed, Stream};

    /// The oracle: everything in plain lists that are searched.
    struct Naive {
        /// Address by unit.
        address: Vec<Option<Address>>,
    }

    /// Writes a row to a die, after the collection that this requires. Checks the victims.
    fn write(flash: &mut Translation, naive: &mut Naive, die: u32, units: &[Unit]) {
        for (place, &unit) in units.iter().enumerate() {
            flash.put_in_buffer(unit, place as u32);
            naive.address[unit as usize] = None;
        }
        let address = flash.next_row(die, Writer::Host, units.iter().copied()).unwrap();
        let mut row = Vec::new();
        for (place, &unit) in (0..).zip(units) {
            // if a unit occurs twice, only the second is in the buffer
            let from = Some(Place::Buffer(place)).filter(|from| *from == flash.place(unit));
            if from.is_some() {
                naive.address[unit as usize] = Some(address + place);
            }
            row.push((unit, from));
        }
        flash.row_programmed(address, 0, row.into_iter());
        while flash.blocks(die).room() < ENOUGH_ROOM * flash.geometry.block() {
            collect(flash, naive, die);
        }
    }

    fn collect(flash: &mut Translation, naive: &mut Naive, die: u32) {
        let fewest = flash.blocks(die).fewest_by_search().unwrap();
        let victim = flash.blocks(die).choose_victim().expect("there is garbage");
        assert_eq!(flash.blocks(die).valid_in(victim), fewest);
        let geometry = *flash.geometry();
        let mut found = Vec::new();
        for row in 0..geometry.rows {
            flash.valid_units(die, victim, row, &mut found);
        }
        // the oracle finds the victim's valid units by examining all units
        let there = |address: &Address| geometry.die_and_block(*address) == (die, victim);
        let mut expected: Vec<_> = (0..)
            .zip(&naive.address)
            .filter_map(|(unit, address)| Some((address.filter(there)?, unit)))
            .collect();
        expected.sort_unstable();
        let expected = expected.iter().map(|&(address, unit)| (unit, Place::Flash(address)));
        assert_eq!(found, expected.collect::<Vec<_>>());
        for moved in found.chunks(geometry.row as usize) {
            let units = moved.iter().map(|(unit, _)| *unit);
            let address = flash.next_row(die, Writer::Collector, units).unwrap();
            for (place, &(unit, _)) in (0..).zip(moved) {
                naive.address[unit as usize] = Some(address + place);
            }
            let row = moved.iter().map(|&(unit, from)| (unit, Some(from)));
            flash.row_programmed(address, victim, row);
        }
        flash.blocks(die).erased(victim);
    }

    fn check(flash: &Translation, naive: &Naive) {
        for (unit, address) in (0..).zip(&naive.address) {
            if let Some(address) = address {
                assert_eq!(flash.place(unit), Place::Flash(*address));
            }
        }
        for die in 0..flash.geometry.dies {
            let on_die = |address: &&Address| flash.geometry.die_and_block(**address).0 == die;
            let valid = naive.address.iter().flatten().filter(on_die).count();
            assert_eq!(flash.valid(die) as usize, valid);
            if let Some(blocks) = &flash.dies[die as usize] {
                assert_eq!(blocks.states().map(|(_, valid)| valid).sum::<u32>(), flash.valid(die));
                let open = blocks.states().filter(|(state, _)| *state == State::Open).count();
                assert!(open <= 2);
            }
        }
    }

    fn units(stream: &mut Stream, geometry: &Geometry, hot: bool) -> Vec<Unit> {
        let below = if hot { geometry.user() / 10 } else { geometry.user() };
        (0..geometry.row).map(|_| stream.below(u64::from(below)) as Unit).collect()
    }

    #[test]
    fn oracle_mapping_and_greedy_choice_match_plain_lists() {
        for (precondition, hot) in [("random", false), ("random", true), ("sequential", true)] {
            let mut spec = small();
            if precondition == "sequential" {
                spec.precondition = foretell_scenarios::device::Precondition::Sequential;
            }
            let mut flash = Translation::new(&spec);
            let geometry = *flash.geometry();
            let home = |unit| match flash.place(unit) {
                Place::Flash(address) => Some(address),
                Place::Buffer(_) => None,
            };
            let mut naive = Naive { address: (0..geometry.user()).map(home).collect() };
            let mut stream = Seed(5).stream("ssd");
            for round in 0..3000 {
                // evenly over the dies, so that none exceeds its limit
                let units = units(&mut stream, &geometry, hot);
                write(&mut flash, &mut naive, round % geometry.dies, &units);
            }
            check(&flash, &naive);
        }
    }
}
