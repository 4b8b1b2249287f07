//! Changes by path: their targets, their meaning, and the messages for wrong ones.

use std::path::Path;

use foretell_scenarios::model::{
    Arrivals, Cipher, Layout, NetworkModel, Pattern, Scenario, Scheduler, Switch, Think,
    WorkloadKind,
};
use foretell_scenarios::{Change, Document};
use foretell_units::{Bytes, HostId, SimSpan};

const GOOD: &str = include_str!("good.toml");

fn document() -> Document {
    Document::parse("s.toml", GOOD, "").unwrap()
}

/// The scenario with changes made in turn.
fn with(changes: &[&str]) -> Scenario {
    let mut document = document();
    for change in changes {
        let change: Change = change.parse().unwrap();
        document
            .set(&change.path, &change.value)
            .unwrap_or_else(|errors| panic!("{}", errors.lines()));
    }
    document.check().unwrap_or_else(|errors| panic!("{}", errors.lines()))
}

/// The error message for the last of the changes, from the change itself or from the following check.
fn refused(changes: &[&str]) -> String {
    let mut document = document();
    for change in changes {
        let change: Change = change.parse().unwrap();
        if let Err(errors) = document.set(&change.path, &change.value) {
            return errors.lines();
        }
    }
    document.check().expect_err("the change is wrong").lines()
}

#[test]
fn a_bare_value_is_what_the_key_takes() {
    let mail = |change: &str| with(&[change]).volumes[0].clone();
    assert_eq!(
        (mail("volume.mail.encoding=3-of-5").m(), mail("volume.mail.encoding=3-of-5").n()),
        (3, 5)
    );
    assert_eq!(mail("volume.mail.encoding=\"3-of-5\"").m(), 3);
    assert_eq!(mail("volume.mail.size=1 GiB").size, Bytes::gib(1));
    assert_eq!(mail("volume.mail.cipher=none").cipher, Cipher::None);
    let nodes: Vec<_> = (3..8).map(HostId).collect();
    assert_eq!(mail("volume.mail.nodes=brick[3-7]").nodes, nodes);
    assert_eq!(mail("volume.mail.nodes=\"brick[3-7]\"").nodes, nodes);
    assert_eq!(mail("volume.mail.nodes=[\"brick[3-6]\", \"brick7\"]").nodes, nodes);
    assert_eq!(mail("volume.mail.write_quorum=2").write_quorum, 2);
    assert_eq!(mail("volume.mail.write_quorum=all").write_quorum, 3);
    assert_eq!(with(&["seed=7"]).seed.0, 7);
    assert_eq!(with(&[" duration = 2 s "]).duration, Some(SimSpan::from_secs(2)));
    assert_eq!(with(&["tracking.types=disk_op, request"]).tracking.kinds, ["disk_op", "request"]);
    assert_eq!(with(&[]).tracking.cost, None);
    assert!(with(&["tracking.overhead=true"]).tracking.cost.is_some());
}

#[test]
fn optional_keys_are_created_and_taken_away() {
    let arrivals = |changes: &[&str]| with(changes).workloads[0].arrivals;
    let think = Think::Exponential(SimSpan::from_ms(10));
    let set = "workload.mail.think=exponential 10 ms";
    assert_eq!(arrivals(&[set]), Arrivals::Closed { outstanding: 1, think });
    let fixed = Think::Fixed(SimSpan::ZERO);
    assert_eq!(
        arrivals(&[set, "workload.mail.think="]),
        Arrivals::Closed { outstanding: 1, think: fixed }
    );
    // a table that is missing in the document
    assert_eq!(with(&["switch.port_buffer=1 MiB"]).switch.port_buffer, Bytes::mib(1));
}

#[test]
fn a_path_into_a_group_changes_all_its_hosts() {
    let scenario = with(&["node.brick.cache.size=1 GiB", "node.brick.cpu.cores=2"]);
    for host in &scenario.hosts[..8] {
        assert_eq!(host.role.storage().unwrap().cache.size, Bytes::gib(1));
        assert_eq!(host.cpu.cores, 2);
    }
    assert_eq!(with(&["node.brick.count=5"]).hosts.len(), 7);
    assert_eq!(with(&["node.brick.cpu=xeon-2023"]).hosts[0].cpu.name, "xeon-2023");
}

