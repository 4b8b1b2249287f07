//! Recovery of objects that holders are missing, object by object.
//!
//! A group first waits for its reservations (`turns`). Then the group's primary recovers objects: at most one
//! at a time of each group, and at most `parallel` at a time of all its groups
//! (`osd_recovery_max_single_start`, `osd_recovery_max_active`). After it has begun an object, the primary
//! pauses for `pause` (`osd_recovery_sleep`). To recover an object, it has one copy or any m shards read,
//! computes the missing shards, and pushes them to all servers that are missing them.
//!
//! If a server has threads, the group's next object waits in their queue like other operations (`PGRecovery`). The
//! object is chosen when a thread begins with it. Only from then on do requests for that object wait.
//!
//! Recently written objects are recovered first; then new servers are filled. If a request waits for an
//! object, the object is recovered at once, even if another group has the reservations. An object that is
//! being written is recovered after the write, and new writes to it wait.
//!
//! What is read and written for a recovery stays out of caches (`CEPH_OSD_OP_FLAG_FADVISE_DONTNEED`), unless a request
//! waits for the object (`cache_dont_need` in `PrimaryLogPG.cc`).

use foretell_units::{Bytes, HostId, SimTime};
use smallvec::SmallVec;

use super::group::{Osd, State, Turn};
use super::{Chore, Outages, What};
use crate::failures::Kind;
use crate::hosts::{Copied, Hosts, Timer};
use crate::objects::pool::{Piece, Pool, Shard};
use crate::objects::{Objects, Rules};
use crate::protocol::Core;

/// An object that is being recovered.
pub(super) struct Work {
    pub(super) group: usize,
    object: u64,
    pub(super) primary: Osd,
    pub(super) sources: SmallVec<[(u8, Osd); 8]>,
    pub(super) targets: SmallVec<[(u8, Osd); 4]>,
    /// Number of shards that still have to be read, or written.
    awaiting: u32,
    /// The range of each shard.
    pub(super) shard: Shard,
    /// Whether a request waits for it.
    pub(super) for_request: bool,
    /// Whether the targets have the real bytes already, because a source is about to lose them.
    is_copied: bool,
    /// Index of its recovery.
    recovery: usize,
}

/// The whole of an object.
pub(super) fn whole(pool: &Pool, size: u64, object: u64) -> Piece {
    let start = object * pool.object();
    let size = pool.object().min(size - start);
    Piece { object: Bytes(start), start: Bytes::ZERO, size: Bytes(size), is_whole: true }
}

