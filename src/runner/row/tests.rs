use pcb_protocol::{Checked, Opened};

use super::*;
use crate::session::PhaseSamples;

fn proof(resident: u64) -> CacheProof {
    CacheProof { files: 1, bytes: 40_960, pages: 10, resident, attempts: 1, cachestat: None }
}

fn finished() -> Finished {
    Finished { kept_checked: 8, first_complete: true, steady_found: Some(true), index_len: 100, ..Finished::default() }
}

/// A complete run: 100 samples of the first pass, of which `touched` touched the device, and a steady state if warm.
fn report(state: State, touched: usize, finished: Finished) -> Report {
    let marks = if state == State::Cold { (0..100).map(|i| i < touched).collect() } else { Vec::new() };
    let first = PhaseSamples { ns: vec![1000; 100], touched: marks };
    let mut phases = std::collections::BTreeMap::from([(Phase::First, first)]);
    if state == State::Warm {
        phases.insert(Phase::Steady, PhaseSamples { ns: vec![900; 400], touched: Vec::new() });
    }
    Report {
        outcome: Some(Outcome::Ok),
        opened: Some(Opened { ns: 1, rss_bytes: 0, read_bytes: 0, device_bytes: 0 }),
        phases,
        finished: Some(finished),
        ..Report::default()
    }
}

fn row(state: State, after: Option<u64>, report: Report) -> Run {
    let case = format!("getitem/d/npy:mmap/site/random/all.8x8.u16/none/native/{state}").parse().expect("an id");
    let context = Context {
        case: &case,
        build: "default",
        step: Step { block: 0, position: 0, case: 0, build: 0 },
        started: String::new(),
        before: None,
        after: after.map(|resident| Ok(proof(resident))),
        noise: None,
        config: &Config::default(),
    };
    assemble(context, report)
}

#[test]
fn pages_gone_and_bytes_read_tell_what_a_warm_run_is_worth() {
    for (resident, read, kind, flags) in [
        (10, 0, "ok", vec![]),
        (9, 0, "ok", vec![Flag::EvictedUnread]),
        (10, 4096, "ok", vec![Flag::WarmRead]),
        (9, 4096, "not_warm", vec![]),
    ] {
        let finished = Finished { device_bytes_to_end: read, ..finished() };
        let run = row(State::Warm, Some(resident), report(State::Warm, 0, finished));
        assert_eq!((run.outcome.kind(), run.flags), (kind, flags), "{resident} of 10 pages, {read} bytes");
    }
}

#[test]
fn a_cold_p50_is_of_samples_that_touched_the_device_or_absent() {
    let finished =
        || Finished { counters: pcb_protocol::Counters { first_device_bytes: 1, ..<_>::default() }, ..finished() };
    let run = row(State::Cold, None, report(State::Cold, 50, finished()));
    assert_eq!((run.touched_share, run.flags.is_empty()), (Some(0.5), true));
    assert_eq!(run.first.and_then(|first| first.p50_ns), Some(1000.0));
    let run = row(State::Cold, None, report(State::Cold, 49, finished()));
    assert_eq!(run.flags, [Flag::MostlyReadAhead]);
    assert_eq!(run.first.and_then(|first| first.p50_ns), None);
}

#[test]
fn a_cold_pass_that_read_nothing_from_the_device_is_flagged() {
    let run = row(State::Cold, None, report(State::Cold, 100, finished()));
    assert_eq!(run.flags, [Flag::NoDeviceBytes]);
}

#[test]
fn a_run_that_leaves_out_what_makes_it_count_is_failed() {
    let mut unmarked = report(State::Cold, 0, finished());
    unmarked.phases.get_mut(&Phase::First).expect("there").touched.clear();
    let mut unopened = report(State::Warm, 0, finished());
    unopened.opened = None;
    let mut unsettled = report(State::Warm, 0, finished());
    unsettled.phases.remove(&Phase::Steady);
    for (state, report, word) in [
        (State::Cold, unmarked, "touched the device"),
        (State::Warm, unopened, "opening"),
        (State::Warm, unsettled, "steady state"),
        (State::Warm, report(State::Warm, 0, Finished { kept_checked: 0, ..finished() }), "comparing"),
    ] {
        let run = row(state, Some(10), report);
        assert!(matches!(&run.outcome, Outcome::Failed { message } if message.contains(word)), "{:?}", run.outcome);
    }
}

#[test]
fn a_cold_pass_that_was_cut_short_is_too_slow() {
    let cut = Finished { first_complete: false, ..finished() };
    assert_eq!(row(State::Cold, None, report(State::Cold, 100, cut)).outcome.kind(), "too_slow");
}

#[test]
fn a_reference_check_is_good_only_if_it_compared_something() {
    let of = |outcome, samples, mismatch: Option<&str>| Report {
        outcome: Some(outcome),
        checked: Some(Checked { samples, mismatch: mismatch.map(str::to_owned) }),
        ..Report::default()
    };
    assert_eq!(check_outcome(&of(Outcome::Ok, 8, None)), None);
    assert_eq!(check_outcome(&of(Outcome::Ok, 0, None)).map(|o| o.kind()), Some("failed"));
    assert_eq!(check_outcome(&of(Outcome::Ok, 8, Some("row 1"))).map(|o| o.kind()), Some("mismatch"));
    let killed = check_outcome(&of(Outcome::Killed { signal: 9 }, 8, None)).expect("refused");
    assert!(
        matches!(&killed, Outcome::Failed { message } if message.contains("reference check: killed")),
        "{killed:?}"
    );
}
