//! The part of a scenario that an operator knows.

use foretell_scenarios::Document;
use foretell_scenarios::device::Device;
use foretell_scenarios::model::{Scenario, WorkloadKind};

const GOOD: &str = include_str!("good.toml");

fn read(text: &str) -> Scenario {
    let document = Document::parse("known.toml", text, "").unwrap();
    document.check().unwrap_or_else(|errors| panic!("{}\n{text}", errors.lines()))
}

#[test]
fn it_is_all_but_the_seed_the_mechanics_and_what_is_requested() {
    let document = Document::parse("s.toml", GOOD, "").unwrap();
    let (whole, known) = (document.check().unwrap(), read(&document.known_to_operator().unwrap()));
    assert_eq!(known.switch, whole.switch);
    assert_eq!(known.volumes, whole.volumes);
    assert_eq!((known.warmup, known.duration), (whole.warmup, whole.duration));
    assert_eq!(known.tracking, whole.tracking);
    for (known, whole) in known.workloads.iter().zip(&whole.workloads) {
        assert_eq!(known.kind, WorkloadKind::Recorded);
        assert_eq!((&known.name, &known.clients), (&whole.name, &whole.clients));
        assert_eq!((known.arrivals, known.requests), (whole.arrivals, whole.requests));
    }
    for (known, whole) in known.hosts.iter().zip(&whole.hosts) {
        assert_eq!((&known.name, &known.cpu, known.nic), (&whole.name, &whole.cpu, whole.nic));
        let (Some(known), Some(whole)) = (known.role.storage(), whole.role.storage()) else {
            continue;
        };
        assert_eq!((&known.cache, known.layout), (&whole.cache, whole.layout));
        for (known, whole) in known.disks.iter().zip(&whole.disks) {
            assert_eq!(known.device, Device::Measured { capacity: whole.device.capacity() });
            assert_eq!(
                (&known.device_name, known.scheduler),
                (&whole.device_name, whole.scheduler)
            );
        }
    }
}

#[test]
fn every_shipped_scenario_has_a_configuration() {
    for name in foretell_scenarios::shipped_names() {
        let document = Document::shipped(name).unwrap().unwrap();
        let Ok(whole) = document.check() else { continue };
        let text =
            document.known_to_operator().unwrap_or_else(|errors| panic!("{}", errors.lines()));
        assert_eq!(read(&text).hosts.len(), whole.hosts.len(), "{name}");
        for secret in ["seed", "rpm", "seek", "pattern", "access"] {
            assert!(!text.lines().any(|line| line.starts_with(secret)), "{name}: {secret}");
        }
    }
}