#[test]
fn a_path_into_one_host_changes_that_host() {
    for path in ["node.brick3", "node.brick[3]", "host.brick3"] {
        let scenario = with(&[&format!("{path}.nic.rate=100 Mbit/s")]);
        for (number, host) in scenario.hosts.iter().enumerate() {
            let mbit = if number == 3 { 100 } else { 1000 };
            assert_eq!(host.nic.rate.as_bits_per_s(), mbit * 1_000_000, "{path}: {}", host.name);
        }
    }
    let scenario = with(&["client.app1.cpu=xeon-2023", "node.brick3.cache.size=64 MiB"]);
    assert_eq!(scenario.hosts[9].cpu.name, "xeon-2023");
    assert_eq!(scenario.hosts[3].role.storage().unwrap().cache.size, Bytes::mib(64));
    // a guest of its own is laid over the group's
    let guests = ["client.app.guest.queue_depth=8", "client.app1.guest.scheduler=noop"];
    let scenario = with(&guests);
    let of = |host: usize| scenario.hosts[host].guest.as_ref().unwrap();
    assert_eq!([of(8).queue_depth, of(9).queue_depth], [8, 8]);
    assert_eq!([of(8).scheduler.name(), of(9).scheduler.name()], ["cfq", "noop"]);
    // a later change of the group's value does not affect it
    let scenario = with(&["node.brick3.cache.size=64 MiB", "node.brick.cache.size=1 GiB"]);
    assert_eq!(scenario.hosts[3].role.storage().unwrap().cache.size, Bytes::mib(64));
    // an override can be removed
    let scenario = with(&["node.brick3.nic.rate=100 Mbit/s", "host.brick3=none"]);
    assert_eq!(scenario.hosts[3].nic, scenario.hosts[0].nic);
}

#[test]
fn elements_of_lists_have_numbers() {
    for path in ["node.brick.disk.0", "node.brick.disk[0]"] {
        let scenario =
            with(&[&format!("{path}.device=cheetah-15k"), &format!("{path}.scheduler=sstf")]);
        let disk = &scenario.hosts[0].role.storage().unwrap().disks[0];
        assert_eq!((disk.device_name.as_str(), disk.scheduler), ("cheetah-15k", Scheduler::Sstf));
    }
    let disks = |changes: &[&str]| -> Vec<Vec<String>> {
        let scenario = with(changes);
        let of = |host: usize| {
            let storage = scenario.hosts[host].role.storage().unwrap();
            storage.disks.iter().map(|disk| disk.device_name.clone()).collect()
        };
        vec![of(0), of(1)]
    };
    let (old, new) = ("barracuda-7200.8".to_owned(), "cheetah-15k".to_owned());
    // of one host: the others keep their disk, and what is not changed is as in the group
    assert_eq!(
        disks(&["node.brick1.disk[0].device=cheetah-15k"]),
        [vec![old.clone()], vec![new.clone()]]
    );
    // a bare list, an element, and a list of tables
    assert_eq!(
        disks(&["node.brick.disk=cheetah-15k, barracuda-7200.8"])[0],
        [new.clone(), old.clone()]
    );
    assert_eq!(disks(&["node.brick.disk[0]=cheetah-15k"])[0], std::slice::from_ref(&new));
    assert_eq!(
        disks(&["node.brick.disk=[{device=\"cheetah-15k\",count=2}]"])[0],
        [new.clone(), new]
    );
}

#[test]
fn entries_are_added_and_removed_whole() {
    let new = "workload.new={volume=\"mail\",client=\"app1\",kind=\"ssio\",reads=1}";
    let scenario = with(&[new, "workload.new.outstanding=8"]);
    assert_eq!(scenario.workloads.len(), 2);
    assert_eq!(scenario.workloads[1].name, "new");
    let scrubbed = "scrub={ rate = \"5 MB/s\" }";
    assert!(with(&[scrubbed]).scrub.is_some() && with(&[scrubbed, "scrub=none"]).scrub.is_none());
    let scenario = with(&[new, "workload.mail=none"]);
    assert_eq!((scenario.workloads.len(), scenario.workloads[0].name.as_str()), (1, "new"));
    let volume = "volume.web={size=\"1 GiB\",nodes=\"brick[5-7]\",encoding=\"1-of-2\"}";
    let scenario = with(&[volume, "workload.mail.volume=web", "volume.mail="]);
    assert_eq!((scenario.volumes.len(), scenario.volumes[0].name.as_str()), (1, "web"));
    // a volume that is still in use
    assert_eq!(refused(&["volume.mail=none"]), "s.toml:22:10: there is no volume `mail`");
}

