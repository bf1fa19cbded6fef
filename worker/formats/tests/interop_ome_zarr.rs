//! Plates that zarr-python wrote, read in place; and arrays as other programs may write them.

mod support;

use std::fs;
use std::path::{Path, PathBuf};

use pcb_formats::{
    FormatError, Pixels, PlateFields, Site, SitePixels, SourceFile, SourceKind, find, plane_info, plate_fields,
    site_digest, store,
};
use pcb_protocol::{Dtype, Layout, Pad};
use sha2::{Digest, Sha256};

fn sources(array: &Path, channels: u32) -> Vec<SourceFile> {
    let source = |page| SourceFile { path: array.to_owned(), kind: SourceKind::OmeZarr, page, row: 0, column: None };
    (0..channels).map(source).collect()
}

/// A dataset whose only site is the array in `folder`; its digest is taken through the library's own reading.
fn dataset_of(root: &Path, array: &Path, channels: u32) -> std::sync::Arc<pcb_formats::Dataset> {
    let source = sources(array, channels);
    let info = plane_info(array, &source[0]).expect("an array");
    let mut site = Site {
        plate: "p".into(),
        well: "A01".into(),
        site: "1".into(),
        height: info.height,
        width: info.width,
        digest: String::new(),
        source,
    };
    let names = (0..channels).map(|c| c.to_string()).collect::<Vec<_>>();
    let rows = support::objects(0, info.height, info.width);
    let make = |site: &Site| support::finish(root, info.dtype, names.clone(), vec![site.clone()], rows.clone(), (8, 8));
    site.digest = site_digest(&make(&site).reference(0).expect("read"));
    make(&site)
}

#[test]
fn every_field_of_both_plates_holds_the_images_of_the_manifest() {
    let Some(data) = std::env::var_os("PCB_TEST_DATA") else {
        eprintln!("skipped: PCB_TEST_DATA is not set");
        return;
    };
    let folder = PathBuf::from(data).join("interop");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("manifest.json")).expect("a manifest")).expect("JSON");
    for plate in ["v2-ome04-plate.zarr", "v3-ome05-plate.zarr"] {
        let PlateFields { fields, missing } =
            plate_fields(&folder.join("ome-zarr").join(plate)).expect("reads").expect("a plate");
        assert_eq!((fields.len(), missing.len()), (4, 0), "{plate}");
        for field in fields {
            let scratch = support::folder();
            let dataset = dataset_of(scratch.path(), &field.array, 3);
            let number: usize = field.field.parse().expect("a number");
            let id = format!("P1-{}-s{}", field.well, number + 1);
            let pixels = dataset.reference(0).expect("read");
            let digest = format!("{:x}", Sha256::digest(pixels.data.bytes()));
            assert_eq!(digest, manifest["sha256"][&id].as_str().expect("text"), "{plate} {id}");
            // Our chunk reader agrees with the library's whole planes, over every edge.
            let (format, source) = find("ome-zarr", "source", Layout::Site).expect("known");
            let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
            for size in [(40, 50), (200, 300)] {
                let spec = support::spec(&dataset, source, &[2, 0], size, Pad::Reflect);
                assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{plate} {id}");
            }
            assert!(store::verify(&dataset, format, source, &mut |_, _| {}).is_ok());
        }
    }
}

/// An array of one uncompressed chunk, its bytes as given.
fn array(root: &Path, metadata: serde_json::Value, chunk: &str, bytes: &[u8]) -> PathBuf {
    let folder = root.join("plate.zarr/A/1/0/0");
    fs::create_dir_all(folder.join(chunk).parent().expect("a folder")).expect("made");
    let name = if metadata["zarr_format"] == 2 { ".zarray" } else { "zarr.json" };
    fs::write(folder.join(name), metadata.to_string()).expect("written");
    fs::write(folder.join(chunk), bytes).expect("written");
    folder
}

fn v2(dtype: &str, order: &str, shape: &[usize]) -> serde_json::Value {
    serde_json::json!({
        "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": dtype, "compressor": null, "fill_value": 0,
        "order": order, "filters": null,
    })
}

