//! Crops out of sites whose channels are pages of TIFF files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use crate::crop::Cutter;
use crate::raw::grown;
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage, mmap};

use super::page::{Page, PageInfo};
use super::plane::{Buffers, Plane, Source, check};

/// Says where channel `channel` of site `site` lies: file and page.
pub type Locate = fn(&Dataset, folder: &Path, site: usize, channel: usize) -> (PathBuf, u32);

/// Reads crops of sites. Files are opened, and their directories read, when a site is first touched; both are kept.
pub struct TiffReader {
    spec: OpenSpec,
    folder: PathBuf,
    locate: Locate,
    /// For each site touched, the spec's channels.
    sites: Vec<Option<Vec<Channel>>>,
    cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge.
    edge: Vec<u8>,
    buffers: Buffers,
}

/// A file that its channels share.
#[derive(Clone)]
enum Bytes {
    File(Arc<File>),
    Mapped(Arc<Mmap>),
}

/// One channel of one site.
struct Channel {
    path: PathBuf,
    bytes: Bytes,
    page: Page,
}

impl TiffReader {
    pub fn open(spec: &OpenSpec, folder: PathBuf, locate: Locate) -> Result<Self, FormatError> {
        spec.check()?;
        Ok(Self {
            spec: spec.clone(),
            folder,
            locate,
            sites: spec.dataset.info.sites.iter().map(|_| None).collect(),
            cutter: Cutter::default(),
            edge: Vec::new(),
            buffers: Buffers::default(),
        })
    }

    fn open_site(&self, index: usize) -> Result<Vec<Channel>, FormatError> {
        let dataset = &self.spec.dataset;
        let site = &dataset.info.sites[index];
        let expected = PageInfo { height: site.height, width: site.width, dtype: dataset.info.dtype };
        let located: Vec<(PathBuf, u32)> =
            self.spec.channels.iter().map(|&channel| (self.locate)(dataset, &self.folder, index, channel)).collect();
        let mut channels = Vec::with_capacity(located.len());
        // Neighbours in one file share its descriptor and one walk along its directories.
        for located in located.chunk_by(|(a, _), (b, _)| a == b) {
            let path = &located[0].0;
            let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
            let numbers: Vec<u32> = located.iter().map(|&(_, number)| number).collect();
            let pages = Page::read_many(path, &file, &numbers)?;
            let bytes = self.bytes(path, file, &pages)?;
            for (number, page) in numbers.iter().zip(pages) {
                check(path, *number, page.info, expected)?;
                channels.push(Channel { path: path.clone(), bytes: bytes.clone(), page });
            }
        }
        Ok(channels)
    }

    /// The file in the way that the variant reads it.
    fn bytes(&self, path: &Path, file: File, pages: &[Page]) -> Result<Bytes, FormatError> {
        if !self.spec.variant.mapped {
            return Ok(Bytes::File(Arc::new(file)));
        }
        let map = mmap::map(path, &file)?;
        let end = pages.iter().flat_map(|page| &page.chunks).map(|&(offset, len)| offset + len as u64).max();
        if end > Some(map.len() as u64) {
            return Err(FormatError::corrupt(path, "its length changed while it was opened"));
        }
        Ok(Bytes::Mapped(Arc::new(map)))
    }
}

impl Reader for TiffReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        if self.sites[index].is_none() {
            self.sites[index] = Some(self.open_site(index)?);
        }
        let channels = self.sites[index].as_deref().unwrap_or_default();
        let site = &self.spec.dataset.info.sites[index];
        let pixel = self.spec.dataset.info.dtype.size();
        let rect = self.cutter.aim(window, site.height as usize, site.width as usize, self.spec.pad);
        let mut touched = 0;
        for (channel, out) in channels.iter().zip(out.chunks_exact_mut(self.spec.plane_bytes())) {
            let source = match &channel.bytes {
                Bytes::File(file) => Source::File(file),
                Bytes::Mapped(map) => Source::Mapped(map),
            };
            let plane = Plane { path: &channel.path, source, page: &channel.page };
            if self.cutter.is_inside() {
                touched += plane.read_rect(rect, out, &mut self.buffers, probe)?;
            } else {
                let edge = grown(&mut self.edge, rect.area() * pixel);
                touched += plane.read_rect(rect, edge, &mut self.buffers, probe)?;
                self.cutter.cut_bytes(edge, rect.width(), pixel, out);
                probe.ended(Stage::Decode);
            }
        }
        Ok(touched)
    }
}
