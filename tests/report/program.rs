//! The program `pcb-report`: streams, files, exit codes.

use std::path::Path;
use std::process::{Command, Output};

use pcb::results::{ResultFile, write};
use tempfile::TempDir;

use crate::files::{cold, file, id, null, warm};

fn folder(file: &ResultFile) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    write(&folder.path().join("a.json"), file, true).expect("a result file");
    folder
}

fn small() -> ResultFile {
    file(vec![
        warm(&id("npy:mmap/object/random", "warm"), 12),
        cold(&id("npy:mmap/object/random", "cold"), 2, 90),
        null(43),
    ])
}

fn pcb_report(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pcb-report")).args(args).current_dir(folder).output().expect("it starts")
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_result_goes_to_stdout_and_nothing_else_does() {
    let folder = folder(&small());
    let output = pcb_report(folder.path(), &["a.json"]);
    assert_eq!((output.status.code(), said(&output.stderr).as_str()), (Some(0), ""));
    assert!(said(&output.stdout).starts_with("pcb 0.1.0"));
    let output = pcb_report(folder.path(), &["a.json", "a.json", "--format", "csv"]);
    assert_eq!(said(&output.stdout).matches("\na.json,getitem/").count(), 4, "a row for each run of each file");
}

#[test]
fn files_are_not_overwritten_unless_asked() {
    let folder = folder(&small());
    let args = ["a.json", "--output", "t.md", "--format", "markdown", "--svg", "p.svg"];
    let output = pcb_report(folder.path(), &args);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{}", said(&output.stderr));
    let svg = std::fs::read_to_string(folder.path().join("p.svg")).expect("a plot");
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let again = pcb_report(folder.path(), &args);
    assert_eq!(again.status.code(), Some(1));
    assert!(said(&again.stderr).contains("exists; overwrite it with --force"), "{}", said(&again.stderr));
    assert_eq!(pcb_report(folder.path(), &[&args[..], &["--force"]].concat()).status.code(), Some(0));
}

#[test]
fn nothing_selected_is_4() {
    let folder = folder(&small());
    let output = pcb_report(folder.path(), &["a.json", "--filter", "zarr"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(4), 0));
    assert!(said(&output.stderr).contains("no case matches --filter"));
    let output = pcb_report(folder.path(), &["a.json", "--filter", "/cold$"]);
    assert!(said(&output.stdout).contains("smoke cold") && !said(&output.stdout).contains("smoke warm"));
}

#[test]
fn what_is_wrong_is_said_with_the_file() {
    let folder = folder(&small());
    std::fs::write(folder.path().join("cut.json"), "{\"header\":").expect("can be written");
    let journal = serde_json::to_string(&small().header).expect("JSON") + "\n{\"case\":";
    std::fs::write(folder.path().join("c.journal.jsonl"), journal).expect("can be written");
    std::fs::write(folder.path().join("a.csv"), "file,case\n,null\n").expect("can be written");
    let mut newer = small();
    newer.header.version += 1;
    write(&folder.path().join("newer.json"), &newer, true).expect("a result file");
    let mut older = small();
    older.header.version -= 1;
    write(&folder.path().join("older.json"), &older, true).expect("a result file");
    for (args, code, words) in [
        (&["missing.json"][..], 1, "pcb-report: missing.json: No such file or directory (os error 2)\n"),
        (
            &["c.journal.jsonl"],
            1,
            "c.journal.jsonl: the journal of an interrupted run; finish it with the same pcb-run command and --resume",
        ),
        (&["a.csv"], 1, "a.csv: not JSON, so no result file (is it a CSV?)"),
        (&["cut.json"], 1, "cut.json: not a complete result file"),
        (&["newer.json"], 1, "use a newer pcb"),
        (&["a.json", "older.json"], 2, "report them one by one"),
        (&["a.json", "--filter", "("], 2, "regex"),
        (&[], 2, "FILE"),
    ] {
        let output = pcb_report(folder.path(), args);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(code), 0), "{args:?}");
        assert!(said(&output.stderr).contains(words), "{args:?}: {}", said(&output.stderr));
    }
}

#[test]
fn it_describes_itself() {
    let folder = folder(&small());
    assert!(said(&pcb_report(folder.path(), &["--completions", "bash"]).stdout).contains("complete -F"));
    assert!(said(&pcb_report(folder.path(), &["--man"]).stdout).contains(".TH pcb-report"));
    let help = said(&pcb_report(folder.path(), &["--help"]).stdout);
    assert!(help.contains("Exit codes:") && help.contains("Examples:") && !help.contains("--completions"), "{help}");
}