#[test]
fn what_a_change_makes_meaningless_goes() {
    let poisson = ["workload.mail.arrivals=poisson", "workload.mail.rate=200/s"];
    let mut document = Document::parse(
        "s.toml",
        &GOOD.replace("reads = 0.5", "reads = 0.5\noutstanding = 4\nthink = \"1 ms\""),
        "",
    )
    .unwrap();
    for change in poisson {
        let change: Change = change.parse().unwrap();
        document.set(&change.path, &change.value).unwrap();
    }
    let arrivals = document.check().unwrap().workloads[0].arrivals;
    assert_eq!(arrivals, Arrivals::Poisson { rate_rps: 200.0 });
    // but not keys that were changed as well: these contradict each other
    let message = refused(&["workload.mail.outstanding=4", poisson[0], poisson[1]]);
    assert_eq!(
        message,
        "in `--set workload.mail.outstanding=4`: `workload.mail.outstanding` would have no effect: \
         `arrivals` is `poisson`; leave it out, or set `arrivals = \"closed\"`"
    );
    let scenario = with(&["workload.mail.pattern=strided", "workload.mail.step=64 KiB"]);
    let WorkloadKind::Ssio { pattern, .. } = scenario.workloads[0].kind else { panic!("an ssio") };
    assert_eq!(pattern, Pattern::Strided { step: Bytes::kib(64) });
}

#[test]
fn a_resolved_scenario_takes_changes_as_the_original_does() {
    let full = document().resolved().unwrap();
    for changes in [
        &["volume.mail.encoding=3-of-5"][..],
        &["volume.mail.block=24 KiB", "volume.mail.size=24 GiB"],
        &["node.brick.cache.size=1 GiB"],
        &["node.brick.nvram=64 MiB"],
        &["node.brick.layout=log-structured"],
        &["node.brick.cache.write=through"],
        &["workload.mail.arrivals=poisson", "workload.mail.rate=50"],
        &["workload.mail.pattern=zipf"],
        &["node.brick.disk.0.device=cheetah-15k"],
        &["node.brick2.cpu.cores=4"],
        &["tracking.overhead=true"],
        &["volume.mail.size=1 GiB"],
    ] {
        let mut again = Document::parse("run.toml", &full, "").unwrap();
        for change in changes {
            let change: Change = change.parse().unwrap();
            again
                .set(&change.path, &change.value)
                .unwrap_or_else(|errors| panic!("{}", errors.lines()));
        }
        assert_eq!(again.check().unwrap(), with(changes), "{changes:?}");
    }
    let scenario = with(&["node.brick.layout=log-structured"]);
    let layout = scenario.hosts[0].role.storage().unwrap().layout;
    assert_eq!(layout, Layout::LogStructured { segment: Bytes::kib(512) });
}

#[test]
fn names_with_dots_need_no_quotes() {
    for path in ["device.barracuda-7200.8.rpm", "device.\"barracuda-7200.8\".rpm"] {
        // the profile is not in the scenario, so a change puts it there
        let scenario = with(&[&format!("{path}=10000")]);
        let storage = scenario.hosts[0].role.storage().unwrap();
        let foretell_scenarios::device::Device::Mechanical(disk) = &storage.disks[0].device else {
            panic!("a disk of the simple kind");
        };
        assert_eq!(disk.rpm, 10_000, "{path}");
    }
    let scenario = with(&["cpu.pentium4-2.6.cores=2"]);
    assert_eq!((scenario.hosts[0].cpu.cores, scenario.hosts[8].cpu.cores), (2, 1));
}

#[test]
fn a_wrong_value_is_shown_in_the_change() {
    let mut document = document();
    document.set("volume.mail.encoding", "3-of-2").unwrap();
    let errors = document.check().unwrap_err();
    let error = &errors.errors()[0];
    assert_eq!(error.text(), Some("--set volume.mail.encoding=3-of-2"));
    assert_eq!(error.underlined(), Some("3-of-2"));
    assert!(
        errors.lines().starts_with("in `--set volume.mail.encoding=3-of-2`: encoding `3-of-2`"),
        "{errors}"
    );
    // the change is blamed, not the value that it conflicts with
    document.set("volume.mail.encoding", "3-of-5").unwrap();
    let change = Change { path: "volume.mail.nodes".into(), value: "brick[0-2]".into() };
    document.apply("--what-if", &change).unwrap();
    document.set("volume.mail.encoding", "3-of-3").unwrap();
    document.check().unwrap();
    document.apply("--what-if", &change).unwrap();
    let mut document = self::document();
    document.apply("--what-if", &Change { value: "brick[0-1]".into(), ..change }).unwrap();
    let errors = document.check().unwrap_err();
    assert_eq!(errors.errors()[0].underlined(), Some("brick[0-1]"));
    assert_eq!(errors.errors()[0].file(), Some("--what-if"));
}

