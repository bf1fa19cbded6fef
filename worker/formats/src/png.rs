//! PNG: a picture of each cell, its channels beside or below each other in one grey picture, or a picture for each
//! channel. 8 and 16 bit; floats have no place in a PNG.

mod decode;
mod reader;
mod write;

use std::path::PathBuf;

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "png",
    about: "a grey PNG for each cell, 8 or 16 bit, opened and closed for each sample; decoded whole",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write: write::write,
    resident_bytes: |_| 0,
};

const VARIANTS: &[Variant] = &[
    Variant::new("strip", Layout::Object, "channels beside each other; adaptive filters, Deflate balanced")
        .role(Role::Default)
        .about(
            "one picture a cell, channels beside each other, as in strips for DINO; adaptive filters, Deflate balanced",
        ),
    Variant::new("stack-fast", Layout::Object, "channels below each other; filter Up, Deflate fast")
        .role(Role::Tuned)
        .about("one picture a cell, channels below each other; filter Up, Deflate fast"),
    Variant::new("channels", Layout::Object, "a picture for each channel; adaptive filters, Deflate balanced"),
];

/// How the channels of a record lie in pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Arrangement {
    /// In one picture, beside each other: (Y, C, X).
    Beside,
    /// In one picture, below each other: (C, Y, X).
    Below,
    /// In a picture each.
    Apart,
}

impl Arrangement {
    fn of(variant: &Variant) -> Result<Self, FormatError> {
        match variant.stored {
            "strip" => Ok(Self::Beside),
            "stack-fast" => Ok(Self::Below),
            "channels" => Ok(Self::Apart),
            other => Err(FormatError::Unsupported(format!("png: no way is known to store {other}"))),
        }
    }

    /// Height and width of a picture of a record (C, Y, X).
    fn size(self, [channels, height, width]: [usize; 3]) -> (usize, usize) {
        match self {
            Self::Beside => (height, channels * width),
            Self::Below => (channels * height, width),
            Self::Apart => (height, width),
        }
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    Ok(Box::new(reader::PngReader::open(spec)?))
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    let objects = 0..dataset.objects.rows.len();
    let mut files: Vec<PathBuf> = match Arrangement::of(variant)? {
        Arrangement::Apart => objects
            .flat_map(|object| (0..dataset.channels()).map(move |channel| (object, channel)))
            .map(|(object, channel)| folder.join(channel_name(object, channel)))
            .collect(),
        Arrangement::Beside | Arrangement::Below => objects.map(|object| folder.join(name(object))).collect(),
    };
    files.sort();
    Ok(files)
}

/// File of a record.
fn name(object: usize) -> String {
    format!("{object:06}.png")
}

/// File of one channel of a record.
fn channel_name(object: usize, channel: usize) -> String {
    format!("{object:06}-c{channel}.png")
}
