//! Profiles: those that come with the program, those beside a scenario, those in it.

use std::fs;

use foretell_scenarios::Document;
use foretell_scenarios::device::Device;
use foretell_scenarios::model::{CpuProfile, Scenario};
use foretell_units::Bytes;

const SMALL: &str = r#"
duration = "1 s"
[node.brick]
count = 2
cpu = "pentium4-2.6"
cache = { size = "64 MiB" }
disk = ["barracuda-7200.8"]
[client.app]
cpu = "xeon-p4-3.0"
[volume.v]
size = "1 GiB"
nodes = "brick"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = 0.5
"#;

fn check(text: &str) -> Scenario {
    Document::parse("t.toml", text, "").unwrap().check().unwrap_or_else(|e| panic!("{}", e.lines()))
}

fn disk(scenario: &Scenario) -> &Device {
    &scenario.hosts[0].role.storage().unwrap().disks[0].device
}

#[test]
fn shipped_disks_have_the_average_seek_of_their_data_sheet() {
    for (name, average_ms) in [("barracuda-7200.8", 8.0), ("cheetah-15k", 3.5)] {
        let scenario = check(&SMALL.replace("barracuda-7200.8", name));
        let Device::Mechanical(disk) = disk(&scenario) else { panic!("{name}") };
        let (mut total, mut pairs) = (0.0, 0.0);
        for distance in 1..disk.cylinders {
            let weight = f64::from(disk.cylinders - distance);
            total += weight * disk.seek.time(distance).as_ms_f64();
            pairs += weight;
        }
        assert!((total / pairs / average_ms - 1.0).abs() < 0.01, "{name}: {}", total / pairs);
        assert!(disk.seek.short_ms > 0.0 && disk.seek.long_ms > disk.seek.short_ms);
    }
}

#[test]
fn shipped_disks_hold_what_their_tracks_hold() {
    // the mean rate times a revolution gives a track; on 4 and 8 surfaces
    for (name, surfaces) in [("barracuda-7200.8", 4.0), ("cheetah-15k", 8.0)] {
        let scenario = check(&SMALL.replace("barracuda-7200.8", name));
        let Device::Mechanical(disk) = disk(&scenario) else { panic!("{name}") };
        let mean = f64::midpoint(
            disk.outer_rate.as_bytes_per_s_f64(),
            disk.inner_rate.as_bytes_per_s_f64(),
        );
        let track = mean * 60.0 / f64::from(disk.rpm);
        let held = track * surfaces * f64::from(disk.cylinders);
        assert!((held / disk.capacity.get() as f64 - 1.0).abs() < 0.01, "{name}: {held}");
    }
}

/// Client CPU of encoding and encrypting a write, milliseconds.
fn write_ms(cpu: &CpuProfile, size: Bytes, passes: u64, encrypted: bool) -> f64 {
    let cipher = if encrypted { cpu.encrypt.of(size).as_ms_f64() } else { 0.0 };
    cipher + (0..passes).map(|_| cpu.code.of(size).as_ms_f64()).sum::<f64>()
}

#[test]
fn published_fig3_encryption_dominates_erasure_coding() {
    // 32 KiB on the clients of Thereska et al. 2006; 3-of-5 makes n - m = 2 passes, replication none
    let scenario = check(SMALL);
    let cpu = &scenario.hosts[2].cpu;
    let size = Bytes::kib(32);
    let (coded, encrypted) = (write_ms(cpu, size, 2, false), write_ms(cpu, size, 0, true));
    assert!(coded > 0.05 && encrypted > 3.0 * coded, "{coded} ms, {encrypted} ms");
    // 3.0 GHz at 23 cycles a byte: 32 768 * 23 / 3e9 = 0.2512 ms
    assert!((encrypted - 0.251).abs() < 0.005, "{encrypted} ms");
}

