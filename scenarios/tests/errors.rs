//! Each error names its place, its reason, and a way to fix it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use foretell_scenarios::{Document, MAX_ERRORS, ScenarioErrors};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, ThemeStyles};

const GOOD: &str = include_str!("good.toml");

/// Parts of `good.toml`, and their replacements.
const WRONG: &[(&str, &str)] = &[
    ("seed = 42", "seed = "),
    ("seed = 42", "seed = 4 2\nfoo"),
    ("size = \"512 MiB\"", "size = 512 MiB"),
    ("seed = 42", "seed = -1"),
    ("seed = 42", "seed = \"42\""),
    ("seed = 42", "seed = 1.5"),
    ("seed = 42", "seed = 99999999999999999999999"),
    ("seed = 42", "seed = 2024-01-01"),
    ("seed = 42", "sead = 42"),
    ("seed = 42", "wibble = 42"),
    ("duration = \"15 s\"", "dration = \"15 s\""),
    ("duration = \"15 s\"", ""),
    ("duration = \"15 s\"", "duration = \"15\""),
    ("duration = \"15 s\"", "duration = 15"),
    ("duration = \"15 s\"", "duration = \"15 sec\""),
    ("duration = \"15 s\"", "duration = \"0 s\""),
    ("duration = \"15 s\"", "duration = \"100000 h\""),
    ("duration = \"15 s\"", "duration = \"-1 s\""),
    ("duration = \"15 s\"", "duration = nan"),
    ("duration = \"15 s\"", "duration = \"15 s\"\nrecord = \"every 2/3 requests\""),
    ("duration = \"15 s\"", "duration = \"15 s\"\nrecord = \"al\""),
    ("duration = \"15 s\"", "duration = \"15 s\"\nwarmup = \"car\""),
    ("duration = \"15 s\"", "duration = \"15 s\"\npayload = \"reel\""),
    ("[node.brick]", "[nodes.brick]"),
    ("[node.brick]", "[node.\"a.b\"]"),
    ("count = 8", "count = 0"),
    ("count = 8", "count = 20000000"),
    ("count = 8", "count = 9999999"),
    ("count = 8", "count = \"8\""),
    ("count = 8", "count = 8\nmemory = \"1 GiB\""),
    ("cache = {", "cahce = {"),
    (
        "cache = { policy = \"lru\", size = \"512 MiB\", page = \"4 KiB\" }",
        "cache = { policy = \"lru\" }",
    ),
    ("cache = { policy = \"lru\", size = \"512 MiB\", page = \"4 KiB\" }", "cache = \"512 MiB\""),
    ("policy = \"lru\"", "policy = \"lur\""),
    ("policy = \"lru\"", "policy = \"belady\""),
    ("page = \"4 KiB\"", "page = \"3 KiB\""),
    ("page = \"4 KiB\"", "page = \"256 B\""),
    ("size = \"512 MiB\"", "size = \"2 KiB\""),
    ("size = \"512 MiB\"", "size = \"512 MiB\", dirty_limit = \"1 GiB\""),
    ("size = \"512 MiB\"", "size = \"512 MiB\", dirty_background = \"80%\""),
    ("size = \"512 MiB\"", "size = \"512 MiB\", dirty_background = \"800%\""),
    ("size = \"512 MiB\"", "size = \"512 MiB\", write = \"through\", dirty_limit = \"10%\""),
    ("size = \"512 MiB\"", "size = \"512 MiB\", flush_interval = \"0 s\""),
    ("count = 8", "count = 8\nsegment = \"1 MiB\""),
    ("count = 8", "count = 8\nlayout = \"log-structured\"\nsegment = \"6 KiB\""),
    ("count = 8", "count = 8\nnvram = \"zero\""),
    ("count = 8", "count = 8\nnvram = \"0 B\""),
    ("scheduler = \"elevator\"", "scheduler = \"lift\""),
    ("scheduler = \"elevator\"", "scheduler = \"elevator\", count = 0"),
    ("\"barracuda-7200.8\"", "\"baracuda-7200.8\""),
    ("\"barracuda-7200.8\"", "\"../x\""),
    ("profile = \"pentium4-2.6\"", "profile = \"i486\""),
    ("disk = [{ device = \"barracuda-7200.8\", scheduler = \"elevator\" }]", "disk = []"),
    (
        "disk = [{ device = \"barracuda-7200.8\", scheduler = \"elevator\" }]",
        "disk = { device = \"barracuda-7200.8\" }",
    ),
    ("rate = \"1 Gbit/s\"", "rate = \"1 Gbps\""),
    ("rate = \"1 Gbit/s\"", "rate = \"0 Gbit/s\""),
    ("[client.app]", "[client.brick]"),
    ("[client.app]", "[client.brick1]"),
    ("[client.app]", "[client.app]\ncache = { size = \"1 MiB\" }"),
    ("nodes = \"brick[0-4]\"", "nodes = \"brick[0-9]\""),
    ("nodes = \"brick[0-4]\"", "nodes = \"brik[0-4]\""),
    ("nodes = \"brick[0-4]\"", "nodes = \"brick[0-4], brick2\""),
    ("nodes = \"brick[0-4]\"", "nodes = [\"brick[0-3]\", \"app0\"]"),
    ("nodes = \"brick[0-4]\"", "nodes = \"brick[0-1]\""),
    ("nodes = \"brick[0-4]\"", "nodes = 5"),
    ("nodes = \"brick[0-4]\"", "nodes = \"\""),
    ("encoding = \"1-of-3\"", "encoding = \"5-of-3\""),
    ("encoding = \"1-of-3\"", "encoding = \"3of5\""),
    ("encoding = \"1-of-3\"", "encoding = \"0-of-3\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-8\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nwrite_quorum = 4"),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nwrite_quorum = \"most\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nplacement = \"random\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nblock = \"1000 B\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nblock = \"24 KiB\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\ngroup = \"20 KiB\""),
    ("cipher = \"aes-128-cbc\"", "cipher = \"aes128\""),
    ("size = \"20 GiB\"", "size = \"20 TiB\""),
    ("size = \"20 GiB\"", "size = \"20000 PiB\""),
    ("size = \"20 GiB\"", "size = \"0 B\""),
    ("size = \"20 GiB\"", "size = 20"),
    ("volume = \"mail\"", "volume = \"mial\""),
    ("volume = \"mail\"", ""),
    ("client = \"app0\"", "client = \"brick0\""),
    ("client = \"app0\"", "client = \"ap0\""),
    ("kind = \"ssio\"", "kind = \"sio\""),
    ("kind = \"ssio\"", "kind = \"trace\""),
    ("kind = \"ssio\"", ""),
    ("reads = 0.5", "reads = 1.5"),
    ("reads = 0.5", "reads = nan"),
    ("reads = 0.5", "reads = -0.1"),
    ("reads = 0.5", "reads = \"110%\""),
    ("reads = 0.5", "reads = \"half\""),
    ("reads = 0.5", "reads = 0.5\nstep = \"1 MiB\""),
    ("reads = 0.5", "reads = 0.5\npattern = \"strided\""),
    ("reads = 0.5", "reads = 0.5\npattern = \"strided\"\nstep = \"33 KiB\""),
    ("reads = 0.5", "reads = 0.5\npattern = \"zip\""),
    ("reads = 0.5", "reads = 0.5\npattern = \"zipf\"\nalpha = 100"),
    ("reads = 0.5", "reads = 0.5\npattern = \"zipf\"\nalpha = inf"),
    ("reads = 0.5", "reads = 0.5\npattern = \"hot-cold\"\nhot_fraction = 1"),
    ("reads = 0.5", "reads = 0.5\nrate = 200"),
    ("reads = 0.5", "reads = 0.5\narrivals = \"poisson\""),
    ("reads = 0.5", "reads = 0.5\narrivals = \"poisson\"\nrate = 0"),
    ("reads = 0.5", "reads = 0.5\narrivals = \"poisson\"\nrate = \"200\""),
    ("reads = 0.5", "reads = 0.5\narrivals = \"poisson\"\noutstanding = 4\nrate = 1"),
    ("reads = 0.5", "reads = 0.5\noutstanding = 0"),
    ("reads = 0.5", "reads = 0.5\noutstanding = 2000000"),
    ("reads = 0.5", "reads = 0.5\nthink = \"exponentially\""),
    ("reads = 0.5", "reads = 0.5\naccess = \"1000 B\""),
    ("reads = 0.5", "reads = 0.5\nworking_set = \"40 GiB\""),
    ("reads = 0.5", "reads = 0.5\nworking_set = \"16 KiB\""),
    ("reads = 0.5", "reads = 0.5\nworking_set = \"0%\""),
    ("reads = 0.5", "reads = 0.5\nrequests = 0"),
    ("reads = 0.5", "reads = 0.5\nfile = \"x\""),
    ("reads = 0.5", "reads = 0.5\n[tracking]\ntypes = [\"disk_ops\"]"),
    ("reads = 0.5", "reads = 0.5\n[tracking]\noverhead = true\nstore = \"app0\""),
    ("reads = 0.5", "reads = 0.5\n[tracking]\noverhead = true\nstore = \"brick\""),
    ("reads = 0.5", "reads = 0.5\n[tracking]\noverhead = true\nbuffer = \"1 GiB\""),
    ("reads = 0.5", "reads = 0.5\n[tracking]\noverhead = false\nbuffer = \"1 MiB\""),
    ("reads = 0.5", "reads = 0.5\n[tracking]\noverhead = \"false\""),
    ("reads = 0.5", "reads = 0.5\n[host.brick9]\nnic = {}"),
    ("reads = 0.5", "reads = 0.5\n[host.app0]\nnvram = \"1 MiB\""),
    ("reads = 0.5", "reads = 0.5\n[host.brick0]\ncount = 4"),
    ("reads = 0.5", "reads = 0.5\n[switch]\nport_buffer = \"0 B\""),
    ("reads = 0.5", "reads = 0.5\n[switch]\nport_buffer = \"1 KiB\""),
    ("reads = 0.5", "reads = 0.5\n[switch]\nmodel = \"tpc\""),
    ("reads = 0.5", "reads = 0.5\n[switch]\nmodel = \"queue\"\nport_buffer = \"1 MiB\""),
    (
        "reads = 0.5",
        "reads = 0.5\n[switch]\nshared_buffer = \"1 MiB\"\nshared_buffer_alpha = 0.001",
    ),
    ("reads = 0.5", "reads = 0.5\n[switch]\nretransmit_timeout = \"0 ms\""),
    ("reads = 0.5", "reads = 0.5\n[switch]\nreceive_window = \"0 B\""),
    ("reads = 0.5", "reads = 0.5\n[switch]\ninitial_window = 0"),
    ("reads = 0.5", "reads = 0.5\n[device.mine]\nkind = \"disk\"\nrpm = 7200"),
    ("reads = 0.5", "reads = 0.5\n[device.mine]\nkind = \"tape\""),
    (
        "reads = 0.5",
        "reads = 0.5\n[workload.two]\nvolume = \"mail\"\nclient = \"app\"\nkind = \"ssio\"\nreads = 1\noutstanding = 600000",
    ),
    ("[volume.mail]", "[volume.web]\nsize = \"900 GiB\"\nnodes = \"brick[0-3]\"\n[volume.mail]"),
    ("size = \"512 MiB\"", "size = \"512 MiB\", size = \"1 GiB\""),
    ("[volume.mail]", "[volume.mail]\nsize = \"1 GiB\"\n[volume.mail]"),
    ("seed = 42", "seed = 0x7fffffffffffffff"),
    (
        "reads = 0.5",
        "reads = 0.5\n[workload.two]\nvolume = \"mail\"\nclient = \"app1\"\nkind = \"trace\"\nfile = \"no/such.trace\"",
    ),
    ("reads = 0.5", "reads = 0.5\n[cpu.mine]\nsource = \"x\""),
    ("[node.brick]", "[cluster]\nsystem = \"cephh\"\n[node.brick]"),
    ("[node.brick]", "[cluster]\nstore = \"bluestore\"\n[node.brick]"),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nstore = \"bluestor\"\n[node.brick]"),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\n[node.brick]"),
    (
        "[node.brick]",
        "[cluster]\nsystem = \"ceph\"\nstore = \"filestore\"\ndeferred_below = \"4 KiB\"\n[node.brick]",
    ),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nmonitors = \"brick0\"\n[node.brick]"),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nmonitor = \"app0\"\n[node.brick]"),
    (
        "[node.brick]",
        "[cluster]\nsystem = \"ceph\"\nread = { fixed = \"1 s\", rat = \"1 GB/s\" }\n[node.brick]",
    ),
    (
        "seed = 42\nduration = \"15 s\"",
        "seed = 42\nduration = \"15 s\"\npayload = \"real\"\n[cluster]\nsystem = \"ceph\"",
    ),
    ("[node.brick]", "[cluster]\nsystem = \"swift\"\n[node.brick]"),
    ("[node.brick]", "[cluster]\nsystem = \"swift\"\nproxies = \"ap1\"\n[node.brick]"),
    (
        "[node.brick]",
        "[cluster]\nsystem = \"swift\"\nproxies = \"app1\"\npartition_power = 40\n[node.brick]",
    ),
    (
        "[node.brick]\ncount = 8",
        "[cluster]\nsystem = \"swift\"\nproxies = \"app1\"\n[node.brick]\nnvram = \"64 MiB\"\ncount = 8",
    ),
    ("[node.brick]", "[cluster]\nsystem = \"ursa-minor\"\nstore = \"filestore\"\n[node.brick]"),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nmetadata = \"1 GiB\"\n[node.brick]"),
    (
        "[node.brick]",
        "[cluster]\nsystem = \"swift\"\nproxies = \"app1\"\nmetadata = \"0 B\"\n[node.brick]",
    ),
    // one node of a group that is otherwise right
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[host.brick3]\nnvram = \"64 MiB\"\n[host.brick4]\nnvram = \"64 MiB\"",
    ),
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[host.brick3]\nlayout = \"log-structured\"\nsegment = \"1 MiB\"",
    ),
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[host.brick3]\ncache = { size = \"0 B\" }",
    ),
    // a guest is one of a group of guests
    ("reads = 0.5", "reads = 0.5\n[host.brick0]\nguest = {}"),
    ("reads = 0.5", "reads = 0.5\n[host.app0]\nguest = { queue_depth = 4 }"),
    // guests of one machine
    ("[client.app]", "[host.app0]\nnic = { rate = \"10 Gbit/s\" }\n[client.app]\nguest = {}"),
    ("[client.app]", "[host.app1]\nnic = { rate = \"10 Gbit/s\" }\n[client.app]\nguest = {}"),
    (
        "[client.app]\ncount = 2",
        "[host.app0]\nnic = { rate = \"10 Gbit/s\" }\n[client.app]\nguest = {}\ncount = 4",
    ),
    // virtual machines and their shared parts
    ("[node.brick]", "[node.brick]\nmachine = {}"),
    ("[node.brick]", "[node.brick]\nmachine = { count = 4, of = \"brick\" }"),
    ("[node.brick]", "[node.brick]\nmachine = { of = \"brik\" }"),
    ("[node.brick]", "[node.brick]\nmachine = { of = \"brick\" }"),
    ("[node.brick]", "[node.brick]\nmachine = { count = 4, bandwidth = \"10 Gbit/s\" }"),
    (
        "[node.brick]",
        "[host.brick5]\nnic = { rate = \"10 Gbit/s\" }\n[node.brick]\nmachine = { count = 4 }",
    ),
    ("[node.brick]", "[host.brick5]\nmachine = { count = 4 }\n[node.brick]"),
    // monitors of a group's own
    ("[node.brick]", "[node.brick]\nmonitors = \"app0\""),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\n[node.brick]\nmonitors = \"brick0\""),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brikc3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick9\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"app0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fial\", host = \"brick3\" }",
    ),
    ("duration = \"15 s\"", "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\" }"),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", disk = \"brick3.disk0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", disk = \"brick3.disk1\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", disk = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", disk = \"brick3.disk1\", factor = 2.0 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", disk = \"brick3.disk0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", disk = \"brick3.disk0\", factor = 2.0 }\nevent.f = { at = \"5 s\", what = \"slow\", disk = \"brick3.disk0\", factor = 3.0, for = \"1 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", disk = \"brick3.disk0\", factor = 2.0, for = \"0 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", link = \"brikc3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", link = \"app0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"drain\", link = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"return\", link = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"5 s\" }\nevent.f = { at = \"5 s\", what = \"fail\", link = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", link = \"brick3\" }\nevent.f = { at = \"5 s\", what = \"return\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", link = \"app[0-9]\", factor = 2.0 }",
    ),
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[event.e]\nat = \"1 s\"\nwhat = \"set\"\nset = { \"osd.brick3.disk1.reweight\" = 0.5 }",
    ),
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[event.e]\nat = \"1 s\"\nwhat = \"set\"\nset = { \"osd.brick3.disk0.reweight\" = 1.5 }",
    ),
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[event.e]\nat = \"1 s\"\nwhat = \"set\"\nset = { \"osd.brick3.disk0.reweight\" = \"half\" }",
    ),
    (
        "cipher = \"aes-128-cbc\"",
        "[cluster]\nsystem = \"ceph\"\n[event.e]\nat = \"1 s\"\nwhat = \"set\"\nset = { \"osd.brick3.disk0.reweight\" = 1 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"osd.brick3.disk0.reweight\" = 0.5 } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", rack = \"a\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"drain\", host = \"brick[0-2]\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"15 s\", what = \"fail\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"0 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"return\", host = \"brick3\", for = \"2 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"return\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", host = \"brick3\", factor = 0.5 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick[2-3]\", for = \"5 s\" }\nevent.f = { at = \"5 s\", what = \"fail\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", host = \"brick3\", factor = 2.0 }\nevent.f = { at = \"5 s\", what = \"slow\", host = \"brick3\", factor = 3.0 }",
    ),
    ("duration = \"15 s\"", "duration = \"15 s\"\nrecovery.grace = \"3 s\""),
    ("duration = \"15 s\"", "duration = \"15 s\"\nscrub = {}"),
    ("duration = \"15 s\"", "duration = \"15 s\"\nscrub.rate = \"0 MB/s\""),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nscrub = { rate = \"20 MB/s\", chunk = \"1 GiB\" }",
    ),
    ("duration = \"15 s\"", "duration = \"15 s\"\nscrub = { rate = \"20 MB/s\", chunk = \"0 B\" }"),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nscrub = { rate = \"20 MB/s\", chunk = \"10 KiB\" }",
    ),
    ("duration = \"15 s\"", "duration = \"15 s\"\nscrub.rate = \"20 kB/s\""),
    ("duration = \"15 s\"", "duration = \"15 s\"\nscrub = { rate = \"20 MB/s\", sleep = \"1 s\" }"),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery.grace = \"100 ms\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery.give_up = \"100 ms\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery.timeout = \"1 us\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", disk = \"brick3.disk+0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery.timeout = \"0 s\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nintervals.count = 3",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\ncluster.system = \"ceph\"\nrecovery.timeout = \"2 s\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\ncluster.system = \"ceph\"\ncluster.scheduler.kind = \"wpq\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\ncluster.system = \"ceph\"\ncluster.threads.op = 4\ncluster.scheduler.shards = 8",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"2 s\", what = \"fail\", host = \"brick3\", for = \"1 s\" }\nevent.f = { at = \"1 s\", what = \"drain\", host = \"brick3\" }\nevent.g = { at = \"5 s\", what = \"drain\", host = \"brick3\" }\nevent.h = { at = \"6 s\", what = \"add\", host = \"brick3\" }\ncluster.system = \"ceph\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery.max_backfills = 2",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\ncluster.system = \"swift\"\ncluster.proxies = \"app1\"\nevent.e = { at = \"1 s\", what = \"drain\", disk = \"brick3.disk0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\ncluster.system = \"swift\"\ncluster.proxies = \"app1\"\nevent.e = { at = \"1 s\", what = \"drain\", host = \"brick[0-4]\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\ncluster.system = \"swift\"\ncluster.proxies = \"app1\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"recovery.parallel\" = 2 } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\ncluster.system = \"swift\"\ncluster.proxies = \"app1\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery = { grace = \"9 s\", timeout = \"2 s\", parallel = 2, pause = \"1 s\", max_backfills = 2 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\ncluster.system = \"swift\"\ncluster.proxies = \"app1\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery = { conn_timeout = \"0 s\", request_node_count = 1, replicator_concurrency = 0 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\ncluster.system = \"swift\"\ncluster.proxies = \"app1\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery = { request_node_count = 1 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nrecovery = { conn_timeout = \"1 s\", replicator_interval = \"9 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"slow\", host = \"brick3\", factor = 1.0 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"add\", host = \"brick[0-2]\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"drain\", disk = \"brick3.disk0\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"drain\", host = \"brick3\" }\nevent.f = { at = \"2 s\", what = \"drain\", host = \"brick3\" }\nevent.g = { at = \"3 s\", what = \"add\", host = \"brick3\" }",
    ),
    ("[volume.mail]", "[event.e]\nat = \"1 s\"\nwhat = \"add\"\nhost = \"brick7\"\n[volume.mail]"),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = {} }",
    ),
    ("duration = \"15 s\"", "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\" }"),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"volume.mial.encoding\" = \"2-of-3\" } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"volume.mail.size\" = \"1 GiB\" } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { volume.mail.encoding = \"1-of-3\" } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"volume.mail.encoding\" = \"3-of-7\" } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"volume.mail.encoding\" = \"3-of\", \"recovery.parallel\" = 4 } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"recovery.parallel\" = 0 } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"recovery.paralel\" = 2 } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"recovery.pause\" = \"0 s\" } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"volume.mail.encoding\" = \"2-of-3\" }, host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"set\", set = { \"volume.mail.encoding\" = \"2-of-3\" } }\ncluster.system = \"ceph\"",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"20 s\", what = \"set\", set = { \"volume.mail.encoding\" = \"2-of-3\" } }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"2 s\", what = \"fail\", host = \"brick3\", set = { \"volume.mail.encoding\" = \"2-of-3\" } }",
    ),
    ("count = 8", "count = 8\nrack = [\"a\", \"b\"]"),
    (
        "[node.brick]\ncount = 8",
        "[event.e]\nat = \"1 s\"\nwhat = \"drain\"\nrack = \"a\"\n[node.brick]\nrack = [\"a\", \"b\"]\ncount = 8",
    ),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nmin_write = 2"),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nmin_size = 2"),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nmin_write = 4"),
    ("encoding = \"1-of-3\"", "encoding = \"3-of-3\"\nhedge = \"20 ms\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nhedge = \"0 s\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nhedge = \"p99.9\""),
    ("encoding = \"1-of-3\"", "encoding = \"1-of-3\"\nhedge = \"soon\""),
    ("[volume.mail]", "[cluster]\nsystem = \"ceph\"\n[volume.mail]\nhedge = \"p95\""),
    (
        "[volume.mail]",
        "[event.e]\nat = \"1 s\"\nwhat = \"fail\"\nhost = \"brick3\"\n[volume.mail]\nhedge = \"1 s\"",
    ),
    (
        "[node.brick]",
        "[event.e]\nat = \"1 s\"\nwhat = \"fail\"\nhost = \"brick3\"\n[cluster]\nsystem = \"ceph\"\ncoalesce = true\n[node.brick]",
    ),
    ("[volume.mail]", "[volume.mail]\nbucket_index = \"web\""),
    ("[volume.mail]", "[volume.mail]\nindex_shards = 7"),
    ("[volume.mail]", "[cluster]\nsystem = \"ceph\"\n[volume.mail]\nbucket_index = \"web\""),
    (
        "[volume.mail]",
        "[cluster]\nsystem = \"ceph\"\ngateway = { hosts = \"app1\" }\n[volume.mail]",
    ),
    (
        "[volume.mail]",
        "[cluster]\nsystem = \"ceph\"\ngateway = { hosts = \"brick0\", read = { fixed = \"-1 ms\" } }\n[volume.mail]\nbucket_index = \"wbe\"",
    ),
    (
        "[volume.mail]",
        "[cluster]\nsystem = \"ceph\"\ngateway = { hosts = \"app1\" }\n[volume.mail]\nbucket_index = \"mail\"",
    ),
    (
        "[volume.mail]",
        "[cluster]\nsystem = \"ceph\"\ngateway = { hosts = \"app1\" }\n[volume.i]\nsize = \"16 MiB\"\nnodes = \"brick\"\n[volume.mail]\nbucket_index = \"i\"",
    ),
    (
        "[volume.mail]",
        "[cluster]\nsystem = \"ceph\"\ngateway = { hosts = \"app1\" }\n[volume.i]\nsize = \"1 GiB\"\nnodes = \"brick\"\nencoding = \"2-of-3\"\n[volume.mail]\nbucket_index = \"i\"",
    ),
    ("[node.brick]", "[node.brick]\ncluster_nic = {}"),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\n[host.brick0]\ncluster_nic = {}\n[node.brick]"),
    (
        "[node.brick]",
        "[cluster]\nsystem = \"ceph\"\n[node.brick]\ncluster_nic = { speed = \"25 Gbit/s\" }",
    ),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nonodes = 100\n[node.brick]"),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nonodes = 0\nthreads = {}\n[node.brick]"),
    (
        "disk = [{ device = \"barracuda-7200.8\", scheduler = \"elevator\" }]",
        "disk = [{ device = \"barracuda-7200.8\", db = \"optane-p4800x\" }]",
    ),
    (
        "disk = [{ device = \"barracuda-7200.8\", scheduler = \"elevator\" }]",
        "disk = [{ device = \"barracuda-7200.8\", wal = \"optane-p4800\" }]",
    ),
    (
        "disk = [{ device = \"barracuda-7200.8\", scheduler = \"elevator\" }]",
        "disk = [{ device = \"barracuda-7200.8\", db = { device = \"optane-p4800x\", count = 2 } }]",
    ),
    (
        "[node.brick]",
        "[event.e]\nat = \"1 s\"\nwhat = \"fail\"\nhost = \"brick3\"\n[cluster]\nsystem = \"ceph\"\nthreads = { locks = true }\n[node.brick]",
    ),
    ("cpu = { profile = \"pentium4-2.6\" }", "cpu = { profile = \"pentium4-2.6\", smt = 1.3 }"),
    (
        "cpu = { profile = \"pentium4-2.6\" }",
        "cpu = { profile = \"pentium4-2.6\", cores = 2, smt = 2.5 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"20 s\" }\nevent.f = { at = \"5 s\", what = \"slow\", host = \"brick3\", factor = 2.0 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"5 s\" }\nevent.f = { at = \"2 s\", what = \"slow\", disk = \"brick3.disk0\", factor = 2.0, for = \"4 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"5 s\" }\nevent.f = { at = \"2 s\", what = \"slow\", link = \"brick3\", factor = 2.0, for = \"5 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"5 s\" }\nevent.f = { at = \"2 s\", what = \"slow\", host = \"brick[2-3]\", factor = 2.0, for = \"3 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", link = \"brick3\" }\nevent.f = { at = \"2 s\", what = \"slow\", host = \"brick3\", factor = 2.0 }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\", for = \"5 s\" }\nevent.f = { at = \"4 s\", what = \"return\", host = \"brick3\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"3 s\", what = \"slow\", disk = \"brick3.disk0\", factor = 2.0, for = \"9 s\" }\nevent.f = { at = \"4 s\", what = \"slow\", disk = \"brick3.disk0\", factor = 3.0, for = \"3 s\" }",
    ),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\nevent.e = { at = \"1 s\", what = \"fail\", host = \"brick3\" }\nevent.f = { at = \"2 s\", what = \"drain\", host = \"brick3\" }",
    ),
    (
        "[volume.mail]",
        "[event.e]\nat = \"1 s\"\nwhat = \"fail\"\nhost = \"brick3\"\n[volume.mail]\nmin_write = 3\nwrite_quorum = 2",
    ),
    (
        "[volume.mail]",
        "[event.e]\nat = \"1 s\"\nwhat = \"fail\"\nhost = \"brick3\"\n[cluster]\nsystem = \"ceph\"\n[volume.mail]\nmin_size = 9",
    ),
    ("count = 8", "count = 8.0"),
    ("count = 8", "count = 8.5"),
    ("[node.brick]", "[node]"),
    ("[volume.mail]", "[volume]\nencoding = \"1-of-3\"\n[volume.mail]"),
    (
        "duration = \"15 s\"",
        "duration = \"15 s\"\n[event]\nat = \"1 s\"\nwhat = \"fail\"\nhost = \"brick3\"",
    ),
    ("[node.brick]", "[cluster]\nsystem = \"ceph\"\nproxies = \"app1\"\n[node.brick]"),
];

