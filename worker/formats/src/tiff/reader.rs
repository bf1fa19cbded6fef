//! Crops out of TIFF pages: only the chunks that a crop meets are read, and none outlives the read.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::crop::{Cutter, Rect};
use crate::raw::{self, Rows, grown};
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage};

use super::page::{Page, PageInfo};
use super::unpack::Unpacker;

/// Says where channel `channel` of site `site` lies: file and page.
pub type Locate = fn(&Dataset, folder: &Path, site: usize, channel: usize) -> (PathBuf, u32);

/// Reads crops of sites whose channels are pages of TIFF files. Files are opened, and their directories read, when a
/// site is first touched; both are kept.
pub struct TiffReader {
    spec: OpenSpec,
    folder: PathBuf,
    locate: Locate,
    /// For each site touched, the planes of the spec's channels.
    sites: Vec<Option<Vec<Plane>>>,
    cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge.
    edge: Vec<u8>,
    buffers: Buffers,
}

/// One channel of one site.
struct Plane {
    path: PathBuf,
    file: Arc<File>,
    page: Page,
}

/// Reused from chunk to chunk.
#[derive(Default)]
struct Buffers {
    unpacker: Unpacker,
    packed: Vec<u8>,
    chunk: Vec<u8>,
    scratch: Vec<u8>,
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

    fn open_site(&self, index: usize) -> Result<Vec<Plane>, FormatError> {
        let dataset = &self.spec.dataset;
        let site = &dataset.info.sites[index];
        let expected = PageInfo { height: site.height, width: site.width, dtype: dataset.info.dtype };
        let mut planes: Vec<Plane> = Vec::with_capacity(self.spec.channels.len());
        for &channel in &self.spec.channels {
            let (path, number) = (self.locate)(dataset, &self.folder, index, channel);
            let file = match planes.iter().find(|plane| plane.path == path) {
                Some(plane) => plane.file.clone(),
                None => Arc::new(File::open(&path).map_err(|e| FormatError::io(&path, e))?),
            };
            let page = Page::read(&path, &file, number)?;
            check(&path, number, page.info, expected)?;
            planes.push(Plane { path, file, page });
        }
        Ok(planes)
    }
}

/// An error unless the page has the shape and dtype that dataset.json says.
pub fn check(path: &Path, page: u32, got: PageInfo, expected: PageInfo) -> Result<(), FormatError> {
    if got == expected {
        return Ok(());
    }
    let problem = format!(
        "page {page} is {}x{} {}; expected {}x{} {}, as dataset.json says",
        got.height, got.width, got.dtype, expected.height, expected.width, expected.dtype
    );
    Err(FormatError::corrupt(path, problem))
}

impl Reader for TiffReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        if self.sites[index].is_none() {
            self.sites[index] = Some(self.open_site(index)?);
        }
        let planes = self.sites[index].as_deref().unwrap_or_default();
        let site = &self.spec.dataset.info.sites[index];
        let pixel = self.spec.dataset.info.dtype.size();
        let rect = self.cutter.aim(window, site.height as usize, site.width as usize, self.spec.pad);
        let mut touched = 0;
        for (plane, out) in planes.iter().zip(out.chunks_exact_mut(self.spec.plane_bytes())) {
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

impl Plane {
    /// Reads the rectangle `rect` into `out`, (Y, X) without gaps. Returns the stored bytes read.
    fn read_rect(
        &self,
        rect: Rect,
        out: &mut [u8],
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let page = &self.page;
        let (high, wide) = (page.chunk_height, page.chunk_width);
        let mut touched = 0;
        for down in rect.y0 / high..rect.y1.div_ceil(high) {
            for across in rect.x0 / wide..rect.x1.div_ceil(wide) {
                let chunk = down * page.across + across;
                let (top, left) = (down * high, across * wide);
                // The part of the rectangle that this chunk holds, in the chunk's own rows and columns.
                let part = Rect {
                    y0: rect.y0.max(top) - top,
                    y1: rect.y1.min(top + high) - top,
                    x0: rect.x0.max(left) - left,
                    x1: rect.x1.min(left + wide) - left,
                };
                let first = (top + part.y0 - rect.y0) * rect.width() + left + part.x0 - rect.x0;
                let out = &mut out[first * page.info.dtype.size()..];
                touched += self.read_part(chunk, part, out, rect.width(), buffers, probe)?;
            }
        }
        Ok(touched)
    }

    /// Reads `part` of chunk number `chunk` into `out`, whose rows are `stride` pixels apart.
    fn read_part(
        &self,
        chunk: usize,
        part: Rect,
        out: &mut [u8],
        stride: usize,
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let page = &self.page;
        let pixel = page.info.dtype.size();
        let (offset, len) = page.chunks[chunk];
        let (row, line, stride) = (page.row_bytes(), part.width() * pixel, stride * pixel);
        let first = part.y0 * row + part.x0 * pixel;
        if page.is_raw() {
            let rows = Rows { offset: offset + first as u64, count: part.height(), len: line, stride: row };
            let touched = raw::read_rows(&self.file, rows, out, stride, &mut buffers.scratch)
                .map_err(|e| FormatError::io(&self.path, e))?;
            probe.ended(Stage::Read);
            return Ok(touched);
        }
        let packed = grown(&mut buffers.packed, len);
        self.file.read_exact_at(packed, offset).map_err(|e| FormatError::io(&self.path, e))?;
        probe.ended(Stage::Read);
        let pixels = grown(&mut buffers.chunk, page.chunk_height * row);
        buffers
            .unpacker
            .unpack(page, packed, part.y1, pixels)
            .map_err(|problem| FormatError::corrupt(&self.path, format!("chunk {chunk} at byte {offset} {problem}")))?;
        for (source, out) in pixels[first..].chunks(row).zip(out.chunks_mut(stride)).take(part.height()) {
            out[..line].copy_from_slice(&source[..line]);
        }
        probe.ended(Stage::Decode);
        Ok(len as u64)
    }
}
