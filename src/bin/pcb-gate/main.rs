//! Judges a night against the nights before it; see `pcb-gate --help`.

mod confirm;
mod folder;

use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use folder::Folder;
use pcb::cli::compare::Format;
use pcb::cli::gate::{Args, Command};
use pcb::cli::{self, exit};
use pcb::compare::{self, Comparison, Inputs};
use pcb::gate::{self, Event, GateVerdict, History, Kind, Night, NightError, Report, Settings};
use pcb::results::view::{self, FileView};
use pcb::{environment, output};

/// What ended the program, and its exit code.
struct Failure(u8, anyhow::Error);

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let code = if error.is::<NightError>() { exit::USAGE } else { exit::ERROR };
        Self(code, error)
    }
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(Failure(code, error)) => {
            output::stderr(&format!("pcb-gate: {error:#}"));
            ExitCode::from(code)
        }
    }
}

fn run(args: &Args) -> Result<u8, Failure> {
    match (&args.command, args.new.as_deref(), args.history.as_deref()) {
        (Some(command), ..) => decide(command),
        (None, Some(new), Some(history)) => judge(args, new, history),
        _ => {
            let text = cli::about(Args::command(), args.completions).map_err(anyhow::Error::from)?;
            output::stdout(&text).map_err(anyhow::Error::from)?;
            Ok(exit::OK)
        }
    }
}

/// Judges a night, measures its suspects again if asked to, and keeps night and findings.
fn judge(args: &Args, new: &Path, history: &Path) -> Result<u8, Failure> {
    let refused = |problem: String| Failure(exit::USAGE, anyhow::anyhow!(problem));
    let named = |(worker, name): (&String, &str)| worker.starts_with(&format!("{name}="));
    if args.confirm && (args.worker.len() != 2 || !args.worker.iter().zip(["base", "new"]).all(named)) {
        return Err(refused(
            "--confirm needs --worker base=PATH, the last good build, and then --worker new=PATH".to_owned(),
        ));
    }
    if let Some(path) = args.output.as_ref().filter(|path| path.exists() && !args.force) {
        return Err(Failure(exit::ERROR, anyhow::anyhow!("{}: exists; overwrite it with --force", path.display())));
    }
    let file = view::read(new).map_err(anyhow::Error::from)?;
    let night = Night::new(&file).map_err(|e| anyhow::Error::from(e).context(new.display().to_string()))?;
    let folder = Folder::open(history)?;
    let known = folder.history()?;
    // Before anything is measured: a night that cannot be kept need not be confirmed.
    folder.add(&night.name, new)?;
    let settings = Settings { margin: args.margin, ..Settings::default() };
    let first = gate::judge(&known, &night, None, &settings);
    let again = second_measurement(args, &folder, &file, &first)?;
    let report = match &again {
        Some(comparison) => gate::judge(&known, &night, Some(comparison), &settings),
        None => first,
    };
    // Without a second measurement nothing new was found out, and what was found out before stands.
    if again.is_some() {
        keep(&folder, &report)?;
    }
    write(args, &report)?;
    if report.rows.is_empty() {
        output::stderr("pcb-gate: nothing to judge: the file has no case but the harness's overhead");
    }
    Ok(args.exit_code(&report))
}

/// The comparison of the last good build and the new one, if there is or shall be one.
fn second_measurement(
    args: &Args,
    folder: &Folder,
    tonight: &FileView,
    first: &Report,
) -> Result<Option<Comparison>, Failure> {
    let path = match &args.confirmation {
        Some(path) => path.clone(),
        None => folder.confirmation(&first.night),
    };
    let suspects = [GateVerdict::Suspect, GateVerdict::PerhapsImproved].map(|verdict| first.with(verdict)).concat();
    if args.confirm && !suspects.is_empty() && !path.is_file() {
        output::stderr(&format!(
            "pcb-gate: measuring {} cases again: base and new, {} blocks",
            suspects.len(),
            args.repeats
        ));
        confirm::measure(&tonight.header, &suspects, &args.worker, args.repeats, &path)?;
    }
    if !path.is_file() && args.confirmation.is_none() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let file = view::read(&path).map_err(anyhow::Error::from)?;
    let usage = |error: anyhow::Error| Failure(exit::USAGE, error);
    let builds: Vec<&str> = file.header.builds.iter().map(|build| build.name.as_str()).collect();
    if builds != ["base", "new"] {
        let builds = builds.join(", ");
        return Err(usage(anyhow::anyhow!(
            "{name}: a second measurement has the builds base and new in this order, not {builds}"
        )));
    }
    let other = |(name, digest): (&String, &String)| tonight.header.datasets.get(name) != Some(digest);
    if file.header.datasets.iter().any(other) {
        return Err(usage(anyhow::anyhow!(
            "{name}: a second measurement of other data than tonight's (digests differ)"
        )));
    }
    folder.keep_confirmation(&first.night, &path)?;
    let inputs = Inputs::builds((&name, &file)).map_err(|e| usage(e.into()))?;
    let comparison = compare::compare(&inputs, &compare::Settings::default()).map_err(|e| usage(e.into()))?;
    Ok(Some(comparison))
}

