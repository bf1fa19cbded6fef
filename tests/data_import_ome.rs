//! Importing OME-TIFFs: channels and planes as their OME-XML tells them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb::data::import::{Import, import};
use pcb::data::make::{make, preset};
use pcb::data::{DataError, Made};
use pcb_formats::{Dataset, Pixels, find, store};
use pcb_protocol::{Dtype, Layout};

fn request(images: &Path) -> Import {
    Import {
        name: "ome".into(),
        images: images.to_owned(),
        profiles: None,
        id: None,
        grid: Some(8),
        pattern: None,
        skip_missing: false,
        record: 64,
        seed: 1,
        force: false,
    }
}

fn imported(root: &Path, request: &Import) -> Result<Made, DataError> {
    import(root, request, &mut |_| ())
}

#[test]
fn what_we_write_is_imported_with_its_names_and_pixels() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recipe = preset("smoke").expect("known").recipe.clone();
    (recipe.wells, recipe.sites_per_well, recipe.site_size) = (2, 1, 260);
    let made = make(folder.path(), "made", &recipe, None, false, &mut |_| ()).expect("made");
    let dataset = Dataset::open(&made.folder).expect("opened");
    for (name, variant) in
        [("ome-tiff", "strip-none"), ("ome-tiff", "tile512-lzw-pyramid"), ("tiff", "bigtiff-tile128-zstd")]
    {
        let (format, variant) = find(name, variant, Layout::Site).expect("known");
        store::write(&dataset, format, variant, &mut |_, _| ()).expect("written");
        let images = dataset.stored_dir(name, variant);
        let made = imported(folder.path(), &Import { force: true, ..request(&images) }).expect("imported");
        assert!(made.warnings.is_empty(), "{:?}", made.warnings);
        let names: Vec<String> = match name {
            "ome-tiff" => dataset.info.channels.clone(),
            _ => (0..dataset.channels()).map(|channel| format!("c{channel}")).collect(),
        };
        assert_eq!(made.info.channels, names);
        let digests = |info: &pcb_formats::DatasetInfo| {
            info.sites.iter().map(|site| (site.well.clone(), site.digest.clone())).collect::<Vec<_>>()
        };
        assert_eq!(digests(&made.info), digests(&dataset.info), "{name}:{}", variant.name);
    }
}

/// The folder of real OME-TIFFs, or `None` after saying so.
fn real() -> Option<PathBuf> {
    let root = std::env::var_os("PCB_TEST_DATA").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    Some(root?.join("ome-tiff"))
}

/// Links to some of the real files.
fn links(root: &Path, names: &[&str]) -> Option<PathBuf> {
    let (from, to) = (real()?.canonicalize().expect("a folder"), root.join("images"));
    fs::create_dir(&to).expect("created");
    for name in names {
        std::os::unix::fs::symlink(from.join(name), to.join(name)).expect("linked");
    }
    Some(to)
}

#[test]
fn channels_of_signed_bytes_keep_their_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(images) = links(folder.path(), &["multi-channel.ome.tiff"]) else { return };
    let made = imported(folder.path(), &request(&images)).expect("imported");
    assert!(made.warnings.is_empty(), "{:?}", made.warnings);
    let dataset = Arc::new(Dataset::open(&made.folder).expect("opened"));
    assert_eq!(dataset.info.channels, ["ch1", "ch2", "ch3"]);
    assert_eq!((dataset.info.dtype, dataset.info.objects), (Dtype::F32, 8));
    let site = &dataset.info.sites[0];
    assert_eq!((site.well.as_str(), site.site.as_str(), site.height, site.width), ("multi-channel", "1", 167, 439));
    // tifffile 2026.3.3: sha256(imread(path).astype("<f4").tobytes()); minimum and maximum; [2, 100, 200].
    assert_eq!(site.digest, "63de5dcf4c3c21987c34e8168a39b7bc01e0ab443c2c7fee4da487d069008ae3");
    let Pixels::F32(values) = dataset.reference(0).expect("reference").data else { panic!("floats") };
    assert_eq!(values.iter().copied().fold(f32::INFINITY, f32::min), -1.0);
    assert_eq!(values.iter().copied().fold(f32::NEG_INFINITY, f32::max), 96.0);
    assert_eq!(values[(2 * 167 + 100) * 439 + 200], 58.0);
    let (format, source) = find("tiff", "source", Layout::Site).expect("known");
    assert_eq!(store::verify(&dataset, format, source, &mut |_, _| ()).expect("read in place"), 1);
}

#[test]
fn other_z_planes_are_left_out_and_it_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(images) = links(folder.path(), &["z-series.ome.tiff", "single-channel.ome.tiff"]) else { return };
    let pattern = Some(r"(?<well>[a-z]+)-(?<site>\w+)\.ome\.tiff".to_owned());
    let made = imported(folder.path(), &Import { pattern, ..request(&images) }).expect("imported");
    assert_eq!(made.info.channels, ["ch1"]);
    assert_eq!(made.info.sites.len(), 2);
    // tifffile: sha256(TiffFile(path).pages[0].asarray().astype("<f4").tobytes())
    assert_eq!(made.info.sites[1].digest, "a93f1a4c7013d35e0a12a0a2ee2153113dd407a272fe8da242a227e652edf4d2");
    let [warning] = &made.warnings[..] else { panic!("{:?}", made.warnings) };
    assert!(warning.contains("4 of the 5 planes of z-series.ome.tiff"), "{warning}");
}

#[test]
fn files_of_different_channels_make_no_dataset_unless_some_may_be_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(images) = real() else { return };
    let error = imported(folder.path(), &request(&images)).expect_err("one, three and one channels").to_string();
    assert!(error.contains("ch2") && error.contains("well single-channel"), "{error}");
    let made = imported(folder.path(), &Import { skip_missing: true, ..request(&images) }).expect("imported");
    assert_eq!((made.info.channels.len(), made.info.sites.len()), (3, 1));
    assert_eq!(made.info.sites[0].well, "multi-channel");
}
