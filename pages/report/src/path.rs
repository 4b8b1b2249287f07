//! A request's path as a waterfall: one bar a step, with waiting light, service dark, and numbers beside.

use maud::{Markup, html};

use crate::words::{cut, number, short_name};

/// Maximum number of steps shown of a request; the longest are shown.
const MAX_STEPS: usize = 40;
/// Maximum length of the text of a step, in characters.
const MAX_STEP_CHARS: usize = 160;

/// Something that happened to a request.
#[derive(Clone, PartialEq, Debug)]
pub struct PathStep {
    /// Milliseconds after the request was issued.
    pub at_ms: f64,
    /// The host.
    pub host: String,
    /// `cpu`, `disk0`, `network`, `cache`, `request`.
    pub resource: String,
    /// The action, in words.
    pub what: String,
    /// Time that the step waited, if known.
    pub waiting_ms: Option<f64>,
    /// Service time of the step, if known.
    pub service_ms: Option<f64>,
}

impl PathStep {
    /// Whether the waiting ends, rather than begins, at the step's time. Processors and caches are recorded
    /// when the waiting is over; messages and disk operations when they are handed over.
    fn waited_before(&self) -> bool {
        matches!(self.resource.as_str(), "cpu" | "cache")
    }

    fn waits(&self) -> (f64, f64) {
        let waiting = self.waiting_ms.unwrap_or(0.0);
        if self.waited_before() {
            (self.at_ms - waiting, self.at_ms)
        } else {
            (self.at_ms, self.at_ms + waiting)
        }
    }

    fn serves(&self) -> (f64, f64) {
        let service = self.service_ms.unwrap_or(0.0);
        let from = if self.waited_before() {
            self.at_ms
        } else {
            self.at_ms + self.waiting_ms.unwrap_or(0.0)
        };
        (from, from + service)
    }
}

/// Draws the steps of a request that took `response_ms`; `open`: initially unfolded.
pub(crate) fn waterfall(name: &str, steps: &[PathStep], response_ms: f64, open: bool) -> Markup {
    let mut order: Vec<usize> = (0..steps.len()).collect();
    let lasts = |step: &PathStep| step.waiting_ms.unwrap_or(0.0) + step.service_ms.unwrap_or(0.0);
    if steps.len() > MAX_STEPS {
        order.sort_by(|a, b| lasts(&steps[*b]).total_cmp(&lasts(&steps[*a])).then(a.cmp(b)));
        order.truncate(MAX_STEPS);
        order.sort_unstable();
    }
    let hidden = steps.len() - order.len();
    let all = response_ms.max(1e-9);
    let place = |(from, to): (f64, f64)| {
        let (from, to) = (from.clamp(0.0, all), to.clamp(0.0, all));
        format!("left:{:.2}%;width:{:.2}%", 100.0 * from / all, 100.0 * (to - from) / all)
    };
    let shown = |value: Option<f64>| value.map(|ms| format!("{ms:.3}")).unwrap_or_default();
    html! {
        details open[open] { summary { "Its " (steps.len()) " steps" }
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table.fall {
                thead { tr {
                    th scope="col" { "at ms" } th.left scope="col" { "where" } th.left scope="col" { "what" }
                    th scope="col" { "waits ms" } th scope="col" { "served ms" } th.left scope="col" { "0 to " (number(response_ms)) " ms" }
                } }
                tbody { @for step in order.iter().map(|index| &steps[*index]) {
                    tr {
                        td { (format!("{:.3}", step.at_ms)) }
                        td.left { (short_name(&step.host)) " " (short_name(&step.resource)) }
                        td.left { (cut(&step.what, MAX_STEP_CHARS)) }
                        td { (shown(step.waiting_ms)) }
                        td { (shown(step.service_ms)) }
                        td.track { div title={ (short_name(&step.host)) " " (short_name(&step.resource)) ": waits " (shown(step.waiting_ms)) " ms, served " (shown(step.service_ms)) " ms" } {
                            @if step.waiting_ms.is_some_and(|waiting| waiting > 0.0) { i.w1 style=(place(step.waits())) {} }
                            @if step.service_ms.is_some_and(|service| service > 0.0) { i.w0 style=(place(step.serves())) {} }
                        } }
                    }
                } }
            }
        }
        @if hidden > 0 { p.faint { (hidden) " shorter steps are left out." } }
        }
    }
}
