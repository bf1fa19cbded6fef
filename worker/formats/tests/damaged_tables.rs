//! Tables of Lance and Vortex that were damaged, and written twice.
#![cfg(any(feature = "lance", feature = "vortex"))]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_formats::{Dataset, FORMATS, Format, FormatError, Pixels, Probe, Variant, store};
use pcb_protocol::{Dtype, Pad};
use support::{make, refused, spec};

fn small(root: &Path) -> Arc<Dataset> {
    make(root, Dtype::U16, 2, &[(40, 50), (40, 50)], (16, 16))
}

fn read_all(dataset: &Arc<Dataset>, format: &Format, variant: &'static Variant) -> Result<(), FormatError> {
    let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
    let mut reader = (format.open)(&spec)?;
    let mut out = Pixels::zeros(Dtype::U16, 512);
    (0..dataset.objects.rows.len())
        .try_for_each(|object| reader.read(object, out.bytes_mut(), &mut Probe::none()).map(|_| ()))
}

/// Every variant of these formats, stored, with its files.
fn each_stored(check: impl Fn(&Arc<Dataset>, &'static Format, &'static Variant, &[PathBuf])) {
    for format in FORMATS.iter().filter(|format| ["lance", "vortex"].contains(&format.name)) {
        for variant in format.variants {
            let folder = support::folder();
            let dataset = small(folder.path());
            support::write(&dataset, format, variant);
            read_all(&dataset, format, variant).expect("sound at first");
            check(&dataset, format, variant, &(format.files)(&dataset, variant).expect("listed"));
        }
    }
}

/// Changes the byte at each of `places`. Every change must be an error that names the form, be found by `verify`, or change
/// no pixel; `least` of them at least must be seen.
fn change_bytes(
    (dataset, format, variant): (&Arc<Dataset>, &Format, &'static Variant),
    file: &Path,
    places: impl Iterator<Item = usize>,
    least: usize,
) {
    let sound = fs::read(file).expect("read");
    let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
    let mut found = 0;
    for at in places {
        let mut changed = sound.clone();
        changed[at] ^= 0x41;
        fs::write(file, &changed).expect("written");
        let read = read_all(dataset, format, variant);
        if let Err(error) = &read {
            let folder = dataset.stored_dir(format.name, variant);
            assert!(error.to_string().contains(&folder.display().to_string()), "byte {at}: {error}");
        }
        if read.is_err() || store::verify(dataset, format, variant, &mut |_, _| {}).is_err() {
            found += 1;
            continue;
        }
        let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
        let mismatch = store::check_objects(format, &spec, &all).expect("read before");
        assert_eq!(mismatch, None, "{}:{}, byte {at}", format.name, variant.name);
    }
    fs::write(file, sound).expect("written");
    assert!(found >= least, "{}:{}: only {found} changes were seen", format.name, variant.name);
}

#[test]
fn every_changed_byte_of_a_file_of_pixels_is_seen_or_changes_nothing() {
    each_stored(|dataset, format, variant, files| {
        let file = files.last().expect("a file");
        let len = fs::metadata(file).expect("a file").len() as usize;
        // Pixels at the beginning, descriptions at the end.
        let places = (0..len.min(400)).step_by(7).chain((len.saturating_sub(6000)..len).step_by(11));
        change_bytes((dataset, format, variant), file, places, 50);
    });
}

#[test]
fn a_damaged_manifest_of_lance_is_an_error_or_changes_nothing() {
    each_stored(|dataset, format, variant, files| {
        if format.name != "lance" {
            return;
        }
        let sound = fs::read(&files[0]).expect("read");
        for len in [0, 1, 15, 16, 40, sound.len() / 2, sound.len() - 1] {
            fs::write(&files[0], &sound[..len]).expect("written");
            let text = refused(read_all(dataset, format, variant)).to_string();
            assert!(text.contains(&files[0].display().to_string()), "{text}");
        }
        fs::write(&files[0], &sound).expect("written");
        change_bytes((dataset, format, variant), &files[0], (0..sound.len()).step_by(3), 10);
    });
}

#[test]
fn equal_datasets_are_equal_bytes() {
    each_stored(|dataset, format, variant, files| {
        let read = || -> Vec<Vec<u8>> { files.iter().map(|file| fs::read(file).expect("read")).collect() };
        let before = read();
        store::rewrite(dataset, format, variant, &mut |_, _| {}).expect("written");
        assert!(before == read(), "{}:{}", format.name, variant.name);
    });
}
