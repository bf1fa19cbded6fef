//! OME-Arrow tables as older versions and other hands write them: read all the same, or refused by name.

mod support;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, Int64Array, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::Field;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use pcb_formats::{
    FormatError, Pixels, Site, SourceFile, SourceKind, arrow_columns, arrow_images, find, plane_info, read_arrow_image,
    site_digest, store,
};
use pcb_protocol::{Dtype, Layout, Pad};
use proptest::prelude::*;
use support::{objects, refused};

/// A chunk: channel, row, column, height, width, bytes, dtype and codec.
type Chunk = (i64, i64, i64, i64, i64, Vec<u8>, &'static str, Option<&'static str>);

/// One image of a table that is to be written.
#[derive(Clone, Default)]
struct Image {
    /// Channels, height, width.
    size: (i64, i64, i64),
    /// Pixels of each plane, by channel.
    planes: Vec<(i64, Vec<i64>)>,
    chunks: Vec<Chunk>,
}

fn ints(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn structs(columns: Vec<(&str, ArrayRef)>) -> StructArray {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    StructArray::new(fields.into(), columns.into_iter().map(|(_, array)| array).collect(), None)
}

fn list(lengths: impl IntoIterator<Item = usize>, values: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new("item", values.data_type().clone(), true));
    Arc::new(ListArray::new(item, OffsetBuffer::from_lengths(lengths), values, None))
}

/// Images as Arrow infers them from dictionaries: every number is an int64, and what is empty is left out.
fn column(images: &[Image], kind: &str) -> StructArray {
    let size = |of: fn(&Image) -> i64| ints(images.iter().map(of));
    let meta = structs(vec![
        ("type", Arc::new(StringArray::from(vec![kind; images.len()]))),
        ("size_x", size(|image| image.size.2)),
        ("size_y", size(|image| image.size.1)),
        ("size_c", size(|image| image.size.0)),
        ("size_z", size(|_| 1)),
        ("size_t", size(|_| 1)),
    ]);
    let mut columns: Vec<(&str, ArrayRef)> = vec![("pixels_meta", Arc::new(meta))];
    if images.iter().any(|image| !image.planes.is_empty()) {
        let all = || images.iter().flat_map(|image| &image.planes);
        let pixels = list(all().map(|plane| plane.1.len()), ints(all().flat_map(|plane| plane.1.clone())));
        let planes = structs(vec![("c", ints(all().map(|plane| plane.0))), ("pixels", pixels)]);
        columns.push(("planes", list(images.iter().map(|image| image.planes.len()), Arc::new(planes))));
    }
    if images.iter().any(|image| !image.chunks.is_empty()) {
        let all = || images.iter().flat_map(|image| &image.chunks);
        let chunks = structs(vec![
            ("c", ints(all().map(|chunk| chunk.0))),
            ("y", ints(all().map(|chunk| chunk.1))),
            ("x", ints(all().map(|chunk| chunk.2))),
            ("shape_y", ints(all().map(|chunk| chunk.3))),
            ("shape_x", ints(all().map(|chunk| chunk.4))),
            ("pixel_bytes", Arc::new(BinaryArray::from_iter_values(all().map(|chunk| &chunk.5)))),
            ("dtype", Arc::new(StringArray::from_iter_values(all().map(|chunk| chunk.6)))),
            ("compression", Arc::new(StringArray::from_iter(all().map(|chunk| chunk.7)))),
        ]);
        columns.push(("chunks", list(images.iter().map(|image| image.chunks.len()), Arc::new(chunks))));
    }
    structs(columns)
}

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    // Small pages and no page index: rows have to be searched for.
    let properties = WriterProperties::builder()
        .set_data_page_size_limit(600)
        .set_write_batch_size(16)
        .set_offset_index_disabled(true)
        .build();
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a batch");
    let file = File::create(path).expect("created");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("closed");
}

fn table(folder: &Path, images: &[Image], kind: &str) -> PathBuf {
    let path = folder.join("table.parquet");
    write(&path, vec![("picture", Arc::new(column(images, kind)))]);
    path
}

