//! Importing plates written here: names, tables, grids, and what is said when something is wrong.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pcb::data::import::{Import, import};
use pcb::data::{DataError, Made};
use pcb_formats::Dataset;
use pcb_protocol::Dtype;

/// A folder of images and one of datasets.
struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn images(&self) -> PathBuf {
        self.folder.path().join("images")
    }

    /// Writes an uncompressed little-endian TIFF of `size` x `size` pixels that all are `value`.
    fn image(&self, name: impl AsRef<Path>, bits: u16, size: u16, value: u16) {
        let pixels: Vec<u8> = match bits {
            8 => vec![value as u8; usize::from(size) * usize::from(size)],
            _ => value.to_le_bytes().repeat(usize::from(size) * usize::from(size)),
        };
        let tags = [(256, size), (257, size), (258, bits), (259, 1), (262, 1), (277, 1), (278, size)];
        let first_pixel = 8 + 2 + (tags.len() as u32 + 2) * 12 + 4;
        let mut bytes = b"II*\0\x08\0\0\0".to_vec();
        bytes.extend((tags.len() as u16 + 2).to_le_bytes());
        let mut tag = |id: u16, kind: u16, value: u32| {
            bytes.extend(id.to_le_bytes());
            bytes.extend(kind.to_le_bytes());
            bytes.extend(1_u32.to_le_bytes());
            bytes.extend(value.to_le_bytes());
        };
        for (id, value) in &tags[..5] {
            tag(*id, 3, u32::from(*value));
        }
        tag(273, 4, first_pixel);
        for (id, value) in &tags[5..] {
            tag(*id, 3, u32::from(*value));
        }
        tag(279, 4, pixels.len() as u32);
        bytes.extend([0; 4]);
        bytes.extend(pixels);
        let path = self.images().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, bytes).expect("written");
    }

    fn table(&self, text: &str) -> Option<PathBuf> {
        let path = self.folder.path().join("profiles.csv");
        fs::write(&path, text).expect("written");
        Some(path)
    }

    fn request(&self) -> Import {
        Import {
            name: "plate".into(),
            images: self.images(),
            profiles: None,
            id: None,
            grid: None,
            pattern: None,
            skip_missing: false,
            record: 16,
            seed: 1,
            force: false,
        }
    }

    fn import(&self, request: &Import) -> Result<Made, DataError> {
        import(&self.folder.path().join("data"), request, &mut |_| ())
    }

    fn opened(&self, request: &Import) -> Dataset {
        let made = self.import(request).expect("imported");
        Dataset::open(&made.folder).expect("opened")
    }

    fn refused(&self, request: &Import) -> String {
        match self.import(request) {
            Err(error) => error.to_string(),
            Ok(made) => panic!("imported {:?}", made.info),
        }
    }
}

const HEADER: &str = "Metadata_Well,Metadata_Site,Nuclei_Location_Center_X,Nuclei_Location_Center_Y";

#[test]
fn well_site_channel_names_make_sites() {
    let bench = Bench::new();
    for (name, value) in [("B02_2_DNA", 3), ("B02_1_DNA", 1), ("B02_1_RNA", 2), ("B02_2_RNA", 4)] {
        bench.image(format!("{name}.tif"), 8, 40, value);
    }
    fs::write(bench.images().join("notes.txt"), "no image").expect("written");
    let dataset = bench.opened(&Import { grid: Some(5), ..bench.request() });
    assert_eq!(dataset.info.channels, ["DNA", "RNA"]);
    assert_eq!(dataset.info.dtype, Dtype::U8);
    let names: Vec<String> = dataset.info.sites.iter().map(|site| site.name()).collect();
    assert_eq!(names, ["plate-B02-s1", "plate-B02-s2"]);
    assert_eq!(dataset.info.objects, 10);
    let pixels = dataset.reference(1).expect("read");
    assert_eq!((pixels.data.bytes()[0], pixels.data.bytes()[1600]), (3, 4));
}

