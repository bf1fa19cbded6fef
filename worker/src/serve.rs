//! The handshake with the controller, and what may not leave this process: panics and what libraries print.

use std::io::Write;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::sync::Mutex;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use pcb_protocol::{Command, Event, Finished, Hello, LinkError, PROTOCOL_VERSION, Request, Worker};

use crate::error::RunError;
use crate::measure::Send;

/// What a prepared job does after `Go`: opens and measures, sending its events through the callback.
pub type Measure = Box<dyn FnOnce(Send<'_>) -> Result<Finished, RunError>>;

/// One of the worker programs.
pub struct Program<'a> {
    /// Its name.
    pub name: &'a str,
    /// Libraries it uses, with their versions.
    pub versions: &'a [(&'a str, &'a str)],
    /// Gets ready for the one request: touches nothing of the measured data.
    pub prepare: fn(Request) -> Result<Measure, RunError>,
}

/// Serves the controller whose server the only argument names.
///
/// Exit codes: 0 the controller was told how the run ended; 1 the controller is gone; 2 wrong usage.
pub fn main(program: &Program<'_>) -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(server), None) = (arguments.next(), arguments.next()) else {
        complain(program, "started by pcb-run, which gives the name of its server as the only argument");
        return ExitCode::from(2);
    };
    raise_descriptor_limit();
    match claim_stdout().and_then(|()| Worker::connect(&server)).and_then(|worker| serve(program, &worker)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(program, &format!("controller: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// A reader may hold a descriptor for each site of a large plate; the usual soft limit of 1,024 is for `select`.
fn raise_descriptor_limit() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // Where it cannot be raised, a reader that needs more says so.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

fn serve(program: &Program<'_>, worker: &Worker) -> Result<(), LinkError> {
    keep_panic_messages();
    let run = AssertUnwindSafe(|| run(program, worker));
    let result = panic::catch_unwind(run).unwrap_or_else(|_| Err(RunError::Failed(last_panic())));
    match result {
        Ok(finished) => worker.send(Event::Finished(Box::new(finished))),
        Err(error) => worker.send(Event::Failed(error.into_failure()?)),
    }
}

fn run(program: &Program<'_>, worker: &Worker) -> Result<Finished, RunError> {
    worker.send(Event::Hello(hello(program)))?;
    let Command::Request(request) = worker.recv()? else {
        return Err(RunError::Failed("got Go before a request".into()));
    };
    if request.protocol != PROTOCOL_VERSION {
        return Err(RunError::Failed(format!(
            "controller speaks protocol {}, this worker {PROTOCOL_VERSION}: build both from one commit",
            request.protocol
        )));
    }
    let measure = (program.prepare)(request)?;
    worker.send(Event::Armed)?;
    let Command::Go = worker.recv()? else {
        return Err(RunError::Failed("got a second request instead of Go".into()));
    };
    measure(&|event| {
        let measured = event == Event::Measured;
        worker.send(event)?;
        // Nothing of the data is touched before the controller has looked at the cache.
        match measured.then(|| worker.recv()).transpose()? {
            None | Some(Command::Compare) => Ok(()),
            Some(_) => Err(LinkError::Garbled("expected Compare after Measured".into())),
        }
    })
}

fn hello(program: &Program<'_>) -> Hello {
    let text = |(name, version): &(&str, &str)| ((*name).to_owned(), (*version).to_owned());
    Hello {
        protocol: PROTOCOL_VERSION,
        program: program.name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: option_env!("PCB_COMMIT").unwrap_or("unknown").to_owned(),
        opt_level: option_env!("PCB_OPT_LEVEL").unwrap_or("unknown").to_owned(),
        versions: pcb_formats::libraries().into_iter().chain(program.versions.iter().map(text)).collect(),
    }
}

/// What a library prints goes to stderr, whose tail the controller keeps.
fn claim_stdout() -> Result<(), LinkError> {
    nix::unistd::dup2_stdout(std::io::stderr()).map_err(|error| LinkError::Io(error.to_string()))
}

static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Remembers the message of a panic with its place, which `catch_unwind` does not hand out.
fn keep_panic_messages() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = info.to_string();
        }
        print(info);
    }));
}

fn last_panic() -> String {
    LAST_PANIC.lock().map(|last| last.clone()).unwrap_or_default()
}

fn complain(program: &Program<'_>, message: &str) {
    // Nobody may be reading stderr any more.
    let _ = writeln!(std::io::stderr(), "{}: {message}", program.name);
}

#[cfg(test)]
mod tests {
    use std::thread;

    use pcb_protocol::{Controller, Failure, FailureKind, Job, LinkServer};

    use super::*;

    /// Serves one request with `prepare` and returns the last event.
    fn last_event(prepare: fn(Request) -> Result<Measure, RunError>) -> Event {
        let server = LinkServer::new().expect("a server");
        let name = server.name().to_owned();
        let worker = thread::spawn(move || {
            let worker = Worker::connect(&name).expect("the server waits");
            serve(&Program { name: "test", versions: &[], prepare }, &worker)
        });
        let (events, commands) = server.accept().map(Controller::split).expect("the worker connects");
        let request = Request { protocol: PROTOCOL_VERSION, seed: 0, threads: 1, job: Job::Null { samples: 0 } };
        commands.send(Command::Request(request)).expect("the worker listens");
        // One that cannot prepare is gone by then.
        let _ = commands.send(Command::Go);
        let last = loop {
            let event = events.recv().expect("the worker speaks");
            if matches!(event, Event::Finished(_) | Event::Failed(_)) {
                break event;
            }
        };
        worker.join().expect("caught").expect("the controller listens");
        last
    }

    #[test]
    fn a_panic_before_or_after_armed_is_a_failure_with_its_place() {
        fn broken() -> Result<Finished, RunError> {
            panic!("broke here")
        }
        let after: fn(Request) -> Result<Measure, RunError> = |_| Ok(Box::new(|_| broken()));
        for prepare in [|_| Err(broken().expect_err("it panics")), after] {
            let Event::Failed(failure) = last_event(prepare) else { panic!("Failed expected") };
            assert_eq!(failure.kind, FailureKind::Failed);
            assert!(failure.message.contains("broke here") && failure.message.contains("serve.rs:"), "{failure:?}");
        }
    }

    #[test]
    fn what_is_unsupported_is_told_as_such() {
        let event = last_event(|_| Err(RunError::Unsupported("no such tier".into())));
        let failure = Failure { kind: FailureKind::Unsupported, message: "no such tier".into() };
        assert_eq!(event, Event::Failed(failure));
    }
}
