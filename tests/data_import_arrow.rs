//! Importing tables of OME-Arrow images: those of pycytominer's tests from `$PCB_TEST_DATA` (skipped without it), and small
//! ones written here.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type};
use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::Field;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use pcb::data::import::{Import, import};
use pcb::data::{DataError, Made};
use pcb_formats::{Dataset, find, store};
use pcb_protocol::{Dtype, Layout};

/// The folder of real data, or `None` after saying so.
fn real(folder: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PCB_TEST_DATA").map(PathBuf::from);
    if root.is_none() {
        println!("skipped: PCB_TEST_DATA is not set");
    }
    Some(root?.canonicalize().expect("PCB_TEST_DATA: a folder").join(folder))
}

fn request(images: PathBuf) -> Import {
    Import {
        name: "cells".into(),
        images,
        profiles: None,
        id: None,
        grid: None,
        pattern: None,
        skip_missing: false,
        record: 48,
        seed: 1,
        force: false,
    }
}

fn imported(root: &Path, request: &Import) -> Result<Made, DataError> {
    import(root, request, &mut |_| ())
}

/// The pixels in `field` (`planes` or `chunks`) of every row of the column of images, row by row: what a person would do
/// with Arrow alone.
fn rows_of(path: &Path, column: &str, field: &str) -> Vec<Vec<u16>> {
    let file = File::open(path).expect("opened");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a table").build().expect("a reader");
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch.expect("a batch");
        let images = batch.column_by_name(column).expect("there").as_struct().clone();
        let parts = images.column_by_name(field).expect("there").as_list::<i32>().clone();
        for row in 0..parts.len() {
            let of_row = parts.value(row);
            let lists = of_row.as_struct().column_by_name("pixels").expect("there").as_list::<i32>().clone();
            let channels = of_row.as_struct().column_by_name("c").expect("there").clone();
            let all = (0..lists.len()).flat_map(|part| {
                let numbers = arrow_cast::cast(&lists.value(part), &arrow_schema::DataType::Int32).expect("numbers");
                numbers.as_primitive::<Int32Type>().values().iter().map(|&x| x as u16).collect::<Vec<_>>()
            });
            rows.push(all.collect());
            // Parts come in the order of channels, as ome-arrow writes them.
            if let Some(channels) = channels.as_primitive_opt::<Int16Type>() {
                assert!(channels.values().is_sorted());
            }
        }
    }
    rows
}

fn pixels(dataset: &Dataset, site: usize) -> Vec<u16> {
    let bytes = dataset.reference(site).expect("read");
    bytes.data.bytes().as_chunks().0.iter().map(|&pixel| u16::from_ne_bytes(pixel)).collect()
}

#[test]
fn crops_of_single_cells_become_a_site_each() {
    let Some(folder) = real("ome-arrow") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let path = folder.join("image_crops.parquet");
    let made = imported(root.path(), &request(path.clone())).expect("imported");
    assert_eq!(made.warnings, Vec::<String>::new());
    let dataset = Arc::new(Dataset::open(&made.folder).expect("opens"));
    assert_eq!(dataset.info.channels, ["DNA", "PH3", "cellbody"]);
    assert_eq!((dataset.info.sites.len(), dataset.objects.rows.len()), (289, 289));
    assert_eq!((dataset.info.dtype, &dataset.info.sites[0].well[..]), (Dtype::U16, "image1"));
    let rows = rows_of(&path, "ome_arrow_image", "planes");
    assert_eq!(rows.len(), 867);
    for site in [0, 1, 100, 288] {
        let expected = rows[3 * site..3 * site + 3].concat();
        assert_eq!(pixels(&dataset, site), expected, "site {site}");
        let about = &dataset.info.sites[site];
        let object = &dataset.objects.rows[site];
        assert!(about.site.starts_with("obj-") && object.id == about.site && object.site == site as u32);
        assert_eq!((object.y, object.x), ((about.height / 2) as f32, (about.width / 2) as f32));
    }
    // A crop as large as the object is its crop.
    for (name, layout) in [("source", Layout::Site), ("list", Layout::Site), ("bytes-page1", Layout::Object)] {
        let (format, variant) = find("ome-arrow", name, layout).expect("known");
        store::write(&dataset, format, variant, &mut |_, _| ()).expect("written");
        assert_eq!(store::verify(&dataset, format, variant, &mut |_, _| ()).expect("verified"), 289);
    }
    let decoy = Arc::new(Dataset::open(&dataset.decoy_dir()).expect("a decoy"));
    let (format, variant) = find("ome-arrow", "source", Layout::Site).expect("known");
    assert!(store::exists(&decoy, format, variant));
    store::verify(&decoy, format, variant, &mut |_, _| ()).expect("a sound decoy");

    // With the profiles, whose ImageNumber is a number: the same cells.
    let profiles = Some(folder.join("joined_profiles.parquet"));
    let again = imported(root.path(), &Import { profiles, ..request(path) }).expect("imported");
    assert_eq!((again.info.digest, again.kept, again.warnings.len()), (dataset.info.digest.clone(), true, 0));
}

