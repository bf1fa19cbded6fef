//! What must hold of `pcb::stats` for any numbers.

use pcb::stats::{LogRatio, holm, mad, paired_log, quantile, repeats_for, summarize, welch_log, wilson};
use proptest::collection::vec;
use proptest::prelude::*;

/// Times from a nanosecond to a second and beyond: ratios of up to 10⁹.
fn times(least: usize) -> impl Strategy<Value = Vec<f64>> {
    vec((0.0..9.0_f64).prop_map(|e| 10.0_f64.powf(e)), least..20)
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
}
