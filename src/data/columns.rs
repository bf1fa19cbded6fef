//! Single columns of a table in CSV or Parquet, as text or numbers. Tables of thousands of columns are read only where
//! asked.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, StringArray};
use arrow_cast::cast;
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::DataError;

/// A table on disk, of which only the header has been read.
pub struct Table {
    path: PathBuf,
    /// Column names, in file order.
    pub names: Vec<String>,
    csv: bool,
}

/// One column in memory.
pub struct Column {
    path: PathBuf,
    /// Its name.
    pub name: String,
    chunks: Vec<ArrayRef>,
}

impl Table {
    /// Reads the header. `.csv` is CSV, everything else Parquet.
    pub fn open(path: &Path) -> Result<Self, DataError> {
        let csv = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let names = if csv {
            let header = csv_reader(path)?.byte_headers().map_err(|e| csv_error(path, &e))?.clone();
            // A byte order mark would become part of the first name.
            let text = |field: &[u8]| String::from_utf8_lossy(field).trim_start_matches('\u{feff}').to_owned();
            header.iter().map(text).collect()
        } else {
            parquet_reader(path)?.schema().fields().iter().map(|field| field.name().clone()).collect()
        };
        Ok(Self { path: path.to_owned(), names, csv })
    }

    /// The columns at these indices into [`Table::names`], in this order.
    pub fn read(&self, indices: &[usize]) -> Result<Vec<Column>, DataError> {
        let chunks = if self.csv { self.read_csv(indices)? } else { self.read_parquet(indices)? };
        let column =
            |(&index, chunks): (&usize, _)| Column { path: self.path.clone(), name: self.names[index].clone(), chunks };
        Ok(indices.iter().zip(chunks).map(column).collect())
    }

    fn read_csv(&self, indices: &[usize]) -> Result<Vec<Vec<ArrayRef>>, DataError> {
        let mut reader = csv_reader(&self.path)?;
        let mut columns: Vec<Vec<Option<String>>> = vec![Vec::new(); indices.len()];
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(|e| csv_error(&self.path, &e))? {
            for (column, &index) in columns.iter_mut().zip(indices) {
                let field = String::from_utf8_lossy(record.get(index).unwrap_or_default()).into_owned();
                column.push((!field.is_empty()).then_some(field));
            }
        }
        Ok(columns.into_iter().map(|values| vec![Arc::new(StringArray::from(values)) as ArrayRef]).collect())
    }

    fn read_parquet(&self, indices: &[usize]) -> Result<Vec<Vec<ArrayRef>>, DataError> {
        let bad = |problem: String| DataError::content(&self.path, problem);
        let builder = parquet_reader(&self.path)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), indices.iter().copied());
        let reader = builder.with_projection(mask).build().map_err(|e| bad(e.to_string()))?;
        let mut columns: Vec<Vec<ArrayRef>> = vec![Vec::new(); indices.len()];
        // Batches hold the columns in file order, whatever order they were asked in.
        let mut order: Vec<usize> = indices.to_vec();
        order.sort_unstable();
        order.dedup();
        for batch in reader {
            let batch = batch.map_err(|e| bad(e.to_string()))?;
            for (column, index) in columns.iter_mut().zip(indices) {
                let at = order.binary_search(index).map_err(|_| bad(format!("no column {index}")))?;
                column.push(batch.column(at).clone());
            }
        }
        Ok(columns)
    }
}

fn csv_reader(path: &Path) -> Result<csv::Reader<File>, DataError> {
    let file = File::open(path).map_err(|e| DataError::io(path, e))?;
    Ok(csv::Reader::from_reader(file))
}

fn csv_error(path: &Path, error: &csv::Error) -> DataError {
    DataError::content(path, format!("no CSV table: {error}"))
}

fn parquet_reader(path: &Path) -> Result<ParquetRecordBatchReaderBuilder<File>, DataError> {
    let file = File::open(path).map_err(|e| DataError::io(path, e))?;
    let bad = |e| DataError::content(path, format!("neither .csv nor a Parquet table: {e}"));
    ParquetRecordBatchReaderBuilder::try_new(file).map_err(bad)
}

impl Column {
    /// The values as text. Whole numbers stored as floats lose their `.0`; nulls and NaN are `None`.
    pub fn text(&self) -> Result<Vec<Option<String>>, DataError> {
        let mut out = Vec::new();
        for chunk in &self.chunks {
            if chunk.data_type().is_floating() {
                out.extend(self.floats(chunk)?.into_iter().map(|value| value.map(|v| v.to_string())));
            } else {
                out.extend(self.strings(chunk)?);
            }
        }
        Ok(out)
    }

    /// The values as numbers. Nulls, NaN and empty text are `None`; other text is an error that names the row.
    pub fn numbers(&self) -> Result<Vec<Option<f64>>, DataError> {
        let mut out = Vec::new();
        for chunk in &self.chunks {
            if is_text(chunk.data_type()) {
                for value in self.strings(chunk)? {
                    let number = self.parse(value.as_deref(), out.len() + 1)?;
                    out.push(number);
                }
            } else {
                out.extend(self.floats(chunk)?);
            }
        }
        Ok(out)
    }

    fn parse(&self, text: Option<&str>, row: usize) -> Result<Option<f64>, DataError> {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
        if ["na", "null", "none", "<na>"].contains(&text.to_ascii_lowercase().as_str()) {
            return Ok(None);
        }
        match text.parse::<f64>() {
            Ok(number) => Ok(Some(number).filter(|n| !n.is_nan())),
            Err(_) => {
                let problem = format!("row {row}, column {:?}: {text:?} is no number", self.name);
                Err(DataError::content(&self.path, problem))
            }
        }
    }

    fn floats(&self, chunk: &ArrayRef) -> Result<Vec<Option<f64>>, DataError> {
        let floats = self.cast(chunk, &DataType::Float64)?;
        let floats = floats.as_any().downcast_ref::<Float64Array>();
        Ok(floats.into_iter().flatten().map(|value| value.filter(|n| !n.is_nan())).collect())
    }

    fn strings(&self, chunk: &ArrayRef) -> Result<Vec<Option<String>>, DataError> {
        let strings = self.cast(chunk, &DataType::Utf8)?;
        let strings = strings.as_any().downcast_ref::<StringArray>();
        Ok(strings.into_iter().flatten().map(|value| value.map(str::to_owned)).collect())
    }

    fn cast(&self, chunk: &ArrayRef, to: &DataType) -> Result<ArrayRef, DataError> {
        cast(chunk, to).map_err(|_| {
            let expected = if *to == DataType::Utf8 { "text" } else { "numbers" };
            let problem = format!("column {:?} holds {}; expected {expected}", self.name, chunk.data_type());
            DataError::content(&self.path, problem)
        })
    }
}

fn is_text(dtype: &DataType) -> bool {
    match dtype {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}
