//! Crops out of tables.

use pcb_protocol::Dtype;

use crate::crop::{Cutter, Rect};
use crate::raw::grown;
use crate::record::Part;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

use super::{Content, Meta, Table, Tiles};

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

/// What the images of a table must be, and whether they were found to be so.
struct Images {
    dtype: Dtype,
    channels: usize,
    /// Height and width of each row's image.
    sizes: Vec<(usize, usize)>,
    /// `pixels_meta` is compared before the first read: it is small, and no part of opening.
    checked: bool,
    /// How often each wanted channel was found in a row; reused.
    found: Vec<u32>,
}

impl Images {
    fn new(dtype: Dtype, channels: usize, sizes: Vec<(usize, usize)>) -> Self {
        Self { dtype, channels, sizes, checked: false, found: Vec::new() }
    }

    fn check(&mut self, table: &mut impl Table) -> Result<(), FormatError> {
        if self.checked {
            return Ok(());
        }
        let (mut row, mut problem) = (0, None);
        table.metas(&mut |meta| {
            let expected = self.sizes.get(row).copied().unwrap_or_default();
            if problem.is_none() {
                problem = self.problem(&meta, expected).map(|problem| format!("row {row}: {problem}"));
            }
            row += 1;
        })?;
        if row != self.sizes.len() && problem.is_none() {
            problem = Some(format!("{row} images; expected {}", self.sizes.len()));
        }
        if let Some(problem) = problem {
            return Err(FormatError::corrupt(table.path(), problem));
        }
        self.checked = true;
        Ok(())
    }

    /// What is wrong with an image that should be of this height and width.
    fn problem(&self, meta: &Meta, (height, width): (usize, usize)) -> Option<String> {
        let kind = match self.dtype {
            Dtype::U8 => "uint8",
            Dtype::U16 => "uint16",
            Dtype::F32 => "float32",
        };
        let size = [1, self.channels as i64, 1, height as i64, width as i64];
        if meta.kind == kind && meta.size == size {
            return None;
        }
        let found = match meta.kind.as_str() {
            "uint8" => "u8",
            "uint16" => "u16",
            other => other,
        };
        let [t, c, z, y, x] = meta.size;
        let (dtype, channels) = (self.dtype, self.channels);
        let found = format!("an image of {c} channels of {y}x{x} {found}, {z} planes deep, {t} times");
        Some(format!("{found}; expected {channels} of {height}x{width} {dtype}, as dataset.json says"))
    }

    /// Reads the rectangle `rect` of `channels` of the image in `row` into `out`: (C, Y, X).
    fn read(
        &mut self,
        table: &mut impl Table,
        row: usize,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
    ) -> Result<u64, FormatError> {
        self.check(table)?;
        let (height, width) = self.sizes[row];
        let (dtype, of_channel) = (self.dtype, rect.area() * self.dtype.size());
        self.found.clear();
        self.found.resize(channels.len(), 0);
        let touched = table.planes(row as u64, &mut |channel, plane| {
            if plane.len() != height * width {
                return Err(format!("channel {channel} has {} pixels; expected {}", plane.len(), height * width));
            }
            for (at, _) in channels.iter().enumerate().filter(|&(_, &wanted)| wanted as i64 == channel) {
                let out = &mut out[at * of_channel..(at + 1) * of_channel];
                cut_numbers(plane, width, rect, dtype, out)
                    .map_err(|number| format!("channel {channel} has a pixel of {number}; expected 0 to 255"))?;
                self.found[at] += 1;
            }
            Ok(())
        })?;
        if let Some(at) = self.found.iter().position(|&found| found != 1) {
            let (channel, found) = (channels[at], self.found[at]);
            let problem = format!("row {row}: {found} planes of channel {channel}; expected one");
            return Err(FormatError::corrupt(table.path(), problem));
        }
        Ok(touched)
    }
}

/// Copies `rect` out of a plane. The error is a number that does not fit.
fn cut_numbers(plane: &[u16], width: usize, rect: Rect, dtype: Dtype, out: &mut [u8]) -> Result<(), u16> {
    let rows = (rect.y0..rect.y1).map(|y| &plane[y * width + rect.x0..y * width + rect.x1]);
    if dtype != Dtype::U8 {
        let len = rect.width() * size_of::<u16>();
        rows.zip(out.chunks_exact_mut(len)).for_each(|(row, out)| out.copy_from_slice(bytemuck::cast_slice(row)));
        return Ok(());
    }
    for (row, out) in rows.zip(out.chunks_exact_mut(rect.width())) {
        for (&number, out) in row.iter().zip(out) {
            *out = u8::try_from(number).map_err(|_| number)?;
        }
    }
    Ok(())
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
                let tiles = Tiles::of(dataset, side);
                let end = tiles.last().map_or(0, |last| last.row(channels, 0, 0));
                check_table(&table, end, dtype, Some(side * side))?;
                Store::Tiles(TileStore { side, tiles, pixel: dtype.size(), rows: Vec::new(), places: Vec::new() })
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

/// Sites as rows of tiles.
struct TileStore {
    side: usize,
    tiles: Vec<Tiles>,
    pixel: usize,
    /// Rows of a read, and the channel and first row and column of the tile in each; reused.
    rows: Vec<u64>,
    places: Vec<(usize, usize, usize)>,
}

impl TileStore {
    fn read(
        &mut self,
        table: &mut impl Table,
        site: usize,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
    ) -> Result<u64, FormatError> {
        let Self { side, tiles, pixel, rows, places } = self;
        let (side, pixel, tiles) = (*side, *pixel, tiles[site]);
        rows.clear();
        places.clear();
        // Rows are read in the order of the table, whatever the order of channels.
        for channel in (0..=channels.iter().copied().max().unwrap_or(0)).filter(|channel| channels.contains(channel)) {
            for down in rect.y0 / side..rect.y1.div_ceil(side) {
                for across in rect.x0 / side..rect.x1.div_ceil(side) {
                    rows.push(tiles.row(channel, down, across));
                    places.push((channel, down * side, across * side));
                }
            }
        }
        let of_channel = rect.area() * pixel;
        table.lists(rows, &mut |at, tile| {
            let (channel, y, x) = places[at];
            let (top, bottom) = (rect.y0.max(y), rect.y1.min(y + side));
            let (left, right) = (rect.x0.max(x), rect.x1.min(x + side));
            for (place, _) in channels.iter().enumerate().filter(|&(_, &wanted)| wanted == channel) {
                let out = &mut out[place * of_channel..(place + 1) * of_channel];
                for row in top..bottom {
                    let from = ((row - y) * side + left - x) * pixel;
                    let to = ((row - rect.y0) * rect.width() + left - rect.x0) * pixel;
                    let len = (right - left) * pixel;
                    out[to..to + len].copy_from_slice(&tile[from..from + len]);
                }
            }
            Ok(())
        })
    }
}
