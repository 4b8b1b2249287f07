//! Hosts that fail and return: which hosts are down, what other hosts know about it, and which exchanges are
//! lost.
//!
//! A host that fails loses its computations, messages and accesses without notice to others. Clients notice
//! by timeouts, and the cluster by missing heartbeats ([`Standing`]). An exchange has one step pending at a
//! time. If its host fails, or its client gives it up, the pending event still comes, but is ignored
//! ([`Fate`]). So the agenda need not be searched, and nothing is freed twice.
//!
//! This state exists only in scenarios with events, hedged reads or reads of the newest version. In other
//! scenarios, it costs each step one test of a pointer. Not modelled: traffic of heartbeats and of the hosts
//! that collect them, network partitions, data corruption.

mod blocks;
mod hedging;
mod holes;
mod home;
mod moves;
mod pace;
mod phases;
mod plan;
mod recovery;
mod routes;

use foretell_scenarios::model::Scenario;
use foretell_scenarios::outages::{Outages, Recovery as RecoverySettings};
use foretell_sorted::SortedMap;
use foretell_units::{Beat, Breadcrumb, Bytes, HostId, SimTime};

pub(crate) use blocks::Blocks;
pub(crate) use hedging::Hedging;
pub(crate) use holes::{Holder, Holes, Slot, spare_groups};
pub use home::{Home, ObjectHome, Unit};
pub(crate) use moves::Change;
pub use pace::{HoursLeft, Progress};
pub use phases::{RunPhase, RunPhases};
pub(crate) use plan::{Asked, Plan, Plans, State};
pub(crate) use recovery::{Conversion, ConversionStage, Job, Recoveries, Stage};
pub use recovery::{Kind, Recovery};
pub(crate) use routes::Routes;

use crate::exchange::Purpose;
use crate::hosts::{Hosts, Timer};
use crate::protocol::{Clocks, Core};
use crate::volume::Volume;

/// The effects of failures on a cluster, and the cluster's knowledge of them.
pub(crate) struct Failures {
    pub(crate) settings: RecoverySettings,
    /// Whether clients give nodes up after their timeout: in scenarios with events.
    pub(crate) has_timeouts: bool,
    /// Hedged reads.
    pub(crate) hedging: Hedging,
    pub(crate) hosts: Vec<HostState>,
    /// Fates by exchange; exchanges beyond the end are running.
    fates: Vec<Fate>,
    /// By client and node: until when the client avoids the node after a timeout.
    suspicions: SortedMap<(HostId, HostId), SimTime>,
    /// Hosts that are down and hold fragments.
    pub(crate) missed: u32,
    pub(crate) plans: Plans,
    /// The greatest number of a client's part so far.
    newest: u64,
    pub(crate) holes: Holes,
    pub(crate) recoveries: Recoveries,
    /// Parts of requests that have become complete without a new answer.
    pub(crate) ready: Vec<u32>,
    /// Requests that may continue because a part of their volume has finished changing.
    pub(crate) let_go: Vec<u32>,
    /// For systems with objects: recoveries of objects in progress, and groups that are not whole.
    pub(crate) objects: Objects,
    /// For Swift: reads in which clients got an older version than the one that was acknowledged last.
    pub(crate) stale_reads: u64,
    /// Requests that have begun to wait because too few servers of a group are up, since the engine last took them.
    pub(crate) below_min_size: Vec<BelowMinSize>,
}

/// A request that has begun to wait. It may have ended when the engine asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BelowMinSize {
    /// Its workload.
    pub(crate) workload: u32,
    /// The job of a gateway to which it belongs.
    pub(crate) job: Option<u32>,
}

/// The state that a system with objects reports.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Objects {
    /// Objects that are being recovered, and servers that pause between two recoveries.
    pub(crate) under_way: u64,
    /// Placement groups that are not whole.
    pub(crate) lacking: u64,
}

