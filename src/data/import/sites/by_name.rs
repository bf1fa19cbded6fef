//! Sites and channels as the names of the files tell them, and the rows of the table that belong to each site.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use pcb_formats::{SourceFile, tiff_pages};

use super::{Draft, Key, Missing, Request, key};
use crate::data::DataError;
use crate::data::import::names::{Parts, plain_site, well_key};

impl Request<'_> {
    /// Sites and channels as the files' names tell them.
    pub(super) fn by_names(
        &self,
        files: &[PathBuf],
        missing: &mut Vec<Missing>,
    ) -> Result<(Vec<String>, Vec<Draft>), DataError> {
        let mut found: BTreeMap<Key, (Parts, BTreeMap<String, SourceFile>)> = BTreeMap::new();
        let mut channels = BTreeSet::new();
        for file in files {
            let Some(parts) = self.names.parts(file) else { continue };
            let key = key(parts.plate.as_deref().unwrap_or(""), &parts.well, &parts.site);
            let (_, of_site) = found.entry(key).or_insert_with(|| (parts.clone(), BTreeMap::new()));
            for (channel, source) in self.channels_of(file, &parts)? {
                channels.insert((well_key(&channel), channel.clone()));
                if let Some(other) = of_site.insert(channel.clone(), source) {
                    let problem = format!(
                        "{} and {} are both channel {channel} of well {}, site {}; choose one with --pattern",
                        other.path.display(),
                        file.display(),
                        parts.well,
                        parts.site
                    );
                    return Err(DataError::content(self.images, problem));
                }
            }
        }
        if found.is_empty() {
            let problem = format!(
                "{} TIFF files, the first {:?}, and none has a name of a known kind; give --pattern",
                files.len(),
                files[0]
            );
            return Err(DataError::content(self.images, problem));
        }
        // Sorted like wells: ch2 before ch10.
        let channels: Vec<String> = channels.into_iter().map(|(_, channel)| channel).collect();
        let mut drafts: Vec<Draft> = Vec::new();
        for (parts, of_site) in found.into_values() {
            let mut draft = Draft {
                plate: parts.plate.unwrap_or_default(),
                well: parts.well,
                site: parts.site,
                ..Draft::default()
            };
            for (index, channel) in channels.iter().enumerate() {
                if !of_site.contains_key(channel) {
                    missing.push(Missing::Channel { draft: drafts.len(), channel: index, file: None });
                }
                draft.files.push(of_site.get(channel).cloned());
            }
            drafts.push(draft);
        }
        self.join(&mut drafts, missing)?;
        Ok((channels, drafts))
    }

    /// The channels in a file: the one its name tells, or one for each page.
    fn channels_of(&self, file: &Path, parts: &Parts) -> Result<Vec<(String, SourceFile)>, DataError> {
        let path = self.images.join(file);
        if let Some(channel) = &parts.channel {
            return Ok(vec![(channel.clone(), SourceFile::tiff(path, 0))]);
        }
        let pages = tiff_pages(&path)?.len() as u32;
        Ok((0..pages).map(|page| (format!("ch{}", page + 1), SourceFile::tiff(path.clone(), page))).collect())
    }

    /// Gives each site the rows of the table that say they belong to it.
    fn join(&self, drafts: &mut [Draft], missing: &mut Vec<Missing>) -> Result<(), DataError> {
        let mut by_place: HashMap<((String, u32), String), Vec<usize>> = HashMap::new();
        for (index, draft) in drafts.iter().enumerate() {
            by_place.entry((well_key(&draft.well), plain_site(&draft.site))).or_default().push(index);
        }
        let Some((path, profiles)) = self.table else {
            self.name_plates(drafts);
            return Ok(());
        };
        let mut absent = BTreeSet::new();
        for (index, profile) in profiles.rows.iter().enumerate() {
            let (plate, well, site) = self.place(path, profile)?;
            let at = by_place.get(&(well_key(&well), site.clone())).map_or(&[][..], Vec::as_slice);
            let named =
                |&at: &usize| drafts[at].plate.is_empty() || profile.plate.is_none() || drafts[at].plate == plate;
            match at.iter().copied().filter(named).collect::<Vec<_>>()[..] {
                [] => {
                    absent.insert(format!("plate {plate}, well {well}, site {site}"));
                }
                [one] => {
                    let draft = &mut drafts[one];
                    draft.rows.push(index);
                    if draft.plate.is_empty() {
                        draft.plate = plate;
                    }
                }
                _ => {
                    let problem = format!(
                        "row {}: well {well}, site {site} is on several plates; a column Metadata_Plate should say which",
                        profile.row
                    );
                    return Err(DataError::content(path, problem));
                }
            }
        }
        missing.extend(absent.into_iter().map(Missing::Site));
        self.name_plates(drafts);
        Ok(())
    }

    fn name_plates(&self, drafts: &mut [Draft]) {
        for draft in drafts.iter_mut().filter(|draft| draft.plate.is_empty()) {
            draft.plate = self.plate.to_owned();
        }
    }
}
