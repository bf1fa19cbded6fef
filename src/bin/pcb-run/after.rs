//! What is said of a result once it is there: an A/A measurement, a baseline.

use std::path::Path;

use anyhow::Result;
use pcb::cli::exit;
use pcb::cli::run::Args;
use pcb::compare::{self, Comparison, Inputs, Settings, Verdict, aa, text};
use pcb::noise::{self, Measurement};
use pcb::output;
use pcb::results::baseline;
use pcb::results::view::{self, FileView};

use crate::print;

/// Compares and keeps as asked; returns the exit code, which is `code` unless something regressed.
pub fn judge(args: &Args, root: &Path, target: &Path, named: Option<&Path>, code: u8) -> Result<u8> {
    if let Some(name) = &args.save_baseline {
        let kept = baseline::save(&args.baselines, name, target, args.force)?;
        say(args, &format!("baseline: {}", kept.display()));
    }
    if !args.aa && named.is_none() {
        return Ok(code);
    }
    let file = view::read(target)?;
    let name = target.display().to_string();
    if args.aa {
        let comparison = compare::compare(&Inputs::builds((&name, &file))?, &Settings::default())?;
        keep_noise(args, root, &file, &comparison)?;
    }
    let Some(path) = named else { return Ok(code) };
    let (base_name, base) = (path.display().to_string(), view::read(path)?);
    let comparison = compare::compare(&Inputs::files((&base_name, &base), (&name, &file))?, &Settings::default())?;
    // With --json nothing but the result file goes to stdout.
    let shown = text::render(&comparison, text::Style::default());
    if args.json.is_none() {
        print(&format!("\n{shown}"))?;
    }
    let regressed = comparison.counts().iter().any(|(verdict, _)| *verdict == Verdict::Regressed);
    Ok(if regressed { exit::REGRESSION } else { code })
}

/// Prints what an A/A measurement found, and adds it to the noise file.
fn keep_noise(args: &Args, root: &Path, file: &FileView, comparison: &Comparison) -> Result<()> {
    let path = args.noise.clone().unwrap_or_else(|| root.join("noise.json"));
    let machine = noise::machine(&file.header.environment);
    let cases = aa::differences(comparison);
    let measurement = Measurement { when: file.header.started.clone(), machine: machine.clone(), cases };
    let kept = noise::add(&path, measurement)?;
    let mut lines = aa::lines(comparison);
    let days = kept.days(&machine);
    lines.push(match days {
        noise::LEAST_DAYS.. => format!("noise floors from {days} days: pcb-compare --noise {}", path.display()),
        _ => format!("{}: {days} of {} days for a noise floor", path.display(), noise::LEAST_DAYS),
    });
    if args.json.is_none() {
        print(&format!("\n{}\n", lines.join("\n")))?;
    }
    Ok(())
}

fn say(args: &Args, line: &str) {
    if !args.quiet {
        output::stderr(line);
    }
}
