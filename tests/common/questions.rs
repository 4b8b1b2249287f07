//! Questions about runs, and how far answers are off.

use std::path::Path;

use serde_json::Value;

use super::succeed;

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The comparisons of a question with what really happens.
pub(crate) fn score(dir: &Path, changes: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["score", dir.to_str().unwrap(), "--json"];
    for change in changes {
        arguments.extend(["--what-if", *change]);
    }
    json(&succeed(arguments))["comparisons"].as_array().unwrap().clone()
}

/// The errors of throughput and mean response time.
pub(crate) fn errors(comparisons: &[Value]) -> Vec<(String, f64)> {
    let wanted = |found: &&Value| {
        ["throughput_rps", "response_time_ms.mean"].contains(&found["metric"].as_str().unwrap())
    };
    let error = |found: &Value| {
        (format!("{} {}", found["workload"], found["metric"]), found["error"].as_f64().unwrap())
    };
    comparisons.iter().filter(wanted).map(error).collect()
}
