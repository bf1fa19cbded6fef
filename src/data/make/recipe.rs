//! What a generated dataset is made of.

use pcb_formats::Record;
use pcb_protocol::Dtype;

use super::{Plate, stain};
use crate::data::DataError;

/// Version of the generator: another one makes other pixels from the same recipe. 1: first version.
const GENERATOR: u32 = 1;

/// Rows and columns of the plate: 384 wells.
const PLATE_ROWS: u32 = 16;
const PLATE_COLUMNS: u32 = 24;

/// A recipe with a name.
#[derive(Debug)]
pub struct Preset {
    /// Its name, also that of the dataset unless another is given.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// The recipe.
    pub recipe: Recipe,
}

/// All presets.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "smoke",
        about: "4 sites of 3 x 384 x 384, 80 cells; with a few stored forms under 30 MB",
        recipe: Recipe {
            seed: 1,
            wells: 2,
            sites_per_well: 2,
            channels: 3,
            objects_per_site: 20,
            site_size: 384,
            record: 128,
            dtype: Dtype::U16,
        },
    },
    Preset {
        name: "small",
        about: "6 sites of 5 x 1080 x 1080, 840 cells; with a few stored forms about 300 MB",
        recipe: Recipe {
            seed: 1,
            wells: 3,
            sites_per_well: 2,
            channels: 5,
            objects_per_site: 140,
            site_size: 1080,
            record: 128,
            dtype: Dtype::U16,
        },
    },
    Preset {
        name: "plate",
        about: "192 sites of 5 x 1080 x 1080 (half a plate, a site a well), 26880 cells; 2.2 GB",
        recipe: Recipe {
            seed: 1,
            wells: 192,
            sites_per_well: 1,
            channels: 5,
            objects_per_site: 140,
            site_size: 1080,
            record: 128,
            dtype: Dtype::U16,
        },
    },
    Preset {
        name: "full",
        about: "384 wells of 9 sites of 5 x 1080 x 1080, 483840 cells, as large as a JUMP plate; 40 GB, a form as much",
        recipe: Recipe {
            seed: 1,
            wells: 384,
            sites_per_well: 9,
            channels: 5,
            objects_per_site: 140,
            site_size: 1080,
            record: 128,
            dtype: Dtype::U16,
        },
    },
];

/// The preset called `name`.
pub fn preset(name: &str) -> Result<&'static Preset, DataError> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        DataError::Usage(format!("unknown preset {name:?}; known: {}", known.join(", ")))
    })
}

/// What a generated dataset is made of. Sizes in pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Decides every pixel and object.
    pub seed: u64,
    /// Wells, 1 to 384.
    pub wells: u32,
    /// Sites of a well.
    pub sites_per_well: u32,
    /// Channels.
    pub channels: u32,
    /// Cells of a site.
    pub objects_per_site: u32,
    /// Height and width of a site.
    pub site_size: u32,
    /// Height and width of a record of the object layout.
    pub record: u32,
    /// Element type: `u16` holds the counts of the camera, `f32` the same as floats, `u8` them divided by 257.
    pub dtype: Dtype,
}

/// Bytes of pixels that a recipe takes, uncompressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// `reference/`; also any stored form of the site layout.
    pub reference: u64,
    /// The decoy's `reference/`.
    pub decoy: u64,
    /// A stored form of the object layout.
    pub object_form: u64,
}

impl Recipe {
    /// An error, naming the option, unless the recipe can be made.
    pub fn check(&self) -> Result<(), DataError> {
        let limits = [
            ("--wells", self.wells, 1, PLATE_ROWS * PLATE_COLUMNS),
            ("--sites-per-well", self.sites_per_well, 1, 1_000),
            ("--channels", self.channels, 1, 64),
            ("--objects-per-site", self.objects_per_site, 1, 10_000),
            ("--site-size", self.site_size, 16, 16_384),
            ("--record", self.record, 1, 4_096),
        ];
        match limits.iter().find(|(_, value, low, high)| !(low..=high).contains(&value)) {
            Some((name, value, low, high)) => {
                Err(DataError::Usage(format!("{name} {value}: expected {low} to {high}")))
            }
            None => Ok(()),
        }
    }

    /// The recipe in words; equal words, equal dataset.
    pub fn origin(&self) -> String {
        format!(
            "pcb-data make, generator {GENERATOR}: seed {}, {} wells x {} sites, {} channels of {size}x{size} {dtype}, \
             {} objects a site, records of {record}x{record}",
            self.seed,
            self.wells,
            self.sites_per_well,
            self.channels,
            self.objects_per_site,
            size = self.site_size,
            dtype = self.dtype,
            record = self.record,
        )
    }

    /// Bytes of pixels, uncompressed.
    pub fn sizes(&self) -> Sizes {
        let plate = self.plate("");
        Sizes { reference: plate.site_bytes(), decoy: plate.decoy().site_bytes(), object_form: plate.object_bytes() }
    }

    /// The plate that this recipe makes.
    pub(super) fn plate(&self, name: &str) -> Plate {
        let well = |i: u32| format!("{}{:02}", char::from(b'A' + (i / PLATE_COLUMNS) as u8), i % PLATE_COLUMNS + 1);
        Plate {
            name: name.to_owned(),
            origin: self.origin(),
            seed: self.seed,
            wells: (0..self.wells).map(well).collect(),
            sites_per_well: self.sites_per_well,
            channels: stain::names(self.channels as usize),
            dtype: self.dtype,
            size: self.site_size,
            objects_per_site: self.objects_per_site,
            record: Record { height: self.record, width: self.record },
        }
    }
}
