//! Where the sites of a dataset lie in its plates: `PLATE.zarr/ROW/COLUMN/FIELD/0`.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::Dataset;

/// Row of wells whose names are no letters and number. Such a name has at most [`ROW_LETTERS`] letters, so none is this.
const OTHER_ROW: &str = "other";
const ROW_LETTERS: usize = 3;

/// Name of the only array of a field: the full resolution.
pub const ARRAY: &str = "0";

/// One plate.
#[derive(Debug, PartialEq, Eq)]
pub struct PlatePlace {
    /// Name in the dataset.
    pub name: String,
    /// Its folder below that of the stored form.
    pub folder: String,
    /// Its wells, in the order of the dataset.
    pub wells: Vec<WellPlace>,
}

/// One well.
#[derive(Debug, PartialEq, Eq)]
pub struct WellPlace {
    /// Name in the dataset.
    pub name: String,
    /// Name of its row: letters and digits only, as OME-Zarr has it.
    pub row: String,
    /// Name of its column, likewise.
    pub column: String,
    /// Its sites, by index; the field's number is the place in this list.
    pub sites: Vec<usize>,
}

/// Plates, wells and fields of a dataset, in its order.
pub fn plates(dataset: &Dataset) -> Vec<PlatePlace> {
    let mut plates: Vec<PlatePlace> = Vec::new();
    // Sites come sorted, so a plate and a well are mostly the last ones; a map finds the others.
    let mut known_plates: HashMap<&str, usize> = HashMap::new();
    let mut known_wells: HashMap<(usize, &str), usize> = HashMap::new();
    let mut folders = HashSet::new();
    for (index, site) in dataset.info.sites.iter().enumerate() {
        let plate = *known_plates.entry(&site.plate).or_insert_with(|| {
            let folder = unused(&safe(&site.plate), &mut folders);
            plates.push(PlatePlace { name: site.plate.clone(), folder, wells: Vec::new() });
            plates.len() - 1
        });
        let wells = &mut plates[plate].wells;
        let well = *known_wells.entry((plate, &site.well)).or_insert_with(|| {
            let others = wells.iter().filter(|well| well.row == OTHER_ROW).count();
            let (row, column) = split(&site.well).unwrap_or_else(|| (OTHER_ROW.to_owned(), (others + 1).to_string()));
            wells.push(WellPlace { name: site.well.clone(), row, column, sites: Vec::new() });
            wells.len() - 1
        });
        wells[well].sites.push(index);
    }
    plates
}

/// Folder of the array of each site, below that of the stored form.
pub fn arrays(dataset: &Dataset) -> Vec<PathBuf> {
    let mut arrays = vec![PathBuf::new(); dataset.info.sites.len()];
    for plate in plates(dataset) {
        for well in &plate.wells {
            for (field, &site) in well.sites.iter().enumerate() {
                arrays[site] = [&plate.folder, &well.row, &well.column, &field.to_string(), ARRAY].iter().collect();
            }
        }
    }
    arrays
}

/// Row and column of a well like `B07`.
fn split(well: &str) -> Option<(String, String)> {
    let digits = well.find(|c: char| c.is_ascii_digit())?;
    let (row, column) = well.split_at(digits);
    let fits = (1..=ROW_LETTERS).contains(&row.len())
        && row.chars().all(|c| c.is_ascii_alphabetic())
        && column.chars().all(|c| c.is_ascii_digit());
    fits.then(|| (row.to_owned(), column.to_owned()))
}

fn safe(plate: &str) -> String {
    let safe = plate.replace(|c: char| !(c.is_ascii_alphanumeric() || "._-".contains(c)), "_");
    if safe.is_empty() { "plate".to_owned() } else { safe }
}

/// `NAME.zarr`, or with a number where another plate has that name.
fn unused(name: &str, taken: &mut HashSet<String>) -> String {
    let mut folder = format!("{name}.zarr");
    let mut number = 2;
    while !taken.insert(folder.clone()) {
        folder = format!("{name}-{number}.zarr");
        number += 1;
    }
    folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wells_are_split_where_they_have_letters_and_a_number() {
        let pair = |row: &str, column: &str| Some((row.to_owned(), column.to_owned()));
        assert_eq!(split("A01"), pair("A", "01"));
        assert_eq!(split("AF48"), pair("AF", "48"));
        assert_eq!(split("b7"), pair("b", "7"));
        for odd in ["", "A", "12", "A-1", "A1b", "\u{c4}1", "well1", "other1", "A 01", "../x1"] {
            assert_eq!(split(odd), None, "{odd}");
        }
    }

    #[test]
    fn plates_of_the_same_safe_name_get_folders_of_their_own() {
        let mut taken = HashSet::new();
        assert_eq!(unused(&safe("P 1"), &mut taken), "P_1.zarr");
        assert_eq!(unused(&safe("P_1"), &mut taken), "P_1-2.zarr");
        assert_eq!(unused(&safe("P/1"), &mut taken), "P_1-3.zarr");
        assert_eq!(unused(&safe(""), &mut taken), "plate.zarr");
    }
}
