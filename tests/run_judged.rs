//! `pcb-run` that judges what it measured: `--aa`, `--precision`, baselines; and `pcb-gate --confirm`. The workers are fake and
//! spin for a known time.

mod support;

use std::process::{Command, Output};

use support::{Bench, measured, stderr};

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A bench whose worker spins for `ns` with 1 % noise from run to run.
fn spinning(ns: u64, repeats: u32) -> Bench {
    let bench = Bench::new(&format!("spin {ns} 0.01 1"));
    bench.config(repeats, "'warm'");
    bench
}

#[test]
fn the_same_build_twice_tells_what_noise_is_here() {
    let bench = spinning(50_000, 6);
    let noise = bench.path("noise.json");
    let noise = noise.to_str().expect("UTF-8");
    let (output, file) = bench.run(&["--aa", "--noise", noise]);
    let file = file.unwrap_or_else(|| panic!("{}", stderr(&output)));
    let builds: Vec<&str> = file.header.builds.iter().map(|build| build.name.as_str()).collect();
    assert_eq!(builds, ["a1", "a2"]);
    assert_eq!(measured(&file).len(), 12, "both in every block");
    let text = stdout(&output);
    assert!(text.contains("the same build twice: 0 false alarms in 1 cases"), "{text}");
    assert!(text.contains("1 of 5 days for a noise floor"), "{text}");
    let kept = pcb::noise::read(noise.as_ref()).expect("a noise file");
    assert_eq!(kept.measurements.len(), 1);
    assert_eq!(kept.measurements[0].cases.len(), 1, "the overhead is no case");
    let output = bench.run(&["--aa", "--worker", "x=a", "--worker", "y=b", "--force"]).0;
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_precise_case_is_left_out_of_further_blocks() {
    let bench = spinning(50_000, 2);
    // Not quiet: what is asserted is said on stderr.
    let run = |args: &[&str]| {
        let all = [&["config.toml", "--output", "out.json", "--force"], args].concat();
        let output = bench.pcb_run(&all).output().expect("pcb-run starts");
        let file = pcb::results::read(&bench.path("out.json"));
        (file.unwrap_or_else(|e| panic!("{e}: {}", stderr(&output))), output)
    };
    let (file, output) = run(&["--precision", "20%"]);
    assert_eq!(measured(&file).len(), 6, "six blocks at least, and one per cent is known by then");
    assert!(stderr(&output).contains("precision 20.0 %"), "{}", stderr(&output));
    let (file, output) = run(&["--precision", "0.0001%", "--set", "max_repeats=7"]);
    assert_eq!(measured(&file).len(), 7, "the cap");
    assert!(stderr(&output).contains("after 7 runs"), "{}", stderr(&output));
    for wrong in [&["--precision", "0%"][..], &["--precision", "2%", "--set", "max_repeats=5"]] {
        assert_eq!(bench.run(&[wrong, &["--force"]].concat()).0.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_baseline_is_kept_and_compared_with() {
    let bench = spinning(50_000, 6);
    let folder = bench.path("kept");
    let folder = folder.to_str().expect("UTF-8");
    let (output, _) = bench.run(&["--baselines", folder, "--baseline", "main"]);
    assert_eq!(output.status.code(), Some(2), "nothing is measured against a baseline that is not there");
    assert!(stderr(&output).contains("no baseline is called \"main\""), "{}", stderr(&output));
    let (output, _) = bench.run(&["--baselines", folder, "--save-baseline", "main"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let slow = bench.workers("slow", "spin 75000 0.01 2");
    let slow = format!("default={}", slow.display());
    let (output, _) = bench.run(&["--baselines", folder, "--baseline", "main", "--worker", &slow, "--force"]);
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("regressed"), "{}", stdout(&output));
    let mut compare = Command::new(env!("CARGO_BIN_EXE_pcb-compare"));
    let output =
        compare.args(["--baselines", folder, "--baseline", "main"]).arg(bench.path("out.json")).output().expect("runs");
    assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
}

#[test]
fn a_suspect_is_measured_again_at_once() {
    let bench = spinning(50_000, 6);
    let nights = bench.path("nights");
    let gate = |file: &str, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcb-gate"));
        command.arg(bench.path(file)).arg("--history").arg(&nights).args(more);
        command.env("PCB_DATA", support::data()).output().expect("pcb-gate runs")
    };
    // Twelve nights of one measurement, each a day later and half a percent elsewhere; then one that is half as slow again.
    let (output, file) = bench.run(&[]);
    let file = file.unwrap_or_else(|| panic!("{}", stderr(&output)));
    let night = |day: u32, factor: f64| {
        let mut file = file.clone();
        file.header.started = format!("2026-01-{day:02}T02:00:00Z");
        for run in &mut file.runs {
            let phases = [run.first.as_mut(), run.steady.as_mut()].into_iter().flatten();
            phases.for_each(|phase| phase.p50_ns = phase.p50_ns.map(|p50| p50 * factor));
        }
        let path = bench.path("night.json");
        std::fs::write(&path, serde_json::to_vec(&file).expect("a result file")).expect("written");
    };
    for day in 1..13 {
        night(day, 1.0 + 0.005 * f64::from(day % 3));
        assert_eq!(gate("night.json", &[]).status.code(), Some(0), "day {day}");
    }
    night(13, 1.5);
    let (base, slow) = (bench.workers("base", "spin 50000 0.01 3"), bench.workers("slow", "spin 75000 0.01 4"));
    let builds = |new: &std::path::Path| [format!("base={}", base.display()), format!("new={}", new.display())];
    let [base_arg, slow_arg] = builds(&slow);
    let more = ["--confirm", "--worker", &base_arg, "--worker", &slow_arg, "--repeats", "6"];
    let output = gate("night.json", &more);
    assert_eq!(output.status.code(), Some(3), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("1 red"), "{}", stdout(&output));
    assert!(nights.join("2026-01-13T02-00-00Z.confirmation.json").is_file());
    night(14, 1.5);
    let [base_arg, same_arg] = builds(&base);
    let output = gate("night.json", &["--confirm", "--worker", &base_arg, "--worker", &same_arg, "--repeats", "6"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", stdout(&output), stderr(&output));
    assert!(stdout(&output).contains("1 cleared"), "{}", stdout(&output));
}
