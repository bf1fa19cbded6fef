//! Rows that are OME-Arrow images.

use pcb_protocol::Dtype;

use crate::FormatError;
use crate::crop::Rect;

use super::{Meta, Table};

/// What the images of a table must be, and whether they were found to be so.
pub struct Images {
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
    /// Images of this type, so many channels, and the height and width of each row.
    pub fn new(dtype: Dtype, channels: usize, sizes: Vec<(usize, usize)>) -> Self {
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
    pub fn read(
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
