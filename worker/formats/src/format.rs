//! What a format is: a row of [`FORMATS`], its variants, and the [`Reader`] it opens.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pcb_protocol::{Layout, Pad};

use crate::crop::{Rect, Window};
use crate::{Dataset, FormatError, hdf5, memory, npy, ome_arrow, ome_zarr, png, safetensors, tiff, webdataset};

/// Every format of this build, in the order of the documentation.
pub const FORMATS: &[Format] = &[
    npy::FORMAT,
    safetensors::FORMAT,
    hdf5::FORMAT,
    tiff::TIFF,
    tiff::OME_TIFF,
    ome_zarr::FORMAT,
    ome_arrow::FORMAT,
    #[cfg(feature = "lance")]
    crate::lance::FORMAT,
    #[cfg(feature = "vortex")]
    crate::vortex::FORMAT,
    png::FORMAT,
    webdataset::FORMAT,
    memory::FORMAT,
];

/// Formats that a cargo feature of the same name adds, for they take minutes to build.
const OPTIONAL: &[&str] = &["lance", "vortex"];

/// Why there is no format of this name, and which there are: the names of `others`, and those of [`FORMATS`].
pub fn unknown_format(name: &str, others: &[&str]) -> String {
    if OPTIONAL.contains(&name) {
        return format!("format {name}: pcb was built without the feature {name}; build with --features {name}");
    }
    let known: Vec<&str> = others.iter().copied().chain(FORMATS.iter().map(|format| format.name)).collect();
    format!("unknown format {name:?}; known: {}", known.join(", "))
}

/// One format: how it is written, opened, and which files it reads.
pub struct Format {
    /// Name in a case id, for example `npy`.
    pub name: &'static str,
    /// One line for `--list formats`.
    pub about: &'static str,
    /// Its variants; (name, layout) is unique among them.
    pub variants: &'static [Variant],
    /// Version of its writer; one that writes other bytes has another number, and forms of old ones are written again.
    pub writer: u32,
    /// Opens a reader. Lazy: reads headers at most.
    pub open: fn(&OpenSpec) -> Result<Box<dyn Reader>, FormatError>,
    /// Every file that a reader of this variant may read, sorted; empty for `memory`.
    pub files: fn(&Dataset, &Variant) -> Result<Vec<PathBuf>, FormatError>,
    /// Writes the stored form of this variant into the empty folder `into`; calls `progress(done, total)` in sites.
    pub write: WriteFn,
    /// Memory that a reader of this spec keeps decoded pixels in from its opening on, in bytes: 0 for all but `memory`.
    /// For a guard before it is opened.
    pub resident_bytes: fn(&OpenSpec) -> u64,
}

/// Writes a stored form: dataset, variant, folder, progress in (done, total) sites.
pub type WriteFn = fn(&Dataset, &Variant, &Path, &mut dyn FnMut(u64, u64)) -> Result<(), FormatError>;

/// One way of storing and reading.
#[derive(Debug)]
pub struct Variant {
    /// Name in a case id, for example `tile128-deflate`.
    pub name: &'static str,
    /// Layout.
    pub layout: Layout,
    /// Name of the stored form; variants that read the same files share it. `source` means the files an
    /// imported dataset came from.
    pub stored: &'static str,
    /// How its writer stores pixels (chunks, codec and its level); empty where there is nothing to choose.
    pub parameters: &'static str,
    /// Whether pixels are read through a memory mapping: then `rchar` says nothing.
    pub mapped: bool,
    /// What it stands for among the variants of its format and layout.
    pub role: Role,
    /// One line for `--list formats`.
    pub about: &'static str,
}

/// What a variant stands for among the variants of its format and layout; at most one of each is the default, and at
/// most one is tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// One way among others.
    Plain,
    /// What the format's own community writes and reads by default.
    Default,
    /// The best known for crops.
    Tuned,
    /// Both.
    DefaultAndTuned,
}

