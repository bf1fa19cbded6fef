//! A dataset: a plate with its wells, sites, channels and objects, as a folder on disk.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use pcb_protocol::Dtype;
use serde::{Deserialize, Serialize};

use crate::crop::{self, Window};
use crate::{FormatError, ObjectTable, Pixels, SitePixels, Variant, atomic, digest, npy, objects, tiff};

/// Version of `dataset.json`. 1: first version.
pub const VERSION: u32 = 1;

/// No site and no record has more bytes than this: a description that says so lies, and must not cost memory.
const LARGEST: u64 = 1 << 40;

/// What `dataset.json` says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetInfo {
    /// [`VERSION`] of the writer.
    pub version: u32,
    /// Name, as in a case id.
    pub name: String,
    /// SHA-256 over shapes, dtype, channels, the sites' digests and the object table: two datasets with one
    /// digest hold the same pixels and objects.
    pub digest: String,
    /// How it came to be, in words: generator preset and seed, or the folder it was imported from.
    pub origin: String,
    /// Channel names, in order.
    pub channels: Vec<String>,
    /// Element type of stored pixels.
    pub dtype: Dtype,
    /// Size of one record of the object layout.
    pub record: Record,
    /// Number of objects.
    pub objects: u64,
    /// Sites, sorted by plate, well, site.
    pub sites: Vec<Site>,
}

/// Size of one record of the object layout in pixels: (channels, height, width) around the object's centre, padded by
/// reflection at the edges of its site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Height.
    pub height: u32,
    /// Width.
    pub width: u32,
}

/// One field of view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Plate name.
    pub plate: String,
    /// Well, like `A01`.
    pub well: String,
    /// Site within the well.
    pub site: String,
    /// Height in pixels.
    pub height: u32,
    /// Width in pixels.
    pub width: u32,
    /// SHA-256 of the (C, Y, X) pixels, C order, little-endian, hex.
    pub digest: String,
    /// Imported datasets: the file of each channel, in channel order. Empty for generated ones, whose reference is
    /// `reference/<name>.npy`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<SourceFile>,
}

/// Where one channel of an imported site lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    /// The file; relative paths start at the dataset's folder.
    pub path: PathBuf,
    /// Page (image file directory) of the file.
    pub page: u32,
}

impl Site {
    /// File stem used by every format: `PLATE-WELL-sSITE`.
    pub fn name(&self) -> String {
        let safe = |text: &str| text.replace(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)), "_");
        format!("{}-{}-s{}", safe(&self.plate), safe(&self.well), safe(&self.site))
    }
}

/// An open dataset.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// Its folder.
    pub root: PathBuf,
    /// `dataset.json`.
    pub info: DatasetInfo,
    /// `objects.parquet`.
    pub objects: ObjectTable,
}

impl DatasetInfo {
    /// Writes `dataset.json`; the file appears under its name only when complete.
    pub fn write(&self, path: &Path) -> Result<(), FormatError> {
        atomic::write(path, |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }

    /// Bytes of the pixels of site `index`, uncompressed.
    pub fn site_bytes(&self, index: usize) -> u64 {
        let site = &self.sites[index];
        self.bytes(site.height, site.width).unwrap_or(u64::MAX)
    }

    /// Bytes of all channels of `height` x `width` pixels; `None` above [`LARGEST`].
    fn bytes(&self, height: u32, width: u32) -> Option<u64> {
        let pixels = u64::from(height).checked_mul(u64::from(width))?;
        let bytes = pixels.checked_mul(self.channels.len() as u64)?.checked_mul(self.dtype.size() as u64)?;
        // Boxes hold their rows and columns as i32.
        let countable = i32::try_from(height).is_ok() && i32::try_from(width).is_ok();
        (bytes <= LARGEST && countable).then_some(bytes)
    }

    /// An error unless numbers and lists agree with each other and nothing is impossibly large. `path` is the file to
    /// name.
    pub fn check(&self, path: &Path) -> Result<(), FormatError> {
        let refuse = |problem: String| Err(FormatError::corrupt(path, problem));
        if self.version != VERSION {
            return refuse(format!("dataset version {}, this pcb reads version {VERSION}", self.version));
        }
        if self.channels.is_empty() {
            return refuse("no channels".to_owned());
        }
        if self.record.height == 0 || self.record.width == 0 {
            return refuse(format!("records of {}x{} pixels", self.record.height, self.record.width));
        }
        if self.bytes(self.record.height, self.record.width).is_none() {
            return refuse(format!("records of {}x{} pixels are impossible", self.record.height, self.record.width));
        }
        let mut names = HashSet::new();
        for site in &self.sites {
            let name = site.name();
            if site.height == 0 || site.width == 0 {
                return refuse(format!("site {name} has {}x{} pixels", site.height, site.width));
            }
            if self.bytes(site.height, site.width).is_none() {
                return refuse(format!("site {name} cannot have {}x{} pixels", site.height, site.width));
            }
            if !site.source.is_empty() && site.source.len() != self.channels.len() {
                let (files, channels) = (site.source.len(), self.channels.len());
                return refuse(format!("site {name} lists {files} source files for {channels} channels"));
            }
            if names.contains(&name) {
                return refuse(format!("two sites have the file name {name}"));
            }
            names.insert(name);
        }
        Ok(())
    }
}

impl Dataset {
    /// Opens the dataset in the folder `root`.
    pub fn open(root: &Path) -> Result<Self, FormatError> {
        let info = Self::read_info(root)?;
        let path = root.join("objects.parquet");
        let objects = ObjectTable::read(&path)?;
        for row in &objects.rows {
            objects::site_in_range(&path, row, info.sites.len())?;
        }
        if let Some(pair) = objects.rows.windows(2).find(|pair| pair[0].site > pair[1].site) {
            let problem = format!("objects are not sorted by site: {:?} follows {:?}", pair[1].id, pair[0].id);
            return Err(FormatError::corrupt(&path, problem));
        }
        if objects.rows.len() as u64 != info.objects {
            let problem = format!("{} objects; dataset.json says {}", objects.rows.len(), info.objects);
            return Err(FormatError::corrupt(&path, problem));
        }
        Ok(Self { root: root.to_owned(), info, objects })
    }

