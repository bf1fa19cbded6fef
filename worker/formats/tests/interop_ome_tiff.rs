//! Big-endian OME-TIFFs of signed bytes, as Bio-Formats wrote them. Read in place from `$PCB_TEST_DATA`; skipped
//! without it.

mod support;

use std::path::PathBuf;

use pcb_formats::{Pixels, Site, SourceFile, find, store, tiff_channels, tiff_pages};
use pcb_protocol::{Dtype, Layout, Pad};
use sha2::{Digest, Sha256};
use support::objects;

/// What tifffile 2026.3.3 says: `sha256(TiffFile(path).asarray().astype("<f4").tobytes())`.
const FILES: &[(&str, u32, &str)] = &[
    ("single-channel", 1, "a1eaa9f890e938556d6004f648ff05ed9c46c8cdb815a8a8c3fd584a6a8013f2"),
    ("multi-channel", 3, "63de5dcf4c3c21987c34e8168a39b7bc01e0ab443c2c7fee4da487d069008ae3"),
    ("z-series", 5, "9ef397f8d77ef0de8c2af020f31fcdba1f8a71e5a6835ec36bd735a3b1ca203b"),
];

fn data() -> Option<PathBuf> {
    let root = std::env::var_os("PCB_TEST_DATA").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    Some(root?.canonicalize().expect("a folder").join("ome-tiff"))
}

#[test]
fn signed_bytes_are_floats_of_the_same_value() {
    let Some(folder) = data() else { return };
    for &(name, pages, digest) in FILES {
        let path = folder.join(format!("{name}.ome.tiff"));
        let found = tiff_pages(&path).expect("pages");
        assert_eq!(found.len(), pages as usize);
        assert!(found.iter().all(|page| (page.height, page.width, page.dtype) == (167, 439, Dtype::F32)));
        let scratch = support::folder();
        let source = (0..pages).map(|page| SourceFile::tiff(path.clone(), page)).collect();
        let (plate, well, site) = ("P".to_owned(), "A01".to_owned(), "1".to_owned());
        let site = Site { plate, well, site, height: 167, width: 439, digest: digest.to_owned(), source };
        let names = (0..pages).map(|page| page.to_string()).collect();
        let dataset = support::finish(scratch.path(), Dtype::F32, names, vec![site], objects(0, 167, 439), (8, 8));
        // The whole pages, through the `tiff` crate, and our own reader.
        let whole = dataset.reference(0).expect("decodes").data;
        let sum: String = Sha256::digest(whole.bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, digest, "{name}");
        let Pixels::F32(values) = &whole else { panic!("floats") };
        // tifffile: minimum, maximum, [0, 0], [100, 200], [166, 438] of every page.
        for page in values.chunks(167 * 439) {
            assert_eq!(page.iter().copied().fold(f32::INFINITY, f32::min), -1.0);
            assert_eq!(page.iter().copied().fold(f32::NEG_INFINITY, f32::max), 96.0);
            assert_eq!([page[0], page[100 * 439 + 200], page[166 * 439 + 438]], [0.0, 58.0, 96.0]);
        }
        let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
        store::verify(&dataset, format, variant, &mut |_, _| {}).expect("our reader agrees");
        let channels: Vec<usize> = (0..pages as usize).collect();
        let spec = support::spec(&dataset, variant, &channels, (31, 40), Pad::Reflect);
        let all: Vec<usize> = (0..9).collect();
        assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{name}");
    }
}

#[test]
fn ome_xml_tells_channels_from_z_planes() {
    let Some(folder) = data() else { return };
    for (&(name, pages, _), expected) in FILES.iter().zip([&[0][..], &[0, 1, 2], &[0]]) {
        let (channels, count) = tiff_channels(&folder.join(format!("{name}.ome.tiff"))).expect("channels");
        assert_eq!(count, pages as usize);
        let found: Vec<(&str, u32)> = channels.iter().map(|channel| (channel.name.as_str(), channel.page)).collect();
        let named = |&page: &u32| (["ch1", "ch2", "ch3"][page as usize], page);
        assert_eq!(found, expected.iter().map(named).collect::<Vec<_>>(), "{name}");
    }
}
