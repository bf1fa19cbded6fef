//! Which verdict stands for which runs.

use pcb::compare::{Adjust, Inputs, Metric, Settings, Verdict, compare};
use pcb::results::Series;
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
fn a_second_voice_can_silence_an_alarm() {
    let with_samples = |center: f64, spread: f64| {
        let mut runs = runs(&warm("npy:mmap"), &around(center, 0.002));
        for run in &mut runs {
            let steady = run.steady.as_mut().expect("a steady state");
            let p50 = steady.p50_ns.expect("a median");
            let medians = (0..=20).map(|i| (p50 * (1.0 + spread * (f64::from(i) / 10.0 - 1.0))) as u64).collect();
            steady.series = Some(Series { head: vec![1; 10], block: 50, medians });
        }
        file(runs)
    };
    // The medians of the runs agree to 0.2 %, and their samples do so too.
    let calm = row(&with_samples(1000.0, 0.002), &with_samples(1050.0, 0.002));
    assert_eq!(calm.verdict, Verdict::Regressed);
    let interval = calm.change.and_then(|change| change.bootstrap_interval).expect("a second voice");
    assert!(interval.low > 1.03 && interval.low < 1.05 && interval.high < 1.06, "{interval:?}");
    // The same medians of samples that spread over half of their value: that the medians agree so well is luck.
    let wild = row(&with_samples(1000.0, 0.5), &with_samples(1050.0, 0.5));
    assert_eq!(wild.verdict, Verdict::Inconclusive);
    assert!(wild.notes[0].starts_with("regressed by t, but resampling gives ["), "{:?}", wild.notes);
}

#[test]
fn all_cases_have_a_geometric_mean() {
    let side = |factors: [f64; 2]| {
        let mut all = runs(&warm("a:a"), &around(1000.0 * factors[0], 0.01));
        all.extend(runs(&warm("b:b"), &around(5e6 * factors[1], 0.01)));
        all.extend(runs(NULL, &around(40.0 * factors[0] * 9.0, 0.01)));
        file(all)
    };
    let comparison = compared_as(&side([1.0, 1.0]), &side([1.1, 1.21]), &Settings::default());
    let [overall] = &comparison.overall[..] else { panic!("one geometric mean: {:?}", comparison.overall) };
    assert_eq!((overall.cases, overall.blocks), (2, 5), "the overhead is none of them");
    assert!((overall.ratio - f64::sqrt(1.1 * 1.21)).abs() < 1e-9);
    let interval = overall.interval.expect("five blocks");
    // Both cases vary together from block to block, so the mean of two is as uncertain as one: ± t(.975, 8)·0.01·0.8·√(2/5).
    assert!(interval.low < overall.ratio && overall.ratio < interval.high);
    assert!((0.005..0.02).contains(&(interval.high / overall.ratio - 1.0)), "{interval:?}");
    let one = file(runs(&warm("a:a"), &around(1000.0, 0.01)));
    assert!(compared_as(&one, &one, &Settings::default()).overall.is_empty(), "the mean of one is that one");
}

#[test]
fn looking_around_costs_less_than_deciding() {
    let side = |factor: f64| {
        let cases = (0..40).map(|i| runs(&warm(&format!("b:{i}")), &around(1000.0 * factor, 0.045)));
        file(cases.flatten().collect())
    };
    let verdict = |adjust| {
        let settings = Settings { adjust, ..Settings::default() };
        compared_as(&side(1.0), &side(1.12), &settings).rows[0].verdict
    };
    assert_eq!(verdict(Adjust::Bh), Verdict::Regressed, "all forty found: the share of false ones is small");
    assert_eq!(verdict(Adjust::Holm), Verdict::Inconclusive);
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
        for (there, back) in there.overall.iter().zip(&back.overall) {
            prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn another_unit_changes_no_verdict(
        cases in prop::collection::vec((3..8_usize, 0.8..1.25_f64, 0.0..0.1_f64, any::<u32>()), 1..6),
        unit in 1e-3..1e6_f64,
    ) {
        let side = |judged: bool, unit: f64| {
            let mut all = Vec::new();
            for (i, (n, factor, spread, seed)) in cases.iter().enumerate() {
                let center = unit * if judged { 1e4 * factor } else { 1e4 };
                let value = |j: usize| center * (spread * ((j as u32 ^ seed) % 17) as f64 / 8.0).exp();
                all.extend(runs(&warm(&format!("f:{i}")), &(0..*n).map(value).collect::<Vec<_>>()));
            }
            file(all)
        };
        let plain = compared_as(&side(false, 1.0), &side(true, 1.0), &Settings::default());
        let scaled = compared_as(&side(false, unit), &side(true, unit), &Settings::default());
        for row in &plain.rows {
            let twin = scaled.rows.iter().find(|other| other.case() == row.case()).expect("the same cases");
            let (there, back) = (row.change.expect("a change"), twin.change.expect("a change"));
            prop_assert!((there.ratio / back.ratio - 1.0).abs() < 1e-9);
            // Rounding may move an end across the margin; nothing else may change the verdict.
            let near = |end: f64| (end.ln().abs() - 1.03_f64.ln()).abs() < 1e-9 || end.ln().abs() < 1e-9;
            let ends = [there.interval, there.equivalence_interval].map(|i| [i.low, i.high]).concat();
            prop_assert!(row.verdict == twin.verdict || ends.into_iter().any(near), "{:?} {:?}", row, twin);
        }
    }
}
