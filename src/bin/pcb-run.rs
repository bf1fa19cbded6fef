//! `pcb-run`: reads a config, plans, measures, and leaves a result file.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use pcb::cli::exit;
use pcb::cli::run::{Args, Listing};
use pcb::config::{self, Config, ConfigError};
use pcb::interrupt::Interrupt;
use pcb::plan::{self, Facts, Plan, PlanError};
use pcb::progress::{Progress, Voice, human};
use pcb::results::{Header, Journal, JournalError, Outcome, ResultFile, VERSION};
use pcb::runner::{self, Build, BuildError, End, Event, Runner};
use pcb::{data, environment, report};
use pcb_formats::{Dataset, DatasetInfo};

/// A plan of more than this asks for `--yes`.
const A_DAY: Duration = Duration::from_secs(86_400);

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(shell) = args.completions {
        clap_complete::generate(shell, &mut Args::command(), "pcb-run", &mut std::io::stdout());
        return ExitCode::from(exit::OK);
    }
    if args.man {
        let page = clap_mangen::Man::new(Args::command()).render(&mut std::io::stdout());
        return ExitCode::from(if page.is_ok() { exit::OK } else { exit::ERROR });
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
        || matches!(error.downcast_ref(), Some(data::DataError::Usage(_)))
        || error.downcast_ref().is_some_and(|e: &JournalError| !matches!(e, JournalError::Io { .. }));
    if usage { exit::USAGE } else { exit::ERROR }
}

fn run(args: &Args) -> Result<u8> {
    // Before any thread: the signals must be blocked in all of them.
    let interrupt = Interrupt::catch().context("cannot catch signals")?;
    let voice = Voice::fitting(args.quiet);
    let (name, config) = load_config(args)?;
    let root = data::root(args.data.as_deref())?;
    match args.list {
        Some(Listing::Tracks) => return print(&report::listing::tracks()),
        Some(Listing::Formats) => return print(&report::listing::formats()),
        Some(Listing::Cases) => return list_cases(args, &config, &root),
        None => {}
    }
    if args.plan {
        return print_plan(args, &config, &root);
    }
    let builds = runner::find(&args.worker)?;
    let rough = make_plan(args, &config, &root, &builds)?;
    if rough.cases.is_empty() {
        return nothing(&rough);
    }
    let estimate = rough.estimate(&config);
    if estimate > A_DAY && !args.yes {
        let runs = rough.steps.len();
        anyhow::bail!(ask(format!("{runs} runs will take about {}; give --yes to start them", human(estimate))));
    }
    let output = output_path(args, &name)?;
    let datasets = prepare_data(&rough, &root, voice, &interrupt)?;
    let Some(datasets) = datasets else { return Ok(exit::INTERRUPTED) };
    // Now that every dataset is there, its facts prune what it cannot do.
    let plan = make_plan(args, &config, &root, &builds)?;
    let mut infos = Vec::new();
    for build in &builds {
        infos.push(runner::probe(build, config.threads, args.allow_debug, &interrupt)?);
    }
    let header = header(&config, &plan, infos, &datasets, &root)?;
    let mut journal = if args.resume {
        Journal::resume(&output, &header)?
    } else {
        Journal::create(&output, header.clone(), args.force)?
    };
    journal.set_builds(header.builds);
    let done = journal.runs().to_vec();
    voice.say(&format!("{} runs, about {}; results go to {}", plan.steps.len(), human(estimate), output.display()));
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
    let mut progress = Progress::new(voice, &plan, &config, done.len());
    let end = runner.execute(&done, &mut |event| {
        progress.show(&event);
        match event {
            Event::Ended(run) => journal.append(run),
            Event::Checking { .. } | Event::Starting { .. } => Ok(()),
        }
    })?;
    progress.finish();
    if end != End::Complete {
        let (runs, path) = (journal.runs().len(), journal.path().display());
        eprintln!("pcb-run: stopped; {runs} runs are kept in {path}; go on with the same command and --resume");
        return Ok(if end == End::Interrupted { exit::INTERRUPTED } else { exit::TIME });
    }
    let file = journal.finish()?;
    show(args, &file, &output, voice)?;
    Ok(code_for(&file))
}

