//! What the small columns of a nested table say: sizes of images, places of chunks. Pixels are left alone.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringArray, StructArray};
use arrow_cast::cast;
use arrow_schema::DataType;

use crate::FormatError;

use super::file::ParquetFile;
use super::shape::{Element, Piece, Problem, Shape, Sizes, Storage};
use super::unpack::Codec;

const SIZES: [&str; 5] = ["size_t", "size_c", "size_z", "size_y", "size_x"];
const CHUNK: [&str; 8] = ["t", "c", "z", "y", "x", "shape_z", "shape_y", "shape_x"];
const PLANE: [&str; 3] = ["t", "c", "z"];

/// Which leaves with pixels a column has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stores {
    pub planes: Option<usize>,
    pub chunk_lists: Option<usize>,
    pub chunk_bytes: Option<usize>,
}

impl Stores {
    pub fn of(file: &ParquetFile, column: &str) -> Self {
        let leaf = |list: &str, name: &str| {
            let path = |parts: &[String]| in_column(parts, column, list) && parts[2..].iter().any(|part| part == name);
            file.leaves(path).first().copied()
        };
        Self {
            planes: leaf("planes", "pixels"),
            chunk_lists: leaf("chunks", "pixels"),
            chunk_bytes: leaf("chunks", "pixel_bytes"),
        }
    }

    /// The leaf with the pixels of images that are stored like this.
    pub fn leaf(self, storage: Storage) -> Option<usize> {
        match storage {
            Storage::PlaneLists => self.planes,
            Storage::ChunkLists => self.chunk_lists,
            Storage::ChunkBytes => self.chunk_bytes,
        }
    }
}

/// Whether a leaf holds pixels.
pub fn has_pixels(parts: &[String]) -> bool {
    parts.get(2..).is_some_and(|parts| parts.iter().any(|part| part == "pixels" || part == "pixel_bytes"))
}

fn in_column(parts: &[String], column: &str, field: &str) -> bool {
    parts.len() > 2 && parts[0] == column && parts[1] == field
}

/// The columns that hold OME-Arrow images, in file order: structs with sizes, and with planes or chunks.
pub fn image_columns(file: &ParquetFile) -> Vec<String> {
    let sized = |name: &str| {
        let leaves = file.leaves(|parts| in_column(parts, name, "pixels_meta") && parts[2] == "size_x");
        !leaves.is_empty()
    };
    let stored = |name: &str| {
        let stores = Stores::of(file, name);
        stores.planes.or(stores.chunk_lists).or(stores.chunk_bytes).is_some()
    };
    file.columns().into_iter().filter(|name| sized(name) && stored(name)).collect()
}

/// Calls `each` with what is known of every image of row group `group`, in order; `None` for a row without an image.
pub fn read_group(
    file: &ParquetFile,
    column: &str,
    group: usize,
    mut each: impl FnMut(Option<Result<Shape, Problem>>),
) -> Result<(), FormatError> {
    let stores = Stores::of(file, column);
    let leaves = file.leaves(|parts| {
        let last = parts.last().map_or("", String::as_str);
        in_column(parts, column, "pixels_meta") && (SIZES.contains(&parts[2].as_str()) || parts[2] == "type")
            || in_column(parts, column, "chunk_grid") && last == "chunk_order"
            || in_column(parts, column, "chunks") && (CHUNK.contains(&last) || ["dtype", "compression"].contains(&last))
            || in_column(parts, column, "planes") && PLANE.contains(&last)
    });
    for batch in file.batches(&leaves, Some(group), 1024)? {
        let batch = batch?;
        let images = batch.column_by_name(column).and_then(|array| array.as_struct_opt());
        let images = images.ok_or_else(|| file.corrupt(format!("column {column:?} is no struct")))?;
        let columns = Columns::of(images).map_err(|problem| file.corrupt(format!("column {column:?}: {problem}")))?;
        for row in 0..images.len() {
            let there = images.is_valid(row) && columns.meta.is_valid(row);
            each(there.then(|| columns.shape(row, stores)));
        }
    }
    Ok(())
}

/// The small columns of a batch.
struct Columns<'a> {
    meta: &'a StructArray,
    kind: Option<StringArray>,
    sizes: [Option<Int64Array>; 5],
    order: Option<StringArray>,
    chunks: Option<List>,
    planes: Option<List>,
}

