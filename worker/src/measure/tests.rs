use std::cell::RefCell;

use pcb_protocol::{Phase, Samples};

use super::*;

/// Takes a set time a step and remembers where it was asked.
#[derive(Default)]
struct Script {
    asked: Vec<Place>,
    fails_at: Option<usize>,
    spin: u32,
}

impl Step for Script {
    type Output = usize;

    fn step(&mut self, place: Place) -> Result<usize, RunError> {
        if self.fails_at == Some(place.position) {
            return Err(RunError::Failed("scripted".into()));
        }
        self.asked.push(place);
        for _ in 0..self.spin {
            std::hint::spin_loop();
        }
        Ok(place.position)
    }

    fn instrumented(&mut self, place: Place, ended: &mut dyn FnMut(Part)) -> Result<usize, RunError> {
        ended(Part::ReadDecode);
        let output = self.step(place);
        ended(Part::Transform);
        output
    }

    fn stored_bytes(&self) -> StoredBytes {
        StoredBytes { touched: 3 * self.asked.len() as u64, used: self.asked.len() as u64 }
    }
}

fn plan(len: usize) -> Plan {
    Plan { len, first: FirstRule { max_ns: u64::MAX }, observe_device: false, keep: Vec::new(), settle: None }
}

fn settle() -> Settle {
    let warmup =
        WarmupRule { tolerance: 0.5, window_ns: 1000, min_ns: 0, max_ns: 1_000_000_000, max_samples: 1_000_000 };
    let steady = SteadyRule { min_ns: 0, min_samples: 50, max_ns: u64::MAX, max_samples: 1000 };
    Settle { warmup, steady, rate_ns: 1_000_000, stages_ns: 1_000_000 }
}

/// Runs `step` and returns what came of it with the chunks sent.
fn measure(plan: &Plan, step: Script) -> (Result<Measured<Script>, RunError>, Vec<Samples>) {
    let events = RefCell::new(Vec::new());
    let result = run(plan, || Ok(step), &|event| {
        events.borrow_mut().push(event);
        Ok(())
    });
    let mut events = events.into_inner().into_iter();
    assert!(matches!(events.next(), Some(Event::Opened(_))), "opening comes first");
    let samples = events.map(|event| match event {
        Event::Samples(samples) => samples,
        other => panic!("unexpected {other:?}"),
    });
    (result, samples.collect())
}

fn count(chunks: &[Samples], phase: Phase) -> usize {
    chunks.iter().filter(|chunk| chunk.phase == phase).map(|chunk| chunk.ns.len()).sum()
}

#[test]
fn a_run_without_settling_is_one_pass() {
    let (result, chunks) = measure(&plan(5000), Script::default());
    let measured = result.expect("nothing fails");
    assert!(measured.finished.first_complete);
    assert_eq!(measured.finished.steady_found, None);
    assert_eq!(measured.step.asked.len(), 5000);
    assert_eq!(chunks.iter().map(|chunk| chunk.ns.len()).collect::<Vec<_>>(), [4096, 904]);
    assert!(chunks.iter().all(|chunk| chunk.phase == Phase::First && chunk.touched.is_empty()));
    assert_eq!((measured.finished.stored_bytes_touched, measured.finished.stored_bytes_used), (15_000, 5000));
}

#[test]
fn phases_come_in_order_and_wrap_around_the_list() {
    let (result, chunks) =
        measure(&Plan { settle: Some(settle()), ..plan(7) }, Script { spin: 100, ..Script::default() });
    let measured = result.expect("nothing fails");
    let phases: Vec<Phase> = chunks.iter().map(|chunk| chunk.phase).collect();
    assert!(phases.is_sorted(), "{phases:?}");
    assert_eq!(count(&chunks, Phase::First), 7);
    assert!(count(&chunks, Phase::Warmup) > 0);
    assert_eq!(count(&chunks, Phase::Steady), 56, "50 samples, to the end of their pass");
    let asked = &measured.step.asked;
    assert!(asked.windows(2).all(|pair| {
        let next = Place { position: pair[0].position + 1, ..pair[0] };
        pair[1] == next || pair[1] == Place { epoch: pair[0].epoch + 1, position: 0 }
    }));
    let warmed = 7 + count(&chunks, Phase::Warmup);
    assert_eq!((asked[0].position, asked[7].position, asked[warmed].position), (0, 0, 0), "phases begin with the list");
    assert!(measured.finished.rate.is_some_and(|rate| rate > 0.0));
    let stages: Vec<&str> = measured.finished.stages.iter().map(|stage| stage.stage.as_str()).collect();
    assert_eq!(stages, ["read+decode", "transform"]);
}

#[test]
fn a_first_pass_stops_at_its_cap() {
    let capped = Plan { first: FirstRule { max_ns: 0 }, ..plan(100) };
    let (result, chunks) = measure(&capped, Script::default());
    assert!(!result.expect("nothing fails").finished.first_complete);
    assert_eq!(count(&chunks, Phase::First), 1);
}

#[test]
fn a_run_that_never_settles_is_flagged() {
    let mut never = settle();
    never.warmup.max_samples = 20;
    never.warmup.window_ns = u64::MAX;
    let (result, chunks) = measure(&Plan { settle: Some(never), ..plan(7) }, Script::default());
    assert_eq!(result.expect("nothing fails").finished.steady_found, Some(false));
    assert_eq!(count(&chunks, Phase::Warmup), 20);
    assert_eq!(count(&chunks, Phase::Steady), 56);
}

#[test]
fn kept_outputs_are_those_of_the_first_pass_and_the_last_of_the_steady_state() {
    let keep = Plan { keep: vec![0, 3, 4], settle: Some(settle()), ..plan(7) };
    let measured = measure(&keep, Script::default()).0.expect("nothing fails");
    let kept: Vec<(u64, usize, usize)> =
        measured.kept.iter().map(|(place, output)| (place.epoch, place.position, *output)).collect();
    assert_eq!(kept[..3], [(0, 0, 0), (0, 3, 3), (0, 4, 4)]);
    assert_eq!((kept.len(), kept[3].1, kept[3].2), (4, 6, 6), "a steady state ends with a whole pass");
}

#[test]
fn every_sample_of_an_observed_pass_says_whether_it_touched_the_device() {
    let (_, chunks) = measure(&Plan { observe_device: true, ..plan(5000) }, Script::default());
    assert!(chunks.iter().all(|chunk| chunk.touched.len() == chunk.ns.len()));
}

#[test]
fn a_step_that_fails_leaves_the_samples_before_it() {
    let (result, chunks) = measure(&plan(100), Script { fails_at: Some(60), ..Script::default() });
    assert!(matches!(result, Err(RunError::Failed(_))));
    assert_eq!(count(&chunks, Phase::First), 60);
}

#[test]
fn an_empty_list_measures_nothing() {
    let (result, chunks) = measure(&Plan { settle: Some(settle()), ..plan(0) }, Script::default());
    assert!(result.expect("nothing fails").finished.first_complete);
    assert!(chunks.is_empty());
}
