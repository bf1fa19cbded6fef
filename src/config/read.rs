//! Reading a config: text and overrides to a checked [`Config`].

use std::fmt;

use serde::Deserialize;
use toml::{Table, Value};

use super::{Config, LEAST_BLOCKS, Sweep};

/// A config cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// File name, or `--set KEY=VALUE`.
    source: String,
    /// Line, from 1, where it is known.
    line: Option<usize>,
    /// What is wrong and what was expected.
    problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.source, self.problem),
            None => write!(f, "{}: {}", self.source, self.problem),
        }
    }
}

impl std::error::Error for ConfigError {}

/// Parses the config `text` that came from `source`, then lays `sets` (`key=value`) over it.
///
/// A key with dots is a path (`steady.min_time=1s`); a bare key of a sweep (`crop=64`) is set in every sweep.
pub fn parse(source: &str, text: &str, sets: &[String]) -> Result<Config, ConfigError> {
    // The file alone first: only then do errors have lines.
    let plain: Config = toml::from_str(text).map_err(|e| from_toml(source, text, &e))?;
    if sets.is_empty() {
        return check(source, plain);
    }
    let mut table: Table = toml::from_str(text).map_err(|e| from_toml(source, text, &e))?;
    for set in sets {
        let name = format!("--set {set}");
        apply(&mut table, set).map_err(|problem| ConfigError { source: name.clone(), line: None, problem })?;
        // Each override is checked by itself, so that the error names the guilty one.
        Config::deserialize(Value::Table(table.clone())).map_err(|e| from_toml(&name, "", &e))?;
    }
    let config = Config::deserialize(Value::Table(table)).map_err(|e| from_toml(source, "", &e))?;
    check(source, config)
}

fn apply(table: &mut Table, set: &str) -> Result<(), String> {
    let (key, text) = set.split_once('=').ok_or("expected KEY=VALUE, for example repeats=10 or crop=64")?;
    let value = toml::from_str::<Table>(&format!("value = {text}"))
        .ok()
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.to_owned()));
    if is_sweep_key(key) {
        let sweeps = table.entry("sweep").or_insert_with(|| Value::Array(vec![Value::Table(Table::new())]));
        let Value::Array(sweeps) = sweeps else { return Err("sweep is no list of tables".into()) };
        for sweep in sweeps {
            if let Value::Table(sweep) = sweep {
                sweep.insert(key.to_owned(), value.clone());
            }
        }
        return Ok(());
    }
    let mut place = table;
    let mut parts = key.split('.').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            place.insert(part.to_owned(), value);
            return Ok(());
        }
        let inner = place.entry(part).or_insert_with(|| Value::Table(Table::new()));
        place = inner.as_table_mut().ok_or_else(|| format!("{part} has no keys of its own"))?;
    }
    Ok(())
}

fn is_sweep_key(key: &str) -> bool {
    match Value::try_from(Sweep::default()) {
        Ok(Value::Table(keys)) => keys.contains_key(key),
        _ => false,
    }
}

fn check(source: &str, config: Config) -> Result<Config, ConfigError> {
    let problem = if config.sweep.is_empty() {
        Some("nothing to measure: the config has no [[sweep]]".to_owned())
    } else if config.repeats == 0 {
        Some("repeats = 0 measures nothing; give at least 1".to_owned())
    } else if !(0.0..1.0).contains(&config.precision) {
        Some(format!("precision = {}: expected a share from 0 to 1, like 0.02", config.precision))
    } else if config.precision > 0.0 && config.max_repeats < LEAST_BLOCKS {
        Some(format!("max_repeats = {}: a precision takes {LEAST_BLOCKS} runs at least", config.max_repeats))
    } else if config.threads == 0 {
        Some("threads = 0: a worker needs at least 1".to_owned())
    } else if !(config.warmup.tolerance > 0.0 && config.warmup.tolerance < 1.0) {
        Some(format!("warmup.tolerance = {}: expected a share between 0 and 1, like 0.01", config.warmup.tolerance))
    } else if config.steady.min_samples > config.steady.max_samples || config.steady.min_time > config.steady.max_time {
        Some("steady: a minimum is above its maximum".to_owned())
    } else if config.timeout.ns() == 0 {
        Some("timeout = 0: every run would time out".to_owned())
    } else if let Some((key, _)) = positive(&config).into_iter().find(|(_, value)| *value == 0) {
        Some(format!("{key} = 0: give at least 1"))
    } else {
        let mut datasets = config.sweep.iter().flat_map(|sweep| sweep.dataset.iter());
        let odd = datasets.find(|name| !is_name(name));
        odd.map(|name| format!("dataset {name:?}: expected the name of a dataset, of letters, digits, - _ and ."))
    };
    match problem {
        Some(problem) => Err(ConfigError { source: source.to_owned(), line: None, problem }),
        None => Ok(config),
    }
}

