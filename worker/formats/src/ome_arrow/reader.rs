//! Crops out of stored images: records of objects, whole sites, or the tables of an import.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use pcb_protocol::Dtype;

use crate::crop::{Cutter, Rect};
use crate::raw::grown;
use crate::record::Part;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

use super::chunked::ChunkDataset;
use super::shape::Shape;
use super::table::{Scratch, Table};

/// Stored images of a dataset, by file and number there.
enum Images {
    /// One table, one row for each image.
    Table(Box<Table>),
    /// A chunk dataset for each site, opened when first touched: its records, or the site itself.
    Folders { folder: PathBuf, open: HashMap<usize, ChunkDataset> },
}

/// What a stored image must be.
pub struct Expected {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub dtype: Dtype,
}

impl Expected {
    /// An error that names `path` unless `shape` is as expected.
    pub fn check(&self, path: &Path, image: &str, shape: &Shape) -> Result<(), FormatError> {
        let found = (shape.channels, shape.height, shape.width, shape.element.dtype());
        if found == (self.channels, self.height, self.width, self.dtype) {
            return Ok(());
        }
        let Self { channels, height, width, dtype } = self;
        let problem = format!(
            "{image} is {} channels of {}x{} {}; expected {channels} of {height}x{width} {dtype}, as dataset.json says",
            found.0, found.1, found.2, found.3
        );
        Err(FormatError::corrupt(path, problem))
    }
}

impl Images {
    /// Reads the rectangle `rect` of `channels` of an image into `out`: number `image` of the table, or number `within`
    /// of the dataset of site `site`, which is called `name`.
    #[expect(clippy::too_many_arguments, reason = "the place of an image has many parts")]
    fn read(
        &mut self,
        (image, site, within): (usize, usize, usize),
        name: impl FnOnce() -> String,
        expected: &Expected,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<u64, FormatError> {
        match self {
            Self::Table(table) => {
                let shape = table.shape(image as u64)?;
                expected.check(table.path(), &format!("row {image}"), &shape)?;
                table.read(image as u64, channels, rect, out, scratch)
            }
            Self::Folders { folder, open } => {
                let dataset = match open.entry(site) {
                    std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
                    std::collections::hash_map::Entry::Vacant(slot) => {
                        slot.insert(ChunkDataset::open(&folder.join(name()))?)
                    }
                };
                let shape = dataset.shape(within)?;
                expected.check(&dataset.path(), &format!("image {within}"), shape)?;
                dataset.read(within, channels, rect, out, scratch)
            }
        }
    }
}

/// What a variant's images are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One table for the whole dataset.
    Table,
    /// A chunk dataset for each site.
    Folders,
}

/// Name of the table in the folder of a stored form.
pub const TABLE: &str = "images.parquet";

fn open_images(spec: &OpenSpec, kind: Kind, rows: usize) -> Result<Images, FormatError> {
    let folder = spec.stored_folder(super::FORMAT.name)?;
    if kind == Kind::Folders {
        return Ok(Images::Folders { folder, open: HashMap::new() });
    }
    let table = Table::open(&folder.join(TABLE), Some(super::write::COLUMN))?;
    if table.rows() != rows as u64 {
        let problem = format!("{} rows; expected {rows}, as the dataset has", table.rows());
        return Err(FormatError::corrupt(table.path(), problem));
    }
    Ok(Images::Table(Box::new(table)))
}

/// Reads records of the object layout.
pub struct RecordReader {
    part: Part,
    images: Images,
    expected: Expected,
    /// First object of each site.
    firsts: Vec<usize>,
    scratch: Scratch,
}

impl RecordReader {
    pub fn open(spec: &OpenSpec, kind: Kind) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let dataset = &spec.dataset;
        let images = open_images(spec, kind, dataset.objects.rows.len())?;
        let [channels, height, width] = dataset.record_shape();
        let expected = Expected { channels, height, width, dtype: dataset.info.dtype };
        let rows = &dataset.objects.rows;
        let first = |site| rows.partition_point(|row| (row.site as usize) < site);
        let firsts = match kind {
            Kind::Folders => (0..dataset.info.sites.len()).map(first).collect(),
            Kind::Table => Vec::new(),
        };
        Ok(Self { part, images, expected, firsts, scratch: Scratch::default() })
    }
}

impl Reader for RecordReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Self { part, images, expected, firsts, scratch } = self;
        let (site, window) = part.spec.window(object)?;
        let place = (object, site, object - firsts.get(site).copied().unwrap_or(object));
        let name = || part.spec.dataset.info.sites[site].name();
        let touched = images.read(place, name, expected, &part.spec.channels, part.rect, out, scratch)?;
        part.pad(site, window, out);
        probe.ended(Stage::ReadDecode);
        Ok(touched)
    }
}

/// Cuts crops out of whole sites.
pub struct SiteReader {
    spec: OpenSpec,
    images: Images,
    crop: Crop,
}

/// What cutting a crop needs; reused.
#[derive(Default)]
pub struct Crop {
    pub cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge.
    edge: Vec<u8>,
    scratch: Scratch,
}

impl Crop {
    /// Reads the rectangle that the cutter was aimed at into the crop `out` of `channels` channels, through `read`.
    pub fn cut(
        &mut self,
        rect: Rect,
        (channels, pixel): (usize, usize),
        out: &mut [u8],
        read: impl FnOnce(&mut [u8], &mut Scratch) -> Result<u64, FormatError>,
    ) -> Result<u64, FormatError> {
        if self.cutter.is_inside() {
            return read(out, &mut self.scratch);
        }
        let plane = rect.area() * pixel;
        let edge = grown(&mut self.edge, channels * plane);
        let touched = read(edge, &mut self.scratch)?;
        let of_channel = out.len() / channels;
        for (source, out) in edge.chunks_exact(plane).zip(out.chunks_exact_mut(of_channel)) {
            self.cutter.cut_bytes(source, rect.width(), pixel, out);
        }
        Ok(touched)
    }
}

impl SiteReader {
    pub fn open(spec: &OpenSpec, kind: Kind) -> Result<Self, FormatError> {
        spec.check()?;
        let images = open_images(spec, kind, spec.dataset.info.sites.len())?;
        Ok(Self { spec: spec.clone(), images, crop: Crop::default() })
    }
}

impl Reader for SiteReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Self { spec, images, crop } = self;
        let (index, window) = spec.window(object)?;
        let info = &spec.dataset.info;
        let [channels, height, width] = spec.dataset.site_shape(index);
        let expected = Expected { channels, height, width, dtype: info.dtype };
        let rect = crop.cutter.aim(window, height, width, spec.pad);
        let name = || info.sites[index].name();
        let touched = crop.cut(rect, (spec.channels.len(), info.dtype.size()), out, |out, scratch| {
            images.read((index, index, 0), name, &expected, &spec.channels, rect, out, scratch)
        })?;
        probe.ended(Stage::ReadDecode);
        Ok(touched)
    }
}
