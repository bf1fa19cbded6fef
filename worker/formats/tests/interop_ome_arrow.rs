//! What ome-arrow 0.1.0 wrote. Read in place from `$PCB_TEST_DATA`; skipped without it.

mod support;

use std::fs;
use std::path::PathBuf;

use pcb_formats::{arrow_columns, arrow_images, read_arrow_dataset, read_arrow_image, site_digest};
use pcb_protocol::Dtype;
use serde_json::Value;

/// The folder of files of other writers, or `None` after saying so.
fn interop() -> Option<PathBuf> {
    let root = std::env::var_os("PCB_TEST_DATA").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    Some(root?.canonicalize().expect("PCB_TEST_DATA: a folder").join("interop"))
}

/// Ids and digests.
fn expected(interop: &std::path::Path) -> Vec<(String, String)> {
    let text = fs::read(interop.join("manifest.json")).expect("manifest.json");
    let manifest: Value = serde_json::from_slice(&text).expect("JSON");
    let digests = manifest["sha256"].as_object().expect("digests").iter();
    digests.map(|(id, digest)| (id.clone(), digest.as_str().expect("a digest").to_owned())).collect()
}

#[test]
fn tables_of_both_encodings_have_the_digests_of_their_manifest() {
    let Some(interop) = interop() else { return };
    let expected = expected(&interop);
    for name in ["list-encoding.parquet", "bytes-zstd-chunk32.parquet"] {
        let path = interop.join("ome-arrow").join(name);
        assert_eq!(arrow_columns(&path).expect("listed"), ["image"]);
        let images = arrow_images(&path, "image").expect("read");
        assert_eq!(images.len(), 4);
        for (row, image) in images.into_iter().enumerate() {
            let image = image.expect("an image");
            assert_eq!((image.height, image.width, image.dtype), (96, 128, Dtype::U16));
            assert_eq!(image.channels, ["DNA", "AGP", "RNA"]);
            let pixels = read_arrow_image(&path, None, row as u64).expect("read");
            let digest = &expected.iter().find(|(id, _)| *id == image.id).expect("known").1;
            assert_eq!(&site_digest(&pixels), digest, "{name} {}", image.id);
        }
        assert!(read_arrow_image(&path, None, 4).is_err());
        assert!(read_arrow_image(&path, Some("picture"), 0).is_err());
    }
}

#[test]
fn a_chunk_dataset_has_the_digests_of_its_manifest() {
    let Some(interop) = interop() else { return };
    let folder = interop.join("ome-arrow/chunk-dataset");
    for (id, digest) in expected(&interop) {
        assert_eq!(site_digest(&read_arrow_dataset(&folder, &id).expect("read")), digest, "{id}");
    }
    assert!(read_arrow_dataset(&folder, "nobody").is_err());
    // Without its index, which may be left out.
    let other = support::folder();
    for name in ["_ome_arrow_dataset.json", "images.parquet", "chunks.parquet"] {
        fs::copy(folder.join(name), other.path().join(name)).expect("copied");
    }
    for (id, digest) in expected(&interop) {
        assert_eq!(site_digest(&read_arrow_dataset(other.path(), &id).expect("read")), digest, "{id}");
    }
}
