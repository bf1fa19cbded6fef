//! Writing records and sites. The library makes the header; pixels follow it as they come, because the library would
//! want them all at once, or by name.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use pcb_protocol::Dtype;
use safetensors::Dtype as Stored;
use safetensors::tensor::{Metadata, TensorInfo};

use crate::reference::for_each_record;
use crate::{Dataset, FormatError};

use super::file::PREFIX;
use super::{FORMAT, IMAGE, IMAGES};

/// Readers refuse longer headers, in bytes.
const LONGEST_HEADER: usize = 100_000_000;

/// The name that is no tensor's.
const RESERVED: &str = "__metadata__";

/// Writes all records into one tensor, (N, C, Y, X).
pub fn write_stack(dataset: &Dataset, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    let [channels, height, width] = dataset.record_shape();
    let shape = vec![dataset.objects.rows.len(), channels, height, width];
    write_records(dataset, path, vec![(IMAGES.to_owned(), shape)], progress)
}

/// Writes a tensor for each record, (C, Y, X), named by its object's id.
pub fn write_keys(dataset: &Dataset, path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    let mut seen = HashSet::new();
    let rows = &dataset.objects.rows;
    if let Some(row) = rows.iter().find(|row| row.id == RESERVED || !seen.insert(row.id.as_str())) {
        return Err(FormatError::Unsupported(format!(
            "object {:?}: a name of a tensor stands once in a file and is not {RESERVED}",
            row.id
        )));
    }
    let shape = dataset.record_shape().to_vec();
    write_records(dataset, path, rows.iter().map(|row| (row.id.clone(), shape.clone())).collect(), progress)
}

fn write_records(
    dataset: &Dataset,
    path: &Path,
    tensors: Vec<(String, Vec<usize>)>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let failed = |e| FormatError::io(path, e);
    let mut file = begin(path, dataset.info.dtype, tensors)?;
    for_each_record(dataset, progress, |_, record| file.write_all(record).map_err(failed))?;
    file.flush().map_err(failed)
}

/// Writes a file for each site with one tensor, (C, Y, X).
pub fn write_sites(dataset: &Dataset, into: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    let total = dataset.info.sites.len();
    for (index, path) in dataset.site_files(into, FORMAT.name).into_iter().enumerate() {
        let failed = |e| FormatError::io(&path, e);
        let site = dataset.reference(index)?;
        let shape = vec![site.channels, site.height, site.width];
        let mut file = begin(&path, dataset.info.dtype, vec![(IMAGE.to_owned(), shape)])?;
        file.write_all(site.data.bytes()).map_err(failed)?;
        file.flush().map_err(failed)?;
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}

/// Creates the file with the header of `tensors`, names and shapes, whose pixels follow one after the other.
fn begin(path: &Path, dtype: Dtype, tensors: Vec<(String, Vec<usize>)>) -> Result<BufWriter<File>, FormatError> {
    let unsupported = |e: &dyn std::fmt::Display| FormatError::Unsupported(format!("{}: {e}", path.display()));
    let stored = match dtype {
        Dtype::U8 => Stored::U8,
        Dtype::U16 => Stored::U16,
        Dtype::F32 => Stored::F32,
    };
    let mut end = 0;
    let infos = tensors.into_iter().map(|(name, shape)| {
        let start = end;
        end += shape.iter().product::<usize>() * dtype.size();
        (name, TensorInfo { dtype: stored, shape, data_offsets: (start, end) })
    });
    let header = Metadata::new(None, infos.collect()).map_err(|e| unsupported(&e))?;
    let mut header = serde_json::to_vec(&header).map_err(|e| unsupported(&e))?;
    // Pixels begin at a multiple of 8, as the library has it.
    header.resize(header.len().next_multiple_of(PREFIX), b' ');
    if header.len() > LONGEST_HEADER {
        let bytes = header.len();
        return Err(unsupported(&format!("a header of {bytes} bytes; readers take {LONGEST_HEADER} at most")));
    }
    let start = || {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        Ok(file)
    };
    start().map_err(|e| FormatError::io(path, e))
}
