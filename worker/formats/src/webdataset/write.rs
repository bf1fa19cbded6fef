//! Writing shards and their indexes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tar::{Builder, EntryType, Header};

use super::scan::{BLOCK, Member};
use super::{SHARD_RECORDS, index, key, shard_path, shards};
use crate::npy::header;
use crate::reference::for_each_record;
use crate::{Dataset, FormatError, Variant};

/// A shard being written.
struct Shard {
    builder: Builder<BufWriter<File>>,
    /// Bytes written so far.
    offset: u64,
    samples: Vec<Vec<Member>>,
}

impl Shard {
    fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { builder: Builder::new(BufWriter::new(File::create(path)?)), offset: 0, samples: Vec::new() })
    }

    /// Appends a file and says where its bytes lie. Names are short, so a header is one block.
    fn append(&mut self, name: String, parts: &[&[u8]]) -> io::Result<Member> {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_path(&name)?;
        header.set_size(len as u64);
        header.set_mode(0o644);
        // Equal records, equal bytes: nothing of the time or the user.
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_cksum();
        let mut data: Box<dyn io::Read + '_> = Box::new(io::empty());
        for part in parts {
            data = Box::new(io::Read::chain(data, *part));
        }
        self.builder.append(&header, data)?;
        let offset = self.offset + BLOCK;
        self.offset = offset + (len as u64).next_multiple_of(BLOCK);
        Ok(Member { name, offset, len: len as u64 })
    }

    fn finish(self, path: &Path) -> io::Result<()> {
        self.builder.into_inner()?.flush()?;
        fs::write(path.with_extension("idx"), index::encode(&self.samples))
    }
}

/// Writes all records into shards, with an index beside each.
pub fn write(
    dataset: &Dataset,
    _: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let header = header::encode(dataset.info.dtype, &dataset.record_shape());
    let path = |number: usize| shard_path(into, number);
    let failed = |number: usize| move |e: io::Error| FormatError::io(path(number), e);
    let mut number = 0;
    let mut shard = Shard::create(&path(0)).map_err(failed(0))?;
    for_each_record(dataset, progress, |object, record| {
        if object / SHARD_RECORDS > number {
            number = object / SHARD_RECORDS;
            let next = Shard::create(&path(number)).map_err(failed(number))?;
            std::mem::replace(&mut shard, next).finish(&path(number - 1)).map_err(failed(number - 1))?;
        }
        let key = key(object);
        let save = |shard: &mut Shard| -> io::Result<()> {
            let pixels = shard.append(format!("{key}.npy"), &[&header, record])?;
            let about = shard.append(format!("{key}.json"), &[about(dataset, object)?.as_bytes()])?;
            shard.samples.push(vec![pixels, about]);
            Ok(())
        };
        save(&mut shard).map_err(failed(number))
    })?;
    shard.finish(&path(number)).map_err(failed(number))?;
    debug_assert_eq!(number + 1, shards(dataset), "shards and files() agree");
    Ok(())
}

/// What is known of a record, as JSON.
fn about(dataset: &Dataset, object: usize) -> io::Result<String> {
    let row = &dataset.objects.rows[object];
    let site = &dataset.info.sites[row.site as usize];
    let about = serde_json::json!({
        "id": row.id, "plate": site.plate, "well": site.well, "site": site.site, "center_y": row.y, "center_x": row.x,
    });
    Ok(serde_json::to_string(&about)?)
}
