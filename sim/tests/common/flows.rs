//! Streams of messages from several senders to one receiver. Each sender has a fixed number of messages
//! outstanding, and sends the next one when one is delivered.

use foretell_scenarios::model::{NetworkModel, Nic, Switch};
use foretell_sim::agenda::Agenda;
use foretell_sim::network::{Counts, Network, NetworkStep, wire_bytes};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, SimTime};

/// Senders to one receiver, all over links of the same rate.
#[derive(Clone, Debug)]
pub struct Flows {
    pub switch: Switch,
    pub rate: Rate,
    /// Latency of the receiver's link.
    pub receiver: SimSpan,
    /// Latency of each sender's link.
    pub senders: Vec<SimSpan>,
    pub message: Bytes,
    pub outstanding: u32,
    pub duration: SimSpan,
    pub seed: u64,
}

/// The result.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowResults {
    /// Data of each sender in each tenth of the time, Mbit/s.
    pub mbits: Vec<[f64; 10]>,
    pub counts: Counts,
    pub events: u64,
}

impl FlowResults {
    /// Mean rate of each sender over all tenths but the first.
    pub fn rates(&self) -> Vec<f64> {
        self.mbits.iter().map(|tenths| tenths[1..].iter().sum::<f64>() / 9.0).collect()
    }

    /// Mean rate of all senders together.
    pub fn total(&self) -> f64 {
        self.rates().iter().sum()
    }
}

/// TCP as scenarios have it by default.
pub fn default_switch() -> Switch {
    Switch {
        model: NetworkModel::Tcp,
        port_buffer: Bytes::kib(512),
        shared_buffer: None,
        shared_buffer_alpha: 1.0,
        retransmit_timeout: SimSpan::from_ms(200),
        receive_window: Bytes::mib(4),
        initial_window: 10,
        loss_probes: true,
    }
}

impl Flows {
    /// 1 Gbit/s, with 64 messages of 64 KiB outstanding for each sender; latencies of the senders'
    /// links in us.
    pub fn of(senders_us: &[u64]) -> Self {
        Self {
            switch: default_switch(),
            rate: Rate::bits_per_s(1_000_000_000),
            receiver: SimSpan::from_us(10),
            senders: senders_us.iter().map(|&us| SimSpan::from_us(us)).collect(),
            message: Bytes::kib(64),
            outstanding: 64,
            duration: SimSpan::from_secs(20),
            seed: 1,
        }
    }

    pub fn run(&self) -> FlowResults {
        self.run_on(self.network())
    }

    /// Like [`Flows::run`], segment by segment.
    pub fn run_slowly(&self) -> FlowResults {
        self.run_on(self.network().segment_by_segment())
    }

    fn network(&self) -> Network {
        let latencies = [self.receiver].into_iter().chain(self.senders.iter().copied());
        let nics = latencies.map(|latency| Nic { rate: self.rate, latency });
        Network::new(nics, &self.switch, Seed(self.seed))
    }

    fn run_on(&self, mut network: Network) -> FlowResults {
        #[derive(Clone, Copy)]
        enum Event {
            Step(NetworkStep),
            Ask(u32),
        }
        fn plan(agenda: &mut Agenda<Event>, at: SimTime, step: NetworkStep) {
            match step {
                NetworkStep::Wake { connection } => {
                    agenda.schedule_ranked(at, connection, Event::Step(step));
                }
                _ => agenda.schedule(at, Event::Step(step)),
            }
        }
        let mut agenda: Agenda<Event> = Agenda::new();
        let receiver = HostId(0);
        // senders do not begin at the same time
        let mut draws = Seed(self.seed).stream("flows/begin");
        for sender in 1..=self.senders.len() as u32 {
            let at = SimTime::from_ns(draws.below(10_000_000));
            for _ in 0..self.outstanding {
                agenda.schedule(at, Event::Ask(sender));
            }
        }
        let end = SimTime::ZERO + self.duration;
        let mut data = vec![[0; 10]; self.senders.len()];
        let tenth = (self.duration / 10).as_ns();
        while agenda.next_at().is_some_and(|at| at < end) {
            let event = agenda.next().expect("it was seen");
            let now = agenda.now();
            let mut later = |at, step| plan(&mut agenda, at, step);
            let arrived = match event {
                Event::Ask(sender) => {
                    let wire = wire_bytes(Bytes(128));
                    network.send(now, receiver, HostId(sender), wire, sender, &mut later);
                    None
                }
                Event::Step(NetworkStep::Forward { train }) => {
                    network.forward(now, train, &mut later)
                }
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
            match arrived {
                None => {}
                Some(asked) if asked < 1 << 16 => {
                    let wire = wire_bytes(self.message);
                    network.send(now, HostId(asked), receiver, wire, asked | 1 << 16, &mut later);
                }
                Some(answer) => {
                    let sender = answer & 0xffff;
                    let slot = (now.as_ns() / tenth).min(9) as usize;
                    data[sender as usize - 1][slot] += self.message.get();
                    agenda.schedule(now, Event::Ask(sender));
                }
            }
        }
        agenda.advance_to(end);
        network.audit_messages().unwrap();
        for host in 0..=self.senders.len() {
            network.audit(end, HostId::from(host)).unwrap();
        }
        let mbit = |bytes: u64| bytes as f64 * 8e3 / tenth as f64;
        FlowResults {
            mbits: data.iter().map(|tenths| tenths.map(mbit)).collect(),
            counts: network.counts(),
            events: agenda.taken(),
        }
    }
}