#[test]
fn a_change_hides_no_fault_of_the_file() {
    let text =
        GOOD.replace("seed = 42", "sead = 42").replace("reads = 0.5", "reads = 0.5\nthnik = 1");
    let mut document = Document::parse("s.toml", &text, "").unwrap();
    document.set("volume.mail.cipher", "none").unwrap();
    document.set("workload.mail.outstanding", "2").unwrap();
    let errors = document.check().unwrap_err();
    let underlined: Vec<_> = errors.errors().iter().map(|e| e.underlined().unwrap()).collect();
    assert_eq!(underlined, ["sead", "thnik"]);
    // keys of another kind are removed with the kind, but unknown keys are not
    document.set("workload.mail.kind", "trace").unwrap();
    let errors = document.check().unwrap_err().lines();
    assert!(errors.contains("thnik") && !errors.contains("reads"), "{errors}");
}

#[test]
fn a_refused_change_changes_nothing() {
    let mut document = document();
    let before = document.resolved().unwrap();
    assert!(document.set("volume.mail.cipher", "rot13").is_err());
    assert!(document.set("workload.new", "{volume=1}").is_err());
    assert!(document.set("node.brick3.disk[7].device", "x").is_err());
    assert_eq!(document.resolved().unwrap(), before);
}

/// Changes that are refused, with their messages.
const REFUSED: &[(&str, &str)] = &[
    ("volume.mial.encoding=3-of-5", "there is no volume `mial`; did you mean `volume.mail`?"),
    (
        "rate=4",
        "a scenario has no key `rate`; a path begins with the section and the name in it: \
             `node.brick.nic.rate`",
    ),
    ("volumes.mail.encoding=3-of-5", "a scenario has no key `volumes`; did you mean `volume`?"),
    (
        "volume.mail.encodign=3-of-5",
        "`volume.mail` has no key `encodign`; did you mean `encoding`?",
    ),
    (
        "volume.mail=3-of-5",
        "`volume.mail` is the text \"3-of-5\", and must be a table; for example \
             `mail = { size = \"512 MiB\", nodes = \"brick[0-4]\" }`",
    ),
    ("volume.mail.size.x=1", "`volume.mail.size` is a value, and has no parts"),
    (
        "volume={}",
        "`volume` is a section, and is not changed as a whole; add an entry, \
          `volume.NAME={ ... }`, take one away, `volume.NAME=none`, or change a key, \
          `volume.NAME.KEY=VALUE`",
    ),
    (
        "node.brick.disk[1].device=x",
        "`node.brick.disk` has 1 element; its only element is \
          `node.brick.disk[0]`",
    ),
    (
        "node.brick.disk.first.device=x",
        "`node.brick.disk` is a list, and `first` is not a number; \
          its only element is `node.brick.disk[0]`",
    ),
    ("node.brick9.nic.rate=1 Gbit/s", "there is no node `brick9`; did you mean `node.brick`?"),
    (
        "node.brick[9].nic.rate=1 Gbit/s",
        "there is no host `brick9`; `brick` has 8 hosts, \
          `brick0` to `brick7`",
    ),
    (
        "host.brick.nic.rate=1 Gbit/s",
        "there is no host `brick`; `brick` is a group; its hosts \
          have numbers, `brick0`",
    ),
    ("node.app0.nic.rate=1 Gbit/s", "`app0` is a client, not a node; write `client.app0`"),
    ("client.app0.cache.size=1 GiB", "`host.app0` has no `cache`: it is a client"),
    (
        "node.brick3=none",
        "`brick3` is one host of a group, and is not changed as a whole; \
          change one of its keys, `node.brick3.KEY=VALUE`, or the `count` of its group",
    ),
    ("workload.new.outstanding=8", "there is no workload `new`; there are `mail`."),
    (
        "workload.new=8",
        "there is no workload `new`; a new one is added whole, \
          `workload.new={ ... }`",
    ),
    (
        "workload.mail.file=x",
        "`workload.mail.file` would have no effect: `kind` is `ssio`; \
          `file` belongs to `kind = \"trace\"` or `kind = \"iozone\"` or `kind = \"ffsb\"` or `kind = \"fio\"` or \
          `kind = \"cosbench\"`",
    ),
    (
        "workload.mail.rate=5",
        "`workload.mail.rate` would have no effect: `arrivals` is \
          `closed`; leave it out, or set `arrivals = \"poisson\"` or \
          `arrivals = \"deterministic\"`",
    ),
    (
        "node.brick.count=eight",
        "`node.brick.count` is the text \"eight\", and must be a whole \
          number",
    ),
    (
        "workload.mail.outstanding=0",
        "`workload.mail.outstanding` is 0, and must be from 1 to \
          1048576",
    ),
    (
        "volume.mail.size=8",
        "`8` has no unit; write a size as a number and one of `B`, `KiB`, \
          `MiB`, `GiB`, `TiB`, `PiB`, `kB`, `KB`, `MB`, `GB`, `TB`, `PB`, such as \"512 MiB\"",
    ),
    (
        "node.brick.cpu=i486",
        "there is no cpu profile `i486`; there are `pentium4-2.6`, \
          `pentium4-3.0`, `system-z-ifl`, `xeon-2023`, `xeon-p4-3.0`. Your own goes into `cpus/i486.toml`.",
    ),
    (
        "device.floppy.rpm=300",
        "there is no device `floppy`; there are `barracuda-4lp`, `barracuda-7200.8`, \
          `cheetah-15k`, `cheetah-9lp`, `ds8700-raid5`, `fc-15k-2008`, `hdd-16tb-7200`, \
          `hdd-24tb-7200`, `hdd-4tb-7200`, `hp-c3323a`, `mqsim-default`, `nvme-3gbs`, `nvme-7gbs`, \
          `nvme-no-plp`, `optane-p4800x`, `sata-7200-2005`, `sata-ssd`, `sata-ssd-no-plp`.",
    ),
    (
        "volume..size=1",
        "`volume..size` is not a path: a name is missing; a path is such as \
          `volume.mail.encoding` or `node.brick.disk[0].device`",
    ),
    (
        "node.brick.disk[x]=1",
        "`node.brick.disk[x]` is not a path: expected a number in \
          brackets; a path is such as `volume.mail.encoding` or `node.brick.disk[0].device`",
    ),
];

