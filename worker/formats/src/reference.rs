//! Crops cut from the reference pixels: the truth that stored forms are written from and compared with.

use pcb_protocol::Pad;

use crate::crop::{Cutter, cut_site};
use crate::{Dataset, FormatError, SitePixels};

/// Cuts crops from the reference and keeps the site it cut from last: fast when objects come sorted by site.
pub struct ReferenceCrops<'a> {
    dataset: &'a Dataset,
    site: Option<(usize, SitePixels)>,
    cutter: Cutter,
}

impl<'a> ReferenceCrops<'a> {
    /// Cuts from the reference of `dataset`.
    pub fn new(dataset: &'a Dataset) -> Self {
        Self { dataset, site: None, cutter: Cutter::default() }
    }

    /// Cuts the crop of `height` x `width` pixels around row `object` of the object table into `out`: `channels` in
    /// this order, (C, Y, X), native byte order.
    pub fn cut(
        &mut self,
        object: usize,
        channels: &[usize],
        (height, width): (usize, usize),
        pad: Pad,
        out: &mut [u8],
    ) -> Result<(), FormatError> {
        let (index, window) = self.dataset.window(object, height, width)?;
        let site = match &self.site {
            Some((kept, _)) if *kept == index => &self.site,
            _ => {
                self.site = None;
                self.site = Some((index, self.dataset.reference(index)?));
                &self.site
            }
        };
        if let Some((_, site)) = site {
            cut_site(site, channels, window, pad, &mut self.cutter, out);
        }
        Ok(())
    }
}

/// Calls `each(object, record)` with the record of every object, (C, Y, X) in native byte order, in table order;
/// calls `progress(done, total)` in sites.
pub fn for_each_record(
    dataset: &Dataset,
    progress: &mut dyn FnMut(u64, u64),
    mut each: impl FnMut(usize, &[u8]) -> Result<(), FormatError>,
) -> Result<(), FormatError> {
    let [channels, height, width] = dataset.record_shape();
    let channels: Vec<usize> = (0..channels).collect();
    let mut record = vec![0; channels.len() * height * width * dataset.info.dtype.size()];
    let mut crops = ReferenceCrops::new(dataset);
    let total = dataset.info.sites.len() as u64;
    let mut done = 0;
    for (object, row) in dataset.objects.rows.iter().enumerate() {
        if u64::from(row.site) > done {
            done = u64::from(row.site);
            progress(done, total);
        }
        crops.cut(object, &channels, (height, width), Pad::Reflect, &mut record)?;
        each(object, &record)?;
    }
    progress(total, total);
    Ok(())
}
