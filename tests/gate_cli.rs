//! `pcb-gate` as it is run: nights go in, verdicts and exit codes come out.

#[path = "compare/support.rs"]
#[expect(dead_code, reason = "what the tests of pcb-compare need beside it")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pcb::results::{Outcome, ResultFile};
use support::{NULL, ab, file, run, runs, warm, written};

/// Ten runs around a value in ns.
fn around(center: f64) -> Vec<f64> {
    [-1.2, 0.9, 0.1, -0.4, 0.6, 0.3, -0.8, 1.1, -0.2, -0.4].map(|z: f64| center * (0.005 * z).exp()).to_vec()
}

/// The night of a day, counted from the first of January in months of 28 days: two cases around their values, and the overhead.
fn night(day: u32, mmap: f64, pread: f64) -> ResultFile {
    // Nights differ by a percent or so.
    let moved = 1.0 + 0.01 * [0.3, -0.8, 0.9, -0.2, 0.6, -0.7, 0.1][day as usize % 7];
    let mut all = runs(&warm("npy:mmap"), &around(mmap * moved));
    all.extend(runs(&warm("npy:pread"), &around(pread * moved)));
    all.extend(runs(NULL, &around(40.0)));
    let mut file = file(all);
    file.header.started = format!("2026-{:02}-{:02}T02:00:00.123Z", 1 + (day - 1) / 28, 1 + (day - 1) % 28);
    file
}

/// Two interleaved builds, the new one slower by a factor.
fn again(factor: f64) -> ResultFile {
    let side = |build: &'static str, factor: f64| {
        around(1000.0 * factor)
            .into_iter()
            .zip(0..)
            .map(move |(value, block)| run(&warm("npy:mmap"), build, block, value))
    };
    // Blocks vary together, builds a little apart.
    let base = side("base", 1.0);
    let new = side("new", factor).map(|mut run| {
        let wiggle = 1.0 + 0.001 * f64::from(run.block % 3);
        let steady = run.steady.as_mut().expect("a steady state");
        steady.p50_ns = steady.p50_ns.map(|p50| p50 * wiggle);
        run
    });
    ab(base.chain(new).collect())
}

struct Nights {
    folder: tempfile::TempDir,
}

impl Nights {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn history(&self) -> PathBuf {
        self.folder.path().join("nights")
    }

    fn gate(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcb-gate"));
        command.args(args).arg("--history").arg(self.history()).env_remove("GITHUB_STEP_SUMMARY");
        command.output().expect("pcb-gate runs")
    }

    /// Judges a night.
    fn judge(&self, file: &ResultFile, args: &[&str]) -> Output {
        let path = written(self.folder.path(), "tonight.json", file);
        self.gate(&[&[path.to_str().expect("UTF-8")], args].concat())
    }

    /// A history of so many quiet nights.
    fn quiet(days: u32) -> Self {
        let nights = Self::new();
        for day in 1..=days {
            let out = nights.judge(&night(day, 1000.0, 5000.0), &[]);
            assert_eq!(code(&out), 0, "day {day}: {}", stdout(&out));
        }
        nights
    }

    fn write(&self, name: &str, file: &ResultFile) -> String {
        written(self.folder.path(), name, file).to_str().expect("UTF-8").to_owned()
    }
}

fn code(out: &Output) -> i32 {
    out.status.code().unwrap_or(-1)
}

fn stdout(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}

fn stderr(out: &Output) -> String {
    String::from_utf8_lossy(&out.stderr).into_owned()
}

#[test]
fn the_first_nights_warm_up_whatever_they_say() {
    let nights = Nights::quiet(3);
    let out = nights.judge(&night(4, 3000.0, 5000.0), &[]);
    assert_eq!(code(&out), 0);
    assert!(stdout(&out).contains("2 cases: 2 warming-up\n"), "{}", stdout(&out));
}

#[test]
fn a_quiet_night_is_fine_and_can_be_judged_twice() {
    let nights = Nights::quiet(12);
    let files = || std::fs::read_dir(nights.history()).expect("a folder").count();
    assert_eq!(files(), 12, "a file a night, and nothing was decided");
    let out = nights.judge(&night(13, 1000.0, 5000.0), &[]);
    assert_eq!((code(&out), files()), (0, 13));
    assert!(stdout(&out).ends_with("2 cases: 2 fine\n"), "{}", stdout(&out));
    let twice = nights.judge(&night(13, 1000.0, 5000.0), &[]);
    assert_eq!((code(&twice), files()), (0, 13));
    assert_eq!(stdout(&twice), stdout(&out));
    let other = nights.judge(&night(13, 1010.0, 5000.0), &[]);
    assert_eq!(code(&other), 1);
    assert!(stderr(&other).contains("another result of the same time is there already"), "{}", stderr(&other));
}

