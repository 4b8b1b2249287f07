//! Queues whose behaviour is known in closed form: the true mean must lie in the 99 % confidence
//! interval of the simulated one.
//!
//! The tests use the same parts as the cluster: its agenda, its processor (with exponential or
//! constant work), its links, its ledgers and its batch means. The seeds are 1 to 5 and were not
//! selected. By definition one interval in a hundred misses, so a test passes when at least four of
//! its five seeds hit.

use foretell_scenarios::device::{Precondition, Ssd as Spec};
use foretell_sim::agenda::Agenda;
use foretell_sim::batches::{Batches, Estimate};
use foretell_sim::cpu::{Cpu, Task, Thread};
use foretell_sim::disk::Io;
use foretell_sim::link::Link;
use foretell_sim::ssd::Ssd;
use foretell_units::{Breadcrumb, Bytes, Op, Rate, Sectors, Seed, SimSpan, SimTime, Stream};

const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
/// 99 % intervals are wider than 95 % ones by this ratio of Student's t at 31 degrees.
const TO_99: f64 = 2.744 / 2.040;

fn holds(estimate: Estimate, theory: f64) -> bool {
    (estimate.mean - theory).abs() <= estimate.half_width * TO_99
}

fn at_least_four_of_five(what: &str, test: impl Fn(Seed) -> Vec<(Estimate, f64)>) {
    let outcomes: Vec<_> = SEEDS.map(|seed| test(Seed(seed))).collect();
    for metric in 0..outcomes[0].len() {
        let hits = outcomes.iter().filter(|found| holds(found[metric].0, found[metric].1)).count();
        assert!(hits >= 4, "{what}, metric {metric}: {outcomes:?}");
        // a wide interval proves nothing
        let (estimate, theory) = outcomes[0][metric];
        assert!(estimate.half_width < 0.05 * theory, "{what}, metric {metric}: {estimate:?}");
    }
}

#[derive(Clone, Copy)]
enum Event {
    Arrival,
    SliceEnds(u32),
}

/// M/M/c on a processor with `cores` cores: (throughput, response time in ms), each with the
/// theoretical value.
fn mmc(seed: Seed, cores: u32, arrivals_per_s: f64, service: SimSpan) -> Vec<(Estimate, f64)> {
    let gap = SimSpan::from_secs_f64(1.0 / arrivals_per_s);
    let mut gaps = seed.stream("arrivals");
    let mut works = seed.stream("work");
    let warmup = SimTime::ZERO + SimSpan::from_secs(100);
    let end = warmup + SimSpan::from_secs(2000);
    let mut cpu: Cpu<SimTime> = Cpu::new(cores, SimSpan::from_secs(3600), SimSpan::ZERO);
    let mut agenda = Agenda::new();
    let mut batches = Batches::new(warmup);
    let mut tid = 0;
    agenda.schedule(SimTime::ZERO + gaps.exponential(gap), Event::Arrival);
    while agenda.next_at().is_some_and(|next| next < end) {
        let event = agenda.next().unwrap();
        let now = agenda.now();
        match event {
            Event::Arrival => {
                agenda.schedule(now + gaps.exponential(gap), Event::Arrival);
                tid += 1;
                let work = works.exponential(service).max(SimSpan::from_ns(1));
                let thread = Thread { pid: 1, tid };
                let task = Task { thread, breadcrumb: Breadcrumb::NONE, work, then: now };
                if let Some(slice) = cpu.submit(now, task) {
                    agenda.schedule(slice.end, Event::SliceEnds(slice.core));
                }
            }
            Event::SliceEnds(core) => {
                let ended = cpu.slice_ends(now, core);
                if let Some(next) = ended.next {
                    agenda.schedule(next.end, Event::SliceEnds(core));
                }
                let arrived = ended.done.expect("the quantum is an hour");
                if now >= warmup {
                    batches.add(now, now - arrived);
                }
            }
        }
    }
    agenda.advance_to(end);
    assert_eq!(cpu.audit(end), Ok(()));
    let (throughput, response) = batches.estimates(end);
    // Erlang's C formula
    let (c, s) = (f64::from(cores), service.as_ms_f64());
    let offered = arrivals_per_s * s / 1e3;
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..cores {
        sum += term;
        term *= offered / f64::from(k + 1);
    }
    let tail = term / (1.0 - offered / c);
    let waits = tail / (sum + tail);
    vec![(throughput, arrivals_per_s), (response, s + waits * s / (c - offered))]
}

#[test]
fn closed_form_mm1_response_and_throughput() {
    // ρ = 0.7: R = 1 / (1 − 0.7) = 3.33 services
    at_least_four_of_five("M/M/1", |seed| mmc(seed, 1, 700.0, SimSpan::from_ms(1)));
}

