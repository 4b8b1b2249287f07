//! The JSON documents of a file, and what a file is that has nothing for us.
//!
//! Files of real clusters often have several documents, one after another: of several commands, or of one command that
//! ran every minute.

use std::borrow::Cow;

use serde::de::IgnoredAny;

/// The text without lines `report 1234567890`, which `ceph report` prints to standard error and which end up in many
/// files, and without a mark of its encoding.
pub(crate) fn without_frames(text: &str) -> Cow<'_, str> {
    let is_frame = |line: &str| {
        line.strip_prefix("report ").is_some_and(|number| number.trim().parse::<u64>().is_ok())
    };
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.lines().any(is_frame) {
        let lines: Vec<&str> = text.lines().filter(|line| !is_frame(line)).collect();
        return Cow::Owned(lines.join("\n").trim().to_owned());
    }
    Cow::Borrowed(text)
}

/// The documents of a text, in order.
pub(crate) fn documents(text: &str) -> Result<Vec<&str>, serde_json::Error> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(document) = stream.next() {
        document?;
        found.push(&text[start..stream.byte_offset()]);
        start = stream.byte_offset();
    }
    Ok(found)
}

/// What can be recognised of Ceph's output but has nothing to read: its keys, its name, and what to give instead.
const OTHERS: [(&[&str], &str); 13] = [
    (
        &["nodes", "stray"],
        "`ceph osd tree`, which has no rules and no algorithms: give `ceph osd crush dump`",
    ),
    (&["health", "pgmap"], "`ceph status`, which has no maps: give `ceph report`"),
    (&["pg_map"], "`ceph pg dump`, which has no maps: give `ceph report`"),
    (&["pg_stats"], "`ceph pg dump`, which has no maps: give `ceph report`"),
    (&["mons", "epoch"], "`ceph mon dump`, which has no OSDs: give `ceph report`"),
    (&["checks", "status"], "`ceph health`, which has no maps: give `ceph report`"),
    (&["filesystems"], "`ceph fs dump`, which has no OSDs: give `ceph report`"),
    (
        &["rule_id", "steps"],
        "`ceph osd crush rule dump`, which has rules alone: give `ceph osd crush dump`",
    ),
    (
        &["pool_name", "crush_rule"],
        "`ceph osd pool ls detail`, which has pools alone: give `ceph osd dump -f json`",
    ),
    (
        &["pool_name", "client_io_rate"],
        "`ceph osd pool stats`, the load of an instant: give `ceph report`, whose pools have counters",
    ),
    (&["devid"], "`ceph device ls`, which has no maps: give `ceph report`"),
    (&["id", "hostname"], "`ceph osd metadata`, which a report has, too: give `ceph report`"),
    (&["hostname", "addr"], "`ceph orch host ls`, which has no OSDs: give `ceph report`"),
];

/// What a JSON document with these keys is, and what to give instead.
pub(crate) fn recognised(keys: &[String]) -> Option<&'static str> {
    let has = |key: &&str| keys.iter().any(|found| found == key);
    OTHERS.iter().find(|(wanted, _)| wanted.iter().all(has)).map(|(_, name)| *name)
}

/// The command whose output for people this text is; programs print JSON with `-f json`.
pub(crate) fn table_for_people(text: &str) -> Option<&'static str> {
    let has_line = |words: &[&str]| {
        text.lines().take(12).any(|line| {
            let found: Vec<&str> = line.split_whitespace().collect();
            words.iter().all(|word| found.contains(word))
        })
    };
    let tables: [(&[&str], &str); 6] = [
        (&["ID", "CLASS", "WEIGHT", "REWEIGHT", "SIZE"], "ceph osd df"),
        (&["ID", "CLASS", "WEIGHT", "TYPE", "NAME"], "ceph osd crush dump"),
        (&["---", "RAW", "STORAGE"], "ceph df"),
        (&["osd", "commit_latency(ms)"], "ceph osd perf"),
        (&["cluster:"], "ceph report"),
        (&["fsid"], "ceph osd dump"),
    ];
    tables.iter().find(|(words, _)| has_line(words)).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_follow_each_other_between_frames() {
        let text = "\u{feff}report 12\n{\"a\": 1}\nreport 13\n[2] {\"b\": {}}";
        let text = without_frames(text);
        let found = documents(&text).unwrap();
        let found: Vec<&str> = found.into_iter().map(str::trim).collect();
        assert_eq!(found, ["{\"a\": 1}", "[2]", "{\"b\": {}}"]);
        assert!(documents("{\"a\": 1} {\"b\"").is_err() && documents("{} x").is_err());
    }
}
