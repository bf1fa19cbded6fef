//! Sizes and dtype of sites, from the headers of their files.

use std::path::{Path, PathBuf};

use pcb_formats::{Site, plane_info};
use pcb_protocol::Dtype;

use super::Plan;
use crate::data::DataError;

/// Sizes and dtype from the files' headers. Sites come without digests, and with absolute paths.
pub fn describe(plan: &Plan) -> Result<(Vec<Site>, Dtype), DataError> {
    let mut sites = Vec::new();
    let mut dtype: Option<(Dtype, PathBuf)> = None;
    for draft in &plan.drafts {
        let mut site = Site {
            plate: draft.plate.clone(),
            well: draft.well.clone(),
            site: draft.site.clone(),
            height: 0,
            width: 0,
            digest: String::new(),
            source: Vec::new(),
        };
        for source in draft.files.iter().flatten() {
            let page = plane_info(&source.path, source)?;
            let (expected, first) = dtype.get_or_insert_with(|| (page.dtype, source.path.clone()));
            if page.dtype != *expected {
                let problem = format!("{}; expected {expected} as in {}", page.dtype, first.display());
                return Err(DataError::content(&source.path, problem));
            }
            if site.source.is_empty() {
                (site.height, site.width) = (page.height, page.width);
            } else if (page.height, page.width) != (site.height, site.width) {
                let problem = format!(
                    "{}x{} pixels; expected {}x{} as in the site's first channel",
                    page.height, page.width, site.height, site.width
                );
                return Err(DataError::content(&source.path, problem));
            }
            site.source.push(source.clone());
        }
        sites.push(site);
    }
    match dtype {
        Some((dtype, _)) => Ok((sites, dtype)),
        None => Err(DataError::Usage("no site to import".into())),
    }
}

/// Paths as `dataset.json` holds them: those below the data folder `root` are relative to the dataset's folder, so that
/// the data folder can move.
pub fn make_relative(sites: &mut [Site], root: &Path) -> Result<(), DataError> {
    let root = std::path::absolute(root).map_err(|e| DataError::io(root, e))?;
    for source in sites.iter_mut().flat_map(|site| &mut site.source) {
        let held = match source.path.strip_prefix(&root) {
            Ok(below) => Path::new("..").join(below),
            Err(_) => source.path.clone(),
        };
        if held.to_str().is_none() {
            let problem = "the path is not UTF-8, so dataset.json cannot hold it; rename it";
            return Err(DataError::content(&source.path, problem));
        }
        source.path = held;
    }
    Ok(())
}
