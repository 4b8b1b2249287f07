//! Properties of an answer about a workload that are known before its error is known. They decide which past
//! scores resemble the answer.
//!
//! In this module, *misfit* is the model's error for the recorded run, and *movement* is the change of the
//! mean response time that the question causes, according to the model. Left out: the amounts in the question
//! (how many more clients, how much more cache). The movement represents them.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use foretell_scenarios::Change;
use foretell_scenarios::model::{Arrivals, Scenario, Workload};

use crate::answer::ResponseTimeMs;
use crate::disk::Measurement;

/// Misfits below the first number count as equal, and movements below the second (assumed: no model is so
/// accurate).
const ALIKE: (f64, f64) = (0.01, 0.05);
/// Distance between cases that differ in loop, device, system or kind of change, in this order. The units are
/// those of the logarithms of misfit and movement.
const OTHER: [f64; 4] = [6.0, 2.0, 1.5, 1.5];
/// Distance to a case that lacks this information (a history of an earlier version).
const UNKNOWN: f64 = 3.0;
/// Distance to a case in which only the number of requests is unknown.
const UNKNOWN_REQUESTS: f64 = 1.0;

/// Throughput, requests a second, and response times of a workload.
pub(crate) type Figures = (f64, ResponseTimeMs);

/// Properties of an answer that are known before its error is known.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Circumstances {
    /// Logarithm of modelled / recorded mean response time of the recorded run itself; `None` for a new
    /// workload.
    pub misfit: Option<f64>,
    /// The same for throughput. Files of past scores do not contain it. It does not affect the distance, but
    /// it may widen intervals.
    pub misfit_of_throughput: Option<f64>,
    /// Logarithm of the mean response time in the question, divided by that of the recorded run, both by the
    /// model; `None` for a new workload.
    pub moved: Option<f64>,
    /// Utilization of the busiest resource that the workload uses, 0 to 1.
    pub utilization: Option<f64>,
    /// What the question is about; unknown in files of earlier versions.
    pub about: Option<About>,
    /// Number of requests of the workload in the measured time. If there are few, percentiles are a matter of
    /// chance, even in the truth. Unknown in files of earlier versions.
    pub requests: Option<f64>,
}

/// What a question is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// The storage system.
    pub system: SystemKind,
    /// The devices that hold the workload's volume.
    pub device: DeviceKind,
    /// What is changed.
    pub change: ChangeKind,
    /// Whether the workload is an open loop.
    pub open: bool,
}

/// Defines an enum with a fixed set of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $case:ident = $word:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$of])* $case),* }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$case => $word),* })
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$case),)*
                    _ => Err(format!("has `{text}` instead of one of {}", [$($word),*].join(", "))),
                }
            }
        }
    };
}

words!(
    /// A storage system, or virtual machines in front of one.
    SystemKind {
        /// Clients encode and place data themselves.
        UrsaMinor = "ursa-minor",
        /// Ceph.
        Ceph = "ceph",
        /// Swift.
        Swift = "swift",
        /// Guests with block layers of their own.
        Guest = "guest",
        /// A system without past scores.
        Other = "other",
    }
);

words!(
    /// Kind of the devices that hold a volume.
    DeviceKind {
        /// Disks with an arm.
        Disk = "disk",
        /// Solid-state drives.
        Flash = "flash",
        /// Arrays behind a controller.
        Array = "array",
        /// Several of these.
        Mixed = "mixed",
    }
);

words!(
    /// What a question changes.
    ChangeKind {
        /// Nothing: the recorded run itself.
        Nothing = "nothing",
        /// Rates, outstanding requests, think times.
        Load = "load",
        /// Which clients run a workload, and how many.
        Clients = "clients",
        /// Requests of a recorded workload: share of reads, sizes, addresses; the amount of data.
        Requests = "requests",
        /// A workload added, removed, or described again.
        Workload = "workload",
        /// Encoding, cipher, quorums.
        Encoding = "encoding",
        /// Which nodes hold which data, and how many nodes there are.
        Placement = "placement",
        /// Caches of nodes.
        Cache = "cache",
        /// Disks and their schedulers.
        Disk = "disk",
        /// Links and the switch.
        Network = "network",
        /// Processors.
        Processor = "processor",
        /// Settings of the storage system or of guests.
        System = "system",
        /// Scrubbing.
        Scrubbing = "scrubbing",
        /// Hosts that fail, return or slow down, with or without other changes.
        Failure = "failure",
        /// Several of these.
        Several = "several",
    }
);

