//! The table of objects (cells): `objects.parquet`.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{ArrowPrimitiveType, Float32Type, Int32Type, UInt32Type};
use arrow_array::{Array, ArrayRef, Float32Array, Int32Array, PrimitiveArray, RecordBatch, StringArray, UInt32Array};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::{FormatError, atomic};

/// One object.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    /// Id, unique in the dataset; integers of a source table are kept as their decimal text.
    pub id: String,
    /// Index into the dataset's sites.
    pub site: u32,
    /// Centre row in pixels.
    pub y: f32,
    /// Centre column in pixels.
    pub x: f32,
    /// Bounding box: first row, first column, end row, end column (ends excluded).
    pub bbox: [i32; 4],
}

/// All objects of a dataset, in table order: sorted by site.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ObjectTable {
    /// The rows.
    pub rows: Vec<Object>,
}

/// Columns of the bounding box, in the order of [`Object::bbox`].
const BBOX: [&str; 4] = ["bbox_min_y", "bbox_min_x", "bbox_max_y", "bbox_max_x"];

impl ObjectTable {
    /// Reads `objects.parquet`.
    pub fn read(path: &Path) -> Result<Self, FormatError> {
        let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|builder| builder.build())
            .map_err(|e| table_error(path, e))?;
        let mut rows = Vec::new();
        for batch in reader {
            let batch = batch.map_err(|e| FormatError::corrupt(path, format!("not an object table: {e}")))?;
            append(&mut rows, &batch, path)?;
        }
        Ok(Self { rows })
    }

    /// Writes `objects.parquet`, with plate, well and site names beside the site index so that others can read it.
    ///
    /// Equal tables give equal bytes. The file appears under its name only when complete.
    pub fn write(&self, path: &Path, sites: &[crate::Site]) -> Result<(), FormatError> {
        let batch = self.batch(path, sites)?;
        let level = ZstdLevel::try_new(3).map_err(|e| table_error(path, e))?;
        let properties = WriterProperties::builder()
            .set_created_by("pcb".to_owned())
            .set_compression(Compression::ZSTD(level))
            .build();
        let mut bytes = Vec::new();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).map_err(|e| table_error(path, e))?;
        writer.write(&batch).map_err(|e| table_error(path, e))?;
        writer.close().map_err(|e| table_error(path, e))?;
        atomic::write(path, |file| file.write_all(&bytes))
    }

    fn batch(&self, path: &Path, sites: &[crate::Site]) -> Result<RecordBatch, FormatError> {
        for row in &self.rows {
            site_in_range(path, row, sites.len())?;
        }
        let name = |of: fn(&crate::Site) -> &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(self.rows.iter().map(|row| of(&sites[row.site as usize]))))
        };
        let float =
            |of: fn(&Object) -> f32| -> ArrayRef { Arc::new(Float32Array::from_iter_values(self.rows.iter().map(of))) };
        let mut columns: Vec<(&str, ArrayRef)> = vec![
            ("object_id", Arc::new(StringArray::from_iter_values(self.rows.iter().map(|row| &row.id)))),
            ("plate", name(|site| &site.plate)),
            ("well", name(|site| &site.well)),
            ("site", name(|site| &site.site)),
            ("site_index", Arc::new(UInt32Array::from_iter_values(self.rows.iter().map(|row| row.site)))),
            ("center_y", float(|row| row.y)),
            ("center_x", float(|row| row.x)),
        ];
        for (index, name) in BBOX.into_iter().enumerate() {
            columns.push((name, Arc::new(Int32Array::from_iter_values(self.rows.iter().map(|row| row.bbox[index])))));
        }
        let fields: Vec<Field> =
            columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), false)).collect();
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|e| arrow_error(path, e))
    }
}

/// An error unless the object's site is one of `sites`.
pub(crate) fn site_in_range(path: &Path, object: &Object, sites: usize) -> Result<(), FormatError> {
    if (object.site as usize) < sites {
        return Ok(());
    }
    let problem =
        format!("object {:?}: site_index {} is out of range, the dataset has {sites} sites", object.id, object.site);
    Err(FormatError::corrupt(path, problem))
}

fn append(rows: &mut Vec<Object>, batch: &RecordBatch, path: &Path) -> Result<(), FormatError> {
    let ids = column(batch, "object_id", path)?;
    let Some(ids) = ids.as_any().downcast_ref::<StringArray>() else {
        return Err(wrong_type(path, "object_id", &DataType::Utf8, ids.data_type()));
    };
    let sites = numbers::<UInt32Type>(batch, "site_index", path)?;
    let y = numbers::<Float32Type>(batch, "center_y", path)?;
    let x = numbers::<Float32Type>(batch, "center_x", path)?;
    let mut bbox = Vec::with_capacity(BBOX.len());
    for name in BBOX {
        bbox.push(numbers::<Int32Type>(batch, name, path)?);
    }
    rows.reserve(batch.num_rows());
    for i in 0..batch.num_rows() {
        let row = Object {
            id: ids.value(i).to_owned(),
            site: sites.value(i),
            y: y.value(i),
            x: x.value(i),
            bbox: [bbox[0].value(i), bbox[1].value(i), bbox[2].value(i), bbox[3].value(i)],
        };
        if !(row.y.is_finite() && row.x.is_finite()) {
            return Err(FormatError::corrupt(
                path,
                format!("object {:?}: its centre is ({}, {})", row.id, row.y, row.x),
            ));
        }
        rows.push(row);
    }
    Ok(())
}

/// A column without nulls, or an error that names it.
fn column<'a>(batch: &'a RecordBatch, name: &str, path: &Path) -> Result<&'a ArrayRef, FormatError> {
    let Some(column) = batch.column_by_name(name) else {
        let schema = batch.schema();
        let found: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        return Err(FormatError::corrupt(path, format!("no column {name:?}; found {}", found.join(", "))));
    };
    match column.null_count() {
        0 => Ok(column),
        nulls => Err(FormatError::corrupt(path, format!("column {name:?} has {nulls} nulls; expected none"))),
    }
}

fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
    path: &Path,
) -> Result<&'a PrimitiveArray<T>, FormatError> {
    let column = column(batch, name, path)?;
    column.as_any().downcast_ref().ok_or_else(|| wrong_type(path, name, &T::DATA_TYPE, column.data_type()))
}

fn wrong_type(path: &Path, name: &str, expected: &DataType, got: &DataType) -> FormatError {
    FormatError::corrupt(path, format!("column {name:?} is {got}; expected {expected}"))
}

fn table_error(path: &Path, error: ParquetError) -> FormatError {
    FormatError::corrupt(path, format!("not an object table: {error}"))
}

fn arrow_error(path: &Path, error: ArrowError) -> FormatError {
    FormatError::corrupt(path, error.to_string())
}
