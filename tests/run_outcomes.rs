//! What `pcb-run` makes of workers that misbehave: each is a row, and the rest goes on.

mod support;

use pcb::results::Outcome;
use support::{Bench, measured, processes_with, stderr};

/// Runs two cold blocks of one case with this behaviour; the exit code, the outcomes of its rows, and the bench.
fn outcomes(behaviour: &str) -> (Option<i32>, Vec<Outcome>, Bench) {
    outcomes_of(behaviour, "'cold'", &[])
}

fn outcomes_of(behaviour: &str, state: &str, args: &[&str]) -> (Option<i32>, Vec<Outcome>, Bench) {
    let bench = Bench::new(behaviour);
    bench.config(2, state);
    let (output, file) = bench.run(args);
    let file = file.unwrap_or_else(|| panic!("no result file; stderr: {}", stderr(&output)));
    let null = file.runs.iter().filter(|run| run.case.target.is_none());
    assert!(null.clone().count() == 2 && null.into_iter().all(|run| run.outcome.is_ok()), "the null rows stand");
    let rows = measured(&file).into_iter().map(|run| run.outcome.clone()).collect();
    assert!(processes_with(&bench.path("workers").to_string_lossy()).is_empty(), "an orphan is left");
    (output.status.code(), rows, bench)
}

#[test]
fn an_honest_worker_gives_rows_and_exit_0() {
    for state in ["'cold'", "'warm'"] {
        let (code, rows, bench) = outcomes_of("ok 20000", state, &[]);
        assert_eq!((code, rows), (Some(0), vec![Outcome::Ok, Outcome::Ok]), "{state}");
        let file = pcb::results::read(&bench.path("out.json")).expect("reads");
        for run in measured(&file) {
            let proof = run.before.as_ref().expect("a proof");
            let resident = if state == "'cold'" { 0 } else { proof.pages };
            assert_eq!(proof.resident, resident, "{state}");
            assert_eq!(run.after.is_some(), state == "'warm'");
            let total = run.first.as_ref().expect("a first pass").total_ns;
            assert!((40 * 20_000..40 * 400_000).contains(&total), "{total}");
        }
        assert!(!bench.path("out.journal.jsonl").exists(), "the journal is gone when the result is there");
    }
}

#[test]
fn a_worker_that_hangs_is_timed_out_and_killed() {
    for behaviour in ["hang-after-samples", "never-armed"] {
        let (code, rows, bench) = outcomes_of(behaviour, "'cold'", &["--timeout", "600ms"]);
        assert_eq!(code, Some(5));
        assert!(rows.iter().all(|row| *row == Outcome::TimedOut { after_ns: 600_000_000 }), "{behaviour}: {rows:?}");
        let file = pcb::results::read(&bench.path("out.json")).expect("reads");
        let kept = measured(&file)[0].first.as_ref().map(|first| first.samples);
        assert_eq!(kept, (behaviour == "hang-after-samples").then_some(50), "samples that came are kept");
    }
}

#[test]
fn a_worker_that_never_speaks_is_timed_out() {
    for behaviour in ["later never-connect", "later no-hello"] {
        let (code, rows, _bench) = outcomes_of(behaviour, "'cold'", &["--timeout", "600ms"]);
        assert_eq!(code, Some(5));
        assert!(rows.iter().all(|row| *row == Outcome::TimedOut { after_ns: 600_000_000 }), "{behaviour}: {rows:?}");
    }
}

#[test]
fn a_worker_that_ends_before_hello_is_a_row_at_once() {
    let start = std::time::Instant::now();
    let (_, rows, _bench) = outcomes("later die-before-hello");
    assert_eq!(rows, vec![Outcome::Killed { signal: 9 }; 2]);
    let (_, rows, _bench) = outcomes("later exit-early");
    assert!(
        rows.iter().all(|row| matches!(row, Outcome::Failed { message } if message.contains("code 3"))),
        "{rows:?}"
    );
    assert!(start.elapsed().as_secs() < 10, "nobody waited for the time-out of 2 x 2 x 5 s");
}

#[test]
fn junk_on_the_channel_is_a_failed_row() {
    let (_, rows, _bench) = outcomes("later junk");
    assert!(
        rows.iter().all(|row| matches!(row, Outcome::Failed { message } if message.contains("no event"))),
        "{rows:?}"
    );
}

#[test]
fn a_worker_killed_after_hello_is_a_row_with_the_signal() {
    for behaviour in ["die-after-hello", "die-after-samples"] {
        let (code, rows, _bench) = outcomes(behaviour);
        assert_eq!((code, rows), (Some(5), vec![Outcome::Killed { signal: 9 }; 2]), "{behaviour}");
    }
}

#[test]
fn a_worker_that_ends_without_an_end_is_a_failed_row() {
    for (behaviour, word) in [("close-without-end", "exited with code 0"), ("finish-early", "out of order")] {
        let (code, rows, _bench) = outcomes(behaviour);
        assert_eq!(code, Some(5), "{behaviour}");
        for row in rows {
            assert!(matches!(&row, Outcome::Failed { message } if message.contains(word)), "{behaviour}: {row:?}");
        }
    }
}

