//! Sites and channels as the names of the files tell them, and the rows of the table that belong to each site.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use pcb_formats::{SourceFile, tiff_channels};

use super::{Draft, Key, Missing, Request, key};
use crate::data::DataError;
use crate::data::import::names::{Parts, plain_site, well_key};

impl Request<'_> {
    /// Sites and channels as the files' names tell them.
    pub(super) fn by_names(
        &self,
        files: &[PathBuf],
        missing: &mut Vec<Missing>,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<String>, Vec<Draft>), DataError> {
        let mut found: BTreeMap<Key, (Parts, BTreeMap<String, SourceFile>)> = BTreeMap::new();
        let mut channels: BTreeMap<String, u32> = BTreeMap::new();
        let mut partly = Vec::new();
        for (file, parts) in self.named_files(files)? {
            let key = key(parts.plate.as_deref().unwrap_or(""), &parts.well, &parts.site);
            let (_, of_site) = found.entry(key).or_insert_with(|| (parts.clone(), BTreeMap::new()));
            for (channel, source) in self.channels_of(file, &parts, &mut partly)? {
                let page = channels.entry(channel.clone()).or_insert(source.page);
                *page = source.page.min(*page);
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
        if let Some(first) = partly.first() {
            let more = match partly.len() - 1 {
                0 => String::new(),
                more => format!(", and planes of {more} more files"),
            };
            warnings.push(format!(
                "left out {first}{more}: only the first z plane and time point of each channel of the first image is taken"
            ));
        }
        // As they lie in their files, then sorted like wells: ch2 before ch10.
        let mut channels: Vec<(String, u32)> = channels.into_iter().collect();
        channels.sort_by_cached_key(|(channel, page)| (*page, well_key(channel)));
        let channels: Vec<String> = channels.into_iter().map(|(channel, _)| channel).collect();
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

    /// The files whose names tell where they belong, or else OME-TIFFs, each of which is a well of one site.
    fn named_files<'a>(&self, files: &'a [PathBuf]) -> Result<Vec<(&'a PathBuf, Parts)>, DataError> {
        let all = |parts: &dyn Fn(&Path) -> Option<Parts>| -> Vec<_> {
            files.iter().filter_map(|file| Some((file, parts(file)?))).collect()
        };
        let named = all(&|file| self.names.parts(file));
        let named = if named.is_empty() { all(&|file| self.names.ome_tiff(file)) } else { named };
        if named.is_empty() {
            let problem = format!(
                "{} TIFF files, the first {:?}, and none has a name of a known kind; give --pattern",
                files.len(),
                files[0]
            );
            return Err(DataError::content(self.images, problem));
        }
        Ok(named)
    }

    /// The channels in a file: the one its name tells, or those that OME-XML tells, or one for each page. What is left
    /// out of a file is appended to `partly`, in words.
    fn channels_of(
        &self,
        file: &Path,
        parts: &Parts,
        partly: &mut Vec<String>,
    ) -> Result<Vec<(String, SourceFile)>, DataError> {
        let path = self.images.join(file);
        if let Some(channel) = &parts.channel {
            return Ok(vec![(channel.clone(), SourceFile::tiff(path, 0))]);
        }
        let (channels, planes) = tiff_channels(&path)?;
        if channels.len() < planes {
            partly.push(format!("{} of the {planes} planes of {}", planes - channels.len(), file.display()));
        }
        let source = |page| SourceFile::tiff(path.clone(), page);
        Ok(channels.into_iter().map(|channel| (channel.name, source(channel.page))).collect())
    }

    /// Gives each site the rows of the table that say they belong to it.
    pub(super) fn join(&self, drafts: &mut [Draft], missing: &mut Vec<Missing>) -> Result<(), DataError> {
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
