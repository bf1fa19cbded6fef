//! The journal: runs are appended to it as they end, so that nothing measured is lost.
//!
//! `NAME.journal.jsonl` beside the result file: one line with the header, then one line a run. A line that was cut
//! short is dropped by `--resume`. The file is locked while a `pcb-run` writes it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::{Header, ResultFile, Run, file};

/// An open journal.
pub struct Journal {
    file: File,
    path: PathBuf,
    result: PathBuf,
    /// Whether the result may replace a file.
    force: bool,
    header: Header,
    runs: Vec<Run>,
}

/// A journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// Somebody else writes it.
    #[error("{}: another pcb-run is writing to this output; wait for it, or give another --output", path.display())]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// The result file is there.
    #[error("{}: exists; give another --output, or --force to replace it", path.display())]
    Exists {
        /// The result file.
        path: PathBuf,
    },
    /// An interrupted run lies here.
    #[error("{}: holds {runs} runs of an interrupted plan; go on with --resume, or drop them with --force", path.display())]
    Unfinished {
        /// The journal.
        path: PathBuf,
        /// Runs in it.
        runs: usize,
    },
    /// Nothing to go on from.
    #[error("{}: no interrupted run lies here", path.display())]
    Nothing {
        /// The journal.
        path: PathBuf,
    },
    /// Not a journal.
    #[error("{}:{line}: {problem}; start anew with --force", path.display())]
    Broken {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// It was measured otherwise.
    #[error("{}: its runs were made with something else: {what} changed since; start anew with --force", path.display())]
    OtherSetting {
        /// The journal.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// It belongs to another plan.
    #[error(
        "{}: holds runs of another plan (its digest starts with {had}, this one's with {want}): config, seed, repeats, cases, builds or datasets differ; use the same ones, or start anew with --force",
        path.display()
    )]
    OtherPlan {
        /// The journal.
        path: PathBuf,
        /// Start of the digest in the journal.
        had: String,
        /// Start of this plan's digest.
        want: String,
    },
}

/// The journal of a result file.
pub fn journal_path(result: &Path) -> PathBuf {
    let mut name = result.file_name().unwrap_or_default().to_os_string();
    if result.extension().is_some_and(|extension| extension == "json") {
        name = result.file_stem().unwrap_or_default().to_os_string();
    }
    name.push(JOURNAL);
    result.with_file_name(name)
}

/// What a journal's name ends with.
pub const JOURNAL: &str = ".journal.jsonl";

impl Journal {
    /// Starts a journal for `result`. With `force`, an old result file is replaced at the end and an old journal now.
    pub fn create(result: &Path, header: Header, force: bool) -> Result<Self, JournalError> {
        let path = journal_path(result);
        let io = |source| JournalError::Io { path: path.clone(), source };
        if result.exists() && !force {
            return Err(JournalError::Exists { path: result.to_owned() });
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(io)?;
        }
        let mut file = lock(&path)?;
        if file.metadata().map_err(io)?.len() > 0 && !force {
            let runs = BufReader::new(&file).lines().count().saturating_sub(1);
            return Err(JournalError::Unfinished { path, runs });
        }
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        write_line(&mut file, &header).map_err(io)?;
        Ok(Self { file, path, result: result.to_owned(), force, header, runs: Vec::new() })
    }

    /// Goes on with the journal of `result`, if it holds runs of the plan, the programs and the machine that `header`
    /// describes. An incomplete result of the same plan is replaced at the end.
    pub fn resume(result: &Path, header: &Header, force: bool) -> Result<Self, JournalError> {
        let path = journal_path(result);
        if !path.exists() {
            return Err(JournalError::Nothing { path });
        }
        let file = lock(&path)?;
        let (had, runs, complete) = load(&path, &file)?;
        if had.plan_digest != header.plan_digest || had.datasets != header.datasets {
            let start = |digest: &str| digest.chars().take(8).collect();
            return Err(JournalError::OtherPlan {
                path,
                had: start(&had.plan_digest),
                want: start(&header.plan_digest),
            });
        }
        if let Some(what) = difference(&had, header) {
            return Err(JournalError::OtherSetting { path, what });
        }
        let incomplete = file::read(result).is_ok_and(|old| !old.header.complete);
        if result.exists() && !force && !incomplete {
            return Err(JournalError::Exists { path: result.to_owned() });
        }
        let mut journal = Self { file, path, result: result.to_owned(), force: force || incomplete, header: had, runs };
        let io = |source| JournalError::Io { path: journal.path.clone(), source };
        journal.file.set_len(complete).map_err(io)?;
        journal.file.seek(std::io::SeekFrom::End(0)).map_err(io)?;
        Ok(journal)
    }

