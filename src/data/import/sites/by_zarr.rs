//! Sites and channels as OME-Zarr plates tell them: every field of a well is a site.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use pcb_formats::{OmeField, OmePlate, SourceFile, ome_zarr_plate};

use super::{Draft, Key, Plan, Request, key};
use crate::data::DataError;
use crate::data::import::names::plain_site;
use crate::data::import::profiles::is_tiff;

/// Documents that make a folder part of a Zarr hierarchy.
const ZARR: [&str; 4] = ["zarr.json", ".zgroup", ".zattrs", ".zarray"];

/// The OME-Zarr plates at or below `folder`; none when it holds other images.
pub fn plates(folder: &Path) -> Result<Vec<OmePlate>, DataError> {
    let (mut plates, mut tiff) = (Vec::new(), None);
    find(folder, &mut plates, &mut tiff)?;
    plates.sort_by(|a, b| a.folder.cmp(&b.folder));
    match (plates.first(), tiff) {
        (Some(plate), Some(tiff)) => {
            let (plate, tiff) = (plate.folder.display(), tiff.display());
            let problem = format!("OME-Zarr plates and TIFF files beside them: {plate}, {tiff}; import one of them");
            Err(DataError::content(folder, problem))
        }
        _ => Ok(plates),
    }
}

/// Looks for plates at and below `folder`, and for a TIFF file outside of them.
fn find(folder: &Path, plates: &mut Vec<OmePlate>, tiff: &mut Option<PathBuf>) -> Result<(), DataError> {
    if ZARR.iter().any(|name| folder.join(name).exists()) {
        // Below a part of a Zarr hierarchy lie chunks, and no other plate.
        plates.extend(ome_zarr_plate(folder)?);
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(|e| DataError::io(folder, e))? {
        let entry = entry.map_err(|e| DataError::io(folder, e))?;
        let path = entry.path();
        // The entry's own type: a link to a folder above would never end.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find(&path, plates, tiff)?;
        } else if tiff.is_none() && is_tiff(&path) {
            *tiff = Some(path);
        }
    }
    Ok(())
}

impl Request<'_> {
    /// Sites and channels of `plates`.
    pub(super) fn by_zarr(&self, plates: &[OmePlate]) -> Result<Plan, DataError> {
        if self.names.are_given() {
            let problem =
                "--pattern is for the names of TIFF files; an OME-Zarr plate names its wells and fields itself";
            return Err(DataError::Usage(problem.to_owned()));
        }
        let fields: Vec<&OmeField> = plates.iter().flat_map(|plate| &plate.fields).collect();
        let (Some(first), channels) = (fields.first(), channels(&fields)?) else {
            let left_out = left_out(plates).collect::<Vec<_>>().join("; ");
            return Err(DataError::content(self.images, format!("no well of the plate has an image: {left_out}")));
        };
        let mut drafts: BTreeMap<Key, Draft> = BTreeMap::new();
        for plate in plates {
            let name = self.plate_name(plate, plates.len());
            for field in &plate.fields {
                if field.channels != first.channels {
                    let (found, expected) = (field.channels, first.channels);
                    let problem = format!("{found} channels; expected {expected} as in {}", first.array.display());
                    return Err(DataError::content(&field.array, problem));
                }
                let site = plain_site(&field.field);
                let source = |channel: usize| Some(SourceFile::ome_zarr(field.array.clone(), channel as u32));
                let files = (0..field.channels).map(source).collect();
                let key = key(name, &field.well, &site);
                let draft = Draft { plate: name.to_owned(), well: field.well.clone(), site, files, ..Draft::default() };
                if let Some(other) = drafts.insert(key, draft) {
                    let problem = format!("{} twice, here and in another folder; import one of them", other.name());
                    return Err(DataError::content(&field.array, problem));
                }
            }
        }
        let (mut drafts, mut missing) = (drafts.into_values().collect::<Vec<_>>(), Vec::new());
        self.join(&mut drafts, &mut missing)?;
        let mut plan = self.without_missing(channels, drafts, missing, Vec::new())?;
        plan.warnings.splice(0..0, left_out(plates));
        Ok(plan)
    }

    /// Name of a plate among `count`. One alone takes the name that the table gives its only plate, which it leaves
    /// open here: barcodes seldom stand in the metadata of images.
    fn plate_name<'a>(&self, plate: &'a OmePlate, count: usize) -> &'a str {
        let rows = self.table.into_iter().flat_map(|(_, profiles)| &profiles.rows);
        let named: BTreeSet<&str> = rows.filter_map(|row| row.plate.as_deref()).collect();
        if count == 1 && named.len() == 1 { "" } else { &plate.name }
    }
}

/// Names of the channels: those of the first field that names them, else their numbers.
fn channels(fields: &[&OmeField]) -> Result<Vec<String>, DataError> {
    let mut named = fields.iter().filter(|field| !field.names.is_empty());
    let Some(first) = named.next() else {
        let count = fields.first().map_or(0, |field| field.channels);
        return Ok((1..=count).map(|channel| format!("ch{channel}")).collect());
    };
    if let Some(other) = named.find(|field| field.names != first.names) {
        let (found, expected) = (other.names.join(", "), first.names.join(", "));
        let problem = format!("channels {found}; expected {expected} as in {}", first.array.display());
        return Err(DataError::content(&other.array, problem));
    }
    let distinct: BTreeSet<&String> = first.names.iter().collect();
    if distinct.len() == first.names.len() {
        return Ok(first.names.clone());
    }
    Ok(first.names.iter().enumerate().map(|(index, name)| format!("ch{} {name}", index + 1)).collect())
}

/// What the plates list and do not hold.
fn left_out(plates: &[OmePlate]) -> impl Iterator<Item = String> {
    let missing = |plate: &OmePlate| {
        let name = plate.name.clone();
        plate.missing.iter().map(move |what| format!("left out plate {name}, {what}")).collect::<Vec<_>>()
    };
    plates.iter().flat_map(missing)
}