#[test]
fn a_file_beside_the_scenario_comes_before_the_shipped_one() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("devices")).unwrap();
    let file = directory.path().join("devices/barracuda-7200.8.toml");
    let (_, shipped) = foretell_scenarios::ProfileKind::Device.shipped()[0];
    fs::write(&file, shipped.replace("\"250 GB\"", "\"300 GB\"")).unwrap();
    fs::write(directory.path().join("s.toml"), SMALL).unwrap();
    let document = Document::load(directory.path().join("s.toml")).unwrap();
    assert_eq!(disk(&document.check().unwrap()).capacity(), Bytes(300_000_000_000));
    // a profile in the scenario has precedence over both
    let inline =
        format!("{SMALL}\n[device.\"barracuda-7200.8\"]\n{}", shipped.replace("250 GB", "40 GB"));
    fs::write(directory.path().join("s.toml"), inline).unwrap();
    let document = Document::load(directory.path().join("s.toml")).unwrap();
    assert_eq!(disk(&document.check().unwrap()).capacity(), Bytes(40_000_000_000));
    // errors in the file are shown in the file
    fs::write(&file, shipped.replace("source", "sauce")).unwrap();
    fs::write(directory.path().join("s.toml"), SMALL).unwrap();
    let errors = Document::load(directory.path().join("s.toml")).unwrap().check().unwrap_err();
    let error = &errors.errors()[0];
    assert!(error.file().unwrap().ends_with("devices/barracuda-7200.8.toml"), "{}", errors.lines());
    assert_eq!(error.underlined(), Some("sauce"));
    assert_eq!(error.help_text(), Some("did you mean `source`?"));
}

#[test]
fn a_host_may_differ_from_its_group_and_a_cpu_from_its_profile() {
    let scenario = check(&format!(
        "{SMALL}{}",
        r#"
        [host.brick1]
        cpu = { cores = 4, encrypt = { rate = "1 GB/s" } }
        cache = { size = "32 MiB" }
        nic = { rate = "100 Mbit/s" }
        layout = "log-structured"
        disk = [{ device = "cheetah-15k", count = 2 }]
        "#
    ));
    let [plain, other] = [&scenario.hosts[0], &scenario.hosts[1]];
    assert_eq!((plain.cpu.cores, other.cpu.cores), (1, 4));
    assert_eq!(other.cpu.encrypt.rate.unwrap().as_bits_per_s(), 8_000_000_000);
    // values that are not given are as in the profile and in the group
    assert_eq!(other.cpu.encrypt.fixed, plain.cpu.encrypt.fixed);
    assert_eq!(other.nic.latency, plain.nic.latency);
    assert_eq!(other.nic.rate.as_bits_per_s(), 100_000_000);
    let storage = other.role.storage().unwrap();
    assert_eq!((storage.cache.size, storage.cache.page), (Bytes::mib(32), Bytes::kib(4)));
    assert_eq!(storage.disks.len(), 2);
    assert_eq!(plain.role.storage().unwrap().disks.len(), 1);
}

#[test]
fn a_seek_curve_may_be_given_whole() {
    let (_, shipped) = foretell_scenarios::ProfileKind::Device.shipped()[0];
    let line = shipped.lines().find(|line| line.starts_with("seek")).unwrap();
    // the HP C3323A, as measured
    let curve = r#"seek = { knee = 372, short = "1.332 ms", short_per_sqrt = "0.2998 ms", long = "5.533 ms", long_per_cylinder = "4.285 us" }"#;
    let device = shipped.replace(line, curve);
    let scenario = check(&format!("{SMALL}\n[device.\"barracuda-7200.8\"]\n{device}"));
    let Device::Mechanical(disk) = disk(&scenario) else { panic!("of the simple kind") };
    // 1.332 + 0.2998 * sqrt(100) = 4.33 ms; 5.533 + 0.004285 * 1000 = 9.818 ms
    assert_eq!(disk.seek.time(100).as_ns(), 4_330_000);
    assert_eq!(disk.seek.time(1000).as_ns(), 9_818_000);
    let both = shipped.replace(line, &curve.replace("{ knee", "{ average = \"8 ms\", knee"));
    let text = format!("{SMALL}\n[device.\"barracuda-7200.8\"]\n{both}");
    let errors = Document::parse("t.toml", &text, "").unwrap().check().unwrap_err();
    assert!(errors.lines().contains("by three figures or by five"), "{}", errors.lines());
}
