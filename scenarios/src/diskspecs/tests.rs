use std::io::{Error, ErrorKind};

use foretell_sorted::SortedMap;
use foretell_units::SimSpan;
use proptest::prelude::*;

use super::*;
use crate::drive::{Numbering, ReadAhead, SeekFormula, Sparing, Specification};

/// Files in memory.
struct Files(SortedMap<PathBuf, Vec<u8>>);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(name, text)| (name.into(), text.as_bytes().to_vec())).collect())
    }

    /// A whole description, with a piece of one file replaced.
    fn changed(file: &str, old: &str, new: &str) -> Self {
        let mut files = Self::new(&WHOLE);
        let text = files.0.get_mut(Path::new(file)).expect("the file is there");
        let before = String::from_utf8(text.clone()).expect("it is text");
        assert!(before.contains(old), "`{old}` is not in {file}");
        *text = before.replace(old, new).into_bytes();
        files
    }

    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        self.0.get(path).cloned().ok_or_else(|| Error::new(ErrorKind::NotFound, "no such file"))
    }

    fn import(&self, file: &str, disk: Option<&str>) -> Result<Import, ImportError> {
        import(Path::new(file), disk, &|path| self.read(path))
    }

    fn specification(&self) -> Specification {
        let import = self.import("d/a.parv", None).unwrap_or_else(|error| panic!("{error}"));
        import.drive.specification().clone()
    }

    fn error(&self) -> String {
        self.import("d/a.parv", None).unwrap_err().to_string()
    }
}

/// A small, invented drive.
const WHOLE: [(&str, &str); 4] = [
    (
        "d/a.parv",
        "# buses, then the disk
disksim_bus BUS0 { type = 1, Read block transfer time = 0.9, Write block transfer time = 0.9 }
disksim_bus BUS1 {
   type = 1, # the disk's own
   Arbitration time = 0.0,
   Read block transfer time = 0.02,
   Write block transfer time = 0.03
}
disksim_ctlr CTLR0 { type = 1, Scale for delays = 0.0, Bulk sector transfer time = 0.0 }
source a.diskspecs
instantiate [ bus0 ] as BUS0
instantiate [ bus1 ] as BUS1
instantiate [ ctlr0 ] as CTLR0
instantiate [ disk0 .. disk3 ] as A
topology disksim_iodriver driver0 [
   disksim_bus bus0 [ disksim_ctlr ctlr0 [ disksim_bus bus1 [ disksim_disk disk0 [] ] ] ]
]
",
    ),
    (
        "d/a.diskspecs",
        "disksim_disk A {
   Model = source a.model,
   Time scale for overheads = 2.0,
   Bulk sector transfer time = 0.025,
   Hold bus entire read xfer = 1,
   Max queue length = 1,
   Number of buffer segments = 4,
   Segment size (in blks) = 128,
   Enable caching in buffer = 1,
   Buffer continuous read = 3,
   Maximum read-ahead (blks) = 100,
   Read-ahead over requested = 0,
   Fast write level = 2,
   High (read) water mark = 0.75,
   Set watermark by reqsize = 1,
   Read miss over. after read = 0.25,
   Read miss over. after write = 0.5
}
",
    ),
    (
        "d/a.model",
        "dm_disk A_model {
   Number of data surfaces = 2,
   Number of cylinders = 30,
   Block count = 5800,
   Layout Model = dm_layout_g1 {
      LBN-to-PBN mapping scheme = 1,
      Sparing scheme used = 8,
      Rangesize for sparing = 5,
      Zones = [
         dm_layout_g1_zone {
            First cylinder number = 0, Last cylinder number = 19, Blocks per track = 120,
            Offset of first block = 3.9, Skew for track switch = 10.0,
            Skew for cylinder switch = 20.0, Number of spares = 7,
            slips = [ 12, 600 ], defects = [ 5, 4000 ]
         },
         dm_layout_g1_zone {
            First cylinder number = 20, Last cylinder number = 29, Blocks per track = 80,
            Skew units = revolutions,
            Offset of first block = 0.5, Skew for track switch = 0.25,
            Skew for cylinder switch = 0.125, Number of spares = 0,
            slips = [], defects = []
         }
      ]
   },
   Mechanical Model = dm_mech_g1 {
      Access time type = trackSwitchPlusRotation,
      Seek type = extracted,
      Full seek curve = a.seek,
      Add. write settling delay = -0.25,
      Head switch time = 0.5,
      Rotation speed (in rpms) = 7200,
      Percent error in rpms = 0.0
   }
}
",
    ),
    ("d/a.seek", "Seek distances measured: 3\n1,\t1.0\n10, 2.0\n29,\t3.9, 0.1\n"),
];

