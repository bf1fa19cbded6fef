//! `pcb-run`: reads a config, plans, measures, and leaves a result file.

mod after;
mod prepare;
mod settings;
mod show;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{CommandFactory, Parser};
use pcb::cli::run::{Args, Listing};
use pcb::cli::{self, exit};
use pcb::config::{Config, ConfigError};
use pcb::data::{self, DataError};
use pcb::interrupt::Interrupt;
use pcb::plan::{Plan, PlanError};
use pcb::progress::{Progress, Voice, human};
use pcb::results::baseline;
use pcb::results::{BaselineError, Journal, JournalError, Outcome, ResultFile, Run};
use pcb::runner::{self, BuildError, End, Event, Runner};
use pcb::{output, report};
use prepare::Prepared;

/// A plan of more than this asks for `--yes`.
const A_DAY: Duration = Duration::from_secs(86_400);

fn main() -> ExitCode {
    let args = Args::parse();
    if args.man || args.completions.is_some() {
        let shown = cli::about(Args::command(), args.completions).and_then(|text| output::stdout(&text));
        return ExitCode::from(if shown.is_ok() { exit::OK } else { exit::ERROR });
    }
    match run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // Our errors name their own cause.
            output::stderr(&format!("pcb-run: {error}"));
            ExitCode::from(code_of(&error))
        }
    }
}

/// What a person wrote wrong is 2, everything else 1.
fn code_of(error: &anyhow::Error) -> u8 {
    let usage = error.is::<ConfigError>()
        || error.is::<PlanError>()
        || matches!(error.downcast_ref(), Some(BuildError::Argument { .. }))
        || matches!(error.downcast_ref(), Some(DataError::Usage(_)))
        || error.is::<BaselineError>()
        || error.downcast_ref().is_some_and(|e: &JournalError| !matches!(e, JournalError::Io { .. }));
    if usage { exit::USAGE } else { exit::ERROR }
}

fn run(args: &Args) -> Result<u8> {
    let (name, config) = settings::load_config(args)?;
    let root = data::root(args.data.as_deref())?;
    match args.list {
        Some(Listing::Tracks) => return print(&report::listing::tracks()),
        Some(Listing::Formats) => return print(&report::listing::formats()),
        Some(Listing::Cases) => return show::list_cases(args, &config, &root),
        None if args.plan => return show::print_plan(args, &config, &root),
        None => {}
    }
    let started = Instant::now();
    settings::check_temporary_folder()?;
    if let Some(name) = &args.save_baseline {
        baseline::check(&args.baselines, name, args.force)?;
    }
    let named = args.baseline.as_deref().map(|name| baseline::find(&args.baselines, name)).transpose()?;
    let mut builds = runner::find(&args.worker)?;
    if args.aa {
        builds = runner::twice(builds)?;
    }
    let rough = prepare::make_plan(args, &config, &root, &builds)?;
    if rough.cases.is_empty() {
        return show::nothing(&rough);
    }
    let target = settings::output_path(args, &name)?;
    refuse(args, &rough, &config)?;
    let voice = Voice::fitting(args.quiet);
    // Signals end this part at once: what it writes gets its name only when it is whole.
    let Prepared { datasets, unwritten } = prepare::prepare_data(&rough, &root, voice)?;
    // Now that every dataset is there, its facts prune what it cannot do.
    let plan = prepare::make_plan(args, &config, &root, &builds)?;
    if plan.cases.is_empty() {
        return show::nothing(&plan);
    }
    // Before any thread that lives on: the signals must be blocked in all of them.
    let interrupt = Interrupt::catch().map_err(|e| anyhow::anyhow!("cannot catch signals: {e}"))?;
    let mut infos = Vec::new();
    for build in &mut builds {
        match runner::probe(build, &config, args.allow_debug, &interrupt)? {
            Some(info) => infos.push(info),
            None => return Ok(exit::INTERRUPTED),
        }
    }
    let header = prepare::header(&config, &plan, infos, &datasets, &root)?;
    let mut journal = if args.resume {
        Journal::resume(&target, &header, args.force)?
    } else {
        Journal::create(&target, header, args.force)?
    };
    let limit = config.max_time.get();
    let runner = Runner {
        plan: &plan,
        config: &config,
        builds: &builds,
        datasets: &datasets,
        unwritten: &unwritten,
        allow_debug: args.allow_debug,
        interrupt: &interrupt,
        until: (!limit.is_zero()).then(|| started + limit),
    };
    let end = measure(&runner, &mut journal, voice, &target)?;
    let code = finish(args, end, journal, &target, plan.precision, voice)?;
    let measured = matches!(code, exit::OK | exit::INCOMPLETE);
    Ok(if measured { after::judge(args, &root, &target, named.as_deref(), code)? } else { code })
}

