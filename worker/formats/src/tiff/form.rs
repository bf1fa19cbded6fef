//! How pages are stored, as the names of variants say it.

use pcb_protocol::Dtype;

use crate::FormatError;

use super::compression::{Compression, Predictor};

/// How pages are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Rows and columns of a tile; `None` for strips.
    pub tile: Option<usize>,
    /// How chunks are compressed.
    pub compression: Compression,
    /// Whether a predictor goes before: the horizontal one, for floats the floating point one, as tifffile has it.
    pub predicted: bool,
    /// Whether pages have smaller copies of themselves in SubIFDs.
    pub pyramid: bool,
    /// Whether offsets have 64 bits, also in files that need no such.
    pub big: bool,
}

impl Form {
    /// The form of the stored form `stored`: `[object-][bigtiff-](strip|tileN)-CODEC[-predictor][-pyramid]`.
    pub fn of(stored: &str) -> Result<Self, FormatError> {
        let unknown = || FormatError::Unsupported(format!("no way is known to store {stored}"));
        parse(stored.strip_prefix("object-").unwrap_or(stored)).ok_or_else(unknown)
    }

    /// The predictor of pages of `dtype`.
    pub fn predictor(&self, dtype: Dtype) -> Predictor {
        match (self.predicted, dtype) {
            (false, _) => Predictor::None,
            (true, Dtype::F32) => Predictor::Float,
            (true, Dtype::U8 | Dtype::U16) => Predictor::Horizontal,
        }
    }
}

fn parse(name: &str) -> Option<Form> {
    let (big, name) = match name.strip_prefix("bigtiff-") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let mut words = name.split('-');
    let tile = match words.next()? {
        "strip" => None,
        chunks => Some(chunks.strip_prefix("tile")?.parse().ok().filter(|side| *side > 0 && side % 16 == 0)?),
    };
    let compression = match words.next()? {
        "none" => Compression::None,
        "lzw" => Compression::Lzw,
        "deflate" => Compression::Deflate,
        "zstd" => Compression::Zstd,
        _ => return None,
    };
    let mut words = words.peekable();
    let mut takes = |word| words.next_if_eq(&word).is_some();
    let (predicted, pyramid) = (takes("predictor"), takes("pyramid"));
    words.next().is_none().then_some(Form { tile, compression, predicted, pyramid, big })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_pages_are_stored_and_others_are_errors() {
        let plain = Form { tile: None, compression: Compression::None, predicted: false, pyramid: false, big: false };
        let lzw = Form { compression: Compression::Lzw, ..plain };
        for (name, form) in [
            ("strip-none", plain),
            ("object-strip-none", plain),
            ("tile128-lzw", Form { tile: Some(128), ..lzw }),
            ("strip-lzw-predictor", Form { predicted: true, ..lzw }),
            ("tile512-lzw-pyramid", Form { tile: Some(512), pyramid: true, ..lzw }),
            ("bigtiff-strip-zstd", Form { big: true, compression: Compression::Zstd, ..plain }),
        ] {
            assert_eq!(Form::of(name).expect("known"), form, "{name}");
        }
        for name in [
            "source",
            "strip-jpeg",
            "tile100-none",
            "tile0-none",
            "tile-none",
            "tiles128-none",
            "strip64-none",
            "strip",
            "strip-none-",
            "strip-lzw-pyramid-predictor",
            "strip-lzw-predictor-predictor",
            "",
        ] {
            assert!(Form::of(name).is_err(), "{name}");
        }
    }
}
