//! A controller that speaks to one worker.
#![allow(dead_code, reason = "each test program uses a part")]

use std::path::Path;
use std::process::{Command as Process, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};

use pcb_protocol::{
    Channels, Command, CommandSender, Controller, Crop, Dtype, Event, EventReceiver, FirstRule, Layout, LinkServer,
    Pad, Pattern, ReadJob, State, SteadyRule, Tier, WarmupRule,
};

pub struct Session {
    events: EventReceiver,
    commands: CommandSender,
    worker: JoinHandle<ExitStatus>,
    /// Process id of the worker.
    pub pid: u32,
}

impl Session {
    /// Starts a worker and connects to it.
    pub fn start(program: &str) -> Self {
        let server = LinkServer::new().expect("a server");
        let name = server.name().to_owned();
        let mut child = Process::new(program).arg(&name).stdin(Stdio::null()).spawn().expect("the worker is built");
        let pid = child.id();
        let worker = thread::spawn(move || {
            let status = child.wait().expect("our own child");
            // A worker that dies before it connects must fail the test instead of blocking it.
            LinkServer::unblock(&name);
            status
        });
        let (events, commands) = server.accept().map(Controller::split).expect("the worker connects");
        Self { events, commands, worker, pid }
    }

    pub fn recv(&self) -> Event {
        self.events.recv().expect("the worker speaks")
    }

    pub fn send(&self, command: Command) {
        self.commands.send(command).expect("the worker listens");
    }

    /// Hangs up and waits for the worker.
    pub fn end(self) -> ExitStatus {
        drop((self.events, self.commands));
        self.worker.join().expect("the thread only waits")
    }
}

/// A short warm run of `random` 8x8 crops.
pub fn read_job(dataset: &Path, format: &str, variant: &str) -> ReadJob {
    ReadJob {
        dataset: dataset.to_owned(),
        format: format.into(),
        variant: variant.into(),
        layout: Layout::Site,
        pattern: Pattern::Random,
        crop: Crop { channels: Channels::All, height: 8, width: 8, dtype: Dtype::U16 },
        pad: Pad::Reflect,
        tier: Tier::None,
        state: State::AsIs,
        samples: 0,
        warm_code: true,
        kept_samples: 8,
        first: FirstRule { max_ns: 10_000_000_000 },
        warmup: WarmupRule {
            tolerance: 0.2,
            window_ns: 1_000_000,
            min_ns: 10_000_000,
            max_ns: 5_000_000_000,
            max_samples: 10_000_000,
        },
        steady: SteadyRule { min_ns: 10_000_000, min_samples: 100, max_ns: 1_000_000_000, max_samples: 100_000 },
        rate_ns: 20_000_000,
        stages_ns: 20_000_000,
    }
}
