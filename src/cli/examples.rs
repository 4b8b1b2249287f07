//! An example at the end of the help of each command.

use clap::Command;

/// Commands, each with an example.
const EXAMPLES: &[(&str, &str)] = &[
    ("", "foretell run first-look"),
    ("run", "foretell run first-look --set volume.mail.encoding=3-of-5 -o out"),
    ("ask", "foretell ask out --what-if node.brick.cache.size=1GiB"),
    ("score", "foretell score out --what-if node.brick.cache.size=1GiB"),
    ("reproduce", "foretell reproduce ursa-minor --quick -o ursa-minor"),
    ("sweep", "foretell sweep encoding-choice -o data --jobs 4"),
    ("sweep missing", "foretell sweep missing shards/1-of-2 shards/2-of-2"),
    ("sweep merge", "foretell sweep merge shards/1-of-2 shards/2-of-2 -o data"),
    ("export", "foretell export out -o tables --csv"),
    ("report", "foretell report out -o report.html"),
    ("laboratory", "foretell laboratory -o laboratory.html"),
    ("serve", "foretell serve --port 8080"),
    ("trace", "foretell trace out 5000"),
    ("replay-cache", "foretell replay-cache t.csv --policy lru,arc --size 1%,10%"),
    ("calibrate", "foretell calibrate cpu -o cpus/mine.toml"),
    ("calibrate cpu", "foretell calibrate cpu -o cpus/mine.toml"),
    ("calibrate disk", "foretell calibrate disk --fio fio.json -o devices/mine.toml"),
    ("calibrate cluster", "foretell calibrate cluster twin --points few.csv --predict all.csv"),
    ("validate", "foretell validate twin --points points.csv"),
    ("estimate", "foretell estimate --csv points.csv --read 70"),
    ("replay-disk", "foretell replay-disk cheetah-9lp cheetah9LP.trace"),
    ("plan", "foretell plan cluster --what-if 'osd.3=out'"),
    ("import", "foretell import auto t.csv -o t.trace"),
    ("import diskspecs", "foretell import diskspecs drive.parv -o devices/drive.toml"),
    ("import ceph", "foretell import ceph report.json --check -o cluster"),
    ("import cluster", "foretell import cluster config.json -o twin"),
    ("import fio-json", "foretell import fio-json results.json -o table.csv"),
    ("learn", "foretell learn models"),
    ("learn evaluate", "foretell learn evaluate --data t.csv --target y --model cart"),
    ("learn score", "foretell learn score --data t.csv --test u.csv --target y --model lrm"),
    ("learn train", "foretell learn train --data t.csv --target y --model lrm -o m.json"),
    ("learn predict", "foretell learn predict m.json --data new.csv"),
    ("learn search", "foretell learn search --data t.csv --target y --model cart"),
    ("learn explain", "foretell learn explain --data t.csv --target y --model cart"),
    ("learn show", "foretell learn show m.json"),
    ("learn models", "foretell learn models"),
    ("learn features", "foretell learn features out -o features.csv"),
    ("inspect", "foretell inspect t.csv"),
    ("list", "foretell list devices"),
    ("show", "foretell show sata-ssd"),
    ("schema", "foretell schema"),
    ("init", "foretell init mine.toml"),
    ("completions", "foretell completions bash > foretell.bash"),
    ("man", "foretell man -o man/man1"),
];

/// Adds the example of each command to the end of its help. A negative number is taken as a value, so that the error says
/// what is wrong with it.
pub(super) fn with_examples(command: Command) -> Command {
    let command = below(command, "");
    if cfg!(feature = "serve") {
        return command;
    }
    command.mut_subcommand("serve", |serve| {
        let about = serve.get_about().map(ToString::to_string).unwrap_or_default();
        serve.about(format!("{about} (only in builds with `--features serve`)"))
    })
}

fn below(command: Command, path: &str) -> Command {
    let example = match EXAMPLES.iter().find(|(known, _)| *known == path) {
        Some((_, example)) => (*example).to_owned(),
        // formats of traces: all have the same arguments
        None => format!("foretell {path} t.trace -o t.foretell"),
    };
    let names: Vec<String> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(
        command.after_help(format!("Example:\n  {example}")).allow_negative_numbers(true),
        |command, name| {
            let inner = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
            command.mut_subcommand(name, |command| below(command, &inner))
        },
    )
}
