//! TCP's throughput collapse under synchronized reads. Compares the model with the measurement, and measures
//! the speed of the model.

#[path = "../tests/common/incast.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
mod incast;

use cpu_time::ProcessTime;
use foretell_units::{Bytes, SimSpan};
use incast::{Incast, MEASURED, SERVERS};

/// Formats figures as columns.
fn columns(figures: impl IntoIterator<Item = f64>) -> String {
    let columns: Vec<String> = figures.into_iter().map(|figure| format!("{figure:>6.0}")).collect();
    columns.concat()
}

/// Prints the model's goodput by number of servers. Returns the number of events.
fn row(buffer_kib: u64, timeout: SimSpan) -> u64 {
    let (mut events, mut goodputs, mut timeouts) = (0, Vec::new(), Vec::new());
    for servers in SERVERS {
        let incast =
            Incast { rounds: 200, ..Incast::measured(servers, Bytes::kib(buffer_kib), timeout) };
        let (goodput, counts, taken) = incast.run();
        events += taken;
        goodputs.push(goodput * 100.0);
        timeouts.push(counts.timeouts as f64);
    }
    println!("{buffer_kib:>4} KB {timeout:>7} model    {}", columns(goodputs));
    println!("                timeouts {}", columns(timeouts));
    events
}

fn main() {
    let start = ProcessTime::now();
    let mut events = 0;
    println!("goodput, % of line rate; N = {}", columns(SERVERS.map(f64::from)));
    for (buffer, measured) in MEASURED {
        events += row(buffer, SimSpan::from_ms(200));
        println!("                measured {}", columns(measured));
    }
    events += row(64, SimSpan::from_ms(10));
    println!("                measured 79-85 for N = 4 to 32");
    events += row(64, SimSpan::from_ms(1));
    println!("                measured 88-90");
    let cpu = start.elapsed().as_secs_f64();
    println!(
        "{events} events, {cpu:.2} CPU-s: {:.1} M events per CPU-second",
        events as f64 / cpu / 1e6
    );
}
