//! One page of a TIFF file: its shape and where its chunks (strips or tiles) lie.

use std::fs::File;
use std::path::Path;

use pcb_protocol::Dtype;

use crate::FormatError;

use super::compression::{Compression, Predictor};
use super::directory::{Directory, TiffFile};
use super::sample::Sample;

/// Chunks that decode to more bytes than this are refused: no microscope writes them, a lying header does.
const LARGEST_CHUNK: u128 = 1 << 30;

mod tag {
    pub const WIDTH: u16 = 256;
    pub const HEIGHT: u16 = 257;
    pub const BITS: u16 = 258;
    pub const COMPRESSION: u16 = 259;
    pub const PHOTOMETRIC: u16 = 262;
    pub const FILL_ORDER: u16 = 266;
    pub const STRIP_OFFSETS: u16 = 273;
    pub const SAMPLES: u16 = 277;
    pub const ROWS_PER_STRIP: u16 = 278;
    pub const STRIP_BYTES: u16 = 279;
    pub const PREDICTOR: u16 = 317;
    pub const TILE_WIDTH: u16 = 322;
    pub const TILE_HEIGHT: u16 = 323;
    pub const TILE_OFFSETS: u16 = 324;
    pub const TILE_BYTES: u16 = 325;
    pub const SAMPLE_FORMAT: u16 = 339;
}

/// Shape and element type of one page of a TIFF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageInfo {
    /// Height in pixels.
    pub height: u32,
    /// Width in pixels.
    pub width: u32,
    /// Element type of the pixels handed out; integers that are neither u8 nor u16 come as f32.
    pub dtype: Dtype,
}

/// A page that can be read: one sample per pixel, grey.
#[derive(Debug, Clone)]
pub struct Page {
    /// Its shape.
    pub info: PageInfo,
    /// How a pixel is stored.
    pub sample: Sample,
    /// Whether pixels are big-endian.
    pub big_endian: bool,
    /// How chunks are compressed.
    pub compression: Compression,
    /// What is stored instead of the pixels.
    pub predictor: Predictor,
    /// Rows of a chunk; the last strip may have fewer.
    pub chunk_height: usize,
    /// Columns of a chunk. Tiles are stored whole even where they reach past the image.
    pub chunk_width: usize,
    /// Chunks beside each other.
    pub across: usize,
    /// Offset and length in bytes of each chunk, row by row.
    pub chunks: Vec<(u64, usize)>,
}

impl Page {
    /// Reads page number `page` of the open `file`, which lies at `path`.
    pub fn read(path: &Path, file: &File, page: u32) -> Result<Self, FormatError> {
        let tiff = TiffFile::open(path, file)?;
        let directory = tiff.directory(page)?;
        Self::parse(&tiff, &directory)
    }

    /// Reads the pages with these numbers of the open `file`, which lies at `path`. Each directory up to the last of
    /// them is read once.
    pub fn read_many(path: &Path, file: &File, pages: &[u32]) -> Result<Vec<Self>, FormatError> {
        let tiff = TiffFile::open(path, file)?;
        let count = pages.iter().max().map_or(0, |&last| last as usize + 1);
        let directories = tiff.directories().take(count).collect::<Result<Vec<_>, _>>()?;
        let page = |&page: &u32| match directories.get(page as usize) {
            Some(directory) => Self::parse(&tiff, directory),
            None => Err(tiff.missing(page, directories.len())),
        };
        pages.iter().map(page).collect()
    }

    /// The page that `directory` describes.
    pub fn parse(tiff: &TiffFile<'_>, directory: &Directory) -> Result<Self, FormatError> {
        let (info, sample) = info(tiff, directory)?;
        let number = |tag, default| tiff.number_or(directory, tag, default);
        let unsupported = |what| tiff.unsupported(what);
        let compression = Compression::of(number(tag::COMPRESSION, 1)?).map_err(unsupported)?;
        let predictor = Predictor::of(number(tag::PREDICTOR, 1)?).map_err(unsupported)?;
        if predictor == Predictor::Float && sample != Sample::F32 {
            return Err(tiff.corrupt("the floating point predictor (3) on whole numbers"));
        }
        let (height, width) = (u64::from(info.height), u64::from(info.width));
        let tiled = tiff.numbers(directory, tag::TILE_OFFSETS)?;
        let (chunk_height, chunk_width, offsets, lengths) = match tiled {
            Some(offsets) => {
                let lengths = tiff.numbers(directory, tag::TILE_BYTES)?;
                (number(tag::TILE_HEIGHT, 0)?, number(tag::TILE_WIDTH, 0)?, Some(offsets), lengths)
            }
            None => {
                let rows = number(tag::ROWS_PER_STRIP, height)?.min(height);
                let offsets = tiff.numbers(directory, tag::STRIP_OFFSETS)?;
                (rows, width, offsets, tiff.numbers(directory, tag::STRIP_BYTES)?)
            }
        };
        let (Some(offsets), Some(lengths)) = (offsets, lengths) else {
            return Err(tiff.corrupt("no strips and no tiles"));
        };
        let (chunk_height, chunk_width) = chunk_size(tiff, chunk_height, chunk_width, sample)?;
        let across = info.width.div_ceil(chunk_width) as usize;
        let down = info.height.div_ceil(chunk_height) as usize;
        if offsets.len() as u128 != across as u128 * down as u128 || lengths.len() != offsets.len() {
            let (offsets, lengths) = (offsets.len(), lengths.len());
            let problem = format!("{offsets} offsets and {lengths} lengths of chunks; expected {down} x {across}");
            return Err(tiff.corrupt(problem));
        }
        let page = Self {
            info,
            sample,
            big_endian: tiff.big_endian,
            compression,
            predictor,
            chunk_height: chunk_height as usize,
            chunk_width: chunk_width as usize,
            across,
            chunks: offsets.into_iter().zip(lengths).map(|(offset, len)| (offset, len as usize)).collect(),
        };
        page.check_chunks(tiff)?;
        Ok(page)
    }

