//! Collecting the events of one run and holding them against the handshake. Pure but for the time it is given.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use pcb_protocol::{Checked, Event, FailureKind, Finished, Hello, Opened, PROTOCOL_VERSION, Phase, Samples};

use super::{Spec, verify};
use crate::results::Outcome;

/// What one worker did.
#[derive(Debug, Default)]
pub struct Report {
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// Whether the user interrupted it.
    pub interrupted: bool,
    /// Who it was.
    pub hello: Option<Hello>,
    /// From exec to `Hello`, in ns.
    pub hello_ns: Option<u64>,
    /// From exec to `Armed`, in ns.
    pub armed_ns: Option<u64>,
    /// What opening cost.
    pub opened: Option<Opened>,
    /// Samples by phase.
    pub phases: BTreeMap<Phase, PhaseSamples>,
    /// Result of a reference check.
    pub checked: Option<Checked>,
    /// What it reported at the end.
    pub finished: Option<Finished>,
    /// The tail of what it printed.
    pub log_tail: String,
}

/// The samples of one phase, in order.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct PhaseSamples {
    /// Durations in ns.
    pub ns: Vec<u64>,
    /// Whether each touched the device; empty where not observed.
    pub touched: Vec<bool>,
}

impl Report {
    /// The report with its outcome.
    pub fn end(mut self, outcome: Outcome) -> Self {
        self.outcome = Some(outcome);
        self
    }
}

/// What to do after an event.
pub enum Next {
    /// Wait for the next one.
    Continue,
    /// Send the request.
    SendRequest,
    /// Set the cache state and send `Go`.
    SendGo,
    /// Look at the cache state and send `Compare`.
    SendCompare,
    /// The run has ended.
    End(Outcome),
}

/// Where the handshake stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Hello,
    Armed,
    CacheState,
    Running,
    Ended,
}

/// Events of one run.
pub struct Collector {
    step: Step,
    allow_debug: bool,
    expected: Option<Hello>,
    hello: Option<Hello>,
    opened: Option<Opened>,
    phases: BTreeMap<Phase, PhaseSamples>,
    checked: Option<Checked>,
    finished: Option<Finished>,
    total_ns: u128,
    went: Option<Instant>,
}

impl Collector {
    /// Nothing collected yet.
    pub fn new(spec: &Spec) -> Self {
        Self {
            step: Step::Hello,
            allow_debug: spec.allow_debug,
            expected: spec.expected.clone(),
            hello: None,
            opened: None,
            phases: BTreeMap::new(),
            checked: None,
            finished: None,
            total_ns: 0,
            went: None,
        }
    }

    /// `Go` is about to be sent.
    pub fn go(&mut self) {
        self.step = Step::Running;
        self.went = Some(Instant::now());
    }

    /// Whether the worker said its last word.
    pub fn ended(&self) -> bool {
        self.step == Step::Ended
    }

    /// Moves what was collected into the report.
    pub fn hand_over(self, report: &mut Report) {
        report.hello = self.hello;
        report.opened = self.opened;
        report.phases = self.phases;
        report.checked = self.checked;
        report.finished = self.finished;
    }

    /// Takes one event that came at `now`.
    pub fn take(&mut self, event: Event, now: Instant) -> Next {
        match (self.step, event) {
            (Step::Hello, Event::Hello(hello)) => self.greet(hello),
            (Step::Armed, Event::Armed) => {
                self.step = Step::CacheState;
                Next::SendGo
            }
            (Step::Running, Event::Opened(opened)) if self.opened.is_none() => {
                self.opened = Some(opened);
                Next::Continue
            }
            (Step::Running, Event::Samples(samples)) => self.add(samples, now),
            (Step::Running, Event::Checked(checked)) => {
                self.checked = Some(checked);
                Next::Continue
            }
            (Step::Running, Event::Measured) => Next::SendCompare,
            (Step::Running, Event::Finished(finished)) => self.finish(*finished),
            (step, Event::Failed(failure)) if step != Step::Hello => {
                self.step = Step::Ended;
                Next::End(failed(failure.kind, failure.message))
            }
            (step, event) => self.out_of_order(step, &event),
        }
    }

    fn greet(&mut self, hello: Hello) -> Next {
        let refusal = if hello.protocol != PROTOCOL_VERSION {
            Some(format!(
                "{} speaks protocol {}, this pcb speaks {PROTOCOL_VERSION}; build both from one commit",
                hello.program, hello.protocol
            ))
        } else if !self.allow_debug && !matches!(hello.opt_level.as_str(), "2" | "3") {
            Some(format!(
                "{} was built at optimisation level {}: its times mean nothing; build with --release, or give --allow-debug",
                hello.program, hello.opt_level
            ))
        } else if self.expected.as_ref().is_some_and(|expected| *expected != hello) {
            Some(format!(
                "{} is not the program it was when the plan started: it was built anew meanwhile",
                hello.program
            ))
        } else {
            None
        };
        self.hello = Some(hello);
        match refusal {
            Some(message) => Next::End(Outcome::Failed { message }),
            None => {
                self.step = Step::Armed;
                Next::SendRequest
            }
        }
    }

    fn add(&mut self, samples: Samples, now: Instant) -> Next {
        let wall = self.went.map_or(Duration::ZERO, |went| now.saturating_duration_since(went));
        if let Some(message) = verify::samples(&samples, self.total_ns, wall) {
            return Next::End(Outcome::Failed { message });
        }
        self.total_ns += verify::total(&samples);
        let phase = self.phases.entry(samples.phase).or_default();
        phase.ns.extend(samples.ns);
        phase.touched.extend(samples.touched);
        Next::Continue
    }

    fn finish(&mut self, finished: Finished) -> Next {
        self.step = Step::Ended;
        if let Some(message) = verify::finished(&finished) {
            return Next::End(Outcome::Failed { message });
        }
        self.finished = Some(finished);
        Next::End(Outcome::Ok)
    }

    fn out_of_order(&mut self, step: Step, event: &Event) -> Next {
        let name = match event {
            Event::Hello(_) => "Hello",
            Event::Armed => "Armed",
            Event::Opened(_) => "Opened",
            Event::Samples(_) => "Samples",
            Event::Measured => "Measured",
            Event::Checked(_) => "Checked",
            Event::Finished(_) => "Finished",
            Event::Failed(_) => "Failed",
        };
        Next::End(Outcome::Failed { message: format!("the worker sent {name} out of order (at step {step:?})") })
    }
}

fn failed(kind: FailureKind, message: String) -> Outcome {
    match kind {
        FailureKind::Unsupported => Outcome::Unsupported { message },
        FailureKind::Failed => Outcome::Failed { message },
        FailureKind::FdExhausted => Outcome::FdExhausted { message },
        FailureKind::ShmExhausted => Outcome::ShmExhausted { message },
    }
}
