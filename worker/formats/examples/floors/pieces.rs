//! The pieces of stored images that a crop needs, and what reading or decoding just them costs.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use pcb_formats::crop::Rect;
use pcb_formats::{Dataset, ReferenceCrops};
use pcb_protocol::{Layout, Pad};

use crate::codec::{Codec, Decoders};
use crate::{Access, Floor, median_us, rows};

/// With gaps up to this many bytes between rows, our readers read the gaps too.
const WORTHWHILE_GAP: usize = 4096;

/// Part of a chunk that a crop needs.
struct Piece {
    /// Number of the chunk among those collected.
    chunk: usize,
    /// Where its first byte would lie if the form's files held chunks and nothing else, one file behind the other.
    at: u64,
    /// Rows and columns within the chunk.
    part: Rect,
}

/// Chunks of the images that a set of crops needs.
struct Chunks {
    /// Plain pixels of each, rows of `stride` bytes.
    plain: Vec<Vec<u8>>,
    stride: usize,
    pixel: usize,
    /// The pieces of each crop.
    crops: Vec<Vec<Piece>>,
}

/// Median time of the floor, in microseconds.
pub fn measure(
    floor: &Floor,
    dataset: &Dataset,
    layout: Layout,
    crop: usize,
    files: &[PathBuf],
) -> Result<f64, Box<dyn Error>> {
    let chunks = collect(floor, dataset, layout, crop)?;
    let crops: Vec<usize> = (0..chunks.crops.len()).collect();
    if floor.codec == Codec::None {
        return copied(&chunks, floor.access, &crops, files);
    }
    let packed: Result<Vec<_>, _> = chunks.plain.iter().map(|plain| floor.codec.pack(plain, chunks.pixel)).collect();
    let packed = packed?;
    let mut decoders = Decoders::new()?;
    let mut out = Vec::new();
    median_us(&crops, |crop| {
        for piece in &chunks.crops[crop] {
            out.resize(chunks.plain[piece.chunk].len(), 0);
            decoders.decode(floor.codec, &packed[piece.chunk], &mut out, piece.part.y1 * chunks.stride)?;
        }
        Ok(())
    })
}

/// Uncompressed pieces, out of memory or out of the form's own files, whose pages lie in the cache as they do for the
/// reader.
fn copied(chunks: &Chunks, access: Access, crops: &[usize], files: &[PathBuf]) -> Result<f64, Box<dyn Error>> {
    let chunk_bytes = chunks.plain.iter().map(Vec::len).max().unwrap_or(0) as u64;
    let files = Files::of(files, chunk_bytes)?;
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    median_us(crops, |crop| {
        let pieces = &chunks.crops[crop];
        out.resize(pieces.iter().map(|piece| piece.part.area() * chunks.pixel).sum(), 0);
        let mut opened: Option<(usize, File)> = None;
        let mut out = out.as_mut_slice();
        for piece in pieces {
            let (line, rest) = out.split_at_mut(piece.part.area() * chunks.pixel);
            out = rest;
            let first = piece.part.y0 * chunks.stride + piece.part.x0 * chunks.pixel;
            let len = piece.part.width() * chunks.pixel;
            if access == Access::Memory {
                copy_rows(&chunks.plain[piece.chunk][first..], chunks.stride, len, line);
                continue;
            }
            let span = (piece.part.height() - 1) * chunks.stride + len;
            let (number, at) = files.place(piece.at + first as u64, span as u64);
            if access == Access::Reopened && opened.as_ref().is_none_or(|(open, _)| *open != number) {
                opened = Some((number, File::open(&files.paths[number])?));
            }
            let file = opened.as_ref().map_or(&files.open[number], |(_, file)| file);
            read_rows(file, at, chunks.stride, len, line, &mut scratch)?;
        }
        Ok(())
    })
}

/// The files of a form that hold pixels.
struct Files {
    paths: Vec<PathBuf>,
    open: Vec<File>,
    /// Where each ends if they lie one behind the other.
    ends: Vec<u64>,
}

impl Files {
    /// Those that are large enough for a chunk.
    fn of(files: &[PathBuf], chunk: u64) -> Result<Self, Box<dyn Error>> {
        let mut found = Self { paths: Vec::new(), open: Vec::new(), ends: Vec::new() };
        for path in files {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            if len >= chunk {
                found.ends.push(found.ends.last().unwrap_or(&0) + len);
                found.paths.push(path.clone());
                found.open.push(file);
            }
        }
        if found.open.is_empty() {
            return Err(format!("no file holds a chunk of {chunk} bytes").into());
        }
        Ok(found)
    }

    /// File and offset of `len` bytes near `at`, all in one file.
    fn place(&self, at: u64, len: u64) -> (usize, u64) {
        let number = self.ends.partition_point(|&end| end <= at).min(self.ends.len() - 1);
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        let last = (self.ends[number] - start).saturating_sub(len);
        (number, (at - start).min(last))
    }
}

fn copy_rows(source: &[u8], stride: usize, len: usize, out: &mut [u8]) {
    if len == stride {
        out.copy_from_slice(&source[..out.len()]);
        return;
    }
    for (from, to) in source.chunks(stride).zip(out.chunks_exact_mut(len)) {
        to.copy_from_slice(&from[..len]);
    }
}

