//! Can a result file be trusted? A list of what speaks against it, each with what to do. Pure.
//!
//! A check is one function in one of the files below and one row of [`CHECKS`].

mod machine;
mod runs;
mod spread;

use std::fmt::Write;

use serde::Serialize;

use super::Input;
use super::summary::{CaseSummary, summarize};
use crate::compare::markdown::escaped;
use crate::results::ResultFile;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Numbers that it touches are no ground for a decision.
    Problem,
    /// Numbers may be off.
    Warning,
    /// Good to know.
    Note,
}

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// Name of the check.
    pub check: &'static str,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// One row of the table of checks.
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// What it looks at, one line for `--help`.
    pub about: &'static str,
    look: fn(&Looked) -> Vec<(Level, String, &'static str)>,
}

/// Every check.
pub const CHECKS: &[Check] = &[
    Check { name: "complete", about: "every run of the plan was made, and none failed", look: runs::complete },
    Check { name: "optimised", about: "the workers were built with optimisation", look: machine::optimised },
    Check { name: "cache", about: "cold and warm were proven", look: runs::cache },
    Check { name: "steady", about: "warm runs became steady", look: runs::steady },
    Check { name: "repeats", about: "enough runs of each case", look: spread::repeats },
    Check { name: "stable", about: "runs of a case agree", look: spread::stable },
    Check { name: "order", about: "neither block nor position in it matters", look: spread::order },
    Check { name: "contention", about: "nothing else used the machine", look: machine::contention },
    Check { name: "machine", about: "governor, turbo, ASLR", look: machine::settings },
    Check { name: "overhead", about: "the harness costs nothing that shows", look: machine::overhead },
];

/// What the checks look at.
struct Looked<'a> {
    file: &'a ResultFile,
    cases: Vec<CaseSummary<'a>>,
}

/// All findings of a file, the worst first.
pub fn check(file: &ResultFile) -> Vec<Finding> {
    let inputs = [Input { name: "", file }];
    let looked = Looked { file, cases: summarize(&inputs) };
    let found = |check: &Check| {
        let name = check.name;
        let finding = move |(level, what, advice)| Finding { level, check: name, what, advice };
        (check.look)(&looked).into_iter().map(finding).collect::<Vec<_>>()
    };
    let mut findings: Vec<Finding> = CHECKS.iter().flat_map(found).collect();
    findings.sort_by_key(|finding| finding.level);
    findings
}

/// The findings of some files as text.
pub fn text(files: &[(&str, Vec<Finding>)]) -> String {
    let mut out = String::new();
    for (name, findings) in files {
        let _ = writeln!(out, "{name}: {}", counts(findings));
        for Finding { level, check, what, advice } in findings {
            let _ = writeln!(out, "  {:<8} {check:<11} {what}; {advice}", level.word());
        }
    }
    out
}

/// The same as GitHub Markdown.
pub fn markdown(files: &[(&str, Vec<Finding>)]) -> String {
    let mut out = String::new();
    for (name, findings) in files {
        let _ = writeln!(out, "**{name}: {}**\n", counts(findings));
        for Finding { level, check, what, advice } in findings {
            let _ = writeln!(out, "- {} ({check}): {}; {advice}", level.word(), escaped(what));
        }
    }
    out
}

/// The same as JSON: a list of files.
pub fn json(files: &[(&str, Vec<Finding>)]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Checked<'a> {
        file: &'a str,
        findings: &'a [Finding],
    }
    let files: Vec<Checked> = files.iter().map(|(file, findings)| Checked { file, findings }).collect();
    Ok(serde_json::to_string_pretty(&files)? + "\n")
}

fn counts(findings: &[Finding]) -> String {
    let count = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let plural = |n: usize, word: &str| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") };
    let [problems, warnings, notes] =
        [Level::Problem, Level::Warning, Level::Note].map(|level| plural(count(level), level.word()));
    format!("{problems}, {warnings}, {notes}")
}

impl Level {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// `CASE`, or `CASE (BUILD)` where there are several.
fn name(summary: &CaseSummary) -> String {
    match summary.build {
        super::table::ONLY_BUILD => summary.case.to_string(),
        build => format!("{} ({build})", summary.case),
    }
}

/// Some names, of many the first three: `a, b, c and 4 more`.
fn some(names: &[String]) -> String {
    match names.len() {
        0..=3 => names.join(", "),
        n => format!("{} and {} more", names[..3].join(", "), n - 3),
    }
}
