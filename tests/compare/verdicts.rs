//! Which verdict stands for which runs.

use pcb::compare::{Inputs, Metric, Settings, Verdict, compare};
use proptest::prelude::*;

use crate::support::{NULL, ab, around, cold, compared_as, file, row, run, runs, view, warm};

fn verdict(base: &[f64], new: &[f64]) -> Verdict {
    row(&file(runs(&warm("npy:mmap"), base)), &file(runs(&warm("npy:mmap"), new))).verdict
}

#[test]
fn clear_changes_are_told_in_both_directions() {
    let (slow, fast) = (around(1200.0, 0.01), around(1000.0, 0.01));
    assert_eq!(verdict(&fast, &slow), Verdict::Regressed);
    assert_eq!(verdict(&slow, &fast), Verdict::Improved);
    assert_eq!(verdict(&fast, &around(1001.0, 0.01)), Verdict::Unchanged);
}

#[test]
fn a_sure_change_that_may_be_small_is_below_the_margin() {
    let (slow, fast) = (around(1035.0, 0.01), around(1000.0, 0.01));
    assert_eq!(verdict(&fast, &slow), Verdict::SlowerBelowMargin);
    assert_eq!(verdict(&slow, &fast), Verdict::FasterBelowMargin);
}

#[test]
fn noise_is_inconclusive_and_says_what_would_decide() {
    let base = file(runs(&warm("npy:mmap"), &around(1000.0, 0.1)));
    let new = file(runs(&warm("npy:mmap"), &around(1010.0, 0.1)));
    let row = row(&base, &new);
    assert_eq!(row.verdict, Verdict::Inconclusive);
    let repeats = row.change.and_then(|change| change.repeats_to_decide).expect("a number of repeats");
    // 2·((1.645 + 0.842)·0.083/(0.0296 − 0.00995))²: equivalence is the nearer question.
    assert!((150..350).contains(&repeats), "{repeats}");
    assert_eq!(row.notes, [format!("about {repeats} repeats a side would decide")]);
}

#[test]
fn one_run_decides_nothing() {
    let row = row(&file(runs(&warm("npy:mmap"), &[1000.0])), &file(runs(&warm("npy:mmap"), &[2000.0])));
    assert_eq!((row.verdict, row.change.is_none()), (Verdict::Inconclusive, true));
    assert_eq!(row.notes, ["no spread known: measure with --repeats 6 or more"]);
}

#[test]
fn runs_without_any_spread_are_judged_and_marked() {
    let base = file(runs(&warm("npy:mmap"), &[40.0; 5]));
    assert_eq!(row(&base, &base).verdict, Verdict::Unchanged);
    let row = row(&base, &file(runs(&warm("npy:mmap"), &[50.0; 5])));
    assert_eq!(row.verdict, Verdict::Regressed);
    assert_eq!(row.notes, ["no spread at all: is this the resolution of the clock?"]);
}

#[test]
fn many_tests_pay_for_each_other() {
    let sides = |new: f64, others: usize| {
        let mut base = runs(&warm("a:a"), &around(1000.0, 0.045));
        let mut judged = runs(&warm("a:a"), &around(new, 0.045));
        for i in 0..others {
            base.extend(runs(&warm(&format!("b:{i}")), &around(1000.0, 0.045)));
            judged.extend(runs(&warm(&format!("b:{i}")), &around(1000.0, 0.045)));
        }
        let comparison = compared_as(&file(base), &file(judged), &Settings::default());
        comparison.rows.into_iter().find(|row| row.case().is_some_and(|case| case.to_string() == warm("a:a")))
    };
    let alone = sides(1120.0, 0).expect("the case");
    let among = sides(1120.0, 40).expect("the case");
    let p = |row: &pcb::compare::Row| row.change.map(|change| (change.p, change.p_adjusted)).expect("a change");
    assert_eq!(alone.verdict, Verdict::Regressed);
    assert_eq!(p(&alone).0, p(&alone).1);
    assert!((p(&among).1 / p(&among).0 - 41.0).abs() < 1e-9);
    assert_eq!(among.verdict, Verdict::Inconclusive);
}

#[test]
fn a_rate_that_falls_is_a_regression() {
    let settings = Settings { metric: Some(Metric::Rate), ..Settings::default() };
    let base = file(runs(&warm("npy:mmap"), &around(1000.0, 0.01)));
    let new = file(runs(&warm("npy:mmap"), &around(1200.0, 0.01)));
    let comparison = compared_as(&base, &new, &settings);
    let row = &comparison.rows[0];
    assert_eq!(row.verdict, Verdict::Regressed);
    assert!((row.change.expect("a change").ratio - 1.2).abs() < 1e-9);
    let rates = [&row.base, &row.new].map(|side| side.as_ref().and_then(|side| side.summary).expect("rates").value);
    assert!(rates[0] > rates[1]);
}

