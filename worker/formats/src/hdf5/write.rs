//! Writing records and sites.

use std::path::Path;
use std::str::FromStr;

use bytemuck::Pod;
use hdf5_metno::filters::deflate_available;
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Dataset as H5Dataset, File, H5Type};
use ndarray::{ArrayView, ArrayView1, IxDyn};
use pcb_protocol::Dtype;

use crate::reference::for_each_record;
use crate::{Dataset, FormatError};

use super::file::{self, refused};
use super::object::IMAGES;
use super::site::IMAGE;
use super::{Chunks, Form, slab};

/// Ids written at once.
const IDS: usize = 1024;

/// Writes all records into the dataset `/images` of one file, (N, C, Y, X), and the objects' ids into `/ids`.
pub fn write_records(
    dataset: &Dataset,
    form: Form,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let file = file::create(path)?;
    let [channels, height, width] = dataset.record_shape();
    let shape = [dataset.objects.rows.len(), channels, height, width];
    let images = create(path, &file, IMAGES, dataset.info.dtype, &shape, form)?;
    for_each_record(dataset, progress, |object, record| {
        let place = [(object, 1), (0, channels), (0, height), (0, width)];
        write_box(path, &images, dataset.info.dtype, &place, record)
    })?;
    drop(images);
    write_ids(dataset, path, &file)?;
    close(path, file)
}

/// Writes a file for each site, with the dataset `/image`, (C, Y, X).
pub fn write_sites(
    dataset: &Dataset,
    form: Form,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let total = dataset.info.sites.len();
    for (index, path) in dataset.site_files(into, "h5").into_iter().enumerate() {
        let site = dataset.reference(index)?;
        let file = file::create(&path)?;
        let shape = [site.channels, site.height, site.width];
        let image = create(&path, &file, IMAGE, dataset.info.dtype, &shape, form)?;
        write_box(&path, &image, dataset.info.dtype, &shape.map(|axis| (0, axis)), site.data.bytes())?;
        drop(image);
        close(&path, file)?;
        progress(index as u64 + 1, total as u64);
    }
    Ok(())
}

/// Creates a dataset of `shape`, whose last axes are (C, Y, X).
fn create(
    path: &Path,
    file: &File,
    name: &str,
    dtype: Dtype,
    shape: &[usize],
    form: Form,
) -> Result<H5Dataset, FormatError> {
    if form.deflated && !deflate_available() {
        let what = "filter deflate is not in this build of HDF5";
        return Err(FormatError::Unsupported(format!("{}: {what}", path.display())));
    }
    let mut builder = match dtype {
        Dtype::U8 => file.new_dataset::<u8>(),
        Dtype::U16 => file.new_dataset::<u16>(),
        Dtype::F32 => file.new_dataset::<f32>(),
    };
    if let Some(chunk) = chunk(form.chunks, shape) {
        builder = builder.chunk(chunk);
    }
    if form.deflated {
        builder = builder.shuffle().deflate(4);
    }
    builder.shape(shape).create(name).map_err(|e| refused(path, &format!("creating /{name}"), &e))
}

/// The chunk of an image of `shape`; no longer than it on any axis.
fn chunk(chunks: Chunks, shape: &[usize]) -> Option<Vec<usize>> {
    let mut chunk = shape.to_vec();
    let plane = shape.len().saturating_sub(3);
    match chunks {
        Chunks::Contiguous => return None,
        Chunks::Record => chunk[..plane].fill(1),
        Chunks::Tiles(side) => {
            chunk[..=plane].fill(1);
            chunk[plane + 1..].iter_mut().for_each(|axis| *axis = side.min(*axis));
        }
    }
    Some(chunk)
}

/// Writes `bytes`, pixels in C order and native byte order, into the box given as (first, count) of each axis.
fn write_box(
    path: &Path,
    image: &H5Dataset,
    dtype: Dtype,
    place: &[(usize, usize)],
    bytes: &[u8],
) -> Result<(), FormatError> {
    match dtype {
        Dtype::U8 => write_elements::<u8>(path, image, place, bytes),
        Dtype::U16 => write_elements::<u16>(path, image, place, bytes),
        Dtype::F32 => write_elements::<f32>(path, image, place, bytes),
    }
}

fn write_elements<T: H5Type + Pod>(
    path: &Path,
    image: &H5Dataset,
    place: &[(usize, usize)],
    bytes: &[u8],
) -> Result<(), FormatError> {
    let elements: Vec<T> = bytemuck::pod_collect_to_vec(bytes);
    let counts: Vec<usize> = place.iter().map(|&(_, count)| count).collect();
    let view = ArrayView::from_shape(IxDyn(&counts), &elements)
        .map_err(|e| FormatError::corrupt(path, format!("pixels of another shape: {e}")))?;
    image.write_slice(view, slab(place)).map_err(|e| refused(path, "writing pixels", &e))
}

/// Ids in table order, as the strings of variable length that h5py writes.
fn write_ids(dataset: &Dataset, path: &Path, file: &File) -> Result<(), FormatError> {
    let rows = &dataset.objects.rows;
    let failed = |e| refused(path, "writing /ids", &e);
    let ids = file.new_dataset::<VarLenUnicode>().shape([rows.len()]).create("ids").map_err(failed)?;
    for (part, rows) in rows.chunks(IDS).enumerate() {
        let mut texts = Vec::with_capacity(rows.len());
        for row in rows {
            let text = VarLenUnicode::from_str(&row.id);
            texts.push(
                text.map_err(|_| FormatError::Unsupported(format!("object {:?}: HDF5 holds no such id", row.id)))?,
            );
        }
        ids.write_slice(ArrayView1::from(&texts), slab(&[(part * IDS, rows.len())])).map_err(failed)?;
    }
    Ok(())
}

/// Writes what the library still holds; a full disk shows here.
fn close(path: &Path, file: File) -> Result<(), FormatError> {
    let failed = |e| refused(path, "closing it", &e);
    file.flush().map_err(failed)?;
    file.close().map_err(failed)
}
