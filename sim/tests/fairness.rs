//! Long flows that share a port.

#[path = "common/flows.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with a benchmark")]
mod flows;

use flows::Flows;
use foretell_units::SimSpan;

#[test]
fn look() {
    for seed in 1..=4 {
        for pair in [[50, 50], [50, 500], [10, 1000], [10, 5000]] {
            let flows = Flows { seed, ..Flows::of(&pair) };
            let found = flows.run();
            let tenths: Vec<String> =
                found.mbits.iter().map(|t| t.map(|x| format!("{x:.0} ")).concat()).collect();
            println!("{seed} {pair:?} {:.0?} {:?}\n {tenths:?}", found.rates(), found.counts);
        }
    }
    for us in [100, 1000, 10_000, 20_000, 50_000] {
        for out in [1, 4, 64, 256] {
        let flows = Flows { duration: SimSpan::from_secs(20), outstanding: out, ..Flows::of(&[us]) };
        let found = flows.run();
        let window = (4 << 20).min(65536 * out);
        let bound = (f64::from(window) * 8.0 / (2.0 * (us as f64 + 10.0))).min(941.0);
        println!("{us} us {out}: {:.0} of {bound:.0} {:?}", found.total(), found.counts);
        }
    }
}
