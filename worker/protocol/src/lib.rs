//! What the controller and its workers say to each other, and the words both use.
//!
//! One worker process serves one [`Request`]. The order is fixed:
//!
//! ```text
//! controller            worker
//!     │  spawn ───────────▶│
//!     │◀──────────── Hello │
//!     │ Request ──────────▶│  prepare: index list, decoy
//!     │◀──────────── Armed │
//!     │  cache state proven
//!     │ Go ───────────────▶│  open, measure
//!     │◀─── Opened, Samples…
//!     │◀── Finished | Failed
//! ```
//!
//! A run ends with [`Event::Finished`] or [`Event::Failed`], never by closing the pipe.

mod event;
mod link;
mod request;
mod words;

pub use event::{Checked, Counters, Event, Failure, FailureKind, Finished, Hello, Opened, Phase, Samples, StageTime};
pub use link::{CommandSender, Controller, EventReceiver, LinkError, LinkServer, Worker};
pub use request::{Command, FirstRule, Job, ReadJob, Request, SteadyRule, WarmupRule};
pub use words::{Channels, Crop, Dtype, Layout, Pad, ParseWordError, Pattern, State, Tier};

/// Version of the protocol. A worker with another version is refused.
///
/// 1: first version.
pub const PROTOCOL_VERSION: u32 = 1;

/// Samples in one [`Event::Samples`] message at most.
pub const SAMPLES_PER_MESSAGE: usize = 4096;
