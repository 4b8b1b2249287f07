//! Batches of activity records that are sent to the Activity DB, and the file of that database.

use foretell_algorithms::node::{FileAccess, NO_CLIENT};
use foretell_units::{Breadcrumb, Bytes, HostId, Op};

use crate::exchange::{Asks, Exchange, Purpose};
use crate::hosts::Hosts;
use crate::process::{TRACKER, exchange_thread};
use crate::protocol::Core;
use crate::store::Access;

impl Core {
    /// A full batch of activity records leaves its host for the Activity DB on `store`.
    pub(crate) fn ship_records<H: Hosts>(
        &mut self,
        hosts: &mut H,
        host: HostId,
        store: HostId,
        data: Bytes,
    ) {
        let exchange = Exchange::new(
            Purpose::Records,
            Asks::Tracker,
            host,
            store,
            data,
            Breadcrumb::NONE,
            NO_CLIENT,
        );
        let id = self.exchanges.insert(exchange);
        if host == store {
            self.store_records(hosts, id);
            return;
        }
        let span = hosts.cpu(host).send.of(data);
        self.send_after(hosts, id, span);
    }

    /// The host of the Activity DB appends a batch to its file.
    pub(crate) fn store_records<H: Hosts>(&mut self, hosts: &mut H, id: u32) {
        let exchange = &self.exchanges[id];
        let size = exchange.message();
        let access = self.append_records(size, id);
        let host = exchange.node;
        self.database += size;
        let waits = hosts.store(host, &access);
        self.wait(id, waits);
        if waits == 0 {
            self.exchanges.remove(id);
        }
    }

    /// The access that appends `size` bytes to the file of the Activity DB.
    pub(crate) fn append_records(&self, size: Bytes, exchange: u32) -> Access {
        Access::Append(FileAccess {
            leg: exchange,
            op: Op::Write,
            // the file comes after those of the volumes
            file: self.volumes.len() as u32,
            offset: self.database,
            size,
            breadcrumb: Breadcrumb::NONE,
            thread: exchange_thread(exchange, TRACKER),
            workload: NO_CLIENT,
            reader: u64::MAX,
        })
    }
}
