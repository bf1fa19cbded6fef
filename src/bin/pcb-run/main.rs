//! `pcb-run`: reads a config, plans, measures, and leaves a result file.

mod prepare;
mod settings;
mod show;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use pcb::cli::run::{Args, Listing};
use pcb::cli::{self, exit};
use pcb::config::{Config, ConfigError};
use pcb::data::{self, DataError};
use pcb::interrupt::Interrupt;
use pcb::plan::{Plan, PlanError};
use pcb::progress::{Progress, Voice, human};
use pcb::results::{Journal, JournalError, Outcome, ResultFile};
use pcb::runner::{self, BuildError, End, Event, Runner};
use pcb::{output, report};

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
            eprintln!("pcb-run: {error:#}");
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
        || error.downcast_ref().is_some_and(|e: &JournalError| !matches!(e, JournalError::Io { .. }));
    if usage { exit::USAGE } else { exit::ERROR }
}

fn run(args: &Args) -> Result<u8> {
    // Before any thread: the signals must be blocked in all of them.
    let interrupt = Interrupt::catch().context("cannot catch signals")?;
    let (name, config) = settings::load_config(args)?;
    let root = data::root(args.data.as_deref())?;
    match args.list {
        Some(Listing::Tracks) => return print(&report::listing::tracks()),
        Some(Listing::Formats) => return print(&report::listing::formats()),
        Some(Listing::Cases) => return show::list_cases(args, &config, &root),
        None if args.plan => return show::print_plan(args, &config, &root),
        None => {}
    }
    let builds = runner::find(&args.worker)?;
    let rough = prepare::make_plan(args, &config, &root, &builds)?;
    if rough.cases.is_empty() {
        return show::nothing(&rough);
    }
    let target = settings::output_path(args, &name)?;
    refuse(args, &rough, &config)?;
    let voice = Voice::fitting(args.quiet);
    let Some(datasets) = prepare::prepare_data(&rough, &root, voice, &interrupt)? else {
        return Ok(exit::INTERRUPTED);
    };
    // Now that every dataset is there, its facts prune what it cannot do.
    let plan = prepare::make_plan(args, &config, &root, &builds)?;
    let probe = |build| runner::probe(build, config.threads, args.allow_debug, &interrupt);
    let infos = builds.iter().map(probe).collect::<Result<Vec<_>, _>>()?;
    let header = prepare::header(&config, &plan, infos, &datasets, &root)?;
    let mut journal = if args.resume {
        Journal::resume(&target, &header)?
    } else {
        Journal::create(&target, header.clone(), args.force)?
    };
    journal.set_builds(header.builds);
    let limit = config.max_time.get();
    let runner = Runner {
        plan: &plan,
        config: &config,
        builds: &builds,
        datasets: &datasets,
        allow_debug: args.allow_debug,
        interrupt: &interrupt,
        until: (!limit.is_zero()).then(|| Instant::now() + limit),
    };
    let (runs, time) = (plan.steps.len() - journal.runs().len(), human(plan.estimate(&config)));
    voice.say(&format!("{runs} runs, about {time}; results go to {}", target.display()));
    let end = measure(&runner, &mut journal, voice)?;
    if end != End::Complete {
        let (runs, path) = (journal.runs().len(), journal.path().display());
        eprintln!("pcb-run: stopped; {runs} runs are kept in {path}; go on with the same command and --resume");
        return Ok(if end == End::Interrupted { exit::INTERRUPTED } else { exit::TIME });
    }
    let file = journal.finish()?;
    show_result(args, &file)?;
    voice.say(&format!("results: {}", target.display()));
    Ok(code_for(&file))
}

/// What would be sorry to find out when the runs are made.
fn refuse(args: &Args, plan: &Plan, config: &Config) -> Result<()> {
    let estimate = plan.estimate(config);
    if estimate > A_DAY && !args.yes {
        let runs = plan.steps.len();
        let problem = format!("{runs} runs will take about {}; give --yes to start them", human(estimate));
        return Err(DataError::Usage(problem).into());
    }
    if let Some(path) = args.csv.as_ref().filter(|path| path.exists() && !args.force) {
        return Err(DataError::Usage(format!("{}: exists; replace it with --force", path.display())).into());
    }
    Ok(())
}

fn measure(runner: &Runner<'_>, journal: &mut Journal, voice: Voice) -> Result<End> {
    let done = journal.runs().to_vec();
    let mut progress = Progress::new(voice, runner.plan, runner.config, done.len());
    let end = runner.execute(&done, &mut |event| {
        progress.show(&event);
        match event {
            Event::Ended(run) => journal.append(*run),
            Event::Checking { .. } | Event::Starting { .. } => Ok(()),
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

/// 5 if any run did not come out as wished; what a format cannot do is no failure.
fn code_for(file: &ResultFile) -> u8 {
    let fine = |outcome: &Outcome| matches!(outcome, Outcome::Ok | Outcome::Unsupported { .. });
    if file.runs.iter().all(|run| fine(&run.outcome)) { exit::OK } else { exit::INCOMPLETE }
}
