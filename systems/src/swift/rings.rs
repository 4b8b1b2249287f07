//! Rings that change, and disks that fail: which servers should have a partition.
//!
//! An operator changes a ring: a host that joins gets the weight of its disks, and one that is drained gets a
//! weight of zero. Each event is one `swift-ring-builder rebalance`. It moves at most one replica of a
//! partition, and none of a partition that has moved less than `min_part_hours` before (Swift's
//! documentation, *The Rings*). What it cannot move stays where it is. Simplified: all servers and proxies
//! know the new ring at once, although operators need some time to distribute it.
//!
//! A server whose disk has failed answers *507 Insufficient Storage*. A proxy avoids it at once
//! (`error_limit` in `swift/proxy/server.py`). A replicator takes one more handoff in its place (`update` in
//! `swift/obj/replicator.py`), so that the partition is on as many servers as before. When the disk is back,
//! handoffs return what they hold. Simplified: the handoffs are the first in the ring whose disks work,
//! even if their hosts are down.

use std::collections::BTreeMap;

use foretell_algorithms::placement::Ring;
use foretell_units::{Bytes, HostId, SimTime};

use super::VolumeRing;
use super::cluster::Cluster;
use super::ledger::{Cause, Osd};
use super::outages::Outages;
use crate::failures::{Kind, Unit};
use crate::hosts::Hosts;
use crate::protocol::Core;
use crate::system::Few;

/// The first blocks of each partition's objects, in order.
pub(super) type Objects = Vec<Vec<u64>>;

impl Outages {
    /// The servers of a unit.
    pub(super) fn servers_in(&self, what: Unit) -> std::ops::Range<Osd> {
        let all = self.servers_of(what.host);
        match what.disk {
            Some(disk) => all.start + disk..all.start + disk + 1,
            None => all,
        }
    }

    /// The number of a unit in recoveries: those of servers follow those of hosts.
    pub(super) fn number_of(&self, what: Unit) -> HostId {
        match what.disk {
            Some(_) => HostId(self.hosts() + self.servers_in(what).start),
            None => what.host,
        }
    }

    /// Servers that should have a partition with these primaries: those with a disk that works, and as many handoffs
    /// as there are others.
    fn wanted(&mut self, partition: usize, primaries: &[Osd]) -> Few<Osd> {
        let works = |out: &Self, osd: Osd| !out.unmounted.contains_key(&osd);
        let mut wanted: Few<Osd> =
            primaries.iter().copied().filter(|osd| works(self, *osd)).collect();
        let mut next = 0;
        while wanted.len() < primaries.len() {
            let Some(osd) = self.handoff(partition, next) else { break };
            if works(self, osd) {
                wanted.push(osd);
            }
            next += 1;
        }
        wanted
    }

    /// Why servers get a partition of which a primary's disk has failed.
    fn rebuilds(&self, primaries: &[Osd]) -> Option<Cause> {
        let failed = primaries.iter().find_map(|osd| self.unmounted.get(osd));
        failed.map(|unit| (*unit, Kind::Rebuild))
    }
}

impl Cluster {
    /// The first blocks of a partition's objects, in order.
    pub(super) fn objects_of(&mut self, partition: usize) -> &[u64] {
        let volume = self.out().volume_of(partition);
        if self.out().objects[volume].is_none() {
            let pool = &self.plain.pools()[volume];
            let out = self.outages.as_ref().expect("there are events");
            let per_object = out.object_blocks(partition);
            let mut objects: Objects = vec![Vec::new(); pool.groups()];
            for number in 0..out.size(volume).div_ceil(pool.object()) {
                let group = pool.group(Bytes(number * pool.object()));
                objects[group].push(number * per_object);
            }
            self.out().objects[volume] = Some(objects);
        }
        let out = self.out();
        let first = out.first_partition[volume];
        &out.objects[volume].as_ref().expect("they were found")[partition - first]
    }

