//! What a prediction may use besides records: measurements of devices on a test bench, and requests of
//! workloads that a question describes.

mod bench;

use foretell_ati::Facts;
use foretell_scenarios::device::Device;
use foretell_scenarios::model::{Scenario, Storage};
use foretell_sim::Drawn;
use foretell_sorted::SortedMap;
use foretell_units::Seed;
use foretell_whatif::{
    Described, DescribedClient, Measurement, OperatorKnowledge, measurement_fact,
};

/// Number of requests of a described workload that are drawn for each client.
const DRAWN: usize = 200_000;
/// Seed of these requests. A scenario's seed is below 2^63, so no run draws the same requests. A prediction
/// knows what kind of requests a workload issues, but not the requests themselves.
const SEED: Seed = Seed(1 << 63 | 0x666f_7265_7465_6c6c);

/// Adds the measurements of every device in the scenario to the facts.
pub(crate) fn measure_devices(facts: &mut Facts, scenario: &Scenario) {
    let disks = scenario.hosts.iter().filter_map(|host| host.role.storage());
    let mut devices: SortedMap<&str, &Device> = SortedMap::new();
    for disk in disks.flat_map(Storage::devices) {
        devices.insert(&disk.device_name, &disk.device);
    }
    for (name, device) in devices {
        let measured = bench::measure(name, device);
        let text = serde_json::to_string(&measured).expect("a measurement is JSON");
        facts.set(measurement_fact(name), text, "");
    }
}

/// A shelf with every device that has a profile.
#[derive(Debug, Default)]
pub struct PartsShelf;

impl OperatorKnowledge for PartsShelf {
    fn measure(&mut self, name: &str, device: &Device) -> Option<Measurement> {
        Some(bench::measure(name, device))
    }

    fn requests(
        &mut self,
        scenario: &Scenario,
        workload: usize,
    ) -> Result<Vec<DescribedClient>, String> {
        let own = Scenario { seed: SEED, ..scenario.clone() };
        let streams = foretell_sim::drawn_requests(&own, workload, DRAWN)
            .map_err(|error| error.to_string())?;
        let described = |Drawn { requests, transactions }: Drawn| {
            let one = |request: foretell_workloads::Request| Described {
                at: request.at,
                op: request.access.op,
                offset: request.access.offset,
                size: request.access.size,
            };
            DescribedClient { requests: requests.into_iter().map(one).collect(), transactions }
        };
        Ok(streams.into_iter().map(described).collect())
    }
}

#[cfg(test)]
mod tests {
    use foretell_scenarios::Document;

    use super::*;

    /// The offsets that each client of `mail` requests first.
    fn offsets(streams: &[DescribedClient]) -> Vec<Vec<u64>> {
        let first = |stream: &DescribedClient| {
            stream.requests.iter().take(64).map(|request| request.offset.get()).collect()
        };
        streams.iter().map(first).collect()
    }

    #[test]
    fn no_run_draws_what_a_prediction_draws() {
        let document = Document::shipped("first-look").unwrap().unwrap();
        let mut scenario = document.check().unwrap();
        let mail = scenario.workloads.iter().position(|known| known.name == "mail").unwrap();
        let mut predicted = Vec::new();
        // 42 is the default; the last is the largest whole number of TOML
        for seed in [0, 1, 7, 42, 0x666f_7265, SEED.0 & !(1 << 63), i64::MAX.cast_unsigned()] {
            scenario.seed = Seed(seed);
            let found = offsets(&PartsShelf.requests(&scenario, mail).unwrap());
            let drawn = foretell_sim::drawn_requests(&scenario, mail, 64).unwrap();
            assert_eq!(found.len(), drawn.len());
            for (found, drawn) in found.iter().zip(drawn) {
                let same = found.iter().zip(&drawn.requests);
                let same = same.filter(|(found, drawn)| **found == drawn.access.offset.get());
                // there are thousands of blocks, so few are equal by chance
                assert!(same.count() < 8, "seed {seed}: the run's own requests");
            }
            predicted.push(found);
        }
        assert!(predicted.iter().all(|found| *found == predicted[0]), "a prediction has no seed");
    }
}
