//! The plot: what must be in it. How it looks is for eyes.

use pcb::report::Input;
use pcb::report::plot::{MOST_CASES, PlotError, svg};
use pcb::results::{Flag, Outcome, ResultFile, Run};

use crate::files::{cold, ended, file, id, warm};

fn picture(file: &ResultFile) -> String {
    svg(&[Input { name: "", file }]).expect("a picture")
}

/// Formats as they may come out: two crops, a failure, an unsteady case, one that lost runs.
fn plate() -> ResultFile {
    let formats = [
        ("npy:mmap/object", 12, 1),
        ("npy:pread/object", 19, 1),
        ("safetensors:mmap/object", 14, 1),
        ("tiff:strip-lzw/site", 240_000, 40),
        ("tiff:tile128-deflate/site", 5200, 6),
        ("ome-arrow:whole-image-zstd/site", 65_000, 25),
        ("ome-arrow:chunk128-zstd/site", 2100, 4),
        ("zarr:v3-sharded-zstd/site", 1900, 5),
        ("hdf5:chunk128-gzip-shuffle/site", 2600, 3),
        ("png:16bit/object", 900, 2),
        ("webdataset:tar/object", 60, 1),
    ];
    let mut runs: Vec<Run> = Vec::new();
    for (crop, factor) in [("all.128x128.u16", 10), ("all.64x64.u16", 4)] {
        for (place, (format, us, ms)) in (0..).zip(formats) {
            let of = |state: &str| id(&format!("{format}/random"), state).replace("all.128x128.u16", crop);
            for wobble in 0..5 {
                let us = us * factor / 10 * (100 + (wobble * 7 + place) % 11) / 100;
                runs.push(warm(&of("warm"), us.max(3)));
                runs.push(cold(&of("cold"), ms * factor / 4 + (wobble + place) % 3, 80));
            }
        }
    }
    for run in runs.iter_mut().filter(|run| run.case.to_string().contains("hdf5") && run.rate.is_some()) {
        run.flags = vec![Flag::NotSteady];
    }
    let png = "png:16bit/object/random/all.64x64.u16";
    for run in runs.iter_mut().filter(|run| run.case.to_string().contains(png) && run.rate.is_none()) {
        *run = ended(&run.case.to_string(), Outcome::TimedOut { after_ns: 1 });
    }
    runs.push(ended(&id("tiff:tile128-deflate/site/random", "warm"), Outcome::Killed { signal: 9 }));
    file(runs)
}

#[test]
fn every_case_has_a_row_with_its_numbers() {
    let svg = picture(&plate());
    for text in [
        "npy:mmap / object",
        "ome-arrow:whole-image-zstd / site",
        "crop all.64x64.u16",
        "getitem, dataset smoke, pattern random, tier none",
        "Warm: median sample",
        "Cold: whole pass",
        "timed_out",
        "(5/6 runs)",
        "~ no steady state was found",
        "geometric mean, 95 % t interval",
    ] {
        assert!(svg.contains(text), "{text}");
    }
    if let Some(path) = std::env::var_os("PLOT") {
        std::fs::write(path, svg).expect("can be written");
    }
}

#[test]
fn too_many_cases_are_cut_with_a_note() {
    let runs = (0..60).map(|i| warm(&id(&format!("npy:v{i}/object/random"), "warm"), 10 + i)).collect();
    let svg = picture(&file(runs));
    assert!(svg.contains(&format!("{MOST_CASES} of 60 cases are shown")));
    assert!(svg.contains("npy:v39 / object") && !svg.contains("npy:v40 / object"), "the fastest stay");
    assert!(!svg.contains("Cold:"), "no panel for a state that was not measured");
}

#[test]
fn names_cannot_break_the_picture() {
    let npy = id("npy:mmap/object/random", "warm").replace("smoke", "a<b&\"c\"");
    let svg = picture(&file(vec![warm(&npy, 12)]));
    assert!(svg.contains("a&lt;b&amp;"), "{svg}");
}

#[test]
fn a_format_has_the_same_colour_in_every_picture() {
    let tiff = || warm(&id("tiff:strip-lzw/site/random", "warm"), 90);
    let alone = picture(&file(vec![tiff()]));
    let among = picture(&file(vec![tiff(), warm(&id("hdf5:chunked/site/random", "warm"), 12)]));
    let dot = "<circle cx=\"";
    let colours = |svg: &str| -> Vec<String> {
        svg.split(dot).skip(1).filter_map(|rest| Some(rest.split("fill=\"").nth(1)?.get(..7)?.to_owned())).collect()
    };
    assert_eq!(colours(&alone), ["#009E73"], "{alone}");
    assert!(among.contains("#009E73") && colours(&among).len() == 2);
}

#[test]
fn several_files_have_a_line_each() {
    let one = file(vec![warm(&id("npy:mmap/object/random", "warm"), 12)]);
    let svg = svg(&[Input { name: "a.json", file: &one }, Input { name: "b.json", file: &one }]).expect("a picture");
    for label in ["A: a.json", "B: b.json"] {
        let line = format!("{label}, pcb 0.1.0 (abc1234def), libtorch 2.13.0, 2026-01-02 03:04:05 UTC");
        assert!(svg.contains(&line), "{line}: {svg}");
    }
}

#[test]
fn nothing_cannot_be_plotted() {
    assert!(matches!(svg(&[Input { name: "", file: &file(Vec::new()) }]), Err(PlotError::Nothing)));
    let failed = file(vec![ended(&id("npy:mmap/object/random", "warm"), Outcome::Killed { signal: 9 })]);
    assert!(picture(&failed).contains("killed"), "a case without numbers says why");
}
