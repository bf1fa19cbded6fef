//! numpy's .npy: raw arrays behind a short header. The floor that every other format is measured against.

mod file;
pub(crate) mod header;
mod object;
mod site;

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use pcb_protocol::Layout;

use crate::format::Role;
use crate::{Dataset, Format, FormatError, OpenSpec, Pixels, Reader, SitePixels, Variant};
use file::Way;
use header::Header;

/// The row of [`crate::FORMATS`].
pub const FORMAT: Format = Format {
    name: "npy",
    about: "numpy arrays: one file of (N, C, Y, X) records, a file for each record, or a (C, Y, X) file for each site",
    variants: VARIANTS,
    writer: 1,
    open,
    files,
    write,
    resident_bytes: |_| 0,
};

const fn variant(name: &'static str, layout: Layout, stored: &'static str, about: &'static str) -> Variant {
    let variant = Variant::new(name, layout, "").stored(stored).about(about);
    if matches!(name.as_bytes(), b"mmap") { variant.mapped() } else { variant }
}

const VARIANTS: &[Variant] = &[
    variant("mmap", Layout::Object, STACK, "all records in one file, mapped").role(Role::Tuned),
    variant("pread", Layout::Object, STACK, "all records in one file, read at their offset"),
    variant("reopen", Layout::Object, STACK, "all records in one file, opened and closed for each sample"),
    variant(
        "each",
        Layout::Object,
        EACH,
        "a file for each record, opened and closed for each sample; reads whole files, as numpy.load does",
    )
    .role(Role::Default),
    variant("mmap", Layout::Site, SITE, "a file for each site, mapped when first touched").role(Role::DefaultAndTuned),
    variant("pread", Layout::Site, SITE, "a file for each site, opened when first touched, read at its offsets"),
    variant("reopen", Layout::Site, SITE, "a file for each site, opened and closed for each sample"),
];

/// Names of the stored forms.
const STACK: &str = "object-stack";
const EACH: &str = "object-each";
const SITE: &str = "site";

fn open(spec: &OpenSpec) -> Result<Box<dyn Reader>, FormatError> {
    match spec.variant.stored {
        SITE => Ok(Box::new(site::SiteReader::open(spec, way(spec.variant)?)?)),
        STACK => Ok(Box::new(object::StackReader::open(spec, way(spec.variant)?)?)),
        EACH => Ok(Box::new(object::EachReader::open(spec)?)),
        _ => Err(unknown(spec.variant)),
    }
}

/// How the variant reaches the bytes of a file that holds more than one sample.
fn way(variant: &Variant) -> Result<Way, FormatError> {
    match variant.name {
        "mmap" => Ok(Way::Mapped),
        "pread" => Ok(Way::Kept),
        "reopen" => Ok(Way::Reopened),
        _ => Err(unknown(variant)),
    }
}

fn unknown(variant: &Variant) -> FormatError {
    FormatError::Unsupported(format!("npy: no way is known to read or store {}/{}", variant.name, variant.stored))
}

fn files(dataset: &Dataset, variant: &Variant) -> Result<Vec<PathBuf>, FormatError> {
    let folder = dataset.stored_dir(FORMAT.name, variant);
    let mut files = match variant.stored {
        SITE => dataset.site_files(&folder, "npy"),
        EACH => (0..dataset.objects.rows.len()).map(|i| folder.join(object::each_name(i))).collect(),
        STACK => vec![folder.join(object::STACK_FILE)],
        _ => return Err(unknown(variant)),
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
        SITE => site::write(dataset, into, progress),
        EACH => object::write_each(dataset, into, progress),
        STACK => object::write_stack(dataset, into, progress),
        _ => Err(unknown(variant)),
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
/// files inside a [`crate::Staging`] folder.
pub fn write_npy(path: &Path, shape: &[usize], pixels: &Pixels) -> Result<(), FormatError> {
    let save = || {
        let mut file = File::create(path)?;
        file.write_all(&header::encode(pixels.dtype(), shape))?;
        file.write_all(pixels.bytes())
    };
    save().map_err(|e| FormatError::io(path, e))
}

/// Writes all channels of a site as a (C, Y, X) .npy file; see [`write_npy`].
pub fn write_site_npy(path: &Path, site: &SitePixels) -> Result<(), FormatError> {
    write_npy(path, &[site.channels, site.height, site.width], &site.data)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_table_says_how_it_is_read_and_others_are_errors() {
        for variant in VARIANTS.iter().filter(|variant| variant.stored != EACH) {
            let way = way(variant).expect("known");
            assert_eq!(variant.mapped, way == Way::Mapped, "{}", variant.name);
            let named = [(Way::Mapped, "mmap"), (Way::Kept, "pread"), (Way::Reopened, "reopen")];
            assert!(named.contains(&(way, variant.name)), "{}", variant.name);
        }
        for name in ["each", "read", ""] {
            assert!(way(&variant(name, Layout::Site, SITE, "")).is_err(), "{name}");
        }
    }
}
