//! `pcb-compare` as people and scripts call it.

use std::path::Path;
use std::process::{Command, Output};

use crate::render::pair;
use crate::support::{ab, around, file, run, runs, warm, written};

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    /// A folder with files: `base.json` and `new.json` hold every verdict, `same.json` is `base.json` again, `ab.json`
    /// holds two builds of one case, `noisy.json` and `other.json` are inconclusive against each other.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (base, new) = pair();
        written(folder.path(), "base.json", &base);
        written(folder.path(), "same.json", &base);
        written(folder.path(), "new.json", &new);
        written(folder.path(), "noisy.json", &file(runs(&warm("npy:mmap"), &around(1000.0, 0.1))));
        written(folder.path(), "other.json", &file(runs(&warm("npy:mmap"), &around(1050.0, 0.1))));
        written(folder.path(), "empty.json", &file(vec![]));
        let side = |build: &'static str, center| {
            around(center, 0.01)
                .into_iter()
                .zip(0..)
                .map(move |(value, block)| run(&warm("npy:mmap"), build, block, value))
        };
        written(folder.path(), "ab.json", &ab(side("base", 1000.0).chain(side("new", 1000.5)).collect()));
        Self { folder }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcb-compare"));
        command.args(args).current_dir(self.folder.path()).env_remove("NO_COLOR").env_remove("COLUMNS");
        command.output().expect("pcb-compare starts")
    }

    #[track_caller]
    fn ends(&self, args: &[&str], code: i32) -> Output {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        output
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("UTF-8")
}

#[test]
fn exit_codes_tell_what_happened() {
    let bench = Bench::new();
    bench.ends(&["base.json", "same.json"], 0);
    bench.ends(&["ab.json"], 0);
    bench.ends(&["noisy.json", "other.json"], 0);
    bench.ends(&["base.json", "new.json"], 3);
    bench.ends(&["base.json", "new.json", "--no-fail"], 0);
    bench.ends(&["base.json", "new.json", "--filter", "webdataset|zarr"], 5);
    bench.ends(&["base.json", "new.json", "--filter", "nothing-has-this-name"], 4);
    bench.ends(&["empty.json", "empty.json", "--no-fail"], 4);
    bench.ends(&["base.json", "absent.json"], 1);
    bench.ends(&["base.json", "new.json", "--metric", "mean"], 2);
    bench.ends(&[], 2);
}

#[test]
fn fail_on_changes_what_fails() {
    let bench = Bench::new();
    bench.ends(&["noisy.json", "other.json", "--fail-on", "inconclusive"], 5);
    bench.ends(&["base.json", "new.json", "--fail-on", "missing"], 5);
    bench.ends(&["base.json", "new.json", "--fail-on", "improved,missing"], 3);
    bench.ends(&["base.json", "new.json", "--filter", "npy:mmap.*warm", "--margin", "30%"], 0);
    bench.ends(&["base.json", "new.json", "--fail-on", "slower"], 2);
}

#[test]
fn errors_name_the_file_and_the_way_out() {
    let bench = Bench::new();
    let error = stderr(&bench.ends(&["base.json", "absent.json"], 1));
    assert_eq!(error, "pcb-compare: absent.json: No such file or directory (os error 2)\n");
    let text = std::fs::read(bench.folder.path().join("base.json")).expect("base.json");
    std::fs::write(bench.folder.path().join("cut.json"), &text[..text.len() / 2]).expect("a writable folder");
    let error = stderr(&bench.ends(&["base.json", "cut.json"], 1));
    assert!(error.starts_with("pcb-compare: cut.json: not a complete result file"), "{error}");
    let error = stderr(&bench.ends(&["base.json"], 2));
    assert!(error.starts_with("pcb-compare: base.json holds one build: give a second file"), "{error}");
    let error = stderr(&bench.ends(&["base.json", "ab.json"], 2));
    assert!(error.contains("compare its builds with pcb-compare ab.json"), "{error}");
    let error = stderr(&bench.ends(&["base.json", "new.json", "--across", "format"], 2));
    assert!(error.contains("without format, several cases match") && error.contains("--filter"), "{error}");
    let error = stderr(&bench.ends(&["base.json", "new.json", "--across", "state"], 2));
    assert!(error.contains("choose one with --metric"), "{error}");
    let error = stderr(&bench.ends(&["base.json", "new.json", "--margin", "3"], 2));
    assert!(error.contains("write 3%"), "{error}");
    let error = stderr(&bench.ends(&["base.json", "new.json", "--filter", "nothing-has-this-name"], 4));
    assert!(error.contains("no case of either side matches --filter"), "{error}");
}

#[test]
fn a_file_is_written_whole_and_never_over_another() {
    let bench = Bench::new();
    let output = bench.ends(&["base.json", "same.json", "--format", "json", "--output", "out.json"], 0);
    assert!(output.stdout.is_empty());
    let path = bench.folder.path().join("out.json");
    let read = |path: &Path| std::fs::read_to_string(path).expect("the output");
    serde_json::from_str::<serde_json::Value>(&read(&path)).expect("JSON");
    let error = stderr(&bench.ends(&["base.json", "same.json", "--output", "out.json"], 1));
    assert_eq!(error, "pcb-compare: out.json: exists; overwrite it with --force\n");
    bench.ends(&["base.json", "same.json", "--output", "out.json", "--force"], 0);
    assert!(read(&path).starts_with("base    base.json"));
}

#[test]
fn piped_output_is_plain_unless_colour_is_asked_for() {
    let bench = Bench::new();
    assert!(!stdout(&bench.run(&["base.json", "new.json"])).contains('\x1b'));
    assert!(stdout(&bench.run(&["base.json", "new.json", "--color", "always"])).contains("\x1b[31mregressed\x1b[0m"));
}

#[test]
fn two_builds_of_one_file() {
    let bench = Bench::new();
    insta::assert_snapshot!(stdout(&bench.ends(&["ab.json", "--all", "--metric", "rate"], 0)));
}

#[test]
fn help_completions_and_man_page() {
    let bench = Bench::new();
    insta::assert_snapshot!(stdout(&bench.ends(&["--help"], 0)));
    assert!(stdout(&bench.ends(&["--completions", "bash"], 0)).contains("complete -F"));
    assert!(stdout(&bench.ends(&["--man"], 0)).contains(".TH pcb-compare"));
}
