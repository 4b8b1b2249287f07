//! Tests of the network: times by arithmetic, the fast model against slow ones, conservation.

mod arithmetic;
mod conservation;
mod ports;
mod rates;
mod shared_buffer;
mod slow;
mod uplinks;

use foretell_scenarios::model::{NetworkModel, Nic, Switch};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, SimTime};

use super::{Counts, Network, NetworkStep, wire_bytes};
use crate::agenda::Agenda;

/// A message to send: when, from, to, bytes of data.
#[derive(Clone, Copy, Debug)]
struct Sent {
    at_ns: u64,
    from: u32,
    to: u32,
    data: u64,
}

fn sent(at_ns: u64, from: u32, to: u32, data: u64) -> Sent {
    Sent { at_ns, from, to, data }
}

fn nic(mbit: u64) -> Nic {
    Nic { rate: Rate::bits_per_s(mbit * 1_000_000), latency: SimSpan::from_us(10) }
}

fn switch() -> Switch {
    Switch {
        model: NetworkModel::Tcp,
        port_buffer: Bytes::mib(64),
        shared_buffer: None,
        shared_buffer_alpha: 1.0,
        retransmit_timeout: SimSpan::from_ms(200),
        receive_window: Bytes::mib(4),
        initial_window: 10,
        loss_probes: true,
    }
}

/// A switch with so large an initial window that it never limits.
fn wide_open() -> Switch {
    Switch { initial_window: 65_535, receive_window: Bytes::gib(1), ..switch() }
}

fn network(mbits: &[u64], switch: &Switch) -> Network {
    Network::new(mbits.iter().map(|&mbit| nic(mbit)), switch, Seed(7))
}

/// The result of sending messages.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    /// Delivery time of each message, nanoseconds.
    delivered_ns: Vec<u64>,
    counts: Counts,
    /// Number of events, without those of sending.
    events: u64,
}

/// A link has another rate from this time on.
#[derive(Clone, Copy, Debug)]
struct RateChange {
    at_ns: u64,
    host: u32,
    mbit: u64,
}

/// Sends messages, whose times do not decrease, and runs the network until it is idle.
fn run(network: Network, messages: &[Sent]) -> Outcome {
    run_with(network, messages, &[])
}

/// The same, and the network remains.
fn run_kept(network: &mut Network, messages: &[Sent]) -> Outcome {
    run_changing(network, messages, &[])
}

/// The same with links whose rates change.
fn run_with(mut network: Network, messages: &[Sent], rates: &[RateChange]) -> Outcome {
    run_changing(&mut network, messages, rates)
}

fn run_changing(network: &mut Network, messages: &[Sent], rates: &[RateChange]) -> Outcome {
    #[derive(Clone, Copy)]
    enum Event {
        Rate(usize),
        Send(u32),
        Step(NetworkStep),
    }
    let mut agenda: Agenda<Event> = Agenda::new();
    for (number, change) in rates.iter().enumerate() {
        agenda.schedule(SimTime::from_ns(change.at_ns), Event::Rate(number));
    }
    for (number, message) in (0..).zip(messages) {
        agenda.schedule(SimTime::from_ns(message.at_ns), Event::Send(number));
    }
    let mut delivered: Vec<Option<u64>> = vec![None; messages.len()];
    while let Some(event) = agenda.next() {
        let now = agenda.now();
        assert!(agenda.taken() < 20_000_000, "it goes on for ever");
        let mut later = |at, step| match step {
            NetworkStep::Wake { connection } => {
                agenda.schedule_ranked(at, connection, Event::Step(step));
            }
            _ => agenda.schedule(at, Event::Step(step)),
        };
        let number = match event {
            Event::Rate(number) => {
                let RateChange { host, mbit, .. } = rates[number];
                network.set_rate(now, HostId(host), nic(mbit).rate, &mut later);
                None
            }
            Event::Send(number) => {
                let Sent { from, to, data, .. } = messages[number as usize];
                let (from, to) = (HostId(from), HostId(to));
                network.send(now, from, to, wire_bytes(Bytes(data)), number, &mut later);
                None
            }
            Event::Step(NetworkStep::Forward { train }) => network.forward(now, train, &mut later),
            Event::Step(NetworkStep::Climb { climb }) => {
                network.climb(now, climb, &mut later);
                None
            }
            Event::Step(NetworkStep::Wake { connection }) => {
                network.wake(now, connection, &mut later);
                None
            }
            Event::Step(NetworkStep::Deliver { number }) => Some(number),
        };
        if let Some(number) = number {
            let before = delivered[number as usize].replace(now.as_ns());
            assert_eq!(before, None, "message {number} is delivered once");
        }
    }
    let now = agenda.now();
    for host in 0..network.ports.len() {
        network.audit(now, HostId::from(host)).unwrap();
    }
    network.audit_uplinks(now).unwrap();
    network.audit_messages().unwrap();
    let delivered = delivered.into_iter().enumerate();
    Outcome {
        delivered_ns: delivered
            .map(|(number, at)| at.unwrap_or_else(|| panic!("message {number} is lost")))
            .collect(),
        counts: network.counts(),
        events: agenda.taken() - (messages.len() + rates.len()) as u64,
    }
}
