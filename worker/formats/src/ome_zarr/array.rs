//! One array of a plate: its shape and how its chunks are stored, from its metadata.

use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pcb_protocol::Dtype;
use zarrs::array::{ChunkKeyEncoding, DataType};
use zarrs::plugin::ExtensionName;

use crate::FormatError;

use super::axes::Axes;
use super::codec::Codecs;
use super::document::Document;
use super::parse::parse;
use super::shard::Sharding;

/// Chunks that decode to more bytes than this are refused: no microscope writes them, a lying header does.
const LARGEST_CHUNK: u64 = 1 << 30;

/// An image: an array whose axes are channels, rows and columns, and others of length 1.
pub struct Image {
    /// Folder of the array.
    pub folder: PathBuf,
    /// Its metadata: the file to name in errors.
    pub document: PathBuf,
    /// (C, Y, X).
    pub shape: [u64; 3],
    /// What is stored.
    pub stored: Stored,
    /// Shape of what is decoded at once, a chunk or an inner chunk of a shard: (C, Y, X).
    pub chunk: [usize; 3],
    /// Pixels of such a chunk from one channel to the next.
    pub channel_stride: usize,
    /// How it is encoded.
    pub codecs: Codecs,
    /// How many of them a shard holds, and where; `None` where each chunk is a file.
    pub sharding: Option<Sharding>,
    /// A pixel of a chunk that is missing, in the dataset's dtype and native byte order.
    pub fill: Vec<u8>,
    axes: Axes,
    rank: usize,
    keys: ChunkKeyEncoding,
}

/// Element types that are read. Signed ones become floats: no dataset holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// A dtype of datasets.
    Dtype(Dtype),
    /// 8-bit signed.
    I8,
    /// 16-bit signed.
    I16,
}

impl Stored {
    fn of(data_type: &DataType) -> Option<Self> {
        Some(match data_type.name_v3()?.as_ref() {
            "uint8" => Self::Dtype(Dtype::U8),
            "uint16" => Self::Dtype(Dtype::U16),
            "float32" => Self::Dtype(Dtype::F32),
            "int8" => Self::I8,
            "int16" => Self::I16,
            _ => return None,
        })
    }

    /// Element type of the pixels handed out.
    pub fn dtype(self) -> Dtype {
        match self {
            Self::Dtype(dtype) => dtype,
            Self::I8 | Self::I16 => Dtype::F32,
        }
    }

    /// Bytes of a stored pixel.
    pub fn size(self) -> usize {
        match self {
            Self::Dtype(dtype) => dtype.size(),
            Self::I8 => 1,
            Self::I16 => 2,
        }
    }

    /// Copies stored pixels to where they are wanted; both in native byte order.
    pub fn copy(self, stored: &[u8], out: &mut [u8]) {
        let floats = out.as_chunks_mut::<4>().0;
        match self {
            Self::Dtype(_) => out.copy_from_slice(stored),
            Self::I8 => floats.iter_mut().zip(stored).for_each(|(out, &x)| *out = f32::from(x as i8).to_ne_bytes()),
            Self::I16 => floats
                .iter_mut()
                .zip(stored.as_chunks().0)
                .for_each(|(out, &x)| *out = f32::from(i16::from_ne_bytes(x)).to_ne_bytes()),
        }
    }
}

