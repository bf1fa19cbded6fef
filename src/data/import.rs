//! Imports a plate from its own image files and a profile table. Nothing is copied: the reference of an imported
//! dataset is its source files.

mod decoy;
mod grid;
mod names;
mod objects;
mod profiles;
mod sites;

pub use names::{NAMINGS, Naming};

use std::path::{Path, PathBuf};

use pcb_formats::{Dataset, DatasetInfo, Record, Site, VERSION, site_digest};

use super::{DataError, Made, Progress, folder, parallel};
use names::Names;
use profiles::Profiles;
use sites::{Plan, Request};

/// What to import.
#[derive(Debug, Clone)]
pub struct Import {
    /// Name of the dataset.
    pub name: String,
    /// Folder of TIFF files, those in folders below included; or a Parquet table of OME-Arrow images.
    pub images: PathBuf,
    /// Profile table, CSV or Parquet.
    pub profiles: Option<PathBuf>,
    /// Column of object ids; `None`: found, or composed of site and number.
    pub id: Option<String>,
    /// Sites with fewer objects are filled up to this many from a grid.
    pub grid: Option<u32>,
    /// Regular expression for file names; `None`: the [`NAMINGS`].
    pub pattern: Option<String>,
    /// Go on without the files that are listed but missing.
    pub skip_missing: bool,
    /// Height and width of a record of the object layout in pixels.
    pub record: u32,
    /// Decides the grid's jitter and the decoy.
    pub seed: u64,
    /// Replace another dataset of this name.
    pub force: bool,
}

/// Imports a dataset into the data folder `root`. One with the same pixels, objects and files is left alone.
pub fn import(root: &Path, import: &Import, progress: &mut Progress<'_>) -> Result<Made, DataError> {
    check(import)?;
    let target = root.join(&import.name);
    outside(&target, std::iter::once(import.images.as_path()).chain(import.profiles.as_deref()))?;
    let profiles = import.profiles.as_deref().map(|path| Profiles::read(path, import.id.as_deref())).transpose()?;
    let images = std::path::absolute(&import.images).map_err(|e| DataError::io(&import.images, e))?;
    let request = Request {
        images: &images,
        names: Names::new(import.pattern.as_deref())?,
        table: import.profiles.as_deref().zip(profiles.as_ref()),
        plate: &import.name,
        id: import.id.as_deref(),
        skip_missing: import.skip_missing,
    };
    let mut plan = request.plan()?;
    let (sites, dtype) = sites::describe(&plan)?;
    let table = request.table;
    let objects = objects::build(import, table, &plan.drafts, &sites, &mut plan.warnings)?;
    let info = DatasetInfo {
        version: VERSION,
        name: import.name.clone(),
        digest: String::new(),
        origin: origin(import, &images),
        channels: plan.channels.clone(),
        dtype,
        record: Record { height: import.record, width: import.record },
        objects: objects.rows.len() as u64,
        sites,
    };
    // Before anything is allocated for what headers promise.
    info.check(&images)?;
    let mut dataset = with_digests(Dataset { root: target, info, objects }, progress)?;
    sites::make_relative(&mut dataset.info.sites, root)?;
    finish(root, import, dataset, plan, progress)
}

fn check(import: &Import) -> Result<(), DataError> {
    folder::check_name(&import.name)?;
    if !(1..=4_096).contains(&import.record) {
        return Err(DataError::Usage(format!("--record {}: expected 1 to 4096", import.record)));
    }
    match (import.grid, &import.profiles) {
        // A table of single cells says it by itself.
        (None, None) if !sites::is_table(&import.images) => {
            let problem = "nothing says where objects are: give --profiles TABLE, or --grid N for N objects a site";
            Err(DataError::Usage(problem.into()))
        }
        (Some(n), _) if !(1..=10_000).contains(&n) => Err(DataError::Usage(format!("--grid {n}: expected 1 to 10000"))),
        _ => Ok(()),
    }
}

/// An error when one of `paths` lies in the folder that the dataset will have: it would go with what stands there.
fn outside<'a>(target: &Path, mut paths: impl Iterator<Item = &'a Path>) -> Result<(), DataError> {
    let Ok(place) = target.canonicalize() else { return Ok(()) };
    match paths.find(|path| path.canonicalize().is_ok_and(|path| path.starts_with(&place))) {
        Some(path) => {
            let (path, target) = (path.display(), target.display());
            Err(DataError::Usage(format!("{path} lies in {target}, the dataset's own folder; give another --name")))
        }
        None => Ok(()),
    }
}

fn origin(import: &Import, images: &Path) -> String {
    let mut text = format!("pcb-data import: images {}", images.display());
    if let Some(profiles) = &import.profiles {
        text += &format!(", profiles {}", std::path::absolute(profiles).unwrap_or_else(|_| profiles.clone()).display());
    }
    if let Some(grid) = import.grid {
        text += &format!(", grid {grid} with seed {}", import.seed);
    }
    text
}

/// Decodes every site once, for its digest.
fn with_digests(mut dataset: Dataset, progress: &mut Progress<'_>) -> Result<Dataset, DataError> {
    let label = format!("{}: reading", dataset.info.name);
    let read = |index: usize| Ok(site_digest(&dataset.reference(index)?));
    let digests = parallel::map(dataset.info.sites.len(), None, &label, progress, read)?;
    for (site, digest) in dataset.info.sites.iter_mut().zip(digests) {
        site.digest = digest;
    }
    dataset.info.digest = Dataset::digest_of(&dataset.info, &dataset.objects);
    Ok(dataset)
}

/// Gives the dataset its place, unless it is there.
fn finish(
    root: &Path,
    import: &Import,
    dataset: Dataset,
    plan: Plan,
    progress: &mut Progress<'_>,
) -> Result<Made, DataError> {
    let (info, warnings) = (dataset.info, plan.warnings);
    let target = dataset.root;
    let sources = |sites: &[Site]| sites.iter().map(|site| site.source.clone()).collect::<Vec<_>>();
    let same = |old: &DatasetInfo| old.digest == info.digest && sources(&old.sites) == sources(&info.sites);
    if let Some(old) = folder::kept(&target, import.force, "with other pixels, objects or files", same)? {
        return Ok(Made { folder: target, info: old, kept: true, warnings });
    }
    // Links in the folder of images may lead here too.
    let sources: Vec<PathBuf> = info.sites.iter().flat_map(|site| &site.source).map(|s| target.join(&s.path)).collect();
    outside(&target, sources.iter().map(PathBuf::as_path))?;
    folder::check_space(root, decoy::bytes(&info))?;
    let staging = folder::stage(root, &import.name)?;
    dataset.objects.write(&staging.folder().join("objects.parquet"), &info.sites)?;
    info.write(&staging.folder().join("dataset.json"))?;
    decoy::write(&info, import.seed, &staging.folder().join("decoy"), progress)?;
    staging.commit(import.force)?;
    Ok(Made { folder: target, info, kept: false, warnings })
}
