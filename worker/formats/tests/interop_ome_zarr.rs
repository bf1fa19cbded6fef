//! Plates of zarr-python, read in place from `$PCB_TEST_DATA`; skipped without it.

mod support;

use std::fs;
use std::path::PathBuf;

use pcb_formats::{find, ome_zarr_plate, plane_info, site_digest, store};
use pcb_protocol::{Dtype, Layout, Pad};
use serde_json::Value;
use support::zarr;

#[test]
fn plates_of_zarr_python_have_the_digests_of_their_manifest() {
    let Some(interop) = std::env::var_os("PCB_TEST_DATA").map(|root| PathBuf::from(root).join("interop")) else {
        println!("skipped: PCB_TEST_DATA is not set");
        return;
    };
    let interop = interop.canonicalize().expect("a folder");
    let manifest: Value =
        serde_json::from_slice(&fs::read(interop.join("manifest.json")).expect("manifest.json")).expect("JSON");
    let ids: Vec<&str> = manifest["ids"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
    for name in ["v2-ome04-plate.zarr", "v3-ome05-plate.zarr"] {
        let plate = ome_zarr_plate(&interop.join("ome-zarr").join(name)).expect("reads").expect("a plate");
        assert_eq!((plate.name.as_str(), plate.fields.len(), plate.missing.len()), ("P1", ids.len(), 0));
        let mut sites = Vec::new();
        for (field, id) in plate.fields.iter().zip(&ids) {
            // Fields count from 0, the sites of the other files from 1.
            let number: u32 = field.field.parse().expect("a number");
            assert_eq!(*id, format!("P1-{}-s{}", field.well, number + 1));
            assert_eq!((field.channels, field.names.join(" ")), (3, "DNA AGP RNA".to_owned()));
            let digest = manifest["sha256"][id].as_str().expect("a digest").to_owned();
            sites.push(zarr::site(&field.array, [3, 96, 128], digest));
        }
        let folder = support::folder();
        let dataset = zarr::dataset(folder.path(), Dtype::U16, 3, sites);
        let (format, variant) = find("ome-zarr", "source", Layout::Site).expect("known");
        for (index, site) in dataset.info.sites.iter().enumerate() {
            let info = plane_info(&site.source[0].path, &site.source[0]).expect("described");
            assert_eq!((info.height, info.width, info.dtype), (96, 128, Dtype::U16));
            assert_eq!(site_digest(&dataset.reference(index).expect("zarrs reads it")), site.digest, "{name}");
        }
        assert_eq!(store::verify(&dataset, format, variant, &mut |_, _| {}).expect("our reader agrees"), 4, "{name}");
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        let spec = support::spec(&dataset, variant, &[2, 0, 1], (30, 30), Pad::Reflect);
        assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None);
        // 12 chunks, and the metadata of array and image: one file in version 3, which has attributes in it.
        let listed = (format.files)(&dataset, variant).expect("listed");
        let chunks =
            listed.iter().filter(|file| file.extension().is_none() && file.file_name() != Some(".zattrs".as_ref()));
        assert!(listed.iter().all(|file| file.is_file()) && listed.len() >= 4 * 14, "{name}: {}", listed.len());
        assert!(chunks.count() >= 4 * 12, "{name}");
    }
}
