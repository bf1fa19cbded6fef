//! What is wanted of an image, and how it is copied out of what was read.

use crate::crop::Rect;
use crate::raw::grown;

use super::copy::{Number, Part};
use super::leaf::Values;
use super::shape::{Piece, Shape};
use super::unpack::{Codec, Unpacker};

/// What is wanted of an image.
pub struct Target<'a> {
    pub shape: &'a Shape,
    pub channels: &'a [usize],
    pub rect: Rect,
}

impl Target<'_> {
    /// Calls `each(piece number, piece, part)` for the pieces that hold something of the rectangle.
    pub fn pieces(&self, mut each: impl FnMut(usize, &Piece, Part) -> Result<(), String>) -> Result<(), String> {
        for (number, piece) in self.shape.pieces.iter().enumerate() {
            let wanted = |&channel: &usize| (piece.channel..piece.channel + piece.channels).contains(&channel);
            if let Some(part) = Part::of(piece, self.rect).filter(|_| self.channels.iter().any(wanted)) {
                let named = |problem: String| format!("{} {number}: {problem}", self.shape.part());
                each(number, piece, part).map_err(named)?;
            }
        }
        Ok(())
    }

    /// Copies the part of a piece whose unpacked pixels are `pixels`. Returns the bytes of the channels that were used.
    fn copy(&self, piece: &Piece, part: Part, pixels: &[u8], out: &mut [u8]) -> u64 {
        let (element, rect) = (self.shape.element, self.rect);
        let plane = rect.area() * element.dtype().size();
        let stored = piece.height * piece.width * element.size();
        let mut used = 0;
        for (&channel, out) in self.channels.iter().zip(out.chunks_exact_mut(plane)) {
            if let Some(within) = channel.checked_sub(piece.channel).filter(|&within| within < piece.channels) {
                part.bytes(piece, rect, element, &pixels[within * stored..(within + 1) * stored], out);
                used += stored as u64;
            }
        }
        used
    }

    /// Unpacks the pixels of a piece if they are packed, and copies its part. Returns the bytes of `packed` that were used.
    pub fn unpack(
        &self,
        piece: &Piece,
        part: Part,
        packed: &[u8],
        unpacker: &mut Unpacker,
        scratch: &mut Vec<u8>,
        out: &mut [u8],
    ) -> Result<u64, String> {
        let len = piece.pixels() * self.shape.element.size();
        if piece.codec == Codec::None {
            if packed.len() != len {
                return Err(format!("holds {} bytes of pixels; expected {len}", packed.len()));
            }
            return Ok(self.copy(piece, part, packed, out));
        }
        let pixels = grown(scratch, len);
        unpacker.chunk(piece.codec, packed, pixels)?;
        self.copy(piece, part, pixels, out);
        Ok(packed.len() as u64)
    }

    /// Copies out of the chunks of a row. Returns the bytes of them that were used; an error is a problem in words.
    pub fn take_bytes(
        &self,
        values: &Values,
        unpacker: &mut Unpacker,
        scratch: &mut Vec<u8>,
        out: &mut [u8],
    ) -> Result<u64, String> {
        let (pieces, found) = (self.shape.pieces.len(), values.bytes.len());
        if found != pieces || values.entries() != pieces {
            return Err(format!("holds the pixels of {found} chunks; expected {pieces}"));
        }
        let mut used = 0;
        self.pieces(|number, piece, part| {
            used += self.unpack(piece, part, values.bytes[number].data(), unpacker, scratch, out)?;
            Ok(())
        })?;
        Ok(used)
    }

    /// Copies out of the lists of a row, whose elements have the repetition level `innermost`.
    pub fn take_numbers<T: Number>(
        &self,
        innermost: i16,
        values: &Values,
        numbers: &[T],
        out: &mut [u8],
    ) -> Result<(), String> {
        let starts = values.lists(innermost);
        let (pieces, total) = (&self.shape.pieces, self.shape.pieces.iter().map(Piece::pixels).sum::<usize>());
        let part = self.shape.part();
        if starts != pieces.len() {
            return Err(format!("holds the pixels of {starts} {part}s; expected {}", pieces.len()));
        }
        if numbers.len() != total || values.entries() != total {
            return Err(format!("holds {} pixels; expected {total}", numbers.len()));
        }
        let mut firsts = Vec::with_capacity(pieces.len());
        let mut first = 0;
        for (number, piece) in pieces.iter().enumerate() {
            if !values.begins_list(innermost, first) {
                return Err(format!("{part} {number} does not hold {} pixels", piece.pixels()));
            }
            firsts.push(first);
            first += piece.pixels();
        }
        let (rect, dtype) = (self.rect, self.shape.element.dtype());
        let plane = rect.area() * dtype.size();
        self.pieces(|number, piece, part| {
            let numbers = &numbers[firsts[number]..firsts[number] + piece.pixels()];
            for (&channel, out) in self.channels.iter().zip(out.chunks_exact_mut(plane)) {
                if channel == piece.channel {
                    part.numbers(piece, rect, dtype, numbers, out)?;
                }
            }
            Ok(())
        })
    }
}
