//! One array: its shape, and its chunks as stored. The library knows the metadata, the codecs and the indexes of shards;
//! bytes are read here, so that they are counted and their reading is told from their decoding.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_protocol::Dtype;
use zarrs::array::{
    Array, ArrayCreateError, ArrayMetadata, ArrayShardedExt, ArrayShardedReadableExt, ArrayShardedReadableExtCache,
    CodecChain,
};
use zarrs::filesystem::FilesystemStore;
use zarrs::metadata::v3::MetadataV3;
use zarrs::plugin::PluginCreateError;
use zarrs::storage::byte_range::ByteRange;

use super::meta::read_json;
use crate::FormatError;

/// Chunks that decode to more bytes than this are refused: nobody writes them for crops, a lying header does.
const LARGEST_CHUNK: u64 = 1 << 30;

/// What pixels are stored as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// As one of ours.
    Ours(Dtype),
    /// Signed, 8 bits; handed out as f32.
    I8,
    /// Signed, 16 bits; handed out as f32.
    I16,
}

impl Stored {
    /// The dtype that pixels are handed out in.
    pub fn dtype(self) -> Dtype {
        match self {
            Self::Ours(dtype) => dtype,
            Self::I8 | Self::I16 => Dtype::F32,
        }
    }

    /// Bytes of a stored pixel.
    pub fn size(self) -> usize {
        match self {
            Self::Ours(dtype) => dtype.size(),
            Self::I8 => 1,
            Self::I16 => 2,
        }
    }
}

/// An open array.
pub struct ZarrArray {
    /// Its folder.
    pub folder: PathBuf,
    /// The file of its metadata.
    pub meta: PathBuf,
    /// The library's view.
    pub array: Array<FilesystemStore>,
    /// Element type.
    pub stored: Stored,
    /// Shape of a chunk as decoded: of a shard's inner chunk.
    pub chunk: Vec<u64>,
    /// Whether a chunk is its pixels, little-endian, in C order.
    pub is_raw: bool,
    /// Bytes of a pixel past the array's stored chunks.
    pub fill: Vec<u8>,
    chain: Arc<CodecChain>,
    shape: Vec<NonZeroU64>,
    shards: Option<Shards>,
}

struct Shards {
    cache: ArrayShardedReadableExtCache,
    /// Inner chunks of a shard along each axis.
    per_shard: Vec<u64>,
}

/// Where the bytes of a chunk lie.
pub struct Piece {
    /// The file.
    pub path: PathBuf,
    /// Offset and length in bytes; `None`: all of the file.
    pub range: Option<(u64, usize)>,
}

impl ZarrArray {
    /// Opens the array in `folder`: reads its metadata.
    pub fn open(folder: &Path) -> Result<Self, FormatError> {
        let (meta, value) = match read_json(&folder.join("zarr.json"))? {
            Some(value) => (folder.join("zarr.json"), value),
            None => match read_json(&folder.join(".zarray"))? {
                Some(value) => (folder.join(".zarray"), value),
                None => {
                    let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
                    return Err(FormatError::io(folder.join(".zarray"), missing));
                }
            },
        };
        let version = value.get("zarr_format").and_then(serde_json::Value::as_u64);
        if let Some(version) = version.filter(|version| !matches!(version, 2 | 3)) {
            let problem = format!("{}: Zarr version {version}; pcb reads 2 and 3", meta.display());
            return Err(FormatError::Unsupported(problem));
        }
        let stored = stored(&meta, &value)?;
        let corrupt = |e: String| FormatError::corrupt(&meta, format!("not the metadata of a Zarr array: {e}"));
        let described: ArrayMetadata = serde_json::from_value(value).map_err(|e| corrupt(e.to_string()))?;
        let inner = inner_codecs(&described);
        let store = store(folder)?;
        let array = Array::new_with_metadata(Arc::new(store), "/", described).map_err(|e| refused(&meta, e))?;
        Self::of(folder, meta, array, stored, inner)
    }

