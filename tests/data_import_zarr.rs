//! Importing OME-Zarr plates: two of zarr-python's from `$PCB_TEST_DATA`, and small ones written here.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb::data::import::{Import, import};
use pcb::data::{self, DataError, Made, Verdict};
use pcb_formats::{Dataset, find, store};
use pcb_protocol::{Dtype, Layout};
use serde_json::{Value, json};

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a folder") }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        fs::write(path, bytes).expect("written");
    }

    /// A group of Zarr 3 with these OME metadata.
    fn group(&self, path: &str, mut ome: Value) {
        ome["version"] = "0.5".into();
        let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": ome}});
        self.put(&format!("{path}/zarr.json"), group.to_string().as_bytes());
    }

    /// A plate and its wells; `wells` are their paths and numbers of fields. No field has an image yet.
    fn plate(&self, path: &str, name: &str, wells: &[(&str, usize)]) {
        let listed: Vec<Value> = wells.iter().map(|(well, _)| json!({"path": well})).collect();
        self.group(path, json!({"plate": {"name": name, "wells": listed}}));
        for (well, fields) in wells {
            let images: Vec<Value> = (0..*fields).map(|field| json!({"path": field.to_string()})).collect();
            self.group(&format!("{path}/{well}"), json!({"well": {"images": images}}));
        }
    }

    /// The image of a field: `channels` of 16x20 big-endian 16-bit pixels, all of them `value`.
    fn image(&self, field: &str, channels: &[&str], kind: &str, value: i16) {
        let labels: Vec<Value> = channels.iter().map(|label| json!({"label": label})).collect();
        let scale = json!({"datasets": [{"path": "full"}], "axes": [{"name": "c"}, {"name": "y"}, {"name": "x"}]});
        self.group(field, json!({"multiscales": [scale], "omero": {"channels": labels}}));
        let shape = [channels.len(), 16, 20];
        let array = json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind, "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}],
        });
        self.put(&format!("{field}/full/zarr.json"), array.to_string().as_bytes());
        self.put(&format!("{field}/full/c/0/0/0"), &value.to_be_bytes().repeat(channels.len() * 320));
    }

    fn request(&self, images: &str) -> Import {
        Import {
            name: "mine".into(),
            images: self.path(images),
            profiles: None,
            id: None,
            grid: Some(3),
            pattern: None,
            skip_missing: false,
            record: 8,
            seed: 1,
            force: false,
        }
    }

    fn import(&self, request: &Import) -> Result<Made, DataError> {
        import(&self.path("data"), request, &mut |_| ())
    }

    fn refused(&self, request: &Import) -> String {
        match self.import(request) {
            Err(error) => error.to_string(),
            Ok(made) => panic!("imported {:?}", made.info),
        }
    }
}

fn names(dataset: &Dataset) -> Vec<String> {
    dataset.info.sites.iter().map(|site| site.name()).collect()
}

