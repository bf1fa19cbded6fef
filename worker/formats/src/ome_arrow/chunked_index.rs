//! The small tables of a chunk dataset: its images, and where their chunks are.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use serde_json::Value;

use crate::FormatError;

use super::chunked::{CHUNKS, IMAGES, Image, LAYOUT};
use super::file::ParquetFile;
use super::shape::{Element, Piece, Problem, Shape, Sizes, Storage};
use super::unpack::Codec;

const SIZES: [&str; 5] = ["size_t", "size_c", "size_z", "size_y", "size_x"];
const CHUNK: [&str; 10] = ["t", "c", "z", "y", "x", "shape_t", "shape_c", "shape_z", "shape_y", "shape_x"];

/// An error unless the manifest at `path` is one of a chunk dataset.
pub fn check_manifest(path: &Path) -> Result<(), FormatError> {
    let text = fs::read(path).map_err(|e| FormatError::io(path, e))?;
    if text.is_empty() {
        return Err(FormatError::corrupt(path, "empty file; expected the manifest of an OME-Arrow dataset"));
    }
    let manifest: Value =
        serde_json::from_slice(&text).map_err(|e| FormatError::corrupt(path, format!("no manifest: {e}")))?;
    match manifest["layout"].as_str() {
        Some(LAYOUT) => Ok(()),
        Some(other) => Err(FormatError::Unsupported(format!("{}: layout {other:?}", path.display()))),
        None => Err(FormatError::corrupt(path, "it names no layout")),
    }
}

/// Whole numbers of column `name`, without nulls.
fn ints(file: &ParquetFile, batch: &RecordBatch, name: &str) -> Result<Int64Array, FormatError> {
    let column = batch.column_by_name(name).ok_or_else(|| file.corrupt(format!("no column {name:?}")))?;
    let wrong = || file.corrupt(format!("column {name:?} holds {} or nulls; expected numbers", column.data_type()));
    let numbers = cast(column, &DataType::Int64).map_err(|_| wrong())?;
    if numbers.null_count() > 0 {
        return Err(wrong());
    }
    Ok(numbers.as_primitive::<Int64Type>().clone())
}

/// Text of column `name`, without nulls.
fn text(file: &ParquetFile, batch: &RecordBatch, name: &str) -> Result<StringArray, FormatError> {
    let column = batch.column_by_name(name).ok_or_else(|| file.corrupt(format!("no column {name:?}")))?;
    let wrong = || file.corrupt(format!("column {name:?} holds {} or nulls; expected text", column.data_type()));
    let text = cast(column, &DataType::Utf8).map_err(|_| wrong())?;
    if text.null_count() > 0 {
        return Err(wrong());
    }
    Ok(text.as_string::<i32>().clone())
}

/// The images of a dataset, without chunks.
pub fn read_images(path: &Path) -> Result<Vec<Image>, FormatError> {
    let file = ParquetFile::open(path, |_| false)?;
    let wanted = |parts: &[String]| {
        let name = parts[0].as_str();
        SIZES.contains(&name) || name == "image_id" || name == "dtype"
    };
    let mut images = Vec::new();
    for batch in file.batches(&file.leaves(wanted), None, 1024)? {
        let batch = batch?;
        let (ids, dtypes) = (text(&file, &batch, "image_id")?, text(&file, &batch, "dtype")?);
        let mut sizes = Vec::new();
        for name in SIZES {
            sizes.push(ints(&file, &batch, name)?);
        }
        for row in 0..batch.num_rows() {
            let [t, c, z, y, x] = [0, 1, 2, 3, 4].map(|axis: usize| sizes[axis].value(row));
            let planes = Sizes { t, c, z, y, x }.planes();
            let element = Element::named(dtypes.value(row));
            let element = element.ok_or_else(|| Problem::Unsupported(format!("pixels of dtype {}", dtypes.value(row))));
            let shape = planes.and_then(|(channels, height, width)| {
                let (element, storage) = (element?, Storage::ChunkBytes);
                Ok(Shape { channels, height, width, element, storage, pieces: Vec::new() })
            });
            images.push(Image { id: ids.value(row).to_owned(), shape });
        }
    }
    Ok(images)
}

