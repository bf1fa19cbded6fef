//! Sites whose rows are tiles.

use crate::crop::Rect;
use crate::{Dataset, FormatError};

use super::Table;

/// Where the tiles of a site lie in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tiles {
    /// Row of the first tile.
    first: u64,
    /// Rows of tiles.
    down: usize,
    /// Tiles in a row.
    across: usize,
}

impl Tiles {
    /// The tiles of every site.
    fn of(dataset: &Dataset, side: usize) -> Vec<Self> {
        let mut first = 0;
        let of_site = |site: usize| {
            let [channels, height, width] = dataset.site_shape(site);
            let tiles = Self { first, down: height.div_ceil(side), across: width.div_ceil(side) };
            first += (channels * tiles.down * tiles.across) as u64;
            tiles
        };
        (0..dataset.info.sites.len()).map(of_site).collect()
    }

    /// Row of a tile.
    fn row(&self, channel: usize, down: usize, across: usize) -> u64 {
        self.first + ((channel * self.down + down) * self.across + across) as u64
    }
}

/// Sites as rows of tiles.
pub struct TileStore {
    side: usize,
    channels: usize,
    tiles: Vec<Tiles>,
    pixel: usize,
    /// Rows of a read, and the channel and first row and column of the tile in each; reused.
    rows: Vec<u64>,
    places: Vec<(usize, usize, usize)>,
}

impl TileStore {
    /// The tiles of a dataset, `side` pixels wide and high.
    pub fn new(dataset: &Dataset, side: usize) -> Self {
        let (channels, pixel) = (dataset.channels(), dataset.info.dtype.size());
        Self { side, channels, tiles: Tiles::of(dataset, side), pixel, rows: Vec::new(), places: Vec::new() }
    }

    /// Rows that the table must have.
    pub fn rows(&self) -> u64 {
        self.tiles.last().map_or(0, |last| last.row(self.channels, 0, 0))
    }

    /// Reads the rectangle `rect` of `channels` of a site into `out`: (C, Y, X).
    pub fn read(
        &mut self,
        table: &mut impl Table,
        site: usize,
        channels: &[usize],
        rect: Rect,
        out: &mut [u8],
    ) -> Result<u64, FormatError> {
        let Self { side, tiles, pixel, rows, places, .. } = self;
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
