//! What `pcb-run` does with files: outputs, journals, interruptions, configs, vanishing data, full disks.

mod support;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Bench, measured, processes_with, stderr};

/// Waits until the file has at least `lines` lines.
fn wait_for_lines(path: &std::path::Path, lines: usize) {
    let start = Instant::now();
    while fs::read_to_string(path).map_or(0, |text| text.lines().count()) < lines {
        assert!(start.elapsed() < Duration::from_secs(60), "{} never had {lines} lines", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn ctrl_c_keeps_finished_runs_and_resume_goes_on() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let bench = Bench::new("ok 2000000");
        bench.config(10, "'cold'");
        let args = ["config.toml", "--output", "out.json", "--quiet"];
        let child = bench.pcb_run(&args).stderr(Stdio::piped()).spawn().expect("starts");
        let journal = bench.path("out.journal.jsonl");
        wait_for_lines(&journal, 4);
        kill(Pid::from_raw(child.id().cast_signed()), signal).expect("sent");
        let output = child.wait_with_output().expect("ends");
        assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
        assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
        assert!(!bench.path("out.json").exists(), "nothing under the final name");
        assert!(processes_with(&bench.path("workers").to_string_lossy()).is_empty(), "an orphan is left");
        let kept: Vec<String> = fs::read_to_string(&journal).expect("reads").lines().map(str::to_owned).collect();

        // Without --resume the runs are not lost by accident; with another plan they are not mixed.
        let (output, _) = bench.run(&[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("--resume"), "{}", stderr(&output));
        let (output, _) = bench.run(&["--resume", "--seed", "77"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("another plan"), "{}", stderr(&output));

        // A line cut short by a crash is dropped, the run made again.
        let cut = fs::OpenOptions::new()
            .append(true)
            .open(&journal)
            .and_then(|mut file| std::io::Write::write_all(&mut file, br#"{"case":"getitem/tiny/npy:mm"#));
        cut.expect("appended");
        let (output, file) = bench.run(&["--resume"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let file = file.expect("a result");
        assert_eq!(file.runs.len(), 20, "every run of the plan once");
        for (line, run) in kept.iter().skip(1).zip(&file.runs) {
            assert_eq!(serde_json::from_str::<pcb::results::Run>(line).expect("a run"), *run, "finished runs are kept");
        }
    }
}

#[test]
fn max_time_leaves_an_incomplete_result_and_a_journal_to_go_on_with() {
    let bench = Bench::new("ok 3000000");
    bench.config(8, "'cold'");
    let (output, file) = bench.run(&["--max-time", "1s"]);
    assert_eq!(output.status.code(), Some(124), "{}", stderr(&output));
    let partial = file.expect("what was measured");
    assert!(!partial.header.complete && !partial.runs.is_empty() && partial.runs.len() < 16);
    let (output, file) = bench.run(&["--resume"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let file = file.expect("a result");
    assert!(file.header.complete);
    assert_eq!((file.runs.len(), &file.runs[..partial.runs.len()]), (16, &partial.runs[..]));
}

#[test]
fn runs_of_another_program_are_not_mixed_by_resume() {
    let bench = Bench::new("ok 3000000");
    bench.config(8, "'cold'");
    assert_eq!(bench.run(&["--max-time", "1s"]).0.status.code(), Some(124));
    // The same path, another program.
    let program = bench.path("workers").join("pcb-worker");
    fs::remove_file(&program).expect("removed");
    fs::copy(env!("CARGO_BIN_EXE_pcb-fake-worker"), &program).expect("copied");
    let mut bytes = fs::OpenOptions::new().append(true).open(&program).expect("opens");
    std::io::Write::write_all(&mut bytes, b"another build").expect("written");
    drop(bytes);
    let (output, _) = bench.run(&["--resume"]);
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("worker programs (sha256)"), "{}", stderr(&output));
}

#[test]
fn names_with_dots_have_journals_of_their_own() {
    use pcb::results::journal_path;
    let of = |name: &str| journal_path(std::path::Path::new(name)).to_string_lossy().into_owned();
    assert_eq!(of("a/night.json"), "a/night.journal.jsonl");
    assert_ne!(of("night.1"), of("night.2"));
    assert_ne!(of("run.json"), of("run.out"));
}

#[test]
fn a_closed_stderr_does_not_end_the_measurement() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("opens");
    let mut command = bench.pcb_run(&["config.toml", "--output", "out.json"]);
    let output = command.stderr(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(0));
    assert!(pcb::results::read(&bench.path("out.json")).is_ok());
}

#[test]
fn numbers_beyond_reason_are_refused_or_counted() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    for (args, code, word) in [
        (&["--affinity", "0-99999999999"][..], 2, "range"),
        (&["--affinity", "3-1"], 2, "range"),
        (&["--affinity", "5000"], 2, "not usable"),
        (&["--set", "warmup.min_time=1e19"], 2, "ten years"),
        (&["--timeout", "1e19"], 2, "timeout"),
        (&["--repeats", "4294967295", "--plan"], 0, ""),
        (&["--set", "dataset=a/b"], 2, "name of a dataset"),
    ] {
        let mut all = vec!["config.toml", "--output", "out.json"];
        all.extend(args);
        let output = bench.pcb_run(&all).output().expect("runs");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(word), "{args:?}: {}", stderr(&output));
    }
}

#[test]
fn no_file_is_overwritten_without_force() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    fs::write(bench.path("out.json"), "mine").expect("written");
    let output = bench.pcb_run(&["config.toml", "--output", "out.json"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("out.json") && stderr(&output).contains("--force"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(bench.path("out.json")).expect("reads"), "mine");
    let output = bench.pcb_run(&["config.toml", "--output", "out.json", "--force"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(pcb::results::read(&bench.path("out.json")).is_ok());
}

#[test]
fn two_runs_on_one_output_do_not_mix() {
    let bench = Bench::new("ok 2000000");
    bench.config(20, "'cold'");
    let args = ["config.toml", "--output", "out.json", "--quiet"];
    let mut first = bench.pcb_run(&args).spawn().expect("starts");
    wait_for_lines(&bench.path("out.journal.jsonl"), 2);
    for more in [&["--force"][..], &["--resume"], &[]] {
        let (output, _) = bench.run(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains("another pcb-run"), "{more:?}: {}", stderr(&output));
    }
    kill(Pid::from_raw(first.id().cast_signed()), Signal::SIGKILL).expect("sent");
    assert_eq!(first.wait().expect("ends").signal(), Some(9));
    std::thread::sleep(Duration::from_millis(300));
    assert!(processes_with(&bench.path("workers").to_string_lossy()).is_empty(), "workers die with their controller");
    let (output, file) = bench.run(&["--resume"]);
    assert_eq!((output.status.code(), file.map(|f| f.runs.len())), (Some(0), Some(40)), "{}", stderr(&output));
}

#[test]
fn broken_configs_name_file_line_and_remedy() {
    let bench = Bench::new("ok");
    for (text, words) in [
        ("repeets = 3\n[[sweep]]\n", &["config.toml:1", "did you mean `repeats`"][..]),
        ("repeats = 3\n[[sweep]]\ncrop = true\n", &["config.toml:3", "crop size"]),
        ("[[sweep]]\npattern = []\n", &["config.toml:2", "empty list"]),
        ("repeats = 2\n", &["config.toml", "no [[sweep]]"]),
        ("[[sweep]]\nformat = 'zar'\n", &["unknown format", "npy"]),
        ("[[sweep]]\ndataset = 'nobody'\n", &["nobody"]),
    ] {
        fs::write(bench.path("config.toml"), text).expect("written");
        let (output, _) = bench.run(&[]);
        let said = stderr(&output);
        assert!(words.iter().all(|word| said.contains(word)), "{text:?}: {said}");
        assert!(matches!(output.status.code(), Some(1 | 2)), "{text:?}: {said}");
    }
    let output = bench.pcb_run(&["missing.toml"]).output().expect("runs");
    assert!(stderr(&output).contains("missing.toml"), "{}", stderr(&output));
}

#[test]
fn a_plan_of_more_than_a_day_asks_first() {
    let bench = Bench::new("ok");
    bench.config(1, "['cold', 'warm']");
    let args = ["config.toml", "--repeats", "100000", "--output", "out.json"];
    let output = bench.pcb_run(&args).output().expect("runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("300000 runs") && stderr(&output).contains("--yes"), "{}", stderr(&output));
    let mut plan = args.to_vec();
    plan.push("--plan");
    let output = bench.pcb_run(&plan).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && text.contains("300000 runs of 3 cases"),
        "{}",
        &text[text.len().saturating_sub(200)..]
    );
}

#[test]
fn nothing_selected_is_exit_4() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    let (output, file) = bench.run(&["--filter", "no such case"]);
    assert_eq!((output.status.code(), file.is_none()), (Some(4), true));
}

#[test]
fn names_that_are_not_utf8_do_not_panic() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    let name = std::ffi::OsStr::from_bytes(b"result-\xff.json");
    let mut command = bench.pcb_run(&["config.toml", "--quiet"]);
    let output = command.arg("--output").arg(name).output().expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(bench.path("x").with_file_name(name).exists());
    let output = bench.pcb_run(&["--quiet"]).arg(std::ffi::OsStr::from_bytes(b"conf\xff.toml")).output().expect("runs");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
}

#[test]
fn a_folder_for_temporary_files_that_no_socket_fits_is_refused() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    for name in [&[0xff][..], &[b'x'; 100]] {
        let mut command = bench.pcb_run(&["config.toml", "--output", "out.json"]);
        let output = command.env("TMPDIR", std::ffi::OsStr::from_bytes(name)).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("TMPDIR"), "{}", stderr(&output));
    }
}

#[test]
fn data_in_a_folder_whose_name_is_not_utf8_is_measured() {
    let Some(workers) = real_workers() else {
        println!("skipped: the workers are not built; cargo build --workspace");
        return;
    };
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    let data = bench.path("x").with_file_name(std::ffi::OsStr::from_bytes(b"data-\xff"));
    let status = std::process::Command::new("cp").arg("-r").arg(support::data()).arg(&data).status().expect("cp");
    assert!(status.success());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pcb-run"));
    command.current_dir(bench.path("")).args(["config.toml", "--output", "out.json", "--quiet", "--allow-debug"]);
    let output = command.arg("--worker").arg(format!("real={}", workers.display())).arg("--data").arg(&data).output();
    let output = output.expect("runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn data_that_vanishes_in_mid_run_are_failed_rows() {
    let bench = Bench::new("ok 1000000");
    bench.config(6, "'cold'");
    // A copy of the data that may be broken.
    let copy = bench.path("data");
    let status = std::process::Command::new("cp").arg("-r").arg(support::data()).arg(&copy).status().expect("cp");
    assert!(status.success());
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pcb-run"));
    command.current_dir(bench.path("")).args(["config.toml", "--output", "out.json", "--quiet", "--data", "data"]);
    command.args(["--worker", "fake=workers"]);
    let child = command.stderr(Stdio::piped()).spawn().expect("starts");
    wait_for_lines(&bench.path("out.journal.jsonl"), 4);
    fs::remove_dir_all(&copy).expect("removed");
    let output = child.wait_with_output().expect("ends");
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let file = pcb::results::read(&bench.path("out.json")).expect("reads");
    assert_eq!(file.runs.len(), 12, "the plan goes on");
    let failed: Vec<_> = measured(&file).into_iter().filter(|run| run.outcome.kind() == "failed").collect();
    assert!(!failed.is_empty());
    for run in failed {
        let text = format!("{:?}", run.outcome);
        assert!(text.contains("data/tiny"), "the file is named: {text}");
    }
}

#[test]
fn a_result_file_cut_in_half_is_refused() {
    let bench = Bench::new("ok");
    bench.config(1, "'cold'");
    let (_, file) = bench.run(&[]);
    assert!(file.is_some());
    let text = fs::read(bench.path("out.json")).expect("reads");
    fs::write(bench.path("half.json"), &text[..text.len() / 2]).expect("written");
    let error = pcb::results::read(&bench.path("half.json")).expect_err("cut").to_string();
    assert!(error.contains("half.json") && error.contains("complete"), "{error}");
    let newer = String::from_utf8(text).expect("text").replacen("\"version\":1", "\"version\":99,\"new\":1", 1);
    fs::write(bench.path("newer.json"), newer).expect("written");
    let error = pcb::results::read(&bench.path("newer.json")).expect_err("newer").to_string();
    assert!(error.contains("version 99"), "{error}");
}

/// Real workers, beside the controller where the whole workspace is built.
fn real_workers() -> Option<std::path::PathBuf> {
    let folder = std::path::Path::new(env!("CARGO_BIN_EXE_pcb-run")).parent()?.to_owned();
    ["pcb-worker", "pcb-worker-io"].iter().all(|program| folder.join(program).is_file()).then_some(folder)
}

#[test]
fn readers_that_run_out_of_descriptors_are_rows_and_the_others_go_on() {
    let Some(workers) = real_workers() else {
        println!("skipped: the workers are not built; cargo build --workspace");
        return;
    };
    let bench = Bench::new("ok");
    // 80 sites: a reader that keeps a descriptor for each needs more than 64.
    let recipe = pcb::data::make::Recipe {
        wells: 16,
        sites_per_well: 5,
        ..pcb::data::make::preset("smoke").expect("there is one").recipe.clone()
    };
    let recipe = pcb::data::make::Recipe { channels: 1, objects_per_site: 1, site_size: 32, record: 16, ..recipe };
    let data = bench.path("data");
    fs::create_dir(&data).expect("made");
    pcb::data::make::make(&data, "wide", &recipe, Some(1), false, &mut |_| {}).expect("made");
    let config = "repeats = 1\n[[sweep]]\ndataset = 'wide'\nformat = ['npy:pread', 'npy:reopen']\nlayout = 'site'\ncrop = 16\nstate = 'cold'\n";
    fs::write(bench.path("config.toml"), config).expect("written");
    let inner = bench.path("data");
    let script = "ulimit -n 64; exec \"$0\" config.toml --output out.json --quiet --allow-debug --data \"$1\" --worker \"real=$2\"";
    let mut command = std::process::Command::new("sh");
    command
        .current_dir(bench.path(""))
        .arg("-c")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_pcb-run"))
        .arg(inner)
        .arg(workers);
    let output = command.output().expect("runs");
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let file = pcb::results::read(&bench.path("out.json")).expect("reads");
    let of = |variant: &str| {
        let run = file.runs.iter().find(|run| run.case.to_string().contains(variant)).expect("its row");
        run.outcome.clone()
    };
    assert!(matches!(of("npy:pread"), pcb::results::Outcome::FdExhausted { message } if message.contains(".npy")));
    assert_eq!(of("npy:reopen"), pcb::results::Outcome::Ok);
}

/// A result on a full disk: a tiny tmpfs in a mount namespace of its own, where the machine allows one.
#[test]
fn a_full_disk_is_an_error_and_leaves_nothing_under_the_final_name() {
    let bench = Bench::new("ok");
    bench.config(30, "'cold'");
    let disk = bench.path("disk");
    fs::create_dir(&disk).expect("made");
    let inner = bench.pcb_run(&["config.toml", "--output", "disk/out.json", "--quiet"]);
    let mut line = vec![inner.get_program().to_owned()];
    line.extend(inner.get_args().map(ToOwned::to_owned));
    let script = "mount -t tmpfs -o size=32k none disk || exit 99; \"$@\"; code=$?; ls disk >&2; test ! -e disk/out.json || exit 98; exit $code";
    let mut command = std::process::Command::new("unshare");
    command.current_dir(bench.path("")).args(["--mount", "--map-root-user", "sh", "-c", script, "sh"]).args(line);
    let output = command.output();
    let Ok(output) =
        output.as_ref().map_err(|_| ()).and_then(|o| if o.status.code() == Some(99) { Err(()) } else { Ok(o) })
    else {
        println!("skipped: no private mount namespace here");
        return;
    };
    let said = stderr(output);
    if said.contains("unshare:") {
        println!("skipped: {said}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left") && said.contains("out.journal.jsonl"), "{said}");
}
