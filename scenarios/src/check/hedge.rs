//! Checks hedged reads: their delay, and whether there is another node to ask.

use foretell_algorithms::codec::Encoding;
use foretell_units::SimSpan;

use super::{Context, section};
use crate::error::Problem;
use crate::model::{Hedge, System};
use crate::raw::At;
use crate::source::Place;
use crate::tree::{Entry, Node, Table};

/// Percentiles that are allowed as a delay.
const PERCENTILES: std::ops::RangeInclusive<f64> = 50.0..=99.0;

impl Context<'_> {
    /// Reads a time or a percentile; `encoding`: the volume's encoding and its place.
    pub(super) fn hedge(
        &mut self,
        volume: &str,
        raw: &At<String>,
        encoding: (Encoding, Place),
    ) -> Option<Hedge> {
        let (text, place) = (raw.get().as_str(), raw.place());
        let (encoding, written) = encoding;
        if encoding.m() == encoding.n() {
            let message = format!(
                "`hedge` of volume `{volume}` has no effect: with `{encoding}` a read needs all that is there, \
                 and nobody else can be asked"
            );
            let help = "leave it out, or take an `encoding` with n greater than m";
            self.add(Problem::new(place, message).also(written).help(help));
            return None;
        }
        let Some(percentile) = text.strip_prefix('p') else {
            let time = self.time_of(text, place)?;
            return self.above_zero(time, "the delay of a hedge", place).map(Hedge::After);
        };
        let percentile = percentile.parse().ok().filter(|part| PERCENTILES.contains(part));
        if percentile.is_none() {
            let message = format!("a read cannot wait for percentile `{text}` before it is hedged");
            let help = "a percentile is from `p50` to `p99`, as `p95`; or write a time, as `20 ms`";
            self.add(Problem::new(place, message).help(help));
        }
        percentile.map(|part: f64| Hedge::Quantile((part * 10.0).round() as u16))
    }

    /// Reports settings that cannot be combined with hedged reads; `timeout`: time for which
    /// clients wait for a node, if limited.
    pub(super) fn fits_hedges(
        &mut self,
        tree: &Table,
        system: Option<&System>,
        timeout: Option<SimSpan>,
    ) {
        for volume in section(tree, "volume") {
            let hedge = volume.node.table().and_then(|table| table.entry("hedge"));
            let Some(place) = hedge.map(|entry| entry.key_place) else { continue };
            let key = &volume.key;
            match system {
                Some(system @ (System::Ceph(_) | System::Swift(_))) => {
                    let message = format!(
                        "`hedge` of volume `{key}` has no effect with `system = \"{}\"`: its clients ask one \
                         server, which answers",
                        system.name()
                    );
                    let help = "leave it out; clients of `ursa-minor` have it";
                    self.add(Problem::new(place, message).help(help));
                }
                _ => self.hedge_in_time(volume.node.table(), key, timeout),
            }
            let has_guest = |entry: &Entry| {
                entry.node.table().is_some_and(|client| client.get("guest").is_some())
            };
            if section(tree, "client").any(has_guest) {
                let message = format!(
                    "`hedge` of volume `{key}` is not simulated together with guests yet: their block \
                     layers count the requests that are out"
                );
                let help = "leave `hedge` out, or `guest` of the clients";
                self.add(Problem::new(place, message).help(help));
            }
        }
    }

    /// A hedge after the timeout has no effect.
    fn hedge_in_time(&mut self, volume: Option<&Table>, name: &str, timeout: Option<SimSpan>) {
        let hedge = volume.and_then(|table| table.get("hedge"));
        let Some((hedge, text)) = hedge.and_then(|node| Some((node, Node::text(node)?))) else {
            return;
        };
        let delay = text.parse::<SimSpan>().ok();
        let Some((delay, timeout)) = delay.zip(timeout) else { return };
        if delay >= timeout {
            let message = format!(
                "`hedge` of volume `{name}` has no effect: after {timeout}, the `timeout` of `recovery`, clients \
                 ask other nodes anyway"
            );
            let help = format!("take a delay below {timeout}");
            self.add(Problem::new(hedge.place, message).help(help));
        }
    }
}
