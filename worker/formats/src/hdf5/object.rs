//! Records of objects, (N, C, Y, X) in the dataset `/images` of one file.

use crate::record::Part;
use crate::{FormatError, OpenSpec, Probe, Reader};

use super::image::Image;
use super::{FORMAT, RECORDS, runs};

/// Name of the dataset.
pub const IMAGES: &str = "images";

/// Reads records out of one file.
pub struct RecordReader {
    part: Part,
    image: Image,
    /// The spec's channels as runs of neighbours.
    runs: Vec<(usize, usize)>,
}

impl RecordReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        let part = Part::of(spec)?;
        let dataset = &spec.dataset;
        let path = spec.stored_folder(FORMAT.name)?.join(RECORDS);
        let [channels, height, width] = dataset.record_shape();
        let shape = [dataset.objects.rows.len(), channels, height, width];
        let image = Image::open(&path, IMAGES, dataset.info.dtype, &shape, spec.variant.mapped)?;
        Ok(Self { part, image, runs: runs(&spec.channels) })
    }
}

impl Reader for RecordReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.part.spec.window(object)?;
        let plane = self.part.spec.plane_bytes();
        let (mut touched, mut rest) = (0, &mut *out);
        for &(first, count) in &self.runs {
            let (now, later) = rest.split_at_mut(count * plane);
            touched += self.image.read(Some(object), (first, count), self.part.rect, now)?;
            rest = later;
        }
        self.part.pad(site, window, out);
        probe.ended(self.image.stage());
        Ok(touched)
    }
}