#[test]
fn plates_of_zarr_python_are_imported_and_read_in_place() {
    let Some(root) = std::env::var_os("PCB_TEST_DATA").filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
        println!("skipped: PCB_TEST_DATA is not set");
        return;
    };
    let interop = root.join("interop");
    let manifest: Value =
        serde_json::from_slice(&fs::read(interop.join("manifest.json")).expect("manifest.json")).expect("JSON");
    for plate in ["v2-ome04-plate.zarr", "v3-ome05-plate.zarr"] {
        let bench = Bench::new();
        let request = Import { images: interop.join("ome-zarr").join(plate), ..bench.request("") };
        let made = bench.import(&request).expect("imported");
        assert!(made.warnings.is_empty(), "{:?}", made.warnings);
        let dataset = Arc::new(Dataset::open(&made.folder).expect("opened"));
        assert_eq!(names(&dataset), ["P1-A01-s0", "P1-A01-s1", "P1-B02-s0", "P1-B02-s1"]);
        assert_eq!((dataset.info.channels.join(" "), dataset.info.dtype), ("DNA AGP RNA".to_owned(), Dtype::U16));
        for (site, id) in dataset.info.sites.iter().zip(manifest["ids"].as_array().expect("ids")) {
            assert_eq!(manifest["sha256"][id.as_str().expect("an id")], site.digest, "{id}");
        }
        let (format, variant) = find("ome-zarr", "source", Layout::Site).expect("known");
        let decoy = Arc::new(Dataset::open(&dataset.decoy_dir()).expect("a decoy"));
        for dataset in [&dataset, &decoy] {
            assert!(store::exists(dataset, format, variant));
            store::verify(dataset, format, variant, &mut |_, _| {}).expect("read in place");
        }
        assert!(!dataset.decoy_dir().join("reference").exists());
        let (tiff, source) = find("tiff", "source", Layout::Site).expect("known");
        assert!(!store::exists(&dataset, tiff, source));
        // And it can be stored in another form.
        let forms = data::select(&["ome-zarr:v3-tile128-zstd".to_owned()]).expect("known");
        data::ensure(&made.folder, forms[0].format, forms[0].variant, &mut |_| ()).expect("stored");
        let verdict = data::verify(&dataset, forms[0], &mut |_| ()).expect("compared");
        assert_eq!(verdict, Verdict::Same(4));
    }
}

#[test]
fn wells_and_fields_that_are_missing_are_told_and_left_out() {
    let bench = Bench::new();
    bench.plate("p.zarr", "P", &[("A/1", 2), ("B/02", 1)]);
    bench.image("p.zarr/A/1/0", &["DNA", "RNA"], "uint16", 7);
    // Field 1 of A1 has no image; well B02 no folder.
    fs::remove_dir_all(bench.path("p.zarr/B")).expect("removed");
    let made = bench.import(&bench.request("p.zarr")).expect("imported");
    let dataset = Dataset::open(&made.folder).expect("opened");
    assert_eq!(names(&dataset), ["P-A1-s0"]);
    let expected =
        ["left out plate P, well A1, field 1: no image in A/1/1", "left out plate P, well B02: no folder B/02"];
    assert_eq!(made.warnings, expected);
    fs::remove_dir_all(bench.path("p.zarr/A/1/0")).expect("removed");
    let error = bench.refused(&Import { force: true, ..bench.request("p.zarr") });
    assert!(error.contains("no well of the plate has an image") && error.contains("field 0"), "{error}");
}

#[test]
fn a_folder_of_plates_is_imported_whole() {
    let bench = Bench::new();
    for (plate, value) in [("one", 1), ("two", 2)] {
        bench.plate(&format!("all/deep/{plate}.zarr"), plate, &[("A/01", 1)]);
        bench.image(&format!("all/deep/{plate}.zarr/A/01/0"), &["DNA"], "uint16", value);
    }
    let made = bench.import(&bench.request("all")).expect("imported");
    let dataset = Dataset::open(&made.folder).expect("opened");
    assert_eq!(names(&dataset), ["one-A01-s0", "two-A01-s0"]);
    assert_eq!(dataset.reference(1).expect("read").data.bytes()[..2], 2_u16.to_ne_bytes());
    // Two of one name are two places for a site.
    bench.plate("all/other.zarr", "one", &[("A/01", 1)]);
    bench.image("all/other.zarr/A/01/0", &["DNA"], "uint16", 3);
    let error = bench.refused(&Import { force: true, ..bench.request("all") });
    assert!(error.contains("plate one, well A01, site 0 twice"), "{error}");
    bench.put("all/A01_1_DNA.tif", b"II*\0");
    let error = bench.refused(&bench.request("all"));
    assert!(error.contains("A01_1_DNA.tif") && error.contains("import one of them"), "{error}");
}