impl Role {
    /// The word of a config that asks for it: `npy:default` and `npy:tuned` are the variants with that role.
    pub fn answers(self, word: &str) -> bool {
        match word {
            "default" => matches!(self, Self::Default | Self::DefaultAndTuned),
            "tuned" => matches!(self, Self::Tuned | Self::DefaultAndTuned),
            _ => false,
        }
    }
}

impl Variant {
    /// A variant that stores pixels in its own way, which `parameters` tells in words; neither default nor tuned.
    pub const fn new(name: &'static str, layout: Layout, parameters: &'static str) -> Self {
        Self { name, layout, stored: name, parameters, mapped: false, role: Role::Plain, about: parameters }
    }

    /// The same with another role.
    #[must_use]
    pub const fn role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// The same, reading the stored form called `stored`.
    #[must_use]
    pub const fn stored(self, stored: &'static str) -> Self {
        Self { stored, ..self }
    }

    /// The same, read through a memory mapping.
    #[must_use]
    pub const fn mapped(self) -> Self {
        Self { mapped: true, ..self }
    }

    /// The same with a line of its own for `--list formats`.
    #[must_use]
    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }
}

/// What a reader is opened for.
#[derive(Debug, Clone)]
pub struct OpenSpec {
    /// The dataset; its objects are what [`Reader::read`] is asked for.
    pub dataset: Arc<Dataset>,
    /// The variant.
    pub variant: &'static Variant,
    /// Channel indices, in the order handed out.
    pub channels: Vec<usize>,
    /// Height of a crop in pixels, at least 1.
    pub height: usize,
    /// Width of a crop in pixels, at least 1.
    pub width: usize,
    /// What stands past the edges of a site.
    pub pad: Pad,
}

impl OpenSpec {
    /// An error unless the channels exist and the crop has pixels. Every format checks this first.
    pub(crate) fn check(&self) -> Result<(), FormatError> {
        let count = self.dataset.channels();
        if let Some(channel) = self.channels.iter().find(|&&channel| channel >= count) {
            return Err(FormatError::Unsupported(format!(
                "channel {channel}: dataset {} has {count} channels, numbered from 0",
                self.dataset.info.name
            )));
        }
        if self.channels.is_empty() || self.height == 0 || self.width == 0 {
            let (channels, height, width) = (self.channels.len(), self.height, self.width);
            return Err(FormatError::Unsupported(format!("a crop of {channels} channels, {height}x{width} is empty")));
        }
        Ok(())
    }

    /// Bytes of one channel of a crop.
    pub(crate) fn plane_bytes(&self) -> usize {
        self.height * self.width * self.dataset.info.dtype.size()
    }

    /// Bytes of a crop: what [`Reader::read`] expects `out` to hold.
    pub fn crop_bytes(&self) -> usize {
        self.channels.len() * self.plane_bytes()
    }

    /// Site and window of the crop around row `object` of the object table.
    pub(crate) fn window(&self, object: usize) -> Result<(usize, Window), FormatError> {
        self.dataset.window(object, self.height, self.width)
    }

    /// The crop within a record of the object layout, which has the same centre.
    pub(crate) fn record_rect(&self) -> Result<Rect, FormatError> {
        let [_, height, width] = self.dataset.record_shape();
        if self.height > height || self.width > width {
            return Err(FormatError::Unsupported(format!(
                "a crop of {}x{} from the object layout: stored records are {height}x{width}; write the dataset with \
                 --record {}x{} or read the site layout",
                self.height,
                self.width,
                self.height.max(height),
                self.width.max(width)
            )));
        }
        let (y0, x0) = (height / 2 - self.height / 2, width / 2 - self.width / 2);
        Ok(Rect { y0, y1: y0 + self.height, x0, x1: x0 + self.width })
    }

    /// Folder of the stored form, or an error that says it was not written.
    pub(crate) fn stored_folder(&self, format: &str) -> Result<PathBuf, FormatError> {
        let folder = self.dataset.stored_dir(format, self.variant);
        match folder.metadata() {
            Ok(_) => Ok(folder),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                let hint = "not written; `pcb-data write` stores a dataset in a format";
                Err(FormatError::io(folder, io::Error::new(e.kind(), hint)))
            }
            Err(e) => Err(FormatError::io(folder, e)),
        }
    }
}

