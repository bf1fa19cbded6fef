//! Plain sample sets: what `pcb-data make --samples` makes, through the library and the program.

use std::process::Command;

use pcb::data::make::{Samples, make_samples};
use pcb::data::{DataError, verify_reference};
use pcb_formats::{Dataset, Pixels, Probe, find, store};
use pcb_protocol::{Dtype, Layout, Pad};

fn samples(dtype: Dtype) -> Samples {
    Samples { seed: 3, count: 5, shape: "2x20x33".parse().expect("a shape"), dtype }
}

#[test]
fn a_crop_of_the_shape_is_the_sample_in_both_layouts() {
    let folder = tempfile::tempdir().expect("a folder");
    for &dtype in Dtype::ALL {
        let wanted = samples(dtype);
        let made = make_samples(folder.path(), &wanted.name(), &wanted, None, false, &mut |_| ()).expect("made");
        assert_eq!((made.info.sites.len(), made.info.objects, made.info.record.width), (5, 5, 33));
        let dataset = std::sync::Arc::new(Dataset::open(&made.folder).expect("opened"));
        verify_reference(&dataset, &mut |_| ()).expect("sound");
        let bytes: u64 = (0..5).map(|site| dataset.info.site_bytes(site)).sum();
        assert_eq!(bytes, wanted.sizes().reference);
        for (variant, layout) in [("mmap", Layout::Object), ("pread", Layout::Site)] {
            let (format, variant) = find("npy", variant, layout).expect("known");
            store::write(&dataset, format, variant, &mut |_, _| {}).expect("written");
            let spec = pcb_formats::OpenSpec {
                dataset: dataset.clone(),
                variant,
                channels: vec![0, 1],
                height: 20,
                width: 33,
                pad: Pad::Zero,
            };
            let mut reader = (format.open)(&spec).expect("opens");
            let mut out = Pixels::zeros(dtype, 2 * 20 * 33);
            reader.read(4, out.bytes_mut(), &mut Probe::none()).expect("read");
            assert_eq!(out, dataset.reference(4).expect("reference").data, "{dtype} {layout}");
        }
    }
}

#[test]
fn the_same_request_gives_the_same_pixels_and_floats_have_negatives() {
    let (folder, again) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let made = |folder: &tempfile::TempDir, threads| {
        make_samples(folder.path(), "a", &samples(Dtype::F32), Some(threads), false, &mut |_| ()).expect("made")
    };
    assert_eq!(made(&folder, 1).info.digest, made(&again, 2).info.digest);
    assert!(made(&folder, 1).kept);
    let other = Samples { seed: 4, ..samples(Dtype::F32) };
    let refused = make_samples(folder.path(), "a", &other, None, false, &mut |_| ());
    assert!(matches!(refused, Err(DataError::Exists { .. })));
    let dataset = Dataset::open(&folder.path().join("a")).expect("opened");
    let Pixels::F32(values) = dataset.reference(0).expect("reference").data else { panic!("floats") };
    assert!(values.iter().all(|value| value.is_finite()) && values.iter().any(|value| *value < 0.0));
}

#[test]
fn command_lines_that_mean_nothing_are_refused() {
    let run =
        |words: &[&str]| Command::new(env!("CARGO_BIN_EXE_pcb-data")).arg("make").args(words).output().expect("runs");
    for words in [
        &["--samples", "4"][..],
        &["--shape", "1x8x8"],
        &["--samples", "4", "--shape", "8x8"],
        &["--samples", "4", "--shape", "1x8x8", "--wells", "2"],
        &["smoke", "--samples", "4", "--shape", "1x8x8"],
        &["--samples", "0", "--shape", "1x8x8"],
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
