//! Importing two published plates from `$PCB_TEST_DATA`; expected values were read with pyarrow and tifffile.

use std::path::{Path, PathBuf};

use pcb::data::import::{Import, import};
use pcb::data::{self, DataError, Verdict};
use pcb_formats::{Dataset, find, store};
use pcb_protocol::{Dtype, Layout};

/// Row, column, and box (first row, first column, end row, end column) of an object.
type Expected = (&'static str, f32, f32, [i32; 4]);

fn plates() -> Option<PathBuf> {
    let folder = std::env::var_os("PCB_TEST_DATA").filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    folder.map(PathBuf::from)
}

fn request(name: &str, images: PathBuf, profiles: PathBuf) -> Import {
    Import {
        name: name.to_owned(),
        images,
        profiles: Some(profiles),
        id: None,
        grid: None,
        pattern: None,
        skip_missing: false,
        record: 128,
        seed: 1,
        force: false,
    }
}

fn jump(plates: &Path) -> Import {
    request("jump", plates.join("jump/images"), plates.join("jump/BR00117006_shrunken.parquet"))
}

fn nf1(plates: &Path) -> Import {
    request("nf1", plates.join("nf1/Plate_2_images"), plates.join("nf1/Plate_2_with_image_data_shrunken.parquet"))
}

fn opened(root: &Path, request: &Import) -> Dataset {
    let made = import(root, request, &mut |_| ()).expect("imported");
    Dataset::open(&made.folder).expect("opened")
}

fn assert_objects(dataset: &Dataset, expected: &[Expected]) {
    let rows = dataset.objects.rows.iter();
    let got: Vec<_> = rows.map(|row| (row.id.as_str(), row.y, row.x, row.bbox)).collect();
    assert_eq!(got, expected);
}

#[test]
fn jump_has_its_objects_and_names_the_missing_channels() {
    let Some(plates) = plates() else { return };
    let root = tempfile::tempdir().expect("a folder");
    let Err(DataError::Missing { names }) = import(root.path(), &jump(&plates), &mut |_| ()) else {
        panic!("five channels are not there")
    };
    let missing = [1, 4, 6, 7, 8].map(|channel| format!("r01c01f01p01-ch{channel}sk1fk1fl1.tiff"));
    assert_eq!(names, missing);
    let dataset = opened(root.path(), &Import { skip_missing: true, ..jump(&plates) });
    assert_eq!(dataset.info.channels, ["AGP", "DNA", "RNA"]);
    assert_eq!(dataset.info.dtype, Dtype::U16);
    let site = &dataset.info.sites[0];
    assert_eq!((site.name().as_str(), site.height, site.width), ("BR00117006-A01-s1", 1080, 1080));
    assert_eq!(site.digest, "a1a58854d66a589547bdd9c9f2f5397f961b518c861341b808964788e375e1eb");
    assert!(site.source[1].path.ends_with("r01c01f01p01-ch5sk1fk1fl1.tiff"));
    assert_objects(
        &dataset,
        &[
            ("BR00117006-A01-s1-0001", 18.007_849, 210.777_08, [4, 197, 34, 225]),
            ("BR00117006-A01-s1-0002", 24.375_643, 891.830_2, [10, 879, 39, 906]),
            ("BR00117006-A01-s1-0003", 24.452_744, 673.373_5, [11, 658, 40, 690]),
            ("BR00117006-A01-s1-0004", 31.584_192, 821.622, [21, 805, 43, 839]),
            ("BR00117006-A01-s1-0005", 38.110_325, 275.021_2, [22, 262, 56, 288]),
        ],
    );
}

#[test]
fn nf1_has_five_sites_with_an_object_each() {
    let Some(plates) = plates() else { return };
    let root = tempfile::tempdir().expect("a folder");
    let dataset = opened(root.path(), &nf1(&plates));
    assert_eq!(dataset.info.channels, ["DAPI", "GFP", "RFP"]);
    let shapes: Vec<_> = dataset.info.sites.iter().map(|site| (site.name(), site.height, site.width)).collect();
    let names = ["Plate_2-B7-s3", "Plate_2-D6-s2", "Plate_2-D7-s1", "Plate_2-F7-s2", "Plate_2-H12-s1"];
    assert_eq!(shapes, names.map(|name| (name.to_owned(), 904, 1224)));
    assert_eq!(dataset.info.sites[4].digest, "8ffb65a0037a4320f7476e1b1ff7e957f3f7aa975045593478a7c6aff0832651");
    assert_objects(
        &dataset,
        &[
            ("Plate_2-B7-s3-0008", 229.469_6, 401.369_96, [209, 380, 253, 423]),
            ("Plate_2-D6-s2-0007", 257.688_17, 742.273_74, [228, 698, 287, 789]),
            ("Plate_2-D7-s1-0003", 141.658_05, 438.608_28, [121, 415, 164, 465]),
            ("Plate_2-F7-s2-0008", 179.590_21, 870.935_85, [162, 854, 199, 889]),
            ("Plate_2-H12-s1-0020", 654.615_97, 255.914_14, [621, 221, 690, 295]),
        ],
    );
}

#[test]
fn a_grid_fills_each_site_up() {
    let Some(plates) = plates() else { return };
    let root = tempfile::tempdir().expect("a folder");
    let dataset = opened(root.path(), &Import { grid: Some(8), ..nf1(&plates) });
    assert_eq!(dataset.info.objects, 40);
    let ids: Vec<&str> = dataset.objects.rows[..3].iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["Plate_2-B7-s3-0008", "Plate_2-B7-s3-g0001", "Plate_2-B7-s3-g0002"]);
    // Without the table: channels and sites from the names of the files.
    let bare = Import { profiles: None, grid: Some(8), name: "bare".into(), ..nf1(&plates) };
    let bare = opened(root.path(), &bare);
    assert_eq!((bare.info.objects, &bare.info.channels), (40, &["DAPI", "GFP", "RFP"].map(str::to_owned).to_vec()));
    assert_eq!(bare.info.sites[0].name(), "bare-B7-s3");
}

#[test]
fn imported_sources_are_read_in_place_and_by_the_decoy_too() {
    let Some(plates) = plates() else { return };
    let root = tempfile::tempdir().expect("a folder");
    let dataset = opened(root.path(), &Import { skip_missing: true, ..jump(&plates) });
    let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
    for dataset in [Dataset::open(&dataset.decoy_dir()).expect("opened"), dataset] {
        assert!(store::exists(&dataset, format, variant));
        let dataset = std::sync::Arc::new(dataset);
        let form = data::Form { format, variant };
        assert_eq!(data::verify(&dataset, form, &mut |_| ()).expect("verified"), Verdict::Same(1));
        assert_eq!(data::verify_reference(&dataset, &mut |_| ()).expect("verified"), Verdict::Same(1));
        assert!(!dataset.root.join("reference").exists());
    }
}
