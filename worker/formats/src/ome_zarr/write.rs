//! Writing plates.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pcb_protocol::Dtype;
use serde_json::{Value, json};
use zarrs::array::{Array, ArrayBytes, ArrayMetadata, ArraySubset, CodecOptions};

use super::array::store;
use super::meta::{Zarr, write_group};
use super::{Place, places};
use crate::{Dataset, FormatError, SitePixels, Variant};

/// How arrays are stored.
struct Form {
    zarr: Zarr,
    /// Rows and columns of a chunk.
    chunk: usize,
    /// Rows and columns of a shard.
    shard: Option<usize>,
    codec: &'static str,
}

/// How the variant called `stored` is written.
fn form(stored: &str) -> Result<Form, FormatError> {
    let (zarr, chunk, shard, codec) = match stored {
        "v2-chunk1024-blosc" => (Zarr::V2, 1024, None, "blosc-lz4"),
        "v2-tile128-zstd" => (Zarr::V2, 128, None, "zstd3"),
        "v3-chunk1024-zstd" => (Zarr::V3, 1024, None, "zstd0"),
        "v3-tile128-zstd" => (Zarr::V3, 128, None, "zstd3"),
        "v3-tile128-blosc" => (Zarr::V3, 128, None, "blosc-zstd"),
        "v3-tile128-none" => (Zarr::V3, 128, None, "none"),
        "v3-shard1024-tile128-zstd" => (Zarr::V3, 128, Some(1024), "zstd3"),
        "v3-shard1024-tile128-none" => (Zarr::V3, 128, Some(1024), "none"),
        other => return Err(FormatError::Unsupported(format!("ome-zarr: no way is known to store {other}"))),
    };
    Ok(Form { zarr, chunk, shard, codec })
}

/// Writes the plates of a dataset.
pub fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    if variant.stored == "source" {
        return dataset.check_source(super::FORMAT.name);
    }
    let form = form(variant.stored)?;
    let places = places(dataset);
    write_groups(&places, &form, into)?;
    let total = places.len() as u64;
    for (index, place) in places.iter().enumerate() {
        let site = dataset.reference(index)?;
        let array = into.join(place.array());
        if let Some(field) = array.parent() {
            let about = field_attributes(&form, &dataset.info.sites[index].name(), &dataset.info.channels);
            write_group(field, form.zarr, about)?;
        }
        write_array(&array, &site, &form)?;
        progress(index as u64 + 1, total);
    }
    Ok(())
}

/// The groups of plates, rows and wells.
fn write_groups(places: &[Place], form: &Form, into: &Path) -> Result<(), FormatError> {
    let mut plates: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
    for place in places {
        plates.entry(&place.plate).or_default().push(place);
    }
    for (plate, places) in plates {
        let names = |of: fn(&Place) -> &str| {
            let mut names: Vec<&str> = places.iter().map(|place| of(place)).collect();
            names.sort_unstable();
            names.dedup();
            names
        };
        let (rows, columns) = (names(|place| &place.row), names(|place| &place.column));
        let mut wells: BTreeMap<String, (&Place, usize)> = BTreeMap::new();
        for place in &places {
            wells.entry(place.well()).or_insert((place, 0)).1 += 1;
        }
        let well = |(place, _): &(&Place, usize)| {
            json!({
                "path": format!("{}/{}", place.row, place.column),
                "rowIndex": rows.iter().position(|row| *row == place.row),
                "columnIndex": columns.iter().position(|column| *column == place.column),
            })
        };
        let named = |names: &[&str]| names.iter().map(|name| json!({ "name": name })).collect::<Vec<_>>();
        let about = json!({
            "name": plate.trim_end_matches(".zarr"),
            "rows": named(&rows),
            "columns": named(&columns),
            "wells": wells.values().map(well).collect::<Vec<_>>(),
            "field_count": wells.values().map(|(_, fields)| fields).max(),
        });
        write_group(&into.join(plate), form.zarr, versioned(form, "plate", about))?;
        for row in &rows {
            write_group(&into.join(plate).join(row), form.zarr, json!({}))?;
        }
        for (well, (_, fields)) in &wells {
            let images: Vec<Value> = (0..*fields).map(|field| json!({ "path": field.to_string() })).collect();
            write_group(&into.join(well), form.zarr, versioned(form, "well", json!({ "images": images })))?;
        }
    }
    Ok(())
}

/// Attributes under one key: 0.4 has the version within it, 0.5 beside it.
fn versioned(form: &Form, key: &str, mut about: Value) -> Value {
    match form.zarr {
        Zarr::V2 => {
            about["version"] = "0.4".into();
            json!({ key: about })
        }
        Zarr::V3 => json!({ "version": "0.5", key: about }),
    }
}

