//! Barrier reads: a client asks each of N servers for a block, waits for all blocks, and asks again.
//!
//! The measured figures are of real Linux TCP over 1 Gbit/s with blocks of 256 KB, one run on a busy
//! host; they are noisy.

use foretell_scenarios::model::{NetworkModel, Nic, Switch};
use foretell_sim::agenda::Agenda;
use foretell_sim::network::{Counts, Network, NetworkStep, wire_bytes};
use foretell_units::{Bytes, HostId, Rate, Seed, SimSpan, SimTime};

/// Size of the block that the client asks each server for.
pub const BLOCK: Bytes = Bytes::kib(256);
/// Numbers of servers measured.
pub const SERVERS: [u32; 10] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 32];
/// Port buffer in KiB, and goodput in percent of line rate by number of servers.
pub const MEASURED: [(u64, [f64; 10]); 3] = [
    (32, [91., 79., 50., 33., 15., 10., 9., 12., 13., 12.]),
    (64, [95., 84., 88., 82., 83., 41., 19., 12., 15., 16.]),
    (128, [93., 92., 93., 93., 93., 87., 95., 41., 23., 27.]),
];

/// One configuration.
#[derive(Clone, Copy, Debug)]
pub struct Incast {
    pub servers: u32,
    pub switch: Switch,
    pub nic: Nic,
    /// Mean time that a server takes to answer, exponentially distributed.
    pub think: SimSpan,
    pub rounds: u32,
    pub seed: u64,
}

impl Incast {
    /// The measured configuration. The link's latency is assumed, as within one machine room.
    pub fn measured(servers: u32, port_buffer: Bytes, min_timeout: SimSpan) -> Self {
        Self {
            servers,
            switch: Switch {
                model: NetworkModel::Tcp,
                port_buffer,
                shared_buffer: None,
                shared_buffer_alpha: 1.0,
                retransmit_timeout: min_timeout,
                receive_window: Bytes::mib(4),
                initial_window: 10,
                loss_probes: true,
            },
            nic: Nic { rate: Rate::bits_per_s(1_000_000_000), latency: SimSpan::from_us(10) },
            think: SimSpan::from_us(20),
            rounds: 100,
            seed: 1,
        }
    }

    /// Runs it. Returns goodput as a share of line rate, the counters, and the number of events.
    pub fn run(&self) -> (f64, Counts, u64) {
        self.run_on(self.network())
    }

    /// Like [`Incast::run`], segment by segment.
    pub fn run_slowly(&self) -> (f64, Counts, u64) {
        self.run_on(self.network().segment_by_segment())
    }

    fn network(&self) -> Network {
        let nics = (0..=self.servers).map(|_| self.nic);
        Network::new(nics, &self.switch, Seed(self.seed))
    }

    fn run_on(&self, mut network: Network) -> (f64, Counts, u64) {
        #[derive(Clone, Copy)]
        enum Role {
            Step(NetworkStep),
            Answer(u32),
        }
        fn plan(agenda: &mut Agenda<Role>, at: SimTime, step: NetworkStep) {
            match step {
                NetworkStep::Wake { connection } => {
                    agenda.schedule_ranked(at, connection, Role::Step(step));
                }
                _ => agenda.schedule(at, Role::Step(step)),
            }
        }
        let mut agenda: Agenda<Role> = Agenda::new();
        let mut draws = Seed(self.seed).stream("incast/think");
        let client = HostId(0);
        let ask = |network: &mut Network, agenda: &mut Agenda<Role>| {
            for server in 1..=self.servers {
                let now = agenda.now();
                let (to, wire) = (HostId(server), wire_bytes(Bytes(128)));
                network.send(now, client, to, wire, server, &mut |at, step| {
                    plan(agenda, at, step);
                });
            }
        };
        ask(&mut network, &mut agenda);
        let (mut answered, mut rounds, mut end) = (0, 0, SimTime::ZERO);
        while let Some(event) = agenda.next() {
            let now = agenda.now();
            let mut later = |at, step| plan(&mut agenda, at, step);
            match event {
                Role::Step(NetworkStep::Forward { train }) => {
                    if let Some(number) = network.forward(now, train, &mut later) {
                        later(now, NetworkStep::Deliver { number });
                    }
                }
                Role::Step(NetworkStep::Climb { .. }) => unreachable!("there is one switch"),
                Role::Step(NetworkStep::Wake { connection }) => {
                    network.wake(now, connection, &mut later);
                }
                Role::Step(NetworkStep::Deliver { number: message }) if message < 1 << 16 => {
                    let think = draws.exponential(self.think);
                    agenda.schedule(now + think, Role::Answer(message));
                }
                Role::Step(NetworkStep::Deliver { .. }) => {
                    answered += 1;
                    if answered == self.servers {
                        answered = 0;
                        rounds += 1;
                        end = now;
                        if rounds < self.rounds {
                            ask(&mut network, &mut agenda);
                        }
                    }
                }
                Role::Answer(server) => {
                    let from = HostId(server);
                    network.send(
                        now,
                        from,
                        client,
                        wire_bytes(BLOCK),
                        server | 1 << 16,
                        &mut later,
                    );
                }
            }
        }
        assert_eq!(rounds, self.rounds, "every block is delivered");
        network.audit_messages().unwrap();
        for host in 0..=self.servers {
            network.audit(end, HostId(host)).unwrap();
        }
        let bits = (BLOCK * u64::from(self.servers) * u64::from(rounds)).get() * 8;
        let line = self.nic.rate.as_bits_per_s() as f64;
        (bits as f64 / end.as_secs_f64() / line, network.counts(), agenda.taken())
    }
}
