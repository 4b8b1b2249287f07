//! TCP's throughput collapse under synchronised reads: model beside measurement, and its speed.

#[path = "../tests/common/incast.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests")]
mod incast;

use cpu_time::ProcessTime;
use foretell_units::{Bytes, SimSpan};
use incast::{Incast, MEASURED, SERVERS};

fn main() {
    let start = ProcessTime::now();
    let mut events = 0;
    let mut row = |buffer_kib: u64, timeout: SimSpan| {
        let mut cells = String::new();
        let mut details = String::new();
        for servers in SERVERS {
            let mut incast = Incast::measured(servers, Bytes::kib(buffer_kib), timeout);
            incast.rounds = 200;
            let (goodput, counts, taken) = incast.run();
            events += taken;
            cells += &format!("{:>6.0}", goodput * 100.0);
            let rounds = f64::from(incast.rounds);
            details += &format!(
                "{:>6.2}/{:.1}/{:.0}",
                counts.timeouts as f64 / rounds,
                counts.fast_retransmits as f64 / rounds,
                counts.segments_dropped as f64 / rounds,
            );
        }
        println!("{buffer_kib:>4} KB {timeout:>7} model   {cells}");
        println!("                timeouts/fast/drops a round {details}");
    };
    let heads: String = SERVERS.iter().map(|n| format!("{n:>6}")).collect();
    println!("goodput, % of line rate; N =  {heads}");
    for (buffer, measured) in MEASURED {
        row(buffer, SimSpan::from_ms(200));
        let cells: String = measured.iter().map(|m| format!("{m:>6.0}")).collect();
        println!("                measured{cells}");
    }
    row(64, SimSpan::from_ms(10));
    println!("                measured 79-85 for N = 4 to 32");
    row(64, SimSpan::from_ms(1));
    println!("                measured 88-90");
    let cpu = start.elapsed().as_secs_f64();
    println!(
        "{events} events, {cpu:.2} CPU-s: {:.1} M events per CPU-second",
        events as f64 / cpu / 1e6
    );
}
