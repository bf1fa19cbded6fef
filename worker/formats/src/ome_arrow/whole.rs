//! Whole images through the library's own Arrow reader, row after row: what the reference of imported tables is, so that
//! our reader of pages is compared with code that is not ours.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, StructArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use pcb_protocol::Dtype;

use crate::crop::Rect;
use crate::tiff::PageInfo;
use crate::{FormatError, SourceFile};

use super::copy::Part;
use super::file::{Batches, ParquetFile};
use super::index::has_pixels;
use super::shape::{Piece, Shape, Storage};
use super::table::Table;
use super::unpack::Unpacker;

/// A table that is read row after row.
struct Open {
    path: PathBuf,
    column: Option<String>,
    /// Length and time of its last change.
    stamp: (u64, Option<SystemTime>),
    table: Table,
    file: ParquetFile,
    rows: Option<Rows>,
}

/// Where the library's reader stands.
struct Rows {
    /// Field that is read: `planes` or `chunks`.
    field: &'static str,
    batches: Batches,
    /// Row that comes next.
    next: u64,
    /// Row read last.
    last: Option<(u64, StructArray)>,
}

thread_local! {
    /// The table read last by this thread. Rows of a table have no other place than after the rows before them, and all of
    /// an import's channels and sites are rows.
    static LAST: RefCell<Option<Open>> = const { RefCell::new(None) };
}

fn with_table<T>(
    path: &Path,
    source: &SourceFile,
    use_it: impl FnOnce(&mut Open) -> Result<T, FormatError>,
) -> Result<T, FormatError> {
    let about = std::fs::metadata(path).map_err(|e| FormatError::io(path, e))?;
    let stamp = (about.len(), about.modified().ok());
    LAST.with_borrow_mut(|last| {
        let same = |open: &Open| open.path == path && open.column == source.column && open.stamp == stamp;
        if !last.as_ref().is_some_and(same) {
            *last = None;
            let table = Table::open(path, source.column.as_deref())?;
            let file = ParquetFile::open(path, has_pixels)?;
            let (path, column) = (path.to_owned(), source.column.clone());
            *last = Some(Open { path, column, stamp, table, file, rows: None });
        }
        match last {
            Some(open) => use_it(open),
            None => Err(FormatError::corrupt(path, "not open")),
        }
    })
}

/// Shape and dtype of the plane that `source` names.
pub fn plane_info(path: &Path, source: &SourceFile) -> Result<PageInfo, FormatError> {
    with_table(path, source, |open| {
        let shape = open.table.shape(source.row)?;
        if source.page as usize >= shape.channels {
            let problem = format!("row {}: channel {} of {}", source.row, source.page, shape.channels);
            return Err(FormatError::corrupt(path, problem));
        }
        Ok(PageInfo { height: shape.height as u32, width: shape.width as u32, dtype: shape.element.dtype() })
    })
}

/// Decodes the plane that `source` names into `out`: (Y, X) of `dtype`.
pub fn read_plane(
    path: &Path,
    source: &SourceFile,
    dtype: Dtype,
    (height, width): (usize, usize),
    out: &mut [u8],
) -> Result<(), FormatError> {
    let found = plane_info(path, source)?;
    crate::tiff::check(path, source.page, found, PageInfo { height: height as u32, width: width as u32, dtype })?;
    with_table(path, source, |open| {
        let shape = open.table.shape(source.row)?;
        let image = open.row(source.row, &shape)?;
        let plane = Plane { shape: &shape, channel: i64::from(source.page), out };
        plane.fill(&image).map_err(|problem| {
            FormatError::corrupt(path, format!("row {}, channel {}: {problem}", source.row, source.page))
        })
    })
}

