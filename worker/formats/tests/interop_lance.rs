//! A dataset that pylance wrote, from `$PCB_TEST_DATA`; and datasets of ours that were damaged.
#![cfg(feature = "lance")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_formats::{Dataset, FormatError, Pixels, Probe, Variant, find, store};
use pcb_protocol::{Dtype, Layout, Pad};
use support::interop::{data, plate};
use support::{files_below, make, refused, spec};

fn copy_tree(from: &Path, to: &Path) {
    for file in files_below(from) {
        let place = to.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        // Not `copy`, which would keep them from being changed.
        fs::write(place, fs::read(&file).expect("read")).expect("written");
    }
}

#[test]
fn a_dataset_of_pylance_has_the_digests_of_its_manifest() {
    let Some(interop) = data("interop") else { return };
    for layout in [Layout::Object, Layout::Site] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("lance", "list", layout).expect("known");
        let place = plate.dataset.stored_dir(format.name, variant).join("images.lance");
        copy_tree(&interop.join("lance/ome-arrow.lance"), &place);
        assert_eq!(plate.digests(format, variant), plate.expected);
        assert_eq!(store::verify(&plate.dataset, format, variant, &mut |_, _| {}).expect("verifies"), 4);
        for size in [(32, 40), (7, 9)] {
            let spec = spec(&plate.dataset, variant, &[2, 0, 1], size, Pad::Reflect);
            assert_eq!(store::check_objects(format, &spec, &[0, 1, 2, 3]).expect("reads"), None, "{size:?}");
        }
    }
}

fn small(root: &Path) -> Arc<Dataset> {
    make(root, Dtype::U16, 2, &[(40, 50), (40, 50)], (16, 16))
}

fn read_all(dataset: &Arc<Dataset>, variant: &'static Variant) -> Result<(), FormatError> {
    let (format, _) = find("lance", variant.name, variant.layout).expect("known");
    let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
    let mut reader = (format.open)(&spec)?;
    let mut out = Pixels::zeros(Dtype::U16, 512);
    (0..dataset.objects.rows.len())
        .try_for_each(|object| reader.read(object, out.bytes_mut(), &mut Probe::none()).map(|_| ()))
}

/// Every variant, stored, with its files.
fn each_stored(check: impl Fn(&Arc<Dataset>, &'static Variant, &[PathBuf])) {
    let (format, _) = find("lance", "list", Layout::Object).expect("known");
    for variant in format.variants {
        let folder = support::folder();
        let dataset = small(folder.path());
        support::write(&dataset, format, variant);
        read_all(&dataset, variant).expect("sound at first");
        check(&dataset, variant, &(format.files)(&dataset, variant).expect("listed"));
    }
}

#[test]
fn a_damaged_manifest_is_an_error_or_changes_no_pixel() {
    each_stored(|dataset, variant, files| {
        let (format, _) = find("lance", variant.name, variant.layout).expect("known");
        let sound = fs::read(&files[0]).expect("read");
        for len in [0, 1, 15, 16, 40, sound.len() / 2, sound.len() - 1] {
            fs::write(&files[0], &sound[..len]).expect("written");
            let text = refused(read_all(dataset, variant)).to_string();
            assert!(text.contains(&files[0].display().to_string()), "{text}");
        }
        for at in (0..sound.len()).step_by(3) {
            let mut changed = sound.clone();
            changed[at] ^= 0x41;
            fs::write(&files[0], &changed).expect("written");
            match read_all(dataset, variant) {
                Ok(()) => drop(store::verify(dataset, format, variant, &mut |_, _| {}).expect("nothing changed")),
                Err(error) => assert!(error.to_string().contains("formats/lance"), "byte {at}: {error}"),
            }
        }
    });
}

#[test]
fn every_changed_byte_of_a_data_file_is_an_error_or_found_by_verify_or_changes_no_pixel() {
    each_stored(|dataset, variant, files| {
        let (format, _) = find("lance", variant.name, variant.layout).expect("known");
        let sound = fs::read(&files[1]).expect("read");
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        // Pixels at the beginning, descriptions at the end.
        let places =
            (0..sound.len().min(400)).step_by(7).chain((sound.len().saturating_sub(6000)..sound.len()).step_by(11));
        let mut found = 0;
        for at in places {
            let mut changed = sound.clone();
            changed[at] ^= 0x41;
            fs::write(&files[1], &changed).expect("written");
            let read = read_all(dataset, variant);
            if let Err(error) = &read {
                assert!(error.to_string().contains("formats/lance"), "byte {at}: {error}");
            }
            let verified = store::verify(dataset, format, variant, &mut |_, _| {});
            if read.is_err() || verified.is_err() {
                found += 1;
                continue;
            }
            let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
            let mismatch = store::check_objects(format, &spec, &all).expect("read before");
            assert_eq!(mismatch, None, "{}, byte {at}", variant.name);
        }
        assert!(found > 10, "{}: only {found} changes were seen", variant.name);
    });
}

#[test]
fn equal_datasets_are_equal_bytes() {
    each_stored(|dataset, variant, files| {
        let (format, _) = find("lance", variant.name, variant.layout).expect("known");
        let before: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("read")).collect();
        store::rewrite(dataset, format, variant, &mut |_, _| {}).expect("written");
        let after: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).expect("read")).collect();
        assert!(before == after, "{}", variant.name);
    });
}
