//! One mapped safetensors file and its header.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use pcb_protocol::Dtype;
use safetensors::tensor::Metadata;
use safetensors::{Dtype as Stored, SafeTensorError, SafeTensors};

use crate::{FormatError, mmap};

/// Length of the number in front of the header, in bytes.
pub const PREFIX: usize = 8;

/// A file whose header was compared with its length: every tensor that it names lies within the mapping.
pub struct TensorFile {
    path: PathBuf,
    map: Mmap,
    /// Offset of the first tensor in bytes.
    data: usize,
    header: Metadata,
}

impl TensorFile {
    /// Maps the file at `path` and parses its header.
    pub fn open(path: &Path) -> Result<Self, FormatError> {
        let failed = |e| FormatError::io(path, e);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        if metadata.len() == 0 {
            return Err(FormatError::corrupt(path, "empty file; expected safetensors"));
        }
        let map = mmap::map(path, &file)?;
        let (header_len, header) = SafeTensors::read_metadata(&map).map_err(|e| refused(path, &e))?;
        Ok(Self { path: path.to_owned(), map, data: PREFIX + header_len, header })
    }

    /// Offset in bytes of the first pixel of the tensor `name`; an error unless it has this dtype and shape.
    pub fn offset(&self, name: &str, dtype: Dtype, shape: &[usize]) -> Result<usize, FormatError> {
        let corrupt = |problem| Err(FormatError::corrupt(&self.path, problem));
        let Some(info) = self.header.info(name) else { return corrupt(format!("no tensor {name:?}")) };
        let found = match info.dtype {
            Stored::U8 => Dtype::U8,
            Stored::U16 => Dtype::U16,
            Stored::F32 => Dtype::F32,
            other => {
                let place = self.path.display();
                let what = format!("{place}: tensor {name:?} has dtype {other}; pcb reads U8, U16 and F32");
                return Err(FormatError::Unsupported(what));
            }
        };
        if found != dtype {
            return corrupt(format!("tensor {name:?}: dtype {found}; expected {dtype}, as dataset.json says"));
        }
        if info.shape != shape {
            let found = &info.shape;
            return corrupt(format!("tensor {name:?}: shape {found:?}; expected {shape:?}, as dataset.json says"));
        }
        Ok(self.data + info.data_offsets.0)
    }

    /// The mapping alone: the parsed header, with all its names, goes.
    pub fn into_map(self) -> Mmap {
        self.map
    }
}

/// What the library says about the header of the file at `path`.
fn refused(path: &Path, error: &SafeTensorError) -> FormatError {
    let problem = match error {
        SafeTensorError::InvalidHeaderLength | SafeTensorError::HeaderTooSmall => "truncated in its header".to_owned(),
        SafeTensorError::MetadataIncompleteBuffer => {
            "truncated or too long: its tensors do not end where the file does".to_owned()
        }
        other => other.to_string(),
    };
    FormatError::corrupt(path, problem)
}
