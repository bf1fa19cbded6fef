//! Whether what a worker says can be true. Pure.

use std::time::Duration;

use pcb_protocol::{Finished, SAMPLES_PER_MESSAGE, Samples};

/// Samples cannot be longer than the time since `Go`, nor their sum; a sample of 0 ns was not timed.
/// Returns what is wrong, if anything.
/// `before_ns` is the sum of all samples that came before these.
pub fn samples(samples: &Samples, before_ns: u128, since_go: Duration) -> Option<String> {
    let wall = since_go.as_nanos();
    if samples.ns.len() > SAMPLES_PER_MESSAGE {
        return Some(format!(
            "the worker sent {} samples in one message; at most {SAMPLES_PER_MESSAGE} are allowed",
            samples.ns.len()
        ));
    }
    if !samples.touched.is_empty() && samples.touched.len() != samples.ns.len() {
        return Some(format!(
            "the worker sent {} samples with {} device marks",
            samples.ns.len(),
            samples.touched.len()
        ));
    }
    if samples.ns.contains(&0) {
        return Some("implausible samples: one took 0 ns".to_owned());
    }
    let sum = before_ns + total(samples);
    if sum > wall {
        let most = samples.ns.iter().max().copied().unwrap_or(0);
        return Some(format!(
            "implausible samples: they sum up to {sum} ns (the longest of the last {} took {most} ns), but only {wall} ns have passed since Go",
            samples.ns.len()
        ));
    }
    None
}

/// The sum of a chunk, in ns.
pub fn total(samples: &Samples) -> u128 {
    samples.ns.iter().map(|&ns| u128::from(ns)).sum()
}

/// Numbers of the last event must be finite and not negative. Returns what is wrong, if anything.
pub fn finished(finished: &Finished) -> Option<String> {
    let bad = |number: f64| !number.is_finite() || number < 0.0;
    if let Some(rate) = finished.rate.filter(|&rate| bad(rate) || rate == 0.0) {
        return Some(format!("implausible rate: {rate} samples/s"));
    }
    let stage = finished.stages.iter().find(|stage| bad(stage.mean_ns))?;
    Some(format!("implausible stage time: {} took {} ns", stage.stage, stage.mean_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcb_protocol::{Phase, StageTime};

    fn of(ns: &[u64]) -> Samples {
        Samples { phase: Phase::Steady, ns: ns.to_vec(), touched: vec![] }
    }

    #[test]
    fn honest_samples_pass() {
        assert_eq!(samples(&of(&[10, 20, 30]), 0, Duration::from_nanos(60)), None);
        assert_eq!(samples(&of(&[]), 0, Duration::ZERO), None);
    }

    #[test]
    fn lies_are_named() {
        for (ns, word) in
            [(vec![0], "0 ns"), (vec![1 << 63], "sum up"), (vec![u64::MAX, u64::MAX], "sum up"), (vec![61], "since Go")]
        {
            let problem = samples(&of(&ns), 0, Duration::from_nanos(60)).expect("a lie");
            assert!(problem.contains(word), "{problem}");
        }
        assert!(samples(&of(&[30]), 31, Duration::from_nanos(60)).is_some(), "earlier samples count");
        for rate in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
            assert!(finished(&Finished { rate: Some(rate), ..Finished::default() }).is_some(), "{rate}");
        }
        let stages = vec![StageTime { stage: "read".into(), mean_ns: f64::NAN }];
        assert!(finished(&Finished { stages, ..Finished::default() }).is_some());
        assert!(finished(&Finished::default()).is_none());
    }
}