impl Image {
    /// Reads the metadata of the array in `folder` and of the image it belongs to.
    pub fn open(folder: &Path) -> Result<Self, FormatError> {
        let document = Document::of_array(folder)?;
        let array = parse(&document)?;
        let axes = Axes::find(folder, &document, array.shape())?;
        let pick = |lengths: &[u64]| {
            let [.., y, x] = lengths else { return [0; 3] };
            [axes.channel.map_or(1, |at| lengths[at]), *y, *x]
        };
        let shape = pick(array.shape());
        if shape.contains(&0) {
            return Err(document.corrupt(format!("shape {:?} has no pixels", array.shape())));
        }
        let Some(stored) = Stored::of(array.data_type()) else {
            let name = array.data_type().name_v3().unwrap_or_default();
            let read = "uint8, uint16 and float32, and int8 and int16 as floats";
            return Err(document.unsupported(format!("pixels of type {name}; pcb reads {read}")));
        };
        let origin = vec![0; array.dimensionality()];
        let outer = array.chunk_shape(&origin).map_err(|e| document.corrupt(e.to_string()))?;
        let chain = array.codecs();
        let sharding = Sharding::of(&chain, &outer).map_err(|e| e.of(&document))?;
        let (inner, chain) = match &sharding {
            Some((sharding, chain)) => (sharding.chunk.clone(), chain.clone()),
            None => (outer, chain),
        };
        let bytes = chunk_bytes(&document, &inner, stored)?;
        let codecs = Codecs::of(&chain, &inner, array.data_type(), array.fill_value(), bytes)
            .map_err(|what| document.unsupported(what))?;
        let lengths: Vec<u64> = inner.iter().map(|len| len.get()).collect();
        let mut fill = vec![0; stored.dtype().size()];
        stored.copy(array.fill_value().as_ne_bytes(), &mut fill);
        Ok(Self {
            folder: folder.to_owned(),
            shape,
            stored,
            chunk: pick(&lengths).map(|len| len as usize),
            channel_stride: axes.channel.map_or(0, |at| lengths[at + 1..].iter().product::<u64>() as usize),
            codecs,
            sharding: sharding.map(|(sharding, _)| sharding),
            fill,
            axes,
            rank: array.dimensionality(),
            keys: array.chunk_key_encoding().clone(),
            document: document.path,
        })
    }

    /// An error unless it has the shape and dtype that dataset.json says.
    pub fn check(&self, height: u32, width: u32, dtype: Dtype) -> Result<(), FormatError> {
        let [_, y, x] = self.shape;
        if (y, x, self.stored.dtype()) == (u64::from(height), u64::from(width), dtype) {
            return Ok(());
        }
        let found = self.stored.dtype();
        let problem = format!("{y}x{x} {found}; expected {height}x{width} {dtype}, as dataset.json says");
        Err(FormatError::corrupt(&self.document, problem))
    }

    /// An error unless it has the channel.
    pub fn check_channel(&self, channel: usize) -> Result<(), FormatError> {
        if (channel as u64) < self.shape[0] {
            return Ok(());
        }
        let problem = format!("channel {channel} does not exist; the image has {}", self.shape[0]);
        Err(FormatError::corrupt(&self.document, problem))
    }

    /// The place (C, Y, X) among all axes; 0 on those of length 1.
    pub fn index(&self, [c, y, x]: [usize; 3], index: &mut Vec<u64>) {
        index.clear();
        index.resize(self.rank, 0);
        if let Some(at) = self.axes.channel {
            index[at] = c as u64;
        }
        if let [.., last_but_one, last] = &mut index[..] {
            (*last_but_one, *last) = (y as u64, x as u64);
        }
    }

    /// The box at (C, Y, X) of this size among all axes.
    pub fn ranges(&self, at: [usize; 3], size: [usize; 3]) -> Vec<Range<u64>> {
        let (mut first, mut last) = (Vec::new(), Vec::new());
        self.index(at, &mut first);
        self.index([0, 1, 2].map(|axis| at[axis] + size[axis] - 1), &mut last);
        first.into_iter().zip(last).map(|(first, last)| first..last + 1).collect()
    }

    /// Chunks of a shard along the channel axis.
    pub fn channels_per_shard(&self) -> usize {
        let counts = self.sharding.as_ref().zip(self.axes.channel);
        counts.map_or(1, |(sharding, at)| sharding.counts[at] as usize)
    }

    /// The file of the chunk, or shard, at `index` among all axes.
    pub fn file(&self, index: &[u64], path: &mut PathBuf) {
        path.clear();
        path.push(&self.folder);
        path.push(self.keys.encode(index).as_str());
    }
}

/// Bytes of a decoded chunk.
fn chunk_bytes(document: &Document, shape: &[NonZeroU64], stored: Stored) -> Result<usize, FormatError> {
    let pixels = shape.iter().try_fold(1_u64, |product, len| product.checked_mul(len.get()));
    match pixels.and_then(|pixels| pixels.checked_mul(stored.size() as u64)) {
        Some(bytes) if bytes <= LARGEST_CHUNK => Ok(bytes as usize),
        _ => Err(document.unsupported(format!("chunks of {shape:?} pixels; pcb reads chunks up to 1 GiB"))),
    }
}