/// Each error on three lines: place and underlined text, message, help.
fn shown(errors: &ScenarioErrors, directory: &Path) -> String {
    let mut text = String::new();
    for error in errors.errors() {
        let (line, column) = error.line_column().unwrap_or_default();
        let underlined = error.underlined().unwrap_or("(no place)");
        let (message, help) = (error.message(), error.help_text().unwrap_or("none"));
        let _ = writeln!(text, "  {line}:{column} {underlined}\n    {message}\n    help: {help}");
    }
    text.replace(&directory.display().to_string(), "DIRECTORY")
}

fn errors_of(text: &str, directory: &Path) -> Option<ScenarioErrors> {
    let document = Document::parse("s.toml", text, directory);
    document.and_then(|document| document.check().map(drop)).err()
}

fn instead(pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(GOOD.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    })
}

/// Compares with a file, or writes it if `UPDATE` is set.
fn golden(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "not as in {file}; look at it, and if it is good, set UPDATE=1:\n{text}"
    );
}

#[test]
fn golden_every_fault_has_its_message() {
    let directory = tempfile::tempdir().unwrap();
    assert!(errors_of(GOOD, directory.path()).is_none());
    let mut text = String::new();
    for (from, to) in WRONG {
        let _ = writeln!(text, "{from}  =>  {}", to.replace('\n', " | "));
        match errors_of(&instead(&[(from, to)]), directory.path()) {
            Some(errors) => text += &shown(&errors, directory.path()),
            None => text += "  fine\n",
        }
    }
    golden("tests/errors.txt", &text);
}

