//! Checks that events are possible one after another: hosts fail and return alternately, nothing is slow twice, and
//! what joins or is drained is up.

use foretell_sorted::SortedMap;
use foretell_units::{HostId, SimSpan};

use super::events::EventStep;
use super::{Context, Hosts};
use crate::error::Problem;
use crate::outages::{Action, Event, Part};

/// What an event concerns.
type Scope = (HostId, Part);

/// A time from one step to another, by their numbers; without the second, to the end of the run.
type Stretch = (usize, Option<usize>);

/// Positions of steps, by what they concern.
#[derive(Default)]
struct Seen {
    down: SortedMap<Scope, usize>,
    returned: SortedMap<Scope, usize>,
    slow: SortedMap<Scope, usize>,
    any: SortedMap<Scope, usize>,
    left: SortedMap<Scope, usize>,
}

impl Context<'_> {
    /// Checks the order of events, which are sorted by time. A host that fails and returns later keeps its data.
    pub(super) fn possible(
        &mut self,
        steps: &mut [EventStep],
        hosts: &Hosts,
        duration: Option<SimSpan>,
    ) -> bool {
        let mut seen = Seen::default();
        let mut good = true;
        for index in 0..steps.len() {
            if let Some(problem) = seen.step(index, steps, hosts) {
                self.add(problem);
                good = false;
            }
        }
        good && self.slow_while_up(steps, hosts, duration)
    }

    /// Reports events that slow down only what is down for the whole time.
    fn slow_while_up(
        &mut self,
        steps: &[EventStep],
        hosts: &Hosts,
        duration: Option<SimSpan>,
    ) -> bool {
        let fails = |action| match action {
            Action::Fail { .. } => Some(true),
            Action::Return => Some(false),
            _ => None,
        };
        let slows = |action| match action {
            Action::Slow { factor } => Some(factor > 1.0),
            _ => None,
        };
        let (down, slow) = (stretches(steps, fails), stretches(steps, slows));
        let end = |stretch: &Stretch| {
            let at = stretch.1.map(|last| steps[last].event.at);
            at.filter(|at| duration.is_none_or(|duration| *at < duration))
        };
        // by event: where it has no effect, if it has none anywhere
        let mut idle: SortedMap<&str, Option<(Stretch, Stretch)>> = SortedMap::new();
        for ((host, part), stretch) in
            slow.iter().flat_map(|(scope, all)| all.iter().map(move |stretch| (*scope, stretch)))
        {
            let parts = [Part::Whole, part];
            let around = parts.iter().filter_map(|part| down.get(&(host, *part))).flatten();
            let covers = |down: &&Stretch| {
                let begins = steps[down.0].event.at <= steps[stretch.0].event.at;
                begins && end(down).is_none_or(|up| end(stretch).is_some_and(|last| last <= up))
            };
            let found = around.copied().find(|down| covers(&down)).map(|down| (*stretch, down));
            let name = steps[stretch.0].event.name.as_str();
            let kept = idle.entry(name).or_insert(found);
            *kept = kept.and(found).and(*kept);
        }
        let mut good = true;
        for (name, found) in idle {
            let Some((stretch, failure)) = found else { continue };
            let (step, failed) = (&steps[stretch.0], &steps[failure.0]);
            let until = end(&failure).map_or("the end".to_owned(), |end| end.to_string());
            let message = format!(
                "`{}` is down from {} (event `{}`) until {until}, so event `{name}` at {} has no effect",
                name_of(&failed.event, hosts),
                failed.event.at,
                failed.event.name,
                step.event.at
            );
            let help = "let it be slow while it is up";
            self.add(Problem::new(step.place, message).also(failed.place).help(help));
            good = false;
        }
        good
    }
}

