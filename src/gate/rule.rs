//! The rule: when a case is suspect, and when it is red.

use serde::Serialize;

use super::{CREEP_LEVEL, CaseNight, GateVerdict, LEAST_NIGHTS, LEVEL, RECENT, Row, Settings};
use crate::stats::{Interval, prediction_interval, reach};

/// What a second measurement found: the new build over the last good one, in interleaved blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Confirmation {
    /// Ratio; above 1 is slower.
    pub ratio: f64,
    /// Its interval.
    pub interval: Interval,
    /// Its p-value, adjusted over the cases that were measured again.
    pub p: f64,
}

impl Confirmation {
    /// Whether it finds the case slower again: a difference that is no chance, by more than the margin. Only half of all
    /// true changes as large as the margin pass, and nearly all of twice that size; an interval beyond the margin would
    /// find a change of 5 % only with dozens of blocks.
    fn is_slower(&self, settings: &Settings) -> bool {
        self.p < settings.alpha && self.ratio > 1.0 + settings.margin
    }

    fn is_faster(&self, settings: &Settings) -> bool {
        self.p < settings.alpha && self.ratio < 1.0 / (1.0 + settings.margin)
    }
}

/// Judges one case. `past` are the mean logs of the nights that it can be compared with, `pinned` those of the pinned
/// night and the nights before it.
pub fn judge_case(
    case: &CaseNight,
    past: &[f64],
    pinned: Option<&[f64]>,
    confirmation: Option<Confirmation>,
    settings: &Settings,
) -> Row {
    let mut row = Row {
        verdict: GateVerdict::NotComparable,
        case: case.case.clone(),
        metric: case.metric,
        nights: past.len(),
        tonight: None,
        usual: None,
        ratio: None,
        bound: None,
        confirmation,
        notes: Vec::new(),
    };
    let Some(tonight) = case.mean_log() else {
        row.notes.push(format!("none of its {} runs is ok", case.runs));
        return row;
    };
    if case.logs.len() < case.runs {
        row.notes.push(format!("{} of {} runs are ok", case.logs.len(), case.runs));
    }
    row.tonight = Some(case.value(tonight));
    row.verdict = GateVerdict::WarmingUp;
    if past.is_empty() {
        return row;
    }
    let mean = past.iter().sum::<f64>() / past.len() as f64;
    let (ratio, margin) = (tonight - mean, settings.margin.ln_1p());
    (row.usual, row.ratio) = (Some(case.value(mean)), Some(ratio.exp()));
    let Some(interval) = prediction_interval(past, LEVEL).filter(|_| past.len() >= LEAST_NIGHTS) else { return row };
    row.bound = Some((interval.high - mean).max(margin).exp());
    let slower = tonight > interval.high && ratio > margin;
    let faster = tonight < interval.low && ratio < -margin;
    row.verdict = match (slower, faster, confirmation) {
        (true, _, Some(again)) if again.is_slower(settings) => GateVerdict::Red,
        (true, _, Some(_)) => GateVerdict::Cleared,
        (true, _, None) => GateVerdict::Suspect,
        (_, true, Some(again)) if again.is_faster(settings) => GateVerdict::Improved,
        (_, true, _) => GateVerdict::PerhapsImproved,
        (false, false, _) => GateVerdict::Fine,
    };
    if let Some(creep) = pinned.and_then(|pinned| creep(tonight, past, pinned, margin))
        && matches!(row.verdict, GateVerdict::Fine | GateVerdict::Cleared | GateVerdict::PerhapsImproved)
    {
        row.verdict = GateVerdict::Creep;
        row.notes.push(format!("its last {RECENT} nights are {:.3} times the pinned ones", creep.exp()));
    }
    row
}

/// How far the mean of the last nights lies above that of the pinned ones, where that is more than the margin and than
/// chance: the difference of means of k and m nights has (1/k + 1/m) times the variance of a night. It is asked every night
/// of the same pinned nights, so that chance must be rarer than for a single question.
fn creep(tonight: f64, past: &[f64], pinned: &[f64], margin: f64) -> Option<f64> {
    let recent: Vec<f64> = past.iter().copied().chain([tonight]).rev().take(RECENT).collect();
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let drift = mean(&recent) - mean(pinned);
    let share = 1.0 / recent.len() as f64 + 1.0 / pinned.len().max(1) as f64;
    let chance = reach(past, share, CREEP_LEVEL)?;
    (recent.len() == RECENT && drift > margin && drift > chance).then_some(drift)
}

