//! What the course of a run was, from all its samples. Pure.

use pcb_protocol::Phase;

use crate::session::{PhaseSamples, Report};
use crate::stats::{self, Class};

/// Values that a course is reduced to, at most: PELT takes milliseconds then, and windows last long enough.
const MOST: usize = 1000;

/// Passes from which it is known what each sample of the list costs.
const LEAST_PASSES: usize = 3;

/// What the course of a warm run of a list of `index_len` samples was, and what its warm-up cost in ns.
///
/// Crops differ in cost, and a list of them is read again and again: each sample is taken relative to the median of all
/// passes at its place in the list, so that only the course remains. Windows of them are reduced to their medians.
pub fn course(report: &Report, index_len: u64) -> (Class, Option<f64>) {
    let samples: Vec<&[u64]> = phases(report).map(|samples| &samples.ns[..]).collect();
    let all = samples.iter().map(|phase| phase.len()).sum::<usize>();
    let list = index_len as usize;
    if list == 0 || all / list < LEAST_PASSES {
        return (Class::Unclear, None);
    }
    // Every phase begins with the list.
    let placed =
        || samples.iter().flat_map(move |phase| phase.iter().enumerate().map(move |(i, &ns)| (i % list, ns as f64)));
    let mut at_place: Vec<Vec<f64>> = vec![Vec::new(); list];
    placed().for_each(|(place, ns)| at_place[place].push(ns));
    let usual: Vec<f64> = at_place.iter().map(|passes| stats::median(passes).unwrap_or(0.0)).collect();
    let known: Vec<(f64, f64)> =
        placed().map(|(place, ns)| (ns, usual[place])).filter(|(_, usual)| *usual > 0.0).collect();
    let relative: Vec<f64> = known.iter().map(|(ns, usual)| ns / usual).collect();
    let window = relative.len().div_ceil(MOST).max(1);
    let medians: Vec<f64> = relative.chunks(window).filter_map(stats::median).collect();
    let course = stats::course(&medians);
    let cost = course.steady_from.and_then(|from| cost(&known, from * window, stats::median(&medians[from..])?));
    (course.class, cost)
}

/// What the first samples took beyond what they take at the level that the course came to.
fn cost(samples: &[(f64, f64)], first: usize, level: f64) -> Option<f64> {
    let cost: f64 = samples.get(..first)?.iter().map(|(ns, usual)| ns - level * usual).sum();
    cost.is_finite().then_some(cost)
}

/// The timed phases in the order made.
fn phases(report: &Report) -> impl Iterator<Item = &PhaseSamples> {
    [Phase::First, Phase::Warmup, Phase::Steady].into_iter().filter_map(|phase| report.phases.get(&phase))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A list of 50 samples, of which every fifth costs three times as much, read `passes` times; the first `slow`
    /// passes take twice as long.
    fn report(passes: usize, slow: usize) -> Report {
        let ns = |i: usize| {
            let jitter = (i as f64 * 0.618_033_988_75).fract() * 40.0;
            let cost = if i.is_multiple_of(5) { 3000.0 } else { 1000.0 } + jitter;
            (if i / 50 < slow { 2.0 * cost } else { cost }) as u64
        };
        let samples = |range: std::ops::Range<usize>| PhaseSamples { ns: range.map(ns).collect(), touched: Vec::new() };
        let phases = [(Phase::First, samples(0..50)), (Phase::Steady, samples(50..50 * passes))];
        Report { phases: BTreeMap::from(phases), ..Report::default() }
    }

    #[test]
    fn crops_of_different_cost_are_no_change_of_course() {
        assert_eq!(course(&report(40, 0), 50), (Class::Flat, Some(0.0)));
        assert_eq!(course(&report(40, 10), 50).0, Class::Warmup);
        assert_eq!(course(&report(2, 0), 50), (Class::Unclear, None), "two passes do not tell what a crop costs");
        assert_eq!(course(&Report::default(), 0), (Class::Unclear, None));
    }

    #[test]
    fn a_slow_beginning_has_its_price() {
        // Ten passes of 50 samples of 1,420 ns on average (10 × 3,000 + 40 × 1,000 over 50, and jitter), twice as slow.
        let cost = course(&report(40, 10), 50).1.expect("a steady state");
        let expected = 10.0 * 50.0 * 1420.0;
        assert!((cost / expected - 1.0).abs() < 0.02, "{cost} against {expected}");
    }
}
