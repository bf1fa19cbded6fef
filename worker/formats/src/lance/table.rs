//! An open Lance dataset.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow58_array::{RecordBatch, UInt32Array};
use lance_core::cache::LanceCache;
use lance_encoding::decoder::{DecoderPlugins, FilterExpression};
use lance_file::reader::{CachedFileMetadata, FileReader, FileReaderOptions, ReaderProjection};
use lance_file::versions::reader_projection_from_column_names;
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{ScanScheduler, SchedulerConfig};
use lance_io::utils::CachedFileSize;
use lance_table::format::{Fragment, Manifest};
use pcb_protocol::Dtype;

use crate::FormatError;
use crate::tables::{self, Content, CountedFile, Lists, Meta, PIXELS, Planes, Table, guarded};

use super::arrays::{self, ImageColumns};
use super::file::{self, DataFile};

/// Bytes that Lance may keep of what tells where rows lie in their pages. It keeps no rows.
const INDEX_BYTES: usize = 64 << 20;

/// An open dataset: its data file.
pub struct LanceTable {
    path: PathBuf,
    file: Arc<DataFile>,
    reader: FileReader,
    /// What `planes` or `lists` reads.
    pixels: ReaderProjection,
    /// Type and length of lists of pixels; none where rows are images.
    list: Option<(Dtype, usize)>,
    /// What `metas` reads; none where rows are no images.
    meta: Option<ReaderProjection>,
}

impl LanceTable {
    /// Opens the dataset in the folder `root`, whose rows are `content`. Reads its manifest, and the metadata of its data
    /// file.
    pub fn open(root: &Path, content: Content) -> Result<Self, FormatError> {
        let place = root.join(file::MANIFEST);
        let manifest = guarded(&place, || file::read_manifest(&place))?;
        let (path, fragment) = data_file(root, &place, &manifest)?;
        let (opened, len) = tables::open(&path)?;
        if let Some(expected) = fragment.files[0].file_size_bytes.get()
            && expected.get() != len
        {
            let problem = format!("{len} bytes; its manifest says {expected}");
            return Err(FormatError::corrupt(&path, problem));
        }
        guarded(&path, || Self::open_file(&path, opened, len, fragment, content))
    }

    fn open_file(
        path: &Path,
        opened: File,
        len: u64,
        fragment: &Fragment,
        content: Content,
    ) -> Result<Self, FormatError> {
        let metadata = read_metadata(path, &opened)?;
        check_metadata(&metadata, len, fragment).map_err(|problem| FormatError::corrupt(path, problem))?;
        let file = Arc::new(DataFile(CountedFile::new(opened, len)));
        let failed = |error: lance_core::Error| FormatError::corrupt(path, error.to_string());
        let project = |names: &[String]| {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            reader_projection_from_column_names(metadata.version, &metadata.file_schema, &names).map_err(failed)
        };
        // Lance panics on types that it does not know: here, where that is an error.
        let field = metadata.file_schema.field(PIXELS);
        let list = field.and_then(|field| arrays::list_type(&field.data_type()));
        let (pixels, meta) = match content {
            Content::Images => {
                let names = ImageColumns::of(&metadata.file_schema)
                    .ok_or_else(|| FormatError::corrupt(path, "no column holds OME-Arrow images"))?;
                (project(&names.planes)?, Some(project(&names.metas)?))
            }
            Content::Records | Content::Tiles { .. } => (project(&[PIXELS.to_owned()])?, None),
        };
        // The calling thread drives it; nothing is spawned, nothing waits.
        let reader = futures::executor::block_on(FileReader::try_open_with_file_metadata(
            file.clone(),
            Default::default(),
            None,
            Arc::<DecoderPlugins>::default(),
            Arc::new(metadata),
            &LanceCache::with_capacity(INDEX_BYTES),
            FileReaderOptions::default(),
        ))
        .map_err(failed)?;
        Ok(Self { path: path.to_owned(), file, reader, pixels, list, meta })
    }

    /// Calls `each` with the batches of the rows that `rows` names.
    fn read(
        &self,
        rows: ReadBatchParams,
        projection: &ReaderProjection,
        mut each: impl FnMut(&RecordBatch) -> Result<(), String>,
    ) -> Result<u64, FormatError> {
        /// Rows of a batch.
        const BATCH: u32 = 1024;
        let before = self.file.0.read_so_far();
        guarded(&self.path, || {
            let batches = self
                .reader
                .read_stream_projected_blocking(rows, BATCH, Some(projection.clone()), FilterExpression::no_filter())
                .map_err(|e| self.file.0.error(&self.path, &e))?;
            for batch in batches {
                let batch = batch.map_err(|e| self.file.0.error(&self.path, &e))?;
                each(&batch).map_err(|problem| FormatError::corrupt(&self.path, problem))?;
            }
            Ok(())
        })?;
        Ok(self.file.0.read_so_far() - before)
    }
}

