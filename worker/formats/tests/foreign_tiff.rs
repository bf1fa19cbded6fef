//! TIFF between us and others: what the `tiff` crate writes we read, what we write tifffile reads.

mod support;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pcb_formats::{
    Dataset, FormatError, Pixels, Probe, ReferenceCrops, Site, SitePixels, SourceFile, find, site_digest, store,
};
use pcb_protocol::{Dtype, Layout, Pad};
use support::{objects, pixels, refused, tiny, write};
use tiff::encoder::colortype::{Gray8, Gray16, Gray32, Gray32Float, GrayI8, GrayI16, GrayI32};
use tiff::encoder::{Compression, DeflateLevel, Predictor, TiffEncoder, TiffKind};
use tiff::tags::Tag;

/// Writes two pages of `height` x `width`, one strip of `rows` rows after the other.
fn write_pages<K: TiffKind>(
    path: &Path,
    pages: [&Pixels; 2],
    (height, width): (u32, u32),
    rows: u32,
    compression: Compression,
    predictor: Predictor,
) {
    let file = File::create(path).expect("created");
    let mut encoder = TiffEncoder::<_, K>::new_generic(file)
        .expect("encoder")
        .with_compression(compression)
        .with_predictor(predictor);
    for page in pages {
        macro_rules! page {
            ($kind:ty, $pixels:expr) => {{
                let mut image = encoder.new_image::<$kind>(width, height).expect("a page");
                image.rows_per_strip(rows).expect("rows");
                image.write_data($pixels).expect("written");
            }};
        }
        match page {
            Pixels::U8(v) => page!(Gray8, v),
            Pixels::U16(v) => page!(Gray16, v),
            Pixels::F32(v) => page!(Gray32Float, v),
        }
    }
}

#[test]
fn strips_of_the_tiff_crate_are_read_in_place() {
    let (height, width) = (37_u32, 53_u32);
    let compressions = [
        ("none", Compression::Uncompressed),
        ("lzw", Compression::Lzw),
        ("deflate", Compression::Deflate(DeflateLevel::Fast)),
        ("packbits", Compression::Packbits),
    ];
    for &dtype in Dtype::ALL {
        for (name, compression) in compressions {
            for predictor in [Predictor::None, Predictor::Horizontal] {
                // The crate writes no predictor for floats, and none without compression.
                if predictor == Predictor::Horizontal && (dtype == Dtype::F32 || name == "none") {
                    continue;
                }
                let folder = support::folder();
                let plane = (height * width) as usize;
                let pages = [pixels(dtype, 1, plane), pixels(dtype, 2, plane)];
                let path = folder.path().join("pages.tif");
                if name == "lzw" {
                    let kind = write_pages::<tiff::encoder::TiffKindBig>;
                    kind(&path, [&pages[0], &pages[1]], (height, width), 10, compression, predictor);
                } else {
                    let kind = write_pages::<tiff::encoder::TiffKindStandard>;
                    kind(&path, [&pages[0], &pages[1]], (height, width), 10, compression, predictor);
                }
                // The second page is the first channel.
                let mut data = Pixels::zeros(dtype, 2 * plane);
                let half = plane * dtype.size();
                data.bytes_mut()[..half].copy_from_slice(pages[1].bytes());
                data.bytes_mut()[half..].copy_from_slice(pages[0].bytes());
                let whole = SitePixels { channels: 2, height: height as usize, width: width as usize, data };
                let source = [1, 0].map(|page| SourceFile::tiff("pages.tif", page)).to_vec();
                let site = Site {
                    plate: "P".into(),
                    well: "B02".into(),
                    site: "1".into(),
                    height,
                    width,
                    digest: site_digest(&whole),
                    source,
                };
                let names = vec!["a".to_owned(), "b".to_owned()];
                let rows = objects(0, height, width);
                let dataset = support::finish(folder.path(), dtype, names, vec![site], rows, (8, 8));
                let what = format!("{dtype} {name} {predictor:?}");
                assert_eq!(dataset.reference(0).expect("reference").data.bytes(), whole.data.bytes(), "{what}");
                let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
                store::verify(&dataset, format, variant, &mut |_, _| {}).unwrap_or_else(|e| panic!("{what}: {e}"));
                let all: Vec<usize> = (0..9).collect();
                let spec = support::spec(&dataset, variant, &[1, 0], (11, 15), Pad::Reflect);
                assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{what}");
            }
        }
    }
}

