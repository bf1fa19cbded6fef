//! The metadata of an array through `zarrs`, and what of it pcb does not read.

use std::sync::Arc;

use zarrs::array::{Array, ArrayCreateError, ArrayMetadata, ArrayMetadataV2, ArrayMetadataV3};
use zarrs::plugin::PluginCreateError;

use crate::FormatError;

use super::document::Document;

/// What `zarrs` makes of the metadata. No store goes with it: chunks are read here.
pub fn parse(document: &Document) -> Result<Array<()>, FormatError> {
    let wrong = |e: serde_json::Error| document.corrupt(format!("no metadata of an array: {e}"));
    let v2 = document.value.get("zarr_format").and_then(serde_json::Value::as_u64) == Some(2);
    let metadata = if v2 {
        let metadata: ArrayMetadataV2 = serde_json::from_value(document.value.clone()).map_err(wrong)?;
        if let Some(filter) = metadata.filters.as_ref().and_then(|filters| filters.first()) {
            return Err(document.unsupported(format!("filter {}; pcb reads arrays without filters", filter.id())));
        }
        if metadata.chunks.len() != metadata.shape.len() {
            let (chunks, shape) = (metadata.chunks.len(), metadata.shape.len());
            return Err(document.corrupt(format!("chunks of {chunks} axes; the array has {shape}")));
        }
        ArrayMetadata::V2(metadata)
    } else {
        let metadata: ArrayMetadataV3 = serde_json::from_value(document.value.clone()).map_err(wrong)?;
        check_v3(document, &metadata)?;
        ArrayMetadata::V3(metadata)
    };
    Array::new_with_metadata(Arc::new(()), "/", metadata).map_err(|error| match error {
        ArrayCreateError::UnsupportedZarrV2Array(what) => document.unsupported(what),
        ArrayCreateError::DataTypeCreateError(e)
        | ArrayCreateError::CodecsCreateError(e)
        | ArrayCreateError::ChunkGridCreateError(e)
        | ArrayCreateError::ChunkKeyEncodingCreateError(e)
        | ArrayCreateError::StorageTransformersCreateError(e) => refused(document, &e),
        error => document.corrupt(error.to_string()),
    })
}

/// What `zarrs` knows and pcb does not, or would pass over.
fn check_v3(document: &Document, metadata: &ArrayMetadataV3) -> Result<(), FormatError> {
    let grid = metadata.chunk_grid.name();
    if grid != "regular" {
        return Err(document.unsupported(format!("chunk grid {grid}; pcb reads regular ones")));
    }
    let keys = metadata.chunk_key_encoding.name();
    if !["default", "v2"].contains(&keys) {
        return Err(document.unsupported(format!("chunk key encoding {keys}; pcb reads default and v2")));
    }
    let mut extra = metadata.additional_fields.iter().filter(|(_, field)| field.must_understand());
    if let Some((name, _)) = extra.next() {
        return Err(document.unsupported(format!("field {name}, which must be understood")));
    }
    if let Some(first) = metadata.storage_transformers.first() {
        return Err(document.unsupported(format!("storage transformer {}; pcb reads none", first.name())));
    }
    // `zarrs` leaves out an unknown codec of that kind, and would hand out other pixels.
    if let Some(codec) = metadata.codecs.iter().find(|codec| !codec.must_understand()) {
        return Err(document.unsupported(format!("codec {} with must_understand false", codec.name())));
    }
    Ok(())
}

/// What a plug-in of `zarrs` refused: something unknown, or a wrong description of something known.
pub fn refused(document: &Document, error: &PluginCreateError) -> FormatError {
    match error {
        PluginCreateError::Unsupported(_) => document.unsupported(error.to_string()),
        _ => document.corrupt(error.to_string()),
    }
}
