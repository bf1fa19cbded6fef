//! A file for each site with the dataset `/image`, (C, Y, X); crops are cut out of it.

use crate::crop::Cutter;
use crate::{FormatError, OpenSpec, Probe, Reader};

use super::image::Image;
use super::{FORMAT, runs};

/// Name of the dataset.
pub const IMAGE: &str = "image";

/// Cuts crops out of site files, which are opened when first touched.
pub struct SiteReader {
    spec: OpenSpec,
    sieve: usize,
    images: Vec<Option<Image>>,
    /// The spec's channels as runs of neighbours.
    runs: Vec<(usize, usize)>,
    cutter: Cutter,
}

impl SiteReader {
    /// A reader that opens files with a sieve buffer of `sieve` bytes.
    pub fn open(spec: &OpenSpec, sieve: usize) -> Result<Self, FormatError> {
        spec.check()?;
        spec.stored_folder(FORMAT.name)?;
        let images = spec.dataset.info.sites.iter().map(|_| None).collect();
        Ok(Self { spec: spec.clone(), sieve, images, runs: runs(&spec.channels), cutter: Cutter::default() })
    }
}

impl Reader for SiteReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        let dataset = &self.spec.dataset;
        let site = &dataset.info.sites[index];
        let image = match &mut self.images[index] {
            Some(image) => image,
            slot => {
                let path = dataset.stored_dir(FORMAT.name, self.spec.variant).join(format!("{}.h5", site.name()));
                let (dtype, shape) = (dataset.info.dtype, dataset.site_shape(index));
                slot.insert(Image::open(&path, IMAGE, self.sieve, dtype, &shape)?)
            }
        };
        let rect = self.cutter.aim(window, site.height as usize, site.width as usize, self.spec.pad);
        let plane = self.spec.plane_bytes();
        let (mut touched, mut rest) = (0, out);
        for &(first, count) in &self.runs {
            let (now, later) = rest.split_at_mut(count * plane);
            let block = image.read(None, (first, count), rect)?;
            if self.cutter.is_inside() {
                block.copy(now);
            } else {
                for (index, out) in now.chunks_exact_mut(plane).enumerate() {
                    let (source, stride) = block.plane(index);
                    self.cutter.cut_bytes(source, stride, dataset.info.dtype.size(), out);
                }
            }
            touched += block.touched;
            rest = later;
        }
        probe.ended(image.stage());
        Ok(touched)
    }
}
