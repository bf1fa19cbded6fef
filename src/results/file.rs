//! Reading and writing result files.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Header, Run, VERSION};

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultFile {
    /// What holds for all runs.
    pub header: Header,
    /// The runs, in the order made.
    pub runs: Vec<Run>,
}

/// A result file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// Not a result file, or cut short.
    #[error("{}: not a complete result file: {problem}; if a run was interrupted, go on with pcb-run --resume", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// Line, column, what was expected.
        problem: String,
    },
    /// Written by a newer pcb.
    #[error("{}: result file version {got}, this pcb reads up to version {VERSION}; use a newer pcb", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        got: u32,
    },
}

/// Reads a result file.
pub fn read(path: &Path) -> Result<ResultFile, ReadError> {
    let text = std::fs::read(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &[u8]) -> Result<ResultFile, ReadError> {
    let error = match serde_json::from_slice::<ResultFile>(text) {
        Ok(file) if file.header.version <= VERSION => return Ok(file),
        Ok(file) => return Err(ReadError::Newer { path: path.to_owned(), got: file.header.version }),
        Err(error) => error,
    };
    // A newer version may have fields that this one refuses: say so rather than blame a field.
    #[derive(Deserialize)]
    struct Peek {
        header: PeekHeader,
    }
    #[derive(Deserialize)]
    struct PeekHeader {
        version: u32,
    }
    match serde_json::from_slice::<Peek>(text) {
        Ok(peek) if peek.header.version > VERSION => {
            Err(ReadError::Newer { path: path.to_owned(), got: peek.header.version })
        }
        _ => Err(ReadError::Broken { path: path.to_owned(), problem: error.to_string() }),
    }
}

/// Writes a result file; it appears complete or not at all. One that exists is replaced only with `force`.
pub fn write(path: &Path, file: &ResultFile, force: bool) -> std::io::Result<()> {
    crate::output::file(path, force, |mut out| {
        serde_json::to_writer(&mut out, file)?;
        out.write_all(b"\n")
    })
}
