//! `foretell score --random N`: the accuracy of predictions over random cases.

use std::fmt::Write as _;

use foretell_core::random::Draw;
use foretell_core::score::{
    Comparison, Coverage, Judge, ScoredCase, Spread, Verdicts, coverage, score_random, spread,
};

use super::{append, costs, coverage_table, percent};
use crate::cli::{GeneratorChoice, ScoreArguments, SystemChoice};
use crate::failure::Failure;
use crate::screen::fitted;
use crate::tables;

/// Scores random changes of random clusters.
pub(super) fn score(
    count: u32,
    arguments: &ScoreArguments,
    judge: Judge<'_>,
) -> Result<(), Failure> {
    let ScoreArguments { seed, system, generator, .. } = *arguments;
    let fails = matches!(generator, GeneratorChoice::Failures | GeneratorChoice::Failures2);
    if fails && system == Some(SystemChoice::Guest) {
        let message = "this generator draws no clusters of `guest`: it has no events for them; \
                       `ursa-minor`, `ceph` and, with `--generator failures2`, `swift` have them";
        return Err(Failure::Usage(message.to_owned()));
    }
    if generator == GeneratorChoice::Failures && system == Some(SystemChoice::Swift) {
        let message =
            "`--generator failures` draws no clusters of `swift`; `--generator failures2` does";
        return Err(Failure::Usage(message.to_owned()));
    }
    let scored = score_random(
        count,
        Draw { seed, system: system.map(Into::into), generator: generator.into() },
        judge,
    )?;
    append(arguments, scored.iter().flat_map(|scored| scored.learned.iter().cloned()))?;
    let metrics = [
        "throughput_rps",
        "response_time_ms.mean",
        "response_time_ms.p50",
        "response_time_ms.p95",
        "response_time_ms.p99",
        "read_hit_rate",
    ];
    let of_failures = [
        "before.throughput_rps",
        "before.response_time_ms.mean",
        "degraded.throughput_rps",
        "degraded.response_time_ms.mean",
        "degraded.response_time_ms.p99",
        "degraded.seconds",
        "recovering.throughput_rps",
        "recovering.response_time_ms.mean",
        "recovering.response_time_ms.p99",
        "after.throughput_rps",
        "after.response_time_ms.mean",
        "recovery.seconds",
        "recovery.bytes_written",
    ];
    let of_failures = of_failures.iter().filter(|_| fails);
    let metrics = metrics.iter().chain(of_failures);
    let spreads: Vec<_> = metrics.map(|metric| (*metric, spread(all(&scored), metric))).collect();
    let held = coverage(all(&scored));
    let text = if arguments.json {
        let errors: serde_json::Map<String, serde_json::Value> = spreads
            .iter()
            .map(|(metric, spread)| {
                let spread = serde_json::to_value(spread).expect("figures are JSON");
                ((*metric).to_owned(), spread)
            })
            .collect();
        let document = serde_json::json!({
            "model": arguments.model.name(), "errors": errors, "coverage": held,
            "verdicts": Verdicts::of(&scored), "cases": scored,
        });
        crate::output::json(&document)
    } else {
        of_many(&scored, &spreads, &held)
    };
    crate::output::print(&text)
}

/// All comparisons.
fn all(scored: &[ScoredCase]) -> impl Iterator<Item = &Comparison> {
    scored.iter().flat_map(|scored| &scored.comparisons)
}

/// Errors over all cases, and the worst cases.
fn of_many(scored: &[ScoredCase], spreads: &[(&str, Spread)], held: &[Coverage]) -> String {
    let header = ["metric", "comparisons", "median error", "90 % under", "worst"];
    let mut table = tables::table(&header);
    for (metric, spread) in spreads {
        table.add_row([
            (*metric).to_owned(),
            spread.count.to_string(),
            percent(spread.median),
            percent(spread.p90),
            percent(spread.worst),
        ]);
    }
    let mut text = String::new();
    let refused = || scored.iter().filter_map(|scored| scored.refused.as_ref());
    if let Some(why) = refused().next() {
        let (some, of) = (refused().count(), scored.len());
        let _ = writeln!(text, "Questions without an answer: {some} of {of}. The first: {why}\n");
    }
    let verdicts = Verdicts::of(scored);
    let Verdicts { all, overloads, missed, false_alarms } = verdicts;
    let _ = writeln!(
        text,
        "Verdicts on overload: {} of {all} right. {overloads} clusters were overloaded, {missed} of them predicted to \
         keep up; {false_alarms} of the others predicted to be overloaded\n",
        percent(verdicts.right()),
    );
    let _ = write!(
        text,
        "{}\n\n{}\nThe worst cases, and the reasons for their errors\n",
        fitted(&table, 1),
        coverage_table(held)
    );
    let worst = |scored: &ScoredCase| {
        let of = |found: &&Comparison| {
            let metric = found.metric.strip_prefix("degraded.").unwrap_or(&found.metric);
            ["throughput_rps", "response_time_ms.mean", "recovery.seconds"].contains(&metric)
        };
        scored.comparisons.iter().filter(of).map(|found| found.error).fold(0.0, f64::max)
    };
    let mut order: Vec<&ScoredCase> =
        scored.iter().filter(|scored| scored.refused.is_none()).collect();
    order.sort_by(|a, b| worst(b).total_cmp(&worst(a)));
    for scored in order.into_iter().take(10) {
        let _ = writeln!(
            text,
            "case {}: {} off; {}",
            scored.case,
            percent(worst(scored)),
            scored.changes.join("; ")
        );
        if !scored.reasons.is_empty() {
            let strongest = scored.reasons.iter().take(3).cloned().collect::<Vec<_>>();
            let _ = writeln!(text, "  {}", strongest.join("; "));
        }
    }
    text + &costs(scored.iter().map(|scored| (scored.predicted_in_s, scored.simulated_in_s)))
}
