//! Which files make which sites: from the names in the profile table, from the names of the files, or from
//! the metadata of plates and tables.

mod by_arrow;
mod by_name;
mod by_table;
mod by_zarr;
mod headers;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pcb_formats::SourceFile;

pub use by_arrow::is_table;
pub use headers::{describe, make_relative};

use super::names::{Names, Parts, plain_site, well_key};
use super::profiles::{Profile, Profiles, is_tiff};
use crate::data::DataError;

/// What sites are to be found in.
pub struct Request<'a> {
    /// Folder of image files, or a table of images; absolute.
    pub images: &'a Path,
    /// Reads file names.
    pub names: Names,
    /// The profile table and its path.
    pub table: Option<(&'a Path, &'a Profiles)>,
    /// Plate name where nothing tells one.
    pub plate: &'a str,
    /// Column of object ids, if the caller chose one.
    pub id: Option<&'a str>,
    /// Go on without missing files.
    pub skip_missing: bool,
}

/// Sites with all their files.
pub struct Plan {
    /// Channel names, in order.
    pub channels: Vec<String>,
    /// The sites, sorted by plate, well, site.
    pub drafts: Vec<Draft>,
    /// What was left out.
    pub warnings: Vec<String>,
}

/// A site whose pixels have not been looked at.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    /// Plate.
    pub plate: String,
    /// Well.
    pub well: String,
    /// Site.
    pub site: String,
    /// The file of each channel, absolute; `None` where it is missing.
    pub files: Vec<Option<SourceFile>>,
    /// Rows of the profile table, by index.
    pub rows: Vec<usize>,
    /// Id of the one object that a site is the crop of.
    pub object: Option<String>,
}

impl Draft {
    /// Its place in words.
    fn name(&self) -> String {
        let plate = if self.plate.is_empty() { String::new() } else { format!("plate {}, ", self.plate) };
        format!("{plate}well {}, site {}", self.well, self.site)
    }
}

/// Sorts wells and sites as people do: B7 before B12.
type Key = (String, (String, u32), (u64, String));

fn key(plate: &str, well: &str, site: &str) -> Key {
    let site = plain_site(site);
    (plate.to_owned(), well_key(well), (site.parse().unwrap_or(u64::MAX), site))
}

/// What is listed but not there.
enum Missing {
    /// One channel of a site, by index; and the file, where its name is known.
    Channel { draft: usize, channel: usize, file: Option<String> },
    /// All of a site that only the table knows: its place in words.
    Site(String),
}

/// Of the site `wanted`, or of all, what is missing of `channel`: in words, such as `its file A01_1_ER.tif is missing`.
fn files_text(missing: &[Missing], wanted: Option<usize>, channel: usize) -> String {
    let file = |missing: &Missing| match missing {
        Missing::Channel { draft, channel: of, file } if *of == channel && wanted.is_none_or(|w| w == *draft) => {
            file.clone()
        }
        _ => None,
    };
    let files: BTreeSet<String> = missing.iter().filter_map(file).collect();
    match (files.first(), files.len()) {
        (None, _) => String::new(),
        (Some(file), 1) => format!(" (its file {file} is missing)"),
        (Some(first), count) => format!(" (its {count} files are missing, the first {first})"),
    }
}

