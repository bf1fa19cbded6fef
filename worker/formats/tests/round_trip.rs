//! What was stored comes back: every variant, every dtype, crops over every edge.

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use pcb_formats::{Dataset, FormatError, Pixels, Probe, Stage, find, store};
use pcb_protocol::{Dtype, Layout, Pad};
use support::{
    filed_variants, files_below, holds, is_packed, make, refused, spec, stored_forms, stored_variants, tiny, try_write,
    variants, write,
};

#[test]
fn every_variant_hands_out_the_reference_pixels() {
    for &dtype in Dtype::ALL {
        let folder = support::folder();
        let dataset = tiny(folder.path(), dtype);
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        for (format, variant) in stored_variants() {
            if !try_write(&dataset, format, variant) {
                continue;
            }
            for size in [(21, 24), (20, 24), (7, 10), (1, 1)] {
                for pad in [Pad::Reflect, Pad::Zero] {
                    for channels in [&[0, 1, 2][..], &[2, 0], &[1]] {
                        let spec = spec(&dataset, variant, channels, size, pad);
                        let mismatch = store::check_objects(format, &spec, &all).expect("reads");
                        let what =
                            format!("{}:{}/{} {dtype} {size:?} {pad}", format.name, variant.name, variant.layout);
                        assert_eq!(mismatch, None, "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn site_variants_cut_crops_larger_than_the_site() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
    for (format, variant) in stored_variants().filter(|(_, variant)| variant.layout == Layout::Site) {
        write(&dataset, format, variant);
        for pad in [Pad::Reflect, Pad::Zero] {
            let spec = spec(&dataset, variant, &[0, 2], (140, 200), pad);
            assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{}", variant.name);
        }
    }
}

#[test]
fn what_a_format_cannot_hold_is_said_by_write_and_open() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::F32);
    for (format, variant) in stored_variants().filter(|(format, variant)| !holds(format, variant, Dtype::F32)) {
        let error = refused(store::write(&dataset, format, variant, &mut |_, _| {}));
        assert!(matches!(error, FormatError::Unsupported(_)) && error.to_string().contains("f32"), "{error}");
        assert!(!store::exists(&dataset, format, variant));
    }
}

#[test]
fn every_variant_verifies() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    for (format, variant) in filed_variants() {
        write(&dataset, format, variant);
        let mut last = (0, 0);
        let count = store::verify(&dataset, format, variant, &mut |done, total| last = (done, total));
        let expected = match variant.layout {
            Layout::Site => dataset.info.sites.len(),
            Layout::Object => dataset.objects.rows.len(),
        };
        assert_eq!(count.expect("verifies"), expected as u64);
        assert_eq!(last, (expected as u64, expected as u64));
    }
    // Comparing the reference with itself proves nothing.
    for layout in [Layout::Site, Layout::Object] {
        let (format, variant) = find("memory", "ram", layout).expect("known");
        let error = refused(store::verify(&dataset, format, variant, &mut |_, _| {}));
        assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
    }
}

#[test]
fn a_centre_within_half_a_pixel_of_the_far_edge_is_the_last_pixel() {
    let folder = support::folder();
    let dataset = make(folder.path(), Dtype::U16, 1, &[(64, 64)], (8, 8));
    let (expected, last) = (dataset.reference(0).expect("reference"), 64 * 64 - 1);
    let bottom_right = dataset.objects.rows.len() - 1;
    assert_eq!((dataset.objects.rows[bottom_right].y, dataset.objects.rows[bottom_right].x), (63.5, 63.5));
    for (format, variant) in stored_variants() {
        write(&dataset, format, variant);
        let mut reader = (format.open)(&spec(&dataset, variant, &[0], (1, 1), Pad::Zero)).expect("opens");
        let mut out = Pixels::zeros(Dtype::U16, 1);
        reader.read(bottom_right, out.bytes_mut(), &mut Probe::none()).expect("on the site");
        assert_eq!(out.bytes(), &expected.data.bytes()[2 * last..], "{}:{}", format.name, variant.name);
    }
}

#[test]
fn a_folder_whose_path_is_not_text_is_as_good_as_another() {
    let folder = support::folder();
    let dataset = tiny(&folder.path().join(OsStr::from_bytes(b"d\xffta")), Dtype::U16);
    let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
    let mut refusing = std::collections::BTreeSet::new();
    for (format, variant) in stored_variants() {
        if let Err(error) = store::write(&dataset, format, variant, &mut |_, _| {}) {
            // Said before anything is written, with the reason.
            assert!(matches!(&error, FormatError::Unsupported(why) if why.contains("not UTF-8")), "{error}");
            refusing.insert((format.name, variant.stored));
            continue;
        }
        assert!(store::exists(&dataset, format, variant));
        for size in [(21, 24), (7, 10)] {
            let spec = spec(&dataset, variant, &[0, 1, 2], size, Pad::Reflect);
            let mismatch = store::check_objects(format, &spec, &all).expect("reads");
            assert_eq!(mismatch, None, "{}:{}/{}", format.name, variant.name, variant.layout);
        }
    }
    assert_eq!(store::list(&dataset).expect("listed").len() + refusing.len(), stored_forms());
    assert!(refusing.iter().all(|(format, _)| *format == "ome-zarr"), "{refusing:?}");
}

#[test]
fn only_memory_keeps_decoded_pixels() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    for (format, variant) in variants() {
        let bytes = (format.resident_bytes)(&spec(&dataset, variant, &[0, 2], (7, 10), Pad::Reflect));
        let expected = match (variant.stored, variant.layout) {
            ("none", Layout::Site) => 2 * 3 * (45 * 61 + 45 * 61 + 1 + 130 * 257),
            ("none", Layout::Object) => 36 * 2 * 2 * 7 * 10,
            _ => 0,
        };
        assert_eq!(bytes, expected, "{}:{}", format.name, variant.name);
    }
}

#[test]
fn a_crop_larger_than_the_record_says_what_to_do() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    for (format, variant) in stored_variants().filter(|(_, variant)| variant.layout == Layout::Object) {
        write(&dataset, format, variant);
        let error = refused((format.open)(&spec(&dataset, variant, &[0], (22, 24), Pad::Reflect)));
        assert!(matches!(error, FormatError::Unsupported(_)));
        assert!(error.to_string().contains("21x24") && error.to_string().contains("--record 22x24"), "{error}");
    }
}

#[test]
fn a_generated_dataset_has_no_source() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
    assert!(!store::exists(&dataset, format, variant));
    for error in [
        refused((format.open)(&spec(&dataset, variant, &[0], (4, 4), Pad::Reflect))),
        refused((format.files)(&dataset, variant)),
        refused(store::write(&dataset, format, variant, &mut |_, _| {})),
    ] {
        assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
    }
}

