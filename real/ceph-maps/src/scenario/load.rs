//! The load of a scenario, from the requests to pools since they were made.
//!
//! Counters give sizes and shares, not rates. So a fixed number of requests is kept outstanding and
//! divided among the pools by their shares. The number is an assumption.

use std::fmt::Write as _;

use super::pools::Volume;

/// The clients that make the load.
pub(super) const CLIENTS: &str = "
# assumed: clients, and how they are connected
[client.clients]
count = 4
cpu   = \"xeon-2023\"
nic   = { rate = \"25 Gbit/s\", latency = \"5 us\" }

[switch]
model = \"queue\"
";

/// Outstanding requests of each client, over all pools.
const OUTSTANDING: f64 = 32.0;
/// Pools with a smaller share of all requests are left idle.
const LEAST_SHARE: f64 = 0.005;

/// The workloads: reads and writes of each pool that has any.
pub(super) fn workloads(volumes: &[Volume]) -> String {
    let mut text = String::new();
    let streams: Vec<(&Volume, bool, u64, u64)> = volumes
        .iter()
        .filter_map(|volume| Some((volume, volume.traffic?)))
        .flat_map(|(volume, traffic)| {
            [
                (volume, true, traffic.reads, traffic.read_bytes),
                (volume, false, traffic.writes, traffic.written_bytes),
            ]
        })
        .filter(|(.., requests, _)| *requests > 0)
        .collect();
    let all: f64 = streams.iter().map(|(.., requests, _)| *requests as f64).sum();
    if all <= 0.0 {
        assumed(&mut text, volumes);
        return text;
    }
    text.push_str(
        "\n# Sizes and shares of requests are means since each pool was made. assumed: how many are\n\
         # outstanding, and that addresses are random. Pools with less than 0.5 % of all requests are idle.\n",
    );
    for (volume, reads, requests, bytes) in streams {
        let share = requests as f64 / all;
        if share < LEAST_SHARE {
            continue;
        }
        let mean = bytes as f64 / requests as f64;
        let access = access(mean, volume.bytes());
        let outstanding = (OUTSTANDING * share).round().max(1.0);
        let (word, percent) = if reads { ("reads", "100%") } else { ("writes", "0%") };
        let _ = write!(
            text,
            "\n[workload.{0}-{word}] # {1:.1} % of all requests, {2:.1} KiB in the mean\n\
             volume      = \"{0}\"\nclient      = \"clients\"\nkind        = \"ssio\"\n\
             reads       = \"{percent}\"\naccess      = \"{access} KiB\"\noutstanding = {outstanding} # assumed\n",
            volume.name,
            100.0 * share,
            mean / 1024.0
        );
    }
    text
}

/// A load if none is known: on the largest pool.
fn assumed(text: &mut String, volumes: &[Volume]) {
    let Some(largest) = volumes.iter().max_by_key(|volume| volume.bytes()) else { return };
    let _ = write!(
        text,
        "\n# assumed: all of the load, because the files have no counters of reads and writes\n\
         [workload.{0}]\nvolume      = \"{0}\"\nclient      = \"clients\"\nkind        = \"ssio\"\n\
         reads       = \"70%\"\naccess      = \"64 KiB\"\noutstanding = 8\n",
        largest.name
    );
}

/// The power of two in KiB nearest to the mean size, from 4 KiB to 4 MiB.
fn access(mean: f64, volume: u64) -> u64 {
    let kib = libm::exp2(libm::log2((mean / 1024.0).max(1.0)).round()) as u64;
    kib.clamp(4, 4096).min(volume >> 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_to_powers_of_two() {
        assert_eq!(access(70_000.0, 1 << 40), 64);
        assert_eq!(access(1.0, 1 << 40), 4);
        assert_eq!(access(1e9, 1 << 40), 4096);
    }
}