#[test]
fn other_byte_orders_axes_and_signs_give_the_right_values() {
    let values: Vec<u16> = (0..2 * 3 * 4).map(|i| i * 1000 + 7).collect();
    let expected = SitePixels { channels: 2, height: 3, width: 4, data: Pixels::U16(values.clone()) };
    let big: Vec<u8> = values.iter().flat_map(|v| v.to_be_bytes()).collect();
    let fortran: Vec<u8> = {
        let at = |c: usize, y: usize, x: usize| values[(c * 3 + y) * 4 + x];
        let all = (0..4).flat_map(|x| (0..3).flat_map(move |y| (0..2).map(move |c| (c, y, x))));
        all.flat_map(|(c, y, x)| at(c, y, x).to_le_bytes()).collect()
    };
    let little: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let mut sharp = v2("<u2", "C", &[1, 2, 1, 3, 4]);
    sharp["dimension_separator"] = "/".into();
    for (metadata, chunk, bytes) in [
        (v2(">u2", "C", &[2, 3, 4]), "0.0.0", &big),
        (v2("<u2", "F", &[2, 3, 4]), "0.0.0", &fortran),
        (v2("<u2", "C", &[1, 2, 1, 3, 4]), "0.0.0.0.0", &little),
        (sharp, "0/0/0/0/0", &little),
    ] {
        let root = support::folder();
        let what = metadata.to_string();
        let dataset = dataset_of(root.path(), &array(root.path(), metadata, chunk, bytes), 2);
        assert_eq!(dataset.reference(0).expect("read"), expected, "{what}");
        let (format, source) = find("ome-zarr", "source", Layout::Site).expect("known");
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        let spec = support::spec(&dataset, source, &[1, 0], (3, 2), Pad::Reflect);
        assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{what}");
    }
}

#[test]
fn signed_integers_keep_their_values_as_floats() {
    let root = support::folder();
    let bytes: Vec<u8> = [-300_i16, -1, 0, 300].iter().flat_map(|v| v.to_be_bytes()).collect();
    let dataset = dataset_of(root.path(), &array(root.path(), v2(">i2", "C", &[1, 2, 2]), "0.0.0", &bytes), 1);
    assert_eq!(dataset.info.dtype, Dtype::F32);
    assert_eq!(dataset.reference(0).expect("read").data, Pixels::F32(vec![-300.0, -1.0, 0.0, 300.0]));
    let (format, source) = find("ome-zarr", "source", Layout::Site).expect("known");
    assert!(store::verify(&dataset, format, source, &mut |_, _| {}).is_ok());
}

#[test]
fn what_cannot_be_read_is_named() {
    let with = |key: &str, value: serde_json::Value| {
        let mut metadata = v2("<u2", "C", &[1, 2, 2]);
        metadata[key] = value;
        metadata
    };
    for (metadata, words) in [
        (with("zarr_format", 4.into()), "version 4"),
        (with("compressor", serde_json::json!({ "id": "wavpack" })), "wavpack"),
        (with("filters", serde_json::json!([{ "id": "delta", "dtype": "<u2" }])), "delta"),
        (with("dtype", "<u8".into()), "<u8"),
    ] {
        let root = support::folder();
        let folder = array(root.path(), metadata, "0.0.0", &[0; 8]);
        // Version 4 has neither name; what stands there is read under the old one.
        if folder.join("zarr.json").exists() {
            fs::rename(folder.join("zarr.json"), folder.join(".zarray")).expect("renamed");
        }
        let error = support::refused(plane_info(&folder, &sources(&folder, 1)[0]));
        assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
        assert!(error.to_string().contains(words) && error.to_string().contains(".zarray"), "{error}");
    }
}

#[test]
fn chunk_sizes_that_lie_cost_no_memory() {
    let root = support::folder();
    let mut metadata = v2("<u2", "C", &[1, 2, 2]);
    metadata["chunks"] = serde_json::json!([1, 4_000_000_000_u64, 4_000_000_000_u64]);
    let folder = array(root.path(), metadata, "0.0.0", &[0; 8]);
    let error = support::refused(plane_info(&folder, &sources(&folder, 1)[0]));
    assert!(error.to_string().contains("impossible"), "{error}");
}
