//! Shipped drives compared with the figures of their data sheets.

use std::path::PathBuf;

use foretell_scenarios::device::Device;
use foretell_scenarios::drive::Drive as Spec;
use foretell_scenarios::drive_file;
use foretell_sim::disk::Mechanism;
use foretell_sim::disk::drive::Drive;
use foretell_sim::disk::replay::Spindle;
use foretell_units::{Op, Sectors, Seed, SimSpan, SimTime};

fn device(name: &str) -> Spec {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../scenarios/devices").join(name);
    let text = std::fs::read_to_string(file).unwrap();
    drive_file::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Bytes a second of sequential requests of 64 KiB, averaged over the whole disk: the time of 4 MiB
/// is measured at each of 64 evenly spaced places.
fn sequential(spec: &Spec, op: Op) -> f64 {
    let mut drive = Drive::new(spec);
    let total = drive.sectors().get();
    let mut now = SimTime::ZERO;
    let mut took = SimSpan::ZERO;
    for place in 0..64 {
        let mut lbn = total / 64 * place;
        for number in 0..80 {
            let finish = drive.serve(now, op, Sectors(lbn), Sectors(128)).finish;
            // the first sixteen move the arm there and bring the buffer to its steady state
            if number >= 16 {
                took += finish - now;
            }
            now = finish;
            lbn += 128;
        }
    }
    f64::from(64 * 64 * 128 * 512) / took.as_secs_f64()
}

/// Mean response time of single random requests of 4 KiB, milliseconds.
fn random(spec: &Spec, op: Op, pause: SimSpan) -> f64 {
    let mut drive = Drive::new(spec);
    let total = drive.sectors().get();
    let mut stream = Seed(1).stream("places");
    let mut now = SimTime::ZERO;
    let mut took = SimSpan::ZERO;
    for _ in 0..20_000 {
        let lbn = Sectors(stream.below(total - 8));
        let finish = drive.serve(now, op, lbn, Sectors(8)).finish;
        took += finish - now;
        now = finish + pause;
    }
    took.as_ms_f64() / 20_000.0
}

#[test]
fn published_figures_of_the_2005_sata_drive() {
    let spec = device("sata-7200-2005.toml");
    assert!(spec.capacity() >= "250 GB".parse().unwrap());
    // 58 to 65 MB/s sustained on average
    let rate = sequential(&spec, Op::Read) / 1e6;
    assert!((58.0..65.0).contains(&rate), "{rate} MB/s");
    let rate = sequential(&spec, Op::Write) / 1e6;
    assert!((58.0..65.0).contains(&rate), "{rate} MB/s written");
    // seek 8, half a turn 4.17, command 0.15, eight sectors 0.07 and one of bus. Addresses are
    // denser on the outer cylinders, so random ones lie slightly closer together than random
    // cylinders.
    let read = random(&spec, Op::Read, SimSpan::from_ms(20));
    assert!((read - 12.4).abs() < 0.3, "{read} ms");
    // early write reporting: command and bus
    let write = random(&spec, Op::Write, SimSpan::from_ms(40));
    assert!(write < 0.5, "{write} ms");
    // without a pause each waits for the one before: seek, settling 0.3, half a turn
    let write = random(&spec, Op::Write, SimSpan::ZERO);
    assert!((write - 12.4).abs() < 0.4, "{write} ms");
}

/// The simple model and the detailed one describe the same disk, so they agree where its buffer does
/// not matter.
#[test]
fn oracle_the_simple_model_of_the_2005_sata_drive_agrees_on_random_reads() {
    let simple = match Device::named("barracuda-7200.8") {
        Ok(Device::Mechanical(simple)) => simple,
        other => panic!("a simple disk, not {other:?}"),
    };
    let mut disk = Mechanism::new(&simple);
    let total = disk.sectors().get();
    let mut stream = Seed(1).stream("places");
    let (mut now, mut took) = (SimTime::ZERO, SimSpan::ZERO);
    for _ in 0..20_000 {
        let lbn = Sectors(stream.below(total - 8));
        let finish = disk.serve(now, Op::Read, lbn, Sectors(8));
        took += finish - now;
        now = finish + SimSpan::from_ms(20);
    }
    let simple = took.as_ms_f64() / 20_000.0;
    let detailed = random(&device("sata-7200-2005.toml"), Op::Read, SimSpan::from_ms(20));
    assert!((simple / detailed - 1.0).abs() < 0.02, "{simple} and {detailed} ms");
}

#[test]
fn published_figures_of_the_enterprise_fc_drive() {
    let spec = device("fc-15k-2008.toml");
    // read 3.1 and write 3.6 ms of seek, half a turn 2 ms, command 0.1, transfer 0.04
    let read = random(&spec, Op::Read, SimSpan::from_ms(10));
    assert!((read - 5.2).abs() < 0.2, "{read} ms");
    let write = random(&spec, Op::Write, SimSpan::from_ms(10));
    assert!((write - 5.7).abs() < 0.2, "{write} ms");
    let rate = sequential(&spec, Op::Read) / 1e6;
    // 125 at the edge, 79 at the hub
    assert!((rate - 102.0).abs() < 3.0, "{rate} MB/s");
}
