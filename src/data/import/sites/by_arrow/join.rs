//! Sites of a table of images, and the rows of the profile table that belong to them.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use super::Group;
use crate::data::import::names::{plain_site, well_key};
use crate::data::import::profiles::{Profile, Profiles};
use crate::data::import::sites::Request;
use crate::data::{DataError, counted};

impl Request<'_> {
    /// Gives each site what the profile table says of it.
    pub(super) fn join_profiles(&self, groups: &mut Vec<Group>, warnings: &mut Vec<String>) -> Result<(), DataError> {
        let cells = groups.iter().any(|group| group.draft.object.is_some());
        if let Some((path, profiles)) = self.table {
            if cells {
                join_cells(path, profiles, groups, warnings)?;
            } else {
                self.join_fields(path, profiles, groups)?;
            }
        }
        for group in groups {
            if group.draft.plate.is_empty() {
                group.draft.plate = self.plate.to_owned();
            }
            if group.draft.well.is_empty() {
                group.draft.well = "A01".to_owned();
            }
        }
        Ok(())
    }

    /// Gives fields of view the rows with their number, or with their well and site.
    fn join_fields(&self, path: &Path, profiles: &Profiles, groups: &mut [Group]) -> Result<(), DataError> {
        let mut by_number: HashMap<String, usize> = HashMap::new();
        let mut by_place: HashMap<((String, u32), String), usize> = HashMap::new();
        for (at, group) in groups.iter().enumerate() {
            by_place.insert((well_key(&group.draft.well), plain_site(&group.draft.site)), at);
            by_number.extend(group.number.clone().map(|number| (number, at)));
        }
        let mut lost = BTreeSet::new();
        for (index, profile) in profiles.rows.iter().enumerate() {
            let by_image = profile.image.as_ref().map(|number| plain_site(number)).filter(|_| !by_number.is_empty());
            let found = match by_image {
                Some(number) => by_number.get(&number).copied().ok_or(format!("image number {number}")),
                None => {
                    let (plate, well, site) = self.place(path, profile)?;
                    let found = by_place.get(&(well_key(&well), site.clone())).copied();
                    found.ok_or(format!("plate {plate}, well {well}, site {site}"))
                }
            };
            match found {
                Ok(at) => {
                    let draft = &mut groups[at].draft;
                    draft.rows.push(index);
                    if let Some(plate) = profile.plate.as_ref().filter(|_| draft.plate.is_empty()) {
                        draft.plate = plate.clone();
                    }
                }
                Err(place) => drop(lost.insert(place)),
            }
        }
        if lost.is_empty() || self.skip_missing {
            return Ok(());
        }
        Err(DataError::Missing { names: lost.into_iter().map(|place| format!("all channels of {place}")).collect() })
    }
}

/// Keeps the cells that the profile table lists, and gives them its plate and well where the images have none.
fn join_cells(
    path: &Path,
    profiles: &Profiles,
    groups: &mut Vec<Group>,
    warnings: &mut Vec<String>,
) -> Result<(), DataError> {
    let mut by_id: HashMap<&str, &Profile> = HashMap::new();
    for profile in &profiles.rows {
        if let Some(id) = &profile.id
            && let Some(other) = by_id.insert(id, profile)
        {
            let problem = format!("rows {} and {} have the same object id {id:?}", other.row, profile.row);
            return Err(DataError::content(path, problem));
        }
    }
    if by_id.is_empty() {
        let problem = "no ids of objects: expected a column like Metadata_ObjectID, or --id";
        return Err(DataError::content(path, problem));
    }
    let before = groups.len();
    groups.retain_mut(|group| {
        let profile = group.draft.object.as_deref().and_then(|id| by_id.remove(id));
        let Some(profile) = profile else { return false };
        let said = |own: &mut String, other: &Option<String>| {
            if let Some(other) = other.as_ref().filter(|_| own.is_empty()) {
                *own = other.clone();
            }
        };
        said(&mut group.draft.plate, &profile.plate);
        said(&mut group.draft.well, &profile.well);
        true
    });
    for (count, what) in [(before - groups.len(), "without a row of the table"), (by_id.len(), "without an image")] {
        if count > 0 {
            warnings.push(format!("left out {} {what}", counted(count as u64, "object")));
        }
    }
    if groups.is_empty() {
        return Err(DataError::content(path, "no row has the object id of an image"));
    }
    Ok(())
}
