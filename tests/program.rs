//! All tests of the program in one binary. It is linked once, and its tests share the processors until the last one ends.
//! `cargo test --test program walk` runs those of `walk.rs`.

mod common;

mod architecture;
mod ask;
mod ask_benchmarks;
mod ask_loads;
mod ask_network;
mod ask_systems;
mod bad_input;
mod book;
mod calibrate;
mod calibrate_disk;
mod ceph_cluster;
mod clusters;
mod command_line;
mod crash;
mod determinism;
mod docs;
mod estimate;
mod failures;
mod figures;
mod first_steps;
mod inputs;
mod laboratory;
mod learn;
mod new_system;
mod precision;
mod python;
mod questions;
mod readme;
mod real_trace;
mod records;
mod replay_cache;
mod replay_disk;
mod report;
mod reproduce;
mod schemas;
mod score;
mod sweep;
mod trace_command;
mod users_files;
mod virtualized;
mod walk;
