//! A typed chunk dataset: a folder with a table of images, a table of chunks (one in each row) and an index of chunks.

use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::FormatError;
use crate::crop::Rect;

use super::chunked_index::{check_manifest, read_images, read_index};
use super::column::Column;
use super::file::ParquetFile;
use super::leaf::Values;
use super::pages::ColumnPages;
use super::shape::{Problem, Shape};
use super::table::Scratch;
use super::target::Target;
use super::unpack::Unpacker;

/// Files of a dataset.
pub const MANIFEST: &str = "_ome_arrow_dataset.json";
pub const IMAGES: &str = "images.parquet";
pub const CHUNKS: &str = "chunks.parquet";
pub const INDEX: &str = "index.parquet";
/// All of them.
pub const FILES: [&str; 4] = [MANIFEST, IMAGES, CHUNKS, INDEX];
/// What the manifest calls this layout.
pub const LAYOUT: &str = "typed-chunk-dataset";

/// An open dataset. Its images, index and footer are read when it is opened, and kept; pixels are not.
pub struct ChunkDataset {
    folder: PathBuf,
    /// `chunks.parquet`.
    path: PathBuf,
    bytes: Bytes,
    images: Vec<Image>,
    groups: Vec<Group>,
}

/// An image and how it is stored.
pub struct Image {
    pub id: String,
    pub shape: Result<Shape, Problem>,
}

/// The pixels of a row group. One may hold one chunk only, so little is kept of each.
enum Group {
    /// As the footer has it, with the number of its rows.
    Unread(Column, u32),
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
        let mut groups: Vec<Group> = Vec::with_capacity(file.metadata.num_row_groups());
        for group in 0..file.metadata.num_row_groups() {
            let rows = file.group_rows(group);
            let (meta, rows) = (file.metadata.row_group(group).column(leaf), (rows.end - rows.start) as u32);
            let indexed = file.metadata.page_index_for_row_group(group).offset_index(leaf).is_some();
            groups.push(match groups.last() {
                _ if indexed => Group::Read(ColumnPages::find(&file, group, leaf, &mut unpacker)?),
                Some(Group::Unread(other, _)) => Group::Unread(Column::of(meta, Some(other)), rows),
                _ => Group::Unread(Column::of(meta, None), rows),
            });
        }
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
            let (read, plain) = match load(path, bytes, group, piece.row, values, unpacker) {
                Ok(read) => read,
                Err(error) => {
                    failed = Some(error);
                    return Err(String::new());
                }
            };
            let [pixels] = &values.bytes[..] else { return Err("its pixels are null".into()) };
            let used = target.unpack(piece, part, pixels.data(), unpacker, chunk, out)?;
            touched += if plain { used } else { read };
            Ok(())
        });
        values.bytes.clear();
        match (failed, taken) {
            (Some(error), _) => Err(error),
            (None, Err(problem)) => Err(FormatError::corrupt(path, format!("image {id:?}: {problem}"))),
            (None, Ok(())) => Ok(touched),
        }
    }
}

/// Reads row `row` of a row group. Returns the stored bytes read, and whether they are not packed.
fn load(
    path: &Path,
    bytes: &Bytes,
    group: &mut Group,
    row: u32,
    values: &mut Values,
    unpacker: &mut Unpacker,
) -> Result<(u64, bool), FormatError> {
    if let Group::Unread(column, rows) = group {
        *group = Group::Read(ColumnPages::walk(path, bytes, column.clone(), *rows, unpacker)?);
    }
    match group {
        Group::Read(pages) => Ok((pages.read(path, bytes, row, values, unpacker)?, pages.is_plain())),
        Group::Unread(..) => Ok((0, false)),
    }
}
