//! What can go wrong with datasets.

use std::io;
use std::path::{Path, PathBuf};

use pcb_formats::FormatError;

use super::text::{bytes_text, counted};

/// A dataset cannot be made, imported, stored or read.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The caller asked for something that cannot be: a wrong argument.
    #[error("{0}")]
    Usage(String),
    /// A dataset or one of its stored forms cannot be read or written.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Its reason.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Place, what was found, what was expected, what to do.
        problem: String,
    },
    /// Something else stands under the name.
    #[error("{}: {problem}; give another --name, or --force to replace it", path.display())]
    Exists {
        /// The dataset's folder.
        path: PathBuf,
        /// What stands there.
        problem: String,
    },
    /// Files that should be there are not.
    #[error(
        "{} missing; --skip-missing goes on without:\n  {}", missing_text(names.len()), names.join("\n  ")
    )]
    Missing {
        /// Every one of them, sorted.
        names: Vec<String>,
    },
    /// The disk is too full.
    #[error(
        "{}: {} are needed, {} are free; free some, or give another folder with --data",
        folder.display(), bytes_text(*needed), bytes_text(*free)
    )]
    Space {
        /// Where it was to be written.
        folder: PathBuf,
        /// Bytes that the work would take.
        needed: u64,
        /// Bytes that are free to this user.
        free: u64,
    },
}

fn missing_text(count: usize) -> String {
    format!("{} {}", counted(count as u64, "image"), if count == 1 { "is" } else { "are" })
}

impl DataError {
    /// An I/O error of `path`.
    pub fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }

    /// A file that does not hold what it should.
    pub fn content(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Content { path: path.as_ref().to_owned(), problem: problem.into() }
    }
}
