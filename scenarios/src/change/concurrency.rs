//! The number of requests that a closed workload has outstanding: FFSB calls it `threads`, all other kinds
//! `outstanding`. A change may use either name, because a recorded run no longer shows which one its scenario used.

use super::path::{KeyStep, find};
use crate::tree::Table;

const THREADS: &str = "threads";
const OUTSTANDING: &str = "outstanding";

/// The steps of a path with the name that the kind of its workload uses.
pub(super) fn as_called_here(scenario: &Table, steps: Vec<KeyStep>) -> Vec<KeyStep> {
    let Some(name) = name_here(scenario, &steps) else { return steps };
    let mut steps = steps;
    if let Some(last) = steps.last_mut() {
        name.clone_into(&mut last.text);
    }
    steps
}

/// The other name, if the last step has to use it.
fn name_here(scenario: &Table, steps: &[KeyStep]) -> Option<&'static str> {
    let (section, rest) = steps.split_first().filter(|(section, _)| section.text == "workload")?;
    let workloads = scenario.get(&section.text)?.table()?;
    let (Some(name), [key]) = find(workloads, rest) else { return None };
    let kind = workloads.get(&name)?.table()?.get("kind")?.text()?;
    match (kind, key.text.as_str()) {
        ("ffsb", OUTSTANDING) => Some(THREADS),
        ("recorded", THREADS) => Some(OUTSTANDING),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Document;
    use crate::tree::Node;

    fn document(kind: &str) -> Document {
        let text = format!("[workload.\"load.a\"]\nkind = \"{kind}\"\n");
        Document::parse("a test", &text, "").unwrap()
    }

    /// The keys of its workload.
    fn keys(document: &Document) -> Vec<&str> {
        let workloads = document.tree.get("workload").and_then(Node::table).unwrap();
        workloads.get("load.a").and_then(Node::table).unwrap().keys().collect()
    }

    #[test]
    fn both_names_of_the_number_of_outstanding_requests_are_understood() {
        for (kind, key, expected) in [
            ("ffsb", "outstanding", "threads"),
            ("ffsb", "threads", "threads"),
            ("recorded", "threads", "outstanding"),
            ("ssio", "outstanding", "outstanding"),
        ] {
            let mut document = document(kind);
            document.set(&format!("workload.load.a.{key}"), "7").unwrap();
            assert_eq!(keys(&document), ["kind", expected], "{kind} {key}");
        }
    }

    #[test]
    fn other_kinds_have_no_threads() {
        let error = document("ssio").set("workload.load.a.threads", "7").unwrap_err().to_string();
        assert!(error.contains("`workload.load.a.threads` would have no effect"), "{error}");
    }
}
