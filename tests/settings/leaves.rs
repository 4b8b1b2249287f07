//! The settings of a scenario, by the schema: which there are, and other values for each.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use toml::Value;

/// A setting of a scenario: where it stands, in a change and in the schema, and what it is set to.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// `node.brick.cache.size`.
    pub(crate) path: String,
    /// `/node/*/cache/size`: the same for all groups.
    pub(crate) id: String,
    schema: Json,
    value: Value,
}

pub(crate) fn schema() -> Json {
    serde_json::from_str(&foretell_scenarios::schema_text()).expect("a schema is JSON")
}

/// Tables that are others again: a host is as its group.
fn is_repeated(id: &str) -> bool {
    id.starts_with("/host/")
}

/// All settings of a scenario that is written in full.
pub(crate) fn of(resolved: &str) -> Vec<Leaf> {
    let value: Value = toml::from_str(resolved).expect("it was written as TOML");
    let mut leaves = Vec::new();
    collect(&value, &schema(), String::new(), String::new(), &mut leaves);
    leaves
}

/// Every setting that the schema has.
pub(crate) fn all() -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    every(&schema(), String::new(), &mut ids);
    // what kind of thing a table is decides which settings it has
    ids.retain(|id| !is_repeated(id) && !id.ends_with("/kind") && !id.ends_with(")/system"));
    ids
}

/// The table that a value may be instead of a text, if there is one.
fn long_form(schema: &Json) -> &Json {
    let forms = schema["anyOf"].as_array().into_iter().flatten();
    forms.into_iter().find(|form| form["properties"].is_object()).unwrap_or(schema)
}

/// The kind that a branch of a tagged table is for.
fn kind(tag: &str, branch: &Json) -> String {
    branch["properties"][tag]["enum"][0].as_str().unwrap_or_default().to_owned()
}

fn every(schema: &Json, id: String, ids: &mut BTreeSet<String>) {
    let schema = long_form(schema);
    if let (Some(tag), Some(branches)) = (schema["x-tag"].as_str(), schema["oneOf"].as_array()) {
        for branch in branches {
            every(branch, format!("{id}({})", kind(tag, branch)), ids);
        }
    } else if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            every(property, format!("{id}/{name}"), ids);
        }
    } else if schema["additionalProperties"].is_object() {
        every(&schema["additionalProperties"], format!("{id}/*"), ids);
    } else if long_form(&schema["items"])["properties"].is_object() {
        every(&schema["items"], format!("{id}/[]"), ids);
    } else {
        ids.insert(id);
    }
}

fn collect(value: &Value, schema: &Json, path: String, id: String, leaves: &mut Vec<Leaf>) {
    let schema = if value.is_str() && !schema["properties"].is_object() {
        schema
    } else {
        long_form(schema)
    };
    let inside =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Table(table) => {
            if let (Some(tag), Some(branches)) =
                (schema["x-tag"].as_str(), schema["oneOf"].as_array())
            {
                let found = table.get(tag).and_then(Value::as_str).unwrap_or_default();
                let branch = branches.iter().find(|branch| kind(tag, branch) == found);
                let branch = branch.unwrap_or_else(|| panic!("{path}: no kind `{found}`"));
                return collect(value, branch, path, format!("{id}({found})"), leaves);
            }
            for (name, value) in table {
                match &schema["properties"][name] {
                    Json::Null => {
                        let quoted = format!("\"{name}\"");
                        let name = if name.contains('.') { &quoted } else { name };
                        let inner = &schema["additionalProperties"];
                        collect(value, inner, inside(name), format!("{id}/*"), leaves);
                    }
                    property => {
                        collect(value, property, inside(name), format!("{id}/{name}"), leaves);
                    }
                }
            }
        }
        Value::Array(list) if long_form(&schema["items"])["properties"].is_object() => {
            if let Some(first) = list.first() {
                collect(first, &schema["items"], inside("0"), format!("{id}/[]"), leaves);
            }
        }
        _ => leaves.push(Leaf { path, id, schema: schema.clone(), value: value.clone() }),
    }
}

impl Leaf {
    /// The last key: `size`.
    pub(crate) fn key(&self) -> &str {
        self.id.rsplit('/').next().unwrap_or_default()
    }