#[test]
fn a_pattern_reads_plates_from_folders() {
    let bench = Bench::new();
    for plate in ["one", "two"] {
        bench.image(format!("{plate}/A01_f1_DNA.tif"), 16, 20, 1);
    }
    let pattern = r"^(?<plate>\w+)/(?<well>[A-Z]\d+)_f(?<site>\d+)_(?<channel>\w+)\.tif$";
    let dataset = bench.opened(&Import { grid: Some(1), pattern: Some(pattern.into()), ..bench.request() });
    let names: Vec<String> = dataset.info.sites.iter().map(|site| site.name()).collect();
    assert_eq!(names, ["one-A01-s1", "two-A01-s1"]);
}

#[test]
fn rows_find_their_site_however_it_is_written() {
    let bench = Bench::new();
    bench.image("B07_01_DNA.tif", 16, 40, 1);
    bench.image("B07_02_DNA.tif", 16, 40, 2);
    let table = bench.table(&format!("{HEADER}\nB7,2,10.5,20.25\nB7,1,3,4\nB7,s2,30,31\n"));
    let dataset = bench.opened(&Import { profiles: table, ..bench.request() });
    let rows: Vec<(&str, u32, f32, f32)> =
        dataset.objects.rows.iter().map(|row| (row.id.as_str(), row.site, row.y, row.x)).collect();
    let expected = [
        ("plate-B07-s01-0001", 0, 4.0, 3.0),
        ("plate-B07-s02-0001", 1, 20.25, 10.5),
        ("plate-B07-s02-0002", 1, 31.0, 30.0),
    ];
    let trimmed = expected.map(|(id, site, y, x)| (id.replace("-s0", "-s"), site, y, x));
    assert_eq!(rows, trimmed.iter().map(|(id, site, y, x)| (id.as_str(), *site, *y, *x)).collect::<Vec<_>>());
    // Nobody measured a box: that of a record stands in, cut off at the edges.
    assert_eq!(dataset.objects.rows[0].bbox, [0, 0, 12, 11]);
}

#[test]
fn a_wide_table_with_integer_ids_and_empty_columns_is_read() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 40, 1);
    let filler: String = (0..3_000).map(|i| format!(",Cells_Texture_{i}")).collect();
    let empty = ",".repeat(3_000);
    let text = format!(
        "Metadata_ObjectID,{HEADER},Image_Metadata_Plate,Image_Metadata_Stain{filler}\n\
         17,A01,1,5,6,,{empty}\n4,A01,1,7,8,,{empty}\n"
    );
    let dataset = bench.opened(&Import { profiles: bench.table(&text), ..bench.request() });
    let ids: Vec<&str> = dataset.objects.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["17", "4"]);
}

#[test]
fn the_same_id_twice_is_refused_with_both_rows() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 40, 1);
    let table = bench.table(&format!("cell,{HEADER}\nx,A01,1,5,6\ny,A01,1,7,8\nx,A01,1,9,9\n"));
    let error = bench.refused(&Import { profiles: table.clone(), id: Some("cell".into()), ..bench.request() });
    assert!(error.contains("rows 1 and 3 have the same object id \"x\""), "{error}");
    // Without --id, ids are composed and all is well.
    assert_eq!(bench.opened(&Import { profiles: table, ..bench.request() }).info.objects, 3);
}

#[test]
fn broken_tables_are_told_apart() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 40, 1);
    for (text, expected) in [
        ("Metadata_Well,Metadata_Site\nA01,1\n".to_owned(), "no columns of centres among 2"),
        (
            format!("{HEADER}\nA01,1,5,6\nA01,1,left,6\n"),
            "row 2, column \"Nuclei_Location_Center_X\": \"left\" is no number",
        ),
        (format!("{HEADER}\nA01,1,5,6\nA01,1\n"), "no CSV table"),
        (format!("{HEADER}\nA01,1,5,60\n"), "row 1: centre at row 60, column 5 lies outside site"),
        (format!("{HEADER}\nA01,1,,\n"), "no object"),
        ("Nuclei_Location_Center_X,Nuclei_Location_Center_Y\n1,2\n".to_owned(), "row 1: no well or site"),
    ] {
        let error = bench.refused(&Import { profiles: bench.table(&text), ..bench.request() });
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let path = bench.folder.path().join("profiles.parquet");
    fs::write(&path, "no Parquet").expect("written");
    let error = bench.refused(&Import { profiles: Some(path), ..bench.request() });
    assert!(error.contains("profiles.parquet: neither .csv nor a Parquet table"), "{error}");
}

