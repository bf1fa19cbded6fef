//! Damaged TIFF files: whatever is changed in a sound one, the answer is pixels or an error that names it, soon and
//! without much memory. `PROPTEST_CASES=100000` makes a long search of it.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pcb_formats::{Dataset, FormatError, Pixels, Probe, Site, SourceFile, find, store, tiff_channels, tiff_pages};
use pcb_protocol::{Dtype, Layout, Pad};
use proptest::prelude::*;
use support::{make, objects, spec, write};

/// Sites of the files that are damaged.
const SIZE: (u32, u32) = (37, 300);

/// A sound file for each way of storing, with the dtype of its pixels: OME-TIFFs of two pages.
fn sound() -> &'static [(Dtype, Vec<u8>)] {
    static FILES: OnceLock<Vec<(Dtype, Vec<u8>)>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut files = Vec::new();
        for &dtype in Dtype::ALL {
            let folder = support::folder();
            let dataset = make(folder.path(), dtype, 2, &[SIZE], (8, 8));
            let (format, _) = find("ome-tiff", "strip-none", Layout::Site).expect("known");
            for variant in format.variants.iter().filter(|variant| variant.layout == Layout::Site) {
                write(&dataset, format, variant);
                let file = &(format.files)(&dataset, variant).expect("listed")[0];
                files.push((dtype, fs::read(file).expect("read")));
            }
        }
        files
    })
}

/// A dataset that was imported from the file at `path`: its pages in the other order.
fn dataset(root: &Path, path: &Path, dtype: Dtype) -> Arc<Dataset> {
    let source = [1, 0].map(|page| SourceFile::tiff(path, page)).to_vec();
    let (plate, well, site) = ("P".to_owned(), "A01".to_owned(), "1".to_owned());
    let site = Site { plate, well, site, height: SIZE.0, width: SIZE.1, digest: String::new(), source };
    let names = vec!["a".to_owned(), "b".to_owned()];
    support::finish(root, dtype, names, vec![site], objects(0, SIZE.0, SIZE.1), (8, 8))
}

/// Reads everything there is to read. What both ways of decoding hand out is the same.
fn read_anyhow(dtype: Dtype, bytes: &[u8]) {
    let folder = support::folder();
    let path = folder.path().join("damaged.tif");
    fs::write(&path, bytes).expect("written");
    let names = |error: &FormatError| assert!(error.to_string().contains("damaged.tif"), "{error}");
    let _ = tiff_pages(&path).inspect_err(names);
    let _ = tiff_channels(&path).inspect_err(names);
    let dataset = dataset(folder.path(), &path, dtype);
    let whole = dataset.reference(0).inspect_err(names);
    let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
    let spec = spec(&dataset, variant, &[0, 1], (SIZE.0 as usize, SIZE.1 as usize), Pad::Zero);
    let mut reader = (format.open)(&spec).expect("opening reads nothing");
    let mut out = Pixels::zeros(dtype, spec.crop_bytes() / dtype.size());
    // Object 4 is in the middle: all of the site.
    let read = reader.read(4, out.bytes_mut(), &mut Probe::none()).inspect_err(names);
    if let (Ok(whole), Ok(_)) = (whole, read) {
        assert!(whole.data.bytes() == out.bytes(), "the `tiff` crate and we read other pixels");
    }
    let _ = store::check_objects(format, &spec, &[0, 8]);
}

fn memory_high_water() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Changes of bytes: mostly near the end or the start, where directories lie; to any value, or one that hurts.
fn changes() -> impl Strategy<Value = Vec<(bool, usize, u8)>> {
    let value = prop_oneof![any::<u8>(), Just(0), Just(1), Just(0xff), Just(0x7f), Just(0x80)];
    let place = prop_oneof![4 => 0_usize..600, 1 => 0_usize..20_000];
    prop::collection::vec((any::<bool>(), place, value), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn changed_bytes_are_an_error_or_change_pixels_alike(file in any::<prop::sample::Index>(), changes in changes(), cut in 0_usize..8) {
        let before = memory_high_water();
        let (dtype, bytes) = &sound()[file.index(sound().len())];
        let mut bytes = bytes.clone();
        for (from_end, at, value) in changes {
            let len = bytes.len();
            let at = at % len;
            bytes[if from_end { len - 1 - at } else { at }] = value;
        }
        if cut == 0 {
            bytes.truncate(bytes.len() - bytes.len() / 7);
        }
        read_anyhow(*dtype, &bytes);
        let grown = memory_high_water().saturating_sub(before);
        prop_assert!(grown < 256 << 20, "{grown} bytes of memory");
    }

    #[test]
    fn random_bytes_after_a_sound_header_are_an_error(bytes in prop::collection::vec(any::<u8>(), 0..600), big: bool) {
        let mut headed = if big { b"II\x2b\0\x08\0\0\0\x10\0\0\0\0\0\0\0".to_vec() } else { b"II*\0\x08\0\0\0".to_vec() };
        headed.extend(bytes);
        read_anyhow(Dtype::U16, &headed);
    }
}

/// Enough to see a blunder in a second; `PROPTEST_CASES` says otherwise.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}

#[test]
fn the_files_that_are_damaged_are_sound() {
    for (dtype, bytes) in sound() {
        let folder = support::folder();
        let path: PathBuf = folder.path().join("sound.tif");
        fs::write(&path, bytes).expect("written");
        dataset(folder.path(), &path, *dtype).reference(0).expect("sound");
        read_anyhow(*dtype, bytes);
    }
}
