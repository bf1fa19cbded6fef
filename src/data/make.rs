//! Makes plates from a seed: the same bytes on any machine and any number of threads.

mod cells;
mod paint;
mod plate;
mod random;
mod recipe;
mod stain;
mod texture;

pub use recipe::{PRESETS, Preset, Recipe, Sizes, preset};

pub(super) use plate::Plate;
pub(super) use random::Random;

use std::path::Path;

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
    folder::check_name(name)?;
    recipe.check()?;
    let target = root.join(name);
    let origin = recipe.origin();
    if let Some(info) = folder::kept(&target, force, "made otherwise", |info| info.origin == origin)? {
        return Ok(Made { folder: target, info, kept: true, warnings: Vec::new() });
    }
    folder::check_space(root, recipe.sizes().reference + recipe.sizes().decoy)?;
    let staging = folder::stage(root, name)?;
    let plate = recipe.plate(name);
    let info = plate.write(staging.folder(), threads, progress)?;
    plate.decoy().write(&staging.folder().join("decoy"), threads, progress)?;
    staging.commit(force)?;
    Ok(Made { folder: target, info, kept: false, warnings: Vec::new() })
}

/// The folder of the dataset `name` of a preset, made if it is missing.
pub fn ensure_preset(root: &Path, name: &str, progress: &mut Progress<'_>) -> Result<Made, DataError> {
    make(root, name, &preset(name)?.recipe, None, false, progress)
}
