//! Profiles of solid-state drives and arrays.

use foretell_scenarios::device::{Array, Device, Level, Order, Precondition, Ssd, Tolerance};
use foretell_scenarios::{Document, ScenarioErrors, curves_file};
use foretell_units::{Bytes, Op, Rate, SimSpan};

const CLUSTER: &str = r#"
duration = "1 s"
[node.brick]
cpu = "pentium4-2.6"
cache = { size = "64 MiB" }
[client.app]
cpu = "xeon-p4-3.0"
[volume.v]
size = "1 GiB"
nodes = "brick"
encoding = "1-of-1"
[workload.w]
volume = "v"
client = "app"
kind = "ssio"
reads = 0.5
"#;

/// A cluster with one disk of the device `name`, and a profile in it.
fn with(name: &str, profile: &str) -> Result<Device, ScenarioErrors> {
    let text = CLUSTER
        .replace("[client.app]", &format!("disk = [{{ device = \"{name}\" }}]\n[client.app]"));
    let document = Document::parse("t.toml", &format!("{text}\n{profile}"), "").unwrap();
    let scenario = document.check()?;
    Ok(scenario.hosts[0].role.storage().unwrap().disks[0].device.clone())
}

fn ssd(name: &str, profile: &str) -> Ssd {
    match with(name, profile).unwrap_or_else(|errors| panic!("{errors}")) {
        Device::Ssd(ssd) => ssd,
        other => panic!("{other:?}"),
    }
}

fn array(name: &str, profile: &str) -> Array {
    match with(name, profile).unwrap_or_else(|errors| panic!("{errors}")) {
        Device::Array(array) => *array,
        other => panic!("{other:?}"),
    }
}

const PLAIN: &str =
    "[device.plain]\nkind = \"ssd\"\nsource = \"test\"\ncapacity = \"476.16 GiB\"\n";

#[test]
fn endurance_is_a_size_or_drive_writes_per_day() {
    assert_eq!(ssd("plain", PLAIN).endurance, None);
    let of = |keys: &str| ssd("plain", &format!("{PLAIN}{keys}\n")).endurance;
    assert_eq!(of("endurance = \"6160 TB\""), Some(Bytes(6_160_000_000_000_000)));
    // 476.16 GiB times 3 times 365.25 days times 5 years
    let capacity = 476.16 * f64::from(1 << 30);
    let daily = of("drive_writes_per_day = 3").unwrap().get() as f64;
    assert!((daily / (capacity * 3.0 * 365.25 * 5.0) - 1.0).abs() < 1e-9);
    let three = of("drive_writes_per_day = 3\nwarranty_years = 3").unwrap().get() as f64;
    assert!((three / daily - 0.6).abs() < 1e-9);
    let both = format!("{PLAIN}endurance = \"1 TB\"\ndrive_writes_per_day = 1\n");
    let found = with("plain", &both).unwrap_err().to_string();
    assert!(found.contains("say the same; give one of them"), "{found}");
}

#[test]
fn a_motor_has_a_tolerance() {
    let tolerance = |keys: &str| match with("d", &format!("{SPINDLE}{keys}\n")) {
        Ok(Device::Mechanical(disk)) => Ok(disk.rpm_tolerance),
        Ok(other) => panic!("{other:?}"),
        Err(errors) => Err(errors.to_string()),
    };
    assert_eq!(tolerance(""), Ok(Tolerance::USUAL));
    // 0.2 % of 8,333,333 ns
    assert_eq!(tolerance("").unwrap().of(8_333_333), 16_666);
    assert_eq!(tolerance("rpm_tolerance = \"0.5%\""), Ok(Tolerance::share(0.005).unwrap()));
    assert_eq!(tolerance("rpm_tolerance = 0").unwrap().of(8_333_333), 0);
    let found = tolerance("rpm_tolerance = \"11%\"").unwrap_err();
    assert!(found.contains("within 10% of the nominal one"), "{found}");
}

const SPINDLE: &str = r#"
[device.d]
kind = "disk"
source = "test"
capacity = "250 GB"
rpm = 7200
cylinders = 100000
seek = { track_to_track = "0.8 ms", average = "8 ms", full_stroke = "15.2 ms" }
outer_rate = "65 MB/s"
inner_rate = "36 MB/s"
overhead = "0.2 ms"
"#;

