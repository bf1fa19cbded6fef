//! Crops of the object layout: the centre of a record of one object, shared by the formats that store records.

use pcb_protocol::Pad;

use crate::crop::{self, Rect, Window};
use crate::{FormatError, OpenSpec};

/// The part of every record that a spec asks for.
pub struct Part {
    /// What the reader was opened for.
    pub spec: OpenSpec,
    /// The crop within a record.
    pub rect: Rect,
    /// Channels per record.
    pub channels: usize,
    /// Whether the crop is the whole record: one copy.
    pub whole: bool,
}

impl Part {
    /// The part that `spec` asks for; an error when records are smaller.
    pub fn of(spec: &OpenSpec) -> Result<Self, FormatError> {
        spec.check()?;
        let rect = spec.record_rect()?;
        let channels = spec.dataset.channels();
        let record = spec.dataset.info.record;
        let whole = (rect.height(), rect.width()) == (record.height as usize, record.width as usize)
            && spec.channels.iter().copied().eq(0..channels);
        Ok(Self { spec: spec.clone(), rect, channels, whole })
    }

    /// Cuts the crop out of a whole record in memory.
    pub fn cut(&self, record: &[u8], out: &mut [u8]) {
        let [_, height, width] = self.spec.dataset.record_shape();
        let pixel = self.spec.dataset.info.dtype.size();
        let len = self.rect.width() * pixel;
        for (&channel, out) in self.spec.channels.iter().zip(out.chunks_exact_mut(self.spec.plane_bytes())) {
            for (row, line) in out.chunks_exact_mut(len).enumerate() {
                let first = ((channel * height + self.rect.y0 + row) * width + self.rect.x0) * pixel;
                line.copy_from_slice(&record[first..first + len]);
            }
        }
    }

    /// Records are padded by reflection; zeros, if asked for, are put in afterwards.
    pub fn pad(&self, site: usize, window: Window, out: &mut [u8]) {
        if self.spec.pad == Pad::Zero {
            let site = &self.spec.dataset.info.sites[site];
            let (height, width) = (site.height as usize, site.width as usize);
            if !window.is_inside(height, width) {
                let pixel = self.spec.dataset.info.dtype.size();
                for out in out.chunks_exact_mut(self.spec.plane_bytes()) {
                    crop::blank_outside(window, height, width, pixel, out);
                }
            }
        }
    }
}
