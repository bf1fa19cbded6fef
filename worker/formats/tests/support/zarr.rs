//! Arrays written by hand, chunk by chunk, without `zarrs`: what other writers may leave.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_formats::{Dataset, Pixels, Site, SitePixels, SourceFile, SourceKind, site_digest};
use pcb_protocol::Dtype;
use serde_json::{Value, json};

/// An array: its metadata, and how its chunks become bytes.
pub struct Hand<'a> {
    /// Content of `.zarray` or `zarr.json`.
    pub metadata: Value,
    /// Length of each axis.
    pub shape: &'a [usize],
    /// The same of a chunk.
    pub chunk: &'a [usize],
    /// Bytes of the element with this number, in C order of the whole array.
    pub element: &'a dyn Fn(usize) -> Vec<u8>,
    /// Whether the first axis of a chunk runs fastest.
    pub fortran: bool,
    /// What is done with a chunk's bytes.
    pub pack: &'a dyn Fn(Vec<u8>) -> Vec<u8>,
    /// Before the numbers of a chunk's key, between them.
    pub key: (&'a str, &'a str),
}

impl Hand<'_> {
    /// Writes the array into `folder`. Chunks are whole; past the edges they hold element 0.
    pub fn write(&self, folder: &Path) {
        fs::create_dir_all(folder).expect("a folder");
        let name = if self.metadata["zarr_format"] == 2 { ".zarray" } else { "zarr.json" };
        fs::write(folder.join(name), self.metadata.to_string()).expect("written");
        let counts: Vec<usize> = self.shape.iter().zip(self.chunk).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        for number in 0..counts.iter().product() {
            let at = place(number, &counts);
            let path = self.path(folder, &at);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, (self.pack)(self.chunk_bytes(&at))).expect("written");
        }
    }

    /// File of the chunk at `at`.
    pub fn path(&self, folder: &Path, at: &[usize]) -> PathBuf {
        let numbers: Vec<String> = at.iter().map(usize::to_string).collect();
        folder.join(format!("{}{}", self.key.0, numbers.join(self.key.1)))
    }

    /// Writes the array into `folder` as shards of `shard` elements along each axis, with an index of little-endian
    /// numbers and a checksum; chunks outside of the array are not stored.
    pub fn write_shards(&self, folder: &Path, shard: &[usize], index_first: bool) {
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("zarr.json"), self.metadata.to_string()).expect("written");
        let counts: Vec<usize> = self.shape.iter().zip(shard).map(|(len, shard)| len.div_ceil(*shard)).collect();
        let within: Vec<usize> = shard.iter().zip(self.chunk).map(|(shard, chunk)| shard / chunk).collect();
        for number in 0..counts.iter().product() {
            let at = place(number, &counts);
            let chunks: usize = within.iter().product();
            let (mut index, mut data) = (Vec::new(), Vec::new());
            let start = if index_first { chunks * 16 + 4 } else { 0 };
            for number in 0..chunks {
                let inner = place(number, &within);
                let inner: Vec<usize> = (0..at.len()).map(|axis| at[axis] * within[axis] + inner[axis]).collect();
                let stored = (0..at.len()).all(|axis| inner[axis] * self.chunk[axis] < self.shape[axis]);
                let bytes = if stored { (self.pack)(self.chunk_bytes(&inner)) } else { Vec::new() };
                let entry = if stored { [(start + data.len()) as u64, bytes.len() as u64] } else { [u64::MAX; 2] };
                index.extend(entry.map(u64::to_le_bytes).concat());
                data.extend(bytes);
            }
            let sum = crc32c(&index);
            index.extend(sum.to_le_bytes());
            let path = self.path(folder, &at);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, if index_first { [index, data] } else { [data, index] }.concat()).expect("written");
        }
    }

    fn chunk_bytes(&self, at: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in 0..self.chunk.iter().product() {
            let within = if self.fortran {
                let reversed: Vec<usize> = self.chunk.iter().rev().copied().collect();
                place(number, &reversed).into_iter().rev().collect()
            } else {
                place(number, self.chunk)
            };
            let whole: Vec<usize> = (0..at.len()).map(|axis| at[axis] * self.chunk[axis] + within[axis]).collect();
            let inside = whole.iter().zip(self.shape).all(|(at, len)| at < len);
            let element = whole.iter().zip(self.shape).fold(0, |number, (at, len)| number * len + at);
            bytes.extend((self.element)(if inside { element } else { 0 }));
        }
        bytes
    }
}

/// The place of number `number`, counted with the last axis fastest.
fn place(mut number: usize, lengths: &[usize]) -> Vec<usize> {
    let mut at = vec![0; lengths.len()];
    for axis in (0..lengths.len()).rev() {
        at[axis] = number % lengths[axis];
        number /= lengths[axis];
    }
    at
}

/// The checksum of a shard's index, bit by bit.
pub fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
        }
    }
    !sum
}

/// A dataset of one site, whose channels are those of the array in the folder `array`. `expected` are its pixels.
pub fn imported(root: &Path, array: &Path, shape: [usize; 3], expected: Pixels) -> Arc<Dataset> {
    let [channels, height, width] = shape;
    let dtype = expected.dtype();
    let pixels = SitePixels { channels, height, width, data: expected };
    let site = site(array, shape, site_digest(&pixels));
    fs::create_dir_all(root).expect("a folder");
    dataset(root, dtype, channels, vec![site])
}

/// A site whose channels are those of the array in the folder `array`.
pub fn site(array: &Path, [channels, height, width]: [usize; 3], digest: String) -> Site {
    let source = |page: usize| SourceFile {
        path: array.to_owned(),
        kind: SourceKind::OmeZarr,
        page: page as u32,
        row: 0,
        column: None,
    };
    Site {
        plate: "P".into(),
        well: "A01".into(),
        site: array.display().to_string(),
        height: height as u32,
        width: width as u32,
        digest,
        source: (0..channels).map(source).collect(),
    }
}

/// A dataset of these sites, with objects in all of them.
pub fn dataset(root: &Path, dtype: Dtype, channels: usize, sites: Vec<Site>) -> Arc<Dataset> {
    let rows = sites.iter().enumerate().flat_map(|(index, site)| super::objects(index, site.height, site.width));
    let rows = rows.collect();
    let names = (0..channels).map(|channel| channel.to_string()).collect();
    super::finish(root, dtype, names, sites, rows, (4, 4))
}

/// Content of a `.zarray` without codecs, with `more` in it.
pub fn v2(shape: &[usize], chunk: &[usize], dtype: &str, more: &Value) -> Value {
    let mut metadata = json!({
        "zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": dtype, "compressor": null, "fill_value": 0,
        "order": "C", "filters": null,
    });
    merge(&mut metadata, more);
    metadata
}

/// Content of a `zarr.json` without codecs, with `more` in it.
pub fn v3(shape: &[usize], chunk: &[usize], dtype: &str, more: &Value) -> Value {
    let mut metadata = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    });
    merge(&mut metadata, more);
    metadata
}

fn merge(metadata: &mut Value, more: &Value) {
    for (key, value) in more.as_object().expect("an object") {
        metadata[key] = value.clone();
    }
}
