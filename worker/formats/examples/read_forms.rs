//! Reads crops of one stored form and tells, as JSON, what that took: the native side of `benches/python_readers.py`.
//!
//! ```text
//! read_forms DATASET                              a line for each variant whose stored form is on disk
//! read_forms DATASET FORM CROP ROWS WARM SECONDS  reads crops; FORM like hdf5:contiguous/object
//! ```
//!
//! ROWS is a file of rows of the object table, one a line, in the order of a pass. With WARM 1 a first pass is not timed
//! and gives the digest of all pixels; with WARM 0 the first pass is timed, and no digest is made. Passes are timed until
//! SECONDS are over, one at least. Code is warmed on the dataset's decoy where that is stored in the form. `armed` is
//! printed then, and reading starts with the next line of standard input, so that the caller can drop pages.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pcb_formats::{Dataset, FORMATS, Format, OpenSpec, Pixels, Probe, Reader, Variant, find, store, tree_bytes};
use pcb_protocol::{Layout, Pad};
use serde_json::json;
use sha2::{Digest, Sha256};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [dataset] => list(&Dataset::open(Path::new(dataset))?),
        [dataset, form, crop, rows, warm, seconds] => {
            let rows: Result<Vec<usize>, _> =
                std::fs::read_to_string(rows)?.split_whitespace().map(str::parse).collect();
            let time = Duration::try_from_secs_f64(seconds.parse()?)?;
            let job = Job { crop: crop.parse()?, rows: rows?, warm: *warm != "0", time };
            let (format, variant) = named(form)?;
            measure(Path::new(dataset), format, variant, &job)
        }
        _ => Err("usage: read_forms DATASET [FORM CROP ROWS WARM SECONDS]".into()),
    }
}

/// What is read of one form.
struct Job {
    crop: usize,
    rows: Vec<usize>,
    warm: bool,
    time: Duration,
}

/// Prints every variant that can be read where the dataset lies.
fn list(dataset: &Dataset) -> Result<(), Box<dyn Error>> {
    for format in FORMATS {
        for variant in format.variants.iter().filter(|v| v.stored != "none" && store::exists(dataset, format, v)) {
            let files = (format.files)(dataset, variant)?;
            let folder = dataset.stored_dir(format.name, variant);
            let bytes = match variant.stored {
                "source" => files.iter().map(|file| tree_bytes(file)).sum::<Result<u64, _>>()?,
                _ => tree_bytes(&folder)?,
            };
            let form = json!({
                "format": format.name,
                "variant": variant.name,
                "layout": variant.layout.to_string(),
                "stored": variant.stored,
                "folder": folder,
                "files": files,
                "bytes": bytes,
            });
            println!("{form}");
        }
    }
    Ok(())
}

/// The form called `format:variant/layout`.
fn named(form: &str) -> Result<(&'static Format, &'static Variant), Box<dyn Error>> {
    let parts = form.split_once(':').and_then(|(format, rest)| Some((format, rest.rsplit_once('/')?)));
    let Some((format, (variant, layout))) = parts else {
        return Err(format!("{form}: a form is called like hdf5:contiguous/object").into());
    };
    let layout = match layout {
        "object" => Layout::Object,
        "site" => Layout::Site,
        _ => return Err(format!("{form}: the layout is object or site").into()),
    };
    Ok(find(format, variant, layout)?)
}

fn measure(root: &Path, format: &Format, variant: &'static Variant, job: &Job) -> Result<(), Box<dyn Error>> {
    let open = |root: PathBuf| -> Result<(OpenSpec, Pixels), Box<dyn Error>> {
        let dataset = Arc::new(Dataset::open(&root)?);
        let channels = (0..dataset.channels()).collect();
        let dtype = dataset.info.dtype;
        let spec = OpenSpec { dataset, variant, channels, height: job.crop, width: job.crop, pad: Pad::Reflect };
        let out = Pixels::zeros(dtype, spec.crop_bytes() / dtype.size());
        Ok((spec, out))
    };
    let (spec, mut out) = open(root.to_owned())?;
    if let Ok((decoy, mut out)) = open(spec.dataset.decoy_dir())
        && store::exists(&decoy.dataset, format, variant)
    {
        let mut reader = (format.open)(&decoy)?;
        for object in 0..decoy.dataset.objects.rows.len().min(32) {
            reader.read(object, out.bytes_mut(), &mut Probe::none())?;
        }
    }
    println!("armed");
    std::io::stdout().flush()?;
    std::io::stdin().lock().read_line(&mut String::new())?;

    let start = Instant::now();
    let mut reader = (format.open)(&spec)?;
    let open_ns = start.elapsed().as_nanos() as u64;
    let sha256 = if job.warm { Some(digest(reader.as_mut(), &job.rows, &mut out)?) } else { None };
    let (mut samples, mut pass_ns, mut touched) = (Vec::new(), Vec::new(), 0);
    let begin = Instant::now();
    while pass_ns.is_empty() || begin.elapsed() < job.time {
        let start = Instant::now();
        touched = pass(reader.as_mut(), &job.rows, out.bytes_mut(), &mut samples)?;
        pass_ns.push(start.elapsed().as_nanos() as u64);
    }
    samples.sort_unstable();
    let told = json!({
        "open_ns": open_ns,
        "pass_ns": pass_ns,
        "p50_ns": quantile(&samples, 0.5),
        "p95_ns": quantile(&samples, 0.95),
        "samples": job.rows.len(),
        "touched_bytes": touched,
        "sha256": sha256,
    });
    println!("{told}");
    Ok(())
}

/// Reads every row once and notes the time of each. Returns the stored bytes that were touched.
fn pass(
    reader: &mut dyn Reader,
    rows: &[usize],
    out: &mut [u8],
    samples: &mut Vec<u64>,
) -> Result<u64, Box<dyn Error>> {
    let mut touched = 0;
    for &row in rows {
        let start = Instant::now();
        touched += reader.read(row, out, &mut Probe::none())?;
        samples.push(start.elapsed().as_nanos() as u64);
    }
    Ok(touched)
}

/// SHA-256 of the pixels of all crops, one after the other.
fn digest(reader: &mut dyn Reader, rows: &[usize], out: &mut Pixels) -> Result<String, Box<dyn Error>> {
    let mut hash = Sha256::new();
    for &row in rows {
        reader.read(row, out.bytes_mut(), &mut Probe::none())?;
        hash.update(out.bytes());
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Type 7, as numpy's default.
fn quantile(sorted: &[u64], at: f64) -> Option<f64> {
    let place = sorted.len().checked_sub(1)? as f64 * at;
    let (below, above) = (sorted[place.floor() as usize] as f64, sorted[place.ceil() as usize] as f64);
    Some(below + (above - below) * place.fract())
}
