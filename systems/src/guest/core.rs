//! Guests in front of the protocol: address ranges of requests enter their block layers and leave
//! them.

use foretell_units::{Bytes, HostId, Op, SimSpan};

use super::{NO_OPERATION, Operation};
use crate::hosts::{Hosts, Timer};
use crate::protocol::Core;
use crate::request::Issue;
use crate::system::VolumeExtent;

impl Core {
    /// An address range that a request of a guest reads or writes enters the guest's block layer.
    pub(crate) fn submit_to_guest<H: Hosts>(
        &mut self,
        hosts: &mut H,
        id: u32,
        op: Op,
        extent: VolumeExtent,
    ) {
        let now = hosts.now();
        let request = &self.requests[id];
        let Issue { client, volume, thread, .. } = request.issue;
        let base = self.volumes[volume as usize].base;
        let guest = self.guests[client.index()].as_mut().expect("it is a guest");
        let operations = guest.submit(now, id, op, thread, base, extent);
        for _ in 0..operations {
            hosts.note_block_operation(client);
        }
        let commit = match op {
            Op::Write if !request.is_journal => guest.journal.note_write(extent.offset),
            _ => None,
        };
        if let Some(after) = commit {
            hosts.set_timer(now + after, Timer::Journal { host: client.0 });
        }
        // the request is kept until its operations are done; they may not have begun
        self.requests[id].parts_left += operations;
    }

    /// Appends the operations that a guest's block layer sends.
    pub(crate) fn take_from_guest<H: Hosts>(
        &mut self,
        hosts: &mut H,
        host: HostId,
        operations: &mut Vec<u32>,
    ) {
        operations.clear();
        let guest = self.guests[host.index()].as_mut().expect("it is a guest");
        if let Some(again) = guest.take(hosts.now(), operations) {
            hosts.set_timer(again, Timer::Guest { host: host.0 });
        }
    }

    /// An operation of a guest: its request, direction and address range.
    pub(crate) fn operation(&self, host: HostId, id: u32) -> (u32, Op, VolumeExtent) {
        let guest = self.guests[host.index()].as_ref().expect("it is a guest");
        let Operation { request, op, offset, size, .. } = *guest.operation(id);
        (request, op, VolumeExtent { offset, size })
    }

    /// A part of a request is sent, possibly for an operation of a guest. Returns the hypervisor's
    /// time for each of its messages.
    pub(crate) fn send_for_guest(&mut self, client: HostId, operation: u32) -> SimSpan {
        let Some(guest) = &mut self.guests[client.index()] else { return SimSpan::ZERO };
        if operation != NO_OPERATION {
            guest.part_sent(operation);
        }
        guest.hypervisor
    }

    /// A part of an operation of a guest has been answered. Returns whether that completes the
    /// operation.
    pub(crate) fn operation_answered<H: Hosts>(
        &mut self,
        hosts: &mut H,
        client: HostId,
        operation: u32,
    ) -> bool {
        let guest = self.guests[client.index()].as_mut().expect("it has sent it");
        let Some(arrived) = guest.part_done(hosts.now(), operation) else { return false };
        hosts.note_block_operation_done(client, arrived);
        true
    }

    /// A guest commits its changes to its journal. Returns where to write, and how much.
    pub(crate) fn commit_journal(&mut self, host: HostId) -> (Bytes, Bytes) {
        let guest = self.guests[host.index()].as_mut().expect("it is a guest");
        guest.journal.commit()
    }
}