/// Keeps what the gate found out by itself.
fn keep(folder: &Folder, report: &Report) -> Result<(), Failure> {
    let found =
        [(GateVerdict::Red, Kind::Bad, "slower twice"), (GateVerdict::Improved, Kind::Improved, "faster twice")];
    let event = |(verdict, kind, reason): (GateVerdict, Kind, &str)| {
        let cases = report.with(verdict);
        let (when, night, reason) = (environment::now(), report.night.clone(), reason.to_owned());
        (!cases.is_empty()).then_some(Event { when, night, kind, cases, reason })
    };
    let events = found.into_iter().filter_map(event).collect();
    Ok(folder.decide(&report.night, events, &[Kind::Bad, Kind::Improved])?)
}

/// What a person decides.
fn decide(command: &Command) -> Result<u8, Failure> {
    match command {
        Command::Accept { night, reason, filter, history } => {
            let folder = Folder::existing(history)?;
            let known = folder.history()?;
            let cases = accepted(&known, night, filter.as_ref())?;
            let event = event(night, Kind::Accepted, cases, reason);
            let about = match event.cases.len() {
                0 => "all cases".to_owned(),
                n => format!("{n} cases"),
            };
            folder.decide(night, vec![event], &[Kind::Accepted])?;
            say(&format!("{night} is the new normal of {about}; {} nights make a bound again\n", gate::LEAST_NIGHTS))
        }
        Command::Pin { night, reason, history } => {
            let folder = Folder::existing(history)?;
            find(&folder.history()?, night)?;
            folder.decide(night, vec![event(night, Kind::Pinned, Vec::new(), reason)], &[Kind::Pinned])?;
            say(&format!("later nights are compared with {night} too\n"))
        }
        Command::Show { history } => say(&show(&Folder::existing(history)?.history()?)),
    }
}

fn event(night: &str, kind: Kind, cases: Vec<String>, reason: &str) -> Event {
    Event { when: environment::now(), night: night.to_owned(), kind, cases, reason: reason.to_owned() }
}

fn say(text: &str) -> Result<u8, Failure> {
    output::stdout(text.as_bytes()).map_err(anyhow::Error::from)?;
    Ok(exit::OK)
}

/// The cases that a night is accepted for: those that match, else those that stood out that night, else all.
fn accepted(known: &History, night: &str, filter: Option<&regex::Regex>) -> Result<Vec<String>, Failure> {
    let found = find(known, night)?;
    if let Some(filter) = filter {
        let cases: Vec<String> = found.cases.keys().filter(|id| filter.is_match(id)).cloned().collect();
        let nothing = || Failure(exit::NOTHING, anyhow::anyhow!("no case of {night} matches --filter"));
        return if cases.is_empty() { Err(nothing()) } else { Ok(cases) };
    }
    let bad = known.events().iter().filter(|event| event.night == night && event.kind == Kind::Bad);
    let red: Vec<String> = bad.flat_map(|event| event.cases.clone()).collect();
    if !red.is_empty() {
        return Ok(red);
    }
    let report = gate::judge(known, found, None, &Settings::default());
    Ok([GateVerdict::Suspect, GateVerdict::Creep].map(|verdict| report.with(verdict)).concat())
}

fn find<'a>(known: &'a History, night: &str) -> Result<&'a Night, Failure> {
    known.nights().iter().find(|found| found.name == night).ok_or_else(|| {
        let last: Vec<&str> = known.nights().iter().rev().take(5).map(|night| night.name.as_str()).collect();
        let there =
            if last.is_empty() { "there is none".to_owned() } else { format!("the last are {}", last.join(", ")) };
        Failure(exit::USAGE, anyhow::anyhow!("no night is called {night}; {there}"))
    })
}

/// A line for each night, with what was decided about it.
fn show(known: &History) -> String {
    let mut text = String::new();
    let mut last: Option<&Night> = None;
    for night in known.nights() {
        let differ = last.map_or(Vec::new(), |last| last.fingerprint.differences(&night.fingerprint));
        if !differ.is_empty() {
            text += &format!("-- a new segment: {}\n", differ.join("; "));
        }
        text += &format!("{}  {} cases\n", night.name, night.cases.len());
        for event in known.events().iter().filter(|event| event.night == night.name) {
            let kind = format!("{:?}", event.kind).to_lowercase();
            let cases = if event.cases.is_empty() { "all cases".to_owned() } else { event.cases.join(", ") };
            text += &format!("    {kind} {}: {cases}: {}\n", event.when, event.reason);
        }
        last = Some(night);
    }
    text
}

fn write(args: &Args, report: &Report) -> Result<(), Failure> {
    let text = match args.format {
        Format::Text => gate::text::render(report, args.all),
        Format::Markdown => gate::text::markdown(report, args.all),
        Format::Json => gate::json::render(report).map_err(anyhow::Error::from)?,
        Format::Junit => gate::junit::render(report, args.failing()),
        Format::Github => {
            output::job_summary(&gate::text::markdown(report, args.all))?;
            gate::junit::github(report, args.failing())
        }
    };
    match args.output.as_deref() {
        None => output::stdout(text.as_bytes()).map_err(anyhow::Error::from)?,
        Some(path) => output::text_file(path, args.force, &text)?,
    }
    Ok(())
}