fn load_config(args: &Args) -> Result<(String, Config)> {
    let (source, text) = match &args.config {
        None => ("default".to_owned(), config::shipped()["default"].to_owned()),
        Some(path) => match path.to_str().and_then(|name| config::shipped().get(name).copied()) {
            Some(text) if !path.exists() => (path.display().to_string(), text.to_owned()),
            _ => {
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                (path.display().to_string(), text)
            }
        },
    };
    let mut sets = Vec::new();
    if args.quick {
        for set in ["repeats=2", "rate=200ms", "stages=100ms", "warmup.min_time=200ms", "warmup.max_time=1s"] {
            sets.push(set.to_owned());
        }
        sets.extend(["steady.min_time=300ms", "steady.min_samples=50", "steady.max_time=2s"].map(str::to_owned));
    }
    sets.extend(args.set.iter().cloned());
    let flags = [
        args.repeats.map(|repeats| format!("repeats={repeats}")),
        args.seed.map(|seed| format!("seed={seed}")),
        args.cold.then(|| "state=\"cold\"".to_owned()),
        args.warm.then(|| "state=\"warm\"".to_owned()),
        args.timeout.map(|time| format!("timeout=\"{time}\"")),
        args.max_time.map(|time| format!("max_time=\"{time}\"")),
        args.affinity.as_deref().map(affinity).transpose()?,
    ];
    sets.extend(flags.into_iter().flatten());
    let config = config::parse(&source, &text, &sets)?;
    let stem = Path::new(&source).file_stem().map_or("run".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((stem, config))
}

/// `0,2-3` to a list.
fn affinity(text: &str) -> Result<String> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim().parse::<usize>().map_err(|_| data::DataError::Usage(format!("--affinity {text:?}: expected CPUs like 0,2-3")))
        };
        cpus.extend(number(first)?..=number(last)?);
    }
    Ok(format!("affinity={cpus:?}"))
}

fn make_plan(args: &Args, config: &Config, root: &Path, builds: &[Build]) -> Result<Plan> {
    let facts = known_facts(config, root);
    let (cases, pruned) = plan::expand(config, args.filter.as_ref(), &facts)?;
    Ok(Plan::new(config, cases, pruned, builds.iter().map(|build| build.name.clone()).collect()))
}

/// Facts of the datasets that are there already.
fn known_facts(config: &Config, root: &Path) -> BTreeMap<String, Facts> {
    let names = config.sweep.iter().flat_map(|sweep| sweep.dataset.iter());
    let info = |name: &String| {
        let folder = data::dataset_folder(root, Path::new(name)).ok()?;
        Some((name.clone(), facts_of(&Dataset::read_info(&folder).ok()?)))
    };
    names.filter_map(info).collect()
}

fn facts_of(info: &DatasetInfo) -> Facts {
    Facts {
        channels: info.channels.len(),
        dtype: info.dtype,
        record: (info.record.height, info.record.width),
        imported: info.sites.iter().any(|site| !site.source.is_empty()),
    }
}

/// Makes missing presets, writes missing forms, and opens every dataset of the plan; `None` if interrupted.
fn prepare_data(
    plan: &Plan,
    root: &Path,
    voice: Voice,
    interrupt: &Interrupt,
) -> Result<Option<BTreeMap<String, Arc<Dataset>>>> {
    let mut datasets: BTreeMap<String, Arc<Dataset>> = BTreeMap::new();
    for target in plan.cases.iter().filter_map(|case| case.target.as_ref()) {
        if interrupt.stopped() {
            return Ok(None);
        }
        let folder = match datasets.get(&target.dataset) {
            Some(dataset) => dataset.root.clone(),
            None => {
                let folder = dataset_folder(root, &target.dataset, voice)?;
                datasets.insert(target.dataset.clone(), Arc::new(Dataset::open(&folder)?));
                folder
            }
        };
        let (format, variant) = pcb_formats::find(&target.format, &target.variant, target.layout)?;
        if data::ensure(&folder, format, variant, &mut |_| {})? {
            voice.say(&format!("wrote {} as {}:{} ({})", target.dataset, target.format, variant.stored, target.layout));
        }
    }
    Ok(Some(datasets))
}