#[test]
fn independent_errors_are_all_reported_in_their_order() {
    let text = instead(&[
        ("seed = 42", "sead = 42"),
        ("count = 8", "count = \"8\""),
        ("policy = \"lru\"", "policy = \"lur\""),
        ("encoding = \"1-of-3\"", "encoding = \"5-of-3\""),
        ("cipher = \"aes-128-cbc\"", "cihper = \"aes-128-cbc\""),
        ("client = \"app0\"", "client = \"app7\""),
        ("reads = 0.5", "reads = 5"),
    ]);
    let errors = errors_of(&text, Path::new("")).unwrap();
    let underlined: Vec<_> = errors.errors().iter().map(|e| e.underlined().unwrap()).collect();
    // `5-of-3` is in a volume with a wrong key, and `app7` follows from the wrong number of nodes:
    // they are reported once the errors before them are fixed
    assert_eq!(underlined, ["sead", "\"8\"", "\"lur\"", "cihper", "5"]);
    let text = instead(&[
        ("duration = \"15 s\"", "duration = \"15\""),
        ("rate = \"1 Gbit/s\"", "rate = \"1 Gbps\""),
        ("\"barracuda-7200.8\"", "\"barracuda\""),
        ("encoding = \"1-of-3\"", "encoding = \"5-of-3\""),
        ("client = \"app0\"", "client = \"app7\""),
    ]);
    let errors = errors_of(&text, Path::new("")).unwrap();
    let underlined: Vec<_> = errors.errors().iter().map(|e| e.underlined().unwrap()).collect();
    let expected = ["\"15\"", "\"barracuda\"", "\"1 Gbps\"", "\"5-of-3\"", "app7"];
    assert_eq!(underlined, expected, "{}", errors.lines());
}

