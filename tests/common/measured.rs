//! A cluster that was measured, made up: what is known of it, and points.

/// `config.json`: a drive alone, a cluster, and one that cannot be simulated.
pub(crate) const CONFIG: &str = r#"{
  "source": "lab",
  "drives": { "fast": { "kind": "nvme", "capacity_bytes": 1e12, "raw_config": "raw" } },
  "configs": {
    "raw": { "system": "drive", "nodes": 1 },
    "rep2": {
      "system": "ceph", "version": "18.2.0", "nodes": 3,
      "node": {
        "cpu": { "cores": 16, "threads": 32, "model": null },
        "network": [{ "gbit_per_s": 25, "count": 1, "use": "all" }],
        "devices": [{ "model": "fast", "count": 2, "role": "data", "osds_per_device": 2 }]
      },
      "pool": { "kind": "replicated", "size": 2, "failure_domain": "host" },
      "client": { "hosts": 2, "processes": 4 },
      "unknown": ["pg_num"]
    },
    "other": { "system": "gluster" }
  },
  "notes": ["made up"]
}"#;

/// `points.csv`.
pub(crate) const POINTS: &str = "\
config,op_mix,block_bytes,pattern,clients,jobs,iodepth,iops,mb_per_s,lat_mean_ms,lat_p99_ms,note
raw,1,4096,random,1,1,1,12500,,,,
raw,1,4096,random,1,1,64,400000,,,,
rep2,1,4096,random,1,1,1,1200,,,,
rep2,0,4096,random,1,1,1,700,,,2.9,
rep2,1,4096,random,4,1,64,60000,,1.07,2,
rep2,0.7,8192,random,4,1,32,,,,,
rep2,0,65536,sequential,,,,4000,,,,
other,1,4096,random,1,1,1,100,,,,
";