#[test]
fn rows_of_a_table_find_their_field() {
    let bench = Bench::new();
    bench.plate("p.zarr", "Plate_1", &[("A/1", 2), ("B/12", 1)]);
    for field in ["A/1/0", "A/1/1", "B/12/0"] {
        bench.image(&format!("p.zarr/{field}"), &["DNA"], "uint16", 5);
    }
    let header = "Metadata_Plate,Metadata_Well,Metadata_Site,Nuclei_Location_Center_X,Nuclei_Location_Center_Y";
    bench.put("t.csv", format!("{header}\nBR7,A01,1,10.5,2.25\nBR7,B12,0,3,4\nBR7,A1,0,5,6\n").as_bytes());
    let request = Import { profiles: Some(bench.path("t.csv")), grid: None, ..bench.request("p.zarr") };
    let made = bench.import(&request).expect("imported");
    let dataset = Dataset::open(&made.folder).expect("opened");
    // The only plate takes the name that the table gives.
    assert_eq!(names(&dataset), ["BR7-A1-s0", "BR7-A1-s1", "BR7-B12-s0"]);
    let rows: Vec<(u32, f32, f32)> = dataset.objects.rows.iter().map(|row| (row.site, row.y, row.x)).collect();
    assert_eq!(rows, [(0, 6.0, 5.0), (1, 2.25, 10.5), (2, 4.0, 3.0)]);
    // A row of a field that is not there.
    bench.put("t.csv", format!("{header}\nBR7,A01,1,10.5,2.25\nBR7,C1,0,3,4\n").as_bytes());
    let error = bench.refused(&Import { force: true, ..request.clone() });
    assert!(error.contains("plate BR7, well C1, site 0") && error.contains("--skip-missing"), "{error}");
    // Tables of two plates must say which one this is.
    bench.put("t.csv", format!("{header}\nBR7,A01,1,10.5,2.25\nPlate_1,A1,1,3,4\n").as_bytes());
    let made = bench.import(&Import { force: true, skip_missing: true, ..request }).expect("imported");
    let dataset = Dataset::open(&made.folder).expect("opened");
    assert_eq!((dataset.objects.rows.len(), dataset.objects.rows[0].y), (1, 4.0));
    assert_eq!(dataset.info.sites[1].plate, "Plate_1");
}

#[test]
fn signed_pixels_are_imported_as_floats() {
    let bench = Bench::new();
    bench.plate("p.zarr", "P", &[("A/1", 1)]);
    bench.image("p.zarr/A/1/0", &["DNA", "DNA"], "int16", -300);
    let made = bench.import(&bench.request("p.zarr")).expect("imported");
    let dataset = Dataset::open(&made.folder).expect("opened");
    assert_eq!((dataset.info.dtype, dataset.info.channels.join(", ")), (Dtype::F32, "ch1 DNA, ch2 DNA".to_owned()));
    assert_eq!(dataset.reference(0).expect("read").data.bytes()[..4], (-300_f32).to_ne_bytes());
}

#[test]
fn fields_that_disagree_are_named() {
    let bench = Bench::new();
    bench.plate("p.zarr", "P", &[("A/1", 2)]);
    bench.image("p.zarr/A/1/0", &["DNA", "RNA"], "uint16", 1);
    let second = "p.zarr/A/1/1";
    let refused = |expected: &str| {
        let error = bench.refused(&bench.request("p.zarr"));
        let named = Path::new(second).join("full").display().to_string();
        assert!(error.contains(expected) && error.contains(&named), "{error}");
    };
    bench.image(second, &["RNA", "DNA"], "uint16", 1);
    refused("channels RNA, DNA; expected DNA, RNA");
    bench.image(second, &[""], "uint16", 1);
    refused("1 channels; expected 2");
    bench.image(second, &["DNA", "RNA"], "int16", 1);
    refused("f32; expected u16");
    bench.image(second, &["DNA", "RNA"], "float64", 1);
    refused("float64");
    bench.image(second, &["DNA", "RNA"], "uint16", 1);
    let error = bench.refused(&Import { pattern: Some("(?<well>.)(?<site>.)".into()), ..bench.request("p.zarr") });
    assert!(error.contains("--pattern"), "{error}");
}
