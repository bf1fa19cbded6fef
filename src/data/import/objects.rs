//! Objects of an imported plate: rows of the profile table, and a grid where those are few.

use std::collections::HashMap;
use std::path::Path;

use pcb_formats::{Object, ObjectTable, Site};

use super::Import;
use super::grid;
use super::profiles::{Profile, Profiles};
use super::sites::Draft;
use crate::data::{DataError, counted};

/// The table of objects, site by site: first those of the profile table, in its order, then those of the grid.
pub fn build(
    import: &Import,
    table: Option<(&Path, &Profiles)>,
    drafts: &[Draft],
    sites: &[Site],
    warnings: &mut Vec<String>,
) -> Result<ObjectTable, DataError> {
    let mut rows = Vec::new();
    let mut seen = HashMap::new();
    let mut without_centre = 0;
    for (index, (draft, site)) in drafts.iter().zip(sites).enumerate() {
        let first = rows.len();
        if let Some(id) = &draft.object {
            rows.push(centred(id, site, index));
        }
        let profiles = table.map(|(path, table)| draft.rows.iter().map(move |&row| (path, &table.rows[row])));
        for (path, profile) in profiles.into_iter().flatten() {
            let Some(centre) = profile.centre else {
                without_centre += 1;
                continue;
            };
            let place = Place { path, site, index, record: import.record };
            let object = place.object(profile, centre, rows.len() - first + 1)?;
            if let Some(other) = seen.insert(object.id.clone(), profile.row) {
                let problem = format!(
                    "rows {other} and {} have the same object id {:?}; name a column of unique ids with --id",
                    profile.row, object.id
                );
                return Err(DataError::content(path, problem));
            }
            rows.push(object);
        }
        let missing = import.grid.map_or(0, |wanted| (wanted as usize).saturating_sub(rows.len() - first));
        rows.extend(from_grid(import, site, index, missing));
    }
    if without_centre > 0 {
        let rows = counted(without_centre, "row");
        warnings.push(format!("left out {rows} of the table without a centre"));
    }
    if rows.is_empty() {
        let path = table.map_or(import.images.as_path(), |(path, _)| path);
        let problem = "no object: no row of the table belongs to a site with images; --grid N makes some";
        return Err(DataError::content(path, problem));
    }
    Ok(ObjectTable { rows })
}

/// Where a row of the table belongs.
struct Place<'a> {
    path: &'a Path,
    site: &'a Site,
    index: usize,
    record: u32,
}

impl Place<'_> {
    fn object(&self, profile: &Profile, centre: (f64, f64), nth: usize) -> Result<Object, DataError> {
        let (height, width) = (self.site.height, self.site.width);
        // A centre just before the far edge may round up to the edge itself.
        let within = |at: f64, size: u32| (at as f32).min((size as f32).next_down());
        let inside = |at: f64, size: u32| (0.0..f64::from(size)).contains(&at);
        if !inside(centre.0, height) || !inside(centre.1, width) {
            let ((y, x), name) = (centre, self.site.name());
            let problem = format!(
                "row {}: centre at row {y}, column {x} lies outside site {name} of {height}x{width}",
                profile.row
            );
            return Err(DataError::content(self.path, problem));
        }
        let (y, x) = (within(centre.0, height), within(centre.1, width));
        let bbox = match profile.bbox {
            Some(bbox) => self.bbox(profile.row, bbox)?,
            None => window(self.site, y, x, self.record),
        };
        let id = match (&profile.id, &profile.number) {
            (Some(id), _) => id.clone(),
            (None, Some(number)) => match number.parse::<u64>() {
                Ok(number) => format!("{}-{number:04}", self.site.name()),
                Err(_) => format!("{}-{number}", self.site.name()),
            },
            (None, None) => format!("{}-{nth:04}", self.site.name()),
        };
        Ok(Object { id, site: self.index as u32, y, x, bbox })
    }

    fn bbox(&self, row: usize, [y0, x0, y1, x1]: [f64; 4]) -> Result<[i32; 4], DataError> {
        let bbox = [y0.floor() as i32, x0.floor() as i32, y1.ceil() as i32, x1.ceil() as i32];
        if bbox[0] < bbox[2] && bbox[1] < bbox[3] {
            return Ok(bbox);
        }
        let problem = format!("row {row}: box from row {y0}, column {x0} to row {y1}, column {x1} holds no pixel");
        Err(DataError::content(self.path, problem))
    }
}

/// The object whose crop a site is: at its centre, as large as the site.
fn centred(id: &str, site: &Site, index: usize) -> Object {
    let (height, width) = (site.height, site.width);
    Object {
        id: id.to_owned(),
        site: index as u32,
        y: (height / 2) as f32,
        x: (width / 2) as f32,
        bbox: [0, 0, height as i32, width as i32],
    }
}

fn from_grid(import: &Import, site: &Site, index: usize, count: usize) -> Vec<Object> {
    let centres = grid::centres(import.seed, index, site.height, site.width, count);
    let object = |(i, (y, x)): (usize, (f32, f32))| Object {
        id: format!("{}-g{:04}", site.name(), i + 1),
        site: index as u32,
        y,
        x,
        bbox: window(site, y, x, import.record),
    };
    centres.into_iter().enumerate().map(object).collect()
}

/// A box as large as a record around a centre, cut off at the edges: what stands in for a box that nobody measured.
fn window(site: &Site, y: f32, x: f32, record: u32) -> [i32; 4] {
    let span = |at: f32, size: u32| {
        let first = (at - record as f32 / 2.0).floor() as i32;
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        (first.clamp(0, size), first.saturating_add(record as i32).clamp(0, size))
    };
    let (y0, y1) = span(y, site.height);
    let (x0, x1) = span(x, site.width);
    [y0, x0, y1, x1]
}
