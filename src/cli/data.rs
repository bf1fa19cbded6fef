//! Command line of `pcb-data`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use pcb_protocol::Dtype;

use crate::data::make::Shape;

const EXAMPLES: &str = "\
Examples:
  pcb-data make smoke                              a tiny plate, for trying things out
  pcb-data make small --seed 2 --name other        the same plate with other cells
  pcb-data import --name mine --images Images --profiles single_cells.parquet
  pcb-data write smoke all                         store it in every format
  pcb-data verify smoke all                        prove that all hold the same pixels
  pcb-data list

Exit codes: 0 fine, 1 error, 2 wrong command line, 5 a stored form differs.";

/// Makes, imports, stores and verifies the datasets that pcb-run reads.
#[derive(Debug, Parser)]
#[command(name = "pcb-data", version, after_help = EXAMPLES, arg_required_else_help = true)]
pub struct DataArgs {
    /// Folder of all datasets [default: $PCB_DATA, $XDG_CACHE_HOME/pcb/data or ~/.cache/pcb/data]
    #[arg(long, global = true, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print a completion script for this shell
    #[arg(long, value_name = "SHELL", hide = true)]
    pub completions: Option<Shell>,
    /// Print the man page
    #[arg(long, hide = true)]
    pub man: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a plate of generated cells, the same bytes from the same seed
    Make(MakeArgs),
    /// Import a plate from its own TIFF files, which stay where they are
    Import(ImportArgs),
    /// Store a dataset, and its decoy, in formats
    Write(WriteArgs),
    /// Prove that stored forms hold the dataset's pixels and objects
    Verify(FormsArgs),
    /// List datasets, or one dataset's stored forms
    List {
        /// A dataset's name or folder
        dataset: Option<PathBuf>,
    },
    /// Print what the pixels are like: compression ratios, brightness, noise
    Stats {
        /// A dataset's name or folder
        dataset: PathBuf,
    },
}

/// `pcb-data make`.
#[derive(Debug, Args)]
#[command(after_help = "\
Presets:
  smoke  4 sites of 3 x 384 x 384, 80 cells; with a few stored forms under 30 MB
  small  6 sites of 5 x 1080 x 1080, 840 cells; with a few stored forms about 300 MB
  plate  192 sites of 5 x 1080 x 1080 (half a plate, a site a well), 26880 cells; 2.2 GB
  full   384 wells of 9 sites of 5 x 1080 x 1080, 483840 cells, as large as a JUMP plate; 40 GB, a form as much

Examples:
  pcb-data make
  pcb-data make smoke --wells 8 --name wide
  pcb-data make --samples 1024 --shape 1x256x256 --dtype f32")]
pub struct MakeArgs {
    /// Which plate; the options below change it
    #[arg(default_value = "smoke")]
    pub preset: String,
    /// Name of the dataset [default: the preset's]
    #[arg(long)]
    pub name: Option<String>,
    /// Decides every pixel and object [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Wells
    #[arg(long, value_name = "N")]
    pub wells: Option<u32>,
    /// Sites of a well
    #[arg(long, value_name = "N")]
    pub sites_per_well: Option<u32>,
    /// Channels: DNA, AGP, RNA, ER, Mito, DNA2, …
    #[arg(long, value_name = "N")]
    pub channels: Option<u32>,
    /// Cells of a site
    #[arg(long, value_name = "N")]
    pub objects_per_site: Option<u32>,
    /// Height and width of a site
    #[arg(long, value_name = "PIXELS")]
    pub site_size: Option<u32>,
    /// Height and width of one record of the object layout
    #[arg(long, value_name = "PIXELS")]
    pub record: Option<u32>,
    /// Make a plain set of N samples instead of a plate: each an image of its own, of --shape
    #[arg(long, value_name = "N", requires = "shape", conflicts_with_all = ["preset", "wells", "sites_per_well", "channels",
        "objects_per_site", "site_size", "record"])]
    pub samples: Option<u32>,
    /// Shape of a sample
    #[arg(long, value_name = "CxYxX", requires = "samples")]
    pub shape: Option<Shape>,
    /// Element type; of a plate, f32 holds the 16-bit counts, of samples standardised ones; u8 the counts divided by 257
    /// [default: u16]
    #[arg(long, value_name = "u8|u16|f32")]
    pub dtype: Option<Dtype>,
    /// Threads; the result does not depend on them [default: all usable CPUs]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Replace a dataset of this name that was made otherwise, and its stored forms; never a folder that is no dataset
    #[arg(long)]
    pub force: bool,
}

