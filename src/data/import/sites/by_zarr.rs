//! Sites and channels of OME-Zarr plates, as their metadata tell them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use pcb_formats::{Field, PlateFields, SourceFile, SourceKind, plate_fields, zarr_channels};

use super::{Draft, Missing, Request, key};
use crate::data::DataError;

/// A plate and what it lists.
pub struct ZarrPlate {
    /// Its folder.
    folder: PathBuf,
    /// Its fields.
    listed: PlateFields,
}

/// The OME-Zarr plates at `images`: the folder itself, or those right below it. Empty where there are none.
pub fn zarr_plates(images: &Path) -> Result<Vec<ZarrPlate>, DataError> {
    if let Some(plate) = plate(images)? {
        return Ok(vec![plate]);
    }
    let failed = |e: io::Error| DataError::io(images, e);
    let mut folders = Vec::new();
    for entry in fs::read_dir(images).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() && path.extension().is_some_and(|extension| extension == "zarr") {
            folders.push(path);
        }
    }
    folders.sort();
    let mut plates = Vec::new();
    for folder in folders {
        plates.extend(plate(&folder)?);
    }
    Ok(plates)
}

fn plate(folder: &Path) -> Result<Option<ZarrPlate>, DataError> {
    let found = plate_fields(folder)?;
    Ok(found.map(|listed| ZarrPlate { folder: folder.to_owned(), listed }))
}

impl Request<'_> {
    /// Sites and channels as plates tell them. Wells and fields that are listed but absent are said: holes in a plate are
    /// normal.
    pub(super) fn by_zarr(
        &self,
        plates: &[ZarrPlate],
        missing: &mut Vec<Missing>,
        warnings: &mut Vec<String>,
    ) -> Result<(Vec<String>, Vec<Draft>), DataError> {
        let mut found = Vec::new();
        for plate in plates {
            let name = plate.folder.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            warnings.extend(holes(plate));
            for field in &plate.listed.fields {
                found.push((key(&name, &field.well, &field.field), name.clone(), field, names(field)?));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        let mut channels: Vec<String> = Vec::new();
        for name in found.iter().flat_map(|(_, _, _, names)| names) {
            if !channels.contains(name) {
                channels.push(name.clone());
            }
        }
        let mut drafts = Vec::new();
        for (_, plate, field, names) in &found {
            let mut draft =
                Draft { plate: plate.clone(), well: field.well.clone(), site: field.field.clone(), ..Draft::default() };
            for (index, channel) in channels.iter().enumerate() {
                let page = names.iter().position(|name| name == channel);
                if page.is_none() {
                    missing.push(Missing::Channel { draft: drafts.len(), channel: index, file: None });
                }
                draft.files.push(page.map(|page| source(field, page as u32)));
            }
            drafts.push(draft);
        }
        self.join(&mut drafts, missing)?;
        Ok((channels, drafts))
    }
}

/// Channel names of a field: its own, where there are as many as channels and no two alike.
fn names(field: &Field) -> Result<Vec<String>, DataError> {
    let count = zarr_channels(&field.array)? as usize;
    let distinct = (1..field.channels.len()).all(|index| !field.channels[..index].contains(&field.channels[index]));
    if field.channels.len() == count && distinct {
        return Ok(field.channels.clone());
    }
    Ok((1..=count).map(|channel| format!("ch{channel}")).collect())
}

fn source(field: &Field, page: u32) -> SourceFile {
    SourceFile { path: field.array.clone(), kind: SourceKind::OmeZarr, page, row: 0, column: None }
}

fn holes(plate: &ZarrPlate) -> Option<String> {
    let first = plate.listed.missing.first()?;
    let more = match plate.listed.missing.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("left out {}{more}: the plate lists it, and it is not there", first.display()))
}
