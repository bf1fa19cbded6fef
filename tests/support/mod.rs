//! A bench for tests of the binaries: a folder with fake workers, a tiny dataset, and a result.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use pcb::data::make::{Recipe, make};
use pcb::results::{ResultFile, Run};

/// A folder with `workers/`, and access to the shared data folder.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// The data folder with the dataset `tiny`: 2 sites of 2 channels, 64 pixels square, made once for each test binary.
pub fn data() -> &'static Path {
    static DATA: OnceLock<tempfile::TempDir> = OnceLock::new();
    DATA.get_or_init(|| {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let recipe = Recipe {
            seed: 1,
            wells: 1,
            sites_per_well: 2,
            channels: 2,
            objects_per_site: 5,
            site_size: 64,
            record: 32,
            dtype: pcb_protocol::Dtype::U16,
        };
        make(folder.path(), "tiny", &recipe, Some(1), false, &mut |_| {}).expect("made");
        folder
    })
    .path()
}

impl Bench {
    /// A bench whose workers do what `behaviour` says.
    pub fn new(behaviour: &str) -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        let bench = Self { folder };
        bench.workers("workers", behaviour);
        bench
    }

    /// Fake workers in the subfolder `name`.
    pub fn workers(&self, name: &str, behaviour: &str) -> PathBuf {
        let workers = self.path(name);
        fs::create_dir(&workers).expect("made");
        for program in ["pcb-worker", "pcb-worker-io"] {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pcb-fake-worker"), workers.join(program)).expect("linked");
        }
        fs::write(workers.join("behaviour"), behaviour).expect("written");
        workers
    }

    /// A path in the bench's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The config of the tests: one form of `tiny`, `repeats` blocks.
    pub fn config(&self, repeats: u32, state: &str) -> PathBuf {
        let path = self.path("config.toml");
        let text = format!(
            "repeats = {repeats}\ntimeout = '5s'\nnull_samples = 500\n[[sweep]]\ndataset = 'tiny'\nformat = 'npy:mmap'\nlayout = 'site'\ncrop = 16\nstate = {state}\n"
        );
        fs::write(&path, text).expect("written");
        path
    }

    /// `pcb-run` in the bench's folder with its workers and the shared data.
    pub fn pcb_run(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcb-run"));
        command.current_dir(self.folder.path()).arg("--data").arg(data());
        if !args.iter().any(|arg| arg.starts_with("--worker")) {
            command.args(["--worker", "fake=workers"]);
        }
        command.args(args);
        command
    }

    /// Runs the config to `out.json`; the output and the result, if one was left.
    pub fn run(&self, args: &[&str]) -> (Output, Option<ResultFile>) {
        let mut all = vec!["config.toml", "--output", "out.json", "--quiet"];
        all.extend(args);
        let output = self.pcb_run(&all).output().expect("pcb-run starts");
        let path = self.path("out.json");
        let file = path.exists().then(|| pcb::results::read(&path).expect("a result file"));
        (output, file)
    }
}

/// The rows of the measured case.
pub fn measured(file: &ResultFile) -> Vec<&Run> {
    file.runs.iter().filter(|run| run.case.target.is_some()).collect()
}

/// Processes whose command line has `needle`.
pub fn processes_with(needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc").flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(needle) {
            found.push(line);
        }
    }
    found
}

/// What a program said.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
