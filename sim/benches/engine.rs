//! Events per CPU-second of the engine alone: a closed network of queues.
//!
//! Ten customers circulate through four exponential stations with mean service times in the ratio 1:2:3:4,
//! each first come, first served. The same network was timed on other simulators, in millions of events per
//! CPU-second: a plain binary heap 32.7, SimCore 18.3, nexosim 4.2, SimGrid 2.3, SimPy 0.44. Exact mean value
//! analysis gives the throughput to expect.

use std::collections::VecDeque;

use cpu_time::ProcessTime;
use foretell_sim::agenda::Agenda;
use foretell_units::{Seed, SimSpan, SimTime, Stream};

const EVENTS: u64 = 50_000_000;
const CUSTOMERS: usize = 10;

struct Station {
    mean: SimSpan,
    queue: VecDeque<u8>,
    draws: Stream,
}

/// Runs the network. Returns (events, throughput in rounds a second).
fn run(means_us: [u64; 4]) -> (u64, f64) {
    let mut agenda = Agenda::new();
    let mut stations: Vec<Station> = means_us
        .iter()
        .enumerate()
        .map(|(index, &mean)| Station {
            mean: SimSpan::from_us(mean),
            queue: VecDeque::with_capacity(CUSTOMERS),
            draws: Seed(1).stream(&format!("station/{index}")),
        })
        .collect();
    stations[0].queue.extend(0..CUSTOMERS as u8);
    let mean = stations[0].mean;
    let first = stations[0].draws.exponential(mean);
    agenda.schedule(SimTime::ZERO + first, 0_u32);
    let mut rounds = 0;
    for _ in 0..EVENTS {
        let index = agenda.next().expect("customers never leave") as usize;
        let now = agenda.now();
        let station = &mut stations[index];
        let customer = station.queue.pop_front().expect("somebody was served");
        if !station.queue.is_empty() {
            let service = station.draws.exponential(station.mean);
            agenda.schedule(now + service, index as u32);
        }
        let next = (index + 1) % stations.len();
        rounds += u64::from(next == 0);
        let station = &mut stations[next];
        station.queue.push_back(customer);
        if station.queue.len() == 1 {
            let service = station.draws.exponential(station.mean);
            agenda.schedule(now + service, next as u32);
        }
    }
    (EVENTS, rounds as f64 / agenda.now().as_secs_f64())
}

/// Exact mean value analysis (Reiser & Lavenberg 1980): throughput and response time.
fn mva(means_s: [f64; 4]) -> (f64, f64) {
    let mut lengths = [0.0; 4];
    let (mut throughput, mut response) = (0.0, 0.0);
    for customers in 1..=CUSTOMERS {
        let waits: Vec<f64> =
            means_s.iter().zip(lengths).map(|(mean, length)| mean * (1.0 + length)).collect();
        response = waits.iter().sum();
        throughput = customers as f64 / response;
        for (length, wait) in lengths.iter_mut().zip(waits) {
            *length = throughput * wait;
        }
    }
    (throughput, response)
}

fn main() {
    // Four equal stations of 0.25: X = 10 / (13 × 0.25) = 3.0769, R = 3.25, in units of 1 ms here.
    let means_us = [250, 250, 250, 250];
    let (x, r) = mva(means_us.map(|us| us as f64 / 1e6));
    let start = ProcessTime::now();
    let (events, rounds_per_s) = run(means_us);
    let cpu = start.elapsed().as_secs_f64();
    println!("closed network, {CUSTOMERS} customers, 4 exponential stations");
    println!(
        "  {events} events, {cpu:.3} CPU-s: {:.1} M events per CPU-second",
        events as f64 / cpu / 1e6
    );
    println!(
        "  throughput {:.4}, theory {:.4}; response {:.4}, theory {:.4} (per ms, ms)",
        rounds_per_s / 1e3,
        x / 1e3,
        CUSTOMERS as f64 / rounds_per_s * 1e3,
        r * 1e3
    );
}
