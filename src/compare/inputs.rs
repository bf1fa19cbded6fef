//! The two sides of a comparison, and the runs of each.

use regex::Regex;
use serde::Serialize;

use super::Key;
use crate::case::Case;
use crate::results::BuildInfo;
use crate::results::view::{FileView, RunView};

/// Two files, or one file with two builds.
#[derive(Debug)]
pub struct Inputs<'a> {
    pub(super) base: Input<'a>,
    pub(super) new: Input<'a>,
    /// Whether runs are paired by block.
    pub(super) paired: bool,
}

/// One side.
#[derive(Debug)]
pub(super) struct Input<'a> {
    /// The name of its file.
    pub name: &'a str,
    /// Its file.
    pub file: &'a FileView,
    /// Its build: index in the header's builds.
    pub build: usize,
    /// Whether it is the base side.
    pub is_base: bool,
    /// Only cases whose part of the id has this value.
    only: Option<(Key, String)>,
    /// Its runs, by case.
    runs: Vec<Vec<&'a RunView>>,
}

/// Where one side comes from.
#[derive(Debug, Clone, Serialize)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The worker build.
    pub build: String,
    /// When `pcb-run` started, RFC 3339 in UTC.
    pub started: String,
}

/// The files are not a base and a new side.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// One file with one build.
    #[error("{file} holds one build: give a second file, or measure two with pcb-run --worker base=… --worker new=…")]
    OneBuild {
        /// Its name.
        file: String,
    },
    /// A value that no case has.
    #[error("{file}: no case has {key} {value:?}; there are {known}")]
    NoValue {
        /// Its name.
        file: String,
        /// The key.
        key: Key,
        /// What was asked for.
        value: String,
        /// What there is.
        known: String,
    },
    /// One value, or several of which none is the base.
    #[error("{file}: {key} is {known}; name the base with --by {key}=BASE, which needs another value beside it")]
    NoBase {
        /// Its name.
        file: String,
        /// The key.
        key: Key,
        /// What there is.
        known: String,
    },
    /// A file that could be a side in several ways.
    #[error(
        "{file} holds several builds ({builds}): a comparison of two files takes files with one build each; compare its builds with pcb-compare {file}"
    )]
    SeveralBuilds {
        /// Its name.
        file: String,
        /// Its builds.
        builds: String,
    },
}

impl<'a> Inputs<'a> {
    /// Two files with one build each, whatever its name.
    pub fn files(base: (&'a str, &'a FileView), new: (&'a str, &'a FileView)) -> Result<Self, InputsError> {
        Ok(Self { base: Input::only(base, true)?, new: Input::only(new, false)?, paired: false })
    }

    /// The two builds of one file: the first is the base. They ran block by block, so they are paired that way.
    pub fn builds((name, file): (&'a str, &'a FileView)) -> Result<Self, InputsError> {
        match file.header.builds.len() {
            2 => {
                Ok(Self { base: Input::new(name, file, 0, true), new: Input::new(name, file, 1, false), paired: true })
            }
            0 | 1 => Err(InputsError::OneBuild { file: name.to_owned() }),
            _ => Err(several(name, file)),
        }
    }
}

impl<'a> Inputs<'a> {
    /// Values of one part of the case ids inside one file, against each other: pairs of the base value and each new one.
    /// `values` are the base and the new ones; without new ones all others; without a base there must be just two, the
    /// first in the file's order of which is the base. All ran block by block, so they are paired that way.
    pub fn values(
        (name, file): (&'a str, &'a FileView),
        key: Key,
        values: &[String],
    ) -> Result<Vec<Self>, InputsError> {
        if file.header.builds.len() > 1 {
            return Err(several(name, file));
        }
        let mut known: Vec<String> = Vec::new();
        for value in file.cases.iter().map(|case| key.of(case)).filter(|value| value != "-") {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        let list = || if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        if let Some(value) = values.iter().find(|value| !known.contains(value)) {
            let (file, value) = (name.to_owned(), value.clone());
            return Err(InputsError::NoValue { file, key, value, known: list() });
        }
        let (base, new): (&String, Vec<&String>) = match values {
            [] if known.len() == 2 => (&known[0], vec![&known[1]]),
            [base] if known.len() > 1 => (base, known.iter().filter(|value| *value != base).collect()),
            [base, new @ ..] if !new.is_empty() && !new.contains(base) => (base, new.iter().collect()),
            _ => return Err(InputsError::NoBase { file: name.to_owned(), key, known: list() }),
        };
        let side =
            |value: &String, is_base| Input { only: Some((key, value.clone())), ..Input::new(name, file, 0, is_base) };
        Ok(new.into_iter().map(|new| Self { base: side(base, true), new: side(new, false), paired: true }).collect())
    }
}

impl Inputs<'_> {
    /// The values that are compared, base and new, where both sides are values of one file.
    pub(super) fn values_of(&self) -> Option<[String; 2]> {
        let value = |side: &Input| side.only.as_ref().map(|(_, value)| value.clone());
        Some([value(&self.base)?, value(&self.new)?])
    }
}

fn several(name: &str, file: &FileView) -> InputsError {
    let builds: Vec<&str> = file.header.builds.iter().map(|build| build.name.as_str()).collect();
    InputsError::SeveralBuilds { file: name.to_owned(), builds: builds.join(", ") }
}

impl<'a> Input<'a> {
    fn only((name, file): (&'a str, &'a FileView), is_base: bool) -> Result<Self, InputsError> {
        if file.header.builds.len() > 1 { Err(several(name, file)) } else { Ok(Self::new(name, file, 0, is_base)) }
    }

    fn new(name: &'a str, file: &'a FileView, build: usize, is_base: bool) -> Self {
        let mut runs = vec![Vec::new(); file.cases.len()];
        for run in file.runs.iter().filter(|run| run.build == build) {
            runs[run.case].push(run);
        }
        Self { name, file, build, is_base, only: None, runs }
    }

    /// The cases that this side measured and the filter finds, as indices in the file's cases.
    pub fn cases(&self, filter: Option<&Regex>) -> Vec<(usize, &'a Case)> {
        let wanted = |case: &Case| {
            filter.is_none_or(|regex| regex.is_match(&case.to_string()))
                && self.only.as_ref().is_none_or(|(key, value)| key.of(case) == *value)
        };
        let cases = self.file.cases.iter().enumerate();
        cases.filter(|(index, case)| !self.runs[*index].is_empty() && wanted(case)).collect()
    }

    /// The runs of a case.
    pub fn runs(&'a self, case: usize) -> CaseRuns<'a> {
        let runs = &self.runs[case];
        let ok = runs.iter().copied().filter(|run| run.outcome.is_ok()).collect();
        CaseRuns { case: &self.file.cases[case], all: runs, ok }
    }

    /// The build's entry in the header.
    pub fn build_info(&self) -> Option<&'a BuildInfo> {
        self.file.header.builds.get(self.build)
    }

    /// Where it comes from.
    pub fn source(&self) -> Source {
        Source {
            file: self.name.to_owned(),
            build: self.build_info().map_or(String::new(), |build| build.name.clone()),
            started: self.file.header.started.clone(),
        }
    }
}

/// The runs of one case on one side.
pub(super) struct CaseRuns<'a> {
    /// The case.
    pub case: &'a Case,
    /// All of them; at least one.
    pub all: &'a [&'a RunView],
    /// Those whose numbers count.
    pub ok: Vec<&'a RunView>,
}
