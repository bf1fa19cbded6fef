//! Writes the sites of a dataset as fields of plates. Chunks are encoded by `zarrs` and written here: its own store syncs
//! every file, which costs milliseconds a chunk.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use pcb_protocol::Dtype;
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArrayToBytesCodecTraits, CodecOptions};

use crate::{Dataset, FormatError, SitePixels};

use super::describe::{self, Version, write_json};
use super::place::{ARRAY, plates};

/// How pixels are stored. Chunks and shards have one channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Version of Zarr.
    pub version: Version,
    /// Rows and columns of a chunk; sites that are smaller have smaller ones.
    pub chunk: usize,
    /// Rows and columns of a shard at most; `None` for a file for each chunk.
    pub shard: Option<usize>,
    /// How chunks are compressed.
    pub codec: Codec,
}

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    None,
    /// zstd, level 3.
    Zstd,
    /// Blosc with byte shuffle and this codec at level 5.
    Blosc(&'static str),
}

/// Writes the plates of `dataset` into `into`.
pub fn write(
    dataset: &Dataset,
    form: Form,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let version = form.version;
    let (mut done, total) = (0, dataset.info.sites.len() as u64);
    for plate in plates(dataset) {
        let folder = into.join(&plate.folder);
        describe::write_group(&folder, version, "plate", describe::plate(&plate))?;
        for row in plate.wells.iter().map(|well| &well.row).collect::<BTreeSet<_>>() {
            describe::write_row(&folder.join(row), version)?;
        }
        for well in &plate.wells {
            let folder = folder.join(&well.row).join(&well.column);
            describe::write_group(&folder, version, "well", describe::well(well))?;
            for (field, &site) in well.sites.iter().enumerate() {
                let folder = folder.join(field.to_string());
                let (name, info) = (dataset.info.sites[site].name(), &dataset.info);
                describe::write_image(&folder, version, &name, &info.channels, info.dtype)?;
                write_array(&folder.join(ARRAY), &dataset.reference(site)?, form)?;
                done += 1;
                progress(done, total);
            }
        }
    }
    Ok(())
}

fn write_array(folder: &Path, site: &SitePixels, form: Form) -> Result<(), FormatError> {
    fs::create_dir_all(folder).map_err(|e| FormatError::io(folder, e))?;
    let (name, metadata) = metadata(site, form);
    write_json(&folder.join(name), &metadata)?;
    // What is encoded is what the document says.
    let wrong = |e: String| FormatError::corrupt(folder.join(name), e);
    let parsed: ArrayMetadata = match form.version {
        Version::V2 => serde_json::from_value(metadata).map(ArrayMetadata::V2),
        Version::V3 => serde_json::from_value(metadata).map(ArrayMetadata::V3),
    }
    .map_err(|e| wrong(e.to_string()))?;
    let array = Array::new_with_metadata(Arc::new(()), "/", parsed).map_err(|e| wrong(e.to_string()))?;
    let shape = array.chunk_shape(&[0; 3]).map_err(|e| wrong(e.to_string()))?;
    let (high, wide) = (shape[1].get() as usize, shape[2].get() as usize);
    for channel in 0..site.channels {
        for down in 0..site.height.div_ceil(high) {
            for across in 0..site.width.div_ceil(wide) {
                let chunk = cut(site, channel, (down * high, high), (across * wide, wide));
                // As other writers do, chunks of nothing but the fill value are left out.
                if chunk.iter().all(|&byte| byte == 0) {
                    continue;
                }
                let index = [channel as u64, down as u64, across as u64];
                let path = folder.join(array.chunk_key_encoding().encode(&index).as_str());
                write_chunk(&array, &shape, chunk, &path)?;
            }
        }
    }
    Ok(())
}

