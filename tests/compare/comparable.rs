//! What stands in the way of a comparison, and how cases find each other.

use pcb::compare::{Metric, Row, Settings, Verdict};
use pcb::results::{Flag, Outcome, Pruned, ResultFile};

use crate::support::{around, cold, compared_as, file, row, runs, warm};

fn good() -> ResultFile {
    file(runs(&warm("npy:mmap"), &around(1000.0, 0.01)))
}

/// The row of a good file against one that was changed.
fn against(change: impl Fn(&mut ResultFile)) -> Row {
    let mut new = good();
    change(&mut new);
    row(&good(), &new)
}

#[track_caller]
fn assert_obstacle(row: &Row, why: &str) {
    assert_eq!(row.verdict, Verdict::NotComparable, "{:?}", row.notes);
    assert_eq!(row.notes, [why]);
    assert!(row.change.is_none());
}

#[test]
fn other_states_are_not_comparable() {
    let row = row(&file(runs(&cold("npy:mmap"), &[1.0; 5])), &good());
    assert_obstacle(&row, "base is cold, new is warm");
}

#[test]
fn other_machines_are_not_comparable() {
    let row = against(|file| file.header.environment.cpu = "Other CPU".to_owned());
    assert_obstacle(&row, "measured on other machines: Example CPU and Other CPU");
    let row = against(|file| file.header.environment.usable_cpus = 2);
    assert_obstacle(&row, "measured with 8 and 2 usable CPUs");
}

#[test]
fn other_items_are_not_comparable() {
    let row = against(|file| file.header.datasets = [("smoke".to_owned(), "e".repeat(64))].into());
    assert_obstacle(&row, "dataset smoke has other content (its digests differ)");
    let row = against(|file| file.runs[3].index_digest = Some("j".repeat(64)));
    assert_obstacle(&row, "other objects, or the same in another order (index digests differ; same seed?)");
    let row = against(|file| file.runs.iter_mut().for_each(|run| run.bytes_per_sample = 1));
    assert_obstacle(&row, "samples of other sizes: [1, 32768] bytes");
}

#[test]
fn a_case_that_rarely_became_steady_is_not_comparable() {
    let unsteady =
        |n: usize| against(move |file| file.runs.iter_mut().take(n).for_each(|run| run.flags.push(Flag::NotSteady)));
    assert_eq!(unsteady(2).verdict, Verdict::Unchanged);
    assert_obstacle(&unsteady(3), "new: 3 of 5 runs never became steady");
}

#[test]
fn a_device_is_not_compared_with_a_cache_below_it() {
    let base = file(runs(&cold("npy:mmap"), &around(1000.0, 0.01)));
    let mut new = base.clone();
    new.runs.iter_mut().take(3).for_each(|run| run.flags.push(Flag::NoDeviceBytes));
    let why = "only new read nothing from the device: a cache below the page cache served it";
    assert_obstacle(&row(&base, &new), why);
    assert_eq!(row(&new, &new).verdict, Verdict::Unchanged);
}

#[test]
fn only_runs_that_are_ok_count() {
    let failed = |n: usize| {
        against(move |file| {
            for run in file.runs.iter_mut().take(n) {
                run.outcome = Outcome::Failed { message: "boom".to_owned() };
                run.steady.as_mut().expect("a steady state").p50_ns = Some(1.0);
            }
        })
    };
    let some = failed(2);
    assert!(some.change.is_some_and(|change| (0.98..1.02).contains(&change.ratio)));
    assert!(some.notes.contains(&"new: 2 of 5 runs failed (boom)".to_owned()), "{:?}", some.notes);
    assert_obstacle(&failed(5), "new: 5 of 5 runs failed (boom)");
}

#[test]
fn what_neither_side_supports_has_no_row() {
    let unsupported = |mut file: ResultFile| {
        file.runs.iter_mut().for_each(|run| run.outcome = Outcome::Unsupported { message: "no u16".to_owned() });
        file
    };
    let comparison = compared_as(&unsupported(good()), &unsupported(good()), &Settings::default());
    assert_eq!((comparison.rows.len(), comparison.unsupported), (0, 1));
    assert_obstacle(&row(&good(), &unsupported(good())), "new: 5 of 5 runs unsupported (no u16)");
}

#[test]
fn a_metric_that_some_runs_lack_is_not_compared() {
    let settings = Settings { metric: Some(Metric::P99), ..Settings::default() };
    let mut new = good();
    new.runs[1].steady.as_mut().expect("a steady state").p99_ns = None;
    let comparison = compared_as(&good(), &new, &settings);
    assert_obstacle(&comparison.rows[0], "new: 1 of 5 runs have no p99 (too few samples)");
}

#[test]
fn a_pass_that_was_cut_short_is_not_compared() {
    let base = file(runs(&cold("npy:mmap"), &around(1000.0, 0.01)));
    let mut new = base.clone();
    new.runs[0].flags.push(Flag::FirstCapped);
    let why = "new: 1 of 5 runs have no pass (cut short by its time cap? compare --metric rate)";
    assert_obstacle(&row(&base, &new), why);
}

#[test]
fn a_case_of_one_side_is_missing_with_the_reason() {
    let mut new = file(vec![]);
    let gone = row(&good(), &new);
    assert_eq!((gone.verdict, &gone.notes[..]), (Verdict::Missing, &["not in new.json".to_owned()][..]));
    new.header.pruned =
        vec![Pruned { case: warm("npy:mmap").parse().expect("an id"), reason: "no such file".to_owned() }];
    assert_eq!(row(&good(), &new).notes, ["not in new.json, left out: no such file"]);
    let added = row(&new, &good());
    assert_eq!((added.base_case.is_none(), added.notes.len()), (true, 1));
}

#[test]
fn formats_are_compared_across_the_match() {
    let settings = Settings { across: vec!["format".parse().expect("a key")], ..Settings::default() };
    let new = file(runs(&warm("tiff:lzw"), &around(3000.0, 0.01)));
    let comparison = compared_as(&good(), &new, &settings);
    let row = &comparison.rows[0];
    assert_eq!(row.verdict, Verdict::Regressed);
    assert_ne!(row.base_case, row.new_case);
}

#[test]
fn crops_across_the_match_may_have_other_sizes() {
    let settings = Settings { across: vec!["crop".parse().expect("a key")], ..Settings::default() };
    let mut new = file(runs(&warm("npy:mmap").replace("128x128", "64x64"), &around(300.0, 0.01)));
    new.runs.iter_mut().for_each(|run| run.bytes_per_sample = 8192);
    assert_eq!(compared_as(&good(), &new, &settings).rows[0].verdict, Verdict::Improved);
}
