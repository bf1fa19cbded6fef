//! `pcb-report check`: each check speaks up, and is silent about a sound file.

use pcb::report::check::{Finding, Level, check, json, markdown, text};
use pcb::results::{Flag, Outcome, ResultFile, Run};
use pcb::stats::Class;

use crate::files::{cold, ended, file, id, null, warm};

/// Ten runs of two cases and of the overhead that agree, in blocks and positions of their own.
fn sound() -> ResultFile {
    let mut runs = Vec::new();
    // No trend in it, neither over blocks nor over positions.
    let wiggle = [0, 7, 2, 9, 4, 1, 8, 3, 6, 5];
    for (block, wiggle) in (0..).zip(wiggle) {
        let mut made = [
            warm(&id("npy:mmap/object/random", "warm"), 1000 + wiggle),
            cold(&id("npy:pread/object/random", "cold"), 2, 80),
            null(20),
        ];
        for (position, run) in (0..).zip(&mut made) {
            (run.block, run.position) = (block, (position + block) % 3);
        }
        runs.extend(made);
    }
    let mut file = file(runs);
    file.header.environment.details.insert("boost".to_owned(), "0".to_owned());
    file
}

/// The findings of a sound file in which something was changed.
fn after(change: impl FnOnce(&mut ResultFile)) -> Vec<Finding> {
    let mut file = sound();
    change(&mut file);
    check(&file)
}

#[track_caller]
fn found(findings: &[Finding], check: &str, level: Level, words: &str) {
    let hit = |finding: &&Finding| finding.check == check && finding.level == level && finding.what.contains(words);
    assert!(findings.iter().any(|finding| hit(&finding)), "{check} {words:?} is not in {findings:?}");
}

fn warms(file: &mut ResultFile) -> impl Iterator<Item = &mut Run> {
    file.runs.iter_mut().filter(|run| run.case.to_string().ends_with("/warm"))
}

#[test]
fn a_sound_file_has_no_findings() {
    assert_eq!(check(&sound()), []);
}

#[test]
fn gaps_are_problems() {
    found(&after(|file| file.header.complete = false), "complete", Level::Problem, "was not finished");
    let all_failed = |file: &mut ResultFile| {
        let failed = Outcome::Failed { message: "no".to_owned() };
        warms(file).for_each(|run| *run = Run { block: run.block, ..ended(&run.case.to_string(), failed.clone()) });
    };
    found(&after(all_failed), "complete", Level::Problem, "10 of 10 runs failed");
    let one_killed = |file: &mut ResultFile| file.runs[0].outcome = Outcome::Killed { signal: 9 };
    found(&after(one_killed), "complete", Level::Warning, "1 of 10 runs killed");
    // A lost cache state whose run was made again is no gap, and worth a word.
    let made_again = |file: &mut ResultFile| {
        let lost = Outcome::NotWarm { message: "gone".to_owned() };
        file.runs.push(Run { outcome: lost, ..file.runs[0].clone() });
        file.header.repeats = 10;
    };
    let findings = after(made_again);
    assert!(findings.iter().all(|finding| finding.check != "complete"), "{findings:?}");
    found(&findings, "cache", Level::Note, "1 runs lost their cache state");
}

#[test]
fn unproven_states_are_problems() {
    found(&after(|file| file.runs[0].after = None), "cache", Level::Problem, "1 runs have no proof");
    found(&after(|file| file.runs[1].before = None), "cache", Level::Problem, "1 runs have no proof");
    for (place, flag, level, words) in [
        (0, Flag::WarmRead, Level::Warning, "warm runs read from the device"),
        (0, Flag::EvictedUnread, Level::Note, "lost pages"),
        (1, Flag::NoDeviceBytes, Level::Warning, "read nothing from the device"),
        (1, Flag::MostlyReadAhead, Level::Note, "read-ahead"),
    ] {
        found(&after(|file| file.runs[place].flags.push(flag)), "cache", level, words);
    }
}

#[test]
fn runs_that_never_settle_are_found() {
    found(
        &after(|file| file.runs[0].flags.push(Flag::NotSteady)),
        "steady",
        Level::Warning,
        "some runs never became steady: getitem/smoke/npy:mmap",
    );
    let all = |file: &mut ResultFile| warms(file).for_each(|run| run.flags.push(Flag::NotSteady));
    found(&after(all), "steady", Level::Problem, "warm (10 of 10)");
    let slowing = |file: &mut ResultFile| warms(file).for_each(|run| run.class = Some(Class::Slowdown));
    found(&after(slowing), "steady", Level::Note, "slowdown: getitem/smoke/npy:mmap");
}