    fn of(
        folder: &Path,
        meta: PathBuf,
        array: Array<FilesystemStore>,
        stored: Stored,
        inner: Option<Vec<MetadataV3>>,
    ) -> Result<Self, FormatError> {
        let dims = array.shape().len();
        let outer = array.chunk_shape(&vec![0; dims]);
        let outer: Vec<u64> =
            outer.map_err(|e| FormatError::corrupt(&meta, e.to_string()))?.iter().map(|side| side.get()).collect();
        let shards = match array.subchunk_shape().filter(|_| array.is_exclusively_sharded()) {
            Some(inner) => {
                let per_shard = outer.iter().zip(&inner).map(|(outer, inner)| outer / inner.get()).collect();
                let chunk: Vec<u64> = inner.iter().map(|side| side.get()).collect();
                Some((Shards { cache: ArrayShardedReadableExtCache::new(&array), per_shard }, chunk))
            }
            None => None,
        };
        let (shards, chunk, chain) = match (shards, inner) {
            (Some((shards, chunk)), Some(codecs)) => {
                let chain = CodecChain::from_metadata(&codecs);
                let chain = chain.map_err(|e| refused(&meta, ArrayCreateError::CodecsCreateError(e)))?;
                (Some(shards), chunk, Arc::new(chain))
            }
            _ => (None, outer, array.codecs()),
        };
        let bytes = chunk.iter().try_fold(stored.size() as u64, |product, &side| product.checked_mul(side));
        if bytes.is_none_or(|bytes| bytes > LARGEST_CHUNK) {
            return Err(FormatError::corrupt(&meta, format!("chunks of {chunk:?} pixels are impossible")));
        }
        let shape = chunk.iter().filter_map(|&side| NonZeroU64::new(side)).collect();
        let is_raw = is_raw(&array, shards.is_some());
        let fill = array.fill_value().as_ne_bytes().to_vec();
        Ok(Self { folder: folder.to_owned(), meta, array, stored, chunk, is_raw, fill, chain, shape, shards })
    }

    /// Where the bytes of the chunk with these indices lie; `None`: it is not stored, so its pixels are the fill value.
    pub fn piece(&self, indices: &[u64]) -> Result<Option<Piece>, FormatError> {
        let Some(shards) = &self.shards else {
            return Ok(Some(Piece { path: self.file(indices), range: None }));
        };
        let outer: Vec<u64> = indices.iter().zip(&shards.per_shard).map(|(index, per)| index / per).collect();
        let path = self.file(&outer);
        let found = self.array.subchunk_byte_range(&shards.cache, indices);
        let broken = |e: zarrs::array::ArrayError| match path.metadata() {
            Ok(about) if about.len() == 0 => FormatError::corrupt(&path, "empty file; expected a shard"),
            _ => FormatError::corrupt(&path, format!("the index of the shard: {e}")),
        };
        match found.map_err(broken)? {
            Some(ByteRange::FromStart(offset, Some(len))) if len <= 2 * LARGEST_CHUNK => {
                Ok(Some(Piece { path, range: Some((offset, len as usize)) }))
            }
            Some(range) => Err(FormatError::corrupt(&path, format!("the index of the shard has a chunk at {range}"))),
            None => Ok(None),
        }
    }

    fn file(&self, indices: &[u64]) -> PathBuf {
        self.folder.join(self.array.chunk_key(indices).as_str())
    }

    /// Decodes the bytes of a chunk, read from `path`: calls `with` with its pixels, C order, native byte order.
    pub fn decode<R>(&self, path: &Path, bytes: &[u8], with: impl FnOnce(&[u8]) -> R) -> Result<R, FormatError> {
        use zarrs::array::{ArrayToBytesCodecTraits, CodecOptions};
        let options = CodecOptions::default().with_concurrent_target(1);
        let (kind, fill) = (self.array.data_type(), self.array.fill_value());
        let decoded = self.chain.decode(bytes.into(), &self.shape, kind, fill, &options);
        let decoded = decoded.and_then(|decoded| Ok(decoded.into_fixed()?));
        let decoded =
            decoded.map_err(|e| FormatError::corrupt(path, format!("a chunk that cannot be decoded: {e}")))?;
        let expected = self.chunk.iter().product::<u64>() as usize * self.stored.size();
        if decoded.len() != expected {
            let problem = format!("a chunk of {} bytes; expected {expected}", decoded.len());
            return Err(FormatError::corrupt(path, problem));
        }
        Ok(with(&decoded))
    }
}