#[test]
fn closed_form_mmc_response_and_throughput() {
    at_least_four_of_five("M/M/4", |seed| mmc(seed, 4, 3200.0, SimSpan::from_ms(1)));
    at_least_four_of_five("M/M/2", |seed| mmc(seed, 2, 1000.0, SimSpan::from_ms(1)));
}

/// Tasks that arrive at random at a processor and work in steps, each right after the one before.
struct Tasks {
    cores: u32,
    quantum: SimSpan,
    arrivals_per_s: f64,
    seconds: u64,
    /// The steps of a task.
    steps: fn(&mut Stream) -> Vec<SimSpan>,
}

impl Tasks {
    /// Mean response time in ms.
    fn response(&self, seed: Seed) -> Estimate {
        let gap = SimSpan::from_secs_f64(1.0 / self.arrivals_per_s);
        let (mut gaps, mut works) = (seed.stream("arrivals"), seed.stream("work"));
        let warmup = SimTime::ZERO + SimSpan::from_secs(self.seconds / 10);
        let end = warmup + SimSpan::from_secs(self.seconds);
        let mut cpu: Cpu<u32> = Cpu::new(self.cores, self.quantum, SimSpan::ZERO);
        let mut agenda = Agenda::new();
        let mut batches = Batches::new(warmup);
        // arrival time and remaining steps of each task
        let mut tasks: Vec<(SimTime, Vec<SimSpan>)> = Vec::new();
        let step = |number: u32, work: SimSpan| Task {
            thread: Thread { pid: 1, tid: number + 1 },
            breadcrumb: Breadcrumb::NONE,
            work: work.max(SimSpan::from_ns(1)),
            then: number,
        };
        agenda.schedule(SimTime::ZERO + gaps.exponential(gap), Event::Arrival);
        while agenda.next_at().is_some_and(|next| next < end) {
            let event = agenda.next().unwrap();
            let now = agenda.now();
            let next = match event {
                Event::Arrival => {
                    agenda.schedule(now + gaps.exponential(gap), Event::Arrival);
                    let mut steps = (self.steps)(&mut works);
                    steps.reverse();
                    let first = steps.pop().expect("a task has a step");
                    let number = tasks.len() as u32;
                    tasks.push((now, steps));
                    cpu.submit(now, step(number, first))
                }
                Event::SliceEnds(core) => {
                    let ended = cpu.step_ends(now, core);
                    let Some(number) = ended.done else {
                        agenda.schedule(ended.next.unwrap().end, Event::SliceEnds(core));
                        continue;
                    };
                    let (arrived, steps) = &mut tasks[number as usize];
                    match steps.pop() {
                        Some(work) => cpu.follow(now, core, step(number, work)),
                        None if now >= warmup => batches.add(now, now - *arrived),
                        None => {}
                    }
                    cpu.go_on(now, core, ended.breadcrumb)
                }
            };
            if let Some(slice) = next {
                agenda.schedule(slice.end, Event::SliceEnds(slice.core));
            }
        }
        agenda.advance_to(end);
        assert_eq!(cpu.audit(end), Ok(()));
        batches.estimates(end).1
    }
}

/// One ms of work in steps.
fn a_millisecond(_: &mut Stream) -> Vec<SimSpan> {
    [600, 250, 150].map(SimSpan::from_us).to_vec()
}

/// An exponential time with mean 1 ms, half of it in one step.
fn exponential_in_steps(works: &mut Stream) -> Vec<SimSpan> {
    let work = works.exponential(SimSpan::from_ms(1));
    vec![work / 2, work / 4, work / 4]
}

const LONG: SimSpan = SimSpan::from_secs(3600);

#[test]
fn closed_form_steps_of_one_task_are_one_service() {
    let tasks = |arrivals_per_s, steps| Tasks {
        cores: 1,
        quantum: LONG,
        arrivals_per_s,
        seconds: 400,
        steps,
    };
    // M/D/1 at 0.8 by Pollaczek and Khinchine: R = 1 + 0.8 / (2 × 0.2) = 3 services
    at_least_four_of_five("M/D/1 in steps", |seed| {
        vec![(tasks(800.0, a_millisecond).response(seed), 3.0)]
    });
    // M/M/1 at 0.7: R = 1 / 0.3 services
    at_least_four_of_five("M/M/1 in steps", |seed| {
        vec![(tasks(700.0, exponential_in_steps).response(seed), 1.0 / 0.3)]
    });
}

