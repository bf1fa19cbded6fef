//! OME-Zarr between us and others: arrays written by hand in many ways we read, what we write zarr-python reads.

mod support;

use std::io::Write;
use std::path::Path;
use std::process::Command;

use flate2::write::{GzEncoder, ZlibEncoder};
use pcb_formats::{Pixels, find, store};
use pcb_protocol::{Dtype, Layout, Pad};
use serde_json::{Value, json};
use support::zarr::{Hand, imported, v2, v3};
use support::{tiny, write};

type Pack = fn(Vec<u8>) -> Vec<u8>;

fn as_is(bytes: Vec<u8>) -> Vec<u8> {
    bytes
}

fn gzip(bytes: Vec<u8>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn zlib(bytes: Vec<u8>) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn zstd(bytes: Vec<u8>) -> Vec<u8> {
    zstd::encode_all(&bytes[..], 1).expect("packed")
}

fn value(element: usize) -> u16 {
    (element * 257 + element / 7) as u16
}

/// Compares whole site and crops of the imported array with `expected`.
fn check(what: &str, array: &Path, shape: [usize; 3], expected: Pixels) {
    let folder = support::folder();
    let dataset = imported(folder.path(), array, shape, expected.clone());
    let (format, variant) = find("ome-zarr", "source", Layout::Site).expect("known");
    assert!(store::exists(&dataset, format, variant));
    assert_eq!(dataset.reference(0).expect("zarrs reads it").data.bytes(), expected.bytes(), "{what}: reference");
    store::verify(&dataset, format, variant, &mut |_, _| {}).unwrap_or_else(|e| panic!("{what}: {e}"));
    let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
    let channels: Vec<usize> = (0..shape[0]).rev().collect();
    for size in [(3, 4), (1, 1), (9, 12)] {
        let spec = support::spec(&dataset, variant, &channels, size, Pad::Reflect);
        assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{what} {size:?}");
    }
}

#[test]
fn zarr_2_arrays_are_read_however_their_chunks_are_stored() {
    let little = |element| value(element).to_le_bytes().to_vec();
    let big = |element| value(element).to_be_bytes().to_vec();
    let slash = json!({"dimension_separator": "/"});
    let with = |compressor: Value| json!({"compressor": compressor});
    let codec = |id: &str| with(json!({"id": id, "level": 1}));
    let cases: &[(&str, &str, Value, Pack, bool, &str)] = &[
        ("separator . is the default", "<u2", json!({}), as_is, false, "."),
        ("separator /", "<u2", slash, as_is, false, "/"),
        ("Fortran order", "<u2", json!({"order": "F"}), as_is, true, "."),
        ("big-endian", ">u2", json!({}), as_is, false, "."),
        (
            "big-endian, Fortran order, zlib",
            ">u2",
            json!({"order": "F", "compressor": {"id": "zlib", "level": 1}}),
            zlib,
            true,
            ".",
        ),
        ("gzip", "<u2", codec("gzip"), gzip, false, "."),
        ("zlib", "<u2", codec("zlib"), zlib, false, "."),
        ("zstd", "<u2", codec("zstd"), zstd, false, "."),
        ("no fill value, no filters", "<u2", json!({"fill_value": null, "filters": []}), as_is, false, "."),
    ];
    let shape = [2, 5, 7];
    let expected: Pixels = Pixels::U16((0..70).map(value).collect());
    for chunk in [[1, 3, 4], [2, 5, 7], [3, 2, 9]] {
        for (what, dtype, more, pack, fortran, separator) in cases {
            let folder = support::folder();
            let element: &dyn Fn(usize) -> Vec<u8> = if dtype.starts_with('>') { &big } else { &little };
            let metadata = v2(&shape, &chunk, dtype, more);
            let key = ("", *separator);
            let array = Hand { metadata, shape: &shape, chunk: &chunk, element, fortran: *fortran, pack, key };
            array.write(&folder.path().join("0"));
            check(&format!("{what} {chunk:?}"), &folder.path().join("0"), shape, expected.clone());
        }
    }
}

#[test]
fn zarr_3_arrays_are_read_however_their_chunks_are_stored() {
    let little = |element| value(element).to_le_bytes().to_vec();
    let big = |element| value(element).to_be_bytes().to_vec();
    let bytes = |endian: &str| json!({"name": "bytes", "configuration": {"endian": endian}});
    let then = |name: &str, configuration: Value| json!({"codecs": [bytes("little"), {"name": name, "configuration": configuration}]});
    let keys = |name: &str, separator: &str| json!({"chunk_key_encoding": {"name": name, "configuration": {"separator": separator}}});
    let transposed = json!({"codecs": [{"name": "transpose", "configuration": {"order": [2, 1, 0]}}, bytes("little")]});
    type Case<'a> = (&'a str, Value, Pack, bool, bool, (&'a str, &'a str));
    let cases: &[Case<'_>] = &[
        ("big-endian", json!({"codecs": [bytes("big")]}), as_is, true, false, ("c/", "/")),
        ("default keys with .", keys("default", "."), as_is, false, false, ("c.", ".")),
        ("keys of version 2", keys("v2", "."), as_is, false, false, ("", ".")),
        ("transposed", transposed, as_is, false, true, ("c/", "/")),
        ("gzip", then("gzip", json!({"level": 5})), gzip, false, false, ("c/", "/")),
        ("zstd", then("zstd", json!({"level": 0, "checksum": false})), zstd, false, false, ("c/", "/")),
    ];
    let shape = [2, 5, 7];
    let expected: Pixels = Pixels::U16((0..70).map(value).collect());
    for chunk in [[1, 3, 4], [2, 5, 7], [3, 2, 9]] {
        for (what, more, pack, big_endian, fortran, key) in cases {
            let folder = support::folder();
            let element: &dyn Fn(usize) -> Vec<u8> = if *big_endian { &big } else { &little };
            let metadata = v3(&shape, &chunk, "uint16", more);
            let array = Hand { metadata, shape: &shape, chunk: &chunk, element, fortran: *fortran, pack, key: *key };
            array.write(&folder.path().join("0"));
            check(&format!("{what} {chunk:?}"), &folder.path().join("0"), shape, expected.clone());
        }
    }
}

