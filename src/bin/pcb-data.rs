//! `pcb-data`: makes, imports, stores and verifies datasets.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::{CommandFactory, Parser};
use indicatif::{ProgressBar, ProgressStyle};
use pcb::cli::data::{Command, DataArgs, FormsArgs, ImportArgs, MakeArgs, WriteArgs};
use pcb::cli::exit;
use pcb::data::make::{Samples, Shape, Sizes};
use pcb::data::{self, DataError, Form, Made, Progress, Step, Verdict, counted};
use pcb_formats::{Dataset, FormatError, store};
use pcb_protocol::Dtype;

fn main() -> ExitCode {
    let args = DataArgs::parse();
    match run(&args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // A closed pipe, as with `| head`, is no error of ours.
            let closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
            if error.downcast_ref::<io::Error>().is_some_and(closed) {
                return ExitCode::from(exit::OK);
            }
            eprintln!("pcb-data: {}", data::error_text(error.as_ref()));
            let usage = matches!(error.downcast_ref(), Some(DataError::Usage(_)));
            ExitCode::from(if usage { exit::USAGE } else { exit::ERROR })
        }
    }
}

fn run(args: &DataArgs) -> anyhow::Result<u8> {
    let mut out = io::stdout().lock();
    if let Some(shell) = args.completions {
        clap_complete::generate(shell, &mut DataArgs::command(), "pcb-data", &mut out);
        return Ok(exit::OK);
    }
    if args.man {
        clap_mangen::Man::new(DataArgs::command()).render(&mut out).context("man page")?;
        return Ok(exit::OK);
    }
    let Some(command) = &args.command else {
        eprintln!("pcb-data: what to do? See pcb-data --help");
        return Ok(exit::USAGE);
    };
    let root = data::root(args.data.as_deref())?;
    let bar = bar();
    let mut progress = |step: Step<'_>| show(&bar, step);
    let done = match command {
        Command::Make(args) => make(&root, args, &mut out, &mut progress),
        Command::Import(args) => import(&root, args, &mut out, &mut progress),
        Command::Write(args) => write(&root, args, &mut out, &mut progress),
        Command::Verify(args) => verify(&root, args, &mut out, &mut progress),
        Command::List { dataset } => list(&root, dataset.as_deref(), &mut out),
        Command::Stats { dataset } => stats(&root, dataset, &mut out, &mut progress),
    };
    bar.finish_and_clear();
    done
}

/// Draws on stderr, and nothing where that is no terminal.
fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {pos}/{len} {eta}");
    ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn show(bar: &ProgressBar, step: Step<'_>) {
    if bar.message() != step.label {
        bar.reset();
        bar.set_message(step.label.to_owned());
    }
    bar.set_length(step.total);
    bar.set_position(step.done);
}

fn make(root: &Path, args: &MakeArgs, out: &mut dyn Write, progress: &mut Progress<'_>) -> anyhow::Result<u8> {
    if let (Some(count), Some(shape)) = (args.samples, args.shape) {
        return make_samples(root, args, count, shape, out, progress);
    }
    let preset = data::make::preset(&args.preset)?;
    let mut recipe = preset.recipe.clone();
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    for (value, given) in [
        (&mut recipe.wells, args.wells),
        (&mut recipe.sites_per_well, args.sites_per_well),
        (&mut recipe.channels, args.channels),
        (&mut recipe.objects_per_site, args.objects_per_site),
        (&mut recipe.site_size, args.site_size),
        (&mut recipe.record, args.record),
    ] {
        *value = given.unwrap_or(*value);
    }
    recipe.dtype = args.dtype.unwrap_or(recipe.dtype);
    recipe.check()?;
    tell_sizes(recipe.sizes());
    let name = args.name.as_deref().unwrap_or(preset.name);
    let made = data::make::make(root, name, &recipe, args.threads.map(usize::from), args.force, progress)?;
    tell(&made, out)
}

fn make_samples(
    root: &Path,
    args: &MakeArgs,
    count: u32,
    shape: Shape,
    out: &mut dyn Write,
    progress: &mut Progress<'_>,
) -> anyhow::Result<u8> {
    let dtype = args.dtype.unwrap_or(Dtype::U16);
    let samples = Samples { seed: args.seed.unwrap_or(1), count, shape, dtype };
    samples.check()?;
    tell_sizes(samples.sizes());
    let name = args.name.clone().unwrap_or_else(|| samples.name());
    let threads = args.threads.map(usize::from);
    tell(&data::make::make_samples(root, &name, &samples, threads, args.force, progress)?, out)
}

fn tell_sizes(sizes: Sizes) {
    eprintln!(
        "reference {}, decoy {}; each stored form, uncompressed: layout site {}, layout object {}",
        data::bytes_text(sizes.reference),
        data::bytes_text(sizes.decoy),
        data::bytes_text(sizes.reference),
        data::bytes_text(sizes.object_form),
    );
}

fn import(root: &Path, args: &ImportArgs, out: &mut dyn Write, progress: &mut Progress<'_>) -> anyhow::Result<u8> {
    let import = data::import::Import {
        name: args.name.clone(),
        images: args.images.clone(),
        profiles: args.profiles.clone(),
        id: args.id.clone(),
        grid: args.grid,
        pattern: args.pattern.clone(),
        skip_missing: args.skip_missing,
        record: args.record,
        seed: args.seed,
        force: args.force,
    };
    tell(&data::import::import(root, &import, progress)?, out)
}