/// Planes only, of odd sizes.
fn planes(count: usize) -> Vec<Image> {
    let image = |number: usize| {
        let (height, width) = (3 + number % 5, 4 + number % 7);
        let plane =
            |c: usize| (0..height * width).map(|i| ((i * 37 + c * 1001 + number * 77) % 60_000) as i64).collect();
        let size = (2, height as i64, width as i64);
        Image { size, planes: vec![(1, plane(1)), (0, plane(0))], chunks: Vec::new() }
    };
    (0..count).map(image).collect()
}

fn numbers(image: &Image) -> Pixels {
    let mut sorted = image.planes.clone();
    sorted.sort();
    Pixels::U16(sorted.into_iter().flat_map(|(_, pixels)| pixels).map(|pixel| pixel as u16).collect())
}

#[test]
fn planes_of_int64_without_chunks_are_read() {
    let folder = support::folder();
    let images = planes(50);
    let path = table(folder.path(), &images, "uint16");
    assert_eq!(arrow_columns(&path).expect("listed"), ["picture"]);
    let about = arrow_images(&path, "picture").expect("read");
    for row in [0, 49, 7, 31, 8, 7] {
        let pixels = read_arrow_image(&path, None, row as u64).expect("read");
        assert_eq!(pixels.data, numbers(&images[row]), "row {row}");
        let image = about[row].as_ref().expect("an image");
        assert_eq!((image.height as usize, image.width as usize), (pixels.height, pixels.width));
        assert_eq!((image.dtype, &image.channels[..]), (Dtype::U16, &["C0".to_owned(), "C1".to_owned()][..]));
    }
}

