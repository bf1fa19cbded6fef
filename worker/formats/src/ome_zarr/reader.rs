//! Reading crops out of the arrays of a plate.

use std::path::PathBuf;

use super::array::{Stored, ZarrArray};
use super::crop::{Buffers, Image};
use super::{FORMAT, arrays, meta};
use crate::crop::Cutter;
use crate::raw::grown;
use crate::{FormatError, OpenSpec, Probe, Reader, Stage};

/// Cuts crops out of arrays, each opened when first touched.
pub struct ZarrReader {
    spec: OpenSpec,
    folders: Vec<PathBuf>,
    /// Whether the arrays are somebody else's, whose axes their groups tell.
    foreign: bool,
    images: Vec<Option<Image>>,
    cutter: Cutter,
    buffers: Buffers,
    /// Source pixels of a crop that needs padding or conversion.
    canvas: Vec<u8>,
}

impl ZarrReader {
    pub fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        spec.check()?;
        let foreign = spec.variant.stored == "source";
        if !foreign {
            spec.stored_folder(FORMAT.name)?;
        }
        let folders = arrays(&spec.dataset, spec.variant)?;
        let images = folders.iter().map(|_| None).collect();
        let (cutter, buffers, canvas) = (Cutter::default(), Buffers::default(), Vec::new());
        Ok(Self { spec: spec.clone(), folders, foreign, images, cutter, buffers, canvas })
    }

    /// Opens the array of a site and compares it with what dataset.json says.
    fn image(&self, site: usize) -> Result<Image, FormatError> {
        let array = ZarrArray::open(&self.folders[site])?;
        let dims = array.chunk.len();
        let (c, y, x) = match (self.foreign, dims) {
            (false, 3) => (Some(0), 1, 2),
            _ => meta::axes(&self.folders[site], dims)?,
        };
        let mut image = Image { array, c, y, x };
        image.check_order();
        let (got, dtype) = (image.shape(), image.stored().dtype());
        let (expected, wanted) = (self.spec.dataset.site_shape(site), self.spec.dataset.info.dtype);
        let channels_fit = if self.foreign { got[0] >= expected[0] } else { got[0] == expected[0] };
        if !channels_fit || got[1..] != expected[1..] || dtype != wanted {
            let problem = format!("{dtype} {got:?}; expected {wanted} {expected:?}, as dataset.json says");
            return Err(FormatError::corrupt(&image.array.meta, problem));
        }
        Ok(image)
    }
}

impl Reader for ZarrReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.spec.window(object)?;
        if self.images[site].is_none() {
            self.images[site] = Some(self.image(site)?);
        }
        let Self { spec, images, cutter, buffers, canvas, .. } = self;
        let Some(image) = &images[site] else { unreachable!("opened above") };
        let [_, height, width] = spec.dataset.site_shape(site);
        let rect = cutter.aim(window, height, width, spec.pad);
        let plain = matches!(image.stored(), Stored::Ours(_));
        if cutter.is_inside() && plain {
            return image.read_rect(&spec.channels, rect, out, buffers, probe);
        }
        let stored = rect.area() * image.stored().size();
        let canvas = grown(canvas, stored * spec.channels.len());
        let touched =
            if rect.area() == 0 { 0 } else { image.read_rect(&spec.channels, rect, canvas, buffers, probe)? };
        let pixel = spec.dataset.info.dtype.size();
        for (index, out) in out.chunks_exact_mut(spec.plane_bytes()).enumerate() {
            let plane = &canvas[index * stored..(index + 1) * stored];
            match image.stored() {
                Stored::Ours(_) => cutter.cut_bytes(plane, rect.width(), pixel, out),
                // Values of imported integers, whose conversion is part of reading them.
                signed => cutter.cut_bytes(&to_f32(plane, signed), rect.width(), pixel, out),
            }
        }
        probe.ended(Stage::Decode);
        Ok(touched)
    }
}

/// Signed integers as f32 of the same value, native byte order.
pub fn to_f32(bytes: &[u8], stored: Stored) -> Vec<u8> {
    let values: Vec<f32> = match stored {
        Stored::I8 => bytes.iter().map(|&byte| f32::from(byte.cast_signed())).collect(),
        Stored::I16 => bytes.as_chunks::<2>().0.iter().map(|pair| f32::from(i16::from_ne_bytes(*pair))).collect(),
        Stored::Ours(_) => return bytes.to_vec(),
    };
    bytemuck::cast_slice(&values).to_vec()
}
