//! Geometry of crops: which source pixels a crop needs, and what stands past the edges. Pure.
//!
//! A crop of `height` rows around a centre row begins at row `round(centre) - height / 2` (integer division, halves
//! round away from zero; a centre within half a pixel of the far edge, which rounds off the site, is the last row), and
//! in the same way for columns. So a smaller crop is the centre of a larger one: its
//! first row there is `larger / 2 - smaller / 2`.

use pcb_protocol::Pad;

use crate::SitePixels;

/// Stands in an index map for a pixel that the source lacks.
const OUTSIDE: usize = usize::MAX;

/// Where a crop lies on its site, in pixels; it may reach past every edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First row.
    pub y: i64,
    /// First column.
    pub x: i64,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl Window {
    /// The window of `height` x `width` pixels around the pixel at row `y` and column `x`; see [`nearest`].
    pub fn around(y: i64, x: i64, height: usize, width: usize) -> Self {
        Self { y: y - (height / 2) as i64, x: x - (width / 2) as i64, height, width }
    }

    /// Whether no part of it reaches past an edge of a site of `height` x `width` pixels.
    pub fn is_inside(&self, height: usize, width: usize) -> bool {
        let inside = |first: i64, size: usize, len: usize| first >= 0 && first + size as i64 <= len as i64;
        inside(self.y, self.height, height) && inside(self.x, self.width, width)
    }

    /// Whether any part of it lies on a site of `height` x `width` pixels.
    pub fn overlaps(&self, height: usize, width: usize) -> bool {
        let meets = |first: i64, size: usize, len: usize| first < len as i64 && first + size as i64 > 0;
        meets(self.y, self.height, height) && meets(self.x, self.width, width)
    }
}

/// The pixel of an axis of `len` pixels that is nearest to `centre`. Centres further than half a pixel past an edge keep
/// their place outside.
pub fn nearest(centre: f32, len: u32) -> i64 {
    match centre.round() as i64 {
        -1 => 0,
        rounded if rounded == i64::from(len) => rounded - 1,
        rounded => rounded,
    }
}

/// A rectangle of source pixels: rows `y0..y1`, columns `x0..x1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// First row.
    pub y0: usize,
    /// End row, excluded.
    pub y1: usize,
    /// First column.
    pub x0: usize,
    /// End column, excluded.
    pub x1: usize,
}

impl Rect {
    /// Rows.
    pub fn height(&self) -> usize {
        self.y1 - self.y0
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.x1 - self.x0
    }

    /// Number of pixels.
    pub fn area(&self) -> usize {
        self.height() * self.width()
    }
}

/// The source index of position `at` on an axis of `len` pixels (`len` at least 1), or `None` where zero stands.
///
/// `Pad::Reflect` mirrors at the edge pixels without repeating them, as often as needed (numpy's `reflect`).
pub fn source_index(at: i64, len: usize, pad: Pad) -> Option<usize> {
    if at >= 0 && at < len as i64 {
        return Some(at as usize);
    }
    match pad {
        Pad::Zero => None,
        Pad::Reflect if len == 1 => Some(0),
        Pad::Reflect => {
            let period = 2 * (len as i64 - 1);
            let folded = at.rem_euclid(period);
            Some(folded.min(period - folded) as usize)
        }
    }
}

/// Cuts one window after the other, reusing its index maps. A window inside its site needs none and is copied row by
/// row.
#[derive(Debug, Default)]
pub struct Cutter {
    /// Source row of each crop row, relative to the rectangle; empty when `inside`.
    rows: Vec<usize>,
    /// The same for columns.
    columns: Vec<usize>,
    /// Crop columns `run.0..run.1` are neighbours in the source.
    run: (usize, usize),
    height: usize,
    width: usize,
    inside: bool,
}

impl Cutter {
    /// Prepares to cut `window` out of a plane of `height` x `width` pixels and returns the source rectangle that it
    /// needs (empty when zero padding fills all of it).
    pub fn aim(&mut self, window: Window, height: usize, width: usize, pad: Pad) -> Rect {
        (self.height, self.width) = (window.height, window.width);
        self.inside = window.is_inside(height, width);
        if self.inside {
            let (y0, x0) = (window.y as usize, window.x as usize);
            return Rect { y0, y1: y0 + window.height, x0, x1: x0 + window.width };
        }
        let (y0, y1) = fill_map(&mut self.rows, window.y, window.height, height, pad);
        let (x0, x1) = fill_map(&mut self.columns, window.x, window.width, width, pad);
        let end = (width as i64 - window.x).clamp(0, window.width as i64) as usize;
        let start = (-window.x).clamp(0, end as i64) as usize;
        self.run = (start, end);
        Rect { y0, y1, x0, x1 }
    }

