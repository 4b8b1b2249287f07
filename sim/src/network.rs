//! The network: full-duplex cables to one switch whose output ports have finite buffers.
//!
//! A message is a run of TCP segments: 1448 bytes of data in 1538 bytes on the wire (preamble,
//! frame, gap, IP and TCP headers with timestamps), so payload is 94.1 % of line rate. It occupies
//! the sender's cable, reaches the switch, and occupies the cable of the receiver; the switch
//! forwards segment by segment, so the second transfer begins as soon as the first segment is there.
//! Each cable serves messages first come, first served. A message that finds the output port's
//! buffer full is lost and sent again after the retransmission timeout. Not modelled yet: TCP's
//! windows, partial loss and fast retransmit; acknowledgement segments; interleaving of messages
//! segment by segment.

use foretell_scenarios::model;
use foretell_units::{Bytes, HostId, Rate, SimSpan, SimTime};

use crate::ledger::{Usage, Violation};
use crate::link::Link;

/// Data in a full TCP segment.
const SEGMENT_DATA: u64 = 1448;
/// What a segment needs on the wire beside its data.
const SEGMENT_HEADERS: u64 = 90;

/// Bytes on the wire for `data` bytes of message; the empty message needs one segment.
pub fn wire_bytes(data: Bytes) -> Bytes {
    data + Bytes(data.get().div_ceil(SEGMENT_DATA).max(1) * SEGMENT_HEADERS)
}

/// All cables and the switch between them.
#[derive(Debug)]
pub struct Network {
    ports: Vec<Port>,
    port_buffer: Bytes,
    retransmit_timeout: SimSpan,
    lost: u64,
}

#[derive(Debug)]
struct Port {
    /// Host to switch.
    transmit: Link,
    /// Switch to host.
    receive: Link,
    latency: SimSpan,
}

/// What the switch does with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarding {
    /// Its last byte is with the receiver at this time.
    Delivered(SimTime),
    /// Lost; the sender begins again at this time.
    Lost(SimTime),
}

impl Network {
    /// Idle cables for hosts in order.
    pub fn new(hosts: &[model::Host], switch: &model::Switch) -> Self {
        let port = |host: &model::Host| Port {
            transmit: Link::new(host.nic.rate),
            receive: Link::new(host.nic.rate),
            latency: host.nic.latency,
        };
        Self {
            ports: hosts.iter().map(port).collect(),
            port_buffer: switch.port_buffer,
            retransmit_timeout: switch.retransmit_timeout,
            lost: 0,
        }
    }

    /// Books a message of so many bytes on the sender's cable. Returns when to call
    /// [`Network::forward`].
    pub fn send(&mut self, now: SimTime, from: HostId, to: HostId, wire: Bytes) -> SimTime {
        let out = &mut self.ports[from.index()];
        let busy = out.transmit.send(now, wire);
        let segment = wire.min(Bytes(SEGMENT_DATA + SEGMENT_HEADERS));
        let head = busy.start + out.transmit.rate().time_for(segment) + out.latency;
        let tail = busy.finish + out.latency;
        // A receiver with a faster cable must not run dry in the middle of the message.
        let service = self.ports[to.index()].receive.rate().time_for(wire);
        head.max(SimTime::from_ns(tail.as_ns().saturating_sub(service.as_ns())))
    }

    /// The switch has the first segment and books the receiver's cable.
    pub fn forward(&mut self, now: SimTime, to: HostId, wire: Bytes) -> Forwarding {
        let port = &mut self.ports[to.index()];
        let waiting = port.receive.backlog(now);
        if waiting > port.receive.rate().time_for(self.port_buffer) {
            self.lost += 1;
            return Forwarding::Lost(now + self.retransmit_timeout);
        }
        Forwarding::Delivered(port.receive.send(now, wire).finish + port.latency)
    }

    /// The line rate of a host's cable.
    pub fn rate(&self, host: HostId) -> Rate {
        self.ports[host.index()].transmit.rate()
    }

