//! What must hold of `pcb::stats` for any numbers.

use pcb::stats::{
    Class, LogRatio, Pairing, Process, benjamini_hochberg, bootstrap_log_ratio, change_points, course, holm, levels,
    mad, mann_whitney_exact, paired_log, quantile, repeats_for, runs_for_half_width, summarize, welch_log, wilson,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// Times from a nanosecond to a second and beyond: ratios of up to 10⁹.
fn times(least: usize) -> impl Strategy<Value = Vec<f64>> {
    vec((0.0..9.0_f64).prop_map(|e| 10.0_f64.powf(e)), least..20)
}

/// Runs without samples, and with some around each.
fn processes(values: &[f64], samples: usize) -> Vec<Process> {
    let around = |value: f64| (0..samples).map(move |i| value * (0.9 + 0.2 * i as f64 / samples as f64)).collect();
    values.iter().map(|&value| Process { value, samples: around(value) }).collect()
}

fn finite(r: &LogRatio) -> bool {
    let interval = r.interval(0.95).expect("0.95 is a level");
    [r.log, r.se, r.t, r.df, r.p, r.ratio(), interval.low, interval.high].into_iter().all(f64::is_finite)
}

proptest! {
    #[test]
    fn swapping_the_sides_negates_the_log_and_nothing_else(base in times(2), new in times(2)) {
        let (there, back) = (welch_log(&base, &new).expect("times"), welch_log(&new, &base).expect("times"));
        prop_assert_eq!((there.log, there.t), (-back.log, -back.t));
        prop_assert_eq!((there.se, there.df, there.p), (back.se, back.df, back.p));
        let (there, back) = (there.log_interval(0.9).expect("level"), back.log_interval(0.9).expect("level"));
        prop_assert_eq!((there.low, there.high), (-back.high, -back.low));
    }

    #[test]
    fn the_unit_does_not_matter(base in times(2), new in times(2), unit in 1e-9..1e9_f64) {
        let scale = |values: &[f64]| values.iter().map(|v| v * unit).collect::<Vec<_>>();
        let (plain, scaled) = (welch_log(&base, &new).expect("times"), welch_log(&scale(&base), &scale(&new)).expect("times"));
        prop_assert!((plain.log - scaled.log).abs() < 1e-9);
        prop_assert!((plain.se - scaled.se).abs() < 1e-9);
        prop_assert!((plain.p - scaled.p).abs() < 1e-9);
        let (plain, scaled) = (quantile(&base, 0.95).expect("times"), quantile(&scale(&base), 0.95).expect("times"));
        prop_assert!((plain * unit / scaled - 1.0).abs() < 1e-12);
    }

    #[test]
    fn numbers_in_numbers_out(base in times(2), new in times(2)) {
        prop_assert!(finite(&welch_log(&base, &new).expect("times")));
        let n = base.len().min(new.len());
        prop_assert!(finite(&paired_log(&base[..n], &new[..n]).expect("times")));
        let summary = summarize(&base).expect("times");
        let interval = summary.interval.expect("two or more");
        prop_assert!([summary.value, summary.mad, interval.low, interval.high].into_iter().all(f64::is_finite));
        prop_assert!(interval.low <= summary.value && summary.value <= interval.high);
    }

    #[test]
    fn whatever_comes_no_nan_goes(values in vec(any::<f64>(), 0..8), other in vec(any::<f64>(), 0..8), q in any::<f64>()) {
        prop_assert!(welch_log(&values, &other).is_none_or(|r| finite(&r)));
        prop_assert!(paired_log(&values, &other).is_none_or(|r| finite(&r)));
        prop_assert!(quantile(&values, q).is_none_or(f64::is_finite));
        prop_assert!(mad(&values).is_none_or(|v| !v.is_nan()));
        prop_assert!(summarize(&values).is_none_or(|s| s.value.is_finite()));
        prop_assert!(holm(&values).into_iter().all(|p| (0.0..=1.0).contains(&p)));
        prop_assert!(repeats_for(pcb::stats::Noise::Sides(q), 0.03, 0.05).is_none_or(|n| n >= 2));
    }

    #[test]
    fn constant_series_are_equal_or_surely_different(value in 1e-9..1e9_f64, factor in 1.001..1e9_f64, n in 2..9_usize, m in 2..9_usize) {
        let same = welch_log(&vec![value; n], &vec![value; m]).expect("times");
        prop_assert_eq!((same.ratio(), same.p), (1.0, 1.0));
        let different = welch_log(&vec![value; n], &vec![value * factor; m]).expect("times");
        prop_assert_eq!(different.p, 0.0);
        prop_assert!((different.ratio() / factor - 1.0).abs() < 1e-9);
        prop_assert!(different.has_no_spread() && finite(&different));
    }

    #[test]
    fn quantiles_rise_and_stay_inside(values in times(1), p in 0.0..=1.0_f64, q in 0.0..=1.0_f64) {
        let (low, high) = (quantile(&values, p.min(q)).expect("times"), quantile(&values, p.max(q)).expect("times"));
        let (least, most) = (quantile(&values, 0.0).expect("times"), quantile(&values, 1.0).expect("times"));
        prop_assert!(least <= low && low <= high && high <= most);
    }

    #[test]
    fn adjusting_never_helps_and_keeps_the_order(p in vec(0.0..=1.0_f64, 0..30)) {
        let adjusted = holm(&p);
        for i in 0..p.len() {
            prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }

    #[test]
    fn a_share_lies_in_its_interval(trials in 1..10_000_u64, hits in 0..10_000_u64) {
        let hits = hits.min(trials);
        let interval = wilson(hits, trials, 0.95).expect("trials");
        let share = hits as f64 / trials as f64;
        prop_assert!(0.0 <= interval.low && interval.low <= share + 1e-12 && share <= interval.high + 1e-12 && interval.high <= 1.0);
    }

    #[test]
    fn resampling_mirrors_swapped_sides_in_any_unit(
        base in times(2), new in times(2), unit in 1e-6..1e6_f64, samples in prop_oneof![Just(0_usize), Just(50)],
    ) {
        let (base_runs, new_runs) = (processes(&base, samples), processes(&new, samples));
        let there = bootstrap_log_ratio(&base_runs, &new_runs, Pairing::None, 0.95).expect("times");
        let back = bootstrap_log_ratio(&new_runs, &base_runs, Pairing::None, 0.95).expect("times");
        prop_assert_eq!((there.low, there.high), (-back.high, -back.low));
        let scale = |values: &[f64]| processes(&values.iter().map(|v| v * unit).collect::<Vec<_>>(), samples);
        let scaled = bootstrap_log_ratio(&scale(&base), &scale(&new), Pairing::None, 0.95).expect("times");
        prop_assert!((there.low - scaled.low).abs() < 1e-9 && (there.high - scaled.high).abs() < 1e-9);
        let n = base.len().min(new.len());
        let there = bootstrap_log_ratio(&base_runs[..n], &new_runs[..n], Pairing::Blocks, 0.95).expect("times");
        let back = bootstrap_log_ratio(&new_runs[..n], &base_runs[..n], Pairing::Blocks, 0.95).expect("times");
        prop_assert_eq!((there.low, there.high), (-back.high, -back.low));
    }

    #[test]
    fn no_input_makes_the_rest_panic_or_give_a_nan(values in vec(any::<f64>(), 0..40), other in vec(any::<f64>(), 0..8), half in any::<f64>()) {
        let (a, b) = (processes(&values, 20), processes(&other, 20));
        for pairing in [Pairing::None, Pairing::Blocks] {
            let interval = bootstrap_log_ratio(&a, &b, pairing, 0.95);
            prop_assert!(interval.is_none_or(|i| !i.low.is_nan() && !i.high.is_nan() && i.low <= i.high));
        }
        prop_assert!(mann_whitney_exact(&values[..values.len().min(8)], &other).is_none_or(|p| (0.0..=1.0).contains(&p)));
        prop_assert!(benjamini_hochberg(&values).into_iter().all(|p| (0.0..=1.0).contains(&p)));
        prop_assert!(runs_for_half_width(&values, half).is_none_or(|n| n >= 2));
        let split = levels(&values, &[values.len() / 2, 2]);
        prop_assert!(split.is_none_or(|levels| levels.counts == [2, values.len() / 2]));
        prop_assert!(summarize(&values).is_none_or(|s| s.precision().is_none_or(|p| p >= 0.0)));
    }

    #[test]
    fn a_course_has_its_class_in_any_unit(values in vec(0.9..1.1_f64, 200..400), unit in 1e-6..1e9_f64, step in 1.2..10.0_f64) {
        let slow_start: Vec<f64> = values.iter().enumerate().map(|(i, v)| if i < 60 { v * step } else { *v }).collect();
        let scaled: Vec<f64> = slow_start.iter().map(|v| v * unit).collect();
        prop_assert_eq!(course(&slow_start).class, course(&scaled).class);
        prop_assert!(change_points(&slow_start).iter().any(|&place| place.abs_diff(60) <= 5));
        prop_assert_eq!(course(&values[..150]).class, Class::Unclear);
    }

    #[test]
    fn false_findings_cost_less_than_false_alarms(p in vec(0.0..=1.0_f64, 0..30)) {
        for ((raw, bh), holm) in p.iter().zip(benjamini_hochberg(&p)).zip(holm(&p)) {
            prop_assert!(*raw <= bh + 1e-15 && bh <= holm + 1e-15);
        }
    }
}
