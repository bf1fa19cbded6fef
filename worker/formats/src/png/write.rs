//! Writing pictures of records.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use ::png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};
use pcb_protocol::Dtype;

use super::reader::check_dtype;
use super::{Arrangement, channel_name, name};
use crate::reference::for_each_record;
use crate::{Dataset, FormatError, Variant};

/// Writes the pictures of all records.
pub fn write(
    dataset: &Dataset,
    variant: &Variant,
    into: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<(), FormatError> {
    let dtype = dataset.info.dtype;
    check_dtype(dtype)?;
    let arrangement = Arrangement::of(variant)?;
    let shape = dataset.record_shape();
    let size = arrangement.size(shape);
    let plane = shape[1] * shape[2] * dtype.size();
    let mut picture = Vec::with_capacity(plane * shape[0]);
    for_each_record(dataset, progress, |object, record| {
        let pictures = match arrangement {
            Arrangement::Apart => shape[0],
            Arrangement::Beside | Arrangement::Below => 1,
        };
        for index in 0..pictures {
            picture.clear();
            match arrangement {
                Arrangement::Apart => picture.extend_from_slice(&record[index * plane..(index + 1) * plane]),
                Arrangement::Below => picture.extend_from_slice(record),
                Arrangement::Beside => beside(record, shape, dtype.size(), &mut picture),
            }
            if dtype == Dtype::U16 {
                picture.as_chunks_mut::<2>().0.iter_mut().for_each(|x| *x = u16::from_ne_bytes(*x).to_be_bytes());
            }
            let name = if arrangement == Arrangement::Apart { channel_name(object, index) } else { name(object) };
            save(&into.join(name), &picture, size, dtype, arrangement)?;
        }
        Ok(())
    })
}

/// Appends the rows of a record (C, Y, X) with its channels beside each other: (Y, C, X).
fn beside(record: &[u8], [channels, height, width]: [usize; 3], pixel: usize, out: &mut Vec<u8>) {
    let line = width * pixel;
    for row in 0..height {
        for channel in 0..channels {
            let first = (channel * height + row) * line;
            out.extend_from_slice(&record[first..first + line]);
        }
    }
}

fn save(
    path: &Path,
    picture: &[u8],
    (height, width): (usize, usize),
    dtype: Dtype,
    arrangement: Arrangement,
) -> Result<(), FormatError> {
    let save = || -> Result<(), EncodingError> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut encoder = Encoder::new(&mut file, width as u32, height as u32);
        encoder.set_color(ColorType::Grayscale);
        encoder.set_depth(if dtype == Dtype::U8 { BitDepth::Eight } else { BitDepth::Sixteen });
        let fast = arrangement == Arrangement::Below;
        encoder.set_compression(if fast { Compression::Fast } else { Compression::Balanced });
        encoder.set_filter(if fast { Filter::Up } else { Filter::Adaptive });
        let mut writer = encoder.write_header()?;
        writer.write_image_data(picture)?;
        writer.finish()?;
        Ok(file.flush()?)
    };
    save().map_err(|error| match error {
        EncodingError::IoError(e) => FormatError::io(path, e),
        e => FormatError::corrupt(path, e.to_string()),
    })
}
