//! Damaged, missing and lying files: an error that names the file, never a panic, a hang or a wrong number.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_formats::{Dataset, Format, FormatError, Pixels, Probe, Variant, find, store, write_npy};
use pcb_protocol::{Dtype, FailureKind, Layout, Pad};
use support::{filed_variants, holds, make, refused, spec, stored_variants, tiny, write};

fn small(root: &Path) -> Arc<Dataset> {
    make(root, Dtype::U16, 2, &[(40, 50), (40, 50)], (16, 16))
}

/// Reads every object through a fresh reader; the first error, if any.
fn read_all(dataset: &Arc<Dataset>, format: &Format, variant: &'static Variant) -> Result<(), FormatError> {
    let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
    let mut reader = (format.open)(&spec)?;
    let mut out = Pixels::zeros(dataset.info.dtype, spec.crop_bytes() / dataset.info.dtype.size());
    for object in 0..dataset.objects.rows.len() {
        reader.read(object, out.bytes_mut(), &mut Probe::none())?;
    }
    Ok(())
}

/// The first file without which nothing can be read. A missing or short chunk of Zarr has tests of its own.
fn needed_file(files: &[PathBuf]) -> PathBuf {
    let needed = ["chunks.parquet", "data/images.lance", "0/0/.zarray", "0/0/zarr.json"];
    files.iter().find(|file| needed.iter().any(|name| file.ends_with(name))).unwrap_or(&files[0]).clone()
}

/// Every variant with files, stored; and the first file that reading needs.
fn each_stored(check: impl Fn(&Arc<Dataset>, &'static Format, &'static Variant, PathBuf)) {
    for (format, variant) in filed_variants() {
        let folder = support::folder();
        let dataset = small(folder.path());
        write(&dataset, format, variant);
        read_all(&dataset, format, variant).expect("sound at first");
        let file = needed_file(&(format.files)(&dataset, variant).expect("listed"));
        check(&dataset, format, variant, file);
    }
}

fn assert_names(error: &FormatError, path: &Path) {
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text:?} does not name {}", path.display());
}

/// Where `wanted` begins in `bytes`.
fn find_bytes(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The same, where it must be.
fn position(bytes: &[u8], wanted: &[u8]) -> usize {
    find_bytes(bytes, wanted).expect("to be found")
}

/// The first pixels of the first site, or of the first record, as stored.
fn first_pixels(dataset: &Dataset, layout: Layout) -> Vec<u8> {
    if layout == Layout::Site {
        return dataset.reference(0).expect("reference").data.bytes()[..16].to_vec();
    }
    let [channels, height, width] = dataset.record_shape();
    let channels: Vec<usize> = (0..channels).collect();
    let mut record = Pixels::zeros(dataset.info.dtype, channels.len() * height * width);
    let mut reference = pcb_formats::ReferenceCrops::new(dataset);
    reference.cut(0, &channels, (height, width), Pad::Reflect, record.bytes_mut()).expect("cut");
    record.bytes()[..16].to_vec()
}

#[test]
fn a_truncated_file_is_an_error_that_names_it() {
    each_stored(|dataset, format, variant, file| {
        let bytes = fs::read(&file).expect("read");
        for len in [0, 1, 7, 9, 60, 127, 128, 200, bytes.len() / 2, bytes.len() - 1] {
            fs::write(&file, &bytes[..len.min(bytes.len() - 1)]).expect("written");
            let error = refused(read_all(dataset, format, variant));
            assert_names(&error, &file);
            assert_eq!(error.kind(), FailureKind::Failed);
        }
    });
}

#[test]
fn an_empty_file_says_so() {
    each_stored(|dataset, format, variant, file| {
        fs::write(&file, b"").expect("written");
        let error = refused(read_all(dataset, format, variant));
        assert_names(&error, &file);
        assert!(error.to_string().contains("empty file"), "{error}");
    });
}

#[test]
fn a_file_that_is_too_long_is_an_error_that_names_it() {
    each_stored(|dataset, format, variant, file| {
        if format.name != "npy" {
            return;
        }
        let mut bytes = fs::read(&file).expect("read");
        bytes.push(0);
        fs::write(&file, &bytes).expect("written");
        let error = refused(read_all(dataset, format, variant));
        assert_names(&error, &file);
        assert!(error.to_string().contains("too long"), "{error}");
    });
}

#[test]
fn a_changed_byte_of_metadata_is_an_error_or_changes_no_pixel() {
    each_stored(|dataset, format, variant, file| {
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        let bytes = fs::read(&file).expect("read");
        let mut found = 0;
        // Header of a .npy; for TIFF its header and, at the end, its directories.
        let metadata = (0..bytes.len().min(130)).chain(bytes.len().saturating_sub(600)..bytes.len());
        for at in metadata.step_by(3) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x41;
            fs::write(&file, &changed).expect("written");
            let read = read_all(dataset, format, variant);
            if let Err(error) = &read {
                // What one file says may make another one look wrong.
                assert_names(error, &dataset.stored_dir(format.name, variant));
            }
            let verified = store::verify(dataset, format, variant, &mut |_, _| {});
            if read.is_err() || verified.is_err() {
                found += 1;
                continue;
            }
            // Neither saw anything: then there is nothing to see.
            let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
            let mismatch = store::check_objects(format, &spec, &all).expect("read before");
            assert_eq!(mismatch, None, "{}:{}, byte {at}", format.name, variant.name);
        }
        assert!(found > 10, "{}:{}: only {found} changes were seen", format.name, variant.name);
    });
}

