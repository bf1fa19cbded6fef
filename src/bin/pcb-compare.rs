//! Judges result files; see `pcb-compare --help`.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use pcb::cli::compare::{Args, Format};
use pcb::cli::{self, exit};
use pcb::compare::{self, Comparison, Inputs, Settings, text};
use pcb::results::baseline;
use pcb::results::view::{self, FileView};
use pcb::{noise, output};

/// Width of a terminal that does not tell its own.
const USUAL_WIDTH: usize = 100;

/// What ended the program, and its exit code.
struct Failure(u8, anyhow::Error);

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(Failure(code, error)) => {
            output::stderr(&format!("pcb-compare: {error}"));
            ExitCode::from(code)
        }
    }
}

fn run(args: &Args) -> Result<u8, Failure> {
    let Some(base) = args.base.as_deref() else {
        return cli::about(Args::command(), args.completions)
            .and_then(|text| output::stdout(&text))
            .map(|()| exit::OK)
            .map_err(error);
    };
    let comparison = compared(args, base)?;
    if let Some(name) = &args.save_baseline {
        let kept =
            baseline::save(&args.baselines, name, args.new.as_deref().unwrap_or(base), args.force).map_err(usage)?;
        output::stderr(&format!("pcb-compare: kept as {}", kept.display()));
    }
    write(args, &render(args, &comparison).map_err(error)?).map_err(error)?;
    if comparison.rows.is_empty() {
        let hint =
            if args.filter.is_some() { "no case of either side matches --filter" } else { "neither side has a case" };
        output::stderr(&format!("pcb-compare: nothing to compare: {hint}"));
    }
    Ok(args.exit_code(&comparison))
}

fn compared(args: &Args, first: &Path) -> Result<Comparison, Failure> {
    if let Some(name) = &args.save_baseline {
        baseline::check(&args.baselines, name, args.force).map_err(usage)?;
    }
    let named =
        args.baseline.as_deref().map(|name| baseline::find(&args.baselines, name)).transpose().map_err(usage)?;
    let (base, new) = match &named {
        Some(base) => (base.as_path(), Some(first)),
        None => (first, args.new.as_deref()),
    };
    let name = |path: &Path| path.display().to_string();
    let (base_name, base_file) = (name(base), view::read(base).map_err(error)?);
    if let Some(by) = &args.by {
        let inputs = Inputs::values((&base_name, &base_file), by.key, &by.values).map_err(usage)?;
        return compare::compare_values(&inputs, by.key, &settings(args, &base_file)?).map_err(usage);
    }
    let new = new.map(|new| Ok((name(new), view::read(new)?))).transpose();
    let new = new.map_err(|e: pcb::results::ReadError| error(e))?;
    let inputs = match &new {
        Some((new_name, new_file)) => Inputs::files((&base_name, &base_file), (new_name, new_file)),
        None => Inputs::builds((&base_name, &base_file)),
    };
    let inputs = inputs.map_err(usage)?;
    compare::compare(&inputs, &settings(args, &base_file)?).map_err(usage)
}

/// How to compare, with the noise floors of the machine that the base was measured on.
fn settings(args: &Args, base: &FileView) -> Result<Settings, Failure> {
    let Some(path) = &args.noise else { return Ok(args.settings()) };
    let file = noise::read(path).map_err(error)?;
    let machine = noise::machine(&base.header.environment);
    // A floor is known of the primary metric alone.
    let floors = if args.metric.is_none() { file.floors(&machine) } else { BTreeMap::new() };
    if floors.is_empty() && args.metric.is_none() {
        let days = file.days(&machine);
        output::stderr(&format!(
            "pcb-compare: {}: no noise floor: {days} days of this machine, 5 are needed",
            path.display()
        ));
    }
    Ok(Settings { floors, ..args.settings() })
}

fn render(args: &Args, comparison: &Comparison) -> anyhow::Result<String> {
    let terminal = args.output.is_none() && io::stdout().is_terminal();
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let width = terminal.then(|| columns.unwrap_or(USUAL_WIDTH));
    Ok(match args.format {
        Format::Text => {
            text::render(comparison, text::Style { color: args.color.applies(terminal), width, all: args.all })
        }
        Format::Markdown => compare::markdown::render(comparison, args.all),
        Format::Json => compare::json::render(comparison)?,
        Format::Junit => compare::junit::render(comparison, args.failing()),
        Format::Github => {
            output::job_summary(&compare::markdown::render(comparison, args.all))?;
            compare::github::render(comparison, args.failing())
        }
    })
}

/// Writes to stdout, or to the file asked for.
fn write(args: &Args, text: &str) -> anyhow::Result<()> {
    match args.output.as_deref() {
        None => Ok(output::stdout(text.as_bytes())?),
        Some(path) => output::text_file(path, args.force, text),
    }
}

fn error(error: impl Into<anyhow::Error>) -> Failure {
    Failure(exit::ERROR, error.into())
}

fn usage(error: impl Into<anyhow::Error>) -> Failure {
    Failure(exit::USAGE, error.into())
}
