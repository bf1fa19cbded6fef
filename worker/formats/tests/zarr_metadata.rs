//! Metadata of arrays, images and plates: what is not read is refused by its name, and no lie costs memory or a panic.

mod support;

use std::fs;
use std::path::Path;

use pcb_formats::{FormatError, PageInfo, SourceFile, find, ome_zarr_plate, plane_info, store};
use pcb_protocol::{Dtype, Layout};
use serde_json::{Value, json};
use support::zarr::{imported, v2, v3};
use support::{make, refused, write};

fn assert_names(error: &FormatError, path: &Path) {
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text:?} does not name {}", path.display());
}

fn info(array: &Path, page: u32) -> Result<PageInfo, FormatError> {
    let source = SourceFile::ome_zarr(array, page);
    plane_info(array, &source)
}

#[test]
fn what_is_not_read_is_refused_by_name() {
    let shape = [1, 1, 5, 7];
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let codecs = |codec: Value| json!({"codecs": [bytes, codec]});
    let compressor = |id: &str| json!({"compressor": {"id": id, "level": 1}});
    let two = |more: Value| v2(&[1, 5, 7], &[1, 5, 7], "<u2", &more);
    let three = |more: Value| v3(&[1, 5, 7], &[1, 5, 7], "uint16", &more);
    let cases = [
        (two(json!({"filters": [{"id": "delta", "dtype": "<u2"}]})), "filter delta"),
        (two(compressor("lzma")), "lzma"),
        (two(json!({"dtype": "<f8"})), "float64"),
        (two(json!({"dtype": "<u4"})), "uint32"),
        (two(json!({"dtype": "|b1"})), "bool"),
        (two(json!({"shape": shape, "chunks": shape})), "4 axes"),
        (two(json!({"shape": [3, 1, 1, 5, 7], "chunks": [1, 1, 1, 5, 7]})), "axis t of 3"),
        (two(json!({"shape": [9], "chunks": [9]})), "1 axes"),
        (three(codecs(json!({"name": "acme.squeezer"}))), "acme.squeezer"),
        (three(codecs(json!({"name": "acme.squeezer", "must_understand": false}))), "acme.squeezer"),
        (three(codecs(json!({"name": "shuffle", "configuration": {"elementsize": 2}}))), "shuffle"),
        (three(json!({"codecs": [{"name": "packbits"}]})), "packbits"),
        (three(json!({"data_type": "float64"})), "float64"),
        (three(json!({"data_type": "acme.pixel"})), "acme.pixel"),
        (three(json!({"chunk_grid": {"name": "rectilinear"}})), "rectilinear"),
        (three(json!({"chunk_key_encoding": {"name": "hashed"}})), "hashed"),
        (three(json!({"storage_transformers": [{"name": "acme.mirror"}]})), "acme.mirror"),
        (three(json!({"zarr_format": 4})), "zarr_format 4"),
        (three(json!({"acme": {"must_understand": true}})), "acme"),
        (
            three(json!({"shape": [1, 1 << 16, 1 << 16], "chunk_grid":
            {"name": "regular", "configuration": {"chunk_shape": [1, 1 << 16, 1 << 16]}}})),
            "up to 1 GiB",
        ),
    ];
    for (metadata, word) in cases {
        let folder = support::folder();
        let array = folder.path().join("0");
        fs::create_dir(&array).expect("a folder");
        let name = if metadata["zarr_format"] == 2 { ".zarray" } else { "zarr.json" };
        fs::write(array.join(name), metadata.to_string()).expect("written");
        let Err(error) = info(&array, 0) else { panic!("{word}: read") };
        assert!(matches!(error, FormatError::Unsupported(_)), "{word}: {error:?}");
        let text = error.to_string();
        assert!(text.contains(word) && text.contains(&array.join(name).display().to_string()), "{word}: {text}");
    }
}