#[test]
fn a_changed_pixel_is_found_by_verify_with_its_place() {
    each_stored(|dataset, format, variant, _| {
        if support::is_packed(format, variant) {
            return;
        }
        let first = first_pixels(dataset, variant.layout);
        let files = (format.files)(dataset, variant).expect("listed");
        let held = files.iter().find_map(|file| Some((file, find_bytes(&fs::read(file).expect("read"), &first)?)));
        let (file, at) = held.unwrap_or_else(|| panic!("{}:{} holds plain pixels", format.name, variant.name));
        let mut bytes = fs::read(file).expect("read");
        bytes[at] ^= 1;
        fs::write(file, bytes).expect("written");
        let error = refused(store::verify(dataset, format, variant, &mut |_, _| {})).to_string();
        assert!(error.contains("channel 0, row 0, column 0: expected"), "{error}");
        let named = if variant.layout == Layout::Site { "site P_1-A01-s1" } else { "object \"s0-0\"" };
        assert!(error.contains(named) && error.contains("formats/"), "{error}");
    });
}

#[test]
fn deflate_data_with_a_changed_byte_is_an_error() {
    each_stored(|dataset, format, variant, file| {
        if !format.name.ends_with("tiff") || !variant.name.ends_with("deflate") {
            return;
        }
        let bytes = fs::read(&file).expect("read");
        // The two bytes of a zlib header at level 6 begin the first chunk.
        let start = position(&bytes, &[0x78, 0x9c]);
        for at in [0, 1, 12, 300, 1000] {
            let mut changed = bytes.clone();
            changed[start + at] ^= 0x10;
            fs::write(&file, &changed).expect("written");
            let error = refused(read_all(dataset, format, variant));
            assert_names(&error, &file);
        }
    });
}

#[test]
fn lzw_and_zstd_data_with_a_changed_byte_are_an_error_or_found_by_verify() {
    each_stored(|dataset, format, variant, file| {
        if !format.name.ends_with("tiff") || !support::is_packed(format, variant) || variant.name.contains("deflate") {
            return;
        }
        let bytes = fs::read(&file).expect("read");
        // Both begin with a mark that is always the same: the magic number of a frame, the code that clears the table.
        let mark: &[u8] = if variant.name.contains("zstd") { &[0x28, 0xb5, 0x2f, 0xfd] } else { &[0x80] };
        // BigTIFF has version 43 and a longer header.
        let header = if bytes[2] == 43 { 16 } else { 8 };
        let start = position(&bytes[header..], mark) + header;
        // All within the first row, and not in the part of a tile that lies past the edge.
        for at in [0, 1, 5, 12, 40] {
            let mut changed = bytes.clone();
            changed[start + at] ^= 0x10;
            fs::write(&file, &changed).expect("written");
            if let Err(error) = read_all(dataset, format, variant) {
                assert_names(&error, &file);
            }
            let verified = refused(store::verify(dataset, format, variant, &mut |_, _| {})).to_string();
            assert!(verified.contains("formats/"), "{}, byte {at}: {verified}", variant.name);
        }
    });
}

#[test]
fn a_file_that_vanished_or_is_a_folder_is_an_error_that_names_it() {
    each_stored(|dataset, format, variant, file| {
        fs::remove_file(&file).expect("removed");
        assert_names(&refused(read_all(dataset, format, variant)), &file);
        fs::create_dir(&file).expect("created");
        assert_names(&refused(read_all(dataset, format, variant)), &file);
        let folder = dataset.stored_dir(format.name, variant);
        fs::remove_dir_all(&folder).expect("removed");
        let error = refused(read_all(dataset, format, variant));
        assert_names(&error, &folder);
        assert!(error.to_string().contains("pcb-data write"), "{error}");
    });
}

