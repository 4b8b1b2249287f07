//! The host's side: commands, the interface, and what is in the buffer.

use foretell_units::{Bytes, Op, SimSpan, SimTime};

use super::buffer::Stage;
use super::flash::{Purpose, Sensing};
use super::geometry::Unit;
use super::translation::Place;
use super::{Ssd, Times};
use crate::device::Done;
use foretell_algorithms::io_scheduler::Io;

/// Index of the interface to the drive, and of writes.
const WRITE: usize = 0;
/// Index of the interface from the drive, and of reads.
const READ: usize = 1;

/// A command inside the drive.
#[derive(Clone, Copy, Debug)]
struct Request<T> {
    io: Io<T>,
    arrived: SimTime,
    /// Its bytes.
    first: u64,
    end: u64,
    /// Read: transfers that are still to come. Write: units that are.
    left: u32,
    /// Write: units whose transfer is not booked.
    unbooked: u32,
    /// Read: rows sensed, and the bytes of them.
    sensed: u32,
    from_flash: Bytes,
    /// Whether it has had the interface.
    begun: bool,
    /// Whether it is there: places are used again.
    live: bool,
}

/// The commands inside the drive.
#[derive(Debug)]
pub(super) struct Requests<T> {
    places: Vec<Request<T>>,
    free: Vec<u32>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Requests<T> {
    fn insert(&mut self, request: Request<T>) -> u32 {
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = request;
            id
        } else {
            self.places.push(request);
            self.places.len() as u32 - 1
        }
    }

    fn get(&mut self, id: u32) -> &mut Request<T> {
        &mut self.places[id as usize]
    }

    fn remove(&mut self, id: u32) -> Request<T> {
        self.free.push(id);
        let request = &mut self.places[id as usize];
        assert!(request.live && request.left == 0);
        request.live = false;
        *request
    }

    /// When each of them arrived.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = SimTime> {
        self.places.iter().filter(|request| request.live).map(|request| request.arrived)
    }
}

/// Written data on their way from the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When they are there.
    pub(super) at: SimTime,
    request: u32,
    first: Unit,
    units: u32,
}

impl<T: Copy> Ssd<T> {
    /// The drive takes a command.
    pub(super) fn begin(&mut self, now: SimTime, arrived: SimTime, io: Io<T>) {
        self.inside += 1;
        let geometry = self.translation.geometry();
        let capacity = u64::from(geometry.user()) * geometry.unit.get();
        let unit = geometry.unit.get();
        // what lies beyond the end is taken for the last sector
        let sector = foretell_units::SECTOR_BYTES;
        let first = io.lbn.bytes().get().min(capacity - sector);
        let end = (first + io.sectors.get().max(1) * sector).min(capacity);
        let units = (end.div_ceil(unit) - first / unit) as u32;
        let live = Request {
            io,
            arrived,
            first,
            end,
            left: units,
            unbooked: units,
            sensed: 0,
            from_flash: Bytes::ZERO,
            begun: false,
            live: true,
        };
        let id = self.requests.insert(live);
        match io.op {
            Op::Read => self.read(now, id),
            Op::Write => {
                // looked up again when the data arrive: a mapping table of gigabytes is slow memory,
                // and the look-up that will be needed can begin now
                std::hint::black_box(self.translation.place((first / unit) as Unit));
                if self.stalled.is_empty() {
                    self.accept(now, id);
                } else {
                    self.stalled.push_back(id);
                }
                // what fills the buffer may have to leave although it is less than a row
                self.form_rows(now);
            }
        }
    }

    /// Starts the transfers of a read: what lies in one row together is one.
    fn read(&mut self, now: SimTime, id: u32) {
        let Request { first, end, .. } = *self.requests.get(id);
        let geometry = *self.translation.geometry();
        let unit_bytes = geometry.unit.get();
        let mut transfers = 0;
        let mut memory = 0;
        let (mut row, mut bytes) = (u32::MAX, 0);
        // the last row is only started when all transfers are counted
        for unit in first / unit_bytes..end.div_ceil(unit_bytes) {
            let part = end.min((unit + 1) * unit_bytes) - first.max(unit * unit_bytes);
            match self.translation.place(unit as Unit) {
                Place::Buffer(_) => memory += part,
                Place::Flash(address) => {
                    let here = geometry.row_of(address);
                    if here != row {
                        if bytes > 0 {
                            self.sense(now, id, row, bytes);
                            transfers += 1;
                        }
                        (row, bytes) = (here, 0);
                    }
                    bytes += part;
                }
            }
        }
        if bytes > 0 {
            self.sense(now, id, row, bytes);
            transfers += 1;
        }
        self.requests.get(id).left = transfers + u32::from(memory > 0);
        if memory > 0 {
            self.send_to_host(now, id, Bytes(memory));
        }
    }

    fn sense(&mut self, now: SimTime, id: u32, row: u32, bytes: u64) {
        let request = self.requests.get(id);
        request.sensed += 1;
        request.from_flash += Bytes(bytes);
        let die = self.translation.geometry().die_of_row(row);
        let sensing = Sensing { purpose: Purpose::Host(id), bytes: bytes as u32 };
        self.add_read(now, die, sensing);
    }

    /// Data of a read are in the controller and go to the host.
    pub(super) fn send_to_host(&mut self, now: SimTime, id: u32, bytes: Bytes) {
        let finish = self.book(now, id, if self.times.duplex { READ } else { WRITE }, bytes);
        let request = self.requests.get(id);
        request.left -= 1;
        if request.left == 0 {
            self.leaving[READ].push_back((finish + self.times.latency, id));
        }
    }

