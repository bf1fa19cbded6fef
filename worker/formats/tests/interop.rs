//! Files of other writers: numpy, tifffile, microscopes. Read in place from `$PCB_TEST_DATA`; skipped without it.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use pcb_formats::{Pixels, Site, SitePixels, SourceFile, find, read_npy, site_digest, store, tiff_pages};
use pcb_protocol::{Dtype, Layout};
use serde_json::Value;
use sha2::{Digest, Sha256};
use support::objects;

/// The folder of real data, or `None` after saying so.
fn data(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PCB_TEST_DATA").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    let root = root?;
    assert!(root.is_dir(), "PCB_TEST_DATA: {} is no folder", root.display());
    // Datasets of the tests lie elsewhere and refer to these files by absolute paths.
    Some(root.canonicalize().expect("a path").join(folder))
}

fn manifest(interop: &Path) -> (Vec<String>, Value) {
    let text = fs::read(interop.join("manifest.json")).expect("manifest.json");
    let manifest: Value = serde_json::from_slice(&text).expect("JSON");
    let ids = manifest["ids"].as_array().expect("ids").iter();
    (ids.map(|id| id.as_str().expect("an id").to_owned()).collect(), manifest)
}

fn sha256(pixels: &Pixels) -> String {
    Sha256::digest(pixels.bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn numpys_files_have_the_digests_of_their_manifest() {
    let Some(interop) = data("interop") else { return };
    let (ids, manifest) = manifest(&interop);
    for id in &ids {
        let array = read_npy(&interop.join("npy-per-image").join(format!("{id}.npy"))).expect("reads");
        assert_eq!(array.shape, [3, 96, 128]);
        assert_eq!(sha256(&array.data), manifest["sha256"][id]);
        let site = SitePixels { channels: 3, height: 96, width: 128, data: array.data };
        assert_eq!(site_digest(&site), manifest["sha256"][id]);
    }
    for name in ["stack.npy", "stack-fortran.npy"] {
        let array = read_npy(&interop.join("npy").join(name)).expect("reads");
        assert_eq!(array.shape, [4, 3, 96, 128]);
        let Pixels::U16(all) = array.data else { panic!("u2") };
        for (id, image) in ids.iter().zip(all.chunks(3 * 96 * 128)) {
            assert_eq!(sha256(&Pixels::U16(image.to_vec())), manifest["sha256"][id], "{name} {id}");
            assert_eq!(
                image[(96 + 50) * 128 + 60],
                manifest["probe"][id]["[1,50,60]"].as_u64().expect("a number") as u16
            );
        }
    }
}

#[test]
fn tifffiles_ome_tiffs_have_the_digests_of_their_manifest() {
    let Some(interop) = data("interop") else { return };
    let (ids, manifest) = manifest(&interop);
    for name in ["strip-none", "strip-lzw-predictor", "tile32-deflate", "bigendian-tile32-lzw"] {
        let folder = support::folder();
        let mut sites = Vec::new();
        let mut rows = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            let path = interop.join("ome-tiff").join(name).join(format!("{id}.ome.tif"));
            let pages = tiff_pages(&path).expect("pages");
            assert_eq!(pages.len(), 3);
            assert!(pages.iter().all(|page| (page.height, page.width, page.dtype) == (96, 128, Dtype::U16)));
            let source = (0..3).map(|page| SourceFile::tiff(path.clone(), page)).collect();
            sites.push(site(index, 96, 128, manifest["sha256"][id].as_str().expect("a digest"), source));
            rows.extend(objects(index, 96, 128));
        }
        let dataset = support::finish(folder.path(), Dtype::U16, channels(3), sites, rows, (16, 16));
        for index in 0..ids.len() {
            let reference = dataset.reference(index).expect("decodes through the tiff crate");
            assert_eq!(site_digest(&reference), dataset.info.sites[index].digest, "{name}");
        }
        let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
        assert_eq!(store::verify(&dataset, format, variant, &mut |_, _| {}).expect("our reader agrees"), 4, "{name}");
        assert_eq!((format.files)(&dataset, variant).expect("listed").len(), 4);
        check_crops(&dataset, 30);
    }
}

#[test]
fn microscope_tiffs_have_the_digests_that_tifffile_gives() {
    // tifffile 2026.3.3: sha256(TiffFile(path).pages[0].asarray().astype("<u2" or "u1").tobytes())
    let jump: &[(&str, &str)] = &[
        ("r01c01f01p01-ch2sk1fk1fl1.tiff", "355fdc44966d34fb560160babf7cb653417c32a52dece1f33528104cdb6aa81c"),
        ("r01c01f01p01-ch3sk1fk1fl1.tiff", "1509b48ffacfcfc75ff23b11059f08bbf97a5ba53adf077785f2b0256d1e8789"),
        ("r01c01f01p01-ch5sk1fk1fl1.tiff", "9fc238667e442cb3d5be4cc55a2525d23ee94bd090ba90db9923e61695697f96"),
    ];
    let nf1: &[(&str, &str)] = &[
        ("B7_01_1_3_DAPI_001.tif", "65bf56b8016daf24e9e7b51e50fdc6bb1627992c17088286a00e3532bec77c63"),
        ("D6_01_2_2_GFP_001.tif", "bb5f204b96e9f398e19cb92d7c651ab62fea5bd45a0abe1658efa5413e6285c5"),
        ("H12_01_3_1_RFP_001.tif", "d4040dae0ea5a88c7778cc8476d06c6ee096faf5dc9b9f4dae7fe0501fc9b4bb"),
    ];
    let masks: &[(&str, &str)] = &[
        ("B7_01_1_3_DAPI_001_MaskNuclei.tiff", "8ee11f44ed9c27aa2e4d34210e0fb6d022041c1ee66dcd489b53cbee5aeb6643"),
        ("H12_01_3_1_RFP_001_MaskCells.tiff", "ee3d5a61e1fbaf49a8448b289617790a546a78c2fe8b8027704357c857759e45"),
    ];
    for (folder, dtype, files) in [
        ("jump/images", Dtype::U16, jump),
        ("nf1/Plate_2_images", Dtype::U16, nf1),
        ("nf1/Plate_2_masks", Dtype::U8, masks),
    ] {
        let Some(images) = data(folder) else { return };
        let scratch = support::folder();
        let (mut sites, mut rows) = (Vec::new(), Vec::new());
        for (index, (name, digest)) in files.iter().enumerate() {
            let path = images.join(name);
            let page = tiff_pages(&path).expect("pages")[0];
            assert_eq!(page.dtype, dtype);
            sites.push(site(index, page.height, page.width, digest, vec![SourceFile::tiff(path, 0)]));
            rows.extend(objects(index, page.height, page.width));
        }
        let dataset = support::finish(scratch.path(), dtype, channels(1), sites, rows, (64, 64));
        let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
        store::verify(&dataset, format, variant, &mut |_, _| {}).expect("the digests are those of tifffile");
        check_crops(&dataset, 65);
    }
}

/// Crops of `size` through the source variant equal those cut from the reference.
fn check_crops(dataset: &std::sync::Arc<pcb_formats::Dataset>, size: usize) {
    let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
    let channels: Vec<usize> = (0..dataset.channels()).collect();
    let spec = support::spec(dataset, variant, &channels, (size, size), pcb_protocol::Pad::Reflect);
    let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
    assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None);
}

fn channels(count: usize) -> Vec<String> {
    (0..count).map(|channel| channel.to_string()).collect()
}

fn site(index: usize, height: u32, width: u32, digest: &str, source: Vec<SourceFile>) -> Site {
    let (plate, well, site) = ("P1".to_owned(), "A01".to_owned(), index.to_string());
    Site { plate, well, site, height, width, digest: digest.to_owned(), source }
}