#[test]
fn another_dtype_or_channel_count_is_refused() {
    each_stored(|dataset, format, variant, _| {
        let mut other = Dataset::clone(dataset);
        other.info.dtype = Dtype::U8;
        let error = refused(read_all(&Arc::new(other), format, variant));
        assert_names(&error, &dataset.stored_dir(format.name, variant));
        let text = error.to_string();
        assert!(text.contains("u16") && text.contains("u8"), "{error}");

        // One channel more than the file holds: npy sees it in the shape, TIFF in the missing page or file.
        let mut other = Dataset::clone(dataset);
        other.info.channels.push("third".into());
        let other = Arc::new(other);
        let spec = spec(&other, variant, &[2], (16, 16), Pad::Reflect);
        let read = (format.open)(&spec).and_then(|mut reader| reader.read(0, &mut [0; 512], &mut Probe::none()));
        let text = refused(read).to_string();
        assert!(text.contains(&dataset.stored_dir(format.name, variant).display().to_string()), "{text}");
    });
}

#[test]
fn channels_that_do_not_exist_are_refused() {
    let folder = support::folder();
    let dataset = small(folder.path());
    for (format, variant) in stored_variants() {
        write(&dataset, format, variant);
        for (channels, size) in [(&[2][..], (4, 4)), (&[], (4, 4)), (&[0], (0, 4))] {
            let error = refused((format.open)(&spec(&dataset, variant, channels, size, Pad::Zero)));
            assert_eq!(error.kind(), FailureKind::Unsupported, "{error}");
        }
    }
}

#[test]
fn a_crop_wholly_outside_its_site_names_object_and_site() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let mut moved = Dataset::clone(&dataset);
    moved.objects.rows[3].y = 400.0;
    let moved = Arc::new(moved);
    for (format, variant) in stored_variants() {
        write(&dataset, format, variant);
        let error = match (format.open)(&spec(&moved, variant, &[0], (16, 16), Pad::Reflect)) {
            Ok(mut reader) => refused(reader.read(3, &mut [0; 512], &mut Probe::none())),
            Err(error) => error,
        };
        let text = error.to_string();
        assert!(text.contains("s0-3") && text.contains("P_1-A01-s1") && text.contains("objects.parquet"), "{text}");
    }
}

#[test]
fn a_failed_write_leaves_nothing() {
    for (format, variant) in filed_variants() {
        let folder = support::folder();
        let dataset = small(folder.path());
        let lost = dataset.root.join("reference").join("P_1-A01-s2.npy");
        fs::remove_file(&lost).expect("removed");
        assert_names(&refused(store::write(&dataset, format, variant, &mut |_, _| {})), &lost);
        assert!(!store::exists(&dataset, format, variant));
        assert_eq!(fs::read_dir(dataset.root.join("formats")).expect("a folder").count(), 0);
    }
}

#[test]
fn a_record_file_of_numpys_other_header_is_read_too() {
    let folder = support::folder();
    let dataset = small(folder.path());
    let (format, variant) = find("npy", "each", Layout::Object).expect("known");
    write(&dataset, format, variant);
    let file = (format.files)(&dataset, variant).expect("listed")[5].clone();
    // The same array behind a header of version 2, as an older numpy may write it.
    let bytes = fs::read(&file).expect("read");
    let text = "{'shape': (2, 16, 16), 'descr': '<u2', 'fortran_order': False}\n";
    let mut other = b"\x93NUMPY\x02\x00".to_vec();
    other.extend((text.len() as u32).to_le_bytes());
    other.extend(text.bytes());
    other.extend(&bytes[128..]);
    fs::write(&file, other).expect("written");
    store::verify(&dataset, format, variant, &mut |_, _| {}).expect("still the same pixels");
    // A big-endian one is refused rather than read wrongly.
    let text = "{'shape': (2, 16, 16), 'descr': '>u2', 'fortran_order': False}\n";
    let mut other = b"\x93NUMPY\x01\x00".to_vec();
    other.extend((text.len() as u16).to_le_bytes());
    other.extend(text.bytes());
    other.extend(&bytes[128..]);
    fs::write(&file, other).expect("written");
    let error = refused(read_all(&dataset, format, variant));
    assert_names(&error, &file);
    assert!(error.to_string().contains("little-endian"), "{error}");
}

#[test]
fn exhausted_descriptors_have_their_own_kind() {
    let error = FormatError::io("x.npy", std::io::Error::from_raw_os_error(24));
    assert_eq!(error.kind(), FailureKind::FdExhausted);
    assert!(error.to_string().starts_with("x.npy: "));
}

#[test]
fn writing_every_dtype_names_its_place_on_a_full_disk() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::F32);
    // What stands where the folder of stored forms should be: a file.
    fs::write(dataset.root.join("formats"), b"in the way").expect("written");
    for (format, variant) in filed_variants().filter(|(format, variant)| holds(format, variant, Dtype::F32)) {
        assert_names(&refused(store::write(&dataset, format, variant, &mut |_, _| {})), &dataset.root.join("formats"));
    }
    let error = refused(write_npy(Path::new("/dev/full"), &[4], &Pixels::zeros(Dtype::U8, 4)));
    assert_names(&error, Path::new("/dev/full"));
}
