//! What a warm crop costs at the least in each stored form, beside what our reader takes:
//! `cargo run --release -p pcb-formats --example floors -- DATASET [PART-OF-FORM [CROP]]`.
//!
//! Uncompressed pixels: the same pieces copied out of memory (mapped forms) or read with one `pread` each from the form's
//! files in the page cache, which are opened and closed each time where the reader does that. Compressed ones: the bare decoder
//! on the chunks that the crop meets, in memory. Chunks are packed anew from the reference with the form's codec.

mod codec;
mod pictures;
mod pieces;

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use codec::Codec;
use pcb_formats::{Dataset, FORMATS, Format, OpenSpec, Pixels, Probe, Variant, store};
use pcb_protocol::{Layout, Pad};

/// Crops of a pass, and passes.
const CROPS: usize = 128;
const PASSES: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let dataset = arguments.first().ok_or("usage: floors DATASET [PART-OF-FORM [CROP]]")?;
    let dataset = Arc::new(Dataset::open(Path::new(dataset))?);
    let part = arguments.get(1).map_or("", String::as_str);
    let crop = arguments.get(2).map_or(Ok(128), |text| text.parse())?;
    println!("{:<48}{:>10}{:>10}{:>8}  floor", "form, us a crop", "reader", "floor", "ratio");
    let forms = FORMATS.iter().flat_map(|format| format.variants.iter().map(move |variant| (format, variant)));
    for (format, variant) in forms {
        let name = format!("{}:{}/{}", format.name, variant.name, variant.layout);
        let has_form = !matches!(variant.stored, "none" | "source") && store::exists(&dataset, format, variant);
        if !has_form || !name.contains(part) {
            continue;
        }
        let read = reader(&dataset, format, variant, crop)?;
        let files = (format.files)(&dataset, variant)?;
        let (least, about) = match Floor::of(format, variant) {
            Some(floor) => (pieces::measure(&floor, &dataset, variant.layout, crop, &files)?, floor.about()),
            None if format.name == "png" => (pictures::measure(&dataset, &files)?, "Png".to_owned()),
            None => {
                println!("{name:<48}{read:>10.1}{:>10}{:>8}  no bare decoder of one crop", "-", "-");
                continue;
            }
        };
        println!("{name:<48}{read:>10.1}{least:>10.1}{:>8.2}  {about}", read / least);
    }
    Ok(())
}

/// Rows of the object table, scattered over it.
fn rows(dataset: &Dataset) -> Vec<usize> {
    let count = dataset.objects.rows.len();
    (0..CROPS.min(count)).map(|at| at * 7919 % count).collect()
}

/// Median time of a call with each row, in microseconds, after a pass that is not timed; the least of several passes, so
/// that other work on the machine does not count.
fn median_us(rows: &[usize], mut call: impl FnMut(usize) -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let mut least = f64::INFINITY;
    for pass in 0..=PASSES {
        let mut samples = Vec::with_capacity(rows.len());
        for &row in rows {
            let start = Instant::now();
            call(row)?;
            samples.push(start.elapsed().as_nanos());
        }
        samples.sort_unstable();
        if pass > 0 {
            least = least.min(samples[samples.len() / 2] as f64 / 1000.0);
        }
    }
    Ok(least)
}

fn reader(
    dataset: &Arc<Dataset>,
    format: &Format,
    variant: &'static Variant,
    crop: usize,
) -> Result<f64, Box<dyn Error>> {
    let (dataset, channels) = (dataset.clone(), (0..dataset.channels()).collect());
    let spec = OpenSpec { dataset, variant, channels, height: crop, width: crop, pad: Pad::Reflect };
    let dtype = spec.dataset.info.dtype;
    let mut out = Pixels::zeros(dtype, spec.crop_bytes() / dtype.size());
    let mut reader = (format.open)(&spec)?;
    median_us(&rows(&spec.dataset), |row| {
        reader.read(row, out.bytes_mut(), &mut Probe::none())?;
        Ok(())
    })
}

/// How a form must be read at the least.
struct Floor {
    /// Height and width of a chunk; `None`: the whole plane, or as many whole rows as `strip` bytes hold.
    tile: Option<usize>,
    strip: Option<usize>,
    codec: Codec,
    access: Access,
}

/// How uncompressed bytes are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Memory,
    Pread,
    Reopened,
}

impl Floor {
    /// `None` where no decoder of one crop is the floor: pictures, tables whose pages hold many rows, packed lists.
    fn of(format: &Format, variant: &Variant) -> Option<Self> {
        let has = |word: &str| variant.name.split('-').any(|found| found == word);
        let many_rows = format.name == "ome-arrow" && variant.name == "bytes-zstd";
        if matches!(format.name, "png" | "lance" | "vortex") || has("list") || many_rows {
            return None;
        }
        // Of a shard it is the tile within that is read.
        let side = |kind: &str| variant.name.split('-').find_map(|word| word.strip_prefix(kind)?.parse().ok());
        let tile = side("tile").or_else(|| side("chunk"));
        let codec = Codec::of(variant);
        // Strips without a codec lie one behind the other.
        let strip = (has("strip") && codec != Codec::None).then_some(64 * 1024);
        let a_file_each = match format.name {
            "ome-tiff" => variant.layout == Layout::Object,
            "ome-zarr" => !variant.name.contains("shard"),
            _ => false,
        };
        let access = match variant.mapped {
            true => Access::Memory,
            false if has("each") || has("reopen") || a_file_each => Access::Reopened,
            false => Access::Pread,
        };
        Some(Self { tile, strip, codec, access })
    }

    /// Whether the planes of an image lie one behind the other, as they are.
    fn is_one_piece(&self) -> bool {
        self.tile.is_none() && self.codec == Codec::None
    }

    /// Height and width of a chunk of planes of this size.
    fn chunk(&self, height: usize, width: usize, pixel: usize) -> (usize, usize) {
        match (self.tile, self.strip) {
            (Some(side), _) => (side, side),
            (None, Some(bytes)) => ((bytes / (width * pixel)).clamp(1, height), width),
            (None, None) => (height, width),
        }
    }

    fn about(&self) -> String {
        match (self.codec, self.access) {
            (Codec::None, Access::Memory) => "memcpy".to_owned(),
            (Codec::None, Access::Pread) => "pread".to_owned(),
            (Codec::None, Access::Reopened) => "open, pread, close".to_owned(),
            (codec, _) => format!("{codec:?}"),
        }
    }
}