#[test]
fn lies_are_refused() {
    for (lie, word) in [("zero", "0 ns"), ("huge", "since Go"), ("nan", "rate")] {
        let (code, rows, _bench) = outcomes(&format!("lie {lie}"));
        assert_eq!(code, Some(5), "{lie}");
        for row in rows {
            assert!(matches!(&row, Outcome::Failed { message } if message.contains(word)), "{lie}: {row:?}");
        }
    }
}

#[test]
fn a_flood_on_stderr_is_drained_and_its_tail_kept() {
    let (code, rows, bench) = outcomes("flood");
    assert_eq!((code, rows), (Some(0), vec![Outcome::Ok, Outcome::Ok]));
    let file = pcb::results::read(&bench.path("out.json")).expect("reads");
    let tail = &measured(&file)[0].log_tail;
    assert!(tail.ends_with("the last word") && tail.len() <= 4096, "{} bytes", tail.len());
}

#[test]
fn what_a_library_prints_never_reaches_the_protocol() {
    let (code, rows, _bench) = outcomes("print-junk");
    assert_eq!((code, rows), (Some(0), vec![Outcome::Ok, Outcome::Ok]));
}

#[test]
fn a_child_that_a_worker_leaves_is_killed_with_its_group() {
    let (_, rows, bench) = outcomes("leave-a-child");
    assert_eq!(rows, [Outcome::Ok, Outcome::Ok]);
    let file = pcb::results::read(&bench.path("out.json")).expect("reads");
    for run in measured(&file) {
        let pid = run.log_tail.split_whitespace().last().expect("its id");
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "process {pid} lives: {state}");
    }
}

#[test]
fn wrong_pixels_are_a_mismatch_and_never_timed() {
    let (code, rows, bench) = outcomes("mismatch");
    assert_eq!(code, Some(5));
    assert_eq!(rows.len(), 1, "once is enough");
    assert!(matches!(&rows[0], Outcome::Mismatch { message } if message.contains("row 3, column 4")), "{rows:?}");
    let file = pcb::results::read(&bench.path("out.json")).expect("reads");
    assert!(measured(&file)[0].first.is_none());
}

#[test]
fn a_kept_sample_that_differs_voids_the_run() {
    let (code, rows, _bench) = outcomes("kept-mismatch");
    assert_eq!(code, Some(5));
    assert!(rows.iter().all(|row| matches!(row, Outcome::Mismatch { .. })), "{rows:?}");
}

#[test]
fn a_warm_run_whose_pages_were_evicted_is_made_again_and_both_rows_stay() {
    let (code, rows, bench) = outcomes_of("evict-once", "'warm'", &[]);
    let kinds: Vec<_> = rows.iter().map(Outcome::kind).collect();
    assert_eq!((code, kinds), (Some(0), vec!["not_warm", "ok", "ok"]), "{rows:?}");
    let file = pcb::results::read(&bench.path("out.json")).expect("reads");
    let proof = measured(&file)[0].after.clone().expect("a count after");
    assert!(proof.resident < proof.pages);
}

#[test]
fn a_warm_run_that_is_evicted_again_is_not_warm() {
    let (code, rows, _bench) = outcomes_of("evict", "'warm'", &[]);
    assert_eq!(code, Some(5));
    assert!(rows.len() == 4 && rows.iter().all(|row| row.kind() == "not_warm"), "{rows:?}");
}

#[test]
fn what_a_format_cannot_do_is_no_failure() {
    let (code, rows, _bench) = outcomes("unsupported");
    assert_eq!(code, Some(0));
    assert_eq!(rows, [Outcome::Unsupported { message: "no such codec: xyz".into() }]);
}

#[test]
fn descriptors_that_ran_out_have_their_own_word() {
    let (code, rows, _bench) = outcomes("fail-fds");
    assert_eq!(code, Some(5));
    assert!(rows.iter().all(|row| row.kind() == "fd_exhausted"), "{rows:?}");
}

#[test]
fn a_program_that_is_no_worker_is_refused_before_anything_is_measured() {
    for (behaviour, word) in [
        ("die-before-hello", "killed"),
        ("exit-early", "exited with code 3"),
        ("junk", "no event"),
        ("debug-build", "--allow-debug"),
        ("old-protocol", "protocol"),
    ] {
        let bench = Bench::new(behaviour);
        bench.config(2, "'cold'");
        let (output, file) = bench.run(&[]);
        let text = stderr(&output);
        assert_eq!((output.status.code(), file.is_none()), (Some(1), true), "{behaviour}: {text}");
        assert!(text.contains(word) && text.contains("pcb-worker"), "{behaviour}: {text}");
        assert!(processes_with(&bench.path("workers").to_string_lossy()).is_empty(), "{behaviour}: an orphan");
    }
}
