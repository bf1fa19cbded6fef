//! What a table says about its images, and whole images through our own reader.

use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use pcb_protocol::Dtype;

use crate::crop::Rect;
use crate::{FormatError, Pixels, SitePixels};

use super::chunked::ChunkDataset;
use super::file::ParquetFile;
use super::index::image_columns;
use super::shape::Shape;
use super::table::{Scratch, Table};

/// What a table says about one of its images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrowImage {
    /// Its id.
    pub id: String,
    /// Names of its channels; `C0`, `C1` and so on where it names none.
    pub channels: Vec<String>,
    /// Height in pixels.
    pub height: u32,
    /// Width in pixels.
    pub width: u32,
    /// Element type that its pixels are handed out in.
    pub dtype: Dtype,
}

/// Columns of the Parquet file at `path` that hold OME-Arrow images, in file order.
pub fn arrow_columns(path: &Path) -> Result<Vec<String>, FormatError> {
    Ok(image_columns(&ParquetFile::open(path, |_| false)?))
}

/// The images of column `column` of the table at `path`, one for each row; `None` for a row without one. Reads no pixels.
pub fn arrow_images(path: &Path, column: &str) -> Result<Vec<Option<ArrowImage>>, FormatError> {
    let file = ParquetFile::open(path, |_| false)?;
    let mut table = Table::open(path, Some(column))?;
    let wanted = |parts: &[String]| {
        let path: Vec<&str> = parts.iter().map(String::as_str).collect();
        matches!(path[..], [first, "id" | "version"] if first == column)
            || matches!(path[..], [first, "pixels_meta", "channels", .., "name"] if first == column)
            || matches!(path[..], [first, "pixels_meta", "size_x"] if first == column)
    };
    let mut images = Vec::new();
    for batch in file.batches(&file.leaves(wanted), None, 1024)? {
        let batch = batch?;
        let structs = batch.column_by_name(column).and_then(|array| array.as_struct_opt());
        let structs = structs.ok_or_else(|| file.corrupt(format!("column {column:?} is no struct")))?;
        for row in 0..structs.len() {
            let meta = structs.column_by_name("pixels_meta").and_then(|array| array.as_struct_opt());
            let Some(meta) = meta.filter(|meta| structs.is_valid(row) && meta.is_valid(row)) else {
                images.push(None);
                continue;
            };
            let shape = table.shape(images.len() as u64)?;
            let names = names(meta, row).filter(|names| names.len() == shape.channels);
            let names = names.unwrap_or_else(|| (0..shape.channels).map(|channel| format!("C{channel}")).collect());
            let id = structs.column_by_name("id").and_then(|ids| text_at(ids, row)).unwrap_or_default();
            let (height, width) = (shape.height as u32, shape.width as u32);
            images.push(Some(ArrowImage { id, channels: names, height, width, dtype: shape.element.dtype() }));
        }
    }
    Ok(images)
}

fn text_at(texts: &ArrayRef, row: usize) -> Option<String> {
    let one = cast(&texts.slice(row, 1), &DataType::Utf8).ok()?;
    one.is_valid(0).then(|| one.as_string::<i32>().value(0).to_owned())
}

/// Names of the channels of the image in `row`; `None` unless all have one.
fn names(meta: &StructArray, row: usize) -> Option<Vec<String>> {
    let list = meta.column_by_name("channels")?.as_list_opt::<i32>()?;
    let channels = list.is_valid(row).then(|| list.value(row))?;
    let names = channels.as_struct_opt()?.column_by_name("name")?.clone();
    (0..names.len()).map(|channel| text_at(&names, channel).filter(|name| !name.is_empty())).collect()
}

/// Reads the image in row `row` of the table at `path` through our own reader. `column` is the column of images, the
/// first if `None`.
pub fn read_arrow_image(path: &Path, column: Option<&str>, row: u64) -> Result<SitePixels, FormatError> {
    let mut table = Table::open(path, column)?;
    let shape = table.shape(row)?;
    let mut pixels = empty(path, &shape)?;
    let (channels, rect) = whole(&shape);
    table.read(row, &channels, rect, pixels.data.bytes_mut(), &mut Scratch::default())?;
    Ok(pixels)
}

/// Reads the image called `id` of the chunk dataset in `folder` through our own reader.
pub fn read_arrow_dataset(folder: &Path, id: &str) -> Result<SitePixels, FormatError> {
    let mut dataset = ChunkDataset::open(folder)?;
    let number = dataset.ids().position(|other| other == id);
    let number = number.ok_or_else(|| FormatError::corrupt(dataset.path(), format!("no image is called {id:?}")))?;
    let shape = dataset.shape(number)?.clone();
    let mut pixels = empty(&dataset.path(), &shape)?;
    let (channels, rect) = whole(&shape);
    dataset.read(number, &channels, rect, pixels.data.bytes_mut(), &mut Scratch::default())?;
    Ok(pixels)
}

/// Memory for an image.
fn empty(path: &Path, shape: &Shape) -> Result<SitePixels, FormatError> {
    /// A table may promise more than it holds; a plane of more than this nobody stores in one row.
    const LARGEST: usize = 1 << 34;
    let &Shape { channels, height, width, element, .. } = shape;
    let pixels = channels * height * width;
    if pixels > LARGEST {
        return Err(FormatError::Unsupported(format!("{}: an image of {pixels} pixels", path.display())));
    }
    Ok(SitePixels { channels, height, width, data: Pixels::zeros(element.dtype(), pixels) })
}

fn whole(shape: &Shape) -> (Vec<usize>, Rect) {
    ((0..shape.channels).collect(), Rect { y0: 0, y1: shape.height, x0: 0, x1: shape.width })
}