/// Keys for which 0 would measure or check nothing.
fn positive(config: &Config) -> [(&'static str, u64); 6] {
    [
        ("kept_samples", config.kept_samples.into()),
        ("check_samples", config.check_samples),
        ("null_samples", config.null_samples),
        ("warmup.window", config.warmup.window.ns()),
        ("warmup.max_samples", config.warmup.max_samples),
        ("steady.max_samples", config.steady.max_samples),
    ]
}

/// A dataset's name stands in case ids, whose parts are divided by `/`.
fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(allowed) && name.chars().any(char::is_alphanumeric)
}

fn from_toml(source: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let line = error.span().filter(|_| !text.is_empty()).map(|span| {
        let start = span.start.min(text.len());
        text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1
    });
    let message = error.message().trim().replace('\n', " ");
    let problem = match nearest(&message) {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => message,
    };
    ConfigError { source: source.to_owned(), line, problem }
}

/// The known name nearest to the unknown one, read from serde's "unknown field `x`, expected one of `a`, `b`".
fn nearest(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    if !message.starts_with("unknown ") {
        return None;
    }
    let got = quoted.next()?;
    quoted
        .map(|name| (strsim::damerau_levenshtein(got, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str, sets: &[&str]) -> String {
        let sets: Vec<String> = sets.iter().map(|s| (*s).to_owned()).collect();
        parse("c.toml", text, &sets).expect_err("a broken config").to_string()
    }

    #[test]
    fn shipped_configs_are_valid() {
        for (name, text) in crate::config::SHIPPED {
            parse(name, text, &[]).expect(name);
        }
        // Every file of the folder is shipped, so that its name works from anywhere.
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
        for folder in [folder.clone(), folder.join("examples")] {
            for file in std::fs::read_dir(folder).expect("configs").flatten().map(|entry| entry.path()) {
                let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
                assert!(file.is_dir() || crate::config::shipped(&name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line_and_the_nearest_name() {
        let text = problem("seed = 2\nrepeets = 5\n[[sweep]]\n", &[]);
        assert!(text.starts_with("c.toml:2: unknown field `repeets`"), "{text}");
        assert!(text.ends_with("did you mean `repeats`?"), "{text}");
        let text = problem("[[sweep]]\n\npaterns = \"random\"\n", &[]);
        assert!(text.starts_with("c.toml:3: ") && text.ends_with("did you mean `pattern`?"), "{text}");
    }

    #[test]
    fn wrong_types_and_empty_sweeps_have_lines() {
        assert!(problem("repeats = \"six\"\n[[sweep]]\n", &[]).starts_with("c.toml:1: "));
        let text = problem("[[sweep]]\ncrop = []\n", &[]);
        assert!(text.starts_with("c.toml:2: an empty list"), "{text}");
        assert!(problem("[[sweep]]\npattern = [\"random\", \"shuffled\"]\n", &[]).contains("paired-well"));
        assert!(problem("[[sweep]]\ncrop = 0\n", &[]).contains("at least 1"));
        assert!(problem("seed = 1\n", &[]).contains("no [[sweep]]"));
        assert!(problem("[[sweep]]\nsteady", &[]).starts_with("c.toml:2: "));
    }

    #[test]
    fn overrides_reach_every_sweep_and_name_themselves_when_wrong() {
        let text = "[[sweep]]\ncrop = 32\n[[sweep]]\n";
        let sets = ["crop=[64, \"32x48\"]", "steady.min_time=1s", "repeats=3"].map(str::to_owned);
        let config = parse("c.toml", text, &sets).expect("valid");
        assert_eq!(config.repeats, 3);
        assert_eq!(config.steady.min_time.ns(), 1_000_000_000);
        assert!(config.sweep.iter().all(|sweep| sweep.crop.iter().count() == 2));
        assert!(problem(text, &["repeets=3"]).starts_with("--set repeets=3: unknown field"));
        assert!(problem(text, &["repeats"]).contains("KEY=VALUE"));
    }

    #[test]
    fn full_toml_shows_the_defaults() {
        let text = include_str!("../../configs/examples/full.toml");
        let mut full = parse("full.toml", text, &[]).expect("valid");
        assert_eq!(full.sweep, [Sweep::default()]);
        full.sweep.clear();
        assert_eq!(full, Config::default());
    }

    #[test]
    fn numbers_that_would_measure_nothing_and_names_that_are_no_names_are_refused() {
        for key in ["kept_samples=0", "check_samples=0", "null_samples=0", "warmup.window=0", "steady.max_samples=0"] {
            assert!(problem("[[sweep]]\n", &[key, "steady.min_samples=0"]).contains("at least 1"), "{key}");
        }
        for name in ["", "a/b", "..", "a\nb"] {
            assert!(problem("[[sweep]]\n", &[&format!("dataset={name:?}")]).contains("name of a dataset"), "{name:?}");
        }
    }

    #[test]
    fn a_config_writes_what_it_reads() {
        let config = parse("c.toml", crate::config::shipped("default").expect("shipped"), &[]).expect("valid");
        let text = toml::to_string(&config).expect("writes");
        assert_eq!(parse("again", &text, &[]), Ok(config));
    }
}
