//! The worker programs: where they are and who they say they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pcb_protocol::{Hello, Job};
use sha2::{Digest, Sha256};

use super::request;
use crate::config::Config;
use crate::interrupt::Interrupt;
use crate::results::{BuildInfo, Outcome};
use crate::session::{self, Pauses, Spec};

/// Time a program has to say who it is.
const PATIENCE: Duration = Duration::from_secs(60);

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
    /// Who they said they were, by [`probe`]: with libtorch, without.
    pub hellos: Option<(Hello, Hello)>,
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
        return Ok(vec![Build { name: "default".into(), torch, io, hellos: None }]);
    }
    let builds: Vec<Build> = named.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    if builds.len() > 2 || (builds.len() == 2 && builds[0].name == builds[1].name) {
        let problem = "give one build, or two with different names".to_owned();
        return Err(BuildError::Argument { text: named.join(" --worker "), problem });
    }
    Ok(builds)
}

/// The same build under two names, for an A/A measurement.
pub fn twice(builds: Vec<Build>) -> Result<Vec<Build>, BuildError> {
    match <[Build; 1]>::try_from(builds) {
        Ok([build]) => Ok(["a1", "a2"].map(|name| Build { name: name.to_owned(), ..build.clone() }).into()),
        Err(builds) => {
            let problem = format!("--aa measures one build twice, and {} are given", builds.len());
            let text = builds.iter().map(|build| build.name.clone()).collect::<Vec<_>>().join(", ");
            Err(BuildError::Argument { text, problem })
        }
    }
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
    Ok(Build { name: name.to_owned(), torch: absolute(torch), io: absolute(io), hellos: None })
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

/// Starts both programs of a build once and asks who they are; `None` if the user interrupted.
pub fn probe(
    build: &mut Build,
    config: &Config,
    allow_debug: bool,
    interrupt: &Interrupt,
) -> Result<Option<BuildInfo>, BuildError> {
    let mut hellos = Vec::new();
    let mut versions = BTreeMap::new();
    // The plain names are those of the program that measures.
    for (prefix, program) in [("", &build.torch), ("io.", &build.io)] {
        let Some(hello) = ask(program, config, allow_debug, interrupt)? else { return Ok(None) };
        let mut put = |key: &str, value: &str| versions.insert(format!("{prefix}{key}"), value.to_owned());
        put("version", &hello.version);
        put("commit", &hello.commit);
        put("opt_level", &hello.opt_level);
        put("sha256", &digest(program)?);
        versions.extend(hello.versions.clone());
        hellos.push(hello);
    }
    versions.insert("pcb-run.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let environment = session::worker_environment(config.threads).into_iter().chain(session::inherited_environment());
    versions.extend(environment.map(|(name, value)| (format!("env.{name}"), value)));
    build.hellos = hellos.pop().and_then(|io| Some((hellos.pop()?, io)));
    Ok(Some(BuildInfo { name: build.name.clone(), versions }))
}

fn ask(program: &Path, config: &Config, allow_debug: bool, interrupt: &Interrupt) -> Result<Option<Hello>, BuildError> {
    let spec = Spec {
        program: program.to_owned(),
        request: request::wrap(0, config.threads, Job::Null { samples: 1 }),
        timeout: PATIENCE,
        affinity: config.affinity.clone(),
        threads: config.threads,
        allow_debug,
        expected: None,
    };
    let report = session::run(&spec, interrupt, &mut OnlyArmed);
    if report.interrupted {
        return Ok(None);
    }
    let refused = match &report.outcome {
        Some(Outcome::Failed { message }) => Some(message.clone()),
        Some(outcome @ (Outcome::TimedOut { .. } | Outcome::Killed { .. })) => {
            Some(format!("{} before it was armed", outcome.kind()))
        }
        _ => None,
    };
    let Some(hello) = report.hello.filter(|_| refused.is_none()) else {
        let problem = refused.unwrap_or_else(|| "is no worker: it did not say Hello".to_owned());
        let log = report.log_tail;
        let problem = if log.is_empty() { problem } else { format!("{problem}; it printed: {log}") };
        return Err(BuildError::Refused { path: program.to_owned(), problem });
    };
    Ok(Some(hello))
}

/// Nothing is to be measured: being armed is enough.
struct OnlyArmed;

impl Pauses for OnlyArmed {
    fn armed(&mut self) -> Result<(), Outcome> {
        Err(Outcome::Ok)
    }
}

/// SHA-256 of a program, hex: two builds of a changed tree may have the same commit.
fn digest(program: &Path) -> Result<String, BuildError> {
    let refused = |e: std::io::Error| BuildError::Refused { path: program.to_owned(), problem: e.to_string() };
    let mut hash = Sha256::new();
    let mut file = std::fs::File::open(program).map_err(refused)?;
    std::io::copy(&mut file, &mut hash).map_err(refused)?;
    Ok(format!("{:x}", hash.finalize()))
}
