//! HDF5 files that are stored in ways of their own: right pixels, or an error that names what is missing.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hdf5_metno::{File, FileBuilder};
use pcb_formats::{Dataset, Format, FormatError, Pixels, Probe, Variant, find, store};
use pcb_protocol::{Dtype, Layout, Pad};
use support::interop::{data, plate};
use support::{make, refused, spec, write};

fn contiguous() -> (&'static Format, &'static Variant) {
    find("hdf5", "contiguous", Layout::Site).expect("known")
}

/// A dataset of one site of 2 x 20 x 26 pixels, stored contiguously; and its file.
fn stored(root: &Path) -> (Arc<Dataset>, PathBuf) {
    let dataset = make(root, Dtype::U16, 2, &[(20, 26)], (8, 8));
    let (format, variant) = contiguous();
    write(&dataset, format, variant);
    let file = (format.files)(&dataset, variant).expect("listed")[0].clone();
    (dataset, file)
}

/// Reads a crop over an edge of the site through a fresh reader.
fn read(dataset: &Arc<Dataset>) -> Result<u64, FormatError> {
    let (format, variant) = contiguous();
    let spec = spec(dataset, variant, &[0, 1], (8, 8), Pad::Reflect);
    (format.open)(&spec)?.read(0, &mut [0; 256], &mut Probe::none())
}

fn assert_refused(dataset: &Arc<Dataset>, file: &Path, words: &str) -> FormatError {
    let error = refused(read(dataset));
    let text = error.to_string();
    assert!(text.contains(words) && text.contains(&file.display().to_string()), "{words}: {text}");
    error
}

#[test]
fn nothing_decoded_outlives_a_read() {
    let (format, _) = contiguous();
    for variant in format.variants {
        let folder = support::folder();
        let dataset = make(folder.path(), Dtype::U16, 2, &[(300, 300)], (64, 64));
        write(&dataset, format, variant);
        let mut reader = (format.open)(&spec(&dataset, variant, &[1], (16, 16), Pad::Reflect)).expect("opens");
        let mut first = Pixels::zeros(Dtype::U16, 256);
        reader.read(4, first.bytes_mut(), &mut Probe::none()).expect("reads");
        // What the reader knows of the file by now is where pixels lie; the pixels themselves have to come from it.
        let file = (format.files)(&dataset, variant).expect("listed")[0].clone();
        let changed: Vec<u8> = fs::read(&file).expect("read").into_iter().map(|byte| byte ^ 0x5a).collect();
        fs::write(&file, changed).expect("written");
        let mut second = Pixels::zeros(Dtype::U16, 256);
        if reader.read(4, second.bytes_mut(), &mut Probe::none()).is_ok() {
            let same = first.bytes().iter().zip(second.bytes()).filter(|(a, b)| a == b).count();
            assert_eq!(same, 0, "{}/{}: pixels that the file does not hold", variant.name, variant.layout);
        }
    }
}

#[test]
fn the_same_dataset_gives_the_same_bytes() {
    let (format, _) = contiguous();
    for variant in format.variants {
        let files: Vec<Vec<u8>> = (0..2)
            .map(|_| {
                let folder = support::folder();
                let dataset = make(folder.path(), Dtype::F32, 2, &[(140, 150)], (8, 8));
                write(&dataset, format, variant);
                fs::read(&(format.files)(&dataset, variant).expect("listed")[0]).expect("read")
            })
            .collect();
        assert!(files[0] == files[1], "{}/{}", variant.name, variant.layout);
    }
}

#[test]
fn pixels_in_other_files_are_refused() {
    let folder = support::folder();
    let (dataset, file) = stored(folder.path());
    fs::write(folder.path().join("raw"), [0; 2080]).expect("written");
    let create = || FileBuilder::new().create(&file).expect("created");
    let raw = folder.path().join("raw").display().to_string();
    create().new_dataset::<u16>().external(&raw, 0, 2080).shape([2, 20, 26]).create("image").expect("created");
    let error = assert_refused(&dataset, &file, "other files");
    assert!(matches!(error, FormatError::Unsupported(_)));
    create()
        .new_dataset::<u16>()
        .virtual_map("other.h5", "image", [2, 20, 26], .., [2, 20, 26], ..)
        .shape([2, 20, 26])
        .create("image")
        .expect("created");
    let error = assert_refused(&dataset, &file, "Virtual");
    assert!(matches!(error, FormatError::Unsupported(_)));
}

