//! WebDataset: records in tar shards, `KEY.npy` with its pixels and `KEY.json` with what is known of it, one after the
//! other. Made for streaming; a sample is found through the offsets in an index, or of the headers.

mod index;
mod reader;
mod scan;
mod write;

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};

pub use scan::{Member, tar_members};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "webdataset",
    about: "tar shards of KEY.npy and KEY.json, read at offsets that an index or the shards' own headers tell",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write: write::write,
    resident_bytes: |_| 0,
};

const VARIANTS: &[Variant] = &[
    Variant::new("scan", Layout::Object, PARAMETERS)
        .stored(STORED)
        .role(Role::Default)
        .about("shards of 1,000 records; opening reads every header of every shard, as for shards without an index"),
    Variant::new("index", Layout::Object, PARAMETERS)
        .stored(STORED)
        .role(Role::Tuned)
        .about("shards of 1,000 records; opening reads the .idx file beside each shard"),
];

/// Name of the stored form of both.
const STORED: &str = "shards";
const PARAMETERS: &str =
    "shards of 1,000 records, KEY.npy and KEY.json; beside each its index as NVIDIA DALI's wds2idx writes it";

/// Records of a shard.
const SHARD_RECORDS: usize = 1000;

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    Ok(Box::new(reader::ShardReader::open(spec)?))
}

/// Whether a variant finds samples through the index files.
fn is_indexed(variant: &Variant) -> bool {
    variant.name == "index"
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    let shards = (0..shards(dataset)).map(|shard| shard_path(&folder, shard));
    let index = is_indexed(variant);
    let mut files: Vec<PathBuf> =
        shards.flat_map(|path| [index.then(|| path.with_extension("idx")), Some(path)].into_iter().flatten()).collect();
    files.sort();
    Ok(files)
}

/// Number of shards; a dataset without objects has one, empty.
fn shards(dataset: &Dataset) -> usize {
    dataset.objects.rows.len().div_ceil(SHARD_RECORDS).max(1)
}

/// `shard-000000.tar`, as the writers of WebDataset name them.
fn shard_path(folder: &Path, shard: usize) -> PathBuf {
    folder.join(format!("shard-{shard:06}.tar"))
}

/// Key of a record: its row in the object table, so that no id can break a file name or be two records' key.
fn key(object: usize) -> String {
    format!("{object:09}")
}
