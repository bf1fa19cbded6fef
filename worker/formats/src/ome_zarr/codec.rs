//! Chunks from stored bytes to pixels, through the codecs of `zarrs`.
//!
//! `zarrs` believes what a compressed chunk says about its own decoded length, and would allocate that much. So each
//! step is bounded here: zstd decodes into a buffer of the length the array's metadata give, and a Blosc header is
//! compared with it first.

use std::borrow::Cow;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;

use zarrs::array::codec::{BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZlibCodec, ZstdCodec};
use zarrs::array::{
    ArrayToBytesCodecTraits, BytesRepresentation, BytesToBytesCodecTraits, CodecChain, CodecMetadataOptions,
    CodecOptions, CodecTraits, DataType, FillValue,
};
use zarrs::plugin::ExtensionName;

/// How the chunks of an array, or those within its shards, are encoded.
pub struct Codecs {
    /// Bytes to bytes, in the order of decoding.
    steps: Vec<Step>,
    /// Bytes to pixels; `None` where pixels are stored as they are in memory.
    to_pixels: Option<CodecChain>,
    shape: Vec<NonZeroU64>,
    data_type: DataType,
    fill: FillValue,
    /// Bytes of a decoded chunk.
    pub bytes: usize,
    /// No stored chunk is longer than this.
    pub most: u64,
}

struct Step {
    codec: Arc<dyn BytesToBytesCodecTraits>,
    kind: Kind,
    decoded: BytesRepresentation,
    /// No result is longer than this.
    most: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Zstd,
    Blosc,
    Other,
}

/// Reused from chunk to chunk.
pub struct Scratch {
    zstd: zstd::bulk::Decompressor<'static>,
    buffer: Vec<u8>,
}

impl Scratch {
    pub fn new() -> io::Result<Self> {
        Ok(Self { zstd: zstd::bulk::Decompressor::new()?, buffer: Vec::new() })
    }

    /// Takes back the memory of a chunk that is no longer needed.
    pub fn recycle(&mut self, chunk: Cow<'_, [u8]>) {
        if let Cow::Owned(buffer) = chunk
            && buffer.capacity() > self.buffer.capacity()
        {
            self.buffer = buffer;
        }
    }
}

impl Codecs {
    /// The codecs of `chain` for chunks of `shape`, `bytes` long. The error names what pcb does not read.
    pub fn of(
        chain: &CodecChain,
        shape: &[NonZeroU64],
        data_type: &DataType,
        fill: &FillValue,
        bytes: usize,
    ) -> Result<Self, String> {
        let to_bytes = chain.array_to_bytes_codec();
        let Some(plain) = to_bytes.as_any().downcast_ref::<BytesCodec>() else { return Err(unread(&**to_bytes)) };
        let transposed = chain.array_to_array_codecs();
        if let Some(codec) = transposed.iter().find(|codec| !codec.as_any().is::<TransposeCodec>()) {
            return Err(unread(&**codec));
        }
        let to_pixels = CodecChain::new(transposed.to_vec(), to_bytes.clone(), Vec::new());
        let mut size = to_pixels.encoded_representation(shape, data_type, fill).map_err(|e| e.to_string())?;
        let mut steps = Vec::new();
        for codec in chain.bytes_to_bytes_codecs() {
            let any = codec.as_any();
            let kind = match () {
                () if any.is::<ZstdCodec>() => Kind::Zstd,
                () if any.is::<BloscCodec>() => Kind::Blosc,
                () if any.is::<GzipCodec>() || any.is::<ZlibCodec>() || any.is::<Crc32cCodec>() => Kind::Other,
                () => return Err(unread(&**codec)),
            };
            steps.push(Step { codec: codec.clone(), kind, decoded: size, most: bound(size, bytes) as usize });
            size = codec.encoded_representation(&size);
        }
        steps.reverse();
        let as_in_memory = transposed.is_empty() && (is_native(plain) || data_type.fixed_size() == Some(1));
        Ok(Self {
            steps,
            to_pixels: (!as_in_memory).then_some(to_pixels),
            shape: shape.to_vec(),
            data_type: data_type.clone(),
            fill: fill.clone(),
            bytes,
            most: bound(size, bytes),
        })
    }

