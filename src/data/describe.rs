//! What the pixels of a dataset are like: how bright, how noisy, how well they compress. Shows whether generated cells
//! behave as real ones.

use std::path::Path;

use pcb_formats::{
    Dataset, DatasetInfo, FormatError, ObjectTable, Pixels, Site, SitePixels, find, tree_bytes, write_site_npy,
};
use pcb_protocol::Layout;

use super::{DataError, Progress, Step};

/// Sites that are looked at, spread over the dataset.
const SITES: usize = 8;

/// What a dataset's pixels are like.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// Dataset name.
    pub name: String,
    /// One row for each channel.
    pub channels: Vec<ChannelStats>,
}

/// What one channel's pixels are like. Intensities in counts.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelStats {
    /// Channel name.
    pub name: String,
    /// Raw bytes over those of a TIFF with Deflate of level 6.
    pub deflate: f64,
    /// Raw bytes over those of a TIFF with LZW.
    pub lzw: f64,
    /// Percentiles 1, 10, 50, 90, 99 and the largest value.
    pub quantiles: [u16; 6],
    /// Standard deviation of pixel noise after Immerkær (1996): from a mask that is blind to brightness and slopes.
    pub noise: f64,
}

/// Describes the dataset in `folder`: at most eight of its sites.
pub fn describe(folder: &Path, progress: &mut Progress<'_>) -> Result<Description, DataError> {
    let dataset = Dataset::open(folder)?;
    let sites = dataset.info.sites.len();
    let looked_at: Vec<usize> = (0..sites.min(SITES)).map(|i| i * sites / sites.min(SITES)).collect();
    let mut tallies: Vec<Tally> = dataset.info.channels.iter().map(|_| Tally::default()).collect();
    for (done, &index) in looked_at.iter().enumerate() {
        progress(Step { label: "sites", done: done as u64, total: looked_at.len() as u64 });
        let site = dataset.reference(index)?;
        for (channel, tally) in tallies.iter_mut().enumerate() {
            tally.add(&dataset.info, &site, channel)?;
        }
    }
    let channels = dataset.info.channels.iter().zip(&tallies).map(|(name, tally)| tally.stats(name)).collect();
    Ok(Description { name: dataset.info.name, channels })
}

/// What has been seen of a channel.
#[derive(Default)]
struct Tally {
    values: Vec<u16>,
    raw: u64,
    deflate: u64,
    lzw: u64,
    noise: f64,
    sites: f64,
}

impl Tally {
    fn add(&mut self, info: &DatasetInfo, site: &SitePixels, channel: usize) -> Result<(), DataError> {
        let plane = site.height * site.width;
        let range = channel * plane..(channel + 1) * plane;
        let (data, values): (Pixels, Vec<u16>) = match &site.data {
            Pixels::U8(v) => (Pixels::U8(v[range.clone()].to_vec()), v[range].iter().map(|&v| v.into()).collect()),
            Pixels::U16(v) => (Pixels::U16(v[range.clone()].to_vec()), v[range].to_vec()),
            Pixels::F32(_) => {
                return Err(FormatError::Unsupported("stats tell of counts: u8 and u16 pixels, not f32".into()).into());
            }
        };
        let one = SitePixels { channels: 1, height: site.height, width: site.width, data };
        self.raw += one.data.bytes().len() as u64;
        self.deflate += stored_bytes(info, &one, "strip-deflate")?;
        self.lzw += stored_bytes(info, &one, "strip-lzw")?;
        self.noise += noise(&values, site.width);
        self.sites += 1.0;
        self.values.extend(values);
        Ok(())
    }

    fn stats(&self, name: &str) -> ChannelStats {
        let mut sorted = self.values.clone();
        sorted.sort_unstable();
        let at =
            |share: f64| sorted.get((sorted.len().saturating_sub(1) as f64 * share) as usize).copied().unwrap_or(0);
        ChannelStats {
            name: name.to_owned(),
            deflate: self.raw as f64 / self.deflate as f64,
            lzw: self.raw as f64 / self.lzw as f64,
            quantiles: [0.01, 0.1, 0.5, 0.9, 0.99, 1.0].map(at),
            noise: self.noise / self.sites,
        }
    }
}

/// Bytes of one plane stored as a TIFF of this variant, in a temporary folder.
fn stored_bytes(info: &DatasetInfo, plane: &SitePixels, variant: &str) -> Result<u64, DataError> {
    let folder = tempfile::tempdir().map_err(|e| DataError::io(std::env::temp_dir(), e))?;
    let root = folder.path().to_owned();
    let site = Site {
        plate: "p".into(),
        well: "A01".into(),
        site: "1".into(),
        height: plane.height as u32,
        width: plane.width as u32,
        digest: String::new(),
        source: Vec::new(),
    };
    let (reference, stored) = (root.join("reference"), root.join("stored"));
    for folder in [&reference, &stored] {
        std::fs::create_dir(folder).map_err(|e| DataError::io(folder, e))?;
    }
    write_site_npy(&reference.join(format!("{}.npy", site.name())), plane)?;
    let info = DatasetInfo { channels: vec!["one".into()], sites: vec![site], objects: 0, ..info.clone() };
    let (format, variant) = find("tiff", variant, Layout::Site)?;
    (format.write)(&Dataset { root, info, objects: ObjectTable::default() }, variant, &stored, &mut |_, _| ())?;
    Ok(tree_bytes(&stored)?)
}

/// Immerkær's estimate of the standard deviation of noise.
fn noise(values: &[u16], width: usize) -> f64 {
    let height = values.len() / width;
    if height < 3 || width < 3 {
        return 0.0;
    }
    let row = |y: usize| &values[y * width..(y + 1) * width];
    let mut sum = 0.0;
    for y in 1..height - 1 {
        let (above, here, below) = (row(y - 1), row(y), row(y + 1));
        for x in 1..width - 1 {
            let side = |line: &[u16], weight: i32| {
                weight * (i32::from(line[x - 1]) + i32::from(line[x + 1]) - 2 * i32::from(line[x]))
            };
            sum += f64::from((side(above, 1) + side(here, -2) + side(below, 1)).abs());
        }
    }
    (std::f64::consts::FRAC_PI_2).sqrt() / 6.0 * sum / ((height - 2) * (width - 2)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_no_noise() {
        let values: Vec<u16> = (0..30 * 20).map(|i| (3 * (i % 30) + 7 * (i / 30)) as u16).collect();
        assert_eq!(noise(&values, 30), 0.0);
    }

    #[test]
    fn noise_of_known_size_is_found() {
        // Uniform over 0 to 120: standard deviation 121/√12 = 34.9. A multiplicative generator is random enough here.
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            1_000 + ((state >> 33) % 121) as u16
        };
        let values: Vec<u16> = (0..200 * 200).map(|_| draw()).collect();
        let noise = noise(&values, 200);
        assert!((33.0..37.0).contains(&noise), "{noise}");
    }
}