impl Seen {
    /// What is wrong with a step after those before it.
    fn step(&mut self, index: usize, steps: &mut [EventStep], hosts: &Hosts) -> Option<Problem> {
        let Event { host, part, action, at, name } = steps[index].event.clone();
        let (scope, host_name) = ((host, part), name_of(&steps[index].event, hosts));
        let earlier = |of: &SortedMap<Scope, usize>| {
            let meets = |other: &Scope| other.0 == host && other.1.meets(part);
            of.iter().find(|(other, _)| meets(other)).map(|(_, index)| *index)
        };
        let before = match action {
            Action::Return => self.down.get(&scope).copied(),
            _ => earlier(&self.down),
        };
        let (known, gone) = (earlier(&self.any), earlier(&self.left));
        self.any.entry(scope).or_insert(index);
        let place = steps[index].place;
        match (action, before) {
            (Action::Add, _) => known.map(|known| {
                let first = &steps[known];
                let message = format!(
                    "`{host_name}` joins at {at} (event `{name}`), and something happens to it before, at {} \
                     (event `{}`)",
                    first.event.at, first.event.name
                );
                let help = "what joins has not been there before";
                Problem::new(place, message).also(first.place).help(help)
            }),
            (Action::Drain, _) => {
                self.left.insert(scope, index);
                let first = &steps[before.or(gone)?];
                let since = (first.event.at, &first.event.name);
                let (state, help) = if before.is_some() {
                    let help = format!(
                        "drain it while it is up: before {}, or after its return",
                        first.event.at
                    );
                    ("down", help)
                } else {
                    ("drained", "leave one of them out".to_owned())
                };
                let message = format!(
                    "`{host_name}` is drained at {at} (event `{name}`), and is {state} since {} (event `{}`)",
                    since.0, since.1
                );
                Some(Problem::new(place, message).also(first.place).help(help))
            }
            (Action::Fail { .. }, None) => {
                self.down.insert(scope, index);
                None
            }
            (Action::Fail { .. }, Some(failed)) => {
                Some(fails_twice(&steps[failed], &steps[index], hosts))
            }
            (Action::Return, Some(failed)) => {
                self.down.remove(&scope);
                self.returned.insert(scope, index);
                steps[failed].event.action = Action::Fail { keeps: true };
                None
            }
            (Action::Return, None) => {
                let first = self.returned.get(&scope).map(|first| &steps[*first]);
                Some(returns_again(first, &steps[index], &host_name))
            }
            (Action::Slow { factor }, _) if factor > 1.0 => {
                let first = &steps[self.slow.insert(scope, index)?];
                let is_end = |step: &&EventStep| {
                    step.is_end
                        && step.event.name == first.event.name
                        && (step.event.host, step.event.part) == scope
                };
                let (since, help) = match steps[index..].iter().find(is_end) {
                    Some(end) => {
                        (format!("until {}", end.event.at), "let the second one begin then")
                    }
                    None => (
                        format!("since {}", first.event.at),
                        "give the first one an end with `for`",
                    ),
                };
                let message = format!(
                    "`{host_name}` slows down at {at} (event `{name}`), and is slow {since} (event `{}`)",
                    first.event.name
                );
                Some(Problem::new(place, message).also(first.place).help(help))
            }
            (Action::Slow { .. }, _) => {
                self.slow.remove(&scope);
                None
            }
            (Action::Set { .. }, _) => None,
        }
    }
}

/// What is wrong with a failure of what, or of a part of what, has failed already.
fn fails_twice(first: &EventStep, this: &EventStep, hosts: &Hosts) -> Problem {
    let Event { part, at, ref name, .. } = this.event;
    let host_name = name_of(&this.event, hosts);
    let since = format!("has failed at {} already (event `{}`)", first.event.at, first.event.name);
    let message = if first.event.part == part {
        format!("`{host_name}` fails at {at} (event `{name}`), and {since}")
    } else {
        let what = match (first.event.part, part) {
            (Part::Whole, Part::Link) => "its link".to_owned(),
            (Part::Whole, Part::Disk(disk)) => format!("its disk {disk}"),
            _ => format!("`{host_name}`"),
        };
        let first_name = name_of(&first.event, hosts);
        format!("`{first_name}` {since}, so {what} cannot fail at {at} (event `{name}`)")
    };
    let help = "let it return in between, with an event of its own or `for`";
    Problem::new(this.place, message).also(first.place).help(help)
}

/// What is wrong with a return of what is not down. `first`: its last return, if it has failed at all.
fn returns_again(first: Option<&EventStep>, this: &EventStep, host_name: &str) -> Problem {
    let by = |step: &EventStep| {
        let what = if step.is_end { "`for` of event" } else { "event" };
        format!("at {} ({what} `{}`)", step.event.at, step.event.name)
    };
    let Some(first) = first else {
        let message = format!("`{host_name}` returns {}, and has not failed before", by(this));
        return Problem::new(this.place, message).help("let it fail earlier");
    };
    let message = format!("`{host_name}` returns {} and again {}", by(first), by(this));
    // an event of its own is shown rather than a `for`
    let (shown, other) = if this.is_end { (first, this) } else { (this, first) };
    Problem::new(shown.place, message).also(other.place).help("leave one of them out")
}

/// The name of what an event concerns.
fn name_of(event: &Event, hosts: &Hosts) -> String {
    event.part.of(&hosts.name(event.host))
}

/// For each scope, the times between steps that begin a state (`Some(true)`) and those that end it (`Some(false)`).
fn stretches(
    steps: &[EventStep],
    begins: impl Fn(Action) -> Option<bool>,
) -> SortedMap<Scope, Vec<Stretch>> {
    let mut found: SortedMap<Scope, Vec<Stretch>> = SortedMap::new();
    for (index, step) in steps.iter().enumerate() {
        let scope = (step.event.host, step.event.part);
        match begins(step.event.action) {
            Some(true) => found.entry(scope).or_default().push((index, None)),
            Some(false) => {
                let open = found.get_mut(&scope).and_then(|all| all.last_mut());
                if let Some((_, end @ None)) = open {
                    *end = Some(index);
                }
            }
            None => {}
        }
    }
    found
}