#[test]
fn wrong_paths_and_values_are_told_with_what_was_meant() {
    let mut wrong = Vec::new();
    for (change, message) in REFUSED {
        let (found, expected) = (refused(&[change]), format!("in `--set {change}`: {message}"));
        if found != expected {
            wrong.push(format!("   found {found}\nexpected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    for text in ["", "=", "=x", "volume.mail.size"] {
        assert!(text.parse::<Change>().is_err(), "{text}");
    }
}

#[test]
fn the_file_of_a_trace_in_a_change_is_taken_from_the_current_directory() {
    // tests run in the crate's directory
    let mut document = Document::shipped("trace-replay").unwrap().unwrap();
    document.set("workload.replay.file", "Cargo.toml").unwrap();
    let scenario = document.check().unwrap();
    let WorkloadKind::Trace { path, .. } = &scenario.workloads[0].kind else { panic!("a trace") };
    assert_eq!(path, &Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
}

#[test]
fn the_network_is_tcp_unless_links_alone_are_asked_for() {
    let switch = with(&[]).switch;
    assert_eq!((switch.model, switch.port_buffer), (NetworkModel::Tcp, Bytes::kib(512)));
    assert_eq!(switch.retransmit_timeout, SimSpan::from_ms(200));
    assert_eq!((switch.receive_window, switch.initial_window), (Bytes::mib(4), 10));
    assert_eq!((switch.shared_buffer, switch.loss_probes), (None, true));
    let shared = with(&[
        "switch.shared_buffer=12 MiB",
        "switch.shared_buffer_alpha=0.5",
        "switch.retransmit_timeout=10 ms",
        "switch.loss_probes=false",
    ]);
    let expected = Switch {
        shared_buffer: Some(Bytes::mib(12)),
        shared_buffer_alpha: 0.5,
        retransmit_timeout: SimSpan::from_ms(10),
        loss_probes: false,
        ..switch
    };
    assert_eq!(shared.switch, expected);
    assert_eq!(with(&["switch.model=queue"]).switch, Switch::QUEUE);
}