    /// The header, as first written.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The runs so far.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one run, and hands it to the operating system at once.
    pub fn append(&mut self, run: Run) -> Result<(), JournalError> {
        let io = |source| JournalError::Io { path: self.path.clone(), source };
        write_line(&mut self.file, &run).map_err(io)?;
        self.runs.push(run);
        Ok(())
    }

    /// Writes the result file and removes the journal.
    pub fn finish(mut self) -> Result<ResultFile, JournalError> {
        self.header.complete = true;
        let path = self.path.clone();
        let document = self.write()?;
        std::fs::remove_file(&path).map_err(|source| JournalError::Io { path, source })?;
        Ok(document)
    }

    /// Writes a result file that says it is incomplete, and keeps the journal for `--resume`.
    pub fn finish_incomplete(mut self) -> Result<ResultFile, JournalError> {
        self.header.complete = false;
        self.write()
    }

    fn write(self) -> Result<ResultFile, JournalError> {
        let document = ResultFile { header: self.header, runs: self.runs };
        match file::write(&self.result, &document, self.force) {
            Ok(()) => Ok(document),
            // It appeared while the runs were made; the journal still has them.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(JournalError::Exists { path: self.result }),
            Err(source) => Err(JournalError::Io { path: self.result, source }),
        }
    }
}

/// What makes runs of two headers unfit for one file, if anything: another program, or another machine.
fn difference(had: &Header, now: &Header) -> Option<String> {
    if had.builds != now.builds {
        let builds = had.builds.iter().zip(&now.builds);
        let changed = builds.flat_map(|(had, now)| {
            now.versions
                .iter()
                .filter(|(key, value)| had.versions.get(*key) != Some(value))
                .map(|(key, _)| key.as_str())
        });
        let changed: Vec<&str> = changed.collect();
        return Some(format!("the worker programs ({})", changed.join(", ")));
    }
    let machine = |header: &Header| {
        let machine = &header.environment;
        [machine.cpu.clone(), machine.usable_cpus.to_string(), machine.kernel.clone()]
    };
    let names = ["CPU", "usable CPUs", "kernel"];
    let changed: Vec<&str> = names
        .into_iter()
        .zip(machine(had).iter().zip(&machine(now)))
        .filter(|(_, (a, b))| a != b)
        .map(|(n, _)| n)
        .collect();
    (!changed.is_empty()).then(|| format!("the machine ({})", changed.join(", ")))
}

/// Opens the journal and locks it, so that two writers never share it.
fn lock(path: &Path) -> Result<File, JournalError> {
    let io = |source| JournalError::Io { path: path.to_owned(), source };
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(JournalError::Busy { path: path.to_owned() }),
        Err(TryLockError::Error(source)) => return Err(io(source)),
    }
    // The holder may have finished and removed the file between our open and our lock.
    let still = std::fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|ours| ours.ino() == now.ino()));
    if still { Ok(file) } else { Err(JournalError::Busy { path: path.to_owned() }) }
}

fn write_line(file: &mut File, value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// Header, runs, and the length of the part that ends with a whole line.
fn load(path: &Path, file: &File) -> Result<(Header, Vec<Run>, u64), JournalError> {
    let io = |source| JournalError::Io { path: path.to_owned(), source };
    let broken = |line, problem: String| JournalError::Broken { path: path.to_owned(), line, problem };
    let mut lines = BufReader::new(file);
    let mut text = Vec::new();
    let mut complete = 0;
    let mut header = None;
    let mut runs = Vec::new();
    for number in 1.. {
        text.clear();
        if lines.read_until(b'\n', &mut text).map_err(io)? == 0 || text.last() != Some(&b'\n') {
            break;
        }
        if header.is_none() {
            header = Some(
                serde_json::from_slice(&text).map_err(|e| broken(number, format!("no header of a journal: {e}")))?,
            );
        } else {
            runs.push(serde_json::from_slice(&text).map_err(|e| broken(number, format!("no run: {e}")))?);
        }
        complete += text.len() as u64;
    }
    let header = header.ok_or_else(|| broken(1, "no header of a journal".to_owned()))?;
    Ok((header, runs, complete))
}