#[test]
fn missing_files_are_all_named_and_can_be_left_out() {
    let bench = Bench::new();
    for name in ["A01_1_DNA", "A01_1_RNA", "A01_2_DNA"] {
        bench.image(format!("{name}.tif"), 16, 20, 1);
    }
    let table = bench.table(
        "Image_FileName_DNA,Image_FileName_RNA,Image_FileName_ER,Image_FileName_Outlines,\
         Nuclei_Location_Center_X,Nuclei_Location_Center_Y\n\
         A01_1_DNA.tif,A01_1_RNA.tif,A01_1_ER.tif,o.png,5,6\nA01_2_DNA.tif,A01_2_RNA.tif,A01_2_ER.tif,o.png,7,8\n",
    );
    let request = Import { profiles: table, ..bench.request() };
    let error = bench.refused(&request);
    for name in ["A01_1_ER.tif", "A01_2_RNA.tif", "A01_2_ER.tif", "--skip-missing"] {
        assert!(error.contains(name), "{name}: {error}");
    }
    assert!(!error.contains("o.png") && !bench.folder.path().join("data").exists(), "{error}");
    let made = bench.import(&Import { skip_missing: true, ..request }).expect("imported");
    assert_eq!(made.info.channels, ["DNA", "RNA"]);
    assert_eq!((made.info.sites.len(), made.info.objects), (1, 1));
    let expected = [
        "left out channel ER: no site has it (its 2 files are missing, the first A01_1_ER.tif)",
        "left out plate plate, well A01, site 2: it lacks channel RNA (its file A01_2_RNA.tif is missing)",
    ];
    assert_eq!(made.warnings, expected);
}

#[test]
fn sites_must_agree_in_dtype_and_channels_in_size() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 20, 1);
    bench.image("A01_2_DNA.tif", 8, 20, 1);
    let request = Import { grid: Some(1), ..bench.request() };
    let error = bench.refused(&request);
    assert!(error.contains("A01_2_DNA.tif: u8; expected u16 as in"), "{error}");
    bench.image("A01_2_DNA.tif", 16, 20, 1);
    bench.image("A01_1_RNA.tif", 16, 24, 1);
    bench.image("A01_2_RNA.tif", 16, 20, 1);
    let error = bench.refused(&request);
    assert!(error.contains("A01_1_RNA.tif: 24x24 pixels; expected 20x20"), "{error}");
}

#[test]
fn names_that_are_not_utf8_are_passed_over_or_refused() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 20, 1);
    bench.image(OsStr::from_bytes(b"A01_2_\xff.tif"), 16, 20, 1);
    let request = Import { grid: Some(1), ..bench.request() };
    assert_eq!(bench.opened(&request).info.sites.len(), 1);
    bench.image(Path::new(OsStr::from_bytes(b"\xfe")).join("A01_3_DNA.tif"), 16, 20, 1);
    let error = bench.refused(&request);
    assert!(error.contains("the path is not UTF-8"), "{error}");
}

#[test]
fn an_imported_dataset_is_left_alone_or_refused() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 20, 1);
    let request = Import { grid: Some(2), ..bench.request() };
    assert!(!bench.import(&request).expect("imported").kept);
    assert!(bench.import(&request).expect("found").kept);
    bench.image("A01_1_DNA.tif", 16, 20, 2);
    assert!(matches!(bench.import(&request), Err(DataError::Exists { .. })));
    assert!(!bench.import(&Import { force: true, ..request }).expect("replaced").kept);
}

#[test]
fn sources_below_the_data_folder_can_move_with_it() {
    let bench = Bench::new();
    bench.image("A01_1_DNA.tif", 16, 20, 7);
    let request = Import { grid: Some(2), ..bench.request() };
    let before = bench.folder.path();
    let made = import(before, &request, &mut |_| ()).expect("imported");
    assert_eq!(made.info.sites[0].source[0].path, Path::new("../images/A01_1_DNA.tif"));
    let after = tempfile::tempdir().expect("a folder");
    for name in ["images", "plate"] {
        fs::rename(before.join(name), after.path().join(name)).expect("moved");
    }
    let dataset = Dataset::open(&after.path().join("plate")).expect("opened");
    assert_eq!(dataset.reference(0).expect("read").data.bytes()[0], 7);
}
