//! Whether runs were made, and under the state they claim.

use pcb_protocol::State;

use super::{Level, Looked, name, some};
use crate::results::{Flag, Outcome, Run};
use crate::stats::Class;

type Found = Vec<(Level, String, &'static str)>;

/// Every run of the plan was made, and none failed.
pub fn complete(looked: &Looked) -> Found {
    let mut found = Vec::new();
    if !looked.file.header.complete {
        let what = "the plan was not finished: --max-time was reached".to_owned();
        found.push((Level::Problem, what, "go on with the same command and --resume"));
    }
    for summary in &looked.cases {
        let failed = summary.failures.iter().filter(|failure| failure.kind != "unsupported");
        // A run whose cache state was lost is made again: that alone is no gap.
        let lost =
            |kind: &str| matches!(kind, "not_cold" | "not_warm") && summary.ok >= looked.file.header.repeats as usize;
        for failure in failed.filter(|failure| !lost(failure.kind)) {
            let what = format!("{}: {} of {} runs {}", name(summary), failure.count, summary.runs, failure.kind);
            let level = if summary.ok == 0 { Level::Problem } else { Level::Warning };
            found.push((level, what, "the message stands in the report; fix it and measure again"));
        }
    }
    found
}

/// Cold and warm were proven.
pub fn cache(looked: &Looked) -> Found {
    let ok = || looked.file.runs.iter().filter(|run| run.outcome.is_ok() && run.case.target.is_some());
    let unproven = |run: &&Run| match run.case.state {
        State::AsIs => false,
        State::Cold => run.before.as_ref().is_none_or(|proof| proof.resident > 0),
        State::Warm => run.before.as_ref().is_none_or(|proof| proof.resident < proof.pages) || run.after.is_none(),
    };
    let mut found = Vec::new();
    let count = ok().filter(unproven).count();
    if count > 0 {
        let what = format!("{count} runs have no proof of their cache state");
        found.push((Level::Problem, what, "measure again with this pcb-run"));
    }
    let flags: [(Flag, Level, &str, &'static str); 4] = [
        (
            Flag::NoDeviceBytes,
            Level::Warning,
            "cold runs read nothing from the device",
            "a cache below the page cache served them: they are not cold for the disk",
        ),
        (
            Flag::WarmRead,
            Level::Warning,
            "warm runs read from the device",
            "their pages were evicted and read back: free memory, or measure fewer forms at once",
        ),
        (
            Flag::EvictedUnread,
            Level::Note,
            "warm runs lost pages that they did not need",
            "nothing: they read nothing from the device",
        ),
        (
            Flag::MostlyReadAhead,
            Level::Note,
            "cold runs were served by read-ahead for the most part",
            "read their whole pass, not a median",
        ),
    ];
    for (flag, level, what, advice) in flags {
        let count = ok().filter(|run| run.flags.contains(&flag)).count();
        if count > 0 {
            found.push((level, format!("{count} {what}"), advice));
        }
    }
    let lost =
        looked.file.runs.iter().filter(|run| matches!(run.outcome, Outcome::NotWarm { .. } | Outcome::NotCold { .. }));
    match lost.count() {
        0 => {}
        count => found.push((
            Level::Note,
            format!("{count} runs lost their cache state"),
            "nothing: such a run is made again once",
        )),
    }
    found
}

/// Warm runs became steady.
pub fn steady(looked: &Looked) -> Found {
    let (mut most, mut some_runs) = (Vec::new(), Vec::new());
    for summary in &looked.cases {
        let runs = looked.file.runs.iter().filter(|run| run.case == *summary.case && run.build == summary.build);
        let unsteady = runs.filter(|run| run.outcome.is_ok() && run.flags.contains(&Flag::NotSteady)).count();
        if unsteady > 0 {
            let list = if 2 * unsteady > summary.ok { &mut most } else { &mut some_runs };
            list.push(format!("{} ({unsteady} of {})", name(summary), summary.ok));
        }
    }
    let mut found = Vec::new();
    let advice = "raise warmup.max_time; look for what else runs";
    for (level, share, names) in [(Level::Problem, "most", most), (Level::Warning, "some", some_runs)] {
        if !names.is_empty() {
            found.push((level, format!("{share} runs never became steady: {}", some(&names)), advice));
        }
    }
    for (class, advice) in [
        (Class::Unsteady, "its level still changed near the end: raise steady.min_time"),
        (Class::Slowdown, "it was faster at first: heat, or a cache that filled up?"),
        (Class::Mixed, "its runs took different courses: compare it with care"),
    ] {
        let names: Vec<String> = looked.cases.iter().filter(|summary| summary.class == Some(class)).map(name).collect();
        if !names.is_empty() {
            found.push((Level::Note, format!("{}: {}", class.word(), some(&names)), advice));
        }
    }
    found
}
