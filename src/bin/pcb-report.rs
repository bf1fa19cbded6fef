//! Shows result files; see `pcb-report --help`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use pcb::cli::report::{Args, CheckFormat, Command};
use pcb::cli::{self, exit};
use pcb::output;
use pcb::report::{self, Input};
use pcb::results::{self, ResultFile};

/// What ended the program, and its exit code.
struct Failure(u8, anyhow::Error);

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(Failure(code, error)) => {
            // The text of each error has its cause in it; a chain (`{:#}`) would say it twice.
            output::stderr(&format!("pcb-report: {error}"));
            ExitCode::from(code)
        }
    }
}

fn run(args: &Args) -> Result<u8, Failure> {
    if let Some(Command::Check { files, strict, format }) = &args.command {
        return check(files, *strict, *format);
    }
    let done = if args.files.is_empty() {
        cli::about(Args::command(), args.completions).and_then(|text| output::stdout(&text)).map_err(error)
    } else {
        show(args)
    };
    done.map(|()| exit::OK)
}

/// Lists what speaks against trusting some files.
fn check(paths: &[PathBuf], strict: bool, format: CheckFormat) -> Result<u8, Failure> {
    let files = paths.iter().map(|path| results::read(path).map_err(error)).collect::<Result<Vec<_>, _>>()?;
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let findings: Vec<_> = names.iter().map(String::as_str).zip(files.iter().map(report::check::check)).collect();
    let text = match format {
        CheckFormat::Text => report::check::text(&findings),
        CheckFormat::Markdown => report::check::markdown(&findings),
        CheckFormat::Json => report::check::json(&findings).map_err(error)?,
    };
    output::stdout(text.as_bytes()).map_err(error)?;
    let problem =
        findings.iter().any(|(_, findings)| findings.iter().any(|f| f.level == report::check::Level::Problem));
    Ok(if strict && problem { exit::REFUSED } else { exit::OK })
}

fn show(args: &Args) -> Result<(), Failure> {
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
        output::text_file(path, args.force, &svg).map_err(error)?;
    }
    let text = (args.format.render)(&inputs);
    if args.output == Path::new("-") {
        return output::stdout(text.as_bytes()).map_err(error);
    }
    output::text_file(&args.output, args.force, &text).map_err(error)
}

fn read(args: &Args, path: &Path) -> Result<ResultFile, Failure> {
    let file = results::read(path).map_err(error)?;
    Ok(match &args.filter {
        Some(filter) => report::filtered(file, |id| filter.is_match(id)),
        None => file,
    })
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