#[test]
fn reads_a_whole_description() {
    let spec = Files::new(&WHOLE).specification();
    assert_eq!(
        spec.source,
        "DiskSim's description of A, imported from a.parv, a.diskspecs, a.model, a.seek"
    );
    assert_eq!((spec.rpm, spec.write_settle_ns), (7200, -250_000));
    assert_eq!(spec.head_switch, SimSpan::from_us(500));
    let geometry = &spec.geometry;
    assert_eq!(
        (geometry.numbering, geometry.sparing),
        (Numbering::SerpentineByZone, Sparing::Range(5))
    );
    let [outer, inner] = &geometry.zones[..] else { panic!("two zones") };
    // a skew in sectors is truncated to whole sectors; one in revolutions is a share of the track
    assert_eq!((outer.first_sector, outer.track_skew, outer.cylinder_skew), (3.0, 10.0, 20.0));
    assert_eq!((inner.first_sector, inner.track_skew, inner.cylinder_skew), (40.0, 20.0, 10.0));
    assert_eq!((&outer.slips[..], &outer.defects[..]), (&[12, 600][..], &[(5, 4000)][..]));
    // 20 cylinders of 240 sectors less 4 ranges of 7 spares, 10 cylinders of 160
    assert_eq!(spec.sectors_in(outer), 4800 - 28);
    assert_eq!(spec.sectors_in(inner), 1600);
    // the slowest of disk, its bus and its controller; the bus above has no effect
    assert_eq!(spec.bus.read_sector, SimSpan::from_us(25));
    assert_eq!(spec.bus.write_sector, SimSpan::from_us(30));
    assert!(spec.bus.held_by_reads);
    // twice the figures, because of the scale
    assert_eq!(spec.overhead.read_miss.read, SimSpan::from_us(500));
    assert_eq!(spec.overhead.read_miss.write, SimSpan::from_ms(1));
    assert_eq!((spec.cache.segments, spec.cache.read_ahead), (4, ReadAhead::Segment));
    // interpolated, and extended by the last two points
    assert_eq!(spec.seek.time(5), SimSpan::from_ns(1_444_444));
    assert_eq!(spec.seek.time(30), SimSpan::from_ms(4));
}

#[test]
fn notes_what_differs() {
    let import = Files::new(&WHOLE).import("d/a.parv", None).unwrap();
    assert_eq!(
        import.notes,
        ["`Block count` is 5800, the zones hold 6372; as in DiskSim, the zones count"]
    );
    let files = Files::changed("d/a.diskspecs", "Max queue", "Preseeking level = 2, Max queue");
    let notes = files.import("d/a.parv", None).unwrap().notes;
    assert!(notes[0].contains("`Preseeking level` = 2"), "{notes:?}");
}

