//! Sites and files as the `Image_FileName_…` columns of a profile table name them.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use pcb_formats::SourceFile;

use super::{Draft, Key, Missing, Request, key};
use crate::data::DataError;
use crate::data::import::profiles::Profiles;

impl Request<'_> {
    /// Sites and files as the table names them.
    pub(super) fn by_table(
        &self,
        path: &Path,
        profiles: &Profiles,
        files: &[PathBuf],
        missing: &mut Vec<Missing>,
    ) -> Result<Vec<Draft>, DataError> {
        let mut by_name: HashMap<&OsStr, Vec<&PathBuf>> = HashMap::new();
        for file in files {
            by_name.entry(file.file_name().unwrap_or_default()).or_default().push(file);
        }
        let mut drafts: BTreeMap<Key, (usize, Draft)> = BTreeMap::new();
        for (index, profile) in profiles.rows.iter().enumerate() {
            let (plate, well, site) = self.place(path, profile)?;
            let (first, draft) = drafts
                .entry(key(&plate, &well, &site))
                .or_insert_with(|| (index, Draft { plate, well, site, ..Draft::default() }));
            let other = &profiles.rows[*first];
            if other.files != profile.files {
                let problem = format!(
                    "rows {} and {} belong to {} but name different files: {:?}, {:?}",
                    other.row,
                    profile.row,
                    draft.name(),
                    other.files,
                    profile.files
                );
                return Err(DataError::content(path, problem));
            }
            draft.rows.push(index);
        }
        let mut out: Vec<Draft> = Vec::new();
        for (first, mut draft) in drafts.into_values() {
            for (channel, name) in profiles.rows[first].files.iter().enumerate() {
                let file = match name {
                    Some(name) => self.named(name, &by_name)?,
                    None => None,
                };
                if file.is_none() {
                    missing.push(Missing::Channel { draft: out.len(), channel, file: name.clone() });
                }
                draft.files.push(file);
            }
            out.push(draft);
        }
        Ok(out)
    }

    fn named(&self, name: &str, by_name: &HashMap<&OsStr, Vec<&PathBuf>>) -> Result<Option<SourceFile>, DataError> {
        let base = Path::new(name).file_name().unwrap_or_default();
        match by_name.get(base).map_or(&[][..], Vec::as_slice) {
            [] => Ok(None),
            [file] => Ok(Some(SourceFile::tiff(self.images.join(file), 0))),
            [a, b, ..] => {
                let problem =
                    format!("two files are called {name}: {}, {}; import one folder", a.display(), b.display());
                Err(DataError::content(self.images, problem))
            }
        }
    }
}
