//! Results of fio, as its versions write them.

use serde_json::{Value, json};

/// A job and what it measured: by operation, requests a second and mean latency in microseconds.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) rw: &'static str,
    pub(crate) bs: u64,
    pub(crate) iodepth: u32,
    pub(crate) numjobs: u32,
    /// Percent of reads of a mixed job.
    pub(crate) rwmixread: u32,
    pub(crate) seen: [Option<(f64, f64)>; 2],
}

impl Job {
    /// A job of one direction that keeps its depth full with requests of this latency.
    pub(crate) fn full(rw: &'static str, bs: u64, iodepth: u32, latency_us: f64) -> Self {
        let seen = Some((f64::from(iodepth) / latency_us * 1e6, latency_us));
        let seen = if rw.ends_with("read") { [seen, None] } else { [None, seen] };
        Self { rw, bs, iodepth, numjobs: 1, rwmixread: 50, seen }
    }

    fn direction(&self, op: usize, version: u32) -> Value {
        let Some((iops, latency_us)) = self.seen[op] else {
            return json!({ "total_ios": 0, "iops": 0.0 });
        };
        let count = (iops * 3.0).round() as u64;
        let (key, completion, unit) =
            if version == 2 { ("lat", "clat", 1.0) } else { ("lat_ns", "clat_ns", 1000.0) };
        let fastest = latency_us * unit * 0.5;
        let bytes = count * self.bs;
        // fio 2 counts KiB there
        let bytes = if version == 2 { bytes / 1024 } else { bytes };
        json!({
            "total_ios": count, "io_bytes": bytes, "iops": iops, "runtime": 3000,
            "bw": iops * self.bs as f64 / 1024.0,
            key: { "mean": latency_us * unit, "stddev": 1.0, "max": latency_us * unit * 4.0 },
            completion: { "mean": latency_us * unit * 0.99, "percentile": { "1.000000": fastest } },
        })
    }

    /// As a job of a result.
    pub(crate) fn json(&self, version: u32) -> Value {
        let mut options = json!({
            "rw": self.rw, "bs": self.bs.to_string(), "iodepth": self.iodepth.to_string(),
            "ioengine": "libaio", "direct": "1", "size": "1g", "runtime": "3",
        });
        if self.numjobs > 1 {
            options["numjobs"] = json!(self.numjobs.to_string());
        }
        if self.seen.iter().all(Option::is_some) {
            options["rwmixread"] = json!(self.rwmixread.to_string());
        }
        json!({
            "jobname": "j", "groupid": 0, "error": 0, "job options": options,
            "read": self.direction(0, version), "write": self.direction(1, version),
        })
    }
}

/// A result with these jobs, of this device.
pub(crate) fn result(jobs: &[Value], device: &str, version: u32) -> String {
    let document = json!({
        "fio version": if version == 2 { "fio-2.21" } else { "fio-3.33" },
        "jobs": jobs, "disk_util": [{ "name": device, "util": 99.0 }],
    });
    format!("{document:#}\n")
}
