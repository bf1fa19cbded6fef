//! Worker processes: one process serves one request, and one case is measured in it. Knows no torch.
//!
//! ```text
//! bin/pcb-worker-io ─┐
//! bin/pcb-worker ────┴→ serve → tracks/{null, check} → measure → warmup, counters
//!   getitem → transforms → tensor      └─→ source, index → seed
//! ```
//!
//! `pcb-worker` links libtorch and does everything. `pcb-worker-io` leaves out the tracks that need tensors, and with
//! them libtorch, which takes a quarter of a second to load; so nothing here may refer to it (see
//! `bin/pcb-worker`). Only [`measure`] reads the clock, and only [`serve`] talks to the controller: samples reach it
//! through a callback.
//!
//! A track is one file, in [`tracks`] or beside `pcb-worker`, and one arm in the `prepare` of each binary.

pub mod counters;
pub mod error;
pub mod index;
pub mod measure;
pub mod seed;
pub mod serve;
pub mod source;
pub mod tracks;
pub mod warmup;
