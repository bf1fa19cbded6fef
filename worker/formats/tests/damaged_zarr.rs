//! Chunks and shards that are missing, cut off or changed: the fill value where the format has it so, else an error that
//! names the file or a difference that `verify` finds.

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_formats::{Dataset, Format, FormatError, Pixels, Probe, Variant, find, store};
use pcb_protocol::{Dtype, Layout, Pad};
use serde_json::json;
use support::zarr::{Hand, crc32c, imported};
use support::{filed_variants, files_below, make, refused, spec, write};

fn small(root: &Path) -> Arc<Dataset> {
    make(root, Dtype::U16, 2, &[(40, 50), (40, 50)], (16, 16))
}

fn known(name: &str) -> (&'static Format, &'static Variant) {
    find("ome-zarr", name, Layout::Site).expect("known")
}

/// Every stored variant, with the first chunk or shard of the first site.
fn each_chunk(check: impl Fn(&Arc<Dataset>, &'static Format, &'static Variant, PathBuf)) {
    for (format, variant) in filed_variants().filter(|(format, _)| format.name == "ome-zarr") {
        let folder = support::folder();
        let dataset = small(folder.path());
        write(&dataset, format, variant);
        let array = dataset.stored_dir(format.name, variant).join("P_1.zarr/A/01/0/0");
        let chunk = if variant.name.starts_with("v2") { array.join("0/0/0") } else { array.join("c/0/0/0") };
        check(&dataset, format, variant, chunk);
    }
}

fn read_all(dataset: &Arc<Dataset>, format: &Format, variant: &'static Variant) -> Result<(), FormatError> {
    let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
    let mut reader = (format.open)(&spec)?;
    let mut out = Pixels::zeros(dataset.info.dtype, spec.crop_bytes() / dataset.info.dtype.size());
    for object in 0..dataset.objects.rows.len() {
        reader.read(object, out.bytes_mut(), &mut Probe::none())?;
    }
    Ok(())
}

fn assert_names(error: &FormatError, path: &Path) {
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()), "{text:?} does not name {}", path.display());
}

#[test]
fn a_missing_chunk_is_the_fill_value_and_verify_sees_it() {
    each_chunk(|dataset, format, variant, chunk| {
        fs::remove_file(&chunk).expect("removed");
        read_all(dataset, format, variant).expect("the format has it so");
        let error = refused(store::verify(dataset, format, variant, &mut |_, _| {})).to_string();
        let first = match &dataset.reference(0).expect("reference").data {
            Pixels::U16(v) => v[0],
            _ => panic!("u16"),
        };
        let said = format!("site P_1-A01-s1, channel 0, row 0, column 0: expected {first}, got 0");
        assert!(error.contains(&said), "{}: {error}", variant.name);
    });
}

