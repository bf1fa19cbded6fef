//! Files of a Lance dataset: the manifest, and the data file as Lance reads and writes it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use lance_core::Error;
use lance_encoding::EncodingsIo;
use lance_io::object_writer::WriteResult;
use lance_table::format::{MAGIC, MAJOR_VERSION, MINOR_VERSION, Manifest, pb};
use prost::Message;

use crate::FormatError;
use crate::tables::{self, CountedFile};

/// Manifest of version 1 of a dataset: later versions have lower names, so that they come first.
pub const MANIFEST: &str = "_versions/18446744073709551614.manifest";
/// Where our writer puts the rows. Lance's own names are random.
pub const DATA: &str = "data/images.lance";

/// Bytes behind a manifest: its position, two versions, the magic word.
const FOOTER: usize = 16;
/// A manifest names a few files and columns; a longer one is none of ours.
const LONGEST: u64 = 64 << 20;

/// Reads the manifest at `path`.
pub fn read_manifest(path: &Path) -> Result<Manifest, FormatError> {
    let len = tables::open(path)?.1;
    let corrupt = |problem: &str| FormatError::corrupt(path, problem);
    if len > LONGEST {
        return Err(corrupt("it is too long for a manifest"));
    }
    let bytes = fs::read(path).map_err(|e| FormatError::io(path, e))?;
    let Some((before, footer)) = bytes.split_last_chunk::<FOOTER>() else {
        return Err(corrupt("it is too short for a manifest"));
    };
    if !footer.ends_with(MAGIC) {
        return Err(corrupt("no manifest of Lance: it does not end in LANC"));
    }
    let (position, _) = footer.split_first_chunk().unwrap_or((&[0; 8], &[]));
    let message = usize::try_from(i64::from_le_bytes(*position)).ok().and_then(|position| before.get(position..));
    let Some((len, message)) = message.and_then(|message| message.split_first_chunk()) else {
        return Err(corrupt("its footer points past its end"));
    };
    if u32::from_le_bytes(*len) as usize != message.len() {
        return Err(corrupt("its length is not what it says"));
    }
    let manifest = pb::Manifest::decode(message).map_err(|e| corrupt(&e.to_string()))?;
    Manifest::try_from(manifest).map_err(|e| corrupt(&e.to_string()))
}

/// Writes a manifest to the file `path`.
pub fn write_manifest(path: &Path, manifest: &Manifest) -> io::Result<()> {
    let message = manifest.serialized();
    let len = u32::try_from(message.len()).map_err(io::Error::other)?;
    let mut file = File::create(path)?;
    file.write_all(&len.to_le_bytes())?;
    file.write_all(&message)?;
    // The message, with its length in front, begins at the start of the file.
    file.write_all(&0_i64.to_le_bytes())?;
    file.write_all(&MAJOR_VERSION.to_le_bytes())?;
    file.write_all(&MINOR_VERSION.to_le_bytes())?;
    file.write_all(MAGIC)
}

/// The data file as Lance reads it: in the caller's thread.
#[derive(Debug)]
pub struct DataFile(pub CountedFile);

impl DataFile {
    fn read(&self, range: &Range<u64>) -> lance_core::Result<Bytes> {
        let mut bytes = vec![0; self.0.check(range).map_err(Error::invalid_input)?];
        self.0.read(range.start, &mut bytes).map_err(Error::io)?;
        Ok(bytes.into())
    }
}

impl EncodingsIo for DataFile {
    fn submit_request(&self, ranges: Vec<Range<u64>>, _: u64) -> BoxFuture<'static, lance_core::Result<Vec<Bytes>>> {
        let bytes: lance_core::Result<Vec<Bytes>> = ranges.iter().map(|range| self.read(range)).collect();
        futures::future::ready(bytes).boxed()
    }
}

/// A file as Lance writes it.
pub struct NewFile {
    file: BufWriter<File>,
    written: usize,
}

impl NewFile {
    /// Writes to `file`.
    pub fn new(file: File) -> Self {
        Self { file: BufWriter::new(file), written: 0 }
    }
}

impl tokio::io::AsyncWrite for NewFile {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = self.file.write_all(bytes);
        self.written += bytes.len();
        Poll::Ready(result.map(|()| bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.file.flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}

#[async_trait::async_trait]
impl lance_io::traits::Writer for NewFile {
    async fn tell(&mut self) -> lance_core::Result<usize> {
        Ok(self.written)
    }

    async fn shutdown(&mut self) -> lance_core::Result<WriteResult> {
        self.file.flush()?;
        Ok(WriteResult { size: self.written, e_tag: None })
    }
}
