//! The host side: commands, the interface, and the content of the buffer.

use foretell_units::{Bytes, Op, SimSpan, SimTime};

use super::buffer::Stage;
use super::flash::{Purpose, Sensing};
use super::geometry::Unit;
use super::translation::Place;
use super::{Ssd, Times};
use crate::device::Done;
use foretell_algorithms::io_scheduler::Io;

/// Index of the interface to the drive; also that of writes.
const WRITE: usize = 0;
/// Index of the interface from the drive; also that of reads.
const READ: usize = 1;

/// A command in the drive.
#[derive(Clone, Copy, Debug)]
struct Request<T> {
    io: Io<T>,
    arrived: SimTime,
    /// Its first byte, and the byte after its last.
    first: u64,
    end: u64,
    /// Of a read: transfers still to come. Of a write: units still to come.
    left: u32,
    /// Of a write: units whose transfer is not booked.
    unbooked: u32,
    /// Of a read: rows sensed, and their bytes.
    sensed: u32,
    from_flash: Bytes,
    /// Whether it has already used the interface.
    begun: bool,
    /// Whether this slot is in use; slots are reused.
    live: bool,
}

/// The commands in the drive.
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

    /// Arrival times of the commands.
    pub(super) fn arrivals(&self) -> impl Iterator<Item = SimTime> {
        self.places.iter().filter(|request| request.live).map(|request| request.arrived)
    }
}

/// Written data on their way from the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When they arrive.
    pub(super) at: SimTime,
    request: u32,
    first: Unit,
    units: u32,
}

impl<T: Copy> Ssd<T> {
    /// The drive begins a command.
    pub(super) fn begin(&mut self, now: SimTime, arrived: SimTime, io: Io<T>) {
        self.inside += 1;
        let geometry = self.translation.geometry();
        let capacity = u64::from(geometry.user()) * geometry.unit.get();
        let unit = geometry.unit.get();
        // sectors beyond the end are replaced by the last one
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
                // A prefetch: the same look-up is needed when the data arrive. A mapping table of
                // gigabytes is slow memory, so the look-up begins now.
                std::hint::black_box(self.translation.place((first / unit) as Unit));
                if self.stalled.is_empty() {
                    self.accept(now, id);
                } else {
                    self.stalled.push_back(id);
                }
                // the buffer's content may have to leave although it is less than a row
                self.form_rows(now);
            }
        }
    }

    /// Starts the transfers of a read: units in one row form one transfer.
    fn read(&mut self, now: SimTime, id: u32) {
        let Request { first, end, .. } = *self.requests.get(id);
        let geometry = *self.translation.geometry();
        let unit_bytes = geometry.unit.get();
        let mut transfers = 0;
        let mut memory = 0;
        let (mut row, mut bytes) = (u32::MAX, 0);
        // the last row is started only after all transfers are counted
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

    /// Data of a read are in the controller; books their transfer to the host.
    pub(super) fn send_to_host(&mut self, now: SimTime, id: u32, bytes: Bytes) {
        let finish = self.book(now, id, if self.times.duplex { READ } else { WRITE }, bytes);
        let request = self.requests.get(id);
        request.left -= 1;
        if request.left == 0 {
            self.leaving[READ].push_back((finish + self.times.latency, id));
        }
    }

    /// Books the interface for data of a command; the first booking includes the command itself.
    fn book(&mut self, now: SimTime, id: u32, direction: usize, bytes: Bytes) -> SimTime {
        let mut span = self.times.host_rate.time_for(bytes);
        let request = self.requests.get(id);
        if !request.begun {
            request.begun = true;
            span += self.times.command;
        }
        self.interface[direction].book(now, span)
    }

    /// Accepts as much of a write as the buffer has room for; the rest stalls.
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

    /// Continues stalled writes for which there is room again.
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

    /// The unit at a place of the buffer is in flash: writes that waited for it continue.
    pub(super) fn programmed(&mut self, now: SimTime, place: u32) {
        let Some(waiting) = self.durable.as_mut().and_then(|durable| durable.programmed(place))
        else {
            return;
        };
        for request in waiting {
            self.is_kept(now, request, 1);
        }
    }

    /// `units` of a write are safe; the write is done when all its units are.
    fn is_kept(&mut self, now: SimTime, id: u32, units: u32) {
        let request = self.requests.get(id);
        request.left -= units;
        if request.left == 0 {
            self.leaving[WRITE].push_back((now + self.times.latency, id));
        }
    }

    /// Enters a unit into the buffer. Returns its place, and whether it was already there so that its
    /// room is free again.
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

    /// Die time of a command's pages: for a read, those that were sensed; for a write, its units'
    /// share of rows.
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

    /// A command is done for the host, and the next one may enter.
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
