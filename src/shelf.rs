//! What a prediction may have besides records: devices that are measured on a bench, and requests of
//! workloads that are described.

mod bench;

use std::collections::BTreeMap;

use foretell_ati::Facts;
use foretell_scenarios::device::Device;
use foretell_scenarios::model::Scenario;
use foretell_whatif::{Described, Measurement, Shelf, measurement_fact};

/// Requests of a described workload that are drawn for each client.
const DRAWN: usize = 200_000;

/// Adds what is measured of every device in the scenario to the facts.
pub(crate) fn measure_devices(facts: &mut Facts, scenario: &Scenario) {
    let disks = scenario.hosts.iter().filter_map(|host| host.role.storage());
    let mut devices: BTreeMap<&str, &Device> = BTreeMap::new();
    for disk in disks.flat_map(|storage| &storage.disks) {
        devices.insert(&disk.device_name, &disk.device);
    }
    for (name, device) in devices {
        let measured = bench::measure(name, device);
        let text = serde_json::to_string(&measured).expect("a measurement is JSON");
        facts.set(measurement_fact(name), text, "");
    }
}

/// A shelf with every device that there is a profile of.
#[derive(Debug, Default)]
pub(crate) struct PartsShelf;

impl Shelf for PartsShelf {
    fn measure(&mut self, name: &str, device: &Device) -> Option<Measurement> {
        Some(bench::measure(name, device))
    }

    fn requests(
        &mut self,
        scenario: &Scenario,
        workload: usize,
    ) -> Result<Vec<Vec<Described>>, String> {
        let streams = foretell_sim::drawn_requests(scenario, workload, DRAWN)
            .map_err(|error| error.to_string())?;
        let described = |stream: Vec<foretell_workloads::Request>| {
            let one = |request: foretell_workloads::Request| Described {
                at: request.at,
                op: request.access.op,
                offset: request.access.offset,
                size: request.access.size,
            };
            stream.into_iter().map(one).collect()
        };
        Ok(streams.into_iter().map(described).collect())
    }
}
