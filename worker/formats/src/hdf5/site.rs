//! A file for each site with the dataset `/image`, (C, Y, X); crops are cut out of it.

use crate::crop::Cutter;
use crate::raw::grown;
use crate::{FormatError, OpenSpec, Probe, Reader};

use super::image::Image;
use super::{FORMAT, runs};

/// Name of the dataset.
pub const IMAGE: &str = "image";

/// Cuts crops out of site files, which are opened when first touched.
pub struct SiteReader {
    spec: OpenSpec,
    images: Vec<Option<Image>>,
    /// The spec's channels as runs of neighbours.
    runs: Vec<(usize, usize)>,
    cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge.
    edge: Vec<u8>,
}

impl SiteReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        spec.check()?;
        spec.stored_folder(FORMAT.name)?;
        let images = spec.dataset.info.sites.iter().map(|_| None).collect();
        Ok(Self { spec: spec.clone(), images, runs: runs(&spec.channels), cutter: Cutter::default(), edge: Vec::new() })
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
                slot.insert(Image::open(&path, IMAGE, dtype, &shape, self.spec.variant.mapped)?)
            }
        };
        let rect = self.cutter.aim(window, site.height as usize, site.width as usize, self.spec.pad);
        let (plane, pixel) = (self.spec.plane_bytes(), dataset.info.dtype.size());
        let (mut touched, mut rest) = (0, out);
        for &(first, count) in &self.runs {
            let (now, later) = rest.split_at_mut(count * plane);
            if self.cutter.is_inside() {
                touched += image.read(None, (first, count), rect, now)?;
            } else {
                let len = rect.area() * pixel;
                let edge = grown(&mut self.edge, count * len);
                touched += image.read(None, (first, count), rect, edge)?;
                for (source, out) in edge.chunks_exact(len).zip(now.chunks_exact_mut(plane)) {
                    self.cutter.cut_bytes(source, rect.width(), pixel, out);
                }
            }
            rest = later;
        }
        probe.ended(image.stage());
        Ok(touched)
    }
}
