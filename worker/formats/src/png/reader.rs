//! Reading records from pictures.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use pcb_protocol::Dtype;

use super::{Arrangement, FORMAT, channel_name, decode, name};
use crate::record::Part;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

/// Opens, reads, decodes and closes the pictures of each sample.
pub struct PngReader {
    part: Part,
    arrangement: Arrangement,
    folder: PathBuf,
    /// A file's bytes.
    file: Vec<u8>,
    /// One picture, big-endian.
    picture: Vec<u8>,
}

impl PngReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let arrangement = Arrangement::of(spec.variant)?;
        let dataset = &spec.dataset;
        check_dtype(dataset.info.dtype)?;
        let folder = spec.stored_folder(FORMAT.name)?;
        let (height, width) = arrangement.size(dataset.record_shape());
        let picture = vec![0; height * width * dataset.info.dtype.size()];
        Ok(Self { part, arrangement, folder, file: Vec::new(), picture })
    }

    /// Reads and decodes one picture. Returns the length of its file.
    fn picture(&mut self, path: &Path, probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        self.file.clear();
        let read = File::open(path).and_then(|mut file| file.read_to_end(&mut self.file));
        read.map_err(|e| FormatError::io(path, e))?;
        probe.ended(Stage::Read);
        let dataset = &self.part.spec.dataset;
        let size = self.arrangement.size(dataset.record_shape());
        decode::decode(path, &self.file, dataset.info.dtype, size, &mut self.picture)?;
        probe.ended(Stage::Decode);
        Ok(self.file.len() as u64)
    }

    /// Copies channel number `channel` of the picture into `out`: (Y, X), native byte order.
    fn cut(&self, channel: usize, out: &mut [u8]) {
        let Part { rect, spec, .. } = &self.part;
        let [_, height, width] = spec.dataset.record_shape();
        let pixel = spec.dataset.info.dtype.size();
        let (row0, column0, stride) = match self.arrangement {
            Arrangement::Beside => (0, channel * width, self.part.channels * width),
            Arrangement::Below => (channel * height, 0, width),
            Arrangement::Apart => (0, 0, width),
        };
        let len = rect.width() * pixel;
        for (row, line) in out.chunks_exact_mut(len).enumerate() {
            let first = ((row0 + rect.y0 + row) * stride + column0 + rect.x0) * pixel;
            let source = &self.picture[first..first + len];
            if pixel == 1 {
                line.copy_from_slice(source);
                continue;
            }
            for (out, source) in line.as_chunks_mut::<2>().0.iter_mut().zip(source.as_chunks::<2>().0) {
                *out = u16::from_be_bytes(*source).to_ne_bytes();
            }
        }
    }
}

impl Reader for PngReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.part.spec.window(object)?;
        let mut touched = 0;
        let plane = self.part.spec.plane_bytes();
        if self.arrangement != Arrangement::Apart {
            touched += self.picture(&self.folder.join(name(object)), probe)?;
        }
        for index in 0..self.part.spec.channels.len() {
            let channel = self.part.spec.channels[index];
            if self.arrangement == Arrangement::Apart {
                touched += self.picture(&self.folder.join(channel_name(object, channel)), probe)?;
            }
            self.cut(channel, &mut out[index * plane..(index + 1) * plane]);
        }
        self.part.pad(site, window, out);
        probe.ended(Stage::Decode);
        Ok(touched)
    }
}

/// An error for pixels that a PNG cannot hold.
pub fn check_dtype(dtype: Dtype) -> Result<(), FormatError> {
    match dtype {
        Dtype::U8 | Dtype::U16 => Ok(()),
        Dtype::F32 => Err(FormatError::Unsupported("png holds pixels of 8 or 16 bits, not f32".to_owned())),
    }
}
