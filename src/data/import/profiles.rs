//! The profile table: which of its columns say where objects are, and what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;

use crate::data::DataError;
use crate::data::columns::{Column, Table};

/// Whose centre and box an object gets, most wanted first.
const COMPARTMENTS: [&str; 3] = ["Nuclei", "Cells", "Cytoplasm"];
/// Patterns of the columns that say where a row belongs, and of those of object ids.
pub const PLATE: &str = r"(?i)^(Image_)?Metadata_Plate(_?Name|_?Barcode)?(_[xy])?$";
pub const WELL: &str = r"(?i)^(Image_)?Metadata_Well(_?Name|_?Position)?(_[xy])?$";
pub const SITE: &str = r"(?i)^(Image_)?Metadata_(Site|Field|FieldID|FOV)(_[xy])?$";
pub const ID: &str = r"(?i)^(Metadata_)?(Object|Cell)_?ID$";
/// Before the file name's channel in a column name.
pub const FILE_PREFIX: &str = "Image_FileName_";

/// A column of text.
type Texts = Vec<Option<String>>;

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Row of the table, from 1; the header does not count.
    pub row: usize,
    /// Plate, if a column says.
    pub plate: Option<String>,
    /// Well, if a column says.
    pub well: Option<String>,
    /// Site, if a column says.
    pub site: Option<String>,
    /// Number of its field of view, if a column says.
    pub image: Option<String>,
    /// The file of each of [`Profiles::channels`].
    pub files: Vec<Option<String>>,
    /// An id of its own, if a column says.
    pub id: Option<String>,
    /// Number within its site, if a column says.
    pub number: Option<String>,
    /// Centre: row and column in pixels. `None` where the table has no value.
    pub centre: Option<(f64, f64)>,
    /// First row, first column, end row, end column (ends excluded) in pixels.
    pub bbox: Option<[f64; 4]>,
}

/// What is wanted of a profile table.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles {
    /// Channels whose files the table names, in column order.
    pub channels: Vec<String>,
    /// All rows.
    pub rows: Vec<Profile>,
}

/// Columns of a table, by index.
struct Columns {
    plate: Option<usize>,
    well: Option<usize>,
    site: Option<usize>,
    image: Option<usize>,
    id: Option<usize>,
    number: Option<usize>,
    centre: [usize; 2],
    bbox: Option<[usize; 4]>,
    files: Vec<usize>,
}

impl Profiles {
    /// Reads the columns of the table at `path` that matter; `id` names the column of ids, if the caller chose one.
    pub fn read(path: &Path, id: Option<&str>) -> Result<Self, DataError> {
        let table = Table::open(path)?;
        let columns = Columns::find(path, &table.names, id)?;
        let read = Read::all(&table, &columns)?;
        let text = |index: Option<usize>| index.map(|index| read.column(index)?.text()).transpose();
        let (plates, wells, sites) = (text(columns.plate)?, text(columns.well)?, text(columns.site)?);
        let (ids, numbers, images) = (text(columns.id)?, text(columns.number)?, text(columns.image)?);
        let centre = read.numbers(&columns.centre)?;
        let bbox = columns.bbox.map(|bbox| read.numbers(&bbox)).transpose()?;
        let (channels, files) = read.files(&columns.files)?;
        let at = |column: &Option<Texts>, row: usize| column.as_ref().and_then(|c| c[row].clone());
        let rows = (0..centre[0].len()).map(|row| Profile {
            row: row + 1,
            plate: at(&plates, row),
            well: at(&wells, row),
            site: at(&sites, row),
            image: at(&images, row),
            files: files.iter().map(|file| file[row].clone()).collect(),
            id: at(&ids, row),
            number: at(&numbers, row),
            centre: centre[0][row].zip(centre[1][row]),
            bbox: bbox.as_ref().and_then(|b| Some([b[0][row]?, b[1][row]?, b[2][row]?, b[3][row]?])),
        });
        Ok(Self { channels, rows: rows.collect() })
    }
}

/// All columns that matter, read in one pass over the file.
struct Read {
    columns: BTreeMap<usize, Column>,
}

impl Read {
    fn all(table: &Table, wanted: &Columns) -> Result<Self, DataError> {
        let single =
            [wanted.plate, wanted.well, wanted.site, wanted.image, wanted.id, wanted.number].into_iter().flatten();
        let many = wanted.centre.iter().chain(wanted.bbox.iter().flatten()).chain(&wanted.files).copied();
        // A column may be wanted for two things; it is read once.
        let indices: Vec<usize> = single.chain(many).collect::<BTreeSet<_>>().into_iter().collect();
        let columns = table.read(&indices)?;
        Ok(Self { columns: indices.into_iter().zip(columns).collect() })
    }