/// A whole chunk; past the edges of the site it holds the fill value, which is 0.
fn cut(site: &SitePixels, channel: usize, (top, high): (usize, usize), (left, wide): (usize, usize)) -> Vec<u8> {
    let pixel = site.data.dtype().size();
    let (row, line) = (site.width * pixel, wide * pixel);
    let mut chunk = vec![0; high * line];
    let rows = high.min(site.height - top);
    let used = wide.min(site.width - left) * pixel;
    let first = (channel * site.height + top) * row + left * pixel;
    for (source, out) in site.data.bytes()[first..].chunks(row).zip(chunk.chunks_exact_mut(line)).take(rows) {
        out[..used].copy_from_slice(&source[..used]);
    }
    chunk
}

fn write_chunk(array: &Array<()>, shape: &[NonZeroU64], chunk: Vec<u8>, path: &Path) -> Result<(), FormatError> {
    // One thread: several would put the chunks of a shard in the order in which they are done.
    let options = CodecOptions::default().with_concurrent_target(1);
    let encoded = array
        .codecs()
        .encode(ArrayBytes::from(chunk), shape, array.data_type(), array.fill_value(), &options)
        .map_err(|e| FormatError::corrupt(path, e.to_string()))?;
    let save = || {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, &encoded)
    };
    save().map_err(|e| FormatError::io(path, e))
}

/// Name and content of the array's document.
fn metadata(site: &SitePixels, form: Form) -> (&'static str, Value) {
    let shape = [site.channels, site.height, site.width];
    let clamped = |len: usize, most: usize| len.min(most);
    let chunk = [1, clamped(site.height, form.chunk), clamped(site.width, form.chunk)];
    if form.version == Version::V2 {
        let document = json!({
            "zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": dtype_v2(site.data.dtype()),
            "compressor": codec_v2(form.codec), "fill_value": 0, "order": "C", "filters": null,
            "dimension_separator": "/",
        });
        return (".zarray", document);
    }
    let codecs = codecs_v3(form.codec, site.data.dtype());
    let (outer, codecs) = match form.shard {
        None => (chunk, codecs),
        Some(side) => {
            let whole = |len: usize, chunk: usize| len.min(side).next_multiple_of(chunk);
            let sharding = json!({
                "chunk_shape": chunk, "codecs": codecs, "index_location": "end",
                "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            });
            let outer = [1, whole(site.height, chunk[1]), whole(site.width, chunk[2])];
            (outer, json!([{"name": "sharding_indexed", "configuration": sharding}]))
        }
    };
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype_v3(site.data.dtype()),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": outer}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": codecs, "dimension_names": ["c", "y", "x"], "attributes": {},
    });
    ("zarr.json", document)
}

fn dtype_v2(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "|u1",
        Dtype::U16 => "<u2",
        Dtype::F32 => "<f4",
    }
}

fn dtype_v3(dtype: Dtype) -> &'static str {
    match dtype {
        Dtype::U8 => "uint8",
        Dtype::U16 => "uint16",
        Dtype::F32 => "float32",
    }
}

fn codec_v2(codec: Codec) -> Value {
    match codec {
        Codec::None => Value::Null,
        Codec::Zstd => json!({"id": "zstd", "level": 3, "checksum": false}),
        Codec::Blosc(name) => json!({"id": "blosc", "cname": name, "clevel": 5, "shuffle": 1, "blocksize": 0}),
    }
}

fn codecs_v3(codec: Codec, dtype: Dtype) -> Value {
    let bytes = match dtype {
        Dtype::U8 => json!({"name": "bytes"}),
        Dtype::U16 | Dtype::F32 => json!({"name": "bytes", "configuration": {"endian": "little"}}),
    };
    match codec {
        Codec::None => json!([bytes]),
        Codec::Zstd => json!([bytes, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]),
        Codec::Blosc(name) => {
            let configuration = json!({
                "typesize": dtype.size(), "cname": name, "clevel": 5, "shuffle": "shuffle", "blocksize": 0,
            });
            json!([bytes, {"name": "blosc", "configuration": configuration}])
        }
    }
}
