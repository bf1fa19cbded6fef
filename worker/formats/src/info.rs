//! `dataset.json`: what a dataset is, and whether that can be.

use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use pcb_protocol::Dtype;
use serde::{Deserialize, Serialize};

use crate::{FormatError, atomic};

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
    /// The file (or the folder of an OME-Zarr array); relative paths start at the dataset's folder.
    pub path: PathBuf,
    /// What it is.
    #[serde(default, skip_serializing_if = "SourceKind::is_tiff")]
    pub kind: SourceKind,
    /// Plane of the image: page (image file directory) of a TIFF file, channel of an OME-Zarr or OME-Arrow image.
    pub page: u32,
    /// Row of a table of images; 0 for files that hold one image.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub row: u64,
    /// Column of images of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
}

/// What a source file is: which format reads it in place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceKind {
    /// A TIFF file of one or more pages.
    #[default]
    Tiff,
    /// An image of an OME-Zarr plate: the folder of one array.
    OmeZarr,
    /// A row of an OME-Arrow column in a Parquet file.
    OmeArrow,
}

impl SourceKind {
    /// Name of the format whose variant `source` reads it.
    pub fn format(self) -> &'static str {
        match self {
            Self::Tiff => "tiff",
            Self::OmeZarr => "ome-zarr",
            Self::OmeArrow => "ome-arrow",
        }
    }

    fn is_tiff(&self) -> bool {
        *self == Self::Tiff
    }
}

fn is_zero(row: &u64) -> bool {
    *row == 0
}

impl SourceFile {
    /// A page of a TIFF file.
    pub fn tiff(path: impl Into<PathBuf>, page: u32) -> Self {
        Self { path: path.into(), kind: SourceKind::Tiff, page, row: 0, column: None }
    }

    /// A channel of an OME-Zarr image, whose array is the folder `path`.
    pub fn ome_zarr(path: impl Into<PathBuf>, channel: u32) -> Self {
        Self { path: path.into(), kind: SourceKind::OmeZarr, page: channel, row: 0, column: None }
    }
}

impl Site {
    /// File stem used by every format: `PLATE-WELL-sSITE`.
    pub fn name(&self) -> String {
        let safe = |text: &str| text.replace(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c)), "_");
        format!("{}-{}-s{}", safe(&self.plate), safe(&self.well), safe(&self.site))
    }
}

impl DatasetInfo {
    /// Name of the format that every source file of this dataset is in; `None` for one that was generated.
    pub fn source_format(&self) -> Option<&'static str> {
        let mut kinds = self.sites.iter().flat_map(|site| &site.source).map(|source| source.kind.format());
        let first = kinds.next()?;
        let listed = self.sites.iter().all(|site| !site.source.is_empty());
        (listed && kinds.all(|kind| kind == first)).then_some(first)
    }

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
