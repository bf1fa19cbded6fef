//! The nights of a machine, and what was decided about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NIGHTS, RECENT};
use crate::case::{Case, Track};
use crate::compare::Metric;
use crate::environment::NOT_EXPOSED;
use crate::results::Header;
use crate::results::view::FileView;

/// One night: a result file.
#[derive(Debug, Clone)]
pub struct Night {
    /// Name of its file without `.json`: `2026-12-01T02-03-04Z`.
    pub name: String,
    /// When `pcb-run` started, RFC 3339 in UTC.
    pub started: String,
    /// What must be the same for nights to be compared.
    pub fingerprint: Fingerprint,
    /// Its cases, by id.
    pub cases: BTreeMap<String, CaseNight>,
}

/// A case of one night.
#[derive(Debug, Clone)]
pub struct CaseNight {
    /// The case.
    pub case: Case,
    /// The primary metric of its track and state.
    pub metric: Metric,
    /// Logs of the metric of each run that is ok, upright: more is slower.
    pub logs: Vec<f64>,
    /// All runs.
    pub runs: usize,
}

/// What must be the same for nights to be compared: machine, kernel, governor, storage, data and plan; never the commits
/// under test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint(BTreeMap<String, String>);

/// Something that was decided about a night.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When, RFC 3339 in UTC.
    pub when: String,
    /// The night.
    pub night: String,
    /// What.
    pub kind: Kind,
    /// Ids of the cases that it is about; empty: all.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// What can be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Confirmed slower: the night is no part of the history of these cases.
    Bad,
    /// Confirmed faster: the history of these cases begins here.
    Improved,
    /// A person says that this is the new normal: the history of these cases begins here.
    Accepted,
    /// Later nights are compared with this one too.
    Pinned,
}

/// A result file is no night.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NightError {
    /// Two builds.
    #[error("{name} holds {builds} builds; a night is one build: leave --worker out, or give it once")]
    Builds {
        /// The night.
        name: String,
        /// How many.
        builds: usize,
    },
    /// No time.
    #[error("{name}: started {started:?}, which is no time like 2026-12-01T02:03:04Z")]
    Started {
        /// The night.
        name: String,
        /// What stands there.
        started: String,
    },
}

/// Nights and decisions.
#[derive(Debug, Clone, Default)]
pub struct History {
    nights: Vec<Night>,
    events: Vec<Event>,
}

impl Night {
    /// The name that a result file has as a night, from when it was started.
    pub fn name_of(header: &Header) -> Option<String> {
        let moment = humantime::parse_rfc3339(&header.started).ok()?;
        Some(humantime::format_rfc3339_seconds(moment).to_string().replace(':', "-"))
    }

    /// The night that a result file tells of. The harness's own overhead is none of its cases.
    pub fn new(file: &FileView) -> Result<Self, NightError> {
        let started = file.header.started.clone();
        let name = Self::name_of(&file.header)
            .ok_or_else(|| NightError::Started { name: "the file".to_owned(), started: started.clone() })?;
        if file.header.builds.len() > 1 {
            return Err(NightError::Builds { name, builds: file.header.builds.len() });
        }
        let mut cases: BTreeMap<String, CaseNight> = BTreeMap::new();
        for run in &file.runs {
            let case = &file.cases[run.case];
            if case.track == Track::Null {
                continue;
            }
            let metric = Metric::primary(case);
            let known = cases.entry(case.to_string());
            let night = known.or_insert_with(|| CaseNight { case: case.clone(), metric, logs: Vec::new(), runs: 0 });
            night.runs += 1;
            let value = if run.outcome.is_ok() { metric.of(case, run) } else { None };
            let sign = if metric.higher_is_better() { -1.0 } else { 1.0 };
            night.logs.extend(value.map(|value| sign * value.ln()));
        }
        Ok(Self { name, started, fingerprint: Fingerprint::new(&file.header), cases })
    }
}

impl CaseNight {
    /// Mean over its runs; none where no run counts.
    pub fn mean_log(&self) -> Option<f64> {
        (!self.logs.is_empty()).then(|| self.logs.iter().sum::<f64>() / self.logs.len() as f64)
    }

    /// A value of the metric from an upright log.
    pub(super) fn value(&self, log: f64) -> f64 {
        if self.metric.higher_is_better() { (-log).exp() } else { log.exp() }
    }
}

impl Fingerprint {
    /// A fingerprint of facts by name.
    pub fn of(facts: BTreeMap<String, String>) -> Self {
        Self(facts)
    }

