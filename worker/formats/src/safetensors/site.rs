//! A file for each site with the tensor `image`, (C, Y, X); crops are cut out of its mapping.

use memmap2::Mmap;

use crate::crop::Cutter;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

use super::file::TensorFile;
use super::{FORMAT, IMAGE};

/// Cuts crops out of site files, which are mapped when first touched.
pub struct SiteReader {
    spec: OpenSpec,
    /// Mapping of each site touched, and the offset of its first pixel in bytes.
    sites: Vec<Option<(Mmap, usize)>>,
    cutter: Cutter,
}

impl SiteReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        spec.check()?;
        spec.stored_folder(FORMAT.name)?;
        let sites = spec.dataset.info.sites.iter().map(|_| None).collect();
        Ok(Self { spec: spec.clone(), sites, cutter: Cutter::default() })
    }
}

impl Reader for SiteReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        let dataset = &self.spec.dataset;
        let site = &dataset.info.sites[index];
        let (height, width) = (site.height as usize, site.width as usize);
        let pixel = dataset.info.dtype.size();
        let (map, data) = match &mut self.sites[index] {
            Some(site) => site,
            slot => {
                let name = format!("{}.{}", site.name(), FORMAT.name);
                let file = TensorFile::open(&dataset.stored_dir(FORMAT.name, self.spec.variant).join(name))?;
                let offset = file.offset(IMAGE, dataset.info.dtype, &dataset.site_shape(index))?;
                slot.insert((file.into_map(), offset))
            }
        };
        let rect = self.cutter.aim(window, height, width, self.spec.pad);
        let planes = out.chunks_exact_mut(self.spec.plane_bytes());
        for (&channel, out) in self.spec.channels.iter().zip(planes) {
            let first = *data + ((channel * height + rect.y0) * width + rect.x0) * pixel;
            self.cutter.cut_bytes(&map[first..], width, pixel, out);
        }
        probe.ended(Stage::Read);
        Ok((self.spec.channels.len() * rect.area() * pixel) as u64)
    }
}
