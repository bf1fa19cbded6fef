//! What people and programs read of a comparison.

use pcb::cli::compare::By;
use pcb::compare::text::{self, Style};
use pcb::compare::{Comparison, Inputs, Key, Settings, Verdict, compare_values, github, json, junit, markdown};
use pcb::results::{Outcome, ResultFile};

use crate::support::{NULL, around, cold, compared_as, file, runs, warm};

/// A pair of files in which every verdict occurs.
pub fn pair() -> (ResultFile, ResultFile) {
    let values = [
        ("npy:mmap", 1000.0, 0.01, 1200.0),
        ("npy:pread", 1200.0, 0.01, 1000.0),
        ("tiff:lzw", 244e6, 0.01, 244.5e6),
        ("tiff:tile128", 3.1e6, 0.004, 3.19e6),
        ("tiff:none", 3.19e6, 0.004, 3.1e6),
        ("hdf5:gzip", 5e6, 0.1, 5.1e6),
    ];
    let (mut base, mut new) = (Vec::new(), Vec::new());
    for (format, before, spread, after) in values {
        base.extend(runs(&warm(format), &around(before, spread)));
        new.extend(runs(&warm(format), &around(after, spread)));
    }
    base.extend(runs(&cold("npy:mmap"), &around(1.2e6, 0.02)));
    new.extend(runs(&cold("npy:mmap"), &around(1.5e6, 0.02)));
    base.extend(runs(&warm("zarr:v3"), &around(1e6, 0.01)));
    new.extend(runs(&warm("png:8|bit"), &around(1e6, 0.01)));
    base.extend(runs(&warm("webdataset:tar"), &around(1e6, 0.01)));
    new.extend(runs(&warm("webdataset:tar"), &around(1e6, 0.01)));
    for run in new.iter_mut().rev().take(5) {
        run.outcome = Outcome::TimedOut { after_ns: 60_000_000_000 };
    }
    base.extend(runs(NULL, &around(40.0, 0.02)));
    new.extend(runs(NULL, &around(41.0, 0.02)));
    let (base, mut new) = (file(base), file(new));
    new.header.builds[0].versions.insert("commit".to_owned(), "4567def".to_owned());
    new.header.environment.kernel = "6.19.0".to_owned();
    (base, new)
}

fn comparison() -> Comparison {
    let (base, new) = pair();
    compared_as(&base, &new, &Settings::default())
}

#[test]
fn text_for_a_log() {
    insta::assert_snapshot!(text::render(&comparison(), Style::default()));
}

#[test]
fn text_for_a_wide_terminal() {
    insta::assert_snapshot!(text::render(&comparison(), Style { width: Some(160), all: true, color: false }));
}

#[test]
fn text_for_a_narrow_terminal() {
    let text = text::render(&comparison(), Style { width: Some(80), all: false, color: true });
    let visible = text.replace('\x1b', "");
    insta::assert_snapshot!(visible);
}

#[test]
fn markdown_escapes_what_is_markup() {
    insta::assert_snapshot!(markdown::render(&comparison(), true));
}

#[test]
fn json_holds_every_row_and_no_nan() {
    let text = json::render(&comparison()).expect("a document");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&document["version"], &document["counts"]["regressed"]), (&1.into(), &2.into()));
    let rows = document["comparison"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), comparison().rows.len());
    for row in rows.iter().filter(|row| !row["change"].is_null()) {
        assert!(row["change"]["ratio"].is_number() && row["change"]["p_adjusted"].is_number(), "{row}");
    }
    let worst = serde_json::to_string_pretty(&rows[0]).expect("a row");
    insta::assert_snapshot!(worst);
}

#[test]
fn junit_for_a_build_server() {
    let text = junit::render(&comparison(), &[Verdict::Regressed, Verdict::Missing]);
    insta::assert_snapshot!(text);
    let document = text.lines().filter(|line| line.contains("<testcase")).count();
    assert_eq!(document, comparison().rows.iter().filter(|row| row.gates).count());
}

#[test]
fn annotations_for_github() {
    insta::assert_snapshot!(github::render(&comparison(), &[Verdict::Regressed]));
}

#[test]
fn one_file_by_format() {
    let (base, _) = pair();
    let view = crate::support::view(&base);
    let key: Key = "format".parse().expect("a key");
    let inputs = Inputs::values(("formats.json", &view), key, &["npy:mmap".to_owned()]).expect("a base");
    let comparison = compare_values(&inputs, key, &Settings::default()).expect("comparable");
    assert!(comparison.rows.iter().all(|row| row.verdict != Verdict::Missing));
    insta::assert_snapshot!(text::render(&comparison, Style::default()));
}

#[test]
fn values_that_are_not_there_are_named() {
    let (base, _) = pair();
    let view = crate::support::view(&base);
    let asked = |text: &str| {
        let By { key, values } = text.parse().expect("a key");
        Inputs::values(("f.json", &view), key, &values).map(|inputs| inputs.len()).map_err(|e| e.to_string())
    };
    assert_eq!(asked("format=npy:mmap,tiff:lzw"), Ok(1));
    assert!(asked("format=npy:nmap").expect_err("no such value").contains("there are npy:mmap, "));
    assert!(asked("format").expect_err("several values").contains("--by format=BASE"));
    assert!(asked("host").expect_err("one value").contains("host is native"));
}