#[test]
fn files_lists_exactly_what_was_written() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U8);
    for (format, variant) in filed_variants() {
        assert!(!store::exists(&dataset, format, variant) || store::list(&dataset).is_ok());
        write(&dataset, format, variant);
        assert!(store::exists(&dataset, format, variant));
        let mut found = files_below(&dataset.stored_dir(format.name, variant));
        found.retain(|path| !path.ends_with("form.json"));
        // Of variants that share a form, each may read a part of it.
        let sharing = format.variants.iter().filter(|other| other.stored == variant.stored);
        let read = sharing.flat_map(|variant| (format.files)(&dataset, variant).expect("listed"));
        let read: std::collections::BTreeSet<_> = read.collect();
        assert_eq!(read.into_iter().collect::<Vec<_>>(), found, "{}:{}", format.name, variant.name);
    }
    let listed = store::list(&dataset).expect("listed");
    let names: Vec<String> = listed.iter().map(|form| format!("{}:{}", form.format, form.stored)).collect();
    assert_eq!(names[..3], ["npy:object-stack", "npy:object-each", "npy:site"]);
    assert_eq!(names.len(), stored_forms());
    assert!(listed.iter().all(|form| form.bytes > 0 && form.current));
}

#[test]
fn stages_and_touched_bytes_are_told() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    for (format, variant) in stored_variants() {
        write(&dataset, format, variant);
        let spec = spec(&dataset, variant, &[0, 1, 2], (8, 8), Pad::Reflect);
        let mut reader = (format.open)(&spec).expect("opens");
        let mut out = Pixels::zeros(Dtype::U16, 3 * 64);
        let mut stages = Vec::new();
        let mut listener = |stage| stages.push(stage);
        // Object 4 is in the middle of the first site.
        let touched = reader.read(4, out.bytes_mut(), &mut Probe::new(&mut listener)).expect("reads");
        let read = stages.contains(&Stage::Read) || stages.contains(&Stage::ReadDecode);
        assert!(touched > 0 && read, "{} {stages:?}", variant.name);
        let packed = is_packed(format, variant);
        let decoded = stages.contains(&Stage::Decode) || stages.contains(&Stage::ReadDecode);
        assert!(!packed || decoded, "{}", variant.name);
        assert!(packed || touched >= 3 * 64 * 2, "{} {touched}", variant.name);
    }
}

#[test]
fn a_dataset_without_objects_is_stored_and_opens() {
    let folder = support::folder();
    let full = tiny(folder.path(), Dtype::U16);
    let info = full.info.clone();
    let dataset = support::finish(folder.path(), Dtype::U16, info.channels, info.sites, Vec::new(), (8, 8));
    for (format, variant) in stored_variants() {
        write(&dataset, format, variant);
        let opened = (format.open)(&spec(&dataset, variant, &[0], (4, 4), Pad::Reflect));
        assert!(
            refused(opened.expect("opens").read(0, &mut [0; 32], &mut Probe::none())).to_string().contains("0 rows")
        );
    }
}

#[test]
fn the_same_table_gives_the_same_bytes_and_comes_back() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    let path = folder.path().join("objects.parquet");
    let before = fs::read(&path).expect("read");
    dataset.objects.write(&path, &dataset.info.sites).expect("written");
    assert_eq!(fs::read(&path).expect("read"), before);
    assert_eq!(Dataset::open(folder.path()).expect("opens").objects, dataset.objects);
}

#[test]
fn a_digest_changes_with_pixels_and_objects_and_not_with_names() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    let (mut info, mut objects) = (dataset.info.clone(), dataset.objects.clone());
    info.name = "other".into();
    info.origin = "elsewhere".into();
    assert_eq!(Dataset::digest_of(&info, &objects), dataset.info.digest);
    objects.rows[3].x += 0.5;
    assert_ne!(Dataset::digest_of(&info, &objects), dataset.info.digest);
    info.sites[1].digest = "0".repeat(64);
    assert_ne!(Dataset::digest_of(&info, &dataset.objects), dataset.info.digest);
}