#[test]
fn a_drive_that_never_leaves_the_bus_does_not_take_it_again() {
    let text = "First reselect overhead = 0.5, Write disconnect overhead = 0.25, Max queue";
    let spec = Files::changed("d/a.diskspecs", "Max queue", text).specification();
    // twice the figures, because of the scale
    assert_eq!(spec.overhead.first_reselect, SimSpan::from_ms(1));
    assert_eq!(spec.overhead.write_disconnect, SimSpan::from_us(500));
    let text = &format!("Never disconnect = 1, {text}");
    let spec = Files::changed("d/a.diskspecs", "Max queue", text).specification();
    assert!(spec.bus.held_by_reads && spec.overhead.first_reselect.is_zero());
    assert!(spec.overhead.write_disconnect.is_zero());
}

#[test]
fn a_fourth_column_of_seek_times_is_noted() {
    let files = Files::changed("d/a.seek", "29,\t3.9, 0.1", "29,\t3.9, 0.1, 4.2");
    let notes = files.import("d/a.parv", None).unwrap().notes;
    assert!(notes[0].starts_with("the fourth column of d/a.seek is left out"), "{notes:?}");
}

#[test]
fn refuses_what_it_does_not_know_by_name() {
    let case = |file: &str, old: &str, new: &str, wanted: &str| {
        let found = Files::changed(file, old, new).error();
        assert!(found.contains(wanted), "{found}\nlacks\n{wanted}");
    };
    let model = "d/a.model";
    case(model, "dm_layout_g1 {", "dm_layout_g2 {", "only `dm_layout_g1` (zones) is supported");
    case(
        model,
        "= trackSwitchPlusRotation",
        "= averageRotation",
        "`Access time type` is `averageRotation`; it must be `trackSwitchPlusRotation`",
    );
    case(model, "used = 8", "used = 11", "`Sparing scheme used` is 11; it must be 0 to 10");
    case(
        model,
        "scheme = 1",
        "scheme = 3",
        "`LBN-to-PBN mapping scheme` is 3; it must be 0, 1 or 2",
    );
    let disk = "d/a.diskspecs";
    case(disk, "buffer = 1", "buffer = 3", "`Enable caching in buffer` is 3; it must be 0, 1 or 2");
    case(disk, "read = 3", "read = 5", "`Buffer continuous read` is 5; it must be 0 to 4");
    case(disk, "Model = source a.model", "Model = 3", "`Model` is a block");
}

#[test]
fn reads_every_seek_type() {
    let seek = |text: &str| {
        let old = "Seek type = extracted,\n      Full seek curve = a.seek";
        let files = Files::changed("d/a.model", old, text);
        files.import("d/a.parv", None).map(|import| import.drive.specification().seek.clone())
    };
    let ms = SimSpan::from_ms_f64;
    let constant = seek("Seek type = constant, Constant seek time = 5").unwrap();
    assert_eq!((constant.time(1), constant.time(29)), (ms(5.0), ms(5.0)));
    let three =
        "Single cylinder seek time = 1.0, Average seek time = 2.0, Full strobe seek time = 3.0";
    // 1, a third of 30, and 29 cylinders
    let linear = seek(&format!("Seek type = linear, {three}")).unwrap();
    assert_eq!((linear.time(1), linear.time(10), linear.time(29)), (ms(1.0), ms(2.0), ms(3.0)));
    let curve = seek(&format!("Seek type = curve, {three}")).unwrap();
    assert!(matches!(curve.beyond, Some(SeekFormula::Lee { single_ms: 1.0, .. })));
    assert_eq!(curve.time(1), ms(1.0));
    let hpl = "HPL seek equation values = [ 16, 2.0, 0.5, 3.0, 0.1, -1.0 ]";
    let plain = seek(&format!("Seek type = hpl, {hpl}")).unwrap();
    // below the division point 2 + 0.5·√9, at it 3 + 0.1·16
    assert_eq!((plain.time(9), plain.time(16)), (ms(3.5), ms(4.6)));
    let first = "First ten seek times = [ 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0 ]";
    let ten = seek(&format!("Seek type = hplplus10, {hpl}, {first}")).unwrap();
    assert_eq!((ten.time(9), ten.time(10), ten.time(16)), (ms(1.9), ms(2.0), ms(4.6)));
    let error = seek("Seek type = guessed").unwrap_err().to_string();
    assert!(
        error.starts_with("d/a.model:27: `Seek type` is `guessed`; it must be `extracted`"),
        "{error}"
    );
}

