//! How long, and in how much memory, `pcb-compare` compares a large pair: 10,000 cases × 10 runs a side, rows without
//! raw series. `cargo run --release --example compare_pair [CASES RUNS]`, after `cargo build --release`.

#[path = "../tests/compare/support.rs"]
#[expect(dead_code, reason = "what the tests need beside it")]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use pcb::results::{Histogram, ResultFile};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Starts of which the median is told.
const STARTS: usize = 21;

fn main() -> anyhow::Result<()> {
    let count = |place, usual| std::env::args().nth(place).map_or(Ok(usual), |text| text.parse::<usize>());
    let (cases, runs) = (count(1, 10_000)?, count(2, 10)?);
    let program = program()?;
    println!("start (pcb-compare --version): {:.1?}, median of {STARTS}", start(&program)?);

    let folder = tempfile::tempdir()?;
    let paths = [folder.path().join("base.json"), folder.path().join("new.json")];
    for (seed, path) in paths.iter().enumerate() {
        pcb::results::write(path, &side(cases, runs, seed as u64), true)?;
        println!("{}: {cases} cases x {runs} runs, {} MB", path.display(), path.metadata()?.len() / 1_000_000);
    }
    let mut peak = 0;
    for format in ["text", "json"] {
        let began = Instant::now();
        let (status, kb) = compare(&program, &paths, format)?;
        println!("{format}: {:.2?}, exit code {status:?}", began.elapsed());
        peak = peak.max(kb);
    }
    println!("peak memory of a comparison: {} MB", peak / 1000);
    Ok(())
}

/// `pcb-compare` of the build that this example belongs to.
fn program() -> anyhow::Result<PathBuf> {
    let example = std::env::current_exe()?;
    let folder = example.parent().and_then(Path::parent).context("the example stands in target/PROFILE/examples")?;
    let program = folder.join("pcb-compare");
    ensure!(program.exists(), "{}: not there; build it with cargo build --release", program.display());
    Ok(program)
}

fn start(program: &Path) -> anyhow::Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let began = Instant::now();
        Command::new(program).arg("--version").stdout(Stdio::null()).status()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[STARTS / 2])
}

/// Exit code and peak memory in kB of one comparison.
fn compare(program: &Path, paths: &[PathBuf; 2], format: &str) -> anyhow::Result<(Option<i32>, i64)> {
    let mut child =
        Command::new(program).args(paths).args(["--all", "--format", format]).stdout(Stdio::null()).spawn()?;
    // VmHWM begins anew at exec, which ru_maxrss does not; it is read while the process lives.
    let mut peak = 0;
    let status = loop {
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = peak.max(line.and_then(|kb| kb.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0));
        match child.try_wait()? {
            Some(status) => break status,
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    Ok((status.code(), peak))
}

/// Warm and cold cases whose runs vary by 2 %, one case in ten 10 % off between the seeds.
fn side(cases: usize, runs: usize, seed: u64) -> ResultFile {
    let mut random = StdRng::seed_from_u64(seed);
    let mut made = Vec::with_capacity(cases * runs);
    for block in 0..runs {
        for case in 0..cases {
            let id = if case % 2 == 0 { support::warm } else { support::cold }(&format!("npy:v{}", case / 2));
            let center = 1e4 * (1.0 + case as f64 / 100.0) * if case % 10 == 0 && seed == 1 { 1.1 } else { 1.0 };
            let mut run = support::run(&id, "default", block as u32, center * random.random_range(0.98..1.02));
            // A real distribution takes some hundred characters.
            let histogram = Histogram { v2: "HISTFAAA".repeat(50) };
            run.first.iter_mut().chain(&mut run.steady).for_each(|phase| phase.histogram = Some(histogram.clone()));
            made.push(run);
        }
    }
    support::file(made)
}