/// The library's view of a folder, whose path it wants as text.
pub fn store(folder: &Path) -> Result<FilesystemStore, FormatError> {
    if folder.to_str().is_none() {
        let problem = format!("{}: the path is not UTF-8, which the zarrs library wants", folder.display());
        return Err(FormatError::Unsupported(problem));
    }
    FilesystemStore::new(folder).map_err(|e| FormatError::corrupt(folder, e.to_string()))
}

/// Element type, from the metadata of either version.
fn stored(meta: &Path, value: &serde_json::Value) -> Result<Stored, FormatError> {
    let name = value.get("data_type").or_else(|| value.get("dtype"));
    let name = name.and_then(serde_json::Value::as_str);
    match name.map(|name| name.trim_start_matches(['<', '>', '|', '='])) {
        Some("uint8" | "u1") => Ok(Stored::Ours(Dtype::U8)),
        Some("uint16" | "u2") => Ok(Stored::Ours(Dtype::U16)),
        Some("float32" | "f4") => Ok(Stored::Ours(Dtype::F32)),
        Some("int8" | "i1") => Ok(Stored::I8),
        Some("int16" | "i2") => Ok(Stored::I16),
        Some(_) => {
            let name = name.unwrap_or_default();
            let known = "pcb reads 8 and 16 bit integers and 32 bit floats";
            Err(FormatError::Unsupported(format!("{}: pixels of {name}; {known}", meta.display())))
        }
        None => Err(FormatError::corrupt(meta, "no data type; expected the metadata of a Zarr array")),
    }
}

/// The codecs of inner chunks, if the array is in shards.
fn inner_codecs(described: &ArrayMetadata) -> Option<Vec<MetadataV3>> {
    let ArrayMetadata::V3(v3) = described else { return None };
    let sharding = v3.codecs.iter().find(|codec| codec.name() == "sharding_indexed")?;
    let codecs = sharding.configuration()?.get("codecs")?.clone();
    serde_json::from_value(codecs).ok()
}

/// Whether chunks are plain little-endian pixels: no codec but `bytes`.
fn is_raw(array: &Array<FilesystemStore>, sharded: bool) -> bool {
    let value = serde_json::to_value(array.metadata()).unwrap_or_default();
    let chain = match sharded {
        false => value.get("codecs").cloned(),
        true => value.pointer("/codecs/0/configuration/codecs").cloned(),
    };
    if let Some(codecs) = chain {
        let only = codecs.as_array().filter(|codecs| codecs.len() == 1);
        let name = only.and_then(|codecs| codecs[0].get("name")?.as_str());
        let endian = codecs.pointer("/0/configuration/endian").and_then(serde_json::Value::as_str);
        return name == Some("bytes") && endian != Some("big");
    }
    let is_null = |key: &str| value.get(key).is_none_or(|value| value.is_null() || *value == serde_json::json!([]));
    let dtype = value.get("dtype").and_then(serde_json::Value::as_str).unwrap_or(">");
    is_null("compressor") && is_null("filters") && value.get("order") == Some(&"C".into()) && !dtype.starts_with('>')
}

/// What the library refused, as ours.
fn refused(meta: &Path, error: ArrayCreateError) -> FormatError {
    let missing = matches!(
        error,
        ArrayCreateError::CodecsCreateError(PluginCreateError::Unsupported(_) | PluginCreateError::NameInvalid { .. })
            | ArrayCreateError::UnsupportedZarrV2Array(_)
            | ArrayCreateError::StorageTransformersCreateError(_)
            | ArrayCreateError::AdditionalFieldUnsupportedError(_)
            | ArrayCreateError::ChunkGridCreateError(PluginCreateError::Unsupported(_))
            | ArrayCreateError::DataTypeCreateError(PluginCreateError::Unsupported(_))
    );
    match missing {
        true => FormatError::Unsupported(format!("{}: {error}", meta.display())),
        false => FormatError::corrupt(meta, format!("not the metadata of a Zarr array: {error}")),
    }
}
