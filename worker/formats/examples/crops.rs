//! Time of one warm crop for every variant that can be written: `cargo run --release -p pcb-formats --example crops`.
//!
//! An argument chooses the variants whose `format:variant/layout` contains it.
//!
//! 8 sites of 5 x 1080 x 1080 u16 with 125 objects each, crops of 5 x 64 x 64 inside their site, best of 5 passes in a shuffled order.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use pcb_formats::{
    Dataset, DatasetInfo, FORMATS, Object, ObjectTable, OpenSpec, Pixels, Probe, Record, Site, SitePixels, VERSION,
    site_digest, store, write_site_npy,
};
use pcb_protocol::{Dtype, Pad};

const SITES: u32 = 8;
const SIDE: u32 = 1080;
const OBJECTS: u32 = 125;
const CROP: usize = 64;

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let folder = tempfile::tempdir()?;
    let dataset = Arc::new(make(folder.path())?);
    println!("{:<44}{:>9}{:>9}{:>11}", "variant", "MB", "us/crop", "touched");
    for format in FORMATS {
        for variant in format.variants.iter().filter(|variant| variant.stored != "source") {
            let name = format!("{}:{}/{}", format.name, variant.name, variant.layout);
            if !name.contains(&wanted) {
                continue;
            }
            store::write(&dataset, format, variant, &mut |_, _| {})?;
            let channels = (0..5).collect();
            let dataset = dataset.clone();
            let spec = OpenSpec { dataset, variant, channels, height: CROP, width: CROP, pad: Pad::Reflect };
            let mut reader = (format.open)(&spec)?;
            let mut out = Pixels::zeros(Dtype::U16, spec.crop_bytes() / 2);
            let objects = (SITES * OBJECTS) as usize;
            let mut touched = 0;
            let mut pass = |reads: usize| -> Result<f64, Box<dyn Error>> {
                let start = Instant::now();
                for i in 0..reads {
                    touched = reader.read(i * 7919 % objects, out.bytes_mut(), &mut Probe::none())?;
                }
                Ok(start.elapsed().as_secs_f64() * 1e6 / reads as f64)
            };
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                // Whole planes take so long that a few say enough.
                let reads = if best > 20_000.0 { 10 } else { 500 };
                best = best.min(pass(if best.is_infinite() { 10 } else { reads })?);
            }
            let bytes: u64 = store::list(&spec.dataset)?
                .iter()
                .filter(|form| form.format == format.name && form.stored == variant.stored)
                .map(|form| form.bytes)
                .sum();
            println!("{name:<44}{:>9.1}{best:>9.1}{touched:>11}", bytes as f64 / 1e6);
        }
    }
    Ok(())
}

/// A smooth field with some noise, so that compression has something to do.
fn make(root: &Path) -> Result<Dataset, Box<dyn Error>> {
    std::fs::create_dir_all(root.join("reference"))?;
    let (mut sites, mut rows, mut state) = (Vec::new(), Vec::new(), 1_u64);
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    for index in 0..SITES {
        let pixels: Vec<u16> = (0..5 * SIDE * SIDE)
            .map(|i| 400 + (i % SIDE / 9) as u16 * 8 + (i / SIDE / 9 % 40) as u16 * 4 + (random() & 31) as u16)
            .collect();
        let side = SIDE as usize;
        let pixels = SitePixels { channels: 5, height: side, width: side, data: Pixels::U16(pixels) };
        let (plate, well, site) = ("P".to_owned(), "A01".to_owned(), index.to_string());
        let digest = site_digest(&pixels);
        let site = Site { plate, well, site, height: SIDE, width: SIDE, digest, source: Vec::new() };
        write_site_npy(&root.join("reference").join(format!("{}.npy", site.name())), &pixels)?;
        for object in 0..OBJECTS {
            let (y, x) = ((random() % (SIDE - 64) + 32) as f32, (random() % (SIDE - 64) + 32) as f32);
            rows.push(Object { id: format!("{index}-{object}"), site: index, y, x, bbox: [0; 4] });
        }
        sites.push(site);
    }
    let objects = ObjectTable { rows };
    let record = Record { height: CROP as u32, width: CROP as u32 };
    let channels = (0..5).map(|c| c.to_string()).collect();
    let (name, origin, count) = ("bench".to_owned(), "example".to_owned(), objects.rows.len() as u64);
    let (version, dtype, digest) = (VERSION, Dtype::U16, String::new());
    let info = DatasetInfo { version, name, digest, origin, channels, dtype, record, objects: count, sites };
    info.write(&root.join("dataset.json"))?;
    objects.write(&root.join("objects.parquet"), &info.sites)?;
    Ok(Dataset::open(root)?)
}