fn read_rows(
    file: &File,
    at: u64,
    stride: usize,
    len: usize,
    out: &mut [u8],
    scratch: &mut Vec<u8>,
) -> Result<(), Box<dyn Error>> {
    if len == stride {
        file.read_exact_at(out, at)?;
    } else if stride - len > WORTHWHILE_GAP {
        for (row, line) in out.chunks_exact_mut(len).enumerate() {
            file.read_exact_at(line, at + (row * stride) as u64)?;
        }
    } else {
        let span = (out.len() / len - 1) * stride + len;
        scratch.resize(span.max(scratch.len()), 0);
        file.read_exact_at(&mut scratch[..span], at)?;
        copy_rows(scratch, stride, len, out);
    }
    Ok(())
}

/// Cuts the images that the crops lie on into chunks.
fn collect(floor: &Floor, dataset: &Dataset, layout: Layout, crop: usize) -> Result<Chunks, Box<dyn Error>> {
    let pixel = dataset.info.dtype.size();
    let mut known: HashMap<[usize; 4], usize> = HashMap::new();
    let mut images: HashMap<usize, Vec<u8>> = HashMap::new();
    let mut chunks = Chunks { plain: Vec::new(), stride: 0, pixel, crops: Vec::new() };
    for row in rows(dataset) {
        let (image, [mut channels, mut height, width], mut rect) = place(dataset, layout, row, crop)?;
        let plain = match images.entry(image) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => entry.insert(pixels(dataset, layout, image)?),
        };
        if floor.is_one_piece() && rect.area() == height * width {
            // All channels of a record, one behind the other.
            (height, rect.y1, channels) = (height * channels, rect.y1 * channels, 1);
        }
        let (tall, wide) = floor.chunk(height, width, pixel);
        chunks.stride = wide * pixel;
        let mut pieces = Vec::new();
        for channel in 0..channels {
            for down in rect.y0 / tall..rect.y1.div_ceil(tall) {
                for right in rect.x0 / wide..rect.x1.div_ceil(wide) {
                    let (top, left) = (down * tall, right * wide);
                    let chunk = *known.entry([image, channel, down, right]).or_insert_with(|| {
                        let plane = &plain[channel * height * width * pixel..][..height * width * pixel];
                        chunks.plain.push(cut(plane, (height, width, pixel), (top, left), (tall, wide)));
                        chunks.plain.len() - 1
                    });
                    let across = [height.div_ceil(tall), width.div_ceil(wide)];
                    let before = ((image * channels + channel) * across[0] + down) * across[1] + right;
                    let at = (before * tall * wide * pixel) as u64;
                    let part = Rect {
                        y0: rect.y0.saturating_sub(top),
                        y1: (rect.y1 - top).min(tall),
                        x0: rect.x0.saturating_sub(left),
                        x1: (rect.x1 - left).min(wide),
                    };
                    pieces.push(Piece { chunk, at, part });
                }
            }
        }
        chunks.crops.push(pieces);
    }
    Ok(chunks)
}

/// Number and shape of the stored image that a crop lies on, and the pixels it takes of it.
fn place(
    dataset: &Dataset,
    layout: Layout,
    row: usize,
    crop: usize,
) -> Result<(usize, [usize; 3], Rect), Box<dyn Error>> {
    if layout == Layout::Object {
        let [channels, height, width] = dataset.record_shape();
        let (y0, x0) = (height / 2 - crop / 2, width / 2 - crop / 2);
        return Ok((row, [channels, height, width], Rect { y0, y1: y0 + crop, x0, x1: x0 + crop }));
    }
    let (site, window) = dataset.window(row, crop, crop)?;
    let [channels, height, width] = dataset.site_shape(site);
    let inside = |first: i64, len: usize| {
        let end = (first + crop as i64).clamp(0, len as i64);
        (first.clamp(0, len as i64) as usize, end as usize)
    };
    let ((y0, y1), (x0, x1)) = (inside(window.y, height), inside(window.x, width));
    Ok((site, [channels, height, width], Rect { y0, y1, x0, x1 }))
}

/// (C, Y, X) of a stored image.
fn pixels(dataset: &Dataset, layout: Layout, image: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    if layout == Layout::Site {
        return Ok(dataset.reference(image)?.data.bytes().to_vec());
    }
    let [channels, height, width] = dataset.record_shape();
    let mut out = vec![0; channels * height * width * dataset.info.dtype.size()];
    let all: Vec<usize> = (0..channels).collect();
    ReferenceCrops::new(dataset).cut(image, &all, (height, width), Pad::Reflect, &mut out)?;
    Ok(out)
}

/// A chunk of a plane, filled up with zeros past its edges.
fn cut(
    plane: &[u8],
    (height, width, pixel): (usize, usize, usize),
    (top, left): (usize, usize),
    (tall, wide): (usize, usize),
) -> Vec<u8> {
    let mut out = vec![0; tall * wide * pixel];
    let len = wide.min(width - left) * pixel;
    for (line, row) in out.chunks_exact_mut(wide * pixel).zip(top..height) {
        line[..len].copy_from_slice(&plane[(row * width + left) * pixel..][..len]);
    }
    out
}
