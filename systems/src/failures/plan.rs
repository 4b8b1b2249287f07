//! Plans of parts of requests: the nodes that were asked, and the fragments that were requested from them.

use foretell_algorithms::codec::Numbers;
use foretell_algorithms::distribution::Piece;
use foretell_units::{HostId, Op, SimTime};
use smallvec::SmallVec;

/// The state of a part of a request besides its count of answers.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(crate) struct Plan {
    /// The request; its number may be reused once this part is complete.
    pub(crate) request: u32,
    pub(crate) client: HostId,
    /// The request's number in the records.
    pub(crate) write: u64,
    /// Of two writes of clients to a block, the one with the greater number is newer. 0: a repair.
    pub(crate) order: u64,
    pub(crate) is_repair: bool,
    pub(crate) op: Op,
    pub(crate) volume: u32,
    pub(crate) piece: Piece,
    /// Exchanges in the order in which they were sent.
    pub(crate) asked: SmallVec<[Asked; 8]>,
    /// For a read: number of answers needed.
    pub(crate) needed: u32,
    /// When its client next checks it.
    pub(crate) deadline: SimTime,
    /// When the first nodes were asked.
    pub(crate) began: SimTime,
    /// When one more node is asked, if not enough have answered by then.
    pub(crate) hedge_at: Option<SimTime>,
    /// Whether one more node was asked: then the first answers count, from any nodes.
    pub(crate) is_hedged: bool,
    /// How often other nodes, or the same ones again, were asked.
    pub(crate) attempts: u32,
    /// Whether there were too few nodes to ask.
    pub(crate) is_short: bool,
    /// Whether its request has continued.
    pub(crate) is_complete: bool,
}

/// An exchange of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) fragment: u8,
    pub(crate) node: HostId,
    pub(crate) exchange: u32,
    pub(crate) state: State,
    /// Whether the client does not rely on its answer.
    pub(crate) is_doubtful: bool,
}

/// The state of an exchange of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its answer has not arrived.
    Waiting,
    /// Its answer has arrived.
    Answered,
    /// The client no longer waits for it.
    GivenUp,
}

impl Plan {
    /// Number of exchanges in that state.
    pub(crate) fn count(&self, state: State) -> u32 {
        self.asked.iter().filter(|asked| asked.state == state).count() as u32
    }

    /// Fragments that have arrived.
    pub(crate) fn answered(&self) -> Numbers {
        let has_come = |asked: &&Asked| asked.state == State::Answered;
        self.asked.iter().filter(has_come).map(|asked| asked.fragment).collect()
    }

    /// Fragments that have arrived or are on their way.
    pub(crate) fn counted(&self) -> Numbers {
        let counts = |asked: &&Asked| asked.state != State::GivenUp;
        self.asked.iter().filter(counts).map(|asked| asked.fragment).collect()
    }

    /// Number of exchanges whose answers a client relies on, or has.
    pub(crate) fn counted_on(&self) -> u32 {
        let counts = |asked: &&Asked| match asked.state {
            State::Answered => true,
            State::Waiting => !asked.is_doubtful,
            State::GivenUp => false,
        };
        self.asked.iter().filter(counts).count() as u32
    }

    /// Whether a fragment has arrived or is on its way.
    pub(crate) fn has(&self, fragment: u8) -> bool {
        let has = |asked: &Asked| asked.fragment == fragment && asked.state != State::GivenUp;
        self.asked.iter().any(has)
    }

    /// Whether the client still waits for an answer of a host.
    pub(crate) fn waits_for(&self, host: HostId) -> bool {
        self.asked.iter().any(|asked| asked.node == host && asked.state == State::Waiting)
    }

    /// The last exchange for a fragment.
    pub(crate) fn of_fragment(&self, fragment: u8) -> Option<&Asked> {
        self.asked.iter().rev().find(|asked| asked.fragment == fragment)
    }
}

/// Plans by the number of their part.
#[derive(Default)]
pub(crate) struct Plans(Vec<Option<Box<Plan>>>);

impl Plans {
    pub(crate) fn insert(&mut self, part: u32, plan: Plan) {
        let index = part as usize;
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        self.0[index] = Some(Box::new(plan));
    }

    pub(crate) fn get(&self, part: u32) -> Option<&Plan> {
        self.0.get(part as usize)?.as_deref()
    }

    pub(crate) fn get_mut(&mut self, part: u32) -> Option<&mut Plan> {
        self.0.get_mut(part as usize)?.as_deref_mut()
    }

    pub(crate) fn take(&mut self, part: u32) -> Option<Box<Plan>> {
        self.0.get_mut(part as usize)?.take()
    }

    pub(crate) fn put(&mut self, part: u32, plan: Box<Plan>) {
        self.0[part as usize] = Some(plan);
    }

    /// Parts whose plan satisfies `is_so`, in order.
    pub(crate) fn such(&self, is_so: impl Fn(&Plan) -> bool) -> Vec<u32> {
        let all = self.0.iter().enumerate();
        let found = all.filter(|(_, plan)| plan.as_ref().is_some_and(|plan| is_so(plan)));
        found.map(|(part, _)| part as u32).collect()
    }
}