    /// The disk of a server fails.
    pub(super) fn disk_fails<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        what: Unit,
        keeps: bool,
    ) {
        let (osd, unit) = (self.out().servers_in(what).start, self.out().number_of(what));
        self.out().unmounted.insert(osd, unit);
        self.out().causes.insert(osd, unit);
        self.out().happened.insert(unit, hosts.now());
        if !keeps {
            self.out().ledger.wipe(osd);
            hosts.payload_wiped(HostId(osd));
        }
        self.drop_jobs_of_server(core, hosts, osd);
        self.change_wanted(osd, (unit, Kind::Rebuild));
        self.note_health(core, hosts.now());
    }

    /// The disk of a server works again, with its data.
    pub(super) fn disk_is_back<H: Hosts>(&mut self, core: &mut Core, hosts: &H, what: Unit) {
        let osd = self.out().servers_in(what).start;
        let unit = self.out().unmounted.remove(&osd).expect("it has failed");
        self.change_wanted(osd, (unit, Kind::CatchUp));
        self.note_health(core, hosts.now());
    }

    /// The servers on which partitions are wanted may change, because a server's disk has failed or works again.
    fn change_wanted(&mut self, osd: Osd, cause: Cause) {
        for partition in 0..self.out().ledger.partitions.len() {
            let out = self.out();
            let primaries = out.ledger.partitions[partition].primaries.clone();
            let wanted = out.wanted(partition, &primaries);
            let concerns = primaries.contains(&osd) || wanted.contains(&osd);
            if concerns || out.ledger.partitions[partition].wanted.contains(&osd) {
                self.redirect(partition, primaries, wanted, cause);
            }
        }
    }

    fn redirect(&mut self, partition: usize, primaries: Few<Osd>, wanted: Few<Osd>, cause: Cause) {
        let is_empty = self.objects_of(partition).is_empty();
        if self.out().ledger.partitions[partition].wanted != wanted
            || self.out().ledger.partitions[partition].primaries != primaries
        {
            self.out().ledger.redirect(partition, primaries, wanted, cause, is_empty);
        }
    }

    /// A host joins or leaves: the rings of its volumes are rebalanced.
    pub(super) fn ring_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &H,
        what: Unit,
        joins: bool,
    ) {
        let now = hosts.now();
        let apart = core.failed().settings.swift.min_part_hours;
        let cause = (what.host, Kind::Rebalance);
        self.out().happened.insert(what.host, now);
        for volume in 0..self.out().rings.len() {
            let out = self.out();
            let first = out.first_partition[volume];
            let moved = &out.moved;
            let may_move = |partition: usize| {
                moved.get(&(first + partition)).is_none_or(|at| *at + apart <= now)
            };
            let ring = &mut out.rings[volume];
            if !ring.all.iter().any(|device| device.zone == what.host.0) {
                continue;
            }
            if joins {
                ring.absent.remove(&what.host);
            } else {
                ring.absent.insert(what.host);
            }
            let changed = ring.ring.rebalanced(&ring.devices(), may_move);
            let changed = changed.expect("checked: there are enough devices");
            let before = std::mem::replace(&mut ring.ring, changed);
            out.more.retain(|partition, _| {
                *partition < first || *partition >= first + before.partitions()
            });
            self.follow_ring(volume, &before, now, cause);
        }
        self.note_health(core, now);
    }

    /// Partitions are wanted where a new ring has them.
    fn follow_ring(&mut self, volume: usize, before: &Ring, now: SimTime, cause: Cause) {
        for number in 0..before.partitions() {
            let out = self.out();
            let partition = out.first_partition[volume] + number;
            let VolumeRing { ring, targets, .. } = &out.rings[volume];
            let ids = ring.devices(number).iter();
            let primaries: Few<Osd> = ids.map(|&id| out.number(targets[id as usize])).collect();
            let has_moved = ring.devices(number) != before.devices(number);
            let rebuilds = out.rebuilds(&primaries);
            if has_moved {
                out.moved.insert(partition, now);
            }
            if has_moved || rebuilds.is_some() {
                let wanted = out.wanted(partition, &primaries);
                let cause = if has_moved { cause } else { rebuilds.unwrap_or(cause) };
                self.redirect(partition, primaries, wanted, cause);
            }
        }
    }
}

/// When partitions have moved.
pub(super) type Moved = BTreeMap<usize, SimTime>;
