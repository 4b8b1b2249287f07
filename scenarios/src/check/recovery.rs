//! Checks `[recovery]`: times and limits that have an effect with the cluster's system.

use foretell_units::SimSpan;

use super::{Context, volumes};
use crate::error::Problem;
use crate::outages::{Recovery, SwiftRecovery};
use crate::raw::{At, RawRecovery, Time};
use crate::tree::{Node, Table, Value};

/// Shortest timeout of a client: less than the round trip of a message.
const MIN_TIMEOUT: SimSpan = SimSpan::from_us(100);

/// The default timeout of a scenario.
const USUAL_TIMEOUT: &str = "1 s";

/// Keys of `recovery` that have no effect with Swift, with their defaults.
const NOT_OF_SWIFT: [(&str, &str); 6] = [
    ("heartbeat", "1 s"),
    ("grace", "5 s"),
    ("out_after", "10 min"),
    ("timeout", USUAL_TIMEOUT),
    ("parallel", "4"),
    ("pause", "0 s"),
];

/// Keys of `recovery` that only Swift has.
const OF_SWIFT: [&str; 8] = [
    "conn_timeout",
    "node_timeout",
    "request_node_count",
    "error_suppression_limit",
    "error_suppression_interval",
    "replicator_interval",
    "replicator_concurrency",
    "min_part_hours",
];

