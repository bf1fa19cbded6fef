//! What can go wrong with a dataset or a format.

use std::io;
use std::path::{Path, PathBuf};

use pcb_protocol::FailureKind;

/// A dataset or one of its stored forms cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// The format cannot do what was asked; known before any byte is read, or from a file's own header.
    #[error("{0}")]
    Unsupported(String),
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
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Place, what was found, what was expected.
        problem: String,
    },
}

impl FormatError {
    /// An I/O error of `path`.
    pub fn io(path: impl AsRef<Path>, source: io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), source }
    }

    /// A file that does not hold what it should.
    pub fn corrupt(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Corrupt { path: path.as_ref().to_owned(), problem: problem.into() }
    }

    /// The outcome that a run with this error gets.
    pub fn kind(&self) -> FailureKind {
        const EMFILE: i32 = 24;
        const ENFILE: i32 = 23;
        match self {
            Self::Unsupported(_) => FailureKind::Unsupported,
            Self::Io { source, .. } if matches!(source.raw_os_error(), Some(EMFILE | ENFILE)) => {
                FailureKind::FdExhausted
            }
            Self::Io { .. } | Self::Corrupt { .. } => FailureKind::Failed,
        }
    }
}