/// A list of structs: the numbers of each.
struct List {
    offsets: Vec<i32>,
    valid: ArrayRef,
    numbers: Vec<Option<Int64Array>>,
    dtype: Option<StringArray>,
    compression: Option<StringArray>,
}

/// The field `name` as whole numbers.
fn ints(parent: &StructArray, name: &str) -> Result<Option<Int64Array>, String> {
    let Some(array) = parent.column_by_name(name) else { return Ok(None) };
    let numbers = cast(array, &DataType::Int64).map_err(|_| format!("field {name:?} is {}", array.data_type()))?;
    Ok(Some(numbers.as_primitive::<Int64Type>().clone()))
}

/// The field `name` as text.
fn text(parent: &StructArray, name: &str) -> Result<Option<StringArray>, String> {
    let Some(array) = parent.column_by_name(name) else { return Ok(None) };
    let text = cast(array, &DataType::Utf8).map_err(|_| format!("field {name:?} is {}", array.data_type()))?;
    Ok(Some(text.as_string::<i32>().clone()))
}

/// The value at `row`, unless it is null.
fn at(array: &Option<StringArray>, row: usize) -> Option<&str> {
    array.as_ref().filter(|array| array.is_valid(row)).map(|array| array.value(row))
}

impl List {
    fn of(parent: &StructArray, name: &str, fields: &[&str]) -> Result<Option<Self>, String> {
        let Some(list) = parent.column_by_name(name) else { return Ok(None) };
        let list = list.as_list_opt::<i32>().ok_or_else(|| format!("field {name:?} is {}", list.data_type()))?;
        let values = list.values().as_struct_opt();
        let values = values.ok_or_else(|| format!("field {name:?} is a list of {}", list.value_type()))?;
        Ok(Some(Self {
            offsets: list.value_offsets().to_vec(),
            valid: std::sync::Arc::new(list.clone()),
            numbers: fields.iter().map(|field| ints(values, field)).collect::<Result<_, _>>()?,
            dtype: text(values, "dtype")?,
            compression: text(values, "compression")?,
        }))
    }

    /// Entries of `row`.
    fn entries(&self, row: usize) -> std::ops::Range<usize> {
        match self.valid.is_valid(row) {
            true => self.offsets[row] as usize..self.offsets[row + 1] as usize,
            false => 0..0,
        }
    }

    /// Number `field` of entry `entry`.
    fn number(&self, field: usize, entry: usize) -> Option<i64> {
        self.numbers[field].as_ref().filter(|numbers| numbers.is_valid(entry)).map(|numbers| numbers.value(entry))
    }
}

impl<'a> Columns<'a> {
    fn of(images: &'a StructArray) -> Result<Self, String> {
        let meta = images.column_by_name("pixels_meta").and_then(|array| array.as_struct_opt());
        let meta = meta.ok_or("field \"pixels_meta\" is missing")?;
        let [t, c, z, y, x] = SIZES.map(|name| ints(meta, name));
        let grid = images.column_by_name("chunk_grid").and_then(|array| array.as_struct_opt());
        Ok(Self {
            meta,
            kind: text(meta, "type")?,
            sizes: [t?, c?, z?, y?, x?],
            order: grid.map(|grid| text(grid, "chunk_order")).transpose()?.flatten(),
            chunks: List::of(images, "chunks", &CHUNK)?,
            planes: List::of(images, "planes", &PLANE)?,
        })
    }