fn tell(made: &Made, out: &mut dyn Write) -> anyhow::Result<u8> {
    for warning in &made.warnings {
        eprintln!("pcb-data: {warning}");
    }
    let info = &made.info;
    let what = if made.kept { "was there" } else { "made" };
    writeln!(
        out,
        "{} {what}: {}, {}, {}, {}",
        made.folder.display(),
        counted(info.sites.len() as u64, "site"),
        counted(info.objects, "object"),
        counted(info.channels.len() as u64, "channel"),
        info.dtype
    )?;
    writeln!(out, "digest {}", info.digest)?;
    Ok(exit::OK)
}

fn write(root: &Path, args: &WriteArgs, out: &mut dyn Write, progress: &mut Progress<'_>) -> anyhow::Result<u8> {
    let store = if args.force { data::rewrite } else { data::ensure };
    let args = &args.what;
    let folder = data::dataset_folder(root, &args.dataset)?;
    let all = args.forms.iter().any(|form| form == "all");
    let forms = if all { data::forms() } else { data::select(&args.forms)? };
    data::check_room(&folder, &forms)?;
    for form in forms {
        match store(&folder, form.format, form.variant, progress) {
            Ok(true) => writeln!(out, "{form:<30} written")?,
            Ok(false) => writeln!(out, "{form:<30} was there")?,
            // What a format cannot hold is no failure of "all"; a generated dataset never has source files.
            Err(DataError::Format(FormatError::Unsupported(_))) if all && form.variant.stored == "source" => {}
            Err(DataError::Format(FormatError::Unsupported(why))) if all => {
                writeln!(out, "{form:<30} unsupported: {why}")?;
            }
            Err(error) => return Err(anyhow::Error::new(error).context(form.to_string())),
        }
    }
    Ok(exit::OK)
}

fn verify(root: &Path, args: &FormsArgs, out: &mut dyn Write, progress: &mut Progress<'_>) -> anyhow::Result<u8> {
    let folder = data::dataset_folder(root, &args.dataset)?;
    let main = Arc::new(Dataset::open(&folder)?);
    let decoy = Arc::new(Dataset::open(&main.decoy_dir())?);
    let selected = if args.forms.iter().any(|form| form == "all") { None } else { Some(data::select(&args.forms)?) };
    let mut code = exit::OK;
    for dataset in [main, decoy] {
        let name = &dataset.info.name;
        let verdict = data::verify_reference(&dataset, progress);
        let sound = matches!(verdict, Ok(Verdict::Same(_)));
        code = code.max(line(out, name, "reference", "site", verdict, "")?);
        let forms: Vec<Form> = selected.clone().unwrap_or_else(|| data::forms_on_disk(&dataset));
        for form in forms {
            let verdict = data::verify(&dataset, form, progress);
            let unit = if form.variant.layout.as_str() == "site" { "site" } else { "record" };
            // From a damaged reference, and over source files, there is nothing to be written.
            let remedy = if sound && form.variant.stored != "source" {
                format!("; write it again: pcb-data write {} {form} --force", args.dataset.display())
            } else {
                String::new()
            };
            code = code.max(line(out, name, &form.to_string(), unit, verdict, &remedy)?);
        }
    }
    Ok(code)
}

/// One line for each form; a form that cannot be read does not hide what the others hold.
fn line(
    out: &mut dyn Write,
    dataset: &str,
    form: &str,
    unit: &str,
    verdict: Result<Verdict, DataError>,
    remedy: &str,
) -> anyhow::Result<u8> {
    let (text, code) = match verdict {
        Ok(Verdict::Same(count)) => (format!("ok, {}", counted(count, unit)), exit::OK),
        Ok(Verdict::Differs(problem)) => (format!("differs: {problem}{remedy}"), exit::INCOMPLETE),
        Err(error @ DataError::Format(FormatError::Unsupported(_))) => (format!("error: {error}"), exit::ERROR),
        Err(error) => (format!("error: {error}{remedy}"), exit::ERROR),
    };
    writeln!(out, "{dataset:<16} {form:<30} {text}")?;
    Ok(code)
}

fn list(root: &Path, dataset: Option<&Path>, out: &mut dyn Write) -> anyhow::Result<u8> {
    if let Some(dataset) = dataset {
        let folder = data::dataset_folder(root, dataset)?;
        let dataset = Dataset::open(&folder)?;
        let forms = store::list(&dataset)?;
        write!(out, "{}", data::stored_text(&dataset.info, data::tree_bytes(&folder)?, &forms))?;
        return Ok(exit::OK);
    }
    let folders = data::datasets(root)?;
    let read = |folder| Ok::<_, FormatError>((Dataset::read_info(folder)?, data::tree_bytes(folder)?));
    let datasets = folders.iter().map(|folder| read(folder)).collect::<Result<Vec<_>, _>>()?;
    if datasets.is_empty() {
        writeln!(out, "no datasets in {}; pcb-data make makes one", root.display())?;
        return Ok(exit::OK);
    }
    write!(out, "{}", data::list_text(&datasets))?;
    Ok(exit::OK)
}

fn stats(root: &Path, dataset: &Path, out: &mut dyn Write, progress: &mut Progress<'_>) -> anyhow::Result<u8> {
    let folder = data::dataset_folder(root, dataset)?;
    write!(out, "{}", data::description_text(&data::describe(&folder, progress)?))?;
    Ok(exit::OK)
}