/// An open dataset that hands out crops.
///
/// No decoded pixels outlive one call unless the variant's name says so.
pub trait Reader: Send {
    /// Reads the crop around row `object` of the object table into `out`: (C, Y, X), C order, in the dataset's
    /// dtype and native byte order. `out` is exactly as long as the crop and aligned for the dtype.
    /// Returns the stored bytes it touched.
    fn read(&mut self, object: usize, out: &mut [u8], probe: &mut Probe<'_>) -> Result<u64, FormatError>;
}

/// A stage of a read that a reader can part from the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Bytes from the file.
    Read,
    /// Bytes to pixels.
    Decode,
    /// Both, where a library cannot part them.
    ReadDecode,
}

impl Stage {
    /// Its name in a result file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Decode => "decode",
            Self::ReadDecode => "read+decode",
        }
    }
}

/// Told by a reader when a stage has ended; the measuring side keeps the clock.
///
/// `Probe::none()` costs one branch a call.
pub struct Probe<'a>(Option<&'a mut dyn FnMut(Stage)>);

impl<'a> Probe<'a> {
    /// A probe that nobody listens to.
    pub fn none() -> Self {
        Self(None)
    }

    /// A probe that calls `ended` at the end of each stage.
    pub fn new(ended: &'a mut dyn FnMut(Stage)) -> Self {
        Self(Some(ended))
    }

    /// The time since the last call (or the start of the read) belongs to `stage`.
    #[inline]
    pub fn ended(&mut self, stage: Stage) {
        if let Some(listener) = &mut self.0 {
            listener(stage);
        }
    }
}

/// The row of [`FORMATS`] and the variant with these names, or an error that lists the known ones.
pub fn find(format: &str, variant: &str, layout: Layout) -> Result<(&'static Format, &'static Variant), FormatError> {
    let Some(row) = FORMATS.iter().find(|f| f.name == format) else {
        return Err(FormatError::Unsupported(unknown_format(format, &[])));
    };
    match row.variants.iter().find(|v| v.name == variant && v.layout == layout) {
        Some(found) => Ok((row, found)),
        None => {
            let known: Vec<String> = row.variants.iter().map(|v| format!("{}/{}", v.name, v.layout)).collect();
            Err(FormatError::Unsupported(format!(
                "{format} has no variant {variant}/{layout}; known: {}",
                known.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_format_of_a_feature_that_is_off_says_how_to_build_it() {
        for (name, there) in [("lance", cfg!(feature = "lance")), ("vortex", cfg!(feature = "vortex"))] {
            let found = find(name, "list", Layout::Object);
            assert_eq!(found.is_ok(), there, "{name}");
            if let Err(error) = found {
                assert!(error.to_string().contains(&format!("--features {name}")), "{error}");
            }
        }
        let error = find("lanze", "list", Layout::Object).err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("known: npy")), "unknown");
    }

    #[test]
    fn a_layout_of_a_format_has_one_variant_of_each_name_and_role_at_most_and_a_default() {
        for format in FORMATS {
            let mut names = BTreeSet::new();
            let layouts: BTreeSet<String> = format.variants.iter().map(|v| v.layout.to_string()).collect();
            for variant in format.variants {
                assert!(names.insert((variant.name, variant.layout.to_string())), "{}:{}", format.name, variant.name);
                assert!(!["default", "tuned"].contains(&variant.name), "{} is a role's name", variant.name);
            }
            for layout in layouts {
                for role in ["default", "tuned"] {
                    let found = format.variants.iter().filter(|v| v.layout.to_string() == layout);
                    let count = found.filter(|v| v.role.answers(role)).count();
                    assert_eq!(count, 1, "{} {layout} {role}", format.name);
                }
            }
        }
    }
}
