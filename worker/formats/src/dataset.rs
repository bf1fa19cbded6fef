//! A dataset: a plate with its wells, sites, channels and objects, as a folder on disk.

use std::fs;
use std::path::{Path, PathBuf};

use crate::crop::{self, Window};
use crate::{
    DatasetInfo, FormatError, ObjectTable, Pixels, SitePixels, SourceFile, Variant, digest, npy, objects, source,
};

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

    /// An error unless every source file of this dataset is in `format`.
    pub(crate) fn check_source(&self, format: &str) -> Result<(), FormatError> {
        let name = &self.info.name;
        match self.info.source_format() {
            Some(found) if found == format => Ok(()),
            Some(found) => Err(FormatError::Unsupported(format!("dataset {name}: its source files are {found}"))),
            None => Err(FormatError::Unsupported(format!("dataset {name} was generated; it has no source files"))),
        }
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
        for file in &site.source {
            source::check_plane(&self.source_path(file), file, self.info.dtype, (height, width))?;
        }
        let plane = height * width * self.info.dtype.size();
        let mut data = Pixels::zeros(self.info.dtype, shape.iter().product());
        for (file, out) in site.source.iter().zip(data.bytes_mut().chunks_exact_mut(plane)) {
            source::read_plane(&self.source_path(file), file, self.info.dtype, (height, width), out)?;
        }
        Ok(SitePixels { channels, height, width, data })
    }

    /// Digest of a dataset: SHA-256, hex, over dtype, channels, record size, the sites' names, shapes and digests, and
    /// the object table. Where it came from and what it is called do not count.
    pub fn digest_of(info: &DatasetInfo, objects: &ObjectTable) -> String {
        digest::of_dataset(info, objects)
    }
}
