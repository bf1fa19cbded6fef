//! Importing what one should not: folders to replace, headers that lie, centres at the very edge.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pcb::data::import::{Import, import};
use pcb::data::{DataError, Made};
use pcb_formats::Dataset;
use pcb_protocol::Dtype;

/// A folder with `images/` and `data/`.
struct Bench(tempfile::TempDir);

/// Bits and kind of a sample.
const U8: (u32, u32) = (8, 1);
const F32: (u32, u32) = (32, 3);

impl Bench {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("data")
    }

    fn request(&self) -> Import {
        Import {
            name: "plate".into(),
            images: self.0.path().join("images"),
            profiles: None,
            id: None,
            grid: Some(2),
            pattern: None,
            skip_missing: false,
            record: 16,
            seed: 1,
            force: false,
        }
    }

    /// A TIFF of one strip in `images/`; `pixels` may be fewer than the header promises.
    fn image(&self, name: &str, (height, width): (u32, u32), (bits, kind): (u32, u32), pixels: &[u8]) {
        tiff(&self.0.path().join("images").join(name), (height, width), (bits, kind), pixels);
    }

    fn table(&self, text: &str) -> Option<PathBuf> {
        let path = self.0.path().join("profiles.csv");
        fs::write(&path, text).expect("written");
        Some(path)
    }

    fn import(&self, request: &Import) -> Result<Made, DataError> {
        import(&self.data(), request, &mut |_| ())
    }

    fn refused(&self, request: &Import) -> String {
        self.import(request).expect_err("refused").to_string()
    }
}

fn tiff(path: &Path, (height, width): (u32, u32), (bits, kind): (u32, u32), pixels: &[u8]) {
    let strip = pixels.len() as u32;
    let tags = [
        (256, width),
        (257, height),
        (258, bits),
        (259, 1),
        (262, 1),
        (273, 134),
        (277, 1),
        (278, height),
        (279, strip),
    ];
    let mut bytes = b"II*\0\x08\0\0\0".to_vec();
    bytes.extend(10_u16.to_le_bytes());
    for (tag, value) in tags.into_iter().chain([(339, kind)]) {
        bytes.extend((tag as u16).to_le_bytes());
        bytes.extend(4_u16.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes.extend(pixels);
    fs::create_dir_all(path.parent().expect("a parent")).expect("created");
    fs::write(path, bytes).expect("written");
}

const HEADER: &str = "Metadata_Well,Metadata_Site,Nuclei_Location_Center_X,Nuclei_Location_Center_Y";

#[test]
fn force_replaces_datasets_and_nothing_else() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", (20, 20), U8, &[7; 400]);
    let mine = bench.data().join("plate/thesis.tex");
    fs::create_dir_all(mine.parent().expect("a parent")).expect("created");
    fs::write(&mine, "mine").expect("written");
    for force in [false, true] {
        let error = bench.refused(&Import { force, ..bench.request() });
        assert!(error.contains("no dataset") && !error.contains("--force"), "{error}");
        assert_eq!(fs::read_to_string(&mine).expect("it survived"), "mine");
    }
}

#[test]
fn images_in_the_datasets_own_folder_are_not_thrown_away() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", (20, 20), U8, &[7; 400]);
    let target = bench.import(&bench.request()).expect("imported").folder;
    let own = target.join("images/A01_1_DNA.tif");
    tiff(&own, (20, 20), U8, &[9; 400]);
    // The folder itself, a folder below it, a way around, and a link from elsewhere.
    let linked = bench.0.path().join("links");
    fs::create_dir(&linked).expect("created");
    std::os::unix::fs::symlink(&own, linked.join("A01_1_DNA.tif")).expect("linked");
    for images in [target.clone(), target.join("images"), bench.data().join("../data/plate/images"), linked] {
        let error = bench.refused(&Import { images, force: true, ..bench.request() });
        assert!(error.contains("the dataset's own folder"), "{error}");
        assert!(own.is_file());
    }
    // The folder above is read as a whole, which includes what stands in the target.
    let pattern = Some(r"plate/images/(?<well>\w\d+)_(?<site>\d)_(?<channel>\w+)\.tif".to_owned());
    let error = bench.refused(&Import { images: bench.data(), pattern, force: true, ..bench.request() });
    assert!(error.contains("the dataset's own folder") && own.is_file(), "{error}");
}