#[test]
fn defaults_are_those_of_mqsim() {
    let drive = ssd("mqsim-default", "");
    assert_eq!(ssd("plain", PLAIN), drive);
    // 8 * 4 * 2 dies; 2048 blocks of 2 planes * 256 pages of 8 KiB: 512 GiB
    assert_eq!((drive.all_dies(), drive.blocks_per_plane()), (64, 2048));
    assert_eq!((drive.entries_per_block(), drive.flash()), (512, Bytes::gib(512)));
    assert_eq!(drive.read, SimSpan::from_us(75));
    assert_eq!(drive.program, SimSpan::from_us(750));
    assert_eq!(drive.erase, SimSpan::from_us(3800));
    assert_eq!(drive.channel_rate, Rate::bytes_per_s(333_000_000));
    assert_eq!(drive.precondition, Precondition::Random);
}

#[test]
fn shipped_drives_have_the_flash_that_their_files_say() {
    // 2 TB are 91.85 % of 2028 blocks of 64 dies * 2 planes * 8 MiB, 1 % less than 2 TiB
    let nvme = ssd("nvme-3gbs", "");
    assert_eq!((nvme.flash(), nvme.blocks_per_plane()), (Bytes::gib(2028), 2028));
    // 960 GB are 86.7 % of 2063 blocks of 32 dies * 2 planes * 8 MiB, 0.7 % more than 1 TiB
    let sata = ssd("sata-ssd", "");
    assert_eq!((sata.flash(), sata.blocks_per_plane()), (Bytes::mib(512) * 2063, 2063));
    assert!(!sata.duplex && nvme.duplex);
}

#[test]
fn an_array_holds_what_its_data_members_hold() {
    let server = array("ds8700-raid5", "");
    assert_eq!((server.level, server.members), (Level::Raid5, 7));
    assert_eq!(server.level.data_members(server.members), 6);
    // 146.8 GB hold 559 997 whole units of 256 KiB
    assert_eq!(server.capacity(), Bytes::kib(256) * 559_997 * 6);
    let cache = server.cache.unwrap();
    let write = cache.write.unwrap();
    assert_eq!((cache.size, write.size), (Bytes::gib(50), Bytes::gib(2)));
    // 90 % and 80 % of 2 GiB
    assert_eq!((write.high, write.low), (Bytes(1_932_735_283), Bytes(1_717_986_918)));
    let small = |level: &str, members: u32| {
        let profile = format!(
            "[device.small]\nkind = \"array\"\nsource = \"test\"\nlevel = \"{level}\"\n\
             members = {members}\ndevice = \"sata-ssd\"\nstripe_unit = \"1024 kB\"\n"
        );
        array("small", &profile).capacity()
    };
    // 960 GB are 937 500 units of 1 024 000 B
    assert_eq!(small("raid0", 4), Bytes(3_840_000_000_000));
    assert_eq!(small("raid1", 4), Bytes(960_000_000_000));
    assert_eq!(small("raid10", 4), Bytes(1_920_000_000_000));
    assert_eq!(small("raid5", 4), Bytes(2_880_000_000_000));
}

#[test]
fn a_change_reaches_into_a_profile() {
    let text = CLUSTER.replace("[client.app]", "disk = [\"mqsim-default\"]\n[client.app]");
    let mut document = Document::parse("t.toml", &text, "").unwrap();
    document.set("device.mqsim-default.channels", "16").unwrap();
    document.set("device.mqsim-default.over_provisioning", "28%").unwrap();
    let resolved = document.resolved().unwrap();
    let scenario = Document::parse("run.toml", &resolved, "").unwrap().check().unwrap();
    let device = &scenario.hosts[0].role.storage().unwrap().disks[0].device;
    let Device::Ssd(drive) = device else { panic!("{device:?}") };
    assert_eq!((drive.channels, drive.all_dies()), (16, 128));
    assert!((drive.over_provisioning - 0.28).abs() < 1e-12);
}

