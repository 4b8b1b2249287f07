//! Questions about runs, and how far answers are off.

use std::path::Path;

use serde_json::Value;

use super::succeed;

/// Two clients on four nodes whose disks are the bottleneck; long enough for a few percent.
pub(crate) const CLUSTER: &str = r#"
seed     = 11
warmup   = "20 s"
duration = "100 s"
tracking = { overhead = true, types = ["request"] }

[node.brick]
count = 4
cpu   = "pentium4-2.6"
cache = { size = "64 MiB" }
disk  = ["cheetah-15k"]

[client.app]
count = 2
cpu   = "xeon-p4-3.0"

[volume.mail]
size     = "1 GiB"
nodes    = "brick[0-2]"
encoding = "1-of-2"

[volume.web]
size     = "1 GiB"
nodes    = "brick"
encoding = "2-of-3"

[workload.mail]
volume      = "mail"
client      = "app0"
kind        = "ssio"
reads       = "70%"
access      = "8 KiB"
outstanding = 4

[workload.web]
volume   = "web"
client   = "app1"
kind     = "ssio"
reads    = "90%"
access   = "16 KiB"
pattern  = "zipf"
arrivals = "poisson"
rate     = 60
"#;

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
