//! Ways of packing the chunks of a page, and their numbers in a TIFF file.

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// LZW, most significant bit first.
    Lzw,
    /// Deflate in a zlib container.
    Deflate,
    /// Run lengths.
    PackBits,
    /// Zstandard frames.
    Zstd,
}

impl Compression {
    /// The one with the number `code` in a file; an error that lists the known ones.
    pub fn of(code: u64) -> Result<Self, String> {
        match code {
            1 => Ok(Self::None),
            5 => Ok(Self::Lzw),
            8 | 32946 => Ok(Self::Deflate),
            32773 => Ok(Self::PackBits),
            50000 => Ok(Self::Zstd),
            other => {
                let known = "pcb reads none (1), LZW (5), Deflate (8), PackBits (32773) and Zstandard (50000)";
                Err(format!("compression {other}; {known}"))
            }
        }
    }

    /// Its number in a file.
    pub fn code(self) -> u16 {
        match self {
            Self::None => 1,
            Self::Lzw => 5,
            Self::Deflate => 8,
            Self::PackBits => 32773,
            Self::Zstd => 50000,
        }
    }

    /// More bytes of pixels than one stored byte can stand for: a header that says so lies.
    pub fn tightest(self) -> u128 {
        match self {
            Self::None => 1,
            // LZW reaches 2,560, Deflate 1,032, PackBits 64.
            Self::Lzw | Self::Deflate | Self::PackBits => 4096,
            // A block of 128 KiB that repeats one byte takes 4.
            Self::Zstd => 32768,
        }
    }
}

/// What is stored instead of the pixels, because it packs better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Predictor {
    /// The pixels.
    None,
    /// Differences from the left neighbour, as whole numbers of the pixel's width (predictor 2).
    Horizontal,
    /// The bytes of a row of floats, sorted by their weight, as differences from the byte before (predictor 3).
    Float,
}

impl Predictor {
    /// The one with the number `code` in a file; an error that lists the known ones.
    pub fn of(code: u64) -> Result<Self, String> {
        match code {
            1 => Ok(Self::None),
            2 => Ok(Self::Horizontal),
            3 => Ok(Self::Float),
            other => Err(format!("predictor {other}; pcb reads none (1), horizontal (2) and floating point (3)")),
        }
    }

    /// Its number in a file.
    pub fn code(self) -> u16 {
        match self {
            Self::None => 1,
            Self::Horizontal => 2,
            Self::Float => 3,
        }
    }
}