impl Context<'_> {
    /// Reports settings that Ceph does not have.
    pub(super) fn fits_ceph(&mut self, tree: &Table) {
        let recovery = tree.get("recovery").and_then(Node::table);
        let timeout = recovery.and_then(|table| table.entry("timeout"));
        if let Some(entry) = timeout.filter(|entry| entry.node.text() != Some(USUAL_TIMEOUT)) {
            let message =
                "`timeout` has no effect: clients of Ceph wait for a new map of the cluster";
            let help = "leave it out; `grace` says when a new map comes";
            self.add(Problem::new(entry.key_place, message).help(help));
        }
    }

    /// Whether this is a cluster of Swift: the ring has disks, but proxies find out by themselves which hosts are down.
    pub(super) fn is_swift(&self) -> bool {
        self.keeps_objects && !self.disks_are_servers
    }

    /// Reports settings that Swift does not have, and those that only Swift has.
    pub(super) fn fits_swift(&mut self, tree: &Table) {
        let Some(recovery) = tree.get("recovery").and_then(Node::table) else { return };
        if !self.is_swift() {
            for entry in OF_SWIFT.iter().filter_map(|key| recovery.entry(key)) {
                let message = format!("`{}` has no effect: it is Swift's", entry.key);
                self.add(Problem::new(entry.key_place, message).help("leave it out"));
            }
            return;
        }
        for (key, usual) in NOT_OF_SWIFT {
            let Some(entry) = recovery.entry(key) else { continue };
            let is_usual = match &entry.node.value {
                Value::Whole(number) => number.to_string() == usual,
                _ => entry.node.text() == Some(usual),
            };
            if is_usual {
                continue;
            }
            let help = match key {
                "heartbeat" | "grace" | "out_after" => {
                    "leave it out: servers of Swift send no heartbeats, and nothing is rebuilt elsewhere"
                }
                "timeout" => "proxies have `conn_timeout` and `node_timeout`",
                "parallel" => "replicators have `replicator_concurrency`",
                _ => "replicators have `replicator_interval`",
            };
            let message = format!("`{key}` has no effect with Swift");
            self.add(Problem::new(entry.key_place, message).help(help));
        }
    }

    /// Times and limits of Swift.
    fn swift_recovery(
        &mut self,
        raw: &RawRecovery,
        volumes: &[volumes::CheckedVolume],
    ) -> Option<SwiftRecovery> {
        let usual = SwiftRecovery::USUAL;
        let mut time = |raw: &Option<Time>, usual, what: &str| match raw {
            Some(raw) => self.time_above_zero(raw, what),
            None => Some(usual),
        };
        let conn_timeout = time(&raw.conn_timeout, usual.conn_timeout, "a timeout");
        let node_timeout = time(&raw.node_timeout, usual.node_timeout, "a timeout");
        let error_suppression_interval = time(
            &raw.error_suppression_interval,
            usual.error_suppression_interval,
            "the time until errors are forgotten",
        );
        let replicator_interval = time(
            &raw.replicator_interval,
            usual.replicator_interval,
            "the time between two passes of a replicator",
        );
        let min_part_hours = match &raw.min_part_hours {
            Some(raw) => self.time(raw),
            None => Some(usual.min_part_hours),
        };
        let number = |raw: &Option<At<i64>>, usual: u32| match raw {
            Some(raw) => u32::try_from(*raw.get()).ok(),
            None => Some(usual),
        };
        if let Some(count) = &raw.request_node_count {
            let models = volumes.iter().filter_map(|volume| volume.model.as_ref());
            let most = models.max_by_key(|volume| volume.n());
            if let Some(volume) = most.filter(|volume| *count.get() < i64::from(volume.n())) {
                let message = format!(
                    "volume `{}` has {} copies, and `request_node_count` lets a proxy ask no more than {}",
                    volume.name,
                    volume.n(),
                    count.get()
                );
                let help = "Swift's default is twice the number of copies";
                self.add(Problem::new(count.place(), message).help(help));
                return None;
            }
        }
        Some(SwiftRecovery {
            conn_timeout: conn_timeout?,
            node_timeout: node_timeout?,
            request_node_count: match &raw.request_node_count {
                Some(raw) => Some(u32::try_from(*raw.get()).ok()?),
                None => None,
            },
            error_suppression_limit: number(
                &raw.error_suppression_limit,
                usual.error_suppression_limit,
            )?,
            error_suppression_interval: error_suppression_interval?,
            replicator_interval: replicator_interval?,
            replicator_concurrency: number(
                &raw.replicator_concurrency,
                usual.replicator_concurrency,
            )?,
            min_part_hours: min_part_hours?,
        })
    }

    /// How the cluster deals with failures.
    pub(super) fn recovery(
        &mut self,
        raw: &RawRecovery,
        volumes: &[volumes::CheckedVolume],
    ) -> Option<Recovery> {
        let swift = self.swift_recovery(raw, volumes);
        let heartbeat = self.time_above_zero(&raw.heartbeat, "time between heartbeats");
        let grace = self.time_above_zero(&raw.grace, "a grace");
        let timeout = self.time_above_zero(&raw.timeout, "a timeout");
        let give_up = self.time_above_zero(&raw.give_up, "the time until a request fails");
        let (out_after, pause) = (self.time(&raw.out_after), self.time(&raw.pause));
        let (heartbeat, grace, timeout, give_up) = (heartbeat?, grace?, timeout?, give_up?);
        if timeout < MIN_TIMEOUT {
            let message = format!(
                "a timeout of {timeout} is shorter than any node could answer: clients would ask again \
                 and again"
            );
            let help = format!("`timeout` is at least {MIN_TIMEOUT}");
            self.add(Problem::new(raw.timeout.place(), message).help(help));
        }
        if grace < heartbeat {
            let message = format!(
                "a grace of {grace} is shorter than the {heartbeat} between two heartbeats: every \
                 node would be declared down"
            );
            let place = raw.grace.place();
            self.add(Problem::new(place, message).also(raw.heartbeat.place()));
        }
        if give_up < timeout && !self.is_swift() {
            let message = format!(
                "requests fail after {give_up}, before the first timeout of {timeout} is over"
            );
            self.add(Problem::new(raw.give_up.place(), message).also(raw.timeout.place()));
        }
        let parallel = u32::try_from(*raw.parallel.get()).ok()?;
        let (out_after, pause) = (out_after?, pause?);
        let backfills = match &raw.max_backfills {
            Some(most) => u32::try_from(*most.get()).ok()?,
            None => 1,
        };
        let swift = swift?;
        Some(Recovery {
            heartbeat,
            grace,
            out_after,
            timeout,
            give_up,
            parallel,
            backfills,
            pause,
            swift,
        })
    }
}
