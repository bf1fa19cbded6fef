//! Decoded pixels kept in memory: the ceiling without any I/O.

use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::crop::{Cutter, cut_site};
use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Probe, Reader, ReferenceCrops, SitePixels, Stage, Variant};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "memory",
    about: "decoded pixels, all read when opened: the ceiling without I/O; has no files and no cold state",
    writer: 0,
    variants: &[
        Variant::new("ram", Layout::Object, "")
            .stored("none")
            .role(Role::DefaultAndTuned)
            .about("the crops themselves; a read is one copy"),
        Variant::new("ram", Layout::Site, "")
            .stored("none")
            .role(Role::DefaultAndTuned)
            .about("whole sites; a read copies the rows of a crop"),
    ],
    open,
    files,
    write,
    resident_bytes,
};

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    spec.check()?;
    Ok(match spec.variant.layout {
        Layout::Object => Box::new(CropReader::open(spec)?),
        Layout::Site => Box::new(SiteReader::open(spec)?),
    })
}

fn files(_: &Dataset, _: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    Ok(Vec::new())
}

fn write(_: &Dataset, _: &Variant, _: &Path, _: &mut dyn FnMut(u64, u64)) -> Result<(), FormatError> {
    Ok(())
}

fn resident_bytes(spec: &OpenSpec) -> u64 {
    let dataset = &spec.dataset;
    match spec.variant.layout {
        Layout::Object => (spec.crop_bytes() as u64).saturating_mul(dataset.objects.rows.len() as u64),
        Layout::Site => (0..dataset.info.sites.len()).map(|site| dataset.info.site_bytes(site)).sum(),
    }
}

/// All crops, one after the other in table order.
struct CropReader {
    crops: Vec<u8>,
    len: usize,
}

impl CropReader {
    fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        // Same limit as the other formats of this layout, so that one sweep holds the same cases for all of them.
        spec.record_rect()?;
        let dataset = &spec.dataset;
        let len = spec.crop_bytes();
        let mut crops = vec![0; len * dataset.objects.rows.len()];
        let mut reference = ReferenceCrops::new(dataset);
        for (object, crop) in crops.chunks_exact_mut(len).enumerate() {
            reference.cut(object, &spec.channels, (spec.height, spec.width), spec.pad, crop)?;
        }
        Ok(Self { crops, len })
    }
}

impl Reader for CropReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let Some(crop) = self.crops.get(object * self.len..(object + 1) * self.len) else {
            let count = self.crops.len() / self.len;
            return Err(FormatError::Unsupported(format!("object {object}: the table has {count} rows")));
        };
        out.copy_from_slice(crop);
        probe.ended(Stage::Read);
        Ok(self.len as u64)
    }
}

/// All sites, decoded.
struct SiteReader {
    spec: OpenSpec,
    sites: Vec<SitePixels>,
    cutter: Cutter,
}

impl SiteReader {
    fn open(spec: &OpenSpec) -> Result<Self, FormatError> {
        let sites: Result<_, _> = (0..spec.dataset.info.sites.len()).map(|i| spec.dataset.reference(i)).collect();
        Ok(Self { spec: spec.clone(), sites: sites?, cutter: Cutter::default() })
    }
}

impl Reader for SiteReader {
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError> {
        let (site, window) = self.spec.window(object)?;
        cut_site(&self.sites[site], &self.spec.channels, window, self.spec.pad, &mut self.cutter, out);
        probe.ended(Stage::Read);
        Ok(out.len() as u64)
    }
}