/// The mean wait in an M/D/c queue, in services (Crommelin 1932).
fn mdc_wait(cores: u32, utilization: f64) -> f64 {
    // the n-th service time: arrivals in it are Poisson with mean n c ρ
    let term = |n: f64| {
        let (mean, least) = (n * f64::from(cores) * utilization, n * f64::from(cores));
        let mut probability = libm::exp(-mean);
        let (mut below, mut count) = (0.0, 0.0);
        while count < least {
            below += probability;
            count += 1.0;
            probability *= mean / count;
        }
        // probability that at least `least` arrive, and that more do
        let (at_least, more) = (1.0 - below, 1.0 - below - probability);
        at_least - more / utilization
    };
    let services = (1..).map(f64::from);
    // beyond this, exp(-mean) underflows and the terms vanish
    services.take_while(|n| n * f64::from(cores) * utilization < 700.0).map(term).sum()
}

#[test]
fn closed_form_mdc_in_steps() {
    // with one core the formula is that of Pollaczek and Khinchine
    assert!((mdc_wait(1, 0.8) - 2.0).abs() < 1e-6);
    for (cores, arrivals_per_s) in [(2, 1600.0), (4, 3200.0)] {
        at_least_four_of_five("M/D/c in steps", |seed| {
            let tasks =
                Tasks { cores, quantum: LONG, arrivals_per_s, seconds: 250, steps: a_millisecond };
            vec![(tasks.response(seed), 1.0 + mdc_wait(cores, 0.8))]
        });
    }
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn closed_form_a_short_quantum_shares_the_processor() {
    // M/G/1 with processor sharing at 0.7: R = 1 / 0.3 services, for any distribution and any number
    // of steps (Kleinrock 1967); a quantum of a fortieth is close to that
    for steps in [a_millisecond, exponential_in_steps] {
        at_least_four_of_five("round robin", |seed| {
            let tasks = Tasks {
                cores: 1,
                quantum: SimSpan::from_us(25),
                arrivals_per_s: 700.0,
                seconds: 100,
                steps,
            };
            vec![(tasks.response(seed), 1.0 / 0.3)]
        });
    }
}

#[test]
fn closed_form_md1_wait() {
    // 125 000 bytes at 1 Gbit/s take 1 ms; Pollaczek–Khinchine: W = ρ s / 2(1 − ρ)
    at_least_four_of_five("M/D/1", |seed| {
        let (rho, service) = (0.8, 1.0);
        let mut gaps = seed.stream("arrivals");
        let gap = SimSpan::from_secs_f64(service / rho / 1e3);
        let mut link = Link::new(Rate::bits_per_s(1_000_000_000));
        let warmup = SimTime::ZERO + SimSpan::from_secs(100);
        let end = warmup + SimSpan::from_secs(2000);
        let mut now = SimTime::ZERO;
        let mut batches = Batches::new(warmup);
        loop {
            now += gaps.exponential(gap);
            if now >= end {
                break;
            }
            let busy = link.send(now, Bytes(125_000));
            if now >= warmup {
                // waiting time only, counted at arrival
                batches.add(now, busy.start - now);
            }
        }
        assert_eq!(link.audit(end), Ok(()));
        let (_, wait) = batches.estimates(end);
        vec![(wait, rho * service / (2.0 * (1.0 - rho)))]
    });
}

/// A solid-state drive with one die, so that its queues are single servers.
fn one_die() -> Spec {
    Spec {
        capacity: Bytes::mib(192),
        over_provisioning: 0.25,
        channels: 1,
        chips: 1,
        dies: 1,
        planes: 1,
        page: Bytes::kib(4),
        pages_per_block: 64,
        mapping: Bytes::kib(4),
        read: SimSpan::from_us(60),
        program: SimSpan::from_us(500),
        erase: SimSpan::from_us(3000),
        // 4 KiB in 40 us
        channel_rate: Rate::bytes_per_s(102_400_000),
        buffer: Bytes::kib(512),
        queue_depth: 65_535,
        // 4 KiB in 50 us
        host_rate: Rate::bytes_per_s(81_920_000),
        duplex: true,
        command: SimSpan::from_us(50),
        latency: SimSpan::from_us(20),
        precondition: Precondition::Sequential,
        endurance: None,
        power_loss_protection: true,
    }
}

/// Operations of one unit arrive at random at a drive. Returns their response time and its
/// theoretical value: that of an M/D/1 queue whose service takes 0.1 ms, plus `after_ms`.
fn md1_at_drive(seed: Seed, op: Op, units: u64, after_ms: f64) -> Vec<(Estimate, f64)> {
    let (rho, service) = (0.8, 0.1);
    let (mut gaps, mut places) = (seed.stream("arrivals"), seed.stream("places"));
    let gap = SimSpan::from_secs_f64(service / rho / 1e3);
    let warmup = SimTime::ZERO + SimSpan::from_secs(10);
    let end = warmup + SimSpan::from_secs(200);
    let mut ssd = Ssd::new(&one_die());
    let mut batches = Batches::new(warmup);
    let mut arrival = SimTime::ZERO + gaps.exponential(gap);
    let (mut wake, mut done) = (None::<SimTime>, Vec::new());
    loop {
        let now = arrival.min(wake.unwrap_or(SimTime::MAX));
        if now >= end {
            break;
        }
        if now == arrival {
            let lbn = Sectors(places.below(units) * 8);
            wake = ssd.submit(now, Io { lbn, sectors: Sectors(8), op, thread: 0, tag: now });
            arrival = now + gaps.exponential(gap);
        } else {
            wake = ssd.complete(now, &mut done);
            for io in done.drain(..).map(|done| done.io) {
                if now >= warmup {
                    batches.add(now, now - io.tag);
                }
            }
        }
    }
    assert_eq!(ssd.audit(end), Ok(()));
    let (_, response) = batches.estimates(end);
    vec![(response, rho * service / (2.0 * (1.0 - rho)) + service + after_ms)]
}

#[test]
#[ignore = "takes minutes: `.ci/run --full` runs it"]
fn closed_form_md1_at_the_die_and_at_the_interface_of_a_drive() {
    // the die: 60 us and 40 us on its channel. Data leave it at least 100 us apart, so nothing waits
    // for the interface (50 + 50 us); then the latency, 20 us.
    at_least_four_of_five("reads", |seed| md1_at_drive(seed, Op::Read, 49_152, 0.12));
    // 64 units that are rewritten all the time stay in the buffer, so writes wait only for the
    // interface
    at_least_four_of_five("writes", |seed| md1_at_drive(seed, Op::Write, 64, 0.02));
}

/// Customers that circulate for ever through single-server exponential stations: cycle time and
/// throughput.
fn closed(seed: Seed, customers: u32, means_us: &[u64]) -> Vec<(Estimate, f64)> {
    let mut works: Vec<Stream> =
        (0..means_us.len()).map(|index| seed.stream(&format!("station/{index}"))).collect();
    let mut stations: Vec<Cpu<u32>> =
        means_us.iter().map(|_| Cpu::new(1, SimSpan::from_secs(3600), SimSpan::ZERO)).collect();
    let warmup = SimTime::ZERO + SimSpan::from_secs(10);
    let end = warmup + SimSpan::from_secs(200);
    let mut agenda: Agenda<u32> = Agenda::new();
    let mut batches = Batches::new(warmup);
    let mut began = vec![SimTime::ZERO; customers as usize];
    let mut join = |agenda: &mut Agenda<u32>, stations: &mut Vec<Cpu<u32>>, at: usize, who: u32| {
        let mean = SimSpan::from_us(means_us[at]);
        let work = works[at].exponential(mean).max(SimSpan::from_ns(1));
        let thread = Thread { pid: 1, tid: who + 1 };
        let task = Task { thread, breadcrumb: Breadcrumb::NONE, work, then: who };
        if let Some(slice) = stations[at].submit(agenda.now(), task) {
            agenda.schedule(slice.end, at as u32);
        }
    };
    for who in 0..customers {
        join(&mut agenda, &mut stations, 0, who);
    }
    while agenda.next_at().is_some_and(|next| next < end) {
        let at = agenda.next().unwrap() as usize;
        let now = agenda.now();
        let ended = stations[at].slice_ends(now, 0);
        if let Some(next) = ended.next {
            agenda.schedule(next.end, at as u32);
        }
        let who = ended.done.unwrap();
        let next = (at + 1) % means_us.len();
        if next == 0 {
            if now >= warmup {
                batches.add(now, now - began[who as usize]);
            }
            began[who as usize] = now;
        }
        join(&mut agenda, &mut stations, next, who);
    }
    for station in &mut stations {
        assert_eq!(station.audit(agenda.now()), Ok(()));
    }
    let (throughput, response) = batches.estimates(end);
    // exact mean value analysis (Reiser & Lavenberg 1980)
    let mut lengths = vec![0.0; means_us.len()];
    let (mut x, mut r) = (0.0, 0.0);
    for n in 1..=customers {
        let waits: Vec<f64> =
            means_us.iter().zip(&lengths).map(|(&us, l)| us as f64 / 1e3 * (1.0 + l)).collect();
        r = waits.iter().sum();
        x = f64::from(n) / r;
        lengths = waits.iter().map(|wait| x * wait).collect();
    }
    vec![(throughput, x * 1e3), (response, r)]
}

#[test]
fn closed_form_closed_network_against_exact_mva() {
    // four stations of 0.25: X = 3.0769 a ms, R = 3.25 ms
    at_least_four_of_five("balanced", |seed| closed(seed, 10, &[250, 250, 250, 250]));
    at_least_four_of_five("with a bottleneck", |seed| closed(seed, 6, &[1000, 400, 100]));
    at_least_four_of_five("one customer", |seed| closed(seed, 1, &[300, 700]));
}