impl<R: Rules> Objects<R> {
    /// The limits of parallel recoveries have changed.
    pub(in crate::objects) fn throttle_changes<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
    ) {
        self.out().look_at_all_waiting();
        self.take_turns(core, hosts);
        for osd in 0..self.out().servers.len() as Osd {
            self.pump(core, hosts, osd);
        }
    }

    /// The primary of a group begins as many objects as it may.
    pub(super) fn pump_group<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, index: usize) {
        let out = self.out();
        let group = &out.groups[index];
        if group.turn == Turn::Reserved
            && let Some(&primary) = group.reserved.first()
        {
            self.pump(core, hosts, primary);
        }
    }

    /// A server begins as many objects as it may, in the groups that have reservations.
    fn pump<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, osd: Osd) {
        let settings = core.failed().settings;
        loop {
            let Self { outages, pools, .. } = self;
            let out = outages.as_mut().expect("there are events");
            let server = &out.servers[osd as usize];
            if server.sleeps || server.is_down || server.active >= settings.parallel {
                return;
            }
            let last = server.last;
            let later = server.led.range(last + 1..).chain(server.led.range(..=last));
            // one object of a group at a time
            let is_free = |index: &usize| {
                let group = &out.groups[*index];
                group.works.is_empty() && group.wanted.is_empty() && group.begins.is_none()
            };
            let Some(index) = later.copied().find(is_free) else { return };
            let group = &out.groups[index];
            let m = pools[group.volume as usize].encoding.m();
            let Some(object) = group.next_object(m, out.is_up()) else {
                // everything that can be recovered is done
                self.settle_group(core, hosts, index);
                continue;
            };
            out.servers[osd as usize].last = index;
            let group = &mut out.groups[index];
            if group.writes.contains_key(&object) {
                // it is recovered once it is not being written; new writes wait for that
                group.wanted.insert(object);
                continue;
            }
            if !settings.pause.is_zero() {
                out.servers[osd as usize].sleeps = true;
                let unit = out.hosts + osd;
                core.failed().objects.under_way += 1;
                hosts.set_timer(hosts.now() + settings.pause, Timer::Repair { host: unit });
            }
            if self.daemons.is_some() {
                self.queue_work(core, hosts, index, osd);
            } else {
                self.begin_work(core, hosts, index, object, false);
            }
        }
    }

    /// The next object of a group waits for a thread of the primary.
    fn queue_work<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, index: usize, osd: Osd) {
        let out = self.out();
        out.groups[index].begins = Some(osd);
        out.servers[osd as usize].active += 1;
        core.failed().objects.under_way += 1;
        let epoch = out.groups[index].epoch;
        self.set_off(core, hosts, Chore::new(What::Begin, index, epoch, osd, osd));
    }

    /// A thread of the primary begins the next object of a group, if one still must be recovered.
    pub(super) fn work_begins<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, begun: &Chore) {
        let (index, primary) = (begun.group, begun.from);
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        out.unqueue(core, index);
        let group = &out.groups[index];
        let m = pools[group.volume as usize].encoding.m();
        if let Some(object) = group.next_object(m, out.is_up()) {
            if group.writes.contains_key(&object) {
                out.groups[index].wanted.insert(object);
            } else {
                self.begin_work(core, hosts, index, object, false);
            }
        }
        self.pump(core, hosts, primary);
    }

    /// The pause of a server has ended.
    pub(in crate::objects) fn wake<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        unit: HostId,
    ) {
        let osd = unit.0 - self.out().hosts;
        self.out().servers[osd as usize].sleeps = false;
        core.failed().objects.under_way -= 1;
        self.pump(core, hosts, osd);
    }

    /// A request waits for an object: it is recovered at once, if possible.
    pub(super) fn want<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        index: usize,
        object: u64,
    ) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_ref().expect("there are events");
        let group = &out.groups[index];
        let m = pools[group.volume as usize].encoding.m();
        let can = group.state == State::Active
            && !group.works.contains_key(&object)
            && !group.writes.contains_key(&object)
            && group.sources(object, m, out.is_up()).len() >= m
            && !group.lacking(object, out.is_up()).is_empty();
        if can {
            self.begin_work(core, hosts, index, object, true);
        }
    }

    fn begin_work<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        index: usize,
        object: u64,
        for_request: bool,
    ) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let group = &out.groups[index];
        let pool = &pools[group.volume as usize];
        let sources = group.sources(object, pool.encoding.m(), out.is_up());
        let targets = group.lacking(object, out.is_up());
        let primary = group.primary().expect("it serves");
        let shard = pool.shard(&whole(pool, out.sizes[group.volume as usize], object));
        let is_target = |holder: &&super::group::Holder| {
            holder.missing.contains(&object) && out.servers[holder.osd as usize].is_up()
        };
        let key = group.holders.iter().find(is_target).map(|holder| holder.key);
        let key = key.expect("somebody lacks it");
        out.last_work += 1;
        let serial = out.last_work;
        let epoch = group.epoch;
        out.groups[index].wanted.remove(&object);
        out.groups[index].works.insert(object, serial);
        out.servers[primary as usize].active += 1;
        let failures = core.failed();
        failures.objects.under_way += 1;
        let recovery = failures.recoveries.of(key, hosts.now());
        let awaiting = sources.len() as u32;
        let work = Work {
            group: index,
            object,
            primary,
            sources: sources.clone(),
            targets,
            awaiting,
            shard,
            for_request,
            is_copied: false,
            recovery,
        };
        out.works.insert(serial, work);
        for (_, osd) in sources {
            let duty = Chore::new(What::Read, index, epoch, primary, osd);
            self.set_off(core, hosts, Chore { work: serial, ..duty });
        }
    }

    /// A server has read a shard for a recovery and sends it to the primary.
    pub(super) fn source_read<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, done: &Chore) {
        let work = &self.out().works[&done.work];
        let (size, recovery) = (work.shard.size, work.recovery);
        core.failed().recoveries.all[recovery].read += size;
        if done.to == done.from {
            return self.source_here(core, hosts, done);
        }
        let duty = Chore::new(What::Data, done.group, done.epoch, done.to, done.from);
        core.failed().recoveries.all[recovery].sent += size;
        self.set_off(core, hosts, Chore { bytes: size, work: done.work, ..duty });
    }

    /// The primary has received one of the shards that it needs.
    pub(super) fn source_here<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, done: &Chore) {
        let work = self.out().works.get_mut(&done.work).expect("it goes on");
        work.awaiting -= 1;
        if work.awaiting > 0 {
            return;
        }
        let (primary, group) = (work.primary, work.group);
        let volume = self.out().groups[group].volume;
        if !self.pools[volume as usize].is_coded() {
            return self.push(core, hosts, done);
        }
        let duty = Chore::new(What::Code, group, done.epoch, primary, primary);
        self.set_off(core, hosts, Chore { work: done.work, ..duty });
    }

    /// The missing shards are computed and are pushed to the servers that are missing them.
    pub(super) fn push<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, done: &Chore) {
        let work = self.out().works.get_mut(&done.work).expect("it goes on");
        let (primary, group, size) = (work.primary, work.group, work.shard.size);
        work.awaiting = work.targets.len() as u32;
        let (targets, recovery) = (work.targets.clone(), work.recovery);
        for (_, osd) in targets {
            if osd != primary {
                core.failed().recoveries.all[recovery].sent += size;
            }
            let duty = Chore::new(What::Push, group, done.epoch, primary, osd);
            self.set_off(core, hosts, Chore { bytes: size, work: done.work, ..duty });
        }
    }

    /// A server has written a shard that it was missing.
    pub(super) fn written<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, done: &Chore) {
        let work = &self.out().works[&done.work];
        let (size, recovery) = (work.shard.size, work.recovery);
        core.failed().recoveries.writes(recovery, hosts.now(), size);
        if done.to == done.from {
            return self.pushed(core, hosts, done);
        }
        let duty = Chore::new(What::Pushed, done.group, done.epoch, done.to, done.from);
        self.set_off(core, hosts, Chore { work: done.work, ..duty });
    }

    /// The primary learns that one more shard is no longer missing.
    pub(super) fn pushed<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, done: &Chore) {
        let work = self.out().works.get_mut(&done.work).expect("it goes on");
        work.awaiting -= 1;
        if work.awaiting == 0 {
            self.end_work(core, hosts, done.work);
        }
    }

    /// An object is recovered.
    fn end_work<H: Hosts>(&mut self, core: &mut Core, hosts: &mut H, serial: u64) {
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let work = out.works.remove(&serial).expect("it goes on");
        let (index, object) = (work.group, work.object);
        if !work.is_copied {
            out.copy_payload(core, hosts, pools, &work);
        }
        let now = hosts.now();
        out.servers[work.primary as usize].active -= 1;
        core.failed().objects.under_way -= 1;
        core.failed().recoveries.all[work.recovery].objects += work.targets.len() as u64;
        out.groups[index].works.remove(&object);
        for target in &work.targets {
            let holders = &mut out.groups[index].holders;
            let is_it =
                |holder: &&mut super::group::Holder| (holder.position, holder.osd) == *target;
            let holder = holders.iter_mut().find(is_it).expect("it was to get it");
            if holder.missing.remove(&object) {
                let (key, lacks_nothing) = (holder.key, holder.missing.is_empty());
                out.close(core, key, 1, now);
                if lacks_nothing {
                    out.look_at(index);
                }
            }
        }
        self.unblock(core, hosts, index, object);
        self.pump(core, hosts, work.primary);
        // one that was recovered out of turn, for a request, may have been the last
        let group = &self.out().groups[index];
        if group.turn == Turn::Idle && group.state == State::Active && group.works.is_empty() {
            self.seek_turn(core, hosts, index);
        }
    }

    /// A server is about to lose its data. What was read from it for recoveries is on its way to their targets. No
    /// source changes meanwhile, because writes of the object wait.
    pub(super) fn save_payload<H: Hosts>(&mut self, core: &Core, hosts: &mut H, osd: Osd) {
        if !hosts.has_payload() {
            return;
        }
        let Self { outages, pools, .. } = self;
        let out = outages.as_mut().expect("there are events");
        let mut works = std::mem::take(&mut out.works);
        for work in works.values_mut() {
            if !work.is_copied && work.sources.iter().any(|(_, source)| *source == osd) {
                out.copy_payload(core, hosts, pools, work);
                work.is_copied = true;
            }
        }
        out.works = works;
    }

    /// Cancels all recoveries of objects in a group.
    pub(super) fn end_works(&mut self, core: &mut Core, index: usize) {
        let out = self.out();
        out.unqueue(core, index);
        let works = std::mem::take(&mut out.groups[index].works);
        for serial in works.into_values() {
            let work = out.works.remove(&serial).expect("it goes on");
            out.servers[work.primary as usize].active -= 1;
            core.failed().objects.under_way -= 1;
        }
    }
}

