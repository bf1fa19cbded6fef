//! Crops out of the fields of plates. The metadata of a field are read when it is first touched, and kept.

use std::path::PathBuf;

use crate::crop::Cutter;
use crate::raw::grown;
use crate::{Dataset, FormatError, OpenSpec, Probe, Reader, Stage};

use super::array::Image;
use super::region::{Buffers, Region};

/// Where the channels of a site lie.
pub trait Locate: Send {
    /// Folder of the array that holds channel `channel` of site `site`, and its number there.
    fn locate(&self, dataset: &Dataset, site: usize, channel: usize) -> (PathBuf, usize);
}

/// Reads crops of sites that are OME-Zarr images.
pub struct ZarrReader<L> {
    spec: OpenSpec,
    locate: L,
    /// For each site touched, its images: one, unless an import has its channels in several.
    sites: Vec<Option<Vec<Source>>>,
    cutter: Cutter,
    /// Source pixels of a crop that hangs over an edge, or whose channels lie in several images.
    edge: Vec<u8>,
    buffers: Buffers,
}

/// One image of a site, and the places of its channels among those wanted.
struct Source {
    region: Region,
    slots: Vec<usize>,
}

impl<L: Locate> ZarrReader<L> {
    pub fn open(spec: &OpenSpec, locate: L) -> Result<Self, FormatError> {
        spec.check()?;
        let sites = spec.dataset.info.sites.iter().map(|_| None).collect();
        let buffers = Buffers::new().map_err(|e| FormatError::io(&spec.dataset.root, e))?;
        Ok(Self { spec: spec.clone(), locate, sites, cutter: Cutter::default(), edge: Vec::new(), buffers })
    }

    fn open_site(&self, index: usize) -> Result<Vec<Source>, FormatError> {
        let dataset = &self.spec.dataset;
        let site = &dataset.info.sites[index];
        // Folder, numbers of the channels there, their places among those wanted.
        let mut folders: Vec<(PathBuf, Vec<usize>, Vec<usize>)> = Vec::new();
        for (slot, &channel) in self.spec.channels.iter().enumerate() {
            let (folder, number) = self.locate.locate(dataset, index, channel);
            match folders.iter_mut().find(|(known, ..)| *known == folder) {
                Some((_, numbers, slots)) => {
                    numbers.push(number);
                    slots.push(slot);
                }
                None => folders.push((folder, vec![number], vec![slot])),
            }
        }
        let source = |(folder, numbers, slots): (PathBuf, Vec<usize>, Vec<usize>)| {
            let image = Image::open(&folder)?;
            image.check(site.height, site.width, dataset.info.dtype)?;
            Ok(Source { region: Region::new(image, &numbers)?, slots })
        };
        folders.into_iter().map(source).collect()
    }
}

impl<L: Locate> Reader for ZarrReader<L> {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (index, window) = self.spec.window(object)?;
        if self.sites[index].is_none() {
            self.sites[index] = Some(self.open_site(index)?);
        }
        let sources = self.sites[index].as_deref_mut().unwrap_or_default();
        let site = &self.spec.dataset.info.sites[index];
        let pixel = self.spec.dataset.info.dtype.size();
        let rect = self.cutter.aim(window, site.height as usize, site.width as usize, self.spec.pad);
        if let ([source], true) = (&mut *sources, self.cutter.is_inside()) {
            return source.region.read(rect, out, &mut self.buffers, probe);
        }
        let (plane, crop) = (rect.area() * pixel, self.spec.plane_bytes());
        let mut touched = 0;
        for source in sources {
            let edge = grown(&mut self.edge, source.slots.len() * plane);
            touched += source.region.read(rect, edge, &mut self.buffers, probe)?;
            for (nth, slot) in source.slots.iter().enumerate() {
                let (edge, out) = (&edge[nth * plane..(nth + 1) * plane], &mut out[slot * crop..(slot + 1) * crop]);
                self.cutter.cut_bytes(edge, rect.width(), pixel, out);
            }
            probe.ended(Stage::Decode);
        }
        Ok(touched)
    }
}
