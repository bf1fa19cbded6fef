//! Result files that are kept by name, to compare later ones with.

use std::path::{Path, PathBuf};

use crate::output;

/// Folder of baselines, if nothing else is asked for: with the default results.
pub const FOLDER: &str = "results/baselines";

/// A baseline cannot be kept or found.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// A name that is none.
    #[error("baseline {name:?}: a name has letters, digits, - _ and ., and does not begin with .")]
    Name {
        /// As written.
        name: String,
    },
    /// No such baseline.
    #[error("no baseline is called {name:?} in {}; {known}", folder.display())]
    Missing {
        /// As written.
        name: String,
        /// The folder.
        folder: PathBuf,
        /// What there is.
        known: String,
    },
    /// There is one of that name.
    #[error("{}: a baseline of that name exists; replace it with --force", path.display())]
    Exists {
        /// Its file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
}

fn file(folder: &Path, name: &str) -> Result<PathBuf, BaselineError> {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let sound = !name.is_empty() && !name.starts_with('.') && name.chars().all(letter);
    if sound { Ok(folder.join(format!("{name}.json"))) } else { Err(BaselineError::Name { name: name.to_owned() }) }
}

/// The file of a baseline that must be there.
pub fn find(folder: &Path, name: &str) -> Result<PathBuf, BaselineError> {
    let path = file(folder, name)?;
    if path.is_file() {
        return Ok(path);
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let stem = |path: PathBuf| {
        Some(path.file_stem()?.to_str()?.to_owned()).filter(|_| path.extension().is_some_and(|e| e == "json"))
    };
    let mut names: Vec<String> = entries.filter_map(|entry| stem(entry.path())).collect();
    names.sort();
    let nearest = names.iter().max_by(|a, b| strsim::jaro(a, name).total_cmp(&strsim::jaro(b, name)));
    let known = match nearest.filter(|nearest| strsim::jaro(nearest, name) > 0.8) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None if names.is_empty() => "there is none yet: keep one with --save-baseline NAME".to_owned(),
        None => format!("there are {}", names.join(", ")),
    };
    Err(BaselineError::Missing { name: name.to_owned(), folder: folder.to_owned(), known })
}

/// Whether a baseline of this name may be kept: before anything is measured.
pub fn check(folder: &Path, name: &str, force: bool) -> Result<(), BaselineError> {
    let path = file(folder, name)?;
    if path.exists() && !force { Err(BaselineError::Exists { path }) } else { Ok(()) }
}

/// Keeps a copy of a result file; returns its path. The folder is made if it is missing.
pub fn save(folder: &Path, name: &str, from: &Path, force: bool) -> Result<PathBuf, BaselineError> {
    let path = file(folder, name)?;
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| BaselineError::Io { path, source }
    };
    let text = std::fs::read(from).map_err(io(from))?;
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    output::file(&path, force, |out| out.write_all(&text)).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => BaselineError::Exists { path: path.clone() },
        _ => BaselineError::Io { path: path.clone(), source },
    })?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_kept_and_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let (kept, result) = (folder.path().join("kept"), folder.path().join("r.json"));
        std::fs::write(&result, "first").expect("written");
        save(&kept, "main", &result, false).expect("kept");
        assert_eq!(std::fs::read_to_string(find(&kept, "main").expect("found")).expect("read"), "first");
        std::fs::write(&result, "second").expect("written");
        let error = save(&kept, "main", &result, false).expect_err("exists").to_string();
        assert!(error.contains("--force"), "{error}");
        assert!(check(&kept, "main", false).is_err() && check(&kept, "main", true).is_ok());
        save(&kept, "main", &result, true).expect("replaced");
        assert_eq!(std::fs::read_to_string(find(&kept, "main").expect("found")).expect("read"), "second");
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = find(folder.path(), "main").expect_err("nothing").to_string();
        assert!(error.contains("--save-baseline"), "{error}");
        std::fs::write(folder.path().join("main.json"), "x").expect("written");
        assert!(find(folder.path(), "mian").expect_err("misspelt").to_string().ends_with("did you mean main?"));
        assert!(find(folder.path(), "q").expect_err("other").to_string().ends_with("there are main"));
        for name in ["", "../x", ".hidden", "a b"] {
            assert!(matches!(find(folder.path(), name), Err(BaselineError::Name { .. })), "{name}");
        }
    }
}