/// A dataset of one site, whose channels are `pages` of the file `pages.tif` in `root`.
fn site_of(root: &Path, dtype: Dtype, (height, width): (u32, u32), pages: &[u32]) -> Arc<Dataset> {
    let source = pages.iter().map(|&page| SourceFile::tiff("pages.tif", page)).collect();
    let (plate, well, site) = ("P".to_owned(), "B02".to_owned(), "1".to_owned());
    let site = Site { plate, well, site, height, width, digest: String::new(), source };
    let names = pages.iter().map(|page| page.to_string()).collect();
    support::finish(root, dtype, names, vec![site], objects(0, height, width), (8, 8))
}

#[test]
fn other_integers_come_as_floats_of_the_same_value() {
    let (height, width) = (9_u32, 13_u32);
    let numbers: Vec<i64> = (0..i64::from(height * width)).map(|i| (i * 7919) % 4001 - 2000).collect();
    for (name, compression, predictor) in [
        ("none", Compression::Uncompressed, Predictor::None),
        ("lzw with differences", Compression::Lzw, Predictor::Horizontal),
    ] {
        let folder = support::folder();
        let file = File::create(folder.path().join("pages.tif")).expect("created");
        let mut encoder =
            TiffEncoder::new(file).expect("encoder").with_compression(compression).with_predictor(predictor);
        macro_rules! page {
            ($kind:ty, $number:ty, $shift:expr) => {{
                let pixels: Vec<$number> = numbers.iter().map(|&number| (number + $shift) as $number).collect();
                encoder.write_image::<$kind>(width, height, &pixels).expect("written");
                pixels.into_iter().map(|number| number as f32).collect::<Vec<f32>>()
            }};
        }
        let expected = [
            page!(GrayI8, i8, 0),
            page!(GrayI16, i16, 0),
            page!(GrayI32, i32, 0),
            page!(Gray32, u32, 16_770_000),
            // The last: numbers of which a float holds but every second.
            page!(Gray32, u32, 16_777_217),
        ];
        drop(encoder);
        let whole = |dataset: &Dataset| dataset.reference(0).map(|site| site.data);
        let (format, variant) = find("tiff", "source", Layout::Site).expect("known");
        let dataset = site_of(folder.path(), Dtype::F32, (height, width), &[3, 0, 1, 2]);
        let values = [3, 0, 1, 2].map(|page: usize| expected[page].clone()).concat();
        assert_eq!(whole(&dataset).expect("decodes"), Pixels::F32(values), "{name}");
        let all: Vec<usize> = (0..9).collect();
        for size in [(5, 4), (9, 13), (20, 20)] {
            let spec = support::spec(&dataset, variant, &[2, 0, 1, 3], size, Pad::Reflect);
            assert_eq!(store::check_objects(format, &spec, &all).expect("reads"), None, "{name}");
        }
        let dataset = site_of(folder.path(), Dtype::F32, (height, width), &[4]);
        let spec = support::spec(&dataset, variant, &[0], (9, 13), Pad::Reflect);
        let mut out = vec![0; spec.crop_bytes()];
        let read = (format.open)(&spec).expect("opens").read(4, &mut out, &mut Probe::none());
        for error in [refused(whole(&dataset)), refused(read)] {
            assert!(matches!(error, FormatError::Unsupported(_)), "{error}");
            assert!(error.to_string().contains("pages.tif") && error.to_string().contains("no f32"), "{error}");
        }
    }
}

#[test]
fn colour_is_refused_by_name() {
    let folder = support::folder();
    let path = folder.path().join("colour.tif");
    let mut encoder = TiffEncoder::new(File::create(&path).expect("created")).expect("encoder");
    encoder.write_image::<tiff::encoder::colortype::RGB8>(2, 2, &[0; 12]).expect("written");
    let error = refused(pcb_formats::tiff_pages(&path)).to_string();
    assert!(error.contains("colour.tif") && error.contains("3 samples per pixel"), "{error}");
}

