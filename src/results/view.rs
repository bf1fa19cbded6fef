//! The slim view of a result file that comparing needs: no series, no histograms, no counters.
//!
//! A file of 100,000 runs is some 100 MB; [`super::read`] keeps and checks every field of it, this reads past most.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use pcb_protocol::Opened;
use serde::Deserialize;

use super::file::unreadable;
use super::{Flag, Header, Outcome, ReadError, VERSION, pyperf};
use crate::case::Case;

/// A result file without what comparing does not look at.
#[derive(Debug, Clone)]
pub struct FileView {
    /// What holds for all runs.
    pub header: Header,
    /// The distinct cases, in the order first met.
    pub cases: Vec<Case>,
    /// The runs, in the order made.
    pub runs: Vec<RunView>,
}

/// A run without what comparing does not look at.
#[derive(Debug, Clone)]
pub struct RunView {
    /// Its case: index in [`FileView::cases`].
    pub case: usize,
    /// Its build: index in [`Header::builds`].
    pub build: usize,
    /// Its block.
    pub block: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// What a reader of the numbers should know.
    pub flags: Vec<Flag>,
    /// What opening the dataset cost.
    pub open: Option<Opened>,
    /// First pass over the index list; of a cold run the whole measurement.
    pub first: Option<PhaseView>,
    /// Steady state of a warm run.
    pub steady: Option<PhaseView>,
    /// Samples per second in the window without clock reads.
    pub rate: Option<f64>,
    /// Bytes handed out by one sample.
    pub bytes_per_sample: u64,
    /// SHA-256 over the object ids in the order read; runs with the same one share it.
    pub index_digest: Option<Arc<str>>,
}

/// Statistics of one phase; see [`super::PhaseStats`].
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct PhaseView {
    /// Number of samples.
    pub samples: u64,
    /// Sum of all samples, in ns.
    pub total_ns: u64,
    /// Median, in ns.
    pub p50_ns: Option<f64>,
    /// 95 % quantile, in ns.
    pub p95_ns: Option<f64>,
    /// 99 % quantile, in ns.
    pub p99_ns: Option<f64>,
}

/// The document as it stands in the file, borrowing its text.
#[derive(Deserialize)]
struct Document<'a> {
    header: Header,
    #[serde(borrow)]
    runs: Vec<Row<'a>>,
}

/// A run as it stands in the file.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(borrow)]
    case: Cow<'a, str>,
    #[serde(borrow)]
    build: Cow<'a, str>,
    block: u32,
    outcome: Outcome,
    #[serde(default)]
    flags: Vec<Flag>,
    open: Option<Opened>,
    first: Option<PhaseView>,
    steady: Option<PhaseView>,
    rate: Option<f64>,
    #[serde(default)]
    bytes_per_sample: u64,
    #[serde(borrow)]
    index_digest: Option<Text<'a>>,
}

/// Text inside an `Option`, where serde by itself does not borrow.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads the slim view of a result file, of pcb-run or of pyperf.
pub fn read(path: &Path) -> Result<FileView, ReadError> {
    let text = std::fs::read(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    parse(path, &text)
}

fn parse(path: &Path, text: &[u8]) -> Result<FileView, ReadError> {
    let newer = |got| ReadError::Newer { path: path.to_owned(), got };
    let broken = |problem| ReadError::Broken { path: path.to_owned(), problem };
    match serde_json::from_slice::<Document>(text) {
        Ok(document) if document.header.version > VERSION => Err(newer(document.header.version)),
        Ok(document) => intern(document).map_err(broken),
        Err(error) => pyperf::parse(path, text).unwrap_or_else(|| Err(unreadable(path, text, &error))),
    }
}

/// Replaces what repeats from run to run (ids, build names, digests) by indices and shared text.
fn intern(document: Document) -> Result<FileView, String> {
    let Document { header, runs: rows } = document;
    let (mut cases, mut runs) = (Vec::new(), Vec::with_capacity(rows.len()));
    let mut known_cases: HashMap<Cow<str>, usize> = HashMap::new();
    let mut known_digests: HashMap<Cow<str>, Arc<str>> = HashMap::new();
    for row in rows {
        let case = match known_cases.get(&row.case) {
            Some(&index) => index,
            None => {
                cases.push(row.case.parse().map_err(|e| format!("{e}"))?);
                known_cases.insert(row.case, cases.len() - 1);
                cases.len() - 1
            }
        };
        let build = header.builds.iter().position(|build| build.name == row.build);
        let build = build.ok_or_else(|| format!("a run of build \"{}\", which the header does not list", row.build))?;
        let index_digest = row.index_digest.map(|Text(digest)| match known_digests.get(&digest) {
            Some(shared) => Arc::clone(shared),
            None => {
                let shared: Arc<str> = Arc::from(digest.as_ref());
                known_digests.insert(digest, Arc::clone(&shared));
                shared
            }
        });
        let Row { block, outcome, flags, open, first, steady, rate, bytes_per_sample, .. } = row;
        runs.push(RunView {
            case,
            build,
            block,
            outcome,
            flags,
            open,
            first,
            steady,
            rate,
            bytes_per_sample,
            index_digest,
        });
    }
    Ok(FileView { header, cases, runs })
}
