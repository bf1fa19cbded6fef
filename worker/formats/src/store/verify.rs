//! Comparing stored pixels with the reference.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use pcb_protocol::{Dtype, Layout, Pad};

use crate::{
    Dataset, Format, FormatError, Object, ObjectTable, OpenSpec, Pixels, Probe, ReferenceCrops, SitePixels, Variant,
    site_digest,
};

/// So many files a process may always have open.
const FEW_FILES: usize = 16;

/// Proves that the stored form holds the dataset's pixels: whole sites against their digests, or every object record
/// against the reference. Returns the number of sites or records compared. `memory` is refused: it holds the reference
/// itself, so comparing proves nothing.
pub fn verify(
    dataset: &Arc<Dataset>,
    format: &Format,
    variant: &'static Variant,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, FormatError> {
    match (variant.stored, variant.layout) {
        ("none", _) => Err(FormatError::Unsupported(format!(
            "{} stores nothing: it holds the reference itself, and there is nothing to compare",
            format.name
        ))),
        (_, Layout::Site) => verify_sites(dataset, format, variant, progress),
        (_, Layout::Object) => verify_records(dataset, format, variant, progress),
    }
}

/// Compares the crops of the objects `indices`, read as `spec` says, with crops cut from the reference. Returns where
/// the first mismatch is and what was found there, or `None` when all are equal bit by bit.
pub fn check_objects(format: &Format, spec: &OpenSpec, indices: &[usize]) -> Result<Option<String>, FormatError> {
    // By table order, hence by site: each site of the reference is decoded once.
    let mut sorted = indices.to_vec();
    sorted.sort_unstable();
    compare(format, spec, sorted, &mut |_| {})
}

/// Does what [`check_objects`] does for `objects` in their order, through one reader. Tells `progress` how many are
/// done.
fn compare(
    format: &Format,
    spec: &OpenSpec,
    objects: impl IntoIterator<Item = usize>,
    progress: &mut dyn FnMut(u64),
) -> Result<Option<String>, FormatError> {
    let mut reader = (format.open)(spec)?;
    let mut reference = ReferenceCrops::new(&spec.dataset);
    let dtype = spec.dataset.info.dtype;
    let mut got = Pixels::zeros(dtype, spec.crop_bytes() / dtype.size());
    let mut expected = got.clone();
    for (done, object) in objects.into_iter().enumerate() {
        // A pixel that the reader leaves out must not pass for the last object's.
        got.bytes_mut().fill(0xA5);
        reader.read(object, got.bytes_mut(), &mut Probe::none())?;
        reference.cut(object, &spec.channels, (spec.height, spec.width), spec.pad, expected.bytes_mut())?;
        if let Some(at) = first_difference(&got, &expected) {
            let place = place(at, spec.height, spec.width, &spec.channels);
            let id = &spec.dataset.objects.rows[object].id;
            return Ok(Some(format!("object {id:?}, {place}: {}", values(&got, &expected, at))));
        }
        progress(done as u64 + 1);
    }
    Ok(None)
}

fn verify_records(
    dataset: &Arc<Dataset>,
    format: &Format,
    variant: &'static Variant,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, FormatError> {
    let [channels, height, width] = dataset.record_shape();
    let spec = OpenSpec {
        dataset: dataset.clone(),
        variant,
        channels: (0..channels).collect(),
        height,
        width,
        pad: Pad::Reflect,
    };
    let total = dataset.objects.rows.len();
    match compare(format, &spec, 0..total, &mut |done| progress(done, total as u64))? {
        Some(mismatch) => Err(FormatError::corrupt(place_of(dataset, format, variant), mismatch)),
        None => Ok(total as u64),
    }
}