/// A host, or a server of a host: a unit that can fail. Hosts come first.
pub(crate) struct HostState {
    /// Whether it is stopped.
    pub(crate) is_down: bool,
    /// Whether its data are lost for good.
    pub(crate) is_wiped: bool,
    /// The cluster's opinion of it.
    pub(crate) standing: Standing,
    /// Whether all its fragments were given to others.
    pub(crate) holds_nothing: bool,
    pub(crate) membership: Membership,
    beat: Beat,
    /// When its standing is next due for a check.
    due: Option<SimTime>,
}

/// The cluster's opinion of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It gets requests.
    Up,
    /// It has been silent for too long, and gets no requests.
    Down,
    /// It has been down for too long: its fragments are rebuilt on other hosts.
    Out,
}

/// Whether fragments are given to a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Membership {
    /// Not yet: the host joins later.
    Absent,
    /// Yes.
    Member,
    /// No longer: the host is drained.
    Drained,
}

/// The fate of an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It continues normally.
    Running,
    /// A host has failed: the pending event will have no effect.
    Doomed,
    /// It is lost, and its client waits in vain.
    Lost,
    /// Its client no longer waits for it: it is freed when the pending event comes.
    Abandoned,
}

impl HostState {
    fn new(beat: Beat) -> Self {
        Self {
            is_down: false,
            is_wiped: false,
            standing: Standing::Up,
            holds_nothing: false,
            membership: Membership::Member,
            beat,
            due: None,
        }
    }

    /// Whether fragments may be given to it.
    pub(crate) fn is_member(&self) -> bool {
        self.membership == Membership::Member
    }
}

/// The health of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Health {
    /// All fragments are in their places and up to date.
    Whole,
    /// Some fragment is unreachable or stale, and no recovery is in progress.
    Degraded,
    /// Fragments are being rebuilt.
    Recovering,
}

impl Failures {
    /// The state for a scenario with events, with hedged reads or with reads of the newest version. Clients with such
    /// reads need the same bookkeeping.
    pub(crate) fn of(scenario: &Scenario, clocks: &Clocks) -> Option<Box<Self>> {
        let settings = scenario.outages.as_ref().map(|outages| outages.recovery);
        if settings.is_none() && !scenario.hedges() && !scenario.reads_newest() {
            return None;
        }
        let has_timeouts = settings.is_some();
        let settings = settings.unwrap_or(RecoverySettings::NONE);
        let outages = scenario.outages.as_ref();
        let outages = outages.filter(|_| !scenario.system.traits().disks_are_servers());
        let joining = outages.map(Outages::joining).unwrap_or_default();
        let state = |index| {
            let host = HostId::from(index);
            let beat = clocks(host).beat_after_events("heartbeat", settings.heartbeat);
            let is_joining = joining.contains(&host);
            let membership = if is_joining { Membership::Absent } else { Membership::Member };
            HostState { membership, ..HostState::new(beat) }
        };
        Some(Box::new(Self {
            settings,
            has_timeouts,
            hedging: Hedging::of(scenario),
            hosts: (0..scenario.hosts.len()).map(state).collect(),
            fates: Vec::new(),
            suspicions: SortedMap::new(),
            missed: 0,
            newest: 0,
            plans: Plans::default(),
            holes: Holes::new(),
            recoveries: Recoveries::default(),
            ready: Vec::new(),
            let_go: Vec::new(),
            objects: Objects::default(),
            stale_reads: 0,
            below_min_size: Vec::new(),
        }))
    }

    /// Whether the cluster considers a host up.
    pub(crate) fn is_up(&self, host: HostId) -> bool {
        self.hosts[host.index()].standing == Standing::Up
    }

    pub(crate) fn is_down(&self, host: HostId) -> bool {
        self.hosts[host.index()].is_down
    }

    /// Whether a client has no reason of its own to avoid a node.
    pub(crate) fn trusts(&self, client: HostId, node: HostId, now: SimTime) -> bool {
        self.suspicions.get(&(client, node)).is_none_or(|until| *until <= now)
    }

