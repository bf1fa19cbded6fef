//! How one image is stored: its sizes, and the pieces that its pixels are cut into.

use pcb_protocol::Dtype;

use super::unpack::Codec;

/// Element type of stored pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    U8,
    U16,
    F32,
    I8,
    I16,
}

impl Element {
    /// The one with this numpy name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "uint8" | "|u1" | "u1" => Some(Self::U8),
            "uint16" | "<u2" | "u2" => Some(Self::U16),
            "float32" | "<f4" | "f4" | "float" => Some(Self::F32),
            "int8" | "|i1" | "i1" => Some(Self::I8),
            "int16" | "<i2" | "i2" => Some(Self::I16),
            _ => None,
        }
    }

    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::F32 => 4,
        }
    }

    /// What is handed out: signed integers become floats, which hold them exactly.
    pub fn dtype(self) -> Dtype {
        match self {
            Self::U8 => Dtype::U8,
            Self::U16 => Dtype::U16,
            Self::F32 | Self::I8 | Self::I16 => Dtype::F32,
        }
    }

    /// The one that holds `dtype`.
    pub fn of(dtype: Dtype) -> Self {
        match dtype {
            Dtype::U8 => Self::U8,
            Dtype::U16 => Self::U16,
            Dtype::F32 => Self::F32,
        }
    }

    /// Its numpy name.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8",
            Self::U16 => "uint16",
            Self::F32 => "float32",
            Self::I8 => "int8",
            Self::I16 => "int16",
        }
    }
}

/// Which leaf holds the pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Storage {
    /// `planes`: a list of numbers for each plane.
    PlaneLists,
    /// `chunks` with a list of numbers each.
    ChunkLists,
    /// `chunks` with bytes each.
    ChunkBytes,
}

/// A part of an image that is stored as one: a plane, or a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Piece {
    /// First channel, and number of channels.
    pub channel: usize,
    pub channels: usize,
    /// First row and column.
    pub y: usize,
    pub x: usize,
    pub height: usize,
    pub width: usize,
    pub codec: Codec,
    /// Where a chunk dataset keeps it: row group, and row there.
    pub group: u32,
    pub row: u32,
}

impl Piece {
    /// Number of pixels.
    pub fn pixels(&self) -> usize {
        self.channels * self.height * self.width
    }
}

/// How an image is stored. Images of a table that are stored alike share one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shape {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub element: Element,
    pub storage: Storage,
    pub pieces: Vec<Piece>,
}

/// More pixels than this are a lie.
const LARGEST: i64 = 1 << 40;
/// The format's own number of channels has 16 bits.
const MOST_CHANNELS: i64 = i16::MAX as i64;

/// Why an image cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Problem {
    /// It holds what is not supported.
    Unsupported(String),
    /// It does not hold what it should.
    Corrupt(String),
}

/// The axes' sizes, as the file has them.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub t: i64,
    pub c: i64,
    pub z: i64,
    pub y: i64,
    pub x: i64,
}

impl Sizes {
    /// (channels, height, width), if this is a single plane of each channel.
    pub fn planes(self) -> Result<(usize, usize, usize), Problem> {
        let Self { t, c, z, y, x } = self;
        let small = |size: i64| (1..=i64::from(i32::MAX)).contains(&size);
        let all = [t, c, z, y, x];
        let product = all.iter().try_fold(1_i64, |product, &size| product.checked_mul(size));
        if !all.iter().all(|&size| small(size)) || c > MOST_CHANNELS || product.is_none_or(|p| p > LARGEST) {
            return Err(Problem::Corrupt(format!("sizes t {t}, c {c}, z {z}, y {y}, x {x} are impossible")));
        }
        if (t, z) != (1, 1) {
            return Err(Problem::Unsupported(format!(
                "an image of {z} z planes and {t} time points; images of one plane for each channel are read"
            )));
        }
        Ok((c as usize, y as usize, x as usize))
    }
}

impl Shape {
    /// An error unless the pieces of every channel cover it without gaps and overlaps.
    pub fn check(&self) -> Result<(), Problem> {
        for (index, piece) in self.pieces.iter().enumerate() {
            let inside = |first: usize, size: usize, end: usize| size > 0 && first.saturating_add(size) <= end;
            if !inside(piece.channel, piece.channels, self.channels)
                || !inside(piece.y, piece.height, self.height)
                || !inside(piece.x, piece.width, self.width)
            {
                return Err(Problem::Corrupt(format!(
                    "{} {index} at channel {}, row {}, column {} of {}x{} pixels lies outside the image of {} channels, \
                     {}x{}",
                    self.part(),
                    piece.channel,
                    piece.y,
                    piece.x,
                    piece.height,
                    piece.width,
                    self.channels,
                    self.height,
                    self.width
                )));
            }
        }
        let pixels = self.pieces.iter().map(Piece::pixels).fold(0_usize, usize::saturating_add);
        let expected = self.channels * self.height * self.width;
        if pixels != expected {
            let part = self.part();
            return Err(Problem::Corrupt(format!("its {part}s hold {pixels} pixels; expected {expected}")));
        }
        // Pieces sorted by channel, row, column: each must begin where those before it end.
        let mut of_channel: Vec<Vec<&Piece>> = vec![Vec::new(); self.channels];
        for piece in &self.pieces {
            of_channel[piece.channel..piece.channel + piece.channels].iter_mut().for_each(|list| list.push(piece));
        }
        for (channel, mut pieces) in of_channel.into_iter().enumerate() {
            pieces.sort_by_key(|piece| (piece.y, piece.x));
            let (mut top, mut left, mut high) = (0, 0, 0);
            for piece in pieces {
                if left == self.width {
                    (top, left) = (top + high, 0);
                }
                if left == 0 {
                    high = piece.height;
                }
                if (piece.y, piece.x, piece.height) != (top, left, high) {
                    return Err(self.gap(channel, top, left));
                }
                left += piece.width;
            }
            if (top + high, left) != (self.height, self.width) {
                return Err(self.gap(channel, top, left));
            }
        }
        Ok(())
    }

    fn gap(&self, channel: usize, y: usize, x: usize) -> Problem {
        let part = self.part();
        Problem::Corrupt(format!("channel {channel}: a {part} is missing or overlaps at row {y}, column {x}"))
    }

    /// What its pieces are called.
    pub fn part(&self) -> &'static str {
        if self.storage == Storage::PlaneLists { "plane" } else { "chunk" }
    }
}

#[cfg(test)]
mod tests;
