//! The columns beside the images of a table.

use std::path::Path;

use crate::data::DataError;
use crate::data::columns::Table;
use crate::data::import::profiles::{ID, PLATE, SITE, WELL, matching};

/// A column, if there is one.
pub type Texts = Option<Vec<Option<String>>>;

/// Columns beside the images, as text; `None` where the table has no such column.
pub struct Columns {
    pub plate: Texts,
    pub well: Texts,
    pub site: Texts,
    /// Number of the field of view.
    pub number: Texts,
    /// Id of the field of view.
    pub image: Texts,
    pub object: Texts,
    pub channel: Texts,
}

/// The text in a row, unless it is empty.
pub fn at(column: &Texts, row: usize) -> Option<String> {
    column.as_ref().and_then(|column| column.get(row).cloned()).flatten().filter(|text| !text.is_empty())
}

impl Columns {
    /// Reads those of the table at `path`; `id` names the column of object ids, if the caller chose one.
    pub fn read(path: &Path, id: Option<&str>) -> Result<Self, DataError> {
        let table = Table::open(path)?;
        let find = |pattern: &str| matching(&table.names, pattern);
        let object =
            match id {
                Some(wanted) => Some(table.names.iter().position(|name| name == wanted).ok_or_else(|| {
                    DataError::Usage(format!("--id {wanted:?}: {} has no such column", path.display()))
                })?),
                None => find(ID),
            };
        let text = |index: Option<usize>| {
            let column = index.map(|index| table.read(&[index])).transpose()?;
            column.and_then(|mut columns| columns.pop()).map(|column| column.text()).transpose()
        };
        Ok(Self {
            plate: text(find(PLATE))?,
            well: text(find(WELL))?,
            site: text(find(SITE))?,
            number: text(find(r"(?i)^(Metadata_)?Image_?Number$"))?,
            image: text(find(r"(?i)^(Metadata_)?Image_?ID$"))?,
            object: text(object)?,
            channel: text(find(r"(?i)^(source_image_column|(Metadata_)?Channel(_?Name)?)$"))?,
        })
    }

    /// Id of the object in a row.
    pub fn object(&self, row: usize) -> Option<String> {
        at(&self.object, row)
    }
}