#[test]
fn a_suspect_is_red_only_if_it_is_slower_again() {
    let nights = Nights::quiet(12);
    let slow = night(13, 1150.0, 5000.0);
    let out = nights.judge(&slow, &[]);
    assert_eq!(code(&out), 5, "{}", stdout(&out));
    insta::assert_snapshot!(stdout(&out));

    let (slower, same) = (nights.write("slower.json", &again(1.15)), nights.write("same.json", &again(1.0)));
    let mut turned = again(1.15);
    turned.header.builds.reverse();
    let turned = nights.write("turned.json", &turned);
    let out = nights.judge(&slow, &["--confirmation", &turned]);
    assert_eq!(code(&out), 2, "the wrong way round it would hide a red");
    assert!(stderr(&out).contains("base and new in this order"), "{}", stderr(&out));

    let cleared = nights.judge(&slow, &["--confirmation", &same]);
    assert_eq!(code(&cleared), 0, "{}", stdout(&cleared));
    assert!(stdout(&cleared).contains("1 cleared, 1 fine"), "{}", stdout(&cleared));
    let red = nights.judge(&slow, &["--confirmation", &slower]);
    assert_eq!(code(&red), 3, "{}", stdout(&red));
    insta::assert_snapshot!(stdout(&red));
    assert_eq!(code(&nights.judge(&slow, &["--confirmation", &slower, "--no-fail"])), 0);
    // The second measurement was kept: the night is red without being told again, and stays out of the history.
    assert_eq!(code(&nights.judge(&slow, &[])), 3);
    assert!(stdout(&nights.gate(&["show"])).contains("bad"));
}