impl Open {
    /// The image in row `row`, with its planes or its chunks.
    fn row(&mut self, row: u64, shape: &Shape) -> Result<StructArray, FormatError> {
        let field = if shape.storage == Storage::PlaneLists { "planes" } else { "chunks" };
        let ready = |rows: &Rows| {
            let here = rows.last.as_ref().is_some_and(|(last, _)| *last == row);
            rows.field == field && (here || rows.next <= row)
        };
        let column = self.table.column().to_owned();
        let rows = match self.rows.take().filter(ready) {
            Some(rows) => self.rows.insert(rows),
            None => {
                let leaves = self.file.leaves(|parts| parts.len() > 2 && parts[0] == column && parts[1] == field);
                let batches = self.file.batches(&leaves, None, 1)?;
                self.rows.insert(Rows { field, batches, next: 0, last: None })
            }
        };
        while rows.last.as_ref().is_none_or(|(last, _)| *last < row) {
            let lost = || FormatError::corrupt(&self.path, format!("row {row} is missing"));
            let batch = rows.batches.next().ok_or_else(lost)??;
            let image = batch.column_by_name(&column).and_then(|array| array.as_struct_opt()).cloned();
            rows.last = Some((rows.next, image.ok_or_else(lost)?));
            rows.next += batch.num_rows() as u64;
        }
        match &rows.last {
            Some((_, image)) => Ok(image.clone()),
            None => Err(FormatError::corrupt(&self.path, format!("row {row} is missing"))),
        }
    }
}

/// A plane that is being decoded.
struct Plane<'a> {
    shape: &'a Shape,
    channel: i64,
    out: &'a mut [u8],
}

impl Plane<'_> {
    /// Copies the pixels of its channel out of `image`, one row of a table. An error is a problem in words.
    fn fill(self, image: &StructArray) -> Result<(), String> {
        let (field, with_bytes) = match self.shape.storage {
            Storage::PlaneLists => ("planes", false),
            Storage::ChunkLists => ("chunks", false),
            Storage::ChunkBytes => ("chunks", true),
        };
        let list = image.column_by_name(field).and_then(|list| list.as_list_opt::<i32>()).ok_or("no list")?;
        let parts = list.value(0);
        let parts = parts.as_struct_opt().ok_or("no structs")?;
        let number = |name: &str, part: usize, default: i64| -> i64 {
            let column = parts.column_by_name(name).and_then(|column| cast(column, &DataType::Int64).ok());
            column.filter(|column| column.is_valid(part)).map_or(default, |c| c.as_primitive::<Int64Type>().value(part))
        };
        let &Shape { height, width, element, .. } = self.shape;
        let rect = Rect { y0: 0, y1: height, x0: 0, x1: width };
        let mut filled = 0;
        for part in (0..parts.len()).filter(|&part| number("c", part, -1) == self.channel) {
            let size = |name: &str, default: usize| number(name, part, default as i64) as usize;
            let (y, x) = (size("y", 0), size("x", 0));
            let (high, wide) = (size("shape_y", height), size("shape_x", width));
            let found = self.shape.pieces.get(part).ok_or("more parts than before")?;
            let piece = Piece { y, x, height: high, width: wide, ..found.clone() };
            let place = Part::of(&piece, rect).ok_or("a part outside the image")?;
            filled += high * wide;
            if with_bytes {
                let bytes = parts.column_by_name("pixel_bytes").and_then(|column| column.as_binary_opt::<i32>());
                let bytes = bytes.filter(|bytes| bytes.is_valid(part)).ok_or("no bytes")?;
                let mut pixels = vec![0; high * wide * element.size()];
                Unpacker::default().chunk(piece.codec, bytes.value(part), &mut pixels)?;
                place.bytes(&piece, rect, element, &pixels, self.out);
                continue;
            }
            let lists =
                parts.column_by_name("pixels").and_then(|column| column.as_list_opt::<i32>()).ok_or("no pixels")?;
            let numbers = cast(&lists.value(part), &DataType::Int64).map_err(|e| e.to_string())?;
            let numbers = numbers.as_primitive::<Int64Type>();
            if numbers.null_count() > 0 || numbers.len() != high * wide {
                return Err(format!("{} pixels; expected {}", numbers.len(), high * wide));
            }
            place.numbers(&piece, rect, element.dtype(), numbers.values(), self.out)?;
        }
        if filled == height * width { Ok(()) } else { Err(format!("{filled} pixels; expected {}", height * width)) }
    }
}
