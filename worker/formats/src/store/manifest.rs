//! `form.json`: what a stored form was written from. No reader reads it, so it is not one of a format's files.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Dataset, Format, FormatError, Variant};

const NAME: &str = "form.json";
/// Version of `form.json`. 1: first version.
const VERSION: u32 = 1;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    version: u32,
    /// Digest of the dataset.
    dataset: String,
    format: String,
    stored: String,
    /// [`Format::writer`] of the writer.
    writer: u32,
    /// [`Variant::parameters`] of the variant.
    parameters: String,
}

impl Manifest {
    /// What the form of this dataset should say.
    pub fn of(dataset: &Dataset, format: &Format, variant: &Variant) -> Self {
        Self {
            version: VERSION,
            dataset: dataset.info.digest.clone(),
            format: format.name.to_owned(),
            stored: variant.stored.to_owned(),
            writer: format.writer,
            parameters: variant.parameters.to_owned(),
        }
    }

    /// What the form in `folder` says. `None` for no form, and for one that nobody can tell anything of.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(NAME)).ok()?).ok()
    }

    /// Written last: a form without it is not complete.
    pub fn write(&self, folder: &Path) -> Result<(), FormatError> {
        let path = folder.join(NAME);
        let text = serde_json::to_vec_pretty(self).map_err(|e| FormatError::io(&path, e.into()))?;
        fs::write(&path, text).map_err(|e| FormatError::io(&path, e))
    }
}