#[test]
fn shards_are_read_whatever_their_shape_and_wherever_their_index_stands() {
    let little = |element| value(element).to_le_bytes().to_vec();
    let shape = [2, 5, 7];
    let expected: Pixels = Pixels::U16((0..70).map(value).collect());
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let packed = json!([bytes, {"name": "gzip", "configuration": {"level": 1}}]);
    let shapes = [([1, 3, 4], [1, 3, 4]), ([1, 3, 4], [2, 6, 8]), ([2, 3, 4], [2, 3, 8]), ([1, 2, 3], [4, 8, 9])];
    for (chunk, shard) in shapes {
        for (codecs, pack) in [(json!([bytes]), as_is as Pack), (packed.clone(), gzip as Pack)] {
            for (location, first) in [("start", true), ("end", false)] {
                let sharding = json!({
                    "chunk_shape": chunk, "codecs": codecs, "index_location": location,
                    "index_codecs": [bytes, {"name": "crc32c"}],
                });
                let outer = json!({"codecs": [{"name": "sharding_indexed", "configuration": sharding}]});
                let metadata = v3(&shape, &shard, "uint16", &outer);
                let key = ("c/", "/");
                let hand =
                    Hand { metadata, shape: &shape, chunk: &chunk, element: &little, fortran: false, pack: &pack, key };
                let folder = support::folder();
                hand.write_shards(&folder.path().join("0"), &shard, first);
                check(
                    &format!("{chunk:?} in {shard:?}, index {location}"),
                    &folder.path().join("0"),
                    shape,
                    expected.clone(),
                );
            }
        }
    }
}

