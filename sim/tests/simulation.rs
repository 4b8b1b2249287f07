//! All tests of the simulator in one binary. It is linked once, and its tests share the processors until the last one
//! ends. `cargo test -p foretell-sim --test simulation outages::` runs those of `outages.rs`.

mod common;

mod array_cluster;
mod ceph_outages;
mod closed_forms;
mod cluster;
mod cluster_nic;
mod device_files;
mod fairness;
mod gateways;
mod hedges;
mod incast;
mod locks;
mod log_devices;
mod metrics;
mod network;
mod objects;
mod outages;
mod processors;
mod real_drives;
mod schedulers;
mod scrub;
mod shipped_devices;
mod ssd_cluster;
mod ssd_profiles;
mod swift_outages;
mod swift_rings;
mod unfinished;
mod uplinks;
mod virtual_machines;
