//! The connection between the two sides, over ipc-channel.
//!
//! The controller makes a [`LinkServer`] and gives its name to the worker as its only argument.
//! The worker connects, and both ends hold one sender and one receiver. `accept` blocks for ever when the
//! worker dies before it connects, so a controller that sees the worker's death calls [`LinkServer::unblock`]
//! from another thread.

use ipc_channel::ipc::{self, IpcOneShotServer, IpcReceiver, IpcSender};
use serde::{Deserialize, Serialize};

use crate::{Command, Event};

/// What travels first: the ends that the controller keeps.
#[derive(Serialize, Deserialize)]
struct Bootstrap {
    events: IpcReceiver<Event>,
    commands: IpcSender<Command>,
}

/// The other side is gone or sent something unreadable.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The other side has closed its end.
    #[error("the other side is gone")]
    Closed,
    /// Bytes that are no message of ours.
    #[error("unreadable message: {0}")]
    Garbled(String),
    /// The operating system refused.
    #[error("{0}")]
    Io(String),
}

/// A connection that nobody has made yet.
pub struct LinkServer {
    server: IpcOneShotServer<Bootstrap>,
    name: String,
}

impl LinkServer {
    /// A new server with a fresh name.
    pub fn new() -> Result<Self, LinkError> {
        let (server, name) = IpcOneShotServer::new().map_err(|e| LinkError::Io(e.to_string()))?;
        Ok(Self { server, name })
    }

    /// The name to give to the worker.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits for the worker to connect. Blocks for ever if nobody does.
    pub fn accept(self) -> Result<Controller, LinkError> {
        let (_, bootstrap) = self.server.accept().map_err(|e| LinkError::Io(e.to_string()))?;
        Ok(Controller { events: bootstrap.events, commands: bootstrap.commands })
    }

    /// Makes a blocked [`LinkServer::accept`] of the server called `name` return an error.
    pub fn unblock(name: &str) {
        // Connecting and hanging up is what a worker that died at birth would have done.
        drop(IpcSender::<Bootstrap>::connect(name.to_owned()));
    }
}

/// The controller's end.
pub struct Controller {
    events: IpcReceiver<Event>,
    commands: IpcSender<Command>,
}

impl Controller {
    /// Splits into the receiving and the sending half, for a thread that always drains.
    pub fn split(self) -> (EventReceiver, CommandSender) {
        (EventReceiver(self.events), CommandSender(self.commands))
    }
}

/// Receiving half of the controller's end.
pub struct EventReceiver(IpcReceiver<Event>);

impl EventReceiver {
    /// The next event; blocks until one comes or the worker is gone.
    pub fn recv(&self) -> Result<Event, LinkError> {
        self.0.recv().map_err(from_ipc)
    }
}

/// Sending half of the controller's end.
pub struct CommandSender(IpcSender<Command>);

impl CommandSender {
    /// Sends one command.
    pub fn send(&self, command: Command) -> Result<(), LinkError> {
        self.0.send(command).map_err(|e| LinkError::Io(e.to_string()))
    }
}

/// The worker's end.
pub struct Worker {
    events: IpcSender<Event>,
    commands: IpcReceiver<Command>,
}

impl Worker {
    /// Connects to the controller's server called `name`.
    pub fn connect(name: &str) -> Result<Self, LinkError> {
        let io = |e: &dyn std::fmt::Display| LinkError::Io(e.to_string());
        let (events, controller_events) = ipc::channel().map_err(|e| io(&e))?;
        let (controller_commands, commands) = ipc::channel().map_err(|e| io(&e))?;
        let bootstrap = IpcSender::connect(name.to_owned()).map_err(|e| io(&e))?;
        bootstrap.send(Bootstrap { events: controller_events, commands: controller_commands }).map_err(|e| io(&e))?;
        Ok(Self { events, commands })
    }

    /// Sends one event; blocks while the controller's queue is full.
    pub fn send(&self, event: Event) -> Result<(), LinkError> {
        self.events.send(event).map_err(|e| LinkError::Io(e.to_string()))
    }

    /// The next command; blocks until it comes or the controller is gone.
    pub fn recv(&self) -> Result<Command, LinkError> {
        self.commands.recv().map_err(from_ipc)
    }
}

fn from_ipc(error: ipc_channel::IpcError) -> LinkError {
    match error {
        ipc_channel::IpcError::Disconnected => LinkError::Closed,
        ipc_channel::IpcError::SerializationError(error) => LinkError::Garbled(error.to_string()),
        ipc_channel::IpcError::Io(error) => LinkError::Io(error.to_string()),
    }
}
