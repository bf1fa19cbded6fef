//! Writing Lance datasets.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Cursor;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow58_ipc::reader::StreamReader;
use lance_core::datatypes::Schema;
use lance_file::version::ConcreteFileVersion;
use lance_file::versions::{create_writer, data_file_columns};
use lance_file::writer::FileWriterOptions;
use lance_table::format::{DataStorageFormat, Fragment, Manifest};
use pcb_protocol::Layout;

use crate::tables::{self, Content};
use crate::{Dataset, FormatError};

use super::file::{self, NewFile};

/// What Lance 14 writes by default.
const VERSION: ConcreteFileVersion = ConcreteFileVersion::V2_2;

/// Writes the rows of `content` as a Lance dataset into the folder `into`.
pub fn write(
    dataset: &Dataset,
    layout: Layout,
    content: Content,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let schema = lance_schema(dataset, layout, content)?;
    let (manifest, data) = (into.join(file::MANIFEST), into.join(file::DATA));
    for folder in [&manifest, &data].into_iter().filter_map(|path| path.parent()) {
        fs::create_dir_all(folder).map_err(|e| FormatError::io(folder, e))?;
    }
    let (rows, bytes) = write_data(dataset, layout, content, schema.clone(), &data, progress)?;
    let (fields, columns) = data_file_columns(VERSION, &schema);
    let name = Path::new(file::DATA).file_name().unwrap_or_default().to_string_lossy();
    let fragment = Fragment::new(0)
        .with_file(name, fields, columns, VERSION, NonZero::new(bytes))
        .with_physical_rows(rows as usize);
    // Without a time: equal datasets are equal bytes.
    let format = DataStorageFormat::new(VERSION);
    let mut written = Manifest::new(schema, Arc::new(vec![fragment]), format, HashMap::new());
    written.update_max_fragment_id();
    file::write_manifest(&manifest, &written).map_err(|e| FormatError::io(&manifest, e))
}

/// Writes the data file. Returns its rows and bytes.
fn write_data(
    dataset: &Dataset,
    layout: Layout,
    content: Content,
    schema: Schema,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(u64, u64), FormatError> {
    let failed = |error: lance_core::Error| tables::write_error(path, &error);
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|e| FormatError::io(path, e))?;
    let file = File::create(path).map_err(|e| FormatError::io(path, e))?;
    let options = FileWriterOptions::default();
    let mut writer = create_writer(VERSION, Box::new(NewFile::new(file)), schema, options).map_err(failed)?;
    tables::for_each_batch(dataset, layout, content, progress, |batch| {
        for batch in theirs(batch).map_err(|e| FormatError::corrupt(path, e))? {
            let batch = batch.map_err(|e| FormatError::corrupt(path, e.to_string()))?;
            runtime.block_on(writer.write_batch(&batch)).map_err(failed)?;
        }
        Ok(())
    })?;
    let summary = runtime.block_on(writer.finish()).map_err(failed)?;
    Ok((summary.num_rows, summary.size_bytes))
}

/// A batch in the Arrow of Lance.
fn theirs(batch: &RecordBatch) -> Result<StreamReader<Cursor<Vec<u8>>>, String> {
    let bytes = tables::to_ipc(batch).map_err(|e| e.to_string())?;
    StreamReader::try_new(Cursor::new(bytes), None).map_err(|e| e.to_string())
}

fn lance_schema(dataset: &Dataset, layout: Layout, content: Content) -> Result<Schema, FormatError> {
    let empty = RecordBatch::new_empty(Arc::new(tables::schema(dataset, layout, content)?));
    let arrow = theirs(&empty).map_err(FormatError::Unsupported)?.schema();
    Schema::try_from(arrow.as_ref()).map_err(|e| FormatError::Unsupported(format!("lance: {e}")))
}
