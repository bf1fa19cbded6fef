//! Marks and footnotes of a table: only those that occur are explained below it.

use std::collections::BTreeSet;

use pcb_protocol::State;

use super::summary::{CaseSummary, Failure};
use crate::results::Flag;
use crate::stats::Class;
use crate::units;

/// A short mark on a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// [`Flag::NotSteady`].
    NotSteady,
    /// [`Flag::FirstCapped`].
    FirstCapped,
    /// No cold p50.
    ReadAhead,
    /// [`Flag::NoDeviceBytes`].
    NoDeviceBytes,
    /// [`Flag::EvictedUnread`].
    EvictedUnread,
    /// [`Flag::WarmRead`].
    WarmRead,
    /// No p95.
    FewSamples,
    /// Geometric mean, in a table whose other lines are medians.
    Geometric,
}

/// Every mark: its sign and what it means.
const MARKS: &[(Mark, char, &str)] = &[
    (Mark::NotSteady, '~', "no steady state was found in at least one run"),
    (
        Mark::FirstCapped,
        '>',
        "the first pass was cut short by its time limit in at least one run: no time of a whole pass",
    ),
    (Mark::ReadAhead, '^', "under half of the samples touched the device in at least one run (read-ahead): no p50"),
    (Mark::NoDeviceBytes, '<', "the cold pass read nothing from the device: a cache below the page cache served it"),
    (
        Mark::EvictedUnread,
        '-',
        "pages that no sample needed were evicted during at least one run, which read nothing from the device",
    ),
    (
        Mark::WarmRead,
        '!',
        "at least one warm run read from the device, although every page was resident before and after",
    ),
    (Mark::FewSamples, '*', "p95 insufficient: too few samples in at least one run"),
    (Mark::Geometric, 'g', "geometric mean with 95 % t interval (under 6 runs)"),
];

/// Classes that a reader should see, and what they mean: a flat course needs no word, and `unclear` says nothing.
const CLASSES: &[(Class, &str)] = &[
    (Class::Warmup, "slower at first; the time is what that cost in all"),
    (Class::Slowdown, "faster at first than in the steady state"),
    (Class::Unsteady, "its level still changed near the end"),
    (Class::Mixed, "the courses of its runs differ"),
];

/// What a table has to explain.
#[derive(Default)]
pub struct Notes {
    marks: BTreeSet<Mark>,
    classes: BTreeSet<Class>,
    messages: Vec<String>,
}

impl Notes {
    /// The last cell of a line: its marks, and how the runs ended that are not ok.
    pub fn cell(&mut self, summary: &CaseSummary, more: Option<Mark>) -> String {
        let marks: BTreeSet<Mark> = marks(summary).into_iter().chain(more).collect();
        self.marks.extend(&marks);
        let signs = MARKS.iter().filter(|(mark, ..)| marks.contains(mark)).map(|(_, sign, _)| *sign).collect();
        let class = self.class(summary);
        let endings = summary.failures.iter().map(|failure| self.ending(failure));
        let words: Vec<String> =
            [signs].into_iter().chain(class).chain(endings).filter(|word: &String| !word.is_empty()).collect();
        words.join(" ")
    }

    /// The lines below the table.
    pub fn lines(&self) -> Vec<String> {
        let met = MARKS.iter().filter(|(mark, ..)| self.marks.contains(mark));
        let marks = met.map(|(_, sign, meaning)| format!("{sign} {meaning}"));
        let met = CLASSES.iter().filter(|(class, _)| self.classes.contains(class));
        let classes = met.map(|(class, meaning)| format!("{}: {meaning}", class.word()));
        let messages = self.messages.iter().enumerate().map(|(place, text)| format!("[{}] {text}", place + 1));
        marks.chain(classes).chain(messages).collect()
    }

    /// `warmup 3.10 ms`, `unsteady`.
    fn class(&mut self, summary: &CaseSummary) -> Option<String> {
        let class = summary.class.filter(|class| CLASSES.iter().any(|(known, _)| known == class))?;
        self.classes.insert(class);
        let cost = summary.warmup_cost_ns.filter(|cost| class == Class::Warmup && *cost > 0.0);
        Some(cost.map_or(class.word().to_owned(), |cost| format!("{} {}", class.word(), units::time(cost))))
    }

    /// `failed 2 [1]`; equal messages share a number.
    fn ending(&mut self, failure: &Failure) -> String {
        let count = if failure.count == 1 { String::new() } else { format!(" {}", failure.count) };
        if failure.message.is_empty() {
            return format!("{}{count}", failure.kind);
        }
        let text = format!("{}: {}", failure.kind, one_line(&failure.message));
        let known = self.messages.iter().position(|message| *message == text);
        let place = known.unwrap_or_else(|| {
            self.messages.push(text);
            self.messages.len() - 1
        });
        format!("{}{count} [{}]", failure.kind, place + 1)
    }
}

fn marks(summary: &CaseSummary) -> Vec<Mark> {
    let mut marks: Vec<Mark> = summary.flags.iter().map(|flag| mark(*flag)).collect();
    let cold = summary.case.state == State::Cold;
    // Without a p50 there is nothing to say about a p95.
    if !cold && summary.p50_ns.is_some() && summary.p95_ns.is_none() {
        marks.push(Mark::FewSamples);
    }
    marks
}

fn mark(flag: Flag) -> Mark {
    match flag {
        Flag::NotSteady => Mark::NotSteady,
        Flag::FirstCapped => Mark::FirstCapped,
        Flag::MostlyReadAhead => Mark::ReadAhead,
        Flag::EvictedUnread => Mark::EvictedUnread,
        Flag::WarmRead => Mark::WarmRead,
        Flag::NoDeviceBytes => Mark::NoDeviceBytes,
    }
}

/// A message may be a whole traceback; the result file has the rest.
fn one_line(message: &str) -> String {
    const LONGEST: usize = 300;
    let words = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
