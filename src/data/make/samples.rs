//! Plain sample sets: many small images of one shape, each a site of its own with one object at its centre, so that a
//! crop of the same size is the whole sample in either layout.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use pcb_formats::{DatasetInfo, Object, Pixels, Record, Site, SitePixels, site_digest, write_site_npy};
use pcb_protocol::Dtype;

use super::plate::{self, Description};
use super::random::Random;
use super::{Sizes, cells, paint, stain};
use crate::data::{DataError, Progress, parallel};

/// Version of the generator: another one makes other pixels from the same request. 1: first version.
const GENERATOR: u32 = 1;
/// Samples of a decoy.
const DECOY_SAMPLES: u32 = 16;
/// Mixed into the seed, so that a decoy's samples are not those of its dataset.
const DECOY_SEED: u64 = 0x64_65_63_6f_79;

/// (C, Y, X) of a sample, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Channels.
    pub channels: u32,
    /// Rows.
    pub height: u32,
    /// Columns.
    pub width: u32,
}

impl FromStr for Shape {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let sides: Option<Vec<u32>> = text.split('x').map(|side| side.parse().ok()).collect();
        match sides.as_deref() {
            Some(&[channels @ 1..=64, height @ 1..=4_096, width @ 1..=4_096]) => Ok(Self { channels, height, width }),
            _ => Err("expected CHANNELSxHEIGHTxWIDTH such as 1x256x256, up to 64x4096x4096".to_owned()),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.channels, self.height, self.width)
    }
}

/// What a sample set is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Samples {
    /// Decides every pixel.
    pub seed: u64,
    /// How many.
    pub count: u32,
    /// Shape of each.
    pub shape: Shape,
    /// Element type: `u16` holds counts of a camera, `u8` them divided by 257, `f32` them less their mean and divided by
    /// their standard deviation, sample by sample, as models are fed.
    pub dtype: Dtype,
}

impl Samples {
    /// An error, naming the option, unless the set can be made.
    pub fn check(&self) -> Result<(), DataError> {
        match self.count {
            1..=10_000_000 => Ok(()),
            count => Err(DataError::Usage(format!("--samples {count}: expected 1 to 10000000"))),
        }
    }

    /// Name of the set unless another is given.
    pub fn name(&self) -> String {
        format!("samples-{}-{}-{}", self.count, self.shape, self.dtype)
    }

    /// The request in words; equal words, equal dataset.
    pub fn origin(&self) -> String {
        let Self { seed, count, shape, dtype } = self;
        format!("pcb-data make, sample generator {GENERATOR}: seed {seed}, {count} samples of {shape} {dtype}")
    }

    /// Bytes of pixels, uncompressed.
    pub fn sizes(&self) -> Sizes {
        let Shape { channels, height, width } = self.shape;
        let sample = u64::from(channels) * u64::from(height) * u64::from(width) * self.dtype.size() as u64;
        let all = u64::from(self.count) * sample;
        Sizes { reference: all, decoy: u64::from(DECOY_SAMPLES) * sample, object_form: all }
    }

    pub(super) fn decoy(&self) -> Self {
        Self { seed: self.seed ^ DECOY_SEED, count: DECOY_SAMPLES, ..self.clone() }
    }

    /// Writes the dataset called `name`, without a decoy, into `folder`, which is created.
    pub(super) fn write(
        &self,
        name: &str,
        folder: &Path,
        threads: Option<usize>,
        progress: &mut Progress<'_>,
    ) -> Result<DatasetInfo, DataError> {
        let reference = folder.join("reference");
        fs::create_dir_all(&reference).map_err(|e| DataError::io(&reference, e))?;
        let label = format!("{name}: samples");
        let write = |index: usize| self.write_sample(name, index, &reference);
        let sites = parallel::map(self.count as usize, threads, &label, progress, write)?;
        let Shape { channels, height, width } = self.shape;
        let object = |(index, _): (usize, &Site)| Object {
            id: format!("{index:07}"),
            site: index as u32,
            y: (height / 2) as f32,
            x: (width / 2) as f32,
            bbox: [0, 0, height as i32, width as i32],
        };
        let objects = sites.iter().enumerate().map(object).collect();
        let about = Description {
            name,
            origin: &self.origin(),
            channels: stain::names(channels as usize),
            dtype: self.dtype,
            record: Record { height, width },
        };
        plate::describe(folder, about, sites, objects)
    }

    fn write_sample(&self, name: &str, index: usize, reference: &Path) -> Result<Site, DataError> {
        let pixels = self.paint(index);
        let site = Site {
            plate: name.to_owned(),
            well: "A01".to_owned(),
            // As wide as the ids, so that names sort as numbers do.
            site: format!("{index:07}"),
            height: self.shape.height,
            width: self.shape.width,
            digest: site_digest(&pixels),
            source: Vec::new(),
        };
        write_site_npy(&reference.join(format!("{}.npy", site.name())), &pixels)?;
        Ok(site)
    }

    fn paint(&self, index: usize) -> SitePixels {
        let (height, width) = (self.shape.height as usize, self.shape.width as usize);
        let channels = self.shape.channels as usize;
        let mut random = Random::placement(self.seed, index as u64);
        let cells = cells::place(&mut random, height, width, 1);
        let mut counts: Vec<u16> = Vec::with_capacity(channels * height * width);
        for channel in 0..channels {
            let mut random = Random::channel(self.seed, index as u64, channel as u64);
            counts.extend(paint::channel(&mut random, &cells, stain::of(channel), height, width));
        }
        let data = match self.dtype {
            Dtype::U8 => Pixels::U8(counts.iter().map(|&count| (count / 257) as u8).collect()),
            Dtype::U16 => Pixels::U16(counts),
            Dtype::F32 => Pixels::F32(standardised(&counts)),
        };
        SitePixels { channels, height, width, data }
    }
}

/// Counts less their mean, divided by their standard deviation; a constant sample is all zeros.
fn standardised(counts: &[u16]) -> Vec<f32> {
    let n = counts.len() as f64;
    let mean = counts.iter().map(|&count| f64::from(count)).sum::<f64>() / n;
    let variance = counts.iter().map(|&count| (f64::from(count) - mean).powi(2)).sum::<f64>() / n;
    let scale = if variance > 0.0 { variance.sqrt().recip() } else { 0.0 };
    counts.iter().map(|&count| ((f64::from(count) - mean) * scale) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_three_sides() {
        let shape = Shape { channels: 1, height: 256, width: 128 };
        assert_eq!("1x256x128".parse(), Ok(shape));
        assert_eq!(shape.to_string(), "1x256x128");
        for text in ["", "256", "256x256", "0x1x1", "1x1x1x1", "1x5000x1", "axbxc", "1x-1x1"] {
            assert!(text.parse::<Shape>().is_err(), "{text}");
        }
    }

    #[test]
    fn floats_are_standardised_and_never_nan() {
        let made = standardised(&[1, 2, 3, 65_535]);
        let mean: f32 = made.iter().sum::<f32>() / 4.0;
        assert!(mean.abs() < 1e-6 && made[0] < 0.0 && made[3] > 1.0, "{made:?}");
        assert_eq!(standardised(&[7; 9]), [0.0; 9]);
    }
}
