//! Writes a generated plate: reference pixels, objects, `dataset.json`.

use std::fs;
use std::path::Path;

use pcb_formats::{
    Dataset, DatasetInfo, Object, ObjectTable, Pixels, Record, Site, SitePixels, VERSION, site_digest, write_site_npy,
};
use pcb_protocol::Dtype;

use super::cells::{self, Cell};
use super::paint;
use super::random::Random;
use super::stain;
use crate::data::{DataError, Progress, parallel};

/// Height and width of a decoy's site in pixels, unless a record is larger.
const DECOY_SIZE: u32 = 256;
const DECOY_OBJECTS: u32 = 16;
/// Mixed into the seed, so that a decoy's cells are not those of its dataset.
const DECOY_SEED: u64 = 0x64_65_63_6f_79;

/// A plate of generated sites. Sizes in pixels.
#[derive(Debug, Clone)]
pub struct Plate {
    /// Name of the dataset and of the plate.
    pub name: String,
    /// For `dataset.json`.
    pub origin: String,
    /// Decides every pixel and object.
    pub seed: u64,
    /// Names of the wells.
    pub wells: Vec<String>,
    /// Sites of a well.
    pub sites_per_well: u32,
    /// Channel names.
    pub channels: Vec<String>,
    /// Element type; `u8` holds the counts divided by 257.
    pub dtype: Dtype,
    /// Height and width of a site.
    pub size: u32,
    /// Cells of a site.
    pub objects_per_site: u32,
    /// Size of a record of the object layout.
    pub record: Record,
}

/// What `dataset.json` says beside sites and objects.
pub(super) struct Description<'a> {
    /// Name of the dataset.
    pub name: &'a str,
    /// How it came to be.
    pub origin: &'a str,
    /// Channel names.
    pub channels: Vec<String>,
    /// Element type.
    pub dtype: Dtype,
    /// Size of a record of the object layout.
    pub record: Record,
}

/// Writes `objects.parquet` and `dataset.json` of a generated dataset into `folder`.
pub(super) fn describe(
    folder: &Path,
    about: Description<'_>,
    sites: Vec<Site>,
    objects: Vec<Object>,
) -> Result<DatasetInfo, DataError> {
    let objects = ObjectTable { rows: objects };
    let mut info = DatasetInfo {
        version: VERSION,
        name: about.name.to_owned(),
        digest: String::new(),
        origin: about.origin.to_owned(),
        channels: about.channels,
        dtype: about.dtype,
        record: about.record,
        objects: objects.rows.len() as u64,
        sites,
    };
    info.digest = Dataset::digest_of(&info, &objects);
    objects.write(&folder.join("objects.parquet"), &info.sites)?;
    info.write(&folder.join("dataset.json"))?;
    Ok(info)
}

impl Plate {
    /// The decoy that goes with this plate: one small site with the same channels, dtype and records.
    pub fn decoy(&self) -> Self {
        Self {
            name: format!("{}-decoy", self.name),
            origin: format!("decoy of {}", self.name),
            seed: self.seed ^ DECOY_SEED,
            wells: vec!["A01".to_owned()],
            sites_per_well: 1,
            size: DECOY_SIZE.max(self.record.height).max(self.record.width),
            objects_per_site: DECOY_OBJECTS,
            ..self.clone()
        }
    }

    /// Bytes of all sites.
    pub fn site_bytes(&self) -> u64 {
        self.sites() as u64 * self.pixel_bytes() * u64::from(self.size) * u64::from(self.size)
    }

    /// Bytes of all records.
    pub fn object_bytes(&self) -> u64 {
        let objects = self.sites() as u64 * u64::from(self.objects_per_site);
        objects * self.pixel_bytes() * u64::from(self.record.height) * u64::from(self.record.width)
    }

    fn pixel_bytes(&self) -> u64 {
        (self.channels.len() * self.dtype.size()) as u64
    }

    fn sites(&self) -> usize {
        self.wells.len() * self.sites_per_well as usize
    }

    /// Writes the dataset, without a decoy, into `folder`, which is created.
    pub fn write(
        &self,
        folder: &Path,
        threads: Option<usize>,
        progress: &mut Progress<'_>,
    ) -> Result<DatasetInfo, DataError> {
        let reference = folder.join("reference");
        fs::create_dir_all(&reference).map_err(|e| DataError::io(&reference, e))?;
        let label = format!("{}: sites", self.name);
        let made = parallel::map(self.sites(), threads, &label, progress, |index| self.write_site(index, &reference))?;
        let (sites, objects): (Vec<Site>, Vec<Vec<Object>>) = made.into_iter().unzip();
        let about = Description {
            name: &self.name,
            origin: &self.origin,
            channels: self.channels.clone(),
            dtype: self.dtype,
            record: self.record,
        };
        describe(folder, about, sites, objects.into_iter().flatten().collect())
    }

    fn write_site(&self, index: usize, reference: &Path) -> Result<(Site, Vec<Object>), DataError> {
        let size = self.size as usize;
        let mut random = Random::placement(self.seed, index as u64);
        let cells = cells::place(&mut random, size, size, self.objects_per_site as usize);
        let pixels = self.paint(index, &cells);
        let per_well = self.sites_per_well as usize;
        let site = Site {
            plate: self.name.clone(),
            well: self.wells[index / per_well].clone(),
            site: (index % per_well + 1).to_string(),
            height: self.size,
            width: self.size,
            digest: site_digest(&pixels),
            source: Vec::new(),
        };
        write_site_npy(&reference.join(format!("{}.npy", site.name())), &pixels)?;
        let object = |(i, cell): (usize, &Cell)| Object {
            id: format!("{}-{:04}", site.name(), i + 1),
            site: index as u32,
            y: cell.y,
            x: cell.x,
            bbox: cell.bounds(size, size),
        };
        let objects = cells.iter().enumerate().map(object).collect();
        Ok((site, objects))
    }

    fn paint(&self, index: usize, cells: &[Cell]) -> SitePixels {
        let size = self.size as usize;
        let mut counts: Vec<u16> = Vec::with_capacity(self.channels.len() * size * size);
        for channel in 0..self.channels.len() {
            let mut random = Random::channel(self.seed, index as u64, channel as u64);
            counts.extend(paint::channel(&mut random, cells, stain::of(channel), size, size));
        }
        let data = match self.dtype {
            Dtype::U8 => Pixels::U8(counts.iter().map(|&count| (count / 257) as u8).collect()),
            Dtype::U16 => Pixels::U16(counts),
            Dtype::F32 => Pixels::F32(counts.iter().map(|&count| f32::from(count)).collect()),
        };
        SitePixels { channels: self.channels.len(), height: size, width: size, data }
    }
}
