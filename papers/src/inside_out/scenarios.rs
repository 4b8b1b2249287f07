//! Table II of the paper: the runs to learn from, and the runs to predict.

use super::runs::{Request, Setup};

/// A change of the storage system between training and prediction.
pub(super) struct Change {
    /// The paper's name for it.
    pub(super) name: &'static str,
    /// The figure that shows it.
    pub(super) figure: &'static str,
    /// Whether a run is a training run.
    pub(super) learned: fn(&Setup) -> bool,
    /// Whether a run is predicted.
    pub(super) predicted: fn(&Setup) -> bool,
}

impl Change {
    /// Whether a wanted figure shows the accuracy of every learner.
    pub(super) fn is_scored(&self, wanted: &impl Fn(&str) -> bool) -> bool {
        // Figure 9 is about all of them
        wanted(self.figure) || wanted("fig09")
    }
}

const READS: [u32; 5] = [0, 25, 50, 75, 100];
const DRIVERS: [u32; 3] = [1, 2, 4];
/// The workers of Table III. Table II goes on to 16 and 32 where many users are predicted.
const FEW_WORKERS: [u32; 4] = [1, 2, 4, 8];
const MANY_WORKERS: [u32; 2] = [16, 32];
const SMALL: [u32; 4] = [4, 6, 8, 10];
const LARGE: [u32; 3] = [20, 30, 40];

/// Whether a run has this kind of cluster.
fn base(setup: &Setup) -> bool {
    let plain = Setup {
        drivers: setup.drivers,
        workers: setup.workers,
        request: setup.request,
        read_percent: setup.read_percent,
        ..Setup::BASE
    };
    plain == *setup
}

/// The same without the runs with many workers, which are only predicted.
pub(super) fn usual(setup: &Setup) -> bool {
    base(setup) && FEW_WORKERS.contains(&setup.workers)
}

/// The same for clusters of any size.
fn sized(setup: &Setup) -> bool {
    usual(&Setup { osds: Setup::BASE.osds, ..setup.clone() })
}

/// All changes, figure by figure.
pub(super) const ALL: [Change; 17] = [
    Change {
        name: "Increasing users",
        figure: "fig04",
        learned: |s| usual(s) && s.drivers <= 2,
        predicted: |s| usual(s) && s.drivers == 4,
    },
    Change {
        name: "Complex usage",
        figure: "fig04",
        learned: usual,
        predicted: |s| base(s) && s.workers > 8,
    },
    Change {
        name: "Complex request",
        figure: "fig04",
        learned: |s| usual(s) && s.request == Request::Fixed,
        predicted: |s| usual(s) && s.request == Request::Variable,
    },
    Change {
        name: "Write intensive",
        figure: "fig04",
        learned: |s| usual(s) && s.read_percent >= 50,
        predicted: |s| usual(s) && s.read_percent < 50,
    },
    Change {
        name: "Read intensive",
        figure: "fig04",
        learned: |s| usual(s) && s.read_percent <= 50,
        predicted: |s| usual(s) && s.read_percent > 50,
    },
    Change {
        name: "Medium write",
        figure: "fig04",
        learned: |s| usual(s) && [0, 50, 100].contains(&s.read_percent),
        predicted: |s| usual(s) && s.read_percent == 25,
    },
    Change {
        name: "Medium read",
        figure: "fig04",
        learned: |s| usual(s) && [0, 50, 100].contains(&s.read_percent),
        predicted: |s| usual(s) && s.read_percent == 75,
    },
    Change {
        name: "Reconfigure Ceph",
        figure: "fig05",
        learned: usual,
        predicted: |s| s.monitors == 2,
    },
    Change { name: "Scale up", figure: "fig05", learned: usual, predicted: |s| s.medium },
    Change {
        name: "Medium network SLO",
        figure: "fig05",
        learned: usual,
        predicted: |s| s.network == 500 && !s.neighbour,
    },
    Change {
        name: "Low network SLO",
        figure: "fig05",
        learned: usual,
        predicted: |s| s.network == 250 && !s.neighbour,
    },
    Change {
        name: "Scale out to 20",
        figure: "fig06",
        learned: |s| sized(s) && s.osds <= 10,
        predicted: |s| s.osds == 20,
    },
    Change {
        name: "Scale out to 30",
        figure: "fig06",
        learned: |s| sized(s) && s.osds <= 10,
        predicted: |s| s.osds == 30,
    },
    Change {
        name: "Scale out to 40",
        figure: "fig06",
        learned: |s| sized(s) && s.osds <= 10,
        predicted: |s| s.osds == 40,
    },
    Change {
        name: "Shrink in",
        figure: "fig06",
        learned: |s| s.osds > 10,
        predicted: |s| sized(s) && s.osds <= 10,
    },
    Change {
        name: "Tenants, one throttled",
        figure: "fig07",
        learned: usual,
        predicted: |s| s.neighbour && s.network == 250,
    },
    Change {
        name: "Tenants",
        figure: "fig07",
        learned: usual,
        predicted: |s| s.neighbour && s.network == 1000,
    },
];