    /// Books the interface for data of a command, and for the command itself if they are the first.
    fn book(&mut self, now: SimTime, id: u32, direction: usize, bytes: Bytes) -> SimTime {
        let mut span = self.times.host_rate.time_for(bytes);
        let request = self.requests.get(id);
        if !request.begun {
            request.begun = true;
            span += self.times.command;
        }
        self.interface[direction].book(now, span)
    }

    /// Takes as much of a write as the buffer has room for; the rest stalls.
    fn accept(&mut self, now: SimTime, id: u32) {
        let Request { first, end, unbooked, .. } = *self.requests.get(id);
        let units = self.buffer.reserve(unbooked);
        if units > 0 {
            let unit = self.translation.geometry().unit.get();
            let from = end.div_ceil(unit) - u64::from(unbooked);
            let until = from + u64::from(units);
            let bytes = Bytes(end.min(until * unit) - first.max(from * unit));
            let at = self.book(now, id, WRITE, bytes);
            let arrival = Arrival { at, request: id, first: from as Unit, units };
            self.arrivals.push_back(arrival);
            self.requests.get(id).unbooked -= units;
        }
        if units < unbooked {
            self.stalled.push_front(id);
        }
    }

    /// Lets stalled writes go on for which there is room again.
    pub(super) fn unstall(&mut self, now: SimTime) {
        while self.buffer.has_room() {
            let Some(id) = self.stalled.pop_front() else { break };
            self.accept(now, id);
        }
    }

    /// Written data are in the buffer.
    pub(super) fn arrives(&mut self, arrival: &Arrival) {
        let now = arrival.at;
        let unit_bytes = self.translation.geometry().unit.get();
        self.written.host += Bytes(unit_bytes * u64::from(arrival.units));
        let Request { first, end, .. } = *self.requests.get(arrival.request);
        let mut released = false;
        for unit in arrival.first..arrival.first + arrival.units {
            let begin = u64::from(unit) * unit_bytes;
            let partial = begin < first || begin + unit_bytes > end;
            let (place, is_released) = self.enter(now, unit, partial);
            released |= is_released;
            if let Some(durable) = &mut self.durable {
                durable.wait(place, arrival.request);
            }
        }
        if self.durable.is_none() {
            self.is_kept(now, arrival.request, arrival.units);
        }
        if released {
            self.unstall(now);
        }
        self.form_rows(now);
    }

    /// The unit at a place of the buffer is in flash: the writes that waited for it go on.
    pub(super) fn programmed(&mut self, now: SimTime, place: u32) {
        let Some(waiting) = self.durable.as_mut().and_then(|durable| durable.programmed(place))
        else {
            return;
        };
        for request in waiting {
            self.is_kept(now, request, 1);
        }
    }

    /// `units` of a write are safe; the write is done when all of them are.
    fn is_kept(&mut self, now: SimTime, id: u32, units: u32) {
        let request = self.requests.get(id);
        request.left -= units;
        if request.left == 0 {
            self.leaving[WRITE].push_back((now + self.times.latency, id));
        }
    }

    /// Enters a unit into the buffer: its place, and whether it was there already and its room is free
    /// again.
    fn enter(&mut self, now: SimTime, unit: Unit, partial: bool) -> (u32, bool) {
        let filling = match self.translation.place(unit) {
            Place::Buffer(place) if self.buffer.stage(place) != Stage::Leaving => {
                self.buffer.release();
                return (place, true);
            }
            Place::Buffer(place) => {
                self.buffer.supersede(place);
                false
            }
            Place::Flash(address) => {
                if partial {
                    let geometry = self.translation.geometry();
                    let die = geometry.die_of_row(geometry.row_of(address));
                    let bytes = geometry.unit.get() as u32;
                    let place = self.buffer.enter(unit, true);
                    self.translation.put_in_buffer(unit, place);
                    self.add_read(now, die, Sensing { purpose: Purpose::Fill(place), bytes });
                    return (place, false);
                }
                false
            }
        };
        let place = self.buffer.enter(unit, filling);
        self.translation.put_in_buffer(unit, place);
        (place, false)
    }

    /// The time of dies that the pages of a command take: of a read, those that were sensed; of a
    /// write, its units' part of rows.
    fn die_time(&self, request: &Request<T>) -> SimSpan {
        let Times { read, program, channel_rate, .. } = self.times;
        match request.io.op {
            Op::Read => {
                read * u64::from(request.sensed) + channel_rate.time_for(request.from_flash)
            }
            Op::Write => {
                let geometry = self.translation.geometry();
                let unit = geometry.unit.get();
                let units = request.end.div_ceil(unit) - request.first / unit;
                program * units / u64::from(geometry.row)
                    + channel_rate.time_for(geometry.unit * units)
            }
        }
    }

    /// The host sees a command done, and the next may come in.
    pub(super) fn leaves(&mut self, now: SimTime, direction: usize) {
        let (_, id) = self.leaving[direction].pop_front().expect("it is there");
        let request = self.requests.remove(id);
        self.ledger.depart(now, request.arrived);
        let service = self.die_time(&request);
        self.done.push(Done { io: request.io, service });
        self.inside -= 1;
        if let Some((arrived, io)) = self.outside.pop_front() {
            self.begin(now, arrived, io);
        }
    }
}
