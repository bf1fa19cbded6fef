//! Tables of images outside Parquet: what Lance and Vortex have in common.
//!
//! A stored form is one table. Its rows are OME-Arrow images in list encoding, records of objects, or tiles of sites;
//! the latter two are lists of pixels of one fixed length. Rows are made as arrays of this crate's Arrow; a format takes
//! them to the Arrow of its own library as a stream of Arrow IPC.

mod file;
mod images;
mod reader;
mod rows;
mod tiles;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;
use pcb_protocol::Dtype;

use crate::FormatError;

pub use file::{CountedFile, open, write_error};
pub use reader::{RecordReader, SiteReader};
pub use rows::{for_each_batch, schema};

/// Column of the images.
pub const IMAGE: &str = crate::ARROW_COLUMN;
/// Column of the pixels of records and tiles.
pub const PIXELS: &str = "pixels";

/// What a row of a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// An OME-Arrow image in list encoding: a record or a site.
    Images,
    /// The pixels of a record: (C, Y, X).
    Records,
    /// The pixels of a square tile of one channel of a site: (Y, X), zeros past the edges. Sites follow each other, then
    /// channels, then rows of tiles.
    Tiles {
        /// Pixels of a side.
        side: usize,
    },
}

/// `pixels_meta` of an OME-Arrow image.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Meta {
    /// Name of the element type, as numpy has it.
    pub kind: String,
    /// Sizes: t, c, z, y, x.
    pub size: [i64; 5],
}

/// An open table. Errors of rows are told as problems in words by what is called back, and name the table's file.
pub trait Table: Send {
    /// The file that holds the rows.
    fn path(&self) -> &Path;

    /// Number of rows.
    fn rows(&self) -> u64;

    /// Type and length of the lists in [`PIXELS`].
    fn pixels(&self) -> Result<(Dtype, usize), FormatError>;

    /// Calls `each` with [`Meta`] of every row, in order.
    fn metas(&mut self, each: &mut dyn FnMut(Meta)) -> Result<(), FormatError>;

    /// Calls `each` with channel and pixels of every plane of the image in `row`. Returns the stored bytes touched.
    fn planes(&mut self, row: u64, each: Planes<'_>) -> Result<u64, FormatError>;

    /// Calls `each` with the place in `rows` and the pixels of every one of `rows`, which ascend. Returns the stored bytes
    /// touched.
    fn lists(&mut self, rows: &[u64], each: Lists<'_>) -> Result<u64, FormatError>;
}

/// Takes a plane: its channel, and its pixels (Y, X).
pub type Planes<'a> = &'a mut dyn FnMut(i64, &[u16]) -> Result<(), String>;

/// Takes the pixels of a row in native byte order.
pub type Lists<'a> = &'a mut dyn FnMut(usize, &[u8]) -> Result<(), String>;

/// The rows of `batch` as a stream of Arrow IPC, which every version of Arrow reads.
pub fn to_ipc(batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
    writer.write(batch)?;
    writer.into_inner()
}

/// Does `work` on the file at `path`. These libraries trust what they read: a damaged file can make them panic, which is
/// an error like another here.
pub fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    // A reader that has panicked is not used again: runs end with the first error.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("for a reason it does not tell");
        Err(FormatError::corrupt(path, format!("the library gave up on it: {text}")))
    })
}