#[test]
fn fill_values_have_the_arrays_own_type() {
    // Version 2 in big-endian 16-bit integers, whose fill value -3 becomes a float; version 3 with not-a-number.
    let shape = [1, 6, 6];
    let chunk = [1, 3, 6];
    let v2 = json!({
        "zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": ">i2", "compressor": null, "fill_value": -3,
        "order": "C", "filters": null,
    });
    let v3 = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float32", "fill_value": "NaN",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    let signed = |_| 9_i16.to_be_bytes().to_vec();
    let float = |_| 9_f32.to_le_bytes().to_vec();
    type Element<'a> = &'a dyn Fn(usize) -> Vec<u8>;
    let cases: [(_, Element<'_>, _, f32); 2] = [(v2, &signed, ("", "."), -3.0), (v3, &float, ("c/", "/"), f32::NAN)];
    for (metadata, element, key, fill) in cases {
        let folder = support::folder();
        let array = folder.path().join("0");
        let pack = |bytes| bytes;
        let hand = Hand { metadata, shape: &shape, chunk: &chunk, element, fortran: false, pack: &pack, key };
        hand.write(&array);
        fs::remove_file(hand.path(&array, &[0, 1, 0])).expect("removed");
        let mut expected = vec![9.0; 36];
        expected[18..].fill(fill);
        let dataset = imported(&folder.path().join("data"), &array, shape, Pixels::F32(expected));
        let (format, variant) = known("source");
        store::verify(&dataset, format, variant, &mut |_, _| {}).expect("the fill value");
        assert_eq!(dataset.reference(0).expect("reads").data.bytes()[4 * 18..], fill.to_ne_bytes().repeat(18)[..]);
    }
}

#[test]
fn sites_of_nothing_but_zeros_have_no_chunks() {
    for &dtype in Dtype::ALL {
        let folder = support::folder();
        let dataset = make(folder.path(), dtype, 1, &[(140, 140)], (4, 4));
        let path = dataset.root.join("reference/P_1-A01-s1.npy");
        let mut data = Pixels::zeros(dtype, 140 * 140);
        if let Pixels::F32(v) = &mut data {
            // Negative zero is not the fill value.
            v[0] = -0.0;
        }
        pcb_formats::write_npy(&path, &[1, 140, 140], &data).expect("written");
        let mut changed = Dataset::clone(&dataset);
        let pixels = dataset.reference(0).expect("reference");
        changed.info.sites[0].digest = pcb_formats::site_digest(&pixels);
        let dataset = Arc::new(changed);
        for (format, variant) in filed_variants().filter(|(format, _)| format.name == "ome-zarr") {
            write(&dataset, format, variant);
            store::verify(&dataset, format, variant, &mut |_, _| {}).expect("the fill value");
            let array = dataset.stored_dir(format.name, variant).join("P_1.zarr/A/01/0/0");
            assert_eq!(files_below(&array).len(), if dtype == Dtype::F32 { 2 } else { 1 }, "{}", variant.name);
        }
    }
}

#[test]
fn a_cut_off_or_empty_chunk_is_an_error_that_names_it() {
    each_chunk(|dataset, format, variant, chunk| {
        let bytes = fs::read(&chunk).expect("read");
        for len in [0, 1, 3, 4, 7, 8, 15, 16, 60, bytes.len() / 2, bytes.len() - 5, bytes.len() - 1] {
            fs::write(&chunk, &bytes[..len]).expect("written");
            let error = refused(read_all(dataset, format, variant));
            assert_names(&error, &chunk);
            assert!(matches!(error, FormatError::Corrupt { .. }), "{error}");
            assert!(len > 0 || error.to_string().contains("empty"), "{error}");
        }
        if !variant.name.contains("shard") {
            let mut longer = bytes.clone();
            longer.push(0);
            fs::write(&chunk, &longer).expect("written");
            let seen =
                read_all(dataset, format, variant).map(|()| store::verify(dataset, format, variant, &mut |_, _| {}));
            match seen {
                Err(error) => assert_names(&error, &chunk),
                // Blosc and zstd say themselves where they end; others must see it.
                Ok(_) => assert!(!variant.name.ends_with("none"), "{}", variant.name),
            }
        }
        fs::remove_file(&chunk).expect("removed");
        fs::create_dir(&chunk).expect("created");
        assert_names(&refused(read_all(dataset, format, variant)), &chunk);
    });
}

#[test]
fn a_changed_byte_of_a_chunk_is_an_error_or_seen_by_verify_or_changes_no_pixel() {
    each_chunk(|dataset, format, variant, chunk| {
        let bytes = fs::read(&chunk).expect("read");
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        let spec = spec(dataset, variant, &[0, 1], (16, 16), Pad::Reflect);
        let mut seen = 0;
        // Headers of codecs stand at the start, an index at the end.
        let places = (0..40).chain((40..bytes.len()).step_by(97)).chain(bytes.len() - 30..bytes.len());
        for at in places {
            for flip in [0x01, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= flip;
                fs::write(&chunk, &changed).expect("written");
                match store::verify(dataset, format, variant, &mut |_, _| {}) {
                    Err(error) => {
                        assert_names(&error, &dataset.stored_dir(format.name, variant));
                        seen += 1;
                    }
                    Ok(_) => assert_eq!(store::check_objects(format, &spec, &all).expect("read before"), None),
                }
            }
        }
        assert!(seen > 100, "{}: only {seen} changes were seen", variant.name);
    });
}

#[test]
fn a_chunk_that_claims_to_be_huge_costs_no_memory() {
    // A zstd frame of one segment whose header says 2^60 bytes; a Blosc header that says 2 GiB.
    let mut zstd = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    zstd.extend((1_u64 << 60).to_le_bytes());
    zstd.extend([1, 0, 0]);
    let mut blosc = vec![2, 1, 0x21, 2];
    blosc.extend((i32::MAX as u32 - 16).to_le_bytes());
    blosc.extend(65_536_u32.to_le_bytes());
    blosc.extend(40_u32.to_le_bytes());
    blosc.resize(40, 0);
    for (name, bytes) in [("v3-tile128-zstd", zstd), ("v3-tile128-blosc", blosc)] {
        let folder = support::folder();
        let dataset = small(folder.path());
        let (format, variant) = known(name);
        write(&dataset, format, variant);
        let array = dataset.stored_dir(format.name, variant).join("P_1.zarr/A/01/0/0");
        fs::write(array.join("c/0/0/0"), &bytes).expect("written");
        assert_names(&refused(read_all(&dataset, format, variant)), &array.join("c/0/0/0"));
        // As the reference of an import, which goes through zarrs.
        let pixels = dataset.reference(0).expect("reference").data;
        let import = imported(&folder.path().join("import"), &array, [2, 40, 50], pixels);
        assert_names(&refused(import.reference(0)), &array.join("c/0/0/0"));
    }
}

#[test]
fn an_index_that_points_out_of_its_shard_is_refused() {
    let folder = support::folder();
    let dataset = make(folder.path(), Dtype::U16, 1, &[(200, 200)], (16, 16));
    let (format, variant) = known("v3-shard1024-tile128-none");
    write(&dataset, format, variant);
    let shard = dataset.stored_dir(format.name, variant).join("P_1.zarr/A/01/0/0/c/0/0/0");
    let bytes = fs::read(&shard).expect("read");
    let index = bytes.len() - 4 * 16 - 4;
    let with = |chunk: usize, offset: u64, len: u64| {
        let mut changed = bytes.clone();
        let at = index + chunk * 16;
        changed[at..at + 8].copy_from_slice(&offset.to_le_bytes());
        changed[at + 8..at + 16].copy_from_slice(&len.to_le_bytes());
        let sum = crc32c(&changed[index..index + 64]);
        changed[index + 64..].copy_from_slice(&sum.to_le_bytes());
        fs::write(&shard, &changed).expect("written");
        let reader = (format.open)(&spec(&dataset, variant, &[0], (200, 200), Pad::Zero));
        reader.and_then(|mut reader| reader.read(4, &mut vec![0; 80_000], &mut Probe::none()))
    };
    assert!(with(0, 0, 32_768).expect("as it was") >= 200 * 200 * 2);
    for (offset, len) in
        [(u64::MAX - 5, 10), (0, u64::MAX - 1), (bytes.len() as u64, 1), (1 << 40, 32_768), (u64::MAX, 7)]
    {
        let error = refused(with(1, offset, len));
        assert_names(&error, &shard);
        assert!(error.to_string().contains("chunk 1"), "{error}");
    }
    // A chunk of another length within the file, and one that is not there.
    assert!(refused(with(1, 0, 100)).to_string().contains("has 100 bytes"));
    with(1, u64::MAX, u64::MAX).expect("the fill value");
}
