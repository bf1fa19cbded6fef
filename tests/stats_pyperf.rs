//! pyperf's files through our comparison. The t values are scipy's, on the logs of the medians of the processes; see the
//! README of the test data.

use std::path::PathBuf;

use pcb::compare::{Inputs, Settings, Verdict, compare};
use pcb::results::view;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("PCB_TEST_DATA").map(|data| PathBuf::from(data).join("stats/pyperf"));
    if folder.is_none() {
        eprintln!("skipped: PCB_TEST_DATA is not set");
    }
    folder
}

#[test]
fn two_pythons_differ_as_scipy_says() {
    let Some(folder) = folder() else { return };
    let read = |name: &str| view::read(&folder.join(name)).expect("a pyperf file");
    let (base, new) = (read("mult_list_py36.json"), read("mult_list_py37.json"));
    let inputs = Inputs::files(("py36", &base), ("py37", &new)).expect("one build each");
    let comparison = compare(&inputs, &Settings::default()).expect("comparable");
    for (name, t) in [("[1]*1000", 3.2073), ("[1,2]*1000", -92.5171), ("[1,2,3]*1000", -36.4349)] {
        let row = comparison.rows.iter().find(|row| row.case().and_then(|c| c.benchmark.as_deref()) == Some(name));
        let row = row.unwrap_or_else(|| panic!("{name} is in both files"));
        let change = row.change.unwrap_or_else(|| panic!("{name}: {:?}", row.notes));
        // pyperf's t has the sign of base less new; ours is positive where new is slower.
        assert!((change.t + t).abs() < 5e-4 || (change.t - t).abs() < 5e-4, "{name}: t {}", change.t);
        assert_eq!(change.ratio > 1.0, change.t > 0.0, "{name}");
        let sides = [&row.base, &row.new].map(|side| side.as_ref().map(|side| side.ok));
        assert_eq!(sides, [Some(20), Some(20)], "{name}: calibration is no run");
    }
    // The two that doubled or halved are far past any margin.
    let judged = comparison.rows.iter().filter(|row| matches!(row.verdict, Verdict::Regressed | Verdict::Improved));
    assert_eq!(judged.count(), 2);
}

#[test]
fn a_file_whose_metadata_stand_in_the_suite_is_read_too() {
    let Some(folder) = folder() else { return };
    let telco = view::read(&folder.join("telco.json")).expect("a pyperf file");
    assert_eq!(telco.cases.iter().map(|case| case.benchmark.as_deref()).collect::<Vec<_>>(), [Some("telco")]);
    assert_eq!(telco.runs.len(), 40, "41 processes, the first of which calibrates");
    assert!(telco.header.environment.cpu.contains("i7-3520M"), "{}", telco.header.environment.cpu);
}
