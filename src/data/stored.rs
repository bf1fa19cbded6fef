//! Stored forms of a dataset and of its decoy: which there are, writing them, proving that they hold the same pixels.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use pcb_formats::{Dataset, FORMATS, Format, FormatError, Variant, site_digest, store};
use pcb_protocol::Layout;

use super::{DataError, Progress, Step, folder, parallel};

/// A way of storing and reading, as `Display` writes it: `npy:mmap/site`.
#[derive(Clone, Copy)]
pub struct Form {
    /// Row of the table of formats.
    pub format: &'static Format,
    /// One of its variants.
    pub variant: &'static Variant,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}/{}", self.format.name, self.variant.name, self.variant.layout))
    }
}

/// What verifying a stored form found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// This many sites or records are the same.
    Same(u64),
    /// Where the first difference is, or what is wrong with a file.
    Differs(String),
}

/// One form for each stored form that formats can hold; variants that read the same files count once.
pub fn forms() -> Vec<Form> {
    let mut found: Vec<Form> = Vec::new();
    for format in FORMATS {
        // `memory` stores nothing, and holds the reference itself: there is nothing to write and nothing to prove.
        for variant in format.variants.iter().filter(|variant| variant.stored != "none") {
            let same = |form: &&Form| {
                let key = |f: &Format, v: &Variant| (f.name, v.stored, v.layout);
                key(form.format, form.variant) == key(format, variant)
            };
            if !found.iter().any(|form| same(&form)) {
                found.push(Form { format, variant });
            }
        }
    }
    found
}

/// The forms that a dataset has: on disk, stale ones too, and its source files.
pub fn forms_on_disk(dataset: &Dataset) -> Vec<Form> {
    let there = |form: &Form| {
        let folder = dataset.stored_dir(form.format.name, form.variant);
        store::exists(dataset, form.format, form.variant) || folder.is_dir()
    };
    forms().into_iter().filter(there).collect()
}

/// The forms that `texts` name: `FORMAT:VARIANT` (both layouts) or `FORMAT:VARIANT/LAYOUT`. The name of a stored form
/// counts as a variant's.
pub fn select(texts: &[String]) -> Result<Vec<Form>, DataError> {
    let mut selected: Vec<Form> = Vec::new();
    for text in texts {
        let format = text.split([':', '/']).next().unwrap_or_default();
        if FORMATS.iter().any(|known| known.name == format && known.variants.iter().all(|v| v.stored == "none")) {
            return Err(DataError::Usage(format!("{format} stores nothing: there is nothing to write or verify")));
        }
        let (name, layout) = match text.split_once('/') {
            Some((name, layout)) => {
                let layout: Layout = layout.parse().map_err(|e| DataError::Usage(format!("{text}: {e}")))?;
                (name, Some(layout))
            }
            None => (text.as_str(), None),
        };
        let fits = |form: &Form| {
            let variant = form.variant;
            let called = |variant: &str| name.split_once(':') == Some((form.format.name, variant));
            let role = name.split_once(':').is_some_and(|(format, role)| {
                (format == form.format.name || format == "all") && variant.role.answers(role)
            });
            (called(variant.name) || called(variant.stored) || role)
                && layout.is_none_or(|layout| layout == variant.layout)
        };
        let all = FORMATS.iter().flat_map(|format| format.variants.iter().map(move |variant| Form { format, variant }));
        let all = all.filter(|form| form.variant.stored != "none");
        let before = selected.len();
        selected.extend(all.clone().filter(fits));
        if selected.len() == before {
            let known: Vec<String> = all.map(|form| form.to_string()).collect();
            return Err(DataError::Usage(format!("unknown form {text:?}; known: all, {}", known.join(", "))));
        }
    }
    Ok(selected)
}

/// Stores a dataset and its decoy in a form, where either is missing. Returns whether anything was written.
pub fn ensure(
    dataset_folder: &Path,
    format: &Format,
    variant: &Variant,
    progress: &mut Progress<'_>,
) -> Result<bool, DataError> {
    write(dataset_folder, format, variant, false, progress)
}

/// Stores a dataset and its decoy in a form, also where it is there: its files may be damaged. Each is replaced in one
/// step. Returns whether anything was written; source files are not ours to write.
pub fn rewrite(
    dataset_folder: &Path,
    format: &Format,
    variant: &Variant,
    progress: &mut Progress<'_>,
) -> Result<bool, DataError> {
    write(dataset_folder, format, variant, true, progress)
}

