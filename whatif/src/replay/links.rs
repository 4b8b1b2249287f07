//! The network, as far as a predictor needs it: full-duplex cables to one switch, the windows of
//! connections, and what an overflowing port costs.
//!
//! A message takes its bytes' time on the sender's cable and on the receiver's, which overlap
//! segment by segment; each cable is first come, first served. A connection that is new or was idle
//! sends what its window allows and waits a round trip, doubling it (slow start). Left out: how
//! windows shrink after losses.

use foretell_algorithms::message::SEGMENT_WIRE;
use foretell_scenarios::model::{Host, NetworkModel, Switch};
use foretell_units::{Bytes, Rate, SimSpan, SimTime};

/// All cables.
#[derive(Debug)]
pub(super) struct Links {
    cables: Vec<Cable>,
    /// Window of the connection from each host to each other, bytes on the wire, and when it was
    /// used last.
    windows: Vec<(u64, SimTime)>,
    tcp: Option<Switch>,
}

#[derive(Clone, Copy, Debug)]
struct Cable {
    rate: Rate,
    latency: SimSpan,
    sends_until: SimTime,
    receives_until: SimTime,
    sent: SimSpan,
    received: SimSpan,
}

/// A message that is on its way out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Leaving {
    /// When it begins to leave.
    pub(super) start: SimTime,
    /// When its last bit has left.
    pub(super) end: SimTime,
}

impl Links {
    pub(super) fn new(hosts: &[Host], switch: &Switch) -> Self {
        let cable = |host: &Host| Cable {
            rate: host.nic.rate,
            latency: host.nic.latency,
            sends_until: SimTime::ZERO,
            receives_until: SimTime::ZERO,
            sent: SimSpan::ZERO,
            received: SimSpan::ZERO,
        };
        let tcp = (switch.model == NetworkModel::Tcp).then_some(*switch);
        let initial = u64::from(switch.initial_window.min(1 << 20)) * SEGMENT_WIRE;
        let windows = if tcp.is_some() { hosts.len() * hosts.len() } else { 0 };
        Self {
            cables: hosts.iter().map(cable).collect(),
            windows: vec![(initial, SimTime::ZERO); windows],
            tcp,
        }
    }

    /// A message of so many bytes is handed to the sender's adapter.
    pub(super) fn send(&mut self, now: SimTime, from: usize, to: usize, wire: Bytes) -> Leaving {
        let stall = self.stall(now, from, to, wire);
        let cable = &mut self.cables[from];
        let time = cable.rate.time_for(wire);
        let start = cable.sends_until.max(now);
        cable.sends_until = start + time;
        cable.sent += time;
        Leaving { start, end: start + time + stall }
    }

    /// A message begins to leave: when it will have arrived.
    pub(super) fn arrive(
        &mut self,
        leaving: Leaving,
        from: usize,
        to: usize,
        wire: Bytes,
    ) -> SimTime {
        let segment = Bytes(wire.get().min(SEGMENT_WIRE));
        let last = Bytes(match wire.get() % SEGMENT_WIRE {
            0 => SEGMENT_WIRE,
            rest => rest,
        });
        let (rate, latency) = (self.cables[from].rate, self.cables[from].latency);
        let first_at_port = leaving.start + rate.time_for(segment) + latency;
        let last_at_port = leaving.end + latency;
        let buffer = self.tcp.map(|tcp| tcp.port_buffer);
        let cable = &mut self.cables[to];
        let start = cable.receives_until.max(first_at_port);
        let time = cable.rate.time_for(wire);
        let mut done = (start + time).max(last_at_port + cable.rate.time_for(last));
        cable.receives_until = start + time;
        cable.received += time;
        if let Some(buffer) = buffer {
            // what does not fit is sent again, a round trip after the port has drained
            let waiting = cable.rate.as_bytes_per_s_f64()
                * start.saturating_since(first_at_port).as_secs_f64();
            if waiting > buffer.get() as f64 {
                let round_trip = (latency + cable.latency) * 2;
                done += round_trip;
            }
        }
        done + self.cables[to].latency
    }

    /// What waiting for the window costs a message.
    fn stall(&mut self, now: SimTime, from: usize, to: usize, wire: Bytes) -> SimSpan {
        let Some(tcp) = &self.tcp else { return SimSpan::ZERO };
        let hosts = self.cables.len();
        let (window, used) = &mut self.windows[from * hosts + to];
        let rate = self.cables[from].rate.min(self.cables[to].rate);
        let base = (self.cables[from].latency + self.cables[to].latency) * 2;
        let round_trip = base + rate.time_for(Bytes(2 * SEGMENT_WIRE));
        // an idle timeout halves the window, down to the initial one
        let timeout = tcp.retransmit_timeout + round_trip;
        let initial = u64::from(tcp.initial_window) * SEGMENT_WIRE;
        let idle = now.saturating_since(*used).as_ns() / timeout.as_ns().max(1);
        if idle > 0 {
            *window = (*window >> idle.min(40)).max(initial.min(*window));
        }
        *used = now;
        let most = tcp.receive_window.get().max(SEGMENT_WIRE);
        let mut stall = SimSpan::ZERO;
        let mut sent = (*window).min(most);
        let wire = wire.get();
        while sent < wire {
            let allowed = (*window).min(most);
            stall += round_trip.saturating_sub(rate.time_for(Bytes(allowed)));
            if *window < most {
                *window *= 2;
            }
            sent += (*window).min(most);
        }
        stall
    }

    /// Busy time of a host's cable until `now`: sending, receiving.
    pub(super) fn busy(&self, host: usize, now: SimTime) -> (SimSpan, SimSpan) {
        let cable = &self.cables[host];
        (
            cable.sent.saturating_sub(cable.sends_until.saturating_since(now)),
            cable.received.saturating_sub(cable.receives_until.saturating_since(now)),
        )
    }

    /// Time on a host's cable.
    pub(super) fn time(&self, host: usize, wire: Bytes) -> SimSpan {
        self.cables[host].rate.time_for(wire)
    }
}