impl Table for LanceTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn rows(&self) -> u64 {
        self.reader.num_rows()
    }

    fn pixels(&self) -> Result<(Dtype, usize), FormatError> {
        self.list.ok_or_else(|| {
            let problem = format!("column {PIXELS:?} holds no lists of one length of u8, u16 or f32");
            FormatError::corrupt(&self.path, problem)
        })
    }

    fn metas(&mut self, each: &mut dyn FnMut(Meta)) -> Result<(), FormatError> {
        let Some(meta) = self.meta.clone() else { return Ok(()) };
        if self.rows() == 0 {
            return Ok(());
        }
        self.read(ReadBatchParams::RangeFull, &meta, |batch| arrays::metas(batch, each)).map(|_| ())
    }

    fn planes(&mut self, row: u64, each: Planes<'_>) -> Result<u64, FormatError> {
        let row = row as usize;
        let mut images = 0;
        let touched = self.read(ReadBatchParams::Range(row..row + 1), &self.pixels, |batch| {
            images += batch.num_rows();
            arrays::planes(batch, each).map_err(|problem| format!("row {row}: {problem}"))
        })?;
        if images == 1 {
            return Ok(touched);
        }
        Err(FormatError::corrupt(&self.path, format!("row {row}: {images} images; expected one")))
    }

    fn lists(&mut self, rows: &[u64], each: Lists<'_>) -> Result<u64, FormatError> {
        let mut done = 0;
        let params = match rows {
            [row] => ReadBatchParams::Range(*row as usize..*row as usize + 1),
            _ => ReadBatchParams::Indices(UInt32Array::from_iter_values(rows.iter().map(|&row| row as u32))),
        };
        let touched = self.read(params, &self.pixels, |batch| {
            arrays::lists(batch, |list| {
                done += 1;
                each(done - 1, list)
            })
        })?;
        if done == rows.len() {
            return Ok(touched);
        }
        Err(FormatError::corrupt(&self.path, format!("{done} rows; expected {}", rows.len())))
    }
}

/// The only data file of a dataset as our writer leaves it, and as others leave small ones.
fn data_file<'a>(root: &Path, place: &Path, manifest: &'a Manifest) -> Result<(PathBuf, &'a Fragment), FormatError> {
    let unsupported = |what: &str| {
        Err(FormatError::Unsupported(format!("{}: {what}; pcb reads datasets of one data file", place.display())))
    };
    let [fragment] = manifest.fragments.as_slice() else {
        return unsupported(&format!("{} fragments", manifest.fragments.len()));
    };
    if fragment.deletion_file.is_some() || !fragment.overlays.is_empty() {
        return unsupported("deleted rows or overlays");
    }
    let [file] = fragment.files.as_slice() else {
        return unsupported(&format!("a fragment of {} data files", fragment.files.len()));
    };
    let name = Path::new(&file.path);
    if file.base_id.is_some() || name.components().count() != 1 || name.file_name().is_none() {
        return unsupported("a data file that lies elsewhere");
    }
    Ok((root.join("data").join(name), fragment))
}

/// Reads what a data file says of itself. Lance does that through a store that opens files by name; this one it gets by
/// the number of its descriptor, so that any path will do.
fn read_metadata(path: &Path, file: &File) -> Result<CachedFileMetadata, FormatError> {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build();
    let runtime = runtime.map_err(|e| FormatError::io(path, e))?;
    let uri = format!("file:///proc/self/fd/{}", file.as_raw_fd());
    let metadata = runtime.block_on(async {
        let (store, name) = ObjectStore::from_uri(&uri).await?;
        let scheduler = ScanScheduler::new(store, SchedulerConfig::new(INDEX_BYTES as u64));
        let file = scheduler.open_file(&name, &CachedFileSize::unknown()).await?;
        FileReader::read_all_metadata(&file).await
    });
    metadata.map_err(|e: lance_core::Error| FormatError::corrupt(path, e.to_string()))
}

/// A problem in words when a data file promises what it cannot hold.
fn check_metadata(metadata: &CachedFileMetadata, len: u64, fragment: &Fragment) -> Result<(), String> {
    if let Some(expected) = fragment.physical_rows
        && expected as u64 != metadata.num_rows
    {
        return Err(format!("{} rows; its manifest says {expected}", metadata.num_rows));
    }
    for (number, column) in metadata.column_metadatas.iter().enumerate() {
        let rows = column.pages.iter().try_fold(0_u64, |rows, page| rows.checked_add(page.length));
        if rows != Some(metadata.num_rows) {
            return Err(format!("pages of column {number} do not have the {} rows of the file", metadata.num_rows));
        }
        for page in &column.pages {
            let sizes = page.buffer_offsets.iter().zip(&page.buffer_sizes);
            let mut ends = sizes.map(|(offset, size)| offset.checked_add(*size));
            if page.buffer_offsets.len() != page.buffer_sizes.len() || ends.any(|end| end.is_none_or(|end| end > len)) {
                return Err(format!("a page of column {number} reaches past the end of the file"));
            }
        }
    }
    Ok(())
}