/// The changes of Figure 3.
pub(super) const FIGURE_3: [&str; 3] = ["Scale out to 20", "Read intensive", "Complex request"];

/// Whether a wanted figure learns from a run or predicts it.
pub(super) fn is_needed(setup: &Setup, wanted: &impl Fn(&str) -> bool) -> bool {
    let of_usual = (wanted("tab01") || wanted("fig08")) && usual(setup);
    let shown = |change: &Change| {
        change.is_scored(wanted) || wanted("fig03") && FIGURE_3.contains(&change.name)
    };
    let of_change = |change: &Change| (change.learned)(setup) || (change.predicted)(setup);
    of_usual || ALL.iter().filter(|change| shown(change)).any(of_change)
}

/// All runs that the changes need. With `quick`, clusters other than the usual one get a fifth of the
/// loads.
pub(super) fn setups(quick: bool) -> Vec<Setup> {
    let loads = |drivers: &[u32], workers: &[u32], reads: &[u32]| {
        let mut loads = Vec::new();
        for &drivers in drivers {
            for &workers in workers {
                for request in [Request::Fixed, Request::Variable] {
                    for &read_percent in reads {
                        loads.push(Setup {
                            drivers,
                            workers,
                            request,
                            read_percent,
                            ..Setup::BASE
                        });
                    }
                }
            }
        }
        loads
    };
    let mut setups = loads(&DRIVERS, &FEW_WORKERS, &READS);
    setups.extend(loads(&DRIVERS, &MANY_WORKERS, &READS));
    let other = if quick {
        loads(&[1, 4], &[2, 8], &[0, 50, 100])
    } else {
        loads(&DRIVERS, &FEW_WORKERS, &READS)
    };
    let mut add = |change: &dyn Fn(&mut Setup)| {
        for mut setup in other.iter().cloned() {
            change(&mut setup);
            setups.push(setup);
        }
    };
    add(&|setup| setup.monitors = 2);
    add(&|setup| setup.medium = true);
    for network in [500, 250] {
        add(&|setup| setup.network = network);
    }
    for network in [250, 1000] {
        add(&|setup| (setup.network, setup.neighbour) = (network, true));
    }
    for osds in SMALL.into_iter().chain(LARGE).filter(|osds| *osds != Setup::BASE.osds) {
        add(&|setup| setup.osds = osds);
    }
    setups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_predicted_was_learned_from() {
        for quick in [true, false] {
            let setups = setups(quick);
            for change in &ALL {
                let learned = setups.iter().filter(|setup| (change.learned)(setup)).count();
                let predicted: Vec<_> =
                    setups.iter().filter(|setup| (change.predicted)(setup)).collect();
                assert!(learned >= 50 && predicted.len() >= 20, "{} {learned}", change.name);
                assert!(predicted.iter().all(|setup| !(change.learned)(setup)), "{}", change.name);
            }
        }
    }

    #[test]
    fn only_runs_that_a_wanted_figure_is_about_are_needed() {
        let setups = setups(false);
        let needed = |figures: &[&str]| {
            let wanted = |name: &str| figures.contains(&name);
            setups.iter().filter(|setup| is_needed(setup, &wanted)).count()
        };
        // 3 numbers of drivers × 4 of workers × 2 kinds of request × 5 shares of reads
        assert_eq!((needed(&["tab01"]), needed(&["fig08"]), needed(&[])), (120, 120, 0));
        // six other sizes; Figure 3 uses the three up to 8, and 20
        assert_eq!((needed(&["fig06"]), needed(&["fig03"])), (7 * 120, 5 * 120));
        assert_eq!(needed(&["fig09"]), setups.len());
    }
}
