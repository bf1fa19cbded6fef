//! The threads that feed one queue: the connection, and the worker's death.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use pcb_protocol::{CommandSender, Event, LinkError, LinkServer};

use crate::results::Outcome;

/// What the main thread waits for.
pub enum Message {
    /// The worker connected.
    Connected(CommandSender),
    /// It sent an event.
    Event(Event),
    /// It sent something else.
    Garbled(String),
    /// Its end of the channel is closed, or nobody connected.
    Closed,
    /// It is dead but not yet reaped.
    Died(Death),
    /// Look at the interrupt flag.
    Woken,
}

/// How a worker died.
pub struct Death {
    /// When it was noticed.
    pub at: Instant,
    /// Its wait status.
    status: Option<WaitStatus>,
}

impl Death {
    /// The outcome of a run whose worker died before it was finished.
    pub fn outcome(&self) -> Outcome {
        match self.status {
            Some(WaitStatus::Signaled(_, signal, _)) => Outcome::Killed { signal: signal as i32 },
            Some(WaitStatus::Exited(_, code)) => {
                Outcome::Failed { message: format!("the worker exited with code {code} before it was finished") }
            }
            _ => Outcome::Failed { message: "the worker died before it was finished".into() },
        }
    }
}

/// A worker that is being watched.
pub struct Watch<W> {
    /// What happens to it.
    pub messages: Receiver<Message>,
    /// Wakes whoever waits for a message.
    pub waker: W,
    /// The thread that holds the connection.
    pub drain: JoinHandle<()>,
}

/// Starts the watching threads.
pub fn start(server: LinkServer, pid: Pid) -> Watch<impl Fn() + Send + 'static> {
    let (sender, messages) = channel();
    let (waker, deaths) = (sender.clone(), sender.clone());
    let drain = thread::spawn(move || {
        // ipc-channel panics on some corrupt messages; a silent thread would cost the whole time-out.
        if panic::catch_unwind(AssertUnwindSafe(|| drain(server, &sender))).is_err() {
            let _ = sender.send(Message::Garbled("it cannot be decoded".to_owned()));
        }
    });
    thread::spawn(move || {
        // WNOWAIT: the group's id stays ours until the group was killed.
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        let status = loop {
            match waitid(Id::Pid(pid), flags) {
                Err(nix::errno::Errno::EINTR) => {}
                other => break other.ok(),
            }
        };
        let _ = deaths.send(Message::Died(Death { at: Instant::now(), status }));
    });
    let waker = move || {
        let _ = waker.send(Message::Woken);
    };
    Watch { messages, waker, drain }
}

/// Accepts the connection and passes every event on, so that the worker never waits for a slow controller.
fn drain(server: LinkServer, queue: &Sender<Message>) {
    let Ok(connection) = server.accept() else {
        let _ = queue.send(Message::Closed);
        return;
    };
    let (events, commands) = connection.split();
    if queue.send(Message::Connected(commands)).is_err() {
        return;
    }
    loop {
        let message = match events.recv() {
            Ok(event) => Message::Event(event),
            Err(LinkError::Closed) => Message::Closed,
            Err(error) => Message::Garbled(error.to_string()),
        };
        let last = !matches!(message, Message::Event(_));
        if queue.send(message).is_err() || last {
            return;
        }
    }
}