    /// A client's request to a node has timed out.
    pub(crate) fn suspect(&mut self, client: HostId, node: HostId, now: SimTime) {
        self.suspicions.insert((client, node), now + self.settings.grace);
    }

    /// A node has answered a client.
    pub(crate) fn trust(&mut self, client: HostId, node: HostId) {
        if !self.suspicions.is_empty() {
            self.suspicions.remove(&(client, node));
        }
    }

    fn fate(&mut self, exchange: u32) -> &mut Fate {
        let index = exchange as usize;
        if index >= self.fates.len() {
            self.fates.resize(index + 1, Fate::Running);
        }
        &mut self.fates[index]
    }

    /// The number that orders a part among writes: that of its request. The requests of a prediction have none; they are
    /// numbered as they begin.
    pub(crate) fn order(&mut self, breadcrumb: Breadcrumb) -> u64 {
        let order = if breadcrumb == Breadcrumb::NONE { self.newest + 1 } else { breadcrumb.0 };
        self.newest = self.newest.max(order);
        order
    }

    /// Bytes that a recovery of fragments still has to write: those of holes and moves with its key, or the new
    /// fragments of groups that are not converted yet.
    pub(crate) fn bytes_left(&self, volumes: &[Volume], recovery: &Recovery) -> Bytes {
        let Recovery { host, kind, .. } = *recovery;
        let blocks = |slot: &Slot, count: u64| {
            let distribution = &volumes[slot.volume as usize].distribution;
            distribution.group_stored() * count / distribution.group_blocks()
        };
        if kind != Kind::Convert {
            let left = self.holes.left((host, kind));
            return Bytes(left.map(|(slot, count)| blocks(slot, count).get()).sum());
        }
        let Some(to) = self.holes.routes.target(host.0) else { return Bytes::ZERO };
        let new = &volumes[to as usize].distribution;
        let groups = self.recoveries.unconverted(host.0);
        new.group_stored() * (new.encoding().n() as u64 * groups)
    }

    /// The health of the cluster.
    pub(crate) fn health(&self) -> Health {
        if self.recoveries.is_busy() || self.objects.under_way > 0 {
            return Health::Recovering;
        }
        if self.holes.any() || self.missed > 0 || self.objects.lacking > 0 {
            return Health::Degraded;
        }
        Health::Whole
    }
}

impl Core {
    /// The failure state of a scenario with events.
    pub(crate) fn failed(&mut self) -> &mut Failures {
        self.failures.as_mut().expect("only scenarios with events get here")
    }

    /// Whether an exchange continues, now that its pending event has come.
    #[inline]
    pub(crate) fn goes_on(&mut self, exchange: u32) -> bool {
        self.failures.is_none() || self.has_no_fate(exchange)
    }

    fn has_no_fate(&mut self, exchange: u32) -> bool {
        let fate = *self.failed().fate(exchange);
        match fate {
            Fate::Running => true,
            Fate::Doomed => {
                self.lose(exchange);
                false
            }
            Fate::Abandoned => {
                self.free(exchange);
                false
            }
            Fate::Lost => unreachable!("nothing was pending"),
        }
    }

    /// Whether the receiver of an exchange's message is up.
    #[inline]
    pub(crate) fn finds_receiver(&self, exchange: u32) -> bool {
        let Some(failures) = &self.failures else { return true };
        !failures.is_down(self.exchanges[exchange].receiver())
    }

    /// An exchange is lost, and its client does not know yet. Returns whether it has a client: batches of records and
    /// reports have none and are freed at once.
    pub(crate) fn lose(&mut self, exchange: u32) -> bool {
        match self.exchanges[exchange].purpose {
            Purpose::Records | Purpose::Report => {
                self.free(exchange);
                false
            }
            _ => {
                *self.failed().fate(exchange) = Fate::Lost;
                true
            }
        }
    }

    pub(crate) fn free(&mut self, exchange: u32) {
        *self.failed().fate(exchange) = Fate::Running;
        self.exchanges.remove(exchange);
    }

