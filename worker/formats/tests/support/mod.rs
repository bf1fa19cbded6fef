//! Tiny datasets, shared by the tests. Each test binary uses its own part of this.
#![allow(dead_code)]

pub mod interop;
pub mod zarr;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use pcb_formats::{
    Dataset, DatasetInfo, FORMATS, Format, FormatError, Object, ObjectTable, OpenSpec, Pixels, Record, Site,
    SitePixels, VERSION, Variant, site_digest, store, write_site_npy,
};
use pcb_protocol::{Dtype, Pad};
use tempfile::TempDir;

/// A folder that goes when dropped; in memory where that is possible, because each fsync to a disk costs milliseconds.
pub fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// Every (format, variant) of the table.
pub fn variants() -> impl Iterator<Item = (&'static Format, &'static Variant)> {
    FORMATS.iter().flat_map(|format| format.variants.iter().map(move |variant| (format, variant)))
}

/// Those that a generated dataset can be stored in.
pub fn stored_variants() -> impl Iterator<Item = (&'static Format, &'static Variant)> {
    variants().filter(|(_, variant)| variant.stored != "source")
}

/// Those that have files of their own.
pub fn filed_variants() -> impl Iterator<Item = (&'static Format, &'static Variant)> {
    stored_variants().filter(|(_, variant)| variant.stored != "none")
}

/// Whether a format can hold pixels of this dtype in this way.
pub fn holds(format: &Format, variant: &Variant, dtype: Dtype) -> bool {
    let lists = ["ome-arrow", "lance", "vortex"].contains(&format.name) && variant.name.starts_with("list");
    let integers = format.name == "png" || lists;
    !(integers && dtype == Dtype::F32)
}

/// All files in and below `folder`, sorted.
pub fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Pixels that differ everywhere and have no period that a wrong stride would hide.
pub fn pixels(dtype: Dtype, seed: u32, len: usize) -> Pixels {
    let noise = |i: usize| (i as u32 ^ seed.wrapping_mul(0x9e37_79b9)).wrapping_mul(0x85eb_ca6b) >> 7;
    let mut made = Pixels::zeros(dtype, len);
    match &mut made {
        Pixels::U8(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = noise(i) as u8),
        Pixels::U16(v) => v.iter_mut().enumerate().for_each(|(i, x)| *x = noise(i) as u16),
        Pixels::F32(v) => {
            v.iter_mut().enumerate().for_each(|(i, x)| *x = noise(i) as f32 / 1000.0 - 7000.0);
            let odd = [f32::NAN, f32::NEG_INFINITY, -0.0, f32::MIN_POSITIVE / 2.0, f32::from_bits(0x7fc0_1234)];
            for (x, odd) in v.iter_mut().step_by(3).zip(odd) {
                *x = odd;
            }
        }
    }
    made
}

/// Objects in the middle, at every edge and every corner of a site, and at halves: the far edge's round off the site.
pub fn objects(site: usize, height: u32, width: u32) -> Vec<Object> {
    let (bottom, right) = (height as f32 - 0.5, width as f32 - 0.5);
    let mut rows = Vec::new();
    for y in [0.0, bottom / 2.0, bottom] {
        for x in [0.0, right / 2.0, right] {
            let id = format!("s{site}-{}", rows.len());
            rows.push(Object { id, site: site as u32, y, x, bbox: [y as i32, x as i32, y as i32 + 1, x as i32 + 1] });
        }
    }
    rows
}

/// Writes a dataset of sites with the given shapes into `root` and opens it.
pub fn make(root: &Path, dtype: Dtype, channels: usize, shapes: &[(u32, u32)], record: (u32, u32)) -> Arc<Dataset> {
    fs::create_dir_all(root.join("reference")).expect("a folder");
    let mut sites = Vec::new();
    let mut rows = Vec::new();
    for (index, &(height, width)) in shapes.iter().enumerate() {
        let data = pixels(dtype, index as u32 + 1, channels * (height * width) as usize);
        let pixels = SitePixels { channels, height: height as usize, width: width as usize, data };
        let site = Site {
            plate: "P 1".into(),
            well: "A01".into(),
            site: (index + 1).to_string(),
            height,
            width,
            digest: site_digest(&pixels),
            source: Vec::new(),
        };
        write_site_npy(&root.join("reference").join(format!("{}.npy", site.name())), &pixels).expect("written");
        rows.extend(objects(index, height, width));
        sites.push(site);
    }
    let channels = (0..channels).map(|c| format!("kanal {c} <&\"µ>")).collect();
    finish(root, dtype, channels, sites, rows, record)
}

