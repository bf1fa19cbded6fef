//! From exec to `Armed`, for both workers.
//!
//! `cargo bench -p pcb-worker --bench start`

use std::process::{Child, Command as Process, Stdio};
use std::time::{Duration, Instant};

use pcb_protocol::{Command, Controller, Event, Job, LinkServer, PROTOCOL_VERSION, Request};

const ROUNDS: usize = 21;

fn main() {
    for program in [env!("CARGO_BIN_EXE_pcb-worker-io"), env!("CARGO_BIN_EXE_pcb-worker")] {
        let mut times: Vec<Duration> = (0..ROUNDS).map(|_| exec_to_armed(program)).collect();
        times.sort_unstable();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        println!("{program}: median {:.1} ms, least {:.1} ms", ms(times[ROUNDS / 2]), ms(times[0]));
    }
}

fn exec_to_armed(program: &str) -> Duration {
    let server = LinkServer::new().expect("a server");
    let begin = Instant::now();
    let mut worker = spawn(program, server.name());
    let (events, commands) = server.accept().map(Controller::split).expect("a worker");
    let request = Request { protocol: PROTOCOL_VERSION, seed: 0, threads: 1, job: Job::Null { samples: 1 } };
    commands.send(Command::Request(request)).expect("the worker listens");
    while !matches!(events.recv().expect("the worker speaks"), Event::Armed) {}
    let armed = begin.elapsed();
    commands.send(Command::Go).expect("the worker listens");
    while !matches!(events.recv().expect("the worker speaks"), Event::Finished(_)) {}
    worker.wait().expect("the worker ends");
    armed
}

fn spawn(program: &str, server: &str) -> Child {
    Process::new(program).arg(server).stdin(Stdio::null()).spawn().expect("the worker is built")
}