    /// The client of an exchange no longer waits for it.
    pub(crate) fn abandon<H: Hosts>(&mut self, hosts: &mut H, exchange: u32) {
        let fate = *self.failed().fate(exchange);
        match fate {
            Fate::Lost => self.free(exchange),
            Fate::Running if hosts.payload_forgotten(exchange) => self.free(exchange),
            Fate::Running | Fate::Doomed => *self.failed().fate(exchange) = Fate::Abandoned,
            Fate::Abandoned => unreachable!("it was abandoned before"),
        }
    }

    /// A host stops: all its work, and all messages to and from it, are lost.
    pub(crate) fn host_fails<H: Hosts>(&mut self, hosts: &mut H, host: HostId, keeps: bool) {
        self.cancel_jobs_of(hosts, host);
        self.doom_exchanges_of(hosts, host);
        if !keeps {
            hosts.payload_wiped(host);
        }
        self.failed().fails(hosts, host, keeps);
    }

    /// All messages to and from a host, and its work for them, are lost.
    pub(crate) fn doom_exchanges_of<H: Hosts>(&mut self, hosts: &mut H, host: HostId) {
        let exchanges: Vec<u32> = self.exchanges.kept().collect();
        for exchange in exchanges {
            let asked = &self.exchanges[exchange];
            if asked.client != host && asked.node != host {
                continue;
            }
            if *self.failed().fate(exchange) == Fate::Running {
                if hosts.payload_forgotten(exchange) {
                    self.lose(exchange);
                } else {
                    *self.failed().fate(exchange) = Fate::Doomed;
                }
            }
        }
    }

    /// Checks the standing of a host. Returns it if it has changed.
    pub(crate) fn watch<H: Hosts>(&mut self, hosts: &mut H, host: HostId) -> Option<Standing> {
        let now = hosts.now();
        let Failures { hosts: states, settings, .. } = self.failed();
        let state = &mut states[host.index()];
        if state.due != Some(now) {
            return None;
        }
        state.due = None;
        state.standing = match state.standing {
            Standing::Up => {
                let due = now + settings.out_after;
                state.due = Some(due);
                hosts.set_timer(due, Timer::Watch { host: host.0 });
                Standing::Down
            }
            Standing::Down | Standing::Out => Standing::Out,
        };
        Some(state.standing)
    }

    /// A host is back, with its data.
    pub(crate) fn host_returns(&mut self, host: HostId) {
        self.failed().returns(host);
    }
}

impl Failures {
    /// Adds servers that can fail separately; their numbers follow those of the hosts.
    pub(crate) fn add_units(&mut self, beats: impl Iterator<Item = Beat>) {
        self.hosts.extend(beats.map(HostState::new));
    }

    /// A host or server is down from now on.
    pub(crate) fn fails<H: Hosts>(&mut self, hosts: &mut H, host: HostId, keeps: bool) {
        let now = hosts.now();
        let Self { hosts: states, settings, missed, .. } = self;
        let state = &mut states[host.index()];
        state.is_down = true;
        state.is_wiped |= !keeps;
        *missed += u32::from(!state.holds_nothing);
        // a node that the cluster still considers down since its last failure keeps its standing
        if state.standing == Standing::Up {
            // the last sign of life was at the previous heartbeat
            let next = state.beat.after(now) + settings.grace;
            let due = SimTime::from_ns(next.as_ns().saturating_sub(settings.heartbeat.as_ns()));
            let due = due.max(now);
            state.due = Some(due);
            hosts.set_timer(due, Timer::Watch { host: host.0 });
        }
    }

    /// A host or server is back.
    pub(crate) fn returns(&mut self, host: HostId) {
        let state = &mut self.hosts[host.index()];
        state.is_down = false;
        self.missed -= u32::from(!state.holds_nothing);
        state.due = None;
        state.standing = Standing::Up;
        // a drained host gets no data again
        state.holds_nothing &= !state.is_member();
        self.suspicions.retain(|(_, node), _| *node != host);
    }
}