/// The row of a case that the last night had.
pub(super) fn missing(case: &CaseNight, last: &str) -> Row {
    Row {
        verdict: GateVerdict::Missing,
        case: case.case.clone(),
        metric: case.metric,
        nights: 0,
        tonight: None,
        usual: None,
        ratio: None,
        bound: None,
        confirmation: None,
        notes: vec![format!("measured in {last}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A case of six runs around a time in µs.
    fn case(us: f64) -> CaseNight {
        let case: crate::case::Case =
            "getitem/d/npy:mmap/site/random/all.8x8.u16/none/native/warm".parse().expect("an id");
        let metric = crate::compare::Metric::primary(&case);
        let logs = [-1.0, 1.0, 0.5, -0.5, 0.2, -0.2].map(|z: f64| (us * 1e3).ln() + 0.01 * z).to_vec();
        CaseNight { case, metric, logs, runs: 6 }
    }

    /// Nights around a time in µs that vary by 1 %.
    fn nights(n: usize, us: f64) -> Vec<f64> {
        (0..n).map(|i| (us * 1e3).ln() + 0.01 * [-1.0, 0.8, 0.1, -0.6, 0.9, -0.2][i % 6]).collect()
    }

    fn again(ratio: f64, p: f64) -> Option<Confirmation> {
        Some(Confirmation { ratio, interval: Interval { low: ratio * 0.98, high: ratio * 1.02 }, p })
    }

    fn verdict(us: f64, n: usize, confirmation: Option<Confirmation>) -> GateVerdict {
        judge_case(&case(us), &nights(n, 100.0), None, confirmation, &Settings::default()).verdict
    }

    #[test]
    fn only_two_of_two_is_red() {
        assert_eq!(verdict(110.0, 30, None), GateVerdict::Suspect);
        assert_eq!(verdict(110.0, 30, again(1.10, 0.001)), GateVerdict::Red);
        assert_eq!(verdict(110.0, 30, again(1.01, 0.001)), GateVerdict::Cleared, "under the margin");
        assert_eq!(verdict(110.0, 30, again(1.10, 0.2)), GateVerdict::Cleared, "by chance");
        assert_eq!(verdict(100.5, 30, again(1.10, 0.001)), GateVerdict::Fine, "was no suspect");
    }

    #[test]
    fn few_nights_judge_nothing() {
        for n in [0, 1, 9] {
            assert_eq!(verdict(300.0, n, again(3.0, 0.0)), GateVerdict::WarmingUp, "{n} nights");
        }
        assert_eq!(verdict(300.0, 10, None), GateVerdict::Suspect);
    }

    #[test]
    fn the_bound_and_the_margin_must_both_be_passed() {
        // Nights that agree to 1e-6: 1 % is far beyond the bound, and under the margin.
        let calm: Vec<f64> = nights(30, 100.0).iter().map(|log| 11.0 + (log - 11.0) * 1e-4).collect();
        let mut tonight = case(100.0);
        tonight.logs = vec![calm[0] + 0.01; 6];
        let row = judge_case(&tonight, &calm, None, None, &Settings::default());
        assert_eq!(row.verdict, GateVerdict::Fine);
        // 4 % is beyond the margin, and within what these nights do.
        let wild: Vec<f64> =
            nights(30, 100.0).iter().map(|log| (100e3_f64).ln() + (log - (100e3_f64).ln()) * 5.0).collect();
        let row = judge_case(&case(104.0), &wild, None, None, &Settings::default());
        assert_eq!(row.verdict, GateVerdict::Fine);
    }

    #[test]
    fn faster_is_never_red() {
        assert_eq!(verdict(80.0, 30, None), GateVerdict::PerhapsImproved);
        assert_eq!(verdict(80.0, 30, again(0.8, 0.001)), GateVerdict::Improved);
        assert_eq!(verdict(80.0, 30, again(1.2, 0.001)), GateVerdict::PerhapsImproved);
    }

    #[test]
    fn what_crept_up_on_the_pinned_night_is_seen() {
        let slow: Vec<f64> = (0..30).map(|i| (100e3_f64).ln() + 0.002 * f64::from(i)).collect();
        let mut tonight = case(100.0);
        tonight.logs = vec![slow[29] + 0.002; 6];
        let pinned = Some(&[(100e3_f64).ln(); 5][..]);
        let row = judge_case(&tonight, &slow, pinned, None, &Settings::default());
        assert_eq!(row.verdict, GateVerdict::Creep, "{row:?}");
        let row = judge_case(&case(100.0), &nights(30, 100.0), pinned, None, &Settings::default());
        assert_eq!(row.verdict, GateVerdict::Fine);
    }

    #[test]
    fn a_night_without_runs_is_said() {
        let row = judge_case(
            &CaseNight { logs: Vec::new(), ..case(1.0) },
            &nights(30, 100.0),
            None,
            None,
            &Settings::default(),
        );
        assert_eq!((row.verdict, row.notes), (GateVerdict::NotComparable, vec!["none of its 6 runs is ok".to_owned()]));
    }
}
