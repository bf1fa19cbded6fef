//! The worker programs: where they are and who they say they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcb_protocol::Job;

use super::request;
use crate::interrupt::Interrupt;
use crate::results::{BuildInfo, Outcome};
use crate::session::{self, Spec};

/// Name of the worker that links libtorch.
const TORCH: &str = "pcb-worker";
/// Name of the worker that does not.
const IO: &str = "pcb-worker-io";

/// One build of the workers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// Its name.
    pub name: String,
    /// The program that links libtorch.
    pub torch: PathBuf,
    /// The program that does not.
    pub io: PathBuf,
}

/// A worker cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// Not found.
    #[error(
        "no {program} beside pcb-run or on PATH; build it with: cargo build --release --workspace (or give --worker NAME=PATH)"
    )]
    Missing {
        /// The program.
        program: &'static str,
    },
    /// `--worker` was written wrong, or names nothing.
    #[error("--worker {text}: {problem}")]
    Argument {
        /// As written.
        text: String,
        /// What was expected.
        problem: String,
    },
    /// It does not answer as a worker does.
    #[error("{}: {problem}", path.display())]
    Refused {
        /// The program.
        path: PathBuf,
        /// Why.
        problem: String,
    },
}

/// The builds named by `--worker NAME=PATH` (a folder with both programs, or a program whose folder has both), or the
/// ones beside this program, or the ones on PATH.
pub fn find(named: &[String]) -> Result<Vec<Build>, BuildError> {
    if named.is_empty() {
        let (torch, io) = (installed(TORCH)?, installed(IO)?);
        return Ok(vec![Build { name: "default".into(), torch, io }]);
    }
    let builds: Vec<Build> = named.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    if builds.len() > 2 || (builds.len() == 2 && builds[0].name == builds[1].name) {
        let problem = "give one build, or two with different names".to_owned();
        return Err(BuildError::Argument { text: named.join(" --worker "), problem });
    }
    Ok(builds)
}

fn parse(text: &str) -> Result<Build, BuildError> {
    let error = |problem: String| BuildError::Argument { text: text.to_owned(), problem };
    let (name, path) =
        text.split_once('=').ok_or_else(|| error("expected NAME=PATH, for example new=target/release".into()))?;
    if name.is_empty() || name.contains('/') {
        return Err(error("the name must not be empty or contain /".into()));
    }
    let path = Path::new(path);
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let torch = if path.is_dir() { path.join(TORCH) } else { path.to_owned() };
    let io = folder.join(IO);
    for program in [&torch, &io] {
        if !program.is_file() {
            return Err(error(format!("no program {}", program.display())));
        }
    }
    // Relative programs would be looked up on PATH.
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
    Ok(Build { name: name.to_owned(), torch: absolute(torch), io: absolute(io) })
}

fn installed(program: &'static str) -> Result<PathBuf, BuildError> {
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.join(program)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    beside
        .into_iter()
        .chain(std::env::split_paths(&path).map(|folder| folder.join(program)))
        .find(|candidate| candidate.is_file())
        .ok_or(BuildError::Missing { program })
}

/// Starts both programs of a build once and asks who they are.
pub fn probe(build: &Build, threads: u32, allow_debug: bool, interrupt: &Interrupt) -> Result<BuildInfo, BuildError> {
    let mut versions = BTreeMap::new();
    for program in [&build.torch, &build.io] {
        let spec = Spec {
            program: program.clone(),
            request: request::wrap(0, Job::Null { samples: 1 }),
            timeout: Duration::from_secs(60),
            affinity: Vec::new(),
            threads,
            allow_debug,
        };
        let mut refused = None;
        // Armed is enough: nothing is to be measured here.
        let report = session::run(&spec, interrupt, &mut || Err(Outcome::Ok));
        if let Some(Outcome::Failed { message }) = &report.outcome {
            refused = Some(message.clone());
        } else if let Some(outcome @ (Outcome::TimedOut { .. } | Outcome::Killed { .. })) = &report.outcome {
            refused = Some(format!("{} before it was armed", outcome.kind()));
        }
        let Some(hello) = report.hello.filter(|_| refused.is_none()) else {
            let problem = refused.unwrap_or_else(|| "is no worker: it did not say Hello".to_owned());
            let log = report.log_tail;
            let problem = if log.is_empty() { problem } else { format!("{problem}; it printed: {log}") };
            return Err(BuildError::Refused { path: program.clone(), problem });
        };
        versions.insert("version".to_owned(), hello.version);
        versions.insert("commit".to_owned(), hello.commit);
        versions.insert("opt_level".to_owned(), hello.opt_level);
        versions.extend(hello.versions);
    }
    versions
        .extend(session::worker_environment(threads).into_iter().map(|(name, value)| (format!("env.{name}"), value)));
    Ok(BuildInfo { name: build.name.clone(), versions })
}