#[test]
fn a_cold_case_is_judged_by_its_whole_pass() {
    let base = file(runs(&cold("npy:mmap"), &around(1000.0, 0.01)));
    let mut new = file(runs(&cold("npy:mmap"), &around(1200.0, 0.01)));
    for run in &mut new.runs {
        run.first.as_mut().expect("a first pass").p50_ns = None;
    }
    let row = row(&base, &new);
    assert_eq!((row.metric, row.verdict), (Metric::Pass, Verdict::Regressed));
    assert!((row.base.and_then(|side| side.summary).expect("passes").value / 1e6 - 1.0).abs() < 0.01);
}

#[test]
fn the_overhead_is_shown_and_never_judges() {
    let base = file(runs(NULL, &around(40.0, 0.01)));
    let new = file(runs(NULL, &around(80.0, 0.01)));
    let settings = Settings { metric: Some(Metric::P99), ..Settings::default() };
    let comparison = compared_as(&base, &new, &settings);
    let row = &comparison.rows[0];
    assert_eq!((row.metric, row.verdict, row.gates), (Metric::First, Verdict::Regressed, false));
    assert!(comparison.counts().is_empty());
}

#[test]
fn two_builds_are_paired_by_block() {
    let case = warm("npy:mmap");
    // Blocks drift by a factor of 16, builds differ by 10 %.
    let drift = [1.0, 2.0, 4.0, 8.0, 16.0];
    let noise = [1.001, 0.999, 1.0005, 0.9995, 1.0];
    let mut made = Vec::new();
    for (block, (drift, noise)) in drift.iter().zip(noise).enumerate() {
        let block = block as u32;
        made.push(run(&case, "base", block, 1000.0 * drift));
        made.push(run(&case, "new", block, 1100.0 * drift * noise));
    }
    made.push(run(&case, "new", 9, 1.0));
    let file = view(&ab(made));
    let inputs = Inputs::builds(("ab.json", &file)).expect("two builds");
    let comparison = compare(&inputs, &Settings::default()).expect("unambiguous cases");
    let row = &comparison.rows[0];
    assert!(comparison.paired);
    assert_eq!(row.verdict, Verdict::Regressed);
    assert_eq!(row.change.map(|change| change.df), Some(4.0));
    assert_eq!(row.notes, ["left out without a partner in their block: 1"]);
}

#[test]
fn sides_need_one_build_each() {
    let (one, two) = (view(&file(vec![])), view(&ab(vec![])));
    let error = Inputs::builds(("one.json", &one)).expect_err("one build");
    assert!(error.to_string().starts_with("one.json holds one build: give a second file"), "{error}");
    let error = Inputs::files(("one.json", &one), ("two.json", &two)).expect_err("two builds on a side");
    assert!(error.to_string().starts_with("two.json holds several builds (base, new)"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn swapping_the_files_swaps_the_verdicts(
        cases in prop::collection::vec((2..8_usize, 2..8_usize, 0.8..1.25_f64, 0.0..0.1_f64, any::<u32>()), 1..6)
    ) {
        let (mut base, mut new) = (Vec::new(), Vec::new());
        for (i, (n, m, factor, spread, seed)) in cases.iter().enumerate() {
            let value = |j: usize, center: f64| center * (spread * ((j as u32 ^ seed) % 17) as f64 / 8.0).exp();
            let series = |n: usize, center: f64| (0..n).map(|j| value(j, center)).collect::<Vec<_>>();
            base.extend(runs(&warm(&format!("f:{i}")), &series(*n, 1e4)));
            new.extend(runs(&warm(&format!("f:{i}")), &series(*m, 1e4 * factor)));
        }
        let (base, new) = (file(base), file(new));
        let there = compared_as(&base, &new, &Settings::default());
        let back = compared_as(&new, &base, &Settings::default());
        for row in &there.rows {
            let twin = back.rows.iter().find(|other| other.case() == row.case()).expect("the same cases");
            let mirrored = match row.verdict {
                Verdict::Regressed => Verdict::Improved,
                Verdict::Improved => Verdict::Regressed,
                Verdict::SlowerBelowMargin => Verdict::FasterBelowMargin,
                Verdict::FasterBelowMargin => Verdict::SlowerBelowMargin,
                other => other,
            };
            prop_assert_eq!(twin.verdict, mirrored);
            let (there, back) = (row.change.expect("a change"), twin.change.expect("a change"));
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-12);
            prop_assert_eq!((there.p, there.p_adjusted, there.t), (back.p, back.p_adjusted, -back.t));
        }
    }
}
