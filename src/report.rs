//! What people and programs read of result files: tables, plots, rows. Pure: result files in, text out.
//!
//! A reporter is one file and one row of [`REPORTERS`]. Tables and plots show runs reduced by [`summary`]; `csv` and
//! `jsonl` show the runs themselves.

pub mod check;
mod columns;
pub mod csv;
mod document;
mod head;
pub mod jsonl;
pub mod listing;
pub mod markdown;
mod notes;
pub mod plot;
pub mod precision;
pub mod summary;
mod table;
pub mod text;

use crate::results::{ResultFile, Run};

/// A result file and the name that a report calls it by: its path, or nothing where there is only one.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The name.
    pub name: &'a str,
    /// The file.
    pub file: &'a ResultFile,
}

/// A way to show result files.
#[derive(Debug)]
pub struct Reporter {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for `--help`.
    pub about: &'static str,
    /// Makes the text.
    pub render: fn(&[Input]) -> String,
}

/// Every reporter; the first is the default.
pub const REPORTERS: &[Reporter] = &[text::REPORTER, markdown::REPORTER, csv::REPORTER, jsonl::REPORTER];

/// Files of different versions cannot stand in one report.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{first} is a result file of version {first_version}, {other} of version {other_version}: their numbers may mean \
     different things; report them one by one"
)]
pub struct MixedVersions {
    first: String,
    first_version: u32,
    other: String,
    other_version: u32,
}

impl<'a> Input<'a> {
    /// Files without names.
    fn unnamed(files: &[&'a ResultFile]) -> Vec<Self> {
        files.iter().map(|&file| Self { name: "", file }).collect()
    }
}

/// Refuses files of different versions.
pub fn one_version(inputs: &[Input]) -> Result<(), MixedVersions> {
    let Some((first, others)) = inputs.split_first() else { return Ok(()) };
    match others.iter().find(|other| other.file.header.version != first.file.header.version) {
        None => Ok(()),
        Some(other) => Err(MixedVersions {
            first: first.name.to_owned(),
            first_version: first.file.header.version,
            other: other.name.to_owned(),
            other_version: other.file.header.version,
        }),
    }
}

/// A file without the runs and pruned cases whose id `keep` refuses.
pub fn filtered(mut file: ResultFile, keep: impl Fn(&str) -> bool) -> ResultFile {
    file.runs.retain(|run: &Run| keep(&run.case.to_string()));
    file.header.pruned.retain(|pruned| keep(&pruned.case.to_string()));
    file
}