#[test]
fn no_more_errors_are_shown_than_can_be_read() {
    let many: Vec<String> = (0..100).map(|n| format!("wrong{n} = 1\n")).collect();
    let errors = errors_of(&format!("{}{GOOD}", many.concat()), Path::new("")).unwrap();
    assert_eq!((errors.errors().len(), errors.left_out()), (MAX_ERRORS, 80));
    assert!(errors.lines().ends_with("... and 80 more"));
}

#[test]
fn a_fault_does_not_cause_others() {
    // the group of nodes cannot be read: hosts, volumes and workloads that depend on it are not reported
    let text = instead(&[("count = 8", "count = true")]);
    assert_eq!(errors_of(&text, Path::new("")).unwrap().errors().len(), 1);
    let text = instead(&[("[volume.mail]", "[volum.mail]")]);
    assert_eq!(errors_of(&text, Path::new("")).unwrap().errors().len(), 1);
    let text = instead(&[("[volume.mail]", "[volume.mail]\nsize2 = 1")]);
    assert_eq!(errors_of(&text, Path::new("")).unwrap().errors().len(), 1);
}

#[test]
fn a_file_that_is_no_scenario_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let message = |path: &Path| Document::load(path).unwrap_err().lines();
    let missing = directory.path().join("missing.toml");
    assert_eq!(message(&missing), format!("there is no scenario `{}`", missing.display()));
    let shown = directory.path().display();
    assert_eq!(
        message(directory.path()),
        format!("`{shown}` is a directory; a scenario is a file")
    );
    let binary = directory.path().join("binary");
    fs::write(&binary, b"seed = 1\n\xff\xfe").unwrap();
    assert!(message(&binary).contains("line 2 is not UTF-8 text"), "{}", message(&binary));
}

