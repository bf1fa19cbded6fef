//! Reading the slim view of a result file.

use pcb::results::{ReadError, view};

use crate::support::{around, file, run, runs, warm, written};

#[test]
fn the_view_keeps_what_comparing_needs() {
    let mut made = runs(&warm("npy:mmap"), &around(1000.0, 0.01));
    made.extend(runs(&warm("tiff:\u{e4}\"\\n"), &[5.0]));
    let seen = crate::support::view(&file(made.clone()));
    assert_eq!(seen.cases, [made[0].case.clone(), made[5].case.clone()]);
    for (seen, made) in seen.runs.iter().zip(&made) {
        assert_eq!((seen.block, &seen.outcome, seen.open), (made.block, &made.outcome, made.open));
        assert_eq!(seen.index_digest.as_deref(), made.index_digest.as_deref());
        let rate = (seen.rate, made.rate);
        let (seen, made) = (seen.steady.as_ref().expect("steady"), made.steady.as_ref().expect("steady"));
        assert_eq!((seen.samples, seen.total_ns), (made.samples, made.total_ns));
        for (seen, made) in
            [(rate.0, rate.1), (seen.p50_ns, made.p50_ns), (seen.p95_ns, made.p95_ns), (seen.p99_ns, made.p99_ns)]
        {
            // serde_json reads floats to the last place but one.
            assert!((seen.expect("a quantile") / made.expect("a quantile") - 1.0).abs() < 1e-15);
        }
    }
    assert_eq!(seen.runs[5].case, 1);
}

#[test]
fn a_cut_file_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = written(folder.path(), "cut.json", &file(runs(&warm("npy:mmap"), &[1.0; 5])));
    let text = std::fs::read(&path).expect("the file just written");
    for end in [0, 1, 100, text.len() / 2, text.len() - 1] {
        std::fs::write(&path, &text[..end]).expect("a writable folder");
        let error = view::read(&path).expect_err("cut short");
        assert!(matches!(error, ReadError::Broken { .. }), "{error}");
        assert!(error.to_string().contains("cut.json") && error.to_string().contains("--resume"), "{error}");
    }
}

#[test]
fn a_newer_file_is_refused_whatever_it_holds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = written(folder.path(), "newer.json", &file(runs(&warm("npy:mmap"), &[1.0])));
    let text = std::fs::read_to_string(&path).expect("the file just written");
    for newer in [
        text.replacen("\"version\":1", "\"version\":99", 1),
        text.replacen("\"version\":1", "\"version\":99,\"unheard_of\":true", 1),
        text.replacen("\"version\":1", "\"version\":99", 1)
            .replace("\"p50_ns\"", "\"median\"")
            .replace("\"block\"", "\"b\""),
    ] {
        std::fs::write(&path, newer).expect("a writable folder");
        let error = view::read(&path).expect_err("a newer version");
        assert!(matches!(error, ReadError::Newer { got: 99, .. }), "{error}");
    }
}

#[test]
fn what_the_file_contradicts_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stranger = file(vec![run(&warm("npy:mmap"), "stranger", 0, 1.0)]);
    let error = view::read(&written(folder.path(), "a.json", &stranger)).expect_err("an unlisted build");
    assert!(error.to_string().contains("a run of build \"stranger\", which the header does not list"), "{error}");
    let path = written(folder.path(), "b.json", &file(runs(&warm("npy:mmap"), &[1.0])));
    let text = std::fs::read_to_string(&path)
        .expect("the file just written")
        .replace("getitem/smoke/npy", "gotitem/smoke/npy");
    std::fs::write(&path, text).expect("a writable folder");
    assert!(view::read(&path).expect_err("an unknown track").to_string().contains("unknown track \"gotitem\""));
}
