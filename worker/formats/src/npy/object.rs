//! Records of objects, (C, Y, X) each: all in one file, or a file for each.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{BufWriter, IoSliceMut, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::record::Part;
use crate::reference::for_each_record;
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage};

use super::file::{self, PlaneFile, Source, Way};
use super::header::{self, Header};

/// File of all records: (N, C, Y, X).
pub const STACK_FILE: &str = "crops.npy";

/// File of one record of the one-file-each form.
pub fn each_name(object: usize) -> String {
    EachName(object).to_string()
}

struct EachName(usize);

impl fmt::Display for EachName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}.npy", self.0)
    }
}

/// Reads the crop of the record that begins with plane number `first`.
fn read_part(
    part: &Part,
    file: &PlaneFile,
    source: &Source<'_>,
    first: usize,
    out: &mut [u8],
    scratch: &mut Vec<u8>,
) -> Result<u64, FormatError> {
    if part.whole {
        return file.read_planes(source, first, part.channels, out);
    }
    let mut touched = 0;
    for (&channel, out) in part.spec.channels.iter().zip(out.chunks_exact_mut(part.spec.plane_bytes())) {
        touched += file.read_rect(source, first + channel, part.rect, out, scratch)?;
    }
    Ok(touched)
}

/// Reads records out of one file.
pub struct StackReader {
    part: Part,
    file: PlaneFile,
    scratch: Vec<u8>,
}

impl StackReader {
    pub fn open(spec: &OpenSpec, way: Way) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let dataset = &spec.dataset;
        let path = spec.stored_folder("npy")?.join(STACK_FILE);
        let [channels, height, width] = dataset.record_shape();
        let shape = [dataset.objects.rows.len(), channels, height, width];
        let file = PlaneFile::open(&path, way, dataset.info.dtype, &shape)?;
        Ok(Self { part, file, scratch: Vec::new() })
    }
}

impl Reader for StackReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.part.spec.window(object)?;
        let source = self.file.source()?;
        let touched = read_part(&self.part, &self.file, &source, object * self.part.channels, out, &mut self.scratch)?;
        drop(source);
        self.part.pad(site, window, out);
        probe.ended(Stage::Read);
        Ok(touched)
    }
}

/// Reads records from a file each.
pub struct EachReader {
    part: Part,
    /// Path of the file last opened; its folder stays.
    path: PathBuf,
    /// Name of that file.
    name: String,
    /// The header that every file has when we wrote it.
    header: Vec<u8>,
    /// The header as found.
    start: Vec<u8>,
    record: Vec<u8>,
}

impl EachReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let path = spec.stored_folder("npy")?.join(each_name(0));
        let shape = spec.dataset.record_shape();
        let dtype = spec.dataset.info.dtype;
        let header = header::encode(dtype, &shape);
        let record = if part.whole { 0 } else { shape.iter().product::<usize>() * dtype.size() };
        let start = vec![0; header.len()];
        Ok(Self { part, path, name: String::new(), header, start, record: vec![0; record] })
    }

    /// Reads the whole record of `object` into `record`. Returns the bytes read.
    fn read_record(
        path: &Path,
        expected: &[u8],
        start: &mut [u8],
        record: &mut [u8],
        dataset: &Dataset,
    ) -> Result<u64, FormatError> {
        let mut file = File::open(path).map_err(|e| FormatError::io(path, e))?;
        let len = start.len() + record.len();
        // Header and record in one call: the header of a file that we wrote is known to the byte. One byte more is
        // asked for, so that a file that is too long shows.
        let mut beyond = [0];
        let read = file
            .read_vectored(&mut [IoSliceMut::new(start), IoSliceMut::new(record), IoSliceMut::new(&mut beyond)])
            .map_err(|e| FormatError::io(path, e))?;
        if read == len && start == expected {
            return Ok(len as u64);
        }
        let header = Header::read(path, &file)?;
        file::check(path, &header, dataset.info.dtype, &dataset.record_shape())?;
        file.read_exact_at(record, header.data as u64).map_err(|e| FormatError::io(path, e))?;
        Ok((header.data + record.len()) as u64)
    }
}

impl Reader for EachReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Self { part, path, name, header, start, record } = self;
        let (site, window) = part.spec.window(object)?;
        let dataset = &part.spec.dataset;
        name.clear();
        // Writing to a String cannot fail.
        let _ = write!(name, "{}", EachName(object));
        path.set_file_name(&name);
        if part.whole {
            let touched = Self::read_record(path, header, start, out, dataset)?;
            part.pad(site, window, out);
            probe.ended(Stage::Read);
            return Ok(touched);
        }
        let touched = Self::read_record(path, header, start, record, dataset)?;
        probe.ended(Stage::Read);
        part.cut(record, out);
        part.pad(site, window, out);
        probe.ended(Stage::Decode);
        Ok(touched)
    }
}

/// Writes all records into one file.
pub fn write_stack(dataset: &Dataset, into: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    let path = into.join(STACK_FILE);
    let failed = |e| FormatError::io(&path, e);
    let mut file = BufWriter::new(File::create(&path).map_err(failed)?);
    let [channels, height, width] = dataset.record_shape();
    let header = header::encode(dataset.info.dtype, &[dataset.objects.rows.len(), channels, height, width]);
    file.write_all(&header).map_err(failed)?;
    for_each_record(dataset, progress, |_, record| file.write_all(record).map_err(failed))?;
    file.flush().map_err(failed)
}

/// Writes a file for each record.
pub fn write_each(dataset: &Dataset, into: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    let header = header::encode(dataset.info.dtype, &dataset.record_shape());
    for_each_record(dataset, progress, |object, record| {
        let path = into.join(each_name(object));
        let save = || {
            let mut file = File::create(&path)?;
            file.write_all(&header)?;
            file.write_all(record)
        };
        save().map_err(|e| FormatError::io(&path, e))
    })
}
