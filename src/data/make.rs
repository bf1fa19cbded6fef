//! Makes plates from a seed: the same bytes on any machine and any number of threads.

mod cells;
mod paint;
mod plate;
mod random;
mod recipe;
mod samples;
mod stain;
mod texture;

pub use recipe::{PRESETS, Preset, Recipe, Sizes, preset};
pub use samples::{Samples, Shape};

pub(super) use plate::Plate;
pub(super) use random::Random;

use std::path::Path;

use pcb_formats::DatasetInfo;

use super::{DataError, Made, Progress, folder};

/// Makes the dataset `name` in the data folder `root`.
///
/// One that was made by the same recipe is left alone; another one is refused unless `force`, and a folder that is no
/// dataset always. `threads`: `None` for
/// all usable CPUs.
pub fn make(
    root: &Path,
    name: &str,
    recipe: &Recipe,
    threads: Option<usize>,
    force: bool,
    progress: &mut Progress<'_>,
) -> Result<Made, DataError> {
    recipe.check()?;
    place(root, name, &recipe.origin(), recipe.sizes(), force, |folder| {
        let plate = recipe.plate(name);
        let info = plate.write(folder, threads, progress)?;
        plate.decoy().write(&folder.join("decoy"), threads, progress)?;
        Ok(info)
    })
}

/// Makes a plain sample set; like [`make`].
pub fn make_samples(
    root: &Path,
    name: &str,
    samples: &Samples,
    threads: Option<usize>,
    force: bool,
    progress: &mut Progress<'_>,
) -> Result<Made, DataError> {
    samples.check()?;
    place(root, name, &samples.origin(), samples.sizes(), force, |folder| {
        let info = samples.write(name, folder, threads, progress)?;
        samples.decoy().write(&format!("{name}-decoy"), &folder.join("decoy"), threads, progress)?;
        Ok(info)
    })
}

/// Gives what `write` makes its place, unless the same stands there or it does not fit.
fn place(
    root: &Path,
    name: &str,
    origin: &str,
    sizes: Sizes,
    force: bool,
    write: impl FnOnce(&Path) -> Result<DatasetInfo, DataError>,
) -> Result<Made, DataError> {
    folder::check_name(name)?;
    let target = root.join(name);
    if let Some(info) = folder::kept(&target, force, "made otherwise", |info| info.origin == origin)? {
        return Ok(Made { folder: target, info, kept: true, warnings: Vec::new() });
    }
    folder::check_space(root, sizes.reference + sizes.decoy)?;
    let staging = folder::stage(root, name)?;
    let info = write(staging.folder())?;
    staging.commit(force)?;
    Ok(Made { folder: target, info, kept: false, warnings: Vec::new() })
}

/// The folder of the dataset `name` of a preset, made if it is missing.
pub fn ensure_preset(root: &Path, name: &str, progress: &mut Progress<'_>) -> Result<Made, DataError> {
    make(root, name, &preset(name)?.recipe, None, false, progress)
}
