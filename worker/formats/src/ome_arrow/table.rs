//! A nested table: a Parquet file with a column of OME-Arrow images, one in each row.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::FormatError;
use crate::crop::Rect;
use crate::raw::grown;

use super::copy::{Number, Part};
use super::file::ParquetFile;
use super::index::{self, Stores};
use super::pages::{ColumnPages, Values};
use super::shape::{Piece, Problem, Shape, Storage};
use super::unpack::{Codec, Unpacker};

/// Reused from read to read; holds nothing that is used twice.
#[derive(Default)]
pub struct Scratch {
    pub values: Values,
    pub unpacker: Unpacker,
    /// Pixels of one chunk.
    pub chunk: Vec<u8>,
}

/// An open table. What is known of its rows is read when a row group is first touched, and kept; pixels are not.
pub struct Table {
    file: ParquetFile,
    column: String,
    stores: Stores,
    groups: Vec<Option<Group>>,
    /// How images are stored; many share one.
    shapes: Vec<Result<Arc<Shape>, Problem>>,
    known: HashMap<Arc<Shape>, u32>,
}

/// What is kept of a row group.
struct Group {
    /// For each row its shape, or [`NO_IMAGE`].
    images: Vec<u32>,
    /// The pages of each kind of leaf, once one is touched.
    pages: [Option<ColumnPages>; 3],
}

const NO_IMAGE: u32 = u32::MAX;

impl Table {
    /// Opens the table at `path`; `column` is the column of images, the first one if `None`.
    pub fn open(path: &Path, column: Option<&str>) -> Result<Self, FormatError> {
        let file = ParquetFile::open(path, index::has_pixels)?;
        let found = index::image_columns(&file);
        let column = match column {
            Some(wanted) => found.into_iter().find(|name| name == wanted).ok_or_else(|| {
                let problem = format!("column {wanted:?} is not there, or holds no OME-Arrow images");
                file.corrupt(problem)
            })?,
            None => preferred(found).ok_or_else(|| file.corrupt("no column holds OME-Arrow images"))?,
        };
        let stores = Stores::of(&file, &column);
        let groups = (0..file.metadata.num_row_groups()).map(|_| None).collect();
        Ok(Self { file, column, stores, groups, shapes: Vec::new(), known: HashMap::new() })
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.file.rows()
    }

    /// The column of images.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// How the image in `row` is stored.
    pub fn shape(&mut self, row: u64) -> Result<Arc<Shape>, FormatError> {
        let group = self.file.group_of(row)?;
        let index = match &self.groups[group] {
            Some(known) => known.images[(row - self.file.group_rows(group).start) as usize],
            None => {
                let images = self.read_group(group)?;
                let index = images[(row - self.file.group_rows(group).start) as usize];
                self.groups[group] = Some(Group { images, pages: [None, None, None] });
                index
            }
        };
        match self.shapes.get(index as usize) {
            Some(Ok(shape)) => Ok(shape.clone()),
            Some(Err(Problem::Corrupt(problem))) => Err(self.file.corrupt(format!("row {row}: {problem}"))),
            Some(Err(Problem::Unsupported(problem))) => {
                Err(FormatError::Unsupported(format!("{}: row {row}: {problem}", self.file.path.display())))
            }
            None => Err(self.file.corrupt(format!("row {row}: column {:?} is null", self.column))),
        }
    }

