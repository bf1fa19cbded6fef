//! One worker process: spawned, talked to, watched, and ended. The only module that knows processes.
//!
//! The main thread spawns the worker (a parent-death signal fires when the *thread* that spawned it ends) and waits
//! on one queue. Three threads feed it: one accepts the connection and drains events, one waits for the worker's
//! death without reaping it, and one collects what the worker prints.

mod collect;
mod log;
#[expect(unsafe_code, reason = "a child's death signal and affinity are set between fork and exec")]
mod spawn;
mod verify;
mod watch;

use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pcb_protocol::{Command, CommandSender, Event, Hello, LinkServer, Request};

use crate::interrupt::Interrupt;
use crate::results::Outcome;

use collect::{Collector, Next};
pub use collect::{PhaseSamples, Report};
use spawn::Child;
pub use spawn::{environment as worker_environment, inherited as inherited_environment};
use watch::Message;

/// Time a worker has to exit after its last event.
const GRACE: Duration = Duration::from_secs(5);
/// Time for events that are still in the socket when the worker is dead.
const DRAIN: Duration = Duration::from_secs(2);

/// What to start and how.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The worker program.
    pub program: PathBuf,
    /// What it is asked.
    pub request: Request,
    /// Time allowed from exec to the last event.
    pub timeout: Duration,
    /// CPUs it is pinned to; all usable ones if empty.
    pub affinity: Vec<usize>,
    /// Threads its libraries may use.
    pub threads: u32,
    /// Accept a worker built without optimisation.
    pub allow_debug: bool,
    /// Who the program said it was when the plan started; one that says otherwise was replaced meanwhile.
    pub expected: Option<Hello>,
}

/// What the controller does while the worker waits.
pub trait Pauses {
    /// The worker is armed: set the cache state, or refuse with the outcome of the run.
    fn armed(&mut self) -> Result<(), Outcome>;

    /// Every clock has stopped, and the worker has not yet touched reference pixels.
    fn measured(&mut self) {}
}

/// Nothing is to be done.
pub struct NoPauses;

impl Pauses for NoPauses {
    fn armed(&mut self) -> Result<(), Outcome> {
        Ok(())
    }
}

/// Runs one worker to its end and reports what it did.
pub fn run(spec: &Spec, interrupt: &Interrupt, pauses: &mut dyn Pauses) -> Report {
    let mut report = Report::default();
    let server = match LinkServer::new() {
        Ok(server) => server,
        Err(error) => {
            return report.end(Outcome::Failed { message: format!("cannot open a channel for a worker: {error}") });
        }
    };
    let name = server.name().to_owned();
    let mut child = match Child::spawn(spec, &name) {
        Ok(child) => child,
        Err(outcome) => return report.end(outcome),
    };
    let log = log::follow(child.take_output());
    let watch = watch::start(server, child.pid());
    interrupt.wake_by(watch.waker);
    let mut talk = Talk {
        spec,
        deadline: child.started() + spec.timeout,
        started: child.started(),
        server: name,
        commands: None,
        messages: watch.messages,
        drain: Some(watch.drain),
        died: None,
        unsent: None,
        collector: Collector::new(spec),
    };
    let outcome = talk.converse(interrupt, pauses, &mut report);
    let died = talk.finish(&mut child, &outcome);
    talk.collector.hand_over(&mut report);
    report.log_tail = log.tail();
    // A death that was not ours to cause explains a closed channel better than the channel does.
    let outcome = match (outcome, died) {
        (Ended::Closed, Some(death)) => death.outcome(),
        (Ended::Closed, None) => {
            Outcome::Failed { message: "the worker closed its channel before it was finished".into() }
        }
        (Ended::With(outcome), _) => outcome,
    };
    report.end(outcome)
}

/// How a conversation ended.
enum Ended {
    /// With this outcome.
    With(Outcome),
    /// The channel was closed without a last event.
    Closed,
}

/// The state of one conversation.
struct Talk<'a> {
    spec: &'a Spec,
    started: Instant,
    deadline: Instant,
    server: String,
    commands: Option<CommandSender>,
    messages: Receiver<Message>,
    drain: Option<JoinHandle<()>>,
    died: Option<watch::Death>,
    /// Why a command could not be sent.
    unsent: Option<String>,
    collector: Collector,
}