#[test]
fn a_header_that_lies_is_an_error_and_no_panic() {
    let bench = Bench::new();
    for (height, width) in [(1 << 31, 1 << 31), (u32::MAX, 1), (1, u32::MAX), (21, 20)] {
        bench.image("A01_1_DNA.tif", (height, width), U8, &[7; 400]);
        for table in [None, bench.table(&format!("{HEADER}\nA01,1,5,6\n"))] {
            let error = bench.refused(&Import { profiles: table, ..bench.request() });
            assert!(error.contains("A01_1_DNA.tif"), "{error}");
        }
    }
    assert!(!bench.data().exists());
}

#[test]
fn a_centre_that_rounds_to_the_edge_is_on_the_last_pixel() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", (1080, 20), U8, &vec![7; 21_600]);
    let table = bench.table(&format!("{HEADER}\nA01,1,19.75,1079.99999999\nA01,1,0,0\n"));
    let request = Import { profiles: table, grid: None, record: 1, ..bench.request() };
    let dataset = Dataset::open(&bench.import(&request).expect("imported").folder).expect("opened");
    let row = &dataset.objects.rows[0];
    assert!(row.y < 1080.0 && row.y > 1079.9 && row.x == 19.75, "{row:?}");
    let (_, window) = dataset.window(0, 1, 1).expect("on the site");
    assert_eq!((window.y, window.x), (1079, 19));
    let table = bench.table(&format!("{HEADER}\nA01,1,5,1080\n"));
    let error = bench.refused(&Import { profiles: table, force: true, ..request });
    assert!(error.contains("row 1080, column 5 lies outside"), "{error}");
}

#[test]
fn a_nucleus_gets_its_own_box_or_that_of_a_record() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", (60, 60), U8, &[7; 3600]);
    let box_of = |compartment: &str| {
        ["Minimum_X", "Minimum_Y", "Maximum_X", "Maximum_Y"]
            .map(|end| format!(",{compartment}_AreaShape_BoundingBox{end}"))
            .concat()
    };
    let (cells, nuclei) = (box_of("Cells"), box_of("Nuclei"));
    for (columns, values, expected) in [
        (cells.clone(), ",1,2,50,51", [22, 12, 38, 28]),
        (format!("{cells}{nuclei}"), ",1,2,50,51,15,25,26,36", [25, 15, 36, 26]),
    ] {
        let table = bench.table(&format!("{HEADER}{columns}\nA01,1,20,30{values}\n"));
        let request = Import { profiles: table, grid: None, force: true, ..bench.request() };
        let dataset = Dataset::open(&bench.import(&request).expect("imported").folder).expect("opened");
        assert_eq!(dataset.objects.rows[0].bbox, expected, "{columns}");
    }
}

#[test]
fn floats_are_imported_with_a_decoy_of_floats() {
    let bench = Bench::new();
    let floats: Vec<u8> = (0..400).flat_map(|i| (i as f32 - 1.5).to_le_bytes()).collect();
    bench.image("A01_1_DNA.tif", (20, 20), F32, &floats);
    let dataset = Dataset::open(&bench.import(&bench.request()).expect("imported").folder).expect("opened");
    assert_eq!(dataset.info.dtype, Dtype::F32);
    assert_eq!(dataset.reference(0).expect("read").data.bytes(), floats);
    assert_eq!(Dataset::open(&dataset.decoy_dir()).expect("opened").info.dtype, Dtype::F32);
}

#[test]
fn a_data_folder_whose_path_is_not_text_holds_its_images_too() {
    let bench = Bench::new();
    let root = bench.0.path().join(OsStr::from_bytes(b"d\xffta"));
    tiff(&root.join("images/A01_1_DNA.tif"), (20, 20), U8, &[7; 400]);
    let request = Import { images: root.join("images"), ..bench.request() };
    let dataset = Dataset::open(&import(&root, &request, &mut |_| ()).expect("imported").folder).expect("opened");
    assert_eq!(dataset.reference(0).expect("read").data.bytes()[0], 7);
    assert!(Dataset::open(&dataset.decoy_dir()).expect("opened").reference(0).is_ok());
}