fn verify_sites(
    dataset: &Arc<Dataset>,
    format: &Format,
    variant: &'static Variant,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<u64, FormatError> {
    let mut shapes: BTreeMap<(u32, u32), Vec<usize>> = BTreeMap::new();
    for (index, site) in dataset.info.sites.iter().enumerate() {
        shapes.entry((site.height, site.width)).or_default().push(index);
    }
    let channels = dataset.channels();
    let total = dataset.info.sites.len() as u64;
    let mut done = 0;
    // A reader keeps the files that it touched, and a plate has more than a process may open. Opening is lazy.
    let few = (format.files)(dataset, variant)?.len() <= FEW_FILES;
    for ((height, width), sites) in shapes {
        let whole = Arc::new(Dataset {
            root: dataset.root.clone(),
            info: dataset.info.clone(),
            objects: whole_sites(&sites, height, width),
        });
        let (height, width) = (height as usize, width as usize);
        let spec =
            OpenSpec { dataset: whole, variant, channels: (0..channels).collect(), height, width, pad: Pad::Zero };
        let data = Pixels::zeros(dataset.info.dtype, channels * height * width);
        let mut pixels = SitePixels { channels, height, width, data };
        let mut reader = (format.open)(&spec)?;
        for (row, &index) in sites.iter().enumerate() {
            if row > 0 && !few {
                reader = (format.open)(&spec)?;
            }
            reader.read(row, pixels.data.bytes_mut(), &mut Probe::none())?;
            if site_digest(&pixels) != dataset.info.sites[index].digest {
                return Err(site_mismatch(dataset, format, variant, index, &pixels));
            }
            done += 1;
            progress(done, total);
        }
    }
    Ok(total)
}

/// One object for each of `sites`, whose crop of the sites' size is the whole site.
fn whole_sites(sites: &[usize], height: u32, width: u32) -> ObjectTable {
    let rows = sites.iter().map(|&site| Object {
        id: String::new(),
        site: site as u32,
        y: (height / 2) as f32,
        x: (width / 2) as f32,
        bbox: [0, 0, height as i32, width as i32],
    });
    ObjectTable { rows: rows.collect() }
}

fn site_mismatch(dataset: &Dataset, format: &Format, variant: &Variant, index: usize, got: &SitePixels) -> FormatError {
    let expected = match dataset.reference(index) {
        Ok(expected) => expected,
        Err(error) => return error,
    };
    let site = dataset.info.sites[index].name();
    match first_difference(&got.data, &expected.data) {
        Some(at) => {
            let channels: Vec<usize> = (0..got.channels).collect();
            let place = place(at, got.height, got.width, &channels);
            let problem = format!("site {site}, {place}: {}", values(&got.data, &expected.data, at));
            FormatError::corrupt(place_of(dataset, format, variant), problem)
        }
        None => {
            let problem = format!("the reference pixels of site {site} do not have the digest that dataset.json says");
            FormatError::corrupt(dataset.root.join("dataset.json"), problem)
        }
    }
}

/// The folder to name in an error.
fn place_of(dataset: &Dataset, format: &Format, variant: &Variant) -> PathBuf {
    match variant.stored {
        "none" | "source" => dataset.root.clone(),
        _ => dataset.stored_dir(format.name, variant),
    }
}

/// Index of the first pixel that differs in any bit: NaNs with equal bits are equal, 0 and -0 are not.
fn first_difference(got: &Pixels, expected: &Pixels) -> Option<usize> {
    let size = got.dtype().size();
    let mut pairs = got.bytes().chunks_exact(size).zip(expected.bytes().chunks_exact(size));
    if got.bytes() == expected.bytes() { None } else { pairs.position(|(a, b)| a != b) }
}

fn place(at: usize, height: usize, width: usize, channels: &[usize]) -> String {
    let (plane, rest) = (at / (height * width), at % (height * width));
    format!("channel {}, row {}, column {}", channels[plane], rest / width, rest % width)
}

fn values(got: &Pixels, expected: &Pixels, at: usize) -> String {
    let show = |pixels: &Pixels| match pixels {
        Pixels::U8(v) => v[at].to_string(),
        Pixels::U16(v) => v[at].to_string(),
        Pixels::F32(v) if got.dtype() == Dtype::F32 => format!("{:?} (bits {:08x})", v[at], v[at].to_bits()),
        Pixels::F32(v) => v[at].to_string(),
    };
    format!("expected {}, got {}", show(expected), show(got))
}
