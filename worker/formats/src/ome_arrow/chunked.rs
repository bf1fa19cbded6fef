//! A typed chunk dataset: a folder with a table of images, a table of chunks (one in each row) and an index of chunks.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use bytes::Bytes;
use parquet::file::metadata::ColumnChunkMetaData;
use serde_json::Value;

use crate::FormatError;
use crate::crop::Rect;

use super::file::ParquetFile;
use super::pages::ColumnPages;
use super::shape::{Element, Piece, Problem, Shape, Sizes, Storage};
use super::table::{Scratch, Target};
use super::unpack::{Codec, Unpacker};

/// Files of a dataset.
pub const MANIFEST: &str = "_ome_arrow_dataset.json";
pub const IMAGES: &str = "images.parquet";
pub const CHUNKS: &str = "chunks.parquet";
pub const INDEX: &str = "index.parquet";
/// All of them.
pub const FILES: [&str; 4] = [MANIFEST, IMAGES, CHUNKS, INDEX];
/// What the manifest calls this layout.
pub const LAYOUT: &str = "typed-chunk-dataset";

const SIZES: [&str; 5] = ["size_t", "size_c", "size_z", "size_y", "size_x"];
const CHUNK: [&str; 10] = ["t", "c", "z", "y", "x", "shape_t", "shape_c", "shape_z", "shape_y", "shape_x"];

/// An open dataset. Its images, index and footer are read when it is opened, and kept; pixels are not.
pub struct ChunkDataset {
    folder: PathBuf,
    /// `chunks.parquet`.
    path: PathBuf,
    bytes: Bytes,
    images: Vec<Image>,
    groups: Vec<Group>,
}

struct Image {
    id: String,
    shape: Result<Shape, Problem>,
}

/// The pixels of a row group. One may hold one chunk only, so little is kept of each.
enum Group {
    /// As the footer has it, with the number of its rows.
    Unread(ColumnChunkMetaData, u32),
    Read(ColumnPages),
}

impl ChunkDataset {
    /// Opens the dataset in `folder`.
    pub fn open(folder: &Path) -> Result<Self, FormatError> {
        check_manifest(&folder.join(MANIFEST))?;
        let mut images = read_images(&folder.join(IMAGES))?;
        let path = folder.join(CHUNKS);
        let file = ParquetFile::open(&path, |parts| parts == ["pixel_bytes"])?;
        let index = folder.join(INDEX);
        let indexed = index.try_exists().map_err(|e| FormatError::io(&index, e))?;
        if indexed {
            let index = ParquetFile::open(&index, |_| false)?;
            read_index(&index, true, &file, &mut images)?;
        } else {
            read_index(&file, false, &file, &mut images)?;
        }
        for image in &mut images {
            let checked = image.shape.as_ref().map_or(Ok(()), Shape::check);
            checked.unwrap_or_else(|problem| image.shape = Err(problem));
        }
        let leaves = file.leaves(|parts| parts == ["pixel_bytes"]);
        let &[leaf] = &leaves[..] else { return Err(file.corrupt("no column \"pixel_bytes\"")) };
        let mut unpacker = Unpacker::default();
        let group = |group: usize| {
            let index = file.metadata.page_index_for_row_group(group);
            if index.offset_index(leaf).is_some() {
                return ColumnPages::find(&file, group, leaf, &mut unpacker).map(Group::Read);
            }
            let rows = file.group_rows(group);
            Ok(Group::Unread(file.metadata.row_group(group).column(leaf).clone(), (rows.end - rows.start) as u32))
        };
        let groups = (0..file.metadata.num_row_groups()).map(group).collect::<Result<_, _>>()?;
        Ok(Self { folder: folder.to_owned(), path, bytes: file.bytes.clone(), images, groups })
    }

    /// Ids of the images.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.images.iter().map(|image| image.id.as_str())
    }

    /// `images.parquet`.
    pub fn path(&self) -> PathBuf {
        self.folder.join(IMAGES)
    }

    /// How image number `image` is stored.
    pub fn shape(&self, image: usize) -> Result<&Shape, FormatError> {
        let Some(found) = self.images.get(image) else {
            let problem = format!("image {image}: the dataset has {} images", self.images.len());
            return Err(FormatError::corrupt(self.path(), problem));
        };
        found.shape.as_ref().map_err(|problem| match problem {
            Problem::Corrupt(problem) => FormatError::corrupt(&self.folder, format!("image {:?}: {problem}", found.id)),
            Problem::Unsupported(problem) => {
                FormatError::Unsupported(format!("{}: image {:?}: {problem}", self.folder.display(), found.id))
            }
        })
    }

    /// Reads the rectangle `rect` of `channels` of image number `image` into `out`, as [`super::table::Table::read`]
    /// does. Only the chunks that meet it are read.
    pub fn read(
        &mut self,
        image: usize,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<u64, FormatError> {
        self.shape(image)?;
        let Some(Image { id, shape: Ok(shape) }) = self.images.get(image) else { return Ok(0) };
        let (path, bytes, groups) = (&self.path, &self.bytes, &mut self.groups);
        let Scratch { values, unpacker, chunk } = scratch;
        let target = Target { shape, channels, rect };
        let (mut touched, mut failed) = (0, None);
        let taken = target.pieces(|_, piece, part| {
            let group = &mut groups[piece.group as usize];
            match load(path, bytes, group, piece.row, values, unpacker) {
                Ok(read) => touched += read,
                Err(error) => {
                    failed = Some(error);
                    return Err(String::new());
                }
            }
            let [pixels] = &values.bytes[..] else { return Err("its pixels are null".into()) };
            target.unpack(piece, part, pixels.data(), unpacker, chunk, out)
        });
        values.bytes.clear();
        match (failed, taken) {
            (Some(error), _) => Err(error),
            (None, Err(problem)) => Err(FormatError::corrupt(path, format!("image {id:?}: {problem}"))),
            (None, Ok(())) => Ok(touched),
        }
    }
}

/// Reads row `row` of a row group.
fn load(
    path: &Path,
    bytes: &Bytes,
    group: &mut Group,
    row: u32,
    values: &mut super::pages::Values,
    unpacker: &mut Unpacker,
) -> Result<u64, FormatError> {
    if let Group::Unread(meta, rows) = group {
        *group = Group::Read(ColumnPages::walk(path, bytes, meta.clone(), *rows, unpacker)?);
    }
    match group {
        Group::Read(pages) => pages.read(path, bytes, row, values, unpacker),
        Group::Unread(..) => Ok(0),
    }
}

fn check_manifest(path: &Path) -> Result<(), FormatError> {
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

fn read_images(path: &Path) -> Result<Vec<Image>, FormatError> {
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
fn read_index(
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
