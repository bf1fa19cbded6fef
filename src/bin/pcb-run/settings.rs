//! Arguments to a config, and to the place of the result.

use std::path::{Path, PathBuf};

use anyhow::Result;
use pcb::cli::run::Args;
use pcb::config::{self, Config};
use pcb::data::DataError;
use pcb::environment;
use pcb::results::JOURNAL;

pub fn load_config(args: &Args) -> Result<(String, Config)> {
    let (source, text) = read_config(args.config.as_deref().unwrap_or(Path::new("default")))?;
    let mut sets = Vec::new();
    if args.quick {
        if args.repeats.is_none() {
            sets.push("repeats=2".to_owned());
        }
        for set in ["rate=200ms", "stages=100ms", "warmup.min_time=200ms", "warmup.max_time=1s"] {
            sets.push(set.to_owned());
        }
        sets.extend(["steady.min_time=300ms", "steady.min_samples=50", "steady.max_time=2s"].map(str::to_owned));
    }
    if args.precision == Some(0.0) {
        return Err(DataError::Usage("--precision 0%: no number of runs gives that".to_owned()).into());
    }
    sets.extend(args.set.iter().cloned());
    let flags = [
        args.repeats.map(|repeats| format!("repeats={repeats}")),
        args.precision.map(|precision| format!("precision={precision:?}")),
        args.seed.map(|seed| format!("seed={seed}")),
        args.cold.then(|| "state=\"cold\"".to_owned()),
        args.warm.then(|| "state=\"warm\"".to_owned()),
        args.timeout.map(|time| format!("timeout=\"{time}\"")),
        args.max_time.map(|time| format!("max_time=\"{time}\"")),
        args.affinity.as_deref().map(affinity).transpose()?,
    ];
    sets.extend(flags.into_iter().flatten());
    let config = config::parse(&source, &text, &sets)?;
    let usable = environment::usable_cpu_list();
    if let Some(cpu) = config.affinity.iter().find(|cpu| !usable.contains(cpu)) {
        return Err(DataError::Usage(format!("affinity: CPU {cpu} is not usable; usable are {usable:?}")).into());
    }
    let stem = Path::new(&source).file_stem().map_or("run".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((stem, config))
}

/// A file, or a shipped config by its name; a file of that name comes first.
fn read_config(path: &Path) -> Result<(String, String)> {
    let source = path.display().to_string();
    if !path.exists()
        && let Some(text) = config::shipped(&source)
    {
        return Ok((source, text.to_owned()));
    }
    std::fs::read_to_string(path).map(|text| (source.clone(), text)).map_err(|error| {
        let known: Vec<&str> = config::SHIPPED.iter().map(|(name, _)| *name).collect();
        DataError::Usage(format!("{source}: {error}; configs that ship with pcb: {}", known.join(", "))).into()
    })
}

/// The channel to a worker is a socket in the folder for temporary files, whose name must be short text.
pub fn check_temporary_folder() -> Result<()> {
    const LONGEST: usize = 80;
    let folder = std::env::temp_dir();
    match folder.to_str() {
        Some(text) if text.len() <= LONGEST => Ok(()),
        _ => {
            let problem = format!(
                "TMPDIR is {}: workers are reached through a socket there, so it must be UTF-8 of at most {LONGEST} bytes; set TMPDIR=/tmp",
                folder.display()
            );
            Err(DataError::Usage(problem).into())
        }
    }
}

/// `0,2-3` to a list.
fn affinity(text: &str) -> Result<String> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.trim()
                .parse::<usize>()
                .map_err(|_| DataError::Usage(format!("--affinity {text:?}: expected CPUs like 0,2-3")))
        };
        let (first, last) = (number(first)?, number(last)?);
        // No machine has more CPUs than an affinity mask has bits.
        if first > last || last - first > 8192 {
            return Err(DataError::Usage(format!("--affinity {part:?}: expected a range like 2-3")).into());
        }
        cpus.extend(first..=last);
    }
    Ok(format!("affinity={cpus:?}"))
}

/// Where the result goes: as asked, or a name nobody has yet. `--resume` alone takes the newest journal.
pub fn output_path(args: &Args, name: &str) -> Result<PathBuf> {
    if let Some(path) = &args.output {
        return Ok(path.clone());
    }
    let folder = Path::new("results");
    if args.resume {
        let journals = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let ours = |path: &PathBuf| {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            file.starts_with(&format!("{name}-")) && file.ends_with(JOURNAL)
        };
        let newest = journals.filter(ours).max_by_key(|path| path.metadata().and_then(|m| m.modified()).ok());
        let missing = || DataError::Usage(format!("no interrupted run of {name} in results/; name it with --output"));
        let file = newest.as_deref().and_then(Path::file_name).and_then(|file| file.to_str()).ok_or_else(missing)?;
        return Ok(folder.join(file.replace(JOURNAL, ".json")));
    }
    let stamp: String = environment::now().chars().take(19).filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    Ok(folder.join(format!("{name}-{stamp}.json")))
}