fn write(
    dataset_folder: &Path,
    format: &Format,
    variant: &Variant,
    force: bool,
    progress: &mut Progress<'_>,
) -> Result<bool, DataError> {
    let dataset = Dataset::open(dataset_folder)?;
    let decoy = Dataset::open(&dataset.decoy_dir())?;
    let has_folder = !matches!(variant.stored, "source" | "none");
    let missing = |dataset: &&Dataset| (force && has_folder) || !store::exists(dataset, format, variant);
    let mut to_write: Vec<&Dataset> = [&decoy, &dataset].into_iter().filter(missing).collect();
    if !has_folder {
        // Why there are no source files is said of the dataset that was asked for.
        to_write.reverse();
    }
    if has_folder && !to_write.is_empty() {
        folder::check_space(dataset_folder, to_write.iter().map(|dataset| raw_bytes(dataset, variant.layout)).sum())?;
    }
    for dataset in &to_write {
        let label = format!("{}: {}:{}", dataset.info.name, format.name, variant.stored);
        let mut show = |done, total| progress(Step { label: &label, done, total });
        if force {
            store::rewrite(dataset, format, variant, &mut show)?;
        } else {
            store::write(dataset, format, variant, &mut show)?;
        }
    }
    Ok(!to_write.is_empty())
}

/// An error unless all of these forms that are missing fit on the disk together: better said before the first is written
/// than after hours. Compressed forms count as raw pixels and a quarter: LZW makes noise larger.
pub fn check_room(dataset_folder: &Path, forms: &[Form]) -> Result<(), DataError> {
    let dataset = Dataset::open(dataset_folder)?;
    let mut seen: Vec<(&str, &str)> = Vec::new();
    let mut needed = 0;
    for form in forms {
        let key = (form.format.name, form.variant.stored);
        let has_folder = !matches!(form.variant.stored, "source" | "none");
        if has_folder && !seen.contains(&key) && !store::exists(&dataset, form.format, form.variant) {
            needed += raw_bytes(&dataset, form.variant.layout) / 4 * 5;
            seen.push(key);
        }
    }
    if needed == 0 { Ok(()) } else { folder::check_space(dataset_folder, needed) }
}

/// Bytes of pixels that a layout holds, uncompressed.
fn raw_bytes(dataset: &Dataset, layout: Layout) -> u64 {
    let bytes = |shape: [usize; 3]| (shape.iter().product::<usize>() * dataset.info.dtype.size()) as u64;
    match layout {
        Layout::Site => (0..dataset.info.sites.len()).map(|site| bytes(dataset.site_shape(site))).sum(),
        Layout::Object => bytes(dataset.record_shape()) * dataset.info.objects,
    }
}

/// Proves that a form holds the dataset's pixels, bit by bit, and was written from it.
pub fn verify(dataset: &Arc<Dataset>, form: Form, progress: &mut Progress<'_>) -> Result<Verdict, DataError> {
    let label = form.to_string();
    let mut show = |done, total| progress(Step { label: &label, done, total });
    let stale = dataset.stored_dir(form.format.name, form.variant).is_dir()
        && !store::exists(dataset, form.format, form.variant);
    match store::verify(dataset, form.format, form.variant, &mut show) {
        Ok(_) if stale => {
            let problem = "written from other pixels or by another pcb, as its form.json says";
            Ok(Verdict::Differs(problem.to_owned()))
        }
        Ok(count) => Ok(Verdict::Same(count)),
        Err(e @ FormatError::Corrupt { .. }) => Ok(Verdict::Differs(e.to_string())),
        Err(e) => Err(e.into()),
    }
}

/// Proves that the reference (or the source files) and the table of objects are those that `dataset.json` tells of.
pub fn verify_reference(dataset: &Dataset, progress: &mut Progress<'_>) -> Result<Verdict, DataError> {
    let read = |index: usize| match dataset.reference(index) {
        Ok(site) => Ok((site_digest(&site) != dataset.info.sites[index].digest)
            .then(|| "not the pixels that dataset.json tells of".to_owned())),
        Err(e @ FormatError::Corrupt { .. }) => Ok(Some(e.to_string())),
        Err(e) => Err(e.into()),
    };
    let found = parallel::map(dataset.info.sites.len(), None, "reference", progress, read)?;
    let wrong = dataset.info.sites.iter().zip(found).find_map(|(site, problem)| Some((site.name(), problem?)));
    if let Some((site, problem)) = wrong {
        return Ok(Verdict::Differs(format!("site {site}: {problem}")));
    }
    if Dataset::digest_of(&dataset.info, &dataset.objects) != dataset.info.digest {
        return Ok(Verdict::Differs("objects.parquet or dataset.json was changed: their digest is another one".into()));
    }
    Ok(Verdict::Same(dataset.info.sites.len() as u64))
}
