//! numpy's .npy: raw arrays behind a short header. The floor that every other format is measured against.

mod file;
mod header;
mod object;
mod site;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pcb_protocol::{Dtype, Layout};

use crate::{Dataset, Format, FormatError, OpenSpec, Pixels, Reader, SitePixels, Variant};
use header::Header;

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "npy",
    about: "numpy arrays: one file of (N, C, Y, X) records, a file for each record, or a (C, Y, X) file for each site",
    variants: VARIANTS,
    open,
    files,
    write,
};

const VARIANTS: &[Variant] = &[
    Variant {
        name: "mmap",
        layout: Layout::Object,
        stored: "object-stack",
        mapped: true,
        about: "all records in one file, mapped",
    },
    Variant {
        name: "pread",
        layout: Layout::Object,
        stored: "object-stack",
        mapped: false,
        about: "all records in one file, read at their offset",
    },
    Variant {
        name: "reopen",
        layout: Layout::Object,
        stored: "object-stack",
        mapped: false,
        about: "all records in one file, opened and closed for each sample",
    },
    Variant {
        name: "each",
        layout: Layout::Object,
        stored: "object-each",
        mapped: false,
        about: "a file for each record, opened and closed for each sample",
    },
    Variant {
        name: "mmap",
        layout: Layout::Site,
        stored: "site",
        mapped: true,
        about: "a file for each site, mapped when first touched",
    },
    Variant {
        name: "pread",
        layout: Layout::Site,
        stored: "site",
        mapped: false,
        about: "a file for each site, opened when first touched, read at its offsets",
    },
    Variant {
        name: "reopen",
        layout: Layout::Site,
        stored: "site",
        mapped: false,
        about: "a file for each site, opened and closed for each sample",
    },
];

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    match (spec.variant.layout, spec.variant.stored) {
        (Layout::Site, _) => Ok(Box::new(site::SiteReader::open(spec)?)),
        (Layout::Object, "object-each") => Ok(Box::new(object::EachReader::open(spec)?)),
        (Layout::Object, _) => Ok(Box::new(object::StackReader::open(spec)?)),
    }
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    let mut files = match variant.stored {
        "site" => dataset.site_files(&folder, "npy"),
        "object-each" => (0..dataset.objects.rows.len()).map(|i| folder.join(object::each_name(i))).collect(),
        _ => vec![folder.join(object::STACK)],
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
    match variant.stored {
        "site" => site::write(dataset, into, progress),
        "object-each" => object::write_each(dataset, into, progress),
        _ => object::write_stack(dataset, into, progress),
    }
}

/// An array of any shape: its axes' lengths, slowest first, and its elements in C order.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Length of each axis.
    pub shape: Vec<usize>,
    /// The elements.
    pub data: Pixels,
}

/// Reads a whole .npy file: u1, u2 or f4, either byte order, C or Fortran order.
pub fn read_npy(path: &Path) -> Result<Array, FormatError> {
    let file = File::open(path).map_err(|e| FormatError::io(path, e))?;
    let Header { dtype, big_endian, fortran, shape, data: offset } = Header::read(path, &file)?;
    // The header was compared with the file's length, so this allocates no more than the file holds.
    let mut data = Pixels::zeros(dtype, shape.iter().product());
    file.read_exact_at(data.bytes_mut(), offset as u64).map_err(|e| FormatError::io(path, e))?;
    if big_endian {
        data.swap_bytes();
    }
    if fortran {
        data = match &data {
            Pixels::U8(v) => Pixels::U8(fortran_to_c(v, &shape)),
            Pixels::U16(v) => Pixels::U16(fortran_to_c(v, &shape)),
            Pixels::F32(v) => Pixels::F32(fortran_to_c(v, &shape)),
        };
    }
    Ok(Array { shape, data })
}

/// Writes `pixels` as a little-endian .npy file in C order with the axes `shape`. Not atomic, not synced: for
/// files inside a folder that is renamed when complete.
pub fn write_npy(path: &Path, shape: &[usize], pixels: &Pixels) -> Result<(), FormatError> {
    write_parts(path, pixels.dtype(), shape, &[pixels.bytes()])
}

/// Writes all channels of a site as a (C, Y, X) .npy file; see [`write_npy`].
pub fn write_site_npy(path: &Path, site: &SitePixels) -> Result<(), FormatError> {
    write_npy(path, &[site.channels, site.height, site.width], &site.data)
}

fn write_parts(path: &Path, dtype: Dtype, shape: &[usize], parts: &[&[u8]]) -> Result<(), FormatError> {
    let save = || {
        let mut file = BufWriter::new(File::create(path)?);
        file.write_all(&header::encode(dtype, shape))?;
        for part in parts {
            file.write_all(part)?;
        }
        file.flush()
    };
    save().map_err(|e| FormatError::io(path, e))
}

/// Elements whose first axis runs fastest, brought into C order.
fn fortran_to_c<T: Copy>(elements: &[T], shape: &[usize]) -> Vec<T> {
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = 1;
    for &axis in shape {
        strides.push(stride);
        stride *= axis;
    }
    let mut index = vec![0; shape.len()];
    let mut from = 0;
    let mut sorted = Vec::with_capacity(elements.len());
    for _ in 0..elements.len() {
        sorted.push(elements[from]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            from += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            from -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
    sorted
}