#[test]
fn pixels_that_were_never_written_are_not_zeros() {
    let folder = support::folder();
    let (dataset, file) = stored(folder.path());
    let create = |file| FileBuilder::new().create(file).expect("created");
    create(&file).new_dataset::<u16>().shape([2, 20, 26]).create("image").expect("created");
    assert_refused(&dataset, &file, "never written");
    // Of chunks, only some may be missing. The library hands out zeros for them, and verifying sees that.
    let image = create(&file).new_dataset::<u16>().chunk([1, 20, 26]).shape([2, 20, 26]).create("image");
    let pixels = dataset.reference(0).expect("reference").data;
    let Pixels::U16(pixels) = pixels else { panic!("u16") };
    let plane = ndarray::ArrayView::from_shape((1, 20, 26), &pixels[..520]).expect("a plane");
    image.expect("created").write_slice(plane, (0..1, .., ..)).expect("written");
    let (format, variant) = contiguous();
    let error = refused(store::verify(&dataset, format, variant, &mut |_, _| {})).to_string();
    assert!(error.contains("channel 1, row 0, column 0") && error.contains("got 0"), "{error}");
}

#[test]
fn other_datasets_and_files_are_refused() {
    let folder = support::folder();
    let (dataset, file) = stored(folder.path());
    let create = || -> File { FileBuilder::new().create(&file).expect("created") };
    create().new_dataset::<u16>().shape([2, 20, 26]).create("picture").expect("created");
    assert_refused(&dataset, &file, "/image");
    create().new_dataset::<u16>().shape([2, 26, 20]).create("image").expect("created");
    assert_refused(&dataset, &file, "shape [2, 26, 20]; expected [2, 20, 26]");
    create().new_dataset::<f32>().shape([2, 20, 26]).create("image").expect("created");
    assert_refused(&dataset, &file, "dtype f32; expected u16");
    create().new_dataset::<i16>().shape([2, 20, 26]).create("image").expect("created");
    let error = assert_refused(&dataset, &file, "int16");
    assert!(matches!(error, FormatError::Unsupported(_)));
    create().create_group("image").expect("created");
    assert_refused(&dataset, &file, "/image");
    fs::write(&file, b"not HDF5 at all").expect("written");
    assert_refused(&dataset, &file, "signature");
}

/// A file of h5py with some bytes of its metadata changed, which no library at hand writes in that way.
fn altered(file: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).expect("read");
    change(&mut bytes);
    fs::remove_file(file).expect("removed");
    fs::write(file, bytes).expect("written");
}

fn position(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|window| window == wanted).expect("to be found")
}

#[test]
fn a_filter_that_is_not_there_is_refused_by_name() {
    let Some(interop) = data("interop") else { return };
    for (id, name) in [(32000_u16, "lzf"), (32001, "blosc"), (32015, "zstd"), (4711, "number 4711")] {
        let folder = support::folder();
        let plate = plate(folder.path(), &interop);
        let (format, variant) = find("hdf5", "chunk-record-gzip4-shuffle", Layout::Object).expect("known");
        let file = plate.put(format, variant, &interop.join("hdf5").join("gzip4-shuffle.h5"), "crops.h5");
        altered(&file, |bytes| {
            // A filter is its number, the length of its name, flags, the count of its values (2 bytes each), its name.
            let at = position(bytes, b"deflate\0") - 8;
            assert_eq!(bytes[at..at + 2], [1, 0]);
            bytes[at..at + 2].copy_from_slice(&id.to_le_bytes());
        });
        let spec = spec(&plate.dataset, variant, &[0], (8, 8), Pad::Reflect);
        let error = refused((format.open)(&spec));
        assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(&format!("filter {name} is not")) && text.contains("crops.h5"), "{text}");
    }
}

#[test]
fn big_endian_pixels_come_out_right() {
    let Some(interop) = data("interop") else { return };
    let folder = support::folder();
    let plate = plate(folder.path(), &interop);
    let (format, variant) = find("hdf5", "contiguous", Layout::Object).expect("known");
    let file = plate.put(format, variant, &interop.join("hdf5").join("contiguous.h5"), "crops.h5");
    let image = plate.dataset.reference(0).expect("reference").data;
    altered(&file, |bytes| {
        // A fixed-point type of 2 bytes, 16 bits from 0 on; the first bit after its class is the byte order.
        let at = position(bytes, &[0x10, 0, 0, 0, 2, 0, 0, 0, 0, 0, 16, 0]);
        bytes[at + 1] = 1;
        let first = position(bytes, &image.bytes()[..64]);
        for pixel in bytes[first..first + 4 * image.bytes().len()].chunks_exact_mut(2) {
            pixel.swap(0, 1);
        }
    });
    assert_eq!(plate.digests(format, variant), plate.expected);
}