fn field_attributes(form: &Form, name: &str, channels: &[String]) -> Value {
    let axes =
        [("c", "channel"), ("y", "space"), ("x", "space")].map(|(name, kind)| json!({ "name": name, "type": kind }));
    let scale = json!([{ "type": "scale", "scale": [1.0, 1.0, 1.0] }]);
    let mut multiscale = json!({
        "name": name, "axes": axes, "datasets": [{ "path": "0", "coordinateTransformations": scale }],
    });
    if form.zarr == Zarr::V2 {
        multiscale["version"] = "0.4".into();
    }
    let window = json!({ "min": 0, "max": 65535, "start": 0, "end": 65535 });
    let channel = |label: &String| json!({ "label": label, "color": "FFFFFF", "active": true, "window": window });
    let omero = json!({ "channels": channels.iter().map(channel).collect::<Vec<_>>() });
    let mut about = json!({ "multiscales": [multiscale], "omero": omero });
    if form.zarr == Zarr::V3 {
        about["version"] = "0.5".into();
    }
    about
}

/// Metadata of the array of a site.
fn array_metadata(site: &SitePixels, form: &Form) -> Value {
    let shape = [site.channels, site.height, site.width];
    // A site smaller than a chunk is one chunk; shards are whole numbers of chunks.
    let chunk = [1, form.chunk.min(site.height), form.chunk.min(site.width)];
    let dtype = site.data.dtype();
    match form.zarr {
        Zarr::V2 => {
            let dtype = match dtype {
                Dtype::U8 => "|u1",
                Dtype::U16 => "<u2",
                Dtype::F32 => "<f4",
            };
            json!({
                "zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": dtype, "compressor": compressor_v2(form.codec),
                "fill_value": 0, "order": "C", "filters": null, "dimension_separator": "/",
            })
        }
        Zarr::V3 => {
            let mut codecs = vec![bytes_codec(dtype)];
            codecs.extend(codec_v3(form.codec, dtype.size()));
            let side = |len: usize, chunk: usize, shard: usize| chunk * shard.min(len).div_ceil(chunk);
            let (outer, codecs) = match form.shard {
                None => (chunk, codecs),
                Some(shard) => {
                    let outer = [1, side(site.height, chunk[1], shard), side(site.width, chunk[2], shard)];
                    let index = [
                        json!({ "name": "bytes", "configuration": { "endian": "little" } }),
                        json!({ "name": "crc32c" }),
                    ];
                    let sharding = json!({
                        "chunk_shape": chunk, "codecs": codecs, "index_codecs": index, "index_location": "end",
                    });
                    (outer, vec![json!({ "name": "sharding_indexed", "configuration": sharding })])
                }
            };
            let kind = match dtype {
                Dtype::U8 => "uint8",
                Dtype::U16 => "uint16",
                Dtype::F32 => "float32",
            };
            json!({
                "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind,
                "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": outer } },
                "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
                "fill_value": 0, "codecs": codecs, "attributes": {}, "dimension_names": ["c", "y", "x"],
            })
        }
    }
}

fn bytes_codec(dtype: Dtype) -> Value {
    match dtype {
        Dtype::U8 => json!({ "name": "bytes" }),
        Dtype::U16 | Dtype::F32 => json!({ "name": "bytes", "configuration": { "endian": "little" } }),
    }
}

fn compressor_v2(codec: &str) -> Value {
    match codec {
        "blosc-lz4" => json!({ "id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1, "blocksize": 0 }),
        "zstd3" => json!({ "id": "zstd", "level": 3, "checksum": false }),
        _ => Value::Null,
    }
}

fn codec_v3(codec: &str, size: usize) -> Option<Value> {
    let zstd = |level: i32| json!({ "name": "zstd", "configuration": { "level": level, "checksum": false } });
    match codec {
        "zstd0" => Some(zstd(0)),
        "zstd3" => Some(zstd(3)),
        "blosc-zstd" => {
            let about = json!({ "cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": size, "blocksize": 0 });
            Some(json!({ "name": "blosc", "configuration": about }))
        }
        _ => None,
    }
}

fn write_array(folder: &Path, site: &SitePixels, form: &Form) -> Result<(), FormatError> {
    std::fs::create_dir_all(folder).map_err(|e| FormatError::io(folder, e))?;
    let failed = |e: String| FormatError::io(folder, std::io::Error::other(e));
    let described: ArrayMetadata =
        serde_json::from_value(array_metadata(site, form)).map_err(|e| failed(e.to_string()))?;
    let store = Arc::new(store(folder)?);
    let array = Array::new_with_metadata(store, "/", described).map_err(|e| failed(e.to_string()))?;
    array.store_metadata().map_err(|e| failed(e.to_string()))?;
    let all = ArraySubset::new_with_shape(array.shape().to_vec());
    // Chunks of zeros are stored too: a missing one shall mean that something is missing.
    let options = CodecOptions::default().with_concurrent_target(1).with_store_empty_chunks(true);
    let pixels = ArrayBytes::new_flen(site.data.bytes());
    array.store_array_subset_opt(&all, pixels, &options).map_err(|e| failed(e.to_string()))
}
