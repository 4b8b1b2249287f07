//! Accesses that fill caches, served machine by machine.
//!
//! Accesses that take no time do not depend on other machines. So they are collected, and each machine serves many in
//! a row, in the order of time. The processor then needs the contents of one cache at a time. This takes an eighth less
//! time than to serve all accesses in the order of time.

use foretell_systems::Access;
use foretell_units::{HostId, SimTime};

use super::engine::Engine;
use super::node::Node;

/// Maximum number of collected accesses. They take 6 MB.
const MAX_TOUCHES: usize = 50_000;

/// Collected accesses.
pub(super) struct Touches {
    /// By machine. Hosts on the same machine share its disks, whose caches depend on the order of accesses.
    of_machines: Vec<Vec<Touch>>,
    count: usize,
}

struct Touch {
    at: SimTime,
    host: HostId,
    access: Access,
}

impl Touches {
    pub(super) fn of(engine: &Engine) -> Self {
        let of_machines = engine.nodes.iter().map(|_| Vec::new()).collect();
        Self { of_machines, count: 0 }
    }

    /// Adds an access at the current time. It is not earlier than those added before.
    pub(super) fn add(&mut self, engine: &mut Engine, host: HostId, access: &Access) {
        let at = engine.now + engine.skipped;
        let machine = engine.links.machine(host);
        self.of_machines[machine.index()].push(Touch { at, host, access: *access });
        self.count += 1;
        if self.count >= MAX_TOUCHES {
            self.serve(engine);
        }
    }

    /// Serves all collected accesses.
    pub(super) fn serve(&mut self, engine: &mut Engine) {
        let skipped = engine.skipped;
        for touch in self.of_machines.iter_mut().flat_map(|touches| touches.drain(..)) {
            tick_until(engine, touch.host, touch.at);
            engine.skipped = touch.at.saturating_since(engine.now);
            if let Some((node, mut around)) = engine.node(touch.host.0) {
                node.touch(&mut around, &touch.access);
            }
        }
        engine.skipped = skipped;
        self.count = 0;
    }
}

/// Lets a host's flusher act whenever it is due until a time.
fn tick_until(engine: &mut Engine, host: HostId, until: SimTime) {
    loop {
        let now = engine.now;
        let due = engine.nodes[host.index()].as_ref().and_then(Node::next_tick);
        let Some(due) = due.filter(|due| *due <= until) else { return };
        engine.skipped = due.saturating_since(now);
        if let Some((node, mut around)) = engine.node(host.0) {
            node.tick(&mut around);
        }
    }
}