    /// Whether the window last aimed at lies inside its plane: then the rectangle is the crop itself.
    pub fn is_inside(&self) -> bool {
        self.inside
    }

    /// Cuts the window last aimed at. `source` begins at the rectangle's first pixel, its rows are `stride` elements
    /// apart; `out` is the crop, (Y, X).
    pub fn cut<T: Copy + Default>(&self, source: &[T], stride: usize, out: &mut [T]) {
        if self.inside {
            for (row, line) in out.chunks_exact_mut(self.width).enumerate() {
                line.copy_from_slice(&source[row * stride..row * stride + self.width]);
            }
            return;
        }
        let (start, end) = self.run;
        for (&row, line) in self.rows.iter().zip(out.chunks_exact_mut(self.width)) {
            if row == OUTSIDE {
                line.fill(T::default());
                continue;
            }
            let source = &source[(row * stride).min(source.len())..];
            let pixel = |column: usize| if column == OUTSIDE { T::default() } else { source[column] };
            for (out, &column) in line[..start].iter_mut().zip(&self.columns[..start]) {
                *out = pixel(column);
            }
            if start < end {
                let first = self.columns[start];
                line[start..end].copy_from_slice(&source[first..first + end - start]);
            }
            for (out, &column) in line[end..].iter_mut().zip(&self.columns[end..]) {
                *out = pixel(column);
            }
        }
    }

    /// [`Cutter::cut`] on bytes; `stride` in pixels, `pixel` is the size of one in bytes: 1, 2 or 4.
    pub fn cut_bytes(&self, source: &[u8], stride: usize, pixel: usize, out: &mut [u8]) {
        match pixel {
            1 => self.cut::<u8>(source, stride, out),
            2 => self.cut::<[u8; 2]>(whole(source), stride, bytemuck::cast_slice_mut(out)),
            4 => self.cut::<[u8; 4]>(whole(source), stride, bytemuck::cast_slice_mut(out)),
            _ => unreachable!("pixels have 1, 2 or 4 bytes"),
        }
    }
}

/// `bytes` as pixels of `N` bytes; a rest shorter than a pixel is left out.
fn whole<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks().0
}

/// Fills `map` with the source index of each of `size` positions from `first`, relative to the least of them, and
/// returns the range they span.
fn fill_map(map: &mut Vec<usize>, first: i64, size: usize, len: usize, pad: Pad) -> (usize, usize) {
    map.clear();
    map.extend((0..size as i64).map(|step| source_index(first + step, len, pad).unwrap_or(OUTSIDE)));
    let within = || map.iter().copied().filter(|&index| index != OUTSIDE);
    let (Some(least), Some(most)) = (within().min(), within().max()) else {
        return (0, 0);
    };
    for index in map.iter_mut().filter(|index| **index != OUTSIDE) {
        *index -= least;
    }
    (least, most + 1)
}

/// Cuts one window out of a whole plane of `height` x `width` elements into `out`, (Y, X).
pub fn cut_plane<T: Copy + Default>(plane: &[T], height: usize, width: usize, window: Window, pad: Pad, out: &mut [T]) {
    let mut cutter = Cutter::default();
    let rect = cutter.aim(window, height, width, pad);
    cutter.cut(&plane[rect.y0 * width + rect.x0..], width, out);
}

/// Cuts one window out of `channels` of a whole site into `out`: (C, Y, X) bytes in native order.
pub fn cut_site(site: &SitePixels, channels: &[usize], window: Window, pad: Pad, cutter: &mut Cutter, out: &mut [u8]) {
    let pixel = site.data.dtype().size();
    let rect = cutter.aim(window, site.height, site.width, pad);
    let bytes = site.data.bytes();
    for (&channel, out) in channels.iter().zip(out.chunks_exact_mut(window.height * window.width * pixel)) {
        let first = (channel * site.height + rect.y0) * site.width + rect.x0;
        cutter.cut_bytes(&bytes[first * pixel..], site.width, pixel, out);
    }
}

/// Sets to zero every pixel of a crop (Y, X) that lies past the edges of its site of `height` x `width` pixels.
/// Turns a crop padded by reflection into one padded with zeros.
pub fn blank_outside(window: Window, height: usize, width: usize, pixel: usize, out: &mut [u8]) {
    let clamp = |at: i64, size: usize| at.clamp(0, size as i64) as usize;
    let (y0, y1) = (clamp(-window.y, window.height), clamp(height as i64 - window.y, window.height));
    let (x0, x1) = (clamp(-window.x, window.width), clamp(width as i64 - window.x, window.width));
    for (row, line) in out.chunks_exact_mut(window.width * pixel).enumerate() {
        if row < y0 || row >= y1 {
            line.fill(0);
        } else {
            line[..x0 * pixel].fill(0);
            line[x1 * pixel..].fill(0);
        }
    }
}

#[cfg(test)]
mod tests;