/// Gives the images their chunks: from the index of chunks, or from the table of chunks itself.
pub fn read_index(
    index: &ParquetFile,
    is_index: bool,
    chunks: &ParquetFile,
    images: &mut [Image],
) -> Result<(), FormatError> {
    let numbers: HashMap<String, usize> = images.iter().enumerate().map(|(n, image)| (image.id.clone(), n)).collect();
    if numbers.len() != images.len() {
        return Err(FormatError::corrupt(chunks.path.with_file_name(IMAGES), "two images have the same image_id"));
    }
    let places = ["row_group_id", "row_index_in_group"];
    let wanted = |parts: &[String]| {
        let name = parts[0].as_str();
        CHUNK.contains(&name) || name == "image_id" || (is_index && (places.contains(&name) || name == "fragment_path"))
    };
    let mut row_number = 0;
    for batch in index.batches(&index.leaves(wanted), None, 4096)? {
        let batch = batch?;
        let ids = text(index, &batch, "image_id")?;
        let mut columns = Vec::new();
        for name in CHUNK {
            columns.push(ints(index, &batch, name)?);
        }
        let places = match is_index {
            true => Some([ints(index, &batch, places[0])?, ints(index, &batch, places[1])?]),
            false => None,
        };
        let fragments = if is_index { Some(text(index, &batch, "fragment_path")?) } else { None };
        for row in 0..batch.num_rows() {
            if let Some(other) = fragments.as_ref().map(|names| names.value(row)).filter(|&name| name != CHUNKS) {
                let problem = format!("{}: chunks in the fragment {other:?}", index.path.display());
                return Err(FormatError::Unsupported(problem));
            }
            let (group, within) = match &places {
                Some([groups, rows]) => (groups.value(row), rows.value(row)),
                None => {
                    let group = chunks.group_of(row_number)?;
                    (group as i64, (row_number - chunks.group_rows(group).start) as i64)
                }
            };
            row_number += 1;
            let image = numbers.get(ids.value(row)).and_then(|&number| images.get_mut(number));
            let Some(image) = image else {
                return Err(index.corrupt(format!("row {row}: no image is called {:?}", ids.value(row))));
            };
            let number = |column: usize| columns[column].value(row);
            let piece = place(chunks, group, within).and_then(|(group, row)| piece(number, group, row));
            match (piece, &mut image.shape) {
                (Ok(piece), Ok(shape)) => shape.pieces.push(piece),
                (Err(problem), shape @ Ok(_)) => *shape = Err(problem),
                _ => {}
            }
        }
    }
    Ok(())
}

/// A row group and a row in it that exist.
fn place(chunks: &ParquetFile, group: i64, row: i64) -> Result<(u32, u32), Problem> {
    let groups = chunks.metadata.num_row_groups();
    let found = usize::try_from(group).ok().filter(|&group| group < groups).and_then(|group| {
        let rows = chunks.group_rows(group);
        let row = u32::try_from(row).ok().filter(|&row| u64::from(row) < rows.end - rows.start)?;
        Some((group as u32, row))
    });
    let lost = || Problem::Corrupt(format!("its chunk in row {row} of row group {group} is not in {CHUNKS}"));
    found.ok_or_else(lost)
}

/// A chunk whose numbers are those of [`CHUNK`].
fn piece(number: impl Fn(usize) -> i64, group: u32, row: u32) -> Result<Piece, Problem> {
    let [t, z, deep, long] = [number(0), number(2), number(5), number(7)];
    if (t, z, deep, long) != (0, 0, 1, 1) {
        return Err(Problem::Corrupt(format!("a chunk at t {t}, z {z} of {deep} time points and {long} planes")));
    }
    let size = |column: usize| {
        let value = number(column);
        usize::try_from(value).map_err(|_| Problem::Corrupt(format!("the {} of a chunk is {value}", CHUNK[column])))
    };
    let (channel, y, x) = (size(1)?, size(3)?, size(4)?);
    let (channels, height, width) = (size(6)?, size(8)?, size(9)?);
    Ok(Piece { channel, channels, y, x, height, width, codec: Codec::None, group, row })
}