#[test]
fn few_and_scattered_runs_are_found() {
    for (keep, level, words) in
        [(1, Level::Problem, "one run"), (5, Level::Warning, "5 runs"), (6, Level::Note, "6 runs")]
    {
        found(&after(|file| file.runs.truncate(3 * keep)), "repeats", level, words);
    }
    let scatter = |file: &mut ResultFile| {
        for (run, percent) in warms(file).zip([0, 30, 5, 40, 15, 2, 35, 10, 25, 20]) {
            *run = Run { block: run.block, position: run.position, ..warm(&run.case.to_string(), 1000 + 10 * percent) };
        }
    };
    let findings = after(scatter);
    found(&findings, "stable", Level::Warning, "runs of 1 of 2 cases differ by more than 5.7 %");
    found(&findings, "stable", Level::Warning, "runs would know it to 2 %");
}

#[test]
fn drift_over_blocks_is_found() {
    let drift = |file: &mut ResultFile| {
        for run in warms(file) {
            *run = Run {
                block: run.block,
                position: run.position,
                ..warm(&run.case.to_string(), 1000 + 10 * u64::from(run.block))
            };
        }
    };
    found(&after(drift), "order", Level::Warning, "drift from block to block: getitem/smoke/npy:mmap");
}

#[test]
fn company_is_found() {
    let load = |change: fn(&mut pcb::results::Noise)| {
        move |file: &mut ResultFile| warms(file).filter_map(|run| run.noise.as_mut()).take(3).for_each(change)
    };
    found(&after(load(|noise| noise.before.load1 = 1e3)), "contention", Level::Warning, "3 of 10 runs began with more");
    found(
        &after(load(|noise| noise.after.psi_cpu = Some(50.0))),
        "contention",
        Level::Warning,
        "tasks waited for a CPU",
    );
    found(&after(load(|noise| noise.after.steal_ms += 500)), "contention", Level::Note, "the host took CPU time");
}

#[test]
fn machines_and_builds_are_looked_at() {
    let detail = |name: &'static str, value: &'static str| {
        move |file: &mut ResultFile| drop(file.header.environment.details.insert(name.to_owned(), value.to_owned()))
    };
    found(&after(detail("governor", "powersave")), "machine", Level::Warning, "governor powersave");
    found(&after(detail("governor", "not exposed")), "machine", Level::Note, "does not show its governor");
    found(&after(detail("boost", "1")), "machine", Level::Note, "turbo is on");
    found(&after(detail("aslr", "0")), "machine", Level::Warning, "not randomised");
    let debug =
        |file: &mut ResultFile| drop(file.header.builds[0].versions.insert("opt_level".to_owned(), "0".to_owned()));
    found(&after(debug), "optimised", Level::Problem, "opt_level 0");
}

#[test]
fn the_harness_itself_is_looked_at() {
    let slow = |file: &mut ResultFile| {
        file.runs.iter_mut().filter(|run| run.case.target.is_none()).for_each(|run| {
            *run = Run { block: run.block, position: run.position, ..null(90_000) };
        });
    };
    let findings = after(slow);
    found(&findings, "overhead", Level::Warning, "ns to each sample");
    found(&findings, "overhead", Level::Note, "% of the fastest case");
    let without = |file: &mut ResultFile| file.runs.retain(|run| run.case.target.is_some());
    found(&after(without), "overhead", Level::Note, "was not measured");
}

#[test]
fn findings_are_read_by_people_and_programs() {
    let findings = after(|file| {
        file.header.complete = false;
        file.runs.truncate(15);
        file.header.environment.details.insert("governor".to_owned(), "powersave".to_owned());
    });
    let files = [("smoke.json", findings)];
    insta::assert_snapshot!(text(&files));
    assert!(markdown(&files).starts_with("**smoke.json: 1 problem, 2 warnings, 0 notes**"), "{}", markdown(&files));
    let parsed: serde_json::Value = serde_json::from_str(&json(&files).expect("JSON")).expect("JSON");
    assert_eq!(parsed[0]["findings"][0]["level"], "problem");
}