    /// Other values, as changes write them.
    pub(crate) fn others(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for form in self.schema["oneOf"].as_array().into_iter().flatten() {
            words.extend(form["const"].as_str().map(str::to_owned));
        }
        words.extend(
            self.schema["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|w| Some(w.as_str()?.to_owned())),
        );
        let mut others: Vec<String> =
            by_key(self.key()).iter().map(|&value| value.to_owned()).collect();
        others.extend(words);
        match &self.value {
            Value::Boolean(flag) => others.push((!flag).to_string()),
            Value::Integer(whole) => {
                let bound = |name: &str| self.schema[name].as_i64();
                others.extend(
                    [whole * 2, whole + 1, whole / 2, whole * 8, 0]
                        .into_iter()
                        .filter(|other| bound("minimum").is_none_or(|least| *other >= least))
                        .filter(|other| bound("maximum").is_none_or(|most| *other <= most))
                        .map(|other| other.to_string()),
                );
            }
            Value::Float(number) => {
                others.extend(
                    [number * 2.0, number / 2.0, number + 0.5].map(|other| format!("{other}")),
                );
            }
            Value::String(text) => others.extend(quantities(text)),
            Value::Array(list) => others.extend(lists(list)),
            _ => {}
        }
        let own = match &self.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        others.retain(|other| *other != own);
        others
    }
}

/// Other lists: the last entry is changed.
fn lists(list: &[Value]) -> Vec<String> {
    let Some((end, before)) = list.split_last() else { return Vec::new() };
    let changed: Vec<Value> = match end {
        Value::Integer(whole) => vec![Value::Integer(whole + 7), Value::Integer(whole * 2)],
        Value::Float(number) => vec![Value::Float(number * 1.5)],
        Value::String(text) => quantities(text).into_iter().map(Value::String).collect(),
        Value::Array(inner) => lists(inner)
            .iter()
            .map(|text| toml::from_str::<toml::Table>(&format!("a = {text}")).unwrap()["a"].clone())
            .collect(),
        _ => Vec::new(),
    };
    let list = |last| Value::Array(before.iter().cloned().chain([last]).collect());
    changed.into_iter().map(|last| list(last).to_string()).collect()
}

/// Other quantities of the same unit.
fn quantities(text: &str) -> Vec<String> {
    let (law, rest) = match text.strip_prefix("exponential ") {
        Some(rest) => ("exponential ", rest),
        None => ("", text),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let Ok(number) = rest[..end].parse::<f64>() else { return Vec::new() };
    let unit = rest[end..].trim();
    if unit == "%" {
        return ["0%", "25%", "60%", "100%"].map(str::to_owned).into();
    }
    if number == 0.0 {
        // a size or a time: in the unit that it has
        return [1.0, 7.0, 512.0].map(|other| format!("{law}{other} {unit}")).into();
    }
    [2.0, 0.5, 8.0, 0.125, 1.03].map(|factor| format!("{law}{} {unit}", number * factor)).into()
}

/// A CRUSH map with the rules of that in `map.txt`, and other weights.
const OTHER_MAP: &str = include_str!("other-map.txt");

/// Values of settings that are neither numbers nor words of a list, or whose units need others.
fn by_key(key: &str) -> &'static [&'static str] {
    match key {
        "encoding" => &["1-of-2", "2-of-3", "1-of-3"],
        "cipher" => &["aes-128-cbc", "none"],
        "nodes" => &["brick[0-2]", "brick[1-3]", "osd[0-2]", "store[0-2]"],
        "client" => &["app0", "app1", "driver1", "driver0"],
        "volume" => &["mirror", "coded", "plain"],
        "profile" => &["xeon-2023", "pentium4-3.0"],
        "device" => &["cheetah-15k", "sata-ssd", "fc-15k-2008"],
        "group" => &["2 MiB", "512 KiB"],
        "block" => &["16 KiB", "4 KiB"],
        "nvram" => &["16 MiB", "none"],
        "write_quorum" => &["1", "2"],
        "store" => &["brick1", "brick2"],
        "record" => &["every 1/2 requests", "none"],
        "warmup" => &["300 ms", "100 ms"],
        "monitors" => &["mon0", "mon1"],
        "proxies" | "hosts" => &["proxy0", "proxy[0-1]"],
        "bucket_index" => &["coded", "none"],
        "overhead" | "command" | "latency" => &["0.4 ms", "0.1 ms"],
        "types" => &["[\"request\"]"],
        "longest" => &["4 s"],
        "working_set" => &["8 MiB", "50%"],
        "dirty_background" => &["128 KiB", "512 KiB"],
        "dirty_limit" => &["600 KiB", "2 MiB"],
        "read_cache" | "write_cache" => &["1 MiB", "none"],
        "mapping" => &["4 KiB", "2 KiB", "1 KiB"],
        "journal_commit" => &["200 ms"],
        "read_hit" | "read_miss" | "write_hit" | "write_miss" | "read_disconnect" => {
            &["[\"0.4 ms\", \"0.6 ms\"]", "0.7 ms"]
        }
        "file" => &["DIR/b.fio", "DIR/b.xml", "DIR/other.csv", "DIR/other.spc"],
        "times" => &["DIR/other.csv"],
        "blkparse_action" => &["D"],
        "of" => &["store"],
        "host" | "link" => &["brick2", "brick3"],
        "disk" => &["brick3.disk0"],
        "rack" => &["c"],
        "room" => &["[\"f\", \"g\"]"],
        "datacenter" => &["z"],
        "class" => &["slow"],
        "steps" => &["[\"take x class fast\", \"chooseleaf firstn 0 type host\", \"emit\"]"],
        "osds" => &["1, 0"],
        "pool" => &["other"],
        "rule" => &["flat"],
        "crush" => &[OTHER_MAP],
        _ => &[],
    }
}
