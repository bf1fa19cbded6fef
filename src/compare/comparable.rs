//! Whether the runs of two cases measured the same thing, and well enough to be compared.

use std::collections::BTreeSet;

use super::inputs::{CaseRuns, Inputs};
use super::pairs::Key;
use crate::report::summary::message;
use crate::results::view::RunView;
use crate::results::{Flag, Outcome};

/// A case of each side.
pub(super) struct Both<'a> {
    /// The base side's.
    pub base: CaseRuns<'a>,
    /// The new side's.
    pub new: CaseRuns<'a>,
}

/// Why the two cannot be compared, if so. Keys left out of the match differ on purpose, and so does what hangs on them.
pub(super) fn obstacle(both: &Both, inputs: &Inputs, across: &[Key]) -> Option<String> {
    let left_out = |names: &[&str]| across.iter().any(|key| names.contains(&key.name()));
    let sides = [("base", &both.base), ("new", &both.new)];
    let of_side = |check: fn(&CaseRuns) -> Option<String>| {
        sides.iter().find_map(|(name, runs)| check(runs).map(|why| format!("{name}: {why}")))
    };
    None.or_else(|| of_side(nothing_measured))
        .or_else(|| other_machine(inputs))
        .or_else(|| if left_out(&["dataset"]) { None } else { other_dataset(both, inputs) })
        .or_else(|| if left_out(&["dataset", "pattern"]) { None } else { other_objects(both) })
        .or_else(|| if left_out(&["crop", "pattern", "tier"]) { None } else { other_size(both) })
        .or_else(|| of_side(unsteady))
        .or_else(|| other_storage(both))
}

/// Whether no run of the case was possible.
pub(super) fn is_unsupported(runs: &CaseRuns) -> bool {
    runs.all.iter().all(|run| matches!(run.outcome, Outcome::Unsupported { .. }))
}

/// How the runs that are not ok ended: `2 of 5 runs timed_out (after 60.0 s)`.
pub(super) fn failures(runs: &CaseRuns) -> Option<String> {
    let failed: Vec<&RunView> = runs.all.iter().copied().filter(|run| !run.outcome.is_ok()).collect();
    let kinds: BTreeSet<&str> = failed.iter().map(|run| run.outcome.kind()).collect();
    let kinds: Vec<&str> = kinds.into_iter().collect();
    let said = match message(&failed.first()?.outcome) {
        none if none.is_empty() => none,
        said => format!(" ({said})"),
    };
    Some(format!("{} of {} runs {}{said}", failed.len(), runs.all.len(), kinds.join(", ")))
}

fn nothing_measured(runs: &CaseRuns) -> Option<String> {
    if runs.ok.is_empty() { failures(runs) } else { None }
}

fn other_machine(inputs: &Inputs) -> Option<String> {
    let (base, new) = (&inputs.base.file.header.environment, &inputs.new.file.header.environment);
    if base.cpu != new.cpu {
        return Some(format!("measured on other machines: {} and {}", base.cpu, new.cpu));
    }
    let differ = base.usable_cpus != new.usable_cpus;
    differ.then(|| format!("measured with {} and {} usable CPUs", base.usable_cpus, new.usable_cpus))
}

fn other_dataset(both: &Both, inputs: &Inputs) -> Option<String> {
    let name = &both.base.case.target.as_ref()?.dataset;
    let digest = |file: &crate::results::view::FileView| file.header.datasets.get(name).cloned();
    let differ = digest(inputs.base.file) != digest(inputs.new.file);
    differ.then(|| format!("dataset {name} has other content (its digests differ)"))
}

fn other_objects(both: &Both) -> Option<String> {
    let digests: BTreeSet<_> = values(both, |run| run.index_digest.as_deref());
    (digests.len() > 1)
        .then(|| "other objects, or the same in another order (index digests differ; same seed?)".to_owned())
}

fn other_size(both: &Both) -> Option<String> {
    let sizes: Vec<_> = values(both, |run| run.bytes_per_sample).into_iter().collect();
    (sizes.len() > 1).then(|| format!("samples of other sizes: {sizes:?} bytes"))
}

fn unsteady(runs: &CaseRuns) -> Option<String> {
    let unsteady = flagged(runs, Flag::NotSteady);
    (2 * unsteady > runs.ok.len()).then(|| format!("{unsteady} of {} runs never became steady", runs.ok.len()))
}

/// Cold passes served by a device on one side, and by a cache that pcb cannot drop on the other.
fn other_storage(both: &Both) -> Option<String> {
    let cached = |runs: &CaseRuns| 2 * flagged(runs, Flag::NoDeviceBytes) > runs.ok.len();
    let side = match (cached(&both.base), cached(&both.new)) {
        (true, false) => "base",
        (false, true) => "new",
        _ => return None,
    };
    Some(format!("only {side} read nothing from the device: a cache below the page cache served it"))
}

fn flagged(runs: &CaseRuns, flag: Flag) -> usize {
    runs.ok.iter().filter(|run| run.flags.contains(&flag)).count()
}

fn values<'a, T: Ord>(both: &Both<'a>, value: impl Fn(&'a RunView) -> T) -> BTreeSet<T> {
    both.base.ok.iter().chain(&both.new.ok).map(|run| value(run)).collect()
}
