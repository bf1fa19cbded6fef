//! `pcb-data` as people call it: output, exit codes.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn pcb_data(root: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcb-data"));
    command.args(args).env("PCB_DATA", root).output().expect("started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const TINY: [&str; 16] = [
    "make",
    "smoke",
    "--name",
    "tiny",
    "--wells",
    "1",
    "--sites-per-well",
    "2",
    "--channels",
    "2",
    "--site-size",
    "96",
    "--record",
    "32",
    "--objects-per-site",
    "5",
];

#[test]
fn made_written_verified_and_listed() {
    let root = tempfile::tempdir().expect("a folder");
    let made = pcb_data(root.path(), &TINY);
    assert!(made.status.success(), "{}", text(&made.stderr));
    assert!(text(&made.stdout).contains("tiny made: 2 sites, 10 objects, 2 channels, u16"), "{}", text(&made.stdout));
    let written = pcb_data(root.path(), &["write", "tiny", "all"]);
    assert!(written.status.success(), "{}", text(&written.stderr));
    assert!(!text(&written.stdout).contains("source"), "{}", text(&written.stdout));
    let verified = pcb_data(root.path(), &["verify", "tiny"]);
    let lines = text(&verified.stdout);
    assert!(verified.status.success(), "{lines}");
    for form in ["reference", "npy:", "tiff:strip-lzw/site", "ome-tiff:tile128-deflate/site"] {
        assert!(
            lines.lines().any(|line| line.starts_with("tiny ") && line.contains(form) && line.contains("ok, ")),
            "{form}: {lines}"
        );
        assert!(lines.lines().any(|line| line.starts_with("tiny-decoy") && line.contains(form)), "{form}: {lines}");
    }
    assert!(!lines.contains("memory"), "the reference compared with itself is no proof: {lines}");
    let listed = text(&pcb_data(root.path(), &["list"]).stdout);
    assert!(listed.contains("tiny") && listed.contains("96x96"), "{listed}");
    let forms = text(&pcb_data(root.path(), &["list", "tiny"]).stdout);
    assert!(forms.contains("tiff:strip-lzw") && !forms.contains("stale"), "{forms}");
    let shared = "npy:mmap/object, npy:pread/object, npy:reopen/object";
    assert!(forms.lines().any(|line| line.starts_with("npy:object-stack") && line.contains(shared)), "{forms}");
    let stats = text(&pcb_data(root.path(), &["stats", "tiny"]).stdout);
    assert!(stats.lines().count() == 3 && stats.contains("AGP"), "{stats}");
}

#[test]
fn a_form_that_differs_ends_with_5() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(pcb_data(root.path(), &TINY).status.success());
    assert!(pcb_data(root.path(), &["write", "tiny", "npy:mmap/site"]).status.success());
    let file = root.path().join("tiny/formats/npy:site/tiny-A01-s2.npy");
    let mut bytes = fs::read(&file).expect("read");
    *bytes.last_mut().expect("pixels") ^= 1;
    fs::write(&file, bytes).expect("written");
    let verified = pcb_data(root.path(), &["verify", "tiny", "npy:mmap/site"]);
    assert_eq!(verified.status.code(), Some(5), "{}", text(&verified.stdout));
    let lines = text(&verified.stdout);
    let remedy = "; write it again: pcb-data write tiny npy:mmap/site --force";
    assert!(lines.lines().any(|line| line.contains("differs: ") && line.ends_with(remedy)), "{lines}");
    let kept = text(&pcb_data(root.path(), &["write", "tiny", "npy:mmap/site"]).stdout);
    assert!(kept.contains("was there"), "{kept}");
    let written = pcb_data(root.path(), &["write", "tiny", "npy:mmap/site", "--force"]);
    assert!(text(&written.stdout).ends_with(" written\n"), "{}", text(&written.stderr));
    let verified = pcb_data(root.path(), &["verify", "tiny", "npy:mmap/site"]);
    assert!(verified.status.success(), "{}", text(&verified.stdout));
    let decoy = text(&verified.stdout);
    assert!(decoy.lines().any(|line| line.starts_with("tiny-decoy") && line.ends_with("ok, 1 site")), "{decoy}");
}

#[test]
fn a_form_is_not_to_be_written_from_a_damaged_reference() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(pcb_data(root.path(), &TINY).status.success());
    let file = root.path().join("tiny/reference/tiny-A01-s1.npy");
    let mut bytes = fs::read(&file).expect("read");
    *bytes.last_mut().expect("pixels") ^= 1;
    fs::write(&file, bytes).expect("written");
    let verified = text(&pcb_data(root.path(), &["verify", "tiny", "npy:mmap/site"]).stdout);
    assert!(!verified.lines().any(|line| line.starts_with("tiny ") && line.contains("--force")), "{verified}");
    assert!(verified.lines().any(|line| line.starts_with("tiny-decoy") && line.contains("--force")), "{verified}");
}