impl Circumstances {
    /// `predicted_ms`: the mean response time for the question. `modelled` and `recorded`: the figures of the
    /// recorded run.
    pub(crate) fn of(predicted_ms: f64, modelled: Figures, recorded: Figures) -> Self {
        let log = |ratio: f64| Some(libm::log(ratio)).filter(|log| log.is_finite());
        let ((modelled_rps, modelled), (recorded_rps, recorded)) = (modelled, recorded);
        Self {
            misfit: log(modelled.mean / recorded.mean),
            misfit_of_throughput: log(modelled_rps / recorded_rps),
            moved: log(predicted_ms / modelled.mean),
            ..Self::default()
        }
    }
}

/// Circumstances with their coordinates, from which distances follow: each case is compared with thousands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    pub(crate) circumstances: Circumstances,
    misfit: Option<f64>,
    moved: Option<f64>,
    /// How crowded the busiest resource is.
    crowd: Option<f64>,
    requests: Option<f64>,
}

impl From<Circumstances> for Located {
    fn from(circumstances: Circumstances) -> Self {
        let Circumstances { misfit, moved, utilization, requests, .. } = circumstances;
        Self {
            circumstances,
            misfit: misfit.map(|log| libm::log(log.abs() + ALIKE.0)),
            moved: moved.map(|log| libm::log(log.abs() + ALIKE.1)),
            crowd: utilization.map(|part| -libm::log(1.0 - part.clamp(0.0, 0.98))),
            // random variation falls with the square root of the count
            requests: requests.map(|count| 0.5 * libm::log(count.max(1.0))),
        }
    }
}

impl Located {
    /// Squared distance between two cases; infinite if only one of them is about a new workload.
    pub(crate) fn distance(&self, other: &Self) -> f64 {
        let apart = |one: Option<f64>, two: Option<f64>, if_one_is_unknown: f64| match (one, two) {
            (Some(one), Some(two)) => (one - two).powi(2),
            (None, None) => 0.0,
            _ => if_one_is_unknown,
        };
        let about = match (self.circumstances.about, other.circumstances.about) {
            (Some(one), Some(two)) => one.distance(two),
            (None, None) => 0.0,
            _ => UNKNOWN,
        };
        apart(self.misfit, other.misfit, f64::INFINITY)
            + apart(self.moved, other.moved, f64::INFINITY)
            + apart(self.crowd, other.crowd, 0.0)
            + about
            + apart(self.requests, other.requests, UNKNOWN_REQUESTS)
    }
}

impl About {
    fn distance(self, other: Self) -> f64 {
        let differs = [
            self.open != other.open,
            self.device != other.device,
            self.system != other.system,
            self.change != other.change,
        ];
        differs.iter().zip(OTHER).filter(|(differs, _)| **differs).map(|(_, far)| far).sum()
    }

    /// What a question is about, for a workload of the changed cluster.
    pub(crate) fn of(
        scenario: &Scenario,
        workload: &Workload,
        measured: &[Vec<Arc<Measurement>>],
        change: ChangeKind,
    ) -> Self {
        let guests = workload.clients.iter().any(|id| scenario.host(*id).guest.is_some());
        let system = match scenario.system.name() {
            _ if guests => SystemKind::Guest,
            name => name.parse().unwrap_or(SystemKind::Other),
        };
        let nodes = &scenario.volume(workload.volume).nodes;
        let mut devices = nodes.iter().flat_map(|node| &measured[node.index()]).map(|known| {
            if known.array.is_some() {
                DeviceKind::Array
            } else if known.is_flash() {
                DeviceKind::Flash
            } else {
                DeviceKind::Disk
            }
        });
        let first = devices.next().unwrap_or(DeviceKind::Disk);
        let device = if devices.all(|other| other == first) { first } else { DeviceKind::Mixed };
        let open = !matches!(workload.arrivals, Arrivals::Closed { .. });
        Self { system, device, change, open }
    }
}

