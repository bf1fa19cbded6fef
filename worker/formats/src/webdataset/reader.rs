//! Reading records at their offsets.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::scan::{self, Member, tar_members};
use super::{FORMAT, SHARD_RECORDS, index, is_indexed, key, shard_path, shards};
use crate::npy::header;
use crate::raw::grown;
use crate::record::Part;
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage};

/// Reads records out of shards, which stay open.
pub struct ShardReader {
    part: Part,
    shards: Vec<Shard>,
    /// The header that every record has: all were written alike.
    header: Vec<u8>,
    scratch: Vec<u8>,
}

struct Shard {
    path: PathBuf,
    file: File,
    /// Where each record's .npy begins, in bytes.
    offsets: Vec<u64>,
}

impl ShardReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let folder = spec.stored_folder(FORMAT.name)?;
        let dataset = &spec.dataset;
        let header = header::encode(dataset.info.dtype, &dataset.record_shape());
        let len = header.len() + dataset.record_shape().iter().product::<usize>() * dataset.info.dtype.size();
        let objects = dataset.objects.rows.len();
        let open = |shard: usize| {
            let first = shard * SHARD_RECORDS;
            let rows = first..objects.min(first + SHARD_RECORDS).max(first);
            Shard::open(shard_path(&folder, shard), is_indexed(spec.variant), rows, len as u64, dataset)
        };
        let shards = (0..shards(dataset)).map(open).collect::<Result<_, _>>()?;
        Ok(Self { part, shards, header, scratch: Vec::new() })
    }
}

/// Says what is wrong with the .npy file of a record that begins with the bytes `found`.
fn wrong(path: &Path, object: usize, found: &[u8], dataset: &Dataset) -> FormatError {
    let (dtype, shape) = (dataset.info.dtype, dataset.record_shape());
    let found = match header::parse(found) {
        Ok(header) => format!("{} {:?}", header.dtype, header.shape),
        Err(_) => "no header of a .npy array".to_owned(),
    };
    let problem = format!(
        "{}.npy holds {found}; expected little-endian {dtype} {shape:?} in C order, as dataset.json says",
        key(object)
    );
    FormatError::corrupt(path, problem)
}

impl Shard {
    /// Finds the records `rows`, whose .npy files have `len` bytes each.
    fn open(
        path: PathBuf,
        indexed: bool,
        rows: Range<usize>,
        len: u64,
        dataset: &Dataset,
    ) -> Result<Self, FormatError> {
        let (teller, members) = if indexed {
            let teller = path.with_extension("idx");
            let members = index::parse(&teller, &read_text(&teller)?)?.into_iter().flatten().collect();
            (teller, members)
        } else {
            (path.clone(), tar_members(&path)?)
        };
        let mut pixels: Vec<Member> = members;
        pixels.retain(|member| member.name.ends_with(".npy"));
        let file = File::open(&path).map_err(|e| FormatError::io(&path, e))?;
        let end = scan::check_end(&path, &file)?;
        if pixels.len() != rows.len() {
            let problem = format!("{} .npy files; expected {}, one for each object", pixels.len(), rows.len());
            return Err(FormatError::corrupt(&teller, problem));
        }
        for (object, member) in rows.zip(&pixels) {
            let expected = format!("{}.npy", key(object));
            if member.name != expected {
                let problem = format!("{:?} where {expected:?} was expected", member.name);
                return Err(FormatError::corrupt(&teller, problem));
            }
            if member.len != len {
                let mut start = vec![0; member.len.min(512) as usize];
                file.read_exact_at(&mut start, member.offset).map_err(|e| FormatError::io(&path, e))?;
                return Err(wrong(&path, object, &start, dataset));
            }
            if member.offset.checked_add(len).is_none_or(|last| last > end) {
                return Err(FormatError::corrupt(&path, format!("truncated: {expected} ends past its {end} bytes")));
            }
        }
        Ok(Self { path, file, offsets: pixels.iter().map(|member| member.offset).collect() })
    }
}

fn read_text(path: &Path) -> Result<String, FormatError> {
    fs::read_to_string(path).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidData => FormatError::corrupt(path, "not text; expected an index of a tar file"),
        _ => FormatError::io(path, e),
    })
}

impl Reader for ShardReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.part.spec.window(object)?;
        let found = self.shards.get(object / SHARD_RECORDS);
        let place = found.and_then(|shard| Some((shard, *shard.offsets.get(object % SHARD_RECORDS)?)));
        let Some((shard, offset)) = place else {
            return Err(FormatError::Unsupported(format!("object {object}: the shards hold fewer records")));
        };
        // One read for the whole file of a record, as every reader of tar shards does.
        let [channels, height, width] = self.part.spec.dataset.record_shape();
        let len = self.header.len() + channels * height * width * self.part.spec.dataset.info.dtype.size();
        let bytes = grown(&mut self.scratch, len);
        shard.file.read_exact_at(bytes, offset).map_err(|e| FormatError::io(&shard.path, e))?;
        probe.ended(Stage::Read);
        let (start, record) = self.scratch[..len].split_at(self.header.len());
        if start != self.header {
            return Err(wrong(&shard.path, object, start, &self.part.spec.dataset));
        }
        self.part.cut(record, out);
        self.part.pad(site, window, out);
        probe.ended(Stage::Decode);
        Ok(len as u64)
    }
}
