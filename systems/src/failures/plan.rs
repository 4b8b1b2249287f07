//! Parts of requests, and who was asked for what.

use foretell_algorithms::codec::Numbers;
use foretell_algorithms::distribution::Piece;
use foretell_units::{HostId, Op, SimTime};
use smallvec::SmallVec;

/// What is known of a part of a request beside its count of answers.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent of each other")]
pub(crate) struct Plan {
    /// Its number may be another request's when this one is complete.
    pub(crate) request: u32,
    pub(crate) client: HostId,
    /// The number of the request in the records, by which writes follow each other.
    pub(crate) write: u64,
    pub(crate) is_repair: bool,
    pub(crate) op: Op,
    pub(crate) volume: u32,
    pub(crate) piece: Piece,
    /// In the order in which they were asked.
    pub(crate) asked: SmallVec<[Asked; 8]>,
    /// Of a read: answers that it needs.
    pub(crate) needed: u32,
    /// When its client looks at it again.
    pub(crate) deadline: SimTime,
    /// When the first nodes were asked.
    pub(crate) began: SimTime,
    /// When one more is asked, if not enough have answered until then.
    pub(crate) hedge_at: Option<SimTime>,
    /// Whether one more was asked: then those that answer first may be any.
    pub(crate) is_hedged: bool,
    /// How often others were asked, or the same again.
    pub(crate) attempts: u32,
    /// Whether there were too few to ask.
    pub(crate) is_short: bool,
    /// Whether its request goes on.
    pub(crate) is_complete: bool,
}

/// An exchange of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) fragment: u8,
    pub(crate) node: HostId,
    pub(crate) exchange: u32,
    pub(crate) state: State,
    /// Whether the client does not count on its answer.
    pub(crate) is_doubtful: bool,
}

/// How an exchange of a part is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// Its answer has not come.
    Waiting,
    /// It has.
    Answered,
    /// Nobody waits for it any more.
    GivenUp,
}

impl Plan {
    /// Exchanges in that state.
    pub(crate) fn count(&self, state: State) -> u32 {
        self.asked.iter().filter(|asked| asked.state == state).count() as u32
    }

    /// Fragments that have come.
    pub(crate) fn answered(&self) -> Numbers {
        let has_come = |asked: &&Asked| asked.state == State::Answered;
        self.asked.iter().filter(has_come).map(|asked| asked.fragment).collect()
    }

    /// Fragments that have come or are on their way.
    pub(crate) fn counted(&self) -> Numbers {
        let counts = |asked: &&Asked| asked.state != State::GivenUp;
        self.asked.iter().filter(counts).map(|asked| asked.fragment).collect()
    }

    /// Exchanges whose answers a client counts on, or has.
    pub(crate) fn counted_on(&self) -> u32 {
        let counts = |asked: &&Asked| match asked.state {
            State::Answered => true,
            State::Waiting => !asked.is_doubtful,
            State::GivenUp => false,
        };
        self.asked.iter().filter(counts).count() as u32
    }

    /// Whether a fragment has come or is on its way.
    pub(crate) fn has(&self, fragment: u8) -> bool {
        let has = |asked: &Asked| asked.fragment == fragment && asked.state != State::GivenUp;
        self.asked.iter().any(has)
    }

    /// Whether an answer of a host is still awaited.
    pub(crate) fn waits_for(&self, host: HostId) -> bool {
        self.asked.iter().any(|asked| asked.node == host && asked.state == State::Waiting)
    }

    /// The state of a fragment, as its last exchange has it, and whom that was with.
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

    /// Parts whose plan is so, in order.
    pub(crate) fn such(&self, is_so: impl Fn(&Plan) -> bool) -> Vec<u32> {
        let all = self.0.iter().enumerate();
        let found = all.filter(|(_, plan)| plan.as_ref().is_some_and(|plan| is_so(plan)));
        found.map(|(part, _)| part as u32).collect()
    }
}
