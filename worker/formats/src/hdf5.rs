//! HDF5: one file of (N, C, Y, X) records, or a (C, Y, X) file for each site; contiguous or in chunks.
//!
//! The library keeps decoded chunks by itself: 8 MiB for each open dataset (1 MiB before HDF5 2). Every file is opened
//! with a chunk cache of 0 bytes, so that no decoded chunk outlives a read. With it, crops of a few small sites look
//! 70 times as fast as they are (5 x 64 x 64 from shuffled, deflated tiles of 128: 1,020 us without, 14 us with).
//!
//! Its sieve buffers, which keep the last 64 KiB of each uncompressed dataset, are off too. Rows are asked for as wide as
//! they are stored instead, so that the library reads them in one piece: as fast, and nothing is kept.
//!
//! The library is guarded by one lock for the whole process: threads wait for each other.
//!
//! The mapped variants of contiguous data go past the library, which only tells where the pixels lie.
//!
//! `hdf5-metno` has no safe call that reads a selection into memory of ours, so each read allocates an array that is
//! copied from. It adds about 6 us to a read, which takes 12 us for 5 x 64 x 64 and 21 us for 5 x 128 x 128 (a `pread`
//! with a copy: 4 and 17 us).

mod file;
mod image;
mod mapped;
mod object;
mod site;
mod write;

use std::path::{Path, PathBuf};

use hdf5_metno::{Hyperslab, SliceOrIndex};
use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Reader, Variant};

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "hdf5",
    about: "HDF5: one file of (N, C, Y, X) records, or a (C, Y, X) file for each site; chunk cache off; the library's \
            lock makes threads wait for each other",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const VARIANTS: &[Variant] = &[
    Variant::new("contiguous", Layout::Object, "contiguous, as h5py writes without options; file format of HDF5 1.10")
        .stored("object-contiguous")
        .role(Role::Default),
    Variant::new(
        "contiguous-mmap",
        Layout::Object,
        "contiguous, as h5py writes without options; file format of HDF5 1.10",
    )
    .stored("object-contiguous")
    .about("contiguous; the library tells where the pixels lie, and the file is mapped")
    .mapped()
    .role(Role::Tuned),
    Variant::new("chunk-record", Layout::Object, "a chunk for each record, no filter; file format of HDF5 1.10")
        .stored("object-chunk-record"),
    Variant::new(
        "chunk-record-gzip4-shuffle",
        Layout::Object,
        "a chunk for each record, shuffled, deflate 4; file format of HDF5 1.10",
    )
    .stored("object-chunk-record-gzip4-shuffle"),
    Variant::new("contiguous", Layout::Site, "contiguous, as h5py writes without options; file format of HDF5 1.10")
        .stored("site-contiguous")
        .role(Role::Default),
    Variant::new(
        "contiguous-mmap",
        Layout::Site,
        "contiguous, as h5py writes without options; file format of HDF5 1.10",
    )
    .stored("site-contiguous")
    .about("contiguous; the library tells where the pixels lie, and the file is mapped")
    .mapped(),
    Variant::new("tile128", Layout::Site, "chunks of 1x128x128, no filter; file format of HDF5 1.10")
        .stored("site-tile128")
        .role(Role::Tuned),
    Variant::new(
        "tile128-gzip4-shuffle",
        Layout::Site,
        "chunks of 1x128x128, shuffled, deflate 4; file format of HDF5 1.10",
    )
    .stored("site-tile128-gzip4-shuffle"),
];

/// File of all records of the object layout.
const RECORDS: &str = "crops.h5";

/// Channels as runs of neighbours, (first, count) each: the library reads a run in one call.
fn runs(channels: &[usize]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &channel in channels {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == channel => *count += 1,
            _ => runs.push((channel, 1)),
        }
    }
    runs
}

/// A box as (first, count) of each axis, in the library's words.
fn slab(place: &[(usize, usize)]) -> Hyperslab {
    let axis = |&(start, count): &(usize, usize)| SliceOrIndex::SliceCount { start, step: 1, count, block: 1 };
    Hyperslab::from(place.iter().map(axis).collect::<Vec<_>>())
}

/// How pixels are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunks {
    /// In one piece.
    Contiguous,
    /// A chunk for each record.
    Record,
    /// Square chunks of one channel; the side in pixels.
    Tiles(usize),
}

/// How a variant is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Form {
    chunks: Chunks,
    /// Shuffled and deflated with level 4.
    deflated: bool,
}

impl Form {
    fn of(variant: &Variant) -> Result<Self, FormatError> {
        let (chunks, deflated) = match variant.name.strip_suffix("-gzip4-shuffle") {
            Some(chunks) => (chunks, true),
            None => (variant.name, false),
        };
        let chunks = match (chunks, variant.layout) {
            ("contiguous" | "contiguous-mmap", _) if !deflated => Chunks::Contiguous,
            ("chunk-record", Layout::Object) => Chunks::Record,
            ("tile128", Layout::Site) => Chunks::Tiles(128),
            _ => {
                let (name, layout) = (variant.name, variant.layout);
                return Err(FormatError::Unsupported(format!("hdf5: no way is known to store {name}/{layout}")));
            }
        };
        Ok(Self { chunks, deflated })
    }
}

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    match spec.variant.layout {
        Layout::Object => Ok(Box::new(object::RecordReader::open(spec)?)),
        Layout::Site => Ok(Box::new(site::SiteReader::open(spec)?)),
    }
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    let mut files = match variant.layout {
        Layout::Object => vec![folder.join(RECORDS)],
        Layout::Site => dataset.site_files(&folder, "h5"),
    };
    files.sort();
    Ok(files)
}

fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let form = Form::of(variant)?;
    match variant.layout {
        Layout::Object => write::write_records(dataset, form, &into.join(RECORDS), progress),
        Layout::Site => write::write_sites(dataset, form, into, progress),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_channels_are_read_together() {
        assert_eq!(runs(&[0, 1, 2]), [(0, 3)]);
        assert_eq!(runs(&[2, 0, 1, 1, 4]), [(2, 1), (0, 2), (1, 1), (4, 1)]);
    }

    #[test]
    fn every_name_of_the_table_says_how_it_is_stored_and_others_are_errors() {
        for variant in VARIANTS {
            let form = Form::of(variant).expect("known");
            assert_eq!(variant.parameters.contains("deflate 4"), form.deflated, "{}", variant.name);
            assert_eq!(variant.parameters.contains("chunk"), form.chunks != Chunks::Contiguous, "{}", variant.name);
        }
        for (name, layout) in
            [("tile128", Layout::Object), ("chunk-record", Layout::Site), ("contiguous-gzip4-shuffle", Layout::Site)]
        {
            assert!(Form::of(&Variant::new(name, layout, "")).is_err(), "{name}");
        }
    }
}