impl Request<'_> {
    /// Finds the sites.
    pub fn plan(&self) -> Result<Plan, DataError> {
        if is_table(self.images) {
            return self.by_arrow();
        }
        if let Err(error) = fs::read_dir(self.images) {
            let expected =
                "--images must be a folder of TIFF files, an OME-Zarr plate, or a .parquet table of OME-Arrow images";
            return Err(DataError::content(self.images, format!("{error}; {expected}")));
        }
        let plates = by_zarr::plates(self.images)?;
        if !plates.is_empty() {
            return self.by_zarr(&plates);
        }
        let mut files = Vec::new();
        scan(self.images, self.images, &mut files)?;
        files.sort();
        if files.is_empty() {
            let problem = "no file here or below ends in .tif or .tiff, and no folder is an OME-Zarr plate";
            return Err(DataError::content(self.images, problem));
        }
        let (mut missing, mut warnings) = (Vec::new(), Vec::new());
        let (channels, drafts) = match self.table {
            Some((path, profiles)) if !profiles.channels.is_empty() => {
                (profiles.channels.clone(), self.by_table(path, profiles, &files, &mut missing)?)
            }
            _ => self.by_names(&files, &mut missing, &mut warnings)?,
        };
        self.without_missing(channels, drafts, missing, warnings)
    }

    /// Plate, well and site of a row: its own columns, else what its file names say.
    fn place(&self, path: &Path, profile: &Profile) -> Result<(String, String, String), DataError> {
        let said = profile.files.iter().flatten().find_map(|name| self.names.parts(Path::new(name)));
        let pick = |own: &Option<String>, named: fn(&Parts) -> Option<String>| {
            own.clone().or_else(|| said.as_ref().and_then(named))
        };
        let plate = pick(&profile.plate, |parts| parts.plate.clone()).unwrap_or_else(|| self.plate.to_owned());
        let well = pick(&profile.well, |parts| Some(parts.well.clone()));
        let site = pick(&profile.site, |parts| Some(parts.site.clone()));
        let (Some(well), Some(site)) = (well, site) else {
            let problem = format!(
                "row {}: no well or site; expected columns like Metadata_Well and Metadata_Site, or file names that tell \
                 them (see --pattern)",
                profile.row
            );
            return Err(DataError::content(path, problem));
        };
        Ok((plate, well, plain_site(&site)))
    }

    /// Leaves out channels that no site has and sites that lack a channel, if that is wanted.
    fn without_missing(
        &self,
        mut channels: Vec<String>,
        mut drafts: Vec<Draft>,
        missing: Vec<Missing>,
        mut warnings: Vec<String>,
    ) -> Result<Plan, DataError> {
        if !missing.is_empty() && !self.skip_missing {
            let name = |missing: &Missing| match missing {
                Missing::Channel { file: Some(file), .. } => file.clone(),
                Missing::Channel { draft, channel, .. } => {
                    format!("channel {} of {}", channels[*channel], drafts[*draft].name())
                }
                Missing::Site(site) => format!("all channels of {site}"),
            };
            let names: BTreeSet<String> = missing.iter().map(name).collect();
            return Err(DataError::Missing { names: names.into_iter().collect() });
        }
        let had = |channel: &usize| drafts.iter().any(|draft| draft.files[*channel].is_some());
        let (kept, lost): (Vec<usize>, Vec<usize>) = (0..channels.len()).partition(had);
        for &channel in &lost {
            let files = files_text(&missing, None, channel);
            warnings.push(format!("left out channel {}: no site has it{files}", channels[channel]));
        }
        for (index, draft) in drafts.iter().enumerate() {
            for &channel in kept.iter().filter(|&&channel| draft.files[channel].is_none()) {
                let (site, files) = (draft.name(), files_text(&missing, Some(index), channel));
                warnings.push(format!("left out {site}: it lacks channel {}{files}", channels[channel]));
            }
        }
        let absent = |missing: Missing| match missing {
            Missing::Site(site) => Some(format!("left out {site}: no file is there")),
            Missing::Channel { .. } => None,
        };
        warnings.extend(missing.into_iter().filter_map(absent));
        channels = kept.iter().map(|&channel| channels[channel].clone()).collect();
        for draft in &mut drafts {
            draft.files = kept.iter().map(|&channel| draft.files[channel].clone()).collect();
        }
        drafts.retain(|draft| draft.files.iter().all(Option::is_some));
        if channels.is_empty() || drafts.is_empty() {
            return Err(DataError::content(self.images, format!("no site is left: {}", warnings.join("; "))));
        }
        Ok(Plan { channels, drafts, warnings })
    }
}

/// Appends the TIFF files under `folder`, as paths below `base`.
fn scan(base: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), DataError> {
    for entry in fs::read_dir(folder).map_err(|e| DataError::io(folder, e))? {
        let entry = entry.map_err(|e| DataError::io(folder, e))?;
        let path = entry.path();
        // The entry's own type: a link to a folder above would never end.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            scan(base, &path, files)?;
        } else if is_tiff(&path)
            && let Ok(below) = path.strip_prefix(base)
        {
            files.push(below.to_owned());
        }
    }
    Ok(())
}
