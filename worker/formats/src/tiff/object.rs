//! An OME-TIFF for each record of the object layout, opened and closed for each sample.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::record::Part;
use crate::reference::for_each_record;
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage};

use super::form::Form;
use super::ome;
use super::page::{Page, PageInfo};
use super::plane::{Buffers, Plane, Source, check};
use super::write::{self, Image};

/// File of the record of row `object` of the object table.
pub fn file_name(object: usize) -> String {
    FileName(object).to_string()
}

struct FileName(usize);

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06}.ome.tif", self.0)
    }
}

/// Reads crops out of the records' files. Nothing of a file is kept.
pub struct RecordReader {
    part: Part,
    /// Page numbers of the spec's channels.
    pages: Vec<u32>,
    /// What each page should be.
    expected: PageInfo,
    /// Path of the file last opened; its folder stays.
    path: PathBuf,
    /// Name of that file.
    name: String,
    buffers: Buffers,
}

impl RecordReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let path = spec.stored_folder("ome-tiff")?.join(file_name(0));
        let record = spec.dataset.info.record;
        let expected = PageInfo { height: record.height, width: record.width, dtype: spec.dataset.info.dtype };
        let pages = spec.channels.iter().map(|&channel| channel as u32).collect();
        Ok(Self { part, pages, expected, path, name: String::new(), buffers: Buffers::default() })
    }
}

impl Reader for RecordReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Self { part, pages, expected, path, name, buffers } = self;
        let (site, window) = part.spec.window(object)?;
        name.clear();
        // Writing to a String cannot fail.
        let _ = write!(name, "{}", FileName(object));
        path.set_file_name(&name);
        let file = File::open(&path).map_err(|e| FormatError::io(&path, e))?;
        let mut touched = 0;
        let found = Page::read_many(path, &file, pages)?;
        for ((number, page), out) in pages.iter().zip(&found).zip(out.chunks_exact_mut(part.spec.plane_bytes())) {
            check(path, *number, page.info, *expected)?;
            touched += Plane { path, source: Source::File(&file), page }.read_rect(part.rect, out, buffers, probe)?;
        }
        drop(file);
        part.pad(site, window, out);
        probe.ended(Stage::Read);
        Ok(touched)
    }
}

/// Writes a file for each record.
pub fn write(
    dataset: &Dataset,
    form: Form,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let info = &dataset.info;
    let (height, width) = (info.record.height, info.record.width);
    for_each_record(dataset, progress, |object, record| {
        let text = ome::describe(&dataset.objects.rows[object].id, &info.channels, info.dtype, height, width);
        let image = Image { dtype: info.dtype, height: height as usize, width: width as usize, pixels: record };
        write::write(&into.join(file_name(object)), &image, form, Some(&text))
    })
}