#[test]
fn a_terminal_gets_file_text_and_places() {
    let text = instead(&[("nodes = \"brick[0-4]\"", "nodes = \"brick[0-1]\"")]);
    let errors = errors_of(&text, Path::new("")).unwrap();
    let labels: Vec<_> = errors.labels().unwrap().collect();
    let texts: Vec<_> = labels.iter().map(|l| &text[l.offset()..l.offset() + l.len()]).collect();
    // both values that contradict each other
    assert_eq!(texts, ["\"1-of-3\"", "\"brick[0-1]\""]);
    let source = errors.source_code().unwrap().read_span(labels[0].inner(), 0, 0).unwrap();
    // the trait counts lines and columns from zero
    assert_eq!((source.name(), source.line(), source.column()), (Some("s.toml"), 17, 11));
    assert!(errors.help().is_some());
}

#[test]
fn a_trace_that_is_not_there_is_told_with_its_whole_path() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("t.trace");
    let text = instead(&[("kind = \"ssio\"\nreads = 0.5", "kind = \"trace\"\nfile = \"t.trace\"")]);
    let errors = errors_of(&text, directory.path()).unwrap();
    let error = &errors.errors()[0];
    assert_eq!(error.message(), format!("there is no trace `{}`", path.display()));
    assert!(error.help_text().unwrap().contains("--set workload.mail.file=PATH"));
    fs::create_dir(&path).unwrap();
    let errors = errors_of(&text, directory.path()).unwrap();
    assert!(errors.lines().contains("is a directory"), "{}", errors.lines());
    fs::remove_dir(&path).unwrap();
    fs::write(&path, "1\n").unwrap();
    assert!(errors_of(&text, directory.path()).is_none());
}

