//! Scrubbers of servers' devices.
//!
//! If a server has threads, a scrubber's chunk waits in their queue like other operations, as best effort.
//! Its shard is that of a placement group. The thread reads the device, waits for it, and computes the
//! checksum; the next chunk is another operation. Ceph does the same: `PgScrubber` is queued again after each
//! `osd_deep_scrub_stride`.
//!
//! Left out: the lock of the placement group that is scrubbed, and writes that wait for its scrub. In Ceph,
//! all OSDs of a group also scrub it together; here, each OSD scrubs by itself.

use foretell_algorithms::mix;
use foretell_sorted::{SortedMap, SortedSet};
use foretell_units::{Bytes, SimSpan};

use super::daemon::{Job, Next, Place};
use super::pool::Target;
use super::scheduler::Class;
use super::{Objects, Rules};
use crate::hosts::Hosts;
use crate::protocol::{Core, NO_EXCHANGE};
use crate::scrub::{Places, Region};

impl<R: Rules> Objects<R> {
    /// The places of devices that hold data: each device of a pool holds an equal share of it.
    pub(super) fn places(&self, core: &Core) -> Places {
        let mut places: Places = SortedMap::new();
        for (volume, pool) in (0..).zip(&self.pools) {
            let size = Bytes(pool.share(core.volumes[volume as usize].size.get()));
            if size == Bytes::ZERO {
                continue;
            }
            let groups = (0..pool.groups()).flat_map(|group| pool.targets_of(group));
            let targets: SortedSet<Target> = groups.copied().collect();
            for target in targets {
                let region = Region { volume, begin: pool.base(), size };
                places.entry(target).or_default().push(region);
            }
        }
        places
    }

    /// Whether the server of a device is stopped.
    pub(super) fn is_down(&self, server: Target) -> bool {
        self.outages.as_ref().is_some_and(|out| out.is_down(out.number(server)))
    }

    /// A job of an op thread for a scrubber.
    fn scrub_job(&self, core: &Core, number: u32, next: Next, span: SimSpan) -> Job {
        let server = core.scrubbed_server(number);
        let Region { volume, begin, .. } = core.scrubbed_chunk(number);
        let daemons = self.daemons.as_ref().expect("servers have threads");
        // a group has the objects of a volume that are scattered over the device
        let object = begin.get() / self.pools[volume as usize].object();
        let shard = (mix(object) % u64::from(daemons.shards())) as u32;
        let osd = daemons.osd(server.host, server.disk);
        let (place, exchange, class) = (Place::Op, NO_EXCHANGE, Class::BestEffort);
        let (host, task, bytes, lock) = (server.host, number, 0, None);
        Job { osd, host, place, task, exchange, span, next, class, bytes, shard, lock }
    }

    /// A scrubber's chunk waits for a thread.
    pub(super) fn queue_scrub<H: Hosts>(&mut self, core: &Core, hosts: &mut H, number: u32) {
        let job = self.scrub_job(core, number, Next::Scrub, SimSpan::ZERO);
        self.begin_job(core, hosts, job);
    }

    /// The device has read a scrubber's chunk: the thread that waits for it computes the checksum.
    pub(super) fn thread_scrubs<H: Hosts>(
        &mut self,
        core: &mut Core,
        hosts: &mut H,
        number: u32,
        is_stopped: bool,
    ) {
        let size = core.scrubbed_chunk(number).size;
        let job = self.scrub_job(core, number, Next::Scrubbed, self.rules.scrub_work(size));
        if is_stopped {
            core.scrub_stops(number);
            return self.leave_op_thread(core, hosts, job.osd, job.shard, None);
        }
        let daemons = self.daemons.as_mut().expect("servers have threads");
        let ready = daemons.go_on(job);
        self.run(core, hosts, ready);
    }
}
