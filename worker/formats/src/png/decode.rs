//! Grey PNG files to pixels.

use std::io::Cursor;
use std::path::Path;

use ::png::{BitDepth, ColorType, Decoder, DecodingError, Limits};
use pcb_protocol::Dtype;

use crate::FormatError;

/// Decodes the file `bytes`, read from `path`, which must be a grey picture of `height` x `width` pixels of `dtype`, into
/// `out`: (Y, X), big-endian as PNG has it. Every chunk's checksum is compared.
pub fn decode(
    path: &Path,
    bytes: &[u8],
    dtype: Dtype,
    (height, width): (usize, usize),
    out: &mut [u8],
) -> Result<(), FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::corrupt(path, "empty file; expected a PNG"));
    }
    let failed = |error: DecodingError| match error {
        DecodingError::LimitsExceeded => FormatError::corrupt(path, "a picture far larger than dataset.json says"),
        error => FormatError::corrupt(path, format!("not a sound PNG: {error}")),
    };
    let mut decoder = Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 4 * out.len() + (1 << 20) });
    decoder.ignore_checksums(false);
    let mut reader = decoder.read_info().map_err(failed)?;
    let info = reader.info();
    let found = match (info.color_type, info.bit_depth) {
        (ColorType::Grayscale, BitDepth::Eight) => Dtype::U8,
        (ColorType::Grayscale, BitDepth::Sixteen) => Dtype::U16,
        (color, depth) => {
            let problem =
                format!("{}: a {}-bit {color:?} PNG; pcb reads 8 and 16 bit grey", path.display(), depth as u8);
            return Err(FormatError::Unsupported(problem));
        }
    };
    if (info.height as usize, info.width as usize, found) != (height, width, dtype) {
        let problem =
            format!("{}x{} {found}; expected {height}x{width} {dtype}, as dataset.json says", info.height, info.width);
        return Err(FormatError::corrupt(path, problem));
    }
    reader.next_frame(out).map_err(failed)?;
    // What follows the pixels, up to the end mark: a file cut short there is cut short.
    reader.finish().map_err(failed)
}