#[test]
fn columns_of_nulls_beside_the_images_do_no_harm() {
    let folder = support::folder();
    let images = planes(3);
    let whole = column(&images, "uint8");
    let kind = whole.data_type().clone();
    let holes = StructArray::new(
        whole.fields().clone(),
        whole.columns().to_vec(),
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let path = folder.path().join("t.parquet");
    write(&path, vec![("a", Arc::new(holes)), ("ome_arrow", new_null_array(&kind, 3)), ("n", ints(0..3))]);
    assert_eq!(arrow_columns(&path).expect("listed"), ["a", "ome_arrow"]);
    let about = arrow_images(&path, "a").expect("read");
    assert!(about[0].is_some() && about[1].is_none() && about[2].is_some());
    // `ome_arrow` is the usual name, and is meant when none is given.
    for (column, row) in [(None, 0), (Some("a"), 1)] {
        let text = refused(read_arrow_image(&path, column, row)).to_string();
        assert!(text.contains("t.parquet") && text.contains("is null"), "{text}");
    }
    assert!(refused(arrow_images(&path, "n")).to_string().contains("\"n\""));
}

#[test]
fn numbers_that_do_not_fit_are_refused_with_their_place() {
    let folder = support::folder();
    for (kind, wrong, most) in [("uint16", -1, "65535"), ("uint16", 70_000, "65535"), ("uint8", 256, "255")] {
        let mut images = planes(4);
        images.iter_mut().flat_map(|image| &mut image.planes).for_each(|(_, v)| v.iter_mut().for_each(|x| *x %= 256));
        images[2].planes[0].1[5] = wrong;
        let path = table(folder.path(), &images, kind);
        assert!(read_arrow_image(&path, None, 1).is_ok());
        let text = refused(read_arrow_image(&path, None, 2)).to_string();
        for word in ["table.parquet", "row 2", "plane 0", "pixel 5", &wrong.to_string(), most] {
            assert!(text.contains(word), "{word:?} is not in {text}");
        }
    }
}

#[test]
fn planes_that_do_not_fit_their_image_are_refused() {
    let folder = support::folder();
    let refuse = |change: &dyn Fn(&mut Image), word: &str| {
        let mut images = planes(3);
        change(&mut images[1]);
        let path = table(folder.path(), &images, "uint16");
        let error = refused(read_arrow_image(&path, None, 1));
        let text = error.to_string();
        assert!(
            matches!(error, FormatError::Corrupt { .. }) && text.contains("row 1") && text.contains(word),
            "{text}"
        );
    };
    refuse(&|image| drop(image.planes.pop()), "20 pixels; expected 40");
    refuse(&|image| image.planes[1].1.truncate(19), "39 pixels; expected 40");
    refuse(&|image| image.planes[0].0 = 0, "channel");
    refuse(&|image| image.planes[0].0 = 7, "channel 7");
    refuse(&|image| image.planes[0].0 = -1, "c is -1");
    refuse(&|image| image.planes.clear(), "neither planes nor chunks");
    refuse(&|image| image.size = (2, 4, i64::MAX), "impossible");
    refuse(&|image| image.size = (2, 0, 5), "impossible");
    refuse(&|image| image.size = (2, 1 << 18, 1 << 18), "pixels");
    // The right number of pixels, at wrong places.
    refuse(
        &|image| {
            let moved = image.planes[1].1.pop().expect("a pixel");
            image.planes[0].1.push(moved);
        },
        "does not hold 20 pixels",
    );
}

/// An image of two channels in chunks of 4x5 with this codec.
fn chunked(dtype: &'static str, size: usize, codec: Option<&'static str>) -> Image {
    let mut chunks = Vec::new();
    for c in 0..2 {
        for y in [0, 4] {
            for x in [0, 5, 10] {
                let (high, wide) = ((7 - y).min(4), (12 - x).min(5));
                let bytes: Vec<u8> =
                    (0..(high * wide) as usize * size).map(|i| (i * 31 + y as usize * 7) as u8).collect();
                let packed = match codec {
                    Some("zstd") => zstd::bulk::compress(&bytes, 1).expect("packed"),
                    Some("lz4") => {
                        let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
                        std::io::Write::write_all(&mut encoder, &bytes).expect("packed");
                        encoder.finish().expect("packed")
                    }
                    _ => bytes,
                };
                chunks.push((c, y, x, high, wide, packed, dtype, codec));
            }
        }
    }
    Image { size: (2, 7, 12), planes: Vec::new(), chunks }
}

#[test]
fn bytes_of_every_codec_and_dtype_are_read() {
    let folder = support::folder();
    for (dtype, size, expected) in [
        ("uint8", 1, Dtype::U8),
        ("uint16", 2, Dtype::U16),
        ("float32", 4, Dtype::F32),
        ("int8", 1, Dtype::F32),
        ("int16", 2, Dtype::F32),
    ] {
        let plain = table(folder.path(), &[chunked(dtype, size, None)], dtype);
        let plain = read_arrow_image(&plain, None, 0).expect("read");
        assert_eq!(plain.data.dtype(), expected);
        for codec in ["none", "zstd", "lz4"] {
            let path = table(folder.path(), &[chunked(dtype, size, Some(codec))], dtype);
            let pixels = read_arrow_image(&path, None, 0).expect("read");
            // NaN is not equal to itself; its bits are.
            assert_eq!(pixels.data.bytes(), plain.data.bytes(), "{dtype} {codec}");
        }
    }
    let path = table(folder.path(), &[chunked("int8", 1, None)], "int8");
    let Pixels::F32(pixels) = read_arrow_image(&path, None, 0).expect("read").data else { panic!("floats") };
    // Byte 8 of the first chunk is 248.
    assert_eq!(pixels[12 + 3], -8.0);
}

#[test]
fn chunks_that_cannot_be_read_are_refused_with_their_place() {
    let folder = support::folder();
    let refuse = |change: &dyn Fn(&mut Vec<Chunk>), unsupported: bool, word: &str| {
        let mut image = chunked("uint16", 2, Some("zstd"));
        change(&mut image.chunks);
        let path = table(folder.path(), &[chunked("uint16", 2, None), image], "uint16");
        let error = refused(read_arrow_image(&path, None, 1));
        let text = error.to_string();
        assert_eq!(matches!(error, FormatError::Unsupported(_)), unsupported, "{text}");
        assert!(text.contains("table.parquet") && text.contains("row 1") && text.contains(word), "{text}");
    };
    refuse(&|chunks| chunks[3].7 = Some("brotli"), true, "brotli");
    refuse(&|chunks| chunks[3].6 = "float64", true, "float64");
    refuse(&|chunks| chunks[3].6 = "int16", false, "chunk 3 is int16");
    refuse(&|chunks| drop(chunks.pop()), false, "pixels; expected 168");
    refuse(&|chunks| chunks[3].1 = 5, false, "chunk 3");
    refuse(&|chunks| chunks[3].2 = -5, false, "x is -5");
    refuse(&|chunks| chunks[3].3 = 400, false, "chunk 3");
    refuse(&|chunks| chunks[3] = chunks[2].clone(), false, "");
    refuse(&|chunks| chunks[3].5 = chunks[2].5.clone(), false, "chunk 3");
    refuse(&|chunks| chunks[3].5[6] ^= 0xff, false, "chunk 3");
    refuse(&|chunks| chunks[3].5.truncate(9), false, "chunk 3");
    refuse(&|chunks| chunks[3].5.clear(), false, "chunk 3");
    refuse(&|chunks| chunks[3].7 = Some("lz4"), false, "chunk 3");
    refuse(&|chunks| chunks[3].7 = None, false, "bytes of pixels");
}

#[test]
fn images_of_several_planes_are_refused_by_name() {
    let folder = support::folder();
    let images = planes(2);
    let whole = column(&images, "uint16");
    let meta = whole.column_by_name("pixels_meta").expect("there");
    let meta = meta.as_any().downcast_ref::<StructArray>().expect("a struct");
    let mut columns = meta.columns().to_vec();
    columns[4] = ints([1, 5]);
    let meta = StructArray::new(meta.fields().clone(), columns, None);
    let mut columns = whole.columns().to_vec();
    columns[0] = Arc::new(meta);
    let deep = StructArray::new(whole.fields().clone(), columns, None);
    let path = folder.path().join("deep.parquet");
    write(&path, vec![("image", Arc::new(deep))]);
    assert_eq!(read_arrow_image(&path, None, 0).expect("flat").data, numbers(&images[0]));
    let error = refused(read_arrow_image(&path, None, 1));
    assert!(matches!(error, FormatError::Unsupported(_)) && error.to_string().contains("5 z planes"), "{error}");
}

/// A dataset of one site for each row, in place.
fn imported(folder: &Path, path: &Path, dtype: Dtype) -> Arc<pcb_formats::Dataset> {
    let (mut sites, mut rows) = (Vec::new(), Vec::new());
    for (row, image) in arrow_images(path, "picture").expect("read").into_iter().enumerate() {
        let image = image.expect("an image");
        let source = |page| {
            let column = Some("picture".to_owned());
            SourceFile { path: path.to_owned(), kind: SourceKind::OmeArrow, page, row: row as u64, column }
        };
        let digest = site_digest(&read_arrow_image(path, None, row as u64).expect("read"));
        let (plate, well, site) = ("P".to_owned(), "A01".to_owned(), row.to_string());
        let source: Vec<_> = (0..2).map(source).collect();
        let page = plane_info(path, &source[1]).expect("known");
        assert_eq!((page.height, page.width, page.dtype), (image.height, image.width, dtype));
        sites.push(Site { plate, well, site, height: image.height, width: image.width, digest, source });
        rows.extend(objects(row, image.height, image.width));
    }
    support::finish(folder, dtype, vec!["a".into(), "b".into()], sites, rows, (4, 4))
}

#[test]
fn the_source_variant_reads_what_the_library_reads() {
    let folder = support::folder();
    let bytes = |dtype, size| vec![chunked(dtype, size, Some("zstd")), chunked(dtype, size, None)];
    for (images, kind, dtype) in [
        (planes(12), "uint16", Dtype::U16),
        (bytes("uint8", 1), "uint8", Dtype::U8),
        (bytes("int16", 2), "int16", Dtype::F32),
        (bytes("float32", 4), "float32", Dtype::F32),
    ] {
        let path = table(folder.path(), &images, kind);
        let dataset = imported(folder.path(), &path, dtype);
        let (format, variant) = find("ome-arrow", "source", Layout::Site).expect("known");
        assert!(store::exists(&dataset, format, variant));
        assert_eq!((format.files)(&dataset, variant).expect("listed"), [path]);
        let all: Vec<usize> = (0..dataset.objects.rows.len()).collect();
        for (size, pad) in [((5, 5), Pad::Reflect), ((3, 20), Pad::Zero), ((1, 1), Pad::Zero)] {
            for channels in [&[0, 1][..], &[1], &[1, 0]] {
                let spec = support::spec(&dataset, variant, channels, size, pad);
                assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{kind}");
            }
        }
        store::verify(&dataset, format, variant, &mut |_, _| {}).expect("the same");
        // The reference, backwards: the library's reader has to start anew.
        for index in (0..dataset.info.sites.len()).rev() {
            let reference = dataset.reference(index).expect("read");
            assert_eq!(site_digest(&reference), dataset.info.sites[index].digest, "{kind}");
        }
        let mut lying = pcb_formats::Dataset::clone(&dataset);
        lying.info.sites[0].source[1].page = 9;
        assert!(refused(lying.reference(0)).to_string().contains("channel 9 of 2"));
        lying.info.sites[0].source[1].row = 99;
        assert!(refused(lying.reference(0)).to_string().contains("row 99"));
    }
}

#[test]
fn a_damaged_table_is_an_error_or_gives_the_same_or_other_pixels_but_no_panic() {
    let folder = support::folder();
    for images in [planes(9), vec![chunked("uint16", 2, Some("zstd")), chunked("uint16", 2, None)]] {
        let path = table(folder.path(), &images, "uint16");
        let sound = std::fs::read(&path).expect("read");
        let mut found = 0;
        for at in (0..sound.len()).step_by(13) {
            for bits in [0x01, 0xff] {
                let mut changed = sound.clone();
                changed[at] ^= bits;
                std::fs::write(&path, &changed).expect("written");
                for row in 0..images.len() as u64 {
                    if let Err(error) = read_arrow_image(&path, None, row) {
                        assert!(error.to_string().contains("table.parquet"), "{error}");
                        found += 1;
                    }
                }
                let _ = arrow_images(&path, "picture");
            }
        }
        assert!(found > 50, "{found}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_row_of_any_table_comes_back(
        sizes in prop::collection::vec((1..9_i64, 1..40_i64), 1..40),
        pick in any::<prop::sample::Index>(),
        level in 1..60_000_i64,
    ) {
        let folder = support::folder();
        let image = |(number, &(height, width)): (usize, &(i64, i64))| {
            let plane = |c: i64| (0..height * width).map(|i| (i * i * 7 + c + number as i64) % level).collect();
            Image { size: (2, height, width), planes: vec![(0, plane(0)), (1, plane(1))], chunks: Vec::new() }
        };
        let images: Vec<Image> = sizes.iter().enumerate().map(image).collect();
        let path = table(folder.path(), &images, "uint16");
        let row = pick.index(images.len());
        prop_assert_eq!(read_arrow_image(&path, None, row as u64).expect("read").data, numbers(&images[row]));
    }
}

#[test]
fn what_is_no_table_is_refused() {
    let folder = support::folder();
    let path = folder.path().join("t.parquet");
    write(&path, vec![("n", ints(0..4))]);
    assert_eq!(arrow_columns(&path).expect("read").len(), 0);
    assert!(refused(read_arrow_image(&path, None, 0)).to_string().contains("no column holds OME-Arrow images"));
    for bytes in [&b""[..], b"PAR1", b"PAR1PAR1", &[0; 100]] {
        std::fs::write(&path, bytes).expect("written");
        let error = refused(arrow_columns(&path));
        assert!(error.to_string().contains("t.parquet"), "{error}");
    }
    assert!(matches!(refused(arrow_columns(&folder.path().join("none"))), FormatError::Io { .. }));
    assert!(refused(arrow_columns(folder.path())).to_string().contains("a folder"));
}
