//! Shards: files that hold many chunks and an index of them.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use zarrs::array::codec::{BytesCodec, Crc32cCodec, ShardingCodec};
use zarrs::array::{
    ArrayToBytesCodecTraits, CodecChain, CodecMetadataOptions, CodecOptions, CodecTraits, DataType, FillValue,
    data_type,
};
use zarrs::metadata_ext::codec::sharding::{ShardingCodecConfigurationV1, ShardingIndexLocation};
use zarrs::plugin::PluginCreateError;

use crate::FormatError;

use super::document::Document;
use super::parse::refused;

/// How the shards of an array are made.
pub struct Sharding {
    /// Shape of an inner chunk, all axes.
    pub chunk: Vec<NonZeroU64>,
    /// Inner chunks of a shard along each axis.
    pub counts: Vec<u64>,
    /// Codecs of the index.
    index: CodecChain,
    location: ShardingIndexLocation,
    /// Length of the stored index in bytes.
    index_bytes: u64,
}

/// Why shards cannot be read.
pub enum Refused {
    /// Sound, but nothing that pcb reads.
    Unsupported(String),
    /// Nonsense.
    Corrupt(String),
    /// What `zarrs` says.
    Plugin(PluginCreateError),
}

impl Refused {
    /// As an error of `document`.
    pub fn of(self, document: &Document) -> FormatError {
        match self {
            Self::Unsupported(what) => document.unsupported(what),
            Self::Corrupt(problem) => document.corrupt(problem),
            Self::Plugin(error) => refused(document, &error),
        }
    }
}

impl Sharding {
    /// The sharding of an array with the codecs `chain` and shards of shape `outer`, and the codecs of the chunks in
    /// them; `None` where each chunk is a file.
    pub fn of(chain: &CodecChain, outer: &[NonZeroU64]) -> Result<Option<(Self, Arc<CodecChain>)>, Refused> {
        let to_bytes = chain.array_to_bytes_codec();
        let Some(codec) = to_bytes.as_any().downcast_ref::<ShardingCodec>() else { return Ok(None) };
        if !chain.array_to_array_codecs().is_empty() || !chain.bytes_to_bytes_codecs().is_empty() {
            return Err(Refused::Unsupported("codecs around shards; pcb reads those within them".to_owned()));
        }
        let configuration = codec.configuration_v3(&CodecMetadataOptions::default()).unwrap_or_default();
        let said: ShardingCodecConfigurationV1 =
            configuration.to_typed().map_err(|e| Refused::Corrupt(format!("no sharding: {e}")))?;
        let whole = |(outer, inner): (&NonZeroU64, &NonZeroU64)| {
            outer.get().is_multiple_of(inner.get()).then(|| outer.get() / inner.get())
        };
        let counts: Option<Vec<u64>> = outer.iter().zip(&said.chunk_shape).map(whole).collect();
        let counts = counts.filter(|counts| counts.len() == said.chunk_shape.len() && counts.len() == outer.len());
        let Some(counts) = counts else {
            let inner = &said.chunk_shape;
            return Err(Refused::Corrupt(format!("shards of {outer:?} pixels hold no whole chunks of {inner:?}")));
        };
        let codecs = CodecChain::from_metadata(&said.codecs).map_err(Refused::Plugin)?;
        let index = CodecChain::from_metadata(&said.index_codecs).map_err(Refused::Plugin)?;
        let index_bytes = index_bytes(&index, &counts)?;
        let this = Self { chunk: said.chunk_shape, counts, index, location: said.index_location, index_bytes };
        Ok(Some((this, Arc::new(codecs))))
    }

