//! Copies what a rectangle needs of a stored piece.

use pcb_protocol::Dtype;

use crate::crop::Rect;

use super::shape::{Element, Piece};

/// The part of a rectangle that a piece holds.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// First row and column within the piece.
    from: (usize, usize),
    /// First row and column within the rectangle.
    to: (usize, usize),
    height: usize,
    width: usize,
}

impl Part {
    /// `None` where the piece holds nothing of the rectangle.
    pub fn of(piece: &Piece, rect: Rect) -> Option<Self> {
        let (top, bottom) = (rect.y0.max(piece.y), rect.y1.min(piece.y + piece.height));
        let (left, right) = (rect.x0.max(piece.x), rect.x1.min(piece.x + piece.width));
        (top < bottom && left < right).then(|| Self {
            from: (top - piece.y, left - piece.x),
            to: (top - rect.y0, left - rect.x0),
            height: bottom - top,
            width: right - left,
        })
    }

    /// Calls `each(first pixel of the piece, first pixel of the rectangle)` for every row.
    fn rows(
        &self,
        piece: &Piece,
        rect: Rect,
        mut each: impl FnMut(usize, usize) -> Result<(), String>,
    ) -> Result<(), String> {
        for row in 0..self.height {
            let from = (self.from.0 + row) * piece.width + self.from.1;
            each(from, (self.to.0 + row) * rect.width() + self.to.1)?;
        }
        Ok(())
    }

    /// Copies out of the little-endian bytes of one channel of the piece into `out`, the rectangle of one channel.
    pub fn bytes(&self, piece: &Piece, rect: Rect, element: Element, plane: &[u8], out: &mut [u8]) {
        let (size, width) = (element.size(), self.width);
        let wide = element.dtype().size();
        // Without an error to return, every row is copied.
        let _ = self.rows(piece, rect, |from, to| {
            let source = &plane[from * size..(from + width) * size];
            let out = &mut out[to * wide..(to + width) * wide];
            match element {
                Element::I8 => floats(out, source.iter().map(|&byte| f32::from(byte as i8))),
                Element::I16 => {
                    floats(out, source.as_chunks().0.iter().map(|&pixel| f32::from(i16::from_le_bytes(pixel))));
                }
                Element::U16 if cfg!(target_endian = "big") => swapped::<2>(source, out),
                Element::F32 if cfg!(target_endian = "big") => swapped::<4>(source, out),
                Element::U8 | Element::U16 | Element::F32 => out.copy_from_slice(source),
            }
            Ok(())
        });
    }

    /// Copies out of the numbers of the piece into `out`, the rectangle of one channel. An error is a problem in words.
    pub fn numbers<T: Number>(
        &self,
        piece: &Piece,
        rect: Rect,
        dtype: Dtype,
        numbers: &[T],
        out: &mut [u8],
    ) -> Result<(), String> {
        let largest = if dtype == Dtype::U8 { u64::from(u8::MAX) } else { u64::from(u16::MAX) };
        self.rows(piece, rect, |from, to| {
            let source = &numbers[from..from + self.width];
            // All bits of all pixels: what fits into the dtype sets none above it.
            let bits = match dtype {
                Dtype::U8 => source.iter().zip(&mut out[to..]).fold(0, |bits, (&number, out)| {
                    *out = number.bits() as u8;
                    bits | number.bits()
                }),
                _ => source.iter().zip(out[2 * to..].as_chunks_mut().0).fold(0, |bits, (&number, out)| {
                    *out = (number.bits() as u16).to_ne_bytes();
                    bits | number.bits()
                }),
            };
            if bits <= largest {
                return Ok(());
            }
            let wrong = source.iter().position(|number| number.bits() > largest).unwrap_or(0);
            Err(format!("pixel {} is {}; expected 0 to {largest}", from + wrong, source[wrong].signed()))
        })
    }
}

fn floats(out: &mut [u8], pixels: impl Iterator<Item = f32>) {
    out.as_chunks_mut().0.iter_mut().zip(pixels).for_each(|(out, pixel)| *out = pixel.to_ne_bytes());
}

fn swapped<const N: usize>(source: &[u8], out: &mut [u8]) {
    for (source, out) in source.as_chunks::<N>().0.iter().zip(out.as_chunks_mut::<N>().0) {
        *out = *source;
        out.reverse();
    }
}

/// How Parquet stores the numbers of a list.
pub trait Number: Copy {
    /// All bits; a negative number has the highest ones set.
    fn bits(self) -> u64;
    /// The number itself.
    fn signed(self) -> i64;
}

impl Number for i32 {
    fn bits(self) -> u64 {
        u64::from(self as u32)
    }

    fn signed(self) -> i64 {
        i64::from(self)
    }
}

impl Number for i64 {
    fn bits(self) -> u64 {
        self as u64
    }

    fn signed(self) -> i64 {
        self
    }
}
