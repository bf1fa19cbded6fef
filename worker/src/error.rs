//! Why a run ends early.

use pcb_formats::FormatError;
use pcb_protocol::{Failure, FailureKind, LinkError};

/// A run that cannot be completed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A dataset or a format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// libtorch refused.
    #[error("libtorch: {0}")]
    Torch(String),
    /// The case asks for what this worker cannot do.
    #[error("{0}")]
    Unsupported(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
    /// The controller is gone: there is nobody to tell.
    #[error("controller: {0}")]
    Link(#[from] LinkError),
}

impl RunError {
    /// What to tell the controller; the error itself where there is none any more.
    pub fn into_failure(self) -> Result<Failure, LinkError> {
        let kind = match &self {
            Self::Format(error) => error.kind(),
            Self::Unsupported(_) => FailureKind::Unsupported,
            Self::Torch(_) | Self::Failed(_) => FailureKind::Failed,
            Self::Link(_) => FailureKind::Failed,
        };
        match self {
            Self::Link(gone) => Err(gone),
            told => Ok(Failure { kind, message: told.to_string() }),
        }
    }
}
