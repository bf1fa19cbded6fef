//! Writing Vortex files.

use std::fs::File;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow59_ipc::reader::StreamReader;
use pcb_protocol::Layout;
use vortex::VortexSessionDefault;
use vortex::array::ArrayRef;
use vortex::array::dtype::{DType, FieldPath};
use vortex::arrow::ArrowSessionExt;
use vortex::compressor::BtrBlocksCompressor;
use vortex::error::{VortexError, VortexResult};
use vortex::file::{WriteOptionsSessionExt, WriteStrategyBuilder};
use vortex::io::runtime::BlockingRuntime;
use vortex::io::runtime::single::SingleThreadRuntime;
use vortex::io::session::RuntimeSessionExt;
use vortex::layout::LayoutStrategy;
use vortex::layout::layouts::chunked::writer::ChunkedLayoutStrategy;
use vortex::layout::layouts::compressed::CompressingStrategy;
use vortex::layout::layouts::flat::writer::FlatLayoutStrategy;
use vortex::session::VortexSession;

use crate::tables::{self, Content, PIXELS};
use crate::{Dataset, FormatError};

use super::Segments;
use super::file::NewFile;

/// Writes the rows of `content` into the file `path`.
pub fn write(
    dataset: &Dataset,
    layout: Layout,
    content: Content,
    segments: Segments,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let failed = |error: VortexError| tables::write_error(path, &error);
    let schema = Arc::new(tables::schema(dataset, layout, content)?);
    fits(dataset, layout, segments)?;
    let runtime = SingleThreadRuntime::default();
    let session = VortexSession::default().with_handle(runtime.handle());
    let empty = theirs(&session, &RecordBatch::new_empty(schema), false).map_err(failed)?;
    let dtype = empty.first().map_or(DType::Null, |array| array.dtype().clone());
    let file = NewFile::new(File::create(path).map_err(|e| FormatError::io(path, e))?);
    let mut options = session.write_options();
    if let Segments::Rows { packed } = segments {
        let rows = row_segments(&session, packed);
        let strategy = WriteStrategyBuilder::from_session(&session);
        options = options.with_strategy(strategy.with_field_writer(FieldPath::from_name(PIXELS), rows).build());
    }
    let mut writer = options.writer(file, dtype);
    tables::for_each_batch(dataset, layout, content, progress, |batch| {
        for rows in theirs(&session, batch, segments != Segments::Default).map_err(failed)? {
            runtime.block_on(writer.push(rows)).map_err(failed)?;
        }
        Ok(())
    })?;
    runtime.block_on(writer.finish()).map(|_| ()).map_err(failed)
}

/// A segment for each row, since rows come one by one.
fn row_segments(session: &VortexSession, packed: bool) -> Arc<dyn LayoutStrategy> {
    let rows = ChunkedLayoutStrategy::new(FlatLayoutStrategy::default());
    if packed {
        Arc::new(CompressingStrategy::new(rows, BtrBlocksCompressor::from_session(session)).with_concurrency(1))
    } else {
        Arc::new(rows)
    }
}

/// A batch as arrays of Vortex: one, or one for each row.
fn theirs(session: &VortexSession, batch: &RecordBatch, single: bool) -> VortexResult<Vec<ArrayRef>> {
    let bytes = tables::to_ipc(batch).map_err(|e| VortexError::from(std::io::Error::other(e)))?;
    let mut arrays = Vec::new();
    for batch in StreamReader::try_new(Cursor::new(bytes), None)? {
        let batch = batch?;
        let schema = batch.schema();
        let step = if single { 1 } else { batch.num_rows().max(1) };
        for row in (0..batch.num_rows().max(1)).step_by(step) {
            let rows = batch.slice(row, step.min(batch.num_rows() - row));
            arrays.push(session.arrow().from_arrow_record_batch(rows, &schema)?);
        }
    }
    Ok(arrays)
}

/// An error when Vortex would need too much memory: by default it collects 8192 rows before it writes one.
fn fits(dataset: &Dataset, layout: Layout, segments: Segments) -> Result<(), FormatError> {
    const ROWS: usize = 8192;
    const MOST: u64 = 4 << 30;
    if segments != Segments::Default {
        return Ok(());
    }
    // Every pixel is stored twice, as 16 bits.
    let bytes = |pixels: usize| 4 * pixels as u64;
    let sites = || (0..dataset.info.sites.len()).map(|site| dataset.site_shape(site).iter().product());
    let need = match layout {
        Layout::Object => dataset.objects.rows.len().min(ROWS) as u64 * bytes(dataset.record_shape().iter().product()),
        Layout::Site => sites().take(ROWS).map(bytes).sum(),
    };
    if need <= MOST {
        return Ok(());
    }
    let problem = format!(
        "vortex collects {ROWS} rows before it writes one: {:.1} GB for this dataset, and pcb stops at {:.1}; use a \
         variant that stores rows one by one",
        need as f64 / 1e9,
        MOST as f64 / 1e9
    );
    Err(FormatError::Unsupported(problem))
}