    fn read_group(&mut self, group: usize) -> Result<Vec<u32>, FormatError> {
        let rows = self.file.group_rows(group);
        let (mut images, shapes, known) = (Vec::new(), &mut self.shapes, &mut self.known);
        let (file, stores) = (&self.file, self.stores);
        index::read_group(&self.file, &self.column, group, |image| {
            let image = image.map(|image| image.and_then(|shape| plausible(file, group, stores, shape)));
            images.push(match image {
                None => NO_IMAGE,
                Some(Err(problem)) => {
                    shapes.push(Err(problem));
                    shapes.len() as u32 - 1
                }
                Some(Ok(shape)) => match known.get(&shape) {
                    Some(&index) => index,
                    None => {
                        let shape = Arc::new(shape);
                        shapes.push(Ok(shape.clone()));
                        known.insert(shape, shapes.len() as u32 - 1);
                        shapes.len() as u32 - 1
                    }
                },
            });
        })?;
        if images.len() as u64 == rows.end - rows.start {
            return Ok(images);
        }
        let problem = format!("row group {group} has {} images; expected {}", images.len(), rows.end - rows.start);
        Err(self.file.corrupt(problem))
    }

    /// Reads the rectangle `rect` of `channels` of the image in `row` into `out`: (C, Y, X) of the dtype that the image's
    /// pixels become. Returns the stored bytes used.
    pub fn read(
        &mut self,
        row: u64,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<u64, FormatError> {
        let shape = self.shape(row)?;
        let group = self.file.group_of(row)?;
        let first = self.file.group_rows(group).start;
        let Self { file, stores, groups, .. } = self;
        let (Some(leaf), Some(known)) = (stores.leaf(shape.storage), &mut groups[group]) else {
            return Err(file.corrupt(format!("row {row}: it has no pixels")));
        };
        let pages = match &mut known.pages[shape.storage as usize] {
            Some(pages) => pages,
            slot => slot.insert(ColumnPages::find(file, group, leaf, &mut scratch.unpacker)?),
        };
        let Scratch { values, unpacker, chunk } = scratch;
        let touched = pages.read(&file.path, &file.bytes, (row - first) as u32, values, unpacker)?;
        let target = Target { shape: &shape, channels, rect };
        let taken = match shape.storage {
            Storage::ChunkBytes => target.take_bytes(pages, values, unpacker, chunk, out),
            _ if !values.i64s.is_empty() => target.take_numbers(pages, values, &values.i64s, out),
            _ => target.take_numbers(pages, values, &values.i32s, out),
        };
        // These hold the pages themselves.
        values.bytes.clear();
        taken.map_err(|problem| file.corrupt(format!("row {row}: {problem}")))?;
        Ok(touched)
    }
}

/// An error when an image promises more pixels than its row group can hold: it must not cost memory.
fn plausible(file: &ParquetFile, group: usize, stores: Stores, shape: Shape) -> Result<Shape, Problem> {
    /// zstd does not shrink anything further than about this; equal chunks share an entry of a dictionary.
    const MOST_PACKED: u64 = 1 << 16;
    let Some(leaf) = stores.leaf(shape.storage) else { return Ok(shape) };
    let meta = file.metadata.row_group(group).column(leaf);
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let most = match shape.storage {
        Storage::ChunkBytes => count(meta.uncompressed_size()).saturating_mul(MOST_PACKED),
        _ => count(meta.num_values()),
    };
    let pixels = (shape.channels * shape.height * shape.width) as u64;
    if pixels <= most {
        return Ok(shape);
    }
    let problem = format!("it promises {pixels} pixels, more than the {most} that its row group can hold");
    Err(Problem::Corrupt(problem))
}

/// The column of images that is meant when none is named.
pub fn preferred(mut columns: Vec<String>) -> Option<String> {
    let known = columns.iter().position(|name| name == "image" || name == "ome_arrow");
    (!columns.is_empty()).then(|| columns.swap_remove(known.unwrap_or(0)))
}

/// What is wanted of an image.
pub struct Target<'a> {
    pub shape: &'a Shape,
    pub channels: &'a [usize],
    pub rect: Rect,
}