    /// Rows that chunk number `chunk` stores.
    pub fn rows(&self, chunk: usize) -> usize {
        let tiled = self.chunk_width != self.info.width as usize || self.across > 1;
        let first = chunk / self.across * self.chunk_height;
        if tiled { self.chunk_height } else { self.chunk_height.min(self.info.height as usize - first) }
    }

    /// Bytes of one row of a chunk, as stored before compression.
    pub fn row_bytes(&self) -> usize {
        self.chunk_width * self.sample.size()
    }

    /// Whether pixels are stored in the other byte order than this machine's.
    pub fn is_swapped(&self) -> bool {
        self.sample.size() > 1 && cfg!(target_endian = "big") != self.big_endian
    }

    /// Whether chunks hold pixels as they are in memory.
    pub fn is_raw(&self) -> bool {
        self.compression == Compression::None
            && self.predictor == Predictor::None
            && !self.is_swapped()
            && !self.sample.is_converted()
    }

    /// Chunks must lie within the file and be long enough for their pixels.
    fn check_chunks(&self, tiff: &TiffFile<'_>) -> Result<(), FormatError> {
        for (chunk, &(offset, len)) in self.chunks.iter().enumerate() {
            if offset.checked_add(len as u64).is_none_or(|end| end > tiff.len) {
                let problem =
                    format!("truncated: chunk {chunk} has {len} bytes at {offset}, the file has {} bytes", tiff.len);
                return Err(tiff.corrupt(problem));
            }
            let needed = (self.rows(chunk) * self.row_bytes()) as u128;
            if needed > len as u128 * self.compression.tightest() {
                return Err(
                    tiff.corrupt(format!("chunk {chunk} has {len} bytes, too few for {needed} bytes of pixels"))
                );
            }
        }
        Ok(())
    }
}

fn chunk_size(tiff: &TiffFile<'_>, height: u64, width: u64, sample: Sample) -> Result<(u32, u32), FormatError> {
    let bytes = u128::from(height) * u128::from(width) * sample.size() as u128;
    if bytes == 0 {
        return Err(tiff.corrupt(format!("chunks of {height}x{width} pixels")));
    }
    match (u32::try_from(height), u32::try_from(width)) {
        (Ok(height), Ok(width)) if bytes <= LARGEST_CHUNK => Ok((height, width)),
        _ => Err(tiff.unsupported(format!("chunks of {height}x{width} pixels; pcb reads chunks up to 1 GiB"))),
    }
}

/// Shape and dtype of a page, and how a pixel is stored; an error that names what pcb does not read.
fn info(tiff: &TiffFile<'_>, directory: &Directory) -> Result<(PageInfo, Sample), FormatError> {
    let number = |tag, default| tiff.number_or(directory, tag, default);
    let (height, width) = (number(tag::HEIGHT, 0)?, number(tag::WIDTH, 0)?);
    let (Ok(height), Ok(width)) = (u32::try_from(height), u32::try_from(width)) else {
        return Err(tiff.corrupt(format!("a page of {height}x{width} pixels")));
    };
    if height == 0 || width == 0 {
        return Err(tiff.corrupt(format!("a page of {height}x{width} pixels")));
    }
    let samples = number(tag::SAMPLES, 1)?;
    if samples != 1 {
        return Err(tiff.unsupported(format!("{samples} samples per pixel; pcb reads one (a page for each channel)")));
    }
    match number(tag::PHOTOMETRIC, 1)? {
        1 => {}
        0 => return Err(tiff.unsupported("inverted grey (WhiteIsZero); pcb reads BlackIsZero")),
        3 => return Err(tiff.unsupported("a palette image; pcb reads grey ones")),
        other => return Err(tiff.unsupported(format!("photometric interpretation {other}; pcb reads grey (1)"))),
    }
    if number(tag::FILL_ORDER, 1)? != 1 {
        return Err(tiff.unsupported("bits in reversed order (FillOrder 2)"));
    }
    let sample = Sample::of(number(tag::SAMPLE_FORMAT, 1)?, number(tag::BITS, 1)?);
    let sample = sample.map_err(|what| tiff.unsupported(what))?;
    Ok((PageInfo { height, width, dtype: sample.dtype() }, sample))
}