    fn new(header: &Header) -> Self {
        let machine = &header.environment;
        let detail = |name: &str| machine.details.get(name).cloned().unwrap_or_else(|| NOT_EXPOSED.to_owned());
        let facts = [
            ("cpu", machine.cpu.clone()),
            ("usable CPUs", machine.usable_cpus.to_string()),
            ("kernel", machine.kernel.clone()),
            ("governor", detail("governor")),
            ("file system", detail("data_filesystem")),
            ("device", detail("data_device")),
            ("plan", header.plan_digest.clone()),
        ];
        let datasets = header.datasets.iter().map(|(name, digest)| (format!("dataset {name}"), digest.clone()));
        // An imported dataset may lie elsewhere than the generated ones.
        let stored = machine.details.iter().filter(|(name, _)| {
            name.starts_with("dataset ") && (name.ends_with("_filesystem") || name.ends_with("_device"))
        });
        let stored = stored.map(|(name, value)| (name.clone(), value.clone()));
        Self(facts.into_iter().map(|(name, value)| (name.to_owned(), value)).chain(datasets).chain(stored).collect())
    }

    /// What differs, in words: `kernel 6.18.0 → 6.19.0`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let value = |facts: &Self, name: &String| -> String {
            let text = facts.0.get(name).map_or("none", String::as_str);
            // Digests are told apart by their first characters.
            if text.len() >= 40 && !text.contains(' ') { text.chars().take(10).collect() } else { text.to_owned() }
        };
        let differ = names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name));
        differ.map(|name| format!("{name} {} → {}", value(self, name), value(other, name))).collect()
    }
}

impl History {
    /// A history; nights in any order.
    pub fn new(mut nights: Vec<Night>, events: Vec<Event>) -> Self {
        nights.sort_by(|a, b| a.started.cmp(&b.started));
        Self { nights, events }
    }

    /// Adds a night, made after all others.
    pub fn push(&mut self, night: Night) {
        self.nights.push(night);
    }

    /// Adds a decision.
    pub fn decide(&mut self, event: Event) {
        self.events.push(event);
    }

    /// The nights, in the order made.
    pub fn nights(&self) -> &[Night] {
        &self.nights
    }

    /// What was decided, in the order decided.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Nights before this one, in the order made.
    pub fn before(&self, tonight: &Night) -> Vec<&Night> {
        self.nights.iter().filter(|night| night.started < tonight.started).collect()
    }

    /// The mean logs of a case over the last nights that tonight can be compared with, at most [`NIGHTS`], in the order
    /// made: those of the same fingerprint, back to where a decision began a new segment for the case.
    pub fn segment(&self, case: &str, tonight: &Night) -> Vec<f64> {
        let mut logs = Vec::new();
        // What the gate found out about tonight itself must not change how tonight is judged.
        if self.decided(case, &tonight.name, Kind::Accepted) {
            return logs;
        }
        for night in self.before(tonight).into_iter().rev() {
            if logs.len() == NIGHTS {
                break;
            }
            if night.fingerprint != tonight.fingerprint {
                continue;
            }
            let begins = self.begins(case, &night.name);
            if begins || !self.decided(case, &night.name, Kind::Bad) {
                logs.extend(night.cases.get(case).and_then(CaseNight::mean_log));
            }
            if begins {
                break;
            }
        }
        logs.reverse();
        logs
    }

    /// The mean logs of a case in the pinned night and up to four nights before it, if tonight can be compared with them.
    /// One night alone has its luck, and would keep it for ever. The latest pin holds, unless another level of the case was
    /// accepted after it.
    pub fn pinned(&self, case: &str, tonight: &Night) -> Option<Vec<f64>> {
        let decides = |event: &&Event| matches!(event.kind, Kind::Pinned | Kind::Accepted) && event.concerns(case);
        let pin = self.events.iter().rev().find(decides).filter(|event| event.kind == Kind::Pinned)?;
        let night = self.nights.iter().find(|night| night.name == pin.night && night.started < tonight.started)?;
        if night.fingerprint != tonight.fingerprint {
            return None;
        }
        let mut logs = self.segment(case, night);
        logs.extend(night.cases.get(case)?.mean_log());
        Some(logs.split_off(logs.len().saturating_sub(RECENT)))
    }

    fn begins(&self, case: &str, night: &str) -> bool {
        self.decided(case, night, Kind::Accepted) || self.decided(case, night, Kind::Improved)
    }

    fn decided(&self, case: &str, night: &str, kind: Kind) -> bool {
        self.events.iter().any(|event| event.night == night && event.kind == kind && event.concerns(case))
    }
}

impl Event {
    /// Whether it is about a case.
    pub fn concerns(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|id| id == case)
    }
}
