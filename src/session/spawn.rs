//! Starting a worker and ending its process group.

use std::io::{self, PipeReader};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::unistd::Pid;

use super::Spec;
use crate::results::Outcome;

/// Variables a worker inherits. Everything else is left out, so that two users measure the same thing.
const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV"];

/// Variables set for every worker; recorded in the result file.
///
/// Spinning OpenMP threads made a training step 3-8 times slower beside a busy process, and page faults of a heap
/// that is returned to the kernel cost libtorch up to a factor of 2.
pub fn environment(threads: u32) -> Vec<(&'static str, String)> {
    vec![
        ("OMP_NUM_THREADS", threads.to_string()),
        ("OMP_WAIT_POLICY", "passive".to_owned()),
        ("MALLOC_MMAP_THRESHOLD_", (128 << 20).to_string()),
        ("MALLOC_TRIM_THRESHOLD_", (128 << 20).to_string()),
    ]
}

/// Inherited variables that decide which libraries a worker loads or which devices it sees; recorded too.
pub fn inherited() -> impl Iterator<Item = (&'static str, String)> {
    ["LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "VIRTUAL_ENV", "LANG", "LC_ALL"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?.to_string_lossy().into_owned())))
}

/// A running worker, leader of its own process group.
pub struct Child {
    inner: std::process::Child,
    started: Instant,
    output: Option<PipeReader>,
    reaped: bool,
}

impl Child {
    /// Starts the worker with the server's name as its argument.
    pub fn spawn(spec: &Spec, server: &str) -> Result<Self, Outcome> {
        let failed = |what: &str, error: &dyn std::fmt::Display| Outcome::Failed {
            message: format!("{}: {what}: {error}", spec.program.display()),
        };
        // Close-on-exec: the worker gets the writing end as its stdout and stderr, and nothing else.
        let (output, input) = io::pipe().map_err(|e| failed("pipe", &e))?;
        let mut command = Command::new(&spec.program);
        command.arg(server).stdin(Stdio::null()).process_group(0);
        command.stdout(input.try_clone().map_err(|e| failed("pipe", &e))?).stderr(input);
        command.env_clear();
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(environment(spec.threads));
        let mask = cpu_set(&spec.affinity).map_err(|e| failed("affinity", &e))?;
        // SAFETY: between fork and exec only async-signal-safe system calls are made, on values prepared before.
        unsafe {
            command.pre_exec(move || prepare(mask.as_ref()));
        }
        let started = Instant::now();
        let inner = command.spawn().map_err(|e| failed("cannot start the worker", &e))?;
        Ok(Self { inner, started, output: Some(output), reaped: false })
    }

    /// When it was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Its process id, which is also its group's.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.inner.id().cast_signed())
    }

    /// The reading end of what it prints, once.
    pub fn take_output(&mut self) -> Option<PipeReader> {
        self.output.take()
    }

    /// Kills what is left of the group and reaps the worker. It is not reaped before, so that the group's id
    /// cannot belong to somebody else.
    pub fn end(&mut self) {
        if self.reaped {
            return;
        }
        self.reaped = true;
        // The group may be gone already; there is nothing to do about it then.
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.inner.wait();
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.end();
    }
}

fn cpu_set(cpus: &[usize]) -> nix::Result<Option<CpuSet>> {
    if cpus.is_empty() {
        return Ok(None);
    }
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu)?;
    }
    Ok(Some(set))
}

/// In the child: die with the parent, unblock the signals that the controller waits for, pin.
fn prepare(mask: Option<&CpuSet>) -> io::Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
    SigSet::all().thread_unblock()?;
    if let Some(mask) = mask {
        sched_setaffinity(Pid::from_raw(0), mask)?;
    }
    Ok(())
}