#[test]
fn whole_images_with_profiles_and_with_a_grid() {
    let Some(folder) = real("ome-arrow") else { return };
    let root = tempfile::tempdir().expect("a folder");
    let path = folder.join("source_images.parquet");
    let profiles = Some(folder.join("joined_profiles.parquet"));
    let made = imported(root.path(), &Import { profiles, ..request(path.clone()) }).expect("imported");
    let dataset = Dataset::open(&made.folder).expect("opens");
    assert_eq!((dataset.info.sites.len(), dataset.objects.rows.len()), (1, 289));
    assert_eq!((dataset.info.sites[0].height, dataset.info.sites[0].width), (512, 512));
    assert_eq!(pixels(&dataset, 0), rows_of(&path, "ome_arrow_image", "chunks").concat());
    let first = &dataset.objects.rows[0];
    assert_eq!(
        (first.id.as_str(), first.y, first.x),
        ("obj-f5800564-ea8c-570e-b804-7f057a18de43", 7.580_152_5, 477.099_24)
    );
    // Without a table and without a grid nothing says where objects are.
    let error = imported(root.path(), &Import { name: "none".into(), ..request(path) }).expect_err("refused");
    assert!(error.to_string().contains("--grid"), "{error}");

    let interop = real("interop").expect("there").join("ome-arrow");
    for (name, file) in [("list", "list-encoding.parquet"), ("bytes", "bytes-zstd-chunk32.parquet")] {
        let request = Import { name: name.into(), grid: Some(5), ..request(interop.join(file)) };
        let made = imported(root.path(), &request).expect("imported");
        assert_eq!(made.info.channels, ["DNA", "AGP", "RNA"]);
        assert_eq!((made.info.sites.len(), made.info.objects), (4, 20));
        // Ids that are names of a known kind tell plate, well and site.
        let name = |site: &pcb_formats::Site| format!("{}-{}-s{}", site.plate, site.well, site.site);
        let names: Vec<String> = made.info.sites.iter().map(name).collect();
        assert_eq!(names, ["P1-A01-s1", "P1-A01-s2", "P1-B02-s1", "P1-B02-s2"]);
        let text = std::fs::read(interop.join("../manifest.json")).expect("read");
        let manifest: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        for site in &made.info.sites {
            assert_eq!(manifest["sha256"][&name(site)], site.digest, "{file} {}", name(site));
        }
    }
}