impl Outages {
    /// The targets of a recovery get the real bytes of its sources.
    fn copy_payload<H: Hosts>(&self, core: &Core, hosts: &mut H, pools: &[Pool], work: &Work) {
        if !hosts.has_payload() {
            return;
        }
        let volume = self.groups[work.group].volume;
        let pool = &pools[volume as usize];
        let piece = whole(pool, self.sizes[volume as usize], work.object);
        let block = core.volumes[volume as usize].distribution.block().get();
        let first_block = piece.object.get() / block;
        let blocks = (piece.object + piece.size).get().div_ceil(block) - first_block;
        let node = |(fragment, osd): &(u8, Osd)| (*fragment, HostId(*osd));
        let sources: Vec<_> = work.sources.iter().map(node).collect();
        let targets: Vec<_> = work.targets.iter().map(node).collect();
        let (sources, targets) = (&sources[..], &targets[..]);
        hosts.payload_copied(&Copied { volume, first_block, blocks, sources, targets });
    }

    /// A group's next object no longer waits for a thread.
    fn unqueue(&mut self, core: &mut Core, index: usize) {
        if let Some(primary) = self.groups[index].begins.take() {
            self.servers[primary as usize].active -= 1;
            core.failed().objects.under_way -= 1;
        }
    }

    /// `count` objects of a kind are no longer missing, which may end a recovery.
    pub(super) fn close(
        &mut self,
        core: &mut Core,
        key: (HostId, Kind),
        objects: u64,
        now: SimTime,
    ) {
        if objects == 0 {
            return;
        }
        let open = self.open.get_mut(&key).expect("they were counted");
        *open -= objects;
        if *open > 0 {
            return;
        }
        self.open.remove(&key);
        let is_it = |one: &&mut crate::Recovery| (one.host, one.kind) == key && one.ended.is_none();
        if let Some(recovery) = core.failed().recoveries.all.iter_mut().find(is_it) {
            recovery.ended = Some(now);
        }
    }
}
