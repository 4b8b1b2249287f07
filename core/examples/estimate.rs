//! Estimates the throughput of mixed loads from two measurements: reads alone, and writes alone. The method
//! is the constant-capacity rule.
//!
//!     cargo run --release -p foretell-core --example estimate

use foretell_core::estimate::{ConstantCapacity, ReadShare};

fn main() {
    // 4 KiB operations a second, measured alone
    let cluster = ConstantCapacity::new(120_000.0, 30_000.0).expect("both are above 0");
    for percent in [90.0, 70.0, 50.0, 10.0] {
        let mix = ReadShare::from_percent(percent).expect("a percentage");
        println!("{percent} % reads: {:.0} operations/s", cluster.throughput(mix).total());
    }
    println!("a unit of capacity is {:.0} reads a second", cluster.capacity());
}