    /// Opens the shard at `path` and reads its index; `None` where there is no such file.
    pub fn open(&self, path: &Path) -> Result<Option<Shard>, FormatError> {
        let failed = |e| FormatError::io(path, e);
        let corrupt = |problem: String| FormatError::corrupt(path, problem);
        let file = match File::open(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file.map_err(failed)?,
        };
        let len = file.metadata().map_err(failed)?.len();
        if len == 0 {
            return Err(corrupt("empty file; expected a shard".to_owned()));
        }
        let Some(last) = len.checked_sub(self.index_bytes) else {
            return Err(corrupt(format!("{len} bytes; the index of a shard alone has {}", self.index_bytes)));
        };
        let mut packed = vec![0; self.index_bytes as usize];
        let offset = if self.location == ShardingIndexLocation::Start { 0 } else { last };
        file.read_exact_at(&mut packed, offset).map_err(failed)?;
        let chunks = self.decode(packed).map_err(|e| corrupt(format!("index of {} chunks: {e}", self.chunks())))?;
        for (chunk, &(offset, bytes)) in chunks.iter().enumerate() {
            let stored = (offset, bytes) != MISSING;
            if stored && offset.checked_add(bytes).is_none_or(|end| end > len) {
                return Err(corrupt(format!("chunk {chunk} has {bytes} bytes at {offset}, the file has {len} bytes")));
            }
        }
        Ok(Some(Shard { file, chunks }))
    }

    fn chunks(&self) -> u64 {
        self.counts.iter().product()
    }

    fn decode(&self, packed: Vec<u8>) -> Result<Vec<(u64, u64)>, String> {
        let (shape, kind, fill) = index_shape(&self.counts);
        let options = CodecOptions::default().with_concurrent_target(1);
        let decoded = self
            .index
            .decode(Cow::Owned(packed), &shape, &kind, &fill, &options)
            .and_then(|index| Ok(index.into_fixed()?))
            .map_err(|e| e.to_string())?;
        let numbers: Vec<u64> = decoded.as_chunks().0.iter().map(|&bytes| u64::from_ne_bytes(bytes)).collect();
        Ok(numbers.as_chunks().0.iter().map(|&[offset, bytes]| (offset, bytes)).collect())
    }
}

/// Length of the stored index; an error unless its codecs are those that shards have in fact.
fn index_bytes(index: &CodecChain, counts: &[u64]) -> Result<u64, Refused> {
    let plain = index.array_to_array_codecs().is_empty()
        && index.array_to_bytes_codec().as_any().is::<BytesCodec>()
        && index.bytes_to_bytes_codecs().iter().all(|codec| codec.as_any().is::<Crc32cCodec>());
    if !plain {
        return Err(Refused::Unsupported("codecs of a shard's index; pcb reads bytes and crc32c".to_owned()));
    }
    let chunks = counts.iter().try_fold(1_u64, |product, &count| product.checked_mul(count));
    // No writer comes near; the index alone would have 256 MiB.
    if chunks.is_none_or(|chunks| chunks > 1 << 24) {
        return Err(Refused::Unsupported(format!("shards of {counts:?} chunks; pcb reads up to 2^24")));
    }
    let (shape, kind, fill) = index_shape(counts);
    let size = index.encoded_representation(&shape, &kind, &fill).map_err(|e| Refused::Corrupt(e.to_string()))?;
    size.size().ok_or_else(|| Refused::Unsupported("an index of unknown length".to_owned()))
}

/// Shape, element type and fill value of an index: offset and length of each chunk.
fn index_shape(counts: &[u64]) -> (Vec<NonZeroU64>, DataType, FillValue) {
    let shape = counts.iter().copied().chain([2]).filter_map(NonZeroU64::new).collect();
    (shape, data_type::uint64(), FillValue::from(u64::MAX))
}

/// Offset and length of a chunk that holds the fill value only, and is not stored.
const MISSING: (u64, u64) = (u64::MAX, u64::MAX);

/// An open shard.
pub struct Shard {
    /// The file.
    pub file: File,
    chunks: Vec<(u64, u64)>,
}

impl Shard {
    /// Offset and length in bytes of inner chunk number `chunk` in C order; `None` where it is not stored.
    pub fn chunk(&self, chunk: usize) -> Option<(u64, u64)> {
        self.chunks.get(chunk).copied().filter(|&place| place != MISSING)
    }
}
