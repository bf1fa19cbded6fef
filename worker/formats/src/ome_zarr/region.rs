//! Rectangles out of an image: only the chunks they meet are read, and none outlives the read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::crop::Rect;
use crate::raw::{self, Rows, grown};
use crate::{FormatError, Probe, Stage};

use super::array::Image;
use super::codec::Scratch;
use super::shard::Shard;

/// An image, the channels wanted of it, and its shards that were touched: their descriptors and indexes are kept.
pub struct Region {
    image: Image,
    /// Wanted channels that lie in one row of chunks.
    groups: Vec<Group>,
    /// By the place (C, Y, X) of the shard; `None` for one that is missing.
    shards: HashMap<[usize; 3], Option<Shard>>,
}

/// Channels of one row of chunks along the channel axis: decoded together.
struct Group {
    /// Index of the chunks along the channel axis.
    row: usize,
    /// For each: its place among those wanted, and its number within the chunk.
    channels: Vec<(usize, usize)>,
}

/// Reused from chunk to chunk.
pub struct Buffers {
    packed: Vec<u8>,
    rows: Vec<u8>,
    scratch: Scratch,
    index: Vec<u64>,
    path: PathBuf,
}

impl Buffers {
    pub fn new() -> io::Result<Self> {
        let scratch = Scratch::new()?;
        Ok(Self { packed: Vec::new(), rows: Vec::new(), scratch, index: Vec::new(), path: PathBuf::new() })
    }
}

/// Where the bytes of a chunk lie.
enum Place<'a> {
    Opened(File, u64),
    Shard(&'a File, u64, u64),
}

impl Place<'_> {
    fn file(&self) -> &File {
        match self {
            Self::Opened(file, _) => file,
            Self::Shard(file, ..) => file,
        }
    }

    fn offset(&self) -> u64 {
        match self {
            Self::Opened(..) => 0,
            Self::Shard(_, offset, _) => *offset,
        }
    }

    fn len(&self) -> u64 {
        match self {
            Self::Opened(_, len) | Self::Shard(_, _, len) => *len,
        }
    }
}

/// The part of a rectangle that one chunk holds.
struct Part {
    /// Within the chunk.
    rect: Rect,
    /// Pixels from the start of the wanted plane to its first pixel.
    first: usize,
    /// Pixels of a row of the wanted rectangle.
    stride: usize,
    /// Pixels of a wanted plane.
    plane: usize,
}

impl Region {
    /// For `channels` of `image`, in this order.
    pub fn new(image: Image, channels: &[usize]) -> Result<Self, FormatError> {
        let mut groups: Vec<Group> = Vec::new();
        for (slot, &channel) in channels.iter().enumerate() {
            image.check_channel(channel)?;
            let (row, within) = (channel / image.chunk[0], channel % image.chunk[0]);
            match groups.iter_mut().find(|group| group.row == row) {
                Some(group) => group.channels.push((slot, within)),
                None => groups.push(Group { row, channels: vec![(slot, within)] }),
            }
        }
        Ok(Self { image, groups, shards: HashMap::new() })
    }

    /// Reads the rectangle `rect` of every channel into `out`: (C, Y, X) without gaps, native byte order. Returns the
    /// stored bytes read.
    pub fn read(
        &mut self,
        rect: Rect,
        out: &mut [u8],
        buffers: &mut Buffers,
        probe: &mut Probe<'_>,
    ) -> Result<u64, FormatError> {
        let Self { image, groups, shards } = self;
        let [_, high, wide] = image.chunk;
        let mut touched = 0;
        for group in &*groups {
            for down in rect.y0 / high..rect.y1.div_ceil(high) {
                for across in rect.x0 / wide..rect.x1.div_ceil(wide) {
                    let (top, left) = (down * high, across * wide);
                    let held = Rect {
                        y0: rect.y0.max(top) - top,
                        y1: rect.y1.min(top + high) - top,
                        x0: rect.x0.max(left) - left,
                        x1: rect.x1.min(left + wide) - left,
                    };
                    let first = (top + held.y0 - rect.y0) * rect.width() + left + held.x0 - rect.x0;
                    let part = Part { rect: held, first, stride: rect.width(), plane: rect.area() };
                    let place = locate(image, shards, [group.row, down, across], buffers)?;
                    touched += match place {
                        Some(place) => read_part(image, group, &place, &part, out, buffers, probe)?,
                        None => fill_part(image, group, &part, out),
                    };
                }
            }
        }
        Ok(touched)
    }
}