fn ints(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn structs(columns: Vec<(&str, ArrayRef)>) -> ArrayRef {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    Arc::new(StructArray::new(fields.into(), columns.into_iter().map(|(_, array)| array).collect(), None))
}

fn list(lengths: impl IntoIterator<Item = usize>, values: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    Arc::new(ListArray::new(item, arrow_buffer::OffsetBuffer::from_lengths(lengths), values, None))
}

/// A row: object, channel, well, height, width. All its pixels are its number.
type Row = (Option<&'static str>, &'static str, &'static str, i64, i64);

fn table(folder: &Path, rows: &[Row]) -> PathBuf {
    let text =
        |of: fn(&Row) -> Option<&'static str>| -> ArrayRef { Arc::new(StringArray::from_iter(rows.iter().map(of))) };
    let count = rows.len();
    let meta = structs(vec![
        ("size_x", ints(rows.iter().map(|row| row.4))),
        ("size_y", ints(rows.iter().map(|row| row.3))),
        ("size_c", ints(vec![1; count])),
    ]);
    let area = |row: &Row| (row.3 * row.4) as usize;
    let numbers = ints(rows.iter().enumerate().flat_map(|(number, row)| vec![number as i64; area(row)]));
    let planes = structs(vec![("c", ints(vec![0; count])), ("pixels", list(rows.iter().map(area), numbers))]);
    let image = structs(vec![("pixels_meta", meta), ("planes", list(vec![1; count], planes))]);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("Metadata_Cell_ID", text(|row| row.0), true),
        ("channel", text(|row| Some(row.1)), true),
        ("Metadata_Well", text(|row| Some(row.2)), true),
        ("picture", image, true),
    ])
    .expect("a batch");
    let path = folder.join("cells.parquet");
    let mut writer =
        ArrowWriter::try_new(File::create(&path).expect("created"), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
    path
}

#[test]
fn rows_of_one_cell_are_its_channels_wherever_they_stand() {
    let root = tempfile::tempdir().expect("a folder");
    let rows: Vec<Row> = vec![
        (Some("b"), "Image_FileName_RNA", "B02", 5, 6),
        (Some("a"), "Image_FileName_DNA", "A01", 7, 4),
        (Some("b"), "Image_FileName_DNA", "B02", 5, 6),
        (None, "Image_FileName_DNA", "A01", 3, 3),
        (Some("a"), "Image_FileName_RNA", "A01", 7, 4),
    ];
    let path = table(root.path(), &rows);
    let made = imported(&root.path().join("data"), &request(path)).expect("imported");
    assert_eq!(made.info.channels, ["RNA", "DNA"]);
    assert_eq!(made.warnings, ["left out 1 row of the table without an object id"]);
    let dataset = Dataset::open(&made.folder).expect("opens");
    let names: Vec<String> = dataset.info.sites.iter().map(|site| site.name()).collect();
    assert_eq!(names, ["cells-A01-sa", "cells-B02-sb"]);
    assert_eq!(pixels(&dataset, 0), [[4; 28], [1; 28]].concat());
    assert_eq!(pixels(&dataset, 1), [[0; 30], [2; 30]].concat());
}

#[test]
fn cells_whose_channels_do_not_fit_together_are_refused_or_left_out() {
    let root = tempfile::tempdir().expect("a folder");
    let good: [Row; 2] = [(Some("a"), "DNA", "A01", 7, 4), (Some("a"), "RNA", "A01", 7, 4)];
    let check = |bad: &[Row], words: &[&str], left_out: Option<&str>| {
        let path = table(root.path(), &[&good[..], bad].concat());
        let error = imported(&root.path().join("data"), &request(path.clone())).expect_err("refused").to_string();
        for word in words {
            assert!(error.contains(word), "{word:?} is not in {error}");
        }
        let Some(left_out) = left_out else { return };
        let again = Import { skip_missing: true, ..request(path) };
        let made = imported(&root.path().join("data"), &again).expect("imported");
        assert_eq!(made.info.objects, 1);
        assert!(made.warnings.iter().any(|warning| warning.contains(left_out)), "{:?}", made.warnings);
    };
    check(
        &[(Some("b"), "DNA", "B02", 5, 6), (Some("b"), "RNA", "B02", 5, 7)],
        &["object b", "DNA (row 2) is 5x6", "RNA (row 3) is 5x7", "--skip-missing"],
        Some("object b"),
    );
    check(&[(Some("b"), "DNA", "B02", 5, 6)], &["channel RNA", "well B02, site b"], Some("lacks channel RNA"));
    check(&[(Some("a"), "DNA", "A01", 7, 4)], &["rows 0 and 2 are both channel DNA of object a"], None);
}

#[test]
fn a_file_that_is_no_table_of_images_says_so() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("t.parquet");
    std::fs::write(&path, b"no table").expect("written");
    let error = imported(root.path(), &request(path)).expect_err("refused").to_string();
    assert!(error.contains("t.parquet"), "{error}");
    let other = root.path().join("t.txt");
    std::fs::write(&other, b"no table").expect("written");
    let error = imported(root.path(), &Import { grid: Some(1), ..request(other) }).expect_err("refused").to_string();
    assert!(error.contains(".parquet table"), "{error}");
}