    fn column(&self, index: usize) -> Result<&Column, DataError> {
        self.columns.get(&index).ok_or_else(|| DataError::Usage(format!("no column {index}")))
    }

    fn numbers(&self, indices: &[usize]) -> Result<Vec<Vec<Option<f64>>>, DataError> {
        indices.iter().map(|&index| self.column(index)?.numbers()).collect()
    }

    /// Channels and file names of the columns that name TIFF files. Tables also list outlines and illumination
    /// functions.
    fn files(&self, indices: &[usize]) -> Result<(Vec<String>, Vec<Texts>), DataError> {
        let mut channels = Vec::new();
        let mut files = Vec::new();
        for &index in indices {
            let column = self.column(index)?;
            let names = column.text()?;
            if names.iter().flatten().any(|name| is_tiff(Path::new(name))) {
                channels.push(column.name[FILE_PREFIX.len()..].to_owned());
                files.push(names);
            }
        }
        // CellProfiler pipelines call the raw images OrigDNA and so on, beside derived ones.
        if channels.iter().all(|channel| channel.len() > 4 && channel.starts_with("Orig")) {
            channels.iter_mut().for_each(|channel| *channel = channel.split_off(4));
        }
        Ok((channels, files))
    }
}

impl Columns {
    fn find(path: &Path, names: &[String], id: Option<&str>) -> Result<Self, DataError> {
        let find = |wanted: &str| names.iter().position(|name| name == wanted);
        let id =
            match id {
                Some(wanted) => Some(find(wanted).ok_or_else(|| {
                    DataError::Usage(format!("--id {wanted:?}: {} has no such column", path.display()))
                })?),
                None => matching(names, ID),
            };
        let (compartment, centre) = centre(names).ok_or_else(|| {
            let expected = "Nuclei_Location_Center_X and _Y (or Cells_…, Cytoplasm_…)";
            DataError::content(path, format!("no columns of centres among {}; expected {expected}", names.len()))
        })?;
        let number = std::iter::once(compartment).chain(COMPARTMENTS).find_map(|compartment| {
            let c = regex::escape(compartment);
            matching(names, &format!("^(Metadata_)?(ObjectNumber|({c}_)?(Number_Object_Number|ObjectNumber))$"))
        });
        let files = |name: &&String| name.starts_with(FILE_PREFIX);
        Ok(Self {
            plate: matching(names, PLATE),
            well: matching(names, WELL),
            site: matching(names, SITE),
            image: matching(names, r"(?i)^(Metadata_)?ImageNumber$"),
            id,
            number,
            centre,
            bbox: bbox(names, compartment),
            files: names.iter().enumerate().filter(|(_, name)| files(name)).map(|(index, _)| index).collect(),
        })
    }
}

/// The first column with the shortest name that matches: `Metadata_Well` comes before `Image_Metadata_Well_x`.
pub fn matching(names: &[String], pattern: &str) -> Option<usize> {
    let regex = Regex::new(pattern).ok()?;
    let matches = names.iter().enumerate().filter(|(_, name)| regex.is_match(name));
    matches.min_by_key(|(index, name)| (name.len(), *index)).map(|(index, _)| index)
}

/// Compartment and columns of the centre: (row, column).
fn centre(names: &[String]) -> Option<(&str, [usize; 2])> {
    let find = |wanted: String| names.iter().position(|name| *name == wanted);
    let of =
        |prefix: &str| Some([find(format!("{prefix}Location_Center_Y"))?, find(format!("{prefix}Location_Center_X"))?]);
    let known = COMPARTMENTS.iter().find_map(|compartment| {
        let columns = of(&format!("{compartment}_")).or_else(|| of(&format!("Metadata_{compartment}_")))?;
        Some((*compartment, columns))
    });
    known.or_else(|| {
        names.iter().find_map(|name| {
            let prefix = name.strip_suffix("Location_Center_X")?;
            Some((prefix.trim_end_matches('_'), of(prefix)?))
        })
    })
}

/// Columns of the box of the centre's compartment. Another compartment's box would be of another thing: a nucleus does
/// not get its cell's.
fn bbox(names: &[String], compartment: &str) -> Option<[usize; 4]> {
    let prefix = if compartment.is_empty() { String::new() } else { format!("{compartment}_") };
    let find = |end: &str| {
        let wanted = format!("{prefix}AreaShape_BoundingBox{end}");
        names.iter().position(|name| *name == wanted)
    };
    Some([find("Minimum_Y")?, find("Minimum_X")?, find("Maximum_Y")?, find("Maximum_X")?])
}

/// Whether a file's name ends in `.tif` or `.tiff`.
pub fn is_tiff(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tif") || e.eq_ignore_ascii_case("tiff"))
}