    /// Reads `dataset.json` alone.
    pub fn read_info(root: &Path) -> Result<DatasetInfo, FormatError> {
        let path = root.join("dataset.json");
        let text = fs::read(&path).map_err(|e| FormatError::io(&path, e))?;
        let info: DatasetInfo =
            serde_json::from_slice(&text).map_err(|e| FormatError::corrupt(&path, format!("not a dataset: {e}")))?;
        info.check(&path)?;
        Ok(info)
    }

    /// Folder of a variant's stored form: `formats/<format>:<stored>`.
    pub fn stored_dir(&self, format: &str, variant: &Variant) -> PathBuf {
        self.root.join("formats").join(format!("{format}:{}", variant.stored))
    }

    /// Folder of the decoy: a small dataset with the same channels and dtype.
    pub fn decoy_dir(&self) -> PathBuf {
        self.root.join("decoy")
    }

    /// Number of channels.
    pub fn channels(&self) -> usize {
        self.info.channels.len()
    }

    /// Shape of site `index`: (C, Y, X).
    pub fn site_shape(&self, index: usize) -> [usize; 3] {
        let site = &self.info.sites[index];
        [self.channels(), site.height as usize, site.width as usize]
    }

    /// Shape of a record of the object layout: (C, Y, X).
    pub fn record_shape(&self) -> [usize; 3] {
        [self.channels(), self.info.record.height as usize, self.info.record.width as usize]
    }

    /// `<folder>/<site name>.<extension>` for every site, in the order of sites.
    pub(crate) fn site_files(&self, folder: &Path, extension: &str) -> Vec<PathBuf> {
        self.info.sites.iter().map(|site| folder.join(format!("{}.{extension}", site.name()))).collect()
    }

    /// Where a source file lies: relative paths start at the dataset's folder.
    pub fn source_path(&self, source: &SourceFile) -> PathBuf {
        self.root.join(&source.path)
    }

    /// Site and window of a crop of `height` x `width` pixels around row `object` of the object table. The centre of a
    /// crop is a pixel: one that rounds to just past an edge stands on the last pixel before it. An error when the crop
    /// lies wholly outside its site.
    pub fn window(&self, object: usize, height: usize, width: usize) -> Result<(usize, Window), FormatError> {
        let Some(row) = self.objects.rows.get(object) else {
            let problem = format!("object {object}: the table has {} rows", self.objects.rows.len());
            return Err(FormatError::corrupt(self.root.join("objects.parquet"), problem));
        };
        let site = &self.info.sites[row.site as usize];
        let (y, x) = (crop::nearest(row.y, site.height), crop::nearest(row.x, site.width));
        let window = Window::around(y, x, height, width);
        if window.overlaps(site.height as usize, site.width as usize) {
            return Ok((row.site as usize, window));
        }
        let problem = format!(
            "object {:?}: its crop of {height}x{width} at row {}, column {} lies outside site {} of {}x{}",
            row.id,
            window.y,
            window.x,
            site.name(),
            site.height,
            site.width
        );
        Err(FormatError::corrupt(self.root.join("objects.parquet"), problem))
    }

    /// Reference pixels of site `index`, read from `reference/` or the source files. Not checked against the digest.
    pub fn reference(&self, index: usize) -> Result<SitePixels, FormatError> {
        let site = &self.info.sites[index];
        let shape = self.site_shape(index);
        let [channels, height, width] = shape;
        if site.source.is_empty() {
            let path = self.root.join("reference").join(format!("{}.npy", site.name()));
            let array = npy::read_npy(&path)?;
            if array.data.dtype() != self.info.dtype || array.shape != shape {
                let problem = format!(
                    "{} {:?}; expected {} {shape:?}, as dataset.json says",
                    array.data.dtype(),
                    array.shape,
                    self.info.dtype
                );
                return Err(FormatError::corrupt(&path, problem));
            }
            return Ok(SitePixels { channels, height, width, data: array.data });
        }
        // All pages are looked at first: a shape that a file does not have costs no memory.
        for source in &site.source {
            tiff::check_plane(&self.source_path(source), source.page, self.info.dtype, height, width)?;
        }
        let plane = height * width * self.info.dtype.size();
        let mut data = Pixels::zeros(self.info.dtype, shape.iter().product());
        for (source, out) in site.source.iter().zip(data.bytes_mut().chunks_exact_mut(plane)) {
            tiff::read_plane(&self.source_path(source), source.page, self.info.dtype, height, width, out)?;
        }
        Ok(SitePixels { channels, height, width, data })
    }

    /// Digest of a dataset: SHA-256, hex, over dtype, channels, record size, the sites' names, shapes and digests, and
    /// the object table. Where it came from and what it is called do not count.
    pub fn digest_of(info: &DatasetInfo, objects: &ObjectTable) -> String {
        digest::of_dataset(info, objects)
    }
}