fn dataset_folder(root: &Path, name: &str, voice: Voice) -> Result<PathBuf> {
    let preset = data::make::PRESETS.iter().any(|preset| preset.name == name);
    if preset && !root.join(name).join("dataset.json").is_file() {
        voice.say(&format!("making the dataset {name} in {}", root.display()));
        return Ok(data::make::ensure_preset(root, name, &mut |_| {})?.folder);
    }
    Ok(data::dataset_folder(root, Path::new(name))?)
}

fn header(
    config: &Config,
    plan: &Plan,
    builds: Vec<pcb::results::BuildInfo>,
    datasets: &BTreeMap<String, Arc<Dataset>>,
    root: &Path,
) -> Result<Header> {
    Ok(Header {
        version: VERSION,
        started: environment::now(),
        seed: config.seed,
        repeats: config.repeats,
        plan_digest: plan.digest.clone(),
        builds,
        config: toml::to_string(config)?,
        datasets: datasets.iter().map(|(name, dataset)| (name.clone(), dataset.info.digest.clone())).collect(),
        environment: environment::capture(root),
        pruned: plan.pruned.clone(),
    })
}

/// Where the result goes: as asked, or a name nobody has yet. `--resume` alone takes the newest journal.
fn output_path(args: &Args, name: &str) -> Result<PathBuf> {
    if let Some(path) = &args.output {
        return Ok(path.clone());
    }
    let folder = Path::new("results");
    if args.resume {
        let journals = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let newest = journals
            .filter(|path| path.to_string_lossy().ends_with(".journal.jsonl"))
            .max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
        let newest = newest.ok_or_else(|| ask("no interrupted run in results/; name it with --output".to_owned()))?;
        return Ok(PathBuf::from(newest.to_string_lossy().replace(".journal.jsonl", ".json")));
    }
    let stamp: String = environment::now().chars().take(19).filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    Ok(folder.join(format!("{name}-{stamp}.json")))
}

fn ask(problem: String) -> data::DataError {
    data::DataError::Usage(problem)
}

fn show(args: &Args, file: &ResultFile, output: &Path, voice: Voice) -> Result<()> {
    if let Some(path) = &args.csv {
        if path.exists() && !args.force {
            anyhow::bail!(ask(format!("{}: exists; give --force to replace it", path.display())));
        }
        std::fs::write(path, report::csv::render(&[file])).with_context(|| path.display().to_string())?;
    }
    let text = if args.json.is_some() {
        serde_json::to_string(file)? + "\n"
    } else {
        report::text::render(&[file])
    };
    print(&text)?;
    voice.say(&format!("results: {}", output.display()));
    Ok(())
}

fn print(text: &str) -> Result<u8> {
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(exit::OK)
}

fn nothing(plan: &Plan) -> Result<u8> {
    for pruned in &plan.pruned {
        eprintln!("left out: {}: {}", pruned.case, pruned.reason);
    }
    eprintln!("pcb-run: nothing selected; see pcb-run --list cases");
    Ok(exit::NOTHING)
}

fn list_cases(args: &Args, config: &Config, root: &Path) -> Result<u8> {
    let (cases, _) = plan::expand(config, args.filter.as_ref(), &known_facts(config, root))?;
    print(&cases.iter().map(|case| format!("{case}\n")).collect::<String>())
}

fn print_plan(args: &Args, config: &Config, root: &Path) -> Result<u8> {
    let names: Vec<Build> = match runner::find(&args.worker) {
        Ok(builds) => builds,
        // A plan can be looked at before the workers are built.
        Err(BuildError::Missing { .. }) => {
            vec![Build { name: "default".into(), torch: PathBuf::new(), io: PathBuf::new() }]
        }
        Err(error) => return Err(error.into()),
    };
    let plan = make_plan(args, config, root, &names)?;
    if plan.cases.is_empty() {
        return nothing(&plan);
    }
    print(&report::listing::plan(&plan, &human(plan.estimate(config))))
}

/// 5 if any run did not come out as wished; what a format cannot do is no failure.
fn code_for(file: &ResultFile) -> u8 {
    let fine = |outcome: &Outcome| matches!(outcome, Outcome::Ok | Outcome::Unsupported { .. });
    if file.runs.iter().all(|run| fine(&run.outcome)) { exit::OK } else { exit::INCOMPLETE }
}