impl Target<'_> {
    /// Calls `each(piece number, piece, part)` for the pieces that hold something of the rectangle.
    pub fn pieces(&self, mut each: impl FnMut(usize, &Piece, Part) -> Result<(), String>) -> Result<(), String> {
        for (number, piece) in self.shape.pieces.iter().enumerate() {
            let wanted = |&channel: &usize| (piece.channel..piece.channel + piece.channels).contains(&channel);
            if let Some(part) = Part::of(piece, self.rect).filter(|_| self.channels.iter().any(wanted)) {
                let named = |problem: String| format!("{} {number}: {problem}", self.shape.part());
                each(number, piece, part).map_err(named)?;
            }
        }
        Ok(())
    }

    /// Copies the part of a piece whose unpacked pixels are `pixels`.
    pub fn copy(&self, piece: &Piece, part: Part, pixels: &[u8], out: &mut [u8]) {
        let (element, rect) = (self.shape.element, self.rect);
        let plane = rect.area() * element.dtype().size();
        let stored = piece.height * piece.width * element.size();
        for (&channel, out) in self.channels.iter().zip(out.chunks_exact_mut(plane)) {
            if let Some(within) = channel.checked_sub(piece.channel).filter(|&within| within < piece.channels) {
                part.bytes(piece, rect, element, &pixels[within * stored..(within + 1) * stored], out);
            }
        }
    }

    /// Unpacks the pixels of a piece if they are packed, and copies its part.
    pub fn unpack(
        &self,
        piece: &Piece,
        part: Part,
        packed: &[u8],
        unpacker: &mut Unpacker,
        scratch: &mut Vec<u8>,
        out: &mut [u8],
    ) -> Result<(), String> {
        let len = piece.pixels() * self.shape.element.size();
        if piece.codec == Codec::None {
            if packed.len() != len {
                return Err(format!("holds {} bytes of pixels; expected {len}", packed.len()));
            }
            self.copy(piece, part, packed, out);
            return Ok(());
        }
        let pixels = grown(scratch, len);
        unpacker.chunk(piece.codec, packed, pixels)?;
        self.copy(piece, part, pixels, out);
        Ok(())
    }

    fn take_bytes(
        &self,
        pages: &ColumnPages,
        values: &Values,
        unpacker: &mut Unpacker,
        scratch: &mut Vec<u8>,
        out: &mut [u8],
    ) -> Result<(), String> {
        let (pieces, found) = (self.shape.pieces.len(), values.bytes.len());
        if found != pieces || pages.entries(values) != pieces {
            return Err(format!("holds the pixels of {found} chunks; expected {pieces}"));
        }
        self.pieces(|number, piece, part| self.unpack(piece, part, values.bytes[number].data(), unpacker, scratch, out))
    }

    fn take_numbers<T: Number>(
        &self,
        pages: &ColumnPages,
        values: &Values,
        numbers: &[T],
        out: &mut [u8],
    ) -> Result<(), String> {
        let starts = pages.lists(values);
        let (pieces, total) = (&self.shape.pieces, self.shape.pieces.iter().map(Piece::pixels).sum::<usize>());
        let part = self.shape.part();
        if starts != pieces.len() {
            return Err(format!("holds the pixels of {starts} {part}s; expected {}", pieces.len()));
        }
        if numbers.len() != total || pages.entries(values) != total {
            return Err(format!("holds {} pixels; expected {total}", numbers.len()));
        }
        let mut firsts = Vec::with_capacity(pieces.len());
        let mut first = 0;
        for (number, piece) in pieces.iter().enumerate() {
            if !pages.begins_list(values, first) {
                return Err(format!("{part} {number} does not hold {} pixels", piece.pixels()));
            }
            firsts.push(first);
            first += piece.pixels();
        }
        let (rect, dtype) = (self.rect, self.shape.element.dtype());
        let plane = rect.area() * dtype.size();
        self.pieces(|number, piece, part| {
            let numbers = &numbers[firsts[number]..firsts[number] + piece.pixels()];
            for (&channel, out) in self.channels.iter().zip(out.chunks_exact_mut(plane)) {
                if channel == piece.channel {
                    part.numbers(piece, rect, dtype, numbers, out)?;
                }
            }
            Ok(())
        })
    }
}
