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
    /// The journal of a run that did not finish.
    #[error("{}: the journal of an interrupted run; finish it with the same pcb-run command and --resume", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
    },
    /// A text of another kind.
    #[error("{}: not JSON, so no result file (is it a CSV?); give the .json file that pcb-run wrote", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
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
    match serde_json::from_slice::<ResultFile>(text) {
        Ok(file) if file.header.version <= VERSION => Ok(file),
        Ok(file) => Err(ReadError::Newer { path: path.to_owned(), got: file.header.version }),
        Err(error) => Err(unreadable(path, text, &error)),
    }
}

/// The version that a header tells, whatever else stands in the document.
fn version(text: &[u8]) -> Option<u32> {
    #[derive(Deserialize)]
    struct Document {
        header: Header,
    }
    #[derive(Deserialize)]
    struct Header {
        version: u32,
    }
    serde_json::from_slice::<Document>(text).ok().map(|document| document.header.version)
}

/// What a text is that is no result file of this version.
pub(super) fn unreadable(path: &Path, text: &[u8], error: &serde_json::Error) -> ReadError {
    // A newer version may have fields that this one refuses: say so rather than blame a field.
    if let Some(got) = version(text).filter(|&got| got > VERSION) {
        return ReadError::Newer { path: path.to_owned(), got };
    }
    // The first line of a journal is its header, every other line a run.
    #[derive(Deserialize)]
    struct Peek {
        #[serde(rename = "plan_digest")]
        _plan_digest: serde::de::IgnoredAny,
    }
    let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if serde_json::from_slice::<Peek>(first).is_ok() {
        return ReadError::Journal { path: path.to_owned() };
    }
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(byte) if !b"{[".contains(byte) => ReadError::NotJson { path: path.to_owned() },
        _ => ReadError::Broken { path: path.to_owned(), problem: error.to_string() },
    }
}

/// Writes a result file; it appears complete or not at all. One that exists is replaced only with `force`.
pub fn write(path: &Path, file: &ResultFile, force: bool) -> std::io::Result<()> {
    crate::output::file(path, force, |mut out| {
        serde_json::to_writer(&mut out, file)?;
        out.write_all(b"\n")
    })
}