/// Writes `dataset.json` and `objects.parquet`, and opens the dataset.
pub fn finish(
    root: &Path,
    dtype: Dtype,
    channels: Vec<String>,
    sites: Vec<Site>,
    rows: Vec<Object>,
    record: (u32, u32),
) -> Arc<Dataset> {
    describe(root, dtype, channels, sites, rows, record);
    Arc::new(Dataset::open(root).expect("opens"))
}

/// Like [`finish`], with records of one pixel, for descriptions that may be refused.
pub fn finish_unopened(
    root: &Path,
    dtype: Dtype,
    channels: Vec<String>,
    sites: Vec<Site>,
    rows: Vec<Object>,
) -> Result<Arc<Dataset>, FormatError> {
    describe(root, dtype, channels, sites, rows, (1, 1));
    Dataset::open(root).map(Arc::new)
}

fn describe(root: &Path, dtype: Dtype, channels: Vec<String>, sites: Vec<Site>, rows: Vec<Object>, record: (u32, u32)) {
    let objects = ObjectTable { rows };
    let mut info = DatasetInfo {
        version: VERSION,
        name: "tiny".into(),
        digest: String::new(),
        origin: "test".into(),
        channels,
        dtype,
        record: Record { height: record.0, width: record.1 },
        objects: objects.rows.len() as u64,
        sites,
    };
    info.digest = Dataset::digest_of(&info, &objects);
    info.write(&root.join("dataset.json")).expect("dataset.json");
    objects.write(&root.join("objects.parquet"), &info.sites).expect("objects.parquet");
}

/// The usual tiny dataset: odd sizes, sites of several shapes, one of a single pixel.
pub fn tiny(root: &Path, dtype: Dtype) -> Arc<Dataset> {
    make(root, dtype, 3, &[(45, 61), (45, 61), (1, 1), (130, 257)], (21, 24))
}

pub fn write(dataset: &Dataset, format: &Format, variant: &Variant) {
    store::write(dataset, format, variant, &mut |_, _| {}).expect("written");
}

/// Like [`write`], but says no where the format cannot hold such pixels.
pub fn try_write(dataset: &Dataset, format: &Format, variant: &Variant) -> bool {
    match store::write(dataset, format, variant, &mut |_, _| {}) {
        Ok(()) => true,
        Err(FormatError::Unsupported(why)) => {
            assert!(why.contains(&dataset.info.dtype.to_string()), "says what it cannot hold: {why}");
            false
        }
        Err(error) => panic!("{}:{}: {error}", format.name, variant.name),
    }
}

/// Whether a variant stores pixels otherwise than one after the other.
pub fn is_packed(format: &Format, variant: &Variant) -> bool {
    let codecs = ["lzw", "deflate", "gzip", "zstd", "blosc", "lz4", "delta"];
    let typed = matches!((format.name, variant.name), ("ome-arrow", name) if name.starts_with("list") || name == "dataset" || name.starts_with("dataset-tile256"));
    let listed =
        ["lance", "vortex"].contains(&format.name) && (variant.name == "list" || variant.name.ends_with("packed"));
    format.name == "png" || typed || listed || codecs.iter().any(|codec| variant.stored.contains(codec))
}

/// Number of stored forms that all variants together have.
pub fn stored_forms() -> usize {
    let forms: std::collections::BTreeSet<_> = filed_variants().map(|(f, v)| (f.name, v.stored)).collect();
    forms.len()
}

pub fn spec(
    dataset: &Arc<Dataset>,
    variant: &'static Variant,
    channels: &[usize],
    (height, width): (usize, usize),
    pad: Pad,
) -> OpenSpec {
    OpenSpec { dataset: dataset.clone(), variant, channels: channels.to_vec(), height, width, pad }
}

/// The error of something that must fail.
pub fn refused<T>(result: Result<T, FormatError>) -> FormatError {
    match result {
        Ok(_) => panic!("expected an error"),
        Err(error) => error,
    }
}