#[test]
fn a_red_night_is_no_history_until_it_is_accepted() {
    let nights = Nights::quiet(12);
    let slower = nights.write("slower.json", &again(1.15));
    for day in 13..16 {
        let out = nights.judge(&night(day, 1150.0, 5000.0), &["--confirmation", &slower]);
        assert_eq!(code(&out), 3, "day {day} is judged against the good nights: {}", stdout(&out));
    }
    let out = nights.gate(&["accept", "2026-01-15T02-00-00Z", "--reason", "checks every crop"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(stdout(&out).starts_with("2026-01-15T02-00-00Z is the new normal of 1 cases"), "{}", stdout(&out));
    let out = nights.judge(&night(16, 1150.0, 5000.0), &["--all"]);
    assert_eq!(code(&out), 0);
    assert!(
        stdout(&out).contains("2 cases: 1 warming-up, 1 fine\n"),
        "the other case keeps its history: {}",
        stdout(&out)
    );
    let shown = stdout(&nights.gate(&["show"]));
    assert!(shown.contains("accepted") && shown.contains("checks every crop"), "{shown}");
}

#[test]
fn an_improvement_begins_anew() {
    let nights = Nights::quiet(12);
    let faster = nights.write("faster.json", &again(0.8));
    let out = nights.judge(&night(13, 800.0, 5000.0), &["--confirmation", &faster]);
    assert_eq!(code(&out), 0);
    assert!(stdout(&out).contains("1 improved, 1 fine"), "{}", stdout(&out));
    let twice = nights.judge(&night(13, 800.0, 5000.0), &[]);
    assert_eq!(stdout(&twice), stdout(&out), "judging a night twice says the same twice");
    let out = nights.judge(&night(14, 800.0, 5000.0), &[]);
    assert!(stdout(&out).contains("1 warming-up, 1 fine"), "{}", stdout(&out));
}

#[test]
fn another_machine_is_another_history() {
    let nights = Nights::quiet(12);
    let mut elsewhere = night(13, 2000.0, 9000.0);
    elsewhere.header.environment.kernel = "6.99.0".to_owned();
    let out = nights.judge(&elsewhere, &[]);
    assert_eq!(code(&out), 0);
    assert!(stdout(&out).contains("a new segment begins tonight: kernel 6.18.0 → 6.99.0"), "{}", stdout(&out));
    assert!(stdout(&out).ends_with("2 cases: 2 warming-up\n"), "{}", stdout(&out));
    let mut commit = night(14, 1000.0, 5000.0);
    commit.header.environment.kernel = "6.99.0".to_owned();
    commit.header.builds[0].versions.insert("commit".to_owned(), "another".to_owned());
    assert!(!stdout(&nights.judge(&commit, &[])).contains("new segment"), "the commit under test is no part of it");
    let back = nights.judge(&night(15, 1000.0, 5000.0), &[]);
    assert!(stdout(&back).ends_with("2 cases: 2 fine\n"), "nights of the same kind are found again: {}", stdout(&back));
    let mut moved = night(16, 1000.0, 5000.0);
    moved.header.environment.details.insert("dataset smoke_device".to_owned(), "/dev/other".to_owned());
    assert!(stdout(&nights.judge(&moved, &[])).contains("new segment"), "another disk is another history");
}

#[test]
fn what_gives_no_answer_is_said() {
    let nights = Nights::quiet(12);
    let mut gone = night(13, 1000.0, 5000.0);
    gone.runs.retain(|run| !run.case.to_string().contains("pread"));
    for run in &mut gone.runs {
        run.outcome = Outcome::Failed { message: "no such file".to_owned() };
    }
    let out = nights.judge(&gone, &[]);
    assert_eq!(code(&out), 5);
    let text = stdout(&out);
    assert!(text.contains("none of its 10 runs is ok") && text.contains("measured in 2026-01-12T02-00-00Z"), "{text}");
    gone.header.started = "2026-01-14T02:00:00Z".to_owned();
    let out = nights.judge(&gone, &[]);
    assert!(stdout(&out).contains("measured in 2026-01-12T02-00-00Z"), "it is still missing: {}", stdout(&out));
}

#[test]
fn what_crept_past_the_pinned_night_is_seen() {
    let nights = Nights::quiet(12);
    assert_eq!(code(&nights.gate(&["pin", "2026-01-12T02-00-00Z", "--reason", "release 1.0"])), 0);
    // The last good build crept as well, so that no suspect is confirmed.
    let same = nights.write("same.json", &again(1.0));
    let mut last = String::new();
    for day in 13..80 {
        // A third of a percent each night.
        let out =
            nights.judge(&night(day, 1000.0 * 1.0035_f64.powi(day as i32 - 12), 5000.0), &["--confirmation", &same]);
        last = stdout(&out);
        if last.contains("creep") {
            assert_eq!(code(&out), 5, "nothing has confirmed it: {last}");
            assert!(last.contains("its last 5 nights are"), "{last}");
            let name = format!("2026-{:02}-{:02}T02-00-00Z", 1 + (day - 1) / 28, 1 + (day - 1) % 28);
            let accepted = nights.gate(&["accept", &name, "--reason", "the price of checks"]);
            assert!(stdout(&accepted).contains("of 1 cases"), "the other did not creep: {}", stdout(&accepted));
            let next = nights.judge(&night(day + 1, 1000.0 * 1.0035_f64.powi(day as i32 - 12), 5000.0), &[]);
            assert!(!stdout(&next).contains("creep"), "{}", stdout(&next));
            return;
        }
        assert_eq!(code(&out), 0, "day {day}: {last}");
    }
    panic!("never seen: {last}");
}

#[test]
fn files_that_are_no_nights_are_named() {
    let nights = Nights::quiet(1);
    let out = nights.judge(&again(1.0), &[]);
    assert_eq!(code(&out), 2);
    assert!(stderr(&out).contains("holds 2 builds; a night is one build"), "{}", stderr(&out));
    std::fs::write(nights.history().join("2026-01-02T02-00-00Z.json"), "{\"header\":").expect("written");
    let out = nights.judge(&night(3, 1000.0, 5000.0), &[]);
    assert_eq!(code(&out), 1);
    assert!(stderr(&out).contains("2026-01-02T02-00-00Z.json: not a complete result file"), "{}", stderr(&out));
    let out = nights.gate(&["accept", "2026-01-09T02-00-00Z", "--reason", "x"]);
    assert_ne!(code(&out), 0);
}

#[test]
fn programs_read_it_too() {
    let nights = Nights::quiet(11);
    let slow = night(12, 1150.0, 5000.0);
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&nights.judge(&slow, &["--format", "json"]))).expect("JSON");
    assert_eq!(json["counts"]["suspect"], 1);
    let junit = stdout(&nights.judge(&slow, &["--format", "junit"]));
    assert_eq!(junit.matches("<testcase ").count(), 2, "{junit}");
    assert!(junit.contains("failures=\"1\""), "{junit}");
    let github = stdout(&nights.judge(&slow, &["--format", "github"]));
    assert!(github.starts_with("::error title=getitem/smoke/npy%3Ammap/"), "{github}");
    let markdown = stdout(&nights.judge(&slow, &["--format", "markdown"]));
    assert!(markdown.contains("| verdict | case |"), "{markdown}");
}

#[test]
fn what_it_says_goes_to_a_file_that_is_not_overwritten() {
    let nights = Nights::quiet(1);
    let out = nights.folder.path().join("out.txt");
    let path = out.to_str().expect("UTF-8");
    assert_eq!(code(&nights.judge(&night(2, 1000.0, 5000.0), &["--output", path])), 0);
    assert!(Path::new(path).is_file());
    assert_eq!(code(&nights.judge(&night(2, 1000.0, 5000.0), &["--output", path])), 1);
    assert_eq!(code(&nights.judge(&night(2, 1000.0, 5000.0), &["--output", path, "--force"])), 0);
}
