//! What a stored form was written from, and what is written again.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use pcb_formats::{Dataset, find, store};
use pcb_protocol::{Dtype, Layout};
use support::{filed_variants, files_below, make, write};

fn small(root: &Path) -> Arc<Dataset> {
    make(root, Dtype::U16, 2, &[(40, 50), (40, 50)], (16, 16))
}

#[test]
fn a_form_that_exists_is_left_alone() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let (format, variant) = find("npy", "mmap", Layout::Site).expect("known");
    write(&dataset, format, variant);
    let file = (format.files)(&dataset, variant).expect("listed")[0].clone();
    fs::write(&file, b"mine").expect("written");
    write(&dataset, format, variant);
    assert_eq!(fs::read(&file).expect("read"), b"mine");
}

#[test]
fn a_form_of_other_pixels_is_written_again() {
    for (format, variant) in filed_variants() {
        let folder = support::folder();
        let first = small(folder.path());
        write(&first, format, variant);
        // The same folder, other pixels: of other sizes, so that old files would be refused or wrong.
        let second = make(folder.path(), Dtype::U16, 2, &[(42, 50)], (16, 16));
        assert!(!store::exists(&second, format, variant), "{}:{}", format.name, variant.name);
        assert!(store::list(&second).expect("listed").iter().all(|form| !form.current));
        write(&second, format, variant);
        store::verify(&second, format, variant, &mut |_, _| {}).expect("the new pixels");
        let sharing = format.variants.iter().filter(|other| other.stored == variant.stored);
        let files: BTreeSet<_> = sharing.flat_map(|other| (format.files)(&second, other).expect("listed")).collect();
        let mut there = files_below(&second.stored_dir(format.name, variant));
        // Groups of OME-Zarr are not read: two JSON files or one each.
        there.retain(|path| format.name != "ome-zarr" || files.contains(path) || path.ends_with("form.json"));
        assert_eq!(there.len(), files.len() + 1, "{}:{}: no file of the old form is left", format.name, variant.name);
        assert_eq!(fs::read_dir(second.root.join("formats")).expect("a folder").count(), 1);
    }
}

#[test]
fn a_form_of_another_writer_or_without_a_word_counts_as_missing() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let (format, variant) = find("tiff", "tile128-lzw", Layout::Site).expect("known");
    write(&dataset, format, variant);
    let said = dataset.stored_dir(format.name, variant).join("form.json");
    let text = fs::read_to_string(&said).expect("read");
    let writer = format!("\"writer\": {}", format.writer);
    assert!(text.contains(&dataset.info.digest) && text.contains(&writer) && text.contains("128x128, LZW"), "{text}");
    for other in [
        text.replace(&writer, "\"writer\": 0"),
        text.replace("128x128", "64x64"),
        text.replace("tile128-lzw", "tile64-lzw"),
        text.replace("\"version\": 1", "\"version\": 2"),
        String::new(),
    ] {
        fs::write(&said, other).expect("written");
        assert!(!store::exists(&dataset, format, variant));
    }
    fs::remove_file(&said).expect("removed");
    assert!(!store::exists(&dataset, format, variant));
    write(&dataset, format, variant);
    assert_eq!(fs::read_to_string(&said).expect("read"), text);
}

#[test]
fn what_is_measured_does_not_hold_the_words_about_it() {
    let folder = support::folder();
    let dataset = small(folder.path());
    for (format, variant) in filed_variants() {
        write(&dataset, format, variant);
        let files = (format.files)(&dataset, variant).expect("listed");
        assert!(files.iter().all(|file| !file.ends_with("form.json")), "{}:{}", format.name, variant.name);
    }
}

#[test]
fn variants_that_share_a_form_agree_on_it() {
    for (format, variant) in filed_variants() {
        for other in format.variants.iter().filter(|other| other.stored == variant.stored) {
            assert_eq!((other.parameters, other.layout), (variant.parameters, variant.layout), "{}", variant.stored);
        }
    }
}
