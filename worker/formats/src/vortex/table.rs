//! An open Vortex file.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::executor::block_on;
use pcb_protocol::Dtype;
use vortex::VortexSessionDefault;
use vortex::array::expr::{BoundExpression, get_item, root};
use vortex::array::{ArrayRef, MaskFuture, VortexSessionExecute};
use vortex::error::{VortexError, VortexResult};
use vortex::file::VortexFile;
use vortex::layout::LayoutReader;
use vortex::session::VortexSession;

use crate::FormatError;
use crate::tables::{self, Content, CountedFile, Lists, Meta, PIXELS, Planes, Table, guarded};

use super::arrays;
use super::file::{Segments, read_footer};

/// An open file.
pub struct VortexTable {
    path: PathBuf,
    file: Arc<CountedFile>,
    session: VortexSession,
    /// Keeps where segments lie, and none of what they hold.
    reader: Arc<dyn LayoutReader>,
    /// What `planes` or `lists` reads.
    pixels: BoundExpression,
    /// What `metas` reads; none where rows are no images.
    meta: Option<BoundExpression>,
    /// Type and length of lists of pixels; none where rows are images.
    list: Option<(Dtype, usize)>,
}

impl VortexTable {
    /// Opens the file at `path`, whose rows are `content`. Reads its footer.
    pub fn open(path: &Path, content: Content) -> Result<Self, FormatError> {
        let (file, len) = tables::open(path)?;
        let file = Arc::new(CountedFile::new(file, len));
        guarded(path, || Self::open_file(path, file, content))
    }

    fn open_file(path: &Path, file: Arc<CountedFile>, content: Content) -> Result<Self, FormatError> {
        let failed = |error: VortexError| file.error(path, &error);
        let session = VortexSession::default();
        let footer = read_footer(&file, &session).map_err(failed)?;
        let segments = Segments { file: file.clone(), specs: footer.segment_map().clone() };
        let opened = VortexFile::new(footer, Arc::new(segments), session.clone());
        let reader = opened.layout_reader().map_err(failed)?;
        let bind = |expression: vortex::array::expr::Expression| expression.bind(reader.dtype()).map_err(failed);
        let (pixels, meta) = match content {
            Content::Images => {
                let column = arrays::image_column(reader.dtype())
                    .ok_or_else(|| FormatError::corrupt(path, "no column holds OME-Arrow images"))?;
                let leaf = |name: &'static str| bind(get_item(name, get_item(column.as_str(), root())));
                (leaf("planes")?, Some(leaf("pixels_meta")?))
            }
            Content::Records | Content::Tiles { .. } => (bind(get_item(PIXELS, root()))?, None),
        };
        let list = arrays::list_type(reader.dtype(), PIXELS);
        Ok(Self { path: path.to_owned(), file, session, reader, pixels, meta, list })
    }

    /// The rows of `range`. Futures of layouts wait for segments alone, and those are there at once.
    fn rows_of(&self, range: Range<u64>, expression: &BoundExpression) -> VortexResult<ArrayRef> {
        let rows = MaskFuture::new_true((range.end - range.start) as usize);
        block_on(self.reader.projection_evaluation(&range, expression, rows)?)
    }

    /// Does `work`, and returns the bytes read meanwhile.
    fn counted(&self, work: impl FnOnce() -> VortexResult<Result<(), String>>) -> Result<u64, FormatError> {
        let before = self.file.read_so_far();
        guarded(&self.path, || {
            let done = work().map_err(|e| self.file.error(&self.path, &e))?;
            done.map_err(|problem| FormatError::corrupt(&self.path, problem))
        })?;
        Ok(self.file.read_so_far() - before)
    }
}

impl Table for VortexTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn rows(&self) -> u64 {
        self.reader.row_count()
    }

    fn pixels(&self) -> Result<(Dtype, usize), FormatError> {
        self.list.ok_or_else(|| {
            let problem = format!("column {PIXELS:?} holds no lists of one length of u8, u16 or f32");
            FormatError::corrupt(&self.path, problem)
        })
    }

    fn metas(&mut self, each: &mut dyn FnMut(Meta)) -> Result<(), FormatError> {
        let Some(meta) = &self.meta else { return Ok(()) };
        let rows = self.rows();
        let read = || {
            let metas = self.rows_of(0..rows, meta)?;
            arrays::metas(metas, &mut self.session.create_execution_ctx(), each).map(Ok)
        };
        if rows == 0 { Ok(()) } else { self.counted(read).map(|_| ()) }
    }

    fn planes(&mut self, row: u64, each: Planes<'_>) -> Result<u64, FormatError> {
        self.counted(|| {
            let planes = self.rows_of(row..row + 1, &self.pixels)?;
            let read = arrays::planes(planes, &mut self.session.create_execution_ctx(), each)?;
            Ok(read.map_err(|problem| format!("row {row}: {problem}")))
        })
    }

    fn lists(&mut self, rows: &[u64], each: Lists<'_>) -> Result<u64, FormatError> {
        let (dtype, len) = self.pixels()?;
        self.counted(|| {
            let mut context = self.session.create_execution_ctx();
            for (at, &row) in rows.iter().enumerate() {
                let list = self.rows_of(row..row + 1, &self.pixels)?;
                let taken = arrays::lists(list, &mut context, |bytes| {
                    if bytes.len() == len * dtype.size() {
                        each(at, bytes)
                    } else {
                        Err(format!("row {row}: {} bytes of pixels; expected {}", bytes.len(), len * dtype.size()))
                    }
                })?;
                if taken.is_err() {
                    return Ok(taken);
                }
            }
            Ok(Ok(()))
        })
    }
}
