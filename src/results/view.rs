//! The slim view of a result file that comparing needs: no histograms, no counters, and series only when asked for.
//!
//! A file of 100,000 runs is some 100 MB; [`super::read`] keeps and checks every field of it, this reads past most.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use pcb_protocol::Opened;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::file::unreadable;
use super::{Flag, Header, Outcome, ReadError, Series, VERSION, pyperf};
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
    /// The text of the file, where series are read from when asked for; empty for a file of pyperf.
    pub(super) text: Arc<Vec<u8>>,
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
    /// The very first sample, in ns.
    pub first_sample_ns: Option<u64>,
    /// Bytes handed out by one sample.
    pub bytes_per_sample: u64,
    /// SHA-256 over the object ids in the order read; runs with the same one share it.
    pub index_digest: Option<Arc<str>>,
}

/// Statistics of one phase; see [`super::PhaseStats`].
#[derive(Debug, Clone)]
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
    /// Where its samples are.
    pub(super) samples_in: SamplesIn,
}

/// Where the samples of a phase are.
#[derive(Debug, Clone, Default)]
pub(super) enum SamplesIn {
    /// Nowhere: the file keeps none.
    #[default]
    Nowhere,
    /// A series in the text of the file.
    Text(Range<usize>),
    /// Here.
    Values(Arc<[f64]>),
}

impl FileView {
    /// What the file keeps of the samples of a phase, in ns and in the order taken: all, or medians of blocks of equal
    /// length, without the head of a series that has such. Empty where it keeps none.
    pub fn samples(&self, phase: &PhaseView) -> Vec<f64> {
        match &phase.samples_in {
            SamplesIn::Nowhere => Vec::new(),
            SamplesIn::Values(values) => values.to_vec(),
            SamplesIn::Text(range) => {
                let text = self.text.get(range.clone()).unwrap_or_default();
                let Ok(Series { head, block, medians }) = serde_json::from_slice(text) else { return Vec::new() };
                // Single samples and medians of many do not belong into one distribution.
                let head = if block > 1 { Vec::new() } else { head };
                head.into_iter().chain(medians).map(|ns| ns as f64).collect()
            }
        }
    }
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
    #[serde(borrow)]
    first: Option<Phase<'a>>,
    #[serde(borrow)]
    steady: Option<Phase<'a>>,
    rate: Option<f64>,
    first_sample_ns: Option<u64>,
    #[serde(default)]
    bytes_per_sample: u64,
    #[serde(borrow)]
    index_digest: Option<Text<'a>>,
}

/// A phase as it stands in the file.
#[derive(Deserialize)]
struct Phase<'a> {
    samples: u64,
    total_ns: u64,
    p50_ns: Option<f64>,
    p95_ns: Option<f64>,
    p99_ns: Option<f64>,
    #[serde(borrow)]
    series: Option<&'a RawValue>,
}

impl Phase<'_> {
    fn view(self, text: &[u8]) -> PhaseView {
        let Phase { samples, total_ns, p50_ns, p95_ns, p99_ns, series } = self;
        // The value borrows the text, so that its place in it is known.
        let place = |series: &RawValue| {
            let start = series.get().as_ptr() as usize - text.as_ptr() as usize;
            SamplesIn::Text(start..start + series.get().len())
        };
        PhaseView { samples, total_ns, p50_ns, p95_ns, p99_ns, samples_in: series.map_or(SamplesIn::Nowhere, place) }
    }
}

/// Text inside an `Option`, where serde by itself does not borrow.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads the slim view of a result file, of pcb-run or of pyperf.
pub fn read(path: &Path) -> Result<FileView, ReadError> {
    let text = std::fs::read(path).map_err(|source| ReadError::Io { path: path.to_owned(), source })?;
    parse(path, Arc::new(text))
}

fn parse(path: &Path, text: Arc<Vec<u8>>) -> Result<FileView, ReadError> {
    let newer = |got| ReadError::Newer { path: path.to_owned(), got };
    let broken = |problem| ReadError::Broken { path: path.to_owned(), problem };
    let view = match serde_json::from_slice::<Document>(&text) {
        Ok(document) if document.header.version > VERSION => return Err(newer(document.header.version)),
        Ok(document) => intern(document, &text).map_err(broken)?,
        Err(error) => return pyperf::parse(path, &text).unwrap_or_else(|| Err(unreadable(path, &text, &error))),
    };
    Ok(FileView { text, ..view })
}

/// Replaces what repeats from run to run (ids, build names, digests) by indices and shared text.
fn intern(document: Document, text: &[u8]) -> Result<FileView, String> {
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
        let Row { block, outcome, flags, open, first, steady, rate, first_sample_ns, bytes_per_sample, .. } = row;
        runs.push(RunView {
            case,
            build,
            block,
            outcome,
            flags,
            open,
            first: first.map(|phase| phase.view(text)),
            steady: steady.map(|phase| phase.view(text)),
            rate,
            first_sample_ns,
            bytes_per_sample,
            index_digest,
        });
    }
    Ok(FileView { header, cases, runs, text: Arc::default() })
}
