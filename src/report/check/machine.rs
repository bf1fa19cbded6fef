//! Whether the machine and the harness were fit to measure.

use super::{Level, Looked};
use crate::case::Track;
use crate::environment::NOT_EXPOSED;

type Found = Vec<(Level, String, &'static str)>;

/// Share of time in which some task waited for a CPU, in percent, above which a run had company.
const WAITING: f64 = 10.0;

/// Time that the harness may add to a sample.
const OVERHEAD_NS: f64 = 60.0;

/// The workers were built with optimisation.
pub fn optimised(looked: &Looked) -> Found {
    let builds = &looked.file.header.builds;
    let slow = builds.iter().filter(|build| build.versions.get("opt_level").is_some_and(|level| level != "3"));
    let what = |build: &crate::results::BuildInfo| {
        format!("build {}: opt_level {}", build.name, build.versions.get("opt_level").map_or("?", String::as_str))
    };
    slow.map(|build| (Level::Problem, what(build), "build with cargo build --release --workspace")).collect()
}

/// Nothing else used the machine.
pub fn contention(looked: &Looked) -> Found {
    let cpus = f64::from(looked.file.header.environment.usable_cpus.max(1));
    let noise: Vec<_> = looked.file.runs.iter().filter_map(|run| run.noise.as_ref()).collect();
    let count = |busy: &dyn Fn(&crate::results::Noise) -> bool| noise.iter().filter(|noise| busy(noise)).count();
    let waited = |noise: &crate::results::Noise| {
        [noise.before, noise.after].iter().any(|load| load.psi_cpu.is_some_and(|share| share > WAITING))
    };
    let stolen = |noise: &crate::results::Noise| noise.after.steal_ms > noise.before.steal_ms + 10;
    let mut found = Vec::new();
    let advice = "stop what else runs, or use --affinity";
    match count(&|noise| noise.before.load1 > cpus) {
        0 => {}
        n => found.push((
            Level::Warning,
            format!("{n} of {} runs began with more to run than CPUs", noise.len()),
            advice,
        )),
    }
    match count(&waited) {
        0 => {}
        n => found.push((Level::Warning, format!("around {n} of {} runs tasks waited for a CPU", noise.len()), advice)),
    }
    match count(&stolen) {
        0 => {}
        n => {
            let what = format!("in {n} of {} runs the host took CPU time away", noise.len());
            found.push((Level::Note, what, "a shared virtual machine: expect wider intervals"));
        }
    }
    found
}

/// Governor, turbo, ASLR.
pub fn settings(looked: &Looked) -> Found {
    let details = &looked.file.header.environment.details;
    let value = |name: &str| details.get(name).map_or(NOT_EXPOSED, String::as_str);
    let mut found = Vec::new();
    match value("governor") {
        "performance" => {}
        NOT_EXPOSED => {
            let what = "the machine does not show its governor and turbo".to_owned();
            found.push((Level::Note, what, "a virtual machine? changes of frequency cannot be ruled out"));
        }
        governor => {
            let what = format!("governor {governor}: the CPU changes its frequency with load");
            found.push((Level::Warning, what, "set it to performance: cpupower frequency-set -g performance"));
        }
    }
    if value("boost") == "1" || value("turbo_off_intel") == "0" {
        let what = "turbo is on: the frequency depends on heat and on neighbours".to_owned();
        found.push((Level::Note, what, "turn it off for comparisons, on for absolute numbers"));
    }
    if value("aslr") == "0" {
        let what = "addresses are not randomised: each run has the same layout of memory".to_owned();
        found.push((
            Level::Warning,
            what,
            "an accident of layout would look like a change: sysctl kernel.randomize_va_space=2",
        ));
    }
    found
}

/// The harness costs nothing that shows.
pub fn overhead(looked: &Looked) -> Found {
    let null = looked.cases.iter().find(|summary| summary.case.track == Track::Null).and_then(|null| null.p50_ns);
    let samples = looked.cases.iter().filter(|summary| summary.case.track != Track::Null);
    let fastest = samples.filter_map(|summary| Some(summary.p50_ns?.value)).reduce(f64::min);
    let Some(null) = null.map(|null| null.value) else {
        return vec![(
            Level::Note,
            "the harness's own overhead was not measured".to_owned(),
            "every plan has a null case unless it is filtered out",
        )];
    };
    let mut found = Vec::new();
    if null > OVERHEAD_NS {
        found.push((
            Level::Warning,
            format!("the harness adds {null:.0} ns to each sample"),
            "a slow clock? see clocksource in the environment",
        ));
    }
    if let Some(fastest) = fastest.filter(|fastest| null > 0.01 * fastest) {
        let what = format!(
            "the harness adds {null:.0} ns to each sample, {:.1} % of the fastest case",
            100.0 * null / fastest
        );
        found.push((Level::Note, what, "differences of that size between fast cases are not real"));
    }
    found
}
