//! Detailed drives as devices of a scenario.

use foretell_scenarios::device::Device;
use foretell_scenarios::drive_file;
use foretell_scenarios::{Document, ProfileKind};

const SMALL: &str = r#"
duration = "1 s"
[node.brick]
cpu = "pentium4-2.6"
cache = { size = "64 MiB" }
disk = ["sata-7200-2005"]
[client.app]
cpu = "xeon-p4-3.0"
[volume.v]
size = "100 MiB"
nodes = "brick"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = 0.5
"#;

fn device(text: &str) -> Result<Device, String> {
    let document = Document::parse("t.toml", text, "").unwrap();
    let scenario = document.check().map_err(|errors| errors.lines())?;
    Ok(scenario.hosts[0].role.storage().unwrap().disks[0].device.clone())
}

#[test]
fn a_shipped_drive_is_the_same_in_a_scenario_and_alone() {
    for (name, text) in ProfileKind::Device.shipped() {
        let alone = match drive_file::parse(text) {
            Ok(drive) => drive,
            Err(error) => {
                let other = ["disk", "ssd", "array", "curves"]
                    .map(|kind| format!("`{kind}` is not possible here"));
                let error = error.to_string();
                assert!(other.iter().any(|kind| error.contains(kind)), "{name}: {error}");
                continue;
            }
        };
        let Device::Drive(drive) = device(&SMALL.replace("sata-7200-2005", name)).unwrap() else {
            panic!("{name} is a drive");
        };
        assert_eq!(*drive, alone, "{name}");
    }
}

#[test]
fn a_written_drive_is_a_device_of_a_scenario() {
    let (_, text) =
        ProfileKind::Device.shipped().iter().find(|(name, _)| *name == "hp-c3323a").unwrap();
    let drive = drive_file::parse(text).unwrap();
    // as `[device.hp]` within a scenario, its tables become sub-tables of that
    let written = drive_file::write(&drive)
        .replace("\n[[zone]]", "\n[[device.hp.zone]]")
        .replace("\n[bus]", "\n[device.hp.bus]")
        .replace("\n[seek]", "\n[device.hp.seek]")
        .replace("\n[overhead]", "\n[device.hp.overhead]")
        .replace("\n[cache]", "\n[device.hp.cache]");
    let text = format!("{}\n[device.hp]\n{written}", SMALL.replace("sata-7200-2005", "hp"));
    let Device::Drive(found) = device(&text).unwrap() else { panic!("a drive") };
    assert_eq!(*found, drive);
}

#[test]
fn faults_of_a_drive_are_told() {
    let (_, shipped) =
        ProfileKind::Device.shipped().iter().find(|(name, _)| *name == "fc-15k-2008").unwrap();
    let fault = |old: &str, new: &str| {
        let inline = shipped
            .replace("[overhead]", "[device.mine.overhead]")
            .replace("[cache]", "[device.mine.cache]")
            .replace(old, new);
        assert!(inline.contains(new));
        let text = format!("{}\n[device.mine]\n{inline}", SMALL.replace("sata-7200-2005", "mine"));
        device(&text).unwrap_err()
    };
    let found = fault("head_switch", "head_swich");
    assert!(found.contains("did you mean `head_switch`?"), "{found}");
    let found = fault("\"0.3 ms\"", "\"0.3 sec\"");
    assert!(found.contains("`sec` is not a unit of a time"), "{found}");
    let found = fault("= 15000", "= 15");
    assert!(found.contains("`device.mine.rpm` is 15, and must be from 60"), "{found}");
    let found = fault("outer_rate = \"150 MB/s\", ", "");
    assert!(found.contains("either `outer_rate` and `inner_rate`"), "{found}");
    let found = fault("segments            = 32", "segments = 1\nseparate_write_segment = true");
    assert!(found.contains("reads need another segment"), "{found}");
}
