//! The second measurement: `pcb-run` with the plan of tonight, its suspects alone, and two builds in every block.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow};
use pcb::cli::exit;
use pcb::output;
use pcb::results::Header;

/// Measures some cases again and leaves the result file at `path`.
pub fn measure(header: &Header, cases: &[String], workers: &[String], repeats: u32, path: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("a folder for the config")?;
    let config = folder.path().join("confirmation.toml");
    output::text_file(&config, false, &header.config)?;
    let ids: Vec<String> = cases.iter().map(|id| regex::escape(id)).collect();
    let mut command = Command::new(program());
    command.arg(&config).args(["--filter", &format!("^({})$", ids.join("|"))]);
    command.args(["--repeats", &repeats.to_string(), "--set", "precision=0.0", "--force", "--output"]).arg(path);
    workers.iter().for_each(|worker| {
        command.args(["--worker", worker]);
    });
    // Its table is not ours; what it says while it measures is.
    command.stdout(std::process::Stdio::null());
    let status = command.status().with_context(|| format!("{}: cannot start it", program().display()))?;
    match status.code() {
        // Runs that failed are rows of the comparison.
        Some(code) if code == i32::from(exit::OK) || code == i32::from(exit::INCOMPLETE) => Ok(()),
        _ => Err(anyhow!("the second measurement failed: pcb-run ended with {status}")),
    }
}

/// `pcb-run` beside this program, else on PATH.
fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().and_then(|path| Some(path.parent()?.join("pcb-run")));
    beside.filter(|path| path.is_file()).unwrap_or_else(|| PathBuf::from("pcb-run"))
}