impl ChangeKind {
    /// The kind of all changes of a question together.
    pub fn of(changes: &[Change]) -> Self {
        let mut kinds = changes.iter().map(Self::of_one);
        if kinds.clone().any(|kind| kind == Self::Failure) {
            return Self::Failure;
        }
        let Some(first) = kinds.next() else { return Self::Nothing };
        if kinds.all(|other| other == first) { first } else { Self::Several }
    }

    fn of_one(change: &Change) -> Self {
        let steps: Vec<&str> = change.path.split('.').map(str::trim).collect();
        let key = steps.get(2).copied().unwrap_or_default();
        match (steps[0], key) {
            ("event" | "recovery", _) => Self::Failure,
            ("scrub", _) => Self::Scrubbing,
            ("workload", "client") | ("client", "count" | "") => Self::Clients,
            ("workload", "" | "kind" | "volume") => Self::Workload,
            (
                "workload",
                "reads" | "access" | "pattern" | "alpha" | "step" | "hot_fraction" | "hot_share"
                | "working_set",
            )
            | ("volume", "size") => Self::Requests,
            ("workload", _) => Self::Load,
            ("volume", "nodes" | "placement" | "") | ("node", "count" | "machine" | "") => {
                Self::Placement
            }
            ("volume", _) => Self::Encoding,
            ("node", "cache" | "nvram") => Self::Cache,
            ("node", "disk" | "layout" | "stripe") => Self::Disk,
            (_, "nic" | "cluster_nic") | ("switch", _) => Self::Network,
            (_, "cpu") => Self::Processor,
            _ => Self::System,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(changes: &[&str]) -> ChangeKind {
        let changes: Vec<Change> = changes.iter().map(|text| text.parse().unwrap()).collect();
        ChangeKind::of(&changes)
    }

    #[test]
    fn what_a_question_changes_has_a_name() {
        assert_eq!(kind(&[]), ChangeKind::Nothing);
        assert_eq!(kind(&["workload.mail.client=app[0-3]"]), ChangeKind::Clients);
        assert_eq!(kind(&["workload.mail=none"]), ChangeKind::Workload);
        assert_eq!(kind(&["workload.mail.rate=", "workload.mail.outstanding=2"]), ChangeKind::Load);
        assert_eq!(kind(&["volume.mail.encoding=2-of-3"]), ChangeKind::Encoding);
        assert_eq!(kind(&["workload.mail.reads=1"]), ChangeKind::Requests);
        assert_eq!(kind(&["volume.mail.size=1 TiB"]), ChangeKind::Requests);
        assert_eq!(kind(&["node.brick.disk.0.device=sata-ssd"]), ChangeKind::Disk);
        assert_eq!(kind(&["host.brick2.nic.rate=1 Gbit/s"]), ChangeKind::Network);
        assert_eq!(kind(&["cluster.store=filestore"]), ChangeKind::System);
        let crash = "event.e={ at = \"1 s\", what = \"fail\", host = \"brick1\" }";
        assert_eq!(kind(&["node.brick.count=4", crash]), ChangeKind::Failure);
        let both = ["node.brick.cache.size=1 GiB", "node.brick.count=4"];
        assert_eq!(kind(&both), ChangeKind::Several);
    }

    #[test]
    fn other_devices_are_less_alike_than_other_movements() {
        let about = |device| About {
            system: SystemKind::UrsaMinor,
            device,
            change: ChangeKind::Load,
            open: false,
        };
        let case = |device, moved| {
            Located::from(Circumstances {
                misfit_of_throughput: None,
                misfit: Some(0.01),
                moved: Some(moved),
                utilization: Some(0.5),
                about: Some(about(device)),
                requests: Some(2000.0),
            })
        };
        let here = case(DeviceKind::Disk, 0.2);
        let same = here.distance(&case(DeviceKind::Disk, 0.3));
        assert!(same < here.distance(&case(DeviceKind::Flash, 0.2)));
        let few = Located::from(Circumstances { requests: Some(20.0), ..here.circumstances });
        assert!(here.distance(&few) > here.distance(&here));
        assert!(here.distance(&Circumstances::default().into()).is_infinite(), "of a new workload");
    }
}
