//! Crops out of tables.

use pcb_protocol::Dtype;

use crate::crop::{Cutter, Rect};
use crate::raw::grown;
use crate::record::Part;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

use super::images::Images;
use super::tiles::TileStore;
use super::{Content, Table};

/// An error unless the table has `rows` rows, of lists of `len` pixels if that is given.
fn check_table(table: &impl Table, rows: u64, dtype: Dtype, len: Option<usize>) -> Result<(), FormatError> {
    if table.rows() != rows {
        let problem = format!("{} rows; expected {rows}, as dataset.json says", table.rows());
        return Err(FormatError::corrupt(table.path(), problem));
    }
    let Some(len) = len else { return Ok(()) };
    let (found, count) = table.pixels()?;
    if (found, count) == (dtype, len) {
        return Ok(());
    }
    let problem = format!("rows of {count} {found}; expected {len} {dtype}, as dataset.json says");
    Err(FormatError::corrupt(table.path(), problem))
}

/// Reads records of the object layout.
pub struct RecordReader<T> {
    part: Part,
    table: T,
    /// Where records are images.
    images: Option<Images>,
}

impl<T: Table> RecordReader<T> {
    /// Reads out of `table`, whose rows are `content`.
    pub fn new(spec: &OpenSpec, table: T, content: Content) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let dataset = &spec.dataset;
        let (rows, [channels, height, width]) = (dataset.objects.rows.len(), dataset.record_shape());
        let dtype = dataset.info.dtype;
        let images = match content {
            Content::Images => {
                check_table(&table, rows as u64, dtype, None)?;
                Some(Images::new(dtype, channels, vec![(height, width); rows]))
            }
            _ => {
                check_table(&table, rows as u64, dtype, Some(channels * height * width))?;
                None
            }
        };
        Ok(Self { part, table, images })
    }
}

impl<T: Table> Reader for RecordReader<T> {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Self { part, table, images } = self;
        let (site, window) = part.spec.window(object)?;
        let touched = match images {
            Some(images) => images.read(table, object, &part.spec.channels, part.rect, out)?,
            None => table.lists(&[object as u64], &mut |_, record| {
                if part.whole {
                    out.copy_from_slice(record)
                } else {
                    part.cut(record, out)
                }
                Ok(())
            })?,
        };
        part.pad(site, window, out);
        probe.ended(Stage::ReadDecode);
        Ok(touched)
    }
}

/// Cuts crops out of whole sites.
pub struct SiteReader<T> {
    spec: OpenSpec,
    table: T,
    store: Store,
    cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge.
    edge: Vec<u8>,
}

enum Store {
    Images(Images),
    Tiles(TileStore),
}

impl Store {
    /// Reads the rectangle `rect` of `channels` of a site into `out`: (C, Y, X).
    fn read(
        &mut self,
        table: &mut impl Table,
        site: usize,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
    ) -> Result<u64, FormatError> {
        match self {
            Self::Images(images) => images.read(table, site, channels, rect, out),
            Self::Tiles(tiles) => tiles.read(table, site, channels, rect, out),
        }
    }
}

impl<T: Table> SiteReader<T> {
    /// Reads out of `table`, whose rows are `content`.
    pub fn new(spec: &OpenSpec, table: T, content: Content) -> Result<Self, FormatError> {
        spec.check()?;
        let dataset = &spec.dataset;
        let (dtype, channels) = (dataset.info.dtype, dataset.channels());
        let sites = 0..dataset.info.sites.len();
        let store = match content {
            Content::Tiles { side } => {
                let tiles = TileStore::new(dataset, side);
                check_table(&table, tiles.rows(), dtype, Some(side * side))?;
                Store::Tiles(tiles)
            }
            _ => {
                check_table(&table, sites.len() as u64, dtype, None)?;
                let size = |site| {
                    let [_, height, width] = dataset.site_shape(site);
                    (height, width)
                };
                Store::Images(Images::new(dtype, channels, sites.map(size).collect()))
            }
        };
        Ok(Self { spec: spec.clone(), table, store, cutter: Cutter::default(), edge: Vec::new() })
    }
}

impl<T: Table> Reader for SiteReader<T> {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Self { spec, table, store, cutter, edge } = self;
        let (site, window) = spec.window(object)?;
        let [_, height, width] = spec.dataset.site_shape(site);
        let pixel = spec.dataset.info.dtype.size();
        let rect = cutter.aim(window, height, width, spec.pad);
        if cutter.is_inside() {
            let touched = store.read(table, site, &spec.channels, rect, out)?;
            probe.ended(Stage::ReadDecode);
            return Ok(touched);
        }
        let plane = rect.area() * pixel;
        let edge = grown(edge, spec.channels.len() * plane);
        let touched = store.read(table, site, &spec.channels, rect, edge)?;
        for (source, out) in edge.chunks_exact(plane).zip(out.chunks_exact_mut(spec.plane_bytes())) {
            cutter.cut_bytes(source, rect.width(), pixel, out);
        }
        probe.ended(Stage::ReadDecode);
        Ok(touched)
    }
}
