//! The folder of nights: a result file for each night, its second measurement beside it, and `events.json`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use pcb::gate::{Event, History, Kind, Night};
use pcb::output;
use pcb::results::view;

/// Ends the name of a second measurement.
const CONFIRMATION: &str = ".confirmation.json";

/// What was decided.
const EVENTS: &str = "events.json";

/// A folder of nights.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder, made if it is missing.
    pub fn open(path: &Path) -> Result<Self> {
        fs::create_dir_all(path).with_context(|| format!("{}: cannot make the folder", path.display()))?;
        Ok(Self(path.to_owned()))
    }

    /// A folder that must be there.
    pub fn existing(path: &Path) -> Result<Self> {
        if !path.is_dir() {
            return Err(anyhow!("{}: no such folder of nights", path.display()));
        }
        Ok(Self(path.to_owned()))
    }

    /// The file of a night.
    fn night(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json"))
    }

    /// The file of a night's second measurement.
    pub fn confirmation(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}{CONFIRMATION}"))
    }

    /// Every night and every decision. A file that cannot be read is an error: a history with a hole judges wrongly.
    pub fn history(&self) -> Result<History> {
        let mut nights = Vec::new();
        for path in self.files()? {
            let file = view::read(&path)?;
            nights.push(Night::new(&file).with_context(|| path.display().to_string())?);
        }
        Ok(History::new(nights, self.events()?))
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(&self.0).with_context(|| self.0.display().to_string())?;
        let mut files = Vec::new();
        for entry in entries {
            let path = entry.with_context(|| self.0.display().to_string())?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let night = name.ends_with(".json") && !name.ends_with(CONFIRMATION) && !name.starts_with('.');
            if night && name != EVENTS {
                files.push(path);
            }
        }
        files.sort();
        Ok(files)
    }

    fn events(&self) -> Result<Vec<Event>> {
        let path = self.0.join(EVENTS);
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|e| {
                anyhow!("{}: {e}; expected a list of events; a copy under version control would help", path.display())
            }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(e) => Err(anyhow!("{}: {e}", path.display())),
        }
    }

    /// Adds a night. One that is there with the same content is left alone; one with other content is an error.
    pub fn add(&self, name: &str, from: &Path) -> Result<()> {
        let path = self.night(name);
        let text = fs::read(from).with_context(|| from.display().to_string())?;
        match fs::read(&path) {
            Ok(there) if there == text => return Ok(()),
            Ok(_) => return Err(anyhow!("{}: another result of the same time is there already", path.display())),
            Err(_) => {}
        }
        output::file(&path, false, |out| out.write_all(&text)).with_context(|| path.display().to_string())
    }

    /// Keeps a second measurement beside its night, so that judging the night again finds it.
    pub fn keep_confirmation(&self, night: &str, from: &Path) -> Result<()> {
        let path = self.confirmation(night);
        if path == from {
            return Ok(());
        }
        let text = fs::read(from).with_context(|| from.display().to_string())?;
        output::file(&path, true, |out| out.write_all(&text)).with_context(|| path.display().to_string())
    }

    /// Keeps decisions. What was decided before about the same night in the same way is replaced, so that judging a night
    /// twice leaves what judging it once does.
    pub fn decide(&self, night: &str, made: Vec<Event>, replaced: &[Kind]) -> Result<()> {
        let mut events = self.events()?;
        let before = events.clone();
        events.retain(|event| event.night != night || !replaced.contains(&event.kind));
        events.extend(made);
        let same = |a: &Event, b: &Event| (&a.night, a.kind, &a.cases) == (&b.night, b.kind, &b.cases);
        if before.len() == events.len() && before.iter().zip(&events).all(|(a, b)| same(a, b)) {
            return Ok(());
        }
        let path = self.0.join(EVENTS);
        let text = serde_json::to_string_pretty(&events)? + "\n";
        output::text_file(&path, true, &text)
    }
}