#[test]
fn a_wrong_kind_of_a_device_file_is_named_without_a_dot() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("devices")).unwrap();
    let file = directory.path().join("devices/mine.toml");
    fs::write(&file, "kind = \"ssdd\"\nsource = \"none\"\n").unwrap();
    let text = instead(&[("\"barracuda-7200.8\"", "\"mine\"")]);
    let errors = errors_of(&text, directory.path()).unwrap();
    assert_eq!(errors.errors()[0].message(), "`kind` cannot be `ssdd`");
}

/// The output on a terminal of 100 columns, without colours.
fn on_a_terminal(errors: &ScenarioErrors) -> String {
    let theme = GraphicalTheme { styles: ThemeStyles::none(), ..GraphicalTheme::unicode() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    let mut text = String::new();
    handler.render_report(&mut text, errors).unwrap();
    // trailing blanks are removed
    text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[test]
fn golden_a_terminal_shows_the_line_and_underlines_the_value() {
    let one = instead(&[("nodes = \"brick[0-4]\"", "nodes = \"brick[0-9]\"")]);
    let two = instead(&[
        ("encoding = \"1-of-3\"", "encoding = \"1-of-7\""),
        ("reads = 0.5", "reads = 0.5\noutstandin = 4"),
    ]);
    let mut text = on_a_terminal(&errors_of(&one, Path::new("")).unwrap());
    text += "\n";
    text += &on_a_terminal(&errors_of(&two, Path::new("")).unwrap());
    text += "\n";
    let mut document = Document::parse("s.toml", GOOD, "").unwrap();
    document.set("volume.mail.encoding", "3-of-2").unwrap();
    text += &on_a_terminal(&document.check().unwrap_err());
    golden("tests/terminal.txt", &text);
}