#[test]
fn a_block_takes_over_from_the_block_that_it_names_as_its_type() {
    let mut files = Files::new(&WHOLE);
    let text = "source a.diskspecs\nA B { Max queue length = 4, Number of buffer segments = 9 }";
    files.0.insert("d/b.diskspecs".into(), text.into());
    let import = files.import("d/b.diskspecs", Some("B")).unwrap();
    let spec = import.drive.specification();
    assert_eq!((spec.queue_depth, spec.cache.segments, spec.cache.segment.get()), (4, 9, 128));
    let error = files.import("d/b.diskspecs", None).unwrap_err().to_string();
    assert_eq!(error, "d/b.diskspecs: there are several disks, `A`, `B`; name one");
    let error = files.import("d/b.diskspecs", Some("C")).unwrap_err().to_string();
    assert_eq!(error, "d/b.diskspecs: there is no disk `C`; there are `A`, `B`");
}

#[test]
fn begins_at_any_file_of_the_description() {
    let files = Files::new(&WHOLE);
    let whole = files.import("d/a.parv", None).unwrap();
    let disk = files.import("d/a.diskspecs", None).unwrap();
    assert_eq!(disk.drive.specification().bus, whole.drive.specification().bus);
    assert!(disk.notes.iter().any(|note| note.contains("a.parv")), "{:?}", disk.notes);
    let model = files.import("d/a.model", None).unwrap();
    assert_eq!(model.drive.specification().geometry, whole.drive.specification().geometry);
    assert!(!model.drive.specification().cache.enabled);
}

#[test]
fn names_file_and_line_of_a_fault() {
    let case = |file: &str, old: &str, new: &str, wanted: &str| {
        let found = Files::changed(file, old, new).error();
        assert!(found.contains(wanted), "{found}\nlacks\n{wanted}");
    };
    let disk = "d/a.diskspecs";
    case(
        disk,
        "Max queue length = 1,",
        "Max queue length = 1",
        "d/a.diskspecs:7: `,` or `}` was expected, `Number` was found",
    );
    case(disk, "0.025", "much", "d/a.diskspecs:4: `Bulk sector transfer time` is a number");
    case(
        disk,
        "= 128",
        "= -128",
        "d/a.diskspecs:8: `Segment size (in blks)` is -128, which is out of its range",
    );
    case(
        disk,
        "Number of buffer segments = 4,",
        "",
        "d/a.diskspecs:1: `A` lacks the parameter `Number of buffer segments`",
    );
    case(
        disk,
        "level = 2",
        "level = 3",
        "d/a.diskspecs:13: `Fast write level` is 3; it must be 0, 1 or 2",
    );
    case(
        disk,
        "source a.model",
        "source b.model",
        "d/a.diskspecs:2: `source d/b.model` cannot be read: no such file",
    );
    case(
        "d/a.model",
        "[ 12, 600 ]",
        "[ 12, 6000 ]",
        "`slips` or `defects` of zone 0: 6000 was found; the zone ends before 4800",
    );
    case(
        "d/a.model",
        "dm_layout_g1 {",
        "dm_layout_g4 {",
        "d/a.model:5: the layout is `dm_layout_g4`, which lists the order of tracks one by one; only \
         `dm_layout_g1` (zones) is supported",
    );
    case(
        "d/a.model",
        "= -0.25",
        "= [ 1 ]",
        "d/a.model:29: `Add. write settling delay` is a number",
    );
    case(
        "d/a.seek",
        "10, 2.0",
        "ten, 2.0",
        "d/a.seek:3: `ten, 2.0` is not a distance in cylinders and a time in ms",
    );
    case(
        "d/a.parv",
        "a.diskspecs",
        "a.parv",
        "would be file number 65; a file that sources itself never ends",
    );
    case("d/a.parv", "as BUS0", "is BUS0", "d/a.parv:11: `as` was expected, `is` was found");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut files = Files::new(&WHOLE);
        files.0.insert("d/a.parv".into(), bytes);
        let _ = files.import("d/a.parv", None);
    }

    #[test]
    fn no_words_and_marks_make_the_reader_panic(
        words in proptest::collection::vec(
            prop_oneof![
                Just("{"), Just("}"), Just("["), Just("]"), Just(","), Just("="), Just(".."),
                Just("source"), Just("a.parv"), Just("a.model"), Just("instantiate"), Just("as"),
                Just("topology"), Just("disksim_disk"), Just("dm_disk"), Just("A"), Just("Model"),
                Just("7"), Just("-1.5e3"), Just("0x1f"), Just("#x\n"), Just("\n"), Just("zones"),
            ],
            0..60,
        ),
    ) {
        let mut files = Files::new(&WHOLE);
        files.0.insert("d/a.parv".into(), words.join(" ").into_bytes());
        let _ = files.import("d/a.parv", None);
    }

    #[test]
    fn no_change_of_a_description_makes_the_reader_panic(
        file in 0_usize..4,
        place in 0.0_f64..1.0,
        removed in 0_usize..30,
        put in prop_oneof![
            Just(""), Just("0"), Just("-1"), Just("1e300"), Just("99999999999999999999"), Just("}"),
            Just("]"), Just("{"), Just(", x = 1"), Just("4294967295"), Just("9223372036854775807"),
        ],
    ) {
        let mut files = Files::new(&WHOLE);
        let text = files.0.get_mut(Path::new(WHOLE[file].0)).expect("it is there");
        let from = (text.len() as f64 * place) as usize;
        let to = (from + removed).min(text.len());
        text.splice(from..to, put.bytes());
        let _ = files.import("d/a.parv", None);
    }
}