#[test]
fn an_image_of_a_newer_ome_zarr_is_refused_by_its_version() {
    let folder = support::folder();
    let array = folder.path().join("0");
    fs::create_dir(&array).expect("a folder");
    fs::write(array.join("zarr.json"), v3(&[1, 5, 7], &[1, 5, 7], "uint16", &json!({})).to_string()).expect("written");
    assert_eq!(info(&array, 0).expect("a bare array").height, 5);
    for (version, fine) in [("0.5", true), ("0.4", true), ("0.6", false), ("1.0", false)] {
        let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"version": version}}});
        fs::write(folder.path().join("zarr.json"), group.to_string()).expect("written");
        match info(&array, 0) {
            Ok(_) => assert!(fine, "{version}"),
            Err(error) => assert!(!fine && error.to_string().contains(version), "{error}"),
        }
    }
}

#[test]
fn a_shape_that_no_file_backs_is_refused() {
    let folder = support::folder();
    let array = folder.path().join("0");
    fs::create_dir(&array).expect("a folder");
    let shape = [1, 1 << 19, 1 << 19];
    fs::write(array.join("zarr.json"), v3(&shape, &[1, 64, 64], "uint16", &json!({})).to_string()).expect("written");
    let error = refused(info(&array, 0));
    assert!(matches!(error, FormatError::Corrupt { .. }) && error.to_string().contains("promises"), "{error}");
}

#[test]
fn shards_that_hold_no_whole_chunks_or_shards_are_refused() {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let sharding = |chunk: Value, codecs: Value, index: Value| {
        json!({"name": "sharding_indexed", "configuration":
            {"chunk_shape": chunk, "codecs": codecs, "index_location": "end", "index_codecs": index}})
    };
    let plain = || json!([bytes]);
    let inner = sharding(json!([1, 1, 1]), plain(), plain());
    let cases = [
        (json!([sharding(json!([1, 2, 7]), plain(), plain())]), "no whole chunks"),
        (json!([sharding(json!([1, 5]), plain(), plain())]), "no whole chunks"),
        (json!([sharding(json!([1, 5, 7]), json!([inner]), plain())]), "sharding_indexed"),
        (
            json!([sharding(
                json!([1, 5, 7]),
                plain(),
                json!([bytes, {"name": "gzip", "configuration": {"level": 1}}])
            )]),
            "index",
        ),
        (
            json!([sharding(json!([1, 5, 7]), plain(), plain()), {"name": "gzip", "configuration": {"level": 1}}]),
            "around",
        ),
        (json!([sharding(json!([1, 5, 7]), json!([bytes, {"name": "acme.squeezer"}]), plain())]), "acme.squeezer"),
    ];
    for (codecs, word) in cases {
        let folder = support::folder();
        let array = folder.path().join("0");
        fs::create_dir(&array).expect("a folder");
        let metadata = v3(&[1, 5, 7], &[1, 5, 7], "uint16", &json!({"codecs": codecs}));
        fs::write(array.join("zarr.json"), metadata.to_string()).expect("written");
        let text = refused(info(&array, 0)).to_string();
        assert!(text.contains(word) && text.contains("zarr.json"), "{word}: {text}");
    }
}

/// Places of all values in a JSON document.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(list) => list.iter().enumerate().for_each(|(i, v)| pointers(v, &format!("{at}/{i}"), found)),
        Value::Object(map) => map.iter().for_each(|(key, v)| pointers(v, &format!("{at}/{key}"), found)),
        _ => {}
    }
}

