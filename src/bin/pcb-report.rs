//! Shows result files; see `pcb-report --help`.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use pcb::cli::exit;
use pcb::cli::report::Args;
use pcb::report::{self, Input};
use pcb::results::{self, ResultFile};

/// What ended the program, and its exit code.
struct Failure(u8, anyhow::Error);

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::from(exit::OK),
        Err(Failure(code, error)) => {
            eprintln!("pcb-report: {error:#}");
            ExitCode::from(code)
        }
    }
}

fn run(args: &Args) -> Result<(), Failure> {
    if args.files.is_empty() {
        return about_itself(args).map_err(error);
    }
    let files = args.files.iter().map(|path| read(args, path)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
    let inputs: Vec<Input> = names.iter().zip(&files).map(|(name, file)| Input { name, file }).collect();
    report::one_version(&inputs).map_err(|problem| Failure(exit::USAGE, problem.into()))?;
    if files.iter().all(|file| file.runs.is_empty() && file.header.pruned.is_empty()) {
        let why = if args.filter.is_some() { "no case matches --filter" } else { "no runs in it" };
        return Err(Failure(exit::NOTHING, anyhow::anyhow!("nothing to report: {why}")));
    }
    if let Some(path) = &args.svg {
        let svg = report::plot::svg(&inputs).map_err(plot_failure)?;
        write(path, &svg, args.force).map_err(error)?;
    }
    let text = (args.format.render)(&inputs);
    if args.output == Path::new("-") { to_stdout(text.as_bytes()) } else { write(&args.output, &text, args.force) }
        .map_err(error)
}

fn read(args: &Args, path: &Path) -> Result<ResultFile, Failure> {
    let file = results::read(path).map_err(error)?;
    Ok(match &args.filter {
        Some(filter) => report::filtered(file, |id| filter.is_match(id)),
        None => file,
    })
}

/// Writes a file that appears complete or not at all.
fn write(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let refused = |problem: &dyn std::fmt::Display| anyhow::anyhow!("{}: {problem}", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".pcb-").tempfile_in(folder).map_err(|e| refused(&e))?;
    file.write_all(text.as_bytes()).map_err(|e| refused(&e))?;
    // A temporary file is private; this one is meant to be read.
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(readable).map_err(|e| refused(&e))?;
    let kept = if force { file.persist(path) } else { file.persist_noclobber(path) };
    match kept {
        Ok(_) => Ok(()),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Err(refused(&"exists; overwrite it with --force")),
        Err(e) => Err(refused(&e.error)),
    }
}

/// A reader that has seen enough, such as `head`, is no error.
fn to_stdout(text: &[u8]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => Ok(done?),
    }
}

/// The completion script or the man page.
fn about_itself(args: &Args) -> anyhow::Result<()> {
    let mut command = Args::command();
    let mut out = Vec::new();
    match args.completions {
        Some(shell) => clap_complete::generate(shell, &mut command, "pcb-report", &mut out),
        None => clap_mangen::Man::new(command).render(&mut out)?,
    }
    to_stdout(&out)
}

fn plot_failure(problem: report::plot::PlotError) -> Failure {
    match problem {
        report::plot::PlotError::Nothing => Failure(exit::NOTHING, problem.into()),
        report::plot::PlotError::Draw(_) => error(problem),
    }
}

fn error(error: impl Into<anyhow::Error>) -> Failure {
    Failure(exit::ERROR, error.into())
}
