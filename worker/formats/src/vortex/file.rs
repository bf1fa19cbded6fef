//! A Vortex file as Vortex reads and writes it: in the caller's thread.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::ready;
use vortex::array::buffer::BufferHandle;
use vortex::buffer::{Alignment, ByteBuffer, ByteBufferMut};
use vortex::error::{VortexResult, vortex_err};
use vortex::file::{DeserializeStep, Footer, SegmentSpec};
use vortex::io::{IoBuf, VortexWrite};
use vortex::layout::segments::{SegmentFuture, SegmentId, SegmentSource};
use vortex::session::VortexSession;

use crate::tables::CountedFile;

/// A file and where its segments lie.
pub struct Segments {
    pub file: Arc<CountedFile>,
    pub specs: Arc<[SegmentSpec]>,
}

impl Segments {
    fn read(&self, id: SegmentId) -> VortexResult<BufferHandle> {
        let spec = usize::try_from(*id).ok().and_then(|id| self.specs.get(id));
        let spec = spec.ok_or_else(|| vortex_err!("segment {id} of {}", self.specs.len()))?;
        let bytes = read(&self.file, spec.offset, u64::from(spec.length), spec.alignment)?;
        Ok(BufferHandle::new_host(bytes))
    }
}

impl SegmentSource for Segments {
    fn request(&self, id: SegmentId) -> SegmentFuture {
        ready(self.read(id)).boxed()
    }
}

fn read(file: &CountedFile, offset: u64, len: u64, alignment: Alignment) -> VortexResult<ByteBuffer> {
    let len = file.check(&(offset..offset.saturating_add(len))).map_err(|text| vortex_err!("{text}"))?;
    let mut bytes = ByteBufferMut::zeroed_aligned(len, alignment);
    file.read(offset, bytes.as_mut_slice()).map_err(|text| vortex_err!("{text}"))?;
    Ok(bytes.freeze())
}

/// Reads what a file says of itself, from its end on.
pub fn read_footer(file: &CountedFile, session: &VortexSession) -> VortexResult<Footer> {
    /// What Vortex reads at first: the longest postscript, and the magic word.
    const TAIL: u64 = u16::MAX as u64;
    let len = file.len().min(TAIL);
    let tail = read(file, file.len() - len, len, Alignment::none())?;
    let mut footer = Footer::deserializer(tail, session.clone()).with_size(file.len());
    loop {
        match footer.deserialize()? {
            DeserializeStep::Done(footer) => return Ok(footer),
            DeserializeStep::NeedMoreData { offset, len } => {
                footer.prefix_data(read(file, offset, len as u64, Alignment::none())?);
            }
            DeserializeStep::NeedFileSize => return Err(vortex_err!("a file of unknown size")),
        }
    }
}

/// A file that Vortex writes.
pub struct NewFile(BufWriter<File>);

impl NewFile {
    /// Writes to `file`.
    pub fn new(file: File) -> Self {
        Self(BufWriter::new(file))
    }
}

impl VortexWrite for NewFile {
    fn write_all<B: IoBuf>(&mut self, bytes: B) -> impl Future<Output = io::Result<B>> + Send {
        let written = self.0.write_all(bytes.as_slice());
        ready(written.map(|()| bytes))
    }

    fn flush(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(self.0.flush())
    }

    fn shutdown(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(self.0.flush())
    }
}
