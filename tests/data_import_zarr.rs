//! Importing OME-Zarr plates: ours, and those that zarr-python wrote.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pcb::data::import::{Import, import};
use pcb::data::make::{make, preset};
use pcb::data::{DataError, Made};
use pcb_formats::{Dataset, find, store};
use pcb_protocol::Layout;
use sha2::{Digest, Sha256};

fn request(images: &Path) -> Import {
    Import {
        name: "plate".into(),
        images: images.to_owned(),
        profiles: None,
        id: None,
        grid: Some(6),
        pattern: None,
        skip_missing: false,
        record: 32,
        seed: 1,
        force: false,
    }
}

fn imported(root: &Path, request: &Import) -> Result<Made, DataError> {
    import(root, request, &mut |_| ())
}

/// Every way of reading the imported dataset agrees with the library's own reading, and so does its decoy.
fn check(folder: &Path) {
    let dataset = Arc::new(Dataset::open(folder).expect("opened"));
    let decoy = Arc::new(Dataset::open(&dataset.decoy_dir()).expect("opened"));
    let (format, variant) = find("ome-zarr", "source", Layout::Site).expect("known");
    for dataset in [dataset, decoy] {
        assert!(store::exists(&dataset, format, variant));
        store::verify(&dataset, format, variant, &mut |_, _| {}).expect("the same pixels");
        assert!((format.files)(&dataset, variant).expect("listed").iter().all(|file| file.is_file()));
    }
}

#[test]
fn what_we_write_is_imported_with_its_names_and_pixels() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recipe = preset("smoke").expect("known").recipe.clone();
    (recipe.wells, recipe.sites_per_well, recipe.site_size) = (2, 2, 150);
    let made = make(folder.path(), "made", &recipe, None, false, &mut |_| ()).expect("made");
    let dataset = Dataset::open(&made.folder).expect("opened");
    for variant in ["v2-chunk1024-blosc", "v3-shard1024-tile128-zstd"] {
        let (format, variant) = find("ome-zarr", variant, Layout::Site).expect("known");
        store::write(&dataset, format, variant, &mut |_, _| {}).expect("written");
        let plates = dataset.stored_dir(format.name, variant);
        let mut request = request(&plates);
        request.name = format!("from-{}", variant.name);
        let made = imported(folder.path(), &request).expect("imported");
        assert!(made.warnings.is_empty(), "{:?}", made.warnings);
        assert_eq!(made.info.channels, dataset.info.channels);
        let digests = |info: &pcb_formats::DatasetInfo| {
            info.sites.iter().map(|site| (site.well.clone(), site.digest.clone())).collect::<Vec<_>>()
        };
        assert_eq!(digests(&made.info), digests(&dataset.info));
        check(&made.folder);
    }
}

#[test]
fn holes_in_a_plate_are_said_and_left_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let recipe = preset("smoke").expect("known").recipe.clone();
    let made = make(folder.path(), "made", &recipe, None, false, &mut |_| ()).expect("made");
    let dataset = Dataset::open(&made.folder).expect("opened");
    let (format, variant) = find("ome-zarr", "v2-tile128-zstd", Layout::Site).expect("known");
    store::write(&dataset, format, variant, &mut |_, _| {}).expect("written");
    let plate = dataset.stored_dir(format.name, variant).join("made.zarr");
    fs::remove_dir_all(plate.join("A/01")).expect("removed");
    let made = imported(folder.path(), &request(&plate)).expect("imported");
    assert_eq!(made.info.sites.iter().map(|site| site.well.as_str()).collect::<Vec<_>>(), ["A02", "A02"]);
    assert!(made.warnings[0].contains("A/01") && made.warnings[0].contains("not there"), "{:?}", made.warnings);
}

#[test]
fn plates_of_zarr_python_are_read_in_place() {
    let Some(data) = std::env::var_os("PCB_TEST_DATA") else {
        eprintln!("skipped: PCB_TEST_DATA is not set");
        return;
    };
    let interop = Path::new(&data).join("interop");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(interop.join("manifest.json")).expect("a manifest")).expect("JSON");
    for plate in ["v2-ome04-plate.zarr", "v3-ome05-plate.zarr"] {
        let folder = tempfile::tempdir().expect("a folder");
        let made = imported(folder.path(), &request(&interop.join("ome-zarr").join(plate))).expect("imported");
        assert_eq!((made.info.sites.len(), made.info.objects), (4, 24), "{plate}");
        check(&made.folder);
        let dataset = Dataset::open(&made.folder).expect("opened");
        for (index, site) in dataset.info.sites.iter().enumerate() {
            let number: usize = site.site.parse().expect("a number");
            let id = format!("P1-{}-s{}", site.well, number + 1);
            let pixels = dataset.reference(index).expect("read");
            let digest = format!("{:x}", Sha256::digest(pixels.data.bytes()));
            assert_eq!(digest, manifest["sha256"][&id].as_str().expect("text"), "{plate} {id}");
        }
    }
}
