//! The result file: what one `pcb-run` leaves. Only this module knows the files.
//!
//! `NAME.json` is one document, written atomically when the plan is complete. While runs are made they are appended
//! to `NAME.journal.jsonl`; `--resume` goes on from there.

pub mod baseline;
mod file;
mod journal;
mod pyperf;
mod row;
pub mod schema;
pub mod thin;
pub mod view;

pub use baseline::BaselineError;
pub use file::{ReadError, ResultFile, read, write};
pub use journal::{JOURNAL, Journal, JournalError, journal_path};
pub use row::{
    Amplification, BuildInfo, CacheProof, Flag, Header, Histogram, Noise, Outcome, PhaseStats, Pruned, Run, Series,
    VERSION,
};
pub use thin::phase_stats;
