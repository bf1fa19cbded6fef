//! Datasets on disk: made from a seed, imported from a plate's own files, stored in formats, verified.
//!
//! Nothing here prints: work that takes long tells its steps to a callback, and the binary shows them.

mod columns;
mod describe;
mod error;
mod folder;
pub mod import;
pub mod make;
mod parallel;
mod stored;
mod text;

pub use describe::{ChannelStats, Description, describe};
pub use error::DataError;
pub use folder::{dataset_folder, datasets, free_bytes, root};
pub use pcb_formats::tree_bytes;
pub use stored::{Form, Verdict, check_room, ensure, forms, forms_on_disk, rewrite, select, verify, verify_reference};
pub use text::{bytes_text, counted, description_text, error_text, list_text, stored_text};

use std::path::PathBuf;

use pcb_formats::DatasetInfo;

/// How far a piece of long work has come.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// What is being done, for example `smoke: sites`.
    pub label: &'a str,
    /// Parts done.
    pub done: u64,
    /// Parts in all.
    pub total: u64,
}

/// Is told each [`Step`].
pub type Progress<'a> = dyn FnMut(Step<'_>) + 'a;

/// A dataset that a call made, or found as it should be.
#[derive(Debug, Clone)]
pub struct Made {
    /// Its folder.
    pub folder: PathBuf,
    /// Its `dataset.json`.
    pub info: DatasetInfo,
    /// It was there before, with the same content.
    pub kept: bool,
    /// What the caller should tell the user: files left out, rows dropped.
    pub warnings: Vec<String>,
}