/// Finds the chunk at (C, Y, X) of the grid of chunks; `None` when it is missing. Its file's name is left in
/// `buffers.path`.
fn locate<'a>(
    image: &Image,
    shards: &'a mut HashMap<[usize; 3], Option<Shard>>,
    at: [usize; 3],
    buffers: &mut Buffers,
) -> Result<Option<Place<'a>>, FormatError> {
    let Buffers { index, path, .. } = buffers;
    image.index(at, index);
    let Some(sharding) = &image.sharding else {
        image.file(index, path);
        let file = match File::open(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|e| FormatError::io(&path, e))?,
        };
        let len = file.metadata().map_err(|e| FormatError::io(&path, e))?.len();
        return Ok(Some(Place::Opened(file, len)));
    };
    // The number of the chunk in its shard, and the shard.
    let mut number = 0;
    for (index, count) in index.iter_mut().zip(&sharding.counts) {
        number = number * count + *index % count;
        *index /= count;
    }
    let [.., y, x] = index[..] else { return Ok(None) };
    let key = [at[0] / image.channels_per_shard(), y as usize, x as usize];
    image.file(index, path);
    let shard = match shards.entry(key) {
        std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
        std::collections::hash_map::Entry::Vacant(entry) => entry.insert(sharding.open(path)?),
    };
    let shard = shard.as_ref();
    Ok(shard.and_then(|shard| shard.chunk(number as usize).map(|(offset, len)| Place::Shard(&shard.file, offset, len))))
}

fn read_part(
    image: &Image,
    group: &Group,
    place: &Place<'_>,
    part: &Part,
    out: &mut [u8],
    buffers: &mut Buffers,
    probe: &mut Probe<'_>,
) -> Result<u64, FormatError> {
    let Buffers { packed, rows, scratch, path, .. } = buffers;
    let (offset, len) = (place.offset(), place.len());
    let corrupt = |problem: String| match place {
        Place::Opened(..) if len == 0 => FormatError::corrupt(&*path, "empty file; expected a chunk"),
        Place::Opened(..) => FormatError::corrupt(&*path, format!("the chunk {problem}")),
        Place::Shard(..) => FormatError::corrupt(&*path, format!("the chunk at byte {offset} {problem}")),
    };
    let (stored, wanted) = (image.stored.size(), image.stored.dtype().size());
    let line = image.chunk[2] * stored;
    let first = |within: usize| within * image.channel_stride * stored + part.rect.y0 * line + part.rect.x0 * stored;
    let target = |slot: usize| (slot * part.plane + part.first) * wanted;
    if image.codecs.is_raw() && stored == wanted {
        if len != image.codecs.bytes as u64 {
            return Err(corrupt(format!("has {len} bytes; expected {}", image.codecs.bytes)));
        }
        let mut touched = 0;
        for &(slot, within) in &group.channels {
            let wanted_rows = Rows {
                offset: offset + first(within) as u64,
                count: part.rect.height(),
                len: part.rect.width() * stored,
                stride: line,
            };
            touched += raw::read_rows(place.file(), wanted_rows, &mut out[target(slot)..], part.stride * stored, rows)
                .map_err(|e| FormatError::io(&*path, e))?;
        }
        probe.ended(Stage::Read);
        return Ok(touched);
    }
    if len > image.codecs.most {
        return Err(corrupt(format!("has {len} bytes; expected {} at most", image.codecs.most)));
    }
    let packed = grown(packed, len as usize);
    place.file().read_exact_at(packed, offset).map_err(|e| FormatError::io(&*path, e))?;
    probe.ended(Stage::Read);
    let pixels: Cow<'_, [u8]> = image.codecs.decode(packed, scratch).map_err(corrupt)?;
    for &(slot, within) in &group.channels {
        let (source, out) = (&pixels[first(within)..], &mut out[target(slot)..]);
        let lines = source.chunks(line).zip(out.chunks_mut(part.stride * wanted));
        for (source, out) in lines.take(part.rect.height()) {
            image.stored.copy(&source[..part.rect.width() * stored], &mut out[..part.rect.width() * wanted]);
        }
    }
    scratch.recycle(pixels);
    probe.ended(Stage::Decode);
    Ok(len)
}

/// A missing chunk holds the fill value everywhere, as the format has it.
fn fill_part(image: &Image, group: &Group, part: &Part, out: &mut [u8]) -> u64 {
    let pixel = image.fill.len();
    for &(slot, _) in &group.channels {
        let out = &mut out[(slot * part.plane + part.first) * pixel..];
        for line in out.chunks_mut(part.stride * pixel).take(part.rect.height()) {
            for pixel in line[..part.rect.width() * pixel].chunks_exact_mut(pixel) {
                pixel.copy_from_slice(&image.fill);
            }
        }
    }
    0
}