    /// Whether chunks hold pixels as they are in memory.
    pub fn is_raw(&self) -> bool {
        self.steps.is_empty() && self.to_pixels.is_none()
    }

    /// Decodes a chunk: all its pixels, in C order and native byte order.
    pub fn decode<'a>(&self, packed: &'a [u8], scratch: &mut Scratch) -> Result<Cow<'a, [u8]>, String> {
        if packed.is_empty() {
            return Err("is empty".to_owned());
        }
        let options = CodecOptions::default().with_concurrent_target(1);
        let mut bytes = Cow::Borrowed(packed);
        for step in &self.steps {
            bytes = match step.kind {
                Kind::Zstd => {
                    let decoded = step.zstd(&bytes, scratch)?;
                    scratch.recycle(bytes);
                    decoded
                }
                Kind::Blosc => step.blosc(bytes, &options)?,
                Kind::Other => step.other(bytes, &options)?,
            };
        }
        if bytes.len() != self.bytes {
            return Err(format!("decodes to {} bytes; expected {}", bytes.len(), self.bytes));
        }
        match &self.to_pixels {
            None => Ok(bytes),
            Some(chain) => chain
                .decode(bytes, &self.shape, &self.data_type, &self.fill, &options)
                .and_then(|pixels| Ok(pixels.into_fixed()?))
                .map_err(|e| format!("does not decode: {e}")),
        }
    }
}

impl Step {
    fn zstd<'a>(&self, packed: &[u8], scratch: &mut Scratch) -> Result<Cow<'a, [u8]>, String> {
        let mut buffer = std::mem::take(&mut scratch.buffer);
        buffer.clear();
        buffer.reserve(self.most);
        match scratch.zstd.decompress_to_buffer(packed, &mut buffer) {
            Ok(_) => Ok(Cow::Owned(buffer)),
            Err(e) => Err(format!("is no zstd data of at most {} bytes: {e}", self.most)),
        }
    }

    fn blosc<'a>(&self, packed: Cow<'a, [u8]>, options: &CodecOptions) -> Result<Cow<'a, [u8]>, String> {
        // Version, version of the codec, flags, size of a type, then the decoded length.
        let said = packed.get(4..8).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        match said {
            Some(length) if length as usize <= self.most => self.other(packed, options),
            Some(length) => Err(format!("says that it decodes to {length} bytes; expected {}", self.most)),
            None => Err(format!("has {} bytes, too few for Blosc data", packed.len())),
        }
    }

    fn other<'a>(&self, packed: Cow<'a, [u8]>, options: &CodecOptions) -> Result<Cow<'a, [u8]>, String> {
        self.codec.decode(packed, &self.decoded, options).map_err(|e| format!("does not decode: {e}"))
    }
}

/// The most bytes that something of this size has; `bytes` are those of the chunk's pixels.
fn bound(size: BytesRepresentation, bytes: usize) -> u64 {
    // No codec here makes noise longer by more than a fraction.
    size.size().unwrap_or(2 * bytes as u64 + 4096)
}

fn unread<T: ExtensionName + ?Sized>(codec: &T) -> String {
    let name = codec.name_v3().or_else(|| codec.name_v2()).unwrap_or_default();
    format!("codec {name}; pcb reads bytes, transpose, blosc, gzip, zlib, zstd and crc32c")
}

/// Whether pixels of several bytes have this machine's byte order.
fn is_native(codec: &BytesCodec) -> bool {
    let configuration = codec.configuration_v3(&CodecMetadataOptions::default());
    let endian = configuration.as_ref().and_then(|c| c.get("endian")).and_then(serde_json::Value::as_str);
    endian == Some(if cfg!(target_endian = "big") { "big" } else { "little" })
}