#[test]
fn signed_pixels_become_floats_and_stay_negative() {
    let signed = |element: usize| element as i32 * 3 - 100;
    let expected = Pixels::F32((0..70).map(|element| signed(element) as f32).collect());
    let int8 = |element| (signed(element) as i8).to_le_bytes().to_vec();
    let int16 = |element| (signed(element) as i16).to_be_bytes().to_vec();
    let float = |element| (signed(element) as f32).to_be_bytes().to_vec();
    let shape = [2, 5, 7];
    type Element<'a> = &'a dyn Fn(usize) -> Vec<u8>;
    let cases: [(&str, Element<'_>); 3] = [("|i1", &int8), (">i2", &int16), (">f4", &float)];
    for (dtype, element) in cases {
        let folder = support::folder();
        let chunk = [1, 3, 4];
        let metadata = v2(&shape, &chunk, dtype, &json!({}));
        let array =
            Hand { metadata, shape: &shape, chunk: &chunk, element, fortran: false, pack: &as_is, key: ("", ".") };
        array.write(&folder.path().join("0"));
        check(dtype, &folder.path().join("0"), shape, expected.clone());
    }
}

#[test]
fn axes_are_those_that_the_image_names() {
    let little = |element| value(element).to_le_bytes().to_vec();
    let expected: Pixels = Pixels::U16((0..70).map(value).collect());
    let axis = |name: &str| json!({"name": name, "type": if name == "c" { "channel" } else { "space" }});
    let named = |names: &str| names.chars().map(|name| axis(&name.to_string())).collect::<Vec<_>>();
    // Shape, chunk, axes of the image's metadata, (C, Y, X).
    type Case<'a> = (&'a [usize], &'a [usize], Value, [usize; 3]);
    let cases: &[Case<'_>] = &[
        (&[1, 2, 1, 5, 7], &[1, 1, 1, 3, 4], json!(named("tczyx")), [2, 5, 7]),
        (&[1, 2, 1, 5, 7], &[2, 2, 3, 2, 3], json!(["t", "c", "z", "y", "x"]), [2, 5, 7]),
        (&[1, 2, 1, 5, 7], &[1, 2, 1, 5, 7], Value::Null, [2, 5, 7]),
        (&[2, 1, 5, 7], &[1, 1, 3, 4], json!(named("czyx")), [2, 5, 7]),
        (&[1, 10, 7], &[1, 3, 4], json!(named("zyx")), [1, 10, 7]),
        (&[10, 7], &[3, 4], json!(named("yx")), [1, 10, 7]),
    ];
    for (shape, chunk, axes, site) in cases {
        let folder = support::folder();
        let metadata = v2(shape, chunk, "<u2", &json!({}));
        let array = Hand { metadata, shape, chunk, element: &little, fortran: false, pack: &as_is, key: ("", ".") };
        array.write(&folder.path().join("0"));
        let mut scale = json!({"datasets": [{"path": "0"}]});
        if !axes.is_null() {
            scale["axes"] = axes.clone();
        }
        let image = json!({"multiscales": [scale]});
        std::fs::write(folder.path().join(".zattrs"), image.to_string()).expect("written");
        check(&format!("{shape:?} {axes}"), &folder.path().join("0"), *site, expected.clone());
    }
}

/// Opens the plate in the first argument, checks its metadata from plate to array, and prints, for each array in order,
/// axes, chunk shape, channel names, and the digest of its pixels as zarr-python reads them.
const READ_BACK: &str = r#"
import hashlib, sys, zarr
plate = zarr.open_group(sys.argv[1], mode="r")
attrs = lambda group: group.attrs.asdict().get("ome", group.attrs.asdict())
described = attrs(plate)["plate"]
rows, columns = ([entry["name"] for entry in described[key]] for key in ("rows", "columns"))
for well in described["wells"]:
    row, column = well["path"].split("/")
    assert rows[well["rowIndex"]] == row and columns[well["columnIndex"]] == column
    assert row.isalnum() and column.isalnum()
    for image in attrs(plate[well["path"]])["well"]["images"]:
        field = plate[well["path"]][image["path"]]
        scale = attrs(field)["multiscales"][0]
        array = field[scale["datasets"][0]["path"]]
        axes = "".join(axis["name"] for axis in scale["axes"])
        pixels = array[:]
        digest = hashlib.sha256(pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()).hexdigest()
        names = [channel["label"] for channel in attrs(field)["omero"]["channels"]]
        print(axes, "x".join(map(str, array.chunks)), len(set(names)), digest)
"#;

#[test]
fn wells_and_plates_of_any_name_have_places_that_ome_zarr_allows() {
    let folder = support::folder();
    let made = support::make(folder.path(), Dtype::U8, 1, &[(20, 30); 7], (4, 4));
    let mut sites = made.info.sites.clone();
    let places = [
        ("", "A1"),
        ("P 1", "A01"),
        ("P 1", "A01"),
        ("P 1", "B12"),
        ("P 1", "well 3"),
        ("P 1", "\u{c4}\u{df}"),
        ("P_1", "other1"),
    ];
    for (number, (site, (plate, well))) in sites.iter_mut().zip(places).enumerate() {
        let old = site.name();
        (site.plate, site.well, site.site) = (plate.to_owned(), well.to_owned(), format!("odd/{number}"));
        let reference = folder.path().join("reference");
        std::fs::rename(reference.join(format!("{old}.npy")), reference.join(format!("{}.npy", site.name())))
            .expect("renamed");
    }
    let channels = made.info.channels.clone();
    let dataset = support::finish(folder.path(), Dtype::U8, channels, sites, made.objects.rows.clone(), (4, 4));
    for name in ["v2-tile128-zstd", "v3-tile128-none"] {
        let (format, variant) = find("ome-zarr", name, Layout::Site).expect("known");
        write(&dataset, format, variant);
        assert_eq!(store::verify(&dataset, format, variant, &mut |_, _| {}).expect("the same pixels"), 7);
        let stored = dataset.stored_dir("ome-zarr", variant);
        let fields = |plate: &str| {
            let plate = pcb_formats::ome_zarr_plate(&stored.join(plate)).expect("reads").expect("a plate");
            assert!(plate.missing.is_empty());
            let fields = plate.fields.iter().map(|field| format!("{} {}", field.well, field.field));
            (plate.name.clone(), fields.collect::<Vec<_>>())
        };
        let expected = ["A01 0", "A01 1", "B12 0", "other1 0", "other2 0"].map(str::to_owned).to_vec();
        assert_eq!(fields("P_1.zarr"), ("P 1".to_owned(), expected));
        assert_eq!(fields("P_1-2.zarr"), ("P_1".to_owned(), vec!["other1 0".to_owned()]));
        assert_eq!(fields("plate.zarr").1, ["A1 0"]);
    }
}

#[test]
fn zarr_python_reads_what_we_write() {
    let python = std::env::var("PCB_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let present = Command::new(&python).args(["-c", "import zarr; assert zarr.__version__ >= '3'"]).output();
    if !present.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no zarr 3 (set PCB_TEST_PYTHON)");
        return;
    }
    for &dtype in Dtype::ALL {
        let folder = support::folder();
        let dataset = tiny(folder.path(), dtype);
        let (format, _) = find("ome-zarr", "v3-tile128-none", Layout::Site).expect("known");
        for variant in format.variants.iter().filter(|variant| variant.stored != "source") {
            write(&dataset, format, variant);
            let plate = dataset.stored_dir(format.name, variant).join("P_1.zarr");
            let output = Command::new(&python).args(["-c", READ_BACK]).arg(plate).output().expect("python ran");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let said = String::from_utf8(output.stdout).expect("text");
            let side = |len: u32| if variant.name.contains("tile128") { len.min(128) } else { len };
            let expected: Vec<String> = dataset
                .info
                .sites
                .iter()
                .map(|site| format!("cyx 1x{}x{} 3 {}", side(site.height), side(site.width), site.digest))
                .collect();
            assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{} {dtype}", variant.name);
        }
    }
}