#[test]
fn a_resolved_array_brings_its_members() {
    let text = CLUSTER.replace("[client.app]", "disk = [\"ds8700-raid5\"]\n[client.app]");
    let document = Document::parse("t.toml", &text, "").unwrap();
    let resolved = document.resolved().unwrap();
    assert!(resolved.contains("[device.ds8700-raid5]"), "{resolved}");
    assert!(resolved.contains("[device.cheetah-15k]"), "{resolved}");
    let again = Document::parse("run.toml", &resolved, "nowhere").unwrap();
    assert_eq!(again.check().unwrap(), document.check().unwrap());
}

/// The error of a profile, a drive or an array, in which `from` is replaced by `to`.
fn wrong(profile: &str, from: &str, to: &str) -> String {
    assert!(profile.contains(from), "{from}");
    let errors = with("x", &profile.replace(from, to)).unwrap_err();
    let error = &errors.errors()[0];
    assert_eq!(errors.errors().len(), 1, "{errors}");
    format!("{} [{}]", error.message(), error.underlined().unwrap_or_default())
}

#[test]
fn impossible_drives_are_told_why() {
    let profile = "[device.x]\nkind = \"ssd\"\nsource = \"test\"\ncapacity = \"100 GB\"\n\
                   over_provisioning = \"7%\"\npage = \"16 KiB\"\nmapping = \"4 KiB\"\n\
                   buffer = \"8 MiB\"\n";
    let wrong = |from, to| wrong(profile, from, to);
    assert_eq!(wrong("16 KiB", "12 KiB"), "a flash page cannot be 12 KiB [\"12 KiB\"]");
    assert_eq!(
        wrong("4 KiB", "32 KiB"),
        "an entry of the mapping table cannot map 32 KiB [\"32 KiB\"]"
    );
    assert_eq!(
        wrong("8 MiB", "1 KiB"),
        "a buffer of 1 KiB does not hold the 4 KiB that one entry of the mapping table maps \
         [\"1 KiB\"]"
    );
    assert_eq!(wrong("7%", "100%"), "over-provisioning cannot be 100% of the flash [\"100%\"]");
    assert_eq!(wrong("7%", "107%"), "`107%` is not a share [\"107%\"]");
    // 64 dies * 2 planes * 4 MiB: 187 blocks hold the data; there are 202 with 7 %, 189 with 1 %
    assert_eq!(
        wrong("7%", "1%"),
        "a drive of 100 GB with 1% of over-provisioning has 2 spare blocks in each plane, \
         and needs 8 [\"1%\"]"
    );
    assert_eq!(
        wrong("100 GB", "100 TB"),
        "a mapping table of a drive of 100 TB would have more than 2^31 entries of \
         4 KiB [\"100 TB\"]"
    );
    assert_eq!(
        wrong("page = ", "channels = 256\nchips = 256\npage = "),
        "a drive of 131072 dies has more than 65536 [256]"
    );
    // 64 dies * 2 planes of blocks of 32 KiB: 4 TB / 0.93 / 4 MiB
    assert_eq!(
        wrong("\"100 GB\"", "\"4 TB\"\npages_per_block = 2"),
        "a drive of 4 TB would have 1025457 blocks in each plane of 64 dies, and they are more than \
         16777216 [2]"
    );
    assert_eq!(wrong("\"ssd\"", "\"sdd\""), "`device.x.kind` cannot be `sdd` [\"sdd\"]");
}