/// Leaves the result, or says how to go on.
fn finish(args: &Args, end: End, journal: Journal, target: &Path, precision: Option<f64>, voice: Voice) -> Result<u8> {
    let (runs, path) = (journal.runs().len(), journal.path().display().to_string());
    let go_on = format!("{runs} runs are kept in {path}; go on with the same command and --resume");
    match end {
        End::Interrupted => {
            output::stderr(&format!("pcb-run: interrupted; {go_on}"));
            Ok(exit::INTERRUPTED)
        }
        End::OutOfTime => {
            show_result(args, &journal.finish_incomplete()?)?;
            output::stderr(&format!("pcb-run: out of time: {} is incomplete; {go_on}", target.display()));
            Ok(exit::TIME)
        }
        End::Complete => {
            let file = journal.finish()?;
            show_result(args, &file)?;
            let lines = precision.map_or(Vec::new(), |wanted| report::precision::lines(&file, wanted));
            lines.iter().for_each(|line| voice.say(line));
            voice.say(&format!("results: {}", target.display()));
            Ok(code_for(&file))
        }
    }
}

/// What would be sorry to find out when the runs are made.
fn refuse(args: &Args, plan: &Plan, config: &Config) -> Result<()> {
    let estimate = plan.estimate(config);
    if estimate > A_DAY && !args.yes {
        let runs = plan.runs();
        let problem = format!("{runs} runs will take about {}; give --yes to start them", human(estimate));
        return Err(DataError::Usage(problem).into());
    }
    for path in args.output.iter().chain(&args.csv) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        // A misspelt path must not become a new folder; `make demo` and the default name use results/.
        if let Some(folder) = folder.filter(|folder| !folder.is_dir() && *folder != Path::new("results")) {
            return Err(DataError::Usage(format!("{}: no such folder; make it first", folder.display())).into());
        }
    }
    if let Some(path) = args.csv.as_ref().filter(|path| path.exists() && !args.force) {
        return Err(DataError::Usage(format!("{}: exists; replace it with --force", path.display())).into());
    }
    Ok(())
}

fn measure(runner: &Runner<'_>, journal: &mut Journal, voice: Voice, target: &Path) -> Result<End> {
    let done = journal.runs().to_vec();
    let mut progress = Progress::new(voice, runner.plan, runner.config, &done);
    let (runs, time) = (progress.runs_left(), human(progress.time_left()));
    voice.say(&format!("{runs} runs, about {time}; results go to {}", target.display()));
    let end = runner.execute(&done, &mut |event| {
        progress.show(&event);
        match event {
            Event::Ended(run) => journal.append(*run),
            _ => Ok(()),
        }
    })?;
    progress.finish();
    Ok(end)
}

fn show_result(args: &Args, file: &ResultFile) -> Result<u8> {
    if let Some(path) = &args.csv {
        output::text_file(path, args.force, &report::csv::render(&[file]))?;
    }
    print(&if args.json.is_some() { serde_json::to_string(file)? + "\n" } else { report::text::render(&[file]) })
}

fn print(text: &str) -> Result<u8> {
    output::stdout(text.as_bytes())?;
    Ok(exit::OK)
}

/// 5 if any run did not come out as wished; what a format cannot do is no failure, nor is a lost cache state whose run
/// was made again and is ok.
fn code_for(file: &ResultFile) -> u8 {
    let key = |run: &Run| (run.case.to_string(), run.build.clone(), run.block);
    let ok: BTreeSet<_> = file.runs.iter().filter(|run| run.outcome.is_ok()).map(key).collect();
    let fine = |run: &Run| match &run.outcome {
        Outcome::Ok | Outcome::Unsupported { .. } => true,
        outcome => runner::lost_cache(outcome) && ok.contains(&key(run)),
    };
    if file.runs.iter().all(fine) { exit::OK } else { exit::INCOMPLETE }
}