#[test]
fn a_form_of_another_dataset_is_stale_until_it_is_written_again() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(pcb_data(root.path(), &TINY).status.success());
    assert!(pcb_data(root.path(), &["write", "tiny", "npy:mmap/site"]).status.success());
    fs::write(root.path().join("tiny/formats/npy:site/form.json"), "{}").expect("written");
    assert!(text(&pcb_data(root.path(), &["list", "tiny"]).stdout).contains("stale"));
    let verified = pcb_data(root.path(), &["verify", "tiny"]);
    assert_eq!(verified.status.code(), Some(5), "{}", text(&verified.stdout));
    let written = text(&pcb_data(root.path(), &["write", "tiny", "npy:mmap/site"]).stdout);
    assert!(written.lines().any(|line| line.ends_with(" written")), "{written}");
    assert!(pcb_data(root.path(), &["verify", "tiny"]).status.success());
}

#[test]
fn floats_are_made_stored_and_verified_but_not_described() {
    let root = tempfile::tempdir().expect("a folder");
    let args: Vec<&str> = TINY.into_iter().chain(["--dtype", "f32"]).collect();
    assert!(text(&pcb_data(root.path(), &args).stdout).contains("2 channels, f32"));
    assert!(pcb_data(root.path(), &["write", "tiny", "tiff:tile128-lzw", "npy:each"]).status.success());
    assert!(pcb_data(root.path(), &["verify", "tiny"]).status.success());
    let stats = pcb_data(root.path(), &["stats", "tiny"]);
    assert!(!stats.status.success() && text(&stats.stderr).contains("not f32"), "{}", text(&stats.stderr));
}

#[test]
fn a_changed_reference_is_found() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(pcb_data(root.path(), &TINY).status.success());
    let file = root.path().join("tiny/reference/tiny-A01-s1.npy");
    let mut bytes = fs::read(&file).expect("read");
    *bytes.last_mut().expect("pixels") ^= 1;
    fs::write(&file, bytes).expect("written");
    let verified = pcb_data(root.path(), &["verify", "tiny"]);
    assert_eq!(verified.status.code(), Some(5));
    assert!(text(&verified.stdout).contains("reference"), "{}", text(&verified.stdout));
}

#[test]
fn wrong_command_lines_end_with_2_and_say_what_is_known() {
    let root = tempfile::tempdir().expect("a folder");
    for (args, expected) in [
        (&["make", "huge"][..], "known: smoke, small"),
        (&["make", "--wells", "0"], "--wells 0: expected 1 to 384"),
        (&["make", "--dtype", "i16"], "i16"),
        (&["write", "absent", "all"], "no dataset \"absent\""),
        (&["import", "--name", "x", "--images", "."], "--grid N"),
    ] {
        let output = pcb_data(root.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(expected), "{args:?}: {}", text(&output.stderr));
    }
    assert!(pcb_data(root.path(), &TINY).status.success());
    let output = pcb_data(root.path(), &["write", "tiny", "npy:nonsense"]);
    assert_eq!(output.status.code(), Some(2));
    let known = text(&output.stderr);
    assert!(known.contains("npy:mmap/site") && !known.contains("memory"), "{known}");
    for command in ["write", "verify"] {
        let output = pcb_data(root.path(), &[command, "tiny", "memory:ram"]);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""));
        let expected = "pcb-data: memory stores nothing: there is nothing to write or verify\n";
        assert_eq!(text(&output.stderr), expected);
    }
    let output = pcb_data(root.path(), &["write", "tiny", "tiff:source/site"]);
    assert!(text(&output.stderr).contains("dataset tiny was generated"), "{}", text(&output.stderr));
}

#[test]
fn what_the_system_says_is_said_once() {
    let root = tempfile::tempdir().expect("a folder");
    let absent = "No such file or directory (os error 2)";
    let output = pcb_data(root.path(), &["import", "--name", "x", "--images", "/nope", "--grid", "2"]);
    let expected = format!(
        "pcb-data: /nope: {absent}; --images must be a folder of TIFF files, an OME-Zarr plate, or a .parquet table of OME-Arrow images\n"
    );
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), expected));
    let output = pcb_data(root.path(), &["import", "--name", "x", "--images", ".", "--profiles", "nope.csv"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(1), format!("pcb-data: nope.csv: {absent}\n")));
}

#[test]
fn completions_and_man_page_are_printed() {
    let root = tempfile::tempdir().expect("a folder");
    assert!(text(&pcb_data(root.path(), &["--completions", "bash"]).stdout).contains("pcb-data"));
    assert!(text(&pcb_data(root.path(), &["--man"]).stdout).contains("pcb\\-data"));
}
