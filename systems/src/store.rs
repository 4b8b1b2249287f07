//! The storage software of a node, for any storage system: files or objects.

use foretell_algorithms::node::{DiskOperation, Extent, FileAccess, HitCounts, Machine, Node};
use foretell_scenarios::model::{Scenario, Storage};
use foretell_units::{Bytes, HostId, Owner};

use crate::failures::spare_groups;
use crate::objects::{StoreAccess, Stores};
use crate::scrub::ScrubAccess;
use crate::system::AnySystem;
use crate::volume::Volume;

/// An exchange's access to a store.
#[derive(Clone, Copy, Debug)]
pub enum Access {
    /// Bytes of a file.
    File(FileAccess),
    /// Bytes of an object.
    Object(StoreAccess),
    /// Bytes appended to a file that belongs to the node itself.
    Append(FileAccess),
    /// A chunk that the scrubber of a disk reads. It bypasses the cache.
    Scrub(ScrubAccess),
}

/// The storage software of a node.
#[derive(Clone, Debug)]
pub enum Software {
    /// Files, over all its disks.
    Files(Box<Node>),
    /// Objects, on each device.
    Objects(Box<Stores>),
}

impl Software {
    /// The storage software of a host in a scenario; `None` if the host stores nothing. `reserved`:
    /// memory that its cache lacks; `clocks`: the source of the phases of its clocks.
    pub fn of(
        scenario: &Scenario,
        host: HostId,
        volumes: &[Volume],
        reserved: Bytes,
        clocks: &Owner,
    ) -> Option<Self> {
        let storage = scenario.host(host).role.storage()?;
        if let Some(settings) = AnySystem::object_store(&scenario.system) {
            let stores = Stores::new(settings, storage, reserved, clocks);
            return Some(Self::Objects(Box::new(stores)));
        }
        let mut files = file_sizes(scenario, host, volumes);
        // the file of the Activity DB comes last
        files.push(Bytes::ZERO);
        Some(Self::files(storage, &files, reserved, clocks))
    }

    /// Software that stores files of those sizes.
    pub fn files(storage: &Storage, files: &[Bytes], reserved: Bytes, clocks: &Owner) -> Self {
        let settings = storage.settings(reserved);
        let phase = clocks.stream("flusher").part_of(settings.flush_interval);
        Self::Files(Box::new(Node::new(&settings, files, phase)))
    }

    /// Serves an access. Returns the number of completions to wait for: [`Software::disk_done`] will
    /// return its exchange as many times. Zero: the access is done.
    pub fn access(&mut self, machine: &mut impl Machine, access: &Access) -> u32 {
        match (self, access) {
            (Self::Files(node), Access::File(access) | Access::Append(access)) => {
                node.access(machine, access)
            }
            (Self::Objects(stores), Access::Object(access)) => stores.access(machine, access),
            (Self::Files(node), Access::Scrub(access)) => {
                node.bypass(machine, access.operation(access.begin), access.leg);
                1
            }
            (Self::Objects(stores), Access::Scrub(access)) => {
                stores.scrub(machine, access);
                1
            }
            (Self::Objects(stores), Access::Append(access)) => {
                stores.append(machine, access.leg, access.size, access.thread);
                1
            }
            (Self::Files(_), Access::Object(_)) | (Self::Objects(_), Access::File(_)) => {
                unreachable!("all nodes of a cluster store the same")
            }
        }
    }

    /// Carries out an access while simulated time is skipped: it changes the cached and dirty pages.
    /// Files start disk operations, which the engine completes at once; stores of objects start none.
    pub fn touch(&mut self, machine: &mut impl Machine, access: &Access) {
        match (self, access) {
            (Self::Files(node), Access::File(access) | Access::Append(access)) => {
                node.access(machine, access);
            }
            (Self::Objects(stores), Access::Object(access)) => stores.touch(access),
            (Self::Objects(_), _) | (Self::Files(_), Access::Object(_) | Access::Scrub(_)) => {}
        }
    }

    /// The software for files, if the node stores files.
    pub fn files_mut(&mut self) -> Option<&mut Node> {
        match self {
            Self::Files(node) => Some(node),
            Self::Objects(_) => None,
        }
    }

    /// An operation of a disk in progress.
    pub fn operation(&self, number: u32) -> DiskOperation {
        match self {
            Self::Files(node) => node.operation(number),
            Self::Objects(stores) => *stores.operation(number),
        }
    }

    /// A disk has finished an operation. Appends the exchanges that waited for it to `ready`.
    pub fn disk_done(&mut self, machine: &mut impl Machine, number: u32, ready: &mut Vec<u32>) {
        match self {
            Self::Files(node) => node.disk_done(machine, number, ready),
            Self::Objects(stores) => stores.disk_done(machine, number, ready),
        }
    }

    /// Writes data that have waited for long enough.
    pub fn flush_tick(&mut self, machine: &mut impl Machine) {
        match self {
            Self::Files(node) => node.flush_tick(machine),
            Self::Objects(stores) => stores.flush_tick(machine),
        }
    }

    /// Measuring begins.
    pub fn mark(&mut self) {
        match self {
            Self::Files(node) => node.mark(),
            Self::Objects(stores) => stores.mark(),
        }
    }

    /// Cache hits since the mark.
    pub fn hits(&self) -> &HitCounts {
        match self {
            Self::Files(node) => node.hits(),
            Self::Objects(stores) => stores.hits(),
        }
    }

    /// Bytes in the cache; for objects also the bytes that have left it since the beginning.
    pub fn cached_and_evicted(&self) -> (u64, Option<u64>) {
        match self {
            Self::Files(node) => (node.cached().get(), None),
            Self::Objects(stores) => {
                let (cached, evicted) = stores.cached_and_evicted();
                (cached, Some(evicted))
            }
        }
    }

    /// The disk extent of a file's range, limited to `most` bytes; `None` for objects, which have no fixed
    /// place.
    pub fn locate(&self, file: u32, offset: Bytes, most: Bytes) -> Option<Extent> {
        match self {
            Self::Files(node) => Some(node.locate(file, offset, most)),
            Self::Objects(_) => None,
        }
    }
}

/// The bytes that each volume's file needs on a host, including room for fragments of other hosts.
pub(crate) fn file_sizes(scenario: &Scenario, host: HostId, volumes: &[Volume]) -> Vec<Bytes> {
    let file = |volume: &Volume| {
        if !volume.all_nodes().any(|node| node == host) {
            return Bytes::ZERO;
        }
        let spare = spare_groups(scenario, volume);
        volume.distribution.file_size(volume.size) + volume.distribution.group_stored() * spare
    };
    volumes.iter().map(file).collect()
}