    /// Messages lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Measuring begins.
    pub fn mark(&mut self, now: SimTime) {
        for port in &mut self.ports {
            port.transmit.mark(now);
            port.receive.mark(now);
        }
    }

    /// What a host's cable did since the mark: (host to switch, switch to host).
    pub fn usage(&mut self, now: SimTime, host: HostId) -> (Usage, Usage) {
        let port = &mut self.ports[host.index()];
        (port.transmit.usage(now), port.receive.usage(now))
    }

    /// Whether the operational laws hold on a host's cable.
    pub fn audit(&mut self, now: SimTime, host: HostId) -> Result<(), Violation> {
        let port = &mut self.ports[host.index()];
        port.transmit.audit(now)?;
        port.receive.audit(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foretell_units::Rate;

    fn network(rates_mbit: &[u64]) -> Network {
        let port = |&mbit: &u64| Port {
            transmit: Link::new(Rate::bits_per_s(mbit * 1_000_000)),
            receive: Link::new(Rate::bits_per_s(mbit * 1_000_000)),
            latency: SimSpan::from_us(10),
        };
        Network {
            ports: rates_mbit.iter().map(port).collect(),
            port_buffer: Bytes::kib(64),
            retransmit_timeout: SimSpan::from_ms(200),
            lost: 0,
        }
    }

    fn deliver(network: &mut Network, now: SimTime, from: u32, to: u32, wire: Bytes) -> Forwarding {
        let at = network.send(now, HostId(from), HostId(to), wire);
        network.forward(at, HostId(to), wire)
    }

    #[test]
    fn payload_is_94_percent_of_the_wire() {
        let share = 1_448_000.0 / wire_bytes(Bytes(1_448_000)).get() as f64;
        assert!((share - 0.9415).abs() < 1e-4, "{share}");
        assert_eq!(wire_bytes(Bytes(0)), Bytes(90));
    }

    #[test]
    fn equal_cables_pipeline_all_but_one_segment() {
        let mut network = network(&[1000, 1000]);
        // 15 380 bytes = 10 segments: 123 040 ns on the wire, one segment 12 304 ns, 2 × 10 us
        let delivered = deliver(&mut network, SimTime::ZERO, 0, 1, Bytes(15_380));
        assert_eq!(delivered, Forwarding::Delivered(SimTime::from_ns(123_040 + 12_304 + 20_000)));
    }

    #[test]
    fn a_slow_sender_does_not_hold_the_receivers_cable() {
        let mut network = network(&[100, 1000, 1000]);
        // the slow message: 1 230 400 ns on its own cable, and it ends there last
        let slow = network.send(SimTime::ZERO, HostId(0), HostId(2), Bytes(15_380));
        // 1 230 400 + 10 000 − 123 040: the fast cable is taken for its last tenth only
        assert_eq!(slow, SimTime::from_ns(1_117_360));
        let fast = deliver(&mut network, SimTime::ZERO, 1, 2, Bytes(15_380));
        assert_eq!(fast, Forwarding::Delivered(SimTime::from_ns(155_344)));
    }

    #[test]
    fn what_finds_the_port_full_is_lost() {
        let mut network = network(&[1000, 1000, 1000, 1000]);
        let wire = Bytes::kib(64);
        assert!(matches!(
            deliver(&mut network, SimTime::ZERO, 0, 3, wire),
            Forwarding::Delivered(_)
        ));
        assert!(matches!(
            deliver(&mut network, SimTime::ZERO, 1, 3, wire),
            Forwarding::Delivered(_)
        ));
        // 128 KiB are booked, less one segment: more than 64 KiB must wait
        let lost = deliver(&mut network, SimTime::ZERO, 2, 3, wire);
        assert!(matches!(lost, Forwarding::Lost(_)), "{lost:?}");
        assert_eq!(network.lost(), 1);
    }
}