/// `pcb-data import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Channels and sites come from the table's Image_FileName_* columns if they name TIFF files, else from the files' names:
  r01c01f01p01-ch2sk1fk1fl1.tiff, A01_1_DNA.tif, PLATE_A01_1_DNA.tif, PLATE_A01_s1_w1.tif, B7_01_1_3_DAPI_001.tif,
  PLATE-A01-s1.ome.tif, or whatever --pattern says; OME-TIFFs of other names are a well each. An OME-Zarr plate, or a folder
of them, is imported as its metadata tell. The rows of a Parquet table of OME-Arrow images are, with a column like
Metadata_ObjectID, crops of single cells (a row for each channel, or all in one), else fields of view.
Centres come from Nuclei_Location_Center_X and _Y, else Cells_…, Cytoplasm_…

Examples:
  pcb-data import --name mine --images Images --profiles single_cells.parquet
  pcb-data import --name mine --images Images --grid 64
  pcb-data import --name mine --images image_crops.parquet --profiles joined_profiles.parquet
  pcb-data import --name mine --images . --grid 64 --pattern '(?<plate>\\w+)/(?<well>\\w+)_f(?<site>\\d+)_(?<channel>\\w+)\\.tif'")]
pub struct ImportArgs {
    /// Name of the dataset
    #[arg(long)]
    pub name: String,
    /// Folder of the TIFF files, those in folders below included; an OME-Zarr plate; or a .parquet table of OME-Arrow images
    #[arg(long, value_name = "PATH")]
    pub images: PathBuf,
    /// Profile table of single cells (.csv, else Parquet)
    #[arg(long, value_name = "TABLE")]
    pub profiles: Option<PathBuf>,
    /// Column of object ids [default: Metadata_ObjectID or the like, else composed of site and number]
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Fill sites with fewer objects up to N, on a grid with some jitter
    #[arg(long, value_name = "N")]
    pub grid: Option<u32>,
    /// Regular expression for the paths below --images, with groups well (or row and col), site, channel, plate;
    /// without the group channel, every page of a file is one, or what its OME-XML says
    #[arg(long, value_name = "REGEX")]
    pub pattern: Option<String>,
    /// Go on without files that are listed but missing
    #[arg(long)]
    pub skip_missing: bool,
    /// Height and width of one record of the object layout
    #[arg(long, value_name = "PIXELS", default_value_t = 128)]
    pub record: u32,
    /// Decides the grid's jitter and the decoy
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Replace another dataset of this name, and its stored forms; never a folder that is no dataset
    #[arg(long)]
    pub force: bool,
}

/// `pcb-data write`.
#[derive(Debug, Args)]
pub struct WriteArgs {
    /// Dataset and forms.
    #[command(flatten)]
    pub what: FormsArgs,
    /// Write again, also what is there
    #[arg(long)]
    pub force: bool,
}

/// `pcb-data verify`, and what `pcb-data write` takes too.
#[derive(Debug, Args)]
pub struct FormsArgs {
    /// A dataset's name or folder
    pub dataset: PathBuf,
    /// FORMAT:VARIANT[/LAYOUT], for example npy:mmap/site; or all (`memory` stores nothing, so it is none of them)
    #[arg(value_name = "FORM", default_value = "all")]
    pub forms: Vec<String>,
}