#[test]
fn impossible_arrays_are_told_why() {
    let profile = "[device.x]\nkind = \"array\"\nsource = \"test\"\nlevel = \"raid5\"\n\
                   members = 7\ndevice = \"cheetah-15k\"\nstripe_unit = \"64 KiB\"\n\
                   read_cache = \"1 GiB\"\nwrite_cache = \"64 MiB\"\ndestage_high = \"60%\"\n\
                   destage_low = \"50%\"\n";
    let wrong = |from, to| wrong(profile, from, to);
    assert_eq!(
        wrong("members = 7", "members = 2"),
        "an array of this level has 3 members or more, not 2 [2]"
    );
    assert_eq!(wrong("raid5", "raid10"), "the members of `raid10` form pairs, and 7 is odd [7]");
    assert_eq!(
        wrong("cheetah-15k", "ds8700-raid5"),
        "`ds8700-raid5` is an array, and cannot be a member of one [\"ds8700-raid5\"]"
    );
    assert_eq!(wrong("cheetah-15k", "x"), "`x` is an array, and cannot be a member of one [\"x\"]");
    assert_eq!(wrong("cheetah-15k", "cheeta"), "there is no device profile `cheeta` [\"cheeta\"]");
    assert_eq!(
        wrong("64 KiB", "1000 B"),
        "a stripe unit of 1000 B is not a whole number of sectors [\"1000 B\"]"
    );
    assert_eq!(
        wrong("64 KiB", "6 KiB"),
        "a stripe unit of 6 KiB is not a whole number of pages of 4 KiB [\"6 KiB\"]"
    );
    assert_eq!(
        wrong("64 KiB", "1 TiB"),
        "a stripe unit of 1 TiB is more than `cheetah-15k` holds [\"1 TiB\"]"
    );
    assert_eq!(
        wrong("\"1 GiB\"", "\"none\""),
        "a write cache keeps second copies of pages of the read cache, and `read_cache` is `none` \
         [\"64 MiB\"]"
    );
    assert_eq!(
        wrong("\"1 GiB\"", "\"32 MiB\""),
        "a read cache of 32 MiB does not hold all pages of the write cache [\"32 MiB\"]"
    );
    assert_eq!(wrong("\"64 MiB\"", "\"0 B\""), "memory of no size is written as `none` [\"0 B\"]");
    assert_eq!(
        wrong("\"50%\"", "\"70%\""),
        "destaging would end before it begins: `destage_low` is more than `destage_high` [\"70%\"]"
    );
}

const CURVES: &str = "[device.x]\nkind = \"curves\"\nsource = \"test\"\ncapacity = \"100 GB\"\n\
    [[device.x.curve]]\nop = \"read\"\nreads = 1\nblock = \"4 KiB\"\noutstanding = [1, 16]\n\
    latency = [\"90 us\", \"250 us\"]\n[[device.x.curve]]\norder = \"sequential\"\nop = \"write\"\n\
    reads = \"30%\"\nblock = \"64 KiB\"\noutstanding = [4]\nlatency = [\"1.5 ms\"]\n";

#[test]
fn latency_curves_are_read_and_written() {
    let Device::Curves(device) = with("x", CURVES).unwrap() else { panic!("it has curves") };
    assert_eq!((device.queue_depth, device.curves.len()), (65_535, 2));
    let [read, write] = &device.curves[..] else { panic!("two of them") };
    assert_eq!((read.order, read.op, read.block), (Order::Random, Op::Read, Bytes::kib(4)));
    assert_eq!(read.points, [(1, SimSpan::from_us(90)), (16, SimSpan::from_us(250))]);
    assert_eq!((write.order, write.reads), (Order::Sequential, 0.3));
    assert!(device.flush.is_zero());
    let device = foretell_scenarios::device::Curves { flush: SimSpan::from_us(1500), ..device };
    let text = curves_file::write(&device, "test", &["a note".to_owned()]);
    assert!(text.starts_with("# a note\nkind"));
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("y.toml");
    std::fs::write(&file, text).unwrap();
    assert_eq!(Device::named(file.to_str().unwrap()).unwrap(), Device::Curves(device));
}

#[test]
fn wrong_curves_are_refused() {
    let wrong = |from: &str, to: &str| {
        let profile = CURVES.replace(from, to);
        assert_ne!(profile, CURVES);
        with("x", &profile).unwrap_err().to_string()
    };
    let message = wrong("[1, 16]", "[1, 16, 32]");
    assert!(message.contains("2 latencies for 3 numbers of requests outstanding"), "{message}");
    let message = wrong("[1, 16]", "[16, 1]");
    assert!(message.contains("no numbers of requests outstanding"), "{message}");
    let message = wrong("[4]", "[0]");
    assert!(message.contains("no numbers of requests outstanding"), "{message}");
    let message = wrong("\"90 us\"", "\"0 us\"");
    assert!(message.contains("a latency cannot be zero"), "{message}");
    let same = "order = \"sequential\"\nop = \"write\"\nreads = \"30%\"\nblock = \"64 KiB\"";
    let message = wrong(same, "op = \"read\"\nreads = \"100%\"\nblock = \"4096 B\"");
    assert!(message.contains("a curve of random reads of 4 KiB"), "{message}");
}