#[test]
fn any_other_value_in_the_metadata_is_an_error_or_seen_or_changes_no_pixel() {
    let others = [
        json!(null),
        json!(0),
        json!(1),
        json!(-1),
        json!(2),
        json!(3),
        json!(7),
        json!(24),
        json!(65_537),
        json!(1_u64 << 31),
        json!(1_u64 << 32),
        json!(1_u64 << 62),
        json!(u64::MAX),
        json!(1e300),
        json!("zstd"),
        json!("big"),
        json!("int16"),
        json!(">u2"),
        json!(""),
        json!([]),
        json!({}),
        json!([1, 1]),
        json!([0, 0, 0]),
        json!([2, 1, 0]),
        json!([1, 1, 1, 1]),
        json!([1_u64 << 40, 1_u64 << 40, 1]),
        json!({"name": "transpose"}),
        json!(true),
    ];
    let all =
        ["v2-chunk1024-blosc", "v2-tile128-zstd", "v3-tile128-none", "v3-tile128-blosc", "v3-shard1024-tile128-zstd"];
    for name in all {
        let folder = support::folder();
        let dataset = make(folder.path(), Dtype::U16, 2, &[(9, 11), (9, 11)], (4, 4));
        let (format, variant) = find("ome-zarr", name, Layout::Site).expect("known");
        write(&dataset, format, variant);
        let stored = dataset.stored_dir(format.name, variant);
        let image = stored.join("P_1.zarr/A/01/0");
        let import = imported(
            &folder.path().join("import"),
            &image.join("0"),
            [2, 9, 11],
            dataset.reference(0).expect("reference").data,
        );
        for document in ["0/.zarray", "0/zarr.json", ".zattrs", "zarr.json"].map(|name| image.join(name)) {
            let Ok(text) = fs::read(&document) else { continue };
            let value: Value = serde_json::from_slice(&text).expect("JSON");
            let mut places = Vec::new();
            pointers(&value, "", &mut places);
            for place in places {
                for other in &others {
                    let mut changed = value.clone();
                    *changed.pointer_mut(&place).expect("there") = other.clone();
                    fs::write(&document, changed.to_string()).expect("written");
                    if let Err(error) = store::verify(&dataset, format, variant, &mut |_, _| {}) {
                        assert_names(&error, &stored);
                    }
                    if let Err(error) = import.reference(0) {
                        assert!(error.to_string().contains("P_1.zarr"), "{error}");
                    }
                }
            }
            fs::write(&document, &text).expect("written");
        }
        store::verify(&dataset, format, variant, &mut |_, _| {}).expect("as it was");
    }
}

#[test]
fn plates_that_lead_out_of_their_folder_or_lack_parts_are_told() {
    let folder = support::folder();
    let put = |path: &str, value: Value| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, value.to_string()).expect("written");
    };
    assert_eq!(ome_zarr_plate(folder.path()).expect("an empty folder"), None);
    put(".zattrs", json!({"multiscales": []}));
    assert_eq!(ome_zarr_plate(folder.path()).expect("an image"), None);
    for (wells, word) in [
        (json!([{"path": "../elsewhere"}]), "leads out"),
        (json!([{"path": "A/../../1"}]), "leads out"),
        (json!([{"path": 7}]), "without a path"),
        (json!("A/1"), "no list of wells"),
    ] {
        put(".zattrs", json!({"plate": {"wells": wells}}));
        let error = refused(ome_zarr_plate(folder.path()));
        assert_names(&error, &folder.path().join(".zattrs"));
        assert!(error.to_string().contains(word), "{error}");
    }
    put(".zattrs", json!({"plate": {"wells": [{"path": "A/1"}, {"path": "A/2"}, {"path": "A/3"}]}}));
    put("A/1/.zattrs", json!({"well": {"images": [{"path": "0"}, {"path": "1"}]}}));
    put("A/2/note.txt", json!("no well"));
    put("A/1/1/.zattrs", json!({"multiscales": [{"datasets": [{"path": "0"}]}]}));
    let plate = ome_zarr_plate(folder.path()).expect("tolerated").expect("a plate");
    assert!(plate.fields.is_empty());
    let missing = ["well A1, field 0", "well A1, field 1", "well A2: folder A/2 has no metadata", "well A3: no folder"];
    assert_eq!(plate.missing.len(), missing.len(), "{:?}", plate.missing);
    assert!(plate.missing.iter().zip(missing).all(|(said, word)| said.contains(word)), "{:?}", plate.missing);
    fs::write(folder.path().join("A/1/.zattrs"), "{").expect("written");
    assert_names(&refused(ome_zarr_plate(folder.path())), &folder.path().join("A/1/.zattrs"));
}