#[test]
fn every_variant_is_stored_as_its_name_says() {
    let folder = support::folder();
    let dataset = tiny(folder.path(), Dtype::U16);
    let mut seen = BTreeSet::new();
    for (format, variant) in support::filed_variants().filter(|(format, _)| format.name.ends_with("tiff")) {
        write(&dataset, format, variant);
        let files = (format.files)(&dataset, variant).expect("listed");
        let largest = |path: &&PathBuf| variant.layout == Layout::Object || path.to_string_lossy().contains("-s4");
        let path = files.iter().find(largest).expect("the largest site");
        let big = fs::read(path).expect("read")[2] == 43;
        let mut decoder = tiff::decoder::Decoder::new(File::open(path).expect("opened")).expect("a TIFF");
        let mut tag = |tag| decoder.find_tag_unsigned::<u32>(tag).expect("a tag");
        let name = variant.name;
        let what = format!("{}:{name}", format.name);
        let (chunks, codec) = name.trim_start_matches("bigtiff-").split_once('-').expect("a codec");
        let code = match codec.split('-').next().expect("a codec") {
            "none" => 1,
            "lzw" => 5,
            "deflate" => 8,
            "zstd" => 50000,
            other => panic!("{other}"),
        };
        assert_eq!(tag(Tag::Compression), Some(code), "{what}");
        let tile = chunks.strip_prefix("tile").map(|side| side.parse().expect("a number"));
        assert_eq!((tag(Tag::TileWidth), tag(Tag::TileLength)), (tile, tile), "{what}");
        // Strips of 64 KiB: 127 rows of 257 pixels of 2 bytes, all rows of a record.
        let rows = if variant.layout == Layout::Object { 21 } else { 127 };
        assert_eq!(tag(Tag::RowsPerStrip), tile.is_none().then_some(rows), "{what}");
        assert_eq!(tag(Tag::Predictor), name.contains("predictor").then_some(2), "{what}");
        assert_eq!(big, name.contains("bigtiff"), "{what}");
        // One level of 65 x 129 pixels.
        assert_eq!(tag(Tag::SubIfd).is_some(), name.contains("pyramid"), "{what}");
        seen.insert(name);
    }
    assert!(seen.len() >= 11, "{seen:?}");
}

/// Prints, for each file named, its number of pages, whether it is tiled, the OME axes and channel names, the digest of
/// its pixels as tifffile reads them, and the number of its levels, each of which must be half of the one before.
const READ_BACK: &str = r#"
import hashlib, re, sys, numpy, tifffile
for path in sys.argv[1:]:
    with tifffile.TiffFile(path) as file:
        pixels = file.asarray()
        levels = file.series[0].levels
        for larger, smaller in zip(levels, levels[1:]):
            numpy.testing.assert_array_equal(larger.asarray()[..., ::2, ::2], smaller.asarray())
        names = re.findall(r'<Channel [^>]*Name="([^"]*)"', file.ome_metadata or "")
        print(len(file.pages), file.pages[0].is_tiled, file.is_ome, file.series[0].axes, len(names),
              hashlib.sha256(pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()).hexdigest(), len(levels))
"#;

#[test]
fn tifffile_reads_what_we_write() {
    let python = std::env::var("PCB_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let present = Command::new(&python).args(["-c", "import tifffile, imagecodecs"]).output();
    if !present.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no tifffile and imagecodecs (set PCB_TEST_PYTHON)");
        return;
    }
    for &dtype in Dtype::ALL {
        let folder = support::folder();
        let dataset = tiny(folder.path(), dtype);
        let (ome, _) = find("ome-tiff", "strip-none", Layout::Site).expect("known");
        for variant in ome.variants {
            write(&dataset, ome, variant);
            let output = Command::new(&python)
                .args(["-c", READ_BACK])
                .args((ome.files)(&dataset, variant).expect("listed"))
                .output()
                .expect("python ran");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let said = String::from_utf8(output.stdout).expect("text");
            let tiled = if variant.name.contains("tile") { "True" } else { "False" };
            let line = |digest: &str, width| {
                let levels = if variant.name.contains("pyramid") && width > 256 { 2 } else { 1 };
                format!("3 {tiled} True CYX 3 {digest} {levels}")
            };
            let expected: Vec<String> = match variant.layout {
                Layout::Site => dataset.info.sites.iter().map(|site| line(&site.digest, site.width)).collect(),
                Layout::Object => records(&dataset).iter().map(|record| line(&site_digest(record), 24)).collect(),
            };
            // A site of one pixel has no axes Y and X in tifffile's eyes.
            let same = |said: &str, expected: &str| {
                let axes = |text: &str| text.replace(" C ", " CYX ");
                axes(said) == axes(expected)
            };
            assert_eq!(said.lines().count(), expected.len());
            for (said, expected) in said.lines().zip(&expected) {
                assert!(same(said, expected), "{} {dtype}: tifffile says {said}, expected {expected}", variant.name);
            }
        }
    }
}

/// The record of every object.
fn records(dataset: &Dataset) -> Vec<SitePixels> {
    let [channels, height, width] = dataset.record_shape();
    let mut crops = ReferenceCrops::new(dataset);
    let all: Vec<usize> = (0..channels).collect();
    (0..dataset.objects.rows.len())
        .map(|object| {
            let mut data = Pixels::zeros(dataset.info.dtype, channels * height * width);
            crops.cut(object, &all, (height, width), Pad::Reflect, data.bytes_mut()).expect("cut");
            SitePixels { channels, height, width, data }
        })
        .collect()
}