    /// How the image in `row` is stored.
    fn shape(&self, row: usize, stores: Stores) -> Result<Shape, Problem> {
        let size = |axis: usize| {
            let numbers = self.sizes[axis].as_ref().filter(|numbers| numbers.is_valid(row));
            numbers.map(|numbers| numbers.value(row))
        };
        let need = |axis: usize| size(axis).ok_or_else(|| Problem::Corrupt(format!("it has no {}", SIZES[axis])));
        let sizes = Sizes { t: size(0).unwrap_or(1), c: need(1)?, z: size(2).unwrap_or(1), y: need(3)?, x: need(4)? };
        let (channels, height, width) = sizes.planes()?;
        if let Some(order) = at(&self.order, row).filter(|order| !order.eq_ignore_ascii_case("ZYX")) {
            return Err(Problem::Unsupported(format!("pixels of chunks in the order {order}")));
        }
        let kind = at(&self.kind, row).unwrap_or("uint16");
        let listed = if kind == "uint8" { Element::U8 } else { Element::U16 };
        let planes = self.planes.as_ref().filter(|planes| stores.planes.is_some() && !planes.entries(row).is_empty());
        let mut shape =
            Shape { channels, height, width, element: listed, storage: Storage::PlaneLists, pieces: Vec::new() };
        if let Some(planes) = planes {
            for entry in planes.entries(row) {
                shape.pieces.push(plane(planes, entry, height, width)?);
            }
            shape.check()?;
            return Ok(shape);
        }
        let Some(chunks) = self.chunks.as_ref().filter(|chunks| !chunks.entries(row).is_empty()) else {
            return Err(Problem::Corrupt("it has neither planes nor chunks".into()));
        };
        shape.storage = if stores.chunk_bytes.is_some() { Storage::ChunkBytes } else { Storage::ChunkLists };
        for (number, entry) in chunks.entries(row).enumerate() {
            let in_chunk = |problem: Problem| match problem {
                Problem::Corrupt(text) => Problem::Corrupt(format!("chunk {number}: {text}")),
                Problem::Unsupported(text) => Problem::Unsupported(format!("chunk {number}: {text}")),
            };
            let (piece, element) = chunk(chunks, entry, shape.storage, kind).map_err(in_chunk)?;
            match element {
                Some(element) if number == 0 => shape.element = element,
                Some(element) if element != shape.element => {
                    let (name, first) = (element.name(), shape.element.name());
                    return Err(Problem::Corrupt(format!("chunk {number} is {name}; expected {first} as the first")));
                }
                _ => {}
            }
            shape.pieces.push(piece);
        }
        shape.check()?;
        Ok(shape)
    }
}

/// A number of an entry that must be there and not negative.
fn place(list: &List, fields: &[&str], field: usize, entry: usize) -> Result<usize, Problem> {
    let number = list.number(field, entry);
    number.and_then(|number| usize::try_from(number).ok()).ok_or_else(|| {
        let text = number.map_or("null".to_owned(), |number| number.to_string());
        Problem::Corrupt(format!("its {} is {text}", fields[field]))
    })
}

fn first_of(list: &List, fields: &[&str], field: usize, entry: usize) -> Result<(), Problem> {
    match list.number(field, entry) {
        None | Some(0) => Ok(()),
        Some(number) => Err(Problem::Corrupt(format!("its {} is {number}; the image has 1", fields[field]))),
    }
}

fn plane(list: &List, entry: usize, height: usize, width: usize) -> Result<Piece, Problem> {
    first_of(list, &PLANE, 0, entry)?;
    first_of(list, &PLANE, 2, entry)?;
    let channel = place(list, &PLANE, 1, entry)?;
    Ok(Piece { channel, channels: 1, y: 0, x: 0, height, width, codec: Codec::None, group: 0, row: 0 })
}

fn chunk(list: &List, entry: usize, storage: Storage, kind: &str) -> Result<(Piece, Option<Element>), Problem> {
    first_of(list, &CHUNK, 0, entry)?;
    first_of(list, &CHUNK, 2, entry)?;
    let deep = list.number(5, entry).unwrap_or(1);
    if deep != 1 {
        return Err(Problem::Corrupt(format!("its shape_z is {deep}; the image has 1")));
    }
    let [channel, y, x, height, width] = [
        place(list, &CHUNK, 1, entry)?,
        place(list, &CHUNK, 3, entry)?,
        place(list, &CHUNK, 4, entry)?,
        place(list, &CHUNK, 6, entry)?,
        place(list, &CHUNK, 7, entry)?,
    ];
    let mut piece = Piece { channel, channels: 1, y, x, height, width, codec: Codec::None, group: 0, row: 0 };
    if storage == Storage::ChunkLists {
        return Ok((piece, None));
    }
    let dtype = at(&list.dtype, entry).unwrap_or(kind);
    let element = Element::named(dtype).ok_or_else(|| Problem::Unsupported(format!("pixels of dtype {dtype}")))?;
    let packed = at(&list.compression, entry);
    piece.codec = Codec::named(packed)
        .ok_or_else(|| Problem::Unsupported(format!("compression {}", packed.unwrap_or_default())))?;
    Ok((piece, Some(element)))
}
