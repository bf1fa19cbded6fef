//! A (C, Y, X) file for each site; crops are cut out of it.

use std::path::Path;

use crate::crop::Cutter;
use crate::raw::grown;
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage};

use super::file::{PlaneFile, Source, Way};
use super::write_site_npy;

/// Cuts crops out of site files, which are opened when first touched.
pub struct SiteReader {
    spec: OpenSpec,
    way: Way,
    files: Vec<Option<PlaneFile>>,
    cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge.
    edge: Vec<u8>,
    scratch: Vec<u8>,
}

impl SiteReader {
    pub fn open(spec: &OpenSpec, way: Way) -> Result<Self, FormatError> {
        spec.check()?;
        spec.stored_folder("npy")?;
        let files = spec.dataset.info.sites.iter().map(|_| None).collect();
        Ok(Self { spec: spec.clone(), way, files, cutter: Cutter::default(), edge: Vec::new(), scratch: Vec::new() })
    }
}

impl Reader for SiteReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        let dataset = &self.spec.dataset;
        let site = &dataset.info.sites[index];
        let (height, width) = (site.height as usize, site.width as usize);
        let pixel = dataset.info.dtype.size();
        let file = match &mut self.files[index] {
            Some(file) => file,
            slot => {
                let path = dataset.stored_dir("npy", self.spec.variant).join(format!("{}.npy", site.name()));
                slot.insert(PlaneFile::open(&path, self.way, dataset.info.dtype, &dataset.site_shape(index))?)
            }
        };
        let source = file.source()?;
        let rect = self.cutter.aim(window, height, width, self.spec.pad);
        let mut touched = 0;
        for (&channel, out) in self.spec.channels.iter().zip(out.chunks_exact_mut(self.spec.plane_bytes())) {
            match &source {
                Source::Mapped(bytes) => {
                    let first = file.offset(channel, rect.y0, rect.x0);
                    self.cutter.cut_bytes(&bytes[first..], width, pixel, out);
                    touched += (rect.area() * pixel) as u64;
                }
                _ if self.cutter.is_inside() => {
                    touched += file.read_rect(&source, channel, rect, out, &mut self.scratch)?;
                }
                _ => {
                    let edge = grown(&mut self.edge, rect.area() * pixel);
                    touched += file.read_rect(&source, channel, rect, edge, &mut self.scratch)?;
                    self.cutter.cut_bytes(edge, rect.width(), pixel, out);
                }
            }
        }
        probe.ended(Stage::Read);
        Ok(touched)
    }
}

/// Writes a file for each site.
pub fn write(dataset: &Dataset, into: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    let total = dataset.info.sites.len();
    for (index, path) in dataset.site_files(into, "npy").into_iter().enumerate() {
        write_site_npy(&path, &dataset.reference(index)?)?;
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}
