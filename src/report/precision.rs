//! How precisely each case is known, and what would make it preciser. Pure.

use super::summary::{CaseSummary, summarize};
use super::{Input, table};
use crate::config::LEAST_BLOCKS;
use crate::results::{PhaseStats, ResultFile, Run};
use crate::stats::{self, Levels, Summary};
use crate::units;

/// What `pcb-run --precision` says at its end: how many cases reached it, and for each of the others how many blocks and
/// samples would.
pub fn lines(file: &ResultFile, wanted: f64) -> Vec<String> {
    let inputs = [Input { name: "", file }];
    let summaries = summarize(&inputs);
    let known: Vec<(&CaseSummary, Summary)> =
        summaries.iter().filter_map(|summary| Some((summary, summary.headline?))).collect();
    let reached = |summary: &Summary| {
        summary.n >= LEAST_BLOCKS as usize && summary.precision().is_some_and(|half| half <= wanted)
    };
    let (good, rest): (Vec<_>, Vec<_>) = known.into_iter().partition(|(_, headline)| reached(headline));
    let blocks = |pick: fn(usize, usize) -> usize| good.iter().map(|(_, headline)| headline.n).reduce(pick);
    let span = match (blocks(usize::min), blocks(usize::max)) {
        (Some(least), Some(most)) if least < most => format!(" in {least} to {most} runs each"),
        (Some(least), _) => format!(" in {least} runs each"),
        _ => String::new(),
    };
    let share = units::share(wanted);
    let head = format!(
        "precision {share} (half the 95 % interval): {} of {} cases reached it{span}",
        good.len(),
        summaries.len()
    );
    let not_reached = rest.iter().map(|(summary, headline)| line(file, summary, headline, wanted));
    std::iter::once(head).chain(not_reached).collect()
}

/// `npy:mmap …: 3.1 % after 30 runs; about 71 would do`.
fn line(file: &ResultFile, summary: &CaseSummary, headline: &Summary, wanted: f64) -> String {
    let build = if summary.build == table::ONLY_BUILD { String::new() } else { format!(" ({})", summary.build) };
    let now = headline.precision().map_or("not known".to_owned(), units::share);
    let runs: Vec<&Run> = file
        .runs
        .iter()
        .filter(|run| run.case == *summary.case && run.build == summary.build && run.outcome.is_ok())
        .collect();
    let logs: Vec<f64> = runs.iter().filter_map(|run| Some(run.headline()?.ln())).collect();
    let needed = stats::runs_for_half_width(&logs, wanted.ln_1p()).filter(|needed| *needed > logs.len() as u64);
    let needed = needed.map_or(String::new(), |needed| format!("; about {needed} would do"));
    let samples = samples(&runs).map_or(String::new(), |advice| format!("; {advice}"));
    format!("  {}{build}: {now} after {} runs{needed}{samples}", summary.case, headline.n)
}

/// What more or fewer samples in a run would do, by Kalibera and Jones: the best number of samples follows from how much
/// spread is inside runs and between them, and from what one more of each costs.
fn samples(runs: &[&Run]) -> Option<String> {
    let steady: Vec<&PhaseStats> = runs.iter().filter_map(|run| run.steady.as_ref()).collect();
    let (levels, block) = levels(&steady)?;
    let mean = |values: &[u64]| values.iter().sum::<u64>() as f64 / values.len().max(1) as f64;
    let sample = mean(&steady.iter().map(|phase| phase.total_ns / phase.samples.max(1)).collect::<Vec<_>>());
    let overhead = |run: &&Run| {
        let phases = [&run.first, &run.warmup].into_iter().flatten().map(|phase| phase.total_ns);
        run.armed_ns.unwrap_or(0) + run.open.map_or(0, |open| open.ns) + phases.sum::<u64>()
    };
    let overhead = mean(&runs.iter().map(overhead).collect::<Vec<_>>());
    let best = levels.best_count(1, &[sample * block as f64, overhead])? * block as f64;
    let have = (levels.counts.first()? * block) as f64;
    // Costs are rough, and so is the advice.
    match best / have {
        ratio if !ratio.is_finite() => Some("runs agree: longer runs would do more than more runs".to_owned()),
        ratio if ratio > 2.0 => Some(format!("longer runs would help: about {} samples each", units::count(best))),
        ratio if ratio < 0.5 => Some("the spread is between runs: more samples in each would not help".to_owned()),
        _ => None,
    }
}

/// Runs and the logs of their block medians, cut to the shortest, and the samples of a block.
fn levels(steady: &[&PhaseStats]) -> Option<(Levels, usize)> {
    let series: Vec<_> = steady.iter().filter_map(|phase| phase.series.as_ref()).collect();
    let block = series.iter().map(|series| series.block).max()?;
    let length = series.iter().map(|series| series.medians.len()).min()?;
    if series.len() < steady.len() || series.iter().any(|series| 2 * series.block < block) {
        return None;
    }
    let logs = series.iter().flat_map(|series| series.medians[..length].iter().map(|&ns| (ns.max(1) as f64).ln()));
    Some((stats::levels(&logs.collect::<Vec<_>>(), &[series.len(), length])?, block as usize))
}