impl Talk<'_> {
    /// Follows the handshake until the worker has finished, failed, died, or run out of time.
    fn converse(&mut self, interrupt: &Interrupt, pauses: &mut dyn Pauses, report: &mut Report) -> Ended {
        loop {
            if interrupt.stopped() {
                report.interrupted = true;
                return Ended::With(Outcome::Failed { message: "interrupted".into() });
            }
            let limit = self.died.as_ref().map_or(self.deadline, |death| self.deadline.min(death.at + DRAIN));
            let Ok(message) = self.messages.recv_timeout(limit.saturating_duration_since(Instant::now())) else {
                if self.died.is_some() {
                    return Ended::Closed;
                }
                if let Some(problem) = self.unsent.take() {
                    return Ended::With(Outcome::Failed {
                        message: format!("cannot tell the worker what to do: {problem}"),
                    });
                }
                return Ended::With(Outcome::TimedOut { after_ns: self.spec.timeout.as_nanos() as u64 });
            };
            match message {
                Message::Woken => {}
                Message::Connected(commands) => self.commands = Some(commands),
                Message::Died(death) => {
                    if self.commands.is_none() {
                        // Nobody will connect any more: let the accepting thread go.
                        LinkServer::unblock(&self.server);
                    }
                    self.died = Some(death);
                }
                Message::Closed => return Ended::Closed,
                Message::Garbled(problem) => {
                    let message = format!("the worker sent something that is no event: {problem}");
                    return Ended::With(Outcome::Failed { message });
                }
                Message::Event(event) => {
                    if let Some(ended) = self.event(event, pauses, report) {
                        return ended;
                    }
                }
            }
        }
    }

    /// Handles one event; `Some` ends the conversation.
    fn event(&mut self, event: Event, pauses: &mut dyn Pauses, report: &mut Report) -> Option<Ended> {
        let now = Instant::now();
        match self.collector.take(event, now) {
            Next::Continue => None,
            Next::SendRequest => {
                report.hello_ns = Some(self.since_start(now));
                self.send(Command::Request(self.spec.request.clone()))
            }
            Next::SendGo => {
                report.armed_ns = Some(self.since_start(now));
                if let Err(outcome) = self.on_our_time(|| pauses.armed()) {
                    return Some(Ended::With(outcome));
                }
                self.collector.go();
                self.send(Command::Go)
            }
            Next::SendCompare => {
                self.on_our_time(|| pauses.measured());
                self.send(Command::Compare)
            }
            Next::End(outcome) => Some(Ended::With(outcome)),
        }
    }

    /// What the controller does meanwhile does not count against the worker.
    fn on_our_time<T>(&mut self, act: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let done = act();
        self.deadline += start.elapsed();
        done
    }

    fn send(&mut self, command: Command) -> Option<Ended> {
        let Some(commands) = &self.commands else {
            return Some(Ended::With(Outcome::Failed { message: "the worker spoke before it connected".into() }));
        };
        if let Err(error) = commands.send(command) {
            // If the worker is gone, its death is about to be told, with the better reason.
            self.unsent = Some(error.to_string());
            self.deadline = self.deadline.min(Instant::now() + DRAIN);
        }
        None
    }

    /// Waits for a worker that ended by itself, kills what is left of its group, and reaps it.
    fn finish(&mut self, child: &mut Child, ended: &Ended) -> Option<watch::Death> {
        let by_itself = matches!(ended, Ended::Closed) || self.collector.ended();
        let until = Instant::now() + if by_itself { GRACE } else { Duration::ZERO };
        while self.died.is_none() {
            match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Message::Died(death)) => self.died = Some(death),
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let died = self.died.take();
        child.end();
        if self.commands.is_none() {
            LinkServer::unblock(&self.server);
            // It returns at once, and takes the server's temporary folder with it.
            let _ = self.drain.take().map(JoinHandle::join);
        }
        died
    }

    fn since_start(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_nanos() as u64
    }
}