#[test]
fn an_open_block_is_named() {
    let files = Files::changed("d/a.diskspecs", "after write = 0.5\n}", "after write = 0.5\n");
    let error = files.import("d/a.diskspecs", None).unwrap_err().to_string();
    assert_eq!(error, "d/a.diskspecs:19: `,` or `}` was expected, the end of the file was found");
    let files = Files::changed("d/a.diskspecs", "after write = 0.5\n}", "after write = 0.5,\n");
    let error = files.import("d/a.diskspecs", None).unwrap_err().to_string();
    assert!(error.ends_with("the block `A` that begins on line 1 is not closed by `}`"), "{error}");
}

#[test]
fn a_file_that_is_cut_off_is_blamed_itself() {
    let mut files = Files::new(&WHOLE);
    let model = files.0.get_mut(Path::new("d/a.model")).unwrap();
    // after `Sparing scheme used =` on line 7; the innermost open `{` is on line 5
    let cut = model.windows(6).position(|piece| piece == b"used =").unwrap() + 6;
    model.truncate(cut);
    assert_eq!(files.error(), "d/a.model:7: the file ends before what begins on line 5 is closed");
}

#[test]
fn depth_and_repetition_are_bounded() {
    for text in ["A B { x = ".repeat(10_000), "[".repeat(100_000), "a b [ ".repeat(50_000)] {
        let mut files = Files::new(&WHOLE);
        files.0.insert("d/a.parv".into(), text.into_bytes());
        assert!(files.import("d/a.parv", None).is_err());
    }
    // each level assigns its value to two parameters
    let nested =
        "A B { [x, y] = ".to_owned() + &"C { [x, y] = ".repeat(25) + "1" + &" }".repeat(26);
    let mut files = Files::new(&WHOLE);
    files.0.insert("d/a.parv".into(), nested.into_bytes());
    assert!(files.import("d/a.parv", None).is_err());
}
