//! The tables, as people see them.

use insta::assert_snapshot;
use pcb::report::{Input, text};
use pcb::results::{Flag, Outcome, ResultFile};

use crate::files::{build, cold, ended, file, id, null, pruned, report, report_all, warm};

fn said(message: &str) -> String {
    message.to_owned()
}

/// Five repeats of two formats, warm and cold.
fn five() -> ResultFile {
    let mut runs = Vec::new();
    for wobble in [0, 1, 0, 2, 1] {
        runs.push(warm(&id("npy:mmap/object/random", "warm"), 12 + wobble));
        runs.push(warm(&id("tiff:tile128-deflate/site/random", "warm"), 2400 + 100 * wobble));
        runs.push(cold(&id("npy:mmap/object/random", "cold"), 1 + wobble, 90));
        runs.push(cold(&id("tiff:tile128-deflate/site/random", "cold"), 5 + wobble, 30));
        runs.push(null(41 + wobble));
    }
    file(runs)
}

#[test]
fn five_runs_have_geometric_means() {
    assert_snapshot!(report("text", &five()));
}

#[test]
fn six_runs_have_medians_and_a_line_with_fewer_says_so() {
    let mut runs: Vec<_> = (0..6).map(|i| warm(&id("npy:mmap/object/random", "warm"), 12 + i % 2)).collect();
    for i in 0..5 {
        runs.push(warm(&id("zarr:v3-zstd/site/grouped-site", "warm").replace("grouped-site", "site"), 300 + 7 * i));
    }
    runs.push(ended(&id("zarr:v3-zstd/site/site", "warm"), Outcome::TimedOut { after_ns: 120_000_000_000 }));
    assert_snapshot!(report("text", &file(runs)));
}

#[test]
fn one_run_has_no_interval() {
    let mut file = file(vec![warm(&id("npy:mmap/object/random", "warm"), 12), null(43)]);
    file.header.repeats = 1;
    assert_snapshot!(report("text", &file));
}

#[test]
fn what_went_wrong_stands_beside_what_went_well() {
    let npy = id("npy:mmap/object/random", "warm");
    let hdf5 = id("hdf5:gzip/site/random", "warm");
    let mut unsteady = warm(&npy, 14);
    unsteady.flags = vec![Flag::NotSteady, Flag::FirstCapped];
    let failed = |message: &str| Outcome::Failed { message: said(message) };
    let mut runs = vec![
        warm(&npy, 12),
        unsteady,
        ended(&npy, failed("objects.npy: permission denied")),
        ended(&npy, failed("objects.npy: no space left")),
        ended(&npy, Outcome::Killed { signal: 9 }),
    ];
    let png = id("png:8bit/object/random", "warm");
    let message = said("object 17, channel 2, row 5, column 9: expected 1034, got 255 | *one* of 3");
    runs.push(ended(&hdf5, Outcome::Mismatch { message }));
    runs.push(ended(&png, Outcome::Unsupported { message: said("png:8bit holds u8, the dataset is u16") }));
    runs.push(ended(
        &id("npy:mmap/object/random", "cold"),
        Outcome::NotCold { message: said("objects.npy: 3 of 1000 pages stayed resident (dirty)") },
    ));
    let mut file = file(runs);
    let reason = "u16 with a tier is not measured";
    file.header.pruned =
        vec![pruned(&npy.replace("/none/", "/light/"), reason), pruned(&npy.replace("/none/", "/typical/"), reason)];
    assert_snapshot!("wrong_text", report("text", &file));
    assert_snapshot!("wrong_markdown", report("markdown", &file));
}

#[test]
fn a_number_that_some_runs_lack_is_not_shown() {
    let npy = id("npy:mmap/object/random", "warm");
    let mut thin = warm(&npy, 13);
    if let Some(steady) = &mut thin.steady {
        steady.p95_ns = None;
    }
    let text = report("text", &file(vec![warm(&npy, 12), thin]));
    assert!(text.contains("* p95 insufficient: too few samples"), "{text}");
    let cold_id = id("npy:mmap/object/random", "cold");
    let text = report("text", &file(vec![cold(&cold_id, 2, 90), cold(&cold_id, 2, 10)]));
    assert!(text.contains("^ under half of the samples"), "{text}");
}

#[test]
fn wide_tables_are_split_by_crop() {
    let mut runs = Vec::new();
    for format in ["npy:mmap/object", "tiff:tile128-deflate/site", "parquet:chunk128-zstd-rg64/site"] {
        for pattern in ["random", "contiguous", "paired-object"] {
            for crop in ["all.128x128.u16", "0+2+4.256x256.f32"] {
                let id = id(&format!("{format}/{pattern}"), "warm").replace("all.128x128.u16", crop);
                runs.extend([120, 121, 125].map(|us| warm(&id, us)));
            }
        }
    }
    let text = report("text", &file(runs));
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(120), "{widest:?}\n{text}");
    assert_snapshot!(text);
}

#[test]
fn two_builds_and_two_files_stay_apart() {
    let npy = id("npy:mmap/object/random", "warm");
    let mut pair = file(vec![warm(&npy, 12), warm(&npy, 12), warm(&npy, 15), warm(&npy, 15), null(43)]);
    for run in &mut pair.runs[2..4] {
        run.build = said("base");
    }
    for run in &mut pair.runs[..2] {
        run.build = said("new");
    }
    pair.header.builds = vec![build("base", "0.1.0", "unknown"), build("new", "0.2.0", "fed9876")];
    assert_snapshot!("two_builds", report("text", &pair));
    let five = five();
    let inputs = [Input { name: "monday.json", file: &five }, Input { name: "tuesday.json", file: &five }];
    assert_snapshot!("two_files", report_all("text", &inputs));
    assert_snapshot!("two_files_markdown", report_all("markdown", &inputs));
}

#[test]
fn nothing_is_said_of_nothing() {
    assert!(text::render(&[]).contains("no case was measured"));
    let empty = file(Vec::new());
    assert!(text::render(&[&empty]).contains("no case was measured"));
    assert_eq!(report("jsonl", &empty) + &report_all("csv", &[]), "");
}
